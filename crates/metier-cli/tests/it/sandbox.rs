//! The binary as the sandbox's helper: hidden from people, there for the runner. What it holds is
//! tested in `metier-sandbox`; here only that this binary is one.
#![cfg(target_os = "linux")]

use metier_sandbox::{HELPER_ARGUMENT, RunOptions, RunPlan, Runner, SandboxProbe, Tier};
use metier_testkit::TestHome;

use crate::support::{METIER, run};

#[test]
fn the_helper_is_in_no_help_and_refuses_to_be_started_by_hand() {
    let home = TestHome::new();
    let help = run(&home, &["--help"]);
    assert!(!help.stdout.contains(HELPER_ARGUMENT));
    let by_hand = run(&home, &[HELPER_ARGUMENT]);
    assert_eq!((by_hand.code, by_hand.stdout.as_str()), (metier_sandbox::EXIT_PROTOCOL, ""));
}

#[test]
fn the_binary_holds_a_program_in_the_best_tier_of_this_machine() {
    let home = TestHome::new();
    let dir = home.path().canonicalize().expect("a path");
    let probe = SandboxProbe::run(METIER.as_ref(), &dir).expect("probes");
    if probe.best == Tier::None {
        metier_testkit::not_tested(format_args!("this machine holds nothing: {:?}", probe.tiers));
        return;
    }
    let work = dir.join("work");
    std::fs::create_dir(&work).expect("a directory");
    let mut plan = RunPlan::new("/bin/sh", &work);
    plan.args = vec!["-c".to_owned(), format!("ls {} || echo held", dir.display())];
    let runner = Runner::new(METIER, probe.best);
    let report = runner.run(&plan, &RunOptions::default(), &|_| {}).expect("runs");
    assert!(report.stdout.text.contains("held") || probe.best == Tier::Strong, "{report:?}");
    assert!(!report.stdout.text.contains("home"), "{report:?}");
}
