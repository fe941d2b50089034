//! Any text as a configuration: no panic, every error stands inside the text and says something
//! harmless, no project loosens a guard, and an edit is valid and changes nothing the second time.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_config(bytes));
