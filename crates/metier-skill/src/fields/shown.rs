//! The two fields a model sees before it loads a skill: `name` and `description`.
//!
//! Whatever could deceive a reader here is reported: hidden text, control characters, angle
//! brackets that pose as the program's own tags, a description that a comment cuts short.

use std::borrow::Cow;
use std::ops::Range;

use super::{Fields, first_flow};
use crate::codes::Code;
use crate::diagnostic::Severity;
use crate::hidden::{self, HiddenRun};
use crate::limits::{DESCRIPTION_SHOWN_CHARS, Profile};
use crate::name::{NameFault, SkillName, name_faults};
use crate::repair::{double_quoted, typographic};
use crate::source_map::{Characters, is_plain_prose};
use crate::text;
use crate::yaml::{Node, NodeKind, Style};

impl Fields<'_, '_, '_> {
    pub(super) fn name(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let Some(text) = value.text() else {
            self.collector.report(Code::NameNotText, &span, "`name` is a list or a map");
            return;
        };
        let null = value.is_null() && (self.profile() != Profile::Spec || text.is_empty());
        if null || text.trim().is_empty() {
            self.collector.report(Code::NameMissing, &span, "`name` is empty");
            return;
        }
        let text = self.straight_quotes(text, value);
        let Some(text) = self.visible("name", &text, &span) else { return };
        match SkillName::new(&text) {
            Ok(name) => {
                self.name_faults(&name, &span);
                self.name = Some(name);
            }
            Err(error) => self.collector.report(Code::NameUnusable, &span, error.to_string()),
        }
    }

    pub(super) fn name_faults(&mut self, name: &SkillName, span: &Range<usize>) {
        let directory = self.collector.options.directory;
        for fault in name_faults(name.as_str(), directory, self.profile()) {
            let (code, message) = match fault {
                NameFault::TooLong => (
                    Code::NameTooLong,
                    format!("the name has {} characters", name.as_str().chars().count()),
                ),
                NameFault::Charset => (
                    Code::NameCharset,
                    format!(
                        "`{name}` has characters other than lower-case letters, digits and hyphens"
                    ),
                ),
                NameFault::Hyphens => {
                    (Code::NameHyphens, format!("`{name}` has a hyphen at an end or two in a row"))
                }
                NameFault::NotAscii => {
                    (Code::NameNotAscii, format!("`{name}` has letters outside a-z"))
                }
                NameFault::Directory => (
                    Code::NameDirectory,
                    format!(
                        "the skill is named `{name}`, its directory `{}`",
                        directory.unwrap_or_default()
                    ),
                ),
            };
            self.collector.report(code, span, message);
        }
    }

    pub(super) fn description(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let spec = self.profile() == Profile::Spec;
        let text: Cow<'_, str> = match &value.kind {
            NodeKind::Scalar { text, .. } => {
                let null = value.is_null() && (!spec || text.is_empty());
                if null || text.trim().is_empty() {
                    self.collector.report(
                        Code::DescriptionMissing,
                        &span,
                        "`description` is empty",
                    );
                    return;
                }
                self.comment_cut(value);
                self.straight_quotes(text, value)
            }
            _ if first_flow(self.yaml, value) == Some(span.clone())
                && !self.yaml[span.clone()].contains('\n') =>
            {
                let raw = self.yaml[span.clone()].to_owned();
                self.collector.report(
                    Code::YamlSpecialStart,
                    &span,
                    "brackets make this a list or a map; it was read as text",
                );
                self.collector.fix_last(Code::YamlSpecialStart, &span, &double_quoted(&raw));
                raw.into()
            }
            NodeKind::List(items) if items.iter().all(|item| item.text().is_some()) => {
                self.collector.report(Code::DescriptionNotText, &span, "`description` is a list");
                let joined: Vec<&str> = items.iter().filter_map(Node::text).collect();
                joined.join(", ").into()
            }
            _ => {
                self.collector.report(
                    Code::DescriptionNotText,
                    &span,
                    "`description` is a list or a map",
                );
                return;
            }
        };
        let chars =
            if text.len() <= DESCRIPTION_SHOWN_CHARS { text.len() } else { text.chars().count() };
        let limit = self.collector.options.limits.description_chars;
        if chars > limit {
            self.collector.report(
                Code::DescriptionOverLimit,
                &span,
                format!("the description has {chars} characters; the limit is {limit}"),
            );
        } else if chars > DESCRIPTION_SHOWN_CHARS {
            self.collector.report(
                Code::DescriptionTooLong,
                &span,
                format!(
                    "the description has {chars} characters; a model sees {DESCRIPTION_SHOWN_CHARS}"
                ),
            );
        }
        self.description = self.visible("description", &text, &span).map(|text| text.trim().into());
    }

    /// The text without typographic quotes around it, which are reported.
    pub(super) fn straight_quotes<'t>(&mut self, text: &'t str, value: &Node<'_>) -> Cow<'t, str> {
        if text.as_bytes().first().is_none_or(u8::is_ascii_graphic) {
            return Cow::Borrowed(text);
        }
        let plain = matches!(value.kind, NodeKind::Scalar { style: Style::Plain, .. });
        let Some(inner) = typographic(text.trim()).filter(|_| plain) else {
            return Cow::Borrowed(text);
        };
        self.collector.report(
            Code::YamlSmartQuotes,
            &value.span,
            "the value is in typographic quotes",
        );
        self.collector.fix_last(Code::YamlSmartQuotes, &value.span, &double_quoted(inner));
        if self.profile() == Profile::Spec { Cow::Borrowed(text) } else { Cow::Borrowed(inner) }
    }

    pub(super) fn comment_cut(&mut self, value: &Node<'_>) {
        if !matches!(value.kind, NodeKind::Scalar { style: Style::Plain, .. }) {
            return;
        }
        let rest = &self.yaml[value.span.end..];
        if rest.starts_with('\n') {
            return;
        }
        let rest = rest.split('\n').next().unwrap_or_default();
        if rest.trim_start().starts_with('#') {
            let span = value.span.end..value.span.end + rest.trim_end().len();
            self.collector.report(
                Code::YamlCommentCut,
                &span,
                "a model does not see this part of the description",
            );
        }
    }

    /// A text that a model will see, judged for control characters, hidden text and angle brackets.
    /// `None` when it cannot be used under any profile.
    pub(super) fn visible<'t>(
        &mut self,
        field: &str,
        text: &'t str,
        span: &Range<usize>,
    ) -> Option<Cow<'t, str>> {
        if self.is_plain_prose(text) {
            return Some(Cow::Borrowed(text));
        }
        if let Some(ch) = text.chars().find(|ch| {
            matches!(ch, '\u{2028}' | '\u{2029}') || (ch.is_control() && !matches!(ch, '\n' | '\t'))
        }) {
            let message =
                format!("`{field}` contains the control character U+{:04X}", u32::from(ch));
            self.collector.report(Code::ControlCharacter, span, message);
            return None;
        }
        // At the start of a file this character is a byte order mark; at the start of a value it hides.
        let bare = text.trim_start_matches('\u{feff}');
        if bare.len() < text.len() {
            self.collector.report(
                Code::HiddenText,
                span,
                format!("`{field}` starts with a hidden byte order mark"),
            );
        }
        let mut text = Cow::Borrowed(bare);
        if !hidden::cannot_hide(text.as_bytes()) {
            let runs = hidden::find_hidden(&text);
            for run in &runs {
                self.collector.report(Code::HiddenText, span, hidden_message(field, run));
            }
            if !runs.is_empty() && self.profile() != Profile::Spec {
                text = Cow::Owned(hidden::without_hidden(&text).into_owned());
            }
        }
        if text.contains(['<', '>']) && self.profile() != Profile::Spec {
            let message = format!("`{field}` contains `<` or `>`");
            let written = self.yaml.get(span.clone()).and_then(|raw| raw.find(['<', '>']));
            let span = &written.map_or(span.clone(), |at| span.start + at..span.start + at + 1);
            if self.collector.options.limits.block_angle_brackets {
                self.collector.report(Code::AngleBrackets, span, message);
            } else {
                self.collector.report_as(Code::AngleBrackets, Severity::Warning, span, message);
            }
            text = Cow::Owned(text.replace('<', "&lt;").replace('>', "&gt;"));
        }
        Some(text)
    }

    /// Whether nothing in a value has to be looked at more closely. What stands in the YAML as it is
    /// was looked at with all of it.
    fn is_plain_prose(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if self.characters == Characters::Ascii
            && self.yaml.as_bytes().as_ptr_range().contains(&bytes.as_ptr())
        {
            return memchr::memchr2(b'<', b'>', bytes).is_none();
        }
        is_plain_prose(bytes)
    }

    /// Hidden text in fields a model does not see: a warning for the whole frontmatter.
    pub(super) fn hidden_elsewhere(&mut self, entries: &[(Node<'_>, Node<'_>)]) {
        if self.characters == Characters::Ascii || hidden::cannot_hide(self.yaml.as_bytes()) {
            return;
        }
        let seen = |at: usize| {
            entries.iter().any(|(key, value)| {
                matches!(key.key_text(), "name" | "description") && value.span.contains(&at)
            })
        };
        for run in hidden::find_hidden(self.yaml) {
            if !seen(run.range.start) {
                self.collector.report(
                    Code::HiddenTextElsewhere,
                    &run.range,
                    hidden_message("the frontmatter", &run),
                );
            }
        }
    }
}

/// The sentence about a run of hidden text, with what it spells where that is known.
pub(crate) fn hidden_message(place: &str, run: &HiddenRun) -> String {
    let kind = run.kind.words();
    match &run.decoded {
        Some(decoded) => {
            let shown = text::short_line(decoded, 120);
            format!("{place} contains hidden {kind} that spell \"{shown}\"")
        }
        None => format!("{place} contains hidden {kind}"),
    }
}
