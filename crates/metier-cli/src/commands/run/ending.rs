//! How a run ended, for people: the answer, or what to do next.
//! The exit code follows from the status alone.

use std::io::{self, Write};

use metier_agent::{RunFolder, Spent, State, Status};
use metier_skill::Digest;
use metier_skill::text::escape_lines;

use super::Session;
use crate::commands::exec::quoted;
use crate::context::Context;
use crate::error::Exit;
use crate::output::{Output, remark};
use crate::render::safe;
use crate::render::style::{CYAN, DIM, paint};

/// A run that has ended, or waits.
pub(crate) struct Ended {
    run: String,
    status: Status,
    answer: Option<String>,
    is_shown: bool,
    spent: Spent,
    /// The command that goes on with it, and lets the open question pass.
    resume: String,
    json: bool,
}

/// What is printed when a run has ended.
pub(crate) fn end(
    context: &Context,
    folder: &RunFolder,
    state: &State,
    session: &Session<'_>,
    json: bool,
) -> Box<dyn Output> {
    let finished = state.finished();
    let status = finished.map_or(Status::Failed, |end| end.status);
    let asked = session.open_question().filter(|_| status == Status::NeedsApproval);
    Box::new(Ended {
        run: folder.id().to_string(),
        status,
        answer: finished.and_then(|end| end.answer.as_deref().map(str::to_owned)),
        is_shown: session.watcher().has_answered(),
        spent: *state.spent(),
        resume: resume(context, folder, asked, &session.flags()),
        json,
    })
}

/// The command that goes on with a run, with everything that was said for this run alone.
fn resume(
    context: &Context,
    folder: &RunFolder,
    approve: Option<Digest>,
    flags: &[String],
) -> String {
    let mut words = vec!["metier".to_owned()];
    if context.moved {
        words.push(format!("-C {}", quoted(&context.working_dir.to_string_lossy())));
    }
    words.push(format!("resume {}", folder.id()));
    words.extend(approve.map(|digest| format!("--approve {digest}")));
    words.extend_from_slice(flags);
    words.join(" ")
}

impl Output for Ended {
    /// The events were printed as they came; the last one is the end.
    fn json(&self, _: &mut dyn Write) -> io::Result<()> {
        self.advise();
        Ok(())
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(answer) = self.answer.as_deref().filter(|_| !self.is_shown) {
            let text = escape_lines(answer);
            out.write_all(text.as_bytes())?;
            if !text.ends_with('\n') {
                out.write_all(b"\n")?;
            }
            out.flush()?;
        }
        self.advise();
        Ok(())
    }

    fn has_document(&self) -> bool {
        false
    }

    fn is_raw(&self) -> bool {
        true
    }

    fn exit(&self) -> Exit {
        match self.status {
            Status::Completed => Exit::Done,
            Status::NeedsApproval => Exit::Denied,
            Status::BudgetExhausted => Exit::BudgetSpent,
            Status::Cancelled => Exit::Interrupted,
            _ => Exit::Findings,
        }
    }
}

impl Ended {
    /// What it cost, and what to do next, on standard error.
    fn advise(&self) {
        let (help, command) = (paint(CYAN, "help"), safe(&self.resume));
        if self.status == Status::NeedsApproval {
            remark(&format!("{help}: this lets exactly this request pass, once: {command}"));
        } else if self.status.can_resume() {
            remark(&format!("{help}: `{command}` goes on with it"));
        }
        if self.json {
            return;
        }
        let Spent { turns, tool_calls, usage, .. } = self.spent;
        let tokens = usage.input + usage.output;
        let cost = if tokens == 0 { String::new() } else { format!(", {tokens} tokens") };
        let calls = match tool_calls {
            0 => String::new(),
            1 => ", 1 tool call".to_owned(),
            several => format!(", {several} tool calls"),
        };
        let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let line = format!("run {}: {turns}{calls}{cost} (metier show)", self.run);
        remark(&paint(DIM, line));
    }
}
