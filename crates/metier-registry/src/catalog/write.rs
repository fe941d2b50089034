//! The six formats: how the parts of a catalog are written.
//!
//! A name or a description cannot forge an entry: what could end its field (a line break, an angle
//! bracket, a quote, as the format has it) is folded or escaped. Decides nothing about who is shown.

use std::borrow::Cow;
use std::fmt::Write as _;

use metier_skill::Source;
use metier_skill::text::{escape_line, fold_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::visible::Visible;
use super::{CatalogReader, SkillContents};
use crate::index::Entry;

/// How a catalog is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CatalogFormat {
    /// One line per skill: `- name=… | source=… | description=…`.
    #[default]
    Lines,
    /// An `<available_skills>` element.
    Xml,
    /// A Markdown list for the description of the skill tool.
    Tool,
    /// For a model that reads files itself: each skill with its path and the names of its files.
    Awareness,
    /// For a model without tools: each skill with the beginning of its body, where loading it needs no approval.
    #[schemars(extend("x-metier-user-only" = true))]
    Direct,
    /// A JSON document.
    Json,
}

const HEADING: &str = "## Available Skills\n\n";

impl CatalogFormat {
    /// Whether an entry shows more than metadata, so that writing one costs a look at the disk.
    pub(super) const fn needs_contents(self) -> bool {
        matches!(self, Self::Awareness | Self::Direct)
    }

    /// What stands before everything.
    pub(super) fn opening(self) -> String {
        match self {
            Self::Lines => String::new(),
            Self::Xml => "<available_skills>\n".to_owned(),
            Self::Tool => format!(
                "{HEADING}Use the `skill` tool to load detailed instructions for any skill.\n\n"
            ),
            Self::Awareness => format!(
                "{HEADING}The following skills are available. Use Bash to read SKILL.md for detailed \
                 instructions.\n\n"
            ),
            Self::Direct => HEADING.to_owned(),
            Self::Json => "{".to_owned(),
        }
    }

    /// The list of names, when not every description fits.
    pub(super) fn names(self, names: &[&str], reader: CatalogReader) -> String {
        if self == Self::Json {
            return format!("\"names\":{},", json!(names));
        }
        let mut list = String::with_capacity(names.len() * 16);
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                list.push_str(", ");
            }
            list.push_str(&plain_name(name));
        }
        if self == Self::Xml {
            return format!("<names>{}</names>\n", escaped(&list));
        }
        if self == Self::Direct || reader == CatalogReader::OtherProgram {
            return format!("All skills by name: {list}\n");
        }
        format!("All skills by name (`search_skills` says what each is for): {list}\n")
    }

    /// How many there are, when not even the names fit.
    pub(super) fn number(self, skills: usize, reader: CatalogReader) -> String {
        let is_ours = reader == CatalogReader::OwnLoop;
        match self {
            Self::Json => format!("\"total\":{skills},"),
            Self::Xml if is_ours => {
                format!("<total>{skills}; search_skills finds the rest</total>\n")
            }
            Self::Xml => format!("<total>{skills}; only some are listed</total>\n"),
            _ if is_ours => {
                format!("There are {skills} skills; `search_skills` finds those not listed here.\n")
            }
            _ => format!("There are {skills} skills; only some are listed here.\n"),
        }
    }

    /// What stands before the first entry; `after_names` when names stand before it.
    pub(super) const fn entries(self, after_names: bool) -> &'static str {
        match self {
            Self::Json => "\"skills\":[",
            Self::Lines if after_names => "Skills for this request:\n",
            Self::Tool | Self::Awareness | Self::Direct if after_names => "\n",
            _ => "",
        }
    }

    /// One entry; `first` when none stands before it.
    pub(super) fn entry(
        self,
        skill: &Visible,
        contents: &dyn SkillContents,
        first: bool,
    ) -> String {
        let entry = &skill.entry;
        let (name, source) = (entry.name().as_str(), entry.source);
        let description = skill.description();
        match self {
            Self::Lines => {
                let name = plain_name(name);
                format!(
                    "- name={name} | source={source} | description={}\n",
                    fold_line(description)
                )
            }
            Self::Xml => format!(
                "<skill>\n<name>{}</name>\n<description>{}</description>\n<source>{source}\
                 </source>\n<location>{}</location>\n</skill>\n",
                escaped(name),
                escaped(&fold_line(description)),
                escaped(&location(skill)),
            ),
            Self::Tool => format!("- **{}**: {}\n", plain_name(name), fold_line(description)),
            Self::Awareness => {
                let mut text = format!(
                    "- **{}** ({source})\n  Description: {}\n  Path: {}\n",
                    plain_name(name),
                    fold_line(description),
                    escape_line(&place(entry, contents)),
                );
                let files = contents.files(entry);
                if !files.is_empty() {
                    let files: Vec<String> =
                        files.iter().map(|file| escape_line(file).into_owned()).collect();
                    let _ = writeln!(text, "  Files: {}", files.join(", "));
                }
                text.push('\n');
                text
            }
            Self::Direct => {
                let mut text = format!(
                    "### Skill: {}\n**Description:** {}\n\n",
                    plain_name(name),
                    fold_line(description)
                );
                // Quoted line by line, so that a body cannot open a heading of its own.
                for line in contents.opening(entry).unwrap_or_default().lines() {
                    text.push_str("> ");
                    text.push_str(line);
                    text.push('\n');
                }
                text.push('\n');
                text
            }
            Self::Json => {
                let comma = if first { "" } else { "," };
                let (name, description) = (json!(name), json!(description));
                format!(
                    "{comma}{{\"name\":{name},\"source\":\"{source}\",\"description\":{description}}}"
                )
            }
        }
    }

    /// What stands after everything: the names that apply now and have no room for more, and the end.
    pub(super) fn closing(self, also: &[&str]) -> String {
        let names = || also.iter().map(|name| plain_name(name)).collect::<Vec<_>>().join(", ");
        match self {
            Self::Json if also.is_empty() => "]}
"
            .to_owned(),
            Self::Json => format!(
                "],\"also\":{}}}
",
                json!(also)
            ),
            Self::Xml if also.is_empty() => "</available_skills>
"
            .to_owned(),
            Self::Xml => format!(
                "<also>{}</also>
</available_skills>
",
                escaped(&names())
            ),
            _ if also.is_empty() => String::new(),
            _ => format!(
                "Also for the files at hand, by name: {}
",
                names()
            ),
        }
    }
}

/// Where a model that reads files itself finds the skill.
fn place(entry: &Entry, contents: &dyn SkillContents) -> String {
    if entry.source == Source::Builtin {
        return format!("(built in; `metier read {}` prints it)", entry.name().as_str());
    }
    format!("{}/", contents.shown_path(entry).trim_end_matches('/'))
}

fn location(skill: &Visible) -> String {
    let entry = &skill.entry;
    if entry.memory.is_some() {
        return entry.path.to_string_lossy().into_owned();
    }
    entry.file().to_string_lossy().into_owned()
}

/// A name that stands in a list: quoted when it holds what could end it.
fn plain_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
    if name.chars().all(plain) { Cow::Borrowed(name) } else { Cow::Owned(json!(name).to_string()) }
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}
