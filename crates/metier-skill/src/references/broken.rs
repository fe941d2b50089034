//! References that lead nowhere: the file is not there, or its name differs in case.
//!
//! Pure: the caller that listed a skill's files says which exist. On a system that ignores case a
//! difference in case goes unnoticed until the skill is used on another one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::{Reference, ReferenceKind, references};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::fields::misspelt::nearly;
use crate::limits::Profile;

/// Folders in which a mention counts even if the skill lacks the folder: those of the specification.
const ALWAYS: &[&str] = &["references", "scripts", "assets"];
/// A body with more broken references than this has one problem, not many.
const MAX_BROKEN: usize = 50;

/// The files that a skill has, as paths below its directory.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    /// Files, links, and the directories above them.
    paths: BTreeSet<String>,
    /// The same by their folded spelling.
    folded: BTreeMap<String, String>,
    /// Links, which were not followed.
    links: Vec<String>,
    /// Whether the list is cut, so that a missing name proves nothing.
    cut: bool,
}

impl FileNames {
    /// The names of a complete list.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut names = Self::default();
        for path in paths {
            names.add(path);
        }
        names
    }

    /// Records that `path` is a link: what is below it is unknown.
    pub fn link(&mut self, path: &str) {
        self.links.push(format!("{path}/"));
    }

    /// Records that there are more files than were given.
    pub fn cut(&mut self) {
        self.cut = true;
    }

    fn add(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let part = &path[..end];
            if self.paths.insert(part.to_owned()) {
                self.folded.entry(folded(part)).or_insert_with(|| part.to_owned());
            }
        }
    }

    fn has(&self, path: &str) -> bool {
        self.paths.contains(path) || self.links.iter().any(|link| path.starts_with(link.as_str()))
    }

    /// The file that a wrong path most likely means: one of that name elsewhere, else one whose
    /// name is nearly that, whatever its suffix.
    fn near(&self, path: &str) -> Option<&str> {
        let name = folded(name_of(path));
        let wanted = stem(&name);
        let mut near = None;
        for known in &self.paths {
            let other = folded(name_of(known));
            if other == name {
                return Some(known);
            }
            if near.is_none() && nearly(stem(&other), wanted) {
                near = Some(known.as_str());
            }
        }
        near
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenReference {
    /// The path that the body mentions.
    pub path: String,
    /// Where, in bytes of the body.
    pub span: Range<usize>,
    /// `reference-missing` or `reference-case`.
    pub code: Code,
    /// The file that the body most likely means.
    pub meant: Option<String>,
}

impl BrokenReference {
    /// A sentence about it.
    pub fn message(&self) -> String {
        let Self { path, code, meant, .. } = self;
        match (code, meant) {
            (Code::ReferenceCase, Some(meant)) => {
                format!("the body mentions `{path}`, but the file is named `{meant}`")
            }
            (_, Some(meant)) => {
                format!(
                    "the body mentions `{path}`, but there is no such file; did you mean `{meant}`?"
                )
            }
            (_, None) => format!("the body mentions `{path}`, but there is no such file"),
        }
    }
}

/// The references of `body` that lead nowhere among `files`, each path once, in their order. Files are
/// asked for only where there is a reference: most bodies have none, and listing costs more than reading.
pub fn broken_references(body: &str, files: impl FnOnce() -> FileNames) -> Vec<BrokenReference> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let references = references(body);
    if references.is_empty() {
        return found;
    }
    let files = files();
    for Reference { path, kind, span } in references {
        let top = path.split('/').next().unwrap_or_default();
        let counts = kind == ReferenceKind::Link
            || ALWAYS.contains(&top)
            || files.folded.contains_key(&folded(top));
        if !counts || files.has(&path) || !seen.insert(path.clone()) {
            continue;
        }
        let other_case = files.folded.get(&folded(&path)).cloned();
        // Of a list that was cut, only what is in it can be said.
        if files.cut && other_case.is_none() {
            continue;
        }
        let code = if other_case.is_some() { Code::ReferenceCase } else { Code::ReferenceMissing };
        let meant = other_case.or_else(|| files.near(&path).map(str::to_owned));
        found.push(BrokenReference { path, span, code, meant });
        if found.len() == MAX_BROKEN {
            break;
        }
    }
    found
}

/// The same as diagnostics of a `SKILL.md` whose body starts at byte `start`.
pub fn check_references(
    bytes: &[u8],
    start: usize,
    profile: Profile,
    files: impl FnOnce() -> FileNames,
) -> Vec<Diagnostic> {
    let Some(Ok(body)) = bytes.get(start..).map(std::str::from_utf8) else {
        return Vec::new();
    };
    let into_diagnostic = |broken: BrokenReference| {
        let severity = broken.code.severity(profile)?;
        let span = start + broken.span.start..start + broken.span.end;
        Some(Diagnostic::at(broken.code, severity, bytes, span, broken.message()))
    };
    broken_references(body, files).into_iter().filter_map(into_diagnostic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(body: &str, files: &[&str]) -> Vec<String> {
        let files = FileNames::new(files.iter().copied());
        let line = |it: BrokenReference| {
            format!("{} {} {}", it.code, it.path, it.meant.unwrap_or_default()).trim().to_owned()
        };
        broken_references(body, || files).into_iter().map(line).collect()
    }

    #[test]
    fn only_missing_files_are_reported_and_each_once() {
        let files = ["SKILL.md", "references/guide.md", "scripts/run.py"];
        let body = "[g](references/guide.md) `scripts/run.py` [dir](references/) [d](scripts) \
                    [n](references/none.md), again `references/none.md`.";
        assert_eq!(messages(body, &files), ["reference-missing references/none.md"]);
    }

    #[test]
    fn the_file_that_is_meant_is_named() {
        let files = ["references/Guide.md", "docs/api.md", "scripts/fetch-data.js"];
        let body = "`references/guide.md` [a](references/api.md) `scripts/fetch_data.py` `References/Guide.md`";
        assert_eq!(
            messages(body, &files),
            [
                "reference-case references/guide.md references/Guide.md",
                "reference-missing references/api.md docs/api.md",
                "reference-missing scripts/fetch_data.py scripts/fetch-data.js",
            ]
        );
    }

    #[test]
    fn folders_outside_the_specification_count_only_where_the_skill_has_them() {
        assert_eq!(messages("`templates/a.html`", &["SKILL.md"]), [""; 0]);
        assert_eq!(
            messages("`templates/a.html`", &["templates/page.html"]),
            ["reference-missing templates/a.html"]
        );
        assert_eq!(
            messages("[t](templates/a.html)", &["SKILL.md"]),
            ["reference-missing templates/a.html"]
        );
    }

    #[test]
    fn nothing_is_reported_about_files_that_were_not_listed() {
        let mut files = FileNames::new(["SKILL.md", "references", "assets/A.png"]);
        files.link("references");
        assert_eq!(broken_references("[a](references/a.md)", || files.clone()), []);
        files.cut();
        let broken = broken_references("`scripts/a.py` `assets/a.png`", || files);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert_eq!(broken[0].code, Code::ReferenceCase);
    }

    #[test]
    fn a_diagnostic_stands_at_the_path_in_the_file() {
        let text = b"---\nname: a\ndescription: b\n---\n\nRead `references/x.md`.\n";
        let found = check_references(text, 31, Profile::Strict, FileNames::default);
        assert_eq!((found.len(), found[0].line, found[0].column), (1, 6, 7));
        assert_eq!(check_references(text, 31, Profile::Spec, FileNames::default), []);
        assert_eq!(check_references(text, 999, Profile::Strict, FileNames::default), []);
    }
}
