//! Scanning a skill on the disk for what it could do to its user.
//!
//! Rules and evidence are `metier-scan`'s; this reads the files, without following a link.

use std::io::Read;
use std::path::Path;

use metier_fs::{EntryKind, TreeReader};
use metier_scan::{FindingReport, Scanner};

use crate::error::{Error, Result};

/// Files and folders of a skill that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// Bytes of a file that is read.
const MAX_BYTES: u64 = 32 << 20;

/// What a scan finds in the folder of a skill. Every file is looked at, those in hidden folders and caches too:
/// an interpreter runs what lies there. Only `.git` is left out, and what is left out counts against the coverage.
pub fn scan_folder(folder: &Path) -> Result<FindingReport> {
    let unreadable = |error: std::io::Error| {
        Error::failed("IoError", format!("{} cannot be read: {error}", folder.display()))
    };
    let tree = TreeReader::open(folder).map_err(unreadable)?;
    let listing = tree
        .list(MAX_ENTRIES, |path| path != ".git" && !path.ends_with("/.git"))
        .map_err(unreadable)?;
    let mut scanner = Scanner::new();
    for node in &listing.nodes {
        let path = node.path.as_str();
        match node.kind {
            EntryKind::File => read(&tree, path, &mut scanner),
            EntryKind::Directory if path == ".git" || path.ends_with("/.git") => {
                scanner.unread(path, 0, "it is a repository");
            }
            EntryKind::Directory => {}
            EntryKind::Link => scanner.unread(path, 0, "it is a link"),
            _ => scanner.unread(path, 0, "it is not a regular file"),
        }
    }
    if listing.truncated {
        scanner.unread("", 0, "there are too many files");
    }
    Ok(scanner.finish())
}

fn read(tree: &TreeReader, path: &str, scanner: &mut Scanner) {
    let Ok(opened) = tree.open_file(path) else {
        return scanner.unread(path, 0, "it cannot be read");
    };
    if opened.size > MAX_BYTES {
        return scanner.unread(path, opened.size, "it is too large");
    }
    let mut bytes = Vec::new();
    match opened.file.take(MAX_BYTES).read_to_end(&mut bytes) {
        Ok(_) => scanner.file(path, &bytes),
        Err(_) => scanner.unread(path, opened.size, "it cannot be read"),
    }
}
