//! Which case files there are: those of the project, and those that lie in the folders of its skills.
//! Reading them is the parent module's.

use std::path::{Path, PathBuf};

use metier::Metier;
use metier::fs::{is_dir, read_bounded, read_dir_names};
use metier::skill::Source;

use super::document::MAX_BYTES;
use crate::error::{CaseFault, EvalError, Result};

/// A case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseSource {
    /// Where it is.
    pub path: PathBuf,
    /// How it is called: its path in the project.
    pub name: String,
    /// The skill whose folder it lies in.
    pub skill: Option<String>,
}

/// The folder of case files in a project.
const FOLDER: &str = ".agent/evals";
/// The folder of case files in a skill.
const SKILL_FOLDER: &str = "evals";

impl CaseSource {
    /// What it says.
    pub(crate) fn text(&self) -> std::result::Result<String, Vec<CaseFault>> {
        let fault = |message: String| {
            vec![CaseFault { file: self.name.clone(), line: 1, column: 1, message, help: None }]
        };
        let bytes = read_bounded(&self.path, MAX_BYTES as u64 + 1)
            .map_err(|error| fault(format!("it cannot be read: {error}")))?;
        String::from_utf8(bytes).map_err(|_| fault("it is not UTF-8".to_owned()))
    }
}

/// The case files that are meant: those of `paths` (files and folders), or all of the project and its skills. Of a
/// skill's folder, of one that holds skills, and of a project, those are meant that lie where they belong.
pub fn find_case_files(metier: &Metier, paths: &[PathBuf]) -> Result<Vec<CaseSource>> {
    let top = metier.workspace();
    let skills = skill_folders(metier, |_| true);
    let mut found = Vec::new();
    let mut add = |path: PathBuf, skill: Option<String>| {
        let name = path.strip_prefix(&top).unwrap_or(&path).to_string_lossy().into_owned();
        if found.iter().all(|known: &CaseSource| known.path != path) {
            found.push(CaseSource { path, name, skill });
        }
    };
    let skill_of = |path: &Path| {
        let of = skills.iter().find(|(folder, _)| path.starts_with(folder));
        of.map(|(_, name)| name.clone())
    };
    for path in paths {
        let path = metier.working_dir().join(path);
        let real = metier::fs::canonical(&path).map_err(|error| {
            EvalError::usage(
                format!("there is no case file {}: {error}", path.display()),
                "name a file or a folder of case files",
            )
        })?;
        if is_dir(&real) {
            for file in case_files_below(&real, &skills) {
                add(file.clone(), skill_of(&file));
            }
        } else {
            add(real.clone(), skill_of(&real));
        }
    }
    if paths.is_empty() {
        for file in case_files(&top.join(FOLDER)) {
            add(file, None);
        }
        // Those of the user's own skills are run where they are named.
        let is_here = |source| matches!(source, Source::Project | Source::Explicit);
        for (folder, name) in skill_folders(metier, is_here) {
            for file in case_files(&folder.join(SKILL_FOLDER)) {
                add(file, Some(name.clone()));
            }
        }
    }
    if found.is_empty() {
        let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let places = if named.is_empty() { FOLDER.to_owned() } else { named.join(", ") };
        return Err(EvalError::NoCases {
            message: format!(
                "there are no case files in {places}, nor in `evals` of a skill there"
            ),
        });
    }
    Ok(found)
}

/// The case files of a folder that a person names. What else lies beside a `SKILL.md` is the skill's own, and what
/// else lies in a project the project's.
fn case_files_below(named: &Path, skills: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let is_below = |folder: &&PathBuf| folder.starts_with(named);
    let below: Vec<&PathBuf> = skills.iter().map(|(folder, _)| folder).filter(is_below).collect();
    let own = match named.join(FOLDER) {
        _ if below.iter().any(|folder| **folder == named) => Vec::new(),
        of_project if is_dir(&of_project) => case_files(&of_project),
        _ => case_files(named),
    };
    own.into_iter()
        .chain(below.iter().flat_map(|folder| case_files(&folder.join(SKILL_FOLDER))))
        .collect()
}

/// The folders of the skills from some sources, with their names.
fn skill_folders(metier: &Metier, is_meant: impl Fn(Source) -> bool) -> Vec<(PathBuf, String)> {
    let scan = metier.skills();
    let own = scan
        .index
        .entries()
        .iter()
        .filter(|entry| entry.memory.is_none() && entry.source != Source::Builtin)
        .filter(|entry| is_meant(entry.source));
    own.map(|entry| (entry.path.clone(), entry.name().to_string())).collect()
}

/// The case files of one folder, by name.
fn case_files(folder: &Path) -> Vec<PathBuf> {
    let mut names = read_dir_names(folder).unwrap_or_default();
    names.retain(|name| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        !name.starts_with('.') && matches!(extension, Some("yaml" | "yml" | "json"))
    });
    names.sort();
    names.into_iter().map(|name| folder.join(name)).filter(|path| !is_dir(path)).collect()
}
