//! Any bytes as what a provider sends: no panic, bounded memory, and the same reply however the bytes
//! are cut, in every dialect.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_model::raw::fuzz_readers(bytes));
