//! Making the call of a tool: waiting for it and passing its output on.
//! What is called was judged before; here nothing is decided.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use metier_tools::{CallPermit, CallResult};

use crate::executor::ActionContext;

/// The stream's name and the text.
type Printed = (String, String);

/// Where output goes while something is done.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<Option<Sender<Printed>>>>);

impl Live {
    pub(super) fn send(&self, stream: &str, text: &str) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            // The listener may be gone.
            let _ = sender.send((stream.to_owned(), text.to_owned()));
        }
    }

    fn set(&self, sender: Option<Sender<Printed>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sender;
    }
}

/// Makes the call and waits for its end.
pub(super) fn call(permit: CallPermit, live: &Live, context: &ActionContext<'_>) -> CallResult {
    let (sender, receiver) = channel::<Printed>();
    live.set(Some(sender));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for (stream, text) in receiver {
                (context.output)(&stream, &text);
            }
        });
        let answer = permit.call(context.cancel);
        // The listener ends with the last sender.
        live.set(None);
        answer
    })
}
