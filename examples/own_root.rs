//! Skills from a place of our own: a database, an archive, a service; here, the program itself.
//!
//! A source gives the files of its skills. They are checked, listed, ranked, guarded and run like skills
//! on disk, and come before all folders. A source that fails is a line in the report; the others count.
#![expect(clippy::print_stdout, reason = "an example prints")]

use metier::{ExecCall, MemorySkill, Metier, SkillSource};

const SKILL: &str = "\
---
name: greet
description: Greet a person by name. Use when a person should be welcomed.
---

# Greet

Run `scripts/greet.sh NAME`.
";

/// A source with one skill.
struct Handbook;

impl SkillSource for Handbook {
    fn name(&self) -> &'static str {
        "handbook"
    }

    fn skills(&self) -> Result<Vec<MemorySkill>, String> {
        let script = "echo \"Welcome, $1!\"\n";
        Ok(vec![MemorySkill::new("greet", [("SKILL.md", SKILL), ("scripts/greet.sh", script)])])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    metier::init();
    let project = tempfile::tempdir()?;
    let metier = Metier::builder(project.path()).source(Handbook).open()?;

    for entry in metier.skills().index.entries() {
        println!("{:18} {}", entry.name(), entry.path.display());
    }
    println!("{}", metier.load("greet")?.text);

    let call = ExecCall::new("greet", "scripts/greet.sh").arg("Ada");
    match metier.session().approve(|ask| ask.once()).exec(&call) {
        Ok(ran) => print!("{}", ran.outcome.report.stdout.text),
        // Not every machine has a sandbox that holds a script.
        Err(error) => println!("the script did not run: {error}"),
    }
    Ok(())
}
