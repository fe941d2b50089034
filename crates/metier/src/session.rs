//! A session: who decides, who approves, who listens, and the runs that are done with them.
//!
//! `run`, `resume` and `chat` go through here for every front end, so that all of them put a run
//! together alike. The loop itself is `metier-agent`'s.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use metier_agent::{
    Agent, AgentError, Approver, BudgetSetting, Event, LocalExecutor, Mode, NoApprover, Note,
    Observer, RunFolder, RunId, RunLimits, Setup, State,
};
use metier_cancel::CancelToken;
use metier_model::Model;
use metier_policy::Invoker;
use metier_registry::Scan;
use metier_skill::{Digest, SkillId};

use crate::approval_question::{AnswerWith, ApprovalQuestion, ApprovalReply, EventListener};
use crate::approvals::RunApprover;
use crate::chosen_skills::FirstSkills;
use crate::error::{Error, Result};
use crate::executor::cap_for;
use crate::guard::RunRules;
use crate::open::Metier;
use crate::own_tools::OwnTools;
use crate::prepared::{Fanout, RunCall, RunWatch};
use crate::run::Run;
use crate::runs::check_resumable;
use crate::session_model::SessionModel;
use crate::skills::find;

/// Said when a run is resumed with other skills than it began with.
const SKILLS_CHANGED: &str =
    "the skills have changed since the run began; it keeps to those that have not";

/// Runs requests. Made by [`Metier::session`]; each call that sets something gives it back.
pub struct Session {
    metier: Metier,
    pub(crate) model: SessionModel,
    approver: Arc<dyn Approver>,
    observers: Vec<Arc<dyn Observer + Send>>,
    cancel: CancelToken,
    pub(crate) rules: RunRules,
    pub(crate) tools: OwnTools,
    skills: Vec<String>,
    pub(crate) author: RequestAuthor,
    pub(crate) files: Vec<PathBuf>,
    max_turns: Option<u32>,
    pub(crate) mode: Mode,
    approved: Option<Digest>,
    /// The skills that every run sees, where they are not looked for anew.
    pub(crate) pinned: Option<Arc<Scan>>,
    /// What stands in every prompt besides the skills.
    pub(crate) instructions: String,
    /// Where files of runs go that keep no record.
    pub(crate) scratch: Option<PathBuf>,
}

/// Whose words a request is, and so what a name in it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestAuthor {
    /// A skill's name calls it, and scripts are given the files that are named.
    Person,
    /// A skill's name calls it.
    CaseFile,
    /// A name does nothing.
    Unknown,
}

/// What was said before a request.
#[derive(Clone, Copy, Default)]
pub(crate) struct Earlier<'e> {
    /// All of it, for the model.
    pub(crate) text: &'e str,
    /// What the person said of it.
    pub(crate) requests: &'e [&'e str],
}

impl Metier {
    /// A session with the model of the settings. Questions are left open until an approver is given.
    pub fn session(&self) -> Session {
        Session {
            metier: self.clone(),
            model: SessionModel::default(),
            approver: Arc::new(NoApprover),
            observers: Vec::new(),
            cancel: CancelToken::new(),
            rules: RunRules::default(),
            tools: OwnTools::default(),
            skills: Vec::new(),
            author: RequestAuthor::Person,
            files: Vec::new(),
            max_turns: None,
            mode: Mode::Real,
            approved: None,
            pinned: None,
            instructions: String::new(),
            scratch: None,
        }
    }
}

impl Session {
    /// Decides with this model: `openai:MODEL`, `anthropic:MODEL`, `scripted:FILE`, `replay:RUN` or
    /// `router`. An unknown name is an error of the run.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = SessionModel::named(name.into());
        self
    }

    /// Decides with a model of the caller's own.
    #[must_use]
    pub fn own_model(mut self, model: impl Model + 'static) -> Self {
        self.model = SessionModel::own(Arc::new(model));
        self
    }

    /// Answers questions with a function. What the policy denies is never asked about.
    #[must_use]
    pub fn approve(
        self,
        answer: impl Fn(&ApprovalQuestion<'_>) -> ApprovalReply + Send + Sync + 'static,
    ) -> Self {
        self.approver(AnswerWith(answer))
    }

    /// Answers questions with an approver of the caller's own.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Calls a function for every event, after it was recorded.
    #[must_use]
    pub fn on_event(self, listen: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer(EventListener(listen))
    }

    /// Adds an observer, which also hears what happens between two events.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + Send + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Cancels with this token, wherever a run waits. A run that was cancelled can be resumed.
    #[must_use]
    pub fn cancel_with(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Allows a tool in this session: `PERMISSION` or `PERMISSION:PATTERN`. A denial of the settings,
    /// of a skill or of the floor stays one.
    #[must_use]
    pub fn allow(mut self, rule: impl Into<String>) -> Self {
        self.rules.allow.push(rule.into());
        self
    }

    /// Denies a tool in this session: `PERMISSION` or `PERMISSION:PATTERN`.
    #[must_use]
    pub fn deny(mut self, rule: impl Into<String>) -> Self {
        self.rules.deny.push(rule.into());
        self
    }

    /// Loads this skill before the first turn.
    #[must_use]
    pub fn skill(mut self, name: impl Into<String>) -> Self {
        self.skills.push(name.into());
        self
    }

    /// The request is not a person's own words, but a text from a pipe, a file or a message: it calls no skill,
    /// neither as `/name` nor by name, and scripts are given no file outside the workspace because it names
    /// one. What it names is routed like other words.
    #[must_use]
    pub const fn untrusted_request(mut self) -> Self {
        self.author = RequestAuthor::Unknown;
        self
    }

    /// The request is a case of an eval, which may come with a project: scripts are given no file outside
    /// the workspace because it names one. Skills are called as by a person.
    #[must_use]
    pub const fn request_of_case(mut self) -> Self {
        self.author = RequestAuthor::CaseFile;
        self
    }

    /// Gives a file that the request is about.
    #[must_use]
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.files.push(file.into());
        self
    }

    /// Lowers the number of decisions that the model may make.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// Decides about everything, runs and changes nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.mode = Mode::DryRun;
        self
    }

    /// Works with these skills, and does not look for others before each run.
    #[must_use]
    pub fn pinned(mut self, skills: Arc<Scan>) -> Self {
        self.pinned = Some(skills);
        self
    }

    /// Adds text that stands in every prompt, before the skills: instructions of the caller's own.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// Keeps no record: only observers learn what happened, nothing is remembered in the user's state, and
    /// such a run cannot be resumed. Long outputs and the files that scripts leave go below `scratch`, which
    /// the caller removes.
    #[must_use]
    pub fn unrecorded(mut self, scratch: impl Into<PathBuf>) -> Self {
        self.scratch = Some(scratch.into());
        self
    }

    /// Lets the request with this digest pass, once: what [`Session::resume`] finds open in its run, or
    /// what [`Session::exec`] left open in this workspace, within a day.
    #[must_use]
    pub fn approve_request(mut self, request: Digest) -> Self {
        self.approved = Some(request);
        self
    }

    /// Works on a request to its end, or to where it has to wait. `/name arguments` calls a skill.
    pub fn run(&self, request: &str) -> Result<Run> {
        self.run_after(request, Earlier::default(), FirstSkills::Chosen(&self.skills))
    }

    /// The same after what was said before, with these skills loaded first.
    pub(crate) fn run_after(
        &self,
        request: &str,
        earlier: Earlier<'_>,
        skills: FirstSkills<'_>,
    ) -> Result<Run> {
        let shared = self.prepare_runs()?;
        let cancel = &self.cancel;
        self.run_prepared(&shared, &RunCall { request, earlier, skills, observer: None, cancel })
    }

    /// Continues a run that was stopped or killed, or that waits for an answer. The model is the one
    /// that the run began with, unless this session names one.
    pub fn resume(&self, run: &str) -> Result<Run> {
        let folder = self.metier.find_run(run)?;
        check_resumable(&folder)?;
        let setup = folder.setup()?;
        let metier = self.as_agent_of(&setup)?;
        let tools = self.tools.toolbox()?;
        let (model, key) = self.open_model(Some(&setup))?;
        self.warn_about_project_settings(Some(&setup))?;
        let scan = metier.refresh();
        // What was denied when it began stays denied.
        let rules = self.rules.with_denied(&setup.denied);
        let guard = metier.guard(&scan)?.with_rules(&rules)?;
        let gate = guard.load_gate(&scan.index, Invoker::Model);
        let is_denied = |id: &SkillId| {
            scan.index.find(&id.to_string()).is_none_or(|it| gate.denied(it).is_some())
        };
        let offered = setup.skills.iter().filter(|card| card.offered && !is_denied(&card.id));
        let offered = offered.map(|card| card.id.clone()).collect();
        let request = if setup.names_no_files { "" } else { &*setup.request };
        let named = self.named_by_person(request, Earlier::default());
        let executor =
            metier.executor(Arc::new(scan.index.clone()), guard, offered, &folder, &key, named);
        // It keeps to the skills that it began with.
        let pinned =
            setup.skills.iter().map(|card| (card.id.clone(), card.pinned.clone())).collect();
        let listed = setup.skills.listed().map(|card| card.id.clone()).collect();
        let cap = cap_for(executor.cap, setup.plan, setup.model.window);
        let executor = Arc::new(LocalExecutor { pinned, tools, listed, cap, ..executor });
        let resume = |agent: &Agent<'_>, folder: &RunFolder| agent.resume(folder);
        if scan.index.hash() != setup.index_hash {
            self.note(&Note::Warning(SKILLS_CHANGED.to_owned()));
        }
        let watch = RunWatch { observer: None, cancel: &self.cancel };
        self.drive(folder, &*model, &executor, watch, resume)
    }

    /// What the person said, which may name files for scripts: this request, those before it, and the
    /// files of the session.
    pub(crate) fn named_by_person(&self, request: &str, earlier: Earlier<'_>) -> String {
        // As they were typed, and as the request of the run has them.
        let files = self.files.iter().flat_map(|file| {
            let typed = file.to_string_lossy().into_owned();
            [Some(typed), self.metier.given_path(file)]
        });
        let files = files.flatten();
        let said = earlier.requests.iter().chain([&request]).map(|said| (*said).to_owned());
        let said = said.filter(|_| self.author == RequestAuthor::Person);
        said.chain(files).collect::<Vec<_>>().join("\n")
    }

    /// The runtime as the agent that the run began with: what it may do does not widen with time.
    fn as_agent_of(&self, setup: &Setup) -> Result<Metier> {
        let own = self.metier.agent().map(|agent| agent.name.as_str());
        match (setup.agent.as_deref(), own) {
            (recorded, own) if recorded == own => Ok(self.metier.clone()),
            (Some(recorded), None) => self.metier.with_agent(recorded),
            (recorded, _) => {
                let began =
                    recorded.map_or("without an agent".to_owned(), |it| format!("as `{it}`"));
                Err(Error::usage(format!("the run began {began}"))
                    .with_help("resume it without naming an agent"))
            }
        }
    }

    pub(crate) fn drive(
        &self,
        folder: RunFolder,
        model: &dyn Model,
        executor: &Arc<LocalExecutor>,
        watch: RunWatch<'_>,
        run: impl FnOnce(&Agent<'_>, &RunFolder) -> std::result::Result<State, AgentError>,
    ) -> Result<Run> {
        let pending = match self.scratch {
            None => Some(self.metier.pending_in_run(folder.id())?),
            Some(_) => None,
        };
        let approver = RunApprover::new(&*self.approver, pending, self.approved);
        let observer = Fanout { observers: &self.observers, more: watch.observer };
        let agent = Agent {
            model,
            executor,
            approver: &approver,
            observer: &observer,
            cancel: watch.cancel,
        };
        let state = run(&agent, &folder)?;
        Ok(Run::new(folder, state, approver.into_open()))
    }

    pub(crate) const fn metier(&self) -> &Metier {
        &self.metier
    }

    pub(crate) const fn rules(&self) -> &RunRules {
        &self.rules
    }

    pub(crate) const fn approved(&self) -> Option<Digest> {
        self.approved
    }

    pub(crate) fn inner_approver(&self) -> &dyn Approver {
        &*self.approver
    }

    pub(crate) fn observers(&self) -> &[Arc<dyn Observer + Send>] {
        &self.observers
    }

    pub(crate) fn set_cancel(&mut self, token: CancelToken) {
        self.cancel = token;
    }

    pub(crate) const fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// The skills that the caller chose.
    pub(crate) fn chosen(&self) -> &[String] {
        &self.skills
    }

    /// Whether the rules and the chosen skills of this session can be used.
    pub(crate) fn check_settings(&self) -> Result<()> {
        let scan = self.metier.skills();
        self.metier.guard(&scan)?.with_rules(&self.rules)?;
        self.skills.iter().try_for_each(|name| find(name, &scan).map(|_| ()))
    }

    /// What a run may spend: the settings, and fewer turns where the caller says so.
    pub(crate) fn limits(&self, window: Option<u32>) -> RunLimits {
        let agent = self.metier.agent().map(|agent| agent.run_limits);
        let limits = agent.unwrap_or(self.metier.settings().run_limits);
        RunLimits {
            turns: self.max_turns.map_or(limits.turns, |turns| turns.min(limits.turns)).max(1),
            // A quarter is left for the reply and for what an estimate misses.
            prompt_tokens: window.map_or(limits.prompt_tokens, |window| u64::from(window) * 3 / 4),
            ..limits
        }
    }

    /// The settings that these limits come from.
    pub(crate) fn budget_settings(&self) -> BTreeMap<String, BudgetSetting> {
        let agent = self.metier.agent();
        let mut settings =
            self.metier.settings().budget_settings(agent.map(|agent| agent.name.as_str()));
        let limits = agent.map_or(self.metier.settings().run_limits, |agent| agent.run_limits);
        if self.max_turns.is_some_and(|turns| turns < limits.turns) {
            let flag = BudgetSetting { key: "--max-turns".to_owned(), place: None };
            settings.insert("turns".to_owned(), flag);
        }
        settings
    }
}

pub(crate) fn new_id() -> RunId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now();
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let process = std::process::id();
    // Two threads may begin in the same nanosecond.
    let count = COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    let salt = Digest::of_parts([nanos.to_le_bytes().as_slice(), &process.to_le_bytes(), &count]);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&salt.as_bytes()[..8]);
    RunId::at(now, u64::from_le_bytes(bytes))
}
