//! What an action means in this run: which skills, which operations, or why it cannot be. Pure.
//!
//! Everything is checked against the pinned index and what is loaded, before any policy is asked:
//! a model cannot name a skill that it was not shown, nor use one that it has not loaded.

use std::collections::VecDeque;

use metier_model::{Action, SkillRef, SkillSearch};
use metier_policy::Invoker;
use metier_skill::text::{counted, label};
use metier_skill::{FailureCode, SkillId, unknown_skill};
use serde_json::json;

use crate::op::{Op, Outcome, Text};
use crate::setup::SkillCard;
use crate::state::State;

/// Characters of a name that is none.
const NAME_CHARS: usize = 120;

/// What an action comes to.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// These operations, and notes for the model.
    Operations {
        /// In order.
        queue: VecDeque<Op>,
        /// What else the model sees.
        notes: Vec<String>,
    },
    /// Nothing can be done.
    Impossible(Box<Outcome>),
}

/// The operations of an action.
pub(crate) fn operations(state: &State, action: &Action) -> Resolved {
    let one = |op: Op| Resolved::Operations { queue: VecDeque::from([op]), notes: Vec::new() };
    let blank = copied_blank(action).map(ToOwned::to_owned);
    if let Some(blank) = blank.or_else(|| copied_line(state, action)) {
        let text = format!(
            "`{blank}` stands for words of the request: write those instead. Nothing was done."
        );
        return impossible(Outcome::failed(FailureCode::InvalidArguments, text));
    }
    match action {
        Action::SelectSkills { skills, .. } => select(state, skills),
        Action::LoadResource { skill, relative_path, section_hint } => {
            match loaded_skill(state, skill) {
                Ok(skill) => one(Op::Resource {
                    skill,
                    path: relative_path.clone(),
                    section: section_hint.clone().filter(|section| !section.trim().is_empty()),
                }),
                Err(outcome) => {
                    let text = format!(
                        "{} A file of the user is read with `read_file`, a tool.",
                        outcome.text.as_str()
                    );
                    impossible(Outcome { text: Text::Inline(text.into()), ..*outcome })
                }
            }
        }
        Action::RunScript { skill, relative_path, args } => match loaded_skill(state, skill) {
            Ok(skill) => {
                let (args, mut notes) = separate_arguments(args);
                notes.extend(copied_example(state, &skill, relative_path, &args));
                let op = Op::Script { skill, path: relative_path.clone(), args };
                Resolved::Operations { queue: VecDeque::from([op]), notes }
            }
            Err(outcome) => Resolved::Impossible(outcome),
        },
        Action::SearchSkills { query } if query.trim().is_empty() => {
            impossible(Outcome::failed(FailureCode::InvalidArguments, "`query` is empty."))
        }
        Action::SearchSkills { query } => match not_a_skill(state, query.trim()) {
            Some(words) => impossible(Outcome::failed(FailureCode::SkillNotFound, words)),
            None => one(Op::Search { query: query.clone() }),
        },
        Action::CallTool { tool, args, skill } => {
            if let Some(words) = skill_as_tool(state, tool) {
                return impossible(Outcome::failed(FailureCode::UnknownTool, words));
            }
            let skill = skill.as_ref().map(|skill| loaded_skill(state, skill)).transpose();
            match skill {
                Ok(skill) => one(Op::Tool { tool: tool.clone(), args: args.clone(), skill }),
                Err(outcome) => Resolved::Impossible(outcome),
            }
        }
        Action::FinalAnswer { .. } => {
            Resolved::Operations { queue: VecDeque::new(), notes: Vec::new() }
        }
    }
}

fn impossible(outcome: Outcome) -> Resolved {
    Resolved::Impossible(Box::new(outcome))
}

/// The blank of an example that stands in an action as it stood in the prompt.
fn copied_blank(action: &Action) -> Option<&'static str> {
    let is = |text: &str, blank: &'static str| (text == blank).then_some(blank);
    let skill = |skill: &SkillRef| is(&skill.name, "SKILL");
    match action {
        Action::SelectSkills { skills, .. } => skills.iter().find_map(skill),
        Action::LoadResource { skill: of, relative_path, .. } => {
            skill(of).or_else(|| is(relative_path, "PATH"))
        }
        Action::RunScript { skill: of, relative_path, args } => skill(of)
            .or_else(|| is(relative_path, "PATH"))
            .or_else(|| args.iter().find_map(|arg| is(arg, "ARGUMENT"))),
        Action::SearchSkills { query } => is(query, "WORDS"),
        Action::CallTool { args, .. } => {
            let path = args.get("path").and_then(|path| path.as_str())?;
            let invented = path.starts_with("path/to/").then_some("path/to");
            is(path, "PATH").or(invented)
        }
        Action::FinalAnswer { .. } => None,
    }
}

/// The arguments of a script as its skill's text has them, where all are blanks (`CUSTOMER ORDER`) and the
/// request has none of them. One that is a real word there, such as a currency, stands with others.
fn copied_line(state: &State, action: &Action) -> Option<String> {
    let Action::RunScript { skill, relative_path, args } = action else { return None };
    let is_blank = |arg: &String| {
        let bare = arg.trim_matches(['<', '>', '[', ']', '{', '}']);
        bare.len() > 2
            && bare.bytes().all(|byte| byte.is_ascii_uppercase() || b"_-".contains(&byte))
    };
    let request = state.setup.request.to_lowercase();
    let is_asked = |arg: &String| request.contains(&arg.to_lowercase());
    if args.is_empty() || !args.iter().all(is_blank) || args.iter().any(is_asked) {
        return None;
    }
    let loaded = state.loaded.iter().find(|loaded| loaded.text.id.name.as_str() == skill.name)?;
    let line = format!("{relative_path} {}", args.join(" "));
    loaded.text.body.as_str().contains(&line).then(|| args.join(" "))
}

/// A word on arguments that are those of an example in the skill's text, where the request has none of them:
/// they may be meant all the same.
fn copied_example(state: &State, id: &SkillId, path: &str, args: &[String]) -> Option<String> {
    let loaded = state.loaded.iter().find(|loaded| loaded.text.id == *id)?;
    let request = state.setup.request.to_lowercase();
    let asked: Vec<&str> = request.split(|c: char| !c.is_alphanumeric()).collect();
    let mut values = args.iter().filter(|arg| !arg.starts_with('-')).peekable();
    values.peek()?;
    let is_asked = |arg: &String| {
        let arg = arg.to_lowercase();
        asked.contains(&arg.as_str()) || arg.len() > 2 && request.contains(&arg)
    };
    let line = format!("{path} {}", args.join(" "));
    let body = loaded.text.body.as_str();
    let is_line = body
        .match_indices(&line)
        .any(|(at, _)| !body[at + line.len()..].starts_with(|next: char| next.is_alphanumeric()));
    (is_line && !values.any(is_asked)).then(|| {
        "These are the arguments of the example in the skill's text. If the request means others, run it \
         again with those."
            .to_owned()
    })
}

/// Arguments with every option apart from its value. Small models write `--by region data.csv` as one, though
/// they are shown how not to, and no option has a blank in it. What is judged and run is what stands here.
fn separate_arguments(args: &[String]) -> (Vec<String>, Vec<String>) {
    let is_joined = |arg: &str| {
        let option = arg.split_whitespace().next().unwrap_or_default();
        let name = option.trim_start_matches('-');
        arg.starts_with('-')
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            && option.len() < arg.trim_end().len()
            && !option.contains('=')
            && !arg.contains(['"', '\''])
    };
    if !args.iter().any(|arg| is_joined(arg)) {
        return (args.to_vec(), Vec::new());
    }
    let separate = args.iter().flat_map(|arg| {
        if is_joined(arg) {
            arg.split_whitespace().map(str::to_owned).collect()
        } else {
            vec![arg.clone()]
        }
    });
    let separate: Vec<String> = separate.collect();
    let shown: Vec<String> = separate.iter().map(|arg| format!("\"{arg}\"")).collect();
    let note =
        format!("Each word is an argument of its own, so these were given: {}", shown.join(", "));
    (separate, vec![note])
}

/// The skills to load: those that coordinate first, no more than a turn takes.
fn select(state: &State, wanted: &[SkillRef]) -> Resolved {
    if wanted.is_empty() {
        let text = "`skills` is empty: name at least one skill from the list.";
        return impossible(Outcome::failed(FailureCode::InvalidArguments, text));
    }
    let (mut cards, mut notes): (Vec<&SkillCard>, Vec<String>) = Default::default();
    let (mut known, mut near) = (false, false);
    for skill in wanted {
        match find(state, skill) {
            Err(unknown) => {
                near |= unknown.near;
                notes.push(unknown.words);
            }
            Ok(card) if state.is_loaded(&card.id) => {
                known = true;
                notes.push(already_loaded(state, card));
            }
            Ok(card) if cards.iter().any(|other| other.id == card.id) => {}
            Ok(card) => cards.push(card),
        }
    }
    if cards.is_empty() {
        let text = notes.join("\n");
        if known {
            return impossible(Outcome::failed(FailureCode::AlreadyLoaded, text));
        }
        let failed = Outcome::failed(FailureCode::SkillNotFound, text);
        return impossible(Outcome { data: json!({"near": near}), ..failed });
    }
    cards.sort_by_key(|card| !card.coordinator);
    let most = state.setup.limits.skills_a_turn as usize;
    for card in cards.iter().skip(most) {
        notes.push(format!(
            "At most {} can be loaded in one turn: select `{}` again if it is still needed.",
            counted(most as u64, "skill"),
            card.name
        ));
    }
    let load = |card: &&SkillCard| {
        let (skill, by) = (card.id.clone(), Invoker::Model);
        if card.subagent {
            Op::Delegate { skill, by, arguments: None }
        } else {
            Op::Load { skill, by, arguments: None }
        }
    };
    Resolved::Operations { queue: cards.iter().take(most).map(load).collect(), notes }
}

/// A skill that is not there.
struct UnknownSkill {
    words: String,
    /// Whether the words say what was meant: another skill, a file, a tool.
    near: bool,
}

/// A skill that the model may select.
fn find<'s>(state: &'s State, skill: &SkillRef) -> Result<&'s SkillCard, UnknownSkill> {
    let found = state.setup.skill(&skill.text()).or_else(|| {
        // `user:pdf` as a name says where it comes from, too.
        skill.source.is_none().then(|| state.setup.skill(&skill.name)).flatten()
    });
    let is_by_source = skill.text().parse::<SkillId>().is_ok();
    if let Some(card) = found.filter(|card| card.offered || card.shadowed && is_by_source) {
        return Ok(card);
    }
    let elsewhere = state.setup.skill(&skill.name).filter(|card| card.offered);
    if let Some(card) = elsewhere.filter(|_| skill.source.is_some()) {
        let words = format!(
            "There is no skill `{}`. Did you mean `{}`?",
            label(&skill.text(), NAME_CHARS),
            card.id
        );
        return Err(UnknownSkill { words, near: true });
    }
    if let Some(words) = not_a_skill(state, &skill.name) {
        return Err(UnknownSkill { words, near: true });
    }
    let offered = state.setup.skills.iter().filter(|card| card.offered);
    let names: Vec<String> = offered
        .map(
            |card| if skill.source.is_some() { card.id.to_string() } else { card.name.to_string() },
        )
        .collect();
    let can_search = state.setup.form().search == SkillSearch::On;
    let advice = if can_search {
        "Select one from the list, or use `search_skills`."
    } else {
        "None of the list is for this, if you named none of it."
    };
    let words = unknown_skill(&skill.text(), names.iter().map(String::as_str), advice);
    let near = can_search || !words.ends_with(advice);
    Err(UnknownSkill { words, near })
}

/// What is said of a skill that is selected a second time, and what can be done with it instead.
fn already_loaded(state: &State, card: &SkillCard) -> String {
    let loaded = state.loaded.iter().find(|skill| skill.text.id == card.id);
    let files = loaded.map_or(&[][..], |skill| &skill.text.files);
    let instead = match files.iter().find(|file| file.starts_with("scripts/")) {
        Some(script) => format!("run a script of it with `run_script` (such as `{script}`)"),
        None if files.is_empty() => {
            return format!(
                "The skill `{}` is already loaded, and nothing was done: its text stands above, and is all \
                 there is. Answer from it.",
                card.name
            );
        }
        None => "do what it says, or read a file of it with `load_resource`".to_owned(),
    };
    format!(
        "The skill `{}` is already loaded, and nothing was done: its text stands above. Instead, \
         {instead}, call a tool, or answer.",
        card.name
    )
}

/// What to do with a skill that was called like a tool.
fn skill_as_tool(state: &State, tool: &str) -> Option<String> {
    if state.setup.tools.iter().any(|card| card.offer.name == tool) {
        return None;
    }
    let card = state.setup.skill(tool).filter(|card| card.offered)?;
    Some(if state.is_loaded(&card.id) {
        already_loaded(state, card)
    } else {
        format!("`{tool}` is a skill, not a tool: load it with `select_skills`.")
    })
}

/// What something is that was named as a skill and is something else: a file, a tool, an action.
fn not_a_skill(state: &State, name: &str) -> Option<String> {
    if state.setup.tools.iter().any(|card| card.offer.name == name) {
        return Some(format!("`{name}` is a tool, not a skill: call it as a tool."));
    }
    if Action::KINDS.contains(&name) {
        return Some(format!("`{name}` is an action, not a skill: take that action itself."));
    }
    let shown = label(name, NAME_CHARS);
    let of_skill = state.loaded.iter().find(|skill| skill.text.files.iter().any(|it| it == name));
    if let Some(skill) = of_skill {
        return Some(format!(
            "`{shown}` is a file of the skill `{}`: run it with `run_script`, or read it with \
             `load_resource`.",
            skill.text.id.name
        ));
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_word = !name.contains(char::is_whitespace);
    let looks_like_file = is_word
        && (name.contains('/')
            || extension.is_some_and(|it| {
                (1..=5).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }));
    let is_file = state.setup.files.iter().any(|file| file == name) || looks_like_file;
    is_file.then(|| format!("`{shown}` is a file, not a skill: read it with `read_file`."))
}

/// The id of a skill that is loaded.
fn loaded_skill(state: &State, skill: &SkillRef) -> Result<SkillId, Box<Outcome>> {
    let text = skill.text();
    let id: Option<SkillId> = text.parse().ok();
    let by_id = state.loaded.iter().find(|loaded| Some(&loaded.text.id) == id.as_ref());
    let found = by_id.or_else(|| {
        let named = |id: &SkillId| id.name.as_str() == skill.name;
        state.loaded.iter().find(|loaded| skill.source.is_none() && named(&loaded.text.id))
    });
    if let Some(loaded) = found {
        return Ok(loaded.text.id.clone());
    }
    Err(Box::new(match find(state, skill) {
        Ok(card) => {
            let text = format!("The skill `{}` is not loaded. Select it first.", card.name);
            Outcome::failed(FailureCode::SkillNotLoaded, text)
        }
        Err(unknown) => Outcome::failed(FailureCode::SkillNotFound, unknown.words),
    }))
}
