//! What the runs of a session share, made once: the skills, the policy, the model, the list of skills.
//!
//! One request needs all of it, and so do ten thousand; [`Session::prepare`] keeps it between them. What a
//! run is allowed, shown and given is put together here and nowhere else, for one run and for many.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use metier_agent::folder::keep_out_of_git;
use metier_agent::setup_builder::{SetupBuilder, SharedSetup};
use metier_agent::{LocalExecutor, Note, Observer, Record, RunFolder, ToolCard, Unrecorded};
use metier_cancel::CancelToken;
use metier_model::{Key, Model, ModelInfo};
use metier_policy::Invoker;
use metier_registry::catalog::{CatalogReader, CatalogRequest, Cataloger};
use metier_registry::search::RequestOrders;
use metier_registry::{Entry, Index, Scan};
use metier_tools::{GatedContents, Toolbox};

use crate::catalog::CatalogBudget;
use crate::chosen_skills::{FirstSkills, chosen_skills, not_calls, skills_called};
use crate::error::Result;
use crate::exec::unseen_workspace;
use crate::executor::cap_for;
use crate::guard::Guard;
use crate::run::Run;
use crate::session::{Earlier, RequestAuthor, Session, new_id};

/// A session that works on many requests with the same skills, settings and model. Made by
/// [`Session::prepare`].
pub struct PreparedSession {
    session: Session,
    shared: SharedParts,
}

/// What the runs of a session share.
pub(crate) struct SharedParts {
    scan: Arc<Scan>,
    index: Arc<Index>,
    guard: Guard,
    model: Arc<dyn Model>,
    key: Key,
    tools: Toolbox,
    by_project: Vec<String>,
    cataloger: Cataloger,
    /// What `paths` of skills are relative to.
    bases: Vec<PathBuf>,
    /// Those that a model may name by their source.
    shadowed: Vec<Arc<Entry>>,
    /// What is the same for all runs, once the first has made it.
    offers: OnceLock<Arc<[ToolCard]>>,
    setup: SharedSetup,
}

/// One request to a session.
#[derive(Clone, Copy)]
pub(crate) struct RunCall<'r> {
    pub(crate) request: &'r str,
    pub(crate) earlier: Earlier<'r>,
    pub(crate) skills: FirstSkills<'r>,
    /// Hears this run alone, besides the session's own observers.
    pub(crate) observer: Option<&'r dyn Observer>,
    pub(crate) cancel: &'r CancelToken,
}

impl Session {
    /// Prepares to work on many requests: skills, policy and model are what they are now. What would fail for
    /// every request fails here.
    ///
    /// ```
    /// use metier::agent::SilentObserver;
    /// use metier::{CancelToken, Metier};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let session = metier.session().model("router").dry_run().prepare()?;
    /// for request in ["summarise sales.csv by region", "what is the tallest mountain?"] {
    ///     let run = session.run(request, &SilentObserver, &CancelToken::new())?;
    ///     println!("{request}: {}", run.status().as_str());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(self) -> Result<PreparedSession> {
        let shared = self.prepare_runs()?;
        Ok(PreparedSession { session: self, shared })
    }

    pub(crate) fn prepare_runs(&self) -> Result<SharedParts> {
        let metier = self.metier();
        let tools = self.tools.toolbox()?;
        let (model, key) = self.open_model(None)?;
        let by_project = self.warn_about_project_settings(None)?;
        if metier.visible_workspace()?.is_none() {
            self.note(&Note::Warning(unseen_workspace(&metier.workspace())));
        }
        let scan = self.pinned.clone().unwrap_or_else(|| metier.refresh());
        let guard = metier.guard(&scan)?.with_rules(self.rules())?;
        let gate = guard.load_gate(&scan.index, Invoker::Model);
        let cataloger = Cataloger::new(&scan.index, &|entry| gate.denied(entry));
        let cataloger = cataloger.sharing(&metier.inner.ranking);
        let may_be_named = |entry: &&Arc<Entry>| {
            entry.enabled
                && !entry.skill.controls.disable_model_invocation
                && gate.denied(entry).is_none()
        };
        let shadowed = scan.index.shadowed().iter().filter(may_be_named).cloned().collect();
        Ok(SharedParts {
            index: Arc::new(scan.index.clone()),
            scan,
            guard,
            model,
            key,
            tools,
            by_project,
            cataloger,
            bases: metier.path_bases(),
            shadowed,
            offers: OnceLock::new(),
            setup: SharedSetup::default(),
        })
    }

    pub(crate) fn run_prepared(&self, shared: &SharedParts, call: &RunCall<'_>) -> Result<Run> {
        let metier = self.metier();
        let SharedParts { scan, guard, model, key, cataloger, .. } = shared;
        let folder = match &self.scratch {
            Some(scratch) => RunFolder::new(scratch, new_id()),
            None => metier.new_run(new_id())?,
        };
        let own_words = match self.author {
            RequestAuthor::Person | RequestAuthor::CaseFile => call.request,
            RequestAuthor::Unknown => {
                if !skills_called(call.request, scan).is_empty() {
                    self.note(&Note::Warning(
                        "a request from a pipe calls no skill by its name; name it with `--skill`"
                            .to_owned(),
                    ));
                }
                ""
            }
        };
        let own_words = RequestOrders::read(own_words);
        let chosen = chosen_skills(&own_words, call.skills, scan, guard)?;
        for note in not_calls(&own_words, scan) {
            self.note(&Note::Warning(note));
        }
        let (files, texts) = self.given(guard.load_gate(&scan.index, Invoker::User))?;
        let gate = guard.load_gate(&scan.index, Invoker::Model);
        let asked = CatalogRequest {
            format: metier.settings().catalog.format,
            budget: metier.catalog_budget(CatalogBudget::Configured),
            request: Some(call.request),
            files: &files,
            bases: &shared.bases,
            reader: CatalogReader::OwnLoop,
            ..CatalogRequest::default()
        };
        let contents = GatedContents::new(gate, metier.settings().body_limits);
        let catalog = cataloger.text(&asked, &contents);
        let shown = contents.shown(&catalog);
        let offered: Vec<&Arc<Entry>> = cataloger.offered(&asked).collect();
        let shadowed: Vec<&Entry> = shared.shadowed.iter().map(|entry| &**entry).collect();
        let offered_ids = Arc::clone(shared.setup.offer(&offered).ids());
        let named = self.named_by_person(call.request, call.earlier);
        let (index, guard) = (Arc::clone(&shared.index), guard.clone());
        let executor = metier.executor(index, guard, offered_ids, &folder, key, named);
        let listed = Arc::clone(&catalog.described);
        let info = metier.recorded_info(self.model_name(), model.info());
        let plan = self.plan_mode()?;
        let cap = cap_for(executor.cap, plan, info.window);
        let tools = shared.tools.clone();
        let executor = Arc::new(LocalExecutor { tools, listed, cap, ..executor });
        let offers = if let Some(offers) = shared.offers.get() {
            offers.clone()
        } else {
            let made = executor.offers()?.into();
            shared.offers.get_or_init(|| made).clone()
        };
        let mut setup = SetupBuilder {
            request: call.request,
            earlier: call.earlier.text,
            instructions: &self.instructions,
            files: &files,
            texts: &texts,
            index: &scan.index,
            catalog: &catalog,
            shown,
            offered: &offered,
            ranking: &|| cataloger.ranking_of_offered(&asked),
            shadowed: &shadowed,
            tools: offers,
            chosen,
            limits: self.limits(info.window),
            denied: self.rules().deny.clone(),
            plan,
            model: info,
            mode: self.mode,
            shared: &shared.setup,
        }
        .build();
        setup.names_no_files = self.author != RequestAuthor::Person;
        setup.model_by_project.clone_from(&shared.by_project);
        setup.budget_settings = self.budget_settings();
        setup.agent = metier.agent().map(|agent| agent.name.clone());
        let watch = RunWatch { observer: call.observer, cancel: call.cancel };
        self.drive(folder, &**model, &executor, watch, |agent, folder| {
            if self.scratch.is_some() {
                let mut recorder = Unrecorded::new(folder.id().clone());
                let first = recorder.first_event(&setup);
                return agent.run_with(&mut recorder, &first, Arc::new(setup));
            }
            keep_out_of_git(&metier.runs_folder());
            agent.run(folder, setup)
        })
    }
}

impl PreparedSession {
    /// Works on a request to its end, or to where it has to wait. `observer` hears this run alone; `cancel`
    /// ends it alone.
    pub fn run(&self, request: &str, observer: &dyn Observer, cancel: &CancelToken) -> Result<Run> {
        let skills = FirstSkills::Chosen(self.session.chosen());
        let earlier = Earlier::default();
        let call = RunCall { request, earlier, skills, observer: Some(observer), cancel };
        self.session.run_prepared(&self.shared, &call)
    }

    /// The model that decides.
    pub fn model(&self) -> ModelInfo {
        let SharedParts { model, .. } = &self.shared;
        self.session.metier().recorded_info(self.session.model_name(), model.info())
    }

    /// The skills that a model may select, whatever files it works on.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.shared.cataloger.visible()
    }
}

/// Who hears a run, besides the observers of its session, and what ends it.
#[derive(Clone, Copy)]
pub(crate) struct RunWatch<'r> {
    pub(crate) observer: Option<&'r dyn Observer>,
    pub(crate) cancel: &'r CancelToken,
}

/// Passes everything on to all observers.
pub(crate) struct Fanout<'a> {
    pub(crate) observers: &'a [Arc<dyn Observer + Send>],
    pub(crate) more: Option<&'a dyn Observer>,
}

impl Observer for Fanout<'_> {
    fn event(&self, depth: u32, record: &Record) {
        for observer in self.observers {
            observer.event(depth, record);
        }
        if let Some(more) = self.more {
            more.event(depth, record);
        }
    }

    fn hears_notes(&self) -> bool {
        let mut all = self.observers.iter().map(|observer| &**observer as &dyn Observer);
        all.any(Observer::hears_notes) || self.more.is_some_and(Observer::hears_notes)
    }

    fn note(&self, depth: u32, note: &Note) {
        for observer in self.observers {
            observer.note(depth, note);
        }
        if let Some(more) = self.more {
            more.note(depth, note);
        }
    }
}
