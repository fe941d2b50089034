//! Any text as paths in a skill and in a workspace: what is accepted stays below its folder, hides
//! nothing, and reaches no version control by another spelling.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::check_paths(bytes));
