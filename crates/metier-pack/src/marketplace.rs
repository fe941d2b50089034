//! Lists of plugins that a repository or directory brings: which skills each plugin has. Read only.
//!
//! Two programs have such lists, `.claude-plugin/marketplace.json` and `.agents/plugins/marketplace.json`; they
//! agree about what is read here. A plugin's skills are the folders that it lists, or those in its `skills`.

use std::io::Read;
use std::path::Path;

use metier_fs::TreeReader;
use serde::Deserialize;
use serde_json::Value;

use crate::error::PackError;

/// The largest list of plugins that is read.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// Where the lists stand, the first that is there counts.
pub(crate) const LISTS: &[&str] =
    &[".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"];

/// A plugin of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) place: PluginPlace,
    /// The folders of its skills, from the top of the plugin; those in `skills` when there is no list.
    skills: Option<Vec<String>>,
}

/// Where a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PluginPlace {
    /// In this directory of what holds the list; empty for its top.
    Here(String),
    /// Somewhere else: a source as a person would give it, and the commit it has to be.
    Elsewhere { source: String, commit: Option<String> },
    /// Where this program does not look, in its own words.
    Unknown(String),
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: Metadata,
    plugins: Vec<Entry>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(rename = "pluginRoot")]
    plugin_root: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    source: Value,
    skills: Option<Value>,
}

/// Whether a file lists plugins or describes one.
pub(crate) fn is_manifest(path: &[u8]) -> bool {
    LISTS.iter().any(|list| path == list.as_bytes())
}

/// The plugins of a list; or why it cannot be read.
pub(crate) fn parse_plugins(bytes: &[u8]) -> Result<Vec<Plugin>, String> {
    let list: List = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let root = list.metadata.plugin_root.unwrap_or_default();
    let plugin = |entry: Entry| Plugin {
        place: place(&entry.source, &root),
        skills: entry.skills.as_ref().map(texts),
        name: entry.name,
    };
    Ok(list.plugins.into_iter().map(plugin).collect())
}

/// One text, or a list of them.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => {
            list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn place(source: &Value, root: &str) -> PluginPlace {
    let unknown = || PluginPlace::Unknown(source.to_string());
    let here = |path: &str| {
        // A root only stands before paths that do not start at the top.
        let path = if path.starts_with("./") || root.is_empty() {
            path.to_owned()
        } else {
            format!("{root}/{path}")
        };
        inner_path(&path).map_or_else(unknown, PluginPlace::Here)
    };
    if let Some(path) = source.as_str() {
        return here(path);
    }
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let address = match text("source") {
        Some("local") => return text("path").map_or_else(unknown, here),
        Some("github") => text("repo").filter(|repo| !repo.contains("://")),
        Some("url" | "git" | "git-subdir") => text("url"),
        _ => None,
    };
    let Some(address) = address else { return unknown() };
    let is_short = !address.contains("://") && !address.contains('@');
    let mut spelled = address.to_owned();
    // An address in a list is that of a repository, with or without its suffix.
    if !is_short && spelled.strip_suffix(".git").is_none() {
        spelled = format!("{}.git", spelled.trim_end_matches('/'));
    }
    if let Some(path) = text("path").or_else(|| text("subdir")) {
        let Some(path) = inner_path(path) else { return unknown() };
        if !path.is_empty() {
            spelled.push_str(if is_short { "/" } else { "//" });
            spelled.push_str(&path);
        }
    }
    if let Some(reference) = text("ref") {
        spelled.push('#');
        spelled.push_str(reference);
    }
    let commit = text("sha").or_else(|| text("commit")).map(ToOwned::to_owned);
    PluginPlace::Elsewhere { source: spelled, commit }
}

/// A path inside, without `./`; `None` for one that leads out.
fn inner_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let leads_out = path.starts_with('/') || path.contains('\\') || parts.contains(&"..");
    (!leads_out).then(|| parts.join("/"))
}

impl Plugin {
    /// Whether the skill in the folder `dir` is one of this plugin, whose top is `top`.
    pub(crate) fn has_skill(&self, top: &str, dir: &str) -> bool {
        let Some(inner) = below(top, dir) else { return false };
        match &self.skills {
            Some(listed) => listed
                .iter()
                .filter_map(|path| inner_path(path))
                .any(|path| below(&path, inner).is_some()),
            None => inner.starts_with("skills/") || inner == "skills" || inner.is_empty(),
        }
    }
}

/// `dir` from `top` on; `None` where it is not inside.
fn below<'d>(top: &str, dir: &'d str) -> Option<&'d str> {
    match top {
        "" => Some(dir),
        _ if dir == top => Some(""),
        _ => dir.strip_prefix(top)?.strip_prefix('/'),
    }
}

/// The plugins that a directory lists.
pub(crate) fn read_plugins(path: &Path, shown: &str) -> Result<Vec<Plugin>, PackError> {
    let Ok(tree) = TreeReader::open(path) else { return Ok(Vec::new()) };
    // No link is followed: a list is a file of the directory.
    let Some((name, opened)) =
        LISTS.iter().find_map(|name| Some((*name, tree.open_file(name).ok()?)))
    else {
        return Ok(Vec::new());
    };
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_LIST_BYTES).read_to_end(&mut bytes);
    let bad = |reason| PackError::BadRecord { path: Path::new(shown).join(name), reason };
    read.map_err(|error| bad(error.to_string()))?;
    parse_plugins(&bytes).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(source: &str) -> PluginPlace {
        let list = format!(r#"{{"plugins": [{{"name": "x", "source": {source}}}]}}"#);
        parse_plugins(list.as_bytes()).expect("parses").remove(0).place
    }

    #[test]
    fn every_way_to_say_where_a_plugin_is_becomes_a_source() {
        let here = |path: &str| PluginPlace::Here(path.to_owned());
        let elsewhere = |source: &str, commit: Option<&str>| PluginPlace::Elsewhere {
            source: source.to_owned(),
            commit: commit.map(ToOwned::to_owned),
        };
        for (source, place) in [
            (r#""./""#, here("")),
            (r#""./plugins/x""#, here("plugins/x")),
            (r#"{"source": "local", "path": "./p"}"#, here("p")),
            (r#"{"source": "github", "repo": "a/b"}"#, elsewhere("a/b", None)),
            (
                r#"{"source": "github", "repo": "a/b", "ref": "v1", "sha": "00"}"#,
                elsewhere("a/b#v1", Some("00")),
            ),
            (r#"{"source": "url", "url": "https://h/x.git"}"#, elsewhere("https://h/x.git", None)),
            (
                r#"{"source": "git-subdir", "url": "https://h/x", "path": "./p/q", "ref": "main"}"#,
                elsewhere("https://h/x.git//p/q#main", None),
            ),
            (r#"{"source": "git-subdir", "url": "a/b", "path": "p"}"#, elsewhere("a/b/p", None)),
        ] {
            assert_eq!(one(source), place, "{source}");
        }
        for source in [r#""../x""#, r#""/etc""#, r#"{"source": "npm", "package": "x"}"#, "5"] {
            assert!(matches!(one(source), PluginPlace::Unknown(_)), "{source}");
        }
        assert!(parse_plugins(b"[]").is_err());
    }

    #[test]
    fn a_root_stands_before_bare_paths() {
        let list = r#"{"metadata": {"pluginRoot": "./plugins"}, "plugins": [{"name": "a", "source": "a"}]}"#;
        let plugins = parse_plugins(list.as_bytes()).expect("parses");
        assert_eq!(plugins[0].place, PluginPlace::Here("plugins/a".to_owned()));
    }

    #[test]
    fn a_plugin_has_the_skills_that_it_lists_or_those_in_its_folder() {
        let plugin = |skills: &str| {
            let list = format!(r#"{{"plugins": [{{"name": "x", "source": "./"{skills}}}]}}"#);
            parse_plugins(list.as_bytes()).expect("parses").remove(0)
        };
        let listed = plugin(r#", "skills": ["./skills/a", "../b"]"#);
        assert!(listed.has_skill("", "skills/a") && !listed.has_skill("", "skills/ab"));
        assert!(!listed.has_skill("", "b"));
        let all = plugin("");
        assert!(all.has_skill("p", "p/skills/a") && !all.has_skill("p", "q/skills/a"));
        assert!(!all.has_skill("p", "p/docs/a"));
    }
}
