//! A look at a file of data: `overview of sales.csv`, `what's in q1.tsv?`, `看一下 sales.csv`.
//!
//! A request that names one such file, and says beyond that only that someone wants to see what it is, is for a
//! skill that is about files of its kind: its own words find skills for an overview of something else. Reading it
//! out would show rows and no overview, so only kinds whose text is no summary are meant: prose, settings and code
//! are read. A request with one word more than this grammar knows is none. tidy:allow-cjk

use crate::entities::{RequestEntities, extension, is_in_chinese};
use crate::formats;

/// Words that ask what a file is.
#[rustfmt::skip]
const LOOKS: &[&str] = &[
    "overview", "glance", "look", "looks", "looking", "gist", "rundown", "peek", "preview", "view", "skim", "scan",
    "explore", "describe", "description", "explain", "contain", "contains", "introduce", "introduction", "outline",
    "impression", "idea", "picture",
];
/// Those that need a second one: `what's in`, `tell me about`, `walk me through`.
const PAIRS: &[(&[&str], &[&str])] = &[
    (&["what", "whats", "what's"], &["in", "inside", "about"]),
    (&["tell", "know", "learn"], &["about"]),
    (&["walk", "go"], &["through"]),
];
/// Words that may stand beside them.
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "a", "an", "the", "at", "of", "in", "inside", "into", "on", "for", "from", "me", "us", "my", "our", "i", "i'd", "we",
    "want", "need", "to", "please", "can", "could", "would", "you", "give", "take", "have", "get", "show", "tell", "let's",
    "let", "quick", "quickly", "short", "brief", "briefly", "high", "level", "high-level", "rough", "general", "first",
    "basic", "what", "whats", "what's", "is", "does", "it", "its", "this", "that", "file", "data", "dataset", "table",
    "spreadsheet", "content", "contents", "like", "about", "some", "just", "hi", "hello", "hey", "thanks", "thank",
    "over", "through", "walk", "go", "know", "learn", "good", "great", "up", "there", "stored", "out",
];
/// The same in Chinese, the longer ones first where one begins another.
#[rustfmt::skip]
const CHINESE_LOOKS: &[&str] = &[
    "概览", "概况", "概述", "概要", "总览", "一览", "速览", "预览", "浏览", "了解", "介绍", "描述", "扫一眼", "过一遍", "有什么", "有些什么",
    "有哪些", "是什么", "讲了什么", "讲什么", "什么样", "长什么样", "大概情况", "基本情况",
];
/// Those that may also ask for the text.
const CHINESE_SEES: &[&str] = &["看一下", "看一看", "看一眼", "看看", "看下", "瞧瞧"];
#[rustfmt::skip]
const CHINESE_BESIDE: &[&str] = &[
    "帮我", "帮忙", "请", "麻烦", "谢谢", "给我", "让我", "告诉我", "我想", "我要", "一下", "快速", "简单", "简要", "大致", "大概", "先", "数据", "文件",
    "表格", "内容", "这个", "那个", "一个", "情况", "做", "个", "的", "里面", "里", "中", "都", "对", "进行", "能", "可以", "吗", "呢", "吧", "想", "要",
    "我", "你", "到底", "究竟",
];

/// The kind of the file that the request wants to be looked at.
pub(crate) fn kind(request: &str, given: &[String]) -> Option<String> {
    let entities = RequestEntities::of(request, given);
    let [file] = &entities.files[..] else { return None };
    let kind = extension(file).filter(|kind| formats::is_data(kind))?.to_lowercase();
    let lower = request.to_lowercase().replace('’', "'").replace(&file.to_lowercase(), " ");
    let asks = if is_in_chinese(request) { is_chinese_look(&lower) } else { is_look(&lower) };
    asks.then_some(kind)
}

/// What a skill for it says of itself, in words to rank by.
pub(crate) fn words_to_rank(request: &str, kind: &str) -> String {
    if is_in_chinese(request) {
        format!("汇总 {kind} 文件, summarise a {kind} file")
    } else {
        format!("summarise a {kind} file")
    }
}

fn is_look(text: &str) -> bool {
    let words = text.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !c.is_alphanumeric()).trim_end_matches("'s").to_owned()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let asks = has(LOOKS) || PAIRS.iter().any(|(first, second)| has(first) && has(second));
    let is_known = |word: &String| [LOOKS, BESIDE].concat().contains(&word.as_str());
    asks && words.iter().all(is_known)
}

fn is_chinese_look(text: &str) -> bool {
    let has = |list: &[&str]| list.iter().any(|word| text.contains(word));
    // 看看内容 asks for the text.
    let asks = has(CHINESE_LOOKS) || has(CHINESE_SEES) && !text.contains("内容");
    let lists = [CHINESE_LOOKS, CHINESE_SEES, CHINESE_BESIDE].concat();
    let rest = lists.iter().fold(text.to_owned(), |rest, word| rest.replace(word, " "));
    asks && !rest.chars().any(char::is_alphanumeric)
}
