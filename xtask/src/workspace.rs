//! Where the workspace is and how its cargo is called: what every command starts from.
//!
//! It knows nothing about any command.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// How a command ended when nothing went wrong with the command itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything holds.
    Passed,
    /// It ran and found something; what, has been printed.
    Failed,
}

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Self {
        if status.success() { Self::Passed } else { Self::Failed }
    }
}

/// The workspace this tool was built in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The directory of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Finds the workspace from the manifest that cargo ran, else the one this was built from.
    pub(crate) fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let manifest = manifest.filter(|dir| dir.file_name() == Some(OsStr::new("xtask")));
        let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = manifest.parent().context("xtask has no parent directory")?.to_owned();
        Ok(Self { root })
    }

    /// A cargo call in the root directory.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(args).current_dir(&self.root);
        command
    }

    /// What `cargo metadata` says about the members, without their dependencies' own metadata.
    pub(crate) fn metadata(&self) -> Result<Value> {
        let text = output(&mut self.cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
        serde_json::from_slice(&text).context("cargo metadata printed no JSON")
    }

    /// The directory that builds go to, wherever the user's configuration put it.
    pub(crate) fn target_dir(&self) -> Result<PathBuf> {
        let metadata = self.metadata()?;
        let dir = metadata["target_directory"].as_str();
        Ok(PathBuf::from(dir.context("cargo metadata names no target directory")?))
    }

    /// The text of a file of the workspace.
    pub(crate) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }

    /// Writes a file of the workspace, making its directory.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let full = self.root.join(path);
        if let Some(dir) = full.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        fs::write(full, text).with_context(|| format!("cannot write {path}"))
    }
}

/// Runs `command` to its end with our own output streams.
pub(crate) fn status(command: &mut Command) -> Result<Outcome> {
    let status = command.status().with_context(|| format!("cannot start {}", name_of(command)))?;
    Ok(status.into())
}

/// Runs `command` and gives back what it printed; an exit code other than 0 is an error.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let name = name_of(command);
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` failed ({}):\n{}", output.status, stderr.trim_end());
    }
    Ok(output.stdout)
}

/// Whether a program of this name is in `PATH`, and where.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let dirs = env::var_os("PATH")?;
    env::split_paths(&dirs).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn name_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
