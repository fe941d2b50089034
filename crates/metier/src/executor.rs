//! The executor of a run: what was found, what may be done with it, and the machine to do it on.
//!
//! What a script sees is decided here, for every front end: the workspace only where showing it opens
//! nothing that no rule opens, variables that the user named, programs of the user's `PATH` that did
//! not come with the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use metier_agent::local_executor::{LazyParts, LiveOutput, ScriptHostMaker};
use metier_agent::{LocalExecutor, RunFolder};
use metier_loader::ResourceLimits;
use metier_model::{Key, PlanMode};
use metier_registry::Index;
use metier_sandbox::{SandboxProbe, SearchPath, Secrets, Tier, held_tier};
use metier_skill::SkillId;
use metier_tools::script::sweep;
use metier_tools::{
    FailureCode, OutputCap, PolicyStore, ScriptHost, ToolFailure, Toolbox, script_workspace,
};

use crate::error::Result;
use crate::guard::Guard;
use crate::init::helper;
use crate::key::keys_of_environment;
use crate::open::Metier;

impl Metier {
    /// The executor for a run that is recorded in `folder`.
    pub(crate) fn executor(
        &self,
        index: Arc<Index>,
        guard: Guard,
        offered: Arc<[SkillId]>,
        folder: &RunFolder,
        key: &Key,
        request: String,
    ) -> LocalExecutor {
        let settings = self.settings();
        let (variables, secrets) = self.script_variables(key);
        let hosts = self.configured_hosts().into_iter().chain(guard.hosts);
        LocalExecutor {
            index,
            offered,
            listed: Arc::default(),
            pinned: BTreeMap::new(),
            policy: guard.policy,
            trusted: guard.trusted,
            answers: Mutex::new(guard.answers),
            always: settings.execution.always,
            policy_store: self.user_folders().map(|user| PolicyStore::in_state(&user.state)),
            workspace: self.workspace(),
            working_dir: self.base_dir().to_owned(),
            home: self.home().map(ToOwned::to_owned),
            request,
            hosts: hosts.collect(),
            body_limits: settings.body_limits,
            resource_limits: ResourceLimits::default(),
            cap: settings.execution.output_cap,
            observations: folder.observations(),
            trash: folder.trash(),
            host: self.script_host_maker(
                variables,
                Arc::clone(&secrets),
                folder.observations().path().to_owned(),
            ),
            secrets,
            tools: Toolbox::default(),
            made: LazyParts::default(),
        }
    }

    /// Variables that scripts may see, and the values that are never shown: those among them that are
    /// not plainly harmless, and the keys of models.
    fn script_variables(&self, key: &Key) -> (BTreeMap<String, String>, Arc<Secrets>) {
        let named = self.settings().execution.env.iter();
        let variables: BTreeMap<String, String> =
            named.filter_map(|name| Some((name.clone(), self.environment().text(name)?))).collect();
        let passed = variables.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value);
        let keys = keys_of_environment(&self.settings().model, self.environment());
        let keys = keys.iter().chain([key]).filter_map(Key::to_mask);
        let secrets = Arc::new(Secrets::new(passed.map(String::as_str).chain(keys)));
        (variables, secrets)
    }

    /// Where interpreters and programs are looked for. What stands in the workspace came with a clone
    /// and is not trusted as one, unless the workspace holds the home directory or is `/`: everything
    /// would be untrusted there.
    pub fn search_path(&self) -> SearchPath {
        let home = self.home().map(ToOwned::to_owned);
        let holds_all = |place: &PathBuf| {
            place.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(place))
        };
        // Work elsewhere does not make the programs of the project trusted.
        let project = self.repository().unwrap_or_else(|| self.working_dir().to_owned());
        let mut untrusted = vec![self.workspace(), project];
        untrusted.dedup();
        untrusted.retain(|place| !holds_all(place));
        SearchPath { dirs: self.environment().paths("PATH"), home, untrusted }
    }

    /// The workspace as scripts see it; nothing where showing it would open what no rule opens.
    pub fn visible_workspace(&self) -> Result<Option<PathBuf>> {
        let state = self.state_dir()?;
        Ok(script_workspace(&self.workspace(), self.home(), &[state.as_path()]))
    }

    /// Our own folders, of which no script sees anything.
    fn own_folders(&self) -> Result<Vec<PathBuf>> {
        let agent = self.user_folders().map(|user| user.agent.clone());
        Ok(agent.into_iter().chain([self.state_dir()?]).collect())
    }

    /// What holds scripts on this machine.
    pub fn probe_sandbox(&self) -> Result<SandboxProbe> {
        let helper = helper(self.inner.helper.as_ref())?;
        Ok(SandboxProbe::run(&helper, &self.state_dir()?.join("exec"))?)
    }

    /// Makes the host that scripts run on. Trying the sandbox takes a moment, so it is done when
    /// the first script comes.
    fn script_host_maker(
        &self,
        variables: BTreeMap<String, String>,
        secrets: Arc<Secrets>,
        outputs: PathBuf,
    ) -> ScriptHostMaker {
        let metier = self.clone();
        Box::new(move |output| {
            let host =
                metier.script_host(variables.clone(), Arc::clone(&secrets), &outputs, output);
            host.map_err(|error| {
                let failure = ToolFailure::new(
                    FailureCode::NotAllowed,
                    format!("{} [{}]", error.message, error.code),
                );
                failure.with_help(error.help.unwrap_or_default())
            })
        })
    }

    fn script_host(
        &self,
        variables: BTreeMap<String, String>,
        secrets: Arc<Secrets>,
        outputs: &Path,
        output: LiveOutput,
    ) -> Result<ScriptHost> {
        let helper = helper(self.inner.helper.as_ref())?;
        let state = self.state_dir()?;
        let runs = state.join("exec");
        sweep(&runs);
        let tier = held_tier(&helper, &runs, self.min_tier())?;
        Ok(ScriptHost {
            helper,
            tier,
            search: self.search_path(),
            runs,
            data: state.join("data"),
            workspace: self.visible_workspace()?,
            own: self.own_folders()?,
            outputs: Some(outputs.to_owned()),
            variables,
            secrets,
            cap: self.settings().execution.output_cap,
            timeout: self.settings().execution.timeout,
            output: Some(output),
        })
    }

    /// The weakest sandbox that a script may run in here.
    pub fn min_tier(&self) -> Tier {
        self.settings().execution.min_tier
    }
}

/// The window that a model on this machine is taken to have, where none is configured.
const LOCAL_WINDOW: u32 = 16_384;

/// How much of a result a model is shown: about an eighth of its window, at three characters a token, and no
/// more than the settings say. One long output would leave a small model no room for its work.
pub(crate) fn cap_for(cap: OutputCap, plan: PlanMode, window: Option<u32>) -> OutputCap {
    let window = window.or((plan == PlanMode::Off).then_some(LOCAL_WINDOW));
    let chars = window.map_or(usize::MAX, |tokens| tokens as usize / 8 * 3);
    OutputCap { chars: cap.chars.min(chars) }
}

/// Whether a variable's value is masked: every one that is passed to scripts, unless its name says
/// that it is harmless.
fn is_secret(name: &str) -> bool {
    const PLAIN: &[&str] = &["LANG", "LANGUAGE", "TZ", "TERM", "CI", "DEBUG", "NO_COLOR", "EDITOR"];
    const ENDS: &[&str] = &["_NAME", "_DIR", "_PATH", "_HOME", "_MODE", "_LEVEL", "_REGION"];
    let name = name.to_ascii_uppercase();
    let plain = PLAIN.contains(&name.as_str())
        || name.starts_with("LC_")
        || ENDS.iter().any(|end| name.ends_with(end));
    !plain
}
