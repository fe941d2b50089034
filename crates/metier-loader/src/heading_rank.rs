//! Which sections of a long body are kept first, by the words of their headings. Pure.
//!
//! First come those that a reader acts on: when to use the skill, its steps, checks and resources;
//! last, background and examples. A section below such a heading has its rank, unless its own heading
//! says something else. The words stand here in English, Chinese and Japanese: tidy:allow-cjk.

use metier_skill::Heading;

/// How much a reader needs a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A reader cannot act without it.
    Key,
    Plain,
    /// It explains or repeats.
    Background,
}

/// Beginnings of words.
#[rustfmt::skip]
const KEY_WORDS: &[&str] = &[
    "when", "trigger", "usage", "overview", "contents", "quick", "step", "workflow", "process", "procedure", "instruction",
    "how", "check", "self-check", "verif", "valid", "test", "accept", "resource", "reference", "file", "files", "script", "rule",
    "must", "never", "always", "important", "critical", "constraint", "requirement", "output", "decision",
];

#[rustfmt::skip]
const KEY_PARTS: &[&str] = &[
    "触发", "觸發", "何时", "何時", "时机", "场景", "场合", "适用", "使用", "用法", "用途", "概览", "概述", "目录", "快速",
    "步骤", "步驟", "手順", "流程", "操作", "工作流", "执行", "验收", "驗收", "验证", "驗證", "校验", "自检", "自檢", "检查",
    "檢查", "核对", "测试", "资源", "資源", "索引", "文件", "脚本", "规则", "規則", "必须", "禁止", "约束", "要求", "注意", "输出",
];

#[rustfmt::skip]
const BACKGROUND_WORDS: &[&str] = &[
    "background", "history", "example", "sample", "appendix", "changelog", "motivation", "rationale", "theory", "faq",
    "credits", "acknowledg", "introduction", "glossary", "further",
];

#[rustfmt::skip]
const BACKGROUND_PARTS: &[&str] = &[
    "背景", "示例", "例子", "范例", "範例", "案例", "样例", "附录", "附錄", "历史", "歷史", "更新日志", "常见问题", "动机", "原理",
    "理论", "致谢", "术语", "延伸", "介绍", "简介",
];

/// The rank of each heading's own text, up to the next heading.
pub(crate) fn ranks(headings: &[Heading]) -> Vec<Rank> {
    // The ranks that the sections around give, outermost first. A title does not count: it names the
    // skill, and `# Workflow for tables` would make everything a key section.
    let mut above: Vec<(u8, Option<Rank>)> = Vec::new();
    let mut ranks = Vec::with_capacity(headings.len());
    for heading in headings {
        above.retain(|(level, _)| *level < heading.level);
        let own = own_rank(&heading.text);
        let inherited = above.iter().rev().find_map(|(_, rank)| *rank);
        let rank = own.or(inherited);
        above.push((heading.level, rank.filter(|_| heading.level > 1)));
        ranks.push(rank.unwrap_or(Rank::Plain));
    }
    ranks
}

/// What the words of a heading say. `Examples of usage` is about examples: the first word that says
/// something counts.
fn own_rank(heading: &str) -> Option<Rank> {
    let lower = heading.to_lowercase();
    let begins = |word: &str, table: &[&str]| table.iter().any(|start| word.starts_with(start));
    let words = lower.split(|ch: char| !ch.is_alphanumeric() && ch != '-');
    let by_word = words.into_iter().find_map(|word| {
        let key = || begins(word, KEY_WORDS).then_some(Rank::Key);
        begins(word, BACKGROUND_WORDS).then_some(Rank::Background).or_else(key)
    });
    // The other tables hold no letter of ASCII, and looking for each of their words takes as long as
    // parsing the section.
    if by_word.is_some() || heading.is_ascii() {
        return by_word;
    }
    // Words run together here; the last one is what the rest describes (使用示例: examples of use).
    let last = |table: &[&str]| table.iter().filter_map(|part| heading.rfind(part)).max();
    match (last(KEY_PARTS), last(BACKGROUND_PARTS)) {
        (None, None) => None,
        (key, background) if key > background => Some(Rank::Key),
        _ => Some(Rank::Background),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Rank> {
        ranks(&metier_skill::outline(text))
    }

    /// Each is a heading of the second level, on its own.
    #[test]
    fn headings_in_both_languages_have_their_rank() {
        use Rank::{Background, Key, Plain};
        let cases: &[(&str, Rank)] = &[
            ("触发条件", Key),
            ("步骤", Key),
            ("验收", Key),
            ("自检", Key),
            ("资源索引", Key),
            ("背景", Background),
            ("使用示例", Background),
            ("其他", Plain),
            ("When to use this skill", Key),
            ("How it works", Key),
            ("Steps", Key),
            ("Self-check", Key),
            ("Acceptance criteria", Key),
            ("Resources", Key),
            ("Background", Background),
            ("Examples of usage", Background),
            ("Profiles", Plain),
            ("The latest news", Plain),
            ("Tone", Plain),
        ];
        for (heading, rank) in cases {
            assert_eq!(of(&format!("## {heading}\n")), [*rank], "{heading}");
        }
    }

    #[test]
    fn a_section_has_the_rank_of_the_one_around_it_but_the_title_gives_none() {
        use Rank::{Background, Key, Plain};
        let text = "# Usage of tables\n## Steps\n### Extract\n#### Deep\n### Examples\n## Tone\n### Words\n";
        assert_eq!(of(text), [Key, Key, Key, Key, Background, Plain, Plain]);
    }
}
