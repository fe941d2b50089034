//! Where an interpreter is installed, and what of it a confined script must be able to read.
//!
//! Version managers keep interpreters in the home directory, of which a script sees nothing else. So
//! the file that is really executed is found, and with it those folders of its installation that hold
//! code. The caller who makes the plan judges them once more, by the one rule for all roots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::interpreter::{Interpreter, Runtime};
use crate::plan::is_system;

/// Where interpreters are looked for.
#[derive(Debug, Clone, Default)]
pub struct SearchPath {
    /// The user's `PATH`, in its order.
    pub dirs: Vec<PathBuf>,
    /// The user's home directory, which never becomes readable as a whole.
    pub home: Option<PathBuf>,
    /// Folders from which no interpreter is taken: the workspace, the skills. What stands there
    /// came with a clone.
    pub untrusted: Vec<PathBuf>,
}

/// An interpreter that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The program.
    pub program: PathBuf,
    /// What stands between it and the script.
    pub args: Vec<String>,
    /// What must be readable beside the system's folders, without links.
    pub roots: Vec<PathBuf>,
    /// Links on the way to it, with their text.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

/// Folders of an installation that hold code, not a user's files.
const CODE: &[&str] = &["bin", "include", "lib", "lib32", "lib64", "libexec", "share", "ssl"];

/// The same for a virtual environment, and for an installation that shares its folder with others:
/// `~/.local/share` has keyrings.
const CODE_OF_SHARED: &[&str] = &["bin", "include", "lib", "lib32", "lib64"];

/// The file that makes a folder a virtual environment.
const VENV_MARK: &str = "pyvenv.cfg";

/// Programs that stand for another one and look for it at run time, where a script sees nothing.
const STAND_INS: &[&str] = &["asdf", "mise", "rtx", "volta", "volta-shim"];

impl Located {
    /// The first candidate that is installed.
    pub fn find(interpreter: &Interpreter, search: &SearchPath) -> Result<Self, Error> {
        let found = interpreter.candidates.iter().find_map(|runtime| find(runtime, search));
        found.ok_or_else(|| {
            let names: Vec<&str> =
                interpreter.candidates.iter().map(|runtime| runtime.program.as_str()).collect();
            let mut needs = names.join(" or ");
            if interpreter.needs_packages {
                needs.push_str(" (its `# /// script` block names packages)");
            }
            let searched = search.dirs.iter().map(|dir| dir.display().to_string());
            let searched = searched.collect::<Vec<_>>().join(", ");
            Error::InterpreterMissing { script: interpreter.script.clone(), needs, searched }
        })
    }

    /// The folder of the program, for `PATH`.
    pub fn dir(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new("/"))
    }
}

fn find(runtime: &Runtime, search: &SearchPath) -> Option<Located> {
    let standard = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let search = &search.without_links();
    let mut dirs = search.dirs.iter().chain(&standard).filter(|dir| dir.is_absolute());
    let Installed { program, roots } =
        dirs.find_map(|dir| judge(dir, &runtime.program, search, Shims::Follow))?;
    // `uv` and Homebrew put links to whole installations between an environment and its interpreter.
    let steps = metier_fs::links_on_the_way(&program).into_iter();
    let mut links: BTreeMap<PathBuf, PathBuf> = steps.map(|step| (step.link, step.text)).collect();
    for root in &roots {
        links.extend(links_beside(root));
    }
    // The plan travels as text, and no installation of anybody's has other names.
    links.retain(|at, text| at.to_str().is_some() && text.to_str().is_some());
    Some(Located { program, args: runtime.args.clone(), roots, links })
}

impl SearchPath {
    /// The same with the folders that must not be shown, or not be trusted, as they really are.
    fn without_links(&self) -> Self {
        let real = |path: &PathBuf| metier_fs::canonical(path).unwrap_or_else(|_| path.clone());
        Self {
            dirs: self.dirs.clone(),
            home: self.home.as_ref().map(real),
            untrusted: self.untrusted.iter().map(real).collect(),
        }
    }

    fn distrusts(&self, path: &Path) -> bool {
        self.untrusted.iter().any(|root| path.starts_with(root))
    }

    /// Whether a folder holds the home directory, or everything.
    fn is_at_or_above_home(&self, dir: &Path) -> bool {
        dir.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(dir))
    }

    /// Whether a file is one of the system's. A home directory may lie among them.
    fn is_of_system(&self, path: &Path) -> bool {
        is_system(path) && !self.home.as_ref().is_some_and(|home| path.starts_with(home))
    }
}

/// Whether what a version manager put in place of a program is looked behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shims {
    Follow,
    Refuse,
}

/// A program that can be executed in confinement, and the folders that it needs.
struct Installed {
    program: PathBuf,
    roots: Vec<PathBuf>,
}

/// The program called `name` in `dir`. A folder that is reached through a link counts as what it is.
fn judge(dir: &Path, name: &str, search: &SearchPath, shims: Shims) -> Option<Installed> {
    let dir = metier_fs::canonical(dir).ok()?;
    let path = dir.join(name);
    let real = metier_fs::canonical(&path).ok()?;
    let file_name = real.file_name()?.to_str()?;
    if search.distrusts(&dir) || search.distrusts(&real) || STAND_INS.contains(&file_name) {
        return None;
    }
    let mut head = [0; 2];
    metier_fs::PiecewiseFile::open(&real).ok()?.read_at(0, &mut head).ok()?;
    if &head == b"#!" {
        // A script in the place of the interpreter belongs to a version manager.
        return (shims == Shims::Follow).then(|| behind_shim(&dir, name, search))?;
    }
    // A virtual environment is known by the path through which its interpreter was started.
    if let Some(venv) = venv_of(&dir, search) {
        let mut roots = roots_of(&real, search);
        roots.extend(parts(venv, CODE_OF_SHARED));
        roots.extend(parts(venv, &[VENV_MARK]));
        roots.dedup();
        return Some(Installed { program: path, roots });
    }
    // Some programs are many and go by the name they were called by: a link of the system stays.
    if search.is_of_system(&path) && search.is_of_system(&real) {
        return Some(Installed { program: path, roots: Vec::new() });
    }
    let roots = roots_of(&real, search);
    Some(Installed { program: real, roots })
}

/// The virtual environment whose programs are in `dir`. A file that makes one of the home directory does
/// not: whatever stands in there would become its code.
fn venv_of<'d>(dir: &'d Path, search: &SearchPath) -> Option<&'d Path> {
    let venv = dir.parent().filter(|_| dir.ends_with("bin"))?;
    let is_venv = metier_fs::exists(&venv.join(VENV_MARK));
    (is_venv && !search.is_at_or_above_home(venv)).then_some(venv)
}

/// pyenv, rbenv, nodenv and the like: `shims` beside `versions`, and a file that names the version.
fn behind_shim(dir: &Path, name: &str, search: &SearchPath) -> Option<Installed> {
    let root = dir.parent().filter(|_| dir.ends_with("shims"))?;
    let versions = root.join("versions");
    let chosen = metier_fs::read_bounded(&root.join("version"), 4096).unwrap_or_default();
    let chosen = String::from_utf8_lossy(&chosen).into_owned();
    let mut names: Vec<String> = chosen.split_whitespace().map(str::to_owned).collect();
    let mut installed = metier_fs::read_dir_names(&versions).unwrap_or_default();
    installed.sort_by_key(|version| {
        let numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        std::cmp::Reverse(numbers.collect::<Vec<_>>())
    });
    names.extend(installed);
    let is_name = |name: &String| !name.contains('/') && name != "..";
    let dirs = names.into_iter().filter(is_name).map(|version| versions.join(version).join("bin"));
    // Shims in there would lead round in a circle.
    dirs.into_iter().find_map(|dir| judge(&dir, name, search, Shims::Refuse))
}

/// What must be readable for the program at `real` to work: the code of its installation where that has
/// a folder of its own, else the program alone.
fn roots_of(real: &Path, search: &SearchPath) -> Vec<PathBuf> {
    if search.is_of_system(real) {
        return Vec::new();
    }
    let prefix = real.parent().filter(|dir| dir.ends_with("bin")).and_then(Path::parent);
    let Some(prefix) = prefix.filter(|prefix| !search.is_at_or_above_home(prefix)) else {
        return vec![real.to_owned()];
    };
    let is_shared = search.home.as_ref().is_some_and(|home| prefix == home.join(".local"));
    parts(prefix, if is_shared { CODE_OF_SHARED } else { CODE })
}

/// Those of the named parts of an installation that are there, without links. One that leads elsewhere
/// is no part of it.
fn parts(prefix: &Path, names: &[&str]) -> Vec<PathBuf> {
    let there = names.iter().filter_map(|name| metier_fs::canonical(&prefix.join(name)).ok());
    let mut there: Vec<PathBuf> =
        there.filter(|path| path != prefix && path.starts_with(prefix)).collect();
    there.sort();
    there.dedup();
    there
}

/// Links beside a root that lead to it, as `lib64` leads to `lib`.
fn links_beside(root: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let Some(prefix) = root.parent() else { return BTreeMap::new() };
    let beside = CODE.iter().map(|name| prefix.join(name)).filter_map(|at| {
        let text = metier_fs::link_text(&at)?;
        (prefix.join(&text) == root).then_some((at, text))
    });
    beside.collect()
}
