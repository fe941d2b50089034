//! What a request is about: a path, a command, a script, a host, a skill.
//!
//! Each kind has one checked constructor, and reading it back from JSON goes through it. What a rule
//! is compared with are the subject's spellings ([`SubjectSpellings`]), made once for each decision.

use std::fmt;

use metier_skill::{RelPath, SkillId};
use serde::{Deserialize, Serialize};

use crate::error::{PolicyError, shown};
use crate::places::PolicyPlaces;

/// Bytes of one subject; longer ones are refused, so that matching stays cheap.
const MAX_BYTES: usize = 128 * 1024;

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// A file or directory.
    Path(AbsolutePath),
    /// A program and its arguments.
    Command(Argv),
    /// A script of a skill, and its arguments.
    Script {
        /// The skill.
        skill: SkillId,
        /// The script's path in it.
        path: RelPath,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A host, with a port where it is not the usual one.
    Host(Host),
    /// A skill.
    Skill(SkillId),
    /// The subject of another program's tool, as free text.
    Text(String),
}

/// An absolute path with `/` between its parts and nothing left to resolve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AbsolutePath(Box<str>);

/// A program and its arguments; there is always a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Argv(Vec<String>);

/// A host in lower case, `host` or `host:port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Host(Box<str>);

impl AbsolutePath {
    /// Checks a path. It must be absolute (`/a/b`, or `C:/a` on Windows) and resolved: no `.`, no
    /// `..`, no doubled slash. The caller resolves links, since this crate has no file system.
    pub fn new(path: &str) -> Result<Self, PolicyError> {
        check_length(path.len())?;
        let drive = path.as_bytes();
        let drive = drive.len() >= 3 && drive[0].is_ascii_alphabetic() && &drive[1..3] == b":/";
        let rest = if drive { &path[3..] } else { path.strip_prefix('/').unwrap_or("..") };
        let bad = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
        if !rest.is_empty() && rest.split('/').any(bad) {
            return Err(PolicyError::BadPath(path.to_owned()));
        }
        Ok(Self(path.into()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path below `dir`, empty for `dir` itself.
    pub fn below(&self, dir: &Self) -> Option<&str> {
        let rest = self.0.strip_prefix(&*dir.0)?;
        if rest.is_empty() || dir.0.ends_with('/') {
            return Some(rest);
        }
        rest.strip_prefix('/')
    }

    /// The path itself and each directory above it, upwards.
    pub(crate) fn upwards(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(&*self.0), |path| path.rfind('/').map(|at| &path[..at]))
    }
}

impl Argv {
    /// A program and its arguments.
    pub fn new(words: Vec<String>) -> Result<Self, PolicyError> {
        check_length(words.iter().map(String::len).sum())?;
        match words.first() {
            Some(program) if !program.trim().is_empty() => Ok(Self(words)),
            _ => Err(PolicyError::EmptyCommand),
        }
    }

    /// The program and its arguments.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

impl Host {
    /// Checks a host: `api.example.com`, `10.0.0.1`, `[::1]`, each with or without `:port`.
    pub fn new(host: &str) -> Result<Self, PolicyError> {
        let bad = || PolicyError::BadHost(host.to_owned());
        let (name, port) = split_port(host);
        let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok());
        // With a trailing dot it is the same host to every resolver, but another one to a rule.
        let name = name.strip_suffix('.').unwrap_or(name);
        let odd = |ch: char| ch.is_whitespace() || ch.is_control() || "/@?#\\*".contains(ch);
        if name.is_empty() || name.len() > 255 || name.contains(odd) || !port_fits {
            return Err(bad());
        }
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Ok(Self(format!("{}{port}", name.to_lowercase()).into()))
    }

    /// The host.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn check_length(bytes: usize) -> Result<(), PolicyError> {
    if bytes > MAX_BYTES {
        return Err(PolicyError::TooLong { bytes, limit: MAX_BYTES });
    }
    Ok(())
}

impl Subject {
    /// A file or directory.
    pub fn path(path: &str) -> Result<Self, PolicyError> {
        AbsolutePath::new(path).map(Self::Path)
    }

    /// A program and its arguments.
    pub fn command<S: Into<String>>(
        words: impl IntoIterator<Item = S>,
    ) -> Result<Self, PolicyError> {
        Argv::new(words.into_iter().map(Into::into).collect()).map(Self::Command)
    }

    /// A script of a skill, and its arguments.
    pub fn script(skill: SkillId, path: RelPath, args: Vec<String>) -> Result<Self, PolicyError> {
        check_length(args.iter().map(String::len).sum())?;
        Ok(Self::Script { skill, path, args })
    }

    /// A host.
    pub fn host(host: &str) -> Result<Self, PolicyError> {
        Host::new(host).map(Self::Host)
    }

    /// The subject of another program's tool.
    pub fn text(text: &str) -> Result<Self, PolicyError> {
        check_length(text.len())?;
        Ok(Self::Text(text.to_owned()))
    }

    /// The parts of its digest, the kind first.
    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        match self {
            Self::Path(path) => vec![b"path", path.0.as_bytes()],
            Self::Command(argv) => {
                let words = argv.0.iter().map(String::as_bytes);
                std::iter::once(b"command".as_slice()).chain(words).collect()
            }
            Self::Script { skill, path, args } => {
                let fixed = [
                    b"script".as_slice(),
                    skill.source.as_str().as_bytes(),
                    skill.name.as_str().as_bytes(),
                    path.as_str().as_bytes(),
                ];
                fixed.into_iter().chain(args.iter().map(String::as_bytes)).collect()
            }
            Self::Host(host) => vec![b"host", host.0.as_bytes()],
            Self::Skill(skill) => {
                vec![b"skill", skill.source.as_str().as_bytes(), skill.name.as_str().as_bytes()]
            }
            Self::Text(text) => vec![b"text", text.as_bytes()],
        }
    }
}

impl fmt::Display for Subject {
    /// As a sentence shows it: escaped and in backquotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Path(path) => path.0.to_string(),
            Self::Command(argv) => quoted(&argv.0),
            Self::Script { skill, path, args } => {
                let script = format!("{skill}/{path}");
                if args.is_empty() { script } else { format!("{script} {}", quoted(args)) }
            }
            Self::Host(host) => host.0.to_string(),
            Self::Skill(skill) => skill.to_string(),
            Self::Text(text) => text.clone(),
        };
        f.write_str(&shown(&text))
    }
}

/// Words as a shell would take them, so that two words never look like one.
fn quoted(words: &[String]) -> String {
    let plain = |ch: char| ch.is_alphanumeric() || "_-./:=@%+,".contains(ch);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// A subject with the texts that patterns are compared with.
pub(crate) struct SubjectSpellings<'a> {
    pub(crate) subject: &'a Subject,
    /// The ways to write it; none for a command, which is matched word by word.
    pub(crate) texts: Vec<String>,
}

impl<'a> SubjectSpellings<'a> {
    pub(crate) fn new(subject: &'a Subject, places: &PolicyPlaces) -> Self {
        let texts = match subject {
            Subject::Path(path) => path_spellings(path, places),
            Subject::Command(_) => Vec::new(),
            Subject::Script { skill, path, .. } => {
                skill_spellings(skill).into_iter().map(|id| format!("{id}/{path}")).collect()
            }
            Subject::Host(host) => {
                let (name, port) = split_port(&host.0);
                let without_port = port.map(|_| name.to_owned());
                std::iter::once(host.0.to_string()).chain(without_port).collect()
            }
            Subject::Skill(skill) => skill_spellings(skill),
            Subject::Text(text) => vec![text.clone()],
        };
        Self { subject, texts }
    }

    /// The same for a skill, which is spelt alike everywhere.
    pub(crate) fn of_skill(subject: &'a Subject) -> Self {
        let texts = if let Subject::Skill(id) = subject { skill_spellings(id) } else { Vec::new() };
        Self { subject, texts }
    }
}

/// The id, and the bare name. A name with a colon has no bare form: the skill `user:x` of a plugin
/// would pass for one of the user's.
fn skill_spellings(skill: &SkillId) -> Vec<String> {
    let name = skill.name.as_str();
    let bare = (!name.contains(':')).then(|| name.to_owned());
    std::iter::once(skill.to_string()).chain(bare).collect()
}

/// The absolute path, from the home directory (`~/a`), and from the workspace (`a`, `.`).
fn path_spellings(path: &AbsolutePath, places: &PolicyPlaces) -> Vec<String> {
    let in_home = places.home().and_then(|home| path.below(home));
    let in_home =
        in_home.map(|rest| if rest.is_empty() { "~".into() } else { format!("~/{rest}") });
    let in_workspace = path.below(places.workspace());
    let in_workspace = in_workspace.map(|rest| if rest.is_empty() { "." } else { rest }.to_owned());
    std::iter::once(path.0.to_string()).chain(in_home).chain(in_workspace).collect()
}

impl TryFrom<String> for AbsolutePath {
    type Error = PolicyError;

    fn try_from(path: String) -> Result<Self, PolicyError> {
        Self::new(&path)
    }
}

impl From<AbsolutePath> for String {
    fn from(path: AbsolutePath) -> Self {
        path.0.into()
    }
}

impl TryFrom<Vec<String>> for Argv {
    type Error = PolicyError;

    fn try_from(words: Vec<String>) -> Result<Self, PolicyError> {
        Self::new(words)
    }
}

impl From<Argv> for Vec<String> {
    fn from(argv: Argv) -> Self {
        argv.0
    }
}

impl TryFrom<String> for Host {
    type Error = PolicyError;

    fn try_from(host: String) -> Result<Self, PolicyError> {
        Self::new(&host)
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_resolved_absolute_paths_are_paths() {
        for good in ["/", "/a", "/a/b c", "C:/a", "C:/"] {
            assert!(AbsolutePath::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a", "./a", "/a/../b", "/a/./b", "/a//b", "/a/", "/a\0", "C:a", "~/x"] {
            assert_eq!(AbsolutePath::new(bad).map_err(|e| e.code()), Err("bad-path"), "{bad}");
        }
    }

    #[test]
    fn below_is_about_parts_not_letters() {
        let path = |text| AbsolutePath::new(text).expect("a path");
        assert_eq!(path("/a/b").below(&path("/a")), Some("b"));
        assert_eq!(path("/a").below(&path("/a")), Some(""));
        assert_eq!(path("/ab").below(&path("/a")), None);
        assert_eq!(path("/ab").below(&path("/")), Some("ab"));
        assert_eq!(path("/a/b").upwards().collect::<Vec<_>>(), ["/a/b", "/a", ""]);
    }

    #[test]
    fn hosts_are_lower_case_without_a_last_dot() {
        for (text, host) in [
            ("API.Example.com.", "api.example.com"),
            ("example.com:8080", "example.com:8080"),
            ("[::1]:80", "[::1]:80"),
            ("::1", "::1"),
        ] {
            assert_eq!(Host::new(text).expect("a host").as_str(), host);
        }
        for bad in ["", ".", "a b", "a/b", "u@h", "h:99999", "h:x", "*.x"] {
            assert_eq!(Host::new(bad).map_err(|e| e.code()), Err("bad-host"), "{bad}");
        }
    }

    #[test]
    fn a_shown_command_keeps_its_words_distinct() {
        let one = Subject::command(["git", "log; rm"]).expect("a command");
        assert_eq!(one.to_string(), "`git 'log; rm'`");
        assert_eq!(Subject::command([" "]), Err(PolicyError::EmptyCommand));
    }
}
