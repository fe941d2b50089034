//! `skill_roots` of the configuration files: which folders they add.
//!
//! An entry that is searched anyway keeps its source and rank, so that a project which names
//! `~/.agent/skills` does not turn the user's own skills into its own. Of other folders a project may
//! name those inside it: whatever else lies on the machine is not the project's to present as its
//! skills. What is left out is said.

use std::path::{Component, Path, PathBuf};

use metier_config::{ConfiguredRoot, Scope, Settings};
use metier_fs::directory_id;
use metier_registry::roots::{SkillPlaces, repository_top, resolve};
use metier_tools::policy_facts::real_path;

/// The folders that configuration files add.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredRoots {
    pub(crate) project: Vec<PathBuf>,
    pub(crate) user: Vec<PathBuf>,
    /// What is not searched, and why: sentences for the user.
    pub(crate) warnings: Vec<String>,
}

impl ConfiguredRoots {
    /// `usual` are the places without what is configured; `project_dir` holds the project's `.agent`.
    pub(crate) fn new(
        settings: &Settings,
        usual: &SkillPlaces,
        project_dir: Option<&Path>,
    ) -> Self {
        let mut found = Self::default();
        if settings.skill_roots.is_empty() {
            return found;
        }
        let known: Vec<PathBuf> = resolve(usual).into_iter().map(|root| root.path).collect();
        let home = usual.home.as_deref();
        for root in &settings.skill_roots {
            let base = match root.scope {
                Scope::Project => project_dir,
                Scope::Managed | Scope::User => home,
            };
            let path = full_path(root, base.unwrap_or(&usual.working_dir), home);
            if known.iter().any(|known| is_same(known, &path)) {
                continue;
            }
            match root.scope {
                Scope::Project if !is_inside(&path, project_dir, home) => {
                    found.warnings.push(format!(
                        "`skill_roots` in {} names {}, which is outside the project and is not \
                         searched; to search it, add it to your own ~/.agent/config.json",
                        root.origin, root.path
                    ));
                }
                Scope::Project => found.project.push(path),
                Scope::Managed | Scope::User => found.user.push(path),
            }
        }
        found
    }
}

/// `~` is the home directory; a relative path starts at `base`.
fn full_path(root: &ConfiguredRoot, base: &Path, home: Option<&Path>) -> PathBuf {
    let below_home = root.path.strip_prefix("~/").or((root.path == "~").then_some(""));
    match (below_home, home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(&root.path),
    }
}

/// Whether both are one folder, through links too; by their names where there is none.
fn is_same(known: &Path, path: &Path) -> bool {
    match (directory_id(known), directory_id(path)) {
        (Ok(known), Ok(path)) => known == path,
        (Err(_), Err(_)) => real_path(known) == real_path(path),
        _ => false,
    }
}

/// Whether the folder, wherever links lead, is in the project's repository or directory.
fn is_inside(path: &Path, project_dir: Option<&Path>, home: Option<&Path>) -> bool {
    let Some(dir) = project_dir else { return false };
    let top = repository_top(dir, home).unwrap_or_else(|| dir.to_owned());
    let real = real_path(path);
    // A `..` that is left goes through a folder that does not exist yet.
    let is_resolved = !real.components().any(|part| part == Component::ParentDir);
    is_resolved && real.starts_with(real_path(&top))
}
