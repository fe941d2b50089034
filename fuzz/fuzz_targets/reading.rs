//! Any text as a body, a path and arguments: no panic, nothing hidden is left in a body or any part of
//! it, every section that is listed is found, and every page makes progress.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_skill(bytes));
