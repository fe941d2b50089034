//! The project that requests are about, on disk: its data, its skills, the distractors, a home of its own.
//!
//! Its path never changes, so that a server's cache holds the beginning of the prompt over all requests.
//! Data are written anew before every request; skills stay, since trust is bound to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::arm::Arm;
use super::distractors;
use super::results::TaskResult;
use crate::e2e_models::process::{Ended, run_bounded};

/// The folder of the template that becomes `.agent/skills`.
const SKILLS: &str = "skills";

/// The project and the home.
#[derive(Debug)]
pub(crate) struct Project {
    template: PathBuf,
    dir: PathBuf,
    home: PathBuf,
    records: PathBuf,
    log: PathBuf,
}

impl Project {
    /// Makes project and home anew in `dir`, with `count` distractors.
    pub(crate) fn make(dir: &Path, template: &Path, count: u32) -> Result<Self> {
        let project = Self {
            template: template.to_owned(),
            dir: dir.join("harbour"),
            home: dir.join("home"),
            records: dir.join("records"),
            log: dir.join("metier"),
        };
        for old in [&project.dir, &project.home] {
            if old.exists() {
                fs::remove_dir_all(old)
                    .with_context(|| format!("cannot empty {}", old.display()))?;
            }
        }
        let skills = project.dir.join(".agent/skills");
        // `.git` ends the search for a project: the one around us is not meant.
        for made in [&project.home, &project.dir.join(".git"), &skills, &project.records] {
            fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
        }
        copy(&template.join(SKILLS), &skills)?;
        let added = distractors::add(&skills, &dir.join("corpus"), count)?;
        println!("e2e-models: {added} skills of others beside the project's own");
        Ok(project)
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the user's configuration for `arm`, and trusts the project's skills.
    pub(crate) fn configure(&self, arm: &Arm, base_url: &str) -> Result<()> {
        let config = serde_json::to_vec_pretty(&arm.config(base_url))?;
        fs::write(self.home.join("config.json"), config).context("cannot write the settings")?;
        let ended = self.metier(arm, &["trust", "--yes"], Duration::from_mins(2))?;
        if ended.code != Some(0) {
            bail!("`metier trust` failed:\n{}", ended.stderr.trim_end());
        }
        Ok(())
    }

    /// Writes the data anew, and removes what a run has left.
    pub(crate) fn restore(&self) -> Result<()> {
        for entry in fs::read_dir(&self.dir)?.flatten() {
            let path = entry.path();
            if !entry.file_name().to_string_lossy().starts_with('.') {
                let removed =
                    if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        for entry in fs::read_dir(&self.template)?.flatten() {
            if entry.file_name() != SKILLS {
                copy(&entry.path(), &self.dir.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Runs one request.
    pub(crate) fn run(&self, arm: &Arm, request: &str, timeout: Duration) -> Result<Ended> {
        let turns = arm.turns.to_string();
        self.metier(arm, &["run", "--json", "--yes", "--max-turns", &turns, "--", request], timeout)
    }

    /// Puts the record of a run and its events where they can be read later.
    pub(crate) fn keep_record(&self, line: &TaskResult) -> Result<()> {
        let id = &line.measured.run_id;
        let from = self.dir.join(".agent/runs").join(id);
        if id.is_empty() || !from.exists() {
            return Ok(());
        }
        let to = self.records.join(id);
        fs::rename(&from, &to).with_context(|| format!("cannot move {}", from.display()))
    }

    fn metier(&self, arm: &Arm, args: &[&str], timeout: Duration) -> Result<Ended> {
        let mut command = Command::new(&arm.program);
        command.args(args).current_dir(&self.dir).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", &self.home).env("METIER_HOME", &self.home);
        run_bounded(&mut command, &self.log, timeout)
    }
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        return Ok(());
    }
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)?.flatten() {
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
