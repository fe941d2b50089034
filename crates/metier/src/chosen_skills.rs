//! The skills that a person chose for a run: by a flag, by `/name arguments`, or by name in the words of
//! the request (`use the pdf skill`). Found before the first turn, so for every model alike, and only in
//! the person's own request: one from a pipe calls nothing.
//!
//! All ways are refused alike: what is switched off, what is not for people, what a rule denies.
//! Loading them is the run's business, under the policy's word.

use std::path::Path;

use metier_agent::Chosen;
use metier_loader::Invocation;
use metier_policy::Invoker;
use metier_registry::search::{Force, RequestOrders, UnknownOrder};
use metier_registry::{Entry, Scan};
use metier_skill::{FailureCode, SkillId, nearest, text};

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::open::Metier;
use crate::skills::{enabled, find};

/// Characters of a name in a message.
const MAX_NAME_CHARS: usize = 80;

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
    words: &RequestOrders<'_>,
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
    let mut add = |entry: &Entry, arguments: Option<&str>| -> Result<()> {
        let entry = enabled(entry)?;
        check_invocable(entry)?;
        let (id, arguments) = (entry.id(), arguments.map(str::to_owned));
        chosen.retain(|known| known.id != id);
        chosen.push(Chosen { id, arguments });
        Ok(())
    };
    if let Some((entry, arguments)) = called(words.request(), scan)? {
        add(entry, Some(arguments))?;
    } else {
        for (entry, arguments) in ordered(words, scan)? {
            add(entry, Some(arguments))?;
        }
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

impl Metier {
    /// The skills that a request calls: as `/name arguments`, or by name in its words. A run loads them before its
    /// first turn, whatever the model.
    pub fn skills_called(&self, request: &str) -> Vec<SkillId> {
        skills_called(request, &self.skills())
    }
}

/// The same among the skills of a scan.
pub(crate) fn skills_called(request: &str, scan: &Scan) -> Vec<SkillId> {
    if let Ok(Some((entry, _))) = called(request, scan) {
        return vec![entry.id()];
    }
    let named = ordered(&RequestOrders::read(request), scan).unwrap_or_default();
    named.into_iter().map(|(entry, _)| entry.id()).collect()
}

/// The skills that the words of a request ask for, each with what follows its name. What only a user may
/// start wants an order; where a sentence merely wants a skill, a model could have chosen it too.
fn ordered<'s, 'r>(words: &RequestOrders<'r>, scan: &'s Scan) -> Result<Vec<(&'s Entry, &'r str)>> {
    let names = || scan.index.entries().iter().map(|entry| entry.name().as_str());
    let asked = words.asked(names());
    // Also behind a skill that is there: `use the html skill and the depoy skill`.
    if let Some(UnknownOrder { called, near, certain: true }) = words.unknown(names()) {
        return Err(no_skill(called, near));
    }
    let entries = asked.into_iter().filter_map(|it| {
        let entry = scan.index.find(it.name)?;
        may_start(it.force, entry).then_some((entry, it.arguments))
    });
    Ok(entries.collect())
}

/// Whether words of this force start a skill.
fn may_start(force: Force, entry: &Entry) -> bool {
    force == Force::Ordered || !entry.skill.controls.disable_model_invocation
}

/// What a request says that looks like a call of a skill and was not taken for one, in sentences for the person.
pub(crate) fn not_calls(words: &RequestOrders<'_>, scan: &Scan) -> Vec<String> {
    let request = words.request();
    let quoted = |name: &str| text::quoted(name, MAX_NAME_CHARS);
    if let Some(call) = Invocation::parse(request)
        && scan.index.find(call.name).is_some()
    {
        return Vec::new();
    }
    let names = || scan.index.entries().iter().map(|entry| entry.name().as_str());
    let mut notes = Vec::new();
    if let Some(name) = unknown_call(request, scan) {
        let name = quoted(&format!("/{name}"));
        notes.push(format!("there is no skill {name}; reading it as part of the request"));
    }
    let asked = words.asked(names());
    if let Some(UnknownOrder { called, near, .. }) = words.unknown(names()) {
        let called = quoted(called);
        notes.push(format!(
            "there is no skill {called}; reading it as part of the request (`/{near}` calls {near})"
        ));
    }
    for it in asked {
        if scan.index.find(it.name).is_some_and(|entry| !may_start(it.force, entry)) {
            let name = it.name;
            notes.push(format!(
                "{name} was not loaded: only a person may start it, and the request does not plainly order it; \
                 `/{name}` does"
            ));
        }
    }
    notes
}

fn no_skill(called: &str, near: &str) -> Error {
    let called = text::quoted(called, MAX_NAME_CHARS);
    Error::usage(format!("there is no skill {called}; did you mean `{near}`?"))
        .with_help("`metier list` shows every skill")
}

/// The skill that `/name arguments` calls, with the arguments.
///
/// `/etc/hosts is broken` and `/tmp is full` call none; a name that is nearly one of a skill's is a slip
/// of the finger, and another skill must not answer for it.
fn called<'s, 'r>(request: &'r str, scan: &'s Scan) -> Result<Option<(&'s Entry, &'r str)>> {
    let Some(call) = Invocation::parse(request) else { return Ok(None) };
    if let Some(entry) = scan.index.find(call.name) {
        return Ok(Some((entry, call.arguments)));
    }
    let names = scan.index.entries().iter().map(|entry| entry.name().as_str());
    match nearest(call.name, names) {
        Some(near) if !call.name.contains('/') => Err(no_skill(call.name, &format!("/{near}"))),
        _ => Ok(None),
    }
}

/// The name of a skill that a request calls as `/name` and that is not there. `/tmp is full` is about a folder.
fn unknown_call<'r>(request: &'r str, scan: &Scan) -> Option<&'r str> {
    let name = Invocation::parse(request)?.name;
    let is_path = name.contains('/') || metier_fs::exists(&Path::new("/").join(name));
    (!is_path && scan.index.find(name).is_none()).then_some(name)
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
