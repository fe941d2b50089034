//! Whether a script may start: the decision, an approval that was given beforehand, or a person.
//!
//! Without a terminal an open question ends here, with the command that lets exactly this request
//! pass, once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_policy::{Effect, Remembered, Scope};
use metier_sandbox::Network;
use metier_skill::Digest;
use metier_tools::ScriptLeave;

use super::ExecArgs;
use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::guard::{not_kept, now};
use crate::output::remark;
use crate::prompt::{self, Leave};
use crate::render::style::{BOLD, DIM, paint};
use crate::render::{duration, safe};

/// Nothing, or why not. Gives who answered, if somebody had to.
pub(super) fn allowed(
    args: &ExecArgs,
    context: &Context,
    leave: &ScriptLeave,
    json: bool,
) -> Result<Option<&'static str>> {
    let because = || leave.sentences().join("; ");
    match leave.effect() {
        Effect::Allow => return Ok(None),
        Effect::Deny => {
            let message = format!("the script may not run: {}", safe(&because()));
            let mut error = CommandError::failed("denied", message);
            error.exit = Exit::Denied;
            return Err(error.help(leave.decision().help().unwrap_or(
                "`metier explain run_script SCRIPT --skill NAME` names the rule and its file",
            )));
        }
        Effect::Ask => {}
    }
    let digest = leave.digest();
    let pending = pending_file(context, digest)?;
    // Good for one use: what was printed once lets one run pass.
    let approved = args.approve == Some(digest);
    if approved && waits(&pending) && metier_fs::take_file(&pending) {
        return Ok(Some("approve"));
    }
    if args.yes {
        return Ok(Some("yes"));
    }
    if !prompt::can_ask(json) {
        let message = format!("the script needs approval: {}", safe(&because()));
        if approved {
            // Printing the command anew would make it good again, and so for ever.
            return Err(CommandError::needs_approval(message).help(
                "this approval was used, or is older than a day: the same command without \
                 `--approve` asks anew",
            ));
        }
        let command = again(args, context, &digest);
        metier_fs::write_atomic(&pending, b"").map_err(|error| {
            let message = format!("{} cannot be written: {error}", path_text(&pending));
            CommandError::failed("state-unwritable", message)
        })?;
        return Err(CommandError::needs_approval(message)
            .help(format!("this lets exactly this request pass, once: {command}")));
    }
    let line =
        [&[args.script.as_str()], &*args.args.iter().map(String::as_str).collect::<Vec<_>>()];
    let line = line.concat().join(" ");
    let network = match leave.network() {
        Network::Open => ", with the network open",
        Network::Closed => "",
    };
    let (name, line) = (paint(BOLD, safe(&args.name)), paint(BOLD, safe(&line)));
    remark(&format!("{name} wants to run {line}{network}"));
    remark(&paint(DIM, safe(&because())));
    prompt::forget_typed();
    let lifetime = loop {
        let answer = prompt::ask(
            "Run it? [y]es once, [a]lways and everywhere for this content of the skill (`a 8h`: for \
             eight hours), [N]o",
        );
        match prompt::leave(&answer.unwrap_or_default()) {
            Some(Leave::Once) => return Ok(Some("once")),
            Some(Leave::Always(lifetime)) => break lifetime,
            Some(Leave::NoTime) => remark(duration::EXPECTED),
            None => {
                let mut error = CommandError::failed("rejected", "you said no");
                error.exit = Exit::Denied;
                return Err(error);
            }
        }
    };
    let lifetime = context.settings.execution.always.at_most(lifetime);
    let kept = leave
        .asked()
        .map(|(request, _)| Remembered::of(request, Scope::Everywhere, now(), lifetime));
    context
        .kept()?
        .change_answers(|answers| kept.for_each(|kept| answers.remember(kept)))
        .map_err(|error| not_kept(&error))?;
    Ok(Some("always"))
}

/// Where it is noted that a request waits for its approval.
fn pending_file(context: &Context, digest: Digest) -> Result<PathBuf> {
    let name = digest.to_string().replace(':', "-");
    Ok(context.user_folders()?.state.join("pending").join(name))
}

/// Whether a request still waits: nobody remembers for longer than a day what they were asked.
fn waits(pending: &Path) -> bool {
    const DAY: Duration = Duration::from_hours(24);
    metier_fs::modified(pending).is_ok_and(|at| at.elapsed().unwrap_or_default() < DAY)
}

/// The same command line with the approval in it.
fn again(args: &ExecArgs, context: &Context, digest: &Digest) -> String {
    let mut words = vec!["metier".to_owned()];
    if context.moved {
        words.push(format!("-C {}", quoted(&context.working_dir.to_string_lossy())));
    }
    words.extend(["exec".to_owned(), format!("--approve {digest}")]);
    if let Some(seconds) = args.timeout {
        words.push(format!("--timeout {seconds}"));
    }
    words.extend(args.find.words());
    words.extend([quoted(&args.name), quoted(&args.script)]);
    if !args.args.is_empty() {
        words.push("--".to_owned());
        words.extend(args.args.iter().map(|word| quoted(word)));
    }
    words.join(" ")
}

/// A word as any shell reads it back, in characters that a terminal shows as they are: what could
/// deceive who pastes it is spelled by `printf`.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if safe(word) == word {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    // A substitution loses the line ends at its end.
    let body = word.trim_end_matches('\n');
    let as_is = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !b"'\\%".contains(&byte);
    let spelled: String = body
        .bytes()
        .map(
            |byte| if as_is(byte) { char::from(byte).to_string() } else { format!("\\{byte:03o}") },
        )
        .collect();
    let ends = &word[body.len()..];
    let ends = if ends.is_empty() { String::new() } else { format!("'{ends}'") };
    format!("\"$(printf '{spelled}')\"{ends}")
}
