//! `metier outdated`: installed skills against what their sources give now.
//! Comparing is `metier-pack`'s; this file draws the table.

use std::io::{self, Write};

use clap::Args;
use metier::pack::{InstalledSkill, UpstreamState};
use serde::Serialize;

use crate::commands::asking::SourceTalk;
use crate::commands::installed_target::installed_target;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe};
use crate::scope::ScopeArgs;

/// Compare installed skills with what their sources give now.
///
/// Shows the skills that could be updated, that were changed here, or whose source no longer has them, and tags of
/// repositories and registries that were moved. Nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier outdated
  metier outdated pdf --json     with the digests of both versions

Exit code 1 means that a source, or the skill in it, cannot be read.")]
pub(crate) struct OutdatedArgs {
    /// The skills, by name; all of them without one.
    names: Vec<String>,
    /// Read at most N sources at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Compare what is installed in the folder of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Compared {
    target: String,
    skills: Vec<InstalledSkill>,
}

pub(crate) fn run(args: &OutdatedArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let (scope, names) = args.scope.of_names(&args.names)?;
    let talk = SourceTalk::new(json, false, false);
    let target = talk.join(installed_target(args.agent.as_deref(), &names, scope, context)?);
    let mut request = context.metier.update_request(names);
    request.jobs = args.jobs.map_or(request.jobs, usize::from);
    let skills = context.metier.outdated(&target, &request);
    talk.end(&context.metier)?;
    let skills = skills?;
    Ok(Box::new(Compared { target: target.root().to_string_lossy().into_owned(), skills }))
}

fn state_text(skill: &InstalledSkill) -> String {
    let state = match skill.state {
        UpstreamState::Current => "up to date".to_owned(),
        UpstreamState::Outdated if skill.older => "older version".to_owned(),
        UpstreamState::Outdated => "outdated".to_owned(),
        UpstreamState::Moved => "tag moved".to_owned(),
        UpstreamState::Gone => "gone from its source".to_owned(),
        UpstreamState::Renamed => {
            let other = skill.renamed_to.as_deref().unwrap_or_default();
            format!("renamed to {}", safe(other))
        }
        UpstreamState::Unusable => "cannot be used at its source".to_owned(),
        UpstreamState::BadLock => return "lock is wrong".to_owned(),
        _ => "source cannot be read".to_owned(),
    };
    match skill {
        InstalledSkill { missing: true, state: UpstreamState::Current, .. } => {
            "missing here".to_owned()
        }
        InstalledSkill { missing: true, .. } => format!("{state}, missing here"),
        InstalledSkill { modified: true, .. } => format!("{state}, changed here"),
        _ => state,
    }
}

/// The beginning of a digest, for two versions that have no number or the same one.
fn version_text(version: Option<&str>, tree: Option<metier::skill::Digest>) -> String {
    let digest = tree.map(|tree| tree.to_string());
    let short = digest.as_deref().and_then(|it| it.get(7..15)).unwrap_or_default();
    match version {
        Some(version) => format!("{} {short}", safe(version)),
        None if short.is_empty() => "-".to_owned(),
        None => short.to_owned(),
    }
}

/// Whether its source did not say how it compares.
fn is_unknown(skill: &InstalledSkill) -> bool {
    matches!(skill.state, UpstreamState::SourceFailed | UpstreamState::Unusable)
}

impl Compared {
    fn summary(&self) -> String {
        if self.skills.is_empty() {
            return format!("no skills are installed in {}", safe(&self.target));
        }
        let number = |is: &dyn Fn(&InstalledSkill) -> bool| {
            self.skills.iter().filter(|skill| is(skill)).count()
        };
        let of = |state| number(&|skill| skill.state == state && !skill.missing);
        let (current, outdated) = (of(UpstreamState::Current), of(UpstreamState::Outdated));
        let others: Vec<String> = [
            (outdated, "outdated"),
            (of(UpstreamState::Moved), "with a tag that was moved"),
            (of(UpstreamState::Gone) + of(UpstreamState::Renamed), "no longer at their source"),
            (of(UpstreamState::BadLock), "with a wrong lock"),
            (number(&|skill| skill.missing), "missing here"),
            (number(&|skill| is_unknown(skill) && !skill.missing), "unknown"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
        if others.is_empty() {
            return format!("{} up to date", count(current, "skill"));
        }
        let next = if outdated > 0 { ": see `metier diff`, then `metier update`" } else { "" };
        format!("{current} up to date, {}{next}", others.join(", "))
    }
}

impl Output for Compared {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_shown =
            |skill: &&InstalledSkill| skill.state != UpstreamState::Current || skill.modified;
        let plain = anstyle::Style::new();
        let mut table = Table::new(&[
            ("NAME", BOLD),
            ("STATE", YELLOW),
            ("INSTALLED", plain),
            ("AVAILABLE", plain),
            ("SOURCE", DIM),
        ])
        .expendable(&["SOURCE"]);
        for skill in self.skills.iter().filter(is_shown) {
            table.row(vec![
                safe(&skill.name).into_owned(),
                state_text(skill),
                version_text(skill.version.as_deref(), Some(skill.tree)),
                version_text(skill.available_version.as_deref(), skill.available_tree),
                safe(&skill.source).into_owned(),
            ]);
        }
        if !table.is_empty() {
            table.write(out)?;
        }
        out.flush()?;
        for problem in self.skills.iter().filter_map(|skill| Some((skill, skill.problem.as_ref()?)))
        {
            let (skill, problem) = problem;
            print_note(&format!("{}: {}", safe(&skill.name), safe(&problem.message)));
        }
        print_note(&paint(DIM, self.summary()));
        Ok(())
    }

    fn exit(&self) -> Exit {
        let says_nothing =
            |skill: &InstalledSkill| is_unknown(skill) || skill.state == UpstreamState::BadLock;
        if self.skills.iter().any(says_nothing) { Exit::Findings } else { Exit::Done }
    }
}
