//! Doing a call of a tool: waiting for it, passing its output on, stopping it when somebody wants so.
//! What is called was judged before; here nothing is decided.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use metier_tools::{Permit, ToolFailure, ToolResult, wait};

use crate::hands::Doing;

/// The stream's name and the text.
type Printed = (String, String);

/// Where output goes while something is done.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<Option<Sender<Printed>>>>);

impl Live {
    pub(super) fn tell(&self, stream: &str, text: &str) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            // Nobody may be listening any more.
            let _ = sender.send((stream.to_owned(), text.to_owned()));
        }
    }

    fn set(&self, sender: Option<Sender<Printed>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sender;
    }
}

/// Makes the call and waits for its end.
pub(super) fn call(
    permit: Permit,
    live: &Live,
    doing: &Doing<'_>,
) -> Result<ToolResult, ToolFailure> {
    let (sender, receiver) = channel::<Printed>();
    live.set(Some(sender));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for (stream, text) in receiver {
                (doing.output)(&stream, &text);
            }
        });
        let answer = wait(permit.call(doing.cancel));
        // The listener ends with the last sender.
        live.set(None);
        answer
    })
}
