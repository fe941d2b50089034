//! Reading a skill: its body, or one part of one of its files, within the limits a model gets.
//! Paths are checked and opened by `metier-loader`.

use metier_loader::{
    LoadError, Loaded, ResourceLimits, ResourceQuery, SkillFiles, inject, invoke, load_body,
    load_raw, load_resource,
};
use metier_policy::{Effect, Invoker};
use metier_registry::Entry;
use metier_skill::FailureCode;
use metier_tools::skill_contents::{file_names, open_files};

use crate::error::{Error, ErrorKind, Result};
use crate::open::Metier;

impl Metier {
    /// The body of a skill, as a model would get it.
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
        let entry = self.skill(name)?;
        Ok(load_body(&*files(&entry)?, &self.settings().body_limits)?)
    }

    /// The body of a skill as if a person had typed `/name arguments`, with its placeholders filled.
    pub fn invoke(&self, name: &str, arguments: &str) -> Result<Loaded> {
        let entry = self.skill(name)?;
        self.check_loadable(&entry)?;
        let limits = &self.settings().body_limits;
        Ok(invoke(&*files(&entry)?, &entry.skill, arguments, limits)?)
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
        let entry = self.skill(name)?;
        Ok(load_resource(&*files(&entry)?, path, query, &ResourceLimits::default())?)
    }

    /// A file of a skill as it is: whole, with its frontmatter, not normalised.
    pub fn read_raw(&self, name: &str, path: &str) -> Result<Vec<u8>> {
        let entry = self.skill(name)?;
        Ok(load_raw(&*files(&entry)?, path, &ResourceLimits::default())?)
    }

    /// What was loaded, in the block in which it reaches a model, with the names of the skill's other
    /// files.
    pub fn block(&self, name: &str, loaded: &Loaded) -> Result<String> {
        let entry = self.skill(name)?;
        self.check_loadable(&entry)?;
        let mut names = file_names(&entry);
        names.retain(|name| !name.eq_ignore_ascii_case(&loaded.report.path));
        let path = entry.path.to_string_lossy();
        Ok(inject(entry.name().as_str(), entry.source, &path, loaded, &names))
    }

    /// A skill that the rules refuse is not shown as an agent would get it. An open question is no
    /// reason: it is the user who looks.
    fn check_loadable(&self, entry: &Entry) -> Result<()> {
        let scan = self.skills();
        let guard = self.guard(&scan)?;
        let gate = guard.load_gate(&scan.index, Invoker::User);
        let denied = gate.decision(entry).filter(|found| found.effect == Effect::Deny);
        let Some(decision) = denied else { return Ok(()) };
        let message = format!("the skill may not be loaded: {}", decision.sentences().join("; "));
        Err(Error::denied(FailureCode::NotAllowed.as_str(), message)
            .with_help("`metier explain load_skill NAME` names the rule and its file"))
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
