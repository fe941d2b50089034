//! The skills that a person chose for a run: by a flag, or by `/name arguments`.
//!
//! Both ways are refused alike: what is switched off, what is not for people, what a rule denies.
//! Loading them is the run's business, under the policy's word.

use metier_agent::Chosen;
use metier_loader::Invocation;
use metier_policy::Invoker;
use metier_registry::{Entry, Scan};
use metier_skill::FailureCode;

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::skills::{enabled, find};

/// Skills that are loaded before the first turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FirstSkills<'s> {
    /// A person names them for this run.
    Chosen(&'s [String]),
    /// An earlier request of the same session had loaded them.
    Carried(&'s [String]),
}

/// The skills that are loaded first: those before the request, and the one that it calls.
pub(crate) fn chosen_skills(
    request: &str,
    first: FirstSkills<'_>,
    scan: &Scan,
    guard: &Guard,
) -> Result<Vec<Chosen>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let (FirstSkills::Chosen(names) | FirstSkills::Carried(names)) = first;
    for name in names {
        let entry = enabled(find(name, scan)?)?;
        if matches!(first, FirstSkills::Chosen(_)) {
            check_invocable(entry)?;
        }
        let id = entry.id();
        if chosen.iter().all(|known| known.id != id) {
            chosen.push(Chosen { id, arguments: None });
        }
    }
    let called = Invocation::parse(request);
    // `/etc/hosts is broken` does not call a skill.
    if let Some((call, entry)) = called.and_then(|call| Some((call, scan.index.find(call.name)?))) {
        let entry = enabled(entry)?;
        check_invocable(entry)?;
        let (id, arguments) = (entry.id(), Some(call.arguments.to_owned()));
        chosen.retain(|known| known.id != id);
        chosen.push(Chosen { id, arguments });
    }
    let gate = guard.load_gate(&scan.index, Invoker::User);
    for Chosen { id, .. } in &chosen {
        if let Some(reason) = scan.index.find(&id.to_string()).and_then(|it| gate.denied(it)) {
            return Err(Error::denied(
                FailureCode::NotAllowed.as_str(),
                format!("{id} may not be loaded: {reason}"),
            )
            .with_help("`metier explain load_skill NAME` names the rule and its file"));
        }
    }
    Ok(chosen)
}

/// A skill that is for models alone is not called by a person, by whatever way.
fn check_invocable(entry: &Entry) -> Result<()> {
    if entry.skill.controls.user_invocable {
        return Ok(());
    }
    let message = format!("{} cannot be called by a person", entry.id());
    Err(Error::failed(FailureCode::NotAllowed.as_str(), message)
        .with_help("it says `user-invocable: false`; ask for what it does instead"))
}
