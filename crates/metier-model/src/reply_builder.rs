//! A reply while it is put together: text, tool calls, refusal, finish and usage.
//!
//! Both dialects fill it from their events; here is decided what of it is the reply's text, and what
//! is passed on while it streams. In a reply of one part, what was passed on is the text.

use crate::model::{Finish, OutputMode, Usage};

/// A tool call, perhaps not whole yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Its place among the calls, as the provider counts.
    pub index: u64,
    /// The provider's name for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON.
    pub arguments: String,
}

/// Calls that are kept of a reply. One is right, so more than this are only an attack.
const MAX_CALLS: usize = 64;

/// What the stream has given so far, put together piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyBuilder {
    mode: OutputMode,
    content: String,
    refusal: String,
    calls: Vec<Call>,
    finish: Option<Finish>,
    count: Count,
    /// Bytes of the content that were passed on.
    passed: usize,
    /// A whole message was read, not only parts of one.
    pub(crate) is_whole: bool,
    /// Something of a message was read.
    pub(crate) is_begun: bool,
    /// The provider put the request into a queue, and has not taken it out.
    pub(crate) is_queued: bool,
}

/// A count of tokens as a provider reports it; what it does not name is nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens sent, those from a cache included.
    pub input: Option<u64>,
    /// Tokens received.
    pub output: Option<u64>,
    /// Tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Tokens put into a cache.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
}

/// What a reply says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawReply {
    /// The words.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// How many decisions it holds.
    pub parts: u32,
    /// What it cost, where the provider says so.
    pub usage: Option<Usage>,
}

/// Hears the text while it streams.
pub(crate) type Out<'a> = &'a mut dyn FnMut(&str);

impl ReplyBuilder {
    /// Nothing yet, of a reply that was asked for in `mode`.
    pub const fn new(mode: OutputMode) -> Self {
        Self {
            mode,
            content: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            finish: None,
            count: Count::NONE,
            passed: 0,
            is_whole: false,
            is_begun: false,
            is_queued: false,
        }
    }

    /// More of the message's text.
    pub fn text(&mut self, piece: &str, out: Out<'_>) {
        self.is_begun = true;
        self.content.push_str(piece);
        // Where a tool call is awaited, words beside it are talk. And blanks alone are no text yet:
        // a tool call may follow after all.
        if self.mode != OutputMode::ToolCall && !self.content.trim_start().is_empty() {
            out(&self.content[self.passed..]);
            self.passed = self.content.len();
        }
    }

    /// More of a refusal.
    pub fn refusal(&mut self, piece: &str) {
        self.is_begun = true;
        self.refusal.push_str(piece);
    }

    /// More of a tool call. It belongs to the call with the same index, or to the last one where no
    /// index is given; a name together with another id starts a new one.
    pub fn call(&mut self, index: Option<u64>, id: &str, name: &str, piece: &str, out: Out<'_>) {
        self.is_begun = true;
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        let is_other = |call: &Call| !id.is_empty() && !name.is_empty() && call.id != id;
        let at = match found.filter(|at| !is_other(&self.calls[*at])) {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => return,
            None => {
                let last = self.calls.iter().map(|call| call.index).max();
                let next = last.map_or(0, |last| last.saturating_add(1));
                // Several whole calls that all have index 0 keep the order they came in.
                let index = if found.is_some() { next } else { index.unwrap_or(next) };
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(piece);
        if at == 0 && self.mode == OutputMode::ToolCall && !piece.is_empty() {
            out(piece);
        }
    }

    /// Whether there are words, a refusal or calls.
    pub(crate) const fn has_something(&self) -> bool {
        !self.content.is_empty() || !self.refusal.is_empty() || !self.calls.is_empty()
    }

    /// The arguments so far of the call with this index, where there is one.
    pub(crate) fn arguments(&self, index: u64) -> Option<&str> {
        let call = self.calls.iter().find(|call| call.index == index);
        call.map(|call| call.arguments.as_str())
    }

    /// Why it ended. The first word counts, unless it said nothing.
    pub fn finish(&mut self, finish: Finish) {
        if matches!(self.finish, None | Some(Finish::Unknown)) {
            self.finish = Some(finish);
        }
    }

    /// Whether the provider said that it ended.
    pub const fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// A report of tokens.
    pub fn tokens(&mut self, tokens: Tokens) {
        if tokens != Tokens::default() {
            self.count.add(tokens);
        }
    }

    /// The calls so far, by their index.
    pub fn calls(&self) -> Vec<&Call> {
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by_key(|call| call.index);
        calls
    }

    /// What all of it says.
    pub fn said(&self, reports: Reports, out: Out<'_>) -> RawReply {
        let calls = self.calls();
        let has_words = !self.content.trim().is_empty();
        let by_call = !calls.is_empty() && (self.mode == OutputMode::ToolCall || !has_words);
        let refused = !self.refusal.trim().is_empty();
        let text = if by_call {
            let arguments: Vec<_> = calls.iter().map(|call| call.arguments.as_str()).collect();
            arguments.join("\n")
        } else if refused && !has_words {
            self.refusal.clone()
        } else {
            self.content.clone()
        };
        let was_passed_on =
            if by_call { self.mode == OutputMode::ToolCall } else { self.passed > 0 };
        if !was_passed_on && !text.is_empty() {
            out(&text);
        }
        let finish = match self.finish.unwrap_or(Finish::Unknown) {
            Finish::Stop | Finish::Unknown if refused => Finish::Refusal,
            finish => finish,
        };
        let parts = if by_call { u32::try_from(calls.len()).unwrap_or(u32::MAX) } else { 1 };
        RawReply { text, finish, parts, usage: reports.total(&self.count) }
    }
}

/// How several reports of one reply belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// Each says all there is so far.
    Running,
    /// Unknown: where a number goes down they are parts to be added, else running totals.
    Unclear,
}

/// All reports in one: a stream may bring one with every token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    reports: u64,
    last: Tokens,
    most: Tokens,
    sum: Tokens,
    went_down: bool,
}

impl Tokens {
    const NONE: Self =
        Self { input: None, output: None, cache_read: None, cache_write: None, reasoning: None };

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Self, pick: fn(u64, u64) -> u64) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            input: both(self.input, other.input),
            output: both(self.output, other.output),
            cache_read: both(self.cache_read, other.cache_read),
            cache_write: both(self.cache_write, other.cache_write),
            reasoning: both(self.reasoning, other.reasoning),
        }
    }
}

impl Count {
    const NONE: Self = Self {
        reports: 0,
        last: Tokens::NONE,
        most: Tokens::NONE,
        sum: Tokens::NONE,
        went_down: false,
    };

    fn add(&mut self, tokens: Tokens) {
        let below = |now: Option<u64>, last: Option<u64>| now.zip(last).is_some_and(|(n, l)| n < l);
        self.went_down |=
            below(tokens.input, self.last.input) || below(tokens.output, self.last.output);
        self.reports += 1;
        self.last = tokens.with(self.last, |now, _| now);
        self.most = self.most.with(tokens, u64::max);
        self.sum = self.sum.plus(tokens);
    }
}

impl Reports {
    fn total(self, count: &Count) -> Option<Usage> {
        let are_parts = self == Self::Unclear && count.went_down;
        let total = if are_parts { count.sum } else { count.most };
        (count.reports > 0).then(|| Usage {
            input: total.input.unwrap_or(0),
            output: total.output.unwrap_or(0),
            cache_read: total.cache_read.unwrap_or(0),
            cache_write: total.cache_write.unwrap_or(0),
            reasoning: total.reasoning.unwrap_or(0),
            ..Usage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(mode: OutputMode, fill: impl Fn(&mut ReplyBuilder, Out<'_>)) -> (RawReply, String) {
        let (mut passed, mut builder) = (String::new(), ReplyBuilder::new(mode));
        let mut out = |piece: &str| passed.push_str(piece);
        fill(&mut builder, &mut out);
        (builder.said(Reports::Unclear, &mut out), passed)
    }

    #[test]
    fn what_is_passed_on_is_the_text() {
        for mode in [OutputMode::JsonSchema, OutputMode::ToolCall, OutputMode::Prompted] {
            let (said, passed) = build(mode, |g, out| {
                g.text("\n", out);
                g.text("{}", out);
            });
            assert_eq!((said.text.as_str(), passed.as_str()), ("\n{}", "\n{}"), "{mode:?}");
            let (said, passed) = build(mode, |g, out| {
                g.text(" ", out);
                g.call(Some(0), "a", "decide", "{\"a\":", out);
                g.call(Some(0), "", "", "1}", out);
            });
            assert_eq!((said.text.as_str(), passed.as_str()), ("{\"a\":1}", "{\"a\":1}"));
        }
        let (said, passed) = build(OutputMode::ToolCall, |g, out| {
            g.text("Let me see.", out);
            g.call(Some(1), "a", "decide", "{}", out);
        });
        assert_eq!((said.text.as_str(), said.parts, passed.as_str()), ("{}", 1, "{}"));
    }

    #[test]
    fn calls_are_distinguished_however_they_are_numbered() {
        type Delta = (Option<u64>, &'static str, &'static str, &'static str);
        let rows: [(&[Delta], &str, u32); 5] = [
            (
                &[(Some(1), "b", "f", "2"), (Some(0), "a", "f", "1"), (Some(1), "", "", "2")],
                "1\n22",
                2,
            ),
            (&[(None, "a", "f", "1"), (None, "", "", "1"), (None, "b", "f", "2")], "11\n2", 2),
            (&[(Some(0), "a", "f", "1"), (Some(0), "b", "f", "2")], "1\n2", 2),
            (&[(Some(0), "a", "f", "1"), (Some(0), "a", "f", "2")], "12", 1),
            (&[(Some(0), "a", "f", ""), (Some(0), "z", "", "2")], "2", 1),
        ];
        for (deltas, text, parts) in rows {
            let (said, _) = build(OutputMode::ToolCall, |g, out| {
                for (index, id, name, piece) in deltas {
                    g.call(*index, id, name, piece, out);
                }
            });
            assert_eq!((said.text.as_str(), said.parts), (text, parts), "{deltas:?}");
        }
    }

    #[test]
    fn reports_of_tokens_run_or_add_up() {
        let count = |input, output| Tokens { input, output, ..Tokens::default() };
        let total = |how: Reports, reports: &[Tokens]| {
            let mut sum = Count::NONE;
            for tokens in reports {
                sum.add(*tokens);
            }
            how.total(&sum).map(|usage| (usage.input, usage.output))
        };
        let (unclear, running) = (Reports::Unclear, Reports::Running);
        assert_eq!(total(unclear, &[]), None);
        assert_eq!(
            total(unclear, &[count(Some(9), Some(1)), count(Some(9), Some(4))]),
            Some((9, 4))
        );
        assert_eq!(total(unclear, &[count(Some(9), Some(1)), count(None, Some(4))]), Some((9, 4)));
        let parts = [count(Some(9), Some(1)), count(Some(0), Some(1)), count(None, Some(1))];
        assert_eq!(total(unclear, &parts), Some((9, 3)));
        assert_eq!(
            total(running, &[count(Some(9), Some(1)), count(Some(0), Some(4))]),
            Some((9, 4))
        );
    }

    #[test]
    fn a_refusal_is_one_whatever_else_is_said() {
        let (said, passed) = build(OutputMode::JsonSchema, |g, _| {
            g.refusal("I can");
            g.refusal("not.");
            g.finish(Finish::Stop);
        });
        assert_eq!((said.text.as_str(), said.finish), ("I cannot.", Finish::Refusal));
        assert_eq!(passed, "I cannot.");
    }
}
