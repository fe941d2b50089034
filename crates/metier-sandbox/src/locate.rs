//! Where an interpreter is installed, and what of it a confined script must be able to read.
//!
//! Version managers keep interpreters in the home directory, of which a script sees nothing else. So
//! the file that is really executed is found, and with it the folders of its installation: never a
//! home directory, never a folder that holds more than the installation.

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
    /// What must be readable beside the system's folders.
    pub roots: Vec<PathBuf>,
}

/// Folders of an installation that hold code, not a user's files.
const CODE: &[&str] = &["bin", "include", "lib", "lib32", "lib64", "libexec", "share", "ssl"];

/// The same for an installation that shares its folder with others: `~/.local/share` has keyrings.
const CODE_OF_SHARED: &[&str] = &["bin", "include", "lib", "lib64"];

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
    let dirs = search.dirs.iter().chain(&standard);
    let dirs = dirs.filter(|dir| dir.is_absolute() && !is_untrusted(dir, search));
    let (program, roots) = dirs.into_iter().find_map(|dir| judge(dir, &runtime.program, search))?;
    Some(Located { program, args: runtime.args.clone(), roots })
}

fn is_untrusted(path: &Path, search: &SearchPath) -> bool {
    search.untrusted.iter().any(|root| path.starts_with(root))
}

/// The program called `name` in `dir`, if it is one that can be executed in confinement.
fn judge(dir: &Path, name: &str, search: &SearchPath) -> Option<(PathBuf, Vec<PathBuf>)> {
    let path = dir.join(name);
    let real = metier_fs::canonical(&path).ok()?;
    let file_name = real.file_name()?.to_str()?;
    if is_untrusted(&real, search) || STAND_INS.contains(&file_name) {
        return None;
    }
    let mut head = [0; 2];
    metier_fs::PiecewiseFile::open(&real).ok()?.read_at(0, &mut head).ok()?;
    if &head == b"#!" {
        // A script in the place of the interpreter belongs to a version manager.
        return behind_shim(dir, name, search);
    }
    // A virtual environment is known by the path through which its interpreter was started.
    if let Some(venv) = dir.parent().filter(|venv| metier_fs::exists(&venv.join("pyvenv.cfg"))) {
        let venv = metier_fs::canonical(venv).ok()?;
        let mut roots = roots_of(&real, search);
        let program = venv.join(dir.file_name()?).join(name);
        roots.push(venv);
        return Some((program, roots));
    }
    // Some programs are many and go by the name they were called by: a link of the system stays.
    if is_system(&path) && is_system(&real) {
        return Some((path, Vec::new()));
    }
    let roots = roots_of(&real, search);
    Some((real, roots))
}

/// pyenv, rbenv, nodenv and the like: `shims` beside `versions`, and a file that names the version.
fn behind_shim(dir: &Path, name: &str, search: &SearchPath) -> Option<(PathBuf, Vec<PathBuf>)> {
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
    // A folder called `shims` in there would lead round in a circle.
    dirs.into_iter().filter(|dir| !dir.ends_with("shims")).find_map(|dir| judge(&dir, name, search))
}

/// What must be readable for the program at `real` to work.
fn roots_of(real: &Path, search: &SearchPath) -> Vec<PathBuf> {
    if is_system(real) {
        return Vec::new();
    }
    let home = search.home.as_deref().and_then(|home| metier_fs::canonical(home).ok());
    let holds_home = |dir: &Path| {
        dir.parent().is_none() || home.as_deref().is_some_and(|home| home.starts_with(dir))
    };
    let alone = vec![real.to_owned()];
    let Some(dir) = real.parent() else { return alone };
    if dir.file_name().is_none_or(|name| name != "bin") {
        return if holds_home(dir) { alone } else { vec![dir.to_owned()] };
    }
    let Some(prefix) = dir.parent().filter(|prefix| !holds_home(prefix)) else { return alone };
    let is_shared = home.is_some_and(|home| prefix == home.join(".local"));
    let code = if is_shared { CODE_OF_SHARED } else { CODE };
    code.iter().map(|name| prefix.join(name)).filter(|path| metier_fs::is_dir(path)).collect()
}
