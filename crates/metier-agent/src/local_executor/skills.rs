//! Reading skills for a run: a body, a file, and finding those that the catalog does not show.
//! All of it stands under the policy's word on loading the skill.

use std::sync::Arc;

use metier_loader::{
    LineRange, LoadError, Loaded, ResourceQuery, inject, invoke, load_body, load_resource,
};
use metier_policy::Invoker;
use metier_registry::Entry;
use metier_skill::text::{clip, fold_line};
use metier_skill::{FailureCode, SkillId};
use metier_tools::LoadGate;
use metier_tools::skill_contents::{check_frontmatter, file_names, open_files};
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
    Outcome {
        truncated: loaded.report.truncated,
        skill: Some(SkillText {
            id: id.clone(),
            sha256: loaded.report.sha256,
            block: Text::Inline(block.into()),
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
        let part =
            load_resource(&*files, &path, &query, &limits).map_err(|error| refused(&error))?;
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

/// Skills for these words.
pub(super) fn search(executor: &Arc<LocalExecutor>, query: &str) -> Judgement {
    let (executor, query) = (Arc::clone(executor), query.to_owned());
    Judgement::free(Box::new(move |_| {
        let hits = executor.ranking().rank(&query, FOUND);
        let found: Vec<&Entry> =
            hits.iter().filter_map(|hit| executor.found_skills().nth(hit.document)).collect();
        if found.is_empty() {
            return Outcome::done("No skill matches these words.", json!({"skills": []}));
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
                format!("The content of `{id}` cannot be vouched for: {error}; {}.", error.help());
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

fn refused(error: &LoadError) -> Box<Outcome> {
    Box::new(Outcome::failed(error.code(), format!("{error}; {}", error.help())))
}
