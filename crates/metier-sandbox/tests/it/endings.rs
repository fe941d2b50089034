//! Every way in which a run can fail to end: each ends on time, with a true report and nothing left
//! that `/proc` would show. All are bounded by themselves too, should the sandbox fail.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use metier_sandbox::{RunEvent, RunOptions, RunPlan, Runner, SandboxLimits, StopReason, Tier};

use crate::support::{
    assert_nothing_runs, helper, plan, ran_as_nobody, run, scratch, system_program, tiers,
};

/// Time for what ends by itself, on a machine that others load.
const PLENTY: Duration = Duration::from_mins(10);

/// The tiers of this machine, and none.
fn all() -> Vec<Tier> {
    [vec![Tier::None], tiers()].concat()
}

/// A shell that runs `script` with a mark in the command line of all it starts.
fn shell(dir: &std::path::Path, mark: &str, script: &str) -> RunPlan {
    let mut plan = plan(dir, &["/bin/sh", "-c", script, mark]);
    plan.limits = SandboxLimits {
        wall: Duration::from_millis(700),
        grace: Duration::from_millis(300),
        processes: 40,
        ..SandboxLimits::default()
    };
    plan
}

fn mark(name: &str, tier: Tier) -> String {
    format!("metier-mark-{name}-{tier}-{}", std::process::id())
}

#[test]
fn a_program_that_sleeps_is_gone_at_the_timeout() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("sleep", tier));
        let report = run(tier, &shell(dir.path(), &mark, "echo begun; sleep 60; echo never"));
        assert!(report.timed_out && report.stopped == Some(StopReason::Timeout), "{report:?}");
        assert_eq!(report.signal, Some(15), "{report:?}");
        assert_eq!(report.stdout.text, "begun\n");
        assert!(report.elapsed < Duration::from_secs(15), "{report:?}");
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_the_grace() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("ignores", tier));
        let script = "trap '' TERM; while :; do sleep 0.05; done";
        let report = run(tier, &shell(dir.path(), &mark, script));
        assert!(report.timed_out, "{report:?}");
        assert_eq!(report.signal, Some(9), "{report:?}");
        assert!(report.killed >= 1 && report.elapsed < Duration::from_secs(15), "{report:?}");
        assert_nothing_runs(&mark);
    }
}

/// Two children that leave their session, and orphan a child that ignores SIGTERM.
const ESCAPE: &str = "import os,sys,time,signal\n\
    for deep in range(2):\n\
    \x20   if os.fork() == 0:\n\
    \x20       os.setsid()\n\
    \x20       if os.fork(): os._exit(0)\n\
    \x20       signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    \x20       time.sleep(60); os._exit(0)\n\
    time.sleep(float(sys.argv[2]))\n";

#[test]
fn children_in_sessions_of_their_own_are_gone_too() {
    let Some(python) = system_program("python3") else { return };
    for tier in all() {
        // Once the program ends by itself, once its time is up.
        for seconds in ["0.3", "60"] {
            let (dir, mark) = (scratch(), mark("setsid", tier));
            let mut plan = shell(dir.path(), &mark, "");
            plan.program = python.clone().into();
            plan.args = ["-c", ESCAPE, &mark, seconds].map(str::to_owned).to_vec();
            plan.limits.wall = Duration::from_secs(3);
            let report = run(tier, &plan);
            assert_eq!(report.timed_out, seconds == "60", "{report:?}");
            assert!(report.killed >= 2, "{report:?}");
            assert_nothing_runs(&mark);
        }
    }
}

#[test]
fn a_background_process_that_holds_the_output_does_not_hold_the_run() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("holds", tier));
        let started = Instant::now();
        let mut plan = shell(dir.path(), &mark, "sleep 60 & echo done");
        plan.limits.wall = PLENTY;
        let report = run(tier, &plan);
        assert_eq!((report.exit_code, report.timed_out), (Some(0), false), "{report:?}");
        assert!(report.killed == 1 && started.elapsed() < Duration::from_secs(20), "{report:?}");
        assert_eq!(report.stdout.text, "done\n");
    }
}

/// Bounded by itself too, should the sandbox fail: 300 processes, a few seconds.
const BOMB: &str = "import os,sys,time\n\
    end = time.time() + 3\n\
    for i in range(300):\n\
    \x20   try:\n\
    \x20       if os.fork() == 0:\n\
    \x20           time.sleep(max(0, end - time.time())); os._exit(0)\n\
    \x20   except OSError: time.sleep(0.005)\n\
    time.sleep(60)\n";

fn fork_bomb() {
    let Some(python) = system_program("python3") else { return };
    for tier in all() {
        let (dir, mark) = (scratch(), mark("bomb", tier));
        let mut plan = shell(dir.path(), &mark, "");
        plan.program = python.clone().into();
        plan.args = ["-c", BOMB, &mark].map(str::to_owned).to_vec();
        plan.limits.wall = Duration::from_secs(2);
        let report = run(tier, &plan);
        assert!(
            matches!(report.stopped, Some(StopReason::Processes | StopReason::Timeout)),
            "{report:?}"
        );
        assert!(report.elapsed < Duration::from_secs(20), "{report:?}");
        println!("a bomb in {tier}: {:?}, {} killed", report.stopped, report.killed);
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_fork_bomb_ends() {
    fork_bomb();
}

#[test]
fn a_fork_bomb_of_an_ordinary_user_ends() {
    if !ran_as_nobody("endings::a_fork_bomb_of_an_ordinary_user_ends") {
        fork_bomb();
    }
}

/// Processes that start another and end, each in a session of its own: none lives for a millisecond. They
/// print as they go, so that their readers would wait for them, and end by themselves after a while.
const CHAINS: &str = "#include <signal.h>\n#include <time.h>\n#include <unistd.h>\n\
    int main(void) {\n\
        time_t end = time(0) + 40;\n\
        signal(SIGTERM, SIG_IGN);\n\
        for (int i = 0; i < 6; i++) if (fork() == 0)\n\
            while (time(0) < end) {\n\
                int child = fork();\n\
                if (child > 0) _exit(0);\n\
                if (child == 0) { setsid(); if (fork()) _exit(0); write(1, \"x\", 1); }\n\
            }\n\
        sleep(60);\n\
    }\n";

fn compiled(source: &str, program: &std::path::Path) -> bool {
    let Some(cc) = system_program("cc") else { return false };
    let file = program.with_extension("c");
    std::fs::write(&file, source).expect("writes");
    let made = std::process::Command::new(cc).arg("-w").arg(&file).arg("-o").arg(program).status();
    made.is_ok_and(|status| status.success())
}

fn chains() {
    for tier in all() {
        let (dir, tools, mark) = (scratch(), scratch(), mark("chain", tier));
        let program = tools.path().join("chains");
        if !compiled(CHAINS, &program) {
            return;
        }
        let mut plan = shell(dir.path(), &mark, "");
        plan.program.clone_from(&program);
        plan.args = vec![mark.clone()];
        plan.read_only.push(tools.path().to_owned());
        plan.limits.processes = 60;
        let report = run(tier, &plan);
        assert!(
            matches!(report.stopped, Some(StopReason::Timeout | StopReason::Processes)),
            "{report:?}"
        );
        assert!(report.elapsed < Duration::from_secs(15), "{report:?}");
        assert_nothing_runs(&mark);
    }
}

#[test]
fn processes_that_fork_and_end_do_not_outlive_the_run() {
    chains();
}

#[test]
fn processes_of_an_ordinary_user_that_fork_and_end_do_not_outlive_the_run() {
    if !ran_as_nobody(
        "endings::processes_of_an_ordinary_user_that_fork_and_end_do_not_outlive_the_run",
    ) {
        chains();
    }
}

/// Threads until there are no more; prints how many there were.
const THREADS: &str = "import threading,time\n\
    end = time.time() + 3\n\
    threading.stack_size(65536)\n\
    try:\n\
    \x20   for count in range(3000):\n\
    \x20       threading.Thread(target=lambda: time.sleep(max(0, end - time.time()))).start()\n\
    except RuntimeError: pass\n\
    print('threads', count, flush=True)\n";

fn threads() {
    let Some(python) = system_program("python3") else { return };
    for tier in all() {
        let (dir, mark) = (scratch(), mark("threads", tier));
        let mut plan = shell(dir.path(), &mark, "");
        plan.program = python.clone().into();
        plan.args = ["-c", THREADS, &mark].map(str::to_owned).to_vec();
        plan.limits.wall = PLENTY;
        let report = run(tier, &plan);
        let count = report.stdout.text.trim().strip_prefix("threads ");
        let count = count.and_then(|count| count.parse::<u32>().ok());
        println!("threads in {tier}: {count:?}, stopped: {:?}", report.stopped);
        if report.stopped != Some(StopReason::Processes) {
            assert!(
                count.is_some_and(|count| count <= plan.limits.processes),
                "{tier}: {report:?}"
            );
        }
        assert_nothing_runs(&mark);
    }
}

#[test]
fn three_thousand_threads_are_not_had() {
    threads();
}

#[test]
fn an_ordinary_user_does_not_have_three_thousand_threads() {
    if !ran_as_nobody("endings::an_ordinary_user_does_not_have_three_thousand_threads") {
        threads();
    }
}

/// Runs a script that prints `ready`, and then sends its helper a signal; gives what the run says.
fn with_signal_to_helper(
    tier: Tier,
    plan: &RunPlan,
    mark: &str,
    signal: rustix::process::Signal,
) -> Result<metier_sandbox::SandboxReport, metier_sandbox::Error> {
    let sent = Mutex::new(false);
    Runner::new(helper(), tier).run(plan, &RunOptions::default(), &|event| {
        let mut sent = sent.lock().expect("a lock");
        if matches!(&event, RunEvent::Output { text, .. } if text.contains("ready")) && !*sent {
            let pid = helper_of(mark).and_then(rustix::process::Pid::from_raw);
            rustix::process::kill_process(pid.expect("a helper"), signal).expect("a signal");
            *sent = true;
        }
    })
}

/// The helper above the processes with this mark: the one of them that this process started.
fn helper_of(mark: &str) -> Option<i32> {
    let own = std::process::id().cast_signed();
    let parent_of = |pid: i32| -> Option<i32> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let marked = crate::support::running(mark).into_iter().map(u32::cast_signed);
    marked.into_iter().find_map(|mut pid| {
        loop {
            match parent_of(pid)? {
                parent if parent == own => return Some(pid),
                0 | 1 => return None,
                parent => pid = parent,
            }
        }
    })
}

#[test]
fn a_helper_that_is_stuck_is_given_up_with_everything_below_it() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("stuck", tier));
        let script = "trap '' TERM; setsid sleep 60 & echo ready; while :; do sleep 0.01; done";
        let plan = shell(dir.path(), &mark, script);
        let started = Instant::now();
        let error = with_signal_to_helper(tier, &plan, &mark, rustix::process::Signal::STOP);
        let error = error.expect_err("nothing is known of its end").to_string();
        assert!(error.contains("did not keep its own time limit"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        assert_nothing_runs(&mark);
    }
}

#[test]
fn the_streams_of_a_helper_that_is_gone_are_not_waited_for() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("gone", tier));
        // What is left behind holds the streams, and one writes to them; it ends when that fails.
        let script = "(exec sleep 40) & (for i in $(seq 400); do echo left || exit; sleep 0.1; done) & \
                      echo ready; sleep 40";
        let mut plan = shell(dir.path(), &mark, script);
        plan.limits.wall = PLENTY;
        let started = Instant::now();
        let error = with_signal_to_helper(tier, &plan, &mark, rustix::process::Signal::KILL);
        error.expect_err("nothing is known of its end");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[test]
fn two_hundred_megabytes_of_output_are_counted_and_not_kept() {
    for tier in all() {
        let dir = scratch();
        let mut plan = shell(dir.path(), "x", "echo first; head -c 200000000 /dev/zero; echo last");
        plan.limits.wall = PLENTY;
        plan.limits.output.stored = 1 << 20;
        let file = dir.path().join("whole");
        let options = RunOptions { stdout_file: Some(file.clone()), ..RunOptions::default() };
        let events = Mutex::new(0_usize);
        let count = |event: RunEvent| {
            if let RunEvent::Output { text, .. } = event {
                *events.lock().expect("a lock") += text.len();
            }
        };
        let report = Runner::new(helper(), tier).run(&plan, &options, &count).expect("runs");
        assert_eq!((report.exit_code, report.stdout.bytes), (Some(0), 200_000_011), "{tier}");
        assert!(report.stdout.truncated && report.stdout.text.len() < 40_000);
        assert!(
            report.stdout.text.starts_with("first\n") && report.stdout.text.ends_with("last\n")
        );
        assert_eq!(std::fs::metadata(&file).expect("a file").len(), 1 << 20);
        assert!(*events.lock().expect("a lock") < 200_000, "events are bounded");
    }
}

#[test]
fn output_without_end_stops_the_run() {
    for tier in all() {
        let dir = scratch();
        let mut plan = shell(dir.path(), "x", "yes");
        plan.limits.wall = Duration::from_mins(1);
        plan.limits.output.total = 2 << 20;
        let report = run(tier, &plan);
        assert_eq!(report.stopped, Some(StopReason::Output), "{report:?}");
        assert!(!report.timed_out && report.elapsed < Duration::from_secs(20));
    }
}

#[test]
fn closed_streams_are_no_fault() {
    for tier in all() {
        let dir = scratch();
        let mut plan = shell(dir.path(), "x", "exec >&- 2>&-; sleep 0.2; exit 3");
        plan.limits.wall = PLENTY;
        let report = run(tier, &plan);
        assert_eq!((report.exit_code, report.timed_out), (Some(3), false), "{report:?}");
    }
}

#[test]
fn a_signal_and_a_code_are_distinguished() {
    for tier in all() {
        let dir = scratch();
        let ended = |script: &str| {
            let mut plan = shell(dir.path(), "x", script);
            plan.limits.wall = PLENTY;
            let report = run(tier, &plan);
            assert_eq!(report.stopped, None, "{report:?}");
            (report.exit_code, report.signal)
        };
        assert_eq!(ended("kill -KILL $$"), (None, Some(9)), "{tier}");
        assert_eq!(ended("exit 137"), (Some(137), None), "{tier}");
        // The helper's own codes are not reserved from the program: they travel apart.
        assert_eq!(ended("exit 120"), (Some(120), None), "{tier}");
    }
}

#[test]
fn a_cancelled_run_ends_at_once_and_says_so() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("cancel", tier));
        let mut plan = shell(dir.path(), &mark, "sleep 60");
        plan.limits.wall = Duration::from_mins(1);
        let options = RunOptions::default();
        let cancel = options.cancel.clone();
        let seen = Mutex::new(Vec::new());
        let report = Runner::new(helper(), tier)
            .run(&plan, &options, &|event| {
                if matches!(event, RunEvent::Started { .. }) {
                    cancel.cancel();
                }
                seen.lock().expect("a lock").push(event);
            })
            .expect("runs");
        assert_eq!(report.stopped, Some(StopReason::Cancelled), "{report:?}");
        assert!(report.elapsed < Duration::from_secs(15), "{report:?}");
        let seen = seen.into_inner().expect("events");
        let wanted =
            [RunEvent::Started { tier }, RunEvent::Stopping { reason: StopReason::Cancelled }];
        assert_eq!(seen, wanted);
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_script_is_asked_to_end_in_the_moment_in_which_it_is_cancelled() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("term", tier));
        let script = "trap 'date +%s%N; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let mut plan = shell(dir.path(), &mark, script);
        (plan.limits.wall, plan.limits.grace) = (PLENTY, PLENTY);
        let options = RunOptions::default();
        let (cancel, asked) = (options.cancel.clone(), Mutex::new(None));
        let report = Runner::new(helper(), tier)
            .run(&plan, &options, &|event| {
                if matches!(&event, RunEvent::Output { text, .. } if text.contains("ready")) {
                    *asked.lock().expect("a lock") = Some(SystemTime::now());
                    cancel.cancel();
                }
            })
            .expect("runs");
        assert_eq!((report.stopped, report.exit_code), (Some(StopReason::Cancelled), Some(7)));
        let asked = asked.into_inner().expect("a lock").expect("it was ready");
        let heard = report.stdout.text.trim_start_matches("ready\n").trim();
        let heard = UNIX_EPOCH + Duration::from_nanos(heard.parse().expect("a time stamp"));
        let delay = heard.duration_since(asked).unwrap_or_default();
        // Far more than it takes (a few milliseconds), far less than the time limit.
        assert!(delay < Duration::from_secs(5), "{tier}: {delay:?}");
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_run_whose_token_was_cancelled_before_it_began_ends_too() {
    for tier in all() {
        let (dir, mark) = (scratch(), mark("before", tier));
        let mut plan = shell(dir.path(), &mark, "sleep 60");
        plan.limits.wall = PLENTY;
        let options = RunOptions::default();
        options.cancel.cancel();
        let report = Runner::new(helper(), tier).run(&plan, &options, &|_| {}).expect("runs");
        assert_eq!(report.stopped, Some(StopReason::Cancelled), "{report:?}");
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_parent_that_dies_takes_its_runs_along() {
    use std::process::{Command, Stdio};
    for tier in all() {
        let (dir, mark) = (scratch(), mark("orphan", tier));
        let mut parent = Command::new(helper())
            .args([tier.as_str(), &dir.path().to_string_lossy(), "/bin/sh", "-c"])
            .args(["setsid sleep 60 & sleep 60", &mark])
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        let until = Instant::now() + Duration::from_secs(10);
        // The parent has the mark in its own command line too.
        while crate::support::running(&mark).len() < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100));
        parent.kill().expect("kills");
        parent.wait().expect("waits");
        assert_nothing_runs(&mark);
    }
}

#[test]
fn a_run_that_was_stopped_does_not_stop_the_next_one_with_the_same_options() {
    let dir = scratch();
    let options = RunOptions::default();
    let mut plan = shell(dir.path(), "x", "yes");
    plan.limits.wall = PLENTY;
    plan.limits.output.total = 1 << 20;
    let runner = Runner::new(helper(), Tier::None);
    let report = runner.run(&plan, &options, &|_| {}).expect("runs");
    assert_eq!(report.stopped, Some(StopReason::Output));
    plan.args[1] = "echo fine".to_owned();
    let report = runner.run(&plan, &options, &|_| {}).expect("runs");
    assert!(report.succeeded(), "{report:?}");
}

#[test]
fn events_carry_the_same_text_as_the_report_even_when_characters_are_split() {
    // No text, then the halves of a character apart, then half of one at the end.
    let script = "printf '\\377a\\303'; sleep 0.2; printf '\\251 b\\342\\202'";
    for tier in all() {
        let dir = scratch();
        let mut plan = shell(dir.path(), "x", script);
        plan.limits.wall = PLENTY;
        let printed = Mutex::new(String::new());
        let hear = |event: RunEvent| {
            if let RunEvent::Output { text, .. } = event {
                *printed.lock().expect("a lock") += &text;
            }
        };
        let options = RunOptions::default();
        let report = Runner::new(helper(), tier).run(&plan, &options, &hear).expect("runs");
        assert_eq!(report.stdout.text, "\u{fffd}aé b\u{fffd}", "{tier}");
        assert_eq!(printed.into_inner().expect("a text"), report.stdout.text, "{tier}");
    }
}
