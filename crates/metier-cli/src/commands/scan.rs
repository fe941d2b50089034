//! `metier scan`: what skills could do to their user, with evidence.
//! Rules and findings are `metier-scan`'s, the choice of skills `check`'s; this file draws.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use metier::scan::{FindingReport, FindingSeverity, ScanFinding, Suppressions, rule};
use metier::scan_folder;
use serde::Serialize;

use crate::commands::check::targets::{CheckScope, Targets, targets};
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, write_json};
use crate::render::findings::unread_program_line;
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{count, safe, sarif};

/// Bytes of a list of accepted findings.
const MAX_LIST_BYTES: u64 = 1 << 20;
/// A share below which the reader is warned, in percent.
const LOW_COVERAGE: u8 = 50;

/// Look for what skills could do to you: hidden text, downloads that are run, secrets that are sent, and more.
///
/// It gives evidence, not a verdict: a skill without findings is not safe, and the sandbox and your approval still
/// decide what runs. PATH is as in `metier check`. With --since only findings that an older version of the skill did
/// not have are shown. A finding that you accept goes into a list: {"suppressions": [{"rule", "fingerprint",
/// "reason"}]}, with the fingerprint that --json prints; it is back when the line changes. ~/.agent/suppressions.json
/// is such a list for every scan and every installation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier scan pdf
  metier scan downloaded/ --fail-on medium
  metier scan new/pdf --since old/pdf       only what is new
  metier scan --all --format sarif > skills.sarif

Exit code 1 means that there is a finding of --fail-on or above.")]
pub(crate) struct ScanArgs {
    /// Skills, by path or name, or folders of skills.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Scan your own skills, in all your folders.
    #[arg(long, conflicts_with = "paths")]
    user: bool,
    /// Scan the skills of every root: the project's, yours, and those of plugins.
    #[arg(long, conflicts_with_all = ["paths", "user"])]
    all: bool,
    /// Show only what this older version of the skill did not have.
    #[arg(long, value_name = "DIR", requires = "paths")]
    since: Option<PathBuf>,
    /// A list of findings that you accept.
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// The weight from which a finding gives exit code 1.
    #[arg(long, value_name = "WEIGHT", default_value = "high")]
    fail_on: Weight,
    /// How to print: human, json or sarif.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Weight {
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Sarif,
}

impl ScanArgs {
    pub(crate) fn wants_json(&self) -> bool {
        self.format != Format::Human
    }
}

#[derive(Serialize)]
struct Scanned {
    skills: Vec<ScannedSkill>,
    /// Entries of the list that are about nothing that was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unused_suppressions: Vec<String>,
    #[serde(skip)]
    format: Format,
    #[serde(skip)]
    fail_on: FindingSeverity,
}

#[derive(Serialize)]
struct ScannedSkill {
    /// The folder, relative to the working directory where it lies below.
    path: String,
    #[serde(flatten)]
    report: FindingReport,
}

pub(crate) fn run(args: &ScanArgs, context: &Context) -> Result<Box<dyn Output>> {
    let scope = match args {
        ScanArgs { all: true, .. } => CheckScope::All,
        ScanArgs { user: true, .. } => CheckScope::User,
        ScanArgs { paths, .. } if paths.is_empty() => CheckScope::Here,
        ScanArgs { paths, .. } => CheckScope::Named(paths),
    };
    let Targets { targets, .. } = targets(&scope, context)?;
    let named = args.suppressions.as_ref().map(|file| read_list(file, context)).transpose()?;
    // The list that is named is about these skills; the user's own one is about all of them.
    let mut unused = named.as_ref().map(|list| vec![true; list.suppressions.len()]);
    let users = context.metier.suppressions()?;
    let mut skills = Vec::new();
    for target in targets.iter().filter(|target| target.problem.is_none()) {
        let folder = target.directory();
        let mut report = scan_folder(folder)?;
        users.apply(&mut report);
        if let (Some(list), Some(unused)) = (&named, &mut unused) {
            let left = list.apply(&mut report);
            for (entry, unused) in list.suppressions.iter().zip(unused) {
                *unused &= left.contains(&entry);
            }
        }
        let shown = folder.strip_prefix(context.metier.working_dir()).unwrap_or(folder);
        skills.push(ScannedSkill { path: path_text(shown), report });
    }
    if skills.is_empty() {
        return Err(CommandError::failed("nothing-to-scan", "no skill was found to scan")
            .help("name the folder of a skill, or use --all"));
    }
    if let Some(before) = &args.since {
        keep_new(&mut skills, &context.metier.working_dir().join(before))?;
    }
    let unused_suppressions = named.iter().flat_map(|list| &list.suppressions);
    let unused_suppressions = unused_suppressions
        .zip(unused.into_iter().flatten())
        .filter(|(_, unused)| *unused)
        .map(|(entry, _)| format!("{} {}", entry.rule, entry.fingerprint))
        .collect();
    let fail_on = match args.fail_on {
        Weight::Low => FindingSeverity::Low,
        Weight::Medium => FindingSeverity::Medium,
        Weight::High => FindingSeverity::High,
    };
    Ok(Box::new(Scanned { skills, unused_suppressions, format: args.format, fail_on }))
}

fn read_list(file: &PathBuf, context: &Context) -> Result<Suppressions> {
    let path = context.metier.working_dir().join(file);
    let refused = |error: String| {
        let message = format!("{} is not a list of accepted findings: {error}", path_text(&path));
        CommandError::failed("invalid-suppressions", message)
            .help("write {\"suppressions\": [{\"rule\", \"fingerprint\", \"reason\"}]}")
    };
    let bytes = metier::fs::read_bounded(&path, MAX_LIST_BYTES)
        .map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    Suppressions::parse(&text).map_err(|error| refused(error.to_string()))
}

/// Keeps the findings of the one skill that its older version did not have.
fn keep_new(skills: &mut [ScannedSkill], before: &std::path::Path) -> Result<()> {
    let [skill] = skills else {
        return Err(CommandError::usage("--since compares one skill with its older version")
            .help("name the folder of one skill"));
    };
    let old = scan_folder(before)?;
    skill.report.findings = skill.report.new_since(&old).into_iter().cloned().collect();
    Ok(())
}

impl Output for Scanned {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.format == Format::Sarif {
            let found = self.skills.iter().flat_map(|skill| {
                skill.report.findings.iter().map(|finding| (skill.path.as_str(), finding))
            });
            return write_json(&sarif::findings(found), out);
        }
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for skill in &self.skills {
            for finding in skill.report.open() {
                write_finding(&skill.path, finding, out)?;
            }
            let coverage = &skill.report.coverage;
            for unread in coverage.unread_programs() {
                let path = format!("{}/{}", skill.path, unread.file);
                writeln!(out, "{} ({})\n", unread_program_line(&path), unread.reason)?;
            }
            if coverage.findings_left_out > 0 {
                let more = count(coverage.findings_left_out, "more finding");
                let text = format!("{}: {more} of low or medium weight", safe(&skill.path));
                writeln!(out, "{}\n", paint(DIM, text))?;
            }
            if coverage.percent() < LOW_COVERAGE {
                let share = format!(
                    "{}: only {} % of its bytes could be inspected",
                    safe(&skill.path),
                    coverage.percent()
                );
                writeln!(out, "{}\n", paint(YELLOW, share))?;
            }
        }
        for entry in &self.unused_suppressions {
            writeln!(
                out,
                "{}",
                paint(YELLOW, format!("accepted, but not found: {}", safe(entry)))
            )?;
        }
        writeln!(out, "{}", self.closing_line())?;
        writeln!(out, "{}", paint(DIM, "No finding does not mean that a skill is safe."))
    }

    fn exit(&self) -> Exit {
        let fails = self.skills.iter().any(|skill| skill.report.worst() >= Some(self.fail_on));
        if fails { Exit::Findings } else { Exit::Done }
    }
}

impl Scanned {
    fn closing_line(&self) -> String {
        let open = |weight| {
            let all = self.skills.iter().flat_map(|skill| skill.report.open());
            all.filter(|finding| finding.severity == weight).count()
        };
        let accepted: usize = self
            .skills
            .iter()
            .map(|skill| skill.report.findings.len() - skill.report.open().count())
            .sum();
        let mut parts = Vec::new();
        for (weight, style) in [
            (FindingSeverity::High, RED),
            (FindingSeverity::Medium, YELLOW),
            (FindingSeverity::Low, DIM),
        ] {
            let number = open(weight);
            if number > 0 {
                parts.push(paint(style, format!("{number} {}", weight.as_str())));
            }
        }
        if accepted > 0 {
            parts.push(format!("{accepted} accepted"));
        }
        let scanned = count(self.skills.len(), "skill");
        if parts.is_empty() {
            return paint(GREEN, format!("{scanned} scanned, nothing found"));
        }
        format!("{scanned} scanned: {}", parts.join(", "))
    }
}

fn write_finding(folder: &str, finding: &ScanFinding, out: &mut dyn Write) -> io::Result<()> {
    let style = match finding.severity {
        FindingSeverity::High => RED,
        FindingSeverity::Medium => YELLOW,
        FindingSeverity::Low => DIM,
    };
    let weight = paint(style, finding.severity.as_str());
    let code = paint(BOLD, format!("[{}]", finding.rule));
    let Some(rule) = rule(finding.rule) else { return Ok(()) };
    writeln!(out, "{weight} {code} the skill {}", rule.what)?;
    let place = match finding.line {
        0 => format!("{folder}/{}", finding.file),
        line => format!("{folder}/{}:{line}:{}", finding.file, finding.column),
    };
    writeln!(out, "  --> {}", safe(&place))?;
    writeln!(out, "      {}", safe(&finding.evidence))?;
    if let Some(decoded) = &finding.decoded {
        writeln!(out, "      decodes to: {}", safe(decoded))?;
    }
    writeln!(out, "  help: {}\n", rule.advice)
}
