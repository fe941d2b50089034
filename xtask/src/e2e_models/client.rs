//! The program `metier` as a user has it: a home with a configuration, a project with three skills.
//!
//! Nothing of the developer's own environment reaches it but `PATH`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::process::{Ended, run_bounded};
use crate::workspace::{Outcome, Workspace, status};

/// The variable that the configuration names for the key.
const KEY_VARIABLE: &str = "E2E_MODELS_KEY";

const SKILLS: &[(&str, &str, &str)] = &[
    (
        "release-notes",
        "Write release notes or a changelog from a list of changes. Use when someone wants to tell \
         users what is new in a version.",
        "# Release notes\n\nGroup the changes into added, changed and fixed. One line each. Answer \
         with the text.\n",
    ),
    (
        "meeting-minutes",
        "Turn rough notes of a meeting into minutes with decisions and tasks. Use when someone \
         gives notes of a meeting.",
        "# Minutes\n\nFirst the decisions, then the tasks, each with a name and a date.\n",
    ),
    (
        "rename-files",
        "Plan new names for many files by one pattern. Use when files need other names.",
        "# Renaming\n\nList the files, then say which gets which name. Change nothing.\n",
    ),
];

/// A dialect of the protocol, with how a decision is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// How it is called in the table.
    pub(crate) name: &'static str,
    provider: &'static str,
    /// What else stands in the settings, as JSON.
    params: &'static str,
}

/// Chat completions, with a schema for the reply.
pub(crate) const CHAT: Dialect = Dialect { name: "chat", provider: "openai", params: "{}" };
/// The same; so small a model repeats itself until it is cut off, unless that is made costly.
pub(crate) const CHAT_VARIED: Dialect = Dialect { params: r#"{"repeat_penalty": 1.05}"#, ..CHAT };
/// Chat completions, with one tool.
pub(crate) const CHAT_TOOL: Dialect =
    Dialect { name: "chat, tool call", provider: "openai", params: r#"{"output": "tool_call"}"# };
/// Messages, with one tool.
pub(crate) const MESSAGES: Dialect =
    Dialect { name: "messages", provider: "anthropic", params: "{}" };
/// Messages, with a schema for the reply.
pub(crate) const MESSAGES_SCHEMA: Dialect = Dialect {
    name: "messages, schema",
    provider: "anthropic",
    params: r#"{"output": "json_schema"}"#,
};
/// Responses, with a schema for the reply.
pub(crate) const RESPONSES: Dialect =
    Dialect { name: "responses", provider: "openai", params: r#"{"api": "responses"}"# };
/// Responses, with one tool.
pub(crate) const RESPONSES_TOOL: Dialect = Dialect {
    name: "responses, tool call",
    provider: "openai",
    params: r#"{"api": "responses", "output": "tool_call"}"#,
};

/// Where and how a model is asked.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) dialect: Dialect,
    pub(crate) base_url: String,
    pub(crate) model: &'static str,
    /// The key; empty: none is sent.
    pub(crate) key: String,
    /// Seconds for one call, all attempts included.
    pub(crate) timeout_s: f64,
    pub(crate) max_tokens: u32,
    pub(crate) stream: bool,
    /// How freely the model chooses its words.
    pub(crate) temperature: f64,
}

impl Target {
    fn config(&self) -> Result<Value> {
        let mut params: Map<String, Value> = serde_json::from_str(self.dialect.params)?;
        params.insert("timeout_s".to_owned(), json!(self.timeout_s));
        params.insert("max_tokens".to_owned(), json!(self.max_tokens));
        params.insert("stream".to_owned(), json!(self.stream));
        params.insert("temperature".to_owned(), json!(self.temperature));
        let mut model = json!({
            "provider": self.dialect.provider,
            "name": self.model,
            "base_url": self.base_url,
            "params": params
        });
        if !self.key.is_empty() {
            model["key_env"] = json!(KEY_VARIABLE);
        }
        Ok(json!({"model": model}))
    }
}

/// The program with its home and project.
#[derive(Debug)]
pub(crate) struct Client {
    program: PathBuf,
    home: PathBuf,
    project: PathBuf,
    log: PathBuf,
}

impl Client {
    /// Builds the program, and makes a fresh home and project in `dir`.
    pub(crate) fn build(workspace: &Workspace, dir: &Path, profile: &str) -> Result<Self> {
        let built = build_program(workspace, profile)?;
        let name = format!("metier{}", std::env::consts::EXE_SUFFIX);
        if dir.exists() {
            fs::remove_dir_all(dir).with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        let client = Self {
            program: dir.join(name),
            home: dir.join("home"),
            project: dir.join("project"),
            log: dir.join("metier"),
        };
        // `.git` ends the search for a project: the one around us is not meant.
        for made in [&client.home, &client.project.join(".git")] {
            fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
        }
        // A build that runs beside us must not change the program between two checks.
        fs::copy(&built, &client.program).context("cannot copy the program")?;
        for (name, description, body) in SKILLS {
            let folder = client.project.join(".agent/skills").join(name);
            fs::create_dir_all(&folder).context("cannot make a skill")?;
            let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}");
            fs::write(folder.join("SKILL.md"), text).context("cannot write a skill")?;
        }
        Ok(client)
    }

    /// Runs `metier` with `args` against `target`, for at most `patience`.
    pub(crate) fn metier<S: AsRef<OsStr>>(
        &self,
        target: &Target,
        args: &[S],
        patience: Duration,
    ) -> Result<Ended> {
        let config = serde_json::to_vec_pretty(&target.config()?)?;
        fs::write(self.home.join("config.json"), config).context("cannot write the settings")?;
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.project).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", &self.home).env("METIER_HOME", &self.home);
        command.env(KEY_VARIABLE, &target.key);
        run_bounded(&mut command, &self.log, patience)
    }
}

/// Builds the program and says where it is.
pub(crate) fn build_program(workspace: &Workspace, profile: &str) -> Result<PathBuf> {
    println!("e2e-models: building metier ({profile})");
    let args = ["build", "--quiet", "--package", "metier-cli", "--profile", profile];
    if status(&mut workspace.cargo(&args))? == Outcome::Failed {
        bail!("metier does not build");
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    let name = format!("metier{}", std::env::consts::EXE_SUFFIX);
    Ok(workspace.target_dir()?.join(folder).join(name))
}
