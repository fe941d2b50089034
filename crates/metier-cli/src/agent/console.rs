//! The terminal of one command: what shows its runs, who answers their questions, and Ctrl-C.
//!
//! `run`, `chat`, `resume` and `exec` connect their session here, so that a question looks and is
//! answered the same everywhere.

use std::path::PathBuf;
use std::sync::Arc;

use metier::Session;
use metier::agent::{AskApprover, AutoApprove, Note, Observer, Record};

use super::signal::Interrupt;
use super::terminal::Terminal;
use super::typed::StdinLines;
use super::watch::Watcher;
use crate::prompt;

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answerer {
    /// Every question is answered with yes, this once.
    Yes,
    /// The person at the terminal.
    Person,
    /// No one: the run stops at the first question.
    NoOne,
}

impl Answerer {
    /// Who answers, by the flags and by whether there is a terminal.
    pub(crate) fn new(yes: bool, no_input: bool, json: bool) -> Self {
        if yes {
            Self::Yes
        } else if no_input || !prompt::can_ask(json) {
            Self::NoOne
        } else {
            Self::Person
        }
    }
}

/// The terminal of one command.
pub(crate) struct Console {
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) typed: Arc<StdinLines>,
    pub(crate) interrupt: Interrupt,
    answerer: Answerer,
    asking: AskApprover,
    workspace: PathBuf,
}

impl Console {
    /// Listens for Ctrl-C from now on.
    pub(crate) fn new(answerer: Answerer, watcher: Arc<dyn Watcher>, workspace: PathBuf) -> Self {
        let console = Self {
            watcher,
            typed: Arc::default(),
            interrupt: Interrupt::listen(),
            answerer,
            asking: AskApprover::default(),
            workspace,
        };
        if answerer == Answerer::Person {
            console.listen();
        }
        console
    }

    /// Answers what is asked, on a thread of its own, until this console goes.
    fn listen(&self) {
        let terminal = Terminal {
            asks: self.asking.asks.clone(),
            workspace: self.workspace.clone(),
            watcher: Arc::clone(&self.watcher),
            typed: Arc::clone(&self.typed),
        };
        let listener = self.asking.asks.subscribe();
        std::thread::spawn(move || terminal.serve(&listener));
    }

    /// A session that is shown here, asks here, and is cancelled by Ctrl-C.
    pub(crate) fn connect(&self, session: Session) -> Session {
        let session =
            session.observer(Shared(Arc::clone(&self.watcher))).cancel_with(self.interrupt.token());
        match self.answerer {
            Answerer::Yes => session.approver(AutoApprove),
            Answerer::Person => session.approver(self.asking.clone()),
            Answerer::NoOne => session,
        }
    }
}

impl Drop for Console {
    /// Ends the listening thread: there will be no more questions.
    fn drop(&mut self) {
        self.asking.asks.close();
    }
}

/// A watcher that the session and the command share.
struct Shared(Arc<dyn Watcher>);

impl Observer for Shared {
    fn event(&self, depth: u32, record: &Record) {
        self.0.event(depth, record);
    }

    fn note(&self, depth: u32, note: &Note) {
        self.0.note(depth, note);
    }
}
