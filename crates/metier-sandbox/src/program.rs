//! A program of the user's own, run as it is: no sandbox, because it needs the network and the user's keys.
//!
//! For programs that the user installed and that this program calls with arguments of its own making, as
//! `git`. It never runs anything that a skill or a repository brought. The environment is what the caller
//! gives and nothing else, there is no terminal to ask on, time and output are limited, and everything that
//! was started ends with it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;

/// How often the program is asked whether it has ended, and the caller whether it is to stop.
/// Cancelling waits for neither.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// What is kept of its standard error: the last words say why it failed.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// A program to run.
#[derive(Debug, Clone)]
pub struct UserProgram {
    /// Its absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub dir: PathBuf,
    /// What it reads.
    pub input: Vec<u8>,
    /// How long it may take.
    pub time: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramEnd {
    /// By itself, with this code; none after a signal.
    Exit(Option<i32>),
    /// It took too long.
    Timeout,
    /// Its watch, or what takes its output, wanted no more of it.
    Stopped,
    /// It was cancelled.
    Cancelled,
}

/// A program that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramResult {
    /// How.
    pub end: ProgramEnd,
    /// The end of its standard error.
    pub error: Vec<u8>,
}

/// What a caller sees of a program while it runs.
pub trait ProgramWatch: Sync {
    /// Whether it is to stop. It is asked often.
    fn wants_stop(&self) -> bool {
        false
    }
}

/// Nothing stops it but its time, and its token.
impl ProgramWatch for () {}

impl UserProgram {
    /// Runs it, until `cancel` is cancelled. `output` gets its standard output piece by piece, and stops it by an
    /// error.
    ///
    /// # Errors
    ///
    /// When it cannot be started, or `output` failed.
    pub fn run(
        &self,
        cancel: &CancelToken,
        watch: &dyn ProgramWatch,
        output: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> io::Result<ProgramResult> {
        let mut child = self.start()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (has_failed, error) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let (end, written) = std::thread::scope(|scope| {
            let writes = stdin.map(|mut stdin| {
                // It may end without reading all of it.
                scope.spawn(move || drop(stdin.write_all(&self.input)))
            });
            let reads = scope.spawn(|| {
                let read = stdout.map_or(Ok(()), |stdout| follow(stdout, output));
                has_failed.store(read.is_err(), Ordering::Relaxed);
                read
            });
            scope.spawn(|| {
                if let Some(stderr) = stderr {
                    keep_end(stderr, &error);
                }
            });
            let wants_stop = || watch.wants_stop() || has_failed.load(Ordering::Relaxed);
            let end = wait(&mut child, self.time, cancel, &wants_stop);
            end_group(child.id());
            let read = reads.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            drop(writes.map(std::thread::ScopedJoinHandle::join));
            (end, read)
        });
        written?;
        let error = error.into_inner().unwrap_or_default();
        Ok(ProgramResult { end: end?, error })
    }

    #[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        leave_terminal(&mut command);
        command.spawn()
    }
}

/// In a session of its own it has no terminal on which it, or what it starts, could ask for a password; and
/// it ends when this process is killed, instead of filling a disk that no one watches.
fn leave_terminal(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let prepare = || {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        };
        // SAFETY: between fork and exec only two system calls are made; nothing is allocated or locked.
        unsafe { command.pre_exec(prepare) };
    }
    #[cfg(not(unix))]
    let _ = command;
}

fn wait(
    child: &mut Child,
    time: Duration,
    cancel: &CancelToken,
    wants_stop: &dyn Fn() -> bool,
) -> io::Result<ProgramEnd> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ProgramEnd::Exit(status.code()));
        }
        let end = if cancel.is_cancelled() {
            Some(ProgramEnd::Cancelled)
        } else if wants_stop() {
            Some(ProgramEnd::Stopped)
        } else {
            (started.elapsed() > time).then_some(ProgramEnd::Timeout)
        };
        if let Some(end) = end {
            end_group(child.id());
            let _gone = child.kill();
            child.wait()?;
            return Ok(end);
        }
        cancel.wait_timeout(POLL_INTERVAL);
    }
}

/// Ends what is left of its session, which would hold the streams.
fn end_group(leader: u32) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}

fn follow(
    mut stream: impl Read,
    output: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => output(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn keep_end(stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let _ = follow(stream, &mut |piece| {
        if let Ok(mut kept) = kept.lock() {
            kept.extend_from_slice(piece);
            let over = kept.len().saturating_sub(MAX_ERROR_BYTES);
            kept.drain(..over);
        }
        Ok(())
    });
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> UserProgram {
        UserProgram {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("GIVEN".into(), "yes".into())],
            dir: PathBuf::from("/"),
            input: b"in".to_vec(),
            time: Duration::from_mins(1),
        }
    }

    fn run(program: &UserProgram) -> (ProgramResult, String) {
        let mut text = Vec::new();
        let result = program.run(&CancelToken::new(), &(), &mut |piece| {
            text.extend_from_slice(piece);
            Ok(())
        });
        (result.expect("runs"), String::from_utf8(text).expect("text"))
    }

    struct Stop;
    impl ProgramWatch for Stop {
        fn wants_stop(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_program_gets_what_it_is_given_and_no_terminal() {
        let (result, text) = run(&shell(
            "cat; echo $GIVEN $HOME; (: < /dev/tty) 2>/dev/null || echo none; echo x >&2; exit 3",
        ));
        assert_eq!(text, "inyes\nnone\n");
        assert_eq!((result.end, result.error), (ProgramEnd::Exit(Some(3)), b"x\n".to_vec()));
    }

    #[test]
    fn time_and_a_caller_that_wants_no_more_end_it_with_all_it_started() {
        let mut program = shell("sleep 600 & sleep 600");
        program.time = Duration::from_millis(50);
        assert_eq!(run(&program).0.end, ProgramEnd::Timeout);
        let token = CancelToken::new();
        let refused =
            shell("echo x; sleep 600").run(&token, &(), &mut |_| Err(io::ErrorKind::Other.into()));
        assert!(refused.is_err());
        let stopped = shell("sleep 600").run(&token, &Stop, &mut |_| Ok(())).expect("runs");
        assert_eq!(stopped.end, ProgramEnd::Stopped);
    }

    #[test]
    fn cancelling_ends_the_wait_and_all_that_was_started() {
        let token = CancelToken::new();
        let cancels = token.clone();
        // The pipe stays open as long as the process in the background lives.
        let program = shell("sleep 600 & echo started; sleep 600");
        let result = program.run(&token, &(), &mut |_| {
            cancels.cancel();
            Ok(())
        });
        assert_eq!(result.expect("runs").end, ProgramEnd::Cancelled);
        let before = shell("sleep 600").run(&token, &(), &mut |_| Ok(())).expect("runs");
        assert_eq!(before.end, ProgramEnd::Cancelled);
    }

    #[test]
    fn a_background_process_that_holds_the_streams_does_not_hold_us() {
        assert_eq!(run(&shell("sleep 600 & echo done")).1, "done\n");
    }
}
