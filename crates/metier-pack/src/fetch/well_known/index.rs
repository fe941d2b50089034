//! The list of skills that a host publishes: JSON becomes entries, or is refused. Pure.
//!
//! Version 0.2.0 names its schema and gives a digest for each skill; 0.1.0 names none and lists files.

use std::collections::BTreeSet;

use metier_net::Url;
use metier_skill::{Digest, RelPath};
use serde::Deserialize;
use serde_json::Value;

use crate::archive::fold;
use crate::facts::SKILL_FILE;
use crate::skills_in::check_folder_name;

/// The largest list, and how many skills and files it may name.
pub(crate) const MAX_INDEX_BYTES: u64 = 4 << 20;
const MAX_SKILLS: usize = 1000;
const MAX_FILES: usize = 5000;
const SCHEMA_0_2: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// A skill of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) name: String,
    pub(crate) content: IndexContent,
}

/// What a skill of the list is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexContent {
    /// One `SKILL.md`.
    Manual(Url, Digest),
    /// An archive.
    Archive(Url, Digest),
    /// Files without digests: the path in the skill, and where each is.
    Files(Vec<(String, Url)>),
}

#[derive(Deserialize)]
struct RawIndex {
    #[serde(rename = "$schema")]
    schema: Option<String>,
    skills: Vec<Value>,
}

#[derive(Deserialize)]
struct RawEntry {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    url: Option<String>,
    digest: Option<Digest>,
    files: Option<Vec<String>>,
}

/// The skills in the list `bytes`, which is at `at`; or what is wrong with it. A skill of a type that is not
/// known is left out, as the specification says; its name is in the second list.
pub(crate) fn parse_index(
    bytes: &[u8],
    at: &Url,
) -> Result<(Vec<IndexEntry>, Vec<String>), String> {
    let raw: RawIndex = serde_json::from_slice(bytes)
        .map_err(|error| format!("it is not a list of skills: {error}"))?;
    let has_digests = match raw.schema.as_deref() {
        Some(SCHEMA_0_2) => true,
        None => false,
        Some(other) => return Err(format!("unknown format `{other}`")),
    };
    if raw.skills.len() > MAX_SKILLS {
        return Err(format!("it lists {} skills; at most {MAX_SKILLS} are read", raw.skills.len()));
    }
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for value in raw.skills {
        let entry: RawEntry = serde_json::from_value(value)
            .map_err(|error| format!("a skill in it cannot be read: {error}"))?;
        let name = entry.name.clone();
        if check_folder_name(&name).is_err() {
            return Err(format!("`{name}` cannot be the name of a skill's folder"));
        }
        if !names.insert(fold(&name)) {
            return Err(format!("it lists `{name}` twice"));
        }
        let about = |why: String| format!("`{name}`: {why}");
        let content =
            if has_digests { with_digest(entry, at) } else { with_files(entry, at).map(Some) };
        match content.map_err(about)? {
            Some(content) => entries.push(IndexEntry { name, content }),
            None => unknown.push(name),
        }
    }
    if entries.is_empty() {
        return Err("it lists no skill that can be installed".to_owned());
    }
    Ok((entries, unknown))
}

/// A skill of version 0.2.0; none where its type is not known.
fn with_digest(entry: RawEntry, at: &Url) -> Result<Option<IndexContent>, String> {
    let is_archive = match entry.kind.as_deref() {
        Some("skill-md") => false,
        Some("archive") => true,
        _ => return Ok(None),
    };
    let url = entry.url.ok_or("it has no url")?;
    let url = at.join(&url).map_err(|error| format!("its url is not valid: {error}"))?;
    let digest = entry.digest.ok_or("it has no digest")?;
    Ok(Some(if is_archive {
        IndexContent::Archive(url, digest)
    } else {
        IndexContent::Manual(url, digest)
    }))
}

/// A skill of version 0.1.0, whose files lie in a folder beside the list.
fn with_files(entry: RawEntry, at: &Url) -> Result<IndexContent, String> {
    let files = entry.files.ok_or("it has no files")?;
    if files.len() > MAX_FILES {
        return Err(format!("it has {} files; at most {MAX_FILES} are read", files.len()));
    }
    if !files.iter().any(|file| file == SKILL_FILE) {
        return Err(format!("its files have no {SKILL_FILE}"));
    }
    let mut places = Vec::new();
    for file in files {
        if !RelPath::new(&file).is_ok_and(|path| path.as_str() == file) {
            return Err(format!("`{file}` is not a path inside a skill"));
        }
        let mut url = at.clone();
        let Ok(mut segments) = url.path_segments_mut() else {
            return Err("the address of the list cannot have others beside it".to_owned());
        };
        // As segments, so that `%2e%2e`, `?` and `#` in a name are a name.
        segments.pop().push(&entry.name).extend(file.split('/'));
        drop(segments);
        places.push((file, url));
    }
    Ok(IndexContent::Files(places))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn at() -> Url {
        "https://x.org/.well-known/agent-skills/index.json".parse().expect("a URL")
    }

    fn parse(value: &Value) -> Result<(Vec<IndexEntry>, Vec<String>), String> {
        parse_index(value.to_string().as_bytes(), &at())
    }

    fn entry(name: &str) -> Value {
        let digest = format!("sha256:{}", "0".repeat(64));
        json!({"name": name, "type": "archive", "description": "d", "url": "a/x.zip", "digest": digest})
    }

    #[test]
    fn both_versions_are_read() {
        let mut manual = entry("b");
        manual["type"] = json!("skill-md");
        manual["url"] = json!("https://cdn.org/b.md");
        let mut other = entry("c");
        other["type"] = json!("container");
        let (found, unknown) =
            parse(&json!({"$schema": SCHEMA_0_2, "skills": [entry("a"), manual, other]}))
                .expect("reads");
        let url = |text: &str| text.parse::<Url>().expect("a URL");
        let digest = Digest::from_bytes([0; 32]);
        assert_eq!(
            found.iter().map(|it| it.content.clone()).collect::<Vec<_>>(),
            [
                IndexContent::Archive(
                    url("https://x.org/.well-known/agent-skills/a/x.zip"),
                    digest
                ),
                IndexContent::Manual(url("https://cdn.org/b.md"), digest),
            ]
        );
        assert_eq!(unknown, ["c"]);
        let (found, _) =
            parse(&json!({"skills": [{"name": "a", "files": ["SKILL.md", "d/x y?.md"]}]}))
                .expect("reads");
        let IndexContent::Files(files) = &found[0].content else { panic!("files") };
        assert_eq!(files[1].1.as_str(), "https://x.org/.well-known/agent-skills/a/d/x%20y%3F.md");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let with = |change: Value| {
            let mut entry = entry("a");
            for (key, value) in change.as_object().expect("an object") {
                entry[key] = value.clone();
            }
            json!({"$schema": SCHEMA_0_2, "skills": [entry]})
        };
        for bad in [
            json!({"$schema": "https://x.org/9", "skills": [entry("a")]}),
            json!({"$schema": SCHEMA_0_2, "skills": []}),
            json!({"$schema": SCHEMA_0_2, "skills": [entry("a"), entry("A")]}),
            json!({"$schema": SCHEMA_0_2, "skills": (0..1001).map(|n| entry(&format!("s{n}"))).collect::<Vec<_>>()}),
            json!({"$schema": SCHEMA_0_2}),
            json!("x"),
            with(json!({"name": "../a"})),
            with(json!({"name": "a/b"})),
            with(json!({"name": ""})),
            with(json!({"name": "con"})),
            with(json!({"digest": null})),
            with(json!({"digest": "sha256:00"})),
            with(json!({"url": null})),
            with(json!({"url": "https://["})),
            json!({"skills": [{"name": "a", "files": ["SKILL.md", "../x"]}]}),
            json!({"skills": [{"name": "a", "files": ["SKILL.md", "/etc/x"]}]}),
            json!({"skills": [{"name": "a", "files": ["x"]}]}),
            json!({"skills": [{"name": "a"}]}),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn files_stay_below_the_list(name in "\\PC{1,12}", file in "\\PC{1,20}") {
            let list = json!({"skills": [{"name": name, "files": ["SKILL.md", file]}]});
            if let Ok((found, _)) = parse(&list) {
                let IndexContent::Files(files) = &found[0].content else { panic!("files") };
                for (_, url) in files {
                    prop_assert!(url.as_str().starts_with("https://x.org/.well-known/agent-skills/"));
                    prop_assert!(!url.path().split('/').any(|part| part == ".."));
                }
            }
        }

        #[test]
        fn no_list_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_index(&bytes, &at());
        }
    }
}
