//! One process, timed from start to end, with what the kernel says about its memory.
//!
//! Whole processes by wall clock: what a user waits for. The child's peak memory comes from
//! `wait4`; the kernel counts the moment between fork and exec too, so a reading is never below
//! this program's own memory (see [`own_peak`]).

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// A first run that takes longer than this ends the bench.
const PROCESS_TIMEOUT: Duration = Duration::from_mins(2);

/// A program that is run many times. It inherits no environment.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(&'static str, PathBuf)>,
    pub(crate) dir: PathBuf,
}

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    wall: Duration,
    cpu: Duration,
    peak_bytes: u64,
}

impl Program {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).current_dir(&self.dir).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// One timed run; its output is thrown away.
    pub(crate) fn run(&self) -> Result<Sample> {
        let mut command = self.command();
        let start = Instant::now();
        let child = command.spawn().with_context(|| self.failure("cannot start"))?;
        let used = child.wait4().with_context(|| self.failure("cannot wait for"))?;
        let wall = start.elapsed();
        // A command that reports findings ends with 1.
        if !matches!(used.status.code(), Some(0 | 1)) {
            bail!("{}: {}", self.failure("failed"), used.status);
        }
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok(Sample { wall, cpu, peak_bytes: used.rusage.maxrss })
    }

    /// A first run, not timed: `read` sees the output, and a program that hangs is ended.
    pub(crate) fn probe<T: Send>(
        &self,
        read: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
    ) -> Result<T> {
        let mut command = self.command();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| self.failure("cannot start"))?;
        let mut stdout = child.stdout.take().context("no pipe to read from")?;
        let deadline = Instant::now() + PROCESS_TIMEOUT;
        thread::scope(|scope| {
            let reader = scope.spawn(move || read(&mut stdout));
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                if Instant::now() > deadline {
                    child.kill()?;
                    child.wait()?;
                    bail!(
                        "{}: no end after {} s",
                        self.failure("gave up"),
                        PROCESS_TIMEOUT.as_secs()
                    );
                }
                thread::sleep(Duration::from_millis(5));
            };
            if !status.success() {
                bail!("{}: {status}", self.failure("failed"));
            }
            let answer = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?;
            answer.with_context(|| self.failure("could not read the output of"))
        })
    }

    fn failure(&self, what: &str) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        format!("{what} `{name} {}`", args.join(" "))
    }
}

/// The runs of one program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    samples: Vec<Sample>,
}

impl Series {
    /// Adds a run.
    pub(crate) fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// The statistics of all runs.
    pub(crate) fn stat(&self) -> Stat {
        let sorted = |of: fn(&Sample) -> Duration| {
            let mut all: Vec<f64> =
                self.samples.iter().map(|it| of(it).as_secs_f64() * 1000.0).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let wall = sorted(|sample| sample.wall);
        let cpu = sorted(|sample| sample.cpu);
        let peak = self.samples.iter().map(|sample| sample.peak_bytes).max().unwrap_or_default();
        Stat {
            min: wall.first().copied().unwrap_or_default(),
            median: wall.get(wall.len() / 2).copied().unwrap_or_default(),
            cpu: cpu.first().copied().unwrap_or_default(),
            peak_mb: megabytes(peak),
        }
    }
}

/// The statistics of a series: milliseconds and megabytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Stat {
    pub(crate) min: f64,
    pub(crate) median: f64,
    /// The least processor time, of all threads.
    pub(crate) cpu: f64,
    pub(crate) peak_mb: f64,
}

/// This program's own peak memory in MB, the least that can be read for a child.
pub(crate) fn own_peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    megabytes(kilobytes.unwrap_or_default() * 1024)
}

fn megabytes(bytes: u64) -> f64 {
    // Tenths are what the table shows, and they fit u32 far beyond any machine's memory.
    f64::from(u32::try_from(bytes / 100_000).unwrap_or(u32::MAX)) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_gives_minimum_median_and_peak() {
        let mut series = Series::default();
        for (wall, peak_bytes) in [(9, 1_000_000), (3, 2_500_000), (4, 1_000_000)] {
            let wall = Duration::from_millis(wall);
            series.push(Sample { wall, cpu: wall * 2, peak_bytes });
        }
        assert_eq!(series.stat(), Stat { min: 3.0, median: 4.0, cpu: 6.0, peak_mb: 2.5 });
    }

    #[test]
    fn an_empty_series_is_zero() {
        assert_eq!(Series::default().stat(), Stat::default());
    }
}
