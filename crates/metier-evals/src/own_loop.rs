//! Our own loop as what is tested: any model by its name, over the skills of a project.
//!
//! The skills are those that were there when the subject was made. What trials of one arm share is prepared
//! once; a trial that has files of its own, or does something, gets a runtime that works in its folder.

mod approver;
mod settings_digest;
mod trace_builder;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metier::agent::{Observer, Record};
use metier::model::ModelInfo;
use metier::registry::Scan;
use metier::skill::Digest;
use metier::{CancelToken, Event, Metier, PreparedSession, Session, SkillReader};

use self::approver::TrialApprover;
use self::settings_digest::settings_digest;
use self::trace_builder::TraceBuilder;
use crate::case::{Case, TOOLS};
use crate::error::{EvalError, Result};
use crate::plan::{Arm, ModelKind, SubjectInfo};
use crate::planning::check_trust;
use crate::read::own_model;
use crate::score::is_tool_meant;
use crate::subject::{EvalSubject, Trace, TraceError};
use crate::trial::TrialErrorKind;

/// How long a trial may take, where a case does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// How our loop is run.
#[derive(Debug, Clone, Default)]
pub struct LoopOptions {
    /// The model's name; nothing: that of the settings.
    pub model: Option<String>,
    /// Rules that allow something, as `metier run --allow` takes them.
    pub allow: Vec<String>,
    /// Rules that deny something.
    pub deny: Vec<String>,
    /// The name of the model that judges what the loop did, where one does. It belongs to what a result came of.
    pub judge: Option<String>,
}

/// Our own loop.
pub struct LoopSubject {
    metier: Metier,
    options: LoopOptions,
    scan: Arc<Scan>,
    model: ModelInfo,
    settings: Digest,
    /// Skills that cannot be loaded, and why.
    unloadable: BTreeMap<String, String>,
    /// Skills that no model is shown, and why.
    unlisted: BTreeMap<String, String>,
    /// What the folder of each skill looked like when the subject was made, by the skill's id.
    marks: HashMap<String, String>,
    prepared: Mutex<HashMap<SharedKey, Arc<PreparedSession>>>,
}

/// What trials share that only decide.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SharedKey {
    arm: Arm,
    /// The skill that the arm varies; nothing where it varies none.
    skill: Option<String>,
    denied: Vec<String>,
    workspace: PathBuf,
}

impl LoopSubject {
    /// Our loop over the skills that `metier` finds. `skills` are those under test: that each can be loaded is
    /// tried here, once.
    ///
    /// # Errors
    ///
    /// [`EvalError::Untrusted`] where a skill of the project is not trusted, or has changed since: nothing of it would be
    /// loaded or run, and the numbers would be those of a skill that is never used.
    pub fn new<'s>(
        metier: &Metier,
        options: LoopOptions,
        skills: impl IntoIterator<Item = &'s str>,
    ) -> Result<Self> {
        check_trust(metier)?;
        Self::trusted_or_not(metier, options, skills)
    }

    /// The same without that check, for numbers that no skill's content has a part in.
    pub(crate) fn trusted_or_not<'s>(
        metier: &Metier,
        options: LoopOptions,
        skills: impl IntoIterator<Item = &'s str>,
    ) -> Result<Self> {
        let scan = metier.skills();
        // Before a plan takes the digests that its results are kept under.
        let marks = scan
            .index
            .entries()
            .iter()
            .filter_map(|entry| Some((entry.id().to_string(), mark_of(&entry.path)?)));
        let marks = marks.collect();
        let mut subject = Self {
            metier: metier.clone(),
            model: ModelInfo::new("", ""),
            settings: Digest::of(&[]),
            options,
            scan,
            unloadable: BTreeMap::new(),
            unlisted: BTreeMap::new(),
            marks,
            prepared: Mutex::default(),
        };
        let prepared = subject.session(metier, None)?.prepare()?;
        subject.model = prepared.model();
        if subject.model.provider == "replay" {
            return Err(EvalError::usage(
                "a recorded run answers one request, and cases ask others",
                "name a model, or `scripted:FILE` with rules for the requests of the cases",
            ));
        }
        let judge = subject.options.judge.as_ref().map(|judge| -> Result<ModelInfo> {
            let session = metier.session().model(judge).pinned(Arc::new(subject.scan.empty()));
            Ok(session.prepare()?.model())
        });
        let judge = judge.transpose()?;
        subject.settings =
            settings_digest(metier, &subject.options, &subject.model, judge.as_ref())?;
        let reader = metier.reader().approved().judging_once()?;
        for skill in skills {
            if let Some(reason) = subject.why_not_loadable(skill, &reader) {
                subject.unloadable.insert(skill.to_owned(), reason);
            } else if let Some(reason) = subject.why_not_listed(skill, &prepared) {
                subject.unlisted.insert(skill.to_owned(), reason.to_owned());
            }
        }
        Ok(subject)
    }

    /// A skill that a trial worked with and that is no longer what it was: what came of it is of neither version.
    fn changed_skill<'t>(&self, case: &'t Case, arm: Arm, trace: &'t Trace) -> Option<&'t str> {
        let inlined = case.skill.iter().filter(|_| arm == Arm::Inlined);
        let mut used = trace.fired.iter().map(|fired| &fired.skill).chain(inlined);
        used.find(|name| {
            let Some(entry) = self.scan.index.find(name) else { return false };
            let before = self.marks.get(&entry.id().to_string());
            before.is_some_and(|before| mark_of(&entry.path).as_ref() != Some(before))
        })
        .map(String::as_str)
    }

    /// The model that judges, where one does.
    pub(crate) fn judge(&self) -> Option<&str> {
        self.options.judge.as_deref()
    }

    /// The skills that it works with.
    pub fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    fn why_not_loadable(&self, skill: &str, reader: &SkillReader) -> Option<String> {
        let Some(entry) = self.scan.index.find(skill) else {
            return Some("there is no such skill here".to_owned());
        };
        if !entry.enabled {
            return Some("it is switched off".to_owned());
        }
        reader.load(skill).err().map(|error| error.to_string())
    }

    fn why_not_listed(&self, skill: &str, prepared: &PreparedSession) -> Option<&'static str> {
        let entry = self.scan.index.find(skill)?;
        if prepared.offered().any(|offered| offered.id() == entry.id()) {
            return None;
        }
        Some(if entry.skill.controls.disable_model_invocation {
            "it has `disable-model-invocation`, so only a person starts it"
        } else {
            "a rule keeps it from being loaded"
        })
    }

    /// A session as the options say, over the skills of an arm.
    fn session(&self, metier: &Metier, varied: Option<(Arm, &str)>) -> Result<Session> {
        let mut session = metier.session().approver(TrialApprover).request_of_case();
        if let Some(model) = &self.options.model {
            session = session.model(model);
        }
        session = self.options.allow.iter().fold(session, Session::allow);
        session = self.options.deny.iter().fold(session, Session::deny);
        let scan = match varied {
            Some((Arm::None | Arm::Inlined, skill)) => Arc::new(self.scan.without(skill)),
            _ => Arc::clone(&self.scan),
        };
        Ok(match varied {
            Some((Arm::Forced, skill)) => session.skill(skill),
            Some((Arm::Inlined, skill)) => {
                session.instructions(self.metier.reader().approved().load(skill)?.text)
            }
            _ => session,
        }
        .pinned(scan))
    }

    /// What trials share that only decide: made at the first of them.
    fn shared(&self, case: &Case, arm: Arm, workspace: &Path) -> Result<Arc<PreparedSession>> {
        let varied = varied(case, arm);
        let key = SharedKey {
            arm,
            skill: varied.map(|(_, skill)| skill.to_owned()),
            denied: case.constraints.forbidden_tools.clone(),
            workspace: workspace.to_owned(),
        };
        let known = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = known().get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let metier = self.metier.working_in(workspace)?;
        let session = self.session(&metier, varied)?;
        let session = denying(session, case).dry_run().unrecorded(workspace.join(RUNS));
        let prepared = Arc::new(session.prepare()?);
        Ok(Arc::clone(known().entry(key).or_insert(prepared)))
    }

    /// Whether the case decides in place of the model: only the offline one leaves it to it.
    fn takes_replies(&self, case: &Case) -> bool {
        !case.replies.is_empty() && self.model.provider == "router"
    }

    fn own(&self, case: &Case, arm: Arm, workspace: &Path) -> Result<PreparedSession> {
        let metier = self.metier.working_in(workspace)?;
        let mut session = denying(self.session(&metier, varied(case, arm))?, case);
        if self.takes_replies(case) {
            let fault = |reason| EvalError::plan(reason, "correct the `replies` of the case");
            session = session.own_model(own_model(case).map_err(fault)?);
        }
        let session = if case.only_triggers() { session.dry_run() } else { session };
        Ok(session.unrecorded(workspace.join(RUNS)).prepare()?)
    }
}

/// Where the outputs of a run are in its workspace: where every run has them.
pub(crate) const RUNS: &str = ".agent/runs";

fn varied(case: &Case, arm: Arm) -> Option<(Arm, &str)> {
    case.skill.as_deref().filter(|_| arm != Arm::Listed).map(|skill| (arm, skill))
}

fn denying(session: Session, case: &Case) -> Session {
    let denied = case.constraints.forbidden_tools.iter().flat_map(|tool| permissions_of(tool));
    denied.fold(session, Session::deny)
}

/// What is denied for the name of a tool, in which `*` is any text. Looking for skills and reading their files are no
/// permissions: there it only counts what is done.
fn permissions_of(tool: &str) -> Vec<String> {
    let is_known = TOOLS.contains(&tool);
    let named = TOOLS.iter().filter(|known| is_tool_meant(tool, known)).copied();
    let own = (!is_known && !tool.contains(['*', '?'])).then_some(tool);
    let mut permissions: Vec<String> = named
        .chain(own)
        .filter_map(|tool| match tool {
            "load_resource" | "search_skills" => None,
            // The policy has one name for it.
            "select_skills" => Some("load_skill".to_owned()),
            tool => Some(tool.to_owned()),
        })
        .collect();
    permissions.dedup();
    permissions
}

impl EvalSubject for LoopSubject {
    fn info(&self) -> SubjectInfo {
        let model_kind = match self.model.provider.as_str() {
            "router" => ModelKind::Router,
            "scripted" => ModelKind::Mock,
            _ => ModelKind::Real,
        };
        SubjectInfo {
            kind: "metier".to_owned(),
            provider: self.model.provider.clone(),
            model: self.model.name.clone(),
            model_kind,
            settings: self.settings,
        }
    }

    fn run(
        &self,
        case: &Case,
        arm: Arm,
        workspace: &Path,
        cancel: &CancelToken,
    ) -> std::result::Result<Trace, TraceError> {
        let expected = &case.expected;
        // That a skill was not loaded says something only where it could have been.
        let wanted = expected.skills.iter().flatten().chain(&expected.not_skills);
        let wanted = wanted.chain(&case.skill).filter(|_| arm != Arm::None);
        let unloadable = wanted.clone().find_map(|it| self.unloadable.get_key_value(it));
        if let Some((skill, why)) = unloadable {
            let message = format!("the skill {skill} cannot be loaded: {why}");
            return Err(TraceError { kind: TrialErrorKind::SkillNotLoadable, message, seen: None });
        }
        // A model that was never shown a skill did not fail to choose it.
        let mut listed = wanted.filter(|_| arm == Arm::Listed);
        if let Some((skill, why)) = listed.find_map(|it| self.unlisted.get_key_value(it)) {
            let message = format!("the skill {skill} is not shown to a model: {why}");
            return Err(TraceError { kind: TrialErrorKind::SkillNotLoadable, message, seen: None });
        }
        let is_shared = case.only_triggers() && case.files.is_empty() && !self.takes_replies(case);
        let prepared = if is_shared {
            self.shared(case, arm, workspace)
        } else {
            self.own(case, arm, workspace).map(Arc::new)
        };
        let prepared = prepared.map_err(|error| harness(&error))?;
        let last_step = case.only_triggers().then(|| case.constraints.trigger_within());
        let stop = cancel.child();
        let builder = Mutex::new(TraceBuilder::over(Arc::clone(&self.scan)));
        let watch = TraceObserver { builder, last_step, stop: stop.clone() };
        let is_real = self.info().model_kind == ModelKind::Real;
        let most = case.constraints.timeout_s.map(Duration::from_secs);
        let most = most.or_else(|| is_real.then_some(DEFAULT_TIMEOUT));
        let deadline = most.map(|most| stop.deadline(most)).transpose();
        let deadline =
            deadline.map_err(|error| harness(&EvalError::store(error.to_string(), "")))?;
        let token = deadline.as_ref().map_or(&stop, |deadline| deadline.token());
        let run = prepared.run(&case.input, &watch, token);
        let outputs = run.as_ref().map(|run| run.folder().path().join("observations"));
        let is_enough = watch.is_enough();
        let is_late = token.is_cancelled() && !stop.is_cancelled();
        let builder = watch.builder.into_inner().unwrap_or_else(PoisonError::into_inner);
        let traced = match (run.as_ref(), outputs) {
            (Ok(_), Ok(outputs)) => builder.finish(outputs, is_enough),
            (Err(error), _) | (_, Err(error)) => Err(TraceError {
                kind: TrialErrorKind::Harness,
                message: error.to_string(),
                seen: None,
            }),
        };
        if let (true, Ok(run)) = (is_shared, &run) {
            discard(run);
        }
        // What only decides ends with the load of a skill, before anything of its text counts.
        let looks = !(is_shared && is_enough);
        let traced = traced.and_then(|trace| match looks.then(|| self.changed_skill(case, arm, &trace)).flatten() {
            Some(skill) => Err(TraceError {
                kind: TrialErrorKind::SkillNotLoadable,
                message: format!(
                    "the skill {skill} was changed while the evals ran; run them again when it is finished"
                ),
                seen: Some(Box::new(trace.clone())),
            }),
            None => Ok(trace),
        });
        traced.map_err(|error| {
            if !is_late {
                return error;
            }
            let seconds = most.unwrap_or_default().as_secs();
            let message = format!("it took longer than {seconds} seconds");
            TraceError { kind: TrialErrorKind::TimedOut, message, ..error }
        })
    }
}

/// What the folder of a skill looks like; nothing for one that has none.
fn mark_of(folder: &Path) -> Option<String> {
    metier::fs::tree_mark(&metier::fs::canonical(folder).ok()?).ok()
}

/// Removes what a run left in a folder that others share.
fn discard(run: &metier::Run) {
    let folder = run.folder().path();
    if metier::fs::exists(folder) {
        let _ = metier::fs::remove_tree(folder);
    }
}

fn harness(error: &EvalError) -> TraceError {
    let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
    let message = format!("{error}{help}");
    TraceError { kind: TrialErrorKind::Harness, message, seen: None }
}

/// Hears one run.
struct TraceObserver {
    builder: Mutex<TraceBuilder>,
    /// The last step that counts.
    last_step: Option<u32>,
    stop: CancelToken,
}

impl TraceObserver {
    /// Whether it was stopped because no later step could count.
    fn is_enough(&self) -> bool {
        let step = self.builder.lock().unwrap_or_else(PoisonError::into_inner).step();
        self.last_step.is_some_and(|last| step > last)
    }
}

impl Observer for TraceObserver {
    fn event(&self, depth: u32, record: &Record) {
        self.builder.lock().unwrap_or_else(PoisonError::into_inner).event(depth, &record.event);
        if depth == 0 && matches!(record.event, Event::ModelRequested { .. }) && self.is_enough() {
            self.stop.cancel();
        }
    }

    fn hears_notes(&self) -> bool {
        false
    }
}
