//! `www-authenticate`: how a registry asks who one is. Pure.
//!
//! One header may hold several challenges, and a comma stands both between challenges and between their
//! parameters, so it is read token by token.

use std::collections::BTreeMap;

/// The longest header that is read.
const MAX_CHARS: usize = 8 << 10;

/// One way to say who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// `bearer` or `basic`, in lower case.
    pub(crate) scheme: String,
    /// The parameters, with names in lower case.
    pub(crate) parameters: BTreeMap<String, String>,
}

/// The challenges of a header; none where it cannot be understood.
pub(crate) fn parse_challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = Vec::new();
    if header.len() > MAX_CHARS {
        return found;
    }
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            return if rest.is_empty() { found } else { Vec::new() };
        }
        let after_blank = after.trim_start_matches([' ', '\t']);
        match (after_blank.strip_prefix('='), found.last_mut()) {
            (Some(value), Some(challenge)) => {
                let Some((value, after)) = value_of(value.trim_start_matches([' ', '\t'])) else {
                    return Vec::new();
                };
                // The first one counts; a second one of the same name could mean something else to others.
                if challenge.parameters.insert(word.to_ascii_lowercase(), value).is_some() {
                    return Vec::new();
                }
                rest = after;
            }
            (Some(_), None) => return Vec::new(),
            (None, _) => {
                found.push(Challenge {
                    scheme: word.to_ascii_lowercase(),
                    parameters: BTreeMap::new(),
                });
                rest = after;
            }
        }
    }
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |ch: char| ch.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(ch);
    let end = text.find(|ch| !is_token(ch)).unwrap_or(text.len());
    text.split_at(end)
}

/// A token or a quoted string, and what follows it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, after) = token(text);
        return (!word.is_empty()).then(|| (word.to_owned(), after));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, ch)) = chars.next() {
        match ch {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(ch),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bearer(realm: &str) -> Challenge {
        let parameters = [("realm", realm), ("service", "registry.x")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        Challenge { scheme: "bearer".to_owned(), parameters: parameters.into() }
    }

    #[test]
    fn each_challenge_is_found() {
        let realm = "https://auth.x/token?a=b,c";
        let text = format!("Bearer realm=\"{realm}\",service=\"registry.x\"");
        assert_eq!(parse_challenges(&text), [bearer(realm)]);
        let both = format!("Basic realm=\"a, \\\"b\\\"\", {text}");
        let found = parse_challenges(&both);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].parameters["realm"], "a, \"b\"");
        assert_eq!(found[1], bearer(realm));
        assert_eq!(parse_challenges("Negotiate, Basic realm=x").len(), 2);
        assert_eq!(parse_challenges(""), []);
    }

    #[test]
    fn what_cannot_be_understood_is_no_challenge() {
        for bad in [
            "realm=\"x\"",
            "Bearer realm=\"x",
            "Bearer realm=\"a\",realm=\"b\"",
            "Bearer realm=",
            "Bearer \u{e4}=x",
            "\"x\"",
        ] {
            assert_eq!(parse_challenges(bad), [], "{bad}");
        }
        assert_eq!(parse_challenges(&"a,".repeat(8 << 10)), []);
    }

    proptest! {
        #[test]
        fn any_value_survives_quoting(value in "\\PC{0,40}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let found = parse_challenges(&format!("Bearer realm=\"{quoted}\" , service=registry.x"));
            prop_assert_eq!(found, vec![bearer(&value)]);
        }

        #[test]
        fn no_header_is_a_panic(header in "\\PC{0,200}") {
            let _ = parse_challenges(&header);
        }
    }
}
