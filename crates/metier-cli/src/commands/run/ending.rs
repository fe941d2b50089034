//! How a run ended, for people: the answer, or what to do next.
//! The exit code follows from the status alone.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use metier::agent::{BudgetSetting, Spent, Status};
use metier::config::Scope;
use metier::skill::text::escape_lines;
use metier::{OpenApproval, Run};

use super::RuleArgs;
use crate::agent::console::Console;
use crate::context::{Context, FindArgs};
use crate::error::{ApprovalAdvice, Exit};
use crate::output::{Output, print_note};
use crate::render::style::{CYAN, DIM, paint};
use crate::render::table::terminal_width;
use crate::render::{markdown, safe, shell};

/// A run that has ended, or waits.
pub(crate) struct Ended {
    run: String,
    status: Status,
    can_resume: bool,
    answer: Option<String>,
    /// Whether the answer is a model's own words; the offline model passes on what a script printed.
    is_markdown: bool,
    spent: Spent,
    open: Option<OpenApproval>,
    /// What gives such a run more, where a budget ended it.
    more: Option<String>,
    /// The command that continues it, and approves the open question.
    resume: String,
    json: bool,
}

/// What has to be said again when a run is resumed: everything that was said for this run alone.
pub(crate) struct Resuming<'a> {
    pub(crate) find: &'a FindArgs,
    pub(crate) rules: &'a RuleArgs,
}

/// What is printed when a run has ended.
pub(crate) fn end(
    context: &Context,
    run: &Run,
    console: &Console,
    resuming: &Resuming<'_>,
    json: bool,
) -> Box<dyn Output> {
    let open = run.open_approval();
    let mut words = context.command_words();
    words.push(format!("resume {}", run.id()));
    let approval = open.as_ref().filter(|open| open.refused.is_none());
    words.extend(approval.map(|open| format!("--approve {}", open.request)));
    words.extend(resuming.find.words());
    words.extend(resuming.rules.words());
    let command = words.join(" ");
    let advice =
        approval.map(|open| ApprovalAdvice { digest: open.request, command: command.clone() });
    console.watcher.ended(advice.as_ref());
    let finished = run.state().finished();
    Box::new(Ended {
        run: run.id().to_string(),
        status: run.status(),
        can_resume: finished.is_none_or(|end| end.can_resume()),
        answer: finished.and_then(|end| end.answer.as_deref().map(str::to_owned)),
        is_markdown: run.state().setup().model.provider != "router",
        spent: *run.state().spent(),
        open,
        more: run.state().exhausted_budget().and_then(|budget| {
            (run.status() == Status::BudgetExhausted).then(|| more_of(context, budget))
        }),
        resume: command,
        json,
    })
}

/// How a budget is raised: in your own file by a command, in another one by its author, a flag on the next run.
fn more_of(context: &Context, (setting, limit): (&BudgetSetting, u64)) -> String {
    let key = &setting.key;
    if key.starts_with("--") {
        return format!("give `{key}` more, or leave it out, and run it again");
    }
    let files = context.metier.config_files().iter();
    let own: Vec<_> =
        files.filter(|file| file.scope == Scope::User).map(|file| file.path.display()).collect();
    let is_own = |place: &String| own.iter().any(|path| place.starts_with(&format!("{path}:")));
    if setting.place.as_ref().is_some_and(|place| !is_own(place)) {
        let place = setting.place.as_deref().unwrap_or_default();
        return format!("raise `{key}` in {place}, and run it again");
    }
    let limit = if key.ends_with(".wall_s") { limit.div_ceil(1000) } else { limit };
    let more = (limit * 2).max(1);
    let words = [context.command_words().join(" "), "config set".to_owned(), shell::quoted(key)];
    format!("`{} {more}` allows more; then run it again", words.join(" "))
}

impl Output for Ended {
    /// The events were printed as they came; the last one is the end.
    fn json(&self, _: &mut dyn Write) -> io::Result<()> {
        self.advise();
        Ok(())
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(answer) = &self.answer {
            let text = escape_lines(answer);
            let text = match markdown_width().filter(|_| self.is_markdown) {
                Some(width) => markdown::render(&text, width),
                None => text.into_owned(),
            };
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
            Status::Completed | Status::DryRun => Exit::Done,
            Status::NeedsApproval | Status::Denied => Exit::Denied,
            Status::BudgetExhausted => Exit::BudgetSpent,
            Status::Cancelled => Exit::Interrupted,
            _ => Exit::Findings,
        }
    }
}

/// The columns of the terminal that an answer is rendered for: nothing where it goes elsewhere, or
/// where colour, which a rendered text is made of, is not wanted.
fn markdown_width() -> Option<usize> {
    let stdout = io::stdout();
    let is_wanted = stdout.is_terminal() && AutoStream::choice(&stdout) != ColorChoice::Never;
    is_wanted.then(|| terminal_width().unwrap_or(80))
}

impl Ended {
    /// What it cost, and what to do next, on standard error.
    fn advise(&self) {
        let (help, command) = (paint(CYAN, "help"), safe(&self.resume));
        if let Some(fault) = self.open.as_ref().and_then(|open| open.refused.as_ref()) {
            print_note(&format!(
                "{help}: the approval does not count: {}; to be asked again: {command}",
                safe(&fault.to_string())
            ));
        } else if self.open.is_some() {
            print_note(&format!("{help}: To approve this request once: {command}"));
        } else if let Some(more) = &self.more {
            print_note(&format!("{help}: {}", safe(more)));
        } else if self.can_resume {
            print_note(&format!("{help}: `{command}` continues it"));
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
        print_note(&paint(DIM, line));
    }
}
