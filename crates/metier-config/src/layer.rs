//! One file's text, checked: [`parse`] gives a [`Layer`] or every problem in the text.
//!
//! A layer is made only by [`parse`], so a layer is always a checked file.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value as Node;
use metier_sandbox::Tier;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::check::Checker;
use crate::config::{Config, ExecutionConfig};
use crate::error::{ConfigError, ConfigErrorKind};
use crate::position::LineIndex;
use crate::schema::schema;
use crate::syntax::parse_tree;

/// Whose file it is. An administrator's file holds rules and limits and no preferences. A project's
/// file comes with a clone, so it may say less than the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The administrator's: for everybody on a machine. It tightens, and its rules may also grant.
    Managed,
    /// `~/.agent/config.json`.
    User,
    /// `.agent/config.json` in a project.
    Project,
}

/// What one file says. Only [`parse`] makes one, so what it holds has been checked for its scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub(crate) origin: String,
    pub(crate) scope: Scope,
    pub(crate) config: Config,
    lines: BTreeMap<String, usize>,
}

impl Scope {
    /// The name on the terminal and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Layer {
    /// The file as the caller named it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whose file it is.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// What the file says.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The line of a key, such as `budgets.turns` or `permissions[2]`.
    pub fn line_of(&self, key_path: &str) -> Option<usize> {
        self.lines.get(key_path).copied()
    }
}

/// Checks the text of a configuration file and reads it.
///
/// `origin` is the file's name as errors should show it. Every problem is reported, in the order
/// of the text; only bad syntax ends the search, since what follows it cannot be read reliably.
///
/// # Errors
///
/// At least one [`ConfigError`]. The caller must stop then: a configuration that cannot be read
/// is not an empty one.
pub fn parse(text: &str, origin: &str, scope: Scope) -> Result<Layer, Vec<ConfigError>> {
    // Windows editors write a byte order mark; JSON has none.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let index = LineIndex::new(text);
    let tree = parse_tree(text).map_err(|problem| {
        let (line, column) = index.line_and_column(problem.offset);
        vec![ConfigError {
            file: origin.to_owned(),
            line,
            column,
            key_path: String::new(),
            kind: problem.kind,
            message: problem.message,
            help: problem.help,
        }]
    })?;
    let mut checker = Checker::new(origin, scope, &index);
    checker.check(&tree, schema());
    let lines = checker.finish()?;
    let mut config = Config::deserialize(json_of(&tree)).map_err(|error| {
        // The schema accepted what serde does not: our bug, but still the user's problem.
        vec![ConfigError {
            file: origin.to_owned(),
            line: 1,
            column: 1,
            key_path: String::new(),
            kind: ConfigErrorKind::BadValue,
            message: format!("the configuration passed its schema but cannot be read: {error}"),
            help: "this is a bug in Metier; please report it and attach the file".to_owned(),
        }]
    })?;
    if scope == Scope::Managed {
        join_sandbox(&mut config.execution);
    }
    Ok(Layer { origin: origin.to_owned(), scope, config, lines })
}

/// Two keys say that scripts are held, and a user can loosen either: an administrator who sets one
/// means both.
fn join_sandbox(execution: &mut ExecutionConfig) {
    let has_tier = execution.min_tier.is_some_and(|tier| tier != Tier::None);
    if has_tier {
        execution.require_sandbox = Some(true);
    } else if execution.require_sandbox == Some(true) {
        execution.min_tier = Some(Tier::Medium);
    }
}

/// The tree as a plain value. Not `jsonc-parser`'s own conversion: that one turns a number it
/// cannot represent into a string. The checker has refused such numbers before.
pub(crate) fn json_of(node: &Node<'_>) -> Json {
    match node {
        Node::StringLit(lit) => Json::String(lit.value.clone().into_owned()),
        Node::NumberLit(lit) => number_of(lit.value).map_or(Json::Null, Json::Number),
        Node::BooleanLit(lit) => Json::Bool(lit.value),
        Node::NullKeyword(_) => Json::Null,
        Node::Array(array) => Json::Array(array.elements.iter().map(json_of).collect()),
        Node::Object(object) => {
            let entry = |prop: &jsonc_parser::ast::ObjectProp<'_>| {
                (prop.name.as_str().to_owned(), json_of(&prop.value))
            };
            Json::Object(object.properties.iter().map(entry).collect())
        }
    }
}

/// The number, or `None` when it is too large to be held.
pub(crate) fn number_of(text: &str) -> Option<serde_json::Number> {
    // First as an integer, so that `-0` is the whole number it looks like.
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => text.parse().ok(),
    }
}
