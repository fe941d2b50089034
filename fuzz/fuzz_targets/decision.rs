//! Any text as a model's reply: no panic, a decision that is written and read again is the same,
//! and what is shown while it streams is what is decided, however the stream is cut.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::read_reply(bytes));
