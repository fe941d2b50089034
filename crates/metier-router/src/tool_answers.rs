//! What the offline model says about a tool's result, and about what can be done at all.
//!
//! tidy:allow-cjk

use std::fmt::Write as _;

use metier_model::{Action, OfferedSkill, PastAction};
use serde_json::Value;

use crate::answer::Voice::{self, Chinese, English};
use crate::answer::failure_text;
use crate::reading::{cut, opening};
use crate::script::is_dry;
use crate::tool_requests::{ToolRequest, example};

/// Characters of a result that an answer repeats.
const RESULT_CHARS: usize = 16_000;
/// Skills that are listed; `metier list` shows all.
const MAX_LISTED: usize = 12;
/// Characters of a description beside its name.
const DESCRIPTION_CHARS: usize = 120;

impl Voice {
    /// What came of a call; `listed` is what is there where it found nothing.
    pub(crate) fn tool_result(
        self,
        wanted: &ToolRequest,
        past: &PastAction,
        listed: Option<&PastAction>,
    ) -> String {
        if let Some((_, name)) = wanted.missing(past).filter(|_| !is_dry(past)) {
            return self.no_such_file(wanted, name, listed);
        }
        let target = past.action.as_ref().map(Action::target).unwrap_or_default();
        if is_dry(past) || !past.ok {
            return match self {
                English => format!("There is no result: `{target}`. {}", failure_text(past)),
                Chinese => format!("没有结果：`{target}`。{}", failure_text(past)),
            };
        }
        let text = past.text.trim_end();
        match wanted {
            ToolRequest::Opening(file) => self.opening_of(file, text, Because::Summary),
            ToolRequest::Project => self.opening_of("README.md", text, Because::Project),
            ToolRequest::OfKind { path, extension } => self.of_kind(path, extension, past),
            ToolRequest::HowMany { path, extension } => {
                self.how_many(path, extension.as_deref(), past)
            }
            ToolRequest::Count { text: sought, .. } => self.count(sought, text, past),
            _ if text.trim().is_empty() || past.data["matches"] == 0 => match self {
                English => "Nothing was found.".to_owned(),
                Chinese => "什么都没有找到。".to_owned(),
            },
            _ => cut(text, RESULT_CHARS),
        }
    }

    fn no_such_file(self, wanted: &ToolRequest, name: &str, listed: Option<&PastAction>) -> String {
        let path = wanted.path().unwrap_or(name);
        let names = listed.into_iter().flat_map(names_in);
        let near = metier_skill::nearest(name, names).map(|near| {
            path.rsplit_once('/').map_or(near.to_owned(), |(folder, _)| format!("{folder}/{near}"))
        });
        match (self, near) {
            (English, None) => format!("There is no file {path} here."),
            (Chinese, None) => format!("这里没有 {path} 这个文件。"),
            (English, Some(near)) => {
                format!("There is no file {path} here. Did you mean {near}?")
            }
            (Chinese, Some(near)) => format!("这里没有 {path} 这个文件。是不是 {near}？"),
        }
    }

    /// A folder in a sentence.
    fn folder(self, path: &str) -> String {
        match (self, path) {
            (English, ".") => "this folder".to_owned(),
            (Chinese, ".") => "这个文件夹".to_owned(),
            (English, path) => path.to_owned(),
            // A blank between letters of two scripts.
            (Chinese, path) => format!("{path} "),
        }
    }

    fn how_many(self, path: &str, extension: Option<&str>, listed: &PastAction) -> String {
        let count = match extension {
            Some(extension) => names_of_kind(listed, &[extension]).count(),
            None => entries_in(listed).filter(|entry| entry["kind"] == "file").count(),
        };
        let is_part = listed.data["truncated"] == true;
        let folder = self.folder(path);
        let kind = extension.map(|extension| format!(" .{extension} ")).unwrap_or_default();
        match self {
            English => {
                let (verb, files) = if count == 1 { ("is", "file") } else { ("are", "files") };
                let least = if is_part { "at least " } else { "" };
                format!(
                    "There {verb} {least}{count}{} {files} in {folder} itself; folders below it were not \
                     counted.",
                    kind.trim_end()
                )
            }
            Chinese => {
                let least = if is_part { "至少" } else { "" };
                format!("{folder}中{least}有 {count} 个{kind}文件（不含子文件夹）。")
            }
        }
    }

    fn of_kind(self, path: &str, extension: &str, listed: &PastAction) -> String {
        let names = names_of_kind(listed, &[extension]).collect::<Vec<_>>().join("\n");
        let folder = self.folder(path);
        match (self, names.is_empty()) {
            (English, true) => format!("There are no .{extension} files in {folder} itself."),
            (Chinese, true) => format!("{folder}中没有 .{extension} 文件（不含子文件夹）。"),
            (English, false) => {
                format!(
                    "{names}\n\nThese are in {folder} itself; folders below it were not searched."
                )
            }
            (Chinese, false) if path == "." => {
                format!("{names}\n\n以上位于{folder}，不含子文件夹。")
            }
            (Chinese, false) => format!("{names}\n\n以上位于 {path}，不含子文件夹。"),
        }
    }

    fn count(self, sought: &str, text: &str, past: &PastAction) -> String {
        let lines = past.data["matches"].as_u64().unwrap_or(0);
        let text = cut(text, RESULT_CHARS);
        match (self, lines) {
            (English, 0) => format!("No line holds {sought}."),
            (Chinese, 0) => format!("没有包含 {sought} 的行。"),
            (English, 1) => format!("1 line holds {sought}:\n\n{text}"),
            (English, lines) => format!("{lines} lines hold {sought}:\n\n{text}"),
            (Chinese, lines) => format!("有 {lines} 行包含 {sought}：\n\n{text}"),
        }
    }

    /// What a skill is for, and how it is asked for.
    pub(crate) fn about_skill(self, skill: &OfferedSkill) -> String {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = &skill.name;
        match self {
            English => format!("{name}: {description}\n\n`metier read {name}` shows all of it."),
            Chinese => format!("{name}：{description}\n\n`metier read {name}` 显示全文。"),
        }
    }

    fn opening_of(self, file: &str, text: &str, because: Because) -> String {
        let opening = opening(text);
        let note = match (self, because) {
            (English, Because::Summary) => format!(
                "This is how {file} begins. A summary of all of it needs a language model, and none is configured."
            ),
            (Chinese, Because::Summary) => {
                format!("以上是 {file} 的开头。完整的总结需要语言模型，而目前没有配置。")
            }
            (English, Because::Project) => format!("This is how {file} begins."),
            (Chinese, Because::Project) => format!("以上是 {file} 的开头。"),
        };
        format!("{opening}\n\n{note}")
    }

    /// The skills that can be asked for, with an example each.
    pub(crate) fn help(self, offered: &[OfferedSkill]) -> String {
        let mut text = match self {
            English => "Without a language model, these skills can be asked for:\n".to_owned(),
            Chinese => "没有语言模型时，可以使用这些技能：\n".to_owned(),
        };
        for skill in offered.iter().take(MAX_LISTED) {
            let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let first = description.split(". ").next().unwrap_or_default();
            let first = first.split('。').next().unwrap_or_default().trim_end_matches('.');
            let first = cut(first, DESCRIPTION_CHARS).replace('\n', "");
            let _ = writeln!(text, "- {}: {first}", skill.name);
            let said = example(&skill.description).map_or_else(
                || format!("metier run \"/{} …\"", skill.name),
                |words| format!("metier run \"{words}\""),
            );
            let _ = match self {
                English => writeln!(text, "    for example: `{said}`"),
                Chinese => writeln!(text, "    例如：`{said}`"),
            };
        }
        if offered.len() > MAX_LISTED {
            let more = offered.len() - MAX_LISTED;
            let _ = match self {
                English => writeln!(text, "and {more} more (`metier list`)"),
                Chinese => writeln!(text, "还有 {more} 个（`metier list`）"),
            };
        }
        text.push_str(match self {
            English => {
                "\nFiles are read without a skill: `list the files in src`, `read notes.txt`, `grep TODO src/`, \
                 `what is this project about`. For anything else, configure a language model: `metier run --help`."
            }
            Chinese => {
                "\n读取文件不需要技能：`列出 src 目录`、`读取 notes.txt`、`搜索 TODO`、`这个项目是做什么的`。\
                 其他请求需要配置语言模型：`metier run --help`。"
            }
        });
        text
    }
}

/// The entries of a listing.
fn entries_in(listed: &PastAction) -> impl Iterator<Item = &Value> {
    listed.data["entries"].as_array().into_iter().flatten()
}

/// The names in a listing.
fn names_in(listed: &PastAction) -> impl Iterator<Item = &str> {
    entries_in(listed).filter_map(|entry| entry["name"].as_str())
}

/// The files in a listing with one of these extensions.
pub(crate) fn names_of_kind<'l>(
    listed: &'l PastAction,
    kinds: &[&str],
) -> impl Iterator<Item = &'l str> {
    names_in(listed).filter(move |name| {
        crate::entities::extension(name)
            .is_some_and(|extension| kinds.iter().any(|kind| extension.eq_ignore_ascii_case(kind)))
    })
}

/// Why the beginning of a file is shown.
#[derive(Clone, Copy)]
enum Because {
    Summary,
    Project,
}
