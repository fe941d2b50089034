//! `metier list`: the skills that count here, as a table or as JSON, once or as they change.
//!
//! Finding is `metier-registry`'s; this file renders.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use metier::policy::TrustedFolders;
use metier::registry::watch::{WatchEvent, watch};
use metier::registry::{Change, ChangeKind, Conflict, Entry, Ignored, RootReport, Scan, parallel};
use metier::skill::{Code, SkillId, Source};
use metier::{CancelToken, TrustMarks};

use crate::context::{AgentArgs, Context, FindArgs};
use crate::error::{Exit, Result};
use crate::output::{Output, heading, print_note, write_json, write_rows};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, fold_line, safe};

/// List the skills an agent would see here.
///
/// Searches the folders of every known agent, in the project from the current directory up to the
/// repository's top, in the home directory, in the plugin cache, and the skills built into metier.
/// Of several skills with the same name, the one in the root of highest priority is used; `--all`
/// shows the others, and everything that was ignored, with the reason. A skill marked `[clash]` shares
/// its name with another one in the same root.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier list
  metier list --all                     shadowed and ignored skills too
  metier list --source project --json   one source, for a script
  metier list --root ./skills --watch   changes below a folder as they happen")]
pub(crate) struct ListArgs {
    /// Show only skills from one source, shadowed ones too: explicit, project, user, plugin or
    /// builtin.
    #[arg(long, value_name = "SOURCE")]
    source: Option<Source>,
    /// Show shadowed and ignored skills too.
    #[arg(long, short)]
    all: bool,
    /// Keep running, and print skills as they are added, changed or removed.
    #[arg(long, conflicts_with_all = ["all", "agent"])]
    watch: bool,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    find: FindArgs,
}

struct Listing {
    scan: Arc<Scan>,
    marks: TrustMarks,
    all: bool,
    source: Option<Source>,
    /// The agent that it is listed for, and what it may load.
    agent: Option<(String, HashSet<SkillId>)>,
}

pub(crate) fn run(args: &ListArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    if args.watch {
        return Ok(follow(args, context, json));
    }
    let metier = context.acting(&args.find, &args.agent)?;
    let scan = metier.skills();
    let agent = match metier.agent() {
        Some(agent) => {
            let usable = metier.usable_skills()?;
            Some((agent.name.clone(), usable.iter().map(|entry| entry.id()).collect()))
        }
        None => None,
    };
    // Only a project's skills need trust. Without a home directory there is none.
    let entries = scan.index.entries().iter().chain(scan.index.shadowed());
    let marks = if entries.into_iter().any(|entry| entry.source == Source::Project) {
        metier.trust_marks()
    } else {
        TrustMarks::new(TrustedFolders::default())
    };
    Ok(Box::new(Listing { scan, marks, all: args.all, source: args.source, agent }))
}

impl Output for Listing {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"skills\":")?;
        write_entries(&self.chosen(self.scan.index.entries()), &self.marks, out)?;
        if self.all || self.source.is_some() {
            out.write_all(b",\"shadowed\":")?;
            write_entries(&self.chosen(self.scan.index.shadowed()), &self.marks, out)?;
        }
        out.write_all(b",\"report\":")?;
        serde_json::to_writer(&mut *out, &self.scan.report)?;
        out.write_all(b"}")?;
        self.marks.remember();
        Ok(())
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let table = self.table();
        if !table.is_empty() {
            table.write(out)?;
        }
        if self.all {
            self.others(out)?;
        }
        out.flush()?;
        self.marks.remember();
        print_note(&self.totals());
        for line in self.named_roots_missed() {
            let warning = paint(RED, "error");
            print_note(&format!("{warning}: {}: {}", path_text(&line.path), line.message));
        }
        Ok(())
    }

    /// A root that was named and cannot be searched is a mistake, whatever else was found.
    fn exit(&self) -> Exit {
        if self.named_roots_missed().next().is_some() { Exit::Findings } else { Exit::Done }
    }
}

impl Listing {
    /// The entries of the source that was asked for, and that the agent may load; precedence was decided among all.
    fn chosen<'e>(&self, entries: &'e [Arc<Entry>]) -> Cow<'e, [Arc<Entry>]> {
        if self.source.is_none() && self.agent.is_none() {
            return Cow::Borrowed(entries);
        }
        let is_chosen = |entry: &&Arc<Entry>| {
            self.source.is_none_or(|source| entry.source == source)
                && self.agent.as_ref().is_none_or(|(_, usable)| usable.contains(&entry.id()))
        };
        entries.iter().filter(is_chosen).cloned().collect()
    }

    /// The skills that count; of one source also those that others shadow, in the order of names.
    fn table(&self) -> Table {
        let mut table =
            Table::new(&[("NAME", BOLD), ("SOURCE", CYAN), ("DESCRIPTION", anstyle::Style::new())]);
        let counting = self.chosen(self.scan.index.entries());
        let mut rows: Vec<(&Entry, &str)> = counting
            .iter()
            .map(|entry| (&**entry, if self.has_clash(entry) { "[clash] " } else { "" }))
            .collect();
        let shadowed = self.chosen(self.scan.index.shadowed());
        if self.source.is_some() && !self.all {
            rows.extend(shadowed.iter().map(|entry| (&**entry, "[shadowed] ")));
            rows.sort_by_key(|(entry, _)| entry.name().as_str());
        }
        // Whether a project's skill is still what was trusted follows from its files.
        let cells = |(entry, mark): (&Entry, &str)| {
            let name = safe(entry.name().as_str()).into_owned();
            vec![name, entry.source.to_string(), marked(entry, mark, &self.marks)]
        };
        for row in parallel::map(rows, 64, || (), |(), row| cells(row)) {
            table.row(row);
        }
        table
    }

    /// Whether another skill in the same root has its name.
    fn has_clash(&self, entry: &Entry) -> bool {
        let conflicts = &self.scan.report.conflicts;
        let at = conflicts.binary_search_by(|it| (*it.name).cmp(entry.name().as_str()));
        at.is_ok_and(|at| conflicts[at].shadowed.iter().any(|loser| loser.reason.is_clash()))
    }

    fn named_roots_missed(&self) -> impl Iterator<Item = &Ignored> {
        let codes = [Code::RootMissing, Code::RootNotDirectory, Code::RootUnreadable];
        let roots = &self.scan.report.roots;
        let named = |path: &Path| {
            roots.iter().any(|root| root.path == path && root.source == Source::Explicit)
        };
        self.scan
            .report
            .notes
            .iter()
            .filter(move |line| codes.contains(&line.code) && named(&line.path))
    }

    fn others(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.scan.report;
        if !report.conflicts.is_empty() {
            writeln!(out)?;
            heading(out, "Shadowed")?;
        }
        for conflict in &report.conflicts {
            for (id, loser) in shadowed_ids(conflict).into_iter().zip(&conflict.shadowed) {
                writeln!(
                    out,
                    "  {}  {}",
                    paint(YELLOW, safe(&id)),
                    paint(DIM, path_text(&loser.path))
                )?;
                writeln!(
                    out,
                    "    {}: {}",
                    loser.reason.as_sentence(),
                    path_text(&conflict.winner)
                )?;
            }
        }
        for (title, lines) in [("Ignored", &report.ignored), ("Not searched", &report.notes)] {
            if !lines.is_empty() {
                writeln!(out)?;
                heading(out, title)?;
            }
            for line in lines {
                let place = line.line.map_or_else(String::new, |number| format!(", line {number}"));
                writeln!(out, "  {}  {}", path_text(&line.path), paint(RED, line.code))?;
                writeln!(out, "    {}{place}", safe(&line.message))?;
                writeln!(out, "    {} {}", paint(CYAN, "help:"), line.code.info().fix_advice)?;
            }
        }
        Ok(())
    }

    fn totals(&self) -> String {
        let report = &self.scan.report;
        let chosen = |root: &&RootReport| self.source.is_none_or(|source| root.source == source);
        let roots = report.roots.iter().filter(chosen).filter(|root| root.found > 0).count();
        let mut text = format!(
            "{} in {}",
            count(self.chosen(self.scan.index.entries()).len(), "skill"),
            count(roots, "root")
        );
        let shadowed = self.chosen(self.scan.index.shadowed()).len();
        let mut more = Vec::new();
        for (number, word) in [
            (shadowed, "shadowed"),
            (report.ignored.len(), "ignored"),
            (report.notes.len(), "not searched"),
        ] {
            if number > 0 {
                more.push(format!("{number} {word}"));
            }
        }
        let counting = self.chosen(self.scan.index.entries());
        let clashes = counting.iter().filter(|entry| self.has_clash(entry)).count();
        if clashes > 0 {
            more.push(format!("{clashes} with a clash"));
        }
        if let Some((name, usable)) = &self.agent {
            let of_source =
                |entry: &&Arc<Entry>| self.source.is_none_or(|source| entry.source == source);
            let all = self.scan.index.entries().iter().filter(of_source);
            let kept = all.filter(|entry| !usable.contains(&entry.id())).count();
            if kept > 0 {
                more.push(format!("{kept} that `{}` may not load", safe(name)));
            }
        }
        if !more.is_empty() {
            text.push_str(&format!("; {}", more.join(", ")));
            if !self.all {
                text.push_str(" (metier list --all shows why)");
            }
        }
        if report.truncated {
            text.push_str("; the search stopped at a limit");
        }
        paint(DIM, text)
    }
}

/// What reaches the shadowed ones of a name: of several with one id, the later ones are reached by their rank.
pub(crate) fn shadowed_ids(conflict: &Conflict) -> Vec<String> {
    let mut seen = vec![conflict.source];
    let id = |source: Source| {
        seen.push(source);
        let rank = seen.iter().filter(|known| **known == source).count();
        let rank = if rank > 1 { format!("#{rank}") } else { String::new() };
        format!("{source}:{}{rank}", conflict.name)
    };
    conflict.shadowed.iter().map(|loser| loser.source).map(id).collect()
}

/// The description of a skill after its marks.
fn marked(entry: &Entry, first: &str, marks: &TrustMarks) -> String {
    let mut text = first.to_owned();
    if !entry.enabled {
        text.push_str("[off] ");
    }
    if entry.skill.controls.disable_model_invocation {
        text.push_str("[user only] ");
    }
    if entry.diagnostics.iter().any(|it| it.code == Code::AllowedToolsUnknown) {
        text.push_str("[unknown tool] ");
    }
    if let Some(mark) = marks.of(entry).mark() {
        text.push_str(&format!("[{mark}] "));
    }
    format!("{text}{}", fold_line(&entry.skill.description))
}

pub(crate) fn path_text(path: &Path) -> String {
    safe(&path.to_string_lossy()).into_owned()
}

/// A JSON list of entries, each with whether it is trusted.
fn write_entries(
    entries: &[Arc<Entry>],
    marks: &TrustMarks,
    out: &mut dyn Write,
) -> io::Result<()> {
    // More than the entries of real skills take in the mean, with what is wrong with them.
    const ENTRY_BYTES: usize = 1700;
    let render = |entry: &Arc<Entry>, bytes: &mut Vec<u8>| {
        entry.append_json(bytes);
        // Inside the object.
        bytes.pop();
        bytes.extend_from_slice(b",\"trust\":\"");
        bytes.extend_from_slice(marks.of(entry).as_str().as_bytes());
        bytes.extend_from_slice(b"\"}");
    };
    write_rows(entries, ENTRY_BYTES, render, out)
}

/// Prints changes until it is interrupted or its reader is gone.
fn follow(args: &ListArgs, context: &Context, json: bool) -> Box<dyn Output> {
    let registry = context.finding(&args.find).registry();
    let chosen = |entry: &&Arc<Entry>| args.source.is_none_or(|source| entry.source == source);
    let count_now = registry.snapshot().index.entries().iter().filter(chosen).count();
    // Ctrl-C ends the program: there is nothing to clean up.
    watch(&registry, &CancelToken::new(), &mut |event| {
        let written = match event {
            WatchEvent::Ready => {
                print_note(&paint(
                    DIM,
                    format!("watching {}; press Ctrl-C to stop", count(count_now, "skill")),
                ));
                Ok(())
            }
            WatchEvent::Polling(reason) => {
                print_note(&format!(
                    "{}: watching by polling: {}",
                    paint(YELLOW, "warning"),
                    safe(reason)
                ));
                Ok(())
            }
            WatchEvent::Changed(changes) => {
                let wanted = |change: &&Change| {
                    args.source.is_none_or(|source| change.id.starts_with(&format!("{source}:")))
                };
                let chosen: Vec<Change> = changes.iter().filter(wanted).cloned().collect();
                print_changes(&chosen, json)
            }
        };
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Box::new(NoOutput)
}

/// One line a change, on standard output at once.
pub(crate) fn print_changes(changes: &[Change], json: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for change in changes {
        if json {
            write_line(change, &mut out)?;
        } else {
            writeln!(out, "{}", change_line(change))?;
        }
    }
    out.flush()
}

fn write_line(change: &Change, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, change)?;
    out.write_all(b"\n")
}

pub(crate) fn change_line(change: &Change) -> String {
    let mark = match change.change {
        ChangeKind::Added => paint(GREEN, "+ added  "),
        ChangeKind::Changed => paint(YELLOW, "~ changed"),
        ChangeKind::Removed => paint(RED, "- removed"),
    };
    format!("{mark} {}  {}", safe(&change.id), paint(DIM, safe(&change.path)))
}

/// Everything was said already.
struct NoOutput;

impl Output for NoOutput {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&serde_json::json!({}), out)
    }

    fn human(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
