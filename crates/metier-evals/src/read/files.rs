//! The files of a case: a map from a path in the workspace to a file, or files that keep their names.
//! Only their names are read here; the trial copies them.

use std::collections::BTreeMap;
use std::fmt;

use metier::skill::WorkPath;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};

/// Reads both spellings.
pub(crate) struct FilesVisitor;

impl<'de> Visitor<'de> for FilesVisitor {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of files, or files by their paths in the workspace")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Self::Value, E> {
        named([path.to_owned()]).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut paths: Vec<String> = Vec::new();
        while let Some(path) = items.next_element()? {
            paths.push(path);
        }
        named(paths).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut files = BTreeMap::new();
        while let Some((to, from)) = map.next_entry::<String, String>()? {
            files.insert(to, from);
        }
        Ok(files)
    }
}

/// The path of a file in the workspace of a trial.
pub(crate) fn target(to: &str) -> Result<WorkPath, String> {
    let path = WorkPath::new(to)
        .map_err(|error| format!("`{to}` is not a valid path in a workspace: {error}"))?;
    if path.is_root() { Err(format!("`{to}` is not a valid path of a file")) } else { Ok(path) }
}

/// Files under their own names.
pub(crate) fn named(
    paths: impl IntoIterator<Item = String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(other) = files.insert(name, path.clone()) {
            let message = "have one name; give their paths in the workspace: `path: file`";
            return Err(format!("`{other}` and `{path}` {message}"));
        }
    }
    Ok(files)
}
