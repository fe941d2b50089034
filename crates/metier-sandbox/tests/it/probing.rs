//! The probe on this machine, and that a step that fails never means "run anyway":
//! the error names the step, and nothing was run.

use metier_sandbox::{Error, RunOptions, RunPlan, Runner, SandboxProbe, Step, Tier};

use crate::support::{helper, ran_as_nobody, scratch, tiers};

fn probe() {
    let dir = scratch();
    let probe = SandboxProbe::run(&helper(), dir.path()).expect("probes");
    println!("{}", serde_json::to_string_pretty(&probe).expect("json"));
    for tier in &probe.tiers {
        if let Some(missing) = &tier.missing {
            eprintln!("NOT TRIED on this machine: the tier {}: {missing}", tier.tier);
            // A machine may lack a feature; a helper that does not answer is a fault.
            assert!(!missing.contains("without a report"), "{}: {missing}", tier.tier);
        }
    }
    assert_eq!(probe.tier_for(Tier::None).expect("a tier"), probe.best);
    assert_eq!(std::fs::read_dir(dir.path()).expect("lists").count(), 0, "the probe cleans up");
}

#[test]
fn the_probe_finds_a_tier_and_leaves_nothing() {
    probe();
}

#[test]
fn the_probe_of_an_ordinary_user_finds_a_tier() {
    if !ran_as_nobody("probing::the_probe_of_an_ordinary_user_finds_a_tier") {
        probe();
    }
}

fn failure(tier: Tier, plan: &RunPlan) -> Error {
    Runner::new(helper(), tier).run(plan, &RunOptions::default(), &|_| {}).expect_err("fails")
}

#[test]
fn a_step_that_fails_is_named_and_nothing_runs() {
    for tier in tiers() {
        let dir = scratch();
        let mut plan = RunPlan::new("/usr/bin/touch", dir.path());
        plan.args = vec!["ran".to_owned()];
        plan.read_only.push(dir.path().join("not-there"));
        let error = failure(tier, &plan);
        let wanted = if tier == Tier::Strong { Step::Mounts } else { Step::Landlock };
        assert!(matches!(error, Error::Setup { step, .. } if step == wanted), "{error}");
        assert!(error.to_string().contains("nothing was run"), "{error}");
        assert!(!dir.path().join("ran").exists());
    }
}

#[test]
fn a_program_that_is_not_there_is_a_failed_step_and_no_exit_code() {
    for tier in [vec![Tier::None], tiers()].concat() {
        let dir = scratch();
        let error = failure(tier, &RunPlan::new("/usr/bin/no-such-program", dir.path()));
        assert!(matches!(error, Error::Setup { step: Step::Exec, .. }), "{tier}: {error}");
    }
}

#[test]
fn a_helper_that_is_none_of_ours_runs_nothing() {
    let dir = scratch();
    for wrong in ["/bin/true", "/bin/cat", "/no/such/helper"] {
        let plan = RunPlan::new("/usr/bin/true", dir.path());
        let runner = Runner::new(wrong, Tier::Medium);
        let error = runner.run(&plan, &RunOptions::default(), &|_| {}).expect_err("fails");
        assert!(matches!(error, Error::Helper { .. } | Error::Io { .. }), "{wrong}: {error}");
    }
}

#[test]
fn a_helper_started_by_hand_says_so_by_its_code() {
    let status = std::process::Command::new(helper())
        .arg(metier_sandbox::HELPER_ARGUMENT)
        .stdin(std::process::Stdio::null())
        .status()
        .expect("starts");
    assert_eq!(status.code(), Some(metier_sandbox::EXIT_PROTOCOL));
}

#[test]
fn the_tier_of_macos_is_refused_here_by_name() {
    let dir = scratch();
    let error = failure(Tier::Macos, &RunPlan::new("/usr/bin/true", dir.path()));
    assert!(matches!(error, Error::TierUnavailable { tier: Tier::Macos }));
}

#[test]
fn threads_that_probe_at_once_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().expect("dir");
    let alone = SandboxProbe::run(&helper(), dir.path()).expect("probes").best;
    std::thread::scope(|scope| {
        let probes: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| SandboxProbe::run(&helper(), dir.path()).expect("probes").best))
            .collect();
        for probe in probes {
            assert_eq!(probe.join().expect("no panic"), alone);
        }
    });
    assert_eq!(std::fs::read_dir(dir.path()).expect("lists").count(), 0, "nothing is left");
}
