//! `run_command`: a program of the system, in the sandbox, with the workspace readable.
//!
//! Words, not a line: no shell looks at them. The program is one that is installed; what stands in
//! the workspace came with a clone and is not taken for it.

use std::path::Path;
use std::sync::Arc;

use metier_fs::{canonical, create_private_dir, remove_tree};
use metier_policy::Risk;
use metier_sandbox::{
    Interpreter, Limits, Located, Places, RunOptions, RunPlan, Runner, Runtime, environment,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::apart::{Answer, CallFuture, apart};
use crate::failure::{FailureCode, ToolFailure};
use crate::hidden::sight;
use crate::machine::{Machine, is_long, told};
use crate::schema::read;
use crate::script::WORKSPACE_VARIABLE;
use crate::tool::{Permit, Tool, Touch};
use metier_cancel::CancelToken;

/// The tool `run_command`.
#[derive(Debug)]
pub struct RunCommand(Arc<Machine>);

impl RunCommand {
    /// What it is called by.
    pub const NAME: &'static str = "run_command";

    /// Runs programs on `machine`.
    pub const fn new(machine: Arc<Machine>) -> Self {
        Self(machine)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: Vec<String>,
}

impl Tool for RunCommand {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn description(&self) -> &'static str {
        "Run an installed program in the sandbox: no network, the workspace read-only in \
         WORKSPACE_DIR, a directory of its own to work in."
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The program and its arguments, one word each."
                }
            },
            "required": ["command"],
            "additionalProperties": false
        })
    }

    fn plan(&self, arguments: &Value) -> Result<Vec<Touch>, ToolFailure> {
        let wanted: Arguments = read(arguments)?;
        match wanted.command.first() {
            Some(program) if !program.is_empty() && !program.contains('/') => {
                Ok(vec![Touch::Command(wanted.command)])
            }
            _ => Err(ToolFailure::new(
                FailureCode::InvalidArguments,
                "`command` begins with the name of an installed program, without a path",
            )),
        }
    }

    fn call(&self, permit: Permit, cancel: &CancelToken) -> CallFuture {
        let machine = Arc::clone(&self.0);
        apart(cancel, move |cancel| give(&machine, &permit, cancel))
    }
}

fn give(machine: &Machine, permit: &Permit, cancel: &CancelToken) -> Answer {
    let (_, touches) = permit.for_tool(RunCommand::NAME)?;
    let [Touch::Command(words)] = touches else {
        return Err(ToolFailure::new(FailureCode::Failed, "the permit names no command"));
    };
    let run_dir = machine.next_run();
    let answer = within(machine, &run_dir, words, cancel);
    // What it wrote besides its output is nobody's.
    let keeps = answer.as_ref().is_ok_and(|result| result.storage_ref.is_some());
    let _ = remove_tree(&if keeps { run_dir.join("work") } else { run_dir });
    answer
}

fn within(machine: &Machine, run_dir: &Path, words: &[String], cancel: &CancelToken) -> Answer {
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
