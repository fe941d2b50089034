//! The paths that a policy knows: the workspace, the home directory, our own folders, skill folders.
//!
//! The caller looks them up once and resolves links; the policy only compares text.

use std::collections::BTreeMap;

use metier_skill::SkillId;

use crate::subject::AbsolutePath;

/// The paths that a policy knows, with links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPlaces {
    workspace: AbsolutePath,
    home: Option<AbsolutePath>,
    own: Vec<AbsolutePath>,
    skill_roots: Vec<AbsolutePath>,
    skills: BTreeMap<Box<str>, SkillId>,
}

impl PolicyPlaces {
    /// Only the workspace; add the others with the methods below.
    pub const fn new(workspace: AbsolutePath) -> Self {
        Self {
            workspace,
            home: None,
            own: Vec::new(),
            skill_roots: Vec::new(),
            skills: BTreeMap::new(),
        }
    }

    /// Adds the home directory, for `~/` in rules and for what is protected in it.
    #[must_use]
    pub fn with_home(mut self, home: AbsolutePath) -> Self {
        self.home = Some(home);
        self
    }

    /// Adds a file or folder of ours: configuration, state with trust and answers, audit, cache.
    #[must_use]
    pub fn with_own(mut self, path: AbsolutePath) -> Self {
        self.own.push(path);
        self
    }

    /// Adds a folder where skills are looked for.
    #[must_use]
    pub fn with_skill_root(mut self, path: AbsolutePath) -> Self {
        self.skill_roots.push(path);
        self
    }

    /// Adds the directory of a skill, loaded or not.
    #[must_use]
    pub fn with_skill(mut self, dir: &AbsolutePath, id: SkillId) -> Self {
        self.skills.insert(dir.as_str().into(), id);
        self
    }

    /// The workspace.
    pub const fn workspace(&self) -> &AbsolutePath {
        &self.workspace
    }

    /// The home directory.
    pub const fn home(&self) -> Option<&AbsolutePath> {
        self.home.as_ref()
    }

    /// Our own files and folders.
    pub(crate) fn own(&self) -> &[AbsolutePath] {
        &self.own
    }

    /// The folders where skills are looked for.
    pub(crate) fn skill_roots(&self) -> &[AbsolutePath] {
        &self.skill_roots
    }

    /// The skill whose directory holds `path`: the nearest one upwards.
    pub(crate) fn skill_of(&self, path: &AbsolutePath) -> Option<&SkillId> {
        path.upwards().find_map(|dir| self.skills.get(dir))
    }

    /// The skill whose directory is below `path`, if any is.
    pub(crate) fn skill_below(&self, path: &AbsolutePath) -> Option<&SkillId> {
        let prefix = format!("{}/", path.as_str().trim_end_matches('/'));
        let next = self.skills.range(Box::<str>::from(&*prefix)..).next();
        next.filter(|(dir, _)| dir.starts_with(&prefix)).map(|(_, id)| id)
    }

    /// Whether `path` is in the workspace. A home directory, or a folder above it, does not count as a
    /// workspace: starting an agent there does not mean that it may read everything.
    pub(crate) fn in_workspace(&self, path: &AbsolutePath) -> bool {
        let too_wide = self.home.as_ref().is_some_and(|home| home.below(&self.workspace).is_some());
        !too_wide && path.below(&self.workspace).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsolutePath {
        AbsolutePath::new(text).expect("a path")
    }

    #[test]
    fn a_home_directory_is_not_a_workspace() {
        let project = PolicyPlaces::new(path("/home/me/p")).with_home(path("/home/me"));
        assert!(project.in_workspace(&path("/home/me/p/a")));
        assert!(!project.in_workspace(&path("/home/me/q")));
        for wide in ["/home/me", "/home", "/"] {
            let places = PolicyPlaces::new(path(wide)).with_home(path("/home/me"));
            assert!(!places.in_workspace(&path("/home/me/p/a")), "{wide}");
        }
    }

    #[test]
    fn the_skill_of_a_file_is_found_upwards() {
        let id: SkillId = "user:pdf".parse().expect("an id");
        let places = PolicyPlaces::new(path("/w")).with_skill(&path("/s/pdf"), id.clone());
        assert_eq!(places.skill_of(&path("/s/pdf/scripts/a.py")), Some(&id));
        assert_eq!(places.skill_of(&path("/s/pdfx/a")), None);
        assert_eq!(places.skill_below(&path("/s")), Some(&id));
        assert_eq!(places.skill_below(&path("/")), Some(&id));
        assert_eq!(places.skill_below(&path("/s/pd")), None);
    }
}
