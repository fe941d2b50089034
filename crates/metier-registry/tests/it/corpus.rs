//! The whole folders of the corpus: each is listed or has a coded reason, and copies and names that
//! clash are accounted for.

use metier_registry::{ScanOptions, scan};
use metier_skill::Profile;
use metier_testkit::{TestHome, corpus_skills};

use crate::support::{options, root};

#[test]
fn every_folder_of_the_corpus_is_accounted_for() {
    let dir = tempfile::tempdir().expect("dir");
    let Some(skills) = corpus_skills(dir.path()) else {
        return;
    };
    let folders = std::fs::read_dir(&skills).expect("skills").count();
    for profile in [Profile::Strict, Profile::Lenient] {
        let scan = scan(&[root(&skills)], &ScanOptions { profile, ..options() });
        let report = &scan.report;
        assert_eq!(report.found, folders);
        assert_eq!(report.found, report.valid + report.ignored.len());
        let listed: usize = scan
            .index
            .entries()
            .iter()
            .chain(scan.index.shadowed())
            .map(|e| 1 + e.copies.len())
            .sum();
        assert_eq!(listed, report.valid);
        println!(
            "{profile}: {} of {folders} valid, {} shadowed, {} ignored",
            report.valid,
            scan.index.shadowed().len(),
            report.ignored.len()
        );
    }
}

#[test]
fn the_direct_json_is_the_generic_json_byte_for_byte() {
    let home = TestHome::new();
    home.write(
        "odd/SKILL.md",
        "---\nname: \"quo\\\"te\"\ndescription: \"back\\\\slash \\n tab \u{e9}\"\nallowed-tools: []\npaths: [a, b]\n\
         metadata:\n  x: {y: [1, ~]}\nextra: null\nmodel: m\nargument-hint: \"[a]\"\n---\n",
    );
    let mut roots = vec![root(home.path())];
    let dir = tempfile::tempdir().expect("dir");
    roots.extend(corpus_skills(dir.path()).map(|skills| root(&skills)));
    let scan = scan(&roots, &ScanOptions { profile: Profile::Lenient, ..options() });
    assert!(!scan.index.entries().is_empty());
    for entry in scan.index.entries() {
        let mut direct = Vec::new();
        entry.append_json(&mut direct);
        let generic = serde_json::to_string(entry).expect("JSON");
        assert_eq!(String::from_utf8(direct).expect("UTF-8"), generic);
    }
}
