//! The words of errors: what happened, and what to do.
//! Codes and kinds are in the module above; a message names the file or skill first.

use std::fmt;

use metier_skill::text::shell_word;

use super::{FoundInSkill, Obstacle, ObstacleReason, PackError, RequiredSkill};
use crate::archive::{ArchiveError, ArchiveFault};
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::target::is_of_a_change;

/// How many findings a message names.
const MAX_NAMED: usize = 5;

/// What to do about more than may come, with the limit.
fn limit_help(fault: ArchiveFault) -> Option<String> {
    let limits = PackLimits::default();
    let most = match fault {
        ArchiveFault::TooManyEntries => {
            format!("{},{:03} files and folders", limits.entries / 1000, limits.entries % 1000)
        }
        ArchiveFault::TooLarge => {
            let (file, all) = (limits.file_bytes >> 20, limits.total_bytes >> 20);
            format!("{file} MiB in a file and {all} MiB in all")
        }
        _ => return None,
    };
    Some(format!(
        "at most {most} may come from one source: name the folder of a skill, or split it"
    ))
}

impl PackError {
    /// What to do.
    pub fn help(&self) -> String {
        if let Self::Archive { error: ArchiveError::Fault { fault, .. }, .. }
        | Self::Directory { fault, .. } = self
            && let Some(limit) = limit_help(*fault)
        {
            return limit;
        }
        if let Some(help) = self.file_help() {
            return help.to_owned();
        }
        match self {
            Self::Unfinished { .. } => {
                "nothing is lost: check the permissions and the free space there; the next command, such as `metier verify`, finishes it"
                    .to_owned()
            }
            Self::NoSource { near: Some(near), .. } | Self::NotInstalled { near: Some(near), .. } => {
                format!("did you mean `{near}`?")
            }
            Self::NoSource { .. } | Self::UnsupportedSource { .. } | Self::BadSource { .. } => {
                format!("supported sources: {}", crate::source::SUPPORTED)
            }
            Self::SourceIsTarget(_) => {
                "name the place that the skills came from; a skill that lies there already works without being installed"
                    .to_owned()
            }
            Self::NoSkill(_) => "a skill is a folder with a file named exactly SKILL.md".to_owned(),
            Self::SkillsLeftOut { .. } => {
                "links are not followed: install the folder that the link points to, or ask the publisher for a file"
                    .to_owned()
            }
            Self::TwoLayouts(_) => "name the folder of the skill that you want".to_owned(),
            Self::FlatOfSeveral { has, .. } => {
                format!("choose one with --skill, or pack without --flat; it has: {}", has.join(", "))
            }
            Self::BadSkill { problem, .. } => problem.code.info().fix_advice.to_owned(),
            Self::BadName(_) => {
                "use lower-case letters, digits and single hyphens, at most 64 characters".to_owned()
            }
            Self::NameTwice(_) => "pack or install them one by one".to_owned(),
            Self::NotInSource { has, .. } => format!("it has: {}", has.join(", ")),
            Self::ManifestMismatch { .. } => "nothing was installed; get the archive again".to_owned(),
            Self::InTheWay(obstacles) => in_the_way_help(obstacles).to_owned(),
            Self::TargetChanged(_) => "run the command again to see a new plan".to_owned(),
            Self::BadTarget { path, .. } if is_of_a_change(path) => {
                "it may have come with a clone: remove it, and try again".to_owned()
            }
            Self::BadTarget { .. } => "replace it by a folder of your own, and try again".to_owned(),
            Self::Busy(_) => "wait for the other process, and try again".to_owned(),
            Self::BadRecord { .. } => {
                "nothing was changed; fix the file, or restore it from version control".to_owned()
            }
            Self::LockOutdated(_) => "run `metier install` without --locked, and commit the lock".to_owned(),
            Self::LockContradicts(_) => {
                "run `metier install` without --locked, which writes it again from the source, or restore the lock from version control"
                    .to_owned()
            }
            Self::LockMismatch { name, source } => format!(
                "to accept what it gives now: metier install {} --skill {}",
                shell_word(source),
                shell_word(name)
            ),
            Self::NotInstalled { .. } => {
                "`metier list` shows the skills; one that Metier did not install is removed by `metier delete`"
                    .to_owned()
            }
            Self::Backup(error) => error.help(),
            Self::Fetch(error) => error.help(),
            Self::Git { fault, .. } => fault.help(),
            Self::SourceDenied { denial, .. } => denial.help(),
            Self::NoPlugin { has, .. } if has.is_empty() => {
                "plugins are listed in .claude-plugin/marketplace.json or .agents/plugins/marketplace.json"
                    .to_owned()
            }
            Self::NoPlugin { has, .. } => format!("it lists: {}", has.join(", ")),
            Self::SeveralSkills { has, .. } => {
                format!("choose with --skill NAME,NAME or --all; it has: {}", has.join(", "))
            }
            Self::Signature { error, .. } => error.help(),
            Self::SignerChanged { .. } => {
                "nothing was installed; ask the publisher, and if the change is right: --accept-signer"
                    .to_owned()
            }
            Self::SignatureExists(_) => "--force replaces it".to_owned(),
            Self::NewFindings(_) => {
                "nothing was changed; --dry-run shows the lines, and --accept-findings installs anyway"
                    .to_owned()
            }
            Self::DependencyCycle(_) => "one of them has to do without the next one".to_owned(),
            Self::Required(_) => "uninstall those too, or use --force".to_owned(),
            // The others are in `file_help`.
            Self::Cancelled
            | Self::Archive { .. }
            | Self::Directory { .. }
            | Self::NotReadable { .. }
            | Self::NotWritten { .. } => String::new(),
        }
    }

    /// What to do about an archive or a file that cannot be read or written.
    fn file_help(&self) -> Option<&'static str> {
        Some(match self {
            Self::Archive {
                error: ArchiveError::Fault { fault: ArchiveFault::NameEncoding, .. },
                ..
            } => "programs read such names differently; pack it again with `metier pack`",
            Self::Archive { error: ArchiveError::Fault { .. }, .. } => {
                "nothing was installed; get the archive again, or pack it again with `metier pack`"
            }
            Self::Archive { .. } | Self::NotReadable { .. } => "check the path and the permissions",
            Self::Directory { .. } => "rename or remove the file, and try again",
            Self::NotWritten { error, .. } if error.kind() == std::io::ErrorKind::InvalidInput => {
                "nothing was changed; name another file"
            }
            Self::NotWritten { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                "nothing was changed; make the folder, or name another place"
            }
            Self::NotWritten { .. } => {
                "nothing was changed; check the permissions and the free space there"
            }
            _ => return None,
        })
    }
}

/// What to do about what stands in the way.
fn in_the_way_help(obstacles: &[Obstacle]) -> &'static str {
    let is_any = |reason: ObstacleReason| obstacles.iter().any(|it| it.reason == reason);
    if is_any(ObstacleReason::InstalledCopy) {
        "uninstall the copy first: metier uninstall NAME --agent AGENT"
    } else if is_any(ObstacleReason::Moved) {
        "ask the publisher; --force installs what the tag points to now, and keeps a backup of a copy that is there"
    } else if is_any(ObstacleReason::OtherSpelling) {
        "--force does not replace it: remove it first, with `metier uninstall NAME` or, if Metier did not install it, `metier delete NAME`"
    } else {
        "--force installs it anyway; a copy that is there is kept as a backup, which `metier restore` restores"
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Cancelled => f.write_str("Cancelled. Nothing was installed."),
            Self::Directory { path, fault, entry: Some(entry) } => {
                write!(f, "{}: `{entry}`: {fault}", path.display())
            }
            Self::Directory { path, fault, entry: None } => {
                write!(f, "{}: {fault}", path.display())
            }
            Self::NotReadable { path, error } => {
                write!(f, "{} cannot be read: {error}", path.display())
            }
            Self::NotWritten { path, error } => {
                write!(f, "{} cannot be written: {error}", path.display())
            }
            Self::Unfinished { root, error } => {
                write!(f, "the change to {} was not finished: {error}", root.display())
            }
            Self::NoSource { source, .. } => write!(f, "there is nothing at {source}"),
            Self::SourceIsTarget(source) => {
                write!(f, "{source} is inside the target folder; choose a source outside it")
            }
            Self::UnsupportedSource { source, kind } => {
                write!(f, "{source} is {kind}, which is not a supported source yet")
            }
            Self::NoSkill(source) => write!(f, "there is no SKILL.md in {source}"),
            Self::SkillsLeftOut { source, left_out } => {
                f.write_str(&named_left_out(source, left_out))
            }
            Self::FlatOfSeveral { source, has } => write!(
                f,
                "{source} has {} skills, and an archive with SKILL.md at its top holds one",
                has.len()
            ),
            Self::TwoLayouts(source) => write!(
                f,
                "{source} has a SKILL.md at its top and in folders below: it could be one skill or several"
            ),
            Self::BadSkill { path, problem } => {
                let file = if path.is_empty() {
                    "SKILL.md".to_owned()
                } else {
                    format!("{path}/SKILL.md")
                };
                write!(f, "{file}:{}: {}", problem.line, problem.message)
            }
            Self::BadName(name) => write!(f, "`{name}` cannot be the name of a skill's folder"),
            Self::NameTwice(name) => write!(f, "two skills are called `{name}`"),
            Self::NotInSource { name, .. } => write!(f, "the source has no skill `{name}`"),
            Self::ManifestMismatch { path, what } => {
                write!(f, "{}: its manifest.json does not fit its files: {what}", path.display())
            }
            Self::InTheWay(obstacles) => f.write_str(&named_obstacles(obstacles)),
            Self::TargetChanged(path) => {
                write!(f, "{} changed since the plan was made", path.display())
            }
            Self::BadTarget { path, reason } => write!(f, "{} {reason}", path.display()),
            Self::Busy(path) => {
                write!(f, "another process has been changing {} for too long", path.display())
            }
            Self::BadRecord { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::LockOutdated(names) => {
                write!(f, "skills.json and skills.lock.json disagree about {}", names.join(", "))
            }
            Self::LockContradicts(names) => write!(
                f,
                "skills.lock.json contradicts itself about {}: the digest of the tree is not that of the files",
                names.join(", ")
            ),
            Self::LockMismatch { name, source } => {
                write!(f, "`{name}`: {source} is not what skills.lock.json says it was")
            }
            Self::NotInstalled { name, .. } => write!(f, "`{name}` is not installed here"),
            Self::Backup(error) => error.fmt(f),
            Self::Fetch(error) => error.fmt(f),
            Self::SourceDenied { source, denial } => write!(f, "{source} {denial}"),
            Self::NoPlugin { source, name, .. } => write!(f, "{source} lists no plugin `{name}`"),
            Self::SeveralSkills { source, has } => {
                write!(f, "{source} has {} skills, and none was chosen", has.len())
            }
            Self::Git { source, fault } => write!(f, "{source}: {fault}"),
            Self::BadSource { source, reason } => {
                write!(f, "{source} cannot be a source: {reason}")
            }
            Self::Signature { file, error } => write!(f, "{file}: {error}"),
            Self::SignerChanged { name, pinned, found } if found.is_empty() => {
                write!(f, "`{name}` was signed by {pinned}, and no such signature is here now")
            }
            Self::SignerChanged { name, pinned, found } => {
                write!(f, "`{name}` was signed by {pinned}, and now by {}", found.join(", "))
            }
            Self::SignatureExists(path) => write!(f, "{} exists already", path.display()),
            Self::NewFindings(found) => f.write_str(&named_findings(found)),
            Self::DependencyCycle(names) => {
                write!(f, "circular dependency: {}", names.join(" -> "))
            }
            Self::Required(skills) => f.write_str(&named_required(skills)),
        }
    }
}

fn named_required(skills: &[RequiredSkill]) -> String {
    let each = skills.iter().map(|it| format!("`{}` is needed by {}", it.name, it.by.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

fn named_left_out(source: &str, left_out: &[LeftOut]) -> String {
    let is = |left: &LeftOut| format!("{} is {}", left.path, left.reason.text());
    let each: Vec<String> = left_out.iter().take(MAX_NAMED).map(is).collect();
    format!("{source} has no SKILL.md that can be used: {}", each.join("; "))
}

fn named_obstacles(obstacles: &[Obstacle]) -> String {
    let is = |it: &Obstacle| match &it.path {
        None => format!("`{}` {}", it.name, it.reason.text()),
        Some(path) if it.reason == ObstacleReason::OtherSpelling => {
            format!("`{}` {} {}", it.name, it.reason.text(), path.display())
        }
        Some(path) => format!("{} {}", path.display(), it.reason.text()),
    };
    obstacles.iter().map(is).collect::<Vec<_>>().join("; ")
}

fn named_findings(found: &[FoundInSkill]) -> String {
    let each: Vec<String> = found
        .iter()
        .take(MAX_NAMED)
        .map(|it| format!("`{}` {} [{}]", it.skill, it.place, it.rule))
        .collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    format!("new findings of high severity: {}{more}", each.join("; "))
}
