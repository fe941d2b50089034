//! Many runs at once in one process.
//! Their memory is measured by `cargo xtask bench running`.

use metier_agent::{AutoApprove, Status};
use serde_json::json;

use crate::fakes::{FakeExecutor, answer, call, run, scripted, select};

#[test]
fn a_thousand_runs_at_once_end_without_errors() {
    let replies = json!([select(&["pdf"]), call("read_file", json!({"path": "a"})), answer("x")]);
    let ended: usize = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..1000)
            .map(|_| {
                let replies = &replies;
                std::thread::Builder::new()
                    .stack_size(256 * 1024)
                    .spawn_scoped(scope, move || {
                        let ran = run(
                            &scripted(replies.clone()),
                            FakeExecutor::default(),
                            &AutoApprove,
                            |_| {},
                        );
                        ran.state.finished().is_some_and(|end| end.status == Status::Completed)
                    })
                    .expect("a thread")
            })
            .collect();
        runs.into_iter().map(|run| usize::from(run.join().expect("ends"))).sum()
    });
    assert_eq!(ended, 1000);
}
