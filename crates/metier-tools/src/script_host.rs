//! The host that scripts and commands run on: where the sandbox, interpreters and folders are.
//!
//! Owned, so that a tool can hold it for a whole run; each call gets a folder of its own below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metier_fs::canonical;
use metier_registry::Entry;
use metier_sandbox::{
    CapturedStream, OutputLimits, OutputStream, RunEvent, SandboxReport, SearchPath, Secrets, Tier,
};
use metier_skill::text::{Excerpt, for_model};
use metier_skill::{Digest, Source};
use serde_json::{Value, json};

use crate::output::{OutputCap, ResultFilter, ToolResult};

/// Receives what a run prints as it is printed: the stream (`stdout`, `stderr`) and the text, masked.
/// Called from the run's own threads, and bounded as the sandbox bounds its events.
pub type OutputSink = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// What runs of one session share. [`ScriptHost::run`] runs a script on it.
pub struct ScriptHost {
    /// The binary that is re-executed as the sandbox helper.
    pub helper: PathBuf,
    /// The sandbox tier of every run.
    pub tier: Tier,
    /// Where interpreters and programs are.
    pub search: SearchPath,
    /// Where each run gets a folder.
    pub runs: PathBuf,
    /// Where skills keep data between runs.
    pub data: PathBuf,
    /// The workspace, which runs may read.
    pub workspace: Option<PathBuf>,
    /// Our own files and folders: configuration, state. No run sees them.
    pub own: Vec<PathBuf>,
    /// What earlier scripts of the same run left, which later ones may read though it lies among the
    /// records.
    pub outputs: Option<PathBuf>,
    /// Environment variables that runs get.
    pub variables: BTreeMap<String, String>,
    /// Values that are never shown.
    pub secrets: Arc<Secrets>,
    /// How much of each stream a report shows.
    pub cap: OutputCap,
    /// Wall-clock limit of each run.
    pub timeout: Duration,
    /// Receives output during a run; the result has it as well.
    pub output: Option<OutputSink>,
}

impl ScriptHost {
    /// A folder for the next run, which does not exist yet. Its name ends with the process id, by which
    /// [`crate::script::sweep`] recognises the leftovers of a killed process.
    pub(crate) fn next_run(&self) -> PathBuf {
        // Of the process, not of the host: two that run at once would take the same name, which neither finds
        // before it is made.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let folder = self.runs.join(format!("{count}-{}", std::process::id()));
            // An earlier process with this id may have left one.
            if metier_fs::entry_kind(&folder).is_none() {
                return folder;
            }
        }
    }

    /// Passes output on to the sink, if there is one.
    pub(crate) fn forward(&self, event: &RunEvent) {
        if let (Some(sink), RunEvent::Output { stream, text }) = (&self.output, event) {
            let name = match stream {
                OutputStream::Stdout => "stdout",
                OutputStream::Stderr => "stderr",
            };
            sink(name, text);
        }
    }

    /// Where a skill keeps data between runs.
    pub(crate) fn data_of(&self, entry: &Entry) -> PathBuf {
        self.data.join(data_key(entry))
    }
}

impl std::fmt::Debug for ScriptHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the values of variables, which may be secrets.
        f.debug_struct("ScriptHost")
            .field("helper", &self.helper)
            .field("tier", &self.tier)
            .field("runs", &self.runs)
            .field("workspace", &self.workspace)
            .field("variables", &self.variables.keys())
            .finish_non_exhaustive()
    }
}

/// The name of the folder in which a skill keeps data. Skills of the same name in two projects must
/// not read each other's data, so the path is part of the key, except for the user's own skills.
pub fn data_key(entry: &Entry) -> String {
    let place = match entry.source {
        Source::User | Source::Builtin => PathBuf::new(),
        _ => canonical(&entry.path).unwrap_or_else(|_| entry.path.clone()),
    };
    let id = entry.id().to_string();
    let key = Digest::of_parts([id.as_bytes(), place.as_os_str().as_encoded_bytes()]).to_string();
    key[7..23].to_owned()
}

/// The workspace that a script may see: `None` where it is what no rule can open, such as the home
/// directory, a hidden folder in it, or one of our own folders. Those that lie in it are hidden there.
pub fn script_workspace(workspace: &Path, home: Option<&Path>, own: &[&Path]) -> Option<PathBuf> {
    let real = canonical(workspace).ok()?;
    let holds = |path: &&Path| canonical(path).is_ok_and(|path| path.starts_with(&real));
    if real.parent().is_none() || home.iter().any(holds) {
        return None;
    }
    let inside_own =
        own.iter().any(|path| canonical(path).is_ok_and(|path| real.starts_with(path)));
    let home = home.and_then(|home| canonical(home).ok());
    let below_home = home.and_then(|home| real.strip_prefix(home).ok().map(Path::to_owned));
    let first = below_home.as_ref().and_then(|below| below.components().next());
    let hidden = first.is_some_and(|first| first.as_os_str().as_encoded_bytes().starts_with(b"."));
    (!inside_own && !hidden).then_some(real)
}

impl ScriptHost {
    /// What is shown, sent and stored of a run's output.
    pub(crate) fn output_limits(&self) -> OutputLimits {
        let limits = OutputLimits::default();
        let live = limits.live.min(self.cap.chars as u64);
        OutputLimits { shown_chars: self.cap.chars, live, ..limits }
    }

    /// Whether a result that says `notes` besides cannot show all of the output, or events did not have
    /// all of it, so that it has to be kept in a file.
    pub(crate) fn is_long(&self, report: &SandboxReport, notes: &[String]) -> bool {
        let streams = [&report.stdout, &report.stderr];
        let chars = |text: &str| for_model(text).chars().count();
        let shown: usize = streams.iter().map(|stream| chars(&stream.text)).sum();
        let notes: usize = notes.iter().map(|note| chars(note)).sum();
        let live = self.output_limits().live;
        shown + notes + RESULT_OVERHEAD_CHARS > self.cap.chars
            || streams.iter().any(|stream| stream.truncated || stream.bytes > live)
    }
}

/// Characters of a result besides the streams and its notes.
const RESULT_OVERHEAD_CHARS: usize = 300;

/// The result of a run, for the model: within the cap of `results`, so that no second cut is made, and what
/// is missing of a stream is counted once, where it is missing. `notes` stand below the streams.
pub(crate) fn describe_run(
    report: &SandboxReport,
    kept: Option<&PathBuf>,
    outputs: &[PathBuf],
    notes: &[String],
    results: &ResultFilter,
) -> ToolResult {
    let ending = match (report.stopped, report.exit_code, report.signal) {
        (Some(reason), ..) => format!("stopped: {reason}"),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) => "no exit code".to_owned(),
    };
    let mut text = format!("[{ending}, sandbox {}]\n", report.tier);
    let mut end = String::new();
    let files: Vec<Value> = outputs.iter().map(|path| json!(path.to_string_lossy())).collect();
    if !files.is_empty() {
        let noun = if files.len() == 1 { "file" } else { "files" };
        end.push_str(&format!("[{} {noun} kept]\n", files.len()));
    }
    for note in notes {
        end.push_str(&format!("[{note}]\n"));
    }
    let end = results.mask_for_model(end).0;
    let end = Excerpt::whole(end).text_within(results.cap.chars / 3, None);
    let streams = [("stdout", &report.stdout), ("stderr", &report.stderr)];
    let labels = "[stdout]\n\n[stderr]\n\n".len();
    let room = results.cap.chars.saturating_sub(text.len() + end.chars().count() + labels);
    let shown = shared_room(streams.map(|(_, stream)| stream), room, results);
    for ((name, _), (shown, _)) in streams.iter().zip(&shown) {
        if !shown.is_empty() {
            text.push_str(&format!("[{name}]\n{}\n", shown.trim_end_matches('\n')));
        }
    }
    text.push_str(&end);
    ToolResult {
        truncated: shown.iter().any(|(_, is_cut)| *is_cut),
        text,
        storage_ref: kept.map(|path| path.to_string_lossy().into_owned()),
        data: json!({
            "exit_code": report.exit_code,
            "stdout": report.stdout.text,
            "stderr": report.stderr.text,
            "timed_out": report.timed_out,
            "tier": report.tier,
            "outputs": files,
            "printed_lines": streams.iter().map(|(_, stream)| stream.lines()).sum::<u64>(),
        }),
    }
}

/// Both streams as a model sees them, in at most `room` characters: each gets half, or what the other
/// leaves. With each: whether something is missing.
fn shared_room(
    streams: [&CapturedStream; 2],
    room: usize,
    results: &ResultFilter,
) -> [(String, bool); 2] {
    let clean = |stream: &CapturedStream| {
        let excerpt = stream.excerpt().clone();
        (excerpt.map(|part| results.mask_for_model(part).0), stream.rest())
    };
    let clean = streams.map(clean);
    let wanted = clean
        .each_ref()
        .map(|(excerpt, _)| usize::try_from(excerpt.size().chars).unwrap_or(usize::MAX));
    let share = |own: usize, other: usize| own.min(room - other.min(room / 2)).min(room);
    let rooms = [share(wanted[0], wanted[1]), share(wanted[1], wanted[0])];
    let shown = |at: usize| {
        let (excerpt, rest) = &clean[at];
        let text = excerpt.text_within(rooms[at], rest.as_deref());
        (text, excerpt.is_cut() || wanted[at] > rooms[at])
    };
    [shown(0), shown(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_that_would_show_too_much_is_not_shown() {
        let dir = tempfile::tempdir().expect("dir");
        let base = dir.path().canonicalize().expect("real");
        for folder in ["home/work/src", "home/.ssh", "home/.local/state/metier", "other"] {
            std::fs::create_dir_all(base.join(folder)).expect("makes");
        }
        let (home, state) = (base.join("home"), base.join("home/.local/state/metier"));
        let shown = |path: &str| script_workspace(&base.join(path), Some(&home), &[&state]);
        assert_eq!(shown("home/work"), Some(base.join("home/work")));
        assert_eq!(shown("home/work/src"), Some(base.join("home/work/src")));
        assert_eq!(shown("other"), Some(base.join("other")));
        for hidden in ["", "home", "home/.ssh", "home/.local/state", "home/.local/state/metier"] {
            assert_eq!(shown(hidden), None, "{hidden}");
        }
        assert_eq!(script_workspace(Path::new("/"), None, &[]), None);
    }
}
