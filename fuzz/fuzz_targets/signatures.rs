//! Any bytes as a signature, a key, a list of trusted keys or a bundle: no panic, no signer where no key is known,
//! and what is read is written as it would be read again.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_signature(bytes));
