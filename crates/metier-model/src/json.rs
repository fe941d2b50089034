//! Strict JSON: no key twice in an object, bounded depth, and where it is wrong.
//!
//! `serde_json` lets the last of two equal keys win; a reader that shows a reply and one that
//! executes it could then differ. Here it is a fault.

use std::cell::Cell;
use std::fmt;

use metier_skill::text::quoted;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

/// Objects and arrays within each other.
pub(crate) const MAX_DEPTH: usize = 64;

/// Why a text is not strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is not JSON.
    Syntax,
    /// It ends too early.
    Cut,
    /// A key stands twice.
    TwiceAction,
    /// A key stands twice.
    Twice,
    /// It is too deep.
    Deep,
}

/// What is wrong, with its place.
#[derive(Debug)]
pub(crate) struct JsonFault {
    pub(crate) trouble: Trouble,
    pub(crate) message: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Reads one JSON value that is all of `text`, at most `depth` deep.
pub(crate) fn read(text: &str, depth: usize) -> Result<Value, JsonFault> {
    let trouble = Cell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { depth, trouble: &trouble }.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| {
        let trouble = trouble.get().unwrap_or(match error.classify() {
            Category::Eof => Trouble::Cut,
            _ => Trouble::Syntax,
        });
        // The place is named once, by us, and counted from where the reply starts.
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
        JsonFault {
            trouble,
            message: message.to_owned(),
            line: error.line(),
            column: error.column(),
        }
    })
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    trouble: &'a Cell<Option<Trouble>>,
}

impl Strict<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.trouble.set(Some(Trouble::Deep));
            return Err(E::custom("objects and arrays are nested too deep"));
        };
        Ok(Self { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                let action = key == "action";
                self.trouble.set(Some(if action { Trouble::TwiceAction } else { Trouble::Twice }));
                let key = quoted(&key, 60);
                return Err(A::Error::custom(format!("the key {key} appears twice in one object")));
            }
            let value = access.next_value_seed(inner)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(text: &str) -> Trouble {
        read(text, MAX_DEPTH).expect_err(text).trouble
    }

    #[test]
    fn json_is_read_as_it_is() {
        let text = r#"{"a": [1, -2, 1.5, 1e300, true, null, "\ud83d\ude00"], "b": {}}"#;
        let expected: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(read(text, MAX_DEPTH).expect("strict"), expected);
    }

    #[test]
    fn faults_are_distinguished() {
        assert_eq!(trouble(r#"{"a": 1,}"#), Trouble::Syntax);
        assert_eq!(trouble(r#"{"a": 1} x"#), Trouble::Syntax);
        assert_eq!(trouble(r#"{"a": [1"#), Trouble::Cut);
        assert_eq!(trouble(r#"{"a": 1, "a": 1}"#), Trouble::Twice);
        assert_eq!(trouble(r#"{"x": [{"a": 1, "\u0061": 2}]}"#), Trouble::Twice);
        assert_eq!(trouble(r#"{"action": 1, "action": 1}"#), Trouble::TwiceAction);
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(trouble(&nested(MAX_DEPTH + 1)), Trouble::Deep);
        assert_eq!(trouble(&nested(100_000)), Trouble::Deep);
        assert!(read(&nested(MAX_DEPTH), MAX_DEPTH).is_ok());
    }

    #[test]
    fn the_place_is_the_line_and_the_column() {
        let fault = read("{\n  \"a\": nil}", MAX_DEPTH).expect_err("no JSON");
        assert_eq!((fault.line, fault.column), (2, 9));
        assert_eq!(fault.message, "expected ident");
    }
}
