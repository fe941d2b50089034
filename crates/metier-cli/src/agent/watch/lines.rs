//! A run in lines for people: what is done, a line each, on standard error. On a terminal the plan and
//! what happens now stand below them and are written over; elsewhere a step of the plan is printed
//! when it changes. The answer is not shown here, except while it streams: it comes last, when the
//! run has ended.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use metier::FailureCode;
use metier::agent::{Event, Note, Observer, Op, Outcome, PlanAuthor, Record, Status};
use metier::model::{Action, Plan};
use metier::policy::{Answer, Effect};
use metier::skill::text::short_line;

use super::Watcher;
use super::progress::{self, short};
use super::region::Region;
use crate::render::operation::{action_words, words};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{budget_text, count, safe};

/// Characters of why a model gave no reply.
const FAILURE_CHARS: usize = 1000;

/// Characters of a warning: what is cut off could be what it is about.
const WARNING_CHARS: usize = 2000;

/// A run in lines.
#[derive(Debug)]
pub(crate) struct Lines {
    live: bool,
    state: Mutex<Screen>,
}

#[derive(Debug, Default)]
struct Screen {
    region: Region,
    /// What is being done now, in a line.
    status: String,
    /// As much of the answer as has come.
    answer: String,
    /// The plan, and that of a loop inside.
    plans: [Option<Plan>; 2],
    /// What the last script printed, until it is known whether the answer has it too.
    output: progress::Output,
    /// The last decision, in a line.
    decided: String,
    /// Whether the line of the current operation is there.
    is_named: bool,
    /// Whether the user has seen and approved the current operation.
    is_approved: bool,
    /// The reason of the open question.
    reason: String,
    /// Whether the line about a question without an answer is there.
    is_open: bool,
    /// What the model failed with last.
    failure: String,
    /// Whether a question stands on the last line, with the cursor behind it.
    is_asking: bool,
}

impl Lines {
    pub(crate) fn new() -> Self {
        let live = io::stderr().is_terminal() && io::stdout().is_terminal();
        Self { live, state: Mutex::default() }
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, text: String) {
        let mut screen = self.screen();
        screen.status = text;
        self.redraw(&mut screen);
    }

    /// Draws what is written over.
    fn redraw(&self, screen: &mut Screen) {
        if self.live && !screen.is_asking {
            let lines = screen.below();
            screen.region.draw(&lines);
        }
    }

    fn line(&self, depth: u32, text: &str) {
        self.lines(depth, "", &[text.to_owned()]);
    }

    /// Prints lines that stay.
    fn lines(&self, depth: u32, indent: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let mut screen = self.screen();
        screen.make_room();
        let outer = if depth > 0 { "    " } else { "" };
        let mut out = anstream::stderr().lock();
        for line in lines {
            let _ = writeln!(out, "{outer}{indent}{line}");
        }
        self.redraw(&mut screen);
    }

    fn plan(&self, depth: u32, plan: &Plan) {
        let changed = {
            let mut screen = self.screen();
            let known = &mut screen.plans[usize::from(depth > 0)];
            let changed = progress::changed_plan_lines(known.as_ref(), plan);
            *known = Some(plan.clone());
            self.redraw(&mut screen);
            changed
        };
        let is_drawn = self.live && depth == 0;
        if !is_drawn && !plan.steps.is_empty() {
            self.lines(depth, "", &changed);
        }
    }

    /// The line of an operation.
    fn name(&self, depth: u32, text: &str) {
        self.screen().is_named = true;
        self.line(depth, &paint(BOLD, short(text)));
    }

    fn started(&self, depth: u32, op: &Op) {
        let text = words(op);
        // How much of a file changes is known afterwards.
        if is_write(op) {
            self.status(short(&text));
        } else {
            self.name(depth, &text);
            let mut screen = self.screen();
            "working".clone_into(&mut screen.status);
            self.redraw(&mut screen);
        }
    }

    fn finished(&self, depth: u32, outcome: &Outcome) {
        let (is_named, is_approved, decided) = {
            let mut screen = self.screen();
            screen.status.clear();
            let flags =
                (std::mem::take(&mut screen.is_named), std::mem::take(&mut screen.is_approved));
            (flags.0, flags.1, screen.decided.clone())
        };
        if !is_named {
            let counts = match (&outcome.data["added"], &outcome.data["removed"]) {
                (added, removed) if added.is_u64() && removed.is_u64() => {
                    format!(" (+{added} -{removed})")
                }
                _ => String::new(),
            };
            self.name(depth, &format!("{decided}{counts}"));
            self.screen().is_named = false;
            if let Some(diff) = outcome.data["diff"].as_str().filter(|_| !is_approved) {
                self.lines(depth, "  ", &progress::change_lines(diff));
            }
        }
        if let Some(lines) = outcome.data["printed_lines"].as_u64() {
            self.screen().output.has_printed(lines);
        }
        if let Some(code) = outcome.code.filter(|_| !outcome.ok) {
            // Of a script that failed, its own words say more than its exit code.
            let said = outcome.data["stderr"].as_str().filter(|it| !it.trim().is_empty());
            let text = said.unwrap_or(outcome.text.as_str());
            // What follows is advice to the model, about its tools.
            let is_missing = said.is_none() && code == FailureCode::NotFound;
            let text = text.split_once("; ").filter(|_| is_missing).map_or(text, |(what, _)| what);
            let first = text.trim().lines().next().unwrap_or_default();
            let is_shown = self.screen().output.shows(first);
            self.keep_output(depth);
            let text = if is_shown { String::new() } else { format!(" {}", short(text)) };
            self.line(depth, &format!("  {}{text}", paint(RED, code)));
        }
    }

    /// Prints the beginning of a script's output, which so far could be written over.
    fn keep_output(&self, depth: u32) {
        let output = std::mem::take(&mut self.screen().output);
        self.lines(depth, "  ", &output.first_lines());
    }

    fn decided(&self, depth: u32, action: &Action) {
        if let Action::FinalAnswer { text, .. } = action
            && self.screen().output.is_in(text)
        {
            self.screen().output = progress::Output::default();
        }
        self.keep_output(depth);
        let mut screen = self.screen();
        screen.decided = action_words(action);
        screen.is_named = false;
    }

    fn ended(&self, depth: u32, status: Status, message: Option<&str>) {
        self.keep_output(depth);
        if depth == 0 {
            let plan = {
                let mut screen = self.screen();
                screen.status.clear();
                screen.answer.clear();
                let plan = screen.plans[0].take().filter(|plan| !plan.steps.is_empty());
                plan.filter(|_| self.live && status == Status::Completed)
            };
            if let Some(plan) = plan {
                let mut lines = progress::plan_lines(&plan);
                // The answer stands apart.
                lines.push(String::new());
                self.lines(depth, "", &lines);
            }
            let mut screen = self.screen();
            screen.make_room();
        }
        match status {
            // What the answer may not say: that nothing was changed.
            Status::Completed => {
                if let Some(message) = message.filter(|_| depth == 0) {
                    self.line(depth, &format!("{}: {}", paint(YELLOW, "note"), short(message)));
                }
            }
            Status::Cancelled => self.line(depth, "Cancelled."),
            status => {
                let failure = std::mem::take(&mut self.screen().failure);
                // The model's last words stand above, and so does an open question.
                let is_said = self.screen().is_open && status == Status::NeedsApproval;
                let why = message.map(short).filter(|why| *why != failure && !is_said);
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                self.line(depth, &format!("{} {}{why}", paint(YELLOW, "ended"), status.as_str()));
            }
        }
    }
}

impl Screen {
    /// Takes away what is written over, and leaves the line of a question that was not answered.
    fn make_room(&mut self) {
        self.region.erase();
        if std::mem::take(&mut self.is_asking) {
            let _ = writeln!(io::stderr());
        }
    }

    /// The lines that are written over, as many as the terminal has room for.
    fn below(&self) -> Vec<String> {
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        let width = width.saturating_sub(1).max(20);
        let mut lines = Vec::new();
        if let Some(plan) = self.plans[0].as_ref().filter(|plan| !plan.steps.is_empty()) {
            lines.extend(progress::plan_lines(plan));
        }
        lines.truncate(height / 2);
        let room = height.saturating_sub(lines.len() + 2).max(1);
        if !self.answer.is_empty() {
            lines.extend(progress::tail(&self.answer, width, room));
        } else if !self.status.is_empty() {
            lines.push(paint(DIM, &self.status));
            let output = self.output.latest_lines();
            lines
                .extend(output.iter().take(room.saturating_sub(1)).map(|line| format!("  {line}")));
        }
        lines.iter().map(|line| progress::cut_styled(line, width)).collect()
    }
}

impl Observer for Lines {
    fn event(&self, depth: u32, record: &Record) {
        match &record.event {
            Event::RunStarted { .. } if depth == 0 => *self.screen() = Screen::default(),
            Event::RunStarted { .. } => self.screen().plans[1] = None,
            Event::ModelRequested { turn, tokens, .. } => {
                self.status(format!("turn {turn}: deciding ({tokens} tokens)"));
            }
            Event::ModelRetrying { error, delay_ms, .. } => {
                let why = short(&error.to_string());
                let before = std::mem::replace(&mut self.screen().failure, why.clone());
                let what = if before == why { "it failed again".to_owned() } else { why };
                let text = format!("{what}, again in {delay_ms} ms");
                self.line(depth, &format!("{} {text}", paint(YELLOW, "retry")));
            }
            Event::ModelFailed { error, .. } => {
                // Whole: this ends the run, and its last words say which key was used.
                let text = short_line(&error.to_string(), FAILURE_CHARS).into_owned();
                self.screen().failure = short(&error.to_string());
                self.line(depth, &format!("{} {text}", paint(RED, "model")));
                self.line(depth, &format!("{} {}", paint(CYAN, "help"), error.kind.help()));
            }
            Event::DecisionMade { decision, .. } => self.decided(depth, &decision.action),
            Event::DecisionInvalid { code, message, .. } => {
                // What was streamed was no answer after all.
                self.screen().answer.clear();
                let why = short(message);
                let before = std::mem::replace(&mut self.screen().failure, why.clone());
                let why = if before == why { "as before".to_owned() } else { why };
                let text = format!("{}: {why}", code.as_str());
                self.line(depth, &format!("{} {text}", paint(YELLOW, "not a decision")));
            }
            // What the runtime's own plan says, the lines of the actions say.
            Event::PlanChanged { plan, by: PlanAuthor::Model } => self.plan(depth, plan),
            Event::PolicyDecided { op, effect, reason, .. } => {
                self.screen().decided = words(op);
                if *effect == Effect::Deny {
                    self.screen().reason.clear();
                    self.name(depth, &words(op));
                    self.line(depth, &format!("  {} {}", paint(RED, "not allowed"), short(reason)));
                }
            }
            Event::AskOpened { .. }
            | Event::AskAnswered { .. }
            | Event::AskUnanswered { .. }
            | Event::CancelRequested {} => self.question(depth, &record.event),
            Event::ActionStarted { op, .. } => self.started(depth, op),
            Event::ActionFinished { outcome, .. } => self.finished(depth, outcome),
            Event::SkillChanged { skill, loaded, .. } => {
                let what = if *loaded { "its text is that of now" } else { "not loaded" };
                let text = format!("{skill} has changed since the run began; {what}");
                self.line(depth, &format!("  {}: {}", paint(YELLOW, "warning"), short(&text)));
            }
            Event::ContextCompacted { shortened, .. } => {
                let what = count(*shortened as usize, "old observation");
                let text = format!("{what} shortened to fit the context");
                self.line(depth, &format!("  {}", paint(DIM, text)));
            }
            // The end says it where no turn is left.
            Event::BudgetSpent { budget, setting, .. } if budget != "wall_ms" => {
                let text = safe(&budget_text(budget, setting.as_ref())).into_owned();
                self.line(depth, &format!("{} {text}", paint(YELLOW, "budget")));
            }
            Event::LoopDetected { action, times, .. } => {
                let text = format!("{action} had the same result {times} times; one last turn");
                self.line(depth, &format!("{} {text}", paint(YELLOW, "loop")));
            }
            Event::RunResumed { .. } => {
                self.line(depth, &paint(GREEN, "resumed"));
            }
            Event::RunFinished { status, message, .. } => {
                self.ended(depth, *status, message.as_deref());
            }
            _ => {}
        }
    }

    fn note(&self, depth: u32, note: &Note) {
        match note {
            Note::ActionKnown { kind, target, .. } => {
                self.status(format!("{kind} {}", short(target)));
            }
            Note::AnswerText(text) if self.live && depth == 0 => {
                let mut screen = self.screen();
                screen.answer.push_str(text);
                self.redraw(&mut screen);
            }
            Note::Warning(text) => {
                let text = short_line(text, WARNING_CHARS);
                self.line(depth, &format!("{}: {text}", paint(YELLOW, "warning")));
            }
            Note::Anew => self.screen().answer.clear(),
            Note::Output { text, .. } if self.live => {
                let mut screen = self.screen();
                screen.output.push(text);
                self.redraw(&mut screen);
            }
            _ => {}
        }
    }
}

impl Lines {
    /// What becomes of a question.
    fn question(&self, depth: u32, event: &Event) {
        match event {
            // A question about ceilings follows a denial, which is shown.
            Event::AskOpened { reason, liftable, .. } if liftable.is_empty() => {
                self.screen().reason.clone_from(reason);
            }
            Event::AskUnanswered { .. } => {
                let reason = short(&std::mem::take(&mut self.screen().reason));
                if !reason.is_empty() {
                    let what = self.screen().decided.clone();
                    self.name(depth, &what);
                    self.line(depth, &format!("  {} {reason}", paint(YELLOW, "needs approval")));
                    self.screen().is_open = true;
                }
            }
            Event::AskAnswered { answer, by, .. } => {
                if by == "user" {
                    // The key that ended the answer has ended the line.
                    let mut screen = self.screen();
                    (screen.is_asking, screen.is_approved) = (false, true);
                }
                if *answer == Answer::Lift {
                    let text = format!("limits lifted for this run, by: {by}");
                    self.line(depth, &format!("  {}", paint(YELLOW, text)));
                } else if by != "user" && !matches!(answer, Answer::Reject(_)) {
                    self.line(depth, &paint(DIM, format!("approved by: {by}")));
                }
            }
            _ => {}
        }
    }
}

impl Watcher for Lines {
    fn pause(&self) {
        let mut screen = self.screen();
        screen.region.erase();
        screen.is_asking = true;
    }

    fn unanswered(&self) {
        self.screen().make_room();
    }
}

fn is_write(op: &Op) -> bool {
    matches!(op, Op::Tool { tool, .. } if tool == "write_file")
}
