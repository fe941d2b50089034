//! The floor: the built-in refusals that no rule can change.
//!
//! It protects keys, start-up files, our own files, and skills from each other. It checks paths only;
//! the sandbox limits what a program does with the files it can reach. A caller that walks a
//! directory must ask about each file, since a directory may hold protected ones.

use std::sync::LazyLock;

use metier_skill::SkillId;

use crate::permission::{Access, Permission};
use crate::places::PolicyPlaces;
use crate::protected::{PROTECTED, Protected, ProtectedAt, ProtectedFrom, TEMPLATES};
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
}

/// Case-folded as the most forgiving file system compares: there `\u{17f}` equals `s`, which only
/// folding by way of upper case reveals.
fn folded(path: &str) -> String {
    if path.is_ascii() { path.to_lowercase() } else { path.to_uppercase().to_lowercase() }
}

fn protected_place(path: &AbsolutePath, access: Access, places: &PolicyPlaces) -> Option<String> {
    let whole = folded(path.as_str());
    let names: Vec<&str> = whole.split('/').collect();
    let name = names.last().copied().unwrap_or_default();
    let template = TEMPLATES.contains(&name);
    let home = places.home().map(|home| folded(home.as_str().trim_end_matches('/')));
    let in_home = home.as_deref().and_then(|home| whole.strip_prefix(home)?.strip_prefix('/'));
    let hit = COMPILED.iter().find(|(entry, runs)| {
        (access != Access::Read || entry.against == ProtectedFrom::Everything)
            && match entry.place {
                ProtectedAt::Name => !template && runs.iter().all(|wanted| wanted.matches(name)),
                ProtectedAt::Home => in_home.is_some_and(|rest| {
                    is_at_or_below(rest, entry.pattern)
                        || (access == Access::Delete && is_at_or_below(entry.pattern, rest))
                }),
                // The names of the entry follow each other in the path.
                ProtectedAt::Anywhere => names.windows(runs.len()).any(|window| {
                    window.iter().zip(runs).all(|(name, wanted)| wanted.matches(name))
                }),
            }
    });
    if let Some((entry, _)) = hit {
        return Some(format!("`{}` is {}", entry.pattern, entry.what));
    }
    let holds_home = || {
        let whole = whole.trim_end_matches('/');
        home.as_deref().is_some_and(|home| is_at_or_below(home, whole))
    };
    (access == Access::Delete && (places.workspace().below(path).is_some() || holds_home()))
        .then(|| "it holds the home directory or the workspace".to_owned())
}

/// The table with the names of each entry compiled.
static COMPILED: LazyLock<Vec<(&Protected, Vec<Wildcard>)>> = LazyLock::new(|| {
    let compile =
        |entry: &'static Protected| (entry, entry.pattern.split('/').map(Wildcard::new).collect());
    PROTECTED.iter().map(compile).collect()
});

fn is_at_or_below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

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
            "/proc/1/environ",
        ] {
            assert!(refused(&Permission::ReadFile, at, None), "{at}");
        }
        for at in [
            "/home/me/.sshx",
            "/home/me/p/.env.example",
            "/home/me/p/.env/bin/python",
            "/home/me/p/env",
            "/home/me/.bashrc",
            "/home/me/p/.git/HEAD",
        ] {
            assert!(!refused(&Permission::ReadFile, at, None), "{at}");
        }
    }

    #[test]
    fn what_runs_by_itself_is_not_written() {
        for at in [
            "/home/me/.bashrc",
            "/home/me/.config/fish/config.fish",
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
        for at in ["/home/me/p/src/a.rs", "/home/me/p/.gitignore", "/home/me/p/skills/a.md"] {
            assert!(!refused(&Permission::WriteFile, at, None), "{at}");
        }
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
