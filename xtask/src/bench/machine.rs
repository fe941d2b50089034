//! The machine in one line: enough to judge a number, nothing that names its owner.
//!
//! Linux's `/proc` is asked; elsewhere the line is shorter.

use std::env::consts;
use std::fs;
use std::path::Path;
use std::thread;

/// Cores, processor, kernel, the file system of `dir`, the load from others, and whether it could matter.
pub(crate) fn describe(dir: &Path) -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![format!("{cores} cores")];
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    parts.extend(processor(&read("/proc/cpuinfo")));
    parts.push(kernel(&read("/proc/sys/kernel/osrelease")));
    parts.extend(file_system(&read("/proc/mounts"), &dir.to_string_lossy()));
    parts.extend(load(&read("/proc/loadavg")));
    parts.extend(priority(&read("/proc/self/stat")));
    parts.join(", ")
}

fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.trim().to_owned())
}

fn kernel(release: &str) -> String {
    let version: Vec<&str> = release.trim().split('.').take(2).collect();
    format!("{} {}", consts::OS, version.join(".")).trim_end().to_owned()
}

fn file_system(mounts: &str, dir: &str) -> Option<String> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let above = fields.filter(|it| it.len() > 2 && (it[1] == "/" || is_below(dir, it[1])));
    // A later mount hides an earlier one at the same place, and `max_by_key` keeps the last.
    above.max_by_key(|it| it[1].len()).map(|it| it[2].to_owned())
}

fn is_below(dir: &str, mount: &str) -> bool {
    dir.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn load(loadavg: &str) -> Option<String> {
    Some(format!("load {} at the start", loadavg.split(' ').next().filter(|it| !it.is_empty())?))
}

/// Programs that run ahead of all others do not wait for them, though they still share caches and memory.
fn priority(stat: &str) -> Option<String> {
    const POLICY_FIELD: usize = 41;
    // The name in parentheses may hold anything, and is the second field.
    let after = stat.rsplit_once(") ")?.1;
    let policy = after.split(' ').nth(POLICY_FIELD - 3)?;
    matches!(policy, "1" | "2").then(|| "run at real-time priority".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_priority_is_said() {
        let stat = |policy: &str| format!("7 (a) b) R {} {policy} 0", ["0"; 37].join(" "));
        assert_eq!(priority(&stat("1")).as_deref(), Some("run at real-time priority"));
        assert_eq!(priority(&stat("0")), None);
        assert_eq!(priority(""), None);
    }

    #[test]
    fn the_deepest_mount_gives_the_file_system() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\n";
        assert_eq!(file_system(mounts, "/tmp/bench").as_deref(), Some("tmpfs"));
        assert_eq!(file_system(mounts, "/tmpdir").as_deref(), Some("ext4"));
        assert_eq!(file_system("", "/tmp"), None);
    }

    #[test]
    fn the_kernel_is_named_by_two_numbers() {
        assert!(kernel("6.18.44-custom\n").ends_with(" 6.18"));
    }
}
