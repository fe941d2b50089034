//! Every skill in every agent's folder: where it came from, whether it is still that, and who may use it.
//!
//! Nothing is asked of the network and nothing is written. A folder counts as managed by the lock beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use metier_fs::FileId;
use metier_pack::{InstallTarget, PackError, VerifiedSkill, VerifyState, folder_digest};
use metier_policy::Invoker;
use metier_registry::roots::project_dirs;
use metier_registry::{Entry, Root, parallel};
use metier_skill::{AGENT_FOLDERS, Digest, Source};
use serde::Serialize;

use crate::error::Result;
use crate::open::Metier;

/// How a skill stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum InventoryState {
    /// Metier installed it, and it is what was installed.
    Managed,
    /// Metier installed it, and it was changed since.
    Modified,
    /// Metier installed it, and it is gone.
    Missing,
    /// It was not installed by Metier.
    Unmanaged,
    /// It cannot be read.
    Unreadable,
}

/// A skill in a folder.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InventorySkill {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// Where its root is from.
    pub scope: Source,
    /// The agents whose folder it lies in.
    pub agents: Vec<&'static str>,
    /// How it stands.
    pub state: InventoryState,
    /// Whether it is switched on here.
    pub enabled: bool,
    /// Why a rule keeps it from being loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    /// Why it is not a usable skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where it was installed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its tree, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Who had signed it when it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The folder of the installed skill that it is a link to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_to: Option<String>,
}

impl Metier {
    /// Every skill in every folder that is searched, by path.
    pub fn inventory(&self) -> Result<Vec<InventorySkill>> {
        let scan = self.refresh();
        let guard = self.guard(&scan)?;
        let gate = guard.load_gate(&scan.index, Invoker::User);
        let roots: Vec<Root> = self
            .roots()
            .into_iter()
            .filter(|root| !root.absent && root.foreign.is_none())
            .collect();
        let seen = AgentsByFolder::new(self);
        let mut rows: BTreeMap<PathBuf, InventorySkill> = BTreeMap::new();
        for root in &roots {
            for verified in self.compared(root)? {
                let path = PathBuf::from(&verified.path);
                rows.insert(path, row_of(verified, root, seen.of(root)));
            }
        }
        let entries = scan.index.entries().iter().chain(scan.index.shadowed());
        let mut deep = Vec::new();
        let mut known = BTreeSet::new();
        for entry in entries.filter(|entry| entry.memory.is_none() && entry.path.is_absolute()) {
            let denied = gate.denied(entry);
            let copies = entry.copies.iter().map(|copy| &copy.path);
            for path in std::iter::once(&entry.path).chain(copies) {
                known.insert(path.clone());
                match rows.get_mut(path) {
                    Some(row) => note_entry(row, entry, denied.clone()),
                    None => {
                        if let Some(root) = holding(&roots, path) {
                            let row = bare_row(path, entry, (root, seen.of(root)), denied.clone());
                            deep.push((path.clone(), row));
                        }
                    }
                }
            }
        }
        // Skills in folders of folders: no lock knows them.
        let deep = parallel::map(
            deep,
            4,
            || (),
            |(), (path, mut row): (PathBuf, InventorySkill)| {
                match folder_digest(&path) {
                    Ok(digest) => row.digest = Some(digest),
                    Err(error) => {
                        row.state = InventoryState::Unreadable;
                        row.problem = Some(error.to_string());
                    }
                }
                (path, row)
            },
        );
        rows.extend(deep);
        for ignored in &scan.report.ignored {
            let folder = if rows.contains_key(&ignored.path) {
                Some(ignored.path.as_path())
            } else {
                ignored.path.parent()
            };
            if let Some(row) = folder.and_then(|folder| rows.get_mut(folder))
                && !known.contains(Path::new(&row.path))
            {
                row.problem = Some(format!("{} [{}]", ignored.message, ignored.code));
            }
        }
        note_links(&mut rows);
        Ok(rows.into_values().collect())
    }

    /// What lies right in a root, compared with the lock beside it. A lock that cannot be read is an error: without it
    /// everything would look as if it had never been installed.
    fn compared(&self, root: &Root) -> Result<Vec<VerifiedSkill>> {
        let Some(target) = self.target_of(root) else { return Ok(Vec::new()) };
        match target.compare(&[]) {
            Err(error @ PackError::BadRecord { .. }) => Err(error.into()),
            // A folder that cannot be read is in the report of the scan.
            found => Ok(found.unwrap_or_default()),
        }
    }

    fn target_of(&self, root: &Root) -> Option<InstallTarget> {
        let folders = self.user_folders()?;
        let base = root.path.ancestors().nth(2).unwrap_or(&root.path);
        InstallTarget::new(&root.path, base, root.source, &folders.state).ok()
    }

    /// The `skills.json` and `skills.lock.json` beside the folders here that cannot be read, each with the reason.
    pub fn unreadable_records(&self) -> Vec<(PathBuf, String)> {
        let roots = self.roots().into_iter().filter(|root| !root.absent && root.foreign.is_none());
        let mut found: Vec<(PathBuf, String)> = roots
            .filter_map(|root| match self.target_of(&root)?.locked_skills() {
                Err(PackError::BadRecord { path, reason }) => Some((path, reason)),
                _ => None,
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }
}

/// What is a link to an installed skill is as managed as that one.
fn note_links(rows: &mut BTreeMap<PathBuf, InventorySkill>) {
    let installed: BTreeMap<PathBuf, InventorySkill> = rows
        .iter()
        .filter(|(_, row)| row.origin.is_some())
        .filter_map(|(path, row)| Some((metier_fs::canonical(path).ok()?, row.clone())))
        .collect();
    for (path, row) in rows.iter_mut() {
        if row.origin.is_some() || !metier_fs::is_link(path) {
            continue;
        }
        let real = metier_fs::canonical(path).ok();
        let Some(target) = real.and_then(|real| installed.get(&real)) else { continue };
        row.state = target.state;
        row.origin.clone_from(&target.origin);
        row.version.clone_from(&target.version);
        row.digest = target.digest;
        row.signer.clone_from(&target.signer);
        row.link_to = Some(target.path.clone());
    }
}

fn holding<'r>(roots: &'r [Root], path: &Path) -> Option<&'r Root> {
    let holds = roots.iter().filter(|root| path.starts_with(&root.path));
    holds.max_by_key(|root| root.path.components().count())
}

/// Which agents look into which folder. One folder can be several agents' through a link.
struct AgentsByFolder(Vec<(FileId, &'static str)>);

impl AgentsByFolder {
    fn new(metier: &Metier) -> Self {
        let mut found = Vec::new();
        let mut add = |path: PathBuf, name| {
            if let Ok(id) = metier_fs::directory_id(&path) {
                found.push((id, name));
            }
        };
        for agent in AGENT_FOLDERS {
            for dir in project_dirs(metier.working_dir(), metier.home()) {
                agent.project.iter().for_each(|folder| add(dir.join(folder), agent.name));
            }
            if let Some(home) = metier.home() {
                agent.user.iter().for_each(|folder| add(home.join(folder), agent.name));
            }
        }
        if let Some(user) = metier.user_folders() {
            add(user.agent.join("skills"), "metier");
        }
        Self(found)
    }

    fn of(&self, root: &Root) -> Vec<&'static str> {
        if root.plugin.is_some() {
            return vec!["claude"];
        }
        let Ok(id) = metier_fs::directory_id(&root.path) else { return Vec::new() };
        let mut names: Vec<&str> =
            self.0.iter().filter(|(other, _)| *other == id).map(|(_, name)| *name).collect();
        names.dedup();
        names
    }
}

fn row_of(verified: VerifiedSkill, root: &Root, agents: Vec<&'static str>) -> InventorySkill {
    let state = match verified.state {
        VerifyState::Unchanged => InventoryState::Managed,
        VerifyState::Missing => InventoryState::Missing,
        VerifyState::Unmanaged => InventoryState::Unmanaged,
        VerifyState::Unreadable => InventoryState::Unreadable,
        _ => InventoryState::Modified,
    };
    InventorySkill {
        name: verified.name,
        path: verified.path,
        scope: root.source,
        agents,
        state,
        enabled: true,
        denied: None,
        problem: verified.reason,
        origin: verified.source,
        version: verified.version,
        digest: verified.tree,
        signer: verified.signer,
        link_to: None,
    }
}

fn bare_row(
    path: &Path,
    entry: &Entry,
    (root, agents): (&Root, Vec<&'static str>),
    denied: Option<String>,
) -> InventorySkill {
    let mut row = InventorySkill {
        name: String::new(),
        path: path.to_string_lossy().into_owned(),
        scope: root.source,
        agents,
        state: InventoryState::Unmanaged,
        enabled: true,
        denied: None,
        problem: None,
        origin: None,
        version: None,
        digest: None,
        signer: None,
        link_to: None,
    };
    note_entry(&mut row, entry, denied);
    row
}

fn note_entry(row: &mut InventorySkill, entry: &Entry, denied: Option<String>) {
    row.name = entry.name().to_string();
    row.enabled = entry.enabled;
    row.denied = denied;
    if row.version.is_none() {
        row.version = entry.skill.details().version.as_deref().map(ToOwned::to_owned);
    }
}
