//! `metier permissions`: the answers that are remembered, listed and forgotten.
//!
//! What an answer covers, and when it counts, is `metier-policy`'s.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::UnmatchedRule;
use metier::policy::{AlwaysScope, AnswerScope, RememberedAnswer};
use serde::Serialize;

use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe, time_text};

/// List the remembered answers ("always"), or forget one.
///
/// An answer is bound to the content of a skill: after a change you are asked again. It never allows
/// what a rule denies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier permissions
  metier permissions forget 1f0c2ab39d4e
  metier permissions --json")]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the answers, oldest first.
    List,
    /// Forget an answer, so that you are asked again.
    Forget {
        /// The answer, by the id that the list shows.
        id: String,
    },
}

#[derive(Serialize)]
struct Listed {
    answers: Vec<Answer>,
    /// Rules of the configuration that no answer can be about.
    #[serde(skip)]
    unmatched: Vec<UnmatchedRule>,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    answer: RememberedAnswer,
    /// Whether it has not expired.
    holds: bool,
}

#[derive(Serialize)]
struct Forgotten {
    forgotten: RememberedAnswer,
}

pub(crate) fn run(args: &PermissionsArgs, context: &Context) -> Result<Box<dyn Output>> {
    match &args.action {
        Some(Action::Forget { id }) => {
            Ok(Box::new(Forgotten { forgotten: context.metier.forget_answer(id)? }))
        }
        Some(Action::List) | None => {
            let answers = context.metier.remembered_answers()?.into_iter();
            let answers = answers.map(|(answer, holds)| Answer { answer, holds }).collect();
            let unmatched = context.metier.unmatched_rules(&context.metier.skills())?;
            Ok(Box::new(Listed { answers, unmatched }))
        }
    }
}

/// What an answer is about, for people.
fn about(answer: &RememberedAnswer) -> String {
    let covers = answer.covers.iter().map(|cover| match cover {
        AlwaysScope::Exact(subject) => subject.to_string(),
        AlwaysScope::Pattern(pattern) => format!("all of `{pattern}`"),
        AlwaysScope::Script { skill, path } => format!("{skill}/{path} with any arguments"),
    });
    safe(&covers.collect::<Vec<_>>().join(", ")).into_owned()
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.answers.is_empty() {
            let plain = anstyle::Style::new();
            let mut table = Table::new(&[
                ("ID", CYAN),
                ("TOOL", BOLD),
                ("SKILL", plain),
                ("WHERE", plain),
                ("GIVEN", DIM),
                ("UNTIL", DIM),
                ("WHAT", plain),
            ])
            .expendable(&["GIVEN", "UNTIL"]);
            for Answer { answer, holds } in &self.answers {
                let until = match answer.expires_at {
                    Some(_) if !holds => "expired".to_owned(),
                    Some(end) => time_text(end),
                    None => "-".to_owned(),
                };
                let place = match &answer.scope {
                    AnswerScope::Workspace(folder) => safe(folder.as_str()).into_owned(),
                    AnswerScope::Everywhere => "everywhere".to_owned(),
                };
                let skill = answer.skill.as_ref().map(ToString::to_string);
                table.row(vec![
                    safe(&answer.id).into_owned(),
                    safe(answer.permission.as_str()).into_owned(),
                    safe(skill.as_deref().unwrap_or("-")).into_owned(),
                    place,
                    time_text(answer.granted_at),
                    until,
                    about(answer),
                ]);
            }
            table.write(out)?;
        }
        out.flush()?;
        let what = match self.answers.len() {
            0 => "no remembered answers".to_owned(),
            number => {
                format!("{}; to forget one: metier permissions forget ID", count(number, "answer"))
            }
        };
        print_note(&paint(DIM, what));
        for rule in &self.unmatched {
            let line = rule.at.line.map_or_else(String::new, |line| format!(":{line}"));
            let text = format!("{}{line}: {rule}", rule.at.origin);
            print_note(&format!("{}: {}", paint(YELLOW, "warning"), safe(&text)));
        }
        Ok(())
    }
}

impl Output for Forgotten {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let RememberedAnswer { id, permission, .. } = &self.forgotten;
        let (id, permission) = (paint(CYAN, safe(id)), safe(permission.as_str()));
        writeln!(
            out,
            "{} {id}: you will be asked about `{permission}` of {} again",
            paint(GREEN, "forgotten"),
            about(&self.forgotten)
        )
    }
}
