//! What the tests of `metier run` share: a project with the examples, scripted models, and what a run
//! left behind.

use std::path::{Path, PathBuf};

use metier_sandbox::{SandboxProbe, Tier};
use metier_testkit::{Output, TestHome};
use serde_json::Value;

pub(crate) use metier_testkit::agent::{
    answer, call, codes, events_in, of_type, resource, script, scripted, select,
};

use crate::support::{METIER, run};

/// The request of the first page of the documentation.
pub(crate) const REQUEST: &str = "summarise examples/sales.csv by region";

/// A project as a fresh clone has it: the example, and nothing of the user's.
pub(crate) fn project() -> TestHome {
    let home = TestHome::new();
    let sales = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sales.csv");
    home.write("project/examples/sales.csv", std::fs::read(sales).expect("the example"));
    home
}

/// Whether scripts can run on this machine.
pub(crate) fn holds_scripts(home: &TestHome) -> bool {
    let place = home.path().canonicalize().expect("a path").join("probe");
    let probe = SandboxProbe::run(METIER.as_ref(), &place).expect("a probe");
    let holds = probe.tier_for(Tier::Medium).is_ok();
    if !holds {
        metier_testkit::not_tested(format_args!(
            "this machine holds no script (sandbox {})",
            probe.best
        ));
    }
    holds
}

/// Runs a request with a scripted model.
pub(crate) fn run_scripted(home: &TestHome, replies: &Value, flags: &[&str]) -> Output {
    let model = scripted(home, replies);
    run(home, &[&["run", "do it", "--model", model], flags].concat())
}

/// The same for a request of the test's own.
pub(crate) fn run_scripted_for(home: &TestHome, replies: &Value, request: &str) -> Output {
    let model = scripted(home, replies);
    run(home, &["run", request, "--model", model])
}

/// The folder of all runs.
pub(crate) fn runs(home: &TestHome) -> PathBuf {
    home.project().join(".agent/runs")
}

/// The folder of the newest run.
pub(crate) fn last_run(home: &TestHome) -> PathBuf {
    let list = std::fs::read_dir(runs(home)).expect("runs");
    let folders = list.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    folders.max().expect("a run")
}

/// The events of the newest run.
pub(crate) fn events(home: &TestHome) -> Vec<Value> {
    events_in(&last_run(home))
}

/// The record of the newest run is whole and true, and leads to itself again.
pub(crate) fn is_sound(home: &TestHome) {
    let audit = run(home, &["audit", "verify", "last"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    let replay = run(home, &["replay", "last"]);
    assert_eq!(replay.code, 0, "{replay:?}");
}

/// The command that a run printed for its approval, as words after `metier`.
pub(crate) fn printed_approval(output: &Output) -> Vec<String> {
    let line = output.stderr.lines().find(|line| line.contains("--approve"));
    let line = line.unwrap_or_else(|| panic!("no approval in {output:?}"));
    let command = line.split_once("once: metier ").expect("the command").1;
    command.split_whitespace().map(str::to_owned).collect()
}
