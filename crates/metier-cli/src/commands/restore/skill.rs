//! Restoring one skill from a backup: the plan, the question, and what was done.
//! Moving is `metier-pack`'s for a skill with records, and `metier-registry`'s for others.

use std::io::{self, Write};
use std::path::Path;

use metier::fs::entry_kind;
use metier::pack::{Overwrite, PlanView, PlannedSkill, SignerChange};
use metier::registry::manage::{Backup, Backups, ManageError};
use metier::skill::Source;
use serde::Serialize;

use crate::commands::list::path_text;
use crate::commands::plan_consent::{OnFindings, PlanQuestion, consent, rejected};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::plan::{own_file_lines, plan_lines};
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::{safe, shell};

/// What was asked for on the command line.
pub(super) struct RestoreRequest<'a> {
    pub(super) name: &'a str,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) accept_signer: bool,
    pub(super) json: bool,
}

#[derive(Serialize)]
pub(super) struct RestoredSkill {
    dry_run: bool,
    skill: String,
    path: String,
    backup: String,
    /// Whether another version stands there, which goes to a backup.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaced: bool,
    /// Files in its folder that no installation put there, and that are only in that backup afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    backup_files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    /// The plan, for people.
    #[serde(skip)]
    view: Option<PlanView>,
}

pub(super) fn run(
    backups: &Backups,
    backup: &Backup,
    asked: &RestoreRequest<'_>,
    context: &Context,
) -> Result<RestoredSkill> {
    let overwrite = if asked.force { Overwrite::Replace } else { Overwrite::Refuse };
    let signer = if asked.accept_signer { SignerChange::Accept } else { SignerChange::Refuse };
    let plan = context.metier.plan_restore(backup, overwrite, signer)?;
    let mut restored = RestoredSkill::of(backup, plan.as_ref().map(|plan| plan.view()));
    check_place(backup, asked, context)?;
    if asked.dry_run {
        let path = Path::new(&backup.path);
        if plan.is_none() && entry_kind(path).is_some() {
            return Err(occupied(ManageError::Exists(path.to_owned())));
        }
        return Ok(RestoredSkill { dry_run: true, ..restored });
    }
    // One that was installed comes back with its records.
    if let Some(mut plan) = plan {
        let question = PlanQuestion {
            question: "Restore?",
            doing: "restoring",
            command: command(asked, asked.name, context),
            json: asked.json,
            yes: asked.yes,
            accept_findings: false,
            on_findings: OnFindings::Stop,
        };
        consent(&mut plan, &question)?;
        context.metier.carry_out(plan)?;
        return Ok(restored);
    }
    if !asked.yes {
        if !prompt::can_ask(asked.json) {
            let name = safe(backup.skill.name.as_str());
            let message = format!("restoring {name} needs your confirmation");
            let help = command(asked, asked.name, context);
            return Err(CommandError::needs_approval(message)
                .help(format!("see it with --dry-run; then: {help}")));
        }
        print_note(&restored.line("restore"));
        if !prompt::confirm("Restore?") {
            return Err(rejected());
        }
    }
    let done = backups.restore(backup).map_err(occupied)?;
    restored.path = done.path.to_string_lossy().into_owned();
    restored.left = done.left.map(|left| left.to_string_lossy().into_owned());
    Ok(restored)
}

/// The command that would restore `what` without a question.
fn command(asked: &RestoreRequest<'_>, what: &str, context: &Context) -> String {
    let mut words = context.command_words();
    words.push("restore --yes".to_owned());
    words.extend(asked.force.then(|| "--force".to_owned()));
    words.extend(asked.accept_signer.then(|| "--accept-signer".to_owned()));
    words.push(shell::quoted(what));
    words.join(" ")
}

/// An error where a bare name in a project means a backup of another place and no one is asked: what is restored would
/// count in every project.
fn check_place(backup: &Backup, asked: &RestoreRequest<'_>, context: &Context) -> Result<()> {
    let is_bare = asked.name.rsplit_once('@').map_or(asked.name, |(name, _)| name)
        == backup.skill.name.as_str();
    if !is_bare || backup.skill.source == Source::Project || context.metier.repository().is_none() {
        return Ok(());
    }
    let place = path_text(backup.path.as_ref());
    let name = safe(backup.skill.name.as_str());
    let message = format!("there is no backup of `{name}` of this project, but one of {place}");
    if asked.yes || !prompt::can_ask(asked.json) {
        let number = asked.name.rsplit_once('@').map_or(String::new(), |(_, at)| format!("@{at}"));
        let id = format!("{}{number}", backup.skill);
        let error = CommandError::failed("other-place", message);
        return Err(error.help(format!("to restore that: {}", command(asked, &id, context))));
    }
    print_note(&format!("{}: {message}", paint(YELLOW, "note")));
    Ok(())
}

fn occupied(error: ManageError) -> CommandError {
    let help = match error {
        ManageError::Exists(_) => Some("move it away first; the backup stays as it is"),
        ManageError::Io { .. } => {
            Some("the backup stays as it is; check the permissions and the free space there")
        }
        _ => None,
    };
    let error = CommandError::from(metier::Error::from(error));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

impl RestoredSkill {
    fn of(backup: &Backup, view: Option<&PlanView>) -> Self {
        let planned = view.and_then(|view| view.skills.first());
        let is_replaced = |it: &PlannedSkill| it.was.is_some() || it.overrides.is_some();
        Self {
            dry_run: false,
            skill: backup.skill.to_string(),
            path: planned.map_or_else(|| backup.path.clone(), |skill| skill.path.clone()),
            backup: backup.id.clone(),
            replaced: planned.is_some_and(is_replaced),
            backup_files: planned.map(|skill| skill.backup_files.clone()).unwrap_or_default(),
            left: None,
            view: view.cloned(),
        }
    }

    fn line(&self, word: &str) -> String {
        let skill = paint(BOLD, safe(&self.skill));
        format!("{} {skill}  {}", paint(GREEN, word), path_text(self.path.as_ref()))
    }
}

impl Output for RestoredSkill {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.dry_run {
            let lines = self.view.as_ref().map_or_else(|| vec![self.line("restore")], plan_lines);
            for line in lines {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
            print_note(&paint(DIM, "nothing was changed"));
            return Ok(());
        }
        writeln!(out, "{}", self.line("restored"))?;
        for line in self.view.iter().flat_map(|view| &view.skills).flat_map(own_file_lines) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        if self.replaced {
            let name = self.skill.strip_prefix("project:").unwrap_or(&self.skill);
            let note =
                format!("what stood there is in a backup: metier restore {}", shell::quoted(name));
            print_note(&paint(DIM, note));
        }
        if let Some(left) = &self.left {
            print_note(&format!(
                "{}: {} could not be removed",
                paint(YELLOW, "warning"),
                safe(left)
            ));
        }
        Ok(())
    }
}
