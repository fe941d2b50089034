//! A reply while it is put together: text, tool calls, refusal, finish and usage.
//!
//! Both dialects fill it from their events; here is decided what of it is the reply's text, and what
//! is passed on while it streams. In a reply of one part, what was passed on is the text. A call of a
//! function becomes the text of a decision: its name is the action or the tool, and comes first.

use serde_json::Value;

use crate::action::Action;
use crate::json::{self, MAX_DEPTH};
use crate::model::{Finish, OutputMode, Usage};
use crate::parse::CALL_START;
use crate::protocol::PlanMode;

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
    /// The decision that it is, as far as it goes.
    decision: String,
    /// Bytes of the arguments that are in it.
    written: usize,
}

impl Call {
    /// Whether the arguments are fields of an action, not all arguments of a tool. A name that is no action's is
    /// that of a tool, offered or not.
    fn has_fields(&self, plan: PlanMode) -> bool {
        plan == PlanMode::On || self.is_action()
    }

    fn is_action(&self) -> bool {
        Action::KINDS.contains(&self.name.as_str())
    }

    /// Writes the decision on, as far as it is certain.
    fn write_on(&mut self, plan: PlanMode) {
        if self.name.is_empty() {
            return;
        }
        let has_fields = self.has_fields(plan);
        // The text of an object, not the object: what it says is known at the end.
        if self.written == 0 && self.arguments.trim_start().starts_with('"') {
            return;
        }
        if self.decision.is_empty() {
            let name = Value::from(self.name.as_str());
            self.decision = match (self.is_action(), has_fields) {
                (true, _) => format!("{CALL_START}{name}"),
                (false, true) => format!(r#"{CALL_START}"call_tool","tool":{name}"#),
                (false, false) => format!(r#"{CALL_START}"call_tool","tool":{name},"args":"#),
            };
        }
        if self.written == 0 && self.arguments.trim_start().is_empty() {
            return; // what follows may be the text of an object
        }
        let mut new = &self.arguments[self.written..];
        if has_fields && self.written == 0 {
            // The brace is there already; whether a comma follows shows what stands after it.
            let inside = new.trim_start();
            let inside = inside.strip_prefix('{').unwrap_or(inside).trim_start();
            if inside.is_empty() {
                return;
            }
            self.decision.push_str(if inside.starts_with('}') { "" } else { "," });
            new = inside;
        }
        self.decision.push_str(new);
        self.written = self.arguments.len();
    }

    /// The whole call as a decision. What was cut off stays so: only what we opened is closed, and a call that was
    /// cut off before its arguments is not one without arguments.
    fn decision(&self, plan: PlanMode, finish: Option<Finish>) -> String {
        let text = self.arguments.trim();
        let is_cut = finish == Some(Finish::Length);
        if text.is_empty() && is_cut && !self.name.is_empty() {
            return self.decision.clone();
        }
        if text.starts_with('"') && !self.name.is_empty() {
            let inside = match json::read(text, MAX_DEPTH) {
                Ok(Value::String(inside)) => inside,
                _ if is_cut => String::new(),
                _ => text.to_owned(),
            };
            let arguments = inside.trim_start_matches(|c: char| c == '"' || c.is_whitespace());
            let mut call = Self { name: self.name.clone(), ..Self::default() };
            arguments.clone_into(&mut call.arguments);
            call.write_on(plan);
            return call.decision(plan, finish);
        }
        let is_blank = self.arguments.trim().is_empty();
        let end = match (self.name.is_empty(), self.has_fields(plan), is_blank) {
            (true, ..) => return self.arguments.clone(),
            (_, true, false) => "}",
            (_, true, true) | (_, false, false) => "}}",
            (_, false, true) => "{}}}",
        };
        format!("{}{end}", self.decision)
    }
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
    /// Whether functions take a plan, beside the arguments of a tool.
    pub(crate) plan: PlanMode,
    /// Bytes of the content, or of the first call as a decision, that were passed on.
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
    /// Whether it is the call of a function.
    pub is_call: bool,
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
            plan: PlanMode::Off,
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
        call.write_on(self.plan);
        if at == 0 && self.mode == OutputMode::ToolCall && self.passed < call.decision.len() {
            out(&call.decision[self.passed..]);
            self.passed = call.decision.len();
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

    /// The call that stands in the text, where functions were offered and none was called: so some servers pass
    /// it on, whose reader does not know how the model writes it. All of the text has to be that one call.
    fn written_call(&self) -> Option<Call> {
        if self.mode != OutputMode::ToolCall || !self.calls.is_empty() {
            return None;
        }
        let text = self.content.trim();
        let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
        let text = fenced.and_then(|text| text.strip_suffix("```")).unwrap_or(text).trim();
        let call = json::read(text, MAX_DEPTH).ok()?;
        let fields = call.as_object().filter(|fields| fields.len() == 2)?;
        let (name, arguments) = (fields.get("name")?.as_str()?, fields.get("arguments")?);
        let mut call = Call {
            name: name.to_owned(),
            arguments: match arguments {
                Value::String(text) => {
                    json::read(text, MAX_DEPTH).ok().filter(Value::is_object)?.to_string()
                }
                other => other.as_object().map(|_| other.to_string())?,
            },
            ..Call::default()
        };
        call.write_on(self.plan);
        Some(call)
    }

    /// What all of it says.
    pub fn said(&self, reports: Reports, out: Out<'_>) -> RawReply {
        let written = self.written_call();
        let calls = written.as_ref().map_or_else(|| self.calls(), |call| vec![call]);
        let has_words = !self.content.trim().is_empty();
        let by_call = !calls.is_empty() && (self.mode == OutputMode::ToolCall || !has_words);
        let refused = !self.refusal.trim().is_empty();
        let text = if by_call && self.mode == OutputMode::ToolCall {
            let decisions: Vec<_> =
                calls.iter().map(|call| call.decision(self.plan, self.finish)).collect();
            decisions.join("\n")
        } else if by_call {
            let arguments: Vec<_> = calls.iter().map(|call| call.arguments.as_str()).collect();
            arguments.join("\n")
        } else if refused && !has_words {
            self.refusal.clone()
        } else {
            self.content.clone()
        };
        if calls.len() < 2 && self.passed < text.len() {
            out(&text[self.passed..]);
        }
        let finish = match self.finish.unwrap_or(Finish::Unknown) {
            Finish::Stop | Finish::Unknown if refused => Finish::Refusal,
            finish => finish,
        };
        let parts = if by_call { u32::try_from(calls.len()).unwrap_or(u32::MAX) } else { 1 };
        RawReply { text, finish, parts, usage: reports.total(&self.count), is_call: by_call }
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
                g.call(Some(0), "a", "grep", "{\"a\":", out);
                g.call(Some(0), "", "", "1}", out);
            });
            let text = match mode {
                OutputMode::ToolCall => {
                    r#"{"action":{"type":"call_tool","tool":"grep","args":{"a":1}}}"#
                }
                _ => r#"{"a":1}"#,
            };
            assert_eq!((said.text.as_str(), passed.as_str()), (text, text));
        }
        let (said, passed) = build(OutputMode::ToolCall, |g, out| {
            g.text("Let me see.", out);
            g.call(Some(1), "a", "final_answer", "{\"text\":\"x\"}", out);
        });
        let text = r#"{"action":{"type":"final_answer","text":"x"}}"#;
        assert_eq!((said.text.as_str(), said.parts, passed.as_str()), (text, 1, text));
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
            let (said, _) = build(OutputMode::Prompted, |g, out| {
                for (index, id, name, piece) in deltas {
                    g.call(*index, id, name, piece, out);
                }
            });
            assert_eq!((said.text.as_str(), said.parts), (text, parts), "{deltas:?}");
        }
    }

    #[test]
    fn a_call_is_a_decision_however_its_arguments_are_written_and_cut() {
        let blank_end = r#"{"action":{"type":"search_skills"}}"#;
        for (plan, name, arguments, text) in [
            (
                PlanMode::Off,
                "search_skills",
                r#" { "query":"x"}"#,
                r#"{"action":{"type":"search_skills","query":"x"}}"#,
            ),
            (PlanMode::Off, "search_skills", "{ }", blank_end),
            (PlanMode::Off, "search_skills", "", blank_end),
            (PlanMode::Off, "search_skills", " ", blank_end),
            (PlanMode::Off, "now", "", r#"{"action":{"type":"call_tool","tool":"now","args":{}}}"#),
            (
                PlanMode::Off,
                "a\"b",
                "{}",
                r#"{"action":{"type":"call_tool","tool":"a\"b","args":{}}}"#,
            ),
            (
                PlanMode::On,
                "now",
                r#"{"plan":null,"args":{}}"#,
                r#"{"action":{"type":"call_tool","tool":"now","plan":null,"args":{}}}"#,
            ),
            // The text of an object is that object, of an action and of a tool.
            (
                PlanMode::On,
                "search_skills",
                r#" "{\"query\": \"x\"}" "#,
                r#"{"action":{"type":"search_skills","query": "x"}}"#,
            ),
            (
                PlanMode::Off,
                "now",
                r#""{\"a\":1}""#,
                r#"{"action":{"type":"call_tool","tool":"now","args":{"a":1}}}"#,
            ),
            // What was cut off is no whole decision.
            (
                PlanMode::Off,
                "now",
                r#"{"a":1"#,
                r#"{"action":{"type":"call_tool","tool":"now","args":{"a":1}}"#,
            ),
            (
                PlanMode::Off,
                "final_answer",
                r#"{"text":"x""#,
                r#"{"action":{"type":"final_answer","text":"x"}"#,
            ),
            (PlanMode::Off, "final_answer", "{", r#"{"action":{"type":"final_answer"}"#),
            // Without a name it is what it is.
            (PlanMode::Off, "", r#"{"a":1}"#, r#"{"a":1}"#),
        ] {
            for size in [1, 3, 100] {
                let (said, passed) = build(OutputMode::ToolCall, |g, out| {
                    g.plan = plan;
                    g.call(Some(0), "c", name, "", out);
                    for piece in arguments.as_bytes().chunks(size) {
                        g.call(Some(0), "", "", std::str::from_utf8(piece).expect("ASCII"), out);
                    }
                });
                assert_eq!((said.text.as_str(), passed.as_str()), (text, text), "{name} {size}");
            }
        }
    }

    #[test]
    fn a_call_that_is_written_as_text_is_a_call_where_functions_are_offered() {
        let written = r#"{"name": "grep", "arguments": {"a": 1}}"#;
        let decision = r#"{"action":{"type":"call_tool","tool":"grep","args":{"a":1}}}"#;
        for text in [written.to_owned(), format!("```json\n{written}\n```\n")] {
            let (said, passed) = build(OutputMode::ToolCall, |g, out| g.text(&text, out));
            assert_eq!((said.text.as_str(), said.is_call), (decision, true));
            assert_eq!(passed, decision);
            let (said, _) = build(OutputMode::Prompted, |g, out| g.text(&text, out));
            assert_eq!((said.text, said.is_call), (text, false));
        }
        for other in [
            format!("{written}{written}"),
            format!("I call {written}"),
            r#"{"name":"grep","arguments":"x"}"#.to_owned(),
            r#"{"name":"grep","arguments":{},"id":1}"#.to_owned(),
            r#"{"name":"grep","name":"ls","arguments":{}}"#.to_owned(),
        ] {
            let (said, _) = build(OutputMode::ToolCall, |g, out| g.text(&other, out));
            assert_eq!((said.text, said.is_call), (other, false));
        }
    }

    #[test]
    fn the_name_of_a_function_says_the_action_before_its_arguments() {
        let (mut passed, mut builder) = (String::new(), ReplyBuilder::new(OutputMode::ToolCall));
        builder.call(Some(0), "c", "read_file", "", &mut |piece| passed.push_str(piece));
        let known = crate::early::Early::new().push(&passed);
        let kind = "call_tool";
        let target = "read_file".to_owned();
        assert_eq!(known, [crate::early::EarlyEvent::ActionKnown { kind, target }]);
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
