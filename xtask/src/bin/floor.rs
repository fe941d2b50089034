//! The floor of discovery: open each `SKILL.md` below a root and read its first 4 KiB, in one
//! thread, and nothing else.
//!
//! `xtask-floor ROOT DEPTH`: skills stand DEPTH directories below ROOT (1: flat, 2: grouped). It
//! changes into ROOT first, so that the kernel resolves the shortest paths. It prints the number
//! of files it read, for the bench to check.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures the bare file system, without Metier's crates between"
)]

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const BLOCK: usize = 4096;

fn main() -> io::Result<()> {
    let mut args = env::args_os().skip(1);
    let root = args.next().ok_or(io::ErrorKind::InvalidInput)?;
    let depth = args.next().ok_or(io::ErrorKind::InvalidInput)?;
    env::set_current_dir(root)?;
    let count = if depth == "2" { read_grouped()? } else { read_skills(Path::new("."))? };
    println!("{count}");
    Ok(())
}

fn read_grouped() -> io::Result<usize> {
    let mut count = 0;
    for group in fs::read_dir(".")? {
        count += read_skills(Path::new(&group?.file_name()))?;
    }
    Ok(count)
}

fn read_skills(dir: &Path) -> io::Result<usize> {
    let mut block = [0; BLOCK];
    let mut count = 0;
    for skill in fs::read_dir(dir)? {
        let name = skill?.file_name();
        let mut path = if dir == Path::new(".") { PathBuf::from(name) } else { dir.join(name) };
        path.push("SKILL.md");
        count += usize::from(File::open(path)?.read(&mut block)? > 0);
    }
    Ok(count)
}
