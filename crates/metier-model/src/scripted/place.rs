//! Where a part of a script stands in its file, and what is wrong with it in a person's words.
//!
//! `serde_json` knows the line of broken JSON only; a field with a wrong value is found by walking the text
//! once more. The text was read before, so it is JSON.

use std::fmt::Write as _;

/// One step on the way to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Key(&'static str),
    Item(usize),
}

/// What is wrong with the value at the end of these steps.
#[derive(Debug)]
pub(super) struct ScriptFault {
    pub(super) path: Vec<Step>,
    pub(super) message: String,
}

impl ScriptFault {
    pub(super) fn at(path: &[Step], message: impl Into<String>) -> Self {
        Self { path: path.to_vec(), message: message.into() }
    }

    /// The fault with its line and its place: `line 4, replies[0]: …`.
    pub(super) fn describe(&self, text: &str) -> String {
        let mut place = String::new();
        for step in &self.path {
            let _ = match step {
                Step::Key(key) if place.is_empty() => write!(place, ", {key}"),
                Step::Key(key) => write!(place, ".{key}"),
                Step::Item(at) => write!(place, "[{at}]"),
            };
        }
        format!("line {}{place}: {}", line_of(text, &self.path), self.message)
    }
}

/// What `serde` says about a value, as a sentence about the file.
pub(super) fn plain(serde: &str) -> String {
    if let Some(rest) = serde.strip_prefix("invalid type: ")
        && let Some((found, wanted)) = rest.split_once(", expected ")
    {
        let found = match found.split(' ').next() {
            Some("map") => "an object",
            Some("sequence") => "a list",
            Some("string") => "text",
            Some("integer" | "floating") => "a number",
            Some("boolean") => "true or false",
            _ => "null",
        };
        let wanted = match wanted {
            "a map" => "an object",
            "a sequence" => "a list",
            "a string" => "text",
            "u16" | "u32" | "u64" => "a whole number",
            wanted if wanted.starts_with("struct ") => "an object",
            wanted => wanted,
        };
        return format!("this is {found}; expected {wanted}");
    }
    if let Some(field) = serde.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    let serde = serde.replace("unknown variant ", "unknown value ");
    serde.replacen(", expected ", "; expected ", 1)
}

/// The line, from 1, of the value that these steps lead to, or of the last one that is there.
fn line_of(text: &str, path: &[Step]) -> usize {
    let mut walk = Walk { bytes: text.as_bytes(), at: 0 };
    walk.blanks();
    for step in path {
        let before = walk.at;
        if !walk.enter(*step) {
            walk.at = before;
            break;
        }
    }
    1 + text.as_bytes().iter().take(walk.at).filter(|byte| **byte == b'\n').count()
}

struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Walk<'_> {
    fn here(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.here().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Passes a sign and the blanks around it, if it stands here.
    fn pass(&mut self, sign: u8) -> bool {
        self.blanks();
        let is_here = self.here() == Some(sign);
        self.at += usize::from(is_here);
        self.blanks();
        is_here
    }

    /// Goes to the value that a step leads to.
    fn enter(&mut self, step: Step) -> bool {
        match step {
            Step::Key(wanted) => {
                if !self.pass(b'{') {
                    return false;
                }
                while self.here() == Some(b'"') {
                    let start = self.at + 1;
                    self.string();
                    let key = self.bytes.get(start..self.at - 1);
                    self.pass(b':');
                    if key == Some(wanted.as_bytes()) {
                        return true;
                    }
                    self.value();
                    self.pass(b',');
                }
                false
            }
            Step::Item(number) => {
                if !self.pass(b'[') {
                    return false;
                }
                for _ in 0..number {
                    self.value();
                    if !self.pass(b',') {
                        return false;
                    }
                }
                self.here() != Some(b']')
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.here() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
    }

    /// Passes a value.
    fn value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.here() {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Item, Key};
    use super::*;

    #[test]
    fn the_line_is_that_of_the_value() {
        let text = "{\n \"name\": \"a } ] \\\" b\",\n \"replies\": [\n  {\"raw\": \"[\"},\n\n  3\n ],\n \"rules\": [{\n  \"when\": 1}]\n}";
        for (path, line) in [
            (&[][..], 1),
            (&[Key("name")], 2),
            (&[Key("replies")], 3),
            (&[Key("replies"), Item(0)], 4),
            (&[Key("replies"), Item(1)], 6),
            (&[Key("rules"), Item(0), Key("when")], 9),
            // What is missing is where it should be.
            (&[Key("rules"), Item(0), Key("reply")], 8),
            (&[Key("nothing")], 1),
        ] {
            assert_eq!(line_of(text, path), line, "{path:?}");
        }
    }
}
