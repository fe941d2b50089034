//! Switching a skill on or off, for `metier enable` and `metier disable`: one entry in one
//! configuration file, changed as text under a lock.
//!
//! What counts in the end is asked of the merged settings afterwards: the other file may disagree.

use std::io::{self, Write};
use std::sync::Arc;

use metier::config::Scope;
use metier::find;
use metier::registry::Entry;
use metier::skill::SkillId;
use serde::Serialize;

use crate::args::GlobalArgs;
use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{safe, shell};
use crate::scope::ScopeArgs;

/// What a skill should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillSwitch {
    On,
    Off,
}

#[derive(Serialize)]
struct Switched {
    id: String,
    /// What this call asked for.
    asked: bool,
    /// What counts now.
    enabled: bool,
    scope: Scope,
    file: String,
    changed: bool,
    /// The skill of that name that is used from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    takes_over: Option<String>,
    /// The same skill of another source, which is used here instead.
    #[serde(skip)]
    counts: Option<String>,
}

pub(crate) fn run(
    name: &str,
    wanted: SkillSwitch,
    scope: ScopeArgs,
    find_args: &FindArgs,
    global: &GlobalArgs,
) -> Result<Box<dyn Output>> {
    let context = Context::new(global)?;
    let scan = context.finding(find_args).skills();
    let entry = match (wanted, find(name, &scan)?) {
        // Of one name, what is off is meant: the one that took over is on already.
        (SkillSwitch::On, used) if used.enabled && used.name().as_str() == name => {
            let off = |entry: &&Arc<Entry>| entry.name() == used.name() && !entry.enabled;
            scan.index.shadowed().iter().find(off).map_or(used, |entry| &**entry)
        }
        (_, entry) => entry,
    };
    let asked_for = asked_id(name, entry)?;
    let counts = Some(entry.id()).filter(|id| *id != asked_for).map(|id| id.to_string());
    let id = asked_for.to_string();
    let scope = scope.chosen().unwrap_or(Scope::User);
    // What was shadowed gives way to no one.
    let was_used = scan.index.find(asked_for.name.as_str()).is_some_and(|it| it.id() == asked_for);
    let file = context.metier.config_target(scope)?;
    let asked = wanted == SkillSwitch::On;
    let changed = context.metier.switch_skill(scope, &id, asked)?;
    // Another writer may have been at work too: what counts is what the files say now.
    let after = Context::new(global)?;
    let enabled = after.metier.settings().is_skill_enabled(&id);
    let takes_over = if enabled || counts.is_some() || !was_used {
        None
    } else {
        let scan = after.finding(find_args).skills();
        let used = scan.index.find(asked_for.name.as_str()).filter(|entry| entry.enabled);
        used.map(|entry| entry.id()).filter(|used| *used != asked_for).map(|id| id.to_string())
    };
    let file = file.to_string_lossy().into_owned();
    Ok(Box::new(Switched { id, asked, enabled, scope, file, changed, takes_over, counts }))
}

/// The command that switches the skill `id` on in the file of `scope`.
pub(crate) fn enable_command(context: &Context, scope: Scope, id: &str) -> String {
    let mut words = context.command_words();
    let flag = if scope == Scope::Project { "--project" } else { "--user" };
    words.push(format!("enable {flag} {}", shell::quoted(id)));
    words.join(" ")
}

/// The id to write: the one that was asked for, although a byte-identical copy may answer to it; of a
/// bare name the id of the skill that counts.
fn asked_id(name: &str, entry: &Entry) -> Result<SkillId> {
    let means_entry = |id: &SkillId| id.name == *entry.name();
    let parse = |text: &str| text.parse::<SkillId>().ok().filter(means_entry);
    if let Some(id) = parse(name) {
        return Ok(id);
    }
    // As in a search: a rank only where what stands before it is an id.
    let ranked = name.rsplit_once('#').filter(|(_, rank)| rank.parse::<usize>().is_ok());
    if let Some(id) = ranked.and_then(|(id, _)| parse(id)) {
        let shown = safe(&id.to_string()).into_owned();
        let message = format!(
            "one of several skills `{shown}` cannot be switched: an id switches all of that source \
             and name"
        );
        let error = CommandError::usage(message).help(format!(
            "`{shown}` without the number switches all of them; delete or rename the one you do not \
             want"
        ));
        return Err(CommandError { code: "rank-not-switchable", ..error });
    }
    Ok(entry.id())
}

impl Output for Switched {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let word = |on: bool| if on { "on" } else { "off" };
        let was = if self.changed { "is now" } else { "was already" };
        let id = paint(BOLD, safe(&self.id));
        writeln!(out, "{id} {was} {} in {}", word(self.asked), path_text(self.file.as_ref()))?;
        out.flush()?;
        if self.enabled != self.asked {
            let (other, flag) = match self.scope {
                Scope::Project => ("your own configuration switches it off", "--user"),
                _ => ("the project's configuration switches it off", "--project"),
            };
            print_note(&format!(
                "{}: it stays off: {other}; `metier enable {flag} {}` changes that",
                paint(YELLOW, "warning"),
                shell::quoted(&self.id),
            ));
        } else if !self.enabled {
            let flag = match self.scope {
                Scope::Project => "--project ",
                _ => "",
            };
            let advice =
                format!("to switch it on again: metier enable {flag}{}", shell::quoted(&self.id));
            print_note(&paint(DIM, advice));
        }
        if let Some(id) = &self.takes_over {
            print_note(&format!("{} is used instead from now on", paint(BOLD, safe(id))));
        }
        if let Some(counts) = &self.counts {
            let (counts, verb) = (safe(counts), if self.asked { "enable" } else { "disable" });
            print_note(&format!(
                "{}: {counts}, an identical copy, is used here and is not affected; \
                 to {verb} it: metier {verb} {counts}",
                paint(YELLOW, "warning"),
            ));
        }
        Ok(())
    }
}
