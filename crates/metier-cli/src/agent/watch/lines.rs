//! A run in lines for people. On a terminal one line at the end is written over: what is being done
//! now; the answer streams as it comes, and the output of scripts is folded.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use metier::agent::{Event, Note, Observer, Op, Record, Status};
use metier::model::{Plan, StepStatus};
use metier::policy::{Answer, Effect};
use metier::skill::text::{clip, escape_lines, short_line};

use super::Watcher;
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{budget_text, count};

/// Lines of a script's output that are shown while it runs.
const SHOWN_OUTPUT: usize = 8;
/// Characters of a progress line.
const LINE_CHARS: usize = 160;
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
    /// Whether a line is there that will be written over.
    status: bool,
    /// Whether the answer is being streamed, and whether its last line is open.
    answering: bool,
    answered: bool,
    plan: Option<Plan>,
    output_lines: usize,
    /// The reason of the open question.
    asked: String,
}

impl Lines {
    pub(crate) fn new() -> Self {
        let live = io::stderr().is_terminal() && io::stdout().is_terminal();
        Self { live, state: Mutex::default() }
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, text: &str) {
        if !self.live {
            return;
        }
        let mut screen = self.screen();
        if screen.answering {
            return;
        }
        screen.status = true;
        let text = clip(text, LINE_CHARS.min(width()));
        let mut out = anstream::stderr();
        let _ = write!(out, "\r\u{1b}[K{}", paint(DIM, text)).and_then(|()| out.flush());
    }

    fn line(&self, depth: u32, text: &str) {
        let mut screen = self.screen();
        screen.clear();
        screen.close_answer();
        let indent = if depth > 0 { "    " } else { "" };
        let _ = writeln!(anstream::stderr(), "{indent}{text}");
    }

    fn plan(&self, depth: u32, plan: &Plan) {
        {
            let mut screen = self.screen();
            let is_same = screen.plan.as_ref().is_some_and(|known| {
                known
                    .steps
                    .iter()
                    .map(|s| (&s.id, s.status))
                    .eq(plan.steps.iter().map(|s| (&s.id, s.status)))
            });
            screen.plan = Some(plan.clone());
            if is_same || plan.steps.is_empty() {
                return;
            }
        }
        self.line(depth, &format!("{} {}", paint(CYAN, "plan"), short(&plan.goal)));
        for step in &plan.steps {
            let title = short(&step.title);
            let line = match step.status {
                StepStatus::Pending => format!("  [ ] {title}"),
                StepStatus::InProgress => format!("  [>] {}", paint(BOLD, title)),
                StepStatus::Completed => format!("  [x] {}", paint(DIM, title)),
                StepStatus::Skipped => format!("  [-] {}", paint(DIM, title)),
            };
            self.line(depth, &line);
        }
    }

    fn finished(&self, depth: u32, status: Status, message: Option<&str>) {
        let mut screen = self.screen();
        screen.clear();
        if depth == 0 {
            screen.close_answer();
        }
        drop(screen);
        if status != Status::Completed {
            let why = message.map(short).unwrap_or_default();
            self.line(depth, &format!("{} {}: {why}", paint(YELLOW, "ended"), status.as_str()));
        }
    }
}

impl Screen {
    fn clear(&mut self) {
        if std::mem::take(&mut self.status) {
            let _ = write!(anstream::stderr(), "\r\u{1b}[K");
        }
    }

    /// Ends the line that a streamed answer stands on.
    fn close_answer(&mut self) {
        if std::mem::take(&mut self.answering) {
            let _ = writeln!(io::stdout());
        }
    }
}

impl Observer for Lines {
    fn event(&self, depth: u32, record: &Record) {
        match &record.event {
            Event::RunStarted { .. } if depth == 0 => *self.screen() = Screen::default(),
            Event::ModelRequested { turn, tokens, .. } => {
                self.status(&format!("turn {turn}: deciding ({tokens} tokens)"));
            }
            Event::ModelRetrying { error, delay_ms, .. } => {
                let wait = u128::from(*delay_ms);
                let text = format!("{}, again in {wait} ms", short(&error.to_string()));
                self.line(depth, &format!("{} {text}", paint(YELLOW, "retry")));
            }
            Event::ModelFailed { error, .. } => {
                // Whole: this ends the run, and its last words say which key was used.
                let text = short_line(&error.to_string(), FAILURE_CHARS).into_owned();
                self.line(depth, &format!("{} {text}", paint(RED, "model")));
                self.line(depth, &format!("{} {}", paint(CYAN, "help"), error.kind.help()));
            }
            Event::DecisionMade { decision, .. } => {
                let action = &decision.action;
                if action.kind() != "final_answer" {
                    let target = short(&action.target());
                    self.line(depth, &format!("{} {target}", paint(BOLD, action.kind())));
                }
            }
            Event::DecisionInvalid { code, message, .. } => {
                // What was streamed was no answer after all.
                self.screen().answered = false;
                let text = format!("{}: {}", code.as_str(), short(message));
                self.line(depth, &format!("{} {text}", paint(YELLOW, "not a decision")));
            }
            Event::PlanChanged { plan } => self.plan(depth, plan),
            Event::PolicyDecided { effect, reason, .. } if *effect == Effect::Deny => {
                self.screen().asked.clear();
                self.line(depth, &format!("  {} {}", paint(RED, "not allowed"), short(reason)));
            }
            // A question about ceilings follows a denial, which is shown.
            Event::AskOpened { reason, liftable, .. } if liftable.is_empty() => {
                self.screen().asked.clone_from(reason);
            }
            Event::AskUnanswered { .. } => {
                let reason = short(&std::mem::take(&mut self.screen().asked));
                if !reason.is_empty() {
                    self.line(depth, &format!("  {} {reason}", paint(YELLOW, "needs approval")));
                }
            }
            Event::AskAnswered { answer: Answer::Lift, by, .. } => {
                let text = format!("limits lifted for this run, by: {by}");
                self.line(depth, &format!("  {}", paint(YELLOW, text)));
            }
            Event::AskAnswered { answer, by, .. }
                if by != "user" && !matches!(answer, Answer::Reject(_)) =>
            {
                self.line(depth, &format!("  {}", paint(DIM, format!("approved by: {by}"))));
            }
            Event::ActionStarted { op, .. } => {
                self.screen().output_lines = 0;
                self.status(&short(&op.describe()));
                if let Op::Load { .. } = op {
                    self.line(depth, &format!("  {}", paint(DIM, short(&op.describe()))));
                }
            }
            Event::ActionFinished { outcome, .. } => {
                let shown = self.screen().output_lines.min(SHOWN_OUTPUT);
                // Not all of a long output is sent while it runs.
                let printed = outcome.data["printed_lines"].as_u64().unwrap_or(0);
                let more = usize::try_from(printed).unwrap_or(usize::MAX).saturating_sub(shown);
                if shown > 0 && more > 0 {
                    let text = format!("... {} (metier show)", count(more, "more line"));
                    self.line(depth, &format!("  {}", paint(DIM, text)));
                }
                if let Some(code) = outcome.code.filter(|_| !outcome.ok) {
                    // Of a script that failed, its own words say more than its exit code.
                    let words = outcome.data["stderr"].as_str().filter(|it| !it.trim().is_empty());
                    let text = short(words.unwrap_or(outcome.text.as_str()));
                    self.line(depth, &format!("  {} {text}", paint(RED, code)));
                }
            }
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
            Event::BudgetSpent { budget, limit } => {
                let text = budget_text(budget, *limit);
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
                self.finished(depth, *status, message.as_deref());
            }
            _ => {}
        }
    }

    fn note(&self, depth: u32, note: &Note) {
        match note {
            Note::ActionKnown { kind, target, .. } => {
                self.status(&format!("{kind} {}", short(target)));
            }
            Note::AnswerText(text) if self.live && depth == 0 => {
                let mut screen = self.screen();
                screen.clear();
                (screen.answering, screen.answered) = (true, true);
                let mut out = io::stdout().lock();
                let text = escape_lines(text);
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            }
            Note::Warning(text) => {
                let text = short_line(text, WARNING_CHARS);
                self.line(depth, &format!("{}: {text}", paint(YELLOW, "warning")));
            }
            Note::Anew => {
                let mut screen = self.screen();
                screen.close_answer();
                screen.answered = false;
            }
            Note::Output { text, .. } if self.live => {
                for line in text.lines() {
                    let count = {
                        let mut screen = self.screen();
                        screen.output_lines += 1;
                        screen.output_lines
                    };
                    if count <= SHOWN_OUTPUT {
                        self.line(
                            depth,
                            &format!("  {}", paint(DIM, format!("| {}", short(line)))),
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

impl Watcher for Lines {
    fn pause(&self) {
        self.screen().clear();
    }

    fn has_answered(&self) -> bool {
        self.screen().answered
    }
}

fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0).saturating_sub(1))
}

/// The first line of a foreign text, safe and not too long.
fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let more = if text.trim().lines().nth(1).is_some() { " …" } else { "" };
    format!("{}{more}", short_line(line, LINE_CHARS))
}
