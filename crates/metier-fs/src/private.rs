//! Folders and files that are for their owner alone: the user's state, and the records of runs.
//!
//! Modes are set, not asked for: a umask of 000 once made the user's remembered answers a file that
//! every account could write. A folder that is found open to others is closed when it is used.
//! Whether what is in it can be believed is for `foreign_access`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The mode of a private folder and of a private file.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a directory, and those above it that are missing, for the owner alone. One that exists and
/// is open to others is closed; those above it are left as they are.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => close(path, &found, DIR_MODE),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_missing(path),
        Err(error) => Err(error),
    }
}

fn make_missing(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty())
        && !above.is_dir()
    {
        make_missing(above)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIR_MODE);
    match builder.create(path) {
        Ok(()) => set_mode(path, DIR_MODE),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a new file for the owner alone. One that is there already, or a link, is an error.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let file = create_new(path, FILE_MODE)?;
    set_private(&file)?;
    Ok(file)
}

/// Writes a file for the owner alone, whole or not at all, in a folder for the owner alone. Whatever
/// stands at `path` is replaced, also a link.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_private_dir(parent)?;
    let mut file = tempfile::Builder::new().prefix(".metier-").tempfile_in(parent)?;
    set_private(file.as_file())?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Closes a folder of state to others, and what stands in it: folders and files, but not the files
/// that are `judged` by their mode, whose content must not become believable by that. What is not
/// there is fine.
pub fn close_state(folder: &Path, judged: &[&str]) -> io::Result<()> {
    let found = match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    close(folder, &found, DIR_MODE)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Links are left alone: a mode is that of their target, which stands elsewhere.
        let found = entry.metadata()?;
        let is_judged = judged.iter().any(|name| entry.file_name() == *name);
        match found.file_type() {
            kind if kind.is_dir() => close(&entry.path(), &found, DIR_MODE)?,
            kind if kind.is_file() && !is_judged => close(&entry.path(), &found, FILE_MODE)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether others than its owner may read or write what stands at `path`. Elsewhere than on Unix the system
/// closes the folders of a user, and the answer is no.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// A new file with `mode`, as far as the umask allows.
pub(crate) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Gives an open file the mode of a private one.
#[cfg(unix)]
pub(crate) fn set_private(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(FILE_MODE))
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Takes away what `most` does not allow; what the owner took from themselves stays away.
#[cfg(unix)]
fn close(path: &Path, found: &fs::Metadata, most: u32) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode() & 0o7777;
    if mode & !most == 0 { Ok(()) } else { set_mode(path, mode & most) }
}

/// Elsewhere the folders of a user are closed to others by the system.
#[cfg(not(unix))]
pub(crate) fn set_private(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn close(_: &Path, _: &fs::Metadata, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").mode() & 0o7777
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    }

    #[test]
    fn what_is_private_is_made_so_and_closed_when_it_is_found_open() {
        let tmp = tempfile::tempdir().expect("dir");
        chmod(tmp.path(), 0o755);
        let state = tmp.path().join("a/state");
        write_private(&state.join("pending/note"), b"1").expect("writes");
        for dir in ["a", "a/state", "a/state/pending"] {
            assert_eq!(mode(&tmp.path().join(dir)), 0o700, "{dir}");
        }
        assert_eq!(mode(tmp.path()), 0o755, "what was there above is not ours");
        let note = state.join("pending/note");
        assert_eq!(mode(&note), 0o600);
        assert!(!is_open_to_others(&note));
        chmod(&note, 0o666);
        assert!(is_open_to_others(&note));
        chmod(&state.join("pending"), 0o2777);
        write_private(&note, b"2").expect("writes");
        assert_eq!((mode(&note), mode(&state.join("pending"))), (0o600, 0o700));
        let file = state.join("new");
        create_private_file(&file).expect("makes");
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_state_folder_is_closed_but_what_is_judged_by_its_mode_is_not_whitewashed() {
        let tmp = tempfile::tempdir().expect("dir");
        let state = tmp.path().join("state");
        close_state(&state, &[]).expect("there is none yet");
        for file in ["refresh.json", "trust.json"] {
            write_private(&state.join(file), b"x").expect("writes");
            chmod(&state.join(file), 0o666);
        }
        create_private_dir(&state.join("exec")).expect("makes");
        let outside = tmp.path().join("outside");
        fs::write(&outside, "x").expect("writes");
        chmod(&outside, 0o644);
        std::os::unix::fs::symlink(&outside, state.join("link")).expect("link");
        for open in [state.join("exec"), state.clone()] {
            chmod(&open, 0o777);
        }
        close_state(&state, &["trust.json"]).expect("closes");
        for (path, wanted) in
            [("", 0o700), ("exec", 0o700), ("refresh.json", 0o600), ("trust.json", 0o666)]
        {
            assert_eq!(mode(&state.join(path)), wanted, "{path:?}");
        }
        assert_eq!(mode(&outside), 0o644);
    }
}
