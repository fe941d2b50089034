//! Skills that are edited while evals run: what comes of such a trial is of neither version.
//! The next run tries it again, with the files that it finds.

use std::path::Path;

use metier::{CancelToken, Environment, Metier};
use metier_evals::{
    Arm, Case, EvalSubject, Expected, LoopOptions, LoopSubject, OutputChecks, Trace, TraceError,
    TrialErrorKind,
};
use serde_json::json;

fn opened(dir: &Path) -> Metier {
    std::fs::create_dir_all(dir.join("project")).expect("a project");
    Metier::builder(dir.join("project"))
        .without_user_folders()
        .environment(Environment::empty().with("PATH", "/usr/bin:/bin"))
        .root(dir.join("skills"))
        .open()
        .expect("a runtime")
}

fn tried(subject: &LoopSubject, workspace: &Path) -> Result<Trace, TraceError> {
    let select =
        json!({"action": {"type": "select_skills", "skills": [{"name": "pdf"}], "reason": "x"}});
    let answer = json!({"action": {"type": "final_answer", "text": "done"}});
    let case = Case {
        id: "one".to_owned(),
        input: "x".to_owned(),
        expected: Expected {
            output: OutputChecks { contains: vec!["done".to_owned()], ..OutputChecks::default() },
            ..Expected::default()
        },
        replies: vec![select, answer],
        ..Case::default()
    };
    subject.run(&case, Arm::Listed, workspace, &CancelToken::new())
}

#[test]
fn a_trial_with_a_skill_that_was_edited_meanwhile_is_an_error_until_evals_run_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let (script, other) =
        (dir.path().join("skills/pdf/fill.py"), dir.path().join("skills/csv/SKILL.md"));
    let skill =
        |name: &str| format!("---\nname: {name}\ndescription: Work with {name}.\n---\n\nText.\n");
    for name in ["pdf", "csv"] {
        std::fs::create_dir_all(dir.path().join("skills").join(name)).expect("a folder");
        std::fs::write(dir.path().join("skills").join(name).join("SKILL.md"), skill(name))
            .expect("a skill");
    }
    std::fs::write(&script, "print(1)\n").expect("a script");
    let metier = opened(dir.path());
    let new = || LoopSubject::new(&metier, LoopOptions::default(), ["pdf"]).expect("a subject");
    let workspace = dir.path().join("trial");
    std::fs::create_dir_all(&workspace).expect("a folder");
    let subject = new();
    assert_eq!(tried(&subject, &workspace).expect("a trace").fired[0].skill, "pdf");
    // Another skill, with which the trial did nothing.
    std::fs::write(&other, skill("csv") + "More.\n").expect("edited");
    assert!(tried(&subject, &workspace).is_ok());
    std::fs::write(&script, "exit(3)\n").expect("edited");
    let error = tried(&subject, &workspace).expect_err("of neither version");
    assert_eq!(error.kind, TrialErrorKind::SkillNotLoadable);
    assert!(error.message.contains("pdf was changed while the evals ran"), "{}", error.message);
    std::fs::write(&script, "print(1)\n").expect("as it was");
    assert!(tried(&new(), &workspace).is_ok(), "the next run tries it again");
    // A file that comes, and one that goes.
    let subject = new();
    std::fs::write(dir.path().join("skills/pdf/new.txt"), "x").expect("a file");
    assert!(tried(&subject, &workspace).is_err());
    let subject = new();
    std::fs::remove_file(&script).expect("goes");
    assert!(tried(&subject, &workspace).is_err());
}
