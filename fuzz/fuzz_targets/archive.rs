//! Any bytes as an archive: no panic, bounded memory, names that stay below, and the same answer twice.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_archive(bytes));
