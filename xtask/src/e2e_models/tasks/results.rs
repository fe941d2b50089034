//! Results on disk, one JSON line each, written as they come: an interrupted run continues after the last.
//!
//! A result belongs to an arm and to the words of a request; with another build or other words there is none.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::arm::Arm;
use super::figures::RunFigures;
use super::judge::{self, Score};
use super::requests::TaskRequest;

/// One request with one arm.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TaskResult {
    /// [`Arm::key`].
    arm: String,
    pub(crate) arm_name: String,
    /// The id and the words of the request: with other words it is another one.
    request: String,
    text: String,
    /// Whether the files are as the request wants them.
    #[serde(default = "held")]
    effects_hold: bool,
    pub(crate) measured: RunFigures,
}

const fn held() -> bool {
    true
}

impl TaskResult {
    pub(crate) fn new(
        arm: &Arm,
        request: &TaskRequest,
        project: &Path,
        measured: RunFigures,
    ) -> Self {
        Self {
            arm: arm.key(),
            arm_name: arm.name(),
            request: request.id.to_owned(),
            text: request.text.to_owned(),
            effects_hold: judge::effects_hold(&request.criterion, project),
            measured,
        }
    }

    /// Judged anew each time: a judge that has become stricter is stricter with older results, too.
    pub(crate) fn score(&self, request: &TaskRequest) -> Score {
        judge::judge(&request.criterion, &self.measured, self.effects_hold)
    }

    /// One line for people.
    pub(crate) fn to_text(&self, score: Score) -> String {
        let RunFigures { status, turns, repeated, seconds, answer, actions, .. } = &self.measured;
        let word = if score == Score::Right { "RIGHT" } else { "wrong" };
        let answer: String = answer.as_deref().unwrap_or("-").chars().take(100).collect();
        let answer = answer.replace('\n', " ");
        let actions = actions.join(" > ");
        let Self { arm_name, request, .. } = self;
        format!(
            "{word} {request} {arm_name}: {status}, {turns} turns, {repeated} repeated, \
             {seconds:.0} s: {answer:?} [{actions}]"
        )
    }
}

/// All results so far.
#[derive(Debug)]
pub(crate) struct ResultStore {
    file: File,
    lines: BTreeMap<(String, String), TaskResult>,
}

impl ResultStore {
    /// Opens the file, or makes it. A last line that was cut off is dropped.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        let lines = text.lines().filter_map(|line| serde_json::from_str::<TaskResult>(line).ok());
        let lines = lines.map(|line| ((line.arm.clone(), line.text.clone()), line)).collect();
        Ok(Self { file, lines })
    }

    /// The result of `request` with `arm`.
    pub(crate) fn get(&self, arm: &Arm, request: &TaskRequest) -> Option<&TaskResult> {
        self.lines.get(&(arm.key(), request.text.to_owned()))
    }

    /// Adds a result, on disk first.
    pub(crate) fn add(&mut self, line: TaskResult) -> Result<()> {
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).context("cannot write a result")?;
        self.lines.insert((line.arm.clone(), line.text.clone()), line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_continues_after_its_last_whole_line() {
        let path = std::env::temp_dir().join(format!("xtask-results-{}.jsonl", std::process::id()));
        let _ = fs::remove_file(&path);
        let line = |text: &str| TaskResult {
            arm: "a".to_owned(),
            arm_name: "a".to_owned(),
            request: "r".to_owned(),
            text: text.to_owned(),
            effects_hold: true,
            measured: RunFigures::default(),
        };
        ResultStore::open(&path).unwrap().add(line("one")).unwrap();
        let cut =
            OpenOptions::new().append(true).open(&path).unwrap().write(b"{\"arm\":\"a\"").unwrap();
        assert!(cut > 0);
        ResultStore::open(&path).unwrap().add(line("two")).unwrap();
        let store = ResultStore::open(&path).unwrap();
        let texts: Vec<&str> = store.lines.values().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["one", "two"]);
        fs::remove_file(&path).unwrap();
    }
}
