//! The table of files that no tool may touch, whatever the rules say. Data only.
//!
//! It holds keys, and what starts without anyone starting it: at login, when a shell opens, when a
//! folder is entered or opened in an editor, when an agent starts in it, when git is used. Files that
//! run when someone builds are not here, since nothing opens this table: they are in `executed.rs`.
//!
//! Names are compared without regard to case: on macOS and Windows `~/.SSH` is `~/.ssh`. Each entry
//! has a reason that completes the sentence "it is ...".

use metier_skill::{AGENT_FOLDERS, agent_folder};

/// Where an entry applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectedAt {
    /// This path below the home directory, and everything below it.
    Home,
    /// This path below the root of the file system, and everything below it.
    System,
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
#[derive(Debug, Clone, Copy)]
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

const fn system(pattern: &'static str, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::System, pattern, against: Changes, what }
}

const fn anywhere(pattern: &'static str, against: ProtectedFrom, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::Anywhere, pattern, against, what }
}

const fn name(pattern: &'static str, against: ProtectedFrom, what: &'static str) -> Protected {
    Protected { place: ProtectedAt::Name, pattern, against, what }
}

const KEY: &str = "a place for keys and passwords";
const STARTUP: &str = "run when you log in or open a shell";
const SYSTEM: &str = "read by the system, which starts programs from it";
const TOOL: &str = "read by a program that executes it";
const AGENT: &str = "read by an agent that starts programs from it";
const EDITOR: &str = "read by editors that start programs from it when a folder is opened";
const ENTER: &str = "run when a shell enters the folder, or a program starts in it";
const HOOK: &str = "run by git hooks";
const OWN: &str = "Metier's own: configuration, trust, locks and records";
const SKILLS: &str = "a folder of skills, which only their owner may change";

use ProtectedFrom::{Changes, Everything};

/// All protected places, apart from those of [`agents`].
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
    home(".minisign", Everything, KEY),
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
    name(".netrc", Everything, KEY),
    name(".pgpass", Everything, KEY),
    name(".pypirc", Everything, KEY),
    name("id_rsa", Everything, KEY),
    name("id_dsa", Everything, KEY),
    name("id_ecdsa", Everything, KEY),
    name("id_ed25519", Everything, KEY),
    name("id_ecdsa_sk", Everything, KEY),
    name("id_ed25519_sk", Everything, KEY),
    // Containers of private keys and passwords. Not `*.pem` and `*.key`: the certificates that every
    // interpreter brings for TLS have these names too.
    name("*.p12", Everything, KEY),
    name("*.pfx", Everything, KEY),
    name("*.ppk", Everything, KEY),
    name("*.kdbx", Everything, KEY),
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
    home(".bash_aliases", Changes, STARTUP),
    home(".config/zsh", Changes, STARTUP),
    home(".kshrc", Changes, STARTUP),
    home(".mkshrc", Changes, STARTUP),
    home(".login", Changes, STARTUP),
    home(".logout", Changes, STARTUP),
    home(".cshrc", Changes, STARTUP),
    home(".tcshrc", Changes, STARTUP),
    home(".xprofile", Changes, STARTUP),
    home(".xinitrc", Changes, STARTUP),
    home(".xsession", Changes, STARTUP),
    home(".xsessionrc", Changes, STARTUP),
    home(".xmonad", Changes, STARTUP),
    home(".pam_environment", Changes, STARTUP),
    home(".config/fish", Changes, STARTUP),
    home(".config/nushell", Changes, STARTUP),
    home(".config/powershell", Changes, STARTUP),
    home(".config/environment.d", Changes, STARTUP),
    home(".config/autostart", Changes, STARTUP),
    home(".config/systemd", Changes, STARTUP),
    home(".local/share/systemd", Changes, STARTUP),
    home(".local/share/dbus-1", Changes, STARTUP),
    home(".local/share/applications", Changes, STARTUP),
    home(".config/plasma-workspace", Changes, STARTUP),
    home(".config/openbox", Changes, STARTUP),
    home(".config/i3", Changes, STARTUP),
    home(".config/sway", Changes, STARTUP),
    home(".config/hypr", Changes, STARTUP),
    home(".config/starship.toml", Changes, STARTUP),
    home(".tmux.conf", Changes, STARTUP),
    home(".config/tmux", Changes, STARTUP),
    home(".screenrc", Changes, STARTUP),
    home(".wezterm.lua", Changes, STARTUP),
    home(".config/wezterm", Changes, STARTUP),
    home(".config/kitty", Changes, STARTUP),
    home(".config/alacritty", Changes, STARTUP),
    home(".config/ghostty", Changes, STARTUP),
    home("library/launchagents", Changes, STARTUP),
    system("etc/profile", SYSTEM),
    system("etc/profile.d", SYSTEM),
    system("etc/bash.bashrc", SYSTEM),
    system("etc/zsh", SYSTEM),
    system("etc/crontab", SYSTEM),
    system("etc/cron.d", SYSTEM),
    system("etc/cron.hourly", SYSTEM),
    system("etc/cron.daily", SYSTEM),
    system("etc/cron.weekly", SYSTEM),
    system("etc/cron.monthly", SYSTEM),
    system("etc/init.d", SYSTEM),
    system("etc/rc.local", SYSTEM),
    system("etc/systemd", SYSTEM),
    system("etc/udev", SYSTEM),
    system("etc/pam.d", SYSTEM),
    system("etc/sudoers", SYSTEM),
    system("etc/sudoers.d", SYSTEM),
    system("etc/ld.so.preload", SYSTEM),
    system("etc/xdg/autostart", SYSTEM),
    system("var/spool/cron", SYSTEM),
    system("library/launchagents", SYSTEM),
    system("library/launchdaemons", SYSTEM),
    home("documents/powershell", Changes, STARTUP),
    home("documents/windowspowershell", Changes, STARTUP),
    home("appdata/roaming/microsoft/windows/start menu/programs/startup", Changes, STARTUP),
    // What other programs run.
    home(".gitconfig", Changes, TOOL),
    home(".config/git", Changes, TOOL),
    home(".vimrc", Changes, TOOL),
    home(".vim", Changes, TOOL),
    home(".config/nvim", Changes, TOOL),
    home(".emacs", Changes, TOOL),
    home(".emacs.d", Changes, TOOL),
    home(".config/emacs", Changes, TOOL),
    home(".config/helix", Changes, TOOL),
    home(".config/zed", Changes, TOOL),
    home(".config/code", Changes, TOOL),
    home("library/application support/code", Changes, TOOL),
    home(".direnvrc", Changes, TOOL),
    home(".config/direnv", Changes, TOOL),
    home(".cargo/config.toml", Changes, TOOL),
    home(".cargo/config", Changes, TOOL),
    home(".local/bin", Changes, TOOL),
    home("bin", Changes, TOOL),
    home(".ipython", Changes, TOOL),
    home(".jupyter", Changes, TOOL),
    home(".psqlrc", Changes, TOOL),
    home(".sqliterc", Changes, TOOL),
    home(".julia/config", Changes, TOOL),
    // Version control, and what it runs.
    anywhere(".git", Changes, TOOL),
    anywhere(".hg", Changes, TOOL),
    anywhere(".jj", Changes, TOOL),
    anywhere(".svn", Changes, TOOL),
    anywhere(".githooks", Changes, HOOK),
    anywhere(".git-hooks", Changes, HOOK),
    anywhere(".husky", Changes, HOOK),
    anywhere(".lefthook", Changes, HOOK),
    name(".huskyrc*", Changes, HOOK),
    name("*lefthook.y*ml", Changes, HOOK),
    name("*lefthook.toml", Changes, HOOK),
    name("*lefthook.json*", Changes, HOOK),
    name("*lefthook-local.y*ml", Changes, HOOK),
    name("*lefthook-local.toml", Changes, HOOK),
    name("*lefthook-local.json*", Changes, HOOK),
    name(".pre-commit-config.y*ml", Changes, HOOK),
    name(".overcommit.yml", Changes, HOOK),
    name(".simple-git-hooks.*", Changes, HOOK),
    // Hooks, wherever `core.hooksPath` leads: only a hook has such a name and no ending.
    name("pre-commit", Changes, HOOK),
    name("pre-merge-commit", Changes, HOOK),
    name("prepare-commit-msg", Changes, HOOK),
    name("commit-msg", Changes, HOOK),
    name("post-commit", Changes, HOOK),
    name("pre-push", Changes, HOOK),
    name("pre-rebase", Changes, HOOK),
    name("post-checkout", Changes, HOOK),
    name("post-merge", Changes, HOOK),
    name("post-rewrite", Changes, HOOK),
    name("post-index-change", Changes, HOOK),
    name("pre-auto-gc", Changes, HOOK),
    name("reference-transaction", Changes, HOOK),
    name("fsmonitor-watchman", Changes, HOOK),
    name("applypatch-msg", Changes, HOOK),
    name("pre-applypatch", Changes, HOOK),
    name("post-applypatch", Changes, HOOK),
    name("pre-receive", Changes, HOOK),
    name("post-receive", Changes, HOOK),
    // Agents that look for no skills, or keep settings beside their folder.
    home(".claude.json", Changes, AGENT),
    home(".config/claude", Changes, AGENT),
    home("library/application support/claude", Changes, AGENT),
    name(".mcp.json", Changes, AGENT),
    name("mcp.json", Changes, AGENT),
    name("opencode.json*", Changes, AGENT),
    name("crush.json", Changes, AGENT),
    name(".crush.json", Changes, AGENT),
    name(".aider.conf.y*ml", Changes, AGENT),
    anywhere(".github/hooks", Changes, AGENT),
    anywhere(".amazonq", Changes, AGENT),
    anywhere(".amp", Changes, AGENT),
    anywhere(".augment", Changes, AGENT),
    anywhere(".cline", Changes, AGENT),
    anywhere(".continue", Changes, AGENT),
    anywhere(".junie", Changes, AGENT),
    anywhere(".kilocode", Changes, AGENT),
    anywhere(".openhands", Changes, AGENT),
    anywhere(".rovodev", Changes, AGENT),
    anywhere(".trae", Changes, AGENT),
    anywhere(".windsurf", Changes, AGENT),
    // Editors, and workspaces that open in a container or in a browser.
    anywhere(".vscode", Changes, EDITOR),
    anywhere(".vs", Changes, EDITOR),
    anywhere(".idea", Changes, EDITOR),
    anywhere(".run", Changes, EDITOR),
    anywhere(".zed", Changes, EDITOR),
    anywhere(".fleet", Changes, EDITOR),
    anywhere(".theia", Changes, EDITOR),
    anywhere(".nova", Changes, EDITOR),
    anywhere(".helix", Changes, EDITOR),
    anywhere(".lapce", Changes, EDITOR),
    anywhere(".vim", Changes, EDITOR),
    anywhere(".nvim", Changes, EDITOR),
    anywhere(".externaltoolbuilders", Changes, EDITOR),
    name("*.code-workspace", Changes, EDITOR),
    name("*.sublime-project", Changes, EDITOR),
    name("*.sublime-workspace", Changes, EDITOR),
    name(".exrc", Changes, EDITOR),
    name(".vimrc", Changes, EDITOR),
    name(".gvimrc", Changes, EDITOR),
    name(".lvimrc", Changes, EDITOR),
    name(".nvimrc", Changes, EDITOR),
    name(".nvim.lua", Changes, EDITOR),
    name(".dir-locals*.el", Changes, EDITOR),
    anywhere(".devcontainer", Changes, EDITOR),
    name(".devcontainer.json", Changes, EDITOR),
    name(".devfile.y*ml", Changes, EDITOR),
    name("devfile.y*ml", Changes, EDITOR),
    name(".gitpod.y*ml", Changes, EDITOR),
    name(".gitpod.dockerfile", Changes, EDITOR),
    name(".replit", Changes, EDITOR),
    name(".stackblitzrc", Changes, EDITOR),
    anywhere(".codesandbox", Changes, EDITOR),
    anywhere(".idx", Changes, EDITOR),
    // Entering a folder, or starting an interpreter or debugger in it.
    name(".envrc", Changes, ENTER),
    name(".envrc.*", Changes, ENTER),
    name(".autoenv*", Changes, ENTER),
    anywhere(".shadowenv.d", Changes, ENTER),
    anywhere(".mise", Changes, ENTER),
    anywhere(".config/mise", Changes, ENTER),
    anywhere("mise/config.toml", Changes, ENTER),
    name("mise.toml", Changes, ENTER),
    name("mise.*.toml", Changes, ENTER),
    name(".mise.toml", Changes, ENTER),
    name(".mise.*.toml", Changes, ENTER),
    name(".rprofile", Changes, ENTER),
    name(".gdbinit", Changes, ENTER),
    name(".lldbinit", Changes, ENTER),
    name(".ghci", Changes, ENTER),
    name(".iex.exs", Changes, ENTER),
    name(".irbrc", Changes, ENTER),
    name(".pryrc", Changes, ENTER),
    name(".ocamlinit", Changes, ENTER),
    name(".octaverc", Changes, ENTER),
    name(".erlang", Changes, ENTER),
    // Ours, wherever a project keeps it.
    anywhere(".agent/config.json", Changes, OWN),
    anywhere(".agent/skills.json", Changes, OWN),
    anywhere(".agent/keys", Everything, KEY),
    anywhere(".agent/skills.lock.json", Changes, OWN),
    anywhere(".agent/suppressions.json", Changes, OWN),
    anywhere(".agent/runs", Changes, OWN),
    // Skills: a file written here would be loaded as a skill the next time.
    anywhere(".*/skills", Changes, SKILLS),
    anywhere(".*/skill", Changes, SKILLS),
    anywhere(".claude/plugins", Changes, SKILLS),
];

/// Names that look like a key and are templates, written to be read.
pub(crate) const TEMPLATES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"];

/// Folders that hold more than an agent's own: of these, the entries above say what is protected.
const SHARED_FOLDERS: &[&str] = &[".agent", ".github"];

/// The folders of all agents that look for skills: their settings, hooks and servers start programs.
pub(crate) fn agents() -> impl Iterator<Item = Protected> {
    let is_own = |folder: &&str| !SHARED_FOLDERS.contains(folder);
    let own = move |skills: &&'static str| agent_folder(skills).filter(is_own);
    let project = AGENT_FOLDERS.iter().flat_map(|agent| agent.project).filter_map(own);
    let user = AGENT_FOLDERS.iter().flat_map(|agent| agent.user).filter_map(own);
    project
        .map(|folder| anywhere(folder, Changes, AGENT))
        .chain(user.map(|folder| home(folder, Changes, AGENT)))
}
