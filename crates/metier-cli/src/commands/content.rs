//! What a skill consists of, for the commands that show one: finding it by name, its files and their
//! kinds, from disk or from the binary.
//!
//! Content reaches a model only through `metier-loader`; this is for people.

use std::path::{Path, PathBuf};

use metier_config::nearest;
use metier_fs::{ReadError, SkillRoot, TreeFile, TreeLimits, list_files, read_bounded};
use metier_loader::{MemoryFiles, SkillFiles};
use metier_registry::{Entry, Scan, builtin_files};
use metier_skill::{Code, Diagnostic, ParseOptions, Source, check};
use serde::Serialize;

use crate::commands::list::path_text;
use crate::error::{CommandError, Result};
use crate::render::safe;

/// The largest `SKILL.md` whose body is read for its size and diagnostics.
const LARGEST_BODY: u64 = 16 << 20;

/// The skill that `name` means, or an error that says what to do.
pub(crate) fn find<'s>(name: &str, scan: &'s Scan) -> Result<&'s Entry> {
    scan.index.find(name).ok_or_else(|| not_found(name, scan))
}

/// The files of a skill as the loader reads them.
pub(crate) fn files_of(entry: &Entry) -> Result<Box<dyn SkillFiles>> {
    if entry.source == Source::Builtin {
        let own = builtin_files().iter().filter(|file| is_of(file.skill, entry));
        let files = own.map(|file| (file.path.to_owned(), file.bytes.to_vec())).collect();
        return Ok(Box::new(MemoryFiles(files)));
    }
    let root = SkillRoot::open(&entry.path).map_err(|error| {
        CommandError::failed(
            "SkillNotFound",
            format!("{} cannot be opened: {error}", path_text(&entry.path)),
        )
        .help("it was there a moment ago; run the command again")
    })?;
    Ok(Box::new(root))
}

fn is_of(skill: &str, entry: &Entry) -> bool {
    entry.path.to_str().and_then(|path| path.strip_prefix("builtin:")) == Some(skill)
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
    pub(crate) skill_md: Vec<u8>,
    pub(crate) files: Vec<FileRow>,
    pub(crate) truncated: bool,
}

impl Content {
    pub(crate) fn read(entry: &Entry) -> Result<Self> {
        if entry.source == Source::Builtin {
            return Ok(Self::builtin(entry));
        }
        let file = skill_file(&entry.path);
        let unreadable = |path: &Path, reason: String| {
            CommandError::failed(
                "file-unreadable",
                format!("{} cannot be read: {reason}", path_text(path)),
            )
            .help("it was there a moment ago; run the command again")
        };
        let skill_md = match read_bounded(&file, LARGEST_BODY) {
            // A body that large is not read for its cost; the loader would refuse it anyway.
            Err(ReadError::TooLarge(_)) => Vec::new(),
            other => other.map_err(|error| unreadable(&file, error.to_string()))?,
        };
        let (files, truncated) = list_files(&entry.path, TreeLimits::default())
            .map_err(|error| unreadable(&entry.path, error.to_string()))?;
        Ok(Self { skill_md, files: files.into_iter().map(row).collect(), truncated })
    }

    fn builtin(entry: &Entry) -> Self {
        let own = || builtin_files().iter().filter(|file| is_of(file.skill, entry));
        let files = own().map(|file| {
            row(TreeFile {
                path: file.path.to_owned(),
                size: file.bytes.len() as u64,
                executable: file.path.starts_with("scripts/"),
                link: false,
                special: false,
            })
        });
        let skill_md = own()
            .find(|file| file.path == "SKILL.md")
            .map_or(Vec::new(), |file| file.bytes.to_vec());
        Self { skill_md, files: files.collect(), truncated: false }
    }
}

/// The skill's file: `SKILL.md`, or the lower-case spelling that is read too.
pub(crate) fn skill_file(directory: &Path) -> PathBuf {
    let upper = directory.join("SKILL.md");
    let lower = directory.join("skill.md");
    if !metier_fs::exists(&upper) && metier_fs::exists(&lower) { lower } else { upper }
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

fn kind(file: &TreeFile) -> FileKind {
    let path = file.path.to_ascii_lowercase();
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
        _ if below("scripts/") || below("bin/") || (file.executable && suffix.is_empty()) => {
            FileKind::Script
        }
        _ => FileKind::Other,
    }
}

fn not_found(name: &str, scan: &Scan) -> CommandError {
    let shown = safe(name).into_owned();
    let bare =
        name.parse::<metier_skill::SkillId>().map_or(name.to_owned(), |id| id.name.to_string());
    let ignored = scan
        .report
        .ignored
        .iter()
        .find(|line| line.path.file_name().is_some_and(|dir| dir == bare.as_str()));
    if let Some(line) = ignored {
        let place = line.line.map_or_else(String::new, |number| format!(":{number}"));
        let message = format!(
            "`{shown}` is not listed: {} [{}] {}{place}",
            safe(&line.message),
            line.code,
            path_text(&line.path)
        );
        return CommandError::failed("skill-ignored", message)
            .help(format!("{} `metier check` shows the line.", line.code.info().mend));
    }
    let names = scan.index.entries().iter().map(|entry| entry.name().as_str());
    let help = match nearest(name, names) {
        Some(near) => format!("did you mean `{}`?", safe(near)),
        None => "`metier list --all` shows every skill, and why others were left out".to_owned(),
    };
    CommandError::failed("skill-not-found", format!("there is no skill `{shown}` here")).help(help)
}

/// Everything worth saying about the file at `path`, its name included.
pub(crate) fn judge(source: &[u8], path: &Path, options: &ParseOptions<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = check(source, options).diagnostics;
    let lower = path.file_name().is_some_and(|name| name == "skill.md");
    if let Some(severity) = Code::FileNameCase.severity(options.profile).filter(|_| lower) {
        let message = "the file is called `skill.md`, not `SKILL.md`";
        diagnostics.insert(0, Diagnostic::about_file(Code::FileNameCase, severity, message));
    }
    diagnostics
}
