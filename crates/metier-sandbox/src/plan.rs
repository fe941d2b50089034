//! What is to run, and what it may see and use: a value, made and judged without touching anything.
//!
//! The caller (who has asked policy) fills a `RunPlan`; `check` refuses what is never given; the
//! helper gets it as it is. Paths are absolute and without links: `metier_fs::canonical` makes them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::error::Error;
use crate::limits::SandboxLimits;

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The program: an absolute path below one of the roots.
    pub program: PathBuf,
    /// Its arguments. No shell looks at them.
    pub args: Vec<String>,
    /// All of its environment; see `environment`.
    pub env: BTreeMap<String, String>,
    /// Its own directory: fresh, writable.
    pub work_dir: PathBuf,
    /// Where it starts, if not there: a folder that it can read.
    pub start_dir: Option<PathBuf>,
    /// Directories and files that can be read and executed, beside those of the system.
    pub read_only: Vec<PathBuf>,
    /// Files and folders below those roots, or below the system's, that cannot be read all the same:
    /// keys in a workspace. A root that lies in a hidden folder is shown.
    #[serde(with = "byte_paths")]
    pub hidden: Vec<PathBuf>,
    /// Places that no root may show: the home directory, our own folders. A root may be above one only
    /// where that is hidden.
    pub closed: Vec<PathBuf>,
    /// Links that lead to the roots, with their text: the strong tier has nothing else between them.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Directories that can also be written, beside the working directory.
    pub writable: Vec<PathBuf>,
    /// Whether it reaches the network.
    pub network: NetworkAccess,
    /// What it may use at most.
    pub limits: SandboxLimits,
}

/// The network of a run. There is nothing between the two yet: no list of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// None, loopback included.
    Closed,
    /// That of the machine.
    Open,
}

/// Directories of the system that every program may read. Those that are not there are left out.
pub(crate) const SYSTEM_DIRS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Files and folders of the system that programs need: the loader's cache, names of users, the
/// time zone, certificates. Nothing here is private to a user.
pub(crate) const SYSTEM_ENTRIES: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/tls",
    "/etc/pki/ca-trust",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/etc/fonts",
];

/// What a program with a network needs on top.
pub(crate) const NETWORK_ENTRIES: &[&str] = &["/etc/hosts", "/etc/resolv.conf"];

/// What shows other processes and the machine; a run gets a part of its own of it.
const OF_PROCESSES: &[&str] = &["/proc", "/sys", "/dev"];

/// Devices that hold nothing.
pub(crate) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

impl RunPlan {
    /// A plan without network and extra roots, with the usual limits.
    pub fn new(program: impl Into<PathBuf>, work_dir: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            work_dir: work_dir.into(),
            start_dir: None,
            read_only: Vec::new(),
            hidden: Vec::new(),
            closed: Vec::new(),
            links: BTreeMap::new(),
            writable: Vec::new(),
            network: NetworkAccess::Closed,
            limits: SandboxLimits::default(),
        }
    }

    /// The directory that it starts in.
    pub(crate) fn current_dir(&self) -> &Path {
        self.start_dir.as_deref().unwrap_or(&self.work_dir)
    }

    /// Refuses a plan that is unclear or asks for what is never given.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::Plan { reason });
        let roots = self.read_only.iter().chain(&self.writable).chain(self.links.keys());
        let roots = roots.chain([&self.work_dir, &self.program]).chain(&self.start_dir);
        let plain = roots.map(|path| (path, is_text(path)));
        for (path, is_text) in plain.chain(self.hidden.iter().map(|path| (path, true))) {
            if !is_text || !is_plain(path) {
                return refuse(format!("`{}` is not a plain absolute path", path.display()));
            }
        }
        self.check_closed()?;
        if let Some(start) = &self.start_dir {
            let is_below = |roots: &[PathBuf]| roots.iter().any(|root| start.starts_with(root));
            if !is_below(&self.read_only) || is_below(&self.hidden) {
                return refuse(format!(
                    "it does not see `{}`, where it is to start",
                    start.display()
                ));
            }
        }
        for path in &self.read_only {
            if path.parent().is_none() || OF_PROCESSES.iter().any(|dir| path.starts_with(dir)) {
                return refuse(format!("`{}` is never readable as a whole", path.display()));
            }
        }
        for path in &self.hidden {
            if self.writable.iter().chain([&self.work_dir]).any(|root| path.starts_with(root)) {
                return refuse(format!("`{}` cannot be hidden: it is writable", path.display()));
            }
        }
        for path in self.writable.iter().chain([&self.work_dir]) {
            if path.parent().is_none()
                || is_system(path)
                || OF_PROCESSES.iter().any(|dir| path.starts_with(dir))
            {
                return refuse(format!("`{}` is never writable", path.display()));
            }
        }
        // A program that the confined process could write would be confined by nothing it has not
        // itself chosen; the interpreters of a skill are never there.
        if !is_system(&self.program) && !self.reads(&self.program) {
            let program = self.program.display();
            return refuse(format!("the program `{program}` is below none of the roots"));
        }
        if let Some(argument) = self.args.iter().find(|argument| argument.contains('\0')) {
            return refuse(format!("an argument has a NUL byte: {argument:?}"));
        }
        for (name, value) in &self.env {
            if let Some(fault) = environment::fault_of(name, value) {
                return refuse(format!("the variable {name:?} {fault}"));
            }
        }
        if self.limits.wall.is_zero() || self.limits.processes == 0 {
            return refuse("a run needs some time and at least one process".to_owned());
        }
        Ok(())
    }

    /// No root shows what is closed. This is asked here, where every root comes by, and not of those who
    /// think of roots: an interpreter, a virtual environment and a workspace each once showed a home.
    fn check_closed(&self) -> Result<(), Error> {
        let roots = self.read_only.iter().chain(&self.writable).chain([&self.work_dir]);
        let roots = roots.map(PathBuf::as_path).chain(SYSTEM_DIRS.iter().map(Path::new));
        for root in roots {
            let shown = self.closed.iter().filter(|closed| closed.starts_with(root));
            for closed in shown {
                let is_covering =
                    |path: &PathBuf| path.starts_with(root) && closed.starts_with(path);
                if !self.hidden.iter().any(is_covering) {
                    let (root, closed) = (root.display(), closed.display());
                    let reason = format!("`{root}` would show `{closed}`, which no script sees");
                    return Err(Error::Plan { reason });
                }
            }
        }
        Ok(())
    }

    /// Whether a path lies below a root of this plan.
    fn reads(&self, path: &Path) -> bool {
        let roots = self.read_only.iter().chain(&self.writable).chain([&self.work_dir]);
        roots.into_iter().any(|root| path.starts_with(root))
    }
}

/// Absolute, without `.`, `..` or NUL.
fn is_plain(path: &Path) -> bool {
    let steps = |component| matches!(component, Component::Normal(_) | Component::RootDir);
    let bytes = path.as_os_str().as_encoded_bytes();
    path.is_absolute() && !bytes.contains(&0) && path.components().all(steps)
}

/// What a script gets by its name has to be text.
fn is_text(path: &Path) -> bool {
    path.to_str().is_some()
}

/// Whether a path lies in the folders of the system, which every program may read.
pub fn is_system(path: &Path) -> bool {
    SYSTEM_DIRS.iter().any(|dir| path.starts_with(dir))
}

/// Paths in the policy, which travels as JSON: as text, or as bytes where they are no text. A key in a
/// folder with such a name is to be hidden like any other.
mod byte_paths {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum WirePath {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| match path.to_str() {
            Some(text) => WirePath::Text(text.to_owned()),
            None => WirePath::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<WirePath>::deserialize(from)?.into_iter().map(|path| match path {
            WirePath::Text(text) => PathBuf::from(text),
            WirePath::Bytes(bytes) => from_bytes(bytes),
        });
        Ok(paths.collect())
    }

    #[cfg(unix)]
    fn from_bytes(bytes: Vec<u8>) -> PathBuf {
        use std::os::unix::ffi::OsStringExt;
        std::ffi::OsString::from_vec(bytes).into()
    }

    /// There is no tier that hides anything.
    #[cfg(not(unix))]
    fn from_bytes(bytes: Vec<u8>) -> PathBuf {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn plan() -> RunPlan {
        RunPlan::new("/usr/bin/python3", "/run/work")
    }

    fn refusal(change: impl FnOnce(&mut RunPlan)) -> String {
        let mut plan = plan();
        change(&mut plan);
        plan.check().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_plain_plan_passes_and_travels_unchanged() {
        let plan = plan();
        plan.check().expect("passes");
        let json = serde_json::to_string(&plan).expect("json");
        assert_eq!(serde_json::from_str::<RunPlan>(&json).expect("back"), plan);
    }

    #[test]
    fn a_hidden_path_travels_by_its_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let mut plan = plan();
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/w/\xff/.env"));
        plan.hidden = vec!["/w/.env".into(), odd.to_owned()];
        plan.check().expect("passes");
        let json = serde_json::to_string(&plan).expect("json");
        assert_eq!(serde_json::from_str::<RunPlan>(&json).expect("back"), plan);
        assert!(refusal(|plan| plan.read_only.push(odd.into())).contains("plain absolute path"));
    }

    #[test]
    fn a_root_above_a_closed_place_passes_only_where_that_is_hidden() {
        let closed = |root: &str, hidden: &[&str]| {
            refusal(|plan| {
                plan.closed = vec!["/home/me".into(), "/usr/home/me/.state".into()];
                plan.hidden = hidden.iter().map(PathBuf::from).collect();
                plan.hidden.push("/usr/home".into());
                plan.read_only.push(root.into());
            })
        };
        assert_eq!(closed("/home/me/lib", &[]), "");
        assert_eq!(closed("/home", &["/home/me"]), "");
        assert_eq!(closed("/home", &["/home"]), "");
        for root in ["/home/me", "/home", "/usr/home"] {
            let refused = closed(root, &["/home/me/x", "/h"]);
            assert!(root == "/usr/home" || refused.contains(root), "{root}: {refused}");
        }
        let in_system = refusal(|plan| plan.closed.push("/usr/home/me".into()));
        assert!(in_system.contains("/usr/home/me"), "{in_system}");
    }

    #[test]
    fn a_key_that_the_helper_does_not_know_is_refused() {
        let json = serde_json::to_string(&plan()).expect("json");
        let json = json.replacen('{', "{\"unconfined\":true,", 1);
        assert!(serde_json::from_str::<RunPlan>(&json).is_err());
    }

    #[test]
    fn the_root_the_system_and_relative_paths_are_never_writable() {
        for bad in ["/", "/usr/lib/x", "work", "/a/../b"] {
            assert!(refusal(|plan| plan.writable.push(bad.into())).contains(bad), "{bad}");
        }
    }

    #[test]
    fn the_root_and_the_folders_of_processes_are_never_readable_as_a_whole() {
        for bad in ["/", "/proc", "/proc/1", "/dev/shm", "/sys"] {
            assert!(refusal(|plan| plan.read_only.push(bad.into())).contains(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_writable_cannot_be_hidden() {
        let hide = |plan: &mut RunPlan| plan.hidden.push("/run/work/.env".into());
        assert!(refusal(hide).contains("cannot be hidden"));
    }

    #[test]
    fn a_program_below_no_root_is_refused() {
        assert!(refusal(|plan| plan.program = "/opt/x/bin/x".into()).contains("none of the roots"));
        let mut plan = plan();
        plan.program = "/opt/x/bin/x".into();
        plan.read_only.push("/opt/x/bin".into());
        plan.check().expect("passes");
    }

    #[test]
    fn a_variable_that_loads_code_is_refused() {
        let set = |plan: &mut RunPlan| {
            plan.env.insert("LD_PRELOAD".to_owned(), "/tmp/x.so".to_owned());
        };
        assert!(refusal(set).contains("LD_PRELOAD"));
    }
}
