//! Any bytes as what a server sends or a person types about a source: no panic, and nothing leads outside.
//! Manifests, challenges, lists of skills, references and URLs share one target.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_fetched(bytes));
