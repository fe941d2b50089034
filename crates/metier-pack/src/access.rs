//! How an installation reaches its sources: what may be used, who is asked, who fetches, who hears how
//! far it is, and what cancels it.
//!
//! Every source passes [`SourceAccess::admit`] before anything is done about it. Without a fetcher, only
//! what is on this machine can be installed.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use metier_cancel::CancelToken;

use crate::error::PackError;
use crate::fetch::{Fetch, FetchProgress, Fetched, Fetchers, SilentProgress};
use crate::source::{InstallSource, SourcePlace};
use crate::source_policy::{SourceDenial, SourcePolicy, SourceVerdict};

/// How sources are reached.
#[derive(Debug, Clone)]
pub struct SourceAccess {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) progress: Arc<dyn FetchProgress>,
    pub(crate) questions: Arc<dyn InstallQuestions>,
    pub(crate) cancel: CancelToken,
    policy: SourcePolicy,
}

/// Where a source was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOrigin {
    /// By the person who installs.
    Named,
    /// In `skills.json` or in a list of plugins, which may have come with a clone.
    Recorded,
}

/// A source that a person has to allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceQuestion {
    /// The source, as the records spell it.
    pub source: String,
    /// Its host.
    pub host: String,
    /// What allows the host, in `sources.allow`.
    pub pattern: String,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
    /// Where it was named.
    pub origin: SourceOrigin,
}

/// A skill that can be picked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PickableSkill {
    /// Its name.
    pub name: String,
    /// What it does, in its own words.
    pub description: String,
}

/// What is asked while a plan is made. Without an answer nothing is fetched and nothing is picked.
pub trait InstallQuestions: Send + Sync + fmt::Debug {
    /// Whether this source may be used, of which no rule says so.
    fn may_use(&self, question: &SourceQuestion) -> bool {
        let _ = question;
        false
    }

    /// Which of several skills are meant, by name; `None` where no one can be asked.
    fn pick(&self, skills: &[PickableSkill]) -> Option<Vec<String>> {
        let _ = skills;
        None
    }
}

/// There is no one to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoQuestions;

impl InstallQuestions for NoQuestions {}

impl Default for SourceAccess {
    /// Only what is on this machine.
    fn default() -> Self {
        Self {
            fetch: Arc::new(Fetchers::default()),
            progress: Arc::new(SilentProgress),
            questions: Arc::new(NoQuestions),
            cancel: CancelToken::new(),
            policy: SourcePolicy::default(),
        }
    }
}

impl SourceAccess {
    /// Sources that `policy` lets through are fetched by `fetch`.
    pub fn new(policy: SourcePolicy, fetch: Arc<dyn Fetch>) -> Self {
        Self { fetch, policy, ..Self::default() }
    }

    /// `progress` hears how far a fetch is.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn FetchProgress>) -> Self {
        self.progress = progress;
        self
    }

    /// `questions` answers what comes up while a plan is made.
    #[must_use]
    pub fn with_questions(mut self, questions: Arc<dyn InstallQuestions>) -> Self {
        self.questions = questions;
        self
    }

    /// Ends when `cancel` is cancelled, with [`PackError::Cancelled`].
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// An error once it is cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), PackError> {
        if self.cancel.is_cancelled() { Err(PackError::Cancelled) } else { Ok(()) }
    }

    /// Lets a source through, or says why not.
    pub(crate) fn admit(
        &self,
        source: &InstallSource,
        origin: SourceOrigin,
    ) -> Result<(), PackError> {
        let denied = |denial| PackError::SourceDenied { source: source.recorded(), denial };
        match self.policy.judge(source) {
            SourceVerdict::Allowed => Ok(()),
            SourceVerdict::Denied(denial) => Err(denied(denial)),
            SourceVerdict::Ask => {
                let place = source.place();
                let question = SourceQuestion {
                    source: source.recorded(),
                    pattern: place.host_pattern(),
                    is_encrypted: place.is_encrypted(),
                    host: place.host.unwrap_or_default(),
                    origin,
                };
                let may_use = self.questions.may_use(&question);
                if may_use {
                    Ok(())
                } else {
                    Err(denied(SourceDenial::NotAllowed {
                        host: question.host,
                        pattern: question.pattern,
                    }))
                }
            }
        }
    }

    /// Judges directories of a source on this machine: a rule may be about one of them, and not about the source.
    pub(crate) fn admit_dirs<'d>(
        &self,
        source: &InstallSource,
        mut dirs: impl Iterator<Item = &'d str>,
    ) -> Result<(), PackError> {
        let InstallSource::Local(local) = source else { return Ok(()) };
        dirs.try_for_each(|dir| {
            let path = local.path.join(dir);
            match self.policy.judge_place(&SourcePlace::on_disk(&path)) {
                SourceVerdict::Denied(denial) => {
                    let source = path.to_string_lossy().into_owned();
                    Err(PackError::SourceDenied { source, denial })
                }
                SourceVerdict::Allowed | SourceVerdict::Ask => Ok(()),
            }
        })
    }

    /// Refuses what is younger than the policy wants.
    pub(crate) fn check_age(
        &self,
        source: &InstallSource,
        fetched: &Fetched,
    ) -> Result<(), PackError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        self.policy
            .check_age(fetched.released_at, now)
            .map_err(|denial| PackError::SourceDenied { source: source.recorded(), denial })
    }
}
