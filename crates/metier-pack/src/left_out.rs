//! What is never shipped: version control, secrets, caches, and what other programs left behind.
//!
//! One rule for every way in which a skill travels, so that a pack, an archive, a directory and what
//! `verify` looks at agree about which files a skill has. What is left out is always said.

/// Why a file is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeftOutReason {
    /// Version control's own files.
    VersionControl,
    /// A file that holds secrets by custom.
    Secret,
    /// A cache, or packages that are fetched again.
    Cache,
    /// A desktop's or an installer's own notes.
    Debris,
    /// A link.
    Link,
    /// A device, a pipe or a socket.
    Special,
    /// A file that another directory entry names too, perhaps outside.
    HardLink,
    /// A note that the file is kept elsewhere, as git's large files are.
    Pointer,
    /// What is about to be replaced by this very pack, and its signatures.
    EarlierPack,
}

impl LeftOutReason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::VersionControl => "version control",
            Self::Secret => "may hold secrets",
            Self::Cache => "a cache",
            Self::Debris => "notes of another program",
            Self::Link => "a link",
            Self::Special => "not a regular file",
            Self::HardLink => "a hard link",
            Self::Pointer => "a git lfs pointer, not the file",
            Self::EarlierPack => "an earlier pack, or its signature",
        }
    }
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct LeftOut {
    /// Its path in what was read.
    pub path: String,
    /// Why.
    pub reason: LeftOutReason,
}

impl LeftOut {
    /// The name or the ending for which it is left out, where one says as much as all of them do: what is made again by
    /// itself can be counted. A secret, a link or a file that is missing later has to be named.
    pub fn counted_as(&self) -> Option<String> {
        use LeftOutReason::{Cache, Debris, VersionControl};
        if !matches!(self.reason, Cache | Debris | VersionControl) {
            return None;
        }
        let mut names = self.path.split('/').map(str::to_ascii_lowercase);
        let name = names.find(|name| of_name(name).is_some())?;
        let suffix = CACHE_SUFFIXES.iter().find(|suffix| name.ends_with(*suffix));
        Some(match suffix {
            Some(suffix) => format!("*{suffix}"),
            None if name.starts_with("._") => "._*".to_owned(),
            None => name,
        })
    }
}

const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".svn", ".jj", ".bzr"];
const CACHES: &[&str] = &[
    "__pycache__",
    "node_modules",
    ".venv",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
];
const CACHE_SUFFIXES: &[&str] = &[".pyc", ".pyo"];
const DEBRIS: &[&str] = &[
    "__macosx",
    ".ds_store",
    "thumbs.db",
    "desktop.ini",
    ".openskills.json",
    ".skillkit.json",
    ".clawhub",
    ".skillcask-installed",
];
const SECRETS: &[&str] = &[
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".aws",
    ".ssh",
    ".gnupg",
    ".pgpass",
    ".my.cnf",
    ".kube",
    "kubeconfig",
    ".docker",
    ".dockercfg",
    ".envrc",
    ".vault-token",
    ".secrets",
    "credentials.json",
    "credentials.yaml",
    "credentials.yml",
    "credentials.toml",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    "service-account.json",
    "service_account.json",
    "serviceaccount.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
];
/// The same, of files only: a directory of this name often holds texts about the thing.
const SECRET_FILES: &[&str] = &["credentials"];
const SECRET_SUFFIXES: &[&str] =
    &[".pem", ".p12", ".pfx", ".key", ".keystore", ".jks", ".tfstate", ".ppk"];
/// What stands before `.env` in files of settings for a place or a person. Others, such as `version.env`, are often
/// part of a skill.
const ENV_STEMS: &[&str] = &[
    "prod",
    "production",
    "staging",
    "stage",
    "dev",
    "development",
    "local",
    "test",
    "docker",
    "private",
    "secret",
    "secrets",
    "credentials",
];
/// Templates of secret files, which hold none.
const EXAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];

/// Why the file or directory at `path` is left out; `None` when it is shipped. Case does not count.
pub(crate) fn left_out(path: &str) -> Option<LeftOutReason> {
    path.split('/').find_map(|name| of_name(&name.to_ascii_lowercase()))
}

/// The same of what is known to be a file.
pub(crate) fn left_out_file(path: &str) -> Option<LeftOutReason> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    // An armoured key; a signature and a public key have the same ending.
    let is_key = name.rsplit('.').next() == Some("asc")
        && ["private", "secret"].iter().any(|it| name.contains(it));
    let is_secret = is_key || SECRET_FILES.contains(&name.as_str());
    left_out(path).or(is_secret.then_some(LeftOutReason::Secret))
}

fn of_name(name: &str) -> Option<LeftOutReason> {
    let is = |names: &[&str]| names.contains(&name);
    if is(VERSION_CONTROL) {
        return Some(LeftOutReason::VersionControl);
    }
    let is_env =
        name == ".env" || name.strip_prefix(".env.").is_some_and(|kind| !EXAMPLES.contains(&kind));
    let is_env = is_env || name.strip_suffix(".env").is_some_and(|stem| ENV_STEMS.contains(&stem));
    if is_env || is(SECRETS) || SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        return Some(LeftOutReason::Secret);
    }
    if is(CACHES) || CACHE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        return Some(LeftOutReason::Cache);
    }
    (is(DEBRIS) || name.starts_with("._")).then_some(LeftOutReason::Debris)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_caches_stay_and_ordinary_files_go() {
        for (path, reason) in [
            ("a/.git/config", LeftOutReason::VersionControl),
            ("a/.GIT/config", LeftOutReason::VersionControl),
            (".env", LeftOutReason::Secret),
            ("a/.env.local", LeftOutReason::Secret),
            ("keys/server.PEM", LeftOutReason::Secret),
            ("a/__pycache__/x.py", LeftOutReason::Cache),
            ("a/x.pyc", LeftOutReason::Cache),
            ("__MACOSX/a/._x", LeftOutReason::Debris),
            ("a/.pgpass", LeftOutReason::Secret),
            (".kube/config", LeftOutReason::Secret),
            (".docker/config.json", LeftOutReason::Secret),
            (".envrc", LeftOutReason::Secret),
            ("deploy/prod.env", LeftOutReason::Secret),
            ("a/credentials", LeftOutReason::Secret),
            ("credentials.json", LeftOutReason::Secret),
            ("secrets.json", LeftOutReason::Secret),
            ("service-account.json", LeftOutReason::Secret),
            ("infra/terraform.tfstate", LeftOutReason::Secret),
            ("kubeconfig", LeftOutReason::Secret),
            ("my-private-key.asc", LeftOutReason::Secret),
            (".vault-token", LeftOutReason::Secret),
        ] {
            assert_eq!(left_out_file(path), Some(reason), "{path}");
        }
        for path in [
            "SKILL.md",
            ".gitignore",
            ".env.example",
            "a/git/x",
            "metadata.json",
            "keys.md",
            "assets/version.env",
            "example.env",
            "credentials.md",
            "credentials/guide.md",
            "docker/Dockerfile",
            "release.asc",
            "main.tf",
        ] {
            assert_eq!(left_out_file(path), None, "{path}");
        }
    }
}
