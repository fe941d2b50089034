//! Restoring a file that a run deleted: to where it was, over nothing, and with a word in the record.
//!
//! Nothing is asked about whose run it is: a file can only return to the project that its trash came
//! with, and only as the record says it was deleted. What no rule opens is not written here either: a
//! project can bring a run with it, whose trash holds what starts by itself.

use std::path::{Path, PathBuf};

use metier_agent::RunFolder;
use metier_fs::{EntryKind, WorkRoot, entry_kind};
use metier_policy::{
    AnswerMemory, Invoker, LayerKind, Permission, Request, RequestContext, Subject,
};
use metier_skill::{FailureCode, WorkPath};
use metier_tools::policy_facts::{absolute, real_path};
use metier_tools::{Trash, TrashedFile};

use crate::error::{Error, ErrorKind, Result};
use crate::guard::now;
use crate::open::Metier;

impl Metier {
    /// The workspace that a run belongs to, by the place of its folder: `WORKSPACE/.agent/runs/RUN`.
    pub fn workspace_of(&self, run: &RunFolder) -> PathBuf {
        let workspace = run.path().ancestors().nth(3).map(Path::to_owned);
        workspace.unwrap_or_else(|| self.workspace())
    }

    /// Restores a file that a run deleted. What stands in its place by now stays.
    pub fn restore_file(&self, run: &RunFolder, file: &TrashedFile) -> Result<()> {
        let workspace = self.workspace_of(run);
        let kept = format!("the deleted file stays in {}", run.path().join("trash").display());
        self.check_floor(&workspace, &file.path)?;
        match in_the_way(&workspace, &file.path) {
            Some((at, true)) => {
                let message = format!("{} already exists", at.display());
                return Err(Error::failed("already-exists", message)
                    .with_help(format!("move it away first; {kept}")));
            }
            Some((at, false)) => {
                let message = format!("{} is not a folder", at.display());
                let help = "move it away first, so that the folder can be created again";
                return Err(
                    Error::failed("already-exists", message).with_help(format!("{help}; {kept}"))
                );
            }
            None => {}
        }
        let root = WorkRoot::open(&workspace).map_err(|error| {
            let message = format!("{} cannot be opened: {error}", workspace.display());
            Error::failed("no-workspace", message).with_help(kept.clone())
        })?;
        let trash = Trash::new(run.trash());
        run.restoring(file, || {
            trash.restore(&root, &file.reference).map(|_| ()).map_err(|failure| {
                let not_allowed = failure.code == FailureCode::NotAllowed;
                let error = Error { kind: ErrorKind::Failed, ..failure.into() };
                if not_allowed {
                    return error;
                }
                error.with_help(format!("check the permissions and the free space there; {kept}"))
            })
        })
    }

    /// An error where no rule lets a tool write this file.
    fn check_floor(&self, workspace: &Path, path: &WorkPath) -> Result<()> {
        let policy = self.guard(&self.skills())?.policy;
        let place = absolute(&real_path(&workspace.join(path.as_str())))?;
        let request = Request::new(Permission::WriteFile, vec![Subject::Path(place)]);
        let memory = AnswerMemory::default();
        let situation = RequestContext { loaded: &[], memory: &memory, now: now() };
        let decision = policy.decide(&request.by(Invoker::User), &situation);
        let floor = decision.layers.iter().find(|it| it.layer == LayerKind::Floor);
        floor.map_or(Ok(()), |floor| {
            let message = format!("{path} is not restored: {}", floor.because);
            let error = Error::new(ErrorKind::Denied, FailureCode::NotAllowed.as_str(), message);
            Err(error
                .with_help("no rule allows it; to have it back, copy it from the trash yourself"))
        })
    }
}

/// What stands where the file was (`true`), or where a folder above it was.
fn in_the_way(workspace: &Path, path: &WorkPath) -> Option<(PathBuf, bool)> {
    let mut at = workspace.to_owned();
    let mut names = path.names().peekable();
    while let Some(name) = names.next() {
        at.push(name);
        let is_last = names.peek().is_none();
        match entry_kind(&at)? {
            EntryKind::Directory if !is_last => {}
            _ => return Some((at, is_last)),
        }
    }
    None
}
