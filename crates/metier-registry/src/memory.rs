//! Skills that do not lie in a folder: compiled into the program, or from a source of the caller's own
//! (a database, an archive, a service).
//!
//! Such a skill is its files, by path and bytes. Where the files of a skill are read, they are asked
//! for first; everything else about it is as for a skill on disk: what could not be there (a path that
//! leads out, two files in one place, a folder's name with a slash) is refused by [`judge`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use metier_skill::{Code, Diagnostic, ParseOptions, RelPath, Severity, Source, parse};

use crate::index::Entry;
use crate::precedence::Candidate;
use crate::report::Ignored;
use crate::scan::ScanOptions;
use crate::walk::{Found, warn_of_size};

/// A source of skills of the caller's own. Its skills rank like those of an explicit root.
pub trait SkillSource: Send + Sync {
    /// What the places of its skills begin with, such as `db` in `db:pdf`: one word of at least two
    /// letters, digits, `-` or `_`, and not `builtin`. A source with another name is not searched.
    fn name(&self) -> &str;

    /// Its skills, as they are now. An error is a line in the report; it does not stop the scan.
    fn skills(&self) -> Result<Vec<MemorySkill>, String>;
}

/// A skill in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySkill {
    /// Its folder's name: one name, without a slash, as a folder on disk would have.
    pub folder: String,
    /// Its files.
    pub files: MemorySkillFiles,
}

impl MemorySkill {
    /// The skill in the folder `folder` with these files, by path and content. `SKILL.md` is one of
    /// them. A path that could not be a skill's on disk (`..`, absolute, hidden) is left out.
    pub fn new<P: Into<String>, B: Into<Vec<u8>>>(
        folder: impl Into<String>,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into()));
        Self { folder: folder.into(), files: MemorySkillFiles::new(files) }
    }
}

/// The files of a skill in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct MemorySkillFiles {
    files: Arc<[MemoryFile]>,
    /// The first path that was left out, why, and how many there are.
    refused: Option<Arc<RefusedPaths>>,
}

#[derive(Debug, PartialEq, Eq)]
struct RefusedPaths {
    first: String,
    reason: String,
    count: usize,
}

/// A path and its bytes.
type MemoryFile = (Cow<'static, str>, Cow<'static, [u8]>);

impl MemorySkillFiles {
    /// These files, by path below the skill's folder; one that has no valid path is left out, as it
    /// would be on disk.
    pub fn new<P, B>(files: impl IntoIterator<Item = (P, B)>) -> Self
    where
        P: Into<Cow<'static, str>>,
        B: Into<Cow<'static, [u8]>>,
    {
        let mut refused: Option<RefusedPaths> = None;
        let mut kept = Vec::new();
        for (path, bytes) in files {
            let path: Cow<'static, str> = path.into();
            match RelPath::new(&path) {
                // `./a` and `a` are one file.
                Ok(checked) if checked.as_str() != &*path => {
                    kept.push((Cow::Owned(checked.as_str().to_owned()), bytes.into()));
                }
                Ok(_) => kept.push((path, bytes.into())),
                Err(fault) => {
                    let known = refused.get_or_insert_with(|| RefusedPaths {
                        first: path.into_owned(),
                        reason: fault.to_string(),
                        count: 0,
                    });
                    known.count += 1;
                }
            }
        }
        Self { files: kept.into(), refused: refused.map(Arc::new) }
    }

    /// The files: paths and bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (&**path, &**bytes))
    }

    /// The bytes of one file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == path).map(|(_, bytes)| bytes)
    }

    /// The first path that stands twice, or is a file where another needs a folder: on disk there is
    /// no such thing, and which of the two is meant would depend on the reader.
    fn ambiguous(&self) -> Option<&str> {
        let mut paths = HashSet::new();
        if let Some((path, _)) = self.iter().find(|(path, _)| !paths.insert(*path)) {
            return Some(path);
        }
        let folders =
            self.iter().flat_map(|(path, _)| path.match_indices('/').map(|(at, _)| &path[..at]));
        folders.into_iter().find(|folder| paths.contains(folder))
    }

    fn warning(&self) -> Option<Diagnostic> {
        let RefusedPaths { first, reason, count } = self.refused.as_deref()?;
        let others = if *count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        let message = format!("the file {first:?}{others} is left out: {reason}");
        Some(Diagnostic::about_file(Code::FilePathInvalid, Severity::Warning, message))
    }
}

impl fmt::Debug for MemorySkillFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(path, bytes)| (path, bytes.len()))).finish()
    }
}

/// Whether the places of a source's skills can begin with `name`.
pub(crate) fn is_place(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // One letter and a colon would be a drive.
    (2..=64).contains(&name.len()) && name.bytes().all(is_plain) && name != "builtin"
}

/// The candidate that `skill` is, or why it is none; as strict as the walk is with a folder.
pub(crate) fn judge(
    skill: MemorySkill,
    place: &str,
    source: Source,
    priority: usize,
    options: &ScanOptions,
) -> Found {
    let MemorySkill { folder, files } = skill;
    let path = PathBuf::from(format!("{place}:{folder}"));
    let refuse = |path: PathBuf, code: Code, message: String| {
        Err(Ignored { path, code, message: message.into(), line: None, column: None })
    };
    let fault = match RelPath::new(&folder) {
        Err(fault) => Some(fault.to_string()),
        Ok(checked) if checked.as_str() != folder || folder.contains('/') => {
            Some("it is more than one name".to_owned())
        }
        Ok(_) => None,
    };
    if let Some(fault) = fault {
        let message = format!("{folder:?} is not the name of a folder: {fault}");
        return refuse(PathBuf::from(format!("{place}:")), Code::FilePathInvalid, message);
    }
    if let Some(path_twice) = files.ambiguous() {
        let message = format!("`{path_twice}` stands for more than one file");
        return refuse(path, Code::FilePathInvalid, message);
    }
    let Some(text) = files.get("SKILL.md") else {
        let message = "there is no `SKILL.md` among its files".to_owned();
        return refuse(path, Code::FileMissing, message);
    };
    let parse_options =
        ParseOptions { profile: options.profile, limits: options.limits, directory: Some(&folder) };
    let mut parsed = parse(text, &parse_options);
    warn_of_size(&mut parsed, text.len() as u64);
    parsed.diagnostics.extend(files.warning());
    if let Some(reason) = parsed.reason() {
        return Err(Ignored::because(path, reason));
    }
    let entry = Entry::of(parsed, source, path.clone(), priority, 0, &options.switches);
    let Some(mut entry) = entry else {
        return refuse(path, Code::YamlSyntax, "the skill could not be read".to_owned());
    };
    entry.memory = Some(files);
    Ok(Candidate { entry: Arc::new(entry), file: None, via_link: false, plugin: None })
}

/// The sources of a scan, highest priority first.
#[derive(Clone, Default)]
pub struct SkillSources(pub Vec<Arc<dyn SkillSource>>);

impl fmt::Debug for SkillSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|source| source.name())).finish()
    }
}
