//! From the node tree to typed fields, with a diagnostic for everything that is not as it should be.
//!
//! A field that grants or limits is read exactly or not at all: an unreadable switch or tool list
//! keeps the skill out in every profile.

use std::borrow::Cow;
use std::ops::Range;

use crate::codes::Code;
use crate::diagnostic::Severity;
use crate::hidden::{self, HiddenRun};
use crate::limits::{COMPATIBILITY_CHARS, DESCRIPTION_SHOWN_CHARS, Profile};
use crate::name::{NameFault, SkillName, name_faults};
use crate::parse::Judge;
use crate::repair::{double_quoted, typographic};
use crate::skill::{Controls, KNOWN_FIELDS, RunMode, SPEC_FIELDS, Skill};
use crate::tools::split_tools;
use crate::value::Value;
use crate::yaml::{Node, NodeKind, Style};

/// Reads the fields of a frontmatter. `None` when there is no usable name or description; then an
/// error was reported.
pub(crate) fn read(yaml: &str, entries: &[(Node<'_>, Node<'_>)], judge: &mut Judge<'_>) -> Option<Skill> {
    let mut fields = Fields { yaml, judge, name: None, description: None, draft: Draft::default() };
    for (key, value) in entries {
        fields.field(key, value);
    }
    fields.hidden_elsewhere(entries);
    fields.finish()
}

/// The optional fields, before name and description are known to be there.
#[derive(Default)]
struct Draft {
    controls: Controls,
    version: Option<Box<str>>,
    author: Option<Box<str>>,
    license: Option<Box<str>>,
    compatibility: Option<Box<str>>,
    argument_hint: Option<Box<str>>,
    model: Option<Box<str>>,
    paths: Vec<Box<str>>,
    metadata: Vec<(Box<str>, Value)>,
    unknown: Vec<(Box<str>, Value)>,
}

struct Fields<'y, 'j, 'b> {
    yaml: &'y str,
    judge: &'j mut Judge<'b>,
    name: Option<SkillName>,
    description: Option<Box<str>>,
    draft: Draft,
}

impl Fields<'_, '_, '_> {
    fn profile(&self) -> Profile {
        self.judge.options.profile
    }

    fn field(&mut self, key: &Node<'_>, value: &Node<'_>) {
        let text = key.key_text();
        let position = KNOWN_FIELDS.iter().position(|known| *known == text);
        if position.is_none_or(|at| at >= SPEC_FIELDS) {
            self.judge.report(
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
            "license" => self.draft.license = self.text_field(text, value),
            "compatibility" => self.compatibility(value),
            "metadata" => self.metadata(value),
            "allowed-tools" => self.allowed_tools(value),
            "version" => self.draft.version = self.text_field(text, value).or(self.draft.version.take()),
            "author" => self.draft.author = self.text_field(text, value).or(self.draft.author.take()),
            "disable-model-invocation" => {
                if let Some(on) = self.switch(text, value) {
                    self.draft.controls.disable_model_invocation = on;
                }
            }
            "user-invocable" => {
                if let Some(on) = self.switch(text, value) {
                    self.draft.controls.user_invocable = on;
                }
            }
            "run-mode" => self.run_mode(value),
            "context" if value.text() == Some("fork") => {
                self.draft.controls.run_mode = RunMode::Subagent;
            }
            "argument-hint" => self.draft.argument_hint = Some(self.raw(value).into()),
            "paths" => self.draft.paths = self.paths(value),
            "model" => self.draft.model = self.text_field(text, value),
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
            self.judge.report(Code::YamlFlow, &span, format!("`{field}` is written inline"));
        }
    }

    /// The full parser tolerates a tab between a key and its value; others do not.
    fn note_tab(&mut self, key: &Node<'_>, value: &Node<'_>) {
        let between = key.span.end..value.span.start.max(key.span.end);
        let Some(tab) = self.yaml.get(between.clone()).and_then(|gap| gap.find('\t')) else { return };
        let at = between.start + tab;
        self.judge.report(Code::YamlTab, &(at..at + 1), "a tab stands before the value");
        if matches!(key.key_text(), "name" | "description") && !self.yaml[between.clone()].contains('\n') {
            self.judge.fix_last(Code::YamlTab, &between, ": ");
        }
    }

    fn name(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let Some(text) = value.text() else {
            self.judge.report(Code::NameNotText, &span, "`name` is a list or a map");
            return;
        };
        let null = value.is_null() && (self.profile() != Profile::Spec || text.is_empty());
        if null || text.trim().is_empty() {
            self.judge.report(Code::NameMissing, &span, "`name` is empty");
            return;
        }
        let text = self.straight_quotes(text, value);
        let text = match self.visible("name", &text, &span) {
            Some(text) => text,
            None => return,
        };
        match SkillName::new(&text) {
            Ok(name) => {
                self.name_faults(&name, &span);
                self.name = Some(name);
            }
            Err(error) => self.judge.report(Code::NameUnusable, &span, error.to_string()),
        }
    }

    fn name_faults(&mut self, name: &SkillName, span: &Range<usize>) {
        let directory = self.judge.options.directory;
        for fault in name_faults(name.as_str(), directory, self.profile()) {
            let (code, message) = match fault {
                NameFault::TooLong => (Code::NameTooLong, format!("the name has {} characters", name.as_str().chars().count())),
                NameFault::Charset => (Code::NameCharset, format!("`{name}` has characters other than lower-case letters, digits and hyphens")),
                NameFault::Hyphens => (Code::NameHyphens, format!("`{name}` has a hyphen at an end or two in a row")),
                NameFault::NotAscii => (Code::NameNotAscii, format!("`{name}` has letters outside a-z")),
                NameFault::Directory => (
                    Code::NameDirectory,
                    format!("the skill is called `{name}`, its directory `{}`", directory.unwrap_or_default()),
                ),
            };
            self.judge.report(code, span, message);
        }
    }

    fn description(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let spec = self.profile() == Profile::Spec;
        let text: Cow<'_, str> = match &value.kind {
            NodeKind::Scalar { text, .. } => {
                let null = value.is_null() && (!spec || text.is_empty());
                if null || text.trim().is_empty() {
                    self.judge.report(Code::DescriptionMissing, &span, "`description` is empty");
                    return;
                }
                self.comment_cut(value);
                self.straight_quotes(text, value)
            }
            _ if first_flow(self.yaml, value) == Some(span.clone()) && !self.yaml[span.clone()].contains('\n') => {
                let raw = self.yaml[span.clone()].to_owned();
                self.judge.report(Code::YamlSpecialStart, &span, "brackets make this a list or a map; it was read as text");
                self.judge.fix_last(Code::YamlSpecialStart, &span, &double_quoted(&raw));
                raw.into()
            }
            NodeKind::List(items) if items.iter().all(|item| item.text().is_some()) => {
                self.judge.report(Code::DescriptionNotText, &span, "`description` is a list");
                let joined: Vec<&str> = items.iter().filter_map(Node::text).collect();
                joined.join(", ").into()
            }
            _ => {
                self.judge.report(Code::DescriptionNotText, &span, "`description` is a list or a map");
                return;
            }
        };
        let chars = text.chars().count();
        let limit = self.judge.options.limits.description_chars;
        if chars > limit {
            self.judge.report(Code::DescriptionOverLimit, &span, format!("the description has {chars} characters; the limit is {limit}"));
        } else if chars > DESCRIPTION_SHOWN_CHARS {
            self.judge.report(Code::DescriptionTooLong, &span, format!("the description has {chars} characters; a model is shown {DESCRIPTION_SHOWN_CHARS}"));
        }
        self.description = self.visible("description", &text, &span).map(|text| text.trim().into());
    }

    /// The text without typographic quotes around it, which are reported.
    fn straight_quotes<'t>(&mut self, text: &'t str, value: &Node<'_>) -> Cow<'t, str> {
        let plain = matches!(value.kind, NodeKind::Scalar { style: Style::Plain, .. });
        let Some(inner) = typographic(text.trim()).filter(|_| plain) else { return Cow::Borrowed(text) };
        self.judge.report(Code::YamlSmartQuotes, &value.span, "the value stands in typographic quotes");
        self.judge.fix_last(Code::YamlSmartQuotes, &value.span, &double_quoted(inner));
        if self.profile() == Profile::Spec { Cow::Borrowed(text) } else { Cow::Borrowed(inner) }
    }

    fn comment_cut(&mut self, value: &Node<'_>) {
        if !matches!(value.kind, NodeKind::Scalar { style: Style::Plain, .. }) {
            return;
        }
        let rest = self.yaml[value.span.end..].split('\n').next().unwrap_or_default();
        if rest.trim_start().starts_with('#') {
            let span = value.span.end..value.span.end + rest.trim_end().len();
            self.judge.report(Code::YamlCommentCut, &span, "a model does not see this part of the description");
        }
    }

    /// A text that a model will see, judged for control characters, hidden text and angle brackets.
    /// `None` when it cannot be used under any profile.
    fn visible<'t>(&mut self, field: &str, text: &'t str, span: &Range<usize>) -> Option<Cow<'t, str>> {
        if let Some(ch) = text.chars().find(|ch| ch.is_control() && !matches!(ch, '\n' | '\t')) {
            let message = format!("`{field}` holds the control character U+{:04X}", u32::from(ch));
            self.judge.report(Code::ControlCharacter, span, message);
            return None;
        }
        // At the start of a file this character is a byte order mark; at the start of a value it hides.
        let bare = text.trim_start_matches('\u{feff}');
        if bare.len() < text.len() {
            self.judge.report(Code::HiddenText, span, format!("`{field}` starts with a hidden byte order mark"));
        }
        let mut text = Cow::Borrowed(bare);
        if !hidden::cannot_hide(text.as_bytes()) {
            let runs = hidden::find_hidden(&text);
            for run in &runs {
                self.judge.report(Code::HiddenText, span, hidden_message(field, run));
            }
            if !runs.is_empty() && self.profile() != Profile::Spec {
                text = Cow::Owned(hidden::without_hidden(&text).into_owned());
            }
        }
        if text.contains(['<', '>']) && self.profile() != Profile::Spec {
            let message = format!("`{field}` contains `<` or `>`");
            if self.judge.options.limits.block_angle_brackets {
                self.judge.report(Code::AngleBrackets, span, message);
            } else {
                self.judge.report_as(Code::AngleBrackets, Severity::Warning, span, message);
            }
            text = Cow::Owned(text.replace('<', "&lt;").replace('>', "&gt;"));
        }
        Some(text)
    }

    /// Hidden text in fields a model does not see: a warning for the whole frontmatter.
    fn hidden_elsewhere(&mut self, entries: &[(Node<'_>, Node<'_>)]) {
        if hidden::cannot_hide(self.yaml.as_bytes()) {
            return;
        }
        let seen = |at: usize| {
            entries.iter().any(|(key, value)| {
                matches!(key.key_text(), "name" | "description") && value.span.contains(&at)
            })
        };
        for run in hidden::find_hidden(self.yaml) {
            if !seen(run.range.start) {
                self.judge.report(Code::HiddenTextElsewhere, &run.range, hidden_message("the frontmatter", &run));
            }
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
            self.judge.report(Code::FieldNotText, &value.span, format!("`{field}` is a list or a map"));
        }
        Some(self.yaml.get(value.span.clone()).unwrap_or_default().into())
    }

    fn compatibility(&mut self, value: &Node<'_>) {
        self.draft.compatibility = self.text_field("compatibility", value);
        let chars = value.text().map_or(0, |text| text.chars().count());
        if chars > COMPATIBILITY_CHARS {
            self.judge.report(Code::CompatibilityTooLong, &value.span, format!("`compatibility` has {chars} characters"));
        }
    }

    fn metadata(&mut self, value: &Node<'_>) {
        let Some(entries) = value.entries() else {
            if !value.is_null() {
                self.judge.report(Code::MetadataNotMap, &value.span, "`metadata` is not a map");
                self.draft.metadata.push(("value".into(), Value::from_node(value)));
            }
            return;
        };
        if let Some((key, nested)) = entries.iter().find(|(_, node)| node.text().is_none()) {
            self.judge.report(Code::MetadataNested, &nested.span, format!("`metadata.{}` is not a text", key.key_text()));
        }
        for (key, node) in entries {
            let slot = match key.key_text() {
                "version" => &mut self.draft.version,
                "author" => &mut self.draft.author,
                _ => continue,
            };
            if slot.is_none() && !node.is_null() {
                *slot = node.text().map(|text| text.trim().into());
            }
        }
        self.draft.metadata =
            entries.iter().map(|(key, node)| (key.key_text().into(), Value::from_node(node))).collect();
    }

    fn allowed_tools(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let pieces: Vec<&str> = match &value.kind {
            NodeKind::Scalar { .. } if value.is_null() => Vec::new(),
            NodeKind::Scalar { text, .. } => vec![text],
            NodeKind::List(items) => {
                let texts: Vec<&str> = items.iter().filter_map(Node::text).collect();
                if texts.len() < items.len() {
                    self.judge.report(Code::ControlUnreadable, &span, "`allowed-tools` holds something that is no text");
                    return;
                }
                texts
            }
            NodeKind::Map(_) => {
                self.judge.report(Code::ControlUnreadable, &span, "`allowed-tools` is a map, not a list");
                return;
            }
        };
        let mut tools: Vec<Box<str>> = Vec::new();
        for piece in pieces {
            match split_tools(piece) {
                Ok(split) => tools.extend(split),
                Err(_) => {
                    self.judge.report(Code::AllowedToolsUnbalanced, &span, "a parenthesis in `allowed-tools` is not closed");
                    return;
                }
            }
        }
        if tools.is_empty() {
            self.judge.report(Code::AllowedToolsEmpty, &span, "`allowed-tools` lists nothing, so the skill may use no tool");
        }
        self.draft.controls.allowed_tools = Some(tools.into());
    }

    fn switch(&mut self, field: &str, value: &Node<'_>) -> Option<bool> {
        let on = match value.text().map(str::trim) {
            Some("true" | "True" | "TRUE" | "yes" | "Yes" | "on" | "On") => Some(true),
            Some("false" | "False" | "FALSE" | "no" | "No" | "off" | "Off") => Some(false),
            _ => None,
        };
        if on.is_none() {
            self.judge.report(Code::SwitchNotBoolean, &value.span, format!("`{field}` is neither `true` nor `false`"));
        }
        on
    }

    fn run_mode(&mut self, value: &Node<'_>) {
        match value.text().map(str::trim) {
            Some("inline") => self.draft.controls.run_mode = RunMode::Inline,
            Some("subagent") => self.draft.controls.run_mode = RunMode::Subagent,
            _ => self.judge.report(Code::RunModeUnknown, &value.span, "`run-mode` is neither `inline` nor `subagent`"),
        }
    }

    fn paths(&mut self, value: &Node<'_>) -> Vec<Box<str>> {
        let texts: Vec<&str> = match &value.kind {
            NodeKind::Scalar { .. } if value.is_null() => Vec::new(),
            NodeKind::Scalar { text, .. } => text.split(',').collect(),
            NodeKind::List(items) => items.iter().filter_map(Node::text).collect(),
            NodeKind::Map(_) => {
                self.judge.report(Code::ControlUnreadable, &value.span, "`paths` is a map, not a list");
                Vec::new()
            }
        };
        texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).map(Into::into).collect()
    }

    fn unknown(&mut self, text: &str, key: &Node<'_>, value: &Node<'_>) {
        if text != "context" {
            match KNOWN_FIELDS.iter().find(|known| nearly(known, text)) {
                Some(known) => self.judge.report(
                    Code::FieldMisspelt,
                    &key.span,
                    format!("`{text}` has no effect; did you mean `{known}`?"),
                ),
                None => self.judge.report(Code::FieldUnknown, &key.span, format!("`{text}` is not a field Metier knows")),
            }
        }
        self.draft.unknown.push((text.into(), Value::from_node(value)));
    }

    fn finish(mut self) -> Option<Skill> {
        let spec_or_strict = self.profile() != Profile::Lenient;
        let start = 0..0;
        let reported = |judge: &Judge<'_>, prefix: &str| {
            judge.diagnostics.iter().any(|d| d.code.as_str().starts_with(prefix) || d.severity == Severity::Error)
        };
        if self.name.is_none() {
            if !reported(self.judge, "name-") {
                self.judge.report(Code::NameMissing, &start, "the frontmatter has no `name`");
            }
            if !spec_or_strict {
                self.name = self.judge.options.directory.and_then(|directory| SkillName::new(directory).ok());
            }
        }
        if self.description.is_none() {
            if !reported(self.judge, "description-") {
                self.judge.report(Code::DescriptionMissing, &start, "the frontmatter has no `description`");
            }
            if !spec_or_strict {
                self.description = Some("".into());
            }
        }
        let Some(name) = self.name else {
            if !self.judge.diagnostics.iter().any(|d| d.severity == Severity::Error) {
                self.judge.report_as(Code::NameMissing, Severity::Error, &start, "there is neither a `name` nor a directory to take one from");
            }
            return None;
        };
        let draft = self.draft;
        Some(Skill {
            name,
            description: self.description?,
            controls: draft.controls,
            version: draft.version,
            author: draft.author,
            license: draft.license,
            compatibility: draft.compatibility,
            argument_hint: draft.argument_hint,
            model: draft.model,
            paths: draft.paths.into(),
            metadata: draft.metadata.into(),
            unknown: draft.unknown.into(),
        })
    }
}

/// The sentence about a run of hidden text, with what it spells where that is known.
pub(crate) fn hidden_message(place: &str, run: &HiddenRun) -> String {
    let kind = run.kind.as_str();
    match &run.decoded {
        Some(decoded) => {
            let shown: String = decoded.chars().take(120).collect();
            let shown = hidden::terminal_safe(&shown, hidden::Breaks::Escape);
            format!("{place} holds hidden {kind} that spell \"{shown}\"")
        }
        None => format!("{place} holds hidden {kind}"),
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

/// Equal but for case, hyphens and underscores, or one letter apart.
fn nearly(known: &str, text: &str) -> bool {
    let bare = |word: &str| -> Vec<u8> {
        word.bytes().filter(|b| !matches!(b, b'-' | b'_' | b' ')).map(|b| b.to_ascii_lowercase()).collect()
    };
    let (a, b) = (bare(known), bare(text));
    a == b || (a.len() >= 5 && one_edit(&a, &b))
}

fn one_edit(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    if short.len() == long.len() {
        short.get(same + 1..) == long.get(same + 1..)
            || (same + 1 < short.len()
                && short[same] == long[same + 1]
                && short[same + 1] == long[same]
                && short[same + 2..] == long[same + 2..])
    } else {
        short[same..] == long[same + 1..]
    }
}
