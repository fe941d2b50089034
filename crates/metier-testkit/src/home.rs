//! A clean place to run the binary in: an empty home, an empty project, nothing of the real
//! environment but `PATH`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// An empty home and an empty project directory; both go when it is dropped.
pub struct TestHome {
    dir: TempDir,
}

/// What a run of the binary left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
}

impl Output {
    /// The one JSON document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}) in: {self:?}"))
    }
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// Makes the directories. The project counts as a repository, so that no search leaves it.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("metier-test-")
            .tempdir()
            .expect("a temporary directory");
        let home = Self { dir };
        std::fs::create_dir_all(home.home()).expect("home");
        std::fs::create_dir_all(home.project().join(".git")).expect("project");
        home
    }

    /// The directory that holds everything.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The home directory the binary sees.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// The working directory of runs.
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// Writes a file below this place, with its directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(&path, content).expect("writes");
        path
    }

    /// Writes a small valid skill into the directory `dir` below this place.
    pub fn skill(&self, dir: &str, name: &str, description: &str) -> PathBuf {
        self.write(&format!("{dir}/SKILL.md"), skill_text(name, description));
        self.path().join(dir)
    }

    /// Writes a configuration of these rules (permission, pattern, effect) to a file below this place.
    pub fn rules(&self, file: &str, rules: &[(&str, &str, &str)]) {
        let rule = |(permission, pattern, effect): &(&str, &str, &str)| json!({"permission": permission, "pattern": pattern, "effect": effect});
        let rules: Vec<Value> = rules.iter().map(rule).collect();
        self.write(file, json!({ "permissions": rules }).to_string());
    }

    /// The binary, ready to run in the project with a clean environment.
    pub fn command(&self, binary: &str) -> Command {
        let mut command = Command::new(binary);
        command
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .env("USERPROFILE", self.home())
            .stdin(Stdio::null());
        for keep in ["PATH", "SystemRoot", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(keep) {
                command.env(keep, value);
            }
        }
        command
    }

    /// Runs the binary with `args`.
    pub fn run(&self, binary: &str, args: &[&str]) -> Output {
        Self::finish(self.command(binary).args(args))
    }

    /// Runs a prepared command to its end.
    pub fn finish(command: &mut Command) -> Output {
        let output = command.output().expect("the binary starts");
        Output {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// `text` with this place's path replaced by `[T]`, for snapshots.
    pub fn scrub(&self, text: &str) -> String {
        let real = self.path().canonicalize().expect("exists");
        text.replace(&*real.to_string_lossy(), "[T]")
            .replace(&*self.path().to_string_lossy(), "[T]")
    }
}

/// The text of a small valid skill.
pub fn skill_text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\nDo it.\n")
}
