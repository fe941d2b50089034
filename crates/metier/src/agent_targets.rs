//! The folders of other agents as places to install into and to import from.
//!
//! Which folders these are is data (`metier-skill`'s `agents.rs`). Records lie beside each folder, as they do
//! beside Metier's own, so that every folder says for itself what is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_config::Scope;
use metier_pack::{InstallTarget, PlanView, PlannedAction, SignerRules};
use metier_skill::{AGENT_FOLDERS, AgentFolders, Source, agent_named, nearest};
use metier_tools::policy_facts::real_path;

use crate::error::{Error, Result};
use crate::open::Metier;

impl Metier {
    /// Where skills of `scope` are installed for an agent of the table: its first folder. `metier` is our own.
    pub fn agent_target(&self, agent: &str, scope: Option<Scope>) -> Result<InstallTarget> {
        let folders = known_agent(agent)?;
        if folders.name == "metier" {
            return self.install_target(scope);
        }
        let scope = scope.unwrap_or_else(|| match self.repository() {
            Some(_) => Scope::Project,
            None => Scope::User,
        });
        let user = self.require_user_folders()?;
        let (base, folder, source) = match scope {
            Scope::Project => (self.project_top()?, folders.project.first(), Source::Project),
            _ => (user.home.clone(), folders.user.first(), Source::User),
        };
        let folder = folder.ok_or_else(|| no_folder(agent))?;
        let root = base.join(folder);
        if source == Source::Project {
            check_inside(&base, &root)?;
        }
        Ok(InstallTarget::new(&root, &base, source, &user.state)?
            .with_access(self.source_access())
            .with_signers(SignerRules::new(self.trusted_keys()?)))
    }

    /// The agents of these names, as links to our own folder are for them: without ourselves.
    pub fn agents_to_link(&self, names: &[String]) -> Result<Vec<String>> {
        let known: Result<Vec<&'static AgentFolders>> =
            names.iter().map(|name| known_agent(name)).collect();
        let others = known?.into_iter().filter(|agent| agent.name != "metier");
        Ok(others.map(|agent| agent.name.to_owned()).collect())
    }

    /// The folder of an agent that skills can be imported from: the one of `scope`, or without one the user's
    /// before the project's.
    pub fn agent_skills(&self, agent: &str, scope: Option<Scope>) -> Result<PathBuf> {
        let folders = known_agent(agent)?;
        let of_user = || {
            let home = self.home().map(Path::to_owned).unwrap_or_default();
            folders.user.iter().map(move |folder| home.join(folder)).collect::<Vec<_>>()
        };
        let of_project = || match self.project_top() {
            Ok(top) => folders.project.iter().map(|folder| top.join(folder)).collect::<Vec<_>>(),
            Err(_) => Vec::new(),
        };
        let places = match scope {
            Some(Scope::Project) => of_project(),
            Some(_) => of_user(),
            None => [of_user(), of_project()].concat(),
        };
        places.into_iter().find(|place| metier_fs::is_dir(place)).ok_or_else(|| {
            Error::failed("no-agent-folder", format!("{agent} has no folder of skills here"))
                .with_help("`metier roots` shows the folders that exist")
        })
    }

    /// Whose folder the skill in the directory `path` was installed in, where it was, and records are kept about it.
    pub fn installed_at(&self, path: &Path) -> Result<Option<InstalledAt>> {
        let (Some(root), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let (root, name) = (real_path(root), name.to_string_lossy());
        for (place, target) in self.targets() {
            if real_path(target.root()) == root && target.is_installed(&name)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Our own folders and those of agents. A project that cannot be written to has none.
    pub(crate) fn targets(&self) -> impl Iterator<Item = (InstalledAt, InstallTarget)> {
        let own = [Scope::Project, Scope::User].into_iter().filter_map(|scope| {
            Some((InstalledAt { scope, agent: None }, self.install_target(Some(scope)).ok()?))
        });
        own.chain(self.agent_targets())
    }

    /// Where copies took the places of links in the folder of an agent, our own lock says so no more. What it says too
    /// much is named by `metier verify`.
    pub(crate) fn forget_replaced_links(&self, done: &PlanView) {
        let restored = done.skills.iter().filter(|skill| skill.action == PlannedAction::Restore);
        let names = done.landing().chain(restored).map(|skill| skill.name.clone());
        let names: Vec<String> = names.collect();
        for scope in [Scope::Project, Scope::User] {
            if let Ok(own) = self.install_target(Some(scope)) {
                let _ = own.forget_links_in(Path::new(&done.target), &names);
            }
        }
    }

    /// All folders of agents that skills may have been installed into, which exist.
    fn agent_targets(&self) -> Vec<(InstalledAt, InstallTarget)> {
        let mut targets = Vec::new();
        for scope in [Scope::Project, Scope::User] {
            for agent in AGENT_FOLDERS {
                // A project that cannot be written to has no such skill.
                let Ok(target) = self.agent_target(agent.name, Some(scope)) else { continue };
                if metier_fs::is_dir(target.root()) {
                    targets.push((InstalledAt { scope, agent: Some(agent.name) }, target));
                }
            }
        }
        targets
    }
}

/// Whose folder a skill is installed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledAt {
    /// The project's, or the user's.
    pub scope: Scope,
    /// The agent's; none for our own.
    pub agent: Option<&'static str>,
}

/// The folders of the other agents below `base`, a project or the home directory: for links to skills of our own
/// folder.
pub(crate) fn link_folders(base: &Path, source: Source) -> BTreeMap<String, PathBuf> {
    let of_others = AGENT_FOLDERS.iter().filter(|agent| agent.name != "metier");
    let folders = of_others.filter_map(|agent| {
        let folders = if source == Source::User { agent.user } else { agent.project };
        Some((agent.name.to_owned(), base.join(folders.first()?)))
    });
    folders.collect()
}

fn known_agent(name: &str) -> Result<&'static AgentFolders> {
    agent_named(name).ok_or_else(|| {
        let names: Vec<&str> = AGENT_FOLDERS.iter().map(|agent| agent.name).collect();
        let help = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known agents: {}", names.join(", ")),
        };
        Error::usage(format!("unknown agent `{name}`")).with_help(help)
    })
}

fn no_folder(agent: &str) -> Error {
    Error::usage(format!("{agent} has no such folder")).with_help("use --user or --project")
}

/// A clone may bring an agent's folder as a link to anywhere.
fn check_inside(top: &Path, root: &Path) -> Result<()> {
    if real_path(root).starts_with(real_path(top)) {
        return Ok(());
    }
    let message = format!("{} leads out of the project", root.display());
    Err(Error::failed("behind-a-link", message)
        .with_help("replace the link by a folder, or use --user"))
}
