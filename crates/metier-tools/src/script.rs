//! Running one script of a skill: from an allowed request to a report.
//!
//! The caller has asked the policy. What runs is what was decided about: the skill is copied, the
//! digest of the copy is compared with the one in the decision, and only then does anything start.
//! `metier-sandbox` enforces what the script may see and use.

mod sweep;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_fs::{
    LeftError, LeftFiles, LeftLimits, SkillRoot, WorkRoot, canonical, clean_left_files, content_of,
    create_private_dir, create_private_file, remove_own_tree, take_left_files, write_private,
};
use metier_registry::Entry;
use metier_sandbox::{
    Interpreter, Located, NetworkAccess, RunEvent, RunOptions, RunPlan, Runner, SandboxLimits,
    SandboxReport, ScriptPlaces, Stage, StageLimits, environment,
};
use metier_skill::{Digest, FailureCode, RelPath, WorkPath};
use serde_json::json;
use thiserror::Error;

use crate::output::{ResultFilter, ToolResult};
use crate::script_host::{ScriptHost, describe_run};
use crate::script_view::ScriptView;

pub use self::sweep::{RETENTION, sweep};

/// The variable that holds the path of the workspace.
pub const WORKSPACE_VARIABLE: &str = "WORKSPACE_DIR";

/// A script that was decided about, and what it may use.
#[derive(Debug, Clone)]
pub struct ScriptCall {
    /// The skill.
    pub entry: Arc<Entry>,
    /// The content of the skill that was decided about.
    pub content: Digest,
    /// The script's path in the skill.
    pub script: RelPath,
    /// Its arguments. No shell interprets them.
    pub args: Vec<String>,
    /// Files among them that it would not see: it gets copies of them, which it can only read.
    pub given: Vec<PathBuf>,
    /// Whether the policy opens the network to it.
    pub network: NetworkAccess,
    /// Wall-clock limit, where it is shorter than the host's.
    pub timeout: Option<Duration>,
}

/// How a script ended, and what it left.
#[derive(Debug)]
pub struct ScriptOutcome {
    /// How it ended.
    pub report: SandboxReport,
    /// Files that it left in its `outputs` folder, below the run's folder.
    pub outputs: Vec<PathBuf>,
    /// Where the whole output and the files are; `None` when there was nothing to keep.
    pub kept: Option<PathBuf>,
    /// What was removed from there, with the reason: links, pipes and the like, what is over a limit.
    pub removed: Vec<String>,
    /// Why nothing of its `outputs` folder was kept, where that is so.
    pub outputs_fault: Option<String>,
    /// Files of the skill that the script does not see, with the reason.
    pub left_out: Vec<String>,
    /// Folders that it did not see though it could have been meant to, with the reason.
    pub warnings: Vec<String>,
    /// Advice, where it failed for a known reason.
    pub hint: Option<&'static str>,
}

impl ScriptOutcome {
    /// What a model should know besides the output.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.warnings.clone();
        notes.extend(self.outputs_fault.clone());
        if !self.removed.is_empty() {
            notes.push(format!("removed from {OUTPUTS}: {}", self.removed.join("; ")));
        }
        notes.extend(self.hint.map(str::to_owned));
        notes
    }

    /// The result for the model, to be filtered by `results`; `network` is what the script ran with, and
    /// `more` is said besides.
    pub fn to_result(
        &self,
        network: NetworkAccess,
        more: Vec<String>,
        results: &ResultFilter,
    ) -> ToolResult {
        let notes: Vec<String> = self.notes().into_iter().chain(more).collect();
        let kept = self.kept.as_ref();
        let mut result = describe_run(&self.report, kept, &self.outputs, &notes, results);
        result.data["network"] = json!(network);
        result.data["warnings"] = json!(self.warnings);
        result.data["removed"] = json!(self.removed);
        result.data["outputs_fault"] = json!(self.outputs_fault);
        result
    }
}

/// Advice for a failed script whose packages are installed as it starts.
const NO_NETWORK: &str = "the script installs packages from the network, which is closed to \
                          scripts; the user can add a rule that allows `script_network`";

/// Why a script was not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The skill is no longer what was decided about.
    #[error("the skill changed after it was approved")]
    Changed,
    /// A file of the skill or a folder of the run could not be read or created.
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
            Self::Changed | Self::Files(_) => self.failure_code().as_str(),
            Self::Sandbox(error) => error.code(),
        }
    }

    /// The code of the result that a model reads.
    pub const fn failure_code(&self) -> FailureCode {
        match self {
            Self::Changed => FailureCode::Changed,
            Self::Files(_) => FailureCode::IoError,
            Self::Sandbox(_) => FailureCode::Failed,
        }
    }

    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Changed => "look at what changed, then run it again".to_owned(),
            Self::Files(_) => {
                "list the skill's files and use one of these names exactly".to_owned()
            }
            Self::Sandbox(error) => error.hint(),
        }
    }
}

/// An argument as the script gets it: the path of an existing file, relative or in the home directory
/// (`~/`), becomes absolute.
pub fn as_path(word: &str, working_dir: &Path, home: Option<&Path>) -> String {
    let in_home = word.strip_prefix("~/").zip(home).map(|(below, home)| home.join(below));
    let is_relative = Path::new(word).is_relative() && !word.is_empty() && !word.starts_with('-');
    let path = in_home.or_else(|| is_relative.then(|| working_dir.join(word)));
    let path = path.filter(|path| metier_fs::exists(path)).and_then(|path| canonical(&path).ok());
    path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| word.to_owned())
}

impl ScriptHost {
    /// Runs a script to its end; `events` receives its output as it is printed.
    pub fn run(
        &self,
        call: &ScriptCall,
        cancel: &CancelToken,
        events: &(dyn Fn(RunEvent) + Sync),
    ) -> Result<ScriptOutcome, ScriptError> {
        let files = |what: &str, error: &dyn std::fmt::Display| {
            ScriptError::Files(format!("{what}: {error}"))
        };
        let (run_dir, data_dir) = (self.next_run(), self.data_of(&call.entry));
        create_private_dir(&run_dir).map_err(|error| files("the folder of the run", &error))?;
        create_private_dir(&data_dir).map_err(|error| files("the folder for data", &error))?;
        let run_dir =
            canonical(&run_dir).map_err(|error| files("the folder of the run", &error))?;
        let outcome = self.run_staged(call, &run_dir, cancel, events);
        let stop = time_to_clean(cancel);
        // The copy of the skill last: by it a later run knows what this one had no time to remove.
        let _ = remove_own_tree(&run_dir.join("stage/work"), &stop)
            .and_then(|()| remove_own_tree(&run_dir.join("builtin"), &stop))
            .and_then(|()| match &outcome {
                Ok(outcome) if outcome.kept.is_some() => {
                    remove_own_tree(&run_dir.join("stage"), &stop)
                }
                // There is nothing in it for the user.
                _ => remove_own_tree(&run_dir, &stop),
            });
        outcome
    }

    fn run_staged(
        &self,
        call: &ScriptCall,
        run_dir: &Path,
        cancel: &CancelToken,
        events: &(dyn Fn(RunEvent) + Sync),
    ) -> Result<ScriptOutcome, ScriptError> {
        let root = skill_root(&call.entry, run_dir)?;
        let stage = Stage::prepare(&root, &run_dir.join("stage"), StageLimits::default())?;
        // The copy itself is what was decided about, whatever happens to the folder it came from.
        if content_of(stage.digests()) != call.content {
            return Err(ScriptError::Changed);
        }
        if stage.digest_of(&call.script).is_none() {
            return Err(ScriptError::Files(format!(
                "{}: no such script in the skill",
                call.script
            )));
        }
        let script = stage.skill_dir.join(call.script.as_str());
        let (mut plan, warnings) = self.plan(call, &stage, &script, cancel)?;
        let mut copies = Vec::new();
        for (number, file) in call.given.iter().enumerate() {
            let folder = run_dir.join("stage/given").join(number.to_string());
            let copy = copy_given(file, &folder)?;
            for arg in plan.args.iter_mut().filter(|arg| Path::new(arg.as_str()) == file) {
                *arg = copy.to_string_lossy().into_owned();
            }
            copies.push((copy, file.to_string_lossy().into_owned()));
            plan.read_only.push(folder);
        }
        let streams = ["stdout", "stderr"].map(|name| run_dir.join(name));
        let options = RunOptions {
            secrets: Arc::clone(&self.secrets),
            stdout_file: Some(streams[0].clone()),
            stderr_file: Some(streams[1].clone()),
            cancel: cancel.clone(),
        };
        let mut report = Runner::new(&self.helper, self.tier).run(&plan, &options, events)?;
        for stream in [&mut report.stdout, &mut report.stderr] {
            stream.change_text(|text| with_own_paths(text, &stage, &copies));
        }
        let left = take_outputs(&stage, run_dir, &time_to_clean(cancel));
        let outputs_fault = left
            .as_ref()
            .err()
            .map(|error| format!("nothing of the folder `{OUTPUTS}` was kept: {error}"));
        let left = left.unwrap_or_default();
        let removed = describe_removed(&left);
        let at = |path: &PathBuf| run_dir.join(OUTPUTS).join(path);
        let outputs: Vec<PathBuf> = left.files.iter().map(at).collect();
        let installs = plan.program.file_stem().is_some_and(|name| name == "uv");
        let is_closed = plan.network == NetworkAccess::Closed;
        let hint = (installs && is_closed && !report.succeeded()).then_some(NO_NETWORK);
        let left_out = stage.left_out.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        let mut outcome = ScriptOutcome {
            report,
            outputs,
            kept: None,
            removed,
            outputs_fault,
            left_out,
            warnings,
            hint,
        };
        if !outcome.outputs.is_empty() || self.is_long(&outcome.report, &outcome.notes()) {
            outcome.kept = Some(run_dir.to_owned());
        }
        Ok(outcome)
    }

    fn plan(
        &self,
        call: &ScriptCall,
        stage: &Stage,
        script: &Path,
        cancel: &CancelToken,
    ) -> Result<(RunPlan, Vec<String>), ScriptError> {
        let read =
            |error: &dyn std::fmt::Display| ScriptError::Files(format!("{}: {error}", call.script));
        let text = metier_fs::read_bounded(script, 16 << 20).map_err(|error| read(&error))?;
        let located = Located::find(&Interpreter::of(call.script.as_str(), &text)?, &self.search)?;
        let data_dir = canonical(&self.data_of(&call.entry)).map_err(|error| read(&error))?;
        let places = ScriptPlaces {
            skill_dir: &stage.skill_dir,
            data_dir: &data_dir,
            work_dir: &stage.work_dir,
            interpreter_dir: located.dir(),
        };
        let mut variables = self.variables.clone();
        let view = ScriptView::of(self, &located, cancel).map_err(|error| read(&error))?;
        if let Some(workspace) = &view.workspace {
            let workspace = workspace.to_string_lossy().into_owned();
            variables.insert(WORKSPACE_VARIABLE.to_owned(), workspace);
        }
        let mut plan = RunPlan::new(&located.program, &stage.work_dir);
        plan.env = environment(places, &variables)?;
        plan.args.clone_from(&located.args);
        plan.args.push(script.to_string_lossy().into_owned());
        plan.args.extend(call.args.iter().cloned());
        plan.read_only = view.read_only;
        plan.read_only.push(stage.skill_dir.clone());
        plan.hidden = view.hidden;
        plan.closed = view.closed;
        plan.links = located.links;
        plan.writable.push(data_dir);
        plan.network = call.network;
        let wall = call.timeout.map_or(self.timeout, |asked| asked.min(self.timeout));
        plan.limits = SandboxLimits { wall, output: self.output_limits(), ..plan.limits };
        Ok((plan, view.warnings))
    }
}

/// Output with paths as the skill and the person know them: `scripts/sum.py`, not the place of a copy,
/// which is another one in every run and gone after it. Two equal failures have equal messages then.
fn with_own_paths(text: String, stage: &Stage, copies: &[(PathBuf, String)]) -> String {
    let below = |folder: &Path| format!("{}/", folder.to_string_lossy());
    let own =
        copies.iter().map(|(copy, file)| (copy.to_string_lossy().into_owned(), file.as_str()));
    let folders = [&stage.skill_dir, &stage.work_dir].map(|folder| (below(folder), ""));
    own.chain(folders).fold(text, |text, (from, to)| text.replace(&from, to))
}

/// The largest file that a script is given a copy of.
const MAX_GIVEN_BYTES: u64 = 512 << 20;

/// Copies a file that a script may read, as it is now. What was decided about is this path: a link that
/// took the place of one of its folders, or of the file, is not followed.
fn copy_given(file: &Path, folder: &Path) -> Result<PathBuf, ScriptError> {
    let failed = |error: &dyn std::fmt::Display| {
        ScriptError::Files(format!("a copy of {}: {error}", file.display()))
    };
    let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(failed(&"it is not a file"));
    };
    let root = WorkRoot::open(parent).map_err(|error| failed(&error))?;
    if root.path() != parent {
        return Err(failed(&"a link took the place of one of its folders"));
    }
    let path = WorkPath::new(&name.to_string_lossy()).map_err(|error| failed(&error))?;
    let (from, bytes) = root.open_file(&path).map_err(|error| failed(&error))?;
    if bytes > MAX_GIVEN_BYTES {
        return Err(failed(&"it is larger than 512 MiB; work in its folder with `metier -C DIR`"));
    }
    create_private_dir(folder).map_err(|error| failed(&error))?;
    let copy = folder.join(name);
    let mut to = create_private_file(&copy).map_err(|error| failed(&error))?;
    std::io::copy(&mut from.take(MAX_GIVEN_BYTES), &mut to).map_err(|error| failed(&error))?;
    Ok(copy)
}

/// The folder of what a script leaves, in its working directory and in the folder of the run.
const OUTPUTS: &str = "outputs";

/// How long what a script left is looked through and removed, and how long that goes on after the run
/// was cancelled. The rest is for the next run.
const CLEANING_TIME: Duration = Duration::from_secs(10);
const CLEANING_TIME_CANCELLED: Duration = Duration::from_secs(1);

pub(crate) fn time_to_clean(cancel: &CancelToken) -> impl Fn() -> bool + use<> {
    let is_cancelled = cancel.is_cancelled();
    let time = if is_cancelled { CLEANING_TIME_CANCELLED } else { CLEANING_TIME };
    let until = Instant::now() + time;
    move || Instant::now() > until
}

/// Takes what the script left out of its working directory, which goes: nothing else that it wrote is
/// kept, and a second name of a file that is kept must not lie there.
fn take_outputs(
    stage: &Stage,
    run_dir: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<LeftFiles, LeftError> {
    let is_there = take_left_files(&stage.work_dir, OUTPUTS, run_dir);
    let _ = remove_own_tree(&stage.work_dir, stop);
    if !is_there? {
        return Ok(LeftFiles::default());
    }
    let kept = run_dir.join(OUTPUTS);
    clean_left_files(&kept, LeftLimits::default(), stop).inspect_err(|_| {
        let _ = remove_own_tree(&kept, stop);
    })
}

fn describe_removed(left: &LeftFiles) -> Vec<String> {
    let line = |(path, why): &(PathBuf, &str)| format!("{} ({why})", path.display());
    let mut lines: Vec<String> = left.removed.iter().map(line).collect();
    if left.more_removed > 0 {
        lines.push(format!("{} more", left.more_removed));
    }
    lines
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
        write_private(&written.join(path), bytes).map_err(|error| unreadable(&error))?;
    }
    SkillRoot::open(&written).map_err(|error| unreadable(&error))
}
