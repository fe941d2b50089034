//! One side of a comparison: a program and the settings it is run with.
//!
//! It knows what the user's configuration says, and nothing about the project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::flags::{Flags, UsageError};

const OUTPUTS: &[&str] = &["json_schema", "tool_call", "prompted"];
const PLANS: &[&str] = &["auto", "on", "off"];

/// A program and its settings.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) program: PathBuf,
    /// A digest of the program: another build is another arm, wherever it lies.
    digest: u64,
    output: String,
    /// Not set unless asked for: older builds do not know the setting.
    plan: Option<String>,
    pub(crate) turns: u32,
    distractors: u32,
    max_tokens: u32,
    model: String,
}

impl Arm {
    /// Every program with every output mode and every plan setting that was asked for.
    pub(crate) fn all(programs: &[PathBuf], flags: &Flags) -> Result<Vec<Self>> {
        let outputs = choice(flags, "--output", OUTPUTS)?;
        let plans = choice(flags, "--plan", PLANS)?;
        let outputs = if outputs.is_empty() { vec!["json_schema"] } else { outputs };
        let plans: Vec<Option<&str>> =
            if plans.is_empty() { vec![None] } else { plans.into_iter().map(Some).collect() };
        let mut arms = Vec::new();
        for program in programs {
            let digest = digest(program)?;
            for output in &outputs {
                for plan in &plans {
                    arms.push(Self {
                        program: program.clone(),
                        digest,
                        output: (*output).to_owned(),
                        plan: plan.map(str::to_owned),
                        turns: flags.number("--turns", 8)?,
                        distractors: flags.number("--distractors", 28)?,
                        max_tokens: flags.number("--max-tokens", 600)?,
                        model: flags.all("--model-name").last().map_or("local", |name| name).into(),
                    });
                }
            }
        }
        Ok(arms)
    }

    /// How it is called in the table.
    pub(crate) fn name(&self) -> String {
        let file = self.program.file_name().unwrap_or_default().to_string_lossy();
        let plan = self.plan.as_ref().map_or(String::new(), |plan| format!(", plan {plan}"));
        format!("{file} ({}{plan})", self.output)
    }

    /// What results are kept under: everything that changes what a model is asked.
    pub(crate) fn key(&self) -> String {
        let Self { digest, output, turns, distractors, max_tokens, model, .. } = self;
        let plan = self.plan.as_deref().unwrap_or("-");
        format!("{digest:016x} {output} {plan} {turns} {distractors} {max_tokens} {model}")
    }

    /// The user's configuration, as someone with an endpoint of their own writes it.
    pub(crate) fn config(&self, base_url: &str) -> Value {
        let mut model = json!({
            "provider": "openai",
            "name": self.model,
            "base_url": base_url,
            "params": {
                "temperature": 0,
                "output": self.output,
                "max_tokens": self.max_tokens,
            },
        });
        if let Some(plan) = &self.plan {
            model["plan"] = json!(plan);
        }
        let denied = |permission: &str| json!({"permission": permission, "pattern": "private/*", "effect": "deny"});
        json!({"model": model, "permissions": [denied("read_file"), denied("grep")]})
    }
}

fn choice<'a>(flags: &'a Flags, name: &str, known: &[&str]) -> Result<Vec<&'a str>> {
    let given = flags.all(name);
    match given.iter().find(|value| !known.contains(value)) {
        None => Ok(given),
        Some(value) => {
            let known = known.join(", ");
            Err(UsageError(format!("{name}: no `{value}`; there are: {known}")).into())
        }
    }
}

/// FNV-1a, which is the same in every build of this tool.
fn digest(file: &Path) -> Result<u64> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}
