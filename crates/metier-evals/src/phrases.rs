//! What a skill's description says it is for, as requests: for a first file of cases, and to see which skills
//! are taken for each other. Pure, and only a beginning: a person knows better words.
//! tidy:allow-cjk: descriptions in Chinese have marks of their own.

/// The most phrases that are taken from one description.
const MAX_PHRASES: usize = 12;
/// Words that a phrase needs to be a request.
const MIN_WORDS: usize = 2;
const MAX_CHARS: usize = 160;

/// What stands before the uses of a skill, in the words of authors.
const LEADS: [&str; 16] = [
    "use this skill whenever the user wants to",
    "use this skill when the user wants to",
    "use this skill when the user asks to",
    "use this skill when the user asks for",
    "use this skill whenever",
    "use this skill when",
    "use this skill to",
    "use this skill for",
    "use when the user wants to",
    "use when the user asks to",
    "use when the user asks for",
    "use when asked to",
    "use whenever",
    "use when",
    "use for",
    "use to",
];
/// What opens and closes the words of a user.
const QUOTES: [(char, char); 3] = [('"', '"'), ('“', '”'), ('「', '」')];
/// What begins a clause that says what a skill is not for.
const NEGATIVE: [&str; 5] = ["do not use", "don't use", "not for", "never use", "skip for"];

/// The phrases of a description that could be requests.
pub(crate) fn phrases(description: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = description.replace(['\n', '\r'], " ");
    // What stands in quotes is what a user says.
    for quotes in QUOTES {
        rest = without_quoted(&rest, quotes, &mut found);
    }
    for sentence in sentences(&rest).into_iter().map(str::trim) {
        let lower = sentence.to_lowercase();
        if lower.is_empty() || NEGATIVE.iter().any(|it| lower.starts_with(it)) {
            continue;
        }
        let lead = LEADS.iter().find_map(|lead| Some(lower.find(lead)? + lead.len()));
        // The same bytes only where lowering changed no length.
        let rest = lead.filter(|_| lower.len() == sentence.len());
        let uses = rest.and_then(|at| sentence.get(at..)).unwrap_or(sentence);
        for part in uses.split([',', '(', ')', ':', '，', '、']) {
            add(&mut found, part);
        }
    }
    found.truncate(MAX_PHRASES);
    found
}

/// The sentences of a text. A dot ends one where a blank follows: `.pdf` and `v1.2` are words.
fn sentences(text: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, ch)) = chars.next() {
        let is_end = match ch {
            ';' | '。' | '；' => true,
            '.' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if is_end {
            found.push(&text[from..at]);
            from = at + ch.len_utf8();
        }
    }
    found.push(&text[from..]);
    found
}

/// The text without what stands between these marks, which is added to the phrases.
fn without_quoted(text: &str, (open, close): (char, char), found: &mut Vec<String>) -> String {
    let mut outside = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((quote, behind)) = after.split_once(close) else { break };
        add(found, quote);
        outside.push_str(before);
        rest = behind;
    }
    outside + rest
}

fn add(found: &mut Vec<String>, part: &str) {
    let mut part = part.trim().trim_matches(['"', '\'', '“', '”', '*', '-', '`']).trim();
    for word in ["and", "or", "to", "such as", "including", "etc", "e.g"] {
        let rest = part.strip_prefix(word);
        part = rest.filter(|rest| !rest.starts_with(char::is_alphanumeric)).unwrap_or(part).trim();
    }
    let is_chinese = part.chars().any(|c| ('\u{4E00}'..='\u{9FFF}').contains(&c));
    let words = part.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let is_long_enough = words >= MIN_WORDS || is_chinese && part.chars().count() >= 4;
    if !is_long_enough || part.chars().count() > MAX_CHARS {
        return;
    }
    if found.iter().all(|known| !known.eq_ignore_ascii_case(part)) {
        found.push(part.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_within_a_word_ends_no_sentence() {
        let found = phrases("Fills forms. Use when the user works with a .pdf file.");
        assert_eq!(found, ["Fills forms", "the user works with a .pdf file"]);
        let found = phrases("Use for upgrades from v1.2.3 or a.b files; old tables。新的表格。");
        assert_eq!(found, ["upgrades from v1.2.3 or a.b files", "old tables", "新的表格"]);
    }
}
