//! What the offline model says: English, or Chinese for a request in Chinese.
//!
//! Every sentence is about what was done or not done, with the skill and the script by name, and what
//! to do next. A result is the script's own output, never our words for it.
//!
//! tidy:allow-cjk

use std::fmt::Write as _;

use crate::entities::is_in_chinese;
use crate::fill::{Filled, Kind};
use crate::reading::cut;
use crate::script::{is_dry, lacks_trust};
use metier_model::{LoadedText, OfferedSkill, PastAction, Turn};
use metier_registry::search::Hit;
use metier_skill::FailureCode;

/// Characters of a file that an answer repeats.
const FILE_CHARS: usize = 6000;
/// Characters of a description that an answer repeats.
const DESCRIPTION_CHARS: usize = 160;

/// How it ended, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// A script gave its result.
    Done,
    /// There was something to read.
    Read,
    /// Nothing came of it.
    GaveUp,
}

impl Ending {
    pub(crate) fn worse(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The language of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    English,
    Chinese,
}

use Voice::{Chinese, English};

impl Voice {
    pub(crate) fn of(request: &str) -> Self {
        if is_in_chinese(request) { Chinese } else { English }
    }

    pub(crate) fn steps(self, names: &str) -> [String; 3] {
        match self {
            English => [
                format!("Load the skill {names}"),
                "Run its script, or read what it says".to_owned(),
                "Answer".to_owned(),
            ],
            Chinese => {
                [format!("加载技能 {names}"), "运行脚本或阅读说明".to_owned(), "回答".to_owned()]
            }
        }
    }

    pub(crate) fn again(self, name: &str) -> String {
        match self {
            English => format!("Run the script of {name} again: the first attempt was interrupted"),
            Chinese => format!("再次运行 {name} 的脚本：第一次被中断"),
        }
    }

    pub(crate) fn reason(self, name: &str, ranked: &Hit) -> String {
        let words = ranked.matched.join(", ");
        match (self, ranked.called) {
            (English, true) => format!("The request calls {name} by its name."),
            (Chinese, true) => format!("请求中点名要求 {name}。"),
            (English, false) => format!(
                "The description of {name} shares these words with the request: {words} (confidence \
                 {:.2}). Chosen by counting words, not by a language model.",
                ranked.confidence
            ),
            (Chinese, false) => format!(
                "{name} 的描述与请求有共同的词：{words}（置信度 {:.2}）。按词语匹配选出，没有使用语言模型。",
                ranked.confidence
            ),
        }
    }

    pub(crate) fn nothing_fits(self, near: &[&OfferedSkill], close: bool) -> String {
        let mut text = match self {
            English => {
                "No installed skill fits this request for certain, and no language model is \
                        configured, so nothing was done."
                    .to_owned()
            }
            Chinese => {
                "没有哪个已安装的技能确定适合这个请求，也没有配置语言模型，因此什么都没有做。"
                    .to_owned()
            }
        };
        text.push_str(match (self, close) {
            _ if near.is_empty() => "\n",
            (English, true) => "\n\nThe nearest:\n",
            (English, false) => "\n\nThe closest, though none is close:\n",
            (Chinese, _) => "\n\n最接近的技能：\n",
        });
        for skill in near {
            let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let description = cut(&description, DESCRIPTION_CHARS).replace('\n', "");
            let _ = writeln!(text, "- {}: {description}", skill.name);
        }
        text.push_str(match self {
            English => {
                "\nWhat you can do:\n\
                 - name the skill you want: `metier run \"/NAME …\"`; `metier list` shows all of them\n\
                 - say the task in other words, with the file it is about\n\
                 - configure a language model: set `model.provider` and `model.name` (or pass `--model \
                 provider:name`); `metier models test` tries it"
            }
            Chinese => {
                "\n可以这样做：\n\
                 - 点名技能：`metier run \"/NAME …\"`；`metier list` 列出全部技能\n\
                 - 换一种说法，并写出相关的文件\n\
                 - 配置语言模型：设置 `model.provider` 和 `model.name`（或使用 `--model provider:name`），\
                 然后用 `metier models test` 测试"
            }
        });
        text
    }

    pub(crate) fn not_loaded(self, past: &PastAction) -> String {
        let mut reason = failure_text(past);
        if lacks_trust(past) {
            reason = format!("{reason}\n\n{}", self.trust());
        }
        match self {
            English => format!("The skill could not be loaded, so nothing was done.\n\n{reason}"),
            Chinese => format!("技能无法加载，因此什么都没有做。\n\n{reason}"),
        }
    }

    pub(crate) fn no_turn_left(self, names: &[&str]) -> String {
        let names = names.join(", ");
        match self {
            English => format!(
                "The skill {names} fits this request, but no turn is left to follow it, so there is no \
                 result. Give the run more turns (`--max-turns`)."
            ),
            Chinese => format!(
                "技能 {names} 适合这个请求，但已没有剩余的轮次，因此没有结果。请增加轮次（`--max-turns`）。"
            ),
        }
    }

    pub(crate) fn missing(self, skill: &LoadedText, filled: &Filled) -> String {
        let name = &skill.name;
        let mut text = match self {
            English => format!(
                "The skill {name} was loaded, but its script `{}` was not run: the request does not \
                 say everything that it needs.\n",
                filled.script
            ),
            Chinese => format!(
                "已加载技能 {name}，但没有运行脚本 `{}`：请求中缺少它需要的内容。\n",
                filled.script
            ),
        };
        for missing in &filled.missing {
            let how = self.how_to_say(missing.kind);
            let _ = writeln!(text, "- {}: {how}", missing.placeholder);
        }
        text.push_str(match self {
            English => "\nAsk again with that, or run the script yourself with `metier exec`.",
            Chinese => "\n请补充后重试，或用 `metier exec` 自行运行脚本。",
        });
        text
    }

    const fn how_to_say(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (English, Kind::File) => {
                "name a file with its extension, such as `data.csv`, or pass `--file`"
            }
            (English, Kind::Folder) => "name a folder with a slash, such as `src/`",
            (English, Kind::Group) => "say by which column, such as `by region`",
            (English, Kind::Measure) => "say of which column, such as `sum the units`",
            (English, Kind::Number) => "give a number",
            (English, Kind::Address) => "give an address that begins with `https://`",
            (English, Kind::Text) => "give the words in quotes",
            (English, Kind::Unknown) => {
                "this cannot be determined from a request without a language model"
            }
            (Chinese, Kind::File) => "写出带扩展名的文件，例如 `data.csv`，或使用 `--file`",
            (Chinese, Kind::Folder) => "写出带斜杠的文件夹，例如 `src/`",
            (Chinese, Kind::Group) => "说明按哪一列，例如 `按 region 汇总`",
            (Chinese, Kind::Measure) => "说明哪一列，例如 `units 的总和`",
            (Chinese, Kind::Number) => "给出一个数字",
            (Chinese, Kind::Address) => "给出以 `https://` 开头的地址",
            (Chinese, Kind::Text) => "把文字放在引号中",
            (Chinese, Kind::Unknown) => "没有语言模型，无法从请求中得知",
        }
    }

    pub(crate) fn instructions(
        self,
        skill: &LoadedText,
        says: &str,
        resource: Option<&PastAction>,
    ) -> String {
        let name = &skill.name;
        let mut text = match self {
            English => format!(
                "The skill {name} fits this request, but it gives instructions, and no language model is \
                 configured to carry them out. This is what the skill says:\n\n{says}"
            ),
            Chinese => format!(
                "技能 {name} 适合这个请求，但它提供的是操作说明，而没有配置语言模型来执行。以下是技能的说明：\
                 \n\n{says}"
            ),
        };
        if let Some(past) = resource {
            let file = past.action.as_ref().map(metier_model::Action::target).unwrap_or_default();
            text.push_str(&match (self, past.ok) {
                (English, _) if is_dry(past) => {
                    format!("\n\n`{file}` was not read. {}", failure_text(past))
                }
                (Chinese, _) if is_dry(past) => {
                    format!("\n\n没有读取 `{file}`。{}", failure_text(past))
                }
                (English, true) => {
                    format!("\n\nFrom `{file}`:\n\n{}", cut(past.text.trim(), FILE_CHARS))
                }
                (Chinese, true) => {
                    format!("\n\n摘自 `{file}`：\n\n{}", cut(past.text.trim(), FILE_CHARS))
                }
                (English, false) => {
                    format!("\n\n`{file}` could not be read: {}", failure_text(past))
                }
                (Chinese, false) => format!("\n\n无法读取 `{file}`：{}", failure_text(past)),
            });
        }
        text
    }

    /// The answer, with a word on attempts that were cut off.
    pub(crate) fn with_note(self, turn: &Turn, text: String) -> String {
        let interrupted =
            |past: &PastAction| !past.ok && past.code == Some(FailureCode::Interrupted);
        let cut_off = turn.past().filter(|past| interrupted(past)).count();
        match (self, cut_off) {
            (_, 0) => text,
            (English, 1) => format!("{text}\n\nNote: an earlier attempt was interrupted."),
            (English, more) => format!("{text}\n\nNote: {more} attempts were interrupted."),
            (Chinese, more) => format!("{text}\n\n注意：有 {more} 次尝试被中断。"),
        }
    }
}

/// The text of a failure, with its code. Of a denial it is the policy's reason: what a model is shown
/// says what to do next, and a person wants to know why.
pub(crate) fn failure_text(past: &PastAction) -> String {
    let denied = past.data["reason"].as_str().map(|reason| format!("Not allowed: {reason}"));
    let text = denied.as_deref().unwrap_or_else(|| past.text.trim());
    // `Not allowed` says `NotAllowed`.
    let words = text.replace(' ', "").to_lowercase();
    match &past.code {
        Some(code) if !words.contains(&code.as_str().to_lowercase()) => format!("{text} [{code}]"),
        _ => text.to_owned(),
    }
}
