//! Which folders are searched for skills, highest priority first.
//!
//! Which folders agents have is data, in `metier-skill`'s `agents.rs`: a new agent's folder is one new
//! line there. Nothing here reads the environment; the caller hands in [`SkillPlaces`].

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use metier_fs::{
    FileId, ForeignAccess, ForeignWriter, UserFolders, canonical, directory_id, exists, is_dir,
    modified, read_dir_names, writable_by_others_below,
};
use metier_skill::{AGENT_FOLDERS, OWN_SKILLS_FOLDER, Source};

/// What marks the top of a repository.
const REPOSITORY_MARKS: &[&str] = &[".git", ".jj", ".hg", ".svn"];

/// The plugin cache below the home directory: `<marketplace>/<plugin>/<version>/skills`.
const PLUGIN_CACHE: &str = ".claude/plugins/cache";

/// A folder to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where its skills count as coming from.
    pub source: Source,
    /// The folder.
    pub path: PathBuf,
    /// The plugin it belongs to.
    pub plugin: Option<String>,
    /// Whether its absence is a mistake rather than the usual case.
    pub required: bool,
    /// Whether it was not there when the roots were resolved. Most are not: of some hundred folders
    /// of agents a machine has a handful, and a scan does not look for the others again.
    pub absent: bool,
    /// Why it is not searched, where other accounts can write there.
    pub foreign: Option<ForeignAccess>,
}

impl Root {
    fn default_root(source: Source, path: PathBuf) -> Self {
        Self { source, path, plugin: None, required: false, absent: false, foreign: None }
    }
}

/// Where to look from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPlaces {
    /// The working directory, absolute.
    pub working_dir: PathBuf,
    /// The user's folders; `None` where the user's skills are left out.
    pub user: Option<UserFolders>,
    /// The home directory, which is never a project, even where the user's skills are left out.
    pub home: Option<PathBuf>,
    /// Roots named for this call, highest priority first.
    pub explicit: Vec<PathBuf>,
    /// Roots that the project's configuration names. They are the project's, whatever it says.
    pub configured_project: Vec<PathBuf>,
    /// Roots that the user's configuration names.
    pub configured_user: Vec<PathBuf>,
    /// More user roots (`CLAUDE_SKILLS_DIR`).
    pub more_user: Vec<PathBuf>,
}

impl SkillPlaces {
    /// A working directory and nothing else: no user folders, no further roots.
    pub fn at(working_dir: impl Into<PathBuf>) -> Self {
        Self {
            working_dir: working_dir.into(),
            user: None,
            home: None,
            explicit: Vec::new(),
            configured_project: Vec::new(),
            configured_user: Vec::new(),
            more_user: Vec::new(),
        }
    }
}

/// Whether other accounts may be able to write to a root that is searched.
#[derive(Clone, Copy)]
enum AllowedWriters<'p> {
    /// The user named it, or works there.
    Named,
    /// It was found in this directory above the working directory: no one else may.
    Above(&'p Path),
    /// It is the user's own, in this home directory. A group may share its skills through a link; what
    /// everyone can write is no one's own.
    Own(&'p Path),
}

impl AllowedWriters<'_> {
    fn foreign(self, root: &Path) -> Option<ForeignAccess> {
        match self {
            Self::Named => None,
            Self::Above(dir) => writable_by_others_below(dir, root),
            Self::Own(home) => writable_by_others_below(home, root)
                .filter(|access| access.writer == ForeignWriter::Everyone),
        }
    }
}

/// The roots for `places`, highest priority first, each folder once.
pub fn resolve(places: &SkillPlaces) -> Vec<Root> {
    /// The folders of agents in a directory and one above it, and in the home directory: more only cost a
    /// little more.
    const USUAL_ROOTS: usize = 136;
    let mut roots: Vec<Root> = Vec::with_capacity(USUAL_ROOTS);
    // What tells one root from another: the folder itself, or the path where none can be opened.
    let mut folders: HashSet<FileId> = HashSet::new();
    let mut paths: HashSet<PathBuf> = HashSet::with_capacity(USUAL_ROOTS);
    // One folder under two names (a link, a `..`) is searched once, at its highest rank. One look
    // tells which folder it is and whether it is there: there are a hundred, nearly all are not.
    let mut add = |root: Root, writers: AllowedWriters<'_>| {
        let found = directory_id(&root.path);
        let absent = matches!(&found, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let is_new = match found {
            Ok(id) => folders.insert(id),
            Err(_) => paths.insert(root.path.clone()),
        };
        if is_new {
            let foreign = if absent { None } else { writers.foreign(&root.path) };
            let path = tidy(root.path);
            roots.push(Root { path, absent, foreign, ..root });
        }
    };
    let named = |source, path: &PathBuf| {
        let path = places.working_dir.join(path);
        Root { source, path, plugin: None, required: true, absent: false, foreign: None }
    };
    for path in &places.explicit {
        add(named(Source::Explicit, path), AllowedWriters::Named);
    }
    for path in &places.configured_project {
        add(named(Source::Project, path), AllowedWriters::Named);
    }
    for dir in project_dirs(&places.working_dir, places.home.as_deref()) {
        let is_above = dir != places.working_dir;
        let writers = if is_above { AllowedWriters::Above(&dir) } else { AllowedWriters::Named };
        for root in project_roots(&dir) {
            add(root, writers);
        }
    }
    for path in &places.configured_user {
        add(named(Source::User, path), AllowedWriters::Named);
    }
    if let Some(user) = &places.user {
        let folders = AGENT_FOLDERS.iter().flat_map(|agent| agent.user);
        let folders = folders.map(|folder| user.home.join(folder));
        let own = ["skills", "skill"].map(|folder| user.agent.join(folder));
        for path in own.into_iter().chain(folders) {
            add(Root::default_root(Source::User, path), AllowedWriters::Own(&user.home));
        }
    }
    for path in &places.more_user {
        add(named(Source::User, path), AllowedWriters::Named);
    }
    if let Some(user) = &places.user {
        for root in plugin_roots(&user.home.join(PLUGIN_CACHE)) {
            add(root, AllowedWriters::Own(&user.home));
        }
    }
    roots
}

/// The path without what it could be written without. Nearly all are tidy as they are, and there are a
/// hundred of them: to look at their text takes a tenth of what taking them apart does.
fn tidy(path: PathBuf) -> PathBuf {
    let rest = path.to_str().and_then(|text| text.strip_prefix('/'));
    if rest.is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | ".."))) {
        return path;
    }
    let is_dotted =
        path.components().any(|part| matches!(part, Component::CurDir | Component::ParentDir));
    if is_dotted { canonical(&path).unwrap_or(path) } else { path.components().collect() }
}

/// The folders of all agents in one directory of a project, whether they exist or not.
pub fn project_roots(dir: &Path) -> impl Iterator<Item = Root> {
    let folders = AGENT_FOLDERS.iter().flat_map(|agent| agent.project);
    folders.map(move |folder| Root::default_root(Source::Project, dir.join(folder)))
}

/// The directories whose folders count as the project's: from the working directory up to the
/// repository's top, or to the file system's where there is none. The home directory's folders are
/// the user's, never a project's.
pub fn project_dirs(working_dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for dir in working_dir.ancestors() {
        if home != Some(dir) {
            dirs.push(dir.to_owned());
        }
        if is_repository(dir, working_dir) {
            break;
        }
    }
    dirs
}

/// Whether `dir` is the top of a repository, seen from a directory in it. In a folder that everyone can
/// write, such as `/tmp`, a mark counts only where it is this user's or root's: otherwise another
/// account could make its folder the project of all work below it.
fn is_repository(dir: &Path, working_dir: &Path) -> bool {
    let counts = |mark: &Path| dir == working_dir || !metier_fs::is_planted(dir, mark);
    REPOSITORY_MARKS.iter().map(|mark| dir.join(mark)).any(|mark| exists(&mark) && counts(&mark))
}

/// The top of the repository that holds `working_dir`, if it is in one; a home directory that is a
/// repository is no project.
pub fn repository_top(working_dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_top = |dir: &&Path| is_repository(dir, working_dir);
    working_dir.ancestors().find(is_top).filter(|top| home != Some(*top)).map(Path::to_owned)
}

/// Metier's own folder of skills in a project's directory.
pub fn own_skills(dir: &Path) -> PathBuf {
    dir.join(OWN_SKILLS_FOLDER)
}

/// The skill folders of the newest version of each plugin, in the order of their names.
fn plugin_roots(cache: &Path) -> Vec<Root> {
    let mut roots = Vec::new();
    for marketplace in names(cache) {
        let marketplace = cache.join(marketplace);
        for plugin in names(&marketplace) {
            let versions = marketplace.join(&plugin);
            let newest = names(&versions)
                .into_iter()
                .filter(|version| is_dir(&versions.join(version).join("skills")))
                .max_by(|a, b| newer(&versions, a, b));
            if let Some(version) = newest {
                roots.push(Root {
                    source: Source::Plugin,
                    path: versions.join(version).join("skills"),
                    plugin: Some(plugin),
                    required: false,
                    absent: false,
                    foreign: None,
                });
            }
        }
    }
    roots
}

/// Folders of skills that only an older version of a plugin has, each with the plugin's newest version.
pub fn outdated_plugin_skills(user: &UserFolders) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for root in plugin_roots(&user.home.join(PLUGIN_CACHE)) {
        let Some(newest) = root.path.parent() else { continue };
        let Some(versions) = newest.parent() else { continue };
        let here = names(&root.path);
        for version in names(versions).into_iter().map(|version| versions.join(version)) {
            if version == newest {
                continue;
            }
            let skills = version.join("skills");
            let only_there = names(&skills).into_iter().filter(|name| !here.contains(name));
            let folders = only_there.map(|name| skills.join(name));
            let folders = folders.filter(|folder| exists(&folder.join("SKILL.md")));
            found.extend(folders.map(|folder| (folder, newest.to_owned())));
        }
    }
    found
}

fn names(dir: &Path) -> Vec<String> {
    let mut names = read_dir_names(dir).unwrap_or_default();
    names.retain(|name| !name.starts_with('.'));
    names
}

/// Version numbers first, by their numbers; other names (commits) by their modification time.
fn newer(dir: &Path, a: &str, b: &str) -> Ordering {
    match (version(a), version(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => {
            let time = |name: &str| modified(&dir.join(name)).ok();
            time(a).cmp(&time(b)).then_with(|| a.cmp(b))
        }
    }
}

/// A version, in the order of its age: a release is newer than its pre-releases, and a part of
/// those that is a number counts by value.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: Vec<u64>,
    is_release: bool,
    pre_release: Vec<(u64, String)>,
}

fn version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let text = text.split('+').next()?;
    let (numbers, rest) = match text.split_once('-') {
        Some((numbers, rest)) => (numbers, rest),
        None => (text, ""),
    };
    let numbers: Option<Vec<u64>> = numbers.split('.').map(|part| part.parse().ok()).collect();
    let part = |part: &str| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    };
    let pre_release = rest.split('.').map(part).collect();
    Some(Version { numbers: numbers?, is_release: rest.is_empty(), pre_release })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(dir: &Path, home: &Path) -> SkillPlaces {
        SkillPlaces {
            user: Some(UserFolders::new(home, Some(&home.join(".agent")))),
            home: Some(home.to_owned()),
            ..SkillPlaces::at(dir)
        }
    }

    fn position(roots: &[Root], path: &Path) -> Option<usize> {
        roots.iter().position(|root| root.path == path)
    }

    #[test]
    fn the_nearest_project_folder_comes_first_and_the_search_stops_at_the_repository() {
        let tmp = tempfile::tempdir().expect("dir");
        let repo = tmp.path().join("home/work/repo");
        let deep = repo.join("a/b");
        std::fs::create_dir_all(&deep).expect("dirs");
        std::fs::create_dir_all(repo.join(".git")).expect("dirs");
        let roots = resolve(&places(&deep, &tmp.path().join("home")));
        let at = |path: PathBuf| position(&roots, &path).unwrap_or_else(|| panic!("{path:?}"));
        assert_eq!(roots[0].path, deep.join(".agent/skills"));
        assert!(at(deep.join(".claude/skills")) < at(repo.join("a/.agent/skills")));
        assert!(at(repo.join("a/.vibe/skills")) < at(repo.join(".agent/skills")));
        assert_eq!(position(&roots, &tmp.path().join("home/work/.claude/skills")), None);
        assert!(at(repo.join(".vibe/skills")) < at(tmp.path().join("home/.agent/skills")));
    }

    #[test]
    fn the_home_directory_is_the_users_even_when_the_search_passes_it() {
        let tmp = tempfile::tempdir().expect("dir");
        let home = tmp.path().join("home");
        let dir = home.join("work");
        std::fs::create_dir_all(&dir).expect("dirs");
        let roots = resolve(&places(&dir, &home));
        let found = &roots[position(&roots, &home.join(".claude/skills")).expect("there")];
        assert_eq!(found.source, Source::User);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_written_in_one_way() {
        use std::os::unix::ffi::OsStringExt;
        let bytes = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let tmp = tempfile::tempdir().expect("dir");
        let real = tmp.path().canonicalize().expect("real");
        for (path, expected) in [
            (PathBuf::from("/a/.b/c"), PathBuf::from("/a/.b/c")),
            (PathBuf::from("//a/./b//"), PathBuf::from("/a/b")),
            (PathBuf::from("/"), PathBuf::from("/")),
            (PathBuf::from("/absent/../b"), PathBuf::from("/absent/../b")),
            (bytes(b"/a//\xff/"), bytes(b"/a/\xff")),
            (real.join("x/.."), real.join("x/..")),
            (real.join("."), real.clone()),
            (real.join("../").join(real.file_name().expect("a name")), real.clone()),
        ] {
            assert_eq!(tidy(path.clone()).as_os_str(), expected.as_os_str(), "{path:?}");
        }
    }

    #[test]
    fn the_newest_version_of_a_plugin_counts() {
        let tmp = tempfile::tempdir().expect("dir");
        let cache = tmp.path().join(PLUGIN_CACHE);
        assert!(version("1.0.0-rc.10") > version("1.0.0-rc.9"));
        for version in ["1.9.0", "1.10.0", "1.10.0-rc.1", "abcdef", "2.0.0"] {
            std::fs::create_dir_all(cache.join("market/tool").join(version)).expect("dirs");
        }
        for version in ["1.9.0", "1.10.0", "1.10.0-rc.1", "abcdef"] {
            std::fs::create_dir_all(cache.join("market/tool").join(version).join("skills"))
                .expect("dirs");
        }
        let roots = plugin_roots(&cache);
        assert_eq!(roots.len(), 1);
        assert_eq!(roots[0].path, cache.join("market/tool/1.10.0/skills"));
        assert_eq!(roots[0].plugin.as_deref(), Some("tool"));
    }
}
