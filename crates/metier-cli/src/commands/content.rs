//! What a skill consists of, for the commands that show one: finding it by name, its files and their
//! kinds, from disk or from the binary.
//!
//! Content reaches a model only through `metier-loader`; this is for people.

use std::path::{Path, PathBuf};

use metier::fs::{PiecewiseFile, ReadError, TreeFile, TreeLimits, list_files, read_bounded};
use metier::loader::BodyLimits;
use metier::registry::Entry;
use metier::skill::{
    Code, Diagnostic, FileNames, ParseOptions, Profile, Severity, check, check_references,
    estimate_tokens,
};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::error::{CommandError, Result};

/// How much of a `SKILL.md` is read to check it.
const MAX_SKILL_MD_BYTES: usize = 16 << 20;

/// A `SKILL.md` as it is judged: of one that is very large, the beginning.
#[derive(Default)]
pub(crate) struct SkillMd {
    pub(crate) bytes: Vec<u8>,
    /// The size of the whole file.
    pub(crate) size: u64,
}

impl SkillMd {
    pub(crate) fn read(path: &Path) -> std::result::Result<Self, ReadError> {
        match read_bounded(path, MAX_SKILL_MD_BYTES as u64) {
            Err(ReadError::TooLarge(_)) => {
                let file = PiecewiseFile::open(path)?;
                let size = file.size();
                let mut bytes = vec![
                    0;
                    MAX_SKILL_MD_BYTES
                        .min(usize::try_from(size).unwrap_or(MAX_SKILL_MD_BYTES))
                ];
                file.read_at(0, &mut bytes)?;
                // A character that the end cut in two is no fault of the file.
                let cut = std::str::from_utf8(&bytes).err().filter(|it| it.error_len().is_none());
                bytes.truncate(cut.map_or(bytes.len(), |it| it.valid_up_to()));
                Ok(Self { bytes, size })
            }
            other => other.map(Self::whole),
        }
    }

    pub(crate) fn whole(bytes: Vec<u8>) -> Self {
        Self { size: bytes.len() as u64, bytes }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.size == self.bytes.len() as u64
    }
}

#[derive(Serialize)]
pub(crate) struct FileRow {
    pub(crate) path: String,
    pub(crate) kind: FileKind,
    pub(crate) bytes: u64,
    pub(crate) executable: bool,
    pub(crate) link: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileKind {
    Markdown,
    Script,
    Template,
    Other,
}

impl FileKind {
    /// The word used in output.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Script => "script",
            Self::Template => "template",
            Self::Other => "other",
        }
    }
}

/// A skill's files, from disk or from the binary.
pub(crate) struct Content {
    pub(crate) skill_md: SkillMd,
    pub(crate) files: Files,
}

/// The list of a skill's files, and whether there are more.
pub(crate) struct Files {
    pub(crate) rows: Vec<FileRow>,
    pub(crate) truncated: bool,
}

impl Content {
    pub(crate) fn read(entry: &Entry) -> Result<Self> {
        let files = Files::list(entry)?;
        if let Some(own) = &entry.memory {
            let bytes = own.get("SKILL.md").unwrap_or_default().to_vec();
            return Ok(Self { skill_md: SkillMd::whole(bytes), files });
        }
        let file = skill_file(&entry.path);
        let skill_md =
            SkillMd::read(&file).map_err(|error| unreadable(&file, &error.to_string()))?;
        Ok(Self { skill_md, files })
    }
}

impl Files {
    /// Lists the files of a skill and reads none of them.
    pub(crate) fn list(entry: &Entry) -> Result<Self> {
        if let Some(own) = &entry.memory {
            let rows = own.iter().map(|(path, bytes)| {
                row(TreeFile {
                    path: path.to_owned(),
                    size: bytes.len() as u64,
                    executable: path.starts_with("scripts/"),
                    link: false,
                    special: false,
                })
            });
            return Ok(Self { rows: rows.collect(), truncated: false });
        }
        Self::below(&entry.path).map_err(|error| unreadable(&entry.path, &error.to_string()))
    }

    /// The files below a directory.
    pub(crate) fn below(directory: &Path) -> std::io::Result<Self> {
        let (files, truncated) = list_files(directory, TreeLimits::default())?;
        Ok(Self { rows: files.into_iter().map(row).collect(), truncated })
    }

    /// Their names, to judge references by.
    pub(crate) fn names(&self) -> FileNames {
        let mut names = FileNames::new(self.rows.iter().map(|file| file.path.as_str()));
        for file in self.rows.iter().filter(|file| file.link) {
            names.link(&file.path);
        }
        if self.truncated {
            names.cut();
        }
        names
    }
}

fn unreadable(path: &Path, reason: &str) -> CommandError {
    let message = format!("{} cannot be read: {reason}", path_text(path));
    CommandError::failed("file-unreadable", message)
        .help("it was there a moment ago; run the command again")
}

/// What listing a skill in a catalog costs a model, as an estimate.
pub(crate) fn listed_tokens(entry: &Entry) -> usize {
    let Entry { skill, source, .. } = entry;
    let line =
        format!("- name={} | source={source} | description={}\n", skill.name, skill.description);
    estimate_tokens(&line)
}

/// The skill's file: `SKILL.md`, or the lower-case spelling that is read too.
pub(crate) fn skill_file(directory: &Path) -> PathBuf {
    let upper = directory.join("SKILL.md");
    let lower = directory.join("skill.md");
    if !metier::fs::exists(&upper) && metier::fs::exists(&lower) { lower } else { upper }
}

fn row(file: TreeFile) -> FileRow {
    let kind = kind(&file);
    FileRow {
        path: file.path,
        kind,
        bytes: file.size,
        executable: file.executable,
        link: file.link,
    }
}

/// Whether a file of a skill is one to run, by its name.
pub(crate) fn is_script(path: &str) -> bool {
    kind_of(path, false) == FileKind::Script
}

fn kind(file: &TreeFile) -> FileKind {
    kind_of(&file.path, file.executable)
}

fn kind_of(path: &str, executable: bool) -> FileKind {
    let path = path.to_ascii_lowercase();
    let suffix = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map_or("", |(_, suffix)| suffix);
    let below = |folder: &str| path.starts_with(folder) || path.contains(&format!("/{folder}"));
    match suffix {
        _ if below("templates/") || below("assets/") => FileKind::Template,
        "tmpl" | "tpl" | "j2" | "jinja" | "jinja2" | "hbs" | "mustache" | "ejs" => {
            FileKind::Template
        }
        "md" | "markdown" | "mdx" => FileKind::Markdown,
        "py" | "sh" | "bash" | "zsh" | "fish" | "js" | "mjs" | "cjs" | "ts" | "rb" | "pl"
        | "php" | "lua" | "r" | "ps1" | "bat" | "cmd" | "go" | "rs" => FileKind::Script,
        _ if below("scripts/") || below("bin/") || (executable && suffix.is_empty()) => {
            FileKind::Script
        }
        _ => FileKind::Other,
    }
}

/// Everything worth saying about the file at `path`: its name, its content, and what its body says
/// about the other `files` of the skill.
pub(crate) fn judge(
    skill_md: &SkillMd,
    path: &Path,
    options: &ParseOptions<'_>,
    files: &FileNames,
) -> Vec<Diagnostic> {
    let source = &skill_md.bytes;
    let parsed = check(source, options);
    let mut diagnostics = parsed.diagnostics;
    if let Some(start) = parsed.body {
        diagnostics.extend(check_references(source, start, options.profile, || files.clone()));
    }
    let most = BodyLimits::default().file_bytes;
    if skill_md.size > most && options.profile != Profile::Spec {
        let message =
            format!("the file has {} bytes; more than {most} are not loaded", skill_md.size);
        let code = Code::SkillUnloadable;
        diagnostics.insert(0, Diagnostic::about_file(code, Severity::Error, message));
    }
    let lower = path.file_name().is_some_and(|name| name == "skill.md");
    if let Some(severity) = Code::FileNameCase.severity(options.profile).filter(|_| lower) {
        let message = "the file is called `skill.md`, not `SKILL.md`";
        diagnostics.insert(0, Diagnostic::about_file(Code::FileNameCase, severity, message));
    }
    diagnostics
}
