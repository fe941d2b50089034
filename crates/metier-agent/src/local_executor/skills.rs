//! Reading skills for a run: a body, a file, and finding those that the catalog does not show.
//! All of it stands under the policy's word on loading the skill.

use std::collections::BTreeSet;
use std::sync::Arc;

use metier_loader::{
    LineRange, LoadError, Loaded, ResourceQuery, inject, invoke, load_body, load_resource,
};
use metier_policy::Invoker;
use metier_registry::Entry;
use metier_skill::text::{clip, fold_line, label};
use metier_skill::{FailureCode, SkillId};
use metier_tools::skill_contents::{check_frontmatter, file_names, open_files};
use metier_tools::{LoadGate, RunCommand};
use serde_json::json;

use super::{LocalExecutor, failed, judged, now};
use crate::executor::{Judgement, PreparedAction};
use crate::op::{Outcome, SkillText, Text};

/// Skills that a search gives.
const FOUND: usize = 8;
/// Characters of a description that a search shows.
const DESCRIPTION_CHARS: usize = 400;

/// The body of a skill.
pub(super) fn load(
    executor: &Arc<LocalExecutor>,
    id: &SkillId,
    by: Invoker,
    arguments: Option<&str>,
) -> Judgement {
    let (executor_too, arguments) = (Arc::clone(executor), arguments.map(str::to_owned));
    guarded(executor, id, by, move |entry, id| {
        let files = open_files(entry).map_err(|error| refused(&error))?;
        let limits = &executor_too.body_limits;
        let loaded = match &arguments {
            Some(arguments) => invoke(&*files, &entry.skill, arguments, limits),
            None => load_body(&*files, limits),
        };
        let loaded = loaded.map_err(|error| refused(&error))?;
        let mut outcome = body_outcome(entry, id, &loaded);
        // A command may need it. Other tools take paths below the workspace or the skill alone.
        if let Some(skill) = &mut outcome.skill
            && entry.memory.is_none()
            && executor_too.may_be_asked_for(RunCommand::NAME, None)
        {
            skill.path = Some(entry.path.to_string_lossy().into_owned());
        }
        refer_to(&mut outcome, executor_too.stored_text(&loaded.text));
        if let Some(skill) = &mut outcome.skill {
            skill.changed = executor_too.has_changed(entry);
        }
        Ok(outcome)
    })
}

fn body_outcome(entry: &Entry, id: &SkillId, loaded: &Loaded) -> Outcome {
    let names: Vec<String> = file_names(entry)
        .into_iter()
        .filter(|name| !name.eq_ignore_ascii_case("SKILL.md"))
        .collect();
    let path = entry.path.to_string_lossy();
    let block = inject(entry.name().as_str(), entry.source, &path, loaded, &names);
    let data = json!({"skill": id, "report": loaded.report});
    let is_offered = !entry.skill.controls.disable_model_invocation;
    let description = if is_offered { String::new() } else { entry.skill.description.to_string() };
    Outcome {
        truncated: loaded.report.truncated,
        skill: Some(SkillText {
            id: id.clone(),
            sha256: loaded.report.sha256,
            block: Text::Inline(block.into()),
            path: None,
            description,
            body: Text::Inline(loaded.text.as_str().into()),
            files: names,
            changed: false,
        }),
        ..Outcome::done(format!("The skill `{id}` is loaded."), data)
    }
}

/// Permission to let a skill work in a loop of its own.
pub(super) fn delegate(executor: &Arc<LocalExecutor>, id: &SkillId, by: Invoker) -> Judgement {
    guarded(executor, id, by, |entry, id| {
        let files = open_files(entry).map_err(|error| refused(&error))?;
        check_frontmatter(entry, &*files).map_err(|error| refused(&error))?;
        Ok(Outcome::done(format!("The skill `{id}` may work."), json!({"skill": id})))
    })
}

/// A part of a file of a skill.
pub(super) fn resource(
    executor: &Arc<LocalExecutor>,
    id: &SkillId,
    path: &str,
    section: Option<&str>,
) -> Judgement {
    let (limits, path, executor_too) =
        (executor.resource_limits, path.to_owned(), Arc::clone(executor));
    let section = section.map(str::to_owned);
    guarded(executor, id, Invoker::Model, move |entry, _| {
        let lines = section.as_deref().and_then(asked_lines);
        let query = ResourceQuery {
            section: section.as_deref().filter(|_| lines.is_none()),
            lines,
            skip_chars: 0,
        };
        let files = open_files(entry).map_err(|error| refused(&error))?;
        check_frontmatter(entry, &*files).map_err(|error| refused(&error))?;
        let part = load_resource(&*files, &path, &query, &limits)
            .map_err(|error| refused_file(&error, entry))?;
        let mut text = part.text.clone();
        let report = &part.report;
        if let Some(asked) = &report.section_not_found {
            text = format!(
                "(There is no section `{asked}`; this is the start of the file. Its headings: {})\n{text}",
                report.headings.join(" | ")
            );
        }
        if let Some(metier_loader::NextPart::Lines(lines)) = &report.next {
            text.push_str(&format!("\n(More follows: `section_hint`: \"lines {lines}\")\n"));
        }
        let data = json!({"path": path, "report": report});
        let stored = executor_too.stored_text(&text);
        let mut outcome = Outcome { truncated: report.truncated, ..Outcome::done(text, data) };
        refer_to(&mut outcome, stored);
        Ok(outcome)
    })
}

/// Says in an outcome, and in the report of what was read, where the whole text is.
fn refer_to(outcome: &mut Outcome, stored: Option<String>) {
    if let Some(stored) = stored {
        outcome.data["report"]["storage_ref"] = json!(stored);
        outcome.storage_ref = Some(stored);
    }
}

/// `lines 201-400` as a hint asks for these lines.
fn asked_lines(hint: &str) -> Option<LineRange> {
    hint.trim().strip_prefix("lines ")?.trim().parse().ok()
}

/// Skills for these words, without those that the model has before it already.
pub(super) fn search(executor: &Arc<LocalExecutor>, query: &str, loaded: &[SkillId]) -> Judgement {
    let (executor, query, loaded) = (Arc::clone(executor), query.to_owned(), loaded.to_vec());
    Judgement::free(Box::new(move |_| {
        let known: BTreeSet<&SkillId> = executor.listed.iter().chain(&loaded).collect();
        let is_known = |entry: &&Entry| known.contains(&entry.id());
        let hits = executor.ranking().rank(&query, FOUND + executor.listed.len() + loaded.len());
        let (known, mut found): (Vec<&Entry>, Vec<&Entry>) = hits
            .iter()
            .filter_map(|hit| executor.found_skills().nth(hit.document))
            .partition(is_known);
        found.truncate(FOUND);
        if found.is_empty() {
            return Outcome::done(nothing_found(&known), json!({"skills": []}));
        }
        let line = |entry: &&Entry| {
            let text = fold_line(&entry.skill.description);
            let text = clip(&text, DESCRIPTION_CHARS);
            format!("- name={} | source={} | description={text}", entry.name(), entry.source)
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        let ids: Vec<String> = found.iter().map(|entry| entry.id().to_string()).collect();
        Outcome::done(lines.join("\n"), json!({ "skills": ids }))
    }))
}

/// What is said where a search gives nothing new.
fn nothing_found(known: &[&Entry]) -> String {
    if known.is_empty() {
        return "No skill matches these words. The words of a file are found with the tool `grep`; a request \
                that needs no skill is answered with `final_answer`.".to_owned();
    }
    let names: Vec<String> =
        known.iter().take(FOUND).map(|entry| format!("`{}`", entry.name())).collect();
    format!(
        "No other skill matches these words. On the list already: {}. Load one with `select_skills`, \
         unless it is loaded.",
        names.join(", ")
    )
}

/// Reading under the policy's word on loading the skill. Where that is about its content, what is read
/// is what was judged: a skill that changes in between is refused.
fn guarded(
    executor: &Arc<LocalExecutor>,
    id: &SkillId,
    by: Invoker,
    read: impl FnOnce(&Entry, &SkillId) -> Result<Outcome, Box<Outcome>> + Send + 'static,
) -> Judgement {
    let entry = match executor.entry(id) {
        Ok(entry) => entry,
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    let answers = executor.answers().clone();
    let gate = LoadGate {
        policy: &executor.policy,
        answers: &answers,
        trusted: &executor.trusted,
        now: now(),
        invoker: by,
        index: &executor.index,
    };
    let judgement = gate.judge(&entry);
    let request = match judgement.request.clone() {
        Ok(request) => request,
        Err(error) => {
            let text =
                format!("The content of `{id}` cannot be verified: {error}; {}.", error.help());
            return Judgement::impossible(Outcome::failed(error.code(), text));
        }
    };
    let decision = judgement.decision.clone();
    let (id, executor, asked) = (id.clone(), Arc::clone(executor), request.clone());
    let prepared: PreparedAction = Box::new(move |context| {
        executor.remember(&asked, context.answer);
        let outcome = read(&entry, &id).unwrap_or_else(|refused| *refused);
        if outcome.ok && !judgement.still_holds(&entry) {
            return Outcome::failed(
                FailureCode::Changed,
                format!("The skill `{id}` changed while it was read."),
            );
        }
        outcome
    });
    judged(&decision, &request, prepared)
}

/// Files of a skill that a message lists.
const LISTED_FILES: usize = 20;

/// The files of a skill, for a model that named one that is not there.
pub(super) fn files_words(entry: &Entry) -> String {
    let names: Vec<String> = file_names(entry)
        .into_iter()
        .filter(|name| !name.eq_ignore_ascii_case("SKILL.md"))
        .collect();
    let more = names.len().saturating_sub(LISTED_FILES);
    let shown: Vec<_> =
        names.iter().take(LISTED_FILES).map(|name| format!("`{}`", label(name, 200))).collect();
    match (shown.is_empty(), more) {
        (true, _) => "it has no files besides its text".to_owned(),
        (false, 0) => format!("its files: {}", shown.join(", ")),
        (false, more) => format!("its files: {}, and {more} more", shown.join(", ")),
    }
}

/// A file of a skill that cannot be read: which there are, and how other files are read.
fn refused_file(error: &LoadError, entry: &Entry) -> Box<Outcome> {
    if !matches!(error, LoadError::IoError(_) | LoadError::PathTraversalBlocked(_)) {
        return refused(error);
    }
    let text = format!(
        "{error}. Of the skill `{}`: {}. A file of the workspace is read with `read_file`.",
        entry.name(),
        files_words(entry)
    );
    Box::new(Outcome::failed(error.code(), text))
}

fn refused(error: &LoadError) -> Box<Outcome> {
    Box::new(Outcome::failed(error.code(), format!("{error}; {}", error.help())))
}
