//! What `metier-skill` says about a glob of `paths` is what `globset` says, which matches it here.
//! The two are separate readers, so a table and a property hold them together.

use globset::GlobBuilder;
use metier_skill::glob_fault;
use proptest::prelude::*;

fn reads(glob: &str) -> bool {
    GlobBuilder::new(glob).literal_separator(true).build().is_ok()
}

#[test]
fn both_readers_agree_on_globs_that_people_write_and_on_broken_ones() {
    for (glob, valid) in [
        ("*.csv", true),
        ("src/**/*.{ts,tsx}", true),
        ("**", true),
        ("***", true),
        ("a**b", true),
        ("?[a-z0-9_]", true),
        ("[!a]", true),
        ("[^]]", true),
        ("[]-a]", true),
        ("[a-c-b]", true),
        ("[--z]", true),
        ("{}", true),
        ("{a,{b,c}}", true),
        ("a]b", true),
        ("", true),
        ("[abc", false),
        ("[", false),
        ("[]", false),
        ("[!]", false),
        ("[z-a]", false),
        ("[a-\\]", false),
        ("{a", false),
        ("{a,{b}", false),
        ("a}", false),
        ("[{]}", false),
    ] {
        assert_eq!(glob_fault(glob).is_none(), valid, "{glob}");
        assert_eq!(reads(glob), valid, "globset on {glob}");
    }
    #[cfg(unix)]
    for (glob, valid) in [("\\[a", true), ("\\{a", true), ("a\\\\", true), ("a\\", false)] {
        assert_eq!((glob_fault(glob).is_none(), reads(glob)), (valid, valid), "{glob}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn both_readers_agree_on_any_glob(glob in "[\\[\\]{}!^,*?/a-c\\\\-]{0,12}") {
        prop_assert_eq!(glob_fault(&glob).is_none(), reads(&glob));
    }
}
