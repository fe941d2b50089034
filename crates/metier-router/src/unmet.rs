//! What a request asks for that was not passed to a script: a filter, a second file, a second wish.
//!
//! A script that was run without them answers another question than the one that was asked, so the answer
//! says what was not done. Marks of such wishes are looked for in the words, in English and Chinese
//! (tidy:allow-cjk), and what else nothing accounts for is named too (`leftover`); a word too many costs a
//! sentence, one too few a wrong answer.

use std::borrow::Cow;
use std::ops::Range;

use crate::asides;
use metier_model::LoadedText;
use metier_skill::text::for_model;

use crate::entities::{ROWS, RequestEntities, extension, is_in_chinese};
use crate::leftover::{self, Account};

/// What leaves a part of a table out. The first of a request is no such mark: `where is …`.
const FILTERS: &[&str] = &[
    "where",
    "excluding",
    "exclude",
    "except",
    "without",
    "ignoring",
    "ignore",
    "besides",
    "whose",
];
/// What may stand before a year, a month or a value.
const BEFORE_VALUE: &[&str] =
    &["in", "for", "from", "since", "before", "after", "during", "until", "between", "of"];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "q1",
    "q2",
    "q3",
    "q4",
    "today",
    "yesterday",
];
/// Orders and figures that scripts seldom have an option for.
const OTHERS: &[&str] = &[
    "bottom",
    "lowest",
    "smallest",
    "fewest",
    "least",
    "worst",
    "cheapest",
    "median",
    "percentile",
    "percentage",
    "correlation",
    "growth",
    "sorted",
    "compare",
    "versus",
    "vs",
];
/// What is done besides.
const WISHES: &[&str] = &[
    "delete",
    "remove",
    "erase",
    "email",
    "e-mail",
    "mail",
    "send",
    "save",
    "write",
    "export",
    "plot",
    "chart",
    "draw",
    "graph",
    "upload",
    "post",
    "publish",
    "rename",
    "move",
    "copy",
    "translate",
    "commit",
    "push",
    "notify",
    "share",
    "convert",
    "create",
    "make",
    "open",
    "sort",
    "explain",
    "deploy",
    "overwrite",
    "update",
    "edit",
    "append",
    "fix",
    "message",
    "tweet",
    "store",
    "put",
    "compare",
    "install",
];
const CHINESE_FILTERS: &[&str] = &[
    "除了",
    "除去",
    "排除",
    "不含",
    "不包括",
    "不算",
    "去掉",
    "只看",
    "仅看",
    "只统计",
    "仅统计",
    "只算",
    "仅限",
    "除",
];
const CHINESE_OTHERS: &[&str] =
    &["最低", "最少", "倒数", "中位数", "增长", "占比", "比较", "对比", "最便宜"];
const CHINESE_WISHES: &[&str] = &[
    "删除",
    "删掉",
    "发送",
    "发邮件",
    "发给",
    "邮件",
    "保存",
    "导出",
    "画",
    "翻译",
    "上传",
    "提交",
    "重命名",
    "移动",
    "通知",
    "分享",
    "写入",
    "写到",
    "复制",
    "修改",
    "排序",
];
/// Characters of an output in which columns are looked for.
const MAX_HEAD: usize = 4000;
const CHINESE_JOINTS: &[&str] = &["并且", "并", "然后", "再", "同时", "还要", "最后", "，"];

/// A script that was run for a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptRun<'r> {
    pub(crate) args: &'r [String],
    /// The name and the description of its skill.
    pub(crate) about: &'r str,
    /// The skill's own text, which may promise what no argument says.
    pub(crate) body: &'r str,
    /// What it printed.
    pub(crate) output: &'r str,
}

/// The parts of a request that a run of a script does not do.
pub(crate) fn unmet(request: &str, entities: &RequestEntities, run: &ScriptRun<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in &entities.files {
        let is_passed = run.args.iter().any(|arg| arg.trim_start_matches("./") == file);
        if !is_passed {
            found.push(file.clone());
        }
    }
    let columns: String = run.output.chars().take(MAX_HEAD).collect();
    let request = &*asides::without(request, &entities.files, &columns.to_lowercase());
    let body = leftover::without_refusals(run.body).to_lowercase();
    let promised = promised(&body);
    let about =
        promised.iter().fold(run.about.to_owned(), |about, wish| format!("{about}\n{wish}"));
    let account = Account::new(run.args, &about, run.output, entities);
    if is_in_chinese(request) {
        let files = &entities.files;
        let blank = |text: String, file: &String| text.replace(file.as_str(), " ");
        let text = files.iter().fold(request.to_owned(), blank);
        chinese(&text, &body, &account, &mut found);
        found.retain(|part| !is_given(part, run.args));
        let left = leftover::chinese(&text, &account, &found);
        found.extend(left);
    } else {
        english(request, entities, run, &account, &promised, &mut found);
    }
    found.dedup();
    found
}

/// A skill's text without what the person put behind its name: own words promise nothing.
pub(crate) fn own_text(skill: &LoadedText) -> Cow<'_, str> {
    let given = for_model(skill.arguments.as_deref().unwrap_or_default());
    let given = given.trim();
    if given.is_empty() {
        return Cow::Borrowed(&skill.body);
    }
    // What no placeholder took stands at the end.
    let body = skill.body.trim_end();
    if let Some(own) = body.strip_suffix(given).and_then(|it| it.strip_suffix("\nARGUMENTS: ")) {
        return Cow::Owned(own.to_owned());
    }
    if body.contains(given) {
        return Cow::Owned(body.replace(given, " "));
    }
    // Each went to its place; a word of them that stands there may be the person's.
    let is_sign = |c: char| !c.is_alphanumeric();
    let theirs: Vec<&str> = given.split(is_sign).filter(|word| !word.is_empty()).collect();
    let part = |part: &'_ str| {
        let word = part.trim_end_matches(is_sign);
        if theirs.contains(&word) { part[word.len()..].to_owned() } else { part.to_owned() }
    };
    Cow::Owned(body.split_inclusive(is_sign).map(part).collect())
}

/// The wishes that a text says are done, in any form of their words: `exports` and `exporting` for `export`.
fn promised(body: &str) -> Vec<&'static str> {
    let words: Vec<&str> =
        body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_form = |wish: &str, word: &str| {
        let root = wish.strip_suffix('e').unwrap_or(wish);
        word.strip_prefix(root).is_some_and(|end| {
            // `plotting`
            let doubled = end.strip_prefix(|c| root.ends_with(c)).unwrap_or_default();
            word == wish
                || matches!(end, "s" | "es" | "ed" | "ing")
                || matches!(doubled, "ed" | "ing")
        })
    };
    let says = |wish: &&&str| match wish.split_once('-') {
        Some((first, second)) => words.windows(2).any(|pair| pair == [first, second]),
        None => words.iter().any(|word| is_form(wish, word)),
    };
    WISHES.iter().filter(says).copied().collect()
}

/// Whether the value that a part is about was passed.
fn is_given(part: &str, args: &[String]) -> bool {
    let last = part.split_whitespace().next_back().unwrap_or_default();
    extension(last).is_none() && args.iter().any(|arg| arg.eq_ignore_ascii_case(last))
}

fn english(
    request: &str,
    entities: &RequestEntities,
    run: &ScriptRun<'_>,
    account: &Account,
    promised: &[&str],
    found: &mut Vec<String>,
) {
    let words: Vec<&str> = request.split_whitespace().collect();
    let bare =
        |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-').to_lowercase();
    let lower: Vec<String> = words.iter().map(|word| bare(word).replace('’', "'")).collect();
    let marked = marked(&words, &lower, entities, run.args, |word| {
        account.has_figure(word) || promised.contains(&word)
    });
    let part = |range: &Range<usize>| {
        words[range.clone()].join(" ").trim_end_matches([',', '.', ';', '?', '!']).to_owned()
    };
    let mut parts = leftover::english(&words, &lower, account, &marked);
    parts.extend(marked.into_iter().filter(|range| !is_given(&part(range), run.args)));
    parts.sort_by_key(|range| range.start);
    found.extend(parts.iter().map(part));
}

/// The parts that a word marks as a filter, an order or a wish of its own, as ranges of words; not those that
/// `is_done`.
fn marked(
    words: &[&str],
    lower: &[String],
    entities: &RequestEntities,
    args: &[String],
    is_done: impl Fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let ranks = args.iter().any(|arg| arg == "--top");
    let is_named = |word: &str| {
        let named = [&entities.groups, &entities.measures, &entities.texts];
        named.iter().any(|list| list.iter().any(|it| it.eq_ignore_ascii_case(word)))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = lower.get(at).map(String::as_str) {
        let next = lower.get(at + 1).map_or("", String::as_str);
        let value =
            words.get(at + 1).map_or("", |next| next.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_year = value.len() == 4 && value.bytes().all(|b| b.is_ascii_digit());
        let is_proper = value.starts_with(|c: char| c.is_uppercase())
            && extension(value).is_none()
            && !matches!(value, "I" | "I'm" | "I'd" | "I'll")
            && word != "of"
            && !is_named(value);
        // `only for North`; but `only the total` leaves nothing out.
        let only = word == "only" && (BEFORE_VALUE.contains(&next) || is_proper);
        let length = if only || at > 0 && FILTERS.contains(&word) && !next.is_empty() {
            phrase(&words[at..], &lower[at..])
        } else if BEFORE_VALUE.contains(&word) && (is_year || MONTHS.contains(&next) || is_proper) {
            2
        } else if OTHERS.contains(&word) && !is_done(word) {
            1 + usize::from(next.bytes().all(|b| b.is_ascii_digit()) && !next.is_empty())
        } else if matches!(word, "top" | "first" | "last") {
            let counted = ROWS.contains(&lower.get(at + 2).map_or("", String::as_str));
            let number = next.bytes().all(|b| b.is_ascii_digit()) && !next.is_empty();
            // The largest groups are no rows.
            let is_else = if word == "top" { !ranks } else { ranks && counted };
            if number && is_else { 2 + usize::from(counted) } else { 0 }
        } else if matches!(word, "and" | "then" | "also" | "afterwards") {
            let skip = lower[at + 1..]
                .iter()
                .take_while(|it| matches!(it.as_str(), "then" | "also" | "please"));
            let wish = lower.get(at + 1 + skip.count()).map_or("", String::as_str);
            if WISHES.contains(&wish) && !is_done(wish) {
                phrase(&words[at..], &lower[at..])
            } else {
                0
            }
        } else {
            0
        };
        if length > 0 {
            found.push(at..(at + length).min(words.len()));
        }
        at += length.max(1);
    }
    found
}

/// How many words a part of a sentence has: up to a sign, another part, or a file.
fn phrase(words: &[&str], lower: &[String]) -> usize {
    let mut length = 1;
    while length < words.len() && !words[length - 1].ends_with([',', ';', '.', '?', '!']) {
        let word = lower[length].as_str();
        let ends = matches!(word, "by" | "per" | "and" | "then")
            || word == "in"
                && words
                    .get(length + 1)
                    .is_some_and(|next| extension(next.trim_matches(',')).is_some());
        if ends && length > 1 {
            break;
        }
        length += 1;
    }
    length
}

/// The parts that a word marks in Chinese; `text` is the request without its files.
fn chinese(text: &str, body: &str, account: &Account, found: &mut Vec<String>) {
    let clauses: Vec<&str> = text.split(['，', '。', '；', ',', ';', '？', '！', '?']).collect();
    for (at, clause) in clauses.iter().enumerate() {
        let clause = clause.trim();
        let part_from =
            |word: &str| clause.find(word).map(|start| clause[start..].trim().to_owned());
        if let Some(mut part) = CHINESE_FILTERS
            .iter()
            // 删除 leaves nothing out.
            .filter(|word| **word != "除" || clause.contains('外'))
            .find_map(|word| part_from(word))
        {
            if let Some(end) = part.find(['外', '的']) {
                part.truncate(end + '外'.len_utf8());
            }
            found.push(part);
        }
        found.extend(
            CHINESE_OTHERS
                .iter()
                .filter(|word| clause.contains(**word) && !account.has_figure(word))
                .map(|word| (*word).to_owned()),
        );
        found.extend(value(clause));
        found.extend(year(clause));
        let wish =
            CHINESE_WISHES.iter().find(|wish| clause.contains(**wish) && !body.contains(**wish));
        let joined = at > 0 || CHINESE_JOINTS.iter().any(|joint| clause.contains(joint));
        if let Some(wish) = wish.filter(|_| joined) {
            found.extend(part_from(wish));
        }
    }
}

/// `region 为 North`: a column and its value.
fn value(clause: &str) -> Option<String> {
    let (at, mark) =
        ["为", "等于", "="].iter().find_map(|mark| Some((clause.find(mark)?, *mark)))?;
    let before = clause[..at].trim_end();
    let behind = clause[at + mark.len()..].trim_start();
    let is_other = [
        "作", "分", "成", "因", "认", "称", "汇总", "整理", "转换", "保存", "输出", "变", "改",
        "存", "写",
    ]
    .iter()
    .any(|end| before.ends_with(end))
        || behind.starts_with("什么");
    let column = before
        .rsplit(|c: char| c.is_whitespace() || "里中的把对".contains(c))
        .next()
        .unwrap_or_default();
    let end = behind.find(|c: char| c.is_whitespace() || c == '的').unwrap_or(behind.len());
    let is_whole = !is_other && !column.is_empty() && end > 0;
    is_whole.then(|| format!("{column} {mark} {}", &behind[..end]))
}

/// `2024 年`.
fn year(clause: &str) -> Option<String> {
    let at = clause.find('年')?;
    let number = clause[..at].trim_end();
    let digits = number.bytes().rev().take_while(u8::is_ascii_digit).count();
    (digits == 4 || digits == 2).then(|| format!("{} 年", &number[number.len() - digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in summary, as far as these tests need it.
    const ABOUT: &str = "csv-summary\nSummarise a CSV or TSV file - count, sum, mean, minimum and maximum of its \
        numeric columns, for the whole table or grouped by a column. Use when someone wants totals, averages or a \
        breakdown of tabular data, such as \"sum the units in orders.csv\" or \"sales by region\". Do NOT use for data \
        quality checks, types or duplicates (use profile-csv), for Excel workbooks, or for charts.";
    const COLUMNS: &str =
        "sales.csv: 5 rows, 4 columns (product, region, units, price)\n\nunits by region:\n";

    fn not_done(request: &str, args: &str) -> Vec<String> {
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let run = ScriptRun { args: &args, about: ABOUT, body: "", output: COLUMNS };
        unmet(request, &RequestEntities::of(request, &[]), &run)
    }

    #[test]
    fn what_a_script_does_not_do_is_found() {
        for (request, wanted) in [
            ("total units by region in sales.csv", &[][..]),
            (
                "total units by region in sales.csv where region is North",
                &["where region is North"],
            ),
            ("total units where region is North in sales.csv", &["where region is North"]),
            ("sum units by region in sales.csv, excluding North", &["excluding North"]),
            ("total units by region in 2024 in sales.csv", &["in 2024"]),
            ("total units for North in sales.csv", &["for North"]),
            ("total units by region in sales.csv since March", &["since March"]),
            ("compare sales.csv and euro.csv", &["euro.csv", "compare"]),
            ("summarise sales.csv euro.csv", &["euro.csv"]),
            ("bottom 2 products by units in sales.csv", &["bottom 2"]),
            ("top 3 rows by units in sales.csv", &["top 3 rows"]),
            ("summarise sales.csv by region and delete it", &["and delete it"]),
            ("summarise sales.csv by region and email it to bob", &["and email it to bob"]),
            (
                "summarise sales.csv, then please upload the result",
                &["then please upload the result"],
            ),
            ("summarise sales.csv by region and product", &[]),
            ("sum the Units by Region in sales.csv", &[]),
            ("give me only the total units in sales.csv", &[]),
            ("group sales.csv by region and add up the units", &[]),
            ("total units in sales.csv, only for North", &["only for North"]),
            ("where is the total of units in sales.csv?", &[]),
            ("统计 sales.csv 中 region 为 North 的 units", &["region 为 North"]),
            ("按 region 汇总 sales.csv，除 North 外", &["除 North 外"]),
            ("按 region 汇总 sales.csv，排除 North", &["排除 North"]),
            ("2024 年 sales.csv 的总 units", &["2024 年"]),
            ("按 region 汇总 sales.csv，并删除它", &["删除它"]),
            ("按 region 汇总 sales.csv 并发送给张三", &["发送给张三"]),
            ("按 region 汇总 sales.csv", &[]),
            ("把 sales.csv 按 region 汇总为表格", &[]),
        ] {
            let args = "--by region,product,products --column units sales.csv";
            assert_eq!(not_done(request, args), wanted, "{request}");
        }
        let lowest =
            not_done("sales.csv 中销量最低的 2 个产品", "--by 产品 --column 销量 sales.csv");
        assert_eq!(lowest, ["最低", "2"]);
        let two =
            not_done("sales.csv 中销量最高的两个产品", "--by 产品 --column 销量 --top 2 sales.csv");
        assert_eq!(two, [""; 0]);
        let first = "total units by region in sales.csv, first 2 rows only";
        let args = "--by region --column units --top 2 sales.csv";
        assert_eq!(not_done(first, args), ["first 2 rows"]);
        assert_eq!(
            not_done("sales.csv 里每个产品的平均价格是多少", "--by 产品 --column 价格 sales.csv"),
            [""; 0]
        );
        // The smallest are grouped as the largest are, and nothing takes their number.
        let lowest = RequestEntities::of("bottom 2 products by units in sales.csv", &[]);
        assert_eq!(
            (lowest.groups, lowest.measures),
            (vec!["products".into()], vec!["units".into()])
        );
        assert_eq!((lowest.numbers, lowest.ranks), (Vec::new(), false));
        // What the script is given is done, and so is what the skill promises.
        let entities = RequestEntities::default();
        let given = ["North".to_owned()];
        let run = ScriptRun { args: &given, about: "", body: "", output: "" };
        assert_eq!(unmet("count all, excluding North", &entities, &run), [""; 0]);
        let run = ScriptRun { args: &[], about: "Renders.", body: "Uploads pages.", output: "" };
        assert_eq!(unmet("render it and upload it", &entities, &run), [""; 0]);
    }

    #[test]
    fn a_word_that_nothing_accounts_for_is_named() {
        for (request, wanted) in [
            ("total units of North in sales.csv", &["of North"][..]),
            ("total units of the North region in sales.csv", &["of the North region"]),
            ("total units of product B in sales.csv", &["of product B"]),
            ("total units of product A in sales.csv", &["of product A"]),
            ("total units of product a in sales.csv", &["of product a"]),
            ("total units for product B in sales.csv", &["for product B"]),
            ("total units for north in sales.csv", &["for north"]),
            ("total units in sales.csv if region is North", &["if region is North"]),
            ("total units in sales.csv when price is above 3", &["when price is above 3"]),
            ("total units in sales.csv with price over 3", &["with price over 3"]),
            ("total units greater than 2 in sales.csv", &["greater than 2"]),
            ("total units in sales.csv but not North", &["but not North"]),
            ("total units in sales.csv not counting North", &["not counting North"]),
            ("sum the units of the first 2 rows in sales.csv", &["first 2 rows"]),
            ("sum the units in sales.csv, first 2 rows only", &["first 2 rows"]),
            ("variance of units in sales.csv", &["variance of units"]),
            ("std dev of units in sales.csv", &["std dev of units"]),
            ("total price times units in sales.csv", &["price times units"]),
            ("total units and price in sales.csv", &["price"]),
            ("plot units in sales.csv", &["plot units"]),
            ("delete sales.csv after you total units", &["delete"]),
            ("half of the total units in sales.csv", &["half"]),
            ("total units of the last quarter in sales.csv", &["of the last quarter"]),
            ("sales.csv 里 North 的总 units", &["North"]),
            ("统计 sales.csv 里北方的 units 总和", &["北方"]),
            ("统计 sales.csv 里上海的 units 总和", &["上海"]),
            ("统计 sales.csv 里大于 2 的 units", &["大于 2"]),
            ("sales.csv 的 units 方差", &["方差"]),
        ] {
            assert_eq!(not_done(request, "--column units sales.csv"), wanted, "{request}");
        }
    }

    #[test]
    fn harmless_words_are_not_named() {
        for request in [
            "Hi, could you please quickly sum the units in sales.csv for me? Thanks!",
            "what's the total of units in sales.csv",
            "I'd like to know the average units in the file sales.csv",
            "how many units are there in total in sales.csv?",
            "show me a breakdown of the units column of sales.csv",
            "units in sales.csv",
            "use the csv-summary skill on sales.csv",
            "/csv-summary sales.csv",
            "Please Sum The Units In sales.csv",
            "SUM THE UNITS IN sales.csv",
            "sum the units in sales.csv before I go",
            "sales.csv 总共有多少行数据？",
            "compute the mean, minimum and maximum of units in sales.csv",
            "请帮我统计一下 sales.csv 里 units 的总和",
            "sales.csv 的总 units 是多少？",
            "sales.csv 有多少行",
            "帮我看看 sales.csv 里的数据，谢谢",
            "用 csv-summary 技能汇总 sales.csv",
        ] {
            assert_eq!(not_done(request, "--column units sales.csv"), [""; 0], "{request}");
        }
    }
}
