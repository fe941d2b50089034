//! One pattern of a rule, compiled for every kind of subject.
//!
//! A rule's author writes one text; whether it is read as a path, a host, an id or the words of a
//! command depends on the request. Ask and deny rules match more widely ([`MatchMode`]).

use crate::permission::Permission;
use crate::subject::{Subject, SubjectSpellings};
use crate::wildcard::Wildcard;
use crate::words::{MatchMode, Words};

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Wildcard,
    /// Everything below the path, for a refusal that names a folder. A pattern with an open end
    /// means that already.
    below: Option<Wildcard>,
    /// For hosts, if the pattern has upper-case letters.
    host: Option<Wildcard>,
    words: Words,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Self {
        let text = pattern.strip_prefix("./").unwrap_or(pattern);
        let stem = text.strip_suffix('/').filter(|stem| !stem.is_empty());
        let text = stem.map_or_else(|| text.to_owned(), |stem| format!("{stem}/*"));
        let lower = text.to_lowercase();
        Self {
            below: (!text.ends_with('*')).then(|| Wildcard::new(&format!("{text}/*"))),
            host: (lower != text).then(|| Wildcard::new(&lower)),
            text: Wildcard::new(&text),
            words: Words::new(pattern),
        }
    }

    pub(crate) fn matches(&self, spellings: &SubjectSpellings<'_>, mode: MatchMode) -> bool {
        let any = |wildcard: &Wildcard| spellings.texts.iter().any(|text| wildcard.matches(text));
        match spellings.subject {
            Subject::Command(argv) => self.words.matches(argv.words(), mode),
            Subject::Script { args, .. } => self.words.matches_script(&spellings.texts, args, mode),
            Subject::Path(_) => {
                any(&self.text) || (mode == MatchMode::Wide && self.below.as_ref().is_some_and(any))
            }
            Subject::Host(_) => any(self.host.as_ref().unwrap_or(&self.text)),
            Subject::Skill(_) | Subject::Text(_) => any(&self.text),
        }
    }

    /// Whether it matches some script of this skill.
    pub(crate) fn may_match_script_of(&self, skill: &SubjectSpellings<'_>) -> bool {
        self.words.may_match_script_of(&skill.texts)
    }

    /// Whether it matches one command, for a script that could be started by it.
    pub(crate) fn matches_words(&self, argv: &[String]) -> bool {
        self.words.matches(argv, MatchMode::Exact)
    }
}

/// Which permissions a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionPattern {
    One(Permission),
    Like(Wildcard),
}

impl PermissionPattern {
    pub(crate) fn matches(&self, permission: &Permission) -> bool {
        match self {
            Self::One(one) => one == permission,
            Self::Like(wildcard) => wildcard.matches(permission.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PolicyPlaces;
    use crate::subject::AbsolutePath;

    fn matches(pattern: &str, subject: &Subject, mode: MatchMode) -> bool {
        let path = |text| AbsolutePath::new(text).expect("a path");
        let places = PolicyPlaces::new(path("/home/me/p")).with_home(path("/home/me"));
        Pattern::new(pattern).matches(&SubjectSpellings::new(subject, &places), mode)
    }

    #[test]
    fn a_path_can_be_written_in_three_ways() {
        let subject = Subject::path("/home/me/p/src/a.rs").expect("a path");
        for pattern in
            ["/home/me/p/src/a.rs", "~/p/src/*", "src/a.rs", "./src/*", "src/", "*.rs", "*"]
        {
            assert!(matches(pattern, &subject, MatchMode::Exact), "{pattern}");
        }
        for pattern in ["src", "a.rs", "p/src/*", "/src/*", "SRC/*"] {
            assert!(!matches(pattern, &subject, MatchMode::Exact), "{pattern}");
        }
        assert!(
            matches("src", &subject, MatchMode::Wide),
            "a refused folder is refused with its files"
        );
        assert!(!matches("sr", &subject, MatchMode::Wide));
    }

    #[test]
    fn a_host_has_no_upper_case_and_any_port_unless_one_is_named() {
        let subject = Subject::host("api.example.com:8443").expect("a host");
        for pattern in ["API.example.com", "*.Example.com", "api.example.com:8443"] {
            assert!(matches(pattern, &subject, MatchMode::Exact), "{pattern}");
        }
        assert!(!matches("api.example.com:80", &subject, MatchMode::Exact));
        assert!(!matches("example.com", &subject, MatchMode::Exact));
    }

    #[test]
    fn a_skill_goes_by_its_id_or_its_name() {
        let pdf = Subject::Skill("user:pdf".parse().expect("an id"));
        for pattern in ["pdf", "user:pdf", "user:*", "p*"] {
            assert!(matches(pattern, &pdf, MatchMode::Exact), "{pattern}");
        }
        // A plugin called `user` is not the user.
        let posing = Subject::Skill("plugin:user:pdf".parse().expect("an id"));
        assert!(!matches("user:*", &posing, MatchMode::Exact));
        assert!(matches("plugin:user:*", &posing, MatchMode::Exact));
    }
}
