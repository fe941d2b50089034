//! `metier eval check`: what is wrong with the cases, and what is doubtful about them.
//! Finding them is `metier-evals`; this file prints them.

use std::io::{self, Write};

use clap::Args;
use metier_evals::{Case, CaseFinding, case_file_schema, check_cases};
use serde::Serialize;

use super::run::ChoiceArgs;
use crate::context::{Context, FindArgs};
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::{count, safe};

/// Check the cases: that they can be read, and what would make their results say less than they seem to.
///
/// Reported are: positives that are answered without the skill, the same request twice, requests that name the
/// skill, fewer than 5 positives or negatives for a skill, and skills, tools and actions that are not there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier eval check
  metier eval check .agent/evals/pdf.yaml --json
  metier eval check --schema > eval.schema.json     # for editors")]
pub(crate) struct EvalCheckArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Print the JSON Schema of case files, and nothing else.
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Checked {
    cases: Vec<Row>,
    findings: Vec<CaseFinding>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    file: String,
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<String>,
    tags: Vec<String>,
}

struct Schema;

pub(super) fn run(args: &EvalCheckArgs, context: &Context) -> Result<Box<dyn Output>> {
    if args.schema {
        return Ok(Box::new(Schema));
    }
    let metier = context.finding(&args.find);
    let cases = args.choice.cases(&metier)?;
    let findings = check_cases(&metier, &cases)?;
    let row = |case: Case| Row {
        id: case.id,
        file: case.origin.file,
        line: case.origin.line,
        skill: case.skill,
        tags: case.tags,
    };
    Ok(Box::new(Checked { cases: cases.into_iter().map(row).collect(), findings }))
}

impl Output for Schema {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&case_file_schema(), out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &case_file_schema())?;
        writeln!(out)
    }
}

impl Output for Checked {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for CaseFinding { code, file, line, about, message, help } in &self.findings {
            let place = if file.is_empty() {
                safe(about).into_owned()
            } else {
                format!("{}:{line}", safe(file))
            };
            writeln!(out, "{place}: {} [{code}]", safe(message))?;
            writeln!(out, "    {}", safe(help))?;
        }
        out.flush()?;
        let (cases, findings) = (self.cases.len(), self.findings.len());
        print_note(&format!("{}, {}", count(cases, "case"), count(findings, "finding")));
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.findings.is_empty() { Exit::Done } else { Exit::Findings }
    }
}
