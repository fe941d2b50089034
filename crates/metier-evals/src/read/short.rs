//! The short spellings of case files: a text, or a list of texts, where a value has one natural key.
//!
//! `skills: pdf` is `skills: [pdf]`, and `must: run_script pdf/scripts/fill.py` a pattern with three keys. What
//! is written is always the long form. No value is buffered on the way, so that an error keeps its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use metier::tools::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::case::{
    ActionChecks, ActionCount, ActionPattern, ActionSequence, ArgumentPattern, CommandCheck,
    FileCheck, InstructionStep, JudgeCheck, OutputChecks, SequenceMode,
};

/// What a text, or a list, stands for.
pub(crate) trait Short<'de>: Deserialize<'de> {
    /// What a text stands for, or why it stands for nothing.
    fn from_text(text: &str) -> Result<Self, String>;

    /// What a list stands for.
    fn from_list<A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(Error::custom("expected a text or keys, found a list"))
    }
}

/// One value.
pub(crate) fn one<'de, D: Deserializer<'de>, T: Short<'de>>(from: D) -> Result<T, D::Error> {
    ShortSeed(PhantomData).deserialize(from)
}

/// One value, or none.
pub(crate) fn some<'de, D: Deserializer<'de>, T: Short<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    one(from).map(Some)
}

/// A list, or the one value that it would have.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Short<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_any(ListVisitor(PhantomData))
}

/// Texts, or one.
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let words: Vec<Word> = list(from)?;
    Ok(words.into_iter().map(|word| word.0).collect())
}

/// The same where nothing is another thing than an empty list: who leaves it blank may mean either.
pub(crate) fn some_texts<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Vec<String>>, D::Error> {
    struct Texts(Vec<String>);
    impl<'de> Deserialize<'de> for Texts {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            texts(from).map(Self)
        }
    }
    match Option::<Texts>::deserialize(from)? {
        Some(texts) => Ok(Some(texts.0)),
        None => Err(D::Error::custom("`skills` is blank: write `[]` for none, or leave it out")),
    }
}

/// Arguments: a value that is no map is what the argument must equal.
pub(crate) fn arguments<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, ArgumentPattern>, D::Error> {
    let given: BTreeMap<String, Argument> = Deserialize::deserialize(from)?;
    Ok(given.into_iter().map(|(name, argument)| (name, argument.0)).collect())
}

struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self)
    }
}

impl Short<'_> for Word {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
}

struct Argument(ArgumentPattern);

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Argument;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, or one of equals, regex and contains")
            }

            fn visit_str<E>(self, text: &str) -> Result<Argument, E> {
                Ok(Argument(ArgumentPattern::Equals(text.into())))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Argument, E> {
                Ok(Argument(ArgumentPattern::Equals(value.into())))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Argument, E> {
                Ok(Argument(ArgumentPattern::Equals(value.into())))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Argument, E> {
                Ok(Argument(ArgumentPattern::Equals(value.into())))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Argument, E> {
                Ok(Argument(ArgumentPattern::Equals(value.into())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Argument, A::Error> {
                let mut list: Vec<Value> = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Argument(ArgumentPattern::Equals(list.into())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Argument, A::Error> {
                ArgumentPattern::deserialize(MapAccessDeserializer::new(map)).map(Argument)
            }
        }
        from.deserialize_any(Any)
    }
}

struct ShortSeed<T>(PhantomData<T>);

impl<'de, T: Short<'de>> DeserializeSeed<'de> for ShortSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Short<'de>> Visitor<'de> for ShortSeed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or keys")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    // A number or a word that YAML knows is a text here.
    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        T::from_text(if value { "true" } else { "false" }).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::from_text(&value.to_string()).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        T::from_text(&value.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        T::from_text(&value.to_string()).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::from_list(items)
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Short<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, or one value of it")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(ShortSeed(PhantomData))? {
            list.push(item);
        }
        Ok(list)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        Ok(vec![T::from_text(text).map_err(E::custom)?])
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<T>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Vec<T>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        Ok(vec![ShortSeed(PhantomData).visit_map(map)?])
    }
}

impl Short<'_> for ActionPattern {
    fn from_text(text: &str) -> Result<Self, String> {
        super::pattern::parse(text)
    }
}

impl Short<'_> for ActionCount {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { action: ActionPattern::from_text(text)?, min: 1, max: None })
    }
}

impl Short<'_> for InstructionStep {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { title: text.to_owned(), action: ActionPattern::from_text(text)? })
    }
}

impl<'de> Short<'de> for ActionSequence {
    fn from_text(text: &str) -> Result<Self, String> {
        let actions = vec![ActionPattern::from_text(text)?];
        Ok(Self { mode: SequenceMode::InOrder, actions })
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        let actions = ListVisitor(PhantomData).visit_seq(items)?;
        Ok(Self { mode: SequenceMode::InOrder, actions })
    }
}

impl<'de> Short<'de> for ActionChecks {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { must: vec![ActionPattern::from_text(text)?], ..Self::default() })
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        Ok(Self { order: Some(ActionSequence::from_list(items)?), ..Self::default() })
    }
}

impl<'de> Short<'de> for OutputChecks {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { contains: vec![text.to_owned()], ..Self::default() })
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        let words: Vec<Word> = ListVisitor(PhantomData).visit_seq(items)?;
        let contains = words.into_iter().map(|word| word.0).collect();
        Ok(Self { contains, ..Self::default() })
    }
}

impl Short<'_> for FileCheck {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { path: text.to_owned(), contains: None })
    }
}

impl<'de> Short<'de> for CommandCheck {
    fn from_text(text: &str) -> Result<Self, String> {
        if text.contains(['"', '\'', '$', '|', '&', ';', '<', '>', '`', '*', '\\']) {
            return Err("no shell reads a command: write its words as a list".to_owned());
        }
        let command = text.split_whitespace().map(str::to_owned).collect();
        Ok(Self { command, exit: 0 })
    }

    fn from_list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        let words: Vec<Word> = ListVisitor(PhantomData).visit_seq(items)?;
        Ok(Self { command: words.into_iter().map(|word| word.0).collect(), exit: 0 })
    }
}

impl Short<'_> for JudgeCheck {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { statement: text.to_owned() })
    }
}

/// In the schema: a text, or the value with all its keys.
pub(crate) struct TextOr<T>(PhantomData<T>);

/// In the schema: a text, the value, or a list of both.
pub(crate) struct TextOrList<T>(PhantomData<T>);

/// In the schema: a text, a list of items, or the value.
pub(crate) struct TextOrListOr<I, T>(PhantomData<(I, T)>);

impl<T: JsonSchema> JsonSchema for TextOr<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TextOr{}", T::schema_name()).into()
    }

    fn json_schema(all: &mut SchemaGenerator) -> Schema {
        let value = all.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "string" }, value] })
    }
}

impl<T: JsonSchema> JsonSchema for TextOrList<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TextOrListOf{}", T::schema_name()).into()
    }

    fn json_schema(all: &mut SchemaGenerator) -> Schema {
        let one = TextOr::<T>::json_schema(all);
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

impl<I: JsonSchema, T: JsonSchema> JsonSchema for TextOrListOr<I, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TextOr{}", T::schema_name()).into()
    }

    fn json_schema(all: &mut SchemaGenerator) -> Schema {
        let (items, value) = (TextOrList::<I>::json_schema(all), all.subschema_for::<T>());
        json_schema!({ "anyOf": [items, value] })
    }
}
