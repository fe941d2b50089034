//! `run_command`: an installed program, in the sandbox, started in the workspace, which it can only read.
//!
//! The command is a list of words; no shell interprets it. Programs in the workspace are never
//! picked up: they may have come with a clone.

use std::path::Path;
use std::sync::Arc;

use metier_fs::{canonical, create_private_dir, remove_own_tree};
use metier_policy::Risk;
use metier_sandbox::{
    Interpreter, Located, RunOptions, RunPlan, Runner, Runtime, SandboxLimits, ScriptPlaces,
    environment,
};
use metier_skill::FailureCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::ToolFailure;
use crate::output::CallResult;
use crate::script::{WORKSPACE_VARIABLE, time_to_clean};
use crate::script_host::{ScriptHost, describe_run};
use crate::script_view::ScriptView;
use crate::tool::{CallContext, Tool, Touch};

/// The tool `run_command`.
#[derive(Debug)]
pub struct RunCommand(Arc<ScriptHost>);

impl RunCommand {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::RUN_COMMAND;

    /// A tool that runs programs on `host`.
    pub const fn new(host: Arc<ScriptHost>) -> Self {
        Self(host)
    }
}

/// The arguments of `run_command`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RunCommandArgs {
    /// The program and its arguments, one word each.
    command: Vec<String>,
}

impl Tool for RunCommand {
    type Args = RunCommandArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Run an installed program in the sandbox: no network. It starts in the workspace, which it can \
         only read; TMPDIR is a folder that it can write."
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn touches(&self, args: &RunCommandArgs) -> Result<Vec<Touch>, ToolFailure> {
        match args.command.first() {
            Some(program) if !program.is_empty() && !program.contains('/') => {
                Ok(vec![Touch::Command(args.command.clone())])
            }
            _ => Err(ToolFailure::new(
                FailureCode::InvalidArguments,
                "`command` must start with the name of an installed program, without a path",
            )),
        }
    }

    fn call(&self, args: RunCommandArgs, context: &CallContext) -> CallResult {
        let run_dir = self.0.next_run();
        let answer = within(&self.0, &run_dir, &args.command, context);
        // Files that it wrote beside its output are not kept.
        let keeps = answer.as_ref().is_ok_and(|result| result.storage_ref.is_some());
        let stop = time_to_clean(context.cancel());
        let _ = remove_own_tree(&if keeps { run_dir.join("work") } else { run_dir }, &stop);
        answer
    }
}

fn within(
    host: &ScriptHost,
    run_dir: &Path,
    words: &[String],
    context: &CallContext,
) -> CallResult {
    let cancel = context.cancel();
    let failed =
        |error: &dyn std::fmt::Display| ToolFailure::new(FailureCode::Failed, error.to_string());
    let work_dir = run_dir.join("work");
    for folder in ["outputs", "tmp", "data"] {
        create_private_dir(&work_dir.join(folder)).map_err(|error| failed(&error))?;
    }
    let work_dir = canonical(&work_dir).map_err(|error| failed(&error))?;
    let (name, args) = words.split_first().ok_or_else(|| failed(&"there is no command"))?;
    let wanted = Interpreter {
        script: name.clone(),
        candidates: vec![Runtime { program: name.clone(), args: Vec::new() }],
        needs_packages: false,
    };
    let located = Located::find(&wanted, &host.search).map_err(|error| {
        let missing = matches!(error, metier_sandbox::Error::InterpreterMissing { .. });
        let message =
            if missing { format!("there is no program `{name}`") } else { error.to_string() };
        ToolFailure::new(FailureCode::Failed, message).with_help(error.hint())
    })?;
    let data_dir = work_dir.join("data");
    let places = ScriptPlaces {
        skill_dir: &work_dir,
        data_dir: &data_dir,
        work_dir: &work_dir,
        interpreter_dir: located.dir(),
    };
    let view = ScriptView::of(host, &located, cancel).map_err(|error| failed(&error))?;
    let mut variables = host.variables.clone();
    if let Some(workspace) = &view.workspace {
        variables.insert(WORKSPACE_VARIABLE.to_owned(), workspace.to_string_lossy().into_owned());
    }
    let mut plan = RunPlan::new(&located.program, &work_dir);
    plan.env = environment(places, &variables).map_err(|error| failed(&error))?;
    plan.args = args.to_vec();
    plan.start_dir = view.workspace;
    plan.read_only = view.read_only;
    plan.hidden = view.hidden;
    plan.closed = view.closed;
    plan.links = located.links;
    plan.limits = SandboxLimits { wall: host.timeout, output: host.output_limits(), ..plan.limits };
    let options = RunOptions {
        secrets: Arc::clone(&host.secrets),
        stdout_file: Some(run_dir.join("stdout")),
        stderr_file: Some(run_dir.join("stderr")),
        cancel: cancel.clone(),
    };
    let on_event = |event| host.forward(&event);
    let report = Runner::new(&host.helper, host.tier).run(&plan, &options, &on_event);
    ToolFailure::if_cancelled(cancel)?;
    let report = report.map_err(|error| {
        ToolFailure::new(FailureCode::Failed, error.to_string()).with_help(error.hint())
    })?;
    let kept = host.is_long(&report, &view.warnings).then(|| run_dir.to_owned());
    Ok(describe_run(&report, kept.as_ref(), &[], &view.warnings, &context.results))
}
