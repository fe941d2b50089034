//! A temporary directory for the trees of a bench, removed when the bench ends.
//!
//! A bench that was interrupted leaves gigabytes behind; the next one removes what processes that
//! no longer live have left.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const PREFIX: &str = "metier-bench-";

/// The directory; it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Makes the directory in `TMPDIR`, after sweeping away dead ones.
    pub(crate) fn new() -> Result<Self> {
        let temp = env::temp_dir();
        sweep(&temp);
        let dir = temp.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        // A later canonical path would be longer than the one that was measured.
        let dir = fs::canonicalize(&dir).context("cannot resolve the temporary directory")?;
        Ok(Self { dir })
    }

    /// A fresh, empty directory inside; what was there under this name is removed.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        eprintln!("bench: removing the trees");
        if fs::remove_dir_all(&self.dir).is_err() {
            eprintln!("bench: {} could not be removed", self.dir.display());
        }
    }
}

fn sweep(temp: &Path) {
    // Only where `/proc` tells who lives: elsewhere nothing is removed.
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
