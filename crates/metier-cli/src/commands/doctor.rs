//! `metier doctor`: one page about the skills here, with what is wrong with them and how to fix it.
//!
//! `examine` looks at each skill, `findings` at the scan and at several skills together, `page` is
//! the form for people. Judging is the libraries'; this file puts the document together.

mod examine;
mod findings;
mod page;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use clap::Args;
use metier::Metier;
use metier::registry::{RootReport, Scan, parallel};
use metier::sandbox::{SandboxProbe, Tier};
use metier::skill::Severity;
use serde::Serialize;

use self::examine::{Examined, SkillRow, Tokens};
use self::findings::Finding;
use crate::context::{Context, FindArgs};
use crate::error::Exit;
use crate::output::{Output, write_json, write_rows};
use crate::progress::Progress;

/// Show what is wrong with the skills here, what they cost, and how to fix each problem.
///
/// One page: the roots, the number of skills, what they cost a model in tokens, skills that are
/// ignored, shadowed or cannot be loaded, copies in several agents' folders, missing files that a
/// body mentions, and how strong the sandbox is on this machine. Bodies are read for this; nothing
/// is changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier doctor
  metier doctor --all              every skill's cost and every finding
  metier doctor --root ./skills    a folder of skills
  metier doctor --json

Exit code 0 means that every skill works, though there may be warnings and notes; 1 that a skill is
ignored or cannot be loaded, or that a root cannot be searched (with --deny-warnings: or that there
is a warning).")]
pub(crate) struct DoctorArgs {
    /// Show every skill's cost and every finding, not only the first of each kind.
    #[arg(long, short)]
    all: bool,
    /// Count warnings as errors.
    #[arg(long)]
    deny_warnings: bool,
    #[command(flatten)]
    find: FindArgs,
}

/// The document.
#[derive(Serialize)]
struct Doctor {
    roots: Vec<RootReport>,
    /// The dearest first.
    skills: Vec<SkillRow>,
    /// The worst first.
    findings: Vec<Finding>,
    totals: Totals,
    sandbox: Sandbox,
    #[serde(skip)]
    all: bool,
    #[serde(skip)]
    deny_warnings: bool,
    /// Usual folders that do not exist.
    #[serde(skip)]
    absent: usize,
    /// What was found, kept to the end of the process: freeing tens of thousands of skills only takes time.
    #[serde(skip)]
    _scan: Arc<Scan>,
}

/// What holds scripts on this machine.
#[derive(Serialize)]
struct Sandbox {
    /// The least tier that a script may run in here.
    least: Tier,
    #[serde(flatten)]
    probe: Option<SandboxProbe>,
    /// Why it could not be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl Sandbox {
    fn of(metier: &Metier) -> Self {
        let least = metier.min_tier();
        match metier.probe_sandbox() {
            Ok(probe) => Self { least, probe: Some(probe), fault: None },
            Err(error) => Self { least, probe: None, fault: Some(error.message) },
        }
    }
}

#[derive(Serialize)]
struct Totals {
    /// `SKILL.md` files reached.
    found: usize,
    skills: usize,
    enabled: usize,
    /// Those that a model sees in every request.
    listed: usize,
    /// Those that a model sees while one of their files is worked on.
    conditional: usize,
    ignored: usize,
    shadowed: usize,
    copies: usize,
    /// Of listed skills, and of all bodies.
    tokens: Tokens,
    errors: usize,
    warnings: usize,
    notes: usize,
}

pub(crate) fn run(args: &DoctorArgs, context: &Context) -> Box<dyn Output> {
    let metier = context.finding(&args.find);
    let scan = metier.skills();
    let index = &scan.index;
    // The shadowed ones too: they can be reached, and so can be broken.
    let entries: Vec<_> = index.entries().iter().chain(index.shadowed()).collect();
    let progress = Progress::new("reading skills", entries.len());
    let examined: Vec<Examined> = parallel::map(
        entries,
        16,
        || (),
        |(), entry| {
            let examined = examine::examine(entry, &metier, &scan);
            progress.step();
            examined
        },
    );
    drop(progress);
    let mut findings = findings::of_scan(&scan);
    findings.extend(findings::of_trust(&scan, &metier.trusted_folders().unwrap_or_default()));
    findings.extend(findings::of_plugins(&metier));
    findings.extend(findings::of_records(&metier));
    findings.extend(findings::of_rules(&metier, &scan));
    let mut skills = Vec::with_capacity(index.entries().len());
    // Growing through ever larger blocks of fresh memory takes longer than counting.
    findings.reserve(examined.iter().map(|it| it.findings.len()).sum());
    for (at, examined) in examined.into_iter().enumerate() {
        findings.extend(examined.findings);
        if at < index.entries().len() {
            skills.push(examined.row);
        }
    }
    skills.sort_by(|a, b| b.tokens.sum().cmp(&a.tokens.sum()).then_with(|| a.id.cmp(&b.id)));
    // Stable: inside a severity and a code the order of the scan stays.
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    let report = &scan.report;
    let known = |path| report.roots.iter().any(|root| &root.path == path);
    let absent = metier.roots().iter().filter(|root| !known(&root.path)).count();
    let number = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let totals = Totals {
        found: report.found,
        skills: skills.len(),
        enabled: skills.iter().filter(|skill| skill.enabled).count(),
        listed: skills.iter().filter(|skill| skill.listed).count(),
        conditional: skills.iter().filter(|skill| skill.conditional).count(),
        ignored: report.ignored.len(),
        shadowed: index.shadowed().len(),
        copies: index.entries().iter().map(|entry| entry.copies.len()).sum(),
        tokens: Tokens {
            catalog: skills.iter().filter(|it| it.listed).map(|it| it.tokens.catalog).sum(),
            body: skills.iter().map(|it| it.tokens.body).sum(),
        },
        errors: number(Severity::Error),
        warnings: number(Severity::Warning),
        notes: number(Severity::Note),
    };
    Box::new(Doctor {
        roots: report.roots.clone(),
        skills,
        findings,
        totals,
        sandbox: Sandbox::of(&metier),
        all: args.all,
        deny_warnings: args.deny_warnings,
        absent,
        _scan: Arc::clone(&scan),
    })
}

impl Doctor {
    /// The compact document, rendered on all cores: of tens of thousands of skills it has tens of
    /// megabytes. Exactly what `Serialize` gives.
    fn compact_json(&self, out: &mut dyn Write) -> io::Result<()> {
        const ROW_BYTES: usize = 512;
        let Self { roots, skills, findings, totals, sandbox, .. } = self;
        out.write_all(b"{\"roots\":")?;
        serde_json::to_writer(&mut *out, roots)?;
        out.write_all(b",\"skills\":")?;
        write_rows(skills, ROW_BYTES, append_json, out)?;
        out.write_all(b",\"findings\":")?;
        write_rows(findings, ROW_BYTES, append_json, out)?;
        out.write_all(b",\"totals\":")?;
        serde_json::to_writer(&mut *out, totals)?;
        out.write_all(b",\"sandbox\":")?;
        serde_json::to_writer(&mut *out, sandbox)?;
        out.write_all(b"}")
    }
}

fn append_json(row: &impl Serialize, bytes: &mut Vec<u8>) {
    // Into memory, and of text and numbers alone: neither can fail.
    let _ = serde_json::to_writer(bytes, row);
}

impl Output for Doctor {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        if io::stdout().is_terminal() { write_json(self, out) } else { self.compact_json(out) }
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_page(out)
    }

    fn exit(&self) -> Exit {
        let bad = self.totals.errors > 0 || (self.deny_warnings && self.totals.warnings > 0);
        if bad { Exit::Findings } else { Exit::Done }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use metier::skill::Code;

    use super::*;

    #[test]
    fn the_compact_document_is_what_the_serialiser_gives() {
        let row = |name: &str| SkillRow {
            id: format!("user:{name}"),
            name: name.to_owned(),
            source: metier::skill::Source::User,
            path: format!("/home/{name}"),
            enabled: true,
            listed: true,
            conditional: false,
            tokens: Tokens { catalog: 1, body: 2 },
            body_lines: 3,
        };
        let finding = |path: &str| {
            let (code, severity) = (Code::BodyTooLong, Severity::Warning);
            Finding::new(code, severity, Path::new(path), "the \"body\" is too long")
        };
        let dir = tempfile::tempdir().expect("a directory");
        let metier = Metier::builder(&dir).without_user_folders().open().expect("opens");
        let scan = metier.skills();
        for (skills, findings) in [(vec![], vec![]), (vec!["a", "b"], vec!["/a", "/b"])] {
            let doctor = Doctor {
                roots: Vec::new(),
                skills: skills.into_iter().map(row).collect(),
                findings: findings.into_iter().map(finding).collect(),
                totals: Totals {
                    found: 1,
                    skills: 2,
                    enabled: 3,
                    listed: 4,
                    conditional: 5,
                    ignored: 6,
                    shadowed: 7,
                    copies: 8,
                    tokens: Tokens::default(),
                    errors: 9,
                    warnings: 10,
                    notes: 11,
                },
                sandbox: Sandbox {
                    least: metier.min_tier(),
                    probe: None,
                    fault: Some("no".into()),
                },
                all: false,
                deny_warnings: false,
                absent: 0,
                _scan: Arc::clone(&scan),
            };
            let mut compact = Vec::new();
            doctor.compact_json(&mut compact).expect("writes");
            let serialised = serde_json::to_string(&doctor).expect("serialises");
            assert_eq!(String::from_utf8(compact).expect("text"), serialised);
        }
    }
}
