//! Where tools work: the workspace and the directories of the skills that are loaded.
//!
//! Paths in arguments are relative: to the workspace, or, with `skill`, to that skill's directory.
//! The workspace may be changed where the policy allows it; a skill is only read, through
//! [`metier_fs::SkillRoot`], as the loader does.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

use metier_fs::{SkillRoot, WorkListing, WorkRoot};
use metier_policy::PolicyError;
use metier_skill::{FailureCode, RelPath, WorkPath};

use crate::failure::{ToolFailure, shown};
use crate::policy_facts::absolute;
use crate::tool::Touch;

/// Bytes of a skill's file; the loader has the same limit.
const MAX_SKILL_FILE_BYTES: u64 = 2_000_000;

/// The workspace and the loaded skills, as tools see them.
pub struct ToolWorkspace {
    workspace: WorkRoot,
    skills: BTreeMap<String, SkillPlace>,
}

/// A skill's directory: its files by the loader's rules, its names through a listing.
pub(crate) struct SkillPlace {
    files: SkillRoot,
    names: WorkRoot,
}

impl ToolWorkspace {
    /// A workspace, without skills.
    pub fn new(workspace: WorkRoot) -> Self {
        Self { workspace, skills: BTreeMap::new() }
    }

    /// Adds the directory of a loaded skill, to be read under this name.
    pub fn with_skill(mut self, name: &str, directory: &Path) -> Result<Self, ToolFailure> {
        let files = SkillRoot::open(directory).map_err(|e| ToolFailure::skill_file(name, &e))?;
        let names = WorkRoot::open(directory).map_err(|e| ToolFailure::work(name, &e))?;
        self.skills.insert(name.to_owned(), SkillPlace { files, names });
        Ok(self)
    }

    /// The workspace's directory, without skills.
    pub const fn root(&self) -> &WorkRoot {
        &self.workspace
    }

    /// The directory that the argument `skill` selects.
    pub(crate) fn place(&self, skill: Option<&str>) -> Result<Place<'_>, ToolFailure> {
        let Some(name) = skill else { return Ok(Place::Workspace(&self.workspace)) };
        self.skills.get(name).map(Place::Skill).ok_or_else(|| {
            let message = format!("the skill {} is not loaded from a directory", shown(name));
            ToolFailure::new(FailureCode::SkillNotFound, message)
        })
    }
}

impl std::fmt::Debug for ToolWorkspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolWorkspace")
            .field("workspace", &self.workspace.path())
            .field("skills", &self.skills.keys())
            .finish_non_exhaustive()
    }
}

/// The workspace, or a skill's directory.
#[derive(Clone, Copy)]
pub(crate) enum Place<'w> {
    Workspace(&'w WorkRoot),
    Skill(&'w SkillPlace),
}

impl Place<'_> {
    const fn tree(&self) -> &WorkRoot {
        match self {
            Self::Workspace(root) => root,
            Self::Skill(skill) => &skill.names,
        }
    }

    /// The path in an argument. Names that start with a dot are not part of a skill.
    pub(crate) fn path(&self, text: &str) -> Result<WorkPath, ToolFailure> {
        let message = |fault| ToolFailure::path(text, fault);
        let path = WorkPath::new(text).map_err(message)?;
        if matches!(self, Self::Skill(_)) && !path.is_root() {
            RelPath::new(text).map_err(message)?;
        }
        Ok(path)
    }

    /// The same for a directory; a trailing slash (`src/`) is accepted.
    pub(crate) fn directory(&self, text: Option<&str>) -> Result<WorkPath, ToolFailure> {
        let text = text.unwrap_or(".");
        self.path(text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text))
    }

    /// What reading `path` touches: first the file that is read, with links resolved, then every name
    /// that leads to it. A key is one under each of them: a link called `.env`, and what it leads to.
    pub(crate) fn touches(&self, path: &WorkPath) -> Result<Vec<Touch>, ToolFailure> {
        let real = self.tree().resolve(path);
        let real = real.map_err(|error| ToolFailure::work(path.as_str(), &error))?;
        let mut touches = vec![self.touch_of(real.clone())?];
        let asked = self.tree().path().join(path.as_str());
        for step in metier_fs::links_on_the_way(&asked) {
            let name = absolute(&step.path).map_err(|error| unnamed(&error))?;
            let absolute = name.as_str().to_owned();
            touches.push(Touch::Path { absolute, relative: real.clone() });
        }
        Ok(touches)
    }

    /// The same for a path without links. Fails below a directory that no rule can name: the policy
    /// could not decide about it.
    pub(crate) fn touch_of(&self, relative: WorkPath) -> Result<Touch, ToolFailure> {
        let top = absolute(self.tree().path()).map_err(|error| unnamed(&error))?;
        let top = top.as_str();
        let absolute =
            if relative.is_root() { top.to_owned() } else { format!("{top}/{relative}") };
        Ok(Touch::Path { absolute, relative })
    }

    /// The bytes of the file at `path`, if it has at most `limit`.
    pub(crate) fn read(&self, path: &WorkPath, limit: u64) -> Result<Vec<u8>, ToolFailure> {
        match self {
            Self::Workspace(root) => {
                root.read(path, limit).map_err(|error| ToolFailure::work(path.as_str(), &error))
            }
            Self::Skill(skill) => {
                let own = RelPath::new(path.as_str())
                    .map_err(|fault| ToolFailure::path(path.as_str(), fault))?;
                let read = skill.files.read(&own, limit.min(MAX_SKILL_FILE_BYTES));
                read.map_err(|error| ToolFailure::skill_file(path.as_str(), &error))
            }
        }
    }

    /// The file at `path`, to be read piece by piece.
    pub(crate) fn open(&self, path: &WorkPath) -> Result<Box<dyn Read>, ToolFailure> {
        match self {
            Self::Workspace(root) => match root.open_file(path) {
                Ok((file, _)) => Ok(Box::new(file)),
                Err(error) => Err(ToolFailure::work(path.as_str(), &error)),
            },
            Self::Skill(_) => Ok(Box::new(Cursor::new(self.read(path, MAX_SKILL_FILE_BYTES)?))),
        }
    }

    /// At most `limit` entries of the directory at `path`. Hidden entries of a skill are left out.
    pub(crate) fn list(&self, path: &WorkPath, limit: usize) -> Result<WorkListing, ToolFailure> {
        let list = self.tree().list(path, limit);
        let mut list = list.map_err(|error| ToolFailure::work(path.as_str(), &error))?;
        if matches!(self, Self::Skill(_)) {
            list.entries.retain(|entry| !entry.name.starts_with('.'));
        }
        Ok(list)
    }
}

fn unnamed(error: &PolicyError) -> ToolFailure {
    ToolFailure::new(FailureCode::NotAllowed, format!("no rule can name it: {error}"))
}

/// The path that the policy decided about; the others are names that lead to it.
pub(crate) fn decided_path(touches: &[Touch]) -> Result<&WorkPath, ToolFailure> {
    match touches {
        [Touch::Path { relative, .. }, ..] => Ok(relative),
        _ => Err(ToolFailure::new(FailureCode::Failed, "the permit is not about a path")),
    }
}
