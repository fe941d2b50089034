//! The table of files that no tool may touch, whatever the rules say. Data only.
//!
//! Names are compared without regard to case: on macOS and Windows `~/.SSH` is `~/.ssh`. Each entry
//! has a reason that completes the sentence "it is ...".

/// Where an entry applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectedAt {
    /// This path below the home directory, and everything below it.
    Home,
    /// These names in sequence in any path, and everything below them.
    Anywhere,
    /// The last name of any path.
    Name,
}

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectedFrom {
    /// Reading as well.
    Everything,
    /// Writing and deleting.
    Changes,
}

/// One protected place.
#[derive(Debug)]
pub(crate) struct Protected {
    pub(crate) place: ProtectedAt,
    /// In lower case; `*` and `?` are wildcards for names.
    pub(crate) pattern: &'static str,
    pub(crate) against: ProtectedFrom,
    pub(crate) what: &'static str,
}

const fn home(pattern: &'static str, against: ProtectedFrom, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::Home, pattern, against, what }
}

const fn anywhere(pattern: &'static str, against: ProtectedFrom, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::Anywhere, pattern, against, what }
}

const fn name(pattern: &'static str, against: ProtectedFrom, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::Name, pattern, against, what }
}

const KEY: &str = "a place for keys and passwords";
const STARTUP: &str = "run when you log in or open a shell";
const TOOL: &str = "read by a program that executes it";
const OWN: &str = "Metier's own: configuration, trust, locks and records";
const SKILLS: &str = "a folder of skills, which only their owner may change";

use ProtectedFrom::{Changes, Everything};

/// All protected places.
pub(crate) const PROTECTED: &[Protected] = &[
    // Keys and passwords.
    home(".ssh", Everything, KEY),
    home(".aws", Everything, KEY),
    home(".azure", Everything, KEY),
    home(".gnupg", Everything, KEY),
    home(".kube", Everything, KEY),
    home(".docker/config.json", Everything, KEY),
    home(".config/gcloud", Everything, KEY),
    home(".config/gh", Everything, KEY),
    home(".config/op", Everything, KEY),
    home(".config/sops", Everything, KEY),
    home(".password-store", Everything, KEY),
    home(".local/share/keyrings", Everything, KEY),
    home(".mozilla", Everything, KEY),
    home(".config/google-chrome", Everything, KEY),
    home(".config/chromium", Everything, KEY),
    home("library/keychains", Everything, KEY),
    home("library/application support/google/chrome", Everything, KEY),
    home("library/application support/firefox", Everything, KEY),
    home("appdata/roaming/microsoft/credentials", Everything, KEY),
    home("appdata/local/microsoft/credentials", Everything, KEY),
    home(".netrc", Everything, KEY),
    home("_netrc", Everything, KEY),
    home(".npmrc", Everything, KEY),
    home(".pypirc", Everything, KEY),
    home(".pgpass", Everything, KEY),
    home(".my.cnf", Everything, KEY),
    home(".git-credentials", Everything, KEY),
    home(".cargo/credentials", Everything, KEY),
    home(".cargo/credentials.toml", Everything, KEY),
    home(".terraform.d/credentials.tfrc.json", Everything, KEY),
    home(".claude/.credentials.json", Everything, KEY),
    home(".codex/auth.json", Everything, KEY),
    home(".local/share/opencode/auth.json", Everything, KEY),
    anywhere("proc/*/environ", Everything, KEY),
    anywhere("proc/*/mem", Everything, KEY),
    anywhere("proc/*/task/*/environ", Everything, KEY),
    name(".env", Everything, KEY),
    name(".env.*", Everything, KEY),
    name(".git-credentials", Everything, KEY),
    name("id_rsa", Everything, KEY),
    name("id_dsa", Everything, KEY),
    name("id_ecdsa", Everything, KEY),
    name("id_ed25519", Everything, KEY),
    // What a shell or a desktop runs at start-up.
    home(".profile", Changes, STARTUP),
    home(".bash_profile", Changes, STARTUP),
    home(".bash_login", Changes, STARTUP),
    home(".bash_logout", Changes, STARTUP),
    home(".bashrc", Changes, STARTUP),
    home(".zshrc", Changes, STARTUP),
    home(".zshenv", Changes, STARTUP),
    home(".zprofile", Changes, STARTUP),
    home(".zlogin", Changes, STARTUP),
    home(".zlogout", Changes, STARTUP),
    home(".cshrc", Changes, STARTUP),
    home(".tcshrc", Changes, STARTUP),
    home(".xprofile", Changes, STARTUP),
    home(".xinitrc", Changes, STARTUP),
    home(".xsession", Changes, STARTUP),
    home(".pam_environment", Changes, STARTUP),
    home(".config/fish", Changes, STARTUP),
    home(".config/nushell", Changes, STARTUP),
    home(".config/powershell", Changes, STARTUP),
    home(".config/environment.d", Changes, STARTUP),
    home(".config/autostart", Changes, STARTUP),
    home(".config/systemd", Changes, STARTUP),
    home("library/launchagents", Changes, STARTUP),
    home("documents/powershell", Changes, STARTUP),
    home("documents/windowspowershell", Changes, STARTUP),
    home("appdata/roaming/microsoft/windows/start menu/programs/startup", Changes, STARTUP),
    // What other programs run.
    home(".gitconfig", Changes, TOOL),
    home(".config/git", Changes, TOOL),
    home(".vimrc", Changes, TOOL),
    home(".vim", Changes, TOOL),
    home(".config/nvim", Changes, TOOL),
    home(".cargo/config.toml", Changes, TOOL),
    home(".local/bin", Changes, TOOL),
    anywhere(".git", Changes, TOOL),
    anywhere(".claude/settings.json", Changes, TOOL),
    anywhere(".claude/settings.local.json", Changes, TOOL),
    anywhere(".claude/hooks", Changes, TOOL),
    anywhere(".vscode", Changes, TOOL),
    name(".envrc", Changes, TOOL),
    name(".mcp.json", Changes, TOOL),
    // Ours, wherever a project keeps it.
    anywhere(".agent/config.json", Changes, OWN),
    anywhere(".agent/skills.lock.json", Changes, OWN),
    anywhere(".agent/runs", Changes, OWN),
    // Skills: a file written here would be loaded as a skill the next time.
    anywhere(".*/skills", Changes, SKILLS),
    anywhere(".*/skill", Changes, SKILLS),
    anywhere(".claude/plugins", Changes, SKILLS),
];

/// Names that look like a key and are templates, written to be read.
pub(crate) const TEMPLATES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"];
