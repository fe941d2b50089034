//! Runs a call on its own thread, so that a tool that ignores its token cannot block cancellation.
//!
//! The built-in tools check their token, or block in something that it ends. Another author's tool
//! may do neither: then the call is abandoned shortly after the cancellation. Its thread lives until
//! the tool returns, and the result is dropped. A thread cannot be ended from outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

use metier_cancel::CancelToken;

use crate::failure::ToolFailure;
use crate::output::CallResult;
use metier_skill::FailureCode;

/// How long to wait for a cancelled call: longer than the grace between SIGTERM and SIGKILL in the
/// sandbox, so that the end of a script is normally seen.
const GIVE_UP_AFTER: Duration = Duration::from_secs(4);

enum Signal {
    Done(CallResult),
    Cancelled,
}

/// Runs `work` and waits for it, or for `cancel` and then [`GIVE_UP_AFTER`].
pub(crate) fn run_on_thread(
    cancel: &CancelToken,
    work: impl FnOnce() -> CallResult + Send + 'static,
) -> CallResult {
    ToolFailure::if_cancelled(cancel)?;
    let (sender, receiver) = channel();
    let result_sender = sender.clone();
    let started = std::thread::Builder::new().name("metier-tool".to_owned()).spawn(move || {
        // A panic is a bug in the tool; it must not leave the caller waiting.
        let answer = catch_unwind(AssertUnwindSafe(work));
        let answer = answer.unwrap_or_else(|_| Err(failed("the tool panicked")));
        // The receiver is gone if the call was abandoned.
        let _ = result_sender.send(Signal::Done(answer));
    });
    if let Err(error) = started {
        return Err(failed(&format!("no thread could be started: {error}")));
    }
    let _guard = cancel.on_cancel(move || {
        let _ = sender.send(Signal::Cancelled);
    });
    if let Ok(Signal::Done(answer)) = receiver.recv() {
        return answer;
    }
    match receiver.recv_timeout(GIVE_UP_AFTER) {
        Ok(Signal::Done(answer)) => answer,
        _ => Err(ToolFailure::new(
            FailureCode::Cancelled,
            "the call was cancelled, but the tool did not stop; it was abandoned",
        )),
    }
}

fn failed(message: &str) -> ToolFailure {
    ToolFailure::new(FailureCode::Failed, message)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::output::ToolResult;

    #[test]
    fn a_panic_is_a_failure() {
        let answer = run_on_thread(&CancelToken::new(), || {
            std::panic::resume_unwind(Box::new("on purpose"))
        });
        assert_eq!(answer.expect_err("a failure").code, FailureCode::Failed);
    }

    #[test]
    fn a_call_that_checks_its_token_ends_by_itself_and_one_that_does_not_is_abandoned() {
        let cancel = CancelToken::new();
        let (own, begun) = (cancel.clone(), channel());
        let cancels = std::thread::spawn({
            let cancel = cancel.clone();
            move || {
                begun.1.recv().expect("it began");
                cancel.cancel();
            }
        });
        let answer = run_on_thread(&cancel, move || {
            begun.0.send(()).expect("heard");
            own.wait();
            Ok(ToolResult::text("listened"))
        });
        assert_eq!(answer.expect("an answer").text, "listened");
        cancels.join().expect("no panic");

        let cancel = CancelToken::new();
        let cancels = cancel.clone();
        let started = Instant::now();
        let answer = run_on_thread(&cancel, move || {
            cancels.cancel();
            // A tool that does not listen.
            CancelToken::new().wait_timeout(Duration::from_mins(1));
            Ok(ToolResult::default())
        });
        assert_eq!(answer.expect_err("given up").code, FailureCode::Cancelled);
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }

    #[test]
    fn nothing_begins_after_a_cancellation() {
        let cancel = CancelToken::new();
        cancel.cancel();
        let answer = run_on_thread(&cancel, || panic!("it began"));
        assert_eq!(answer.expect_err("stopped").code, FailureCode::Cancelled);
    }
}
