//! A frontmatter value of an unknown field, kept as it was written.
//!
//! Scalars stay text (`1.10` is not a number here), because guessing types is how `version: 1.10`
//! becomes `1.1`. Maps keep the author's order.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::yaml::{Node, NodeKind};

/// An untyped frontmatter value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// Any scalar, as its text.
    Text(Box<str>),
    /// A list.
    List(Box<[Value]>),
    /// A map, in the author's order.
    Map(Box<[(Box<str>, Value)]>),
}

impl Value {
    pub(crate) fn from_node(node: &Node<'_>) -> Self {
        match &node.kind {
            NodeKind::Scalar { text, .. } if node.is_null() => {
                debug_assert!(text.len() <= 4);
                Self::Null
            }
            NodeKind::Scalar { text, .. } => Self::Text(text.as_ref().into()),
            NodeKind::List(items) => Self::List(items.iter().map(Self::from_node).collect()),
            NodeKind::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.key_text().into(), Self::from_node(value)))
                    .collect(),
            ),
        }
    }

    /// The text of a scalar.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.iter().find(|(k, _)| &**k == key).map(|(_, v)| v),
            _ => None,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
