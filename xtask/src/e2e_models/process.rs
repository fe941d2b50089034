//! One process that is waited for, but not for ever. Its output goes to files, which never block.
//!
//! A process that has to run in the background is `server`'s.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; nothing where it was ended from outside, by us or by a signal.
    pub(crate) code: Option<i32>,
    /// Whether it had to be killed.
    pub(crate) hung: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// Runs `command` for at most `patience`. `log` names the files for its output.
pub(crate) fn run_bounded(command: &mut Command, log: &Path, patience: Duration) -> Result<Ended> {
    let (out, err) = (log.with_extension("out"), log.with_extension("err"));
    let file = |path: &Path| {
        File::create(path).with_context(|| format!("cannot write {}", path.display()))
    };
    command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
    let since = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let (status, hung) = loop {
        if let Some(status) = child.try_wait()? {
            break (status, false);
        }
        if since.elapsed() > patience {
            child.kill()?;
            break (child.wait()?, true);
        }
        thread::sleep(Duration::from_millis(20));
    };
    let read = |path: &Path| {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok::<_, anyhow::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (stdout, stderr) = (read(&out)?, read(&err)?);
    let code = status.code().filter(|_| !hung);
    Ok(Ended { code, hung, stdout, stderr, took: since.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_process_that_hangs_is_ended_and_one_that_ends_is_heard() {
        let log = std::env::temp_dir().join(format!("xtask-e2e-process-{}", std::process::id()));
        let mut quick = Command::new("sh");
        let quick = quick.args(["-c", "echo out; echo err >&2; exit 3"]);
        let ended = run_bounded(quick, &log, Duration::from_mins(1)).unwrap();
        assert_eq!((ended.code, ended.hung), (Some(3), false));
        assert_eq!((ended.stdout.trim(), ended.stderr.trim()), ("out", "err"));
        let slow = Duration::from_millis(50);
        let ended = run_bounded(Command::new("sleep").arg("600"), &log, slow).unwrap();
        assert_eq!((ended.code, ended.hung), (None, true));
        for end in ["out", "err"] {
            fs::remove_file(log.with_extension(end)).unwrap();
        }
    }
}
