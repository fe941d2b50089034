//! Any text as a body, a path, arguments and a configuration: no panic, nothing hidden is left,
//! every section that is listed is found, and an edit of a configuration keeps the rest.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_skill(bytes));
