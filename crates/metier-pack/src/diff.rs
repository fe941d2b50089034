//! The difference of an installed skill, file by file and, for small texts, with both texts: to what its source
//! gives now, or to what was installed. Nothing is written.
//!
//! The lock holds digests, not texts. So the lines of a local edit can be shown only where the source still has
//! the file as it was installed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;

use metier_fs::TreeReader;
use metier_skill::Digest;
use serde::Serialize;

use crate::changes::{SkillChanges, ToolsChange};
use crate::error::PackError;
use crate::limits::PackLimits;
use crate::records::{LockedSkill, Records};
use crate::shipped_tree::ShippedTree;
use crate::standing::standing;
use crate::target::InstallTarget;
use crate::text_filter::{MAX_TEXT_BYTES, TextFilter};
use crate::upstream::{
    ReadOptions, SourceNow, SourceProblem, SourceState, UpdateRequest, Upstream, find_upstream,
};

/// What installed skills are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffAgainst {
    /// What their sources give now: what an update would change.
    Source,
    /// What was installed: what was edited here.
    Installed,
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileChange {
    /// It comes.
    Added,
    /// It goes.
    Removed,
    /// It holds something else.
    Changed,
    /// Only its execute bit is different.
    Mode,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// Its path in the skill.
    pub path: String,
    /// How it differs.
    pub change: FileChange,
    /// Its digest before.
    pub before: Option<Digest>,
    /// Its digest after.
    pub after: Option<Digest>,
    /// Whether it could be executed before.
    pub executable_before: Option<bool>,
    /// Whether it can be executed after.
    pub executable_after: Option<bool>,
    /// Both texts, empty for a side without the file; `None` where one is not text, too large or not at hand.
    #[serde(skip)]
    pub texts: Option<(String, String)>,
}

/// A skill that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillDiff {
    /// Its name.
    pub name: String,
    /// Its source, as the records name it.
    pub source: String,
    /// Its files that differ, by path.
    pub files: Vec<FileDiff>,
    /// The tools that it may use, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsChange>,
    /// Why it cannot be compared, or not line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<SourceProblem>,
}

/// A file as it is on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileSide {
    digest: Digest,
    executable: bool,
}

type Side = BTreeMap<String, FileSide>;

impl InstallTarget {
    /// How installed skills differ, by name; those that do not are left out.
    ///
    /// # Errors
    ///
    /// [`PackError::NotInstalled`] for a name that is not installed here; a source that cannot be read is a
    /// result.
    pub fn diff(
        &self,
        request: &UpdateRequest,
        against: DiffAgainst,
    ) -> Result<Vec<SkillDiff>, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let mut names = Self::requested(&records, &request.names)?;
        let limits = PackLimits::default();
        let mut trees: BTreeMap<String, ShippedTree> = BTreeMap::new();
        for name in &names {
            let tree = standing(self, name, records.lock.skills.get(name), &limits).tree;
            trees.insert(name.clone(), tree.unwrap_or_default());
        }
        let installed = || trees.values().flat_map(|tree| tree.files.iter().map(|it| it.digest));
        let texts = match against {
            DiffAgainst::Source => TextFilter::except(installed().collect()),
            DiffAgainst::Installed => {
                names.retain(|name| {
                    let locked = records.lock.skills.get(name);
                    let tree = trees.get(name).map(ShippedTree::digest);
                    locked.map(|it| it.tree) != tree
                });
                let here: HashSet<Digest> = installed().collect();
                let locked = names.iter().filter_map(|name| records.lock.skills.get(name));
                let before = locked.flat_map(|it| it.files.values().copied());
                TextFilter::only(before.filter(|digest| !here.contains(digest)).collect())
            }
        };
        let options = ReadOptions {
            profile: request.profile,
            limits: &request.limits,
            texts: Some(&texts),
            as_locked: against == DiffAgainst::Installed,
        };
        let sources = self.read_upstream(&records, &names, None, options, request.jobs)?;
        let mut found = Vec::new();
        for now in &sources {
            for name in &now.names {
                let locked = records.lock.skills.get(name);
                let (Some(locked), Some(tree)) = (locked, trees.get(name)) else { continue };
                let diff = match against {
                    DiffAgainst::Source => self.diff_to_source(&records, now, name, locked, tree),
                    DiffAgainst::Installed => Some(self.diff_to_lock(now, name, locked, tree)),
                };
                found.extend(diff);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// What the source would change; `None` where that is nothing.
    fn diff_to_source(
        &self,
        records: &Records,
        now: &SourceNow,
        name: &str,
        locked: &LockedSkill,
        tree: &ShippedTree,
    ) -> Option<SkillDiff> {
        let mut diff = SkillDiff {
            name: name.to_owned(),
            source: now.source.clone(),
            files: Vec::new(),
            tools: None,
            problem: None,
        };
        let (prepared, unusable) = match &now.state {
            SourceState::Unchanged => return None,
            SourceState::Failed(problem) => {
                diff.problem = Some(problem.clone());
                return Some(diff);
            }
            SourceState::Read(prepared, unusable) => (prepared, unusable),
        };
        let skill = match find_upstream(name, locked, Some(tree), (prepared, unusable), records) {
            Upstream::Here(skill) => skill,
            Upstream::Unusable(problem) => {
                diff.problem = Some(problem);
                return Some(diff);
            }
            Upstream::Gone { .. } => {
                diff.problem = Some(SourceProblem {
                    code: "gone-upstream".to_owned(),
                    message: format!("{} no longer has `{name}`", now.source),
                    help: "`metier outdated` says what became of it".to_owned(),
                });
                return Some(diff);
            }
        };
        diff.files = differing(&side_of(tree), &side_of(&skill.tree));
        diff.tools = SkillChanges::between(tree, &skill.tree).tools;
        for file in &mut diff.files {
            let before = self.installed_text(name, &file.path, file.before);
            file.texts = before.zip(upstream_text(&skill.tree, &file.path, file.after));
        }
        (!diff.files.is_empty()).then_some(diff)
    }

    /// What was edited here.
    fn diff_to_lock(
        &self,
        now: &SourceNow,
        name: &str,
        locked: &LockedSkill,
        tree: &ShippedTree,
    ) -> SkillDiff {
        let runs: BTreeSet<&String> = locked.executable.iter().collect();
        let side = |(path, digest): (&String, &Digest)| {
            (path.clone(), FileSide { digest: *digest, executable: runs.contains(path) })
        };
        let before: Side = locked.files.iter().map(side).collect();
        let mut files = differing(&before, &side_of(tree));
        let upstream = match &now.state {
            SourceState::Read(prepared, _) => {
                prepared.skills.iter().find(|it| it.summary.name.as_str() == name)
            }
            _ => None,
        };
        let empty = ShippedTree::default();
        let upstream = upstream.map_or(&empty, |skill| &skill.tree);
        for file in &mut files {
            let after = self.installed_text(name, &file.path, file.after);
            file.texts = upstream_text(upstream, &file.path, file.before).zip(after);
        }
        let problem = match &now.state {
            SourceState::Failed(problem) => Some(problem.clone()),
            _ => None,
        };
        SkillDiff { name: name.to_owned(), source: now.source.clone(), files, tools: None, problem }
    }

    /// The text of an installed file with this digest; empty for a side without the file.
    fn installed_text(&self, name: &str, path: &str, digest: Option<Digest>) -> Option<String> {
        let Some(digest) = digest else { return Some(String::new()) };
        let opened = TreeReader::open(&self.root.join(name)).ok()?.open_file(path).ok()?;
        let mut bytes = Vec::new();
        opened.file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
        (Digest::of(text.as_bytes()) == digest).then_some(text)
    }
}

/// The kept text of a file of the source with this digest; empty for a side without the file.
fn upstream_text(tree: &ShippedTree, path: &str, digest: Option<Digest>) -> Option<String> {
    let Some(digest) = digest else { return Some(String::new()) };
    let is_it = |file: &&crate::shipped_tree::ShippedFile| {
        file.digest == digest && (file.path == path || file.text.is_some())
    };
    let file = tree.files.iter().find(is_it)?;
    file.text.as_deref().map(str::to_owned)
}

fn side_of(tree: &ShippedTree) -> Side {
    let side = tree.files.iter().map(|file| {
        (file.path.clone(), FileSide { digest: file.digest, executable: file.executable })
    });
    side.collect()
}

/// The files that differ between two sides, by path.
fn differing(before: &Side, after: &Side) -> Vec<FileDiff> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let diff = |path: &String| {
        let (was, is) = (before.get(path), after.get(path));
        let change = match (was, is) {
            (None, _) => FileChange::Added,
            (_, None) => FileChange::Removed,
            (Some(was), Some(is)) if was.digest != is.digest => FileChange::Changed,
            (Some(was), Some(is)) if was.executable != is.executable => FileChange::Mode,
            _ => return None,
        };
        Some(FileDiff {
            path: path.clone(),
            change,
            before: was.map(|it| it.digest),
            after: is.map(|it| it.digest),
            executable_before: was.map(|it| it.executable),
            executable_after: is.map(|it| it.executable),
            texts: None,
        })
    };
    paths.into_iter().filter_map(diff).collect()
}
