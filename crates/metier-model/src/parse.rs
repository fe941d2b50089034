//! A reply to a decision, or what is wrong with it. Nothing is guessed.
//!
//! What is taken besides strict JSON, because it cannot change the meaning: a code fence or prose
//! around one complete object; the whole as a JSON string, once; a plan inside the action; a skill as its name; `args: null`;
//! arguments and data as the text of their JSON. Everything else goes back to the model: a repair
//! would execute what the model did not decide, and a cut-off `["pdf","xlsx"]` would become `["pdf"]`.

use metier_skill::text::{quoted, short_line};
use serde_json::Value;

pub use crate::fault::{FaultCode, ParseFault};

use crate::action::Decision;
use crate::json::{self, JsonFault, MAX_DEPTH, Trouble};
use crate::model::{Finish, OutputMode, Reply};
use crate::read;

/// Bytes of text that are looked at.
pub const MAX_BYTES: usize = 256 * 1024;

/// The decision that a reply holds.
pub fn parse_reply(reply: &Reply) -> Result<Decision, ParseFault> {
    let fault = |code, message: String| Err(ParseFault::new(code, message));
    match reply.finish {
        Finish::Refusal => {
            let words = reply.text.trim();
            let words = if words.is_empty() { "no reason given" } else { words };
            return fault(
                FaultCode::Refused,
                format!("the model refused: {}", short_line(words, 300)),
            );
        }
        // The model closed the call itself: small ones go on writing after it, up to the limit.
        Finish::Length if is_whole_call(reply) => {}
        Finish::Length => {
            let message = "the reply was cut off at the limit of tokens, so none of it is used; \
                           decide again in fewer words";
            return fault(FaultCode::Truncated, message.to_owned());
        }
        Finish::Stop | Finish::Unknown => {}
    }
    if reply.parts > 1 {
        let message = format!(
            "the reply holds {} decisions; decide on one, see what comes of it, then decide again",
            reply.parts
        );
        return fault(FaultCode::TwoActions, message);
    }
    parse_text(&reply.text).map_err(|fault| match (reply.mode, fault.code) {
        // What a call brings is an action at least. The advice on JSON would lead away from a call.
        (
            OutputMode::ToolCall,
            FaultCode::EmptyReply | FaultCode::NotJson | FaultCode::NotADecision,
        ) if !reply.text.starts_with(CALL_START) => {
            let message = "the reply calls no function; call one, and write nothing beside it";
            ParseFault::new(fault.code, message)
        }
        (OutputMode::ToolCall, _) if reply.text.starts_with(CALL_START) => {
            in_words_of_functions(&reply.text, fault)
        }
        _ => fault,
    })
}

/// A fault in the words of the function that was called: the model saw no decision, only its arguments.
fn in_words_of_functions(text: &str, mut fault: ParseFault) -> ParseFault {
    let text = text.trim();
    let function =
        called(text).map_or_else(String::new, |name| format!(" of {}", quoted(name, 60)));
    if let Err(broken) = json::read(text, MAX_DEPTH) {
        let message = match broken.trouble {
            Trouble::Cut => format!(
                "the arguments{function} end before they are complete; close every string, list and object"
            ),
            _ => format!(
                "the arguments{function} are not a JSON object: {}; call it again",
                broken.message
            ),
        };
        return ParseFault::new(fault.code, message);
    }
    let path = fault.path.take();
    let inside = path.as_deref().and_then(|path| path.strip_prefix("action."));
    if fault.code == FaultCode::UnknownField && text[CALL_START.len()..].starts_with(TOOL) {
        fault.message =
            format!("put the arguments of the tool in `args`{function}: {{\"args\": {{...}}}}");
    }
    ParseFault { path: inside.map(str::to_owned).or(path), ..fault }
}

/// How the name of the action goes on that calls a tool.
const TOOL: &str = r#""call_tool""#;

/// The function that is called: the tool, else the action.
fn called(text: &str) -> Option<&str> {
    let rest = &text[CALL_START.len()..];
    let name = rest.strip_prefix(TOOL).and_then(|rest| rest.strip_prefix(r#","tool":"#));
    name.unwrap_or(rest).strip_prefix('"')?.split('"').next()
}

fn is_whole_call(reply: &Reply) -> bool {
    reply.mode == OutputMode::ToolCall
        && reply.text.starts_with(CALL_START)
        && json::read(&reply.text, MAX_DEPTH).is_ok()
}

/// How the text of a reply begins that is the call of a function.
pub(crate) const CALL_START: &str = r#"{"action":{"type":"#;

/// The decision that a text is.
pub fn parse_text(text: &str) -> Result<Decision, ParseFault> {
    if text.len() > MAX_BYTES {
        let message = format!("the reply has {} bytes; at most {MAX_BYTES} are read", text.len());
        return Err(ParseFault::new(FaultCode::TooLarge, message));
    }
    if text.trim().is_empty() {
        let message = "the reply is empty; expected one JSON object with an action";
        return Err(ParseFault::new(FaultCode::EmptyReply, message));
    }
    let value = value_in(text)?;
    let value = match value {
        Value::String(inner) => match json::read(inner.trim(), MAX_DEPTH) {
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => Value::String(inner),
            // Prose in quotes is no broken JSON.
            Err(_) if !inner.contains('{') => Value::String(inner),
            Err(fault) => return Err(parse_fault(&inner, 0, &fault)),
        },
        other => other,
    };
    read::decision(value)
}

/// The one JSON value of a text: all of it, or the one object in a fence or prose.
fn value_in(text: &str) -> Result<Value, ParseFault> {
    let start = text.len() - text.trim_start().len();
    let whole = match json::read(text.trim(), MAX_DEPTH) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    // Only a text that is wrong as JSON may be JSON with something around it.
    if !matches!(whole.trouble, Trouble::Syntax | Trouble::Cut) {
        return Err(parse_fault(text, start, &whole));
    }
    let mut found: Option<Value> = None;
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|offset| at + offset) {
        let Some(end) = balanced_end(text, open) else {
            // An open brace in prose after the object is no second object, but what it is
            // cannot be known either.
            let fault = json::read(&text[open..], MAX_DEPTH).err();
            return Err(fault.map_or_else(
                || parse_fault(text, start, &whole),
                |it| parse_fault(text, open, &it),
            ));
        };
        let region = &text[open..end];
        match json::read(region, MAX_DEPTH) {
            Ok(_) if text[..open].trim_end().ends_with('[') => {
                let message = "the reply is a list; expected one object with plan, plan_update and \
                               action";
                return Err(ParseFault::new(FaultCode::NotADecision, message));
            }
            Ok(_) if found.is_some() => {
                let message = "the reply holds two objects; decide on one action, see what comes of \
                               it, then decide again";
                return Err(ParseFault::new(FaultCode::TwoActions, message));
            }
            Ok(value) => found = Some(value),
            // `{name}` in prose. Anything with quotes or colons was meant as JSON.
            Err(_) if !region.contains(['"', '\'', ':', '\\']) => {}
            Err(fault) => return Err(parse_fault(text, open, &fault)),
        }
        at = end;
    }
    found.ok_or_else(|| parse_fault(text, start, &whole))
}

/// Where the object that opens at `open` ends, by its braces outside of strings.
fn balanced_end(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.as_bytes()[open..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A fault of JSON in words, with its place in the whole text.
fn parse_fault(text: &str, start: usize, fault: &JsonFault) -> ParseFault {
    let before = &text[..start];
    let lines = before.matches('\n').count();
    let column = match (fault.line, before.rfind('\n')) {
        (1, Some(newline)) => fault.column + start - newline - 1,
        (1, None) => fault.column + start,
        _ => fault.column,
    };
    let place = format!("line {}, column {column}", lines + fault.line.max(1));
    let (code, advice) = match fault.trouble {
        Trouble::Syntax => (
            FaultCode::NotJson,
            "reply with one JSON object: keys and texts in double quotes, no trailing commas, no \
             comments, line breaks in texts as \\n",
        ),
        Trouble::Cut => (
            FaultCode::Truncated,
            "the JSON ends before it is complete, so none of it is used; close every string, \
             list and object",
        ),
        Trouble::Twice => (FaultCode::NotJson, "write each key once"),
        Trouble::TwiceAction => (FaultCode::TwoActions, "decide on one action"),
        Trouble::Deep => (FaultCode::TooLarge, "nest less"),
    };
    ParseFault::new(code, format!("{} ({place}); {advice}", fault.message))
}
