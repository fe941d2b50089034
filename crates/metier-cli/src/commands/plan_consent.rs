//! Asking a person about a plan, for `install`, `update`, `uninstall` and `requests approve`: the plan first, then
//! the findings that stop it as a question of their own, then the change itself.
//!
//! `--yes` answers the last question and never the one about findings.

use metier::pack::{InstallPlan, PlanView};

use crate::agent::signal::Interrupt;
use crate::error::{CommandError, Result};
use crate::output::print_note;
use crate::prompt;
use crate::render::findings::stopping_lines;
use crate::render::plan::plan_lines;
use crate::render::style::{DIM, paint};
use crate::render::{count, safe};

/// What is asked, and what was answered on the command line.
pub(super) struct PlanQuestion<'a> {
    /// The question itself.
    pub(super) question: &'a str,
    /// What is being done, for the message where no one can be asked.
    pub(super) doing: &'a str,
    /// The command that would have answered it.
    pub(super) command: String,
    pub(super) json: bool,
    pub(super) yes: bool,
    pub(super) accept_findings: bool,
    pub(super) on_findings: OnFindings,
}

/// What becomes of skills with findings that no one accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFindings {
    /// Nothing is changed at all.
    Stop,
    /// They stay as they are, and the others go on.
    HoldBack,
}

/// Whether a person saw the plan before saying yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanSeen {
    /// On a terminal, before the question.
    Shown,
    /// It was agreed to beforehand, or there was nothing to agree to.
    NotShown,
}

/// Gets a plan agreed to; an error where no one can be asked, or the answer is no.
pub(super) fn consent(plan: &mut InstallPlan, asked: &PlanQuestion<'_>) -> Result<PlanSeen> {
    if !plan.view().changes_skills() {
        return Ok(PlanSeen::NotShown);
    }
    let can_ask = prompt::can_ask(asked.json);
    if !asked.yes {
        if !can_ask {
            return Err(needs_consent(plan.view(), asked));
        }
        show(plan.view());
    }
    settle_findings(plan, asked, can_ask)?;
    if asked.yes || !plan.view().changes_skills() {
        return Ok(PlanSeen::NotShown);
    }
    if confirmed(asked.question)? { Ok(PlanSeen::Shown) } else { Err(rejected()) }
}

/// Whether a person says yes; an error where the command was cancelled meanwhile.
fn confirmed(question: &str) -> Result<bool> {
    let is_yes = prompt::confirm(question);
    Interrupt::check_sources()?;
    Ok(is_yes)
}

fn show(view: &PlanView) {
    print_note(&paint(DIM, format!("in {}", safe(&view.target))));
    for line in plan_lines(view) {
        print_note(&line);
    }
}

/// Gets the findings that stop a plan accepted. Where no one accepts them, they are held back, or carrying out
/// the plan is an error that names them.
fn settle_findings(plan: &mut InstallPlan, asked: &PlanQuestion<'_>, can_ask: bool) -> Result<()> {
    let stopping = plan.view().stopping().count();
    if stopping == 0 {
        return Ok(());
    }
    if asked.accept_findings {
        plan.accept_findings();
        return Ok(());
    }
    if can_ask {
        for line in stopping_lines(plan.view()) {
            print_note(&line);
        }
        let what = count(stopping, "new finding");
        if confirmed(&format!("Accept {what} of high severity?"))? {
            plan.accept_findings();
            return Ok(());
        }
        if asked.on_findings == OnFindings::Stop {
            return Err(rejected());
        }
    }
    if asked.on_findings == OnFindings::HoldBack {
        plan.hold_back_found();
    }
    Ok(())
}

fn needs_consent(view: &PlanView, asked: &PlanQuestion<'_>) -> CommandError {
    let changed = view.skills.iter().filter(|it| it.action != metier::pack::PlannedAction::Keep);
    let names: Vec<String> = changed.map(|skill| safe(&skill.name).into_owned()).collect();
    let message = format!("{} {} needs your confirmation", asked.doing, names.join(", "));
    CommandError::needs_approval(message)
        .help(format!("see it with --dry-run; then: {}", asked.command))
}

pub(super) fn rejected() -> CommandError {
    CommandError { code: "Rejected", ..CommandError::needs_approval("nothing changed") }
}
