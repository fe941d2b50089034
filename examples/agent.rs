//! An agent in a dozen lines: a project with a skill, a tool of our own, and the model that is built in.
//!
//! `cargo run --example agent` needs no key and no network. The model picks the skill by its
//! description, loads it, and runs its script in the sandbox; the answer is what the script printed.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example writes its files and prints"
)]

use metier::tools::schemars::{self, JsonSchema};
use metier::{CallContext, Metier, Risk, Tool, ToolFailure, ToolResult};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The sandbox re-executes this program; here the copy becomes its helper.
    metier::init();
    let project = project_with_a_skill()?;
    let metier = Metier::open(project.path())?;
    // Scripts that came with a project do not run until the user trusts it, as `metier trust` does.
    metier.trust(None)?;
    let run = metier
        .session()
        .model("router")
        .tool(Today)
        .approve(|ask| ask.once())
        .on_event(|event| println!("{}", event.kind()))
        .run("count the words in letter.txt")?;
    println!("{}", run.answer());
    metier.untrust(None)?;
    Ok(())
}

/// A tool is a type with a name, a risk, arguments and a call. A model that calls tools is offered it
/// beside the built-in ones; the offline model of this example only follows skills.
struct Today;

#[derive(serde::Deserialize, JsonSchema)]
struct NoArgs {}

impl Tool for Today {
    type Args = NoArgs;

    fn name(&self) -> &'static str {
        "today"
    }

    fn description(&self) -> &'static str {
        "Give the number of days since 1970."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn call(&self, _: NoArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
        let seconds = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        Ok(ToolResult::text(format!("{} days", seconds / 86_400)))
    }
}

const SKILL: &str = "\
---
name: word-count
description: Count the words in a text file. Use when asked how long a text is.
---

# Count words

Run `scripts/count.sh FILE`.
";

/// A temporary project: a letter, and a skill in `.agent/skills`.
fn project_with_a_skill() -> std::io::Result<tempfile::TempDir> {
    let project = tempfile::tempdir()?;
    let skill = project.path().join(".agent/skills/word-count");
    std::fs::create_dir_all(skill.join("scripts"))?;
    std::fs::write(skill.join("SKILL.md"), SKILL)?;
    std::fs::write(skill.join("scripts/count.sh"), "echo \"$(wc -w < \"$1\") words\"\n")?;
    std::fs::write(project.path().join("letter.txt"), "All happy families are alike.\n")?;
    Ok(project)
}
