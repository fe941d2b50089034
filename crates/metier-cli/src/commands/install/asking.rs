//! What `install` asks while a plan is made: whether a host may be used, and which of several skills are meant.
//!
//! `--yes` answers for a source that the person named on the command line, and never for one that came with
//! `skills.json` or a list of plugins.

use std::sync::Mutex;

use metier::Metier;
use metier::pack::{InstallQuestions, PickableSkill, SourceOrigin, SourceQuestion};

use crate::error::Result;
use crate::output::print_note;
use crate::prompt;
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{fold_line, safe};

/// How much of a description stands beside a name.
const DESCRIPTION_CHARS: usize = 90;

/// Asks on the terminal, where there is one.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) can_ask: bool,
    pub(super) yes: bool,
    /// Only a list is wanted: nothing is picked.
    pub(super) lists: bool,
    /// Hosts that are not to be asked about again.
    pub(super) always: Mutex<Vec<String>>,
}

impl Asking {
    /// Writes down what was answered with "always".
    pub(super) fn remember(&self, metier: &Metier) -> Result<()> {
        let hosts =
            self.always.lock().map(|mut hosts| std::mem::take(&mut *hosts)).unwrap_or_default();
        for host in hosts {
            let change = metier.allow_source(&host)?;
            print_note(&paint(
                DIM,
                format!("{} is allowed in {}", safe(&host), change.file.display()),
            ));
        }
        Ok(())
    }
}

impl InstallQuestions for Asking {
    fn may_use(&self, question: &SourceQuestion) -> bool {
        if self.yes && question.origin == SourceOrigin::Named {
            return true;
        }
        if !self.can_ask {
            return false;
        }
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
        match answer.unwrap_or_default().to_lowercase().as_str() {
            "y" | "yes" => true,
            "a" | "always" => {
                if let Ok(mut patterns) = self.always.lock() {
                    patterns.push(question.pattern.clone());
                }
                true
            }
            _ => false,
        }
    }

    fn pick(&self, skills: &[PickableSkill]) -> Option<Vec<String>> {
        let all = || skills.iter().map(|skill| skill.name.clone()).collect();
        if self.lists {
            return Some(all());
        }
        if !self.can_ask {
            return None;
        }
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
