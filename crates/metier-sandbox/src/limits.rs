//! The limits of a run. Values only: the helper's `resources` and `supervisor` enforce those of
//! processes, `streams` and `output` those of the output.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of one run. The defaults were measured to let Python, Node, git and shells work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    /// Wall-clock time, from the start of the helper.
    pub wall: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Processor time of one process, in seconds.
    pub cpu_seconds: u64,
    /// Address space of one process, and memory that all hold together. Less than 4 GiB breaks some runtimes.
    pub memory_bytes: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// The largest file that may be written.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// The private `/tmp` and `/dev/shm` of the strong tier.
    pub scratch_bytes: u64,
    /// What is done with the output.
    pub output: OutputLimits,
}

/// Caps on each of the two streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputLimits {
    /// Characters in the report: of a longer stream its start, its end and a note between them.
    pub shown_chars: usize,
    /// Bytes that are sent as events while it runs.
    pub live: u64,
    /// Bytes written to the file that keeps the whole.
    pub stored: u64,
    /// Bytes after which the run is stopped.
    pub total: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_mins(1),
            grace: Duration::from_secs(2),
            cpu_seconds: 60,
            memory_bytes: 4 << 30,
            processes: 128,
            file_bytes: 64 << 20,
            open_files: 256,
            scratch_bytes: 256 << 20,
            output: OutputLimits::default(),
        }
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { shown_chars: 32 << 10, live: 16 << 10, stored: 64 << 20, total: 1 << 30 }
    }
}
