//! Running one script of a skill: from an allowed request to a report.
//!
//! The caller has asked the policy. What runs is what was decided about: the skill is copied, the
//! copy is compared with the content that the decision named, and only then does anything start.
//! What a script may see and use is in `metier-sandbox`.

mod sweep;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_fs::{
    SkillRoot, TreeLimits, canonical, content_of, create_private_dir, is_dir, list_files,
    move_whole, remove_tree, write_atomic,
};
use metier_registry::Entry;
use metier_sandbox::{
    Interpreter, Limits, Located, Network, Places, Report, RunEvent, RunOptions, RunPlan, Runner,
    SearchPath, Secrets, Stage, StageLimits, Tier, environment,
};
use metier_skill::{Digest, RelPath};
use thiserror::Error;

use crate::hidden::sight;
use crate::machine::is_long;

pub use self::sweep::{KEPT_FOR, sweep};

/// The variable that tells a script where the user works.
pub const WORKSPACE_VARIABLE: &str = "WORKSPACE_DIR";

/// One script and its arguments.
#[derive(Debug, Clone, Copy)]
pub struct ScriptCall<'a> {
    /// The skill.
    pub entry: &'a Entry,
    /// The content of the skill that was decided about.
    pub content: Digest,
    /// The script's path in the skill.
    pub script: &'a RelPath,
    /// Its arguments. No shell looks at them.
    pub args: &'a [String],
}

/// The machine that it runs on.
#[derive(Debug)]
pub struct Host<'a> {
    /// A binary that is a helper of the sandbox, and the tier it holds.
    pub helper: &'a Path,
    /// How firmly the script is held.
    pub tier: Tier,
    /// Where interpreters are.
    pub search: SearchPath,
    /// The folder of this run: made, and must not exist.
    pub run_dir: &'a Path,
    /// Where the skill keeps data between runs.
    pub data_dir: &'a Path,
    /// Where the user works; readable for the script.
    pub workspace: Option<&'a Path>,
    /// Variables that the script may see, with their values.
    pub variables: BTreeMap<String, String>,
    /// Values that are never shown.
    pub secrets: Arc<Secrets>,
    /// Time on the clock.
    pub timeout: Duration,
    /// Whether the policy lets it reach the network.
    pub network: Network,
    /// Ends the run from elsewhere.
    pub cancel: CancelToken,
}

/// What came of it.
#[derive(Debug)]
pub struct ScriptOutcome {
    /// How it ended.
    pub report: Report,
    /// Files that it left in its `outputs` folder, below the run's folder.
    pub outputs: Vec<PathBuf>,
    /// Where the whole output and the files are; nothing when there was nothing to keep.
    pub kept: Option<PathBuf>,
    /// Files of the skill that the script does not see, with the reason.
    pub left_out: Vec<String>,
    /// What may help, where it failed for a reason that we know of.
    pub hint: Option<&'static str>,
}

/// Why a script whose packages are installed as it starts may fail.
const NO_NETWORK: &str = "the packages of the script come from the network, which is closed to \
                          scripts; a rule of the user that allows `script_network` opens it";

/// Why a script was not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The skill is not what was decided about any more.
    #[error("the skill changed after it was approved")]
    Changed,
    /// A file of the skill or a folder of the run could not be read or made.
    #[error("{0}")]
    Files(String),
    /// The sandbox refused, or failed before anything ran.
    #[error(transparent)]
    Sandbox(#[from] metier_sandbox::Error),
}

impl ScriptError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Changed => "skill-changed",
            Self::Files(_) => "IoError",
            Self::Sandbox(error) => error.code(),
        }
    }

    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Changed => "look at what changed, then run it again".to_owned(),
            Self::Files(_) => "list the skill's files and name one of them exactly".to_owned(),
            Self::Sandbox(error) => error.hint(),
        }
    }
}

/// An argument as the script gets it: the name of an existing file stands for that file.
pub fn as_path(word: &str, working_dir: &Path) -> String {
    let is_relative = Path::new(word).is_relative() && !word.is_empty() && !word.starts_with('-');
    if !is_relative || !metier_fs::exists(&working_dir.join(word)) {
        return word.to_owned();
    }
    let path = canonical(&working_dir.join(word));
    path.ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| word.to_owned())
}

/// Runs a script to its end; events tell what it prints.
pub fn run_script(
    call: &ScriptCall<'_>,
    host: &Host<'_>,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<ScriptOutcome, ScriptError> {
    let files =
        |what: &str, error: &dyn std::fmt::Display| ScriptError::Files(format!("{what}: {error}"));
    if metier_fs::exists(host.run_dir) {
        return Err(files("the folder of the run", &"it exists already"));
    }
    create_private_dir(host.run_dir).map_err(|error| files("the folder of the run", &error))?;
    create_private_dir(host.data_dir).map_err(|error| files("the folder for data", &error))?;
    let run_dir =
        canonical(host.run_dir).map_err(|error| files("the folder of the run", &error))?;
    let outcome = staged(call, host, &run_dir, events);
    if outcome.as_ref().map_or(true, |outcome| outcome.kept.is_none()) {
        // Nobody will look for it.
        let _ = remove_tree(&run_dir);
    } else {
        for folder in ["stage", "builtin"] {
            let _ = remove_tree(&run_dir.join(folder));
        }
    }
    outcome
}

fn staged(
    call: &ScriptCall<'_>,
    host: &Host<'_>,
    run_dir: &Path,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<ScriptOutcome, ScriptError> {
    let root = skill_root(call.entry, run_dir)?;
    let stage = Stage::prepare(&root, &run_dir.join("stage"), StageLimits::default())?;
    // The copy itself is what was decided about, whatever happens to the folder it came from.
    if content_of(stage.digests()) != call.content {
        return Err(ScriptError::Changed);
    }
    if stage.digest_of(call.script).is_none() {
        return Err(ScriptError::Files(format!("{}: no such script in the skill", call.script)));
    }
    let script = stage.skill_dir.join(call.script.as_str());
    let plan = plan(call, host, &stage, &script)?;
    let streams = ["stdout", "stderr"].map(|name| run_dir.join(name));
    let options = RunOptions {
        secrets: Arc::clone(&host.secrets),
        stdout_file: Some(streams[0].clone()),
        stderr_file: Some(streams[1].clone()),
        cancel: host.cancel.clone(),
    };
    let report = Runner::new(host.helper, host.tier).run(&plan, &options, events)?;
    // Out of the folder that goes with the run: what else the script wrote is not kept.
    let kept = run_dir.join("outputs");
    let _ = move_whole(&stage.outputs, &kept);
    let (found, _) = list_files(&kept, TreeLimits::default()).unwrap_or_default();
    // A link in there would be followed with the rights of whoever opens it.
    let regular = found.into_iter().filter(|file| !file.link && !file.special);
    let outputs: Vec<PathBuf> = regular.map(|file| kept.join(file.path)).collect();
    let worth_keeping = !outputs.is_empty() || is_long(&report);
    let installs = plan.program.file_stem().is_some_and(|name| name == "uv");
    let is_closed = plan.network == Network::Closed;
    let hint = (installs && is_closed && !report.succeeded()).then_some(NO_NETWORK);
    let told = stage.left_out.iter().map(|(path, reason)| format!("{path}: {reason}"));
    let left_out = told.collect();
    let kept = worth_keeping.then(|| run_dir.to_owned());
    Ok(ScriptOutcome { report, outputs, kept, left_out, hint })
}

/// The skill's folder; a compiled-in skill is written out first.
fn skill_root(entry: &Entry, run_dir: &Path) -> Result<SkillRoot, ScriptError> {
    let unreadable =
        |error: &dyn std::fmt::Display| ScriptError::Files(format!("the skill's folder: {error}"));
    let Some(files) = &entry.memory else {
        return SkillRoot::open(&entry.path).map_err(|error| unreadable(&error));
    };
    let written = run_dir.join("builtin");
    for (path, bytes) in files.iter() {
        write_atomic(&written.join(path), bytes).map_err(|error| unreadable(&error))?;
    }
    SkillRoot::open(&written).map_err(|error| unreadable(&error))
}

fn plan(
    call: &ScriptCall<'_>,
    host: &Host<'_>,
    stage: &Stage,
    script: &Path,
) -> Result<RunPlan, ScriptError> {
    let read =
        |error: &dyn std::fmt::Display| ScriptError::Files(format!("{}: {error}", call.script));
    let text = metier_fs::read_bounded(script, 16 << 20).map_err(|error| read(&error))?;
    let located = Located::find(&Interpreter::of(call.script.as_str(), &text)?, &host.search)?;
    let data_dir = canonical(host.data_dir).map_err(|error| read(&error))?;
    let places = Places {
        skill_dir: &stage.skill_dir,
        data_dir: &data_dir,
        work_dir: &stage.work_dir,
        interpreter_dir: located.dir(),
    };
    let mut variables = host.variables.clone();
    let workspace =
        host.workspace.and_then(|path| canonical(path).ok()).filter(|path| is_dir(path));
    let (workspace, hidden) = sight(workspace, host.search.home.as_deref());
    if let Some(workspace) = &workspace {
        variables.insert(WORKSPACE_VARIABLE.to_owned(), workspace.to_string_lossy().into_owned());
    }
    let mut plan = RunPlan::new(&located.program, &stage.work_dir);
    plan.env = environment(places, &variables)?;
    plan.args.clone_from(&located.args);
    plan.args.push(script.to_string_lossy().into_owned());
    plan.args.extend(call.args.iter().cloned());
    plan.read_only.clone_from(&located.roots);
    plan.read_only.push(stage.skill_dir.clone());
    plan.hidden = hidden;
    plan.read_only.extend(workspace);
    plan.writable.push(data_dir);
    plan.network = host.network;
    plan.limits = Limits { wall: host.timeout, ..plan.limits };
    Ok(plan)
}
