//! `metier exec`: one script of a skill, under the policy and in the sandbox.
//!
//! The same request, decision and box as when a model asks. Running is `metier-tools`', confining
//! `metier-sandbox`'s; here are the flags and the output, in `approval` the question to a person.

mod approval;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use metier_policy::{Effect, Invoker, Permission, Request, Situation, Subject};
use metier_registry::{Entry, Scan};
use metier_sandbox::{Network, Probe, Report, RunEvent, SearchPath, Secrets, Stream};
use metier_skill::text::escape_lines;
use metier_skill::{Digest, RelPath};
use metier_tools::ground::{acting_skill, loaded_skill};
use metier_tools::requirements::Requirements;
use metier_tools::script::{Host, ScriptCall, ScriptOutcome, as_path, run_script, sweep};
use metier_tools::{ScriptLeave, data_key, shown_workspace};

use self::approval::allowed;
pub(crate) use self::approval::quoted;
use crate::commands::content::{enabled, find};
use crate::commands::list::path_text;
use crate::context::{Context, FindArgs, own_binary, program_dirs, promised_variable};
use crate::error::{CommandError, Exit, Result};
use crate::guard::{Guard, unusable};
use crate::output::{Output, remark, write_json};
use crate::render::style::{CYAN, DIM, YELLOW, paint};
use crate::render::{count, safe};

/// Run one script of a skill, if the policy allows it, in the sandbox.
///
/// The script runs in a directory of its own, so an argument that names an existing file is passed
/// as its absolute path; the project is in `WORKSPACE_DIR`, readable. What the script leaves in
/// `outputs` is kept. Without a terminal an open question ends with exit code 3 and the command that
/// lets exactly this request pass.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier exec profile-csv scripts/profile_csv.py -- data.csv
  metier exec --yes --timeout 10 pdf scripts/fill.py -- form.pdf
  metier explain run_script scripts/fill.py --skill pdf     # would it be allowed, and why

Exit codes: 0 the script ended well, 1 it did not, 3 it was not allowed to run.")]
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
    /// Let the request with this digest pass, once.
    #[arg(long, value_name = "DIGEST")]
    approve: Option<Digest>,
    /// Seconds until the script is stopped; at most what the configuration allows.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    find: FindArgs,
}

struct Ran {
    skill: String,
    outcome: ScriptOutcome,
    leave: ScriptLeave,
    answered: Option<&'static str>,
}

pub(crate) fn run(args: &ExecArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let scan = context.scan(&args.find);
    let entry = enabled(find(&args.name, &scan)?)?;
    let script = RelPath::new(&args.script).map_err(|fault| {
        CommandError::usage(format!("`{}` is no path in a skill: {fault}", safe(&args.script)))
    })?;
    let words: Vec<String> =
        args.args.iter().map(|word| as_path(word, &context.working_dir)).collect();
    let guard = context.guard(&args.find, &scan)?;
    let (request, content) = request(entry, &script, [&args.args, &words], &guard)?;
    let loaded = [loaded_skill(entry, &guard.policy, &guard.trusted)];
    let situation = Situation { loaded: &loaded, memory: &guard.answers, now: guard.now };
    let leave = ScriptLeave::judge(&guard.policy, request, &situation);
    if leave.effect() != Effect::Deny {
        // Nobody is asked about what cannot run.
        preflight(entry, context, &scan)?;
    }
    let answered = allowed(args, context, &leave, json)?;
    let call = ScriptCall { entry, content, script: &script, args: &words };
    let outcome = started(args, context, &call, leave.network(), json)?;
    Ok(Box::new(Ran { skill: entry.id().to_string(), outcome, leave, answered }))
}

/// The request about the arguments as they were typed and as the script gets them: a rule about
/// either holds.
fn request(
    entry: &Entry,
    script: &RelPath,
    words: [&[String]; 2],
    guard: &Guard,
) -> Result<(Request, Digest)> {
    let mut subjects = Vec::new();
    for words in words {
        let subject = Subject::script(entry.id(), script.clone(), words.to_vec())
            .map_err(|error| unusable(&error))?;
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let skill = acting_skill(entry, &guard.trusted).map_err(|error| {
        let message = format!("the content of {} cannot be told: {error}", entry.id());
        CommandError::failed("no-digest", safe(&message).into_owned())
            .help("a skill whose content is not known can be neither trusted nor approved")
    })?;
    let content = skill.digest;
    let request = Request::new(Permission::RunScript, subjects).by(Invoker::User).acting_for(skill);
    Ok((request, content))
}

/// What the skill says it needs must be there.
fn preflight(entry: &Entry, context: &Context, scan: &Scan) -> Result<()> {
    let passed = &context.settings.execution.env;
    let has_variable =
        |name: &str| passed.iter().any(|known| known == name) && promised_variable(name).is_some();
    let missing =
        Requirements::of(&entry.skill).missing_on(&search_path(context), has_variable, |name| {
            scan.index.find(name).is_some()
        });
    for name in missing.perhaps {
        remark(&format!(
            "{}: the skill's `compatibility` speaks of {}, which is not installed",
            paint(YELLOW, "warning"),
            safe(&name)
        ));
    }
    if missing.certain.is_empty() {
        return Ok(());
    }
    let message = format!("the skill needs {}", safe(&missing.certain.join(", ")));
    Err(CommandError::failed("requirement-missing", message).help(
        "install the program; pass a variable by `execution.env` in your configuration; \
         `metier search` finds skills",
    ))
}

pub(crate) fn search_path(context: &Context) -> SearchPath {
    let home = context.user.as_ref().map(|user| user.home.clone());
    let workspace = context.workspace();
    // Everything would be untrusted below a workspace that holds the home directory or is `/`.
    let holds_all = workspace.parent().is_none()
        || home.as_ref().is_some_and(|home| home.starts_with(&workspace));
    let untrusted = if holds_all { Vec::new() } else { vec![workspace] };
    SearchPath { dirs: program_dirs(), home, untrusted }
}

fn started(
    args: &ExecArgs,
    context: &Context,
    call: &ScriptCall<'_>,
    network: Network,
    json: bool,
) -> Result<ScriptOutcome> {
    let refused = |error: &metier_sandbox::Error| {
        CommandError::failed(error.code(), safe(&error.to_string()).into_owned())
            .help(safe(&error.hint()).into_owned())
    };
    let state = &context.user_folders()?.state;
    let helper = own_binary()?;
    let runs = state.join("exec");
    sweep(&runs);
    let probe = Probe::run(&helper, &runs).map_err(|error| refused(&error))?;
    let tier =
        probe.tier_for(context.settings.execution.min_tier).map_err(|error| refused(&error))?;
    let run_dir = runs.join(format!("{}-{}", crate::guard::now().0, std::process::id()));
    let data_dir = state.join("data").join(data_key(call.entry));
    let settings = &context.settings.execution;
    let variables: BTreeMap<String, String> = settings
        .env
        .iter()
        .filter_map(|name| Some((name.clone(), promised_variable(name)?)))
        .collect();
    let secrets =
        Secrets::new(variables.iter().filter(|(name, _)| is_secret(name)).map(|(_, v)| v));
    let asked = args.timeout.map(|seconds| Duration::from_secs(seconds.max(1)));
    let timeout = asked.map_or(settings.timeout, |asked| asked.min(settings.timeout));
    let workspace = context.workspace();
    let user = context.user_folders()?;
    let own = [state.as_path(), user.cache.as_path()];
    let shown = shown_workspace(&workspace, Some(&user.home), &own);
    if shown.is_none() {
        remark(&format!(
            "{}: the script does not see {}: it holds what no rule opens",
            paint(YELLOW, "warning"),
            path_text(&workspace)
        ));
    }
    let host = Host {
        helper: &helper,
        tier,
        search: search_path(context),
        run_dir: &run_dir,
        data_dir: &data_dir,
        workspace: shown.as_deref(),
        variables,
        secrets: Arc::new(secrets),
        timeout,
        network,
        cancel: metier_cancel::CancelToken::new(),
    };
    let printed = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let print = |event: RunEvent| {
        if let RunEvent::Output { stream, text } = event
            && !json
        {
            let count = &printed[usize::from(matches!(stream, Stream::Stderr))];
            count.fetch_add(text.len(), Ordering::Relaxed);
            // Nobody may be reading; the report has it all.
            let _ = match stream {
                Stream::Stdout => pass_on(&text, io::stdout().lock()),
                Stream::Stderr => pass_on(&text, io::stderr().lock()),
            };
        }
    };
    let outcome = run_script(call, &host, &print).map_err(|error| {
        CommandError::failed(error.code(), safe(&error.to_string()).into_owned())
            .help(safe(&error.help()).into_owned())
    })?;
    if let Some(kept) = outcome.kept.as_ref().filter(|_| !json) {
        // Events end early, so that nobody who follows a run is drowned; here all of it is wanted.
        let [out, err] = printed.map(AtomicUsize::into_inner);
        let [out, err] = [("stdout", out), ("stderr", err)].map(|(name, printed)| {
            let stored = stored(&kept.join(name));
            (stored.len() as u64, rest_of(&stored, printed))
        });
        let _ = pass_on(&out.1, io::stdout().lock());
        let _ = pass_on(&err.1, io::stderr().lock());
        let report = &outcome.report;
        let missing =
            report.stdout.bytes.saturating_sub(out.0) + report.stderr.bytes.saturating_sub(err.0);
        if missing > 0 {
            let warning = paint(YELLOW, "warning");
            remark(&format!("{warning}: {missing} bytes of its output were left out"));
        }
    }
    Ok(outcome)
}

/// A stored stream, as far as it was stored.
fn stored(file: &Path) -> Vec<u8> {
    const LARGEST: u64 = 1 << 30;
    metier_fs::read_bounded(file, LARGEST).unwrap_or_default()
}

/// What of a stored stream was not printed yet. Events are text, so it is counted in text: a byte
/// that is none was printed as three.
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

/// Whether a variable's value is not to be shown: every one that was passed, unless its name says
/// that it is harmless.
pub(crate) fn is_secret(name: &str) -> bool {
    const PLAIN: &[&str] = &["LANG", "LANGUAGE", "TZ", "TERM", "CI", "DEBUG", "NO_COLOR", "EDITOR"];
    const ENDS: &[&str] = &["_NAME", "_DIR", "_PATH", "_HOME", "_MODE", "_LEVEL", "_REGION"];
    let name = name.to_ascii_uppercase();
    let plain = PLAIN.contains(&name.as_str())
        || name.starts_with("LC_")
        || ENDS.iter().any(|end| name.ends_with(end));
    !plain
}

impl Ran {
    fn report(&self) -> &Report {
        &self.outcome.report
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
            (None, None) => Some("the script did not end by itself".to_owned()),
        }
    }
}

impl Output for Ran {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report();
        let outputs: Vec<String> =
            self.outcome.outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let kept = self.outcome.kept.as_ref().map(|path| path.to_string_lossy().into_owned());
        let document = serde_json::json!({
            "skill": self.skill,
            "exit_code": report.exit_code,
            "stdout": report.stdout.text,
            "stderr": report.stderr.text,
            "timed_out": report.timed_out,
            "tier": report.tier,
            "report": report,
            "outputs": outputs,
            "kept": kept,
            "left_out": self.outcome.left_out,
            "hint": self.outcome.hint,
            "network": self.leave.network(),
            "request": self.leave.digest(),
            "effect": self.leave.effect(),
            "answered": self.answered,
        });
        write_json(&document, out)
    }

    fn human(&self, _: &mut dyn Write) -> io::Result<()> {
        let report = self.report();
        if let Some(ending) = self.ending() {
            remark(&format!("{}: {}", paint(YELLOW, "warning"), safe(&ending)));
        }
        if let Some(hint) = self.outcome.hint {
            remark(&format!("{}: {hint}", paint(CYAN, "help")));
        }
        if let Some(kept) = &self.outcome.kept {
            remark(&paint(DIM, format!("kept in {}", path_text(kept))));
        }
        for path in &self.outcome.outputs {
            remark(&format!("  {}", path_text(path)));
        }
        let tier = report.tier;
        let masked = match report.masked {
            0 => String::new(),
            number => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                format!(", {} masked", count(number, "secret"))
            }
        };
        let network = match self.leave.network() {
            Network::Open => ", network open",
            Network::Closed => "",
        };
        let time = report.elapsed.as_secs_f64();
        remark(&paint(
            DIM,
            format!("{} in {time:.1} s, sandbox {tier}{network}{masked}", safe(&self.skill)),
        ));
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.report().succeeded() { Exit::Done } else { Exit::Findings }
    }
}
