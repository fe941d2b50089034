//! The table that a request is about where it names none: the only one in the folder. And words for what a
//! request about tables says by grammar alone.
//!
//! Only a ranking with a number (`top 3 products by units`) is plainly about some table; other requests are
//! asked for the file. tidy:allow-cjk

use std::borrow::Cow;

use metier_model::{Action, Decision, PastAction, Turn};
use metier_skill::own_tools::LIST_DIR;
use serde_json::json;

use crate::entities::{RequestEntities, extension, is_chinese};
use crate::tool_answers::names_of_kind;

/// Whether a tool is offered, and its result can still be used.
pub(crate) fn may_call(turn: &Turn, tool: &str) -> bool {
    !turn.view.last_turn && turn.view.tools.iter().any(|offer| offer.name == tool)
}

/// The first call of a tool.
pub(crate) fn call_of<'t>(turn: &'t Turn, tool: &str) -> Option<&'t PastAction> {
    turn.past().find(
        |past| matches!(&past.action, Some(Action::CallTool { tool: called, .. }) if called == tool),
    )
}

/// The call that lists the folder, where a table is asked for and none is named.
pub(crate) fn look(turn: &Turn) -> Option<Decision> {
    let entities = RequestEntities::of(&turn.view.request, &turn.view.files);
    let wants = entities.ranks && entities.files.is_empty() && !entities.numbers.is_empty();
    let can = may_call(turn, LIST_DIR) && call_of(turn, LIST_DIR).is_none();
    (wants && can).then(|| Decision::to(Action::call(LIST_DIR, json!({"path": "."}))))
}

/// The files that were given, or the only table of the folder where one was looked for.
pub(crate) fn files(turn: &Turn) -> Cow<'_, [String]> {
    match only_table(turn) {
        Some(table) => Cow::Owned(vec![table.to_owned()]),
        None => Cow::Borrowed(&turn.view.files),
    }
}

/// The only table of the folder, where one was looked for.
pub(crate) fn only_table(turn: &Turn) -> Option<&str> {
    let listed = call_of(turn, LIST_DIR).filter(|past| past.ok && turn.view.files.is_empty())?;
    let mut tables = names_of_kind(listed, &["csv", "tsv"]);
    tables.next().filter(|_| tables.next().is_none())
}

/// Charts and sorted tables are other work.
const OTHERS: &[&str] = &["图", "画", "排序", "chart", "plot", "draw", "graph", "sort"];

/// The request, with words for what it says by grammar alone: `各产品销量` and `top 3 products by units` have
/// no word for a breakdown. Only where a file is named: "the highest mountain" is about no table.
pub(crate) fn with_grammar<'a>(request: &'a str, given: &[String]) -> Cow<'a, str> {
    // What is written in it has words that other skills are about.
    if let Some(wish) = wish_for_skill(request).filter(|_| !request.starts_with('/')) {
        return Cow::Borrowed(wish);
    }
    if OTHERS.iter().any(|word| request.contains(word)) {
        return Cow::Borrowed(request);
    }
    let entities = RequestEntities::of(request, given);
    let nothing = entities.groups.is_empty() && entities.measures.is_empty();
    if !is_chinese(request) && !entities.ranks || entities.files.is_empty() || nothing {
        return Cow::Borrowed(request);
    }
    // A question has other words than the work that answers it.
    if let ([group, ..], [measure, ..], [file, ..]) =
        (&entities.groups[..], &entities.measures[..], &entities.files[..])
        && entities.ranks
        && ["which ", "what "].iter().any(|word| request.to_lowercase().starts_with(word))
    {
        return Cow::Owned(format!("total {measure} by {group}, a breakdown of {file}"));
    }
    let groups = if entities.groups.is_empty() { "" } else { " breakdown by column" };
    let measures = if entities.measures.is_empty() { "" } else { " total" };
    let kind = match entities.files.first().and_then(|file| extension(file)) {
        Some(kind) if entities.ranks => format!(" {kind}"),
        _ => String::new(),
    };
    Cow::Owned(format!("{request}{groups}{measures}{kind}"))
}

/// 写一个技能 and 审查这个技能, in the words that descriptions have: what is written in them, 写 may be in all requests.
fn wish_for_skill(request: &str) -> Option<&'static str> {
    const KIND: &str = "技能";
    const WRITES: &[&str] = &["编写", "新建", "创建", "制作", "改进", "做一个", "做个", "写"];
    const REVIEWS: &[&str] = &["审查", "评审", "审核", "审计", "检查"];
    // 用 html 技能做网页, 写一篇关于技能的文章
    const OTHERS: &[&str] = &["用", "通过", "关于", "有关", "不要", "别", "没", "不"];
    let wish = |verbs: &[&str]| {
        request.split(['，', '。', '；', '！', '？', ',', ';', '?', '\n']).any(|clause| {
            let verb = verbs.iter().filter_map(|verb| Some((clause.find(verb)?, verb.len()))).min();
            let Some((at, length)) = verb else { return false };
            let Some((between, behind)) = clause[at + length..].split_once(KIND) else {
                return false;
            };
            let purpose = between.replace("用来", "").replace("用于", "");
            let is_other = |word: &&str| purpose.contains(*word) || clause[..at].contains(*word);
            !OTHERS.iter().any(is_other)
                && !clause[..at].contains('有')
                && between.chars().count() <= 30
                && !behind.starts_with(['的', '书', '树', '点'])
        })
    };
    if wish(REVIEWS) {
        Some("review the skill")
    } else {
        wish(WRITES).then_some("write a new skill")
    }
}
