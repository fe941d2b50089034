//! From the node tree to typed fields, with a diagnostic for everything that is not as it should be.
//!
//! A field that grants or limits is read exactly or not at all: an unreadable switch or tool list
//! keeps the skill out in every profile.

use std::ops::Range;

mod controls;
pub(crate) mod misspelt;
mod shown;

pub(crate) use shown::hidden_message;

use crate::codes::Code;
use crate::diagnostic::Severity;
use crate::limits::{COMPATIBILITY_CHARS, Profile};
use crate::name::SkillName;
use crate::parse::DiagnosticCollector;
use crate::skill::{Controls, Details, KNOWN_FIELDS, SPEC_FIELDS, Skill};
use crate::source_map::Characters;
use crate::value::Value;
use crate::yaml::{Node, NodeKind};

/// Reads the fields of a frontmatter. `None` when there is no usable name or description; then an
/// error was reported.
pub(crate) fn read(
    yaml: &str,
    characters: Characters,
    entries: &[(Node<'_>, Node<'_>)],
    collector: &mut DiagnosticCollector<'_>,
) -> Option<Skill> {
    let mut fields = Fields {
        yaml,
        characters,
        collector,
        name: None,
        description: None,
        controls: Controls::default(),
        details: Details::default(),
        unknown: Vec::new(),
        has_run_mode: false,
    };
    for (key, value) in entries {
        fields.field(key, value);
    }
    fields.hidden_elsewhere(entries);
    fields.finish()
}

struct Fields<'y, 'j, 'b> {
    yaml: &'y str,
    characters: Characters,
    collector: &'j mut DiagnosticCollector<'b>,
    name: Option<SkillName>,
    description: Option<Box<str>>,
    controls: Controls,
    details: Details,
    unknown: Vec<(Box<str>, Value)>,
    has_run_mode: bool,
}
impl Fields<'_, '_, '_> {
    fn profile(&self) -> Profile {
        self.collector.options.profile
    }

    fn field(&mut self, key: &Node<'_>, value: &Node<'_>) {
        let text = key.key_text();
        let position = KNOWN_FIELDS.iter().position(|known| *known == text);
        let in_spec = position.is_some_and(|at| at < SPEC_FIELDS);
        if !in_spec && Code::FieldNotInSpec.severity(self.profile()).is_some() {
            self.collector.report(
                Code::FieldNotInSpec,
                &key.span,
                format!("`{text}` is not one of the six fields of the specification"),
            );
        }
        self.note_flow(text, value);
        self.note_tab(key, value);
        match text {
            "name" => self.name(value),
            "description" => self.description(value),
            "license" => self.details.license = self.text_field(text, value),
            "compatibility" => self.compatibility(value),
            "metadata" => self.metadata(value),
            "allowed-tools" => self.allowed_tools(value),
            "version" => {
                self.details.version = self.text_field(text, value).or(self.details.version.take());
            }
            "author" => {
                self.details.author = self.text_field(text, value).or(self.details.author.take());
            }
            "disable-model-invocation" => {
                if let Some(on) = self.switch(text, value) {
                    self.controls.disable_model_invocation = on;
                }
            }
            "user-invocable" => {
                if let Some(on) = self.switch(text, value) {
                    self.controls.user_invocable = on;
                }
            }
            "run-mode" => self.run_mode(value),
            "context" => self.context(value),
            "argument-hint" => self.details.argument_hint = Some(self.raw(value).into()),
            "paths" => self.details.paths = self.paths(value).into(),
            "model" => self.details.model = self.text_field(text, value),
            _ => self.unknown(text, key, value),
        }
    }

    /// The value as it was written, for fields whose brackets are text to their authors.
    fn raw<'n>(&'n self, value: &'n Node<'_>) -> &'n str {
        match value.text() {
            Some(_) if value.is_null() => "",
            Some(text) => text.trim(),
            None => self.yaml.get(value.span.clone()).unwrap_or_default(),
        }
    }

    fn note_flow(&mut self, field: &str, value: &Node<'_>) {
        // A flow `description` or hint is text to its author; it is judged with that field.
        if matches!(field, "name" | "description") {
            return;
        }
        if let Some(span) = first_flow(self.yaml, value) {
            self.collector.report(Code::YamlFlow, &span, format!("`{field}` is written inline"));
        }
    }

    /// The full parser tolerates a tab between a key and its value; others do not.
    fn note_tab(&mut self, key: &Node<'_>, value: &Node<'_>) {
        if self.characters != Characters::Any {
            return;
        }
        let between = key.span.end..value.span.start.max(key.span.end);
        let Some(tab) = self.yaml.get(between.clone()).and_then(|gap| gap.find('\t')) else {
            return;
        };
        let at = between.start + tab;
        self.collector.report(Code::YamlTab, &(at..at + 1), "there is a tab before the value");
        if matches!(key.key_text(), "name" | "description")
            && !self.yaml[between.clone()].contains('\n')
        {
            self.collector.fix_last(Code::YamlTab, &between, ": ");
        }
    }

    fn text_field(&mut self, field: &str, value: &Node<'_>) -> Option<Box<str>> {
        if value.is_null() {
            return None;
        }
        if let Some(text) = value.text() {
            return Some(text.trim().into());
        }
        // The reference validator never looks at `license`.
        if !(field == "license" && self.profile() == Profile::Spec) {
            self.collector.report(
                Code::FieldNotText,
                &value.span,
                format!("`{field}` is a list or a map"),
            );
        }
        if let NodeKind::List(items) = &value.kind
            && let Some(texts) = items.iter().map(Node::text).collect::<Option<Vec<_>>>()
        {
            return Some(texts.join(", ").into());
        }
        Some(self.yaml.get(value.span.clone()).unwrap_or_default().into())
    }

    fn compatibility(&mut self, value: &Node<'_>) {
        self.details.compatibility = self.text_field("compatibility", value);
        let chars = value.text().map_or(0, |text| text.chars().count());
        if chars > COMPATIBILITY_CHARS {
            self.collector.report(
                Code::CompatibilityTooLong,
                &value.span,
                format!("`compatibility` has {chars} characters"),
            );
        }
    }

    fn metadata(&mut self, value: &Node<'_>) {
        let Some(entries) = value.entries() else {
            if !value.is_null() {
                self.collector.report(Code::MetadataNotMap, &value.span, "`metadata` is not a map");
                self.details.metadata = Box::new([("value".into(), Value::from_node(value))]);
            }
            return;
        };
        if let Some((key, nested)) = entries.iter().find(|(_, node)| node.text().is_none()) {
            self.collector.report(
                Code::MetadataNested,
                &nested.span,
                format!("`metadata.{}` is not text", key.key_text()),
            );
        }
        for (key, node) in entries {
            let slot = match key.key_text() {
                "version" => &mut self.details.version,
                "author" => &mut self.details.author,
                _ => continue,
            };
            if slot.is_none() && !node.is_null() {
                *slot = node.text().map(|text| text.trim().into());
            }
        }
        self.details.metadata = entries
            .iter()
            .map(|(key, node)| (key.key_text().into(), Value::from_node(node)))
            .collect();
    }

    fn unknown(&mut self, text: &str, key: &Node<'_>, value: &Node<'_>) {
        match misspelt::nearest_known(text) {
            Some(known) => self.collector.report(
                Code::FieldMisspelt,
                &key.span,
                format!("`{text}` has no effect; did you mean `{known}`?"),
            ),
            None => self.collector.report(
                Code::FieldUnknown,
                &key.span,
                format!("unknown field `{text}`"),
            ),
        }
        self.unknown.push((text.into(), Value::from_node(value)));
    }

    fn finish(mut self) -> Option<Skill> {
        let spec_or_strict = self.profile() != Profile::Lenient;
        let start = 0..0;
        let reported = |collector: &DiagnosticCollector<'_>, prefix: &str| {
            collector
                .diagnostics
                .iter()
                .any(|d| d.code.as_str().starts_with(prefix) || d.severity == Severity::Error)
        };
        if self.name.is_none() {
            if !reported(self.collector, "name-") {
                self.collector.report(Code::NameMissing, &start, "the frontmatter has no `name`");
            }
            if !spec_or_strict {
                self.name = self
                    .collector
                    .options
                    .directory
                    .and_then(|directory| SkillName::new(directory).ok());
            }
        }
        if self.description.is_none() {
            if !reported(self.collector, "description-") {
                self.collector.report(
                    Code::DescriptionMissing,
                    &start,
                    "the frontmatter has no `description`",
                );
            }
            if !spec_or_strict {
                self.description = Some("".into());
            }
        }
        let Some(name) = self.name else {
            if !self.collector.diagnostics.iter().any(|d| d.severity == Severity::Error) {
                self.collector.report_as(
                    Code::NameMissing,
                    Severity::Error,
                    &start,
                    "there is neither a `name` nor a directory to take one from",
                );
            }
            return None;
        };
        self.details.unknown = self.unknown.into();
        Some(Skill::new(name, self.description?, self.controls, self.details))
    }
}

/// The span of the first list or map below `value` that is written inline.
fn first_flow(yaml: &str, value: &Node<'_>) -> Option<Range<usize>> {
    let opens = |node: &Node<'_>| yaml[node.span.clone()].starts_with(['[', '{']);
    match &value.kind {
        NodeKind::Scalar { .. } => None,
        _ if opens(value) && !value_starts_with_flow_item(value) => Some(value.span.clone()),
        NodeKind::List(items) => items.iter().find_map(|item| first_flow(yaml, item)),
        NodeKind::Map(entries) => entries.iter().find_map(|(_, node)| first_flow(yaml, node)),
    }
}

/// A block list's span starts at its first item; if that is a flow list, the bracket is the item's.
fn value_starts_with_flow_item(value: &Node<'_>) -> bool {
    match &value.kind {
        NodeKind::List(items) => items
            .first()
            .is_some_and(|first| first.text().is_none() && first.span.start == value.span.start),
        _ => false,
    }
}
