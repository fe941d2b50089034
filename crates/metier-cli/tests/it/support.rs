//! How these tests run the binary and what they compare: output and exit code as one text, JSON
//! without times, and a process that is followed line by line while it runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use metier_testkit::{Output, TestHome};
use serde_json::Value;

/// The binary under test.
pub(crate) const METIER: &str = env!("CARGO_BIN_EXE_metier");

/// How many skills are compiled in.
pub(crate) fn builtin() -> usize {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    std::fs::read_dir(skills).expect("skills/").count()
}

/// How long a test waits for something that should happen soon.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Runs the binary in the project.
pub(crate) fn run(home: &TestHome, args: &[&str]) -> Output {
    home.run(METIER, args)
}

/// Runs the binary in a directory below the home's place.
pub(crate) fn run_in(home: &TestHome, dir: &str, args: &[&str]) -> Output {
    TestHome::finish(home.command(METIER).current_dir(home.path().join(dir)).args(args))
}

/// A path below the home's place, as an argument.
pub(crate) fn at(home: &TestHome, below: &str) -> String {
    home.path().join(below).to_string_lossy().into_owned()
}

/// Runs the binary as a user whom permissions stop: root becomes `nobody`.
pub(crate) fn run_unprivileged(home: &TestHome, args: &[&str]) -> Option<Output> {
    let probe = home.write("probe", "x");
    std::fs::set_permissions(&probe, PermissionsExt::from_mode(0o000)).expect("chmod");
    if std::fs::read(&probe).is_err() {
        return Some(run(home, args));
    }
    if Command::new("true").uid(65534).gid(65534).status().is_err() {
        metier_testkit::not_tested("this user may read everything and cannot become another");
        return None;
    }
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).expect("chmod");
    // The build directory may be closed to others. `cp`, not a copy of our own: a file that this
    // process has open for writing could not be started while another thread starts a process.
    let binary = home.path().join("metier");
    assert!(Command::new("cp").arg(METIER).arg(&binary).status().expect("cp").success());
    let mut command = home.command(&binary.to_string_lossy());
    Some(TestHome::finish(command.uid(65534).gid(65534).args(args)))
}

/// Makes all of it the property of the user that [`run_unprivileged`] runs the binary as.
pub(crate) fn give_to_ordinary_user(home: &TestHome) {
    if rustix::process::geteuid().is_root() {
        let mut chown = Command::new("chown");
        let given = chown.args(["-R", "65534:65534"]).arg(home.path()).status();
        assert!(given.expect("chown").success());
    }
}

/// A sandbox tier that the binary can be made to use on this machine.
pub(crate) struct TierHere {
    pub(crate) name: &'static str,
    /// What has to be done before the binary starts, as shell commands; empty where it takes this tier
    /// by itself.
    prepared_by: Option<&'static str>,
}

/// Takes user namespaces from whatever is started: `strong` is made of them, so `medium` is left.
const WITHOUT_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces";

/// The tiers that hold scripts and can be tried here; says so about the others.
pub(crate) fn tiers(home: &TestHome) -> Vec<TierHere> {
    let strong = TierHere { name: "strong", prepared_by: None };
    let medium = TierHere { name: "medium", prepared_by: Some(WITHOUT_NAMESPACES) };
    let native = TierHere { name: "medium", prepared_by: None };
    let mut found: Vec<TierHere> = Vec::new();
    for tier in [strong, medium, native] {
        let output = TestHome::finish(tier.command(home).args(["doctor", "--json"]));
        let best = serde_json::from_str::<Value>(&output.stdout).ok();
        let best = best.and_then(|it| it["sandbox"]["best"].as_str().map(str::to_owned));
        if best.as_deref() == Some(tier.name) && !found.iter().any(|it| it.name == tier.name) {
            found.push(tier);
        }
    }
    for name in ["strong", "medium"] {
        if !found.iter().any(|tier| tier.name == name) {
            metier_testkit::not_tested(format_args!(
                "the tier {name}, which this machine has not or only by force"
            ));
        }
    }
    found
}

impl TierHere {
    /// The binary, ready to run in the project in this tier.
    pub(crate) fn command(&self, home: &TestHome) -> Command {
        self.prepared(home, "true")
    }

    /// The same after shell commands, which can mount what only the binary is to see.
    pub(crate) fn prepared(&self, home: &TestHome, commands: &str) -> Command {
        if commands == "true" && self.prepared_by.is_none() {
            return home.command(METIER);
        }
        let before = self.prepared_by.unwrap_or("true");
        let mut command = home.command("unshare");
        let line = format!("{commands} && {before} && exec \"$0\" \"$@\"");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &line, METIER]);
        command
    }

    /// What `metier exec` says of a script of the skill `work`, with these variables set.
    pub(crate) fn exec(&self, home: &TestHome, args: &[&str], variables: &[(&str, &str)]) -> Value {
        let mut command = self.command(home);
        command.args(["exec", "--json", "--yes", "work"]).args(args);
        let output = TestHome::finish(command.envs(variables.iter().copied()));
        let value = serde_json::from_str::<Value>(&output.stdout);
        value.unwrap_or_else(|_| panic!("{}: {output:?}", self.name))
    }
}

/// Writes the user's skill `work` with one script.
pub(crate) fn work_skill(home: &TestHome, script: &str, text: &str) {
    home.skill("home/.agents/skills/work", "work", "Works.");
    home.write(&format!("home/.agents/skills/work/{script}"), text);
}

/// Runs the binary on a terminal of its own, where a person types `typed`. Both streams are one.
pub(crate) fn run_on_terminal(home: &TestHome, args: &[&str], typed: &str) -> Option<Output> {
    answer_on_terminal(home, args, "", typed)
}

/// The same for a person who types when `question` stands there.
pub(crate) fn answer_on_terminal(
    home: &TestHome,
    args: &[&str],
    question: &str,
    typed: &str,
) -> Option<Output> {
    answers_on_terminal(home, args, &[(question, typed)])
}

/// The same for several questions, each answered when it stands there.
pub(crate) fn answers_on_terminal(
    home: &TestHome,
    args: &[&str],
    answers: &[(&str, &str)],
) -> Option<Output> {
    let quoted = |arg: &&str| format!("'{}'", arg.replace('\'', "'\\''"));
    let line: Vec<String> = std::iter::once(&METIER).chain(args).map(quoted).collect();
    let mut command = home.command("script");
    command.args(["-qec", &line.join(" "), "/dev/null"]).env("SHELL", "/bin/sh");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = piped.spawn() else {
        metier_testkit::not_tested_without("script", "there is no `script` to make a terminal");
        return None;
    };
    let mut stdin = child.stdin.take().expect("piped");
    let mut screen = child.stdout.take().expect("piped");
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    for (question, typed) in answers {
        while !String::from_utf8_lossy(&seen).contains(question) {
            match screen.read(&mut piece).expect("reads") {
                0 => break,
                count => seen.extend_from_slice(&piece[..count]),
            }
        }
        // What was typed before a question that ended the process has no one to read it.
        let _ = stdin.write_all(typed.as_bytes());
    }
    screen.read_to_end(&mut seen).expect("reads");
    let output = child.wait_with_output().expect("ends");
    drop(stdin);
    Some(Output {
        stdout: String::from_utf8_lossy(&seen).replace('\r', ""),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    })
}

/// Exit code and both streams, without this machine's paths, for a snapshot.
pub(crate) fn shown(home: &TestHome, output: &Output) -> String {
    let Output { stdout, stderr, code } = output;
    home.scrub(&format!("exit: {code}\n---- stdout\n{stdout}\n---- stderr\n{stderr}"))
}

/// The same without the rows of the compiled-in skills, whose words may change at any time.
pub(crate) fn shown_own(home: &TestHome, output: &Output) -> String {
    let own = |line: &&str| !line.contains(" builtin  ");
    let text = shown(home, output);
    text.lines().filter(own).collect::<Vec<_>>().join("\n")
}

/// The document that a successful run printed.
pub(crate) fn json(home: &TestHome, args: &[&str]) -> Value {
    document(home, &run(home, args), 0)
}

/// The document of a run that ended with `code`, without this machine's paths and times. Nothing
/// but the document may be printed.
pub(crate) fn document(home: &TestHome, output: &Output, code: i32) -> Value {
    assert_eq!((output.code, output.stderr.as_str()), (code, ""), "{output:?}");
    assert_eq!(output.stdout.matches('\n').count(), 1, "one line: {output:?}");
    let mut value: Value = serde_json::from_str(&home.scrub(&output.stdout)).expect("JSON");
    if let Some(elapsed) = value.get_mut("report").and_then(|it| it.get_mut("elapsed_ms")) {
        let elapsed = elapsed.take();
        assert!(elapsed.as_f64().is_some_and(|ms| ms >= 0.0), "{elapsed}");
    }
    value
}

/// The keys of an object, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(|k| &**k).collect();
    keys.sort_unstable();
    keys
}

/// One text field of every element of a list.
pub(crate) fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|item| item[key].as_str().expect("a text")).collect()
}

/// The entry of a skill in a listing.
pub(crate) fn entry<'a>(listing: &'a Value, id: &str) -> &'a Value {
    let skills = listing["skills"].as_array().expect("skills");
    skills.iter().find(|skill| skill["id"] == id).unwrap_or_else(|| panic!("{id} in {listing}"))
}

/// Every file below a directory, as sorted paths relative to it.
pub(crate) fn files_below(dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(dir, dir, &mut files);
    files.sort();
    files
}

fn collect(top: &Path, dir: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(top, &path, files);
        } else {
            let below = path.strip_prefix(top).expect("below");
            files.push(below.to_string_lossy().into_owned());
        }
    }
}

/// Makes a named pipe, which no reader may ever wait for.
pub(crate) fn fifo(path: &Path) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

/// Writes `count` small skills, `s0000` and on, below `root`; gives the root.
pub(crate) fn many_skills(home: &TestHome, root: &str, count: usize) -> PathBuf {
    for at in 0..count {
        home.skill(&format!("{root}/s{at:04}"), &format!("s{at:04}"), "As it was.");
    }
    home.path().join(root)
}

/// A running process, followed line by line. It is killed when this is dropped.
pub(crate) struct Live {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Live {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let stdout = lines_of(child.stdout.take().expect("piped"));
        let stderr = lines_of(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    /// The next line on standard output.
    pub(crate) fn line(&self) -> String {
        self.stdout.recv_timeout(TIMEOUT).unwrap_or_else(|error| {
            panic!("{error}; standard error: {:?}", self.stderr.try_iter().collect::<Vec<_>>())
        })
    }

    /// The next line on standard error.
    pub(crate) fn stderr_line(&self) -> String {
        self.stderr.recv_timeout(TIMEOUT).expect("a line on standard error")
    }

    /// Kills the process and gives the lines of standard output that were not read yet.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.child.kill().expect("kills");
        self.child.wait().expect("ends");
        self.stdout.iter().collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // After `end` there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
