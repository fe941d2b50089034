//! What a shell offers at the press of Tab: commands and options as the help has them, and the names that only
//! this machine knows: skills, their files and scripts, runs, agents.
//!
//! A script of the shell (`metier completions SHELL`) starts the program with [`VARIABLE`] set and the words
//! typed so far. Whatever goes wrong, nothing is offered and nothing is printed: a person is typing.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;

use clap::Command;
use clap::builder::StyledStr;
use clap_complete::engine::ValueCompleter as _;
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};
use metier::skill::{Code, Profile};
use metier::{FindOptions, Metier, RunState};

use crate::args;
use crate::commands::content::{self, is_script};
use crate::render::fold_line;
use crate::render::table::cut;

/// Set by a shell's script to the name of the shell.
pub(crate) const VARIABLE: &str = "METIER_COMPLETE";

/// Characters of what is said beside a name.
const HELP_CHARS: usize = 60;
/// Runs that are offered.
const MAX_RUNS: usize = 30;

/// What stands in the place of an argument.
#[derive(Debug, Clone, Copy)]
enum Names {
    Skills,
    SkillsOrPaths,
    Files,
    Scripts,
    Runs,
    Agents,
    Tools,
    Codes,
}

/// Every argument that names something of this machine. A test builds the commands with it.
#[rustfmt::skip]
const ARGUMENTS: &[(&[&str], &str, Names)] = &[
    (&["inspect"], "name", Names::Skills),
    (&["read"], "name", Names::Skills),
    (&["read"], "path", Names::Files),
    (&["files"], "name", Names::Skills),
    (&["open"], "name", Names::Skills),
    (&["enable"], "name", Names::Skills),
    (&["disable"], "name", Names::Skills),
    (&["delete"], "name", Names::Skills),
    (&["check"], "paths", Names::SkillsOrPaths),
    (&["check"], "explain", Names::Codes),
    (&["exec"], "name", Names::Skills),
    (&["exec"], "script", Names::Scripts),
    (&["run"], "skills", Names::Skills),
    (&["run"], "agent", Names::Agents),
    (&["chat"], "skills", Names::Skills),
    (&["chat"], "agent", Names::Agents),
    (&["catalog"], "agent", Names::Agents),
    (&["search"], "agent", Names::Agents),
    (&["explain"], "tool", Names::Tools),
    (&["explain"], "skill", Names::Skills),
    (&["explain"], "loaded", Names::Skills),
    (&["explain"], "agent", Names::Agents),
    (&["tools"], "skill", Names::Skills),
    (&["tools"], "loaded", Names::Skills),
    (&["tools"], "agent", Names::Agents),
    (&["show"], "run", Names::Runs),
    (&["resume"], "run", Names::Runs),
    (&["replay"], "run", Names::Runs),
    (&["export"], "run", Names::Runs),
    (&["restore"], "run", Names::Runs),
    (&["audit", "verify"], "run", Names::Runs),
];

/// Answers a shell that asks for completions; `false` where none does.
#[expect(clippy::disallowed_methods, reason = "the shell's question is in the environment")]
pub(crate) fn answer() -> bool {
    let Some(shell) = std::env::var_os(VARIABLE).filter(|shell| !shell.is_empty()) else {
        return false;
    };
    let typed: Vec<OsString> =
        std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let here = std::env::current_dir().ok();
    let shells = Shells::builtins();
    let Some(shell) = shell.to_str().and_then(|shell| shells.completer(shell)) else { return true };
    let mut command = with_names(visible(&args::command()), &Typed::of(&typed, here.clone()));
    command.build();
    let mut offered = Vec::new();
    if shell.write_complete(&mut command, typed, here.as_deref(), &mut offered).is_ok() {
        // A shell that does not read is not listening any more.
        let _ = std::io::stdout().write_all(&offered);
    }
    true
}

/// The program without the commands that are not for people: a shell would offer them too.
pub(crate) fn visible(whole: &Command) -> Command {
    let mut shown = Command::new("metier").args(whole.get_arguments().cloned());
    if let Some(version) = whole.get_version() {
        shown = shown.version(version.to_owned());
    }
    for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
        shown = shown.subcommand(command.clone());
    }
    shown
}

/// The commands, with what is looked up for their arguments.
fn with_names(mut command: Command, typed: &Typed) -> Command {
    for &(path, argument, names) in ARGUMENTS {
        command = with_names_at(command, path, argument, names, typed);
    }
    command
}

fn with_names_at(
    command: Command,
    path: &[&'static str],
    argument: &'static str,
    names: Names,
    typed: &Typed,
) -> Command {
    // Not `mut_arg` and `mut_subcommand`: they move what they change to the end, and positional arguments have an
    // order.
    match path.split_first() {
        Some((first, rest)) => command.mut_subcommands(|inner| {
            if inner.get_name() == *first {
                with_names_at(inner, rest, argument, names, typed)
            } else {
                inner
            }
        }),
        None => command.mut_args(|it| {
            let typed = typed.clone();
            match names {
                _ if it.get_id() != argument => it,
                Names::SkillsOrPaths => it.add(ArgValueCompleter::new(move |word: &OsStr| {
                    let mut all = typed.names(names);
                    all.retain(|one| starts_with(one.get_value(), word));
                    all.extend(PathCompleter::any().complete(word));
                    all
                })),
                _ => it.add(ArgValueCandidates::new(move || typed.names(names))),
            }
        }),
    }
}

fn starts_with(name: &OsStr, word: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(word.as_encoded_bytes())
}

/// What is already typed and decides what can follow.
#[derive(Debug, Clone, Default)]
struct Typed {
    directory: PathBuf,
    roots: Vec<PathBuf>,
    /// The words that are no options, the program and the one at the cursor left out.
    words: Vec<String>,
}

impl Typed {
    fn of(typed: &[OsString], here: Option<PathBuf>) -> Self {
        let mut found = Self { directory: here.unwrap_or_default(), ..Self::default() };
        let mut words = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match word.split_once('=').unwrap_or((word.as_str(), "")) {
                ("-C", _) => found.directory.push(words.next().unwrap_or_default()),
                ("--root", "") => found.roots.extend(words.next().map(PathBuf::from)),
                ("--root", root) => found.roots.push(PathBuf::from(root)),
                ("--source" | "--profile" | "--approve" | "--timeout" | "--color", "") => {
                    words.next();
                }
                ("--", _) => break,
                (option, _) if option.starts_with('-') => {}
                _ => found.words.push(word),
            }
        }
        found
    }

    /// The runtime; its warnings are for commands.
    fn metier(&self) -> Option<Metier> {
        let metier = Metier::open(&self.directory).ok()?;
        let profile: Option<Profile> = None;
        Some(metier.finding(FindOptions { roots: self.roots.clone(), profile }))
    }

    fn names(&self, names: Names) -> Vec<CompletionCandidate> {
        let found = match names {
            Names::Skills | Names::SkillsOrPaths => self.skills(),
            Names::Files => self.files(&|_| true),
            Names::Scripts => self.files(&is_script),
            Names::Runs => self.runs(),
            Names::Agents => self.agents(),
            Names::Tools => {
                Some(metier::policy::Permission::ours().map(|tool| plain(tool.as_str())).collect())
            }
            Names::Codes => {
                let codes = Code::ALL.iter().map(|code| named(code.as_str(), code.info().what));
                Some(codes.collect())
            }
        };
        found.unwrap_or_default()
    }

    fn skills(&self) -> Option<Vec<CompletionCandidate>> {
        let scan = self.metier()?.skills();
        let entries = scan.index.entries().iter();
        let entries = entries.map(|it| (it.name().as_str(), it.skill.description.as_ref()));
        Some(
            entries
                .filter(|(name, _)| is_typed_as_is(name))
                .map(|(name, it)| named(name, it))
                .collect(),
        )
    }

    /// The files of the skill that was named before.
    fn files(&self, is_wanted: &dyn Fn(&str) -> bool) -> Option<Vec<CompletionCandidate>> {
        let metier = self.metier()?;
        let mut named = self.words.iter().skip(1);
        let entry = named.find_map(|name| metier.skill(name).ok())?;
        let files = content::Files::list(&entry).ok()?;
        let wanted = files.rows.iter().filter(|file| is_wanted(&file.path));
        let wanted = wanted.filter(|file| is_typed_as_is(&file.path));
        Some(wanted.map(|file| plain(&file.path)).collect())
    }

    fn runs(&self) -> Option<Vec<CompletionCandidate>> {
        let folders = self.metier()?.runs().ok()?;
        let runs = folders.iter().take(MAX_RUNS).enumerate().map(|(order, folder)| {
            let known = RunState::of(folder);
            let request = known.summary.as_ref().map_or("", |summary| summary.request.as_str());
            // The newest first, not by their letters.
            named(&known.id, request).display_order(Some(order + 1))
        });
        let last = named("last", "the newest run").display_order(Some(0));
        Some(std::iter::once(last).chain(runs).collect())
    }

    fn agents(&self) -> Option<Vec<CompletionCandidate>> {
        let metier = self.metier()?;
        let mut agents: Vec<&str> = metier
            .settings()
            .agents
            .keys()
            .map(String::as_str)
            .chain(["read-only", "full"])
            .collect();
        agents.sort_unstable();
        agents.dedup();
        Some(agents.into_iter().map(plain).collect())
    }
}

/// Whether a shell takes a name as it is. Names come with clones, and a shell puts what is offered on the command
/// line without quotes: `a;reboot` must not get there by a press of Tab.
fn is_typed_as_is(name: &str) -> bool {
    let is_plain =
        |ch: char| ch.is_alphanumeric() || matches!(ch, '-' | '_' | '.' | '/' | ':' | '@' | '+');
    !name.starts_with('-') && name.chars().all(is_plain)
}

fn plain(name: &str) -> CompletionCandidate {
    CompletionCandidate::new(name)
}

/// A name with what is said beside it, on one line and without control characters: a shell prints it.
fn named(name: &str, about: &str) -> CompletionCandidate {
    let about = cut(&fold_line(about), HELP_CHARS);
    plain(name).help((!about.is_empty()).then(|| StyledStr::from(about)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_of_the_table_exists() {
        let whole = visible(&args::command());
        for (path, argument, _) in ARGUMENTS {
            let inner = path.iter().try_fold(&whole, |at, name| at.find_subcommand(name));
            let inner = inner.unwrap_or_else(|| panic!("no command {path:?}"));
            assert!(inner.get_arguments().any(|it| it.get_id() == argument), "{path:?} {argument}");
        }
        with_names(whole, &Typed::default()).debug_assert();
    }

    #[test]
    fn words_before_the_cursor_decide_what_follows() {
        let words = ["metier", "-C", "a", "exec", "--root=r", "--timeout", "3", "pdf", "scripts/x"];
        let typed = Typed::of(&words.map(OsString::from), Some(PathBuf::from("/here")));
        assert_eq!(typed.directory, PathBuf::from("/here/a"));
        assert_eq!(typed.roots, [PathBuf::from("r")]);
        assert_eq!(typed.words, ["exec", "pdf", "scripts/x"]);
    }
}
