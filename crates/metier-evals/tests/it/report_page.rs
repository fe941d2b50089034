//! The page in a real browser: it opens from disk, filters, shows a trial, stays quiet and asks for nothing; hostile
//! text stays text.

use std::fs;

use metier_evals::report::HtmlPage;
use metier_evals::{Arm, CheckKind, EvalPlan, TrialResult};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::report_forms::{HOSTILE, hostile};
use crate::report_support::{by_hand, case, checked, plan, report, result, triggered};

fn page(plan: &EvalPlan, results: &[TrialResult]) -> String {
    let mut page = HtmlPage::new(plan);
    for one in results {
        page.add(one);
    }
    page.finish(&report(plan, results))
}

/// A thousand cases of two trials in two arms.
fn large() -> (EvalPlan, Vec<TrialResult>) {
    let cases = (0..1000).map(|at| case(&format!("case-{at:04}"), &["pdf"])).collect();
    let plan = plan(&[Arm::None, Arm::Listed], 2, cases);
    let results = plan
        .units()
        .map(|unit| {
            let mut one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            if unit.arm == Arm::Listed {
                one = triggered(one, "pdf", true, unit.case % 10 != 0);
            }
            checked(one, CheckKind::Output, "contains `total`", unit.arm == Arm::Listed)
        })
        .collect();
    (plan, results)
}

/// Opens a page from disk in a browser of its own. None where there is no browser.
fn opened(name: &str, html: &str) -> Option<Browser> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join(name);
    fs::write(&file, html).expect("writes");
    let browser = Browser::start(dir)?;
    browser.open(&format!("file://{}", file.display()));
    Some(browser)
}

#[track_caller]
fn assert_quiet(browser: &Browser) {
    let console = browser.console();
    assert!(console.is_empty(), "the console has {console:?}");
    let requests = browser.requests();
    assert_eq!(requests.len(), 1, "only the page itself is asked for: {requests:?}");
    assert!(requests[0].starts_with("file://"), "{requests:?}");
}

#[test]
fn a_page_with_a_thousand_cases_filters_and_opens_a_trial_in_place() {
    let (plan, results) = large();
    let html = page(&plan, &results);
    let Some(browser) = opened("large.html", &html) else { return };
    assert_eq!(
        browser.run("return document.getElementById('shown').textContent"),
        "1000 of 1000 shown"
    );
    browser.run(
        "const words = document.getElementById('words'); words.value = 'case-0120';
         words.dispatchEvent(new Event('input', {bubbles: true}))",
    );
    assert_eq!(
        browser.run("return document.getElementById('shown').textContent"),
        "1 of 1000 shown"
    );
    browser.click("tr.case:not([hidden]) button");
    let shown = browser.run(
        "return Array.from(document.querySelectorAll('tr.opened .trial h3'), (one) => one.textContent)",
    );
    assert_eq!(
        shown,
        json!([
            "arm none, trial 1: failed",
            "arm none, trial 2: failed",
            "arm listed, trial 1: failed",
            "arm listed, trial 2: failed"
        ])
    );
    let text = browser.run("return document.querySelector('tr.opened').textContent");
    let text = text.as_str().expect("text");
    assert!(text.contains("pdf: not loaded, and should be; first: call_tool read_file"), "{text}");
    assert!(text.contains("final_answer the answer") && text.contains("done: case-0120"), "{text}");
    browser.click("tr.case:not([hidden]) button");
    assert_eq!(browser.run("return document.querySelectorAll('tr.opened').length"), json!(0));
    browser.run(
        "document.getElementById('words').value = '';
         const outcome = document.getElementById('outcome'); outcome.value = 'passed';
         outcome.dispatchEvent(new Event('input', {bubbles: true}))",
    );
    assert_eq!(
        browser.run("return document.getElementById('shown').textContent"),
        "0 of 1000 shown"
    );
    assert_quiet(&browser);
}

#[test]
fn plots_show_the_numbers_of_the_report() {
    let (plan, results) = by_hand();
    let Some(browser) = opened("plots.html", &page(&plan, &results)) else { return };
    let titles = browser
        .run("return Array.from(document.querySelectorAll('svg title'), (one) => one.textContent)");
    let titles: Vec<&str> =
        titles.as_array().expect("titles").iter().filter_map(Value::as_str).collect();
    for expected in [
        "88.9 % (56.5 % to 98 %) 8 of 9",
        "80 % (49 % to 94.3 %) 8 of 10",
        "expected pdf, loaded pdf: 8 trials",
        "expected no skill, loaded pdf: 1 trial",
        "Mean tokens of a trial",
    ] {
        assert!(titles.contains(&expected), "{expected} is not in {titles:?}");
    }
    let width = browser.run(
        "return document.querySelector('#skills svg .whisker').getBoundingClientRect().width > 5",
    );
    assert_eq!(width, json!(true), "the interval is drawn");
    let colour = "return getComputedStyle(document.querySelector('.verdict')).color";
    assert_ne!(browser.run(colour), json!("rgb(0, 0, 0)"), "the style applies");
    assert_quiet(&browser);
}

#[test]
fn hostile_names_and_answers_stay_text() {
    let (plan, results) = hostile();
    let html = page(&plan, &results);
    assert!(!html.contains("<img") && !html.contains("<script>hacked"), "{html}");
    assert!(!html.contains('\u{202e}') && !html.contains('\u{1b}') && !html.contains('\u{0}'));
    let Some(browser) = opened("hostile.html", &html) else { return };
    let buttons = browser.run("return document.querySelectorAll('tr.case button').length");
    assert_eq!(buttons, json!(3));
    browser.run("document.querySelectorAll('tr.case button').forEach((one) => one.click())");
    let answers = browser.run(
        "return Array.from(document.querySelectorAll('pre.answer'), (one) => one.textContent)",
    );
    let answers = answers.as_array().expect("answers");
    assert_eq!(answers.len(), 4, "errors have none: {answers:?}");
    assert!(answers.iter().all(|one| one.as_str().is_some_and(|text| text.contains("</script>"))));
    assert_eq!(browser.run("return typeof window.hacked"), "undefined");
    let foreign = "return document.querySelectorAll('img, iframe, a, link, object, embed').length";
    assert_eq!(browser.run(foreign), json!(0));
    assert_eq!(browser.run("return document.scripts.length"), json!(2));
    let skill = browser.run("return document.querySelectorAll('#skill option').length");
    assert_eq!(skill, json!(2));
    browser.run(
        "const skill = document.getElementById('skill'); skill.selectedIndex = 1;
         skill.dispatchEvent(new Event('input', {bubbles: true}))",
    );
    let shown = browser.run("return document.getElementById('shown').textContent");
    assert_eq!(shown, "3 of 3 shown", "{HOSTILE} is found by its own name");
    assert_quiet(&browser);
}

#[test]
fn the_page_is_the_same_whatever_the_order_and_hides_times_with_the_report() {
    let (plan, mut results) = by_hand();
    let first = page(&plan, &results);
    results.reverse();
    assert_eq!(page(&plan, &results), first);
    let without_times = |results: &[TrialResult]| {
        let mut page = HtmlPage::new(&plan);
        for one in results {
            page.add(one);
        }
        let mut report = report(&plan, results);
        report.times = None;
        page.finish(&report)
    };
    let before = without_times(&results);
    for (at, one) in results.iter_mut().enumerate() {
        one.cost.elapsed_ms = at as u64;
        one.run = Some(format!("run-{at}"));
    }
    assert_eq!(without_times(&results), before);
}

#[test]
fn the_browser_sees_a_noisy_page_for_what_it_is() {
    let noisy =
        "<!doctype html><img src=\"file:///nowhere.png\"><script>console.error('heard')</script>";
    let Some(browser) = opened("noisy.html", noisy) else { return };
    let console = Value::from(browser.console()).to_string();
    assert!(console.contains("heard"), "{console}");
    assert!(browser.requests().iter().any(|url| url.ends_with("nowhere.png")));
}

#[test]
fn a_page_leaves_out_trials_that_passed_first_and_says_how_many() {
    let cases = (0..100).map(|at| case(&format!("c{at}"), &["pdf"])).collect();
    let plan = plan(&[Arm::Listed], 4, cases);
    let mut results: Vec<TrialResult> = plan
        .units()
        .map(|unit| {
            let mut one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            let mut action = one.actions.remove(0);
            action.target = "a long way ".repeat(100);
            action.args = json!(action.target);
            one.actions = vec![action; 300];
            triggered(one, "pdf", true, unit.case % 4 != 0)
        })
        .collect();
    let first = page(&plan, &results);
    assert!(first.len() < 26 << 20, "{} bytes", first.len());
    assert!(first.contains("are left out to keep this page small"));
    let (_, data) = first.split_once("id=\"trials\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let trials: Vec<Value> = serde_json::from_str(data).expect("JSON");
    let failed = trials.iter().filter(|trial| trial["outcome"] == "failed").count();
    assert_eq!(failed, 100, "all that failed are there");
    assert!((110..400).contains(&trials.len()), "{}", trials.len());
    results.reverse();
    assert!(page(&plan, &results) == first, "the order of arrival decides nothing");
}
