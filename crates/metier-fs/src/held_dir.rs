//! A directory that is held open, and what is in it: the folder of a project's records.
//!
//! A project can bring `.agent`, or anything in it, as a link to a folder of the user's; a record that
//! followed it would be written there. So each folder is opened beneath the one above it, by its name
//! and without following a link, and is then reached through its descriptor alone: what is swapped in
//! later is never seen. A folder is opened when it is first needed, and made where that is asked for.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metier_skill::Digest;

use crate::append::{AppendError, AppendFile};
use crate::file::{PiecewiseFile, ReadError, is_link_loop};
use crate::head::EntryKind;
use crate::lock::{FileLock, LockError};

#[cfg_attr(unix, path = "held_dir_unix.rs")]
#[cfg_attr(not(unix), path = "held_dir_portable.rs")]
mod system;

use system::Handle;

/// A directory that is held open from its first use on. A clone is the same one.
#[derive(Clone)]
pub struct HeldDir(Arc<Node>);

struct Node {
    path: PathBuf,
    place: Place,
    held: OnceLock<Handle>,
}

enum Place {
    /// By its path, links followed.
    Named,
    /// By its name in another.
    Below(HeldDir, String, FolderAccess),
}

/// Who may look into a folder that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderAccess {
    /// Its owner: 0700, and 0600 for files, whatever the umask. One that is found open is closed.
    OwnerAlone,
    /// Those whom the umask allows, but never everyone to write.
    ByUmask,
}

/// When a file has to be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns.
    Synced,
    /// When the system gets to it. A process that is killed loses nothing; a machine may.
    Buffered,
}

/// Why a directory cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeldDirError {
    /// A link stands there.
    Link(PathBuf),
    /// Something else than a folder stands there.
    NotADirectory(PathBuf),
    /// It is not there.
    Missing(PathBuf),
    /// The system refused.
    Io(PathBuf, io::Error),
}

impl fmt::Display for HeldDirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(path) => write!(f, "{} is a link", path.display()),
            Self::NotADirectory(path) => write!(f, "{} is not a folder", path.display()),
            Self::Missing(path) => write!(f, "{} does not exist", path.display()),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for HeldDirError {}

impl From<HeldDirError> for io::Error {
    fn from(error: HeldDirError) -> Self {
        let kind = match &error {
            HeldDirError::Missing(_) => io::ErrorKind::NotFound,
            HeldDirError::Io(_, error) => error.kind(),
            HeldDirError::Link(_) | HeldDirError::NotADirectory(_) => io::ErrorKind::NotADirectory,
        };
        Self::new(kind, error)
    }
}

impl fmt::Debug for HeldDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldDir").field(&self.0.path).finish()
    }
}

impl HeldDir {
    /// The directory at `path`. Links that lead to it are followed.
    pub fn at(path: &Path) -> Self {
        Self::new(path.to_owned(), Place::Named)
    }

    /// The directory `name` in this one, which is a single name.
    #[must_use]
    pub fn below(&self, name: &str, access: FolderAccess) -> Self {
        Self::new(self.0.path.join(name), Place::Below(self.clone(), name.to_owned(), access))
    }

    fn new(path: PathBuf, place: Place) -> Self {
        Self(Arc::new(Node { path, place, held: OnceLock::new() }))
    }

    /// Where it was looked for, to be shown.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether it is there. A link in its place is an error.
    pub fn is_there(&self) -> Result<bool, HeldDirError> {
        match self.handle() {
            Ok(_) => Ok(true),
            Err(HeldDirError::Missing(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes it where it is missing, and the folders above it.
    pub fn make(&self) -> Result<(), HeldDirError> {
        self.make_handle().map(|_| ())
    }

    /// Makes it and the folders above it; whether it is new.
    pub fn make_new(&self) -> Result<bool, HeldDirError> {
        if self.is_there()? {
            return Ok(false);
        }
        let Place::Below(above, name, access) = &self.0.place else {
            return self.make().map(|()| true);
        };
        match above.make_handle()?.make(name, *access) {
            Ok(()) => self.make().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(HeldDirError::Io(self.0.path.clone(), error)),
        }
    }

    /// The regular file at `path` below, of at most `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.opened()?.read(path, limit)
    }

    /// The regular file at `path` below, to be read in pieces however large it is.
    pub fn open_piecewise(&self, path: &str) -> Result<PiecewiseFile, ReadError> {
        let file = self.opened()?.open_file(path)?;
        let size = file.metadata()?.len();
        Ok(PiecewiseFile::of(file, size))
    }

    /// The digest of the regular file at `path` below, however large it is, and its bytes.
    pub fn digest(&self, path: &str) -> Result<(Digest, u64), ReadError> {
        let file = self.opened()?.open_file(path)?;
        Ok(Digest::of_reader(file)?)
    }

    /// Writes the file `name` whole, or leaves it as it was. What stands there is replaced, a link as
    /// itself. The directory is made where it is missing.
    pub fn write(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let access = match &self.0.place {
            Place::Named => FolderAccess::OwnerAlone,
            Place::Below(_, _, access) => *access,
        };
        self.make_handle()?.write(name, bytes, access, durability)
    }

    /// Appends a line to the file `name`, which is there. It is not waited for, and not locked: the caller
    /// is its one writer.
    pub fn append_line(&self, name: &str, line: &[u8]) -> io::Result<()> {
        let mut file = self.opened()?.open_to_append(name)?;
        io::Write::write_all(&mut file, line)
    }

    /// Makes the file `name`, to append to. It must not be there yet.
    pub fn create_append(&self, name: &str) -> Result<AppendFile, AppendError> {
        let made = self.make_handle().map_err(io::Error::from);
        AppendFile::of_new(made.and_then(|dir| dir.create(name)).map_err(AppendError::Io)?)
    }

    /// Opens the file `name` to append to, and gives what is in it, as [`AppendFile::open`] does.
    pub fn open_append(
        &self,
        name: &str,
        limit: u64,
    ) -> Result<(AppendFile, Vec<u8>, u64), AppendError> {
        let opened = self.opened().and_then(|dir| dir.open_to_append(name));
        AppendFile::of_existing(opened.map_err(AppendError::Io)?, limit)
    }

    /// Opens the file `name` to append to, however large it is. What follows the last line end is cut
    /// off, and its length given.
    pub fn continue_append(&self, name: &str) -> Result<(AppendFile, u64), AppendError> {
        let opened = self.opened().and_then(|dir| dir.open_to_append(name));
        AppendFile::at_end_of(opened.map_err(AppendError::Io)?)
    }

    /// Takes the lock that the file `name` stands for, and waits for another holder at most `timeout`. The
    /// file is made where it is missing, and stays.
    pub fn lock(&self, name: &str, timeout: Duration) -> Result<FileLock, LockError> {
        let made = self.make_handle().map_err(io::Error::from).map_err(LockError::Io)?;
        let file = match made.create(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => made.open_to_append(name),
            other => other,
        };
        FileLock::of_file(file.map_err(LockError::Io)?, &self.0.path.join(name), timeout)
    }

    /// Whether a process holds the file `name` open to append to. Where the system cannot say it, because it is out of
    /// descriptors or locks, one may: what is taken from a process that lives is done twice.
    pub fn is_busy(&self, name: &str) -> bool {
        match self.opened().and_then(|dir| dir.open_to_append(name)) {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => {
                use io::ErrorKind::{
                    InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
                    ReadOnlyFilesystem,
                };
                // None of ours appends to what is not there, is no regular file, or is closed to it.
                let is_other = matches!(error.kind(), NotFound | IsADirectory | NotADirectory)
                    || matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem);
                !is_other && !is_link_loop(&error)
            }
        }
    }

    /// The names in it, sorted; those that are not UTF-8 are left out.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = self.opened()?.names()?;
        names.sort();
        Ok(names)
    }

    /// What stands at `path` below; `None` where nothing does.
    pub fn kind(&self, path: &str) -> Option<EntryKind> {
        self.handle().ok()?.kind(path)
    }

    /// Bytes of the regular file at `path` below.
    pub fn size(&self, path: &str) -> Option<u64> {
        self.handle().ok()?.size(path)
    }

    /// Removes the file `name`; one that is not there is fine.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        match self.opened()?.remove_file(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// A path that leads to this very directory while it is held, whatever stands at its name now;
    /// where the system has none, its name. It is made where it is missing.
    pub fn stable_path(&self) -> Result<PathBuf, HeldDirError> {
        Ok(self.make_handle()?.stable_path(&self.0.path))
    }

    pub(crate) fn handle(&self) -> Result<&Handle, HeldDirError> {
        if let Some(held) = self.0.held.get() {
            return Ok(held);
        }
        let path = &self.0.path;
        let opened = match &self.0.place {
            Place::Named => Handle::open(path),
            Place::Below(above, name, access) => {
                let above = above.handle()?;
                let opened = above.below(path, name);
                // A link is no directory to an opening that follows none.
                match above.kind(name).filter(|_| opened.is_err()) {
                    Some(EntryKind::Link) => return Err(HeldDirError::Link(path.clone())),
                    Some(EntryKind::Directory) | None => {}
                    Some(_) => return Err(HeldDirError::NotADirectory(path.clone())),
                }
                opened.and_then(|dir| dir.closed(*access))
            }
        };
        let opened = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => HeldDirError::Missing(path.clone()),
            _ => HeldDirError::Io(path.clone(), error),
        })?;
        Ok(self.0.held.get_or_init(|| opened))
    }

    fn make_handle(&self) -> Result<&Handle, HeldDirError> {
        let missing = match self.handle() {
            Ok(held) => return Ok(held),
            Err(HeldDirError::Missing(_)) => &self.0.path,
            Err(error) => return Err(error),
        };
        let made = match &self.0.place {
            Place::Named => crate::private::create_private_dir(missing),
            Place::Below(above, name, access) => above.make_handle()?.make(name, *access),
        };
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(HeldDirError::Io(missing.clone(), error))
            }
            // Also where another process was faster.
            _ => self.handle(),
        }
    }

    fn opened(&self) -> io::Result<&Handle> {
        self.handle().map_err(io::Error::from)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn runs(top: &Path) -> HeldDir {
        let agent = HeldDir::at(top).below(".agent", FolderAccess::ByUmask);
        agent.below("runs", FolderAccess::ByUmask)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").mode() & 0o7777
    }

    #[test]
    fn folders_are_made_when_something_is_put_into_them_and_for_whom_they_are() {
        let tmp = tempfile::tempdir().expect("dir");
        let runs = runs(tmp.path());
        let run = runs.below("r", FolderAccess::OwnerAlone);
        assert!(!run.is_there().expect("no link"));
        assert!(run.names().is_err() && !tmp.path().join(".agent").exists());
        assert!(run.make_new().expect("makes") && !run.make_new().expect("is there"));
        run.write("run.json", b"{}", Durability::Synced).expect("writes");
        run.write("run.json", b"{1}", Durability::Buffered).expect("writes");
        assert_eq!(run.read("run.json", 10).expect("reads"), b"{1}");
        assert!(matches!(run.read("run.json", 2), Err(ReadError::TooLarge(2))));
        let mut log = run.create_append("log").expect("makes");
        log.append(b"one\n").expect("appends");
        assert!(run.is_busy("log") && run.create_append("log").is_err());
        drop(log);
        assert!(!run.is_busy("log"));
        assert_eq!(run.open_append("log", 10).expect("opens").1, b"one\n");
        let lock = run.lock("lock", Duration::ZERO).expect("takes it");
        assert!(matches!(run.lock("lock", Duration::ZERO), Err(LockError::Busy(_))));
        drop(lock);
        drop(run.lock("lock", Duration::ZERO).expect("is free again"));
        run.remove_file("lock").expect("removes");
        let at = tmp.path().join(".agent/runs/r");
        assert_eq!(
            (mode(&at), mode(&at.join("log")), mode(&at.join("run.json"))),
            (0o700, 0o600, 0o600)
        );
        assert_eq!(mode(&tmp.path().join(".agent/runs")) & 0o702, 0o700);
        assert_eq!(run.names().expect("lists"), ["log", "run.json"]);
        assert_eq!((run.kind("log"), run.size("log")), (Some(EntryKind::File), Some(4)));
        run.remove_file("log").expect("removes");
        run.remove_file("log").expect("is gone");
        fs::set_permissions(&at, PermissionsExt::from_mode(0o777)).expect("chmod");
        assert!(runs.below("r", FolderAccess::OwnerAlone).is_there().expect("opens"));
        assert_eq!(mode(&at), 0o700, "closed again");
    }

    #[test]
    fn a_file_is_not_free_because_there_are_no_descriptors_to_ask_with() {
        const CHILD: &str = "METIER_TEST_NO_DESCRIPTORS";
        let tmp = tempfile::tempdir().expect("dir");
        let run = runs(tmp.path()).below("r", FolderAccess::OwnerAlone);
        if std::env::var_os(CHILD).is_none() {
            let own = std::env::current_exe().expect("a test binary");
            let mut child = std::process::Command::new("sh");
            child.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""]).arg(own).env(CHILD, "1");
            let name = "a_file_is_not_free_because_there_are_no_descriptors_to_ask_with";
            child.args(["--exact", &format!("held_dir::tests::{name}"), "--nocapture"]);
            let ran = child.output().expect("starts");
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "it was found");
            return;
        }
        let log = run.create_append("log").expect("makes");
        assert!(run.is_busy("log") && !run.is_busy("other"));
        let all: Vec<fs::File> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
        assert!(all.len() > 10 && run.is_busy("log"), "{}", all.len());
        drop((all, log));
        assert!(!run.is_busy("log"));
        symlink("/dev/null", tmp.path().join(".agent/runs/r/link")).expect("link");
        assert!(!run.is_busy("link") && !run.is_busy("."));
    }

    #[test]
    fn a_large_file_is_continued_and_read_without_being_held_in_memory() {
        let tmp = tempfile::tempdir().expect("dir");
        let run = runs(tmp.path()).below("r", FolderAccess::OwnerAlone);
        let mut log = run.create_append("log").expect("makes");
        let long = [vec![b'x'; 200_000], b"\n".to_vec()].concat();
        log.append(&long).expect("appends");
        log.append(&long[..150_000]).expect("appends");
        drop(log);
        let (mut log, torn) = run.continue_append("log").expect("opens");
        assert_eq!((torn, run.size("log")), (150_000, Some(200_001)));
        assert!(matches!(run.continue_append("log"), Err(AppendError::Busy)));
        log.append(b"two\n").expect("appends");
        let file = run.open_piecewise("log").expect("opens");
        let mut end = [0; 5];
        file.read_at(file.size() - 5, &mut end).expect("reads");
        assert_eq!(&end, b"\ntwo\n");
        drop(log);
        fs::write(tmp.path().join(".agent/runs/r/log"), "no line end").expect("writes");
        assert_eq!(run.continue_append("log").expect("opens").1, 11);
        assert_eq!(run.size("log"), Some(0));
        assert_eq!(run.continue_append("log").expect("opens").1, 0);
    }

    #[test]
    fn no_link_is_followed_wherever_it_stands() {
        for place in [".agent", ".agent/runs", ".agent/runs/r"] {
            let tmp = tempfile::tempdir().expect("dir");
            let outside = tmp.path().join("outside");
            fs::create_dir_all(outside.join("runs/r")).expect("dirs");
            let top = tmp.path().join("top");
            let link = top.join(place);
            fs::create_dir_all(link.parent().expect("one")).expect("dirs");
            let depth = place.matches('/').count();
            let target = [outside.clone(), outside.join("runs"), outside.join("runs/r")];
            symlink(&target[depth], &link).expect("link");
            let run = runs(&top).below("r", FolderAccess::OwnerAlone);
            for error in [run.make().expect_err("a link"), run.is_there().expect_err("a link")] {
                assert!(matches!(&error, HeldDirError::Link(path) if *path == link), "{error}");
            }
            assert!(run.write("f", b"x", Durability::Synced).is_err());
            assert!(run.stable_path().is_err() && run.create_append("f").is_err());
            assert!(run.lock("f", Duration::ZERO).is_err());
            assert_eq!(fs::read_dir(outside.join("runs/r")).expect("lists").count(), 0);
            fs::remove_file(&link).expect("removes");
            fs::write(&link, "a file").expect("writes");
            let error = runs(&top).below("r", FolderAccess::OwnerAlone).make().expect_err("a file");
            assert!(
                matches!(&error, HeldDirError::NotADirectory(path) if *path == link),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_swapped_in_while_it_is_held_is_not_seen() {
        let tmp = tempfile::tempdir().expect("dir");
        let (top, outside) = (tmp.path().join("top"), tmp.path().join("outside"));
        fs::create_dir_all(outside.join("runs/r/trash")).expect("dirs");
        fs::create_dir(&top).expect("dir");
        let run = runs(&top).below("r", FolderAccess::OwnerAlone);
        run.make().expect("makes");
        fs::rename(top.join(".agent"), tmp.path().join("moved")).expect("moves");
        symlink(&outside, top.join(".agent")).expect("link");
        run.write("run.json", b"1", Durability::Synced).expect("writes");
        run.below("trash", FolderAccess::OwnerAlone)
            .write("t", b"2", Durability::Synced)
            .expect("writes");
        let stable = run.stable_path().expect("a path");
        #[cfg(target_os = "linux")]
        assert_eq!(fs::read(stable.join("run.json")).expect("reads"), b"1");
        #[cfg(not(target_os = "linux"))]
        let _ = stable;
        assert_eq!(fs::read(tmp.path().join("moved/runs/r/trash/t")).expect("reads"), b"2");
        assert_eq!(fs::read_dir(outside.join("runs/r")).expect("lists").count(), 1);
        assert_eq!(fs::read_dir(outside.join("runs/r/trash")).expect("lists").count(), 0);
    }

    #[test]
    fn a_file_that_is_a_link_or_has_a_second_name_is_not_written_through() {
        let tmp = tempfile::tempdir().expect("dir");
        let secret = tmp.path().join("secret");
        fs::write(&secret, "keep\n").expect("writes");
        let run = runs(tmp.path()).below("r", FolderAccess::OwnerAlone);
        run.make().expect("makes");
        let at = tmp.path().join(".agent/runs/r");
        symlink(&secret, at.join("link")).expect("link");
        fs::hard_link(&secret, at.join("hard")).expect("link");
        assert!(run.open_append("link", 100).is_err() && run.open_append("hard", 100).is_err());
        assert!(run.read("link", 100).is_err());
        run.write("link", b"new", Durability::Synced).expect("replaces the link");
        run.write("hard", b"new", Durability::Synced).expect("replaces the name");
        assert_eq!(fs::read(&secret).expect("reads"), b"keep\n");
        assert_eq!(run.kind("link"), Some(EntryKind::File));
    }
}
