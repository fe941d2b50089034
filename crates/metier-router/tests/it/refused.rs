//! What the offline model says where nothing came of a script: the truth about what was done, and
//! advice that can help.

use metier_model::{Action, Decision, PlanUpdate, SkillRef, StepStatus};
use serde_json::{Value, json};

use crate::router::{answer, loaded, past, ran, tables, view};
use crate::support::{Scene, decide};

/// A view in which the script of `tables` was tried, with what came of it.
fn tried(ok: bool, code: Option<&str>, text: &str, data: Value) -> Scene {
    let mut view = view("sum a.csv", vec![tables()]);
    view.plan = decide(&view).plan;
    view.past.push(past(ran(&["a.csv"]), ok, code, text, data));
    view
}

fn step(decision: &Decision, at: usize) -> StepStatus {
    let Some(PlanUpdate::Replace(plan)) = &decision.plan_update else { panic!("{decision:?}") };
    plan.steps[at].status
}

#[test]
fn a_dry_run_is_no_result_and_its_step_is_not_done() {
    let message = "Dry run: nothing was done (run tables/scripts/sum.sh); it would be done.";
    let data = json!({"dry_run": true});
    let decision = decide(&tried(true, None, message, data.clone()));
    assert_eq!(step(&decision, 1), StepStatus::Skipped);
    assert_eq!(step(&decision, 2), StepStatus::Completed, "the answer was given");
    let text = answer(decision);
    assert!(text.starts_with("Nothing was done"), "{text}");
    assert!(text.contains("`scripts/sum.sh a.csv` of the skill tables"), "{text}");
    assert!(!text.contains("This is the output"), "{text}");
    let mut chinese = tried(true, None, message, data);
    chinese.request = "汇总 a.csv".to_owned();
    let text = answer(decide(&chinese));
    assert!(text.starts_with("什么都没有做") && !text.contains("的输出"), "{text}");
}

#[test]
fn a_file_that_a_dry_run_did_not_read_is_not_quoted() {
    let body = "Read `references/apology.md` when someone apologises.\n";
    let files = ["SKILL.md", "references/apology.md"];
    let mut view = view("a letter of apology", vec![loaded("letters", body, &files)]);
    let action = Action::LoadResource {
        skill: SkillRef::named("letters"),
        relative_path: "references/apology.md".to_owned(),
        section_hint: None,
    };
    let message = "Dry run: nothing was done (read); it would be asked: a rule.";
    view.past.push(past(action, true, None, message, json!({"dry_run": true})));
    let text = answer(decide(&view));
    assert!(!text.contains("From `"), "{text}");
    assert!(text.contains("references/apology.md` was not read"), "{text}");
}

#[test]
fn a_denial_is_not_answered_with_a_yes() {
    let message = "Not allowed: the user's rules deny run_script (config.json:3)";
    let text = answer(decide(&tried(false, Some("NotAllowed"), message, Value::Null)));
    assert!(text.contains("was not run") && text.contains(message), "{text}");
    assert!(!text.contains("[NotAllowed]"), "it says so in words: {text}");
    assert!(!text.contains("--yes") && !text.contains("metier trust"), "{text}");
    assert!(text.contains("`metier explain run_script scripts/sum.sh --skill tables`"), "{text}");
    // The approval was refused; it can be granted next time.
    let text = answer(decide(&tried(false, Some("Rejected"), "The user said no.", Value::Null)));
    assert!(text.contains("was not run") && text.contains("`--yes`"), "{text}");
}

#[test]
fn where_trust_is_missing_the_advice_is_to_trust() {
    let message = "Not allowed: the skill project:tables is not trusted: it comes with the project, \
                and the folder is not trusted";
    let text = answer(decide(&tried(false, Some("NotAllowed"), message, Value::Null)));
    assert!(text.contains("`metier trust`") && !text.contains("--yes"), "{text}");
    // A skill that cannot even be loaded for the same reason.
    let mut view = view("tables a.csv", Vec::new());
    let action = decide(&view).action;
    view.past.push(past(action, false, Some("NotAllowed"), message, Value::Null));
    let text = answer(decide(&view));
    assert!(text.contains("could not be loaded") && text.contains("`metier trust`"), "{text}");
}

#[test]
fn what_was_cut_off_is_not_said_to_be_undone() {
    let cut = |code: &str| past(ran(&["a.csv"]), false, Some(code), "it was stopped", Value::Null);
    for code in ["Cancelled", "Interrupted"] {
        let mut view = tried(false, Some(code), "it was stopped", Value::Null);
        // What was interrupted is tried once more, and then message.
        view.past.push(cut(code));
        let text = answer(decide(&view));
        assert!(!text.contains("was not run"), "{code}: {text}");
        assert!(text.contains("was interrupted"), "{code}: {text}");
        assert!(!text.contains("--yes"), "{code}: {text}");
    }
}
