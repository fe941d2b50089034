//! What the offline model says about a tool's result, and about what can be done at all.
//!
//! tidy:allow-cjk

use std::fmt::Write as _;

use metier_model::{Action, OfferedSkill, PastAction};

use crate::answer::Voice::{self, Chinese, English};
use crate::answer::failure_text;
use crate::reading::cut;
use crate::script::is_dry;
use crate::tool_requests::{ToolRequest, example, opening};

/// Characters of a result that an answer repeats.
const RESULT_CHARS: usize = 16_000;
/// Skills that are listed; `metier list` shows all.
const MAX_LISTED: usize = 12;
/// Characters of a description beside its name.
const DESCRIPTION_CHARS: usize = 120;

impl Voice {
    pub(crate) fn tool_result(self, wanted: &ToolRequest, past: &PastAction) -> String {
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
            _ if text.trim().is_empty() => match self {
                English => "Nothing was found.".to_owned(),
                Chinese => "什么都没有找到。".to_owned(),
            },
            _ => cut(text, RESULT_CHARS),
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

/// Why the beginning of a file is shown.
#[derive(Clone, Copy)]
enum Because {
    Summary,
    Project,
}
