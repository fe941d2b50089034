//! The texts of trusted files, kept in the user's state so that a later change can be shown line by line.
//!
//! Only for people: nothing is decided by a text that stands here, and one that is not what its name says is
//! not shown. Small texts alone are kept, and only as long as a trust record names them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use metier_fs::{read_bounded, read_dir_names, remove_file, write_private};
use metier_skill::Digest;

const FOLDER: &str = "trusted-texts";
/// Bytes of a file whose text is kept.
pub const MAX_TEXT_BYTES: u64 = 256 << 10;

/// The kept texts of one user.
#[derive(Debug, Clone)]
pub struct TrustedTexts {
    folder: PathBuf,
}

impl TrustedTexts {
    /// Those in a state folder, which may not exist yet.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: state.join(FOLDER) }
    }

    /// Keeps a text under its digest.
    pub fn keep(&self, text: &str) -> io::Result<()> {
        let file = self.file(Digest::of(text.as_bytes()));
        if metier_fs::exists(&file) { Ok(()) } else { write_private(&file, text.as_bytes()) }
    }

    /// The text with this digest, if it is kept.
    pub fn text(&self, digest: Digest) -> Option<String> {
        let bytes = read_bounded(&self.file(digest), MAX_TEXT_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        (Digest::of(text.as_bytes()) == digest).then_some(text)
    }

    /// Removes every text that is not one of these.
    pub fn keep_only(&self, digests: impl IntoIterator<Item = Digest>) {
        let wanted: HashSet<String> = digests.into_iter().map(file_name).collect();
        for name in read_dir_names(&self.folder).unwrap_or_default() {
            if !wanted.contains(&name) {
                // What stays is found by the next change.
                let _ = remove_file(&self.folder.join(name));
            }
        }
    }

    fn file(&self, digest: Digest) -> PathBuf {
        self.folder.join(file_name(digest))
    }
}

fn file_name(digest: Digest) -> String {
    digest.as_bytes().iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_their_digest_and_dropped_when_no_record_names_them() {
        let state = tempfile::tempdir().expect("a directory");
        let texts = TrustedTexts::in_state(state.path());
        let digests = ["one\n", "two\n"].map(|text| {
            texts.keep(text).expect("keeps");
            Digest::of(text.as_bytes())
        });
        assert_eq!(texts.text(digests[1]).as_deref(), Some("two\n"));
        // Another text in its place is not shown as the one that was trusted.
        write_private(&texts.file(digests[1]), b"evil\n").expect("writes");
        assert_eq!(texts.text(digests[1]), None);
        texts.keep_only([digests[0]]);
        assert_eq!(texts.text(digests[0]).as_deref(), Some("one\n"));
        assert!(!texts.file(digests[1]).exists());
    }
}
