//! The real executor: skills of an index, the policy, the tools, and the machine that scripts run on.
//!
//! What is judged is what is done: the content of a skill, the arguments of a call and the places
//! that it touches are fixed when the policy is asked, and checked again when it is done.

mod calling;
mod given;
mod kept;
mod scripts;
mod skills;
mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use metier_fs::HeldDir;
use metier_loader::{BodyLimits, ResourceLimits};
use metier_policy::{
    Answer, AnswerMemory, AnswerScope, Effect, Lifetime, Policy, PolicyDecision, RememberedAnswer,
    Request, TrustedFolders, UnixTime,
};
use metier_registry::search::{Document, SearchIndex};
use metier_registry::{Entry, Index};
use metier_sandbox::Secrets;
use metier_skill::SkillId;
use metier_tools::skill_contents::mark_now;
use metier_tools::{
    FailureCode, FolderOutputStore, OutputCap, PolicyStore, ResultFilter, ScriptHost, ToolFailure,
    Toolbox,
};

use crate::executor::{Asked, DecidedAction, Executor, Judgement, PreparedAction, RunSkills};
use crate::op::{Op, Outcome};
use crate::setup::PinnedSkill;

/// Makes the host that scripts run on, when the first one does: trying the sandbox takes a moment.
pub type ScriptHostMaker = Box<dyn Fn(LiveOutput) -> Result<ScriptHost, ToolFailure> + Send + Sync>;

/// Hears what a script prints, as it comes.
pub type LiveOutput = Arc<dyn Fn(&str, &str) + Send + Sync>;

pub use self::scripts::{PreparedScript, ScriptJudgement, ScriptRequest};

/// Judges and does what a run wants, on this machine.
pub struct LocalExecutor {
    /// The skills.
    pub index: Arc<Index>,
    /// The ids of those that a model may see, in the order of the catalog.
    pub offered: Arc<[SkillId]>,
    /// Those whose descriptions the prompt shows: a search need not give them.
    pub listed: Arc<[SkillId]>,
    /// What each skill was when the run began, where that was in another process.
    pub pinned: BTreeMap<SkillId, PinnedSkill>,
    /// The rules.
    pub policy: Arc<Policy>,
    /// Folders that are trusted.
    pub trusted: TrustedFolders,
    /// Answers that are remembered.
    pub answers: Mutex<AnswerMemory>,
    /// The longest time for which an answer is remembered.
    pub always: Lifetime,
    /// Where an answer is kept; nothing where there is no such place.
    pub policy_store: Option<PolicyStore>,
    /// Where work happens.
    pub workspace: PathBuf,
    /// Where an argument that names a file is looked for.
    pub working_dir: PathBuf,
    /// The home directory, which `~/` stands for.
    pub home: Option<PathBuf>,
    /// What the person asked for, in their own words. A script gets copies of files that are named there
    /// and that it would not see otherwise; a file that only a model names is not given.
    pub request: String,
    /// Hosts that may be reached, if the policy allows it too.
    pub hosts: Vec<String>,
    /// How much of a body is given.
    pub body_limits: BodyLimits,
    /// How much of a file is given.
    pub resource_limits: ResourceLimits,
    /// How much of a tool's output is given.
    pub cap: OutputCap,
    /// Values that are never shown.
    pub secrets: Arc<Secrets>,
    /// Where whole outputs are kept.
    pub observations: HeldDir,
    /// Where deleted files are kept.
    pub trash: HeldDir,
    /// Makes the host that scripts run on.
    pub host: ScriptHostMaker,
    /// Tools of the program that uses us, from [`Toolbox::with_foreign`]. They go the same way as ours.
    pub tools: Toolbox,
    /// What is made at the first use.
    pub made: LazyParts,
}

/// What is made at the first use.
#[derive(Default)]
pub struct LazyParts {
    host: OnceLock<Result<Arc<ScriptHost>, ToolFailure>>,
    search: OnceLock<SearchIndex>,
    live: calling::Live,
    linked_keys: OnceLock<Vec<PathBuf>>,
}

impl std::fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalExecutor").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

impl Executor for Arc<LocalExecutor> {
    fn judge(&self, op: &Op, skills: &RunSkills) -> Judgement {
        match op {
            Op::Load { skill, by, arguments } => {
                skills::load(self, skill, *by, arguments.as_deref())
            }
            Op::Delegate { skill, by, .. } => skills::delegate(self, skill, *by),
            Op::Resource { skill, path, section } => {
                skills::resource(self, skill, path, section.as_deref())
            }
            Op::Script { skill, path, args } => scripts::script(self, skill, path, args, skills),
            Op::Tool { tool, args, skill } => tools::call(self, tool, args, skill.as_ref(), skills),
            Op::Search { query } => skills::search(self, query, &skills.loaded),
        }
    }

    fn secrets(&self) -> Option<&Arc<Secrets>> {
        Some(&self.secrets).filter(|secrets| !secrets.is_empty())
    }
}

impl LocalExecutor {
    /// The skill with this id, as it was when the run began.
    fn entry(&self, id: &SkillId) -> Result<Arc<Entry>, ToolFailure> {
        let entries = self.index.entries().iter().chain(self.index.shadowed());
        let is_this = |entry: &&Arc<Entry>| entry.source == id.source && *entry.name() == id.name;
        let entry = entries.into_iter().find(is_this);
        let Some(entry) = entry else {
            let message = format!("the skill `{id}` no longer exists");
            return Err(ToolFailure::new(FailureCode::SkillNotFound, message)
                .with_help("continue without it, or with another skill"));
        };
        match self.pinned.get(id) {
            Some(pinned) if pinned.digest != entry.digest => {
                let message = format!("the skill `{id}` has changed since the run began");
                Err(ToolFailure::new(FailureCode::Changed, message)
                    .with_help("continue without it, or with another skill"))
            }
            _ => Ok(Arc::clone(entry)),
        }
    }

    /// Whether the file of a skill was written to since the run began. Its frontmatter has a digest and
    /// is compared where it is read; of the body only what the file looked like is known.
    fn has_changed(&self, entry: &Entry) -> bool {
        let then = match self.pinned.get(&entry.id()) {
            Some(pinned) => pinned.mark.clone(),
            None => entry.mark.map(|mark| mark.to_string()),
        };
        then.is_some_and(|then| mark_now(entry).is_none_or(|now| now.to_string() != then))
    }

    fn host(&self) -> Result<&Arc<ScriptHost>, ToolFailure> {
        let made = self.made.host.get_or_init(|| {
            let live = self.made.live.clone();
            let output: LiveOutput = Arc::new(move |stream, text| live.send(stream, text));
            (self.host)(output).map(Arc::new)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// What every result goes through.
    fn results(&self) -> ResultFilter {
        let prefix = format!("{}/", self.shown_observations());
        let store = FolderOutputStore::new(self.observations.clone(), &prefix);
        ResultFilter { secrets: Arc::clone(&self.secrets), cap: self.cap, store: Arc::new(store) }
    }

    fn ranking(&self) -> &SearchIndex {
        self.made.search.get_or_init(|| {
            SearchIndex::build(self.found_skills().map(|entry| Document {
                name: entry.name().as_str(),
                description: &entry.skill.description,
            }))
        })
    }

    /// The offered skills that are still there, in the order of the catalog.
    fn found_skills(&self) -> impl Iterator<Item = &Entry> {
        self.offered.iter().filter_map(|id| self.index.find(&id.to_string()))
    }

    fn answers(&self) -> MutexGuard<'_, AnswerMemory> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers an "always". Where it cannot be kept it holds for this run.
    fn remember(&self, request: &Request, answer: Option<&Answer>) {
        let Some((answer, lifetime)) = answer.and_then(|it| Some((it, it.lifetime()?))) else {
            return;
        };
        let wide = matches!(answer, Answer::AlwaysScript(_))
            .then(|| request.clone().remembering_scripts());
        let (asked, lifetime) = (wide.as_ref().unwrap_or(request), self.always.at_most(lifetime));
        let scope = AnswerScope::of(asked, self.policy.places().workspace());
        let kept = RememberedAnswer::of(asked, scope, now(), lifetime);
        if let Some(store) = &self.policy_store {
            let _ = store.change_answers(|answers| answers.remember(kept.clone()));
        }
        self.answers().remember(kept);
    }
}

/// The time now.
fn now() -> UnixTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    UnixTime(since.unwrap_or_default().as_secs())
}

/// The policy's decision as the loop takes it.
fn judged(decision: &PolicyDecision, request: &Request, prepared: PreparedAction) -> Judgement {
    let asked = asked(decision, request);
    Judgement::Decided(DecidedAction {
        effect: decision.effect,
        reason: decision.reason.clone(),
        layers: decision.layer_sentences(),
        request: Some(request.digest()),
        asked,
        liftable: decision.liftable.clone(),
        prepared,
    })
}

/// What an approver is given, where there is a question: about the request, or about ceilings.
fn asked(decision: &PolicyDecision, request: &Request) -> Option<Box<Asked>> {
    (decision.effect == Effect::Ask || decision.asks_to_lift())
        .then(|| Box::new(Asked::new(request.clone(), decision.clone())))
}

/// A failure of a tool as an outcome, in one sentence.
fn failed(failure: &ToolFailure) -> Outcome {
    let mut text = failure.to_string();
    if !text.ends_with(['.', '?', '!']) {
        text.push('.');
    }
    Outcome::failed(failure.code, text)
}
