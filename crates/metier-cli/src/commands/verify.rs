//! `metier verify`: what is on the disk against `skills.lock.json`, with the digests.
//! Comparing is `metier-pack`'s; a difference is a finding, and gives the exit code 1.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use metier::pack::{
    FileState, InstalledSkill, LinkState, UpstreamState, VerifiedSkill, VerifyScan, VerifyState,
};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::commands::asking::SourceTalk;
use crate::commands::installed_target::installed_target;
use crate::commands::verify_pack;
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::fetching::FetchLine;
use crate::render::findings::finding_line;
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::render::table::{cut, terminal_width};
use crate::render::{count, safe};
use crate::scope::ScopeArgs;

/// How many differences of a skill are shown.
const MAX_SHOWN: usize = 20;
/// Columns that a digest keeps on a narrow terminal.
const LEAST_DIGEST: usize = 15;

/// Compare installed skills with skills.lock.json, or check the signatures of an archive.
///
/// Installed skills are compared file by file, and their digests are printed. Exits with 1 if a skill differs from
/// what was installed, or is missing. Files that differ are scanned, and what is found in them is shown. Skills that Metier did not install are listed with their digest.
///
/// For an archive, or a folder given as a path, the structure, the manifest and the signatures (FILE.minisig,
/// FILE.sig, skill.oms.sig) are checked. Exits with 1 if it is not signed by a key that you trust, or that --key
/// names. Nothing is changed, and without --upstream nothing is asked of the network.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier verify
  metier verify pdf --files     the digest of each file too
  metier verify --user --json
  metier verify --agent claude
  metier verify --upstream      were tags of repositories and registries moved?
  metier verify pdf.zip                       a pack, with the keys that you trust
  metier verify pdf.zip --key publisher.pub   with this key only
  metier verify ./pdf --key ca.pem            a folder with a skill.oms.sig")]
pub(crate) struct VerifyArgs {
    /// Installed skills, by name (all of them without one), or archives and folders, by path.
    names: Vec<String>,
    /// Verify what is installed in the folder of this agent.
    #[arg(long, value_name = "AGENT", conflicts_with = "key")]
    agent: Option<String>,
    /// Check signatures with the public keys in FILE, and no others (may be repeated).
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    key: Vec<PathBuf>,
    /// Print the digest of each file.
    #[arg(long)]
    files: bool,
    /// Ask repositories and registries too whether a tag that should never change still means what is locked. Exits with
    /// 1 if one was moved, or cannot be asked.
    #[arg(long, conflicts_with = "key")]
    upstream: bool,
    /// Scan every file, not only those that differ.
    #[arg(long)]
    findings: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Verified {
    target: String,
    skills: Vec<VerifiedSkill>,
    /// What the sources of tags say, where they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<Vec<InstalledSkill>>,
    #[serde(skip)]
    files: bool,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let packs = args.names.iter().filter(|name| verify_pack::is_pack(context, name)).count();
    match packs {
        0 if !args.key.is_empty() => {
            return Err(CommandError::usage("--key is for archives and folders")
                .help("name one by its path: metier verify ./pdf.zip --key FILE"));
        }
        0 => {}
        _ if args.upstream => {
            return Err(CommandError::usage("--upstream is for installed skills")
                .help("name skills, and no paths"));
        }
        all if all == args.names.len() => return verify_pack::run(&args.names, &args.key, context),
        _ => {
            return Err(CommandError::usage(
                "installed skills and archives cannot be verified together",
            )
            .help("name either skills or paths"));
        }
    }
    let scan = if args.findings { VerifyScan::All } else { VerifyScan::Differing };
    let (scope, names) = args.scope.of_names(&args.names)?;
    let (target, skills) = if let Some(agent) = &args.agent {
        context.metier.verify_for_agent(agent, scope.chosen(), &names, scan)?
    } else {
        let line = Arc::new(FetchLine::new());
        let target = installed_target(None, &names, scope, context)?;
        let target = target.with_progress(line.clone());
        let skills = context.metier.verify_installed(&target, &names, scan);
        line.clear();
        (target, skills?)
    };
    let upstream = if args.upstream {
        let talk = SourceTalk::new(json, false, false);
        let asked = talk.join(target.clone());
        let found =
            context.metier.outdated_tags(&asked, &context.metier.update_request(names.clone()));
        talk.end(&context.metier)?;
        Some(found?)
    } else {
        None
    };
    let target = target.root().to_string_lossy().into_owned();
    Ok(Box::new(Verified { target, skills, upstream, files: args.files }))
}

/// Whether its source still gives what is locked.
fn is_as_locked(skill: &InstalledSkill) -> bool {
    skill.state == UpstreamState::Current
}

fn write_upstream(asked: &[InstalledSkill], out: &mut dyn Write) -> io::Result<()> {
    for skill in asked.iter().filter(|skill| !is_as_locked(skill)) {
        let name = paint(BOLD, safe(&skill.name));
        let what = match (&skill.problem, skill.state) {
            (Some(problem), _) => safe(&problem.message).into_owned(),
            (None, UpstreamState::Gone | UpstreamState::Renamed) => {
                format!("{} no longer has it", safe(&skill.source))
            }
            (None, _) => format!("{} gives something else", safe(&skill.source)),
        };
        let word = match skill.state {
            UpstreamState::Moved => "tag moved",
            UpstreamState::SourceFailed => "not asked",
            _ => "differs at its source",
        };
        writeln!(out, "{} {name}: {what}", paint(RED, word))?;
    }
    out.flush()?;
    let fine = asked.iter().filter(|skill| is_as_locked(skill)).count();
    let note = match asked.len() {
        0 => "no skill is from a tag or version of a repository or registry".to_owned(),
        all => format!(
            "{fine} of {} from tags and versions as locked at the source",
            count(all, "skill")
        ),
    };
    print_note(&paint(DIM, note));
    Ok(())
}

const fn is_fine(state: VerifyState) -> bool {
    matches!(state, VerifyState::Unchanged | VerifyState::Unmanaged)
}

const fn file_word(state: FileState) -> &'static str {
    match state {
        FileState::Changed => "changed",
        FileState::Missing => "missing",
        FileState::Extra => "extra",
        FileState::Mode => "execute bit",
        _ => "not a file",
    }
}

impl Output for Verified {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for skill in &self.skills {
            let (word, style) = match skill.state {
                VerifyState::Unchanged => ("unchanged", GREEN),
                VerifyState::Modified => ("modified", RED),
                VerifyState::Missing => ("missing", RED),
                VerifyState::Unmanaged => ("unmanaged", YELLOW),
                VerifyState::BadLock => ("lock is wrong", RED),
                _ => ("unreadable", RED),
            };
            let digest = skill.tree.map_or_else(|| "-".repeat(71), |tree| tree.to_string());
            let name = safe(&skill.name);
            // Names are typed back; the whole digest is in a file or a pipe, and in the JSON.
            let beside = name.width() + word.width() + 4;
            let room = terminal_width().map(|width| width.saturating_sub(beside).max(LEAST_DIGEST));
            let digest = room.map_or_else(|| digest.clone(), |room| cut(&digest, room));
            let name = paint(BOLD, name);
            writeln!(out, "{}  {name}  {}", paint(DIM, digest), paint(style, word))?;
            for difference in skill.differences.iter().take(MAX_SHOWN) {
                let what = file_word(difference.state);
                writeln!(out, "  {}: {}", paint(YELLOW, what), safe(&difference.path))?;
            }
            if skill.differences.len() > MAX_SHOWN {
                writeln!(out, "  and {} more", skill.differences.len() - MAX_SHOWN)?;
            }
            for link in skill.links.iter().filter(|link| link.state != LinkState::Unchanged) {
                let state = match link.state {
                    LinkState::Missing => "missing link",
                    _ => "not the link that was made",
                };
                writeln!(out, "  {}: {}", paint(YELLOW, state), safe(&link.path))?;
            }
            for finding in skill.findings.iter().take(MAX_SHOWN) {
                writeln!(out, "{}", finding_line(finding))?;
            }
            if let Some(reason) = &skill.reason {
                writeln!(out, "  {}", safe(reason))?;
            }
            if self.files {
                for (path, digest) in &skill.files {
                    writeln!(out, "  {}  {}", paint(DIM, digest), safe(path))?;
                }
            }
        }
        out.flush()?;
        let bad = self.skills.iter().filter(|skill| !is_fine(skill.state)).count();
        let note = match (self.skills.len(), bad) {
            (0, _) => format!("there are no skills in {}", safe(&self.target)),
            (all, 0) => format!("{}, none differs from the lock", count(all, "skill")),
            (_, bad) if self.skills.iter().any(|it| it.state == VerifyState::BadLock) => format!(
                "{} not as locked; where the lock contradicts itself, `metier install` writes it again from the source",
                count(bad, "skill")
            ),
            (_, bad) => format!(
                "{} not as locked; `metier install --force` brings back what was installed, and keeps a backup",
                count(bad, "skill")
            ),
        };
        print_note(&paint(DIM, note));
        self.upstream.as_ref().map_or(Ok(()), |asked| write_upstream(asked, out))
    }

    fn exit(&self) -> Exit {
        let fine = self.skills.iter().all(|skill| is_fine(skill.state))
            && self.upstream.iter().flatten().all(is_as_locked);
        if fine { Exit::Done } else { Exit::Findings }
    }
}
