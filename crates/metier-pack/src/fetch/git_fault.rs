//! Why a repository could not be fetched: what git said, in the words of the person who asked for it.
//!
//! git says everything in one stream of text, in English because it is asked to. What is not known here is
//! shown as it was said.

use std::fmt;

use metier_skill::FailureCode;

/// Why a repository could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GitFault {
    /// The program is not installed.
    NoGit,
    /// The host cannot be reached, or there is no such host.
    Unreachable(String),
    /// It is private, or it does not exist: many hosts do not say which.
    NeedsLogin,
    /// The host accepts none of the keys that ssh has.
    KeyRefused,
    /// There is no such repository.
    NoRepository,
    /// ssh does not know the host's key.
    UnknownHostKey,
    /// The host says that it is somewhere else.
    Redirected,
    /// The certificate of the host is not valid.
    BadCertificate,
    /// There is no such branch, tag or commit.
    NoReference {
        /// What was asked for.
        reference: String,
        /// The nearest that there are.
        near: Vec<String>,
    },
    /// There is no such directory in it.
    NoPath {
        /// What was asked for.
        path: String,
        /// The directories of its skills, the nearest first.
        skills: Vec<String>,
    },
    /// The commit that the lock names is not there any more.
    CommitGone(String),
    /// There is no commit in it.
    Empty,
    /// It is larger than the limit in bytes.
    TooLarge(u64),
    /// It took too long.
    Timeout,
    /// The caller stopped it.
    Cancelled,
    /// Anything else, as git said it.
    Failed(String),
}

/// What git, curl and ssh say of a host that cannot be reached.
const UNREACHABLE: &[&str] = &[
    "Could not resolve host",
    "unable to look up",
    "Failed to connect",
    "Couldn't connect",
    "unable to connect to",
    "Connection refused",
    "Connection timed out",
    "Network is unreachable",
    "No route to host",
    "Operation timed out",
];

impl GitFault {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoGit => "git-missing",
            Self::Unreachable(_) => "unreachable",
            Self::NeedsLogin | Self::KeyRefused => "repository-private",
            Self::NoRepository => "repository-not-found",
            Self::UnknownHostKey => "host-key-unknown",
            Self::Redirected => "repository-moved",
            Self::BadCertificate => "certificate",
            Self::NoReference { .. } => "ref-not-found",
            Self::NoPath { .. } => "path-not-found",
            Self::CommitGone(_) => "commit-gone",
            Self::Empty => "repository-empty",
            Self::TooLarge(_) => "too-large",
            Self::Timeout => "timed-out",
            Self::Cancelled => FailureCode::Cancelled.as_str(),
            Self::Failed(_) => "git-failed",
        }
    }

    /// What to do.
    pub(crate) fn help(&self) -> String {
        let listed = |what: &str, names: &[String], other: &str| {
            if names.is_empty() {
                other.to_owned()
            } else {
                format!("{what}: {}", names.join(", "))
            }
        };
        match self {
            Self::NoGit => {
                "install git, or download the repository as an archive and install that".to_owned()
            }
            Self::Unreachable(_) => "check the name of the host and the network".to_owned(),
            Self::NeedsLogin => {
                "check the name; for a private repository use its ssh address (git@host:owner/repo), with a key \
                 that needs no password or is in ssh-agent"
                    .to_owned()
            }
            Self::KeyRefused => {
                "put a key that the host knows into `~/.ssh` without a password, or into ssh-agent (ssh-add); \
                 `ssh -T` with the same user and host shows which keys are tried"
                    .to_owned()
            }
            Self::NoRepository => "check the name of the repository and of its owner".to_owned(),
            Self::UnknownHostKey => {
                "connect to the host once with ssh, check its key and accept it".to_owned()
            }
            Self::Redirected => "use the address where it is now".to_owned(),
            Self::BadCertificate => "check the name of the host, and the clock of this machine".to_owned(),
            Self::NoReference { near, .. } => {
                listed("the nearest", near, "a commit has to be given with all of its 40 characters")
            }
            Self::NoPath { skills, .. } => listed("its skills", skills, "it has no skills"),
            Self::CommitGone(_) => {
                "install the source again to see what it gives now; without it the old version is gone".to_owned()
            }
            Self::Empty => "push something to it first".to_owned(),
            Self::TooLarge(_) => "name a smaller repository, or an archive of the skill alone".to_owned(),
            Self::Timeout => "check the network, and try again".to_owned(),
            Self::Cancelled => "nothing was changed".to_owned(),
            Self::Failed(_) => "try the same address with git itself".to_owned(),
        }
    }

    /// What the end of git's standard error means.
    pub(super) fn of_words(words: &str) -> Self {
        let has = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
        // What ssh said is the reason, and git's own last words are none.
        let lines = words.lines().map(str::trim);
        let lines = lines
            .take_while(|line| !line.contains("Could not read from remote"))
            .filter(|line| !line.is_empty());
        let line = || {
            let is_fatal = |line: &&str| line.starts_with("fatal:");
            let reported = lines.clone().find(is_fatal).or_else(|| lines.clone().last());
            reported.unwrap_or("it gave no reason").trim_start_matches("fatal: ").to_owned()
        };
        if has(&["Host key verification failed"]) {
            return Self::UnknownHostKey;
        }
        if has(UNREACHABLE) {
            // Of a host with several addresses, the first: `unable to connect to` ends with a colon.
            let says_why = |line: &&str| UNREACHABLE.iter().any(|needle| line.contains(needle));
            let said: Vec<&str> = lines.clone().filter(says_why).take(2).collect();
            return Self::Unreachable(said.join(" ").trim_start_matches("fatal: ").to_owned());
        }
        if has(&["Permission denied (", "Too many authentication failures"]) {
            return Self::KeyRefused;
        }
        if has(&["SSL certificate", "certificate verif", "server certificate"]) {
            return Self::BadCertificate;
        }
        if has(&[
            "terminal prompts disabled",
            "could not read Username",
            "could not read Password",
            "Authentication failed",
            "returned error: 401",
            "returned error: 403",
        ]) {
            return Self::NeedsLogin;
        }
        if has(&[
            "returned error: 301",
            "returned error: 302",
            "returned error: 307",
            "returned error: 308",
        ]) || has(&["unable to update url base from redirection"])
        {
            return Self::Redirected;
        }
        let is_missing = has(&[
            "returned error: 404",
            "does not appear to be a git repository",
            "repository not exported",
            "Repository not found",
        ]) || (words.contains("repository '") && words.contains("' not found"));
        if is_missing { Self::NoRepository } else { Self::Failed(line()) }
    }
}

impl fmt::Display for GitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGit => f.write_str("git is not installed"),
            Self::Unreachable(said) => write!(f, "the host cannot be reached: {said}"),
            Self::NeedsLogin => {
                f.write_str("the repository is private, or there is no such repository")
            }
            Self::KeyRefused => f.write_str("the host accepts none of your ssh keys"),
            Self::NoRepository => f.write_str("there is no such repository"),
            Self::UnknownHostKey => f.write_str("ssh does not know the key of the host"),
            Self::Redirected => f.write_str("the host says that it is somewhere else"),
            Self::BadCertificate => f.write_str("the certificate of the host is not valid"),
            Self::NoReference { reference, .. } => {
                write!(f, "there is no branch, tag or commit `{reference}`")
            }
            Self::NoPath { path, .. } => write!(f, "there is no directory `{path}`"),
            Self::CommitGone(commit) => {
                write!(f, "the commit {commit} that the lock names is not there any more")
            }
            Self::Empty => f.write_str("the repository is empty"),
            Self::TooLarge(limit) => write!(f, "it is larger than {} MB", limit >> 20),
            Self::Timeout => f.write_str("fetching it took too long"),
            Self::Cancelled => f.write_str("fetching it was cancelled"),
            Self::Failed(said) => write!(f, "git failed: {said}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_known_by_its_words() {
        for (words, code) in [
            ("fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"),
            ("fatal: unable to look up none.invalid (port 9418)", "unreachable"),
            (
                "ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote",
                "unreachable",
            ),
            (
                "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
                "repository-private",
            ),
            ("git@h: Permission denied (publickey).\nfatal: Could not read", "repository-private"),
            (
                "Received disconnect from h port 22:2: Too many authentication failures",
                "repository-private",
            ),
            (
                "fatal: unable to access 'u': The requested URL returned error: 403",
                "repository-private",
            ),
            ("Host key verification failed.\nfatal: Could not read", "host-key-unknown"),
            ("fatal: repository 'https://x/y.git/' not found", "repository-not-found"),
            (
                "fatal: remote error: access denied or repository not exported: /x",
                "repository-not-found",
            ),
            (
                "fatal: unable to access 'u': The requested URL returned error: 301",
                "repository-moved",
            ),
            ("fatal: unable to access 'u': SSL certificate problem: expired", "certificate"),
            ("fatal: something new", "git-failed"),
            ("", "git-failed"),
        ] {
            assert_eq!(GitFault::of_words(words).code(), code, "{words}");
        }
        for (words, said) in [
            (
                "fatal: unable to connect to h:\nh[0: 127.0.0.1]: errno=Connection refused\n",
                "the host cannot be reached: unable to connect to h: h[0: 127.0.0.1]: errno=Connection refused",
            ),
            (
                "ssh: connect to host h port 22: Connection refused\r\nfatal: Could not read from remote repository.\n",
                "the host cannot be reached: ssh: connect to host h port 22: Connection refused",
            ),
            (
                "sh: git-upload-pack: not found\nfatal: Could not read from remote repository.\n\nPlease make sure",
                "git failed: sh: git-upload-pack: not found",
            ),
        ] {
            assert_eq!(GitFault::of_words(words).to_string(), said);
        }
        // Who came by ssh is not sent to ssh.
        let help = GitFault::of_words("git@h: Permission denied (publickey).").help();
        assert!(help.contains("ssh-agent") && !help.contains("ssh address"), "{help}");
    }
}
