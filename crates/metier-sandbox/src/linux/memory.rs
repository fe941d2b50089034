//! How much memory a run holds in all, read from `/proc`: the limit of the address space is one of each
//! process, and memory that is shared can be held without being mapped.
//!
//! Two counts are added. What is each process's own (anonymous, or swapped out) is counted in proportion where a
//! fork left it shared. Shared memory is not: a script can map four GiB, fill them, unmap all but a page, and do it
//! again; the kernel keeps everything and shows a page. So what counts is by how much the machine's
//! shared memory has grown since the run began, if the run has any: a mapping of it, or files on a file system in
//! memory. `memfd_create` and System V's, which can be held by nothing that is seen here, do not exist for a script.
//! Buffers of sockets are memory too, by their number.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::processes::Descendants;
use crate::plan::RunPlan;

/// Mappings of a process are read up to here; one that has more counts as if it hid something.
const MAX_MAPS_BYTES: u64 = 16 << 20;

/// What the kernel lets a socket hold where it does not say so itself.
const SOCKET_BYTES: u64 = 212_992;

/// Every so many counts, sockets are counted: it takes a look at each descriptor.
const SOCKET_COUNTS: u32 = 8;

/// Counts the memory of a run.
pub(super) struct MemoryWatch {
    limit: u64,
    /// Shared memory of the machine before the run.
    shared_before: u64,
    /// Whether files that the script writes are memory.
    writes_to_memory: bool,
    open_files: u64,
    socket_bytes: u64,
    counts: u32,
    /// Whether the last count was too much: a process that is just starting another counts twice.
    was_over: bool,
}

impl MemoryWatch {
    pub(super) fn begin(plan: &RunPlan) -> Self {
        let socket_bytes = number_in("/proc/sys/net/core/wmem_default").unwrap_or(SOCKET_BYTES);
        Self {
            limit: plan.limits.memory_bytes,
            shared_before: shared_of_machine(),
            writes_to_memory: plan
                .writable
                .iter()
                .chain([&plan.work_dir])
                .any(|dir| in_memory(dir)),
            open_files: plan.limits.open_files,
            socket_bytes,
            counts: 0,
            was_over: false,
        }
    }

    /// Whether the run held too much memory at this count and at the one before.
    pub(super) fn is_over(&mut self, run: &Descendants) -> bool {
        self.counts = self.counts.wrapping_add(1);
        let is_over = self.count(run) > self.limit;
        let was_over = std::mem::replace(&mut self.was_over, is_over);
        is_over && was_over
    }

    /// The memory of the run; where a rough count shows that it is not too much, that one.
    fn count(&self, run: &Descendants) -> u64 {
        let grown = shared_of_machine().saturating_sub(self.shared_before);
        let sockets = self.sockets(run);
        let resident: u64 = run.processes.iter().map(|process| resident_of(*process)).sum();
        let rough = resident + grown + sockets;
        if rough <= self.limit {
            return rough;
        }
        let own: u64 = run.processes.iter().map(|process| own_of(*process)).sum();
        let has_shared = || run.processes.iter().any(|process| maps_shared(*process));
        let shared = if self.writes_to_memory || has_shared() { grown } else { 0 };
        own + shared + sockets
    }

    /// What the sockets of the run can hold, where that could matter.
    fn sockets(&self, run: &Descendants) -> u64 {
        let tasks = u64::try_from(run.tasks).unwrap_or(u64::MAX);
        let at_most = tasks.saturating_mul(self.open_files).saturating_mul(self.socket_bytes);
        if at_most <= self.limit || !self.counts.is_multiple_of(SOCKET_COUNTS) && !self.was_over {
            return 0;
        }
        let mut sockets = BTreeSet::new();
        for process in &run.processes {
            // A thread may have descriptors of its own.
            let tasks = PathBuf::from(format!("/proc/{process}/task"));
            for task in metier_fs::read_dir_names(&tasks).unwrap_or_default() {
                let folder = tasks.join(task).join("fd");
                for name in metier_fs::read_dir_names(&folder).unwrap_or_default() {
                    let to = metier_fs::link_text(&folder.join(name));
                    sockets.extend(to.filter(|to| to.to_string_lossy().starts_with("socket:")));
                }
            }
        }
        u64::try_from(sockets.len()).unwrap_or(u64::MAX).saturating_mul(self.socket_bytes)
    }
}

/// `size resident shared ...`, in pages.
fn resident_of(process: u32) -> u64 {
    let text = text_of(&format!("/proc/{process}/statm"), 4096).unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(page_bytes())
}

fn page_bytes() -> u64 {
    // SAFETY: asks for a number; no memory is touched.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// What a process does not share, and its part of what it shares with its relatives. All of it, where a process made
/// itself unreadable.
fn own_of(process: u32) -> u64 {
    match text_of(&format!("/proc/{process}/smaps_rollup"), 64 << 10) {
        Some(text) if !text.is_empty() => {
            field(&text, "Pss_Anon:").saturating_add(field(&text, "SwapPss:"))
        }
        _ => resident_of(process),
    }
}

/// Whether a process maps shared memory that no file system has.
fn maps_shared(process: u32) -> bool {
    let Some(text) = text_of(&format!("/proc/{process}/maps"), MAX_MAPS_BYTES) else {
        return metier_fs::exists(format!("/proc/{process}").as_ref());
    };
    text.lines().any(|line| line.ends_with("/dev/zero (deleted)"))
}

fn shared_of_machine() -> u64 {
    text_of("/proc/meminfo", 64 << 10).map_or(0, |text| field(&text, "Shmem:"))
}

/// `Name:   12 kB` in bytes.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0).saturating_mul(1024)
}

fn number_in(path: &str) -> Option<u64> {
    text_of(path, 64)?.trim().parse().ok()
}

fn text_of(path: &str, limit: u64) -> Option<String> {
    let bytes = metier_fs::read_bounded(path.as_ref(), limit).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn in_memory(dir: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    rustix::fs::statfs(dir).is_ok_and(|found| found.f_type == TMPFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_in_bytes_and_a_missing_one_is_nothing() {
        let text = "Rss:     120 kB\nPss:      40 kB\nPss_Anon:       30 kB\n";
        assert_eq!((field(text, "Pss:"), field(text, "Pss_Anon:")), (40 << 10, 30 << 10));
        assert_eq!(field(text, "SwapPss:"), 0);
    }

    #[test]
    fn this_process_holds_memory_and_maps_none_that_is_shared() {
        let own = std::process::id();
        assert!(own_of(own) > 0 && own_of(own) <= resident_of(own), "{}", own_of(own));
        assert!(!maps_shared(own) && !maps_shared(u32::MAX));
        assert!(shared_of_machine() > 0);
    }
}
