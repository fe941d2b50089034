//! The whole folders of the corpus: each is listed or has a coded reason, and copies and names that
//! clash are accounted for.

use metier_registry::{ScanOptions, scan};
use metier_skill::Profile;
use metier_testkit::corpus_skills;

use crate::support::{options, root};

#[test]
fn every_folder_of_the_corpus_is_accounted_for() {
    let dir = tempfile::tempdir().expect("dir");
    let Some(skills) = corpus_skills(dir.path()) else { return };
    let folders = std::fs::read_dir(&skills).expect("skills").count();
    for profile in [Profile::Strict, Profile::Lenient] {
        let scan = scan(&[root(&skills)], &ScanOptions { profile, ..options() });
        let report = &scan.report;
        assert_eq!(report.found, folders);
        assert_eq!(report.found, report.valid + report.ignored.len());
        let listed: usize =
            scan.index.entries().iter().chain(scan.index.shadowed()).map(|e| 1 + e.copies.len()).sum();
        assert_eq!(listed, report.valid);
        println!("{profile}: {} of {folders} valid, {} shadowed, {} ignored", report.valid, scan.index.shadowed().len(), report.ignored.len());
    }
}
