//! Records of other installers become sources, as `install` takes them. Pure: nothing is fetched, and what such a
//! record says of digests is not relied on.
//!
//! | record | of |
//! |---|---|
//! | `skills-lock.json` 1, `.skill-lock.json` 3 | npm's `skills`, `gh skill` |
//! | `skills.lock` in JSON | npm's `skills-lock` |
//! | `skills.lock.json` with `lockfileVersion` | installers from OCI registries |
//! | `.openskills.json`, `.skillkit.json` in a skill's folder | `openskills`, SkillKit |
//! | `apm.lock.yaml` | APM |
//! | `toolhive.lock.yaml` | ToolHive |
//! | `origins.json` | SkillPort |
//! | `SKILL.md` with `metadata.github-repo` | `gh skill` |

use std::collections::BTreeSet;
use std::path::Path;

use metier_skill::ParseOptions;
use metier_skill::yaml::{Node, NodeKind, parse};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{NotExchanged, PROJECT_VERSION, bad, read_object};
use crate::error::PackError;
use crate::facts::SKILL_FILE;

/// The version of `.skill-lock.json`.
const GLOBAL_VERSION: u64 = 3;
/// Records that lie in a skill's own folder.
const IN_SKILL: [&str; 2] = [".openskills.json", ".skillkit.json"];

/// What the record of another installer says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ForeignLock {
    /// Its skills, by name.
    pub skills: Vec<ForeignSkill>,
    /// Those that cannot be installed from it, each with the reason.
    pub left_out: Vec<NotExchanged>,
}

/// A skill of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ForeignSkill {
    /// Its name.
    pub name: String,
    /// The source, as `install` takes it.
    pub source: String,
}

impl ForeignLock {
    fn add(&mut self, name: &str, source: Result<String, String>) {
        let name = name.to_owned();
        match source {
            Ok(source) => self.skills.push(ForeignSkill { name, source }),
            Err(reason) => self.left_out.push(NotExchanged { name, reason }),
        }
    }
}

/// Reads the record in the file `path`, whose text is `text`. Relative sources start where the file is.
///
/// # Errors
///
/// [`PackError::BadRecord`] for another file or another version.
pub fn read_foreign_lock(text: &str, path: &Path) -> Result<ForeignLock, PackError> {
    read_record(text, path).map_err(|error| match error {
        PackError::BadRecord { reason, .. } => {
            PackError::BadRecord { path: path.to_owned(), reason }
        }
        other => other,
    })
}

fn read_record(text: &str, path: &Path) -> Result<ForeignLock, PackError> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let dir = path.parent().unwrap_or(Path::new("."));
    if file.ends_with(".yaml") || file.ends_with(".yml") {
        return from_yaml(text);
    }
    if file == SKILL_FILE {
        return from_skill_file(text, dir);
    }
    let record = read_object(text).map_err(|error| match error {
        // The `skills.lock` of one program is JSON, of another TOML.
        PackError::BadRecord { .. } if file == "skills.lock" => bad("it is not in JSON"),
        other => other,
    })?;
    if file == "origins.json" {
        return Ok(from_origins(&record));
    }
    if IN_SKILL.contains(&&*file) {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let mut lock = ForeignLock::default();
        lock.add(&name, source_of_skill(&Value::Object(record), dir));
        return Ok(lock);
    }
    if record.contains_key("lockfileVersion") {
        return from_oci(&record);
    }
    let version = record.get("version").and_then(Value::as_u64);
    if !matches!(version, Some(PROJECT_VERSION | GLOBAL_VERSION)) {
        return Err(bad(
            "it is no record that is known: skills-lock.json of version 1, .skill-lock.json of version 3, \
             skills.lock in JSON, skills.lock.json of an OCI installer, .openskills.json, .skillkit.json, \
             origins.json, apm.lock.yaml, toolhive.lock.yaml or a SKILL.md that gh has installed",
        ));
    }
    let skills = record.get("skills").and_then(Value::as_object);
    let skills = skills.ok_or_else(|| bad("it has no list of skills"))?;
    if skills.values().any(|entry| entry.get("tree").is_some()) {
        return Err(bad("it is Metier's own lock, which `metier install --locked` installs from"));
    }
    let mut lock = ForeignLock::default();
    for (name, entry) in skills {
        lock.add(name, source_of_entry(entry, dir));
    }
    Ok(lock)
}

fn text<'v>(entry: &'v Value, key: &str) -> Option<&'v str> {
    entry[key].as_str().filter(|text| !text.is_empty())
}

/// A folder of a repository at a commit, tag or branch, as `install` takes it.
fn git(address: &str, folder: &str, reference: Option<&str>) -> String {
    let folder = folder.trim_matches('/');
    let path = if folder.is_empty() { String::new() } else { format!("//{folder}") };
    let reference = reference.map(|it| format!("#{it}")).unwrap_or_default();
    format!("{address}{path}{reference}")
}

/// `OWNER/REPO`, or the URL of one, on `host`.
fn repository(host: &str, name: &str) -> String {
    if name.contains("://") {
        return name.to_owned();
    }
    let name = name.trim_end_matches(".git").trim_matches('/');
    let name = name.strip_prefix(host).map_or(name, |name| name.trim_start_matches('/'));
    format!("https://{host}/{name}.git")
}

/// An entry of `skills-lock.json`, `.skill-lock.json` or `skills.lock`.
fn source_of_entry(entry: &Value, dir: &Path) -> Result<String, String> {
    let text = |key: &str| text(entry, key);
    let Some(source) = text("source") else {
        let is_of_registry = text("version").is_some() && entry.get("installedAt").is_some();
        let reason = if is_of_registry {
            "it comes from a registry that is not a supported source"
        } else {
            "it has no source"
        };
        return Err(reason.to_owned());
    };
    let reference = text("pinnedRef").or(text("ref"));
    let folder = text("skillPath").and_then(|path| path.strip_suffix(SKILL_FILE));
    let folder = folder.or(text("path")).unwrap_or_default();
    match text("sourceType").unwrap_or_default() {
        "local" => Ok(dir.join(source).to_string_lossy().into_owned()),
        "github" => Ok(git(&repository("github.com", source), folder, reference)),
        "gitlab" | "git" => Ok(git(text("sourceUrl").unwrap_or(source), folder, reference)),
        // The `skills.lock` of npm's `skills-lock` has repositories alone.
        "" if reference.is_some() => Ok(git(source, folder, reference)),
        "well-known" if source.contains("://") => Ok(source.to_owned()),
        "well-known" => Ok(format!("https://{source}")),
        other => Err(format!("sources of the kind `{other}` are not supported")),
    }
}

/// A record in a skill's own folder. None of them has a commit.
fn source_of_skill(record: &Value, dir: &Path) -> Result<String, String> {
    let text = |key: &str| text(record, key);
    let folder = text("subpath").unwrap_or_default();
    match (text("sourceType").unwrap_or_default(), text("repoUrl"), text("source")) {
        ("local", _, source) => {
            let place = text("localPath").or(source).ok_or("it has no source")?;
            Ok(dir.join(place).to_string_lossy().into_owned())
        }
        (_, Some(url), _) => Ok(git(url, folder, None)),
        ("git", None, Some(url)) if url.contains("://") => Ok(git(url, folder, None)),
        ("git" | "github", None, Some(name)) => {
            Ok(git(&repository("github.com", name), folder, None))
        }
        ("gitlab", None, Some(name)) => Ok(git(&repository("gitlab.com", name), folder, None)),
        (other, None, Some(_)) => Err(format!("sources of the kind `{other}` are not supported")),
        (_, None, None) => Err("it has no source".to_owned()),
    }
}

/// `skills.lock.json` of an installer from registries.
fn from_oci(record: &Map<String, Value>) -> Result<ForeignLock, PackError> {
    if record.get("lockfileVersion").and_then(Value::as_u64) != Some(1) {
        return Err(bad("its lockfileVersion is not 1"));
    }
    let skills = record.get("skills").and_then(Value::as_array);
    let mut lock = ForeignLock::default();
    for entry in skills.ok_or_else(|| bad("it has no list of skills"))? {
        let name = text(entry, "name").unwrap_or("?");
        lock.add(name, source_of_artifact(&entry["source"]));
    }
    Ok(lock)
}

fn source_of_artifact(source: &Value) -> Result<String, String> {
    let text = |key: &str| text(source, key);
    let (Some(registry), Some(repository)) = (text("registry"), text("repository")) else {
        return Err("it has no registry and repository".to_owned());
    };
    // A tag can be moved; what was installed is the digest.
    let which = match (text("digest"), text("tag")) {
        (Some(digest), _) => format!("@{digest}"),
        (None, Some(tag)) => format!(":{tag}"),
        (None, None) => return Err("it has neither a digest nor a tag".to_owned()),
    };
    Ok(format!("oci://{registry}/{repository}{which}"))
}

/// `origins.json`: by the names of skills, which may have a namespace. Its `path` is that of the skill where
/// `SkillPort` has put it, so the skill is found by its name.
fn from_origins(record: &Map<String, Value>) -> ForeignLock {
    let mut lock = ForeignLock::default();
    for (id, entry) in record {
        let name = id.rsplit('/').next().unwrap_or(id);
        let text = |key: &str| text(entry, key);
        let source = match (text("kind").unwrap_or_default(), text("source")) {
            ("github", Some(url)) => {
                // What is behind the repository says a branch, and what was installed is a commit.
                let address = url.split("/tree/").next().unwrap_or(url);
                let commit = text("commit_sha").or(text("ref"));
                Ok(git(&repository("github.com", address), "", commit))
            }
            ("local" | "zip", Some(path)) => Ok(path.to_owned()),
            (_, None) => Err("it has no source".to_owned()),
            (other, _) => Err(format!("sources of the kind `{other}` are not supported")),
        };
        lock.add(name, source);
    }
    lock
}

/// What `gh skill` notes in the `SKILL.md` that it installs.
fn from_skill_file(file: &str, dir: &Path) -> Result<ForeignLock, PackError> {
    let skill = metier_skill::parse(file.as_bytes(), &ParseOptions::default()).skill;
    let skill = skill.ok_or_else(|| bad("it is not a SKILL.md that can be used"))?;
    let metadata = &skill.details().metadata;
    let noted = |key: &str| {
        metadata.iter().find(|(name, _)| **name == *key).and_then(|(_, value)| value.as_text())
    };
    let mut lock = ForeignLock::default();
    let reference = noted("github-pinned")
        .or(noted("github-ref"))
        .map(|it| it.strip_prefix("refs/heads/").or(it.strip_prefix("refs/tags/")).unwrap_or(it));
    let folder = noted("github-path").unwrap_or_default();
    let folder = folder.strip_suffix(SKILL_FILE).unwrap_or(folder);
    let source = match (noted("github-repo"), noted("local-path")) {
        (Some(name), _) => Ok(git(&repository("github.com", name), folder, reference)),
        (None, Some(path)) => Ok(dir.join(path).to_string_lossy().into_owned()),
        (None, None) => Err("its metadata names no source".to_owned()),
    };
    lock.add(skill.name.as_str(), source);
    Ok(lock)
}

/// A lock in YAML, of one of two programs.
fn from_yaml(lock: &str) -> Result<ForeignLock, PackError> {
    let tree = parse(lock).map_err(|error| bad(error.message))?;
    let tree = value_of(&tree);
    if text(&tree, "version").is_some() && text(&tree, "lockfile_version").is_none() {
        return from_toolhive(&tree);
    }
    from_apm(&tree)
}

/// `toolhive.lock.yaml`: artifacts at their digest, and repositories at their commit.
fn from_toolhive(tree: &Value) -> Result<ForeignLock, PackError> {
    if text(tree, "version") != Some("1") {
        return Err(bad("it is not a toolhive.lock.yaml of version 1"));
    }
    let skills = tree["skills"].as_array();
    let mut lock = ForeignLock::default();
    for entry in skills.ok_or_else(|| bad("it has no list of skills"))? {
        let name = text(entry, "name").unwrap_or("?");
        lock.add(name, source_in_toolhive(entry));
    }
    Ok(lock)
}

/// `git://HOST/OWNER/REPO@REF#FOLDER`, which is fetched by https, or the reference of an artifact.
fn source_in_toolhive(entry: &Value) -> Result<String, String> {
    let text = |key: &str| text(entry, key);
    let place = text("resolvedReference").or(text("source")).ok_or("it has no source")?;
    let digest = text("digest").ok_or("it has no digest")?;
    if let Some(address) = place.strip_prefix("git://") {
        let folder = |place: &str| place.split_once('#').map(|(_, folder)| folder.to_owned());
        let folder = folder(place).or_else(|| folder(text("source")?)).unwrap_or_default();
        let address = address.split(['@', '#']).next().unwrap_or(address);
        let address = address.strip_suffix(".git").unwrap_or(address);
        return Ok(git(&format!("https://{address}.git"), &folder, Some(digest)));
    }
    if !digest.starts_with("sha256:") {
        return Err("it is neither an artifact nor a repository".to_owned());
    }
    let place = place.split('@').next().unwrap_or(place);
    let tag = place.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let place = tag.map_or(place, |(place, _)| place);
    Ok(format!("oci://{place}@{digest}"))
}

/// `apm.lock.yaml`: packages, of which the skills count.
fn from_apm(tree: &Value) -> Result<ForeignLock, PackError> {
    if !matches!(text(tree, "lockfile_version"), Some("1" | "2")) {
        return Err(bad(
            "it is neither an apm.lock.yaml of version 1 or 2 nor a toolhive.lock.yaml",
        ));
    }
    let packages = tree["dependencies"].as_array();
    let mut found = ForeignLock::default();
    for package in packages.ok_or_else(|| bad("it has no dependencies"))? {
        let name = text(package, "repo_url").unwrap_or("?");
        let folder = text(package, "virtual_path").unwrap_or_default();
        let skills = apm_skills(package, folder);
        if skills.is_empty() {
            let what = if folder.is_empty() { name.to_owned() } else { format!("{name}/{folder}") };
            found.add(&what, Err("it brings no skill".to_owned()));
        }
        let host = text(package, "host").unwrap_or("github.com");
        let reference = text(package, "resolved_commit").or(text(package, "resolved_ref"));
        for skill in skills {
            let source = match text(package, "source") {
                Some("local") => Err("packages on this machine are not supported".to_owned()),
                _ if name == "?" => Err("it has no repository".to_owned()),
                _ => Ok(git(&repository(host, name), folder, reference)),
            };
            found.add(&skill, source);
        }
    }
    Ok(found)
}

/// The skills of a package: those that were chosen, or that it has put into a folder of skills.
fn apm_skills(package: &Value, folder: &str) -> BTreeSet<String> {
    let list = |key: &str| package[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let chosen: BTreeSet<String> = list("skill_subset").map(ToOwned::to_owned).collect();
    if !chosen.is_empty() {
        return chosen;
    }
    let below_skills = |path: &str| {
        let (_, rest) = path.split_once("/skills/")?;
        let name = rest.split('/').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    let deployed: BTreeSet<String> = list("deployed_files").filter_map(below_skills).collect();
    let is_skill = text(package, "package_type").is_some_and(|kind| kind.contains("skill"));
    match folder.rsplit('/').next() {
        Some(name) if deployed.is_empty() && is_skill && !name.is_empty() => {
            BTreeSet::from([name.to_owned()])
        }
        _ => deployed,
    }
}

/// YAML as JSON, where every scalar is a text.
fn value_of(node: &Node<'_>) -> Value {
    match &node.kind {
        NodeKind::Scalar { .. } if node.is_null() => Value::Null,
        NodeKind::Scalar { text, .. } => Value::String(text.clone().into_owned()),
        NodeKind::List(items) => Value::Array(items.iter().map(value_of).collect()),
        NodeKind::Map(entries) => {
            let entry =
                |(key, value): &(Node<'_>, Node<'_>)| (key.key_text().to_owned(), value_of(value));
            Value::Object(entries.iter().map(entry).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(String, String)>;

    fn read(text: &str, path: &str) -> (Pairs, Pairs) {
        let lock = read_foreign_lock(text, Path::new(path)).expect("reads");
        (
            lock.skills.into_iter().map(|it| (it.name, it.source)).collect(),
            lock.left_out.into_iter().map(|it| (it.name, it.reason)).collect(),
        )
    }

    fn pairs(expected: &[(&str, &str)]) -> Pairs {
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn entries_of_npm_installers_become_sources() {
        let text = r#"{"version": 1, "skills": {
            "a": {"source": "./x", "sourceType": "local", "computedHash": "0"},
            "b": {"source": "o/r", "sourceType": "github", "ref": "v1", "skillPath": "skills/b/SKILL.md"},
            "c": {"source": "https://g.example/r.git", "sourceUrl": "https://g.example/r.git", "sourceType": "git"},
            "d": {"source": "pkg", "sourceType": "node_modules"},
            "e": {"source": "https://github.com/o/r.git", "path": "skills/e", "ref": "0123"},
            "f": {"version": "1.0.0", "installedAt": 1},
            "g": {"source": "x.example", "sourceType": "well-known"}
        }}"#;
        let (skills, left_out) = read(text, "/p/skills-lock.json");
        assert_eq!(
            skills,
            pairs(&[
                ("a", "/p/./x"),
                ("b", "https://github.com/o/r.git//skills/b#v1"),
                ("c", "https://g.example/r.git"),
                ("e", "https://github.com/o/r.git//skills/e#0123"),
                ("g", "https://x.example"),
            ])
        );
        let names: Vec<&str> = left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["d", "f"]);
        assert!(left_out[1].1.contains("registry"), "{left_out:?}");
    }

    #[test]
    fn artifacts_of_registries_are_taken_by_their_digest() {
        let text = r#"{"lockfileVersion": 1, "skills": [
            {"name": "a", "source": {"registry": "ghcr.io", "repository": "o/a", "tag": "1", "digest": "sha256:00"}},
            {"name": "b", "source": {"registry": "ghcr.io", "repository": "o/b", "tag": "1"}},
            {"name": "c", "source": {"registry": "ghcr.io", "repository": "o/c"}}
        ]}"#;
        let (skills, left_out) = read(text, "/p/skills.lock.json");
        assert_eq!(
            skills,
            pairs(&[("a", "oci://ghcr.io/o/a@sha256:00"), ("b", "oci://ghcr.io/o/b:1")])
        );
        assert_eq!(left_out.len(), 1);
    }

    #[test]
    fn a_record_in_a_skills_folder_is_of_that_skill() {
        let git = r#"{"source": "o/r", "sourceType": "git", "repoUrl": "https://github.com/o/r", "subpath": "skills/pdf"}"#;
        let local = r#"{"source": "../src/pdf", "sourceType": "local", "localPath": "/src/pdf"}"#;
        let short = r#"{"name": "pdf", "source": "o/r", "sourceType": "github", "subpath": "pdf"}"#;
        for (file, text, expected) in [
            (".openskills.json", git, "https://github.com/o/r//skills/pdf"),
            (".openskills.json", local, "/src/pdf"),
            (".skillkit.json", short, "https://github.com/o/r.git//pdf"),
        ] {
            let (skills, _) = read(text, &format!("/p/.claude/skills/pdf/{file}"));
            assert_eq!(skills, pairs(&[("pdf", expected)]));
        }
    }

    #[test]
    fn packages_of_apm_bring_their_skills_at_the_commit() {
        let text = "\
lockfile_version: \"2\"
generated_at: \"2026-01-01T00:00:00Z\"
dependencies:
- repo_url: o/r
  host: github.com
  resolved_commit: 0123abcd
  virtual_path: skills/pdf
  package_type: claude_skill
  deployed_files:
  - .github/skills/pdf/SKILL.md
  - .claude/skills/pdf/SKILL.md
- repo_url: o/many
  resolved_commit: 4567abcd
  skill_subset: [a, b]
- repo_url: o/rules
  resolved_commit: 89ababcd
  package_type: apm_package
  deployed_files:
  - .github/instructions/x.md
";
        let (skills, left_out) = read(text, "/p/apm.lock.yaml");
        assert_eq!(
            skills,
            pairs(&[
                ("pdf", "https://github.com/o/r.git//skills/pdf#0123abcd"),
                ("a", "https://github.com/o/many.git#4567abcd"),
                ("b", "https://github.com/o/many.git#4567abcd"),
            ])
        );
        assert_eq!(left_out, pairs(&[("o/rules", "it brings no skill")]));
    }

    #[test]
    fn records_of_toolhive_skillport_and_gh_become_sources() {
        let toolhive = "\
version: 1
skills:
  - name: review
    version: \"1.0.0\"
    source: review
    resolvedReference: ghcr.io:443/org/review:1.0.0
    digest: sha256:9f
    contentDigest: sha256:a1
  - name: testing
    source: git://github.com/org/skills.git@main#skills/testing
    resolvedReference: git://github.com/org/skills.git
    digest: 4f0c
    requiredBy:
      - review
  - name: odd
    source: odd
    digest: 4f0c
";
        let (skills, left_out) = read(toolhive, "/p/toolhive.lock.yaml");
        let expected = [
            ("review", "oci://ghcr.io:443/org/review@sha256:9f"),
            ("testing", "https://github.com/org/skills.git//skills/testing#4f0c"),
        ];
        assert_eq!(skills, pairs(&expected));
        assert_eq!(left_out.len(), 1);
        let origins = r#"{
            "ns/a": {"source": "https://github.com/o/r/tree/main/x", "kind": "github", "ref": "main", "commit_sha": "01"},
            "b": {"source": "/src/b", "kind": "local", "path": ""},
            "c": {"source": "hello-world", "kind": "builtin"}}"#;
        let (skills, left_out) = read(origins, "/p/meta/origins.json");
        assert_eq!(skills, pairs(&[("b", "/src/b"), ("a", "https://github.com/o/r#01")]));
        assert_eq!(left_out.len(), 1);
        let file = "---\nname: pdf\ndescription: d\nmetadata:\n  github-repo: https://github.com/o/r\n  \
                    github-ref: refs/tags/v1\n  github-path: skills/pdf/SKILL.md\n---\nbody\n";
        let (skills, _) = read(file, "/p/.claude/skills/pdf/SKILL.md");
        assert_eq!(skills, pairs(&[("pdf", "https://github.com/o/r//skills/pdf#v1")]));
    }

    #[test]
    fn other_files_are_refused() {
        for (file, text) in [
            ("x.json", "{\"version\": 2, \"skills\": {}}"),
            ("x.json", "{\"lockfileVersion\": 2, \"skills\": []}"),
            ("x.json", "{\"version\": 1}"),
            ("x.json", "[]"),
            ("x.yaml", "a: 1"),
            ("x.yaml", "lockfile_version: \"1\""),
            ("x.yaml", "- 1"),
            ("toolhive.lock.yaml", "version: 2\nskills: []"),
            ("skills.lock", "version = 1"),
            ("SKILL.md", "no skill"),
            ("skills.lock.json", "{\"version\": 1, \"skills\": {\"a\": {\"tree\": \"sha256:0\"}}}"),
        ] {
            let path = Path::new("/p").join(file);
            let error = read_foreign_lock(text, &path).expect_err(text);
            assert_eq!(error.code(), "bad-record", "{text}");
            assert!(error.to_string().starts_with(&*path.to_string_lossy()), "{error}");
        }
    }
}
