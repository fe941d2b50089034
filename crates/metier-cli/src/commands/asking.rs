//! What is asked while sources are read, for `install`, `update`, `outdated` and `diff`: whether a host may be used, and which of several skills are meant.
//!
//! `--yes` answers for a source that the person named on the command line, and never for one that came with
//! `skills.json` or a list of plugins.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use metier::Metier;
use metier::pack::{InstallQuestions, InstallTarget, PickableSkill, SourceOrigin, SourceQuestion};

use crate::agent::signal::Interrupt;
use crate::error::Result;
use crate::output::print_note;
use crate::prompt;
use crate::render::fetching::FetchLine;
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{fold_line, safe};

/// How much of a description stands beside a name.
const DESCRIPTION_CHARS: usize = 90;

/// The questions about sources and the line that shows how far a fetch is, for one command.
pub(super) struct SourceTalk {
    asking: Arc<Asking>,
    line: Arc<FetchLine>,
}

impl SourceTalk {
    /// `yes` answers for sources that the person named.
    pub(super) fn new(json: bool, yes: bool, lists: bool) -> Self {
        let line = Arc::new(FetchLine::new());
        let (can_ask, answers) = (prompt::can_ask(json), Mutex::default());
        let asking = Asking { can_ask, yes, lists, line: line.clone(), answers };
        Self { asking: Arc::new(asking), line }
    }

    /// The same folder, with these questions; Ctrl-C cancels what is done about it.
    pub(super) fn join(&self, target: InstallTarget) -> InstallTarget {
        let target = target.with_cancel(Interrupt::listen_for_sources());
        target.with_questions(self.asking.clone()).with_progress(self.line.clone())
    }

    /// Nothing is fetched any more: the line goes, and what was answered with "always" is written down.
    pub(super) fn end(&self, metier: &Metier) -> Result<()> {
        self.line.clear();
        let mut answers = self.asking.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for pattern in std::mem::take(&mut answers.always) {
            let change = metier.allow_source(&pattern)?;
            let file = change.file.display();
            print_note(&paint(DIM, format!("{} is allowed in {file}", safe(&pattern))));
        }
        Ok(())
    }
}

/// Asks on the terminal, where there is one.
#[derive(Debug)]
struct Asking {
    can_ask: bool,
    yes: bool,
    /// Only a list is wanted: nothing is picked.
    lists: bool,
    /// What a question takes the place of.
    line: Arc<FetchLine>,
    /// Sources are read side by side: the thread that holds it may ask.
    answers: Mutex<HostAnswers>,
}

#[derive(Debug, Default)]
struct HostAnswers {
    /// What was answered, so that a host with several sources is asked about once.
    given: BTreeMap<String, bool>,
    /// Patterns of what is not to be asked about again.
    always: Vec<String>,
}

impl InstallQuestions for Asking {
    fn may_use(&self, question: &SourceQuestion) -> bool {
        if self.yes && question.origin == SourceOrigin::Named {
            return true;
        }
        if !self.can_ask {
            return false;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that is not encrypted is another question.
        let key = format!("{} {}", question.host, question.is_encrypted);
        if let Some(given) = answers.given.get(&key) {
            return *given;
        }
        self.line.clear();
        let host = safe(&question.host).into_owned();
        print_note(&format!("{} is not among your allowed sources", paint(BOLD, &host)));
        if question.origin == SourceOrigin::Recorded {
            print_note(&paint(DIM, "the source comes from skills.json or a list of plugins"));
        }
        if !question.is_encrypted {
            print_note(&paint(
                YELLOW,
                "the connection is not encrypted: others on the way can change what arrives",
            ));
        }
        prompt::forget_typed();
        let source = safe(&question.source).into_owned();
        let answer = prompt::ask(&format!("Fetch {source}? [y]es, [a]lways from {host}, [N]o"));
        let may = match answer.unwrap_or_default().to_lowercase().as_str() {
            "y" | "yes" => true,
            "a" | "always" => {
                answers.always.push(question.pattern.clone());
                true
            }
            _ => false,
        };
        answers.given.insert(key, may);
        may
    }

    fn pick(&self, skills: &[PickableSkill]) -> Option<Vec<String>> {
        let all = || skills.iter().map(|skill| skill.name.clone()).collect();
        if self.lists {
            return Some(all());
        }
        if !self.can_ask {
            return None;
        }
        self.line.clear();
        for (number, skill) in skills.iter().enumerate() {
            let line = fold_line(&skill.description);
            let short: String = line.chars().take(DESCRIPTION_CHARS).collect();
            let name = paint(BOLD, safe(&skill.name));
            print_note(&format!("{:>3}  {name}  {}", number + 1, paint(DIM, safe(&short))));
        }
        prompt::forget_typed();
        loop {
            let typed = prompt::ask("Which of them? Numbers or names, or `all`:")?;
            match picked(&typed, skills) {
                Ok(names) => return Some(names),
                Err(word) => print_note(&format!("there is no `{}` in the list", safe(&word))),
            }
        }
    }
}

/// The skills that `typed` names: numbers, spans of numbers and names, with blanks or commas between them.
/// Gives the word that is none of these.
fn picked(typed: &str, skills: &[PickableSkill]) -> std::result::Result<Vec<String>, String> {
    let mut chosen = vec![false; skills.len()];
    let words =
        typed.split(|ch: char| ch == ',' || ch.is_whitespace()).filter(|word| !word.is_empty());
    for word in words {
        let number =
            |text: &str| text.parse::<usize>().ok().filter(|it| (1..=skills.len()).contains(it));
        let span = match word.split_once('-') {
            Some((from, to)) => number(from).zip(number(to)),
            None => number(word).map(|it| (it, it)),
        };
        let by_name = skills.iter().position(|skill| skill.name == word);
        match (span, by_name) {
            (_, Some(at)) => chosen[at] = true,
            (Some((from, to)), None) if from <= to => chosen[from - 1..to].fill(true),
            _ if word == "all" => chosen.fill(true),
            _ => return Err(word.to_owned()),
        }
    }
    let names = skills.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    Ok(names.map(|(skill, _)| skill.name.clone()).collect())
}
