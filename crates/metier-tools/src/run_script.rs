//! `run_script`: one script of a loaded skill, in the sandbox.
//!
//! What was planned is what runs: the content of the skill is part of what the policy is asked about,
//! and a skill that changed since is refused.

use std::sync::Arc;

use metier_policy::Risk;
use metier_registry::Entry;
use metier_skill::RelPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::{FailureCode, ToolFailure, shown};
use crate::ground::content_digest;
use crate::machine::{Machine, told};
use crate::output::Answer;
use crate::requirements::Requirements;
use crate::script::{Host, ScriptCall, run_script};
use crate::tool::{CallContext, Tool, Touch};

/// The tool `run_script`.
#[derive(Debug)]
pub struct RunScript {
    machine: Arc<Machine>,
    skills: Arc<[Arc<Entry>]>,
}

impl RunScript {
    /// What it is called by.
    pub const NAME: &'static str = "run_script";

    /// Runs scripts of the loaded `skills` on `machine`.
    pub fn new(machine: Arc<Machine>, skills: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        Self { machine, skills: skills.into_iter().collect() }
    }

    fn skill(&self, name: &str) -> Result<Arc<Entry>, ToolFailure> {
        let found = self
            .skills
            .iter()
            .find(|entry| entry.name().as_str() == name || entry.id().to_string() == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.skills.iter().map(|entry| entry.name().as_str()).collect();
            let told = format!("no loaded skill is called {}", shown(name));
            ToolFailure::new(FailureCode::NotFound, told)
                .with_help(format!("load it first; loaded are: {}", names.join(", ")))
        })
    }
}

/// The arguments of `run_script`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RunScriptArgs {
    /// The loaded skill.
    skill: String,
    /// The script's path in the skill.
    relative_path: String,
    /// Its arguments; no shell looks at them.
    args: Option<Vec<String>>,
}

impl Tool for RunScript {
    type Args = RunScriptArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Run a script of a loaded skill in the sandbox. It runs in a directory of its own and sees \
         the workspace read-only; what it leaves in `outputs` is kept."
    }

    fn risk(&self) -> Risk {
        Risk::Medium
    }

    fn touches(&self, wanted: &RunScriptArgs) -> Result<Vec<Touch>, ToolFailure> {
        let entry = self.skill(&wanted.skill)?;
        let path = RelPath::new(&wanted.relative_path).map_err(|fault| {
            ToolFailure::new(FailureCode::InvalidArguments, format!("`relative_path`: {fault}"))
        })?;
        let content = content_digest(&entry).map_err(|error| {
            ToolFailure::new(FailureCode::Failed, format!("the skill's content: {error}"))
        })?;
        let args = wanted.args.clone().unwrap_or_default();
        Ok(vec![Touch::Script { skill: entry.id(), path, args, content }])
    }

    fn call(&self, _: RunScriptArgs, context: &CallContext) -> Answer {
        give(self, &self.machine, context)
    }
}

fn give(tool: &RunScript, machine: &Machine, context: &CallContext) -> Answer {
    let [Touch::Script { skill, path, args, content }] = context.touches() else {
        return Err(ToolFailure::new(FailureCode::Failed, "the permit names no script"));
    };
    let cancel = context.cancel();
    let entry = tool.skill(&skill.to_string())?;
    let missing = Requirements::of(&entry.skill).missing_on(
        &machine.search,
        |name| machine.variables.contains_key(name),
        |name| tool.skill(name).is_ok(),
    );
    if !missing.certain.is_empty() {
        let told = format!("the skill needs {}", missing.certain.join(", "));
        return Err(ToolFailure::new(FailureCode::NotFound, told));
    }
    let (run_dir, data_dir) = (machine.next_run(), machine.data_of(&entry));
    let call = ScriptCall { entry: &entry, content: *content, script: path, args };
    let host = Host {
        helper: &machine.helper,
        tier: machine.tier,
        search: machine.search.clone(),
        run_dir: &run_dir,
        data_dir: &data_dir,
        workspace: machine.workspace.as_deref(),
        variables: machine.variables.clone(),
        secrets: Arc::clone(&machine.secrets),
        timeout: machine.timeout,
        network: context.network(),
        cancel: cancel.clone(),
    };
    let outcome = run_script(&call, &host, &|event| machine.tell(&event));
    ToolFailure::if_cancelled(cancel)?;
    let outcome = outcome.map_err(|error| {
        let told = format!("{error} [{}]", error.code());
        ToolFailure::new(FailureCode::Failed, told).with_help(error.help())
    })?;
    let mut result = told(&outcome.report, outcome.kept.as_ref(), &outcome.outputs);
    result.data["network"] = json!(context.network());
    if let Some(hint) = outcome.hint {
        result.text.push_str(&format!("[{hint}]\n"));
    }
    if !missing.perhaps.is_empty() {
        // A doubt is worth a word only where it may be the reason.
        result.data["perhaps_missing"] = json!(missing.perhaps);
        if !outcome.report.succeeded() {
            let names = missing.perhaps.join(", ");
            let told = format!("[the skill's `compatibility` speaks of {names}: not installed]\n");
            result.text.push_str(&told);
        }
    }
    Ok(result)
}
