//! Requests for parts of what is there: some lines of a file, the readme, how often a word stands somewhere,
//! files of one kind, what one skill does. In English and Chinese (tidy:allow-cjk), and nothing beyond it.

use crate::entities::{RequestEntities, extension};
use crate::tool_requests::ToolRequest;

const SHOWS: &[&str] = &[
    "read", "show", "print", "cat", "open", "display", "view", "see", "give", "get", "list", "head",
];
const SMALL: &[&str] = &[
    "a",
    "all",
    "any",
    "are",
    "do",
    "every",
    "find",
    "have",
    "here",
    "how",
    "i",
    "in",
    "is",
    "it",
    "list",
    "many",
    "me",
    "my",
    "occurrences",
    "of",
    "our",
    "out",
    "please",
    "project",
    "show",
    "the",
    "there",
    "this",
    "count",
    "comments",
    "comment",
    "folder",
    "directory",
    "under",
    "inside",
    "what",
    "which",
    "we",
    "number",
    "lines",
    "total",
    "altogether",
    "current",
    "working",
    "workspace",
    "whole",
    "root",
    "repo",
    "repository",
    "codebase",
];
/// What a whole project is called: a skill counts its files.
const PROJECTS: &[&str] = &["project", "repo", "repository", "codebase", "workspace"];
/// Places that have no name here.
const ELSEWHERE: &[&str] = &["parent", "home", "same", "other", "previous", "zip", "archive"];
/// Kinds of files by their extension.
const KINDS: &[&str] = &[
    "csv", "tsv", "txt", "md", "markdown", "json", "toml", "yaml", "yml", "rs", "py", "js", "ts",
    "html", "css", "sh", "pdf", "png", "jpg", "xml", "log", "sql", "c", "h", "go", "java", "xlsx",
    "docx", "ini", "rst",
];
const CHINESE_READS: &[&str] = &["读", "看", "打开", "显示", "查看", "打印", "输出"];
const CHINESE_DIGITS: &[(&str, &str)] =
    &[("一", "1"), ("两", "2"), ("二", "2"), ("三", "3"), ("五", "5"), ("十", "10")];

/// The request in English; `words` as they are written, `lower` in lower case.
pub(crate) fn english(
    words: &[String],
    lower: &[String],
    entities: &RequestEntities,
) -> Option<ToolRequest> {
    let lower: Vec<&str> = lower.iter().map(String::as_str).filter(|it| *it != "please").collect();
    lines(&lower, entities)
        .or_else(|| readme(&lower))
        .or_else(|| count(words, &lower, entities))
        .or_else(|| of_kind(&lower, entities))
        .or_else(|| how_many(&lower, entities))
        .or_else(|| what_is(words, &lower))
}

/// `read lines 2-3 of notes.txt`, `show me the first 5 lines of README.md`.
fn lines(lower: &[&str], entities: &RequestEntities) -> Option<ToolRequest> {
    let [file] = &entities.files[..] else { return None };
    let at = lower.iter().position(|word| matches!(*word, "line" | "lines"))?;
    let name = file.to_lowercase();
    let is_known = |word: &&str| {
        SHOWS.contains(word)
            || SMALL.contains(word)
            || matches!(
                *word,
                "can"
                    | "you"
                    | "first"
                    | "line"
                    | "lines"
                    | "to"
                    | "and"
                    | "through"
                    | "from"
                    | "-"
            )
            || word.bytes().all(|b| b.is_ascii_digit() || b == b'-')
            || **word == *name
            || name.ends_with(&format!("/{word}"))
    };
    if !lower.iter().all(is_known) {
        return None;
    }
    let number = |word: &&str| word.parse::<usize>().ok().map(|number| number.max(1));
    let (first, last) = if let [.., "first", count] = &lower[..at] {
        (1, number(count)?)
    } else {
        let text =
            lower[at + 1..].iter().take_while(|word| !matches!(**word, "of" | "in" | "from"));
        let numbers: Vec<usize> =
            text.flat_map(|word| word.split('-')).filter_map(|it| number(&it)).collect();
        match numbers[..] {
            [one] => (one, one),
            [first, last] => (first.min(last), first.max(last)),
            _ => return None,
        }
    };
    Some(ToolRequest::Lines { path: file.clone(), first, last })
}

/// `open the readme`.
fn readme(lower: &[&str]) -> Option<ToolRequest> {
    let rest: Vec<&&str> = lower.iter().filter(|word| !SMALL.contains(word)).collect();
    let shows = lower.first().is_some_and(|first| SHOWS.contains(first));
    let only = rest.iter().all(|word| **word == "readme" || SHOWS.contains(word));
    (shows && only && lower.contains(&"readme")).then(|| ToolRequest::Read("README.md".to_owned()))
}

/// `count TODOs in src`, `how many FIXMEs are in src`.
fn count(words: &[String], lower: &[&str], entities: &RequestEntities) -> Option<ToolRequest> {
    let counts = lower.first() == Some(&"count") || lower.starts_with(&["how", "many"]);
    let quoted = entities.texts.first().cloned();
    let is_mark =
        |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let marked =
        words.iter().map(|word| word.strip_suffix('s').unwrap_or(word)).find(|it| is_mark(it));
    let text = quoted.or_else(|| marked.map(str::to_owned)).filter(|_| counts)?;
    let path = place(words, lower, entities);
    let known = |word: &&&str| {
        let is_text = word.strip_suffix('s').unwrap_or(word) == text.to_lowercase();
        let is_path = path
            .as_deref()
            .is_some_and(|path| path.eq_ignore_ascii_case(word.trim_end_matches('/')));
        SMALL.contains(*word) || is_text || is_path
    };
    (lower.iter().all(|word| known(&word)) || !entities.texts.is_empty())
        .then_some(ToolRequest::Count { text, path })
}

/// `list csv files`, `which md files are in docs`.
fn of_kind(lower: &[&str], entities: &RequestEntities) -> Option<ToolRequest> {
    let at = lower.iter().position(|word| matches!(*word, "files" | "file"))?;
    let kind = at.checked_sub(1).and_then(|at| lower.get(at))?.trim_start_matches(['.', '*']);
    let asks = lower.first().is_some_and(|first| {
        matches!(*first, "list" | "show" | "find" | "which" | "what" | "ls" | "all")
    });
    let path = place(&[], lower, entities);
    let is_rest = |word: &&str| {
        SMALL.contains(word)
            || SHOWS.contains(word)
            || path.as_deref().is_some_and(|path| path == word.trim_end_matches('/'))
    };
    let rest = lower.iter().enumerate().filter(|(place, _)| *place + 1 != at && *place != at);
    let small = rest.map(|(_, word)| word).all(is_rest);
    (asks && small && KINDS.contains(&kind)).then(|| ToolRequest::OfKind {
        path: path.unwrap_or_else(|| ".".to_owned()),
        extension: kind.to_owned(),
    })
}

/// `how many csv files are there?`, `count the files in src`. Those of a whole project a skill counts.
fn how_many(lower: &[&str], entities: &RequestEntities) -> Option<ToolRequest> {
    let counts = lower.first() == Some(&"count") || lower.starts_with(&["how", "many"]);
    let at = lower.iter().position(|word| matches!(*word, "files" | "file"))?;
    let kind = lower.get(at.checked_sub(1)?)?.trim_start_matches(['.', '*']);
    let extension = Some(kind).filter(|kind| KINDS.contains(kind)).map(str::to_owned);
    let path = place(&[], lower, entities);
    let is_known = |(place, word): (usize, &&str)| {
        place == at
            || place + 1 == at && extension.is_some()
            || SMALL.contains(word) && !PROJECTS.contains(word)
            || path.as_deref().is_some_and(|path| path == word.trim_end_matches('/'))
    };
    (counts && lower.iter().enumerate().all(is_known))
        .then(|| ToolRequest::HowMany { path: path.unwrap_or_else(|| ".".to_owned()), extension })
}

/// `what does csv-summary do?`, and `what is in docs?`.
fn what_is(words: &[String], lower: &[&str]) -> Option<ToolRequest> {
    let skill = |name: &str| Some(ToolRequest::Skill(name.to_owned()));
    match lower {
        ["what", "does", name, "do"]
        | ["what", "does", "the", name, "skill", "do"]
        | ["what", "does", "the", "skill", name, "do"]
        | ["describe" | "explain", "the", name, "skill"]
        | ["what", "is", "the", name, "skill"] => skill(name),
        ["what", "is", name] | ["whats" | "describe", name] if name.contains('-') => skill(name),
        ["what", "is", "in" | "inside", _] | ["whats", "in" | "inside", _] => {
            let folder = words.last()?.trim_end_matches('/');
            let is_folder = extension(folder).is_none()
                && folder.chars().all(|c| c.is_alphanumeric() || "-_./~".contains(c))
                && !SMALL.contains(&folder.to_lowercase().as_str());
            is_folder.then(|| ToolRequest::List(folder.to_owned()))
        }
        _ => None,
    }
}

/// The place that is named with *in* or as a path.
fn place(words: &[String], lower: &[&str], entities: &RequestEntities) -> Option<String> {
    if let ([one], []) | ([], [one]) = (&entities.files[..], &entities.folders[..]) {
        return Some(one.clone());
    }
    let at = lower.iter().rposition(|word| matches!(*word, "in" | "under" | "inside"))?;
    let named = lower[at + 1..].iter().find(|word| !SMALL.contains(word))?;
    if ELSEWHERE.contains(named) {
        return None;
    }
    let written = words.iter().find(|word| word.to_lowercase() == **named);
    Some(written.map_or((*named).to_owned(), Clone::clone))
}

/// The request in Chinese.
pub(crate) fn chinese(request: &str, entities: &RequestEntities) -> Option<ToolRequest> {
    let has = |words: &[&str]| words.iter().any(|word| request.contains(word));
    if let [file] = &entities.files[..] {
        let rest = request.replace(file.as_str(), " ");
        let (first, last) = chinese_lines(&rest)?;
        let plain = rest.chars().count() < 24
            && !has(&["总结", "概括", "翻译", "汇总", "统计", "按", "并", "删"]);
        return plain.then(|| ToolRequest::Lines { path: file.clone(), first, last });
    }
    let short = request.chars().count() < 24;
    if short && request.to_lowercase().contains("readme") && has(CHINESE_READS) {
        return Some(ToolRequest::Read("README.md".to_owned()));
    }
    let latin = latin_words(request);
    if has(&["列出", "有哪些", "哪些", "显示", "查看", "找出"]) && has(&["文件"]) && short
    {
        let lower = latin.iter().map(|word| word.trim_start_matches('.').to_lowercase());
        let kind = lower.clone().find(|word| {
            KINDS.contains(&word.as_str())
                && request.to_lowercase().replace(' ', "").contains(&format!("{word}文件"))
        });
        if let Some(extension) = kind {
            let path = chinese_place(request).unwrap_or_else(|| ".".to_owned());
            return Some(ToolRequest::OfKind { path, extension });
        }
    }
    if let Some(counting) = chinese_how_many(request).filter(|_| short) {
        return Some(counting);
    }
    let about = ["是做什么的", "做什么", "是什么", "有什么用", "干什么", "介绍"];
    if short
        && has(&about)
        && let [name] = &latin[..]
        && (name.contains('-') || has(&["技能"]))
    {
        return Some(ToolRequest::Skill(name.clone()));
    }
    let place = chinese_place(request)?;
    let rest: Vec<&String> = latin.iter().filter(|word| **word != place).collect();
    let counts = has(&["多少", "几个", "数一下", "统计", "计数"]);
    match &rest[..] {
        [text] if short && is_mark(text) && counts => {
            Some(ToolRequest::Count { text: (*text).clone(), path: Some(place) })
        }
        [text] if short && is_mark(text) && request.contains('有') => {
            Some(ToolRequest::Find { text: (*text).clone(), path: Some(place) })
        }
        [] if short && has(&["里有什么", "中有什么", "下有什么", "里有哪些", "里都有什么"]) => {
            Some(ToolRequest::List(place))
        }
        _ => None,
    }
}

/// 有几个 csv 文件, 数一下 src 里的文件: the files that are to be counted, if that is all that is asked.
fn chinese_how_many(request: &str) -> Option<ToolRequest> {
    const COUNTS: &[&str] = &["有多少个", "有几个", "多少个", "几个", "多少", "数一下", "数一数"];
    const SMALL: &[&str] = &[
        "请问",
        "请",
        "帮我",
        "我想知道",
        "这里",
        "这个",
        "当前",
        "总共",
        "一共",
        "里面",
        "下面",
        "目录",
        "在",
        "里",
        "中",
        "下",
        "内",
        "共",
        "有",
        "的",
        "类型",
        "格式",
        "？",
        "?",
        "。",
        "，",
        "/",
    ];
    // 文件夹 holds 文件.
    let mut text = request.to_lowercase().replace("文件夹", "目录");
    let count = COUNTS.iter().find(|count| text.contains(**count))?;
    text = text.replacen(count, "\u{1}", 1);
    let place = chinese_place(request);
    if let Some(place) = &place {
        text = text.replacen(&place.to_lowercase(), "", 1);
    }
    let kind = latin_words(&text).into_iter().next();
    if let Some(kind) = &kind {
        text = text.replacen(kind.as_str(), "", 1).replacen('.', "", 1);
    }
    let text = SMALL.iter().fold(text, |text, word| text.replace(word, ""));
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let is_known = kind.as_ref().is_none_or(|kind| KINDS.contains(&kind.as_str()));
    let path = place.unwrap_or_else(|| ".".to_owned());
    let counting = ToolRequest::HowMany { path, extension: kind };
    (is_known && matches!(text.as_str(), "\u{1}文件" | "文件\u{1}")).then_some(counting)
}

fn is_mark(word: &str) -> bool {
    word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// 前 2 行, 第 2 到 3 行.
fn chinese_lines(text: &str) -> Option<(usize, usize)> {
    let digits =
        CHINESE_DIGITS.iter().fold(text.to_owned(), |text, (han, digit)| text.replace(han, digit));
    let text: String = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let end = text.find('行')?;
    let number = |text: &str| text.parse::<usize>().ok().map(|number| number.max(1));
    if let Some(count) = text[..end].rsplit_once('前').and_then(|(_, count)| number(count)) {
        return Some((1, count));
    }
    let (_, range) = text[..end].rsplit_once('第').or_else(|| text[..end].split_once('第'))?;
    let range = range.trim_end_matches('行');
    let parts: Vec<&str> = range.split(['-', '到', '至', '~', '—']).collect();
    match parts[..] {
        [one] => number(one).map(|one| (one, one)),
        [first, last] => {
            let (first, last) = number(first).zip(number(last))?;
            Some((first.min(last), first.max(last)))
        }
        _ => None,
    }
}

/// The folder that stands before 里, 中 or 下: `在 src 目录中`, `src 里的`.
pub(crate) fn chinese_place(request: &str) -> Option<String> {
    latin_words(request).into_iter().find(|word| {
        let behind = request.split_once(word.as_str()).map_or("", |(_, behind)| behind);
        let behind = behind.trim_start_matches('/').trim_start();
        let behind =
            ["目录", "文件夹"].iter().find_map(|it| behind.strip_prefix(it)).unwrap_or(behind);
        behind.starts_with(['里', '中', '下', '内'])
    })
}

/// The words of a request that are written in Latin letters.
pub(crate) fn latin_words(request: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~');
    let words = request.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-']));
    words
        .map(|word| word.trim_end_matches('/'))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}
