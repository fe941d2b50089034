//! What is drawn of a plan, of a change and of a script's output: pure, from foreign text to lines
//! that are safe for a terminal.

use metier::model::{Plan, PlanStep, StepStatus};
use metier::skill::text::{escape_lines, short_line};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, paint};
use crate::render::table::cut;
use crate::render::{count, safe};

/// Characters of a line.
pub(super) const LINE_CHARS: usize = 160;
/// Lines of a script's output that stay.
const SHOWN_OUTPUT: usize = 8;
/// Lines of a script's output that are shown while it runs.
const LATEST_OUTPUT: usize = 4;
/// Lines of a change that are shown.
const SHOWN_CHANGE: usize = 20;

/// The whole plan.
pub(super) fn plan_lines(plan: &Plan) -> Vec<String> {
    let goal = format!("{} {}", paint(CYAN, "plan"), short(&plan.goal));
    std::iter::once(goal).chain(plan.steps.iter().map(step_line)).collect()
}

/// The lines of a plan that are new or different: all of it, where nothing is known yet.
pub(super) fn changed_plan_lines(known: Option<&Plan>, plan: &Plan) -> Vec<String> {
    let Some(known) = known else { return plan_lines(plan) };
    let is_new = |step: &&PlanStep| !known.steps.contains(step);
    let goal =
        (known.goal != plan.goal).then(|| format!("{} {}", paint(CYAN, "plan"), short(&plan.goal)));
    goal.into_iter().chain(plan.steps.iter().filter(is_new).map(step_line)).collect()
}

fn step_line(step: &PlanStep) -> String {
    let title = short(&step.title);
    match step.status {
        StepStatus::Pending => format!("  [ ] {title}"),
        StepStatus::InProgress => format!("  [>] {}", paint(BOLD, title)),
        StepStatus::Completed => format!("  [x] {}", paint(DIM, title)),
        StepStatus::Skipped => format!("  [-] {}", paint(DIM, title)),
    }
}

/// A unified diff without its head.
pub(super) fn change_lines(diff: &str) -> Vec<String> {
    let lines: Vec<&str> = diff.lines().filter(|line| !is_head(line)).collect();
    let styled = |line: &&str| {
        let text = short_line(line, LINE_CHARS);
        match line.as_bytes().first() {
            Some(b'+') => paint(GREEN, text),
            Some(b'-') => paint(RED, text),
            Some(b'@') => paint(CYAN, text),
            _ => text.into_owned(),
        }
    };
    let mut shown: Vec<String> = lines.iter().take(SHOWN_CHANGE).map(styled).collect();
    let more = lines.len().saturating_sub(SHOWN_CHANGE);
    if more > 0 {
        shown.push(paint(DIM, format!("... {} (metier show)", count(more, "more line"))));
    }
    shown
}

fn is_head(line: &str) -> bool {
    line.starts_with("--- a/") || line.starts_with("+++ b/")
}

/// What a script or command printed.
#[derive(Debug, Default)]
pub(super) struct Output {
    first: Vec<String>,
    latest: Vec<String>,
    lines: usize,
}

impl Output {
    /// More of it.
    pub(super) fn push(&mut self, text: &str) {
        for line in text.lines() {
            self.lines += 1;
            let line = short_line(line, LINE_CHARS).into_owned();
            if self.first.len() < SHOWN_OUTPUT {
                self.first.push(line.clone());
            }
            if self.latest.len() == LATEST_OUTPUT {
                self.latest.remove(0);
            }
            self.latest.push(line);
        }
    }

    /// How many lines there were in all: of a long output not every one is sent while it runs.
    pub(super) fn has_printed(&mut self, lines: u64) {
        self.lines = usize::try_from(lines).unwrap_or(usize::MAX).max(self.first.len());
    }

    /// The last lines, while it runs.
    pub(super) fn latest_lines(&self) -> Vec<String> {
        self.latest.iter().map(|line| bar(line)).collect()
    }

    /// Its beginning, to stay on the screen.
    pub(super) fn first_lines(&self) -> Vec<String> {
        let mut shown: Vec<String> = self.first.iter().map(|line| bar(line)).collect();
        let more = self.lines - self.first.len();
        if more > 0 && !shown.is_empty() {
            shown.push(paint(DIM, format!("... {} (metier show)", count(more, "more line"))));
        }
        shown
    }

    /// Whether a text has all that would stay on the screen.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let text = escape_lines(text);
        self.first.iter().all(|line| text.contains(line.trim()))
    }

    /// Whether this line stays on the screen.
    pub(super) fn shows(&self, line: &str) -> bool {
        let line = short_line(line, LINE_CHARS);
        self.first.iter().any(|shown| *shown == line)
    }
}

fn bar(line: &str) -> String {
    paint(DIM, format!("| {line}"))
}

/// The last lines of a text, each at most `width` columns of ASCII wide, at most `rows` of them.
pub(super) fn tail(text: &str, width: usize, rows: usize) -> Vec<String> {
    // Only so much can be visible; a long answer is not looked through again for every word.
    let chars = width.saturating_mul(rows).max(1);
    let start = text.char_indices().nth_back(chars - 1).map_or(0, |(at, _)| at);
    let mut lines = Vec::new();
    for line in text[start..].split('\n') {
        let line = safe(line);
        let mut rest: &str = &line;
        loop {
            let end = end_of_row(rest, width);
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
            if rest.is_empty() {
                break;
            }
        }
    }
    lines.split_off(lines.len().saturating_sub(rows))
}

/// Where a line has to be broken: at least one character fits.
fn end_of_row(line: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, ch) in line.char_indices() {
        used += ch.width().unwrap_or(0);
        if used > width && at > 0 {
            return at;
        }
    }
    line.len()
}

/// A line with our styles in it, at most `width` columns wide.
pub(super) fn cut_styled(line: &str, width: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    if plain.width() <= width {
        return line.to_owned();
    }
    // Of a line that is too long only the first style is kept.
    let text = line.find(plain.chars().next().unwrap_or_default()).unwrap_or(0);
    let (styles, end) = (&line[..text], if text > 0 { "\u{1b}[0m" } else { "" });
    format!("{styles}{}{end}", cut(&plain, width))
}

/// The first line of a foreign text, safe and not too long.
pub(super) fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let more = if text.trim().lines().nth(1).is_some() { " …" } else { "" };
    format!("{}{more}", short_line(line, LINE_CHARS))
}
