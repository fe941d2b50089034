//! What the offline model says about a script: its result, or why there is none and what can help.
//!
//! Whether something was done follows from the code and the data of the outcome, never guessed.
//!
//! tidy:allow-cjk

use serde_json::Value;

use crate::answer::Voice::{self, Chinese, English};
use crate::answer::failure_text;
use crate::reading::cut;
use metier_model::{LoadedText, PastAction};
use metier_skill::FailureCode;

/// Characters of a script's output that an answer repeats.
const OUTPUT_CHARS: usize = 16_000;

/// Why there is no result.
#[derive(Clone, Copy)]
enum Why {
    /// It ran and ended badly.
    Ended(i64),
    TimedOut,
    /// It was begun and cut off.
    CutOff,
    /// The folder of the skill is not trusted.
    Untrusted,
    /// A rule or the machine forbids it.
    Forbidden,
    /// The approval was refused, or could not be asked for.
    Declined,
    Otherwise,
}

impl Why {
    fn of(past: &PastAction) -> Self {
        if past.data["timed_out"] == Value::Bool(true) {
            return Self::TimedOut;
        }
        if let Some(code) = past.data["exit_code"].as_i64().filter(|code| *code != 0) {
            return Self::Ended(code);
        }
        match past.code {
            Some(FailureCode::Cancelled | FailureCode::Interrupted) => Self::CutOff,
            Some(FailureCode::NotAllowed) if lacks_trust(past) => Self::Untrusted,
            Some(FailureCode::NotAllowed) => Self::Forbidden,
            Some(FailureCode::Rejected | FailureCode::NeedsApproval) => Self::Declined,
            _ => Self::Otherwise,
        }
    }
}

impl Voice {
    pub(crate) fn script_done(self, skill: &LoadedText, script: &str, past: &PastAction) -> String {
        let output = stream(past, "stdout").unwrap_or_else(|| past.text.trim().to_owned());
        let output = match (self, output.is_empty()) {
            (_, false) => cut(&output, OUTPUT_CHARS),
            (English, true) => "The script printed nothing.".to_owned(),
            (Chinese, true) => "脚本没有输出。".to_owned(),
        };
        let files = outputs(past);
        let files = match (self, files.is_empty()) {
            (_, true) => String::new(),
            (English, false) => format!("\n\nFiles it created: {}", files.join(", ")),
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

    /// What the result below does not do, and which file was taken for it.
    pub(crate) fn notes(self, unmet: &[String], table: Option<&str>) -> String {
        let quote = |part: &String| match self {
            English => format!("\"{part}\""),
            Chinese => format!("“{part}”"),
        };
        let parts = unmet.iter().map(quote).collect::<Vec<_>>();
        let mut notes = match (self, parts.is_empty()) {
            (_, true) => String::new(),
            (English, false) => {
                format!("Not done: {}. What follows is without it.\n\n", parts.join(", "))
            }
            (Chinese, false) => {
                format!("没有做到：{}。以下结果不包含这一要求。\n\n", parts.join("、"))
            }
        };
        match (self, table) {
            (_, None) => {}
            (English, Some(table)) => {
                notes.push_str(&format!("{table} was taken, the only table in this folder.\n\n"));
            }
            (Chinese, Some(table)) => {
                notes.push_str(&format!("使用了 {table}，它是这个文件夹里唯一的表格。\n\n"));
            }
        }
        notes
    }

    /// Nothing was done, because nothing should be.
    pub(crate) fn script_dry(self, skill: &LoadedText, script: &str, args: &[String]) -> String {
        let (name, command) = (&skill.name, format!("{script} {}", shell_words(args)));
        let command = command.trim_end();
        match self {
            English => format!(
                "Nothing was done, because this is a dry run: `{command}` of the skill {name} was not \
                 run, so there is no result. Ask again without `--dry-run` to run it."
            ),
            Chinese => format!(
                "什么都没有做，因为这是试运行：没有运行技能 {name} 的 `{command}`，所以没有结果。\
                 去掉 `--dry-run` 再次请求即可运行。"
            ),
        }
    }

    pub(crate) fn script_failed(
        self,
        skill: &LoadedText,
        script: &str,
        args: &[String],
        past: &PastAction,
    ) -> String {
        let (name, why) = (&skill.name, Why::of(past));
        let said = stream(past, "stderr").filter(|text| !text.is_empty());
        let said = said.or_else(|| stream(past, "stdout").filter(|text| !text.is_empty()));
        let said = match why {
            Why::Ended(_) | Why::TimedOut => said.unwrap_or_else(|| failure_text(past)),
            _ => failure_text(past),
        };
        let said = cut(&said, 4000);
        let how = self.how_it_ended(why);
        let advice = self.advice(why, name, script, args);
        match self {
            English => format!(
                "There is no result: `{script}` of the skill {name} {how}.\n\n{said}\n\n{advice}"
            ),
            Chinese => {
                format!("没有结果：技能 {name} 的脚本 `{script}` {how}。\n\n{said}\n\n{advice}")
            }
        }
    }

    fn how_it_ended(self, why: Why) -> String {
        let words = match (self, why) {
            (English, Why::Ended(code)) => return format!("ended with exit code {code}"),
            (Chinese, Why::Ended(code)) => return format!("以退出码 {code} 结束"),
            (English, Why::TimedOut) => "took too long and was stopped",
            (Chinese, Why::TimedOut) => "运行超时，已被停止",
            (English, Why::CutOff) => "was interrupted, and may have done a part of its work",
            (Chinese, Why::CutOff) => "被中断，可能已完成一部分",
            (English, Why::Untrusted | Why::Forbidden | Why::Declined) => "was not run",
            (Chinese, Why::Untrusted | Why::Forbidden | Why::Declined) => "没有运行",
            (English, Why::Otherwise) => "failed",
            (Chinese, Why::Otherwise) => "失败了",
        };
        words.to_owned()
    }

    fn advice(self, why: Why, name: &str, script: &str, args: &[String]) -> String {
        let words = shell_words(args);
        let by_hand = format!("metier exec {name} {script} -- {words}");
        let by_hand = by_hand.trim_end_matches(" -- ");
        let explain = format!("metier explain run_script {script} --skill {name}");
        match (self, why) {
            (English, Why::Ended(_) | Why::TimedOut | Why::Otherwise) => {
                format!("Fix what it reports and ask again, or run it yourself: `{by_hand}`")
            }
            (Chinese, Why::Ended(_) | Why::TimedOut | Why::Otherwise) => {
                format!("请按提示修正后重试，或自行运行：`{by_hand}`")
            }
            (English, Why::CutOff) => {
                format!("Look at what it left, then ask again or run it yourself: `{by_hand}`")
            }
            (Chinese, Why::CutOff) => {
                format!("请先查看它留下的内容，再重试或自行运行：`{by_hand}`")
            }
            (_, Why::Untrusted) => self.trust().to_owned(),
            (English, Why::Forbidden) => {
                format!("`{explain}` shows what the rules decide and where they are.")
            }
            (Chinese, Why::Forbidden) => format!("`{explain}` 说明规则的决定及其出处。"),
            (English, Why::Declined) => format!(
                "If it should run, allow it when asked (or with `--yes`); `{explain}` says why it is \
                 asked."
            ),
            (Chinese, Why::Declined) => {
                format!("如果应当运行，请在询问时允许（或使用 `--yes`）；`{explain}` 说明原因。")
            }
        }
    }

    pub(crate) const fn trust(self) -> &'static str {
        match self {
            English => {
                "Read the skill; if it is fine, trust its folder with `metier trust` and ask again."
            }
            Chinese => "请先阅读该技能；如无问题，用 `metier trust` 信任其所在文件夹，然后重试。",
        }
    }
}

/// Whether nothing was done because nothing should be.
pub(crate) fn is_dry(past: &PastAction) -> bool {
    past.data["dry_run"] == Value::Bool(true)
}

/// Whether it was refused because a folder is not trusted; the words are the policy's.
pub(crate) fn lacks_trust(past: &PastAction) -> bool {
    past.code == Some(FailureCode::NotAllowed)
        && past.data["reason"].as_str().unwrap_or(&past.text).contains(" is not trusted")
}

fn stream(past: &PastAction, name: &str) -> Option<String> {
    past.data[name].as_str().map(|text| text.trim_end().to_owned())
}

/// The files that a script left, by path.
fn outputs(past: &PastAction) -> Vec<String> {
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
