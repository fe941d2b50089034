//! A decision while it still streams: for eyes only, never executed.
//!
//! A small machine reads the text character by character and keeps just what is shown: the action's
//! kind and target as soon as both are certain, and the answer's text as it grows. It never guesses
//! and never looks back; what is no JSON makes it silent, and `parse` says what is wrong. A reply
//! that is JSON in a JSON string has no early events.

use crate::action::{Action, SkillRef};
use crate::json::MAX_DEPTH;
use crate::parse::MAX_BYTES;

mod string;

use string::{Piece, StringReader};

/// Something that is known before the reply is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlyEvent {
    /// What the model is about to decide. Comes at most once, and before any text.
    ActionKnown {
        /// The kind, one of [`Action::KINDS`].
        kind: &'static str,
        /// What it is about, as [`Action::target`] says it.
        target: String,
    },
    /// More of the answer's text.
    AnswerText(String),
}

/// Reads a reply as it comes.
#[derive(Debug, Clone, Default)]
pub struct Early {
    state: State,
    stack: Vec<Frame>,
    key: String,
    reader: StringReader,
    bytes: usize,
    seen: Seen,
    emitted: bool,
    events: Vec<EarlyEvent>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before the object: a fence, prose.
    #[default]
    Seeking,
    /// After a brace that may open it.
    Brace,
    /// Before a key, or the end of an object.
    Key,
    InKey,
    Colon,
    /// Before a value, or the end of a list.
    Value,
    InText(Slot),
    /// In a number or a word.
    InWord,
    /// After a value.
    After,
    /// Nothing more is said.
    Silent,
}

/// An object or a list that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Decision,
    Action,
    Skill,
    /// A skill in the list.
    SkillItem,
    SkillList,
    OtherObject,
    OtherList,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Kind,
    Text,
    Path,
    Query,
    Tool,
    Skill,
    SkillItem,
    Name,
    Source,
    Other,
}

/// What was read of the action.
#[derive(Debug, Clone, Default)]
struct Seen {
    kind: Option<String>,
    path: Option<String>,
    query: Option<String>,
    tool: Option<String>,
    name: Option<String>,
    source: Option<String>,
    skill: Option<SkillRef>,
    skills: Vec<SkillRef>,
    skills_complete: bool,
    /// Text that waits until it is known to be an answer's.
    text: String,
}

impl Early {
    /// A reader at the start of a reply.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts anew: the reply is given again from its start.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// What becomes known with more of the text.
    pub fn push(&mut self, text: &str) -> Vec<EarlyEvent> {
        // What is kept is a part of what was read, so this bounds the memory too.
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MAX_BYTES {
            self.state = State::Silent;
        }
        for c in text.chars() {
            if self.state == State::Silent {
                break;
            }
            self.state = self.next(c);
        }
        self.emit();
        std::mem::take(&mut self.events)
    }

    fn next(&mut self, c: char) -> State {
        let blank = matches!(c, ' ' | '\t' | '\n' | '\r');
        match (self.state, c) {
            (State::Seeking | State::Brace, '{') => State::Brace,
            (State::Seeking, _) => State::Seeking,
            (State::Brace, '"') => {
                self.stack.push(Frame::Decision);
                State::InKey
            }
            (State::Brace, _) if !blank => State::Seeking,
            (State::Key, '"') => State::InKey,
            (State::Key | State::After, '}') | (State::Value | State::After, ']') => self.close(c),
            (State::Colon, ':') => State::Value,
            (State::Value, '"') => State::InText(self.slot()),
            (State::Value, '{' | '[') => self.open(c),
            (State::Value, '-' | '0'..='9' | 'a'..='z')
            | (State::InWord, '0'..='9' | 'a'..='z' | 'E' | '+' | '-' | '.') => State::InWord,
            (State::After, ',') => match self.stack.last() {
                Some(Frame::SkillList | Frame::OtherList) => State::Value,
                _ => State::Key,
            },
            (State::InKey, _) => match self.reader.take(c) {
                Piece::More => State::InKey,
                Piece::End(key) => {
                    self.key = key;
                    State::Colon
                }
                Piece::Wrong => State::Silent,
            },
            (State::InText(slot), _) => self.text(slot, c),
            (State::InWord, _) => {
                self.state = State::After;
                if blank { State::After } else { self.next(c) }
            }
            (state, _) if blank => state,
            _ => State::Silent,
        }
    }

    fn text(&mut self, slot: Slot, c: char) -> State {
        let piece = self.reader.take(c);
        if slot == Slot::Text {
            self.reader.move_to(&mut self.seen.text);
        }
        match piece {
            Piece::More => State::InText(slot),
            Piece::Wrong => State::Silent,
            Piece::End(text) => {
                let seen = &mut self.seen;
                match slot {
                    Slot::Kind => seen.kind = Some(text),
                    Slot::Path => seen.path = Some(text),
                    Slot::Query => seen.query = Some(text),
                    Slot::Tool => seen.tool = Some(text),
                    Slot::Name => seen.name = Some(text),
                    Slot::Source => seen.source = Some(text),
                    Slot::Skill => seen.skill = Some(SkillRef { name: text, source: None }),
                    Slot::SkillItem => seen.skills.push(SkillRef { name: text, source: None }),
                    Slot::Text => seen.text.push_str(&text),
                    Slot::Other => {}
                }
                self.emit();
                State::After
            }
        }
    }

    fn slot(&self) -> Slot {
        match (self.stack.last(), self.key.as_str()) {
            (Some(Frame::Action), "type") => Slot::Kind,
            (Some(Frame::Action), "text") => Slot::Text,
            (Some(Frame::Action), "relative_path") => Slot::Path,
            (Some(Frame::Action), "query") => Slot::Query,
            (Some(Frame::Action), "tool") => Slot::Tool,
            (Some(Frame::Action), "skill") => Slot::Skill,
            (Some(Frame::SkillList), _) => Slot::SkillItem,
            (Some(Frame::Skill | Frame::SkillItem), "name") => Slot::Name,
            (Some(Frame::Skill | Frame::SkillItem), "source") => Slot::Source,
            _ => Slot::Other,
        }
    }

    fn open(&mut self, c: char) -> State {
        if self.stack.len() >= MAX_DEPTH {
            return State::Silent;
        }
        let frame = match (c, self.stack.last(), self.key.as_str()) {
            ('{', Some(Frame::Decision), "action") => Frame::Action,
            ('{', Some(Frame::Action), "skill") => Frame::Skill,
            ('{', Some(Frame::SkillList), _) => Frame::SkillItem,
            ('[', Some(Frame::Action), "skills") => Frame::SkillList,
            ('{', ..) => Frame::OtherObject,
            _ => Frame::OtherList,
        };
        self.stack.push(frame);
        if c == '{' { State::Key } else { State::Value }
    }

    fn close(&mut self, c: char) -> State {
        let is_list = |frame: Frame| matches!(frame, Frame::SkillList | Frame::OtherList);
        let Some(frame) = self.stack.pop().filter(|frame| is_list(*frame) == (c == ']')) else {
            return State::Silent;
        };
        let seen = &mut self.seen;
        match frame {
            Frame::Skill | Frame::SkillItem => {
                let (name, source) = (seen.name.take(), seen.source.take());
                let skill = name.map(|name| SkillRef { name, source });
                if frame == Frame::Skill {
                    seen.skill = skill;
                } else {
                    seen.skills.extend(skill);
                }
            }
            Frame::SkillList => seen.skills_complete = true,
            // What follows is none of ours.
            Frame::Decision | Frame::Action => {
                self.emit();
                return if frame == Frame::Action { State::After } else { State::Silent };
            }
            Frame::OtherObject | Frame::OtherList => {}
        }
        self.emit();
        State::After
    }

    /// Says what can be said by now.
    fn emit(&mut self) {
        if !self.emitted
            && let Some(action) = self.seen.action()
        {
            let (kind, target) = (action.kind(), action.target());
            self.events.push(EarlyEvent::ActionKnown { kind, target });
            self.emitted = true;
        }
        let Some(kind) = self.seen.kind.as_deref() else { return };
        let text = std::mem::take(&mut self.seen.text);
        if kind != "final_answer" || text.is_empty() {
            return;
        }
        match self.events.last_mut() {
            Some(EarlyEvent::AnswerText(before)) => before.push_str(&text),
            _ => self.events.push(EarlyEvent::AnswerText(text)),
        }
    }
}

impl Seen {
    /// The action as far as its target goes, where that is complete.
    fn action(&self) -> Option<Action> {
        let skill = || self.skill.clone();
        Some(match self.kind.as_deref()? {
            "select_skills" if self.skills_complete => {
                Action::SelectSkills { skills: self.skills.clone(), reason: String::new() }
            }
            "load_resource" => Action::LoadResource {
                skill: skill()?,
                relative_path: self.path.clone()?,
                section_hint: None,
            },
            "run_script" => Action::RunScript {
                skill: skill()?,
                relative_path: self.path.clone()?,
                args: Vec::new(),
            },
            "search_skills" => Action::SearchSkills { query: self.query.clone()? },
            "call_tool" => Action::CallTool {
                tool: self.tool.clone()?,
                args: serde_json::Map::new(),
                skill: None,
            },
            "final_answer" => Action::answer(String::new()),
            _ => return None,
        })
    }
}
