//! What the words of a request tell before a model has read them: the line that stands after it. Pure.
//!
//! A small model follows the newest words that it reads. Without a word on skills it takes a tool for
//! anything, with one it selects a skill for anything; so the line names what fits this request: the file
//! that it names, the skills that the ranking finds, or that a change is not possible here. What stands in
//! it may be copied as the answer, and has to be true as one. Requests come in Chinese, too (tidy:allow-cjk).

use std::sync::Arc;

use metier_registry::Entry;
use metier_registry::search::{Hit, SearchIndex};

/// Skills that a prompt suggests.
const SUGGESTED: usize = 2;
/// Characters of a file's name that a prompt shows.
const NAME_CHARS: usize = 200;
/// How far the best skill has to be ahead of the next where the request shares only words with it.
const CLEAR_LEAD: f32 = 2.0;
/// The score of about one telling word; what has less shares only everyday words with the request.
const MIN_SCORE: f32 = 1.0;

/// Whether a tool is offered that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangingTools {
    Offered,
    None,
}

/// The line after the request; may be empty. `ranking` is the index of the skills that are offered.
pub(crate) fn hint(
    request: &str,
    offered: &[&Arc<Entry>],
    ranking: &SearchIndex,
    tools: ChangingTools,
) -> String {
    let words = hint_words(request, offered, ranking, tools);
    if words.is_empty() { words } else { format!("\n[{words}]\n") }
}

fn hint_words(
    request: &str,
    offered: &[&Arc<Entry>],
    ranking: &SearchIndex,
    tools: ChangingTools,
) -> String {
    let file = named_file(request);
    let is_about_files = file.is_some() || mentions_files(request);
    let names = suggested(request, offered, ranking, file, is_about_files);
    if names.is_empty() && tools == ChangingTools::None && asks_for_change(request) {
        return "Not possible here: to write, delete, move or send anything, or to run commands. It was not \
                done."
            .to_owned();
    }
    let read = file.map(|file| format!("`read_file` reads `{file}`."));
    let load = (!names.is_empty())
        .then(|| format!("May fit: {}; if so, load it with `select_skills`.", names.join(", ")));
    let words: Vec<String> = read.into_iter().chain(load).collect();
    if words.is_empty() && !is_about_files && !offered.is_empty() {
        return "If a skill of the list fits, load it with `select_skills`; else use a tool, or answer."
            .to_owned();
    }
    words.join(" ")
}

/// The skills that the ranking finds. A suggestion may be weaker than a choice, but not where the request
/// is about a file: there a weak one led away from it.
fn suggested(
    request: &str,
    offered: &[&Arc<Entry>],
    ranking: &SearchIndex,
    file: Option<&str>,
    is_about_files: bool,
) -> Vec<String> {
    let hits = ranking.rank(&without_path(request, file), SUGGESTED);
    let next = hits.get(1).map_or(0.0, |hit| hit.score);
    let is_clear =
        |at: usize, hit: &Hit| at == 0 && hit.score >= MIN_SCORE && hit.score >= CLEAR_LEAD * next;
    let fits = |(at, hit): &(usize, &Hit)| {
        hit.fires() || is_clear(*at, hit) || !is_about_files && hit.confidence > 0.0
    };
    let found = hits.iter().enumerate().filter(fits);
    let found = found.filter_map(|(_, hit)| offered.get(hit.document));
    found.map(|entry| format!("`{}`", entry.name())).collect()
}

/// A request with the kind of a file in the place of its path: the folders of `docs/notice.txt` are about no
/// skill for docs.
fn without_path(request: &str, file: Option<&str>) -> String {
    let Some(file) = file else { return request.to_owned() };
    let kind = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    request.replace(file, kind)
}

/// The words of a request without what stands around them.
fn words(request: &str) -> impl Iterator<Item = &str> {
    let around = |c: char| "\"'`,;:!?()[]".contains(c) || !c.is_ascii() && !c.is_alphanumeric();
    let bare = request.split_whitespace().map(move |word| word.trim_matches(around));
    bare.map(|word| word.trim_end_matches('.')).filter(|word| !word.is_empty())
}

/// Whether a word is written as a file or a path.
fn is_path(word: &str) -> bool {
    let extension = word.rsplit_once('.').map_or("", |(_, extension)| extension);
    let has_extension = (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_extension && !word.contains("://") && word.len() <= NAME_CHARS
}

/// The first word of a request that is written as a file.
fn named_file(request: &str) -> Option<&str> {
    words(request).find(|word| is_path(word))
}

/// Nouns for what lies in a workspace.
const FILE_NOUNS: [&str; 8] =
    ["file", "files", "folder", "folders", "directory", "directories", "dir", "path"];
const FILE_NOUNS_ZH: [&str; 3] = ["文件", "目录", "文件夹"];

fn mentions_files(request: &str) -> bool {
    let is_noun = |word: &str| FILE_NOUNS.contains(&word.to_lowercase().as_str());
    words(request).any(is_noun) || FILE_NOUNS_ZH.iter().any(|noun| request.contains(noun))
}

/// What is done to something that is there.
const CHANGING: [&str; 9] =
    ["delete", "remove", "erase", "rename", "move", "overwrite", "edit", "truncate", "modify"];
/// What makes something; it is a change where it goes into a file.
const MAKING: [&str; 7] = ["write", "save", "store", "create", "append", "insert", "put"];
/// What is felt outside, wherever it goes.
const SENDING: [&str; 6] = ["send", "commit", "push", "install", "uninstall", "upload"];
/// What may stand before an order; after other words (`how do I delete`) it is none.
const BEFORE_ORDER: [&str; 7] = ["please", "pls", "and", "then", "now", "just", "git"];
/// What makes `you` before it an order, too: `can you delete`, but not `why did you delete`.
const ASKING_YOU: [&str; 4] = ["can", "could", "would", "will"];
/// What opens a question.
const QUESTION_WORDS: [&str; 8] = ["why", "how", "when", "what", "who", "where", "which", "whose"];

/// Whether a request orders a change: of a file, or of something outside. It errs on the side of no: a
/// poem that is to be written is an answer.
pub(crate) fn asks_for_change(request: &str) -> bool {
    sentences(request).any(|sentence| orders_change(sentence) || orders_change_zh(sentence))
}

/// The sentences of a request, with what ends them. A full stop ends one where a blank follows: `a.txt` is a word.
fn sentences(request: &str) -> impl Iterator<Item = &str> {
    let mut rest = request;
    std::iter::from_fn(move || {
        let ends = |(at, c): (usize, char)| {
            let end = at + c.len_utf8();
            let is_end = match c {
                '?' | '!' | ';' | '\n' | '。' | '？' | '！' | '；' => true,
                '.' => rest[end..].starts_with(char::is_whitespace),
                _ => false,
            };
            is_end.then_some(end)
        };
        let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

fn orders_change(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    if words.first().is_some_and(|first| QUESTION_WORDS.contains(first)) {
        return false;
    }
    let is_question = lower.trim_end().ends_with('?');
    let is_thing = |word: &&str| is_path(word) || FILE_NOUNS.contains(word);
    words.iter().enumerate().any(|(at, word)| {
        let is_order = match &words[..at] {
            [] | ["you"] => !is_question,
            [.., "you", "to"] => true,
            [.., asking, "you"] => ASKING_YOU.contains(asking),
            [.., before] => BEFORE_ORDER.contains(before),
        };
        if !is_order {
            return false;
        }
        let after = &words[at + 1..];
        let goes_into = |pair: &[&str]| {
            ["to", "into", "as"].contains(&pair[0]) && is_path(pair[1])
                || ["a", "an", "the", "new", "empty"].contains(&pair[0])
                    && FILE_NOUNS.contains(&pair[1])
        };
        SENDING.contains(word)
            || CHANGING.contains(word) && after.iter().any(is_thing)
            || MAKING.contains(word)
                && (after.windows(2).any(goes_into)
                    || after.first().is_some_and(|word| is_path(word)))
    })
}

/// Orders that are a change whatever they are about.
const CHANGES_ZH: [&str; 6] = ["删除", "删掉", "重命名", "改名", "发送", "发邮件"];
/// Orders that are one in a sentence that names a file.
const FILE_CHANGES_ZH: [&str; 10] =
    ["修改", "更改", "编辑", "改写", "移动", "覆盖", "清空", "替换", "写入", "追加"];
/// Orders that are one where a file stands behind them: `创建一个季度总结` is an answer.
const MAKING_ZH: [&str; 3] = ["创建", "新建", "建立"];
/// Orders that say where something goes; they stand behind it.
const MOVES_ZH: [&str; 11] = [
    "写入",
    "写到",
    "写进",
    "保存到",
    "保存为",
    "存到",
    "移动到",
    "移到",
    "追加到",
    "改名为",
    "重命名为",
];
/// What may stand before an order.
const BEFORE_ORDER_ZH: [&str; 23] = [
    "请", "帮我", "帮忙", "给我", "替我", "麻烦", "然后", "接着", "再", "并", "并且", "先", "你",
    "现在", "直接", "就", "来", "和", "立即", "能", "可以", "能否", "可否",
];
/// What makes it none.
const REFUSALS_ZH: [&str; 6] = ["不", "别", "勿", "没", "未", "不要"];
/// Words of a question; `能删除 a.txt 吗` is an order all the same.
const QUESTIONS_ZH: [&str; 16] = [
    "怎么",
    "如何",
    "怎样",
    "为什么",
    "为何",
    "谁",
    "什么",
    "哪",
    "有没有",
    "是否",
    "是不是",
    "了吗",
    "了没",
    "多少",
    "几个",
    "过吗",
];

/// The same in Chinese, which has no blanks between words: an order opens its clause, or stands behind 把.
fn orders_change_zh(sentence: &str) -> bool {
    let has = |list: &[&str]| list.iter().any(|words| sentence.contains(words));
    if has(&QUESTIONS_ZH) {
        return false;
    }
    let orders = |list: &[&str], is_one: &dyn Fn(&str, &str) -> bool| {
        list.iter().any(|verb| {
            sentence
                .match_indices(verb)
                .any(|(at, _)| is_one(&sentence[..at], &sentence[at + verb.len()..]))
        })
    };
    let opens = |before: &str, after: &str| is_order_zh(before, after, false);
    orders(&CHANGES_ZH, &opens)
        || orders(&MAKING_ZH, &|before, after| opens(before, after) && is_about_file_zh(after))
        || is_about_file_zh(sentence)
            && (orders(&FILE_CHANGES_ZH, &opens)
                || orders(&MOVES_ZH, &|before, after| is_order_zh(before, after, true)))
}

/// Whether a verb between these words is an order: not `删除的文件`, `修改记录`, `不要删除`.
fn is_order_zh(before: &str, after: &str, anywhere: bool) -> bool {
    let nouns =
        ["的", "了", "过", "记录", "次数", "历史", "时间", "日期", "日志", "者", "后", "前"];
    if nouns.iter().any(|noun| after.starts_with(noun)) {
        return false;
    }
    let is_break = |c: char| "，,、：:；;。".contains(c);
    let clause = before.rsplit(is_break).next().unwrap_or_default().trim();
    if REFUSALS_ZH.iter().any(|no| clause.ends_with(no)) || clause.contains("不要") {
        return false;
    }
    clause.is_empty()
        || anywhere
        || ['把', '将', '往', '向'].iter().any(|mark| clause.contains(*mark))
        || ['给', '在'].iter().any(|mark| clause.starts_with(*mark))
        || BEFORE_ORDER_ZH.iter().any(|word| clause.ends_with(word))
        // Its object stands first: `notes/old.txt 删除`.
        || is_path(clause) && clause.is_ascii() && !clause.contains(' ')
}

/// Whether a file is named, also one that stands between characters: `新建a.txt`.
fn is_about_file_zh(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/~".contains(c);
    FILE_NOUNS_ZH.iter().any(|noun| text.contains(noun))
        || text.split(|c: char| !is_part(c)).any(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_to_change_something_is_no_question_and_no_text_to_write() {
        for request in [
            "Delete the file notes/old.txt.",
            "please remove the logs folder",
            "write the word done into out/status.txt",
            "Create a new file with the totals",
            "read a.csv and save the sum to b.txt",
            "git commit everything",
            "can you rename a.md to b.md",
            "删除 notes/old.txt",
            "create a.txt",
            "What is in a.csv? Then delete a.csv.",
            "创建文件 a.txt",
            "新建 a.txt",
            "新建a.txt",
            "请帮我创建一个文件夹",
            "修改 notes/old.txt",
            "把 notes/old.txt 改名为 new.txt",
            "将 a.txt 移动到 docs/a.txt",
            "重命名 a.txt",
            "汇总 sales.csv，把结果写入 out.txt",
            "汇总 sales.csv 保存到 out.txt",
            "追加一行到 notes.txt",
            "用 b.txt 的内容覆盖 a.txt，覆盖 a.txt",
            "能删除 a.txt 吗？",
            "在 notes.txt 里追加一行",
            "给 a.txt 改名",
            "I want you to delete a.txt",
        ] {
            assert!(asks_for_change(request), "{request}");
        }
        for request in [
            "how do I delete a file in git?",
            "write a poem about files",
            "Write a summary of docs/handbook.md",
            "Create a quote id for customer Elm",
            "what was removed from data/sales.csv?",
            "add up the hours in data/hours.csv",
            "create a breakdown of the units in data/sales.csv",
            "如何删除一个文件",
            "who sends the letters",
            "install steps in docs/setup.md?",
            "why did you delete notes/old.txt?",
            "why did you delete notes/old.txt",
            "did you delete a.txt?",
            "how do I create and delete a file",
            "为什么删除 notes/old.txt？",
            "你删除了哪些文件",
            "你修改了 a.txt 吗？",
            "a.txt 删除了吗",
            "不要删除 a.txt",
            "请不要修改 a.txt",
            "总结 a.md 的修改记录",
            "列出已删除的文件",
            "创建一个季度总结",
            "根据 a.csv 创建一份报告",
            "读 a.csv 并创建一份摘要",
            "写一首关于文件的诗",
            "怎么新建 a.txt",
        ] {
            assert!(!asks_for_change(request), "{request}");
        }
    }

    #[test]
    fn the_words_of_a_path_suggest_no_skill() {
        let request = "when is the drill? see docs/handbook.md";
        assert_eq!(without_path(request, named_file(request)), "when is the drill? see md");
        assert_eq!(without_path("hello", None), "hello");
    }

    #[test]
    fn the_line_after_a_request_names_what_fits_it() {
        let none = ChangingTools::None;
        let nothing = SearchIndex::build([]);
        let hint = |request: &str, tools| hint(request, &[], &nothing, tools);
        assert_eq!(hint("hello", none), "", "no skill, nothing to say");
        assert_eq!(hint("read a.md", none), "\n[`read_file` reads `a.md`.]\n");
        let line = hint("delete a.md", none);
        assert!(line.contains("Not possible here") && line.contains("It was not done."), "{line}");
        assert_eq!(hint("delete a.md", ChangingTools::Offered), "\n[`read_file` reads `a.md`.]\n");
    }
}
