//! Files whose names hold Chinese characters, cut out of a request that writes no blanks: `把数据.csv按地区汇总`.
//! tidy:allow-cjk
//!
//! A name in quotation marks is whole. Otherwise it ends with its extension and begins at a blank, at a sign,
//! or behind a word that stands before files. Names in Latin letters are words like others.

use crate::entities::{extension, is_chinese};

/// What stands before a file and is no part of its name.
const BEFORE: &[&str] = &["把", "将", "对", "按", "用", "给", "从", "在", "的", "和", "与"];
/// What a request begins with, before a file.
const VERBS: &[&str] = &[
    "请",
    "帮我",
    "麻烦",
    "总结",
    "概括",
    "汇总",
    "统计",
    "计算",
    "读取",
    "读一下",
    "阅读",
    "查看",
    "看看",
    "看一下",
    "打开",
    "显示",
    "打印",
    "检查",
    "分析",
    "列出",
    "比较",
    "一下",
    "里",
    "求",
    "读",
    "看",
];
const QUOTES: &[(char, char)] =
    &[('“', '”'), ('「', '」'), ('『', '』'), ('《', '》'), ('"', '"'), ('\'', '\''), ('`', '`')];

/// The files with such names, each once, in the order of the request.
pub(crate) fn chinese_files(request: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if is_chinese(name) && extension(name).is_some() && !files.iter().any(|known| known == name)
        {
            files.push(name.to_owned());
        }
    };
    let mut plain = request.to_owned();
    for &(open, close) in QUOTES {
        while let Some(at) = plain.find(open) {
            let start = at + open.len_utf8();
            let Some(end) = plain[start..].find(close).map(|end| start + end) else { break };
            add(&plain[start..end]);
            plain.replace_range(at..end + close.len_utf8(), " ");
        }
    }
    let is_sign = |c: char| c.is_whitespace() || "，。；：！？、（）()[]【】,;!?“”「」".contains(c);
    let begin = plain.len() - plain.trim_start().len();
    let mut at = 0;
    for chunk in plain.split(is_sign) {
        let mut rest = chunk;
        while let Some((name, behind)) = first_file(rest) {
            add(bare(name, at == begin && rest.len() == chunk.len()));
            rest = behind;
        }
        at += chunk.len() + plain[at + chunk.len()..].chars().next().map_or(0, char::len_utf8);
    }
    files
}

/// The text up to the end of the first extension, and what is behind it.
fn first_file(text: &str) -> Option<(&str, &str)> {
    text.match_indices('.').find_map(|(at, _)| {
        let behind = &text[at + 1..];
        let length = behind.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let goes_on = behind[length..].starts_with(['.', '-', '_', '/']);
        let name = &text[..at + 1 + length];
        (!goes_on && extension(name).is_some()).then_some((name, &behind[length..]))
    })
}

/// A name without the words before it.
fn bare(name: &str, begins: bool) -> &str {
    let stem = name.rfind(['/', '.']).map_or(name, |end| &name[..end]);
    let cut = BEFORE.iter().filter_map(|word| Some(stem.rfind(word)? + word.len())).max();
    let mut name = &name[cut.unwrap_or(0)..];
    while let Some(rest) = VERBS.iter().find_map(|verb| name.strip_prefix(verb)).filter(|_| begins)
    {
        if rest.starts_with('.') {
            break;
        }
        name = rest;
    }
    // 按地区汇总sales.csv: the name itself is in Latin letters.
    let verb = VERBS.iter().filter_map(|verb| Some(name.rfind(verb)? + verb.len())).max();
    verb.map(|at| &name[at..])
        .filter(|it| it.starts_with(|c: char| c.is_ascii_alphanumeric()))
        .unwrap_or(name)
}

/// A text without some of its parts; a sign in their place ends what stands before.
pub(crate) fn without_all(text: &str, parts: &[String]) -> String {
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part.as_str(), " ， "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_chinese_are_found_whole() {
        for (request, file) in [
            ("总结“数据.csv”", "数据.csv"),
            ("总结「数据.csv」", "数据.csv"),
            ("总结《数据.csv》", "数据.csv"),
            ("总结 \"我的 数据.csv\"", "我的 数据.csv"),
            ("统计 数据.csv，按region分组", "数据.csv"),
            ("把数据.csv按region汇总", "数据.csv"),
            ("总结 ~/数据.csv，按region分组", "~/数据.csv"),
            ("总结数据.csv", "数据.csv"),
            ("read 数据.csv", "数据.csv"),
            ("汇总 统计数据.csv", "统计数据.csv"),
            ("平均单价按城市 销售.csv", "销售.csv"),
            ("请帮我查看数据/一月.csv的内容", "数据/一月.csv"),
            ("数据2024.csv里有多少行", "数据2024.csv"),
            ("把“数据.csv”按地区汇总", "数据.csv"),
        ] {
            assert_eq!(chinese_files(request), [file], "{request}");
        }
        for request in
            ["按地区汇总sales.csv", "总结sales.csv", "读取 a.txt", "没有文件", "“", "销售。csv"]
        {
            assert_eq!(chinese_files(request), [""; 0], "{request}");
        }
        assert_eq!(chinese_files("比较 甲.csv 和 乙.csv"), ["甲.csv", "乙.csv"]);
    }
}
