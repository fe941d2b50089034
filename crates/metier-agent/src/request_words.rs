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
const BEFORE_ORDER: [&str; 8] = ["please", "pls", "and", "then", "you", "now", "just", "git"];
const CHANGES_ZH: [&str; 10] =
    ["删除", "删掉", "重命名", "写入", "写到", "保存到", "移动到", "追加", "发送", "发邮件"];
const QUESTIONS_ZH: [&str; 3] = ["怎么", "如何", "怎样"];

/// Whether a request orders a change: of a file, or of something outside. It errs on the side of no: a
/// poem that is to be written is an answer.
pub(crate) fn asks_for_change(request: &str) -> bool {
    let has = |list: &[&str]| list.iter().any(|words| request.contains(words));
    if has(&CHANGES_ZH) && !has(&QUESTIONS_ZH) {
        return true;
    }
    let lower = request.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    let is_question = lower.trim_end().ends_with('?');
    let is_thing = |word: &&str| is_path(word) || FILE_NOUNS.contains(word);
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|before| words[before]);
        let is_order = before.map_or(!is_question, |before| BEFORE_ORDER.contains(&before));
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
            || MAKING.contains(word) && after.windows(2).any(goes_into)
    })
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
