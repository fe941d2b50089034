//! What may be deleted: the user's own skills, and of those only what was not installed.
//!
//! Moving to the backups is `metier-registry`'s. Nothing is asked: a front end shows the plan to a person first.

use std::path::{Path, PathBuf};

use metier_config::Scope;
use metier_registry::manage::Deletion;
use metier_registry::{Entry, Scan};
use metier_skill::text::shell_word;
use metier_skill::{SkillId, Source};

use crate::agent_targets::InstalledAt;
use crate::error::{Error, Result};
use crate::open::Metier;
use crate::skills::find;

/// A skill that can be deleted.
#[derive(Debug)]
#[non_exhaustive]
pub struct DeletePlan {
    /// What is done by [`Backups::keep`](metier_registry::manage::Backups::keep).
    pub deletion: Deletion,
    /// Other places where the same skill still stands afterwards, or where links to it are left.
    pub remaining: Vec<PathBuf>,
}

impl Metier {
    /// A plan to delete the user's own skill of this name or id, which goes to a backup.
    ///
    /// ```
    /// # use metier::{Environment, Metier};
    /// # let dir = tempfile::tempdir()?;
    /// # let skill = dir.path().join(".agent/skills/greet");
    /// # std::fs::create_dir_all(&skill)?;
    /// # std::fs::write(skill.join("SKILL.md"), "---\nname: greet\ndescription: Say hello.\n---\n")?;
    /// # let environment = Environment::empty().with_home(dir.path());
    /// # let project = dir.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// let metier = Metier::builder(&project).environment(environment).open()?;
    /// let plan = metier.plan_delete("greet")?;
    /// println!("{} files", plan.deletion.preview().files.len());
    /// metier.backups()?.keep(plan.deletion, std::time::SystemTime::now())?;
    /// # assert!(!skill.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the skill is not the user's, was installed (its records would stay behind: [`Metier::plan_uninstall`]), or
    /// stands behind a link that leads out of the user's folder.
    pub fn plan_delete(&self, name: &str) -> Result<DeletePlan> {
        let scan = self.skills();
        let entry = find(name, &scan)?;
        let path = users_path(name, entry, &scan)?;
        if let Some(place) = self.installed_at(path)? {
            return Err(installed(entry.name().as_str(), &place));
        }
        let id = SkillId { source: Source::User, name: entry.name().clone() };
        let deletion = Deletion::of(id, path, &self.user_root_of(path))?;
        let places = std::iter::once(&entry.path).chain(entry.copies.iter().map(|copy| &copy.path));
        let remaining = places.filter(|other| other.as_path() != path).cloned().collect();
        Ok(DeletePlan { deletion, remaining })
    }
}

fn installed(name: &str, place: &InstalledAt) -> Error {
    let message =
        format!("`{name}` was installed: to delete only its folder leaves its records behind");
    let scope = if place.scope == Scope::User { "--user" } else { "--project" };
    let agent = place.agent.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
    let help = format!("metier uninstall {scope}{agent} {}", shell_word(name));
    Error::failed("installed", message).with_help(help)
}

/// The directory of the user's own skill that `name` means.
fn users_path<'s>(name: &str, entry: &'s Entry, scan: &'s Scan) -> Result<&'s Path> {
    if entry.source == Source::User {
        return Ok(&entry.path);
    }
    // A byte-identical copy that another source's skill stands for, asked for as the user's.
    let asked = name.split('#').next().unwrap_or(name).parse::<SkillId>();
    let mut copies = entry.copies.iter().filter(|copy| copy.source == Source::User);
    if asked.is_ok_and(|id| id.source == Source::User)
        && let Some(copy) = copies.next()
    {
        return Ok(&copy.path);
    }
    let own = entry.name();
    let message = format!(
        "`{own}` is {} skill, {}: only skills in your own folders can be deleted",
        match entry.source {
            Source::Project => "the project's",
            Source::Plugin => "a plugin's",
            Source::Builtin => "a built-in",
            Source::Explicit | Source::User => "an explicit root's",
        },
        entry.path.display()
    );
    let help = match entry.source {
        _ if scan.index.find(&format!("user:{own}")).is_some() => {
            format!("to delete your own skill of that name: metier delete user:{own}")
        }
        Source::Plugin => {
            format!("remove the plugin with the agent that installed it, or `metier disable {own}`")
        }
        Source::Builtin => format!("`metier disable {own}` switches it off"),
        _ => format!("remove its folder there, or switch it off: `metier disable {own}`"),
    };
    Err(Error::failed("not-a-user-skill", message).with_help(help))
}
