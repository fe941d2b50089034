//! Any small tree as a root: no panic, the same hash twice, and a word about every `SKILL.md`.
//! The tree's language is described in `src/tree.rs`.

#![no_main]
#![expect(
    clippy::disallowed_methods,
    reason = "the tree under test is looked at without the crates under test"
)]

use std::collections::HashSet;
use std::fs;

use libfuzzer_sys::{Corpus, fuzz_target};
use metier_fuzz::{tree, under_test};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let operations = tree::operations(bytes);
    if operations.is_empty() {
        return Corpus::Reject;
    }
    // A full disk is not a finding.
    let Ok(dir) = tempfile::tempdir() else {
        return Corpus::Reject;
    };
    let Ok(root) = fs::canonicalize(dir.path()) else {
        return Corpus::Reject;
    };
    tree::build(&root, &operations);
    let spoken_of = under_test::scan_tree(&root);
    let spoken_of: HashSet<_> =
        spoken_of.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    for skill in tree::visible_skills(&root) {
        assert!(spoken_of.contains(&skill), "no word about {}: {operations:?}", skill.display());
    }
    Corpus::Keep
});
