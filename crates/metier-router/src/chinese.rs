//! What a request in Chinese names: columns to group by, to add up, and how many of the largest.
//! tidy:allow-cjk
//!
//! | said | gives |
//! |---|---|
//! | 按地区汇总, 每个产品的销量, 各地区的销量 | a group |
//! | units 的总和, 价格的平均值, 总销量, 平均价格 | a measure |
//! | 销量最高的 3 个产品, 销量前三的产品, 哪些产品的销量最高 | a group, a measure and a number |
//!
//! Chinese has no blanks, so a column ends where a word stands that cannot be part of one.

use std::ops::Range;

use crate::entities::{RequestEntities, extension, is_han, push};

const GROUPS: &[&str] = &["按照", "按", "每个", "每种", "根据", "各个", "各"];
/// What is added up stands before one of these and 的.
const MEASURES: &[&str] = &["总和", "平均", "合计", "总计", "均值", "最大", "最小", "总数"];
/// What is added up stands behind one of these.
const BEFORE_MEASURE: &[&str] = &["平均", "总"];
/// Words that look as if a measure followed.
const NOT_BEFORE_MEASURE: &[&str] =
    &["总和", "总计", "总结", "总共", "总数", "总体", "总是", "总览", "平均值", "平均数", "平均的"];
/// What is ranked stands before and behind one of these.
const TOPS: &[&str] = &["最高", "最多", "最大", "最好", "前"];
/// Those of them that may stand directly behind a column.
const SUMS: &[&str] = &["总和", "合计", "总计"];
/// What is asked for and is no column.
const NO_MEASURE: &[&str] = &[
    "行数", "个数", "次数", "数目", "情况", "数据", "分布", "汇总", "统计", "明细", "占比", "比例",
    "内容", "最", "总", "平均", "均", "帮我", "一下", "表格", "结果", "文件", "全部", "所有",
    "各列", "每列", "整体", "前", "什么", "区别", "信息",
];
/// What 前 3 counts without being groups.
const ROWS: &[&str] = &["行", "条", "列", "字", "个字"];
/// What ends a column.
const ENDS: &[&str] = &[
    "汇总", "分组", "统计", "归类", "合计", "总计", "按", "来", "求", "计算", "算", "列", "进行",
    "排", "的", "是", "有", "在", "里", "中", "哪", "多少", "怎", "吗", "呢", "分别", "，", "。",
    "、", "？", "?", "！", "：",
];
/// What a column does not begin with.
const OPENINGS: &[&str] = &[
    "按照", "按", "里", "中", "的", "哪些", "哪个", "哪", "列出", "找出", "给我", "请", "查", "看",
];
pub(crate) const COUNTERS: &[&str] = &["个", "名", "种", "位", "款", "大", "项", "条"];
pub(crate) const DIGITS: &[(char, &str)] = &[
    ('一', "1"),
    ('二', "2"),
    ('两', "2"),
    ('三', "3"),
    ('四', "4"),
    ('五', "5"),
    ('六', "6"),
    ('七', "7"),
    ('八', "8"),
    ('九', "9"),
    ('十', "10"),
];
const MAX_COLUMN_CHARS: usize = 20;
/// Characters beside a number that say whether it is one.
const MAX_BEFORE: usize = 16;

impl RequestEntities {
    /// Adds what a request in Chinese names.
    pub(crate) fn read_chinese(&mut self, request: &str) {
        let ranked = self.read_chinese_top(request);
        for open in GROUPS {
            for (at, _) in request.match_indices(open) {
                let rest = request[at + open.len()..].trim_start();
                let column = &columns_at(rest);
                let is_order = rest
                    .strip_prefix(column.as_str())
                    .is_some_and(|it| it.trim_start().starts_with("排序"));
                if is_order {
                    continue;
                }
                // 按销量排前三的产品: ranked by, not grouped by.
                let is_measure = ranked && self.measures.iter().any(|it| it == column);
                if !column.is_empty() && !is_measure {
                    push(&mut self.groups, column);
                }
                // 每个城市的销量: what is asked for stands behind its group.
                let behind = rest.strip_prefix(column.as_str()).map(str::trim_start);
                if let Some(behind) = behind.and_then(|it| it.strip_prefix('的')) {
                    let measure = without_measure(column_at(behind));
                    if !NO_MEASURE.iter().any(|word| measure.contains(word)) {
                        self.add_measure(measure);
                    }
                }
            }
        }
        for mark in MEASURES {
            for (at, _) in request.match_indices(mark) {
                let before = request[..at].trim_end();
                // 产品的平均价格: the measure follows.
                let follows = column_at(&request[at + mark.len()..]);
                let is_last = matches!(follows, "" | "值" | "数");
                let column = match before.strip_suffix('的') {
                    Some(before) => column_before(before.trim_end()),
                    // 销量合计
                    None if SUMS.contains(mark) => column_before(before),
                    None => "",
                };
                let is_column = !NO_MEASURE.iter().any(|word| column.contains(word));
                self.add_measure(if is_last && is_column { column } else { "" });
            }
        }
        for mark in BEFORE_MEASURE {
            for (at, _) in request.match_indices(mark) {
                let rest = &request[at..];
                // 汇总 is about all columns.
                let is_word = request[..at].ends_with('汇')
                    || NOT_BEFORE_MEASURE.iter().any(|word| rest.starts_with(word));
                if !is_word {
                    self.add_measure(column_at(&rest[mark.len()..]));
                }
            }
        }
    }

    fn add_measure(&mut self, column: &str) {
        let is_group = self.groups.iter().any(|group| group == column);
        if !column.is_empty() && !is_group {
            push(&mut self.measures, column);
        }
    }

    /// 销量最高的 3 个产品: groups of products, measured in sales. Whether anything is ranked.
    fn read_chinese_top(&mut self, request: &str) -> bool {
        for mark in TOPS {
            for (at, _) in request.match_indices(mark) {
                let before = request[..at].trim_end();
                let before = before.trim_end_matches("排名").trim_end_matches("排行");
                let measure = column_before(before.trim_end_matches(['排', '的']));
                let (number, rest) = number_at(&request[at + mark.len()..]);
                let behind = column_at(rest);
                // 前 2 个地区: by rows.
                if *mark == "前" && number.is_some() && measure.is_empty() && !behind.is_empty() {
                    if !ROWS.contains(&behind) {
                        push(&mut self.groups, behind);
                        if let Some(number) = &number {
                            push(&mut self.numbers, number);
                        }
                        return true;
                    }
                    continue;
                }
                if measure.is_empty() || *mark == "前" && number.is_none() {
                    continue;
                }
                // 哪些产品的销量最高: what is ranked stands before its measure.
                let ahead = before.strip_suffix(measure).map(str::trim_end);
                let ahead = ahead.and_then(|it| it.strip_suffix('的')).map(column_before);
                let ahead = ahead.map(without_count).unwrap_or_default();
                let group = if behind.is_empty() { ahead } else { behind };
                if group.is_empty() || group == measure {
                    continue;
                }
                self.groups.retain(|known| known != measure);
                self.groups.insert(0, group.to_owned());
                push(&mut self.measures, measure);
                self.ranks = true;
                if let Some(number) = number {
                    push(&mut self.numbers, &number);
                }
                return true;
            }
        }
        false
    }
}

/// The request with `２` as `2` where a number is read: before what is counted, behind 前, 第 or `top`. Not in a
/// file's name or in quotation marks, where the signs themselves are meant. Nothing where it is as it was.
pub(crate) fn with_plain_digits(request: &str, given: &[String]) -> Option<String> {
    const BEFORE: &[&str] = &[
        "前", "第", "大于", "小于", "超过", "top", "first", "last", "bottom", "line", "lines",
        "rows",
    ];
    const BEHIND: &[&str] = &["行", "列", "年", "rows", "lines", "groups"];
    const JOINTS: &[&str] = &["到", "至", "-", "~", "～", "—", "to", "and"];
    let is_wide = |c: char| matches!(c, '０'..='９');
    if !request.contains(is_wide) {
        return None;
    }
    let entities = RequestEntities::of(request, given);
    let kept = entities.files.iter().chain(&entities.texts).chain(&entities.folders);
    let kept: Vec<Range<usize>> = kept
        .flat_map(|part| request.match_indices(part.as_str()))
        .map(|(at, part)| at..at + part.len())
        .collect();
    let mut plain = String::with_capacity(request.len());
    let mut read = 0;
    while let Some(start) = request[read..].find(is_wide).map(|at| read + at) {
        let length = request[start..].find(|c| !is_wide(c)).unwrap_or(request.len() - start);
        let end = start + length;
        let is_kept = kept.iter().any(|part| part.start < end && start < part.end);
        plain.push_str(&request[read..start]);
        let tail = plain.trim_end().char_indices().rev().nth(MAX_BEFORE).map_or(0, |(at, _)| at);
        let before = plain.trim_end()[tail..].to_lowercase();
        let lower: String = request[end..]
            .trim_start()
            .chars()
            .take(MAX_BEFORE)
            .flat_map(char::to_lowercase)
            .collect();
        let continues = JOINTS.iter().any(|joint| {
            let head =
                before.strip_suffix(joint).map(|head| head.trim_end().trim_end_matches('行'));
            head.is_some_and(|head| head.ends_with(|c: char| c.is_ascii_digit()))
        });
        let begins = |list: &[&str]| list.iter().any(|word| lower.starts_with(word));
        let is_number = BEFORE.iter().any(|word| before.ends_with(word))
            || begins(BEHIND)
            || begins(COUNTERS)
            || continues
            // The first of a range.
            || JOINTS.iter().any(|joint| {
                lower.strip_prefix(joint).is_some_and(|rest| rest.trim_start().starts_with(is_wide))
            });
        let narrow = |c: char| char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c);
        let digits = &request[start..end];
        if is_number && !is_kept && !request[end..].starts_with('/') {
            plain.extend(digits.chars().map(narrow));
        } else {
            plain.push_str(digits);
        }
        read = end;
    }
    plain.push_str(&request[read..]);
    (plain != request).then_some(plain)
}

/// A number and what counts things, and what follows them: `的 3 个产品` gives 3 and `产品`.
fn number_at(text: &str) -> (Option<String>, &str) {
    let text = text.trim_start_matches('的').trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = match (&text[..digits], text.chars().next()) {
        ("", Some(first)) => match DIGITS.iter().find(|(digit, _)| *digit == first) {
            Some((_, number)) => (Some((*number).to_owned()), &text[first.len_utf8()..]),
            None => (None, text),
        },
        ("", None) => (None, text),
        (number, _) => (Some(number.to_owned()), &text[digits..]),
    };
    let rest = rest.trim_start();
    let counter =
        COUNTERS.iter().find_map(|counter| rest.strip_prefix(counter)).filter(|_| number.is_some());
    (number, counter.unwrap_or(rest).trim_start_matches('的').trim_start())
}

/// A column without the count before it: `3 个产品` and `个产品` are `产品`.
fn without_count(column: &str) -> &str {
    let (_, rest) = number_at(column);
    let counted = ["个", "些", "种"].iter().find_map(|counter| rest.strip_prefix(counter));
    counted.unwrap_or(rest)
}

/// The column that a text begins with.
fn column_at(text: &str) -> &str {
    let text = text.trim_start();
    let end = ENDS.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let end = end.min(text.find(char::is_whitespace).unwrap_or(text.len()));
    as_column(&text[..end])
}

/// The column that a text ends with: one word of letters, or of Chinese characters.
fn column_before(text: &str) -> &str {
    let Some(last) = text.chars().next_back() else { return "" };
    let is_part =
        |c: char| if is_han(last) { is_han(c) } else { c.is_ascii_alphanumeric() || c == '_' };
    let start = text
        .rfind(|c| !is_part(c))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let mut word = &text[start..];
    // Only what stands behind the last word that opens a phrase.
    for opening in OPENINGS {
        if let Some(at) = word.rfind(opening) {
            word = &word[at + opening.len()..];
        }
    }
    as_column(word)
}

/// One column, or two with a comma between: 按 region 和 product.
fn columns_at(text: &str) -> String {
    let joints = ['和', '与', '及', '、'];
    let first = column_at(text);
    if let Some((one, other)) =
        first.split_once(joints).filter(|(one, other)| !one.is_empty() && !other.is_empty())
    {
        return format!("{one},{other}");
    }
    let first = first.trim_end_matches(joints);
    let behind = text.trim_start().strip_prefix(first).map(str::trim_start).unwrap_or_default();
    match behind.strip_prefix(joints).map(column_at) {
        Some(second) if !first.is_empty() && !second.is_empty() => format!("{first},{second}"),
        _ => first.to_owned(),
    }
}

/// 销量合计 without 合计.
fn without_measure(column: &str) -> &str {
    MEASURES.iter().find_map(|mark| column.strip_suffix(mark)).unwrap_or(column).trim_end()
}

fn as_column(word: &str) -> &str {
    let word = word.trim().trim_matches(['"', '“', '”', '`']);
    let fits = word.chars().count() <= MAX_COLUMN_CHARS
        && word.starts_with(|c: char| c.is_alphabetic())
        && extension(word).is_none();
    if fits { word } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_digits_are_read_where_a_number_is() {
        for (request, plain) in [
            ("显示 notes.txt 的第 ３ 到 ２ 行", "显示 notes.txt 的第 3 到 2 行"),
            ("显示 notes.txt 的第３-１２行", "显示 notes.txt 的第3-12行"),
            ("看看 ２月.csv 前２行", "看看 ２月.csv 前2行"),
            ("销量最高的 ２ 个产品", "销量最高的 2 个产品"),
            ("销量排名前３", "销量排名前3"),
            ("top ３ products by units", "top 3 products by units"),
            ("read lines ２ to ３ of a.txt", "read lines 2 to 3 of a.txt"),
            ("２０２４ 年的销量", "2024 年的销量"),
        ] {
            assert_eq!(with_plain_digits(request, &[]).as_deref(), Some(plain), "{request}");
        }
        for request in [
            "检查 ２月报告.csv",
            "find “１２３” in notes.txt",
            "find \"前３行\" in notes.txt",
            "搜索 １２３",
            "读取 第２行.txt",
            "ls 数据２/前３/",
            "ls",
        ] {
            assert_eq!(with_plain_digits(request, &[]), None, "{request}");
        }
    }

    #[test]
    fn columns_are_found_in_chinese() {
        type Named<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: &[(&str, Named<'_>)] = &[
            ("按 region 汇总 sales.csv", (&["region"], &[], &[])),
            ("按地区汇总销量", (&["地区"], &[], &[])),
            ("统计 sales.csv 中 units 的总和", (&[], &["units"], &[])),
            ("sales.csv 里销量最高的 3 个产品", (&["产品"], &["销量"], &["3"])),
            ("销量最高的三个产品是哪些", (&["产品"], &["销量"], &["3"])),
            ("sales.csv 中销量前5的产品", (&["产品"], &["销量"], &["5"])),
            ("按销量排名前三的产品", (&["产品"], &["销量"], &["3"])),
            ("哪些产品的销量最高", (&["产品"], &["销量"], &[])),
            ("sales.csv 中哪 3 个产品的销量最高？", (&["产品"], &["销量"], &["3"])),
            ("计算 sales.csv 的总销量", (&[], &["销量"], &[])),
            ("平均价格是多少", (&[], &["价格"], &[])),
            ("按 region 和 product 汇总", (&["region,product"], &[], &[])),
            ("按地区和产品汇总", (&["地区,产品"], &[], &[])),
            ("按地区、产品统计", (&["地区,产品"], &[], &[])),
            ("销售.csv 里每个城市的销量合计", (&["城市"], &["销量"], &[])),
            ("sales.csv 前 2 个地区", (&["地区"], &[], &["2"])),
            ("平均单价按城市 销售.csv", (&["城市"], &["单价"], &[])),
            ("把数据.csv按region汇总", (&["region"], &[], &[])),
            ("统计 数据.csv，按region分组", (&["region"], &[], &[])),
            ("每个地区的行数", (&["地区"], &[], &[])),
            ("按地区合计", (&["地区"], &[], &[])),
            ("显示 sales.csv 的前 2 行", (&[], &[], &["2"])),
            ("每个产品的平均价格", (&["产品"], &["价格"], &[])),
            ("总结 README.md", (&[], &[], &[])),
            ("总共有多少行", (&[], &[], &[])),
            ("按 units 排序", (&[], &[], &[])),
            ("前面的文件", (&[], &[], &[])),
        ];
        for (request, (groups, measures, numbers)) in cases {
            let found = RequestEntities::of(request, &[]);
            assert_eq!(found.groups, *groups, "{request}");
            assert_eq!(found.measures, *measures, "{request}");
            assert_eq!(found.numbers, *numbers, "{request}");
        }
    }
}
