//! What the offline model says: English, or Chinese for a request in Chinese.
//!
//! Every sentence is about what was done or not done, with the skill and the script by name, and what
//! to do next. A result is the script's own output, never our words for it.
//!
//! tidy:allow-cjk

use std::fmt::Write as _;

use serde_json::Value;

use super::RankedSkill;
use super::fill::{Filled, Kind};
use super::reading::cut;
use super::things::is_chinese;
use crate::turn::{LoadedText, OfferedSkill, Past, View};

/// Characters of a script's output that an answer repeats.
const OUTPUT_CHARS: usize = 16_000;
/// Characters of a file that an answer repeats.
const FILE_CHARS: usize = 6000;
/// Characters of a description that an answer repeats.
const DESCRIPTION_CHARS: usize = 160;

/// How it ended, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// A script gave its result.
    Done,
    /// There was something to read.
    Read,
    /// Nothing came of it.
    GaveUp,
}

impl Ending {
    pub(super) fn worse(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The language of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    English,
    Chinese,
}

use Voice::{Chinese, English};

impl Voice {
    pub(super) fn of(request: &str) -> Self {
        if is_chinese(request) { Chinese } else { English }
    }

    pub(super) fn steps(self, names: &str) -> [String; 3] {
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

    pub(super) fn again(self, name: &str) -> String {
        match self {
            English => format!("Run the script of {name} again: the first attempt was interrupted"),
            Chinese => format!("再次运行 {name} 的脚本：第一次被中断"),
        }
    }

    pub(super) fn reason(self, name: &str, ranked: &RankedSkill) -> String {
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

    pub(super) fn nothing_fits(self, near: &[&OfferedSkill], close: bool) -> String {
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
            (English, false) => "\n\nThe nearest, though not near:\n",
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

    pub(super) fn not_loaded(self, past: &Past) -> String {
        let told = told(past);
        match self {
            English => format!("The skill could not be loaded, so nothing was done.\n\n{told}"),
            Chinese => format!("技能无法加载，因此什么都没有做。\n\n{told}"),
        }
    }

    pub(super) fn no_turn_left(self, names: &[&str]) -> String {
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

    pub(super) fn script_done(self, skill: &LoadedText, script: &str, past: &Past) -> String {
        let output = stream(past, "stdout").unwrap_or_else(|| past.text.trim().to_owned());
        let output = match (self, output.is_empty()) {
            (_, false) => cut(&output, OUTPUT_CHARS),
            (English, true) => "The script printed nothing.".to_owned(),
            (Chinese, true) => "脚本没有输出。".to_owned(),
        };
        let files = outputs(past);
        let files = match (self, files.is_empty()) {
            (_, true) => String::new(),
            (English, false) => format!("\n\nFiles it left: {}", files.join(", ")),
            (Chinese, false) => format!("\n\n生成的文件：{}", files.join(", ")),
        };
        let warned = stream(past, "stderr").filter(|text| !text.is_empty());
        let warned = warned.map(|text| cut(&text, 1000));
        let warned = match (self, warned) {
            (_, None) => String::new(),
            (English, Some(text)) => format!("\n\nIt also warned:\n{text}"),
            (Chinese, Some(text)) => format!("\n\n脚本的警告：\n{text}"),
        };
        let name = &skill.name;
        match self {
            English => format!(
                "{output}{files}{warned}\n\nThis is the output of `{script}` of the skill {name}. No \
                 language model was used."
            ),
            Chinese => format!(
                "{output}{files}{warned}\n\n以上是技能 {name} 的脚本 `{script}` 的输出，没有使用语言模型。"
            ),
        }
    }

    pub(super) fn script_failed(
        self,
        skill: &LoadedText,
        script: &str,
        args: &[String],
        past: &Past,
    ) -> String {
        let name = &skill.name;
        let code = past.data["exit_code"].as_i64();
        let timed_out = past.data["timed_out"] == Value::Bool(true);
        let ran = code.is_some_and(|code| code != 0) || timed_out;
        let said = stream(past, "stderr").filter(|text| !text.is_empty());
        let said = said.or_else(|| stream(past, "stdout").filter(|text| !text.is_empty()));
        let said = if ran { said.unwrap_or_else(|| told(past)) } else { told(past) };
        let said = cut(&said, 4000);
        let by_hand = format!("metier exec {name} {script} -- {}", shell_words(args));
        let how = match (self, timed_out, code.filter(|_| ran)) {
            (English, true, _) => "took too long and was stopped".to_owned(),
            (Chinese, true, _) => "运行超时，已被停止".to_owned(),
            (English, _, Some(code)) => format!("ended with exit code {code}"),
            (Chinese, _, Some(code)) => format!("以退出码 {code} 结束"),
            (English, _, None) => "was not run".to_owned(),
            (Chinese, _, None) => "没有运行".to_owned(),
        };
        let advice = match (self, ran) {
            (English, true) => {
                format!("Mend what it names and ask again, or run it yourself: `{by_hand}`")
            }
            (Chinese, true) => format!("请按提示修正后重试，或自行运行：`{by_hand}`"),
            (English, false) => format!(
                "If it should run, allow it when asked (or with `--yes`); `metier explain run_script \
                 {script} --skill {name}` says why it may not."
            ),
            (Chinese, false) => format!(
                "如果应当运行，请在询问时允许（或使用 `--yes`）；`metier explain run_script {script} \
                 --skill {name}` 说明原因。"
            ),
        };
        match self {
            English => format!(
                "There is no result: `{script}` of the skill {name} {how}.\n\n{said}\n\n{advice}"
            ),
            Chinese => {
                format!("没有结果：技能 {name} 的脚本 `{script}` {how}。\n\n{said}\n\n{advice}")
            }
        }
    }

    pub(super) fn missing(self, skill: &LoadedText, filled: &Filled) -> String {
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
                "this cannot be told from a request without a language model"
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

    pub(super) fn instructions(
        self,
        skill: &LoadedText,
        says: &str,
        resource: Option<&Past>,
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
            let file = past.action.as_ref().map(crate::action::Action::target).unwrap_or_default();
            text.push_str(&match (self, past.ok) {
                (English, true) => {
                    format!("\n\nFrom `{file}`:\n\n{}", cut(past.text.trim(), FILE_CHARS))
                }
                (Chinese, true) => {
                    format!("\n\n摘自 `{file}`：\n\n{}", cut(past.text.trim(), FILE_CHARS))
                }
                (English, false) => format!("\n\n`{file}` could not be read: {}", told(past)),
                (Chinese, false) => format!("\n\n无法读取 `{file}`：{}", told(past)),
            });
        }
        text
    }

    /// The answer, with a word on attempts that were cut off.
    pub(super) fn with_note(self, view: &View, text: String) -> String {
        let interrupted = |past: &Past| !past.ok && past.code.as_deref() == Some("interrupted");
        let cut_off = view.past.iter().filter(|past| interrupted(past)).count();
        match (self, cut_off) {
            (_, 0) => text,
            (English, 1) => format!("{text}\n\nNote: an earlier attempt was interrupted."),
            (English, more) => format!("{text}\n\nNote: {more} attempts were interrupted."),
            (Chinese, more) => format!("{text}\n\n注意：有 {more} 次尝试被中断。"),
        }
    }
}

/// What was told about a failure, with its code.
fn told(past: &Past) -> String {
    let text = past.text.trim();
    match &past.code {
        Some(code) if !text.contains(code.as_str()) => format!("{text} [{code}]"),
        _ => text.to_owned(),
    }
}

fn stream(past: &Past, name: &str) -> Option<String> {
    past.data[name].as_str().map(|text| text.trim_end().to_owned())
}

/// The files that a script left, by path.
fn outputs(past: &Past) -> Vec<String> {
    let list = past.data["outputs"].as_array().into_iter().flatten();
    list.filter_map(|file| file.as_str().or_else(|| file["path"].as_str()).map(str::to_owned))
        .collect()
}

/// Words as one types them.
fn shell_words(args: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=:@%+".contains(c);
    let quoted = |arg: &String| {
        if !arg.is_empty() && arg.chars().all(plain) {
            arg.clone()
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    args.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
