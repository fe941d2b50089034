//! The floor: the built-in refusals that no rule can change. Beside it, the built-in questions about
//! files that CI and builds run, which only a rule about that very file answers.
//!
//! It protects keys, start-up files, our own files, and skills from each other. It checks paths only;
//! the sandbox limits what a program does with the files it can reach. A caller that walks a
//! directory must ask about each file, since a directory may hold protected ones.

use std::collections::HashSet;
use std::sync::LazyLock;

use metier_skill::SkillId;

use crate::executed::executed;
use crate::permission::{Access, Permission};
use crate::place_table::{FoldedPath, PlaceTable, folded};
use crate::places::PolicyPlaces;
use crate::protected::{PROTECTED, Protected, ProtectedAt, ProtectedFrom, agents};
use crate::request::ActingSkill;
use crate::subject::{AbsolutePath, Subject};
use crate::wildcard::Wildcard;

/// The acting skill and the loaded ones, as far as the floor needs them.
#[derive(Clone, Copy)]
pub(crate) struct Actor<'a> {
    pub(crate) skill: Option<&'a ActingSkill>,
    pub(crate) loaded: &'a dyn Fn(&SkillId) -> bool,
}

/// Why the floor refuses, as the end of "refused: ...".
pub(crate) fn refusal(
    permission: &Permission,
    subject: &Subject,
    actor: Actor<'_>,
    places: &PolicyPlaces,
) -> Option<String> {
    match subject {
        Subject::Path(path) => {
            let access = permission.access();
            protected_place(path, access, places)
                .or_else(|| own_place(path, access, places))
                .or_else(|| skill_place(path, access, actor, places))
        }
        Subject::Script { skill, .. } => {
            let other = actor.skill.filter(|acting| acting.id != *skill)?;
            Some(format!("{} may not use the scripts of {skill}", other.id))
        }
        _ => None,
    }
}

impl PolicyPlaces {
    /// Whether no tool may read this path, whatever the rules say: keys and passwords.
    pub fn holds_keys(&self, path: &AbsolutePath) -> bool {
        protected_place(path, Access::Read, self).is_some()
    }

    /// Whether a path with this last name can be one that [`PolicyPlaces::holds_keys`], given that no
    /// folder above it is. A search asks this about each name first: it costs less than a path.
    pub fn may_hold_keys(name: &str) -> bool {
        let (whole, patterns) = &*LAST_NAMES;
        let name = folded(name);
        whole.contains(name.as_str()) || patterns.iter().any(|pattern| pattern.matches(&name))
    }

    /// Whether the home directory is at or below `path`, or a place for keys and passwords in it is at,
    /// above or below it: such a folder is never shown as a whole.
    pub fn is_about_keys(&self, path: &AbsolutePath) -> bool {
        let folded = FoldedPath::new(path, self);
        let counts = |entry: &Protected| {
            entry.against == ProtectedFrom::Everything && entry.place == ProtectedAt::Home
        };
        // A deletion takes what is below along, as showing a folder does.
        folded.holds_home() || FLOOR.find(&folded, Access::Delete, counts).is_some()
    }
}

/// The last names of what may not be read: those that are fixed, and the patterns.
static LAST_NAMES: LazyLock<(HashSet<&str>, Vec<Wildcard>)> = LazyLock::new(|| {
    let reads = FLOOR.entries().filter(|entry| entry.against == ProtectedFrom::Everything);
    let names = reads.filter_map(|entry| entry.pattern.rsplit('/').next());
    let (patterns, whole) = names.partition::<Vec<_>, _>(|name| name.contains(['*', '?']));
    (whole.into_iter().collect(), patterns.into_iter().map(Wildcard::new).collect())
});

fn protected_place(path: &AbsolutePath, access: Access, places: &PolicyPlaces) -> Option<String> {
    let folded = FoldedPath::new(path, places);
    let counts =
        |entry: &Protected| access != Access::Read || entry.against == ProtectedFrom::Everything;
    if let Some(entry) = FLOOR.find(&folded, access, counts) {
        return Some(format!("`{}` is {}", entry.pattern, entry.what));
    }
    (access == Access::Delete && folded.holds_home_or(places.workspace()))
        .then(|| "it holds the home directory or the workspace".to_owned())
}

/// What changing `path` asks about first, as the end of "needs approval: ...".
pub(crate) fn question(
    path: &AbsolutePath,
    access: Access,
    places: &PolicyPlaces,
) -> Option<String> {
    if access == Access::Read {
        return None;
    }
    let entry = EXECUTED.find(&FoldedPath::new(path, places), access, |_| true)?;
    Some(format!("`{}` is {}", entry.pattern, entry.what))
}

static FLOOR: LazyLock<PlaceTable> =
    LazyLock::new(|| PlaceTable::new(PROTECTED.iter().copied().chain(agents())));

static EXECUTED: LazyLock<PlaceTable> = LazyLock::new(|| PlaceTable::new(executed()));

fn own_place(path: &AbsolutePath, access: Access, places: &PolicyPlaces) -> Option<String> {
    let inside = |own: &AbsolutePath| path.below(own).is_some();
    let around = |own: &AbsolutePath| access == Access::Delete && own.below(path).is_some();
    let own = places.own().iter().find(|own| inside(own) || around(own))?;
    Some(format!("`{}` is Metier's own: configuration, trust, answers and records", own.as_str()))
}

fn skill_place(
    path: &AbsolutePath,
    access: Access,
    actor: Actor<'_>,
    places: &PolicyPlaces,
) -> Option<String> {
    let owner = places.skill_of(path);
    if access == Access::Read {
        let owner = owner?;
        let may_read = match actor.skill {
            Some(acting) => acting.id == *owner,
            None => (actor.loaded)(owner),
        };
        let reason = || format!("it is a file of the skill {owner}; load the skill to read it");
        return (!may_read).then(reason);
    }
    if let Some(owner) = owner {
        return Some(format!("it is a file of the skill {owner}, which only its owner may change"));
    }
    if let Some(below) = places.skill_below(path).filter(|_| access == Access::Delete) {
        return Some(format!("it holds the skill {below}"));
    }
    let root = places.skill_roots().iter().find(|root| path.below(root).is_some())?;
    Some(format!("`{}` is a folder of skills, which only their owner may change", root.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsolutePath {
        AbsolutePath::new(text).expect("a path")
    }

    fn refused(permission: &Permission, at: &str, acting: Option<&str>) -> bool {
        let id = |text: &str| text.parse::<SkillId>().expect("an id");
        let places = PolicyPlaces::new(path("/home/me/p"))
            .with_home(path("/home/me"))
            .with_own(path("/home/me/.local/state/metier"))
            .with_skill_root(path("/opt/team/library"))
            .with_skill(&path("/opt/team/library/a"), id("user:a"))
            .with_skill(&path("/home/me/p/kit/b"), id("project:b"));
        let skill =
            acting.map(|name| ActingSkill::new(id(name), metier_skill::Digest::of(b"content")));
        let loaded = |id: &SkillId| id.to_string() == "user:a";
        let actor = Actor { skill: skill.as_ref(), loaded: &loaded };
        refusal(permission, &Subject::path(at).expect("a path"), actor, &places).is_some()
    }

    #[test]
    fn keys_are_not_even_read() {
        for at in [
            "/home/me/.ssh/id_ed25519",
            "/home/me/.ssh",
            "/home/me/.SSH/config",
            // The long s, which some file systems take for an s.
            "/home/me/.\u{17f}sh/config",
            "/home/me/.aws/credentials",
            "/home/me/.netrc",
            "/home/me/p/.env",
            "/home/me/p/app/.env.production",
            "/mnt/backup/id_rsa",
            "/mnt/backup/id_ed25519_sk",
            "/home/me/p/.netrc",
            "/home/me/p/deploy/Site.P12",
            "/home/me/p/passwords.kdbx",
            "/proc/1/environ",
        ] {
            assert!(refused(&Permission::ReadFile, at, None), "{at}");
        }
        for at in [
            "/home/me/.sshx",
            "/home/me/p/.env.example",
            "/home/me/p/.env/bin/python",
            "/home/me/p/env",
            "/home/me/p/cacert.pem",
            "/home/me/.bashrc",
            "/home/me/p/.git/HEAD",
        ] {
            assert!(!refused(&Permission::ReadFile, at, None), "{at}");
        }
    }

    #[test]
    fn a_search_by_names_misses_nothing_that_a_path_holds() {
        for entry in FLOOR.entries().filter(|entry| entry.against == ProtectedFrom::Everything) {
            let last = entry.pattern.rsplit('/').next().expect("a name").replace('*', "x");
            for name in [last.to_uppercase(), last] {
                assert!(PolicyPlaces::may_hold_keys(&name), "{name}");
            }
        }
        assert!(PolicyPlaces::may_hold_keys(".\u{17f}sh"));
        for name in ["main.rs", "env", ".envrc", "x.env", "id_rsa.pub", ""] {
            assert!(!PolicyPlaces::may_hold_keys(name), "{name}");
        }
    }

    #[test]
    fn a_folder_above_keys_or_below_is_known_as_one() {
        let places = PolicyPlaces::new(path("/home/me/p")).with_home(path("/home/me"));
        let above =
            ["/", "/home", "/home/me", "/HOME/me", "/home/me/.local", "/home/me/.local/share"];
        for at in above.into_iter().chain(["/home/me/.config", "/home/me/.ssh", "/home/me/.ssh/x"])
        {
            assert!(places.is_about_keys(&path(at)), "{at}");
        }
        for at in ["/home/me/p", "/home/me/.local/lib", "/opt"] {
            assert!(!places.is_about_keys(&path(at)), "{at}");
        }
        assert!(!PolicyPlaces::new(path("/p")).is_about_keys(&path("/")));
    }

    #[test]
    fn what_runs_by_itself_is_not_written() {
        for at in [
            "/home/me/.bashrc",
            "/home/me/bin/ls",
            "/home/me/.claude.json",
            "/home/me/.config/fish/config.fish",
            "/home/me/.local/share/systemd/user/x.service",
            "/etc/cron.d/x",
            "/home/me/p/.git/hooks/pre-commit",
            "/home/me/p/.git/config",
            "/home/me/p/.agent/config.json",
            "/home/me/p/.agent/runs/1/events.jsonl",
            "/home/me/.local/state/metier/trust.json",
            "/home/me/p/.cursor/skills/new/SKILL.md",
            "/home/me/p/.envrc",
        ] {
            assert!(refused(&Permission::WriteFile, at, None), "{at}");
            assert!(refused(&Permission::DeleteFile, at, None), "{at}");
            let foreign = Permission::named("their_tool").expect("a name");
            assert!(refused(&foreign, at, None), "{at}: an unknown tool could write");
        }
        for at in [
            "/home/me/p/src/a.rs",
            "/home/me/p/.gitignore",
            "/home/me/p/skills/a.md",
            "/home/me/p/.github/ISSUE_TEMPLATE/bug.md",
            "/home/me/p/.agent/evals/a.yaml",
            "/home/me/p/docs/lefthook.md",
            "/home/me/p/docs/pre-commit.md",
            "/home/me/src/mise/src/main.rs",
            "/home/me/p/etc/cron.d/x",
            "/home/me/p/vim/x",
            "/home/me/p/bin/x",
            "/home/me/p/package.json",
        ] {
            assert!(!refused(&Permission::WriteFile, at, None), "{at}");
        }
    }

    #[test]
    fn what_starts_when_a_folder_is_opened_is_not_written_at_any_depth_in_any_case() {
        for below in [
            ".cursor/mcp.json",
            ".gemini/settings.json",
            ".codex/config.toml",
            ".opencode/plugin/x.ts",
            "opencode.json",
            "opencode.jsonc",
            ".claude/settings.json",
            ".claude/commands/x.md",
            ".kiro/hooks/x",
            ".roo/mcp.json",
            ".agents/x",
            ".mcp.json",
            ".github/hooks/x.json",
            ".vscode/tasks.json",
            ".idea/workspace.xml",
            ".zed/tasks.json",
            ".fleet/run.json",
            ".theia/tasks.json",
            ".nova/Configuration.json",
            ".helix/languages.toml",
            "a.code-workspace",
            ".vim/coc-settings.json",
            ".nvim.lua",
            ".exrc",
            ".dir-locals.el",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".gitpod.yml",
            ".husky/pre-commit",
            ".githooks/pre-commit",
            "tools/our-hooks/commit-msg",
            "lefthook.yml",
            ".lefthook-local.yaml",
            ".pre-commit-config.yaml",
            ".envrc",
            "mise.toml",
            ".mise.local.toml",
            ".config/mise/config.toml",
            ".Rprofile",
            ".gdbinit",
            ".agent/skills.json",
            ".agent/skills.lock.json",
        ] {
            for at in [below.to_owned(), format!("a/b/{below}"), below.to_uppercase()] {
                let at = format!("/home/me/p/{at}");
                assert!(refused(&Permission::WriteFile, &at, None), "{at}");
                assert!(refused(&Permission::DeleteFile, &at, None), "{at}");
                assert!(!refused(&Permission::ReadFile, &at, None), "{at}");
            }
        }
    }

    #[test]
    fn every_agent_of_the_table_is_protected() {
        for agent in metier_skill::AGENT_FOLDERS {
            for folder in agent.project {
                let at = format!("/home/me/p/sub/{folder}/x/SKILL.md");
                assert!(refused(&Permission::WriteFile, &at, None), "{at}");
            }
            for folder in agent.user {
                let own = metier_skill::agent_folder(folder).expect("a folder");
                let at = format!("/home/me/{own}/settings.json");
                assert!(refused(&Permission::WriteFile, &at, None), "{at}");
            }
        }
    }

    #[test]
    fn what_ci_and_builds_run_is_asked_about() {
        let places = PolicyPlaces::new(path("/home/me/p")).with_home(path("/home/me"));
        let asks = |at: &str| question(&path(at), Access::Write, &places).is_some();
        for below in [
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            "Makefile",
            "package.json",
            "build.rs",
            "Cargo.toml",
            ".cargo/config.toml",
            "setup.py",
            "pyproject.toml",
            "CMakeLists.txt",
            "Dockerfile",
            "docker/Dockerfile.dev",
            "vite.config.ts",
            "build.gradle.kts",
            "CLAUDE.md",
            "AGENTS.md",
            "GEMINI.md",
        ] {
            assert!(asks(&format!("/home/me/p/{below}")), "{below}");
            assert!(asks(&format!("/home/me/p/a/{}", below.to_uppercase())), "{below}");
            assert!(!refused(&Permission::WriteFile, &format!("/home/me/p/{below}"), None));
        }
        for below in ["src/main.rs", "README.md", "docs/agent.md", "build/out.o", "a.json"] {
            assert!(!asks(&format!("/home/me/p/{below}")), "{below}");
        }
        assert!(question(&path("/home/me/p/Makefile"), Access::Read, &places).is_none());
    }

    #[test]
    fn a_folder_that_holds_something_protected_is_not_deleted() {
        for at in [
            "/",
            "/home",
            "/home/me",
            "/home/me/p",
            "/home/me/.config",
            "/opt/team",
            "/home/me/.local/state",
        ] {
            assert!(refused(&Permission::DeleteFile, at, None), "{at}");
        }
        assert!(!refused(&Permission::DeleteFile, "/home/me/p/target", None));
        assert!(!refused(&Permission::ListDir, "/home/me/.config", None));
    }

    #[test]
    fn skills_read_their_own_files_and_change_none() {
        let (mine, other) = ("/opt/team/library/a/x.md", "/home/me/p/kit/b/x.md");
        assert!(!refused(&Permission::ReadFile, mine, Some("user:a")));
        assert!(refused(&Permission::ReadFile, other, Some("user:a")));
        assert!(!refused(&Permission::ReadFile, mine, None), "it is loaded");
        assert!(refused(&Permission::ReadFile, other, None), "it is not");
        for at in [mine, other, "/opt/team/library/new/SKILL.md"] {
            assert!(refused(&Permission::WriteFile, at, Some("user:a")), "{at}");
        }
    }
}
