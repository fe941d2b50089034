//! A report as text, Markdown, `JUnit` XML and GitHub's annotations, also with hostile names and answers in it.
//! What each form must not let through is in `HOSTILE`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use metier_evals::report::{EvalReport, github_annotations, junit, markdown, plain_text};
use metier_evals::{Arm, Case, CheckKind, TrialErrorKind};

use crate::report_support::{by_hand, case, checked, error, plan, report, result, triggered};

/// What would break out of one form or another.
pub(crate) const HOSTILE: &str = "::error::first </script><script>hacked=1</script> \"quoted\" 'single' ]]> | `tick` @someone #1 \
    [x](javascript:hacked=1) \u{202e}right to left\u{202c} \u{1b}[31m \u{0} <img src=x onerror=hacked=1> \
    ::error::nope\r\n::error file=a::nope %0A &amp; --> http://example.com/";

/// A run with a hostile name, answer and error in every place that has text.
pub(crate) fn hostile() -> (metier_evals::EvalPlan, Vec<metier_evals::TrialResult>) {
    let name = |number: u8| format!("{number} {HOSTILE}");
    let bad = |number: u8| Case {
        input: HOSTILE.to_owned(),
        skill: Some(HOSTILE.to_owned()),
        ..case(&name(number), &[HOSTILE])
    };
    let mut plan = plan(&[Arm::None, Arm::Listed], 1, vec![bad(1), bad(2), bad(3)]);
    HOSTILE.clone_into(&mut plan.subject.model);
    HOSTILE.clone_into(&mut plan.harness);
    for case in &mut plan.cases {
        HOSTILE.clone_into(&mut case.origin.file);
    }
    let results = plan
        .units()
        .map(|unit| {
            let mut one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            one.answer = Some(HOSTILE.repeat(3));
            HOSTILE.clone_into(&mut one.actions[0].target);
            one.actions[0].args = serde_json::json!({HOSTILE: HOSTILE});
            if unit.arm == Arm::Listed {
                one = triggered(one, HOSTILE, true, unit.case == 0);
                for trigger in &mut one.triggers {
                    trigger.instead = Some(HOSTILE.to_owned());
                }
            }
            one = checked(one, CheckKind::Output, HOSTILE, unit.case == 0);
            if unit.case == 2 {
                one = error(one, TrialErrorKind::Provider);
                one.end = metier_evals::TrialEnd::Error {
                    kind: TrialErrorKind::Provider,
                    message: HOSTILE.to_owned(),
                };
            }
            one
        })
        .collect();
    (plan, results)
}

fn hostile_report() -> EvalReport {
    let (plan, results) = hostile();
    report(&plan, &results)
}

#[test]
fn text_for_a_terminal_has_no_control_character_but_the_end_of_a_line() {
    let text = plain_text(&hostile_report());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(!text.contains('\u{202e}'), "{text:?}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
    assert!(text.starts_with("INVALID: 4 of 6 trials scored, 2 errors (provider 2)\n"), "{text}");
}

#[test]
fn text_shows_the_verdict_the_skills_the_arms_and_what_did_not_pass() {
    let (plan, results) = by_hand();
    let text = plain_text(&report(&plan, &results));
    for line in [
        "INCONCLUSIVE: 20 of 20 trials scored",
        "  precision    88.9 % (56.5 % to 98 %), 8 of 9",
        "  recall       80 % (49 % to 94.3 %), 8 of 10",
        "  F1           84.2 % (60.6 % to 94.9 %)",
        "  instead      call_tool read_file (2)",
        "no skill where none fits: 90 % (59.6 % to 98.2 %), 9 of 10",
        "arm listed",
        "  passed       85 % (64 % to 94.8 %), 17 of 20",
        "  `n4` (listed, failed)",
        "    - pdf was loaded in 1 of 1 trial, and should not be",
        "    - pdf was not loaded in 1 of 1 trial; done first instead: call_tool read_file 1",
    ] {
        assert!(text.lines().any(|one| one == line), "{line:?} is missing from:\n{text}");
    }
}

#[test]
fn markdown_opens_no_html_no_link_no_mention_and_no_cell() {
    let page = markdown(&hostile_report());
    for line in page.replace("\\]", "").lines() {
        for wrong in
            ["<script", "<img", "@someone", "](javascript", "http://", "\u{1b}", "\u{202e}"]
        {
            assert!(!line.contains(wrong), "{wrong} in {line}");
        }
    }
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let skills: Vec<usize> =
        page.lines().filter(|line| line.contains(" + ")).map(columns).collect();
    assert!(skills.contains(&7) && skills.iter().all(|count| *count <= 7), "{skills:?}");
    let (plan, results) = by_hand();
    let page = markdown(&report(&plan, &results));
    assert!(page.starts_with("# Evals: INCONCLUSIVE\n"), "{page}");
    assert!(
        page.contains("| pdf | 10 + 10 | 88.9 % (56.5 % to 98 %) | 80 % (49 % to 94.3 %) |"),
        "{page}"
    );
    assert!(page.contains("| no skill | pdf | 1 |"), "{page}");
}

/// Reads XML by Python's parser, and prints what stands in each test case.
fn parsed(xml: &str) -> Option<String> {
    const READ: &str = "import sys, xml.etree.ElementTree as e\n\
        suites = e.fromstring(sys.stdin.buffer.read())\n\
        [s] = suites\n\
        print(s.get('tests'), s.get('failures'), s.get('errors'), s.get('skipped'))\n\
        for c in s.findall('testcase'): print(c.get('name')[:1], [x.tag for x in c])\n";
    let started = Command::new("python3")
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = started else {
        metier_testkit::not_tested_without("python3", "python3 is missing; .ci/run installs it");
        return None;
    };
    python.stdin.take().expect("piped").write_all(xml.as_bytes()).expect("reads");
    let output = python.wait_with_output().expect("ends");
    assert!(output.status.success(), "it is no XML: {xml}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn junit_is_xml_and_separates_failures_from_errors() {
    let xml = junit(&hostile_report(), None);
    let Some(read) = parsed(&xml) else { return };
    let expected = "7 1 3 1\n\
        1 []\n1 []\n2 ['skipped', 'system-out']\n2 ['failure']\n3 ['error']\n3 ['error']\nv ['error']\n";
    assert_eq!(read, expected, "{xml}");
}

#[test]
fn junit_names_the_kinds_of_errors_and_the_verdict() {
    let (plan, mut results) = by_hand();
    results[3] = error(results[3].clone(), TrialErrorKind::TimedOut);
    let xml = junit(&report(&plan, &results), None);
    assert!(xml.contains("<property name=\"errors.timed_out\" value=\"1\"/>"), "{xml}");
    assert!(xml.contains("<property name=\"verdict\" value=\"INVALID\"/>"), "{xml}");
    assert!(
        xml.contains("<error message=\"timed_out 1\">1 error (timed_out 1): the provider"),
        "{xml}"
    );
}

#[test]
fn annotations_are_single_commands_beside_their_case() {
    let annotations = github_annotations(&hostile_report(), None);
    for line in annotations.lines() {
        assert!(line.starts_with("::error ") || line.starts_with("::warning "), "{line}");
        assert!(!line.chars().any(char::is_control), "{line}");
    }
    let (plan, results) = by_hand();
    let annotations = github_annotations(&report(&plan, &results), None);
    let first = annotations.lines().next().expect("the verdict");
    assert!(
        first.starts_with("::warning title=Evals%3A INCONCLUSIVE::20 of 20 trials scored"),
        "{first}"
    );
    let expected = "::warning file=.agent/evals/pdf.yaml,line=7,title=n4 (listed)%3A failed::pdf was loaded in 1 of \
                    1 trial, and should not be";
    assert!(annotations.lines().any(|line| line == expected), "{annotations}");
}

#[test]
fn no_more_annotations_are_written_than_github_shows() {
    let cases: Vec<Case> = (0..50).map(|at| case(&format!("c{at}"), &["pdf"])).collect();
    let plan = plan(&[Arm::Listed], 1, cases);
    let missed: Vec<_> = plan
        .units()
        .map(|unit| {
            let one = result(&plan, &plan.cases[unit.case].id, unit.arm, 0);
            triggered(one, "pdf", true, unit.case == 0)
        })
        .collect();
    let annotations = github_annotations(&report(&plan, &missed), None);
    assert!(annotations.lines().count() <= 10, "{annotations}");
}
