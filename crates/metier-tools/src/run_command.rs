//! `run_command`: a program of the system, in the sandbox, with the workspace readable.
//!
//! Words, not a line: no shell looks at them. The program is one that is installed; what stands in
//! the workspace came with a clone and is not taken for it.

use std::path::Path;
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_fs::{canonical, create_private_dir, remove_tree};
use metier_policy::Risk;
use metier_sandbox::{
    Interpreter, Limits, Located, Places, RunOptions, RunPlan, Runner, Runtime, environment,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::{FailureCode, ToolFailure};
use crate::hidden::sight;
use crate::output::CallResult;
use crate::script::WORKSPACE_VARIABLE;
use crate::script_host::{ScriptHost, is_long, told};
use crate::tool::{CallContext, Tool, Touch};

/// The tool `run_command`.
#[derive(Debug)]
pub struct RunCommand(Arc<ScriptHost>);

impl RunCommand {
    /// What it is called by.
    pub const NAME: &'static str = "run_command";

    /// Runs programs on `machine`.
    pub const fn new(machine: Arc<ScriptHost>) -> Self {
        Self(machine)
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
        "Run an installed program in the sandbox: no network, the workspace read-only in \
         WORKSPACE_DIR, a directory of its own to work in."
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
                "`command` begins with the name of an installed program, without a path",
            )),
        }
    }

    fn call(&self, args: RunCommandArgs, context: &CallContext) -> CallResult {
        let run_dir = self.0.next_run();
        let answer = within(&self.0, &run_dir, &args.command, context.cancel());
        // What it wrote besides its output is nobody's.
        let keeps = answer.as_ref().is_ok_and(|result| result.storage_ref.is_some());
        let _ = remove_tree(&if keeps { run_dir.join("work") } else { run_dir });
        answer
    }
}

fn within(
    machine: &ScriptHost,
    run_dir: &Path,
    words: &[String],
    cancel: &CancelToken,
) -> CallResult {
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
    let located = Located::find(&wanted, &machine.search).map_err(|error| failed(&error))?;
    let data_dir = work_dir.join("data");
    let places = Places {
        skill_dir: &work_dir,
        data_dir: &data_dir,
        work_dir: &work_dir,
        interpreter_dir: located.dir(),
    };
    let workspace = machine.workspace.as_deref().and_then(|path| canonical(path).ok());
    let (workspace, hidden) = sight(workspace, machine.search.home.as_deref());
    let mut variables = machine.variables.clone();
    if let Some(workspace) = &workspace {
        variables.insert(WORKSPACE_VARIABLE.to_owned(), workspace.to_string_lossy().into_owned());
    }
    let mut plan = RunPlan::new(&located.program, &work_dir);
    plan.env = environment(places, &variables).map_err(|error| failed(&error))?;
    plan.args = args.to_vec();
    plan.read_only.clone_from(&located.roots);
    plan.hidden = hidden;
    plan.read_only.extend(workspace);
    plan.limits = Limits { wall: machine.timeout, ..plan.limits };
    let options = RunOptions {
        secrets: Arc::clone(&machine.secrets),
        stdout_file: Some(run_dir.join("stdout")),
        stderr_file: Some(run_dir.join("stderr")),
        cancel: cancel.clone(),
    };
    let tell = |event| machine.tell(&event);
    let report = Runner::new(&machine.helper, machine.tier).run(&plan, &options, &tell);
    ToolFailure::if_cancelled(cancel)?;
    let report = report.map_err(|error| {
        ToolFailure::new(FailureCode::Failed, error.to_string()).with_help(error.hint())
    })?;
    let kept = is_long(&report).then(|| run_dir.to_owned());
    Ok(told(&report, kept.as_ref(), &[]))
}
