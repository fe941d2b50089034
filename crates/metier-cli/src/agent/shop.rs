//! The hands of a run: what was found, what may be done with it, and the machine to do it on.
//! The loop itself is `metier-agent`'s; here is only what it is given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_agent::workshop::{LiveOutput, MachineMaker, Made};
use metier_agent::{RunFolder, RunLimits, Workshop};
use metier_loader::ResourceLimits;
use metier_policy::{Effect, Layer, Permission, PlacedRule, Rule, RuleSource};
use metier_registry::Scan;
use metier_sandbox::{Probe, SearchPath, Secrets, Tier};
use metier_skill::text::{for_model, label};
use metier_tools::script::sweep;
use metier_tools::{FailureCode, Kept, Machine, ToolFailure, shown_workspace};

use crate::commands::exec::{is_secret, search_path};
use crate::context::{Context, FindArgs, own_binary, promised_variable};
use crate::error::{CommandError, Result};
use crate::guard::{Guard, unusable};
use crate::output::remark;
use crate::render::safe;

/// Rules for one run, as they were typed: `PERMISSION` or `PERMISSION:PATTERN`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunRules<'a> {
    pub(crate) allow: &'a [String],
    pub(crate) deny: &'a [String],
}

/// The guard with the rules of this run. What the user allows on the command line is the user's word,
/// like a rule of the user's file; what is denied there holds against every other rule.
pub(crate) fn guarded(
    context: &Context,
    find: &FindArgs,
    scan: &Scan,
    rules: RunRules<'_>,
) -> Result<Guard> {
    let mut guard = context.guard(find, scan)?;
    let layers = [
        (RuleSource::User, "--allow", rules.allow, Effect::Allow),
        (RuleSource::Run, "--deny", rules.deny, Effect::Deny),
    ];
    for (source, origin, texts, effect) in layers {
        if texts.is_empty() {
            continue;
        }
        for text in texts {
            is_known(origin, text)?;
        }
        let placed = texts.iter().map(|text| {
            let (permission, pattern) = text.split_once(':').unwrap_or((text, "*"));
            let (permission, pattern) = (permission.to_owned(), pattern.to_owned());
            PlacedRule { rule: Rule { permission, pattern, effect }, line: None }
        });
        let layer = Layer::new(source, origin, placed).map_err(|error| {
            let told = unusable(&error);
            CommandError { exit: crate::error::Exit::Usage, ..told }
        })?;
        guard.policy = guard.policy.with_layer(layer);
    }
    guard.hosts = rules.allow.iter().filter_map(|text| host(text)).map(str::to_owned).collect();
    Ok(guard)
}

/// A rule about a tool that is not there would change nothing, and nobody would know.
fn is_known(flag: &str, text: &str) -> Result<()> {
    let (name, _) = text.split_once(':').unwrap_or((text, "*"));
    let is_pattern = name.contains(['*', '?']);
    if is_pattern || !matches!(Permission::named(name), Ok(Permission::Other(_))) {
        return Ok(());
    }
    Err(CommandError::usage(format!("{flag} names no tool of ours: `{}`", safe(name))).help(
        "write load_skill, read_file, list_dir, grep, run_script, run_command, write_file, \
         delete_file, network_request or script_network, and maybe `:PATTERN` behind it",
    ))
}

/// The host that a rule is about.
fn host(text: &str) -> Option<&str> {
    let (permission, pattern) = text.split_once(':')?;
    let is_network = matches!(Permission::named(permission), Ok(Permission::NetworkRequest));
    is_network.then_some(pattern)
}

/// The hands for a run that is recorded in `folder`.
pub(crate) fn workshop(
    context: &Context,
    scan: Scan,
    guard: Guard,
    offered: Vec<String>,
    folder: &RunFolder,
) -> Result<Arc<Workshop>> {
    let user = context.user_folders()?;
    let settings = &context.settings;
    let hosts = settings.network_hosts().map(str::to_owned).chain(guard.hosts);
    let variables: BTreeMap<String, String> = settings
        .execution
        .env
        .iter()
        .filter_map(|name| Some((name.clone(), promised_variable(name)?)))
        .collect();
    let passed = variables.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value);
    let secrets = Arc::new(Secrets::new(passed));
    Ok(Arc::new(Workshop {
        index: Arc::new(scan.index),
        offered,
        pinned: BTreeMap::new(),
        policy: Arc::new(guard.policy),
        trusted: guard.trusted,
        answers: Mutex::new(guard.answers),
        always: settings.execution.always,
        kept: Some(Kept::in_state(&user.state)),
        workspace: context.workspace(),
        working_dir: context.working_dir.clone(),
        hosts: hosts.collect(),
        body_limits: settings.body_limits,
        resource_limits: ResourceLimits::default(),
        cap: settings.execution.output_cap,
        observations: folder.observations(),
        trash: folder.path().join("trash"),
        machine: machine_maker(context, variables, Arc::clone(&secrets))?,
        secrets,
        made: Made::default(),
    }))
}

/// Makes the machine that scripts run on. Trying the sandbox takes a moment, so it is done when the
/// first script comes.
fn machine_maker(
    context: &Context,
    variables: BTreeMap<String, String>,
    secrets: Arc<Secrets>,
) -> Result<MachineMaker> {
    let user = context.user_folders()?;
    let (state, cache, home) = (user.state.clone(), user.cache.clone(), user.home.clone());
    let settings = &context.settings.execution;
    let parts = Parts {
        helper: own_binary()?,
        least: settings.min_tier,
        search: search_path(context),
        workspace: shown_workspace(&context.workspace(), Some(&home), &[&state, &cache]),
        state,
        variables,
        secrets,
        timeout: settings.timeout,
    };
    Ok(Box::new(move |output| parts.machine(output)))
}

struct Parts {
    helper: PathBuf,
    least: Tier,
    search: SearchPath,
    workspace: Option<PathBuf>,
    state: PathBuf,
    variables: BTreeMap<String, String>,
    secrets: Arc<Secrets>,
    timeout: Duration,
}

impl Parts {
    fn machine(&self, output: LiveOutput) -> std::result::Result<Machine, ToolFailure> {
        let refused = |error: &metier_sandbox::Error| {
            let told = format!("{error} [{}]", error.code());
            ToolFailure::new(FailureCode::NotAllowed, told).with_help(error.hint())
        };
        let runs = self.state.join("exec");
        sweep(&runs);
        let probe = Probe::run(&self.helper, &runs).map_err(|error| refused(&error))?;
        let tier = probe.tier_for(self.least).map_err(|error| refused(&error))?;
        Ok(Machine {
            helper: self.helper.clone(),
            tier,
            search: self.search.clone(),
            runs,
            data: self.state.join("data"),
            workspace: self.workspace.clone(),
            variables: self.variables.clone(),
            secrets: Arc::clone(&self.secrets),
            timeout: self.timeout,
            count: AtomicU64::new(0),
            output: Some(output),
        })
    }
}

/// Says that a flag asks for more turns than the settings let a run have.
pub(crate) fn tell_turns(context: &Context, max_turns: Option<u32>) {
    let most = context.settings.run_limits.turns;
    if let Some(asked) = max_turns.filter(|asked| *asked > most) {
        remark(&format!("`--max-turns {asked}` is more than `budgets.turns` allows: {most} turns"));
    }
}

/// What a run may spend: the settings, and fewer turns where a flag says so.
pub(crate) fn limits(context: &Context, max_turns: Option<u32>, window: Option<u32>) -> RunLimits {
    let usual = context.settings.run_limits;
    RunLimits {
        turns: max_turns.map_or(usual.turns, |turns| turns.min(usual.turns)).max(1),
        // A quarter is left for the reply and for what an estimate misses.
        prompt_tokens: window.map_or(usual.prompt_tokens, |window| u64::from(window) * 3 / 4),
        ..usual
    }
}

/// A file that the user gave: by its path in the workspace, or, where it lies elsewhere, as a text
/// that stands in the request.
pub(crate) enum Given {
    /// Below the workspace, by its path there.
    Path(String),
    /// Elsewhere: a part of its text.
    Text(String),
}

/// Characters of a given file that stand in a request.
const GIVEN_CHARS: usize = 12_000;

/// Looks at a file that the user gave.
pub(crate) fn given(context: &Context, file: &Path) -> Result<Given> {
    let shown = safe(&file.to_string_lossy()).into_owned();
    let path = context.working_dir.join(file);
    let real = metier_fs::canonical(&path).map_err(|error| {
        CommandError::usage(format!("{shown} cannot be given: {error}"))
            .help("name a file that is there")
    })?;
    let workspace =
        metier_fs::canonical(&context.workspace()).unwrap_or_else(|_| context.workspace());
    if let Some(below) = real.strip_prefix(&workspace).ok().and_then(Path::to_str) {
        return Ok(Given::Path(below.to_owned()));
    }
    let bytes = metier_fs::read_bounded(&real, 4 << 20)
        .map_err(|error| CommandError::failed("file-unreadable", format!("{shown}: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandError::failed("file-not-text", format!("{shown} is not text")))?;
    let text = for_model(&text);
    let part: String = text.chars().take(GIVEN_CHARS).collect();
    let cut = if text.chars().nth(GIVEN_CHARS).is_some() { ", its beginning" } else { "" };
    Ok(Given::Text(metier_loader::fenced(
        &format!("File {}{cut}", label(&file.to_string_lossy(), 1024)),
        &part,
    )))
}
