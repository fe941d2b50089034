//! A person's own call of a skill: `/name arguments`.
//!
//! The body's placeholders are filled in one pass from left to right; what is filled in is never
//! looked at again, so an argument cannot bring placeholders of its own. Only a person's call fills
//! them: a model that loads a skill gets the body as it is.

use std::collections::{HashMap, HashSet};

use metier_skill::Skill;
use metier_skill::text::for_model;

use crate::body::{BodyLimits, load_body};
use crate::error::LoadError;
use crate::files::SkillFiles;
use crate::report::Loaded;

/// What was typed: a name and the rest of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// The skill's name, without the slash.
    pub name: &'a str,
    /// Everything after it, trimmed.
    pub arguments: &'a str,
}

impl<'a> Invocation<'a> {
    /// The invocation in `text`, if it looks like one. Whether there is such a skill is for the
    /// caller to find out: `/etc/hosts is broken` looks like one too.
    pub fn parse(text: &'a str) -> Option<Self> {
        let rest = text.trim().strip_prefix('/')?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, arguments) = rest.split_at(end);
        let starts_well = name.chars().next().is_some_and(char::is_alphanumeric);
        starts_well.then_some(Self { name, arguments: arguments.trim() })
    }
}

/// Loads a skill's body for a person who called it with `arguments`.
pub fn invoke(
    files: &dyn SkillFiles,
    skill: &Skill,
    arguments: &str,
    limits: &BodyLimits,
) -> Result<Loaded, LoadError> {
    if !skill.controls.user_invocable {
        return Err(LoadError::NotInvocable(skill.name.as_str().to_owned()));
    }
    let mut loaded = load_body(files, limits)?;
    let arguments = for_model(arguments);
    let filled = fill(&loaded.text, &arguments, skill.details().argument_hint.as_deref());
    // A word of the arguments has other neighbours now than it had among them.
    loaded.text = for_model(&filled).into_owned();
    loaded.report.chars_returned = loaded.text.chars().count();
    Ok(loaded)
}

/// `body` with its placeholders filled: `$ARGUMENTS` (all), `$1`, `$2` … (one by its place),
/// `$ARGUMENTS[0]` (the same, from 0), `$name` (by the names in `hint`); each also in braces. `\$`
/// is a dollar sign. A placeholder without an argument becomes nothing; any other dollar sign stays,
/// also that of a price: `$5` is a placeholder only when there are five arguments, when the hint has
/// five, or when `$1` to `$4` stand in the body too. Arguments that no placeholder takes are added
/// at the end.
pub fn fill(body: &str, arguments: &str, hint: Option<&str>) -> String {
    let given = InvocationArguments::new(body, arguments, hint.unwrap_or_default());
    let mut out = String::with_capacity(body.len() + arguments.len());
    let mut took = false;
    let mut rest = body;
    while let Some(at) = rest.find(['$', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("\\$") {
            out.push('$');
            rest = after;
        } else if let Some((value, len)) = given.placeholder(rest) {
            out.push_str(value);
            took |= !value.is_empty();
            rest = &rest[len..];
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    if !took && !given.all.is_empty() {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str("\nARGUMENTS: ");
        out.push_str(given.all);
        out.push('\n');
    }
    out
}

/// The arguments of one call.
struct InvocationArguments<'a> {
    all: &'a str,
    places: Vec<String>,
    names: HashMap<String, String>,
    /// How many places are placeholders: given, hinted, or all standing in the body.
    known: usize,
}

impl<'a> InvocationArguments<'a> {
    fn new(body: &str, arguments: &'a str, hint: &str) -> Self {
        let all = arguments.trim();
        let hinted = hinted_names(hint);
        let mut places = Vec::new();
        let mut names: HashMap<String, String> =
            hinted.iter().flatten().map(|name| (name.clone(), String::new())).collect();
        let mut by_name: Vec<String> = Vec::new();
        for word in split(all) {
            match word.split_once('=').map(|(key, value)| (folded(key), value)) {
                Some((key, value)) if names.contains_key(&key) => {
                    names.insert(key.clone(), value.to_owned());
                    by_name.push(key);
                }
                _ => places.push(word),
            }
        }
        // A place belongs to the next hinted name that was not given by name.
        let open =
            hinted.iter().filter(|name| !name.as_ref().is_some_and(|name| by_name.contains(name)));
        for (name, value) in open.zip(&places) {
            if let Some(name) = name {
                names.insert(name.clone(), value.clone());
            }
        }
        let known = places.len().max(hinted.len()).max(counted_up(body));
        Self { all, places, names, known }
    }

    /// The value of the placeholder at the start of `text`, and how long the placeholder is.
    fn placeholder(&self, text: &str) -> Option<(&str, usize)> {
        let after = text.strip_prefix('$')?;
        if let Some(braced) = after.strip_prefix('{') {
            let end = braced.find('}')?;
            let (value, len) = self.word(&braced[..end])?;
            return (len == end).then_some((value, len + 3));
        }
        self.word(after).map(|(value, len)| (value, len + 1))
    }

    /// The value of the placeholder's word at the start of `text`, and how much of it is the word.
    fn word(&self, text: &str) -> Option<(&str, usize)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let place: usize = text[..digits].parse().ok()?;
            // `$0` is the name of a program to some readers, the first argument to others.
            return (1..=self.known).contains(&place).then(|| (self.place(place - 1), digits));
        }
        if let Some(after) = text.strip_prefix("ARGUMENTS") {
            if let Some(end) = after.strip_prefix('[').and_then(|inside| inside.find(']')) {
                let place: usize = after[1..=end].parse().ok()?;
                return Some((self.place(place), "ARGUMENTS[]".len() + end));
            }
            let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            return (!goes_on).then_some((self.all, "ARGUMENTS".len()));
        }
        let mut len = text
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            .count();
        // `$file-name` may be the argument `file` before `-name`.
        loop {
            if let Some(value) = self.names.get(&folded(&text[..len])) {
                return Some((value, len));
            }
            len = text[..len].rfind('-')?;
        }
    }

    fn place(&self, at: usize) -> &str {
        self.places.get(at).map_or("", String::as_str)
    }
}

/// The largest number up to which the body has a placeholder for every place.
fn counted_up(body: &str) -> usize {
    let numbers: HashSet<usize> = body
        .match_indices('$')
        .filter_map(|(at, _)| {
            let after = body[at + 1..].trim_start_matches('{');
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            after[..digits].parse().ok()
        })
        .collect();
    (1..=numbers.len()).take_while(|place| numbers.contains(place)).count()
}

/// How names are compared: `Issue-Number` is `issue_number`.
fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// The names in a hint such as `<issue-number> [priority] [--format FMT] KEY=<value>`, by their
/// places; a choice of words (`[start|stop]`) has a place and no name.
fn hinted_names(hint: &str) -> Vec<Option<String>> {
    let mut names = Vec::new();
    for part in hint.split_whitespace() {
        let bare = part.trim_matches(|c: char| "[]<>(){}.,".contains(c));
        let bare = bare.split(['=', ':']).next().unwrap_or_default().trim_start_matches('-');
        let is_name = bare.starts_with(|c: char| c.is_ascii_alphabetic())
            && bare.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if bare.is_empty() {
            continue;
        }
        names.push(is_name.then(|| folded(bare)));
    }
    names
}

/// The words of a line: blanks separate, quotes keep together, a backslash takes the next
/// character as it is. A quote that is not closed is a character like any other.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line;
    while let Some(ch) = rest.chars().next() {
        rest = &rest[ch.len_utf8()..];
        if ch.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match ch {
            '\\' if rest.starts_with([' ', '\t', '\\', '\'', '"']) => {
                word.push_str(&rest[..1]);
                rest = &rest[1..];
            }
            '"' | '\'' if rest.contains(ch) => {
                let end = rest.find(ch).unwrap_or_default();
                word.push_str(&rest[..end]);
                rest = &rest[end + 1..];
            }
            _ => word.push(ch),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_invocation_is_a_slash_and_a_name() {
        let parse = |text| Invocation::parse(text).map(|it| (it.name, it.arguments));
        assert_eq!(parse("/fix 12 'a b'"), Some(("fix", "12 'a b'")));
        assert_eq!(parse("  /org/fix\tnow "), Some(("org/fix", "now")));
        assert_eq!(parse("/plugin:fix"), Some(("plugin:fix", "")));
        assert_eq!(parse("fix /it"), None);
        assert_eq!(parse("/ fix"), None);
        assert_eq!(parse("//fix"), None);
    }

    #[test]
    fn placeholders_are_filled_once() {
        for (body, arguments, hint, expected) in [
            ("Fix $ARGUMENTS now", "12 high", "", "Fix 12 high now"),
            ("Fix $1 at $2.", "12 high", "", "Fix 12 at high."),
            ("$1 $2 $3|", "'a b' c", "", "a b c |"),
            ("$10", "1 2 3 4 5 6 7 8 9 ten", "", "ten"),
            ("${1}0 ${ARGUMENTS}", "x y", "", "x0 x y"),
            ("$ARGUMENTS[1] $ARGUMENTS[0]", "a b", "", "b a"),
            ("costs \\$5, not $1", "3", "", "costs $5, not 3"),
            ("$1 $2", "$2 $ARGUMENTS", "", "$2 $ARGUMENTS"),
            ("$issue by $who", "12 me", "<issue> [who]", "12 by me"),
            ("$ISSUE_NUMBER", "7", "[issue-number]", "7"),
            ("$issue-number!", "7", "<issue-number>", "7!"),
            ("$file-name", "a.md", "<file>", "a.md-name"),
            ("$pr $title", "title='A b' 9", "[pr] [title]", "9 A b"),
            ("$HOME $x $ $$ ${HOME}", "", "", "$HOME $x $ $$ ${HOME}"),
            ("no place", "left over", "", "no place\n\nARGUMENTS: left over\n"),
            ("$missing|", "", "<missing>", "|"),
            ("\\n \\\\$1", "a", "", "\\n \\$1\n\nARGUMENTS: a\n"),
            ("costs $5 and $100", "abc", "", "costs $5 and $100\n\nARGUMENTS: abc\n"),
            ("$1, then $2|", "abc", "", "abc, then |"),
            ("$1 or $3|", "abc", "", "abc or $3|"),
            ("$ARGUMENTSX", "", "", "$ARGUMENTSX"),
            ("$2", "start fast", "[start|stop] [speed]", "fast"),
            ("$speed", "start fast", "[start|stop] [speed]", "fast"),
        ] {
            let hint = Some(hint).filter(|hint| !hint.is_empty());
            assert_eq!(fill(body, arguments, hint), expected, "{body:?} with {arguments:?}");
        }
    }

    #[test]
    fn words_are_split_like_a_shell_does() {
        assert_eq!(split("a  'b c' d\"e f\"g"), ["a", "b c", "de fg"]);
        assert_eq!(split("it's a\\ b"), ["it's", "a b"]);
        assert_eq!(split("'' x"), ["", "x"]);
        assert_eq!(split(" "), Vec::<String>::new());
    }

    proptest! {
        /// Any body and any arguments: no panic, and an argument is inserted as it is.
        #[test]
        fn filling_is_total(body in "[ -~é$\\\\{}\\[\\]]{0,60}", arguments in "[ -~é$'\"\\\\]{0,40}", hint in "[a-z<>\\[\\] |=-]{0,20}") {
            fill(&body, &arguments, Some(&hint));
            let whole = fill("<$ARGUMENTS>", &arguments, Some(&hint));
            prop_assert_eq!(whole, format!("<{}>", arguments.trim()));
        }

        /// A body without a dollar sign or backslash stays as it is.
        #[test]
        fn nothing_else_changes(body in "[ -#%-\\[\\]-~\n]{0,80}") {
            prop_assert_eq!(fill(&body, "", None), body);
        }
    }
}
