//! Which sources may be used: patterns of administrators, the user and a project. Pure, and judged before
//! a name is resolved or a program is started.
//!
//! A pattern is a host, or a host with the beginning of a path: `github.com`, `github.com/anthropics`,
//! `*.example.org`, `https://example.org/skills`, `/srv/skills`. `*` stands for anything inside one part of a
//! host or path; `*` alone for every host. Where a pattern names no scheme or port, a deny covers all of
//! them, and an allow only those that encrypt and the usual port: what is not sure is never allowed by it.

use std::fmt;
use std::time::Duration;

use crate::source::{InstallSource, SourcePlace};

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRuleScope {
    /// An administrator's: their `allow` is a closed list.
    Managed,
    /// The user's: their `allow` answers the question before it is asked.
    User,
    /// A project's: its `allow` is a closed list too, and allows nothing by itself.
    Project,
}

/// The rules of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRules {
    /// The file.
    pub origin: String,
    /// Whose it is.
    pub scope: SourceRuleScope,
    /// What may be used; absent where the file says nothing about it.
    pub allow: Option<Vec<String>>,
    /// What may not.
    pub deny: Vec<String>,
}

/// Which sources may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcePolicy {
    /// The rules of each file.
    pub rules: Vec<SourceRules>,
    /// How old a release has to be, and the file that says so.
    pub min_release_age: Option<(Duration, String)>,
}

/// What the policy says about a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceVerdict {
    /// It may be used.
    Allowed,
    /// A person has to say so.
    Ask,
    /// It may not be used.
    Denied(SourceDenial),
}

/// Why a source may not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceDenial {
    /// A pattern denies it.
    Pattern {
        /// The pattern.
        pattern: String,
        /// The file that has it.
        file: String,
    },
    /// A closed list does not have it.
    NotListed {
        /// The file that has the list.
        file: String,
    },
    /// No rule allows it, and no one who was asked did.
    NotAllowed {
        /// Its host.
        host: String,
        /// What would allow it.
        pattern: String,
    },
    /// It is younger than a file wants, or does not say how old it is.
    TooYoung {
        /// The age that is wanted, in days.
        days: u64,
        /// Its age in days; none where that is not known.
        age: Option<u64>,
        /// The file that wants it.
        file: String,
    },
}

impl SourceDenial {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Pattern { .. } | Self::NotListed { .. } => "source-denied",
            Self::NotAllowed { .. } => "source-not-allowed",
            Self::TooYoung { .. } => "source-too-young",
        }
    }

    /// What to do.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Pattern { file, .. } => {
                format!("the rule is in {file}; nothing was asked of the network")
            }
            Self::NotListed { file } => {
                format!(
                    "only what `sources.allow` in {file} lists may be used; nothing was asked of the network"
                )
            }
            Self::NotAllowed { pattern, .. } => format!(
                "nothing was asked of the network; to allow the host: metier config add sources.allow '{pattern}', \
                 or give --yes with a source that you name yourself"
            ),
            Self::TooYoung { file, .. } => format!("`sources.min_release_age` is set in {file}"),
        }
    }
}

impl fmt::Display for SourceDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { pattern, file } => {
                write!(f, "may not be used: `sources.deny` has `{pattern}` ({file})")
            }
            Self::NotListed { file } => {
                write!(f, "may not be used: `sources.allow` does not list it ({file})")
            }
            Self::NotAllowed { host, .. } => {
                write!(f, "needs your permission: {host} is not among your allowed sources")
            }
            Self::TooYoung { days, age: Some(age), .. } => {
                write!(f, "may not be used yet: it is {age} days old, and {days} are wanted")
            }
            Self::TooYoung { days, age: None, .. } => {
                write!(
                    f,
                    "may not be used: it does not say how old it is, and {days} days are wanted"
                )
            }
        }
    }
}

impl SourcePolicy {
    /// What the policy says about `source`.
    pub fn judge(&self, source: &InstallSource) -> SourceVerdict {
        self.judge_place(&source.place())
    }

    /// The same about a place that a source leads to, as an index leads to an archive.
    pub fn judge_place(&self, place: &SourcePlace) -> SourceVerdict {
        for rules in &self.rules {
            if let Some(pattern) = rules.deny.iter().find(|it| matches(it, place, Strictness::Deny))
            {
                let (pattern, file) = (pattern.clone(), rules.origin.clone());
                return SourceVerdict::Denied(SourceDenial::Pattern { pattern, file });
            }
        }
        if place.host.is_none() {
            return SourceVerdict::Allowed;
        }
        let mut is_allowed = false;
        for rules in &self.rules {
            let Some(allow) = &rules.allow else { continue };
            let has = allow.iter().any(|it| matches(it, place, Strictness::Allow));
            match rules.scope {
                SourceRuleScope::User => is_allowed |= has,
                SourceRuleScope::Managed if has => is_allowed = true,
                SourceRuleScope::Project if has => {}
                SourceRuleScope::Managed | SourceRuleScope::Project => {
                    let file = rules.origin.clone();
                    return SourceVerdict::Denied(SourceDenial::NotListed { file });
                }
            }
        }
        if is_allowed { SourceVerdict::Allowed } else { SourceVerdict::Ask }
    }

    /// Whether what was released at `released_at` is old enough at `now`, both in seconds since 1970.
    pub(crate) fn check_age(&self, released_at: Option<i64>, now: i64) -> Result<(), SourceDenial> {
        const DAY: u64 = 24 * 60 * 60;
        let Some((wanted, file)) = &self.min_release_age else { return Ok(()) };
        // One from the future has no age.
        let age = released_at.and_then(|at| u64::try_from(now.saturating_sub(at)).ok());
        if age.is_some_and(|age| age >= wanted.as_secs()) {
            return Ok(());
        }
        let (days, age) = (wanted.as_secs() / DAY, age.map(|age| age / DAY));
        Err(SourceDenial::TooYoung { days, age, file: file.clone() })
    }
}

/// How a pattern is read: in doubt a deny matches, and an allow does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Allow,
    Deny,
}

fn matches(pattern: &str, place: &SourcePlace, strictness: Strictness) -> bool {
    let in_doubt = strictness == Strictness::Deny;
    let fold = |text: &str| if in_doubt { text.to_lowercase() } else { text.to_owned() };
    let (scheme, rest) = match pattern.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, pattern),
    };
    let Some(host) = &place.host else {
        let is_path = rest.starts_with('/')
            && scheme.as_deref().is_none_or(|it| matches!(it, "path" | "file"));
        return is_path && is_below(&fold(rest), &fold(&place.path));
    };
    let encrypts = matches!(place.scheme.as_str(), "https" | "ssh" | "oci");
    let fits_scheme = scheme.as_ref().map_or(in_doubt || encrypts, |it| *it == place.scheme);
    let (wanted, path) = rest.split_once('/').unwrap_or((rest, ""));
    let wanted = wanted.to_ascii_lowercase();
    let (name, port) = split_port(host);
    let (wanted_name, wanted_port) = split_port(&wanted);
    let fits_port =
        if wanted_port.is_empty() { in_doubt || port.is_empty() } else { wanted_port == port };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    fits_scheme
        && !wanted_name.is_empty()
        && fits_port
        && is_like(wanted_name, name)
        && (is_below(&fold(path), &fold(&place.path))
            || in_doubt && place.named.iter().any(|it| is_below(&fold(path), &fold(it)))
            || names_end(path, place))
}

/// Whether the pattern of a path names the place with a tag or a query in its last part. What stands there may hold any
/// character, so nothing else of a pattern is compared with it.
fn names_end(pattern: &str, place: &SourcePlace) -> bool {
    let last = pattern.rfind('/').map_or(0, |at| at + 1);
    let mark = match place.scheme.as_str() {
        "oci" => pattern[last..].find([':', '@']).map(|at| last + at),
        _ => pattern.find(['?', '#']),
    };
    let Some((address, end)) = mark.map(|at| pattern.split_at(at)) else { return false };
    let address = address.strip_suffix(".git").unwrap_or(address);
    let count = |path: &str| path.split('/').filter(|part| !part.is_empty()).count();
    count(address) == count(&place.path)
        && is_below(address, &place.path)
        && place.ends.iter().any(|it| is_like(end, it))
}

/// A host and the port behind it.
fn split_port(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port))
            if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (name, port)
        }
        _ => (host, ""),
    }
}

/// Whether the parts of `pattern` are the first parts of `path`.
fn is_below(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty()).map(ToOwned::to_owned).collect()
    };
    let (pattern, path) = (parts(pattern), parts(path));
    pattern.len() <= path.len()
        && pattern.iter().zip(&path).all(|(pattern, part)| is_like(pattern, part))
}

/// Whether `text` is like `pattern`, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::source::parse_source;

    fn rules(scope: SourceRuleScope, allow: Option<&[&str]>, deny: &[&str]) -> SourceRules {
        let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        SourceRules {
            origin: format!("{scope:?}"),
            scope,
            allow: allow.map(texts),
            deny: texts(deny),
        }
    }

    fn judge(all: &[SourceRules], source: &str) -> String {
        let source = parse_source(source, Path::new("/"), Path::new("/")).expect(source);
        match (SourcePolicy { rules: all.to_vec(), min_release_age: None }).judge(&source) {
            SourceVerdict::Allowed => "allowed".to_owned(),
            SourceVerdict::Ask => "ask".to_owned(),
            SourceVerdict::Denied(SourceDenial::Pattern { pattern, file }) => {
                format!("{pattern} {file}")
            }
            SourceVerdict::Denied(SourceDenial::NotListed { file }) => format!("not in {file}"),
            SourceVerdict::Denied(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn patterns_are_read_strictly_where_they_allow_and_widely_where_they_deny() {
        use SourceRuleScope::User;
        for (pattern, source, allows, denies) in [
            ("github.com", "a/b", true, true),
            ("github.com", "git@github.com:a/b", true, true),
            ("github.com", "https://github.com.evil.org/a.git", false, false),
            ("github.com", "https://evil.org/github.com/a.git", false, false),
            ("github.com", "https://github.com:444/a/b.git", false, true),
            ("github.com", "git://github.com/a/b", false, true),
            ("git://github.com", "git://github.com/a/b", true, true),
            ("github.com/good", "good/x", true, true),
            ("github.com/good", "Good/x", false, true),
            ("github.com/good", "good-not/x", false, false),
            ("github.com/good/x.git", "good/x/inner@v1", true, true),
            ("github.com/*/x", "any/x", true, true),
            ("github.com/*/x", "any/y", false, false),
            ("*.example.org", "https://a.example.org/x.git", true, true),
            ("*.example.org", "https://example.org/x.git", false, false),
            ("*", "https://anything.org/x.git", true, true),
            ("https://h.org/a", "ssh://git@h.org/a/b", false, false),
            ("localhost:80", "http://localhost/x.git", false, false),
            ("/", "https://h.org/x.git", false, false),
            ("", "https://h.org/x.git", false, false),
            ("h.org/g%6Fod", "https://h.org/good/x.git", false, false),
            ("h.org/good", "https://h.org/g%6Fod/x.git", true, true),
            ("ghcr.io/me/pdf", "oci://ghcr.io/me/pdf:1.0", true, true),
            ("ghcr.io/me/pdf", "oci://ghcr.io/me/pdf", true, true),
            ("ghcr.io/me/pdf:1.0", "oci://ghcr.io/me/pdf:1.0", true, true),
            ("ghcr.io/me/pdf:1.0", "oci://ghcr.io/me/pdf:1.1", false, false),
            ("docker.io/me", "oci://index.docker.io/me/pdf:1", true, true),
            ("h.org/x.zip", "https://h.org/x.zip?y=1", true, true),
            ("h.org/x.zip", "https://h.org/x.zip?y=/z", true, true),
            ("h.org/x.zip", "https://h.org/x%2Ezip#sha256=00", true, true),
            ("h.org/x.zip?y=1", "https://h.org/x.zip?y=2", false, false),
            ("h.org/x.zip?y=1", "https://h.org/x.zip?y=1", true, true),
            ("h.org/x.zip?y=*", "https://h.org/x.zip?y=/good", true, true),
            ("h.org/*/good", "https://h.org/evil.zip?/good", false, true),
            ("h.org/*/good", "https://h.org/evil%2Fgood/x.zip", false, true),
            ("h.org/*?*/good", "https://h.org/x.zip?y=/good", true, true),
            ("h.org/*?*/good", "https://h.org/evil/x.zip?y=/good", false, false),
            ("ghcr.io/me/pdf:*", "oci://ghcr.io/me/pdf:1.0", true, true),
            ("ghcr.io/*:1.0", "oci://ghcr.io/me/pdf:1.0", false, false),
        ] {
            let allowed = judge(&[rules(User, Some(&[pattern]), &[])], source);
            assert_eq!(allowed == "allowed", allows, "allow {pattern} for {source}: {allowed}");
            let denied = judge(&[rules(User, None, &[pattern])], source);
            assert_eq!(denied != "ask", denies, "deny {pattern} for {source}: {denied}");
        }
    }

    #[test]
    fn a_deny_wins_an_administrators_list_is_closed_and_a_project_only_narrows() {
        use SourceRuleScope::{Managed, Project, User};
        let user = rules(User, Some(&["github.com", "h.org"]), &[]);
        assert_eq!(judge(&[], "a/b"), "ask");
        assert_eq!(judge(&[rules(Project, Some(&["github.com"]), &[])], "a/b"), "ask");
        let narrowed = [user.clone(), rules(Project, Some(&["h.org"]), &[])];
        assert_eq!(judge(&narrowed, "a/b"), "not in Project");
        assert_eq!(judge(&narrowed, "https://h.org/x.git"), "allowed");
        let closed = [rules(Managed, Some(&["h.org"]), &[]), user.clone()];
        assert_eq!(judge(&closed, "a/b"), "not in Managed");
        assert_eq!(judge(&closed, "https://h.org/x.git"), "allowed");
        for scope in [Managed, User, Project] {
            let denied = [user.clone(), rules(scope, None, &["github.com/a"])];
            assert_eq!(judge(&denied, "a/b"), format!("github.com/a {scope:?}"));
        }
    }

    #[test]
    fn a_path_is_allowed_unless_it_is_denied() {
        use SourceRuleScope::{Managed, User};
        assert_eq!(judge(&[rules(Managed, Some(&["h.org"]), &["*"])], "/tmp"), "allowed");
        assert_eq!(judge(&[rules(User, None, &["/tmp"])], "/tmp"), "/tmp User");
        assert_eq!(judge(&[rules(User, None, &["/tm"])], "/tmp"), "allowed");
    }

    #[test]
    fn what_is_too_young_or_has_no_age_is_refused() {
        const DAY: i64 = 24 * 60 * 60;
        let wanted = Some((Duration::from_hours(7 * 24), "file".to_owned()));
        let policy = SourcePolicy { rules: Vec::new(), min_release_age: wanted };
        let age = |at: Option<i64>| match policy.check_age(at, 100 * DAY) {
            Ok(()) => Ok(()),
            Err(SourceDenial::TooYoung { age, .. }) => Err(age),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(age(Some(90 * DAY)), Ok(()));
        assert_eq!(age(Some(97 * DAY)), Err(Some(3)));
        assert_eq!(age(Some(200 * DAY)), Err(None));
        assert_eq!(age(None), Err(None));
        assert_eq!(SourcePolicy::default().check_age(None, 0), Ok(()));
    }
}
