//! Putting what a request names into the placeholders of a command.
//! tidy:allow-cjk
//!
//! | placeholder | is filled with |
//! |---|---|
//! | `FILE`, `INPUT`, `<input-file>`, `path/to/data.csv`, `input.csv` | a file; one with the same extension first |
//! | `FOLDER`, `DIR` | a folder |
//! | `COLUMN`, `GROUP`, and whatever follows `--by` | a group (`by region`) |
//! | `NUMBERS`, `VALUE`, and whatever follows `--column` | a measure (`average price`) |
//! | `N`, `COUNT`, `LIMIT`, … | a number |
//! | `URL` | an address |
//! | `TEXT`, `QUERY`, `NAME`, … | words in quotes |
//!
//! A placeholder is a word in Chinese for one of these, a word in capitals, in angle brackets or braces, or the name of a file that the
//! skill does not have. What stands in square brackets is left out when it cannot be filled. Each thing
//! is used once. A command with a placeholder left is not run.

use crate::commands::Command;
use crate::entities::{RequestEntities, extension};

/// A command, filled as far as the request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) script: String,
    pub(crate) args: Vec<String>,
    /// Placeholders that the request has nothing for.
    pub(crate) missing: Vec<Missing>,
    /// How many things of the request it uses.
    used: usize,
    /// How many words of the request its line mentions.
    near: usize,
}

/// A placeholder that stayed empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// As the skill writes it.
    pub(crate) placeholder: String,
    pub(crate) kind: Kind,
}

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Group,
    Measure,
    Number,
    Address,
    Text,
    Unknown,
}

/// The command that fits a request best: complete, using most of what it names, nearest to its words,
/// first in the body. When none is complete, the one that lacks least.
pub(crate) fn best(
    commands: &[Command],
    entities: &RequestEntities,
    request: &str,
) -> Option<Filled> {
    let words = telling_words(request);
    let filled = commands.iter().map(|command| {
        let mut filled = fill(command, entities);
        let line = telling_words(&command.line);
        filled.near = shared(&words, &line);
        filled
    });
    // The first of equals counts, and `max_by_key` takes the last.
    filled
        .rev()
        .max_by_key(|filled| (std::cmp::Reverse(filled.missing.len()), filled.used, filled.near))
}

/// The words of a text that tell something, in lower case.
pub(crate) fn telling_words(text: &str) -> Vec<String> {
    const COMMON: &[&str] = &[
        "and", "are", "can", "for", "from", "have", "into", "its", "not", "please", "that", "the",
        "this", "use", "want", "what", "when", "with", "you", "your",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let mut words: Vec<String> =
        words.filter(|word| word.chars().count() > 2 && !COMMON.contains(&word.as_str())).collect();
    words.sort();
    words.dedup();
    words
}

/// How many of the words are among the others, in any form that only adds an ending.
pub(crate) fn shared(words: &[String], others: &[String]) -> usize {
    let same = |a: &str, b: &str| {
        a == b || a.len().min(b.len()) > 3 && (a.starts_with(b) || b.starts_with(a))
    };
    words.iter().filter(|word| others.iter().any(|other| same(word, other))).count()
}

fn fill(command: &Command, entities: &RequestEntities) -> Filled {
    let mut filler = Filler { entities, taken: Vec::new() };
    let mut filled = Filled {
        script: command.script.clone(),
        args: Vec::new(),
        missing: Vec::new(),
        used: 0,
        near: 0,
    };
    let mut words = command.words.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('[') {
            filler.put(word, &mut filled.args, &mut filled.missing);
            continue;
        }
        // An optional part: all of it or nothing.
        let mut part = vec![word.trim_start_matches('[')];
        while part.last().is_some_and(|last| !last.ends_with(']')) {
            match words.next() {
                Some(next) => part.push(next),
                None => break,
            }
        }
        let taken = filler.taken.len();
        let (mut args, mut missing) = (Vec::new(), Vec::new());
        for word in part {
            filler.put(word.trim_end_matches([']', '.']), &mut args, &mut missing);
        }
        if missing.is_empty() && filler.taken.len() > taken {
            filled.args.append(&mut args);
        } else {
            filler.taken.truncate(taken);
        }
    }
    filled.used = filler.taken.len();
    filled
}

struct Filler<'a> {
    entities: &'a RequestEntities,
    /// What was used already, by kind and place.
    taken: Vec<(Kind, usize)>,
}

impl Filler<'_> {
    fn put(&mut self, word: &str, args: &mut Vec<String>, missing: &mut Vec<Missing>) {
        // `--by=COLUMN` is an option and its value in one word.
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (Some(option), value),
            _ => (None, word),
        };
        let before = option.or(args.last().map(String::as_str)).unwrap_or_default();
        let Some(kind) = kind_of(value, before) else {
            args.push(word.to_owned());
            return;
        };
        match self.take(kind, value) {
            Some(thing) => args.push(match option {
                Some(option) => format!("{option}={thing}"),
                None => thing,
            }),
            None => {
                missing.push(Missing { placeholder: bare(value).to_owned(), kind });
            }
        }
    }

    fn take(&mut self, kind: Kind, placeholder: &str) -> Option<String> {
        let list = match kind {
            Kind::File => &self.entities.files,
            Kind::Folder => &self.entities.folders,
            Kind::Group => &self.entities.groups,
            Kind::Measure => &self.entities.measures,
            Kind::Number => &self.entities.numbers,
            Kind::Address => &self.entities.addresses,
            Kind::Text => &self.entities.texts,
            Kind::Unknown => return None,
        };
        let wanted = extension(bare(placeholder)).filter(|_| kind == Kind::File);
        let free = || (0..list.len()).filter(|&at| !self.taken.contains(&(kind, at)));
        let same = |at: &usize| {
            let given = list.get(*at).and_then(|file| extension(file));
            wanted
                .is_some_and(|wanted| given.is_some_and(|given| given.eq_ignore_ascii_case(wanted)))
        };
        let at = free().find(same).or_else(|| free().next())?;
        self.taken.push((kind, at));
        let thing = list.get(at)?.clone();
        // A file called `--all` is no option.
        let needs_folder = matches!(kind, Kind::File | Kind::Folder) && thing.starts_with('-');
        Some(if needs_folder { format!("./{thing}") } else { thing })
    }
}

fn bare(word: &str) -> &str {
    word.trim_matches(['<', '>', '{', '}', '[', ']', '"', '$', '.'])
}

/// What a word of a command stands for; nothing when it is meant as it is written.
fn kind_of(word: &str, before: &str) -> Option<Kind> {
    let inner = bare(word);
    let bracketed = word.starts_with('<') && word.ends_with('>')
        || word.starts_with('{') && word.ends_with('}')
        || word.starts_with('$') && inner.len() > 1;
    let capitals = inner.len() == 1 && inner == "N"
        || inner.len() > 1
            && inner.starts_with(|c: char| c.is_ascii_uppercase())
            && inner
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_-".contains(&b));
    let sample =
        !word.starts_with('-') && (extension(word).is_some() || word.starts_with("path/to"));
    let chinese =
        CHINESE_KINDS.iter().find(|(_, names)| names.contains(&inner)).map(|(kind, _)| *kind);
    if chinese.is_some() {
        return chinese;
    }
    if !bracketed && !capitals && !sample {
        return None;
    }
    if sample && !bracketed && !capitals {
        // What a script is asked to write keeps the name that the skill gives it.
        let writes = ["-o", "--out", "--output", "--output-file", "--dest"].contains(&before)
            || inner.to_ascii_lowercase().starts_with("out");
        return (!writes).then_some(Kind::File);
    }
    let option = before.trim_start_matches('-').to_ascii_lowercase();
    if before.starts_with('-') {
        match option.as_str() {
            "by" | "group" | "group-by" | "groupby" | "per" => return Some(Kind::Group),
            "column" | "measure" | "sum" | "value" | "of" => return Some(Kind::Measure),
            _ => {}
        }
    }
    Some(kind_of_name(&inner.to_ascii_lowercase()))
}

/// Placeholders in Chinese, in brackets or bare.
const CHINESE_KINDS: &[(Kind, &[&str])] = &[
    (
        Kind::File,
        &["文件", "文件名", "输入", "输入文件", "路径", "文件路径", "数据文件", "源文件", "表格"],
    ),
    (Kind::Folder, &["文件夹", "目录", "项目", "仓库", "项目目录"]),
    (Kind::Group, &["列", "列名", "分组", "字段", "分组列"]),
    (Kind::Measure, &["数值", "数值列", "指标", "度量"]),
    (Kind::Number, &["数量", "数字", "行数", "个数", "页数", "条数"]),
    (Kind::Address, &["网址", "链接", "地址"]),
    (
        Kind::Text,
        &["文本", "文字", "内容", "名字", "名称", "姓名", "标题", "关键词", "查询", "消息", "主题"],
    ),
];

fn kind_of_name(name: &str) -> Kind {
    const KINDS: &[(Kind, &[&str])] = &[
        (Kind::Folder, &["folder", "dir", "directory", "root", "project", "repo"]),
        (Kind::Address, &["url", "link", "address", "uri"]),
        (Kind::Group, &["column", "group", "field", "key", "by"]),
        (Kind::Measure, &["numbers", "measure", "value", "values", "metric"]),
        (
            Kind::File,
            &[
                "file", "input", "path", "csv", "tsv", "pdf", "json", "source", "src", "document",
                "doc", "image", "data", "filename", "infile", "xlsx", "docx", "video", "audio",
            ],
        ),
        (
            Kind::Number,
            &[
                "n", "count", "num", "number", "rows", "limit", "size", "port", "width", "height",
                "pages",
            ],
        ),
        (
            Kind::Text,
            &[
                "text", "query", "message", "prompt", "string", "title", "name", "topic", "word",
                "words",
            ],
        ),
    ];
    if extension(name).is_some() {
        return Kind::File;
    }
    let parts: Vec<&str> = name.split(['-', '_', '/', ' ']).collect();
    // The last part says what it is: `input-file`, `sheet_name`.
    let found = parts.iter().rev().find_map(|part| {
        KINDS.iter().find(|(_, names)| names.contains(part)).map(|&(kind, _)| kind)
    });
    found.unwrap_or(Kind::Unknown)
}
