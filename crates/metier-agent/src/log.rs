//! The record of a run as text: one event a line, each line chained to the one before. Pure.
//!
//! A line ends in a `hash` over the hash before it and its own bytes up to there. Changing a byte,
//! dropping, adding or moving a line breaks the chain at that place. What is cut off at the end, and a chain
//! that was written anew, are found by the anchor in the user's state (`anchor`).

use metier_skill::Digest;
use serde::Deserialize;
use serde_json::Value;

use crate::event::Event;

/// An event with its place in the record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was written, in UTC.
    pub time: String,
    /// Milliseconds since the run began; time between two processes does not count.
    pub elapsed_ms: u64,
    /// The event.
    pub event: Event,
    /// The hash of its line.
    pub hash: Digest,
}

/// A line that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, as a stable code: `other-format`, `not-an-event`,
    /// `hash-mismatch`, `gap`, `torn`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for LogFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {} [{}]", self.line, self.message, self.code)
    }
}

impl std::error::Error for LogFault {}

/// The format of records that this version writes and reads. A record of another format is refused.
pub const FORMAT: u32 = 4;

/// What the first line is chained to.
pub fn genesis(run_id: &str) -> Digest {
    Digest::of_parts([b"metier events".as_slice(), &FORMAT.to_le_bytes(), run_id.as_bytes()])
}

/// The format that the first line of a record says it has; records of format 1 did not say.
fn format_of(line: &[u8]) -> Option<u32> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if value["type"] != "run.started" {
        return None;
    }
    Some(value["format"].as_u64().and_then(|format| u32::try_from(format).ok()).unwrap_or(1))
}

/// The line of an event, with its line end, and its hash.
pub fn line(
    before: &Digest,
    seq: u64,
    time: &str,
    elapsed_ms: u64,
    event: &Event,
) -> Result<(Vec<u8>, Digest), serde_json::Error> {
    let event = serde_json::to_string(event)?;
    let fields = event.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or("");
    let mut text = format!(r#"{{"seq":{seq},"time":"{time}","elapsed_ms":{elapsed_ms},{fields}"#);
    let hash = chained(before, text.as_bytes());
    text.push_str(&format!("{HASH_KEY}{hash}\"}}\n"));
    Ok((text.into_bytes(), hash))
}

const HASH_KEY: &str = r#","hash":""#;
/// `,"hash":"sha256:` and 64 digits and `"}`.
const HASH_PART: usize = HASH_KEY.len() + 71 + 2;

fn chained(before: &Digest, line: &[u8]) -> Digest {
    Digest::of_parts([before.as_bytes().as_slice(), line])
}

#[derive(Deserialize)]
struct Head {
    seq: u64,
    time: String,
    elapsed_ms: u64,
}

/// The events of a record. Ends at the first fault, which is given with what was read before it.
pub fn read(run_id: &str, bytes: &[u8]) -> (Vec<Record>, Option<LogFault>) {
    let mut records = Vec::new();
    let mut before = genesis(run_id);
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = records.len() as u64 + 1;
        let fault = |code: &'static str, message: &str| {
            Some(LogFault { line: number, code, message: message.to_owned() })
        };
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return (records, fault("torn", "the last line is not whole"));
        };
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some((body, written)) = line.len().checked_sub(HASH_PART).map(|at| line.split_at(at))
        else {
            return (records, fault("not-an-event", "the line is too short for an event"));
        };
        if number == 1
            && let Some(format) = format_of(line).filter(|format| *format != FORMAT)
        {
            let message =
                format!("the record has format {format}; this version reads format {FORMAT} alone");
            return (records, fault("other-format", &message));
        }
        let hash = chained(&before, body);
        if written != format!("{HASH_KEY}{hash}\"}}").as_bytes() {
            let message = "the line, or one before it, is not what was written";
            return (records, fault("hash-mismatch", message));
        }
        let Some((head, event)) = parse(line) else {
            return (records, fault("not-an-event", "the line is not an event of this version"));
        };
        if head.seq != number {
            return (records, fault("gap", "the numbers of the events do not follow each other"));
        }
        let Head { seq, time, elapsed_ms } = head;
        records.push(Record { seq, time, elapsed_ms, event, hash });
        before = hash;
    }
    (records, None)
}

fn parse(line: &[u8]) -> Option<(Head, Event)> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let head = Head::deserialize(&value).ok()?;
    let fields = value.as_object_mut()?;
    for key in ["seq", "time", "elapsed_ms", "hash"] {
        fields.remove(key);
    }
    Some((head, serde_json::from_value(value).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(count: u64) -> Vec<u8> {
        let mut before = genesis("r");
        let mut bytes = Vec::new();
        for seq in 1..=count {
            let event = Event::DecisionInvalid {
                turn: 1,
                code: metier_model::FaultCode::NotJson,
                message: "\u{e9}\n\"quoted\"".to_owned(),
            };
            let (line, hash) =
                line(&before, seq, "2026-01-01T00:00:00.000Z", 5, &event).expect("a line");
            bytes.extend(line);
            before = hash;
        }
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (records, fault) = read("r", &written(3));
        assert_eq!((records.len(), fault), (3, None));
        assert!(
            matches!(&records[2].event, Event::DecisionInvalid { code, .. } if code.as_str() == "not_json")
        );
        let (records, fault) = read("another run", &written(3));
        assert_eq!((records.len(), fault.expect("a fault").code), (0, "hash-mismatch"));
    }

    #[test]
    fn a_line_that_is_dropped_or_moved_is_found() {
        let bytes = written(3);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for changed in [vec![lines[0], lines[2]], vec![lines[1], lines[0], lines[2]]] {
            assert!(read("r", &changed.concat()).1.is_some());
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in 0usize..1000, to in any::<u8>()) {
            let mut bytes = written(3);
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            prop_assert!(read("r", &bytes).1.is_some());
        }
    }
}
