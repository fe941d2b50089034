//! Any text as rules and as what they are asked about: no panic, the same decision with and without its
//! explanation, and no project's rule widens what is allowed.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::judge(bytes));
