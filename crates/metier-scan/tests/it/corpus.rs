//! A large collection of real skills, some of them hostile: how many have a high finding, and for what.
//! Run it with `--nocapture` to see the shares.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use metier_scan::{FindingSeverity, Scanner};
use metier_testkit::corpus_skills;

/// The highest share of skills with a high finding, in thousandths.
const MAX_HIGH: usize = 20;

#[test]
fn few_real_skills_have_a_high_finding_and_each_names_its_line() {
    let into = tempfile::tempdir().expect("a folder");
    let Some(skills) = corpus_skills(into.path()) else { return };
    let (mut total, mut high) = (0, Vec::new());
    let mut by_rule: BTreeMap<(FindingSeverity, &str), usize> = BTreeMap::new();
    let mut folders: Vec<_> = fs::read_dir(&skills)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.join("SKILL.md").exists()) {
        total += 1;
        let mut scanner = Scanner::new();
        add(&mut scanner, folder, folder);
        let report = scanner.finish();
        let mut seen: Vec<(FindingSeverity, &str)> =
            report.findings.iter().map(|it| (it.severity, it.rule)).collect();
        seen.sort_unstable();
        seen.dedup();
        for key in seen {
            *by_rule.entry(key).or_default() += 1;
        }
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for finding in report.findings.iter().filter(|it| it.severity == FindingSeverity::High) {
            assert!(finding.line > 0, "{name}: {finding:?}");
        }
        if report.worst() == Some(FindingSeverity::High) {
            let first = report.findings.iter().filter(|it| it.severity == FindingSeverity::High);
            let why: Vec<String> = first
                .take(3)
                .map(|it| format!("{} {}:{} {}", it.rule, it.file, it.line, it.evidence))
                .collect();
            high.push(format!("{name}: {}", why.join(" | ")));
        }
    }
    for ((severity, rule), skills) in &by_rule {
        eprintln!("{:6} {rule}: {skills} of {total} skills", severity.as_str());
    }
    eprintln!("high: {} of {total} skills\n  {}", high.len(), high.join("\n  "));
    assert!(high.len() * 1000 <= total * MAX_HIGH, "{} of {total} have a high finding", high.len());
    assert!(high.len() > 10, "the collection holds hostile skills, and few were found");
}

fn add(scanner: &mut Scanner, root: &Path, folder: &Path) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add(scanner, root, &path);
        } else {
            let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            scanner.file(&name, &fs::read(&path).expect("a file"));
        }
    }
}
