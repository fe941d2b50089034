//! Reading a skill: its body, or one part of one of its files, within the limits a model gets.
//!
//! The text of a skill comes out under the same decision by which a run loads it: what a rule denies is
//! refused, and a question has to be answered, here by the one who reads. Paths are checked and opened by
//! `metier-loader`.

use std::sync::Arc;

use metier_loader::{
    LoadError, Loaded, ResourceLimits, ResourceQuery, SkillFiles, inject, invoke, load_body,
    load_raw, load_resource,
};
use metier_policy::{Effect, Invoker};
use metier_registry::Entry;
use metier_skill::FailureCode;
use metier_tools::gate::LoadJudgement;
use metier_tools::skill_contents::{file_names, open_files};

use crate::error::{Error, ErrorKind, Result};
use crate::guard::Guard;
use crate::open::Metier;
use crate::skills::find;

/// Reads the text of skills. Made by [`Metier::reader`].
#[derive(Clone)]
pub struct SkillReader {
    metier: Metier,
    consent: Consent,
    /// What all that it reads is judged by, where that is decided once.
    guard: Option<Arc<Guard>>,
}

/// The answer to a question about loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// There is none: what would be asked is refused.
    Open,
    /// Yes, this once.
    Given,
}

impl Metier {
    /// Reads the text of skills, if the policy allows to load them without a question.
    pub fn reader(&self) -> SkillReader {
        SkillReader { metier: self.clone(), consent: Consent::Open, guard: None }
    }

    /// The body of a skill, as a model would get it; [`SkillReader`] can also answer a question.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let body = metier.load("write-skill")?;
    /// println!("{}", body.text);
    /// assert!(!body.report.truncated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(&self, name: &str) -> Result<Loaded> {
        self.reader().load(name)
    }

    /// The body of a skill as if a person had typed `/name arguments`, with its placeholders filled.
    pub fn invoke(&self, name: &str, arguments: &str) -> Result<Loaded> {
        self.reader().invoke(name, arguments)
    }

    /// A part of a file of a skill: a section, some lines, or the beginning.
    ///
    /// ```
    /// use metier::Metier;
    /// use metier::loader::ResourceQuery;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let query = ResourceQuery { section: Some("How to test it"), ..ResourceQuery::default() };
    /// let part = metier.read("write-skill", "references/descriptions.md", &query)?;
    /// assert!(part.text.starts_with("## How to test it"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, name: &str, path: &str, query: &ResourceQuery<'_>) -> Result<Loaded> {
        self.reader().read(name, path, query)
    }

    /// A file of a skill as it is: whole, with its frontmatter, not normalised.
    pub fn read_raw(&self, name: &str, path: &str) -> Result<Vec<u8>> {
        self.reader().read_raw(name, path)
    }
}

impl SkillReader {
    /// Takes a question about loading for answered with yes, this once: a person asked to read. What is
    /// denied stays denied.
    #[must_use]
    pub fn approved(mut self) -> Self {
        self.consent = Consent::Given;
        self
    }

    /// Judges all that it reads from now on by the rules and the trust of this moment, for a caller that reads many
    /// skills at once: the record of a thousand trusted ones alone takes milliseconds to read.
    pub fn judging_once(mut self) -> Result<Self> {
        self.guard = Some(Arc::new(self.metier.guard(&self.metier.skills())?));
        Ok(self)
    }

    /// The body of a skill, as a model would get it.
    pub fn load(&self, name: &str) -> Result<Loaded> {
        self.opened(name, |_, files| load_body(files, &self.metier.settings().body_limits))
    }

    /// The body of a skill as if a person had typed `/name arguments`, with its placeholders filled.
    pub fn invoke(&self, name: &str, arguments: &str) -> Result<Loaded> {
        let limits = &self.metier.settings().body_limits;
        self.opened(name, |entry, files| invoke(files, &entry.skill, arguments, limits))
    }

    /// A part of a file of a skill: a section, some lines, or the beginning.
    pub fn read(&self, name: &str, path: &str, query: &ResourceQuery<'_>) -> Result<Loaded> {
        let limits = ResourceLimits::default();
        self.opened(name, |_, files| load_resource(files, path, query, &limits))
    }

    /// A file of a skill as it is: whole, with its frontmatter, not normalised.
    pub fn read_raw(&self, name: &str, path: &str) -> Result<Vec<u8>> {
        self.opened(name, |_, files| load_raw(files, path, &ResourceLimits::default()))
    }

    /// What was loaded, in the block in which it reaches a model, with the names of the skill's other
    /// files.
    pub fn block(&self, name: &str, loaded: &Loaded) -> Result<String> {
        let entry = self.metier.skill(name)?;
        self.check(&entry)?;
        let mut names = file_names(&entry);
        names.retain(|name| !name.eq_ignore_ascii_case(&loaded.report.path));
        let path = entry.path.to_string_lossy();
        Ok(inject(entry.name().as_str(), entry.source, &path, loaded, &names))
    }

    /// Whether the text of a skill may be shown here; the error says why not.
    pub fn check(&self, entry: &Entry) -> Result<()> {
        self.judge(entry).map(drop)
    }

    fn judge(&self, entry: &Entry) -> Result<LoadJudgement> {
        let scan = self.metier.skills();
        let guard = match &self.guard {
            Some(guard) => Arc::clone(guard),
            None => Arc::new(self.metier.guard(&scan)?),
        };
        let judgement = guard.load_gate(&scan.index, Invoker::User).judge(entry);
        let message = judgement.decision.reason.clone();
        match judgement.decision.effect {
            Effect::Allow => Ok(judgement),
            Effect::Ask if self.consent == Consent::Given => Ok(judgement),
            Effect::Ask => {
                let code = FailureCode::NeedsApproval.as_str();
                Err(Error::new(ErrorKind::NeedsApproval, code, message).with_help(
                    "read it at a terminal, or add --yes; `metier trust` trusts a project",
                ))
            }
            Effect::Deny => Err(Error::denied(FailureCode::NotAllowed.as_str(), message)
                .with_help("`metier explain load_skill NAME` names the rule and its file")),
        }
    }

    fn opened<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Entry, &dyn SkillFiles) -> std::result::Result<T, LoadError>,
    ) -> Result<T> {
        let scan = self.metier.skills();
        let entry = find(name, &scan)?;
        let judgement = self.judge(entry)?;
        let text = read(entry, &*files(entry)?)?;
        if judgement.still_holds(entry) {
            return Ok(text);
        }
        let message = format!("{} changed while it was read", entry.id());
        Err(Error::failed(FailureCode::Changed.as_str(), message).with_help("read it again"))
    }
}

/// The files of a skill as the loader reads them.
pub fn files(entry: &Entry) -> Result<Box<dyn SkillFiles>> {
    open_files(entry).map_err(|error| {
        Error::failed(error.code().as_str(), format!("{} cannot be opened", entry.path.display()))
            .with_help("it was there a moment ago; run the command again")
    })
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        let kind = match error {
            LoadError::NotInvocable(_) => ErrorKind::Denied,
            _ => ErrorKind::Failed,
        };
        Self::new(kind, error.code().as_str(), error.to_string()).with_help(error.help())
    }
}
