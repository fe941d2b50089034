//! Files that a person gives to a run: by their path in the workspace or, where they lie elsewhere,
//! as text that stands in the request.

use std::path::{Component, Path};

use metier_policy::{Effect, Invoker, Permission, Request, RequestContext, Subject};
use metier_skill::FailureCode;
use metier_tools::LoadGate;
use metier_tools::policy_facts::{absolute, real_path};

use crate::error::{Error, Result};
use crate::open::Metier;
use crate::session::Session;

/// A file that the user gave.
pub(crate) enum GivenFile {
    /// Below the workspace, by its path there.
    Path(String),
    /// Elsewhere: its absolute path, and a part of its text.
    Text { path: String, text: String },
}

/// Characters of a given file that stand in a request.
const MAX_GIVEN_CHARS: usize = 12_000;
const MAX_NAME_CHARS: usize = 200;
const MAX_GIVEN_BYTES: u64 = 4 << 20;

impl Metier {
    /// Looks at a file that the user gave. What a rule or the floor keeps from being read does not come in
    /// this way either, nor does the text of a skill that may not be loaded.
    pub(crate) fn given_file(&self, file: &Path, gate: LoadGate<'_>) -> Result<GivenFile> {
        let shown = file.display();
        let path = self.typed_path(file);
        let real = metier_fs::canonical(&path).map_err(|error| {
            Error::usage(format!("{shown} cannot be given: {error}"))
                .with_help("name a file that exists")
        })?;
        if let Some(below) = self.below_workspace(&real) {
            return Ok(GivenFile::Path(below));
        }
        // A clone may have a link to any file of the user's.
        if self.is_inside(&path) {
            let message = format!("{shown} leads out of {}", self.workspace().display());
            return Err(Error::denied(FailureCode::NotAllowed.as_str(), message)
                .with_help(format!("name the file itself to give it: --file {}", real.display())));
        }
        let subject = vec![Subject::Path(absolute(&real)?)];
        let request = Request::new(Permission::ReadFile, subject).by(Invoker::User);
        let context = RequestContext { loaded: &[], memory: gate.answers, now: gate.now };
        let decision = gate.policy.decide(&request, &context);
        if decision.effect == Effect::Deny {
            let message = format!("{shown} cannot be given: {}", decision.reason);
            return Err(Error::denied(FailureCode::NotAllowed.as_str(), message)
                .with_help("`metier explain read_file PATH` names the rule and its file"));
        }
        let skills = gate.index.entries().iter().chain(gate.index.shadowed());
        let mut skills = skills.filter(|entry| real.starts_with(real_path(&entry.path)));
        if let Some(reason) = skills.find_map(|entry| gate.denied(entry)) {
            let message = format!("{shown} is a file of a skill, and may not be read: {reason}");
            return Err(Error::denied(FailureCode::NotAllowed.as_str(), message)
                .with_help("`metier explain load_skill NAME` names the rule and its file"));
        }
        let bytes = metier_fs::read_bounded(&real, MAX_GIVEN_BYTES)
            .map_err(|error| Error::failed("file-unreadable", format!("{shown}: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::failed("file-not-text", format!("{shown} is not text")))?;
        let text = metier_skill::text::for_model(&text);
        let (part, cut) = match text.char_indices().nth(MAX_GIVEN_CHARS) {
            Some((end, _)) => (metier_skill::text::for_model(&text[..end]), ", its beginning"),
            None => (text.as_ref().into(), ""),
        };
        let name = shown.to_string();
        let label = format!("File {}{cut}", metier_skill::text::label(&name, MAX_NAME_CHARS));
        let path = real.to_string_lossy().into_owned();
        Ok(GivenFile::Text { path, text: metier_loader::fenced(&label, &part) })
    }

    /// A given file as a run knows it: from the workspace, or by its absolute path.
    pub(crate) fn given_path(&self, file: &Path) -> Option<String> {
        let real = metier_fs::canonical(&self.typed_path(file)).ok()?;
        self.below_workspace(&real).or_else(|| real.to_str().map(ToOwned::to_owned))
    }

    /// Whether a path names something in the workspace, as it is written.
    fn is_inside(&self, path: &Path) -> bool {
        let workspace = self.workspace();
        let below = path.strip_prefix(&workspace).or_else(|_| path.strip_prefix(self.base_dir()));
        below.is_ok_and(|below| !below.components().any(|part| part == Component::ParentDir))
    }

    fn below_workspace(&self, real: &Path) -> Option<String> {
        let workspace = self.workspace();
        let workspace = metier_fs::canonical(&workspace).unwrap_or(workspace);
        real.strip_prefix(&workspace).ok().and_then(Path::to_str).map(ToOwned::to_owned)
    }
}

impl Session {
    /// The files that were given: paths in the workspace, and texts of those that lie elsewhere.
    pub(crate) fn given(&self, gate: LoadGate<'_>) -> Result<(Vec<String>, String)> {
        let (mut paths, mut texts) = (Vec::new(), String::new());
        for file in &self.files {
            match self.metier().given_file(file, gate)? {
                GivenFile::Path(path) => paths.push(path),
                // Its text for a model, its path for scripts.
                GivenFile::Text { path, text } => {
                    texts.push_str(&text);
                    paths.push(path);
                }
            }
        }
        Ok((paths, texts))
    }
}
