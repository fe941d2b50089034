//! Requests that a tool answers without a model: what is in a folder, what a file says, where a word
//! stands, what the project is about; and the question what can be done at all.
//!
//! A small grammar in English and Chinese, and nothing beyond it: a request with one word more than it
//! knows is left to the skills.
//!
//! tidy:allow-cjk

use metier_model::PastAction;
use metier_skill::FailureCode;
use serde_json::{Value, json};

use crate::entities::{RequestEntities, extension, is_in_chinese};
use crate::file_requests::{self, chinese_place, latin_words};
use crate::set_phrases::{HELP, PROJECT};

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolRequest {
    /// What can be done here.
    Help,
    /// The entries of a folder.
    List(String),
    /// The files of one kind in a folder.
    OfKind { path: String, extension: String },
    /// How many files a folder has, perhaps only those of one kind.
    HowMany { path: String, extension: Option<String> },
    /// A file, whole.
    Read(String),
    /// Some lines of a file, counted from 1.
    Lines { path: String, first: usize, last: usize },
    /// What a text file begins with: the nearest to a summary that needs no model.
    Opening(String),
    /// What the project is about, by its README.
    Project,
    /// Lines that hold some text.
    Find { text: String, path: Option<String> },
    /// How many lines hold some text.
    Count { text: String, path: Option<String> },
    /// What the skill with this name is for, if there is one.
    Skill(String),
}

impl ToolRequest {
    /// The tool that answers it, with its arguments; nothing where no tool is needed.
    pub(crate) fn call(&self) -> Option<(&'static str, Value)> {
        Some(match self {
            Self::Help | Self::Skill(_) => return None,
            Self::Lines { path, first, last } => {
                ("read_file", json!({"path": path, "first_line": first, "last_line": last}))
            }
            Self::List(path) | Self::OfKind { path, .. } | Self::HowMany { path, .. } => {
                ("list_dir", json!({"path": path}))
            }
            Self::Read(path) | Self::Opening(path) => ("read_file", json!({"path": path})),
            Self::Project => ("read_file", json!({"path": "README.md"})),
            Self::Find { text, path } | Self::Count { text, path } => {
                let mut args = json!({"pattern": escaped(text)});
                if let Some(path) = path {
                    args["path"] = json!(path);
                }
                ("grep", args)
            }
        })
    }
}

impl ToolRequest {
    /// The file or folder that is named.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Read(path)
            | Self::Opening(path)
            | Self::List(path)
            | Self::Lines { path, .. }
            | Self::OfKind { path, .. }
            | Self::HowMany { path, .. }
            | Self::Find { path: Some(path), .. }
            | Self::Count { path: Some(path), .. } => Some(path),
            _ => None,
        }
    }

    /// Where a call did not find what it was for: the folder and the name in it.
    pub(crate) fn missing(&self, past: &PastAction) -> Option<(&str, &str)> {
        let path = self.path()?;
        let is_missing = !past.ok && past.code == Some(FailureCode::NotFound);
        is_missing.then(|| path.rsplit_once('/').unwrap_or((".", path)))
    }
}

/// Words between the parts of a request that mean nothing more.
const FILLERS: &[&str] = &[
    "a",
    "all",
    "are",
    "can",
    "content",
    "contents",
    "could",
    "current",
    "directory",
    "does",
    "file",
    "files",
    "folder",
    "folders",
    "for",
    "full",
    "here",
    "i",
    "in",
    "inside",
    "is",
    "it",
    "list",
    "me",
    "my",
    "of",
    "out",
    "please",
    "project",
    "repo",
    "repository",
    "workspace",
    "working",
    "say",
    "says",
    "the",
    "there",
    "this",
    "to",
    "under",
    "up",
    "what",
    "whats",
    "which",
    "whole",
    "you",
    "entire",
];
const LISTS: &[&str] = &["list", "ls", "dir", "show", "what", "whats", "which"];
const FOLDER_WORDS: &[&str] =
    &["files", "folder", "folders", "directory", "directories", "ls", "dir", "contents"];
const READS: &[&str] =
    &["read", "show", "print", "cat", "open", "display", "view", "what", "whats", "output"];
const SUMMARISES: &[&str] = &["summarise", "summarize", "summary", "tldr"];
/// Extensions of prose.
const PROSE: &[&str] = &["md", "txt", "rst", "adoc", "markdown", "text"];

/// The tool request that `request` is, if it is one.
pub(crate) fn tool_request(request: &str, given: &[String]) -> Option<ToolRequest> {
    let plain =
        request.trim().trim_end_matches(['?', '.', '!', '？', '。', '！', '呢', '吗']).trim();
    let lower = plain.to_lowercase().replace('’', "'");
    let bare = lower.trim_start_matches("please ").trim_start_matches('请');
    if HELP.contains(&bare) {
        return Some(ToolRequest::Help);
    }
    if PROJECT.contains(&bare) {
        return Some(ToolRequest::Project);
    }
    let entities = RequestEntities::of(plain, given);
    if is_in_chinese(plain) {
        return file_requests::chinese(plain, &entities).or_else(|| chinese(plain, &entities));
    }
    let words: Vec<String> = plain
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| ",:;\"'`()".contains(c)).replace('\'', ""))
        .filter(|word| !word.is_empty())
        .collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    file_requests::english(&words, &lower, &entities)
        .or_else(|| found_text(&words, &lower, &entities))
        .or_else(|| one_file(&lower, &entities))
        .or_else(|| folder(&words, &lower, &entities))
}

/// `grep TODO src`, `search for "a b" in docs/`, `which files mention parse_line`.
fn found_text(
    words: &[String],
    lower: &[String],
    entities: &RequestEntities,
) -> Option<ToolRequest> {
    let start = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        lower
            .windows(phrase.len())
            .next()
            .is_some_and(|first| first == phrase)
            .then_some(phrase.len())
    };
    let searches =
        ["search for", "search", "grep for", "grep", "look for", "find all", "find", "where is"];
    let mentions =
        ["which files contain", "which files mention", "what files contain", "which file contains"];
    let at = mentions.iter().chain(&searches).find_map(|phrase| start(phrase))?;
    // `find` and `where is` mean many things; only a name or a quote is searched for.
    let plainly = matches!(lower.first()?.as_str(), "grep" | "search" | "which" | "what");
    let mut rest: Vec<&String> = words.get(at..)?.iter().collect();
    while rest.first().is_some_and(|word| {
        matches!(word.to_lowercase().as_str(), "the" | "all" | "word" | "text" | "string")
    }) {
        rest.remove(0);
    }
    let path = place(entities).or_else(|| {
        let at = rest.iter().position(|word| matches!(word.as_str(), "in" | "under" | "inside"))?;
        let named = rest.get(at + 1).filter(|_| rest.len() == at + 2)?;
        (!FILLERS.contains(&named.to_lowercase().as_str())).then(|| (*named).clone())
    });
    // As in a shell: the text, then the place.
    let path = path.or_else(|| match &rest[..] {
        [_, named]
            if lower[0] == "grep"
                && at == 1
                && !FILLERS.contains(&named.to_lowercase().as_str()) =>
        {
            Some(named.trim_end_matches('/').to_owned())
        }
        _ => None,
    });
    if let [text] = &entities.texts[..] {
        return Some(ToolRequest::Find { text: text.clone(), path });
    }
    let text = rest.first().map(|word| (*word).clone())?;
    let behind: Vec<&&String> = rest
        .iter()
        .skip(1)
        .filter(|word| {
            let known = [
                "in",
                "under",
                "inside",
                "used",
                "defined",
                "mentioned",
                "comments",
                "the",
                "all",
                "files",
                "this",
                "project",
                "folder",
                "code",
                "here",
                "everywhere",
            ];
            !known.contains(&word.to_lowercase().as_str())
                && Some(word.trim_end_matches('/')) != path.as_deref()
        })
        .collect();
    let is_name = text.contains(['_', ':', '.']) || text.chars().skip(1).any(char::is_uppercase);
    (behind.is_empty() && (plainly || is_name)).then_some(ToolRequest::Find { text, path })
}

/// `read notes.txt`, `what does README.md say`, `summarise README.md`.
fn one_file(lower: &[String], entities: &RequestEntities) -> Option<ToolRequest> {
    let [file] = &entities.files[..] else { return None };
    let name = file.to_lowercase();
    let others: Vec<&str> = lower
        .iter()
        .map(String::as_str)
        .filter(|word| *word != name && !name.ends_with(&format!("/{word}")))
        .collect();
    let first = *others
        .iter()
        .find(|word| !matches!(**word, "please" | "can" | "could" | "you" | "give" | "me" | "a"))?;
    let only = |verbs: &[&str]| {
        verbs.contains(&first)
            && others
                .iter()
                .all(|word| FILLERS.contains(word) || verbs.contains(word) || *word == "give")
    };
    if only(SUMMARISES)
        && extension(file).is_some_and(|it| PROSE.contains(&it.to_lowercase().as_str()))
    {
        return Some(ToolRequest::Opening(file.clone()));
    }
    only(READS).then(|| ToolRequest::Read(file.clone()))
}

/// `ls`, `list the files in src`, `what is in docs/`.
fn folder(words: &[String], lower: &[String], entities: &RequestEntities) -> Option<ToolRequest> {
    if !entities.files.is_empty() || !LISTS.contains(&lower.first()?.as_str()) {
        return None;
    }
    let folder = place(entities).or_else(|| {
        let at = lower
            .iter()
            .position(|word| matches!(word.as_str(), "in" | "of" | "inside" | "under" | "ls"))?;
        let mut named = words.iter().zip(lower).skip(at + 1);
        let (word, _) = named.find(|(_, word)| !FILLERS.contains(&word.as_str()))?;
        Some(word.clone())
    });
    let asks = lower.iter().any(|word| FOLDER_WORDS.contains(&word.as_str()))
        || !entities.folders.is_empty();
    let known = |word: &String| {
        FILLERS.contains(&word.as_str())
            || LISTS.contains(&word.as_str())
            || FOLDER_WORDS.contains(&word.as_str())
            || folder
                .as_deref()
                .is_some_and(|folder| folder.eq_ignore_ascii_case(word.trim_end_matches('/')))
    };
    (asks && lower.iter().all(known))
        .then(|| ToolRequest::List(folder.unwrap_or_else(|| ".".to_owned())))
}

/// The one place that a request names.
fn place(entities: &RequestEntities) -> Option<String> {
    match (&entities.files[..], &entities.folders[..]) {
        ([one], []) | ([], [one]) => Some(one.clone()),
        _ => None,
    }
}

fn chinese(request: &str, entities: &RequestEntities) -> Option<ToolRequest> {
    let has = |words: &[&str]| words.iter().any(|word| request.contains(word));
    let named = place(entities).or_else(|| chinese_place(request));
    if has(&["搜索", "查找", "搜一下", "哪些文件包含", "哪个文件包含", "哪些文件里有"])
    {
        let text =
            entities.texts.first().cloned().or_else(|| latin_word(request, named.as_deref()))?;
        return Some(ToolRequest::Find { text, path: named });
    }
    // As with `where is`, only a name or a quote is searched for.
    if has(&[
        "哪里",
        "哪儿",
        "什么地方",
        "哪些文件提到",
        "哪个文件提到",
        "哪些文件用",
        "哪个文件用",
    ]) && has(&["提到", "出现", "用到", "用了", "定义", "在哪", "包含", "有"])
    {
        let is_name = |word: &String| {
            extension(word).is_none()
                && (word.contains(['_', ':']) || word.chars().skip(1).any(char::is_uppercase))
        };
        let word = || latin_word(request, named.as_deref()).filter(is_name);
        if let Some(text) = entities.texts.first().cloned().or_else(word) {
            return Some(ToolRequest::Find { text, path: named });
        }
    }
    if let [file] = &entities.files[..] {
        let prose = extension(file).is_some_and(|it| PROSE.contains(&it.to_lowercase().as_str()));
        let long = request.chars().count() > file.chars().count() + 14;
        if !long && prose && has(&["总结", "概括", "摘要", "概述"]) {
            return Some(ToolRequest::Opening(file.clone()));
        }
        let reads = has(&[
            "读取",
            "读一下",
            "阅读",
            "显示",
            "查看",
            "打开",
            "打印",
            "看看",
            "看一下",
            "内容",
            "写了什么",
            "里有什么",
        ]);
        // A question about what is in a table is not a wish to see all of it.
        let asks = has(&["有没有", "是否", "多少", "哪", "重复", "质量", "空值"]);
        return (!long && reads && !asks).then(|| ToolRequest::Read(file.clone()));
    }
    let lists = has(&[
        "列出",
        "有哪些文件",
        "有什么文件",
        "有哪些目录",
        "查看目录",
        "里有什么",
        "显示文件",
    ]);
    let about = has(&["文件", "目录", "文件夹"]) || !entities.folders.is_empty();
    if lists && about && request.chars().count() < 30 {
        let folder = named.or_else(|| latin_word(request, None));
        return Some(ToolRequest::List(folder.unwrap_or_else(|| ".".to_owned())));
    }
    None
}

/// The first word of a Chinese request that is written in Latin letters.
fn latin_word(request: &str, except: Option<&str>) -> Option<String> {
    latin_words(request).into_iter().find(|word| Some(word.as_str()) != except)
}

/// A text as a pattern that means it.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// What a person could say to get a skill: the first words that its description quotes.
pub(crate) fn example(description: &str) -> Option<&str> {
    let quoted = description.split(['"', '“', '”']).nth(1)?;
    let quoted = quoted.trim().trim_end_matches([',', '.']);
    (quoted.split_whitespace().count() > 1 || crate::entities::is_chinese(quoted)).then_some(quoted)
}

#[cfg(test)]
mod tests {
    use super::ToolRequest::{
        Count, Help, HowMany, Lines, List, OfKind, Opening, Project, Read, Skill,
    };
    use super::*;

    fn find(text: &str, path: Option<&str>) -> ToolRequest {
        ToolRequest::Find { text: text.to_owned(), path: path.map(str::to_owned) }
    }

    #[test]
    fn requests_for_tools_in_both_languages() {
        let list = |path: &str| Some(List(path.to_owned()));
        let read = |path: &str| Some(Read(path.to_owned()));
        let lines = |path: &str, first, last| Some(Lines { path: path.to_owned(), first, last });
        let kind = |extension: &str, path: &str| {
            Some(OfKind { path: path.to_owned(), extension: extension.to_owned() })
        };
        let count = |text: &str, path: Option<&str>| {
            Some(Count { text: text.to_owned(), path: path.map(str::to_owned) })
        };
        let how_many = |extension: Option<&str>, path: &str| {
            Some(HowMany { path: path.to_owned(), extension: extension.map(str::to_owned) })
        };
        for (request, wanted) in [
            ("how many csv files are there?", how_many(Some("csv"), ".")),
            ("count files", how_many(None, ".")),
            ("count the files in src", how_many(None, "src")),
            ("how many files are there in total?", how_many(None, ".")),
            ("how many files are in the current directory?", how_many(None, ".")),
            ("list csv files in the current directory", kind("csv", ".")),
            ("list the files in this repo", list(".")),
            ("count TODOs in the whole repository", count("TODO", None)),
            ("这个文件夹里有多少个文件？", how_many(None, ".")),
            ("这里的文件有多少个", how_many(None, ".")),
            ("数一下 src 文件夹里的文件", how_many(None, "src")),
            ("docs 目录下有几个 .md 文件", how_many(Some("md"), "docs")),
            ("src 文件夹里有几个 TODO", count("TODO", Some("src"))),
            ("哪里提到了 TODO", Some(find("TODO", None))),
            ("src 里哪里用到了 parse_line", Some(find("parse_line", Some("src")))),
            ("parse_line 在哪里定义？", Some(find("parse_line", None))),
            ("哪些文件提到 TODO", Some(find("TODO", None))),
            ("how many .rs files are in src/?", how_many(Some("rs"), "src")),
            ("src 里有多少个文件", how_many(None, "src")),
            ("有几个 csv 文件？", how_many(Some("csv"), ".")),
            ("read lines 3-2 of notes.txt", lines("notes.txt", 2, 3)),
            ("显示 notes.txt 的第 3 到 2 行", lines("notes.txt", 2, 3)),
            ("help", Some(Help)),
            ("What can you do?", Some(Help)),
            ("你能做什么？", Some(Help)),
            ("有哪些技能", Some(Help)),
            ("what is this project about?", Some(Project)),
            ("这个项目是做什么的？", Some(Project)),
            ("ls", list(".")),
            ("list files", list(".")),
            ("list the files in src", list("src")),
            ("show me the files in docs/", list("docs")),
            ("what files are here?", list(".")),
            ("what is in the folder crates/app?", list("crates/app")),
            ("列出文件", list(".")),
            ("列出 src 目录", list("src")),
            ("这里有哪些文件", list(".")),
            ("what is in docs?", list("docs")),
            ("docs 里有什么", list("docs")),
            ("read 数据.csv", read("数据.csv")),
            ("open the readme", read("README.md")),
            ("看看 README", read("README.md")),
            ("把 notes.txt 打印出来", read("notes.txt")),
            ("read lines 2-3 of notes.txt", lines("notes.txt", 2, 3)),
            ("read lines 2 to 3 of notes.txt", lines("notes.txt", 2, 3)),
            ("show line 4 of notes.txt", lines("notes.txt", 4, 4)),
            ("read the first 5 lines of README.md", lines("README.md", 1, 5)),
            ("show me the first 2 lines of notes.txt", lines("notes.txt", 1, 2)),
            ("读取 src/main.rs 的前 2 行", lines("src/main.rs", 1, 2)),
            ("显示 notes.txt 的第 2 到 3 行", lines("notes.txt", 2, 3)),
            ("看看 notes.txt 前两行", lines("notes.txt", 1, 2)),
            ("list csv files", kind("csv", ".")),
            ("which md files are in docs?", kind("md", "docs")),
            ("列出所有 csv 文件", kind("csv", ".")),
            ("count TODOs in src", count("TODO", Some("src"))),
            ("how many TBDs are there?", count("TBD", None)),
            ("src 里有多少 TODO", count("TODO", Some("src"))),
            ("what does csv-summary do?", Some(Skill("csv-summary".to_owned()))),
            ("describe the csv-summary skill", Some(Skill("csv-summary".to_owned()))),
            ("csv-summary 是做什么的？", Some(Skill("csv-summary".to_owned()))),
            ("deploy 技能是做什么的？", Some(Skill("deploy".to_owned()))),
            ("describe this repo", Some(Project)),
            ("在 src 里查找 TODO", Some(find("TODO", Some("src")))),
            ("在 src 目录中搜索 TODO", Some(find("TODO", Some("src")))),
            ("查找 src 目录里的 TBD", Some(find("TBD", Some("src")))),
            ("在 src/ 中查找“a b”", Some(find("a b", Some("src")))),
            ("src 里有 TODO 吗", Some(find("TODO", Some("src")))),
            ("read notes.txt", read("notes.txt")),
            ("show me README.md", read("README.md")),
            ("what does docs/a.md say?", read("docs/a.md")),
            ("cat src/main.rs", read("src/main.rs")),
            ("读取 notes.txt", read("notes.txt")),
            ("看看 README.md 的内容", read("README.md")),
            ("summarise README.md", Some(Opening("README.md".to_owned()))),
            ("give me a summary of notes.txt", Some(Opening("notes.txt".to_owned()))),
            ("总结 README.md", Some(Opening("README.md".to_owned()))),
            ("grep TODO", Some(find("TODO", None))),
            ("grep TODO src/", Some(find("TODO", Some("src")))),
            ("grep TODO src", Some(find("TODO", Some("src")))),
            ("search for \"fn main\" in src/", Some(find("fn main", Some("src")))),
            ("where is parse_line defined?", Some(find("parse_line", None))),
            ("which files mention retries?", Some(find("retries", None))),
            ("find all TODO comments", Some(find("TODO", None))),
            ("搜索 TODO", Some(find("TODO", None))),
            ("哪些文件包含“超时”", Some(find("超时", None))),
        ] {
            assert_eq!(tool_request(request, &[]), wanted, "{request}");
        }
    }

    #[test]
    fn what_is_more_than_that_is_left_to_skills() {
        for request in [
            "summarise sales.csv by region",
            "summarise the meeting",
            "read the room",
            "find a counterexample",
            "find bugs in main.rs",
            "what is wrong with notes.txt?",
            "read notes.txt and translate it",
            "show me a chart of sales.csv",
            "list the largest customers in sales.csv",
            "what is the capital of France?",
            "what is in the news?",
            "count the rows in sales.csv",
            "how many people live in Oslo?",
            "how many files are there in this repository?",
            "how many csv files are in this repo?",
            "how many files are in the parent directory?",
            "这个文件夹里有多少行代码？",
            "这个文件有多少行",
            "有多少个文件夹？",
            "多少文件夹",
            "删除多少文件",
            "有多少大文件",
            "多少文件有空行",
            "哪里有好吃的",
            "销量在哪里最高",
            "summarise the first 5 lines of notes.txt",
            "sales.csv 前 2 个地区",
            "总结 notes.txt 前 2 行并翻译成英文，然后发送给所有的同事",
            "世界里有什么",
            "检查 sales.csv 的质量",
            "把 notes.txt 翻译成英文并发送给所有的同事",
            "help me write a letter",
        ] {
            assert_eq!(tool_request(request, &[]), None, "{request}");
        }
    }
}
