//! What a request says is not to be done: `don't clean the build folder` must not clean it.
//! Pure; called by `router` before anything is chosen. tidy:allow-cjk

/// How a clause begins that refuses something.
const REFUSALS: &[&str] =
    &["don't", "don’t", "dont", "do not", "never", "不要", "别", "请勿", "切勿", "禁止"];
/// How one begins that only looks like it.
const OTHERS: &[&str] = &[
    "don't forget",
    "don’t forget",
    "do not forget",
    "don't hesitate",
    "do not hesitate",
    "don't worry",
    "do not worry",
    "never mind",
    "别的",
    "别人",
    "别名",
    "别忘",
    "别担心",
    "别急",
    "不要忘",
    "不要担心",
];
/// What may stand before it.
const OPENINGS: &[&str] =
    &["please ", "and ", "but ", "so ", "just ", "no ", "请", "但是", "但", "那就", "你"];

/// The request without the clauses that refuse something, where it has any. Nothing is left where all is refused,
/// or taken back (`summarise it? no, don't`).
pub(crate) fn without_refused(request: &str) -> Option<String> {
    let mut left = String::new();
    let mut refuses = false;
    for clause in clauses(request) {
        match refusal(clause) {
            None => left.push_str(clause),
            Some(rest) if !rest.contains(char::is_alphanumeric) => return Some(String::new()),
            Some(_) => refuses = true,
        }
    }
    let is_order = left.contains(char::is_alphanumeric);
    refuses.then(|| if is_order { left.trim().to_owned() } else { String::new() })
}

/// What a clause refuses, if it does.
fn refusal(clause: &str) -> Option<String> {
    let lower = clause.to_lowercase();
    let mut text = lower.trim_start();
    while let Some(rest) = OPENINGS.iter().find_map(|word| text.strip_prefix(word)) {
        text = rest.trim_start();
    }
    if OTHERS.iter().any(|word| text.starts_with(word)) {
        return None;
    }
    let rest = REFUSALS.iter().find_map(|word| text.strip_prefix(word))?;
    // `neverland` is no refusal.
    let is_word = rest.is_empty() || !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_word.then(|| rest.to_owned())
}

/// The clauses of a text, each with the mark behind it. A dot inside a name ends none.
fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut rest = text;
    while let Some(end) = clause_end(rest) {
        let (clause, after) = rest.split_at(end);
        clauses.push(clause);
        rest = after;
    }
    clauses.push(rest);
    clauses
}

/// Where the first clause ends; nothing where there is one alone.
fn clause_end(text: &str) -> Option<usize> {
    let mark = text.char_indices().find_map(|(at, c)| {
        let end = at + c.len_utf8();
        let ends_word = text[end..].chars().next().is_none_or(char::is_whitespace);
        let is_end = matches!(c, '，' | '；' | '。' | '！' | '？' | '\n')
            || ends_word && matches!(c, ',' | ';' | '.' | '!' | '?');
        is_end.then_some(end)
    });
    let but = text.find(" but ").map(|at| at + 1);
    let chinese = text.match_indices('但').map(|(at, _)| at).find(|at| *at > 0);
    [mark, but, chinese].into_iter().flatten().filter(|end| *end < text.len()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_taken_out() {
        for request in [
            "don't clean the build folder",
            "Please do not clean the build",
            "never clean it.",
            "不要汇总 sales.csv",
            "请不要读取 README.md。",
            "别汇总 sales.csv",
            "summarise sales.csv? no, don't",
            "汇总 sales.csv，别",
        ] {
            assert_eq!(without_refused(request).as_deref(), Some(""), "{request}");
        }
        for (request, left) in [
            ("list the files but don't clean the build folder", "list the files"),
            ("summarise a.csv, and don't delete it", "summarise a.csv,"),
            ("Do not group it. Summarise sales.csv by region", "Summarise sales.csv by region"),
            ("汇总 sales.csv，但不要删除它", "汇总 sales.csv，"),
        ] {
            assert_eq!(without_refused(request).as_deref(), Some(left), "{request}");
        }
        for request in [
            "summarise sales.csv",
            "don't forget to summarise sales.csv",
            "never mind, summarise v1.2.csv",
            "别的文件有哪些",
            "summarise neverland.csv, donts.csv",
            "",
        ] {
            assert_eq!(without_refused(request), None, "{request}");
        }
    }
}
