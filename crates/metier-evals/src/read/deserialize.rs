//! From a tree with places to types: what serde derives, with the place of whatever does not fit.
//!
//! An unknown key is an error at the key, with the nearest one that is known.

use std::fmt;

use metier::skill::nearest;
use metier::skill::yaml::{Node, NodeKind, Style};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::ReadFault;
use super::document::{Known, known};

/// Reads a node as a type.
pub(crate) fn from_node<'de, T: de::Deserialize<'de>>(
    node: &'de Node<'de>,
) -> Result<T, ReadFault> {
    T::deserialize(At(node)).map_err(|error| error.placed(node))
}

/// What does not fit, and where, once that is known.
#[derive(Debug)]
pub(crate) struct Misfit {
    fault: ReadFault,
    is_placed: bool,
}

impl Misfit {
    fn placed(self, node: &Node<'_>) -> ReadFault {
        self.at(node).fault
    }

    fn at(mut self, node: &Node<'_>) -> Self {
        if !self.is_placed {
            self.fault.span = node.span.clone();
            self.is_placed = true;
        }
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.message)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { fault: ReadFault::new(0..0, message.to_string()), is_placed: false }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Str(_) => "a text".to_owned(),
            Unexpected::Map => "keys".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Unit => "nothing".to_owned(),
            other => other.to_string(),
        };
        Self::custom(format!("expected {expected}, found {found}"))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let mut misfit =
            Self::custom(format!("unknown key {}", metier::skill::text::quoted(field, 60)));
        misfit.fault.help = Some(match nearest(field, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys here are {}", known.join(", ")),
        });
        misfit
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let mut misfit =
            Self::custom(format!("unknown word {}", metier::skill::text::quoted(word, 60)));
        misfit.fault.help = Some(match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", known.join(", ")),
        });
        misfit
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is missing"))
    }
}

#[derive(Clone, Copy)]
struct At<'de>(&'de Node<'de>);

impl<'de> At<'de> {
    fn scalar(self) -> Option<(&'de str, Style)> {
        match &self.0.kind {
            NodeKind::Scalar { text, style } => Some((text, *style)),
            _ => None,
        }
    }
}

impl<'de> Deserializer<'de> for At<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let visited = match &self.0.kind {
            NodeKind::Scalar { text, style: Style::Plain } => match known(text) {
                Known::Null => visitor.visit_unit(),
                Known::Bool(it) => visitor.visit_bool(it),
                Known::Int(it) => visitor.visit_i64(it),
                Known::Uint(it) => visitor.visit_u64(it),
                Known::Float(it) => visitor.visit_f64(it),
                Known::Text => visitor.visit_borrowed_str(text),
            },
            NodeKind::Scalar { text, .. } => visitor.visit_borrowed_str(text),
            NodeKind::List(items) => visitor.visit_seq(Items(items.iter())),
            NodeKind::Map(entries) => {
                visitor.visit_map(Entries { left: entries.iter(), current: None })
            }
        };
        visited.map_err(|error| error.at(self.0))
    }

    /// A text is what is written, also where it looks like a number: `id: 12`.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.scalar() {
            Some((text, style)) if style != Style::Plain || !self.0.is_null() => {
                visitor.visit_borrowed_str(text).map_err(|error: Misfit| error.at(self.0))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let visited = match &self.0.kind {
            NodeKind::Scalar { text, .. } => visitor.visit_enum((&**text).into_deserializer()),
            NodeKind::Map(entries) => match entries.as_slice() {
                [(key, value)] => visitor.visit_enum(Variant { key, value }),
                _ => Err(de::Error::custom("expected exactly one key")),
            },
            NodeKind::List(_) => Err(de::Error::custom("expected one key, found a list")),
        };
        visited.map_err(|error| error.at(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct ignored_any
    }
}

struct Items<'de>(std::slice::Iter<'de, Node<'de>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some(node) = self.0.next() else { return Ok(None) };
        seed.deserialize(At(node)).map(Some).map_err(|error| error.at(node))
    }
}

struct Entries<'de> {
    left: std::slice::Iter<'de, (Node<'de>, Node<'de>)>,
    current: Option<&'de Node<'de>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.current = Some(value);
        let text = key.text().unwrap_or_default();
        let key_of = de::value::BorrowedStrDeserializer::<Misfit>::new(text);
        seed.deserialize(key_of).map(Some).map_err(|error| error.at(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let Some(value) = self.current.take() else {
            return Err(de::Error::custom("a key without a value"));
        };
        seed.deserialize(At(value)).map_err(|error| error.at(value))
    }
}

struct Variant<'de> {
    key: &'de Node<'de>,
    value: &'de Node<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misfit;
    type Variant = At<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, At<'de>), Misfit> {
        let text = self.key.text().unwrap_or_default();
        let key = de::value::BorrowedStrDeserializer::<Misfit>::new(text);
        let variant = seed.deserialize(key).map_err(|error| error.at(self.key))?;
        Ok((variant, At(self.value)))
    }
}

impl<'de> VariantAccess<'de> for At<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        seed.deserialize(self).map_err(|error| error.at(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_any(visitor)
    }
}
