//! Any bytes as a `SKILL.md`: no panic, the same answer twice, spans inside the file, and no skill
//! exactly when there is an error.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the macro of libfuzzer-sys opens files")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metier_fuzz::under_test::parse_frontmatter(bytes));
