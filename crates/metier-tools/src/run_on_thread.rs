//! A call on a thread of its own, so that a tool that does not listen cannot hold up whoever cancels.
//!
//! Our own tools look at their token, or block in something that it ends. A tool of another author may
//! do neither: then the call is given up a moment after the cancellation. Its thread lives on until
//! the tool returns, and what it returns is dropped. A thread cannot be ended from outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

use metier_cancel::CancelToken;

use crate::failure::{FailureCode, ToolFailure};
use crate::output::CallResult;

/// How long a cancelled call is waited for: longer than a program in the sandbox is given between
/// SIGTERM and SIGKILL, so that its end is seen in the usual case.
const GIVE_UP_AFTER: Duration = Duration::from_secs(4);

enum Heard {
    Done(CallResult),
    Cancelled,
}

/// Does `work` and waits for it, or for `cancel` and a moment more.
pub(crate) fn run_on_thread(
    cancel: &CancelToken,
    work: impl FnOnce() -> CallResult + Send + 'static,
) -> CallResult {
    ToolFailure::if_cancelled(cancel)?;
    let (sender, receiver) = channel();
    let tell = sender.clone();
    let started = std::thread::Builder::new().name("metier-tool".to_owned()).spawn(move || {
        // A panic is a fault of the tool; it must not leave the caller waiting.
        let answer = catch_unwind(AssertUnwindSafe(work));
        let answer = answer.unwrap_or_else(|_| Err(failed("the tool panicked")));
        // Nobody listens to a call that was given up.
        let _ = tell.send(Heard::Done(answer));
    });
    if let Err(error) = started {
        return Err(failed(&format!("no thread could be started: {error}")));
    }
    let _guard = cancel.on_cancel(move || {
        let _ = sender.send(Heard::Cancelled);
    });
    if let Ok(Heard::Done(answer)) = receiver.recv() {
        return answer;
    }
    match receiver.recv_timeout(GIVE_UP_AFTER) {
        Ok(Heard::Done(answer)) => answer,
        _ => Err(ToolFailure::new(
            FailureCode::Cancelled,
            "the call was stopped, but the tool went on; it was left behind",
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
    fn a_panic_is_an_answer() {
        let answer = run_on_thread(&CancelToken::new(), || {
            std::panic::resume_unwind(Box::new("on purpose"))
        });
        assert_eq!(answer.expect_err("a failure").code, FailureCode::Failed);
    }

    #[test]
    fn a_call_that_listens_ends_by_itself_and_one_that_does_not_is_left_behind() {
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
            std::thread::sleep(Duration::from_mins(1));
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
