//! A session: what the runs of one command share, and one run of it.
//! `run`, `chat` and `resume` go through here, so that all of them decide alike.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use metier_agent::brief::Brief;
use metier_agent::{
    Agent, AgentError, Asking, Chosen, Mode, RunFolder, RunId, Setup, State, Workshop,
};
use metier_loader::Invocation;
use metier_model::Model;
use metier_policy::{Asks, Invoker};
use metier_registry::Scan;
use metier_registry::catalog::{CatalogRequest, Cataloger};
use metier_registry::roots::repository_top;
use metier_skill::Digest;
use metier_tools::SkillShelf;

use super::HowArgs;
use crate::agent::approver::{Answers, Who};
use crate::agent::model::{called, model};
use crate::agent::own_runs::OwnRuns;
use crate::agent::shop::{Given, RunRules, given, guarded, limits, workshop};
use crate::agent::signal::Interrupt;
use crate::agent::terminal::Terminal;
use crate::agent::typed::Typed;
use crate::agent::watch::{JsonLines, Lines, Watcher};
use crate::commands::content::{enabled, find};
use crate::commands::exec::quoted;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::guard::Guard;
use crate::output::remark;
use crate::render::safe;

/// What the runs of one command share.
pub(crate) struct Session<'a> {
    context: &'a Context,
    how: &'a HowArgs,
    find: &'a FindArgs,
    model: Arc<dyn Model>,
    watcher: Box<dyn Watcher>,
    pub(crate) interrupt: Interrupt,
    pub(crate) typed: Typed,
    open: Mutex<Option<Digest>>,
    json: bool,
}

/// One request.
pub(crate) struct Wanted<'w> {
    pub(crate) request: &'w str,
    /// What was said before in this session.
    pub(crate) earlier: &'w str,
    /// Skills that are loaded before the first turn.
    pub(crate) skills: &'w [String],
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        context: &'a Context,
        how: &'a HowArgs,
        find: &'a FindArgs,
        json: bool,
    ) -> Result<Self> {
        let model = model(context, how.model.as_deref())?;
        let watcher: Box<dyn Watcher> =
            if json { Box::new(JsonLines::default()) } else { Box::new(Lines::new()) };
        let interrupt = Interrupt::listen();
        let (typed, open) = (Typed::default(), Mutex::default());
        Ok(Self { context, how, find, model, watcher, interrupt, typed, open, json })
    }

    pub(crate) fn watcher(&self) -> &dyn Watcher {
        &*self.watcher
    }

    /// The digest of the request that somebody has to answer.
    pub(crate) fn open_question(&self) -> Option<Digest> {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flags that going on with a run of this session needs again.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut words = self.find.words();
        let rules = [("--allow", &self.how.allow), ("--deny", &self.how.deny)];
        for (flag, texts) in rules {
            words.extend(texts.iter().map(|text| format!("{flag} {}", quoted(text))));
        }
        words
    }

    /// Runs one request to its end, or to where it has to wait.
    pub(crate) fn run(&self, wanted: &Wanted<'_>) -> Result<(RunFolder, State)> {
        let scan = self.context.scan(self.find);
        let rules = RunRules { allow: &self.how.allow, deny: &self.how.deny };
        let guard = guarded(self.context, self.find, &scan, rules)?;
        let folder = RunFolder::new(&self.context.runs_folder(), new_id());
        let chosen = chosen(wanted, &scan, &guard)?;
        let (files, texts) = self.given()?;
        let cataloger = {
            let gate = guard.load_gate(&scan.index, Invoker::Model);
            Cataloger::new(&scan.index, &|entry| gate.denied(entry))
        };
        let bases = bases(self.context);
        let catalog = CatalogRequest {
            format: self.context.settings.catalog.format,
            budget: Some(self.context.settings.catalog.budget_tokens),
            bases: &bases,
            ..CatalogRequest::default()
        };
        let asked = CatalogRequest { request: Some(wanted.request), files: &files, ..catalog };
        let offered: Vec<String> =
            cataloger.offered(&asked).map(|entry| entry.id().to_string()).collect();
        let index = scan.index.clone();
        let shop = workshop(self.context, scan, guard, offered, &folder)?;
        let info = called(self.context, self.how.model.as_deref(), self.model.info());
        let tools = shop.offers().map_err(|failure| {
            CommandError::failed(failure.code.as_str(), safe(&failure.message).into_owned())
                .help(safe(&failure.help).into_owned())
        })?;
        let setup = Brief {
            request: wanted.request,
            earlier: wanted.earlier,
            files: &files,
            texts: &texts,
            index: &index,
            cataloger: &cataloger,
            catalog,
            shelf: &SkillShelf::new(&index),
            tools,
            chosen,
            limits: limits(self.context, self.how.max_turns, info.window),
            denied: self.how.deny.clone(),
            model: info,
            mode: if self.how.dry_run { Mode::DryRun } else { Mode::Real },
        }
        .setup();
        self.go(&folder, &shop, |agent, folder| agent.run(folder, setup), None)
            .map(|state| (folder, state))
    }

    /// Goes on with a run.
    pub(crate) fn resume(&self, folder: &RunFolder, approve: Option<Digest>) -> Result<State> {
        OwnRuns::of(self.context).must_know(folder)?;
        let setup = folder.setup().map_err(|error| told(&error))?;
        let scan = self.context.scan(self.find);
        if scan.index.hash() != setup.index_hash {
            remark("the skills have changed since the run began; it keeps to those that have not");
        }
        // What was denied when it began stays denied.
        let deny: Vec<String> = setup.denied.iter().chain(&self.how.deny).cloned().collect();
        let rules = RunRules { allow: &self.how.allow, deny: &deny };
        let guard = guarded(self.context, self.find, &scan, rules)?;
        let gate = guard.load_gate(&scan.index, Invoker::Model);
        let is_denied = |id: &str| scan.index.find(id).is_none_or(|it| gate.denied(it).is_some());
        let offered = setup.skills.iter().filter(|card| card.offered && !is_denied(&card.id));
        let offered = offered.map(|card| card.id.clone()).collect();
        let shop = workshop(self.context, scan, guard, offered, folder)?;
        let shop = pinned(shop, &setup);
        let go_on = |agent: &Agent<'_>, folder: &RunFolder| agent.resume(folder);
        self.go(folder, &shop, go_on, approve)
    }

    fn go(
        &self,
        folder: &RunFolder,
        shop: &Arc<Workshop>,
        run: impl FnOnce(&Agent<'_>, &RunFolder) -> std::result::Result<State, AgentError>,
        approve: Option<Digest>,
    ) -> Result<State> {
        let (who, asking) = (self.how.who(self.json), Asking::default());
        let answers = Answers {
            who,
            approve: Mutex::new(approve),
            pending: self.context.pending_folder(),
            asking: &asking,
            open: &self.open,
        };
        let own = OwnRuns::of(self.context);
        own.note_name(folder)?;
        let cancel = self.interrupt.token();
        let agent = Agent {
            model: &*self.model,
            hands: shop,
            approver: &answers,
            observer: &AsObserver { watcher: &*self.watcher, own: &own },
            cancel: &cancel,
        };
        let terminal = Terminal {
            asks: &asking.asks,
            workspace: &self.context.workspace(),
            watcher: &*self.watcher,
            typed: &self.typed,
        };
        std::thread::scope(|scope| {
            let _closes = Closes(&asking.asks);
            if who == Who::Person {
                let listener = asking.asks.subscribe();
                scope.spawn(move || terminal.serve(&listener));
            }
            run(&agent, folder).map_err(|error| told(&error))
        })
    }

    /// The files that were given: paths in the workspace, and texts of those that lie elsewhere.
    fn given(&self) -> Result<(Vec<String>, String)> {
        let (mut paths, mut texts) = (Vec::new(), String::new());
        for file in &self.how.files {
            match given(self.context, file)? {
                Given::Path(path) => paths.push(path),
                Given::Text(text) => texts.push_str(&text),
            }
        }
        Ok((paths, texts))
    }
}

/// Closes the list of questions, however the run ends, so that nobody waits for more.
struct Closes<'a>(&'a Asks);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A watcher as the loop knows it. On the way it is noted that the run is ours.
struct AsObserver<'w> {
    watcher: &'w dyn Watcher,
    own: &'w OwnRuns,
}

impl metier_agent::Observer for AsObserver<'_> {
    fn event(&self, depth: u32, record: &metier_agent::Record) {
        if depth == 0 {
            self.own.note_first(record);
        }
        self.watcher.event(depth, record);
    }

    fn note(&self, depth: u32, note: &metier_agent::Note) {
        self.watcher.note(depth, note);
    }
}

/// A resumed run keeps to the skills that it began with.
fn pinned(shop: Arc<Workshop>, setup: &Setup) -> Arc<Workshop> {
    let digests = setup.skills.iter().map(|card| (card.id.clone(), card.digest)).collect();
    match Arc::try_unwrap(shop) {
        Ok(own) => Arc::new(Workshop { pinned: digests, ..own }),
        Err(shared) => shared,
    }
}

/// The skills that the user chose: by `--skill`, and by `/name arguments`.
fn chosen(wanted: &Wanted<'_>, scan: &Scan, guard: &Guard) -> Result<Vec<Chosen>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for name in wanted.skills {
        let id = enabled(find(name, scan)?)?.id().to_string();
        if chosen.iter().all(|known| known.id != id) {
            chosen.push(Chosen { id, arguments: None });
        }
    }
    let called = Invocation::parse(wanted.request);
    // `/etc/hosts is broken` is no call of a skill.
    if let Some((call, entry)) = called.and_then(|call| Some((call, scan.index.find(call.name)?))) {
        let entry = enabled(entry)?;
        if !entry.skill.controls.user_invocable {
            let message = format!("{} is not called by people", entry.id());
            return Err(CommandError::failed("NotAllowed", safe(&message).into_owned())
                .help("it says `user-invocable: false`; ask for what it does instead"));
        }
        let (id, arguments) = (entry.id().to_string(), Some(call.arguments.to_owned()));
        chosen.retain(|known| known.id != id);
        chosen.push(Chosen { id, arguments });
    }
    let gate = guard.load_gate(&scan.index, Invoker::User);
    for Chosen { id, .. } in &chosen {
        if let Some(reason) = scan.index.find(id).and_then(|entry| gate.denied(entry)) {
            let message = format!("{id} may not be loaded: {reason}");
            let mut denied = CommandError::failed("denied", safe(&message).into_owned())
                .help("`metier explain load_skill NAME` names the rule and its file");
            denied.exit = Exit::Denied;
            return Err(denied);
        }
    }
    Ok(chosen)
}

/// `paths` of skills are relative to where one works and to the repository's top.
fn bases(context: &Context) -> Vec<PathBuf> {
    let home = context.user.as_ref().map(|user| user.home.as_path());
    let top = repository_top(&context.working_dir, home);
    std::iter::once(context.working_dir.clone()).chain(top).collect()
}

fn new_id() -> RunId {
    let now = SystemTime::now();
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let process = std::process::id();
    let salt = Digest::of_parts([nanos.to_le_bytes().as_slice(), &process.to_le_bytes()]);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&salt.as_bytes()[..8]);
    RunId::at(now, u64::from_le_bytes(bytes))
}

/// A refusal of the loop, for people.
pub(crate) fn told(error: &AgentError) -> CommandError {
    CommandError::failed(error.code(), safe(&error.to_string()).into_owned()).help(error.help())
}
