//! A large file that appears whole: written piece by piece beside its place, then renamed into it.
//! For files that are too large to be held in memory; `write_atomic` is for the others.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::file::check_replaceable;

/// A file that is being written. Dropped without [`WholeFile::finish`], nothing is left of it.
#[derive(Debug)]
pub struct WholeFile {
    file: tempfile::NamedTempFile,
    target: PathBuf,
}

impl WholeFile {
    /// Begins a file for `target`, whose directory is there.
    pub fn create(target: &Path) -> io::Result<Self> {
        let parent =
            target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.exists() {
            // The error of the system names a file that no one asked for.
            return Err(io::Error::new(io::ErrorKind::NotFound, "its folder is missing"));
        }
        check_replaceable(target)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".metier-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        Ok(Self { file: builder.tempfile_in(parent)?, target: target.to_owned() })
    }

    /// Writes `bytes` over what was written at `offset`, and continues at the end.
    pub fn write_over(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file: &mut File = self.file.as_file_mut();
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)?;
        file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Forgets what was written from `offset` on.
    pub fn cut(&mut self, offset: u64) -> io::Result<()> {
        let file = self.file.as_file_mut();
        file.set_len(offset)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(())
    }

    /// Where it is while it is written, for a look at it before it counts.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Puts the file in its place, over the regular file that stands there.
    pub fn finish(self) -> io::Result<()> {
        check_replaceable(&self.target)?;
        self.file.as_file().sync_data()?;
        self.file.persist(&self.target).map_err(|error| error.error)?;
        Ok(())
    }

    /// Puts the file in its place, where nothing stands.
    pub fn finish_new(self) -> io::Result<()> {
        self.file.as_file().sync_data()?;
        self.file.persist_noclobber(&self.target).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let tmp = tempfile::tempdir().expect("dir");
        let target = tmp.path().join("a.zip");
        let mut file = WholeFile::create(&target).expect("begins");
        file.write_all(b"1234").expect("writes");
        assert!(!target.exists());
        file.write_over(1, b"xx").expect("writes over");
        file.write_all(b"5 and more").expect("writes");
        file.cut(5).expect("cuts");
        file.finish_new().expect("finishes");
        assert_eq!(std::fs::read(&target).expect("reads"), b"1xx45");
        let second = WholeFile::create(&target).expect("begins");
        assert!(second.finish_new().is_err());
        drop(WholeFile::create(&target).expect("begins"));
        assert_eq!(crate::read_dir_names(tmp.path()).expect("lists"), ["a.zip"]);
    }

    #[test]
    #[cfg(unix)]
    fn only_a_regular_file_is_replaced() {
        let tmp = tempfile::tempdir().expect("dir");
        let real = tmp.path().join("real");
        std::fs::write(&real, b"kept").expect("writes");
        let (link, pipe, folder) =
            (tmp.path().join("link"), tmp.path().join("pipe"), tmp.path().join("folder"));
        std::os::unix::fs::symlink(&real, &link).expect("links");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        std::fs::create_dir(&folder).expect("a folder");
        for path in [&link, &pipe, &folder] {
            let before = crate::entry_kind(path);
            assert!(crate::replace_shared(path, b"new").is_err(), "{}", path.display());
            assert!(WholeFile::create(path).is_err(), "{}", path.display());
            let begun = tmp.path().join("begun");
            let late = WholeFile::create(&begun).expect("begins");
            std::fs::rename(path, &begun).expect("comes meanwhile");
            assert!(late.finish().is_err(), "{}", path.display());
            std::fs::rename(&begun, path).expect("goes back");
            assert_eq!(crate::entry_kind(path), before);
        }
        assert!(crate::write_atomic(&pipe, b"new").is_err());
        assert_eq!(std::fs::read(&real).expect("reads"), b"kept");
        crate::replace_shared(&real, b"new").expect("a regular file is replaced");
        assert!(
            WholeFile::create(&tmp.path().join("no/a.zip"))
                .is_err_and(|error| { error.to_string() == "its folder is missing" })
        );
    }
}
