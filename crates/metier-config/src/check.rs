//! Walks a file's tree beside the JSON Schema and reports every place where they differ.
//!
//! It understands the keywords that our own schema uses (a test fails when the schema gains
//! another), three of them ours: `x-metier-user-only`, `x-metier-project` and `x-metier-not-managed`.
//! It recurses at most [`crate::MAX_NESTING`] deep.

use std::collections::{BTreeMap, HashMap};

use jsonc_parser::ast::{Array, NumberLit, Object, StringLit, Value as Node};
use jsonc_parser::common::Ranged;
use metier_skill::nearest;
use serde_json::Value as Json;

use crate::error::{ConfigError, ConfigErrorKind};
use crate::key_path::{Segment, render, render_short};
use crate::layer::{Scope, number_of};
use crate::position::LineIndex;
use crate::schema::{home_of_key, keys_of, type_for, word_schema, words_of};
use crate::wording::{expected, found, help_text, listed, quoted, type_advice};

/// Problems listed for one file: a megabyte of unknown keys must not become a hundred megabytes of
/// errors.
const MAX_ERRORS: usize = 100;

/// Advice about a key that belongs to the user.
const USER_ONLY: &str = "set it in your own `~/.agent/config.json`: a project must not choose keys, \
                         endpoints or the sandbox for you";

/// The walk over one file.
pub(crate) struct Checker<'n> {
    file: &'n str,
    scope: Scope,
    index: &'n LineIndex<'n>,
    path: Vec<Segment<'n>>,
    errors: Vec<ConfigError>,
    unlisted: usize,
    lines: BTreeMap<String, usize>,
}

impl<'n> Checker<'n> {
    pub(crate) fn new(file: &'n str, scope: Scope, index: &'n LineIndex<'n>) -> Self {
        let (path, errors, lines) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { file, scope, index, path, errors, unlisted: 0, lines }
    }

    /// The line of each known key, or the problems in the order of the text.
    pub(crate) fn finish(mut self) -> Result<BTreeMap<String, usize>, Vec<ConfigError>> {
        self.errors.sort_by_key(|error| (error.line, error.column));
        if let (Some(last), true) = (self.errors.last(), self.unlisted > 0) {
            let rest = ConfigError {
                key_path: String::new(),
                kind: ConfigErrorKind::TooLarge,
                message: match self.unlisted {
                    1 => "1 more problem is not listed".to_owned(),
                    unlisted => format!("{unlisted} more problems are not listed"),
                },
                help: "fix the ones above first".to_owned(),
                ..last.clone()
            };
            self.errors.push(rest);
        }
        if self.errors.is_empty() { Ok(self.lines) } else { Err(self.errors) }
    }

    /// Checks a value, and all that it holds, against its schema.
    pub(crate) fn check(&mut self, node: &'n Node<'n>, schema: &'n Json) {
        if let Some(words) = words_of(schema) {
            return self.check_word(node, schema, &words);
        }
        let schema_type = type_for(schema, type_name(node));
        match (node, schema_type) {
            (Node::Object(object), Some("object") | None) => self.check_object(object, schema),
            (Node::Array(array), Some("array") | None) => self.check_array(array, schema),
            (Node::StringLit(lit), Some("string")) => self.check_string(lit, schema),
            (Node::NumberLit(lit), Some("integer")) => self.check_integer(node, lit, schema),
            (Node::NumberLit(lit), Some("number")) => self.check_number(lit, schema),
            (Node::NumberLit(lit), None) => self.check_free_number(lit),
            (Node::BooleanLit(_), Some("boolean")) | (_, None) => {}
            (_, Some(schema_type)) => self.wrong_type(node, schema, schema_type),
        }
    }

    fn check_object(&mut self, object: &'n Object<'n>, schema: &'n Json) {
        let mut first_lines: HashMap<&str, usize> = HashMap::new();
        for prop in &object.properties {
            let key = prop.name.as_str();
            let offset = prop.range.start;
            self.path.push(Segment::Key(key));
            if let Some(first) = first_lines.get(key) {
                self.report(offset, ConfigErrorKind::DuplicateKey, |it| {
                    let message = format!("duplicate key {it}; first set on line {first}");
                    (message, "remove one of the two".to_owned())
                });
            } else {
                first_lines.insert(key, self.index.line(offset));
                self.check_entry(key, offset, &prop.value, schema);
            }
            self.path.pop();
        }
        let required = schema.get("required").and_then(Json::as_array);
        for key in required.into_iter().flatten().filter_map(Json::as_str) {
            if !first_lines.contains_key(key) {
                self.report(object.range.start, ConfigErrorKind::MissingKey, |it| {
                    let help = format!("add `{key}`: {}", help_text(&schema["properties"][key]));
                    (format!("{it} is missing `{key}`"), help)
                });
            }
        }
    }

    /// Checks one key of an object; the path already ends in the key.
    fn check_entry(&mut self, key: &'n str, offset: usize, value: &'n Node<'n>, schema: &'n Json) {
        let known = schema.get("properties").and_then(|keys| keys.get(key));
        match (known, schema.get("additionalProperties")) {
            (Some(known), _) if self.is_refused(known, Scope::Managed) => {
                self.report(offset, ConfigErrorKind::NotAllowedInManaged, |it| {
                    let help = "an administrator's file holds rules and limits for all users; \
                                preferences belong in each user's `~/.agent/config.json`";
                    (format!("{it} cannot be set in an administrator's file"), help.to_owned())
                });
            }
            (Some(known), _) if self.is_refused(known, Scope::Project) => {
                self.not_for_projects(offset, USER_ONLY);
            }
            (Some(known), _) => {
                self.note_line(offset);
                let in_project = known.get("x-metier-project");
                let narrower = in_project.filter(|_| self.scope == Scope::Project);
                self.check(value, narrower.unwrap_or(known));
            }
            (None, Some(Json::Bool(false))) => {
                self.report(offset, ConfigErrorKind::UnknownKey, |it| {
                    (format!("unknown key {it}"), unknown_key_advice(key, schema))
                });
            }
            (None, Some(rest)) if self.is_refused(rest, Scope::Project) => {
                self.not_for_projects(offset, &help_text(rest));
            }
            (None, Some(rest @ Json::Object(_))) => {
                self.note_line(offset);
                self.check(value, rest);
            }
            // Free values, such as `model.params`: only the parser's and our own bounds hold.
            (None, _) => self.check(value, &Json::Null),
        }
    }

    /// Whether this is a file of `scope`, and may not have the key.
    fn is_refused(&self, schema: &Json, scope: Scope) -> bool {
        let mark = match scope {
            Scope::Managed => "x-metier-not-managed",
            Scope::Project => "x-metier-user-only",
            Scope::User => return false,
        };
        self.scope == scope && schema.get(mark) == Some(&Json::Bool(true))
    }

    fn not_for_projects(&mut self, offset: usize, help: &str) {
        self.report(offset, ConfigErrorKind::NotAllowedInProject, |it| {
            (format!("{it} cannot be set in a project's file"), help.to_owned())
        });
    }

    fn check_array(&mut self, array: &'n Array<'n>, schema: &'n Json) {
        let count = array.elements.len();
        let most = schema.get("maxItems").and_then(Json::as_u64);
        if let Some(most) = most.filter(|&most| u64::try_from(count).is_ok_and(|n| n > most)) {
            return self.report(array.range.start, ConfigErrorKind::BadValue, |it| {
                let message = format!("{it} has {count} elements; the limit is {most}");
                (message, help_text(schema))
            });
        }
        let items = schema.get("items");
        for (position, element) in array.elements.iter().enumerate() {
            self.path.push(Segment::Index(position));
            if items.is_some() {
                self.note_line(element.start());
            }
            self.check(element, items.unwrap_or(&Json::Null));
            self.path.pop();
        }
    }

    fn check_string(&mut self, lit: &StringLit<'_>, schema: &Json) {
        let length = |keyword| schema.get(keyword).and_then(Json::as_u64);
        let least = length("minLength").unwrap_or(0);
        let chars = lit.value.chars().count();
        let most = length("maxLength").filter(|most| u64::try_from(chars).is_ok_and(|n| n > *most));
        if let Some(most) = most {
            self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
                (format!("{it} has {chars} characters; the limit is {most}"), help_text(schema))
            });
        } else if least > 0 && lit.value.is_empty() {
            self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
                let help = format!("set a value or remove it; {}", help_text(schema));
                (format!("{it} is empty"), help)
            });
        } else if schema.get("pattern").is_some()
            && let Some(end) = lit.value.find(|c: char| c == '=' || c.is_whitespace())
        {
            // The one pattern in the schema: a variable's name. What follows the name may be a
            // secret that was pasted with it, so it is not shown.
            self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
                let name = quoted(&lit.value[..end]);
                let help = format!("write \"{name}\"; values belong in the environment, not here");
                (format!("{it} must be just the name of an environment variable"), help)
            });
        }
    }

    fn check_integer(&mut self, node: &Node<'_>, lit: &NumberLit<'_>, schema: &Json) {
        let digits = lit.value.strip_prefix('-').unwrap_or(lit.value);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return self.wrong_type(node, schema, "integer");
        }
        // All digits but no fit: so far out that the sign says on which side.
        let far = if lit.value.starts_with('-') { i128::MIN } else { i128::MAX };
        let number = lit.value.parse().unwrap_or(far);
        let bound = |keyword| schema.get(keyword).and_then(Json::as_i64).map(i128::from);
        let rule = match (bound("minimum"), bound("maximum")) {
            (Some(least), _) if number < least => format!("must be at least {least}"),
            (_, Some(most)) if number > most => format!("must be at most {most}"),
            _ => return,
        };
        self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
            (format!("{it} {rule}, but it is {}", quoted(lit.value)), help_text(schema))
        });
    }

    fn check_number(&mut self, lit: &NumberLit<'_>, schema: &Json) {
        let bound = |keyword| schema.get(keyword).and_then(Json::as_f64);
        let number = number_of(lit.value).and_then(|number| number.as_f64());
        let rule = match (number, bound("minimum"), bound("maximum")) {
            (None, ..) => return self.check_free_number(lit),
            (Some(number), Some(least), _) if number < least => format!("must be at least {least}"),
            (Some(number), _, Some(most)) if number > most => format!("must be at most {most}"),
            _ => return,
        };
        self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
            (format!("{it} {rule}, but it is {}", quoted(lit.value)), help_text(schema))
        });
    }

    fn check_free_number(&mut self, lit: &NumberLit<'_>) {
        if number_of(lit.value).is_none() {
            self.report(lit.range.start, ConfigErrorKind::BadValue, |it| {
                let help = "use a number that fits in a 64-bit float".to_owned();
                (format!("{it} is too large"), help)
            });
        }
    }

    fn check_word(&mut self, node: &Node<'_>, schema: &Json, words: &[&str]) {
        let given = node.as_string_lit();
        if let Some(lit) = given.filter(|lit| words.contains(&&*lit.value)) {
            let word = word_schema(schema, &lit.value).unwrap_or(&Json::Null);
            if self.is_refused(word, Scope::Project) {
                let start = lit.range.start;
                self.report(start, ConfigErrorKind::NotAllowedInProject, |it| {
                    let message = format!("{it} cannot be `{}` in a project's file", lit.value);
                    (message, help_text(schema))
                });
            }
            return;
        }
        let kind =
            if given.is_some() { ConfigErrorKind::BadValue } else { ConfigErrorKind::WrongType };
        self.report(node.start(), kind, |it| {
            let allowed = listed(words.iter().copied());
            let message = format!("{it} must be one of {allowed}, but it is {}", found(node));
            let help = match given.and_then(|lit| nearest(&lit.value, words.iter().copied())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => type_advice(node, schema, "word"),
            };
            (message, help)
        });
    }

    fn wrong_type(&mut self, node: &Node<'_>, schema: &Json, schema_type: &str) {
        self.report(node.start(), ConfigErrorKind::WrongType, |it| {
            let wanted = expected(schema_type);
            let message = format!("{it} must be {wanted}, but it is {}", found(node));
            (message, type_advice(node, schema, schema_type))
        });
    }

    fn note_line(&mut self, offset: usize) {
        self.lines.insert(render(&self.path), self.index.line(offset));
    }

    /// Adds a problem with the current key. `words` gets the key as the subject of its sentence
    /// and gives message and help; it is not called for a problem that will not be listed.
    fn report(
        &mut self,
        offset: usize,
        kind: ConfigErrorKind,
        words: impl FnOnce(&str) -> (String, String),
    ) {
        if self.errors.len() == MAX_ERRORS {
            self.unlisted += 1;
            return;
        }
        let key_path = render_short(&self.path);
        let subject = match key_path.as_str() {
            "" => "the configuration".to_owned(),
            path => format!("`{path}`"),
        };
        let (message, help) = words(&subject);
        let (line, column) = self.index.line_and_column(offset);
        let file = self.file.to_owned();
        self.errors.push(ConfigError { file, line, column, key_path, kind, message, help });
    }
}

/// The name that a schema has for the type of a value.
const fn type_name(node: &Node<'_>) -> &'static str {
    match node {
        Node::StringLit(_) => "string",
        Node::NumberLit(_) => "number",
        Node::BooleanLit(_) => "boolean",
        Node::Object(_) => "object",
        Node::Array(_) => "array",
        Node::NullKeyword(_) => "null",
    }
}

/// What an unknown key was likely meant to be: a near one at this level, the same one at another
/// level, or else any that exist here.
fn unknown_key_advice(key: &str, schema: &Json) -> String {
    let known = keys_of(schema);
    if let Some(near) = nearest(key, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some(home) = home_of_key(key) {
        return format!("`{key}` belongs in `{home}`");
    }
    format!("the keys allowed here are {}", listed(known))
}
