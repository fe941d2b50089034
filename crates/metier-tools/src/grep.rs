//! `grep`: lines that match a pattern, in a file or below a directory.
//!
//! The search is ripgrep's; the walk is ours, beneath the workspace and through no link. Both are
//! bounded in files, bytes, matches and time, and the result says which bound ended it. Below the
//! start, hidden files are skipped, and what the policy's filter rejects is never opened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use metier_fs::EntryKind;
use metier_policy::Risk;
use metier_skill::text::clip;
use metier_skill::{FailureCode, WorkPath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::{ToolFailure, shown};
use crate::grep_lines::{Bounds, FileEnd, LineMatches, search_file};
use crate::output::{CallResult, ToolResult};
use crate::tool::{CallContext, Tool, Touch};
use crate::tool_workspace::{Place, ToolWorkspace, decided_path};

/// Entries of one directory that are searched.
const MAX_ENTRIES: usize = 20_000;
/// Bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 4096;
/// Bytes that a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 4 << 20;
/// Lines around a match at most.
const MAX_CONTEXT_LINES: usize = 5;
/// Folders of third-party code and caches, which are searched only when named.
const SKIPPED_DIRS: &[&str] = &["node_modules", "__pycache__"];

/// How far a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrepLimits {
    /// Files that are opened.
    pub files: usize,
    /// Bytes that are read.
    pub bytes: u64,
    /// Lines that are found.
    pub matches: usize,
    /// How long it takes.
    pub time: Duration,
}

impl Default for GrepLimits {
    fn default() -> Self {
        Self { files: 50_000, bytes: 512 << 20, matches: 500, time: Duration::from_secs(30) }
    }
}

/// The tool `grep`.
#[derive(Debug)]
pub struct Grep {
    workspace: Arc<ToolWorkspace>,
    limits: GrepLimits,
}

impl Grep {
    /// The tool's name.
    pub const NAME: &'static str = metier_skill::own_tools::GREP;

    /// A tool that searches `workspace`.
    pub fn new(workspace: Arc<ToolWorkspace>) -> Self {
        Self { workspace, limits: GrepLimits::default() }
    }

    /// Sets how far a search goes.
    #[must_use]
    pub const fn with_limits(mut self, limits: GrepLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GrepArgs {
    pattern: String,
    path: Option<String>,
    /// The loaded skill whose file it is; null: the workspace.
    skill: Option<String>,
    /// Only files like *.py.
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    context: Option<usize>,
}

impl GrepArgs {
    fn matcher(&self) -> Result<RegexMatcher, ToolFailure> {
        let invalid = |message: String| ToolFailure::new(FailureCode::InvalidArguments, message);
        if self.pattern.is_empty() || self.pattern.len() > MAX_PATTERN_BYTES {
            return Err(invalid(format!("a pattern must have 1 to {MAX_PATTERN_BYTES} bytes")));
        }
        let built = RegexMatcherBuilder::new()
            .case_insensitive(self.ignore_case.unwrap_or(false))
            .fixed_strings(self.literal.unwrap_or(false))
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build(&self.pattern);
        built.map_err(|error| {
            let error = error.to_string();
            let message = clip(&error, 400);
            invalid(format!("the pattern cannot be used: {message}"))
                .with_help("fix the regular expression, or set `literal`")
        })
    }

    /// The files that are searched; a glob without `/` is about the last name.
    fn glob(&self) -> Result<Option<GlobMatcher>, ToolFailure> {
        let Some(glob) = &self.glob else { return Ok(None) };
        let whole = if glob.contains('/') { glob.clone() } else { format!("**/{glob}") };
        let built = globset::GlobBuilder::new(&whole).literal_separator(true).build();
        built.map(|glob| Some(glob.compile_matcher())).map_err(|error| {
            let message = format!("{} is not a valid glob: {}", shown(glob), error.kind());
            ToolFailure::new(FailureCode::InvalidArguments, message)
        })
    }
}

impl Tool for Grep {
    type Args = GrepArgs;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "Find lines that match a regular expression, in a file or below a directory."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn touches(&self, args: &GrepArgs) -> Result<Vec<Touch>, ToolFailure> {
        args.matcher()?;
        args.glob()?;
        let place = self.workspace.place(args.skill.as_deref())?;
        place.touches(&place.directory(args.path.as_deref())?)
    }

    fn call(&self, args: GrepArgs, context: &CallContext) -> CallResult {
        search(&self.workspace, self.limits, &args, context)
    }
}

fn search(
    workspace: &ToolWorkspace,
    limits: GrepLimits,
    wanted: &GrepArgs,
    call: &CallContext,
) -> CallResult {
    let start = decided_path(call.touches())?;
    let place = workspace.place(wanted.skill.as_deref())?;
    let mut walk = Walk {
        place,
        call,
        glob: wanted.glob()?,
        matcher: wanted.matcher()?,
        context: wanted.context.unwrap_or(0).min(MAX_CONTEXT_LINES),
        bounds: Bounds {
            cancel: call.cancel(),
            bytes: limits.bytes,
            matches: limits.matches,
            end: Instant::now() + limits.time,
        },
        files_left: limits.files,
        finds: LineMatches::default(),
        totals: SearchTotals::default(),
    };
    // A file that was named is searched whatever its name; anything else must be a directory.
    let opened = if start.is_root() { None } else { Some(place.open(start)) };
    match opened {
        None => walk.below(start)?,
        Some(Ok(_)) => walk.file(start)?,
        Some(Err(failure)) if failure.code == FailureCode::NotAllowed => walk.below(start)?,
        Some(Err(failure)) => return Err(failure),
    }
    let Walk { finds, totals, .. } = walk;
    let mut text = finds.text;
    if finds.matches == 0 {
        let noun = if totals.searched == 1 { "file" } else { "files" };
        // A small model gives up where another case would have matched.
        let case = if wanted.ignore_case == Some(true) {
            ""
        } else {
            " Upper and lower case count: `ignore_case` ignores them."
        };
        text.push_str(&format!("No match in {} {noun}.{case}\n", totals.searched));
    }
    if let Some(cut) = totals.cut {
        text.push_str(&format!("[the search ended early: {cut}]\n"));
    }
    let data = json!({
        "path": start,
        "matches": finds.matches,
        "hits": finds.hits,
        "files_matched": finds.files,
        "files_searched": totals.searched,
        "files_binary": totals.binary,
        "files_unreadable": totals.unreadable,
        "ended_early": totals.cut,
    });
    Ok(ToolResult::text(text).with_data(data).truncated_if(totals.cut.is_some()))
}

/// Counts of a search.
#[derive(Default)]
struct SearchTotals {
    searched: usize,
    binary: usize,
    unreadable: usize,
    /// The bound that ended it.
    cut: Option<&'static str>,
}

struct Walk<'w> {
    place: Place<'w>,
    call: &'w CallContext,
    glob: Option<GlobMatcher>,
    matcher: RegexMatcher,
    context: usize,
    bounds: Bounds<'w>,
    files_left: usize,
    finds: LineMatches,
    totals: SearchTotals,
}

impl Walk<'_> {
    /// Searches all files below a directory, in the order of their paths.
    fn below(&mut self, start: &WorkPath) -> Result<(), ToolFailure> {
        let mut open = vec![(start.clone(), EntryKind::Directory)];
        while let Some((path, kind)) = open.pop() {
            ToolFailure::if_cancelled(self.bounds.cancel)?;
            if self.totals.cut.is_some() {
                break;
            }
            if kind == EntryKind::File {
                self.file(&path)?;
                continue;
            }
            let list = match self.place.list(&path, MAX_ENTRIES) {
                Ok(list) => list,
                Err(failure) if path == *start => return Err(failure),
                // It was deleted meanwhile, or we have no permission.
                Err(_) => {
                    self.totals.unreadable += 1;
                    continue;
                }
            };
            if list.truncated {
                self.totals.cut = Some("a directory has too many entries");
            }
            let wanted = list.entries.iter().rev().filter_map(|entry| {
                let known = matches!(entry.kind, EntryKind::Directory | EntryKind::File);
                let skipped =
                    entry.name.starts_with('.') || SKIPPED_DIRS.contains(&entry.name.as_str());
                let below = path.join(&entry.name).ok().filter(|_| known && !skipped)?;
                let may = self.call.passes(&self.place.touch_of(below.clone()).ok()?);
                may.then_some((below, entry.kind))
            });
            open.extend(wanted);
        }
        Ok(())
    }

    fn file(&mut self, path: &WorkPath) -> Result<(), ToolFailure> {
        if self.glob.as_ref().is_some_and(|glob| !glob.is_match(path.as_str())) {
            return Ok(());
        }
        if self.files_left == 0 {
            self.totals.cut = Some("too many files");
            return Ok(());
        }
        self.files_left -= 1;
        let Ok(file) = self.place.open(path) else {
            self.totals.unreadable += 1;
            return Ok(());
        };
        let (bounds, finds) = (&mut self.bounds, &mut self.finds);
        match search_file(&self.matcher, file, path, self.context, bounds, finds) {
            FileEnd::Whole => self.totals.searched += 1,
            FileEnd::Binary => self.totals.binary += 1,
            FileEnd::Unreadable => self.totals.unreadable += 1,
            FileEnd::Cut(why) => {
                self.totals.searched += 1;
                self.totals.cut = Some(why);
            }
        }
        ToolFailure::if_cancelled(self.bounds.cancel)
    }
}
