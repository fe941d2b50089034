//! Any text as a case file, in YAML and JSON: no panic, every fault stands in the text, and what is read is
//! written and read again as the same.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::cases::read_cases(bytes));
