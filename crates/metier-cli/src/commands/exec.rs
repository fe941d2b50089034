//! `metier exec`: one script of a skill, under the policy and in the sandbox.
//!
//! The same request, decision, question and sandbox as when a model asks. Here are the flags and the
//! output; what a script prints is passed on as it comes.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use metier::agent::{Note, Observer, Record};
use metier::policy::Answer;
use metier::sandbox::{NetworkAccess, SandboxReport, StopReason};
use metier::skill::Digest;
use metier::skill::text::escape_lines;
use metier::tools::script::ScriptOutcome;
use metier::{ExecCall, Executed};

use crate::agent::console::{Answerer, Console};
use crate::agent::watch::Watcher;
use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{ApprovalAdvice, CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::shell::quoted;
use crate::render::style::{CYAN, DIM, RED, YELLOW, paint};
use crate::render::{count, safe};
use crate::source_arg::SourceArg;

/// Run one script of a skill in the sandbox, if the policy allows it.
///
/// The script runs in a directory of its own, so an argument that names an existing file is passed
/// as its absolute path; `WORKSPACE_DIR` is the project, read-only. What the script leaves in
/// `outputs` is kept. Without a terminal, a script that needs approval ends with exit code 3 and the
/// command that approves exactly this request.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier exec profile-csv scripts/profile_csv.py -- data.csv
  metier exec --yes --timeout 10 pdf scripts/fill.py -- form.pdf
  metier explain run_script scripts/fill.py --skill pdf     # would it be allowed, and why

Exit codes: 0 the script succeeded, 1 it failed, 3 it was not allowed to run.")]
pub(crate) struct ExecArgs {
    /// The skill.
    name: String,
    /// The script, by its path in the skill.
    script: String,
    /// Its arguments, after `--`.
    #[arg(last = true)]
    args: Vec<String>,
    /// Answer a question with yes, this once. A denial stays a denial.
    #[arg(long)]
    yes: bool,
    /// Approve the request with this digest, once.
    #[arg(long, value_name = "DIGEST")]
    approve: Option<Digest>,
    /// Seconds until the script is stopped; at most what the configuration allows.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    find: FindArgs,
}

struct Ran(Executed);

pub(crate) fn run(args: &ExecArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    context.metier.require_user_folders()?;
    let printer = Arc::new(Printer::new(json));
    let answerer = Answerer::new(args.yes, false, json);
    let watcher: Arc<dyn Watcher> = Arc::clone(&printer) as _;
    let console = Console::new(answerer, watcher, context.metier.workspace());
    let mut session = console.connect(context.finding(&args.find).session());
    if let Some(request) = args.approve {
        session = session.approve_request(request);
    }
    let call = ExecCall {
        skill: args.source.of(&args.name)?,
        script: args.script.clone(),
        args: args.args.clone(),
        timeout: args.timeout.map(Duration::from_secs),
    };
    let ran = session.exec(&call).map_err(|error| advised(error, args, context))?;
    printer.rest(&ran.outcome);
    Ok(Box::new(Ran(ran)))
}

/// The error, with the command that approves what was left open.
fn advised(error: metier::Error, args: &ExecArgs, context: &Context) -> CommandError {
    let approval = error.approval.clone();
    let error = CommandError::from(error);
    let Some(open) = approval else { return error };
    // Printing the command again would make it good again, and so for ever.
    if let Some(fault) = open.refused {
        return error.help(safe(&format!(
            "the approval does not count: {fault}; run the same command without `--approve` to be \
             asked again"
        )));
    }
    let command = again(args, context, &open.request);
    let mut error = error.help(format!("To approve this request once: {command}"));
    error.approval = Some(Box::new(ApprovalAdvice { digest: open.request, command }));
    error
}

/// The same command line with the approval in it.
fn again(args: &ExecArgs, context: &Context, request: &Digest) -> String {
    let mut words = context.command_words();
    words.extend(["exec".to_owned(), format!("--approve {request}")]);
    if let Some(seconds) = args.timeout {
        words.push(format!("--timeout {seconds}"));
    }
    words.extend(args.find.words());
    let skill = args.source.of(&args.name).unwrap_or_else(|_| args.name.clone());
    words.extend([quoted(&skill), quoted(&args.script)]);
    if !args.args.is_empty() {
        words.push("--".to_owned());
        words.extend(args.args.iter().map(|word| quoted(word)));
    }
    words.join(" ")
}

/// Prints what a script prints, as it comes.
struct Printer {
    json: bool,
    /// Bytes of each stream that were printed.
    printed: [AtomicUsize; 2],
}

impl Printer {
    fn new(json: bool) -> Self {
        Self { json, printed: [AtomicUsize::new(0), AtomicUsize::new(0)] }
    }

    /// Events end early, so that a run is never flooded; here all of it is wanted.
    fn rest(&self, outcome: &ScriptOutcome) {
        let Some(kept) = outcome.kept.as_ref().filter(|_| !self.json) else { return };
        let streams = [("stdout", &self.printed[0]), ("stderr", &self.printed[1])];
        let [out, err] = streams.map(|(name, printed)| {
            let stored = stored(&kept.join(name));
            (stored.len() as u64, rest_of(&stored, printed.load(Ordering::Relaxed)))
        });
        let _ = pass_on(&out.1, io::stdout().lock());
        let _ = pass_on(&err.1, io::stderr().lock());
        let report = &outcome.report;
        let missing =
            report.stdout.bytes.saturating_sub(out.0) + report.stderr.bytes.saturating_sub(err.0);
        if missing > 0 {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: {missing} bytes of the output are missing"));
        }
    }
}

impl Observer for Printer {
    fn event(&self, _: u32, _: &Record) {}

    fn note(&self, _: u32, note: &Note) {
        match note {
            Note::Warning(text) => {
                print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(text)));
            }
            Note::Output { stream, text } if !self.json => {
                let is_error = stream == "stderr";
                self.printed[usize::from(is_error)].fetch_add(text.len(), Ordering::Relaxed);
                // The reader may be gone; the report has it all.
                let _ = if is_error {
                    pass_on(text, io::stderr().lock())
                } else {
                    pass_on(text, io::stdout().lock())
                };
            }
            _ => {}
        }
    }
}

impl Watcher for Printer {
    fn pause(&self) {}

    fn unanswered(&self) {
        print_note("");
    }
}

/// A stored stream, as far as it was stored.
fn stored(file: &Path) -> Vec<u8> {
    const MAX_BYTES: u64 = 1 << 30;
    metier::fs::read_bounded(file, MAX_BYTES).unwrap_or_default()
}

/// What of a stored stream was not printed yet. Events are text, so it is counted in text: a byte
/// that is not text was printed as three.
fn rest_of(stored: &[u8], printed: usize) -> String {
    String::from_utf8_lossy(stored).get(printed..).unwrap_or_default().to_owned()
}

/// What a script printed: into a pipe as it is, to a terminal without what could take that over.
fn pass_on(text: &str, mut to: impl Write + IsTerminal) -> io::Result<()> {
    if to.is_terminal() {
        to.write_all(escape_lines(text).as_bytes())?;
    } else {
        to.write_all(text.as_bytes())?;
    }
    to.flush()
}

impl Ran {
    fn report(&self) -> &SandboxReport {
        &self.0.outcome.report
    }

    /// How it was approved, where it had to be.
    fn answered(&self) -> Option<&str> {
        let approval = self.0.approval.as_ref()?;
        Some(match (&approval.answer, approval.by.as_str()) {
            (Answer::Always | Answer::AlwaysFor(_) | Answer::AlwaysScript(_), _) => "always",
            (_, "user") => "once",
            (_, by) => by,
        })
    }

    fn ending(&self) -> Option<String> {
        let report = self.report();
        if let Some(reason) = report.stopped {
            return Some(format!("the script was stopped: {reason}"));
        }
        match (report.exit_code, report.signal) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("the script ended with exit code {code}")),
            (None, Some(signal)) => Some(format!("signal {signal} ended the script")),
            (None, None) => Some("the script was killed".to_owned()),
        }
    }
}

impl Output for Ran {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report();
        let outputs: Vec<String> =
            self.0.outcome.outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let kept = self.0.outcome.kept.as_ref().map(|path| path.to_string_lossy().into_owned());
        let document = serde_json::json!({
            "skill": self.0.skill,
            "exit_code": report.exit_code,
            "stdout": report.stdout.text,
            "stderr": report.stderr.text,
            "timed_out": report.timed_out,
            "tier": report.tier,
            "report": report,
            "outputs": outputs,
            "kept": kept,
            "removed": self.0.outcome.removed,
            "outputs_fault": self.0.outcome.outputs_fault,
            "left_out": self.0.outcome.left_out,
            "warnings": self.0.outcome.warnings,
            "hint": self.0.outcome.hint,
            "network": self.0.network,
            "request": self.0.request,
            "effect": self.0.effect,
            "answered": self.answered(),
        });
        write_json(&document, out)
    }

    fn human(&self, _: &mut dyn Write) -> io::Result<()> {
        let report = self.report();
        for warning in &self.0.outcome.warnings {
            print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(warning)));
        }
        if let Some(ending) = self.ending() {
            print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(&ending)));
        }
        if let Some(fault) = &self.0.outcome.outputs_fault {
            print_note(&format!("{}: {}", paint(RED, "error"), safe(fault)));
        }
        for removed in &self.0.outcome.removed {
            let warning = paint(YELLOW, "warning");
            print_note(&format!("{warning}: removed from outputs: {}", safe(removed)));
        }
        if let Some(hint) = self.0.outcome.hint {
            print_note(&format!("{}: {hint}", paint(CYAN, "help")));
        }
        if let Some(kept) = &self.0.outcome.kept {
            print_note(&paint(DIM, format!("kept in {}", path_text(kept))));
        }
        for path in &self.0.outcome.outputs {
            print_note(&format!("  {}", path_text(path)));
        }
        let tier = report.tier;
        let masked = match report.masked {
            0 => String::new(),
            number => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                format!(", {} masked", count(number, "secret"))
            }
        };
        let network = match self.0.network {
            NetworkAccess::Open => ", network open",
            NetworkAccess::Closed => "",
        };
        let time = report.elapsed.as_secs_f64();
        print_note(&paint(
            DIM,
            format!(
                "{} in {time:.1} s, sandbox {tier}{network}{masked}",
                safe(&self.0.skill.to_string())
            ),
        ));
        Ok(())
    }

    fn exit(&self) -> Exit {
        match self.report() {
            report if report.stopped == Some(StopReason::Cancelled) => Exit::Interrupted,
            report if report.succeeded() && self.0.outcome.outputs_fault.is_none() => Exit::Done,
            _ => Exit::Findings,
        }
    }
}
