//! An OCI layout: a directory on this machine with an index and blobs by digest.
//! It is read without following a link.

use std::io::{Read, Write};
use std::path::Path;

use metier_fs::TreeReader;
use metier_skill::Digest;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::Blobs;
use super::manifest::{Descriptor, Document, MAX_MANIFEST_BYTES, REF_NAME, pick};
use crate::fetch::fault::{FetchError, FetchFault};

/// The file that says that a directory is a layout, and what it has to say.
pub(crate) const MARKER: &str = "oci-layout";
pub(crate) const LAYOUT_VERSION: &str = "1.0.0";
pub(crate) const INDEX: &str = "index.json";

/// A layout, read without following a link.
pub(super) struct LayoutDir {
    tree: TreeReader,
    source: String,
    /// The manifest that the index names.
    top: Descriptor,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

impl LayoutDir {
    /// The layout at `path`, which errors call `source`.
    pub(super) fn open(path: &Path, source: &str) -> Result<Self, FetchError> {
        let bad = |why: String| FetchError::new(FetchFault::Manifest, source, why);
        let tree = TreeReader::open(path).map_err(|error| bad(error.to_string()))?;
        let marker: Marker = serde_json::from_slice(&read(&tree, MARKER).map_err(bad)?)
            .map_err(|error| bad(format!("{MARKER}: {error}")))?;
        if marker.image_layout_version != LAYOUT_VERSION {
            return Err(bad(format!("it is a layout of version {}", marker.image_layout_version)));
        }
        let index = read(&tree, INDEX).map_err(bad)?;
        let Document::Index(all) = Document::parse(&index).map_err(bad)? else {
            return Err(bad(format!("{INDEX} is not an index")));
        };
        let names: Vec<String> =
            all.iter().filter_map(|it| it.annotations.get(REF_NAME).cloned()).collect();
        let top = pick(all).map_err(|why| {
            let names =
                if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            bad(format!("{why}{names}"))
        })?;
        Ok(Self { tree, source: source.to_owned(), top })
    }

    /// The digest of the manifest that the index names.
    pub(super) fn wanted(&self) -> String {
        self.top.digest.to_string()
    }
}

/// A small file of the layout.
fn read(tree: &TreeReader, path: &str) -> Result<Vec<u8>, String> {
    let opened = tree.open_file(path).map_err(|error| format!("{path}: {error}"))?;
    let mut bytes = Vec::new();
    let mut limited = opened.file.take(MAX_MANIFEST_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(|error| format!("{path}: {error}"))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(format!("{path} is larger than {MAX_MANIFEST_BYTES} bytes"));
    }
    Ok(bytes)
}

fn place(digest: &str) -> String {
    format!("blobs/{}", digest.replacen(':', "/", 1))
}

impl Blobs for LayoutDir {
    fn document(&self, wanted: &str) -> Result<(Vec<u8>, Digest), FetchError> {
        let bytes = read(&self.tree, &place(wanted))
            .map_err(|why| FetchError::new(FetchFault::Manifest, &self.source, why))?;
        let digest = Digest::of(&bytes);
        Ok((bytes, digest))
    }

    fn blob(&self, blob: &Descriptor, _: &str, out: &mut dyn Write) -> Result<(), FetchError> {
        let path = place(&blob.digest.to_string());
        let bad = |why: String| {
            FetchError::new(FetchFault::Layers, &self.source, format!("{path}: {why}"))
        };
        let opened = self.tree.open_file(&path).map_err(|error| bad(error.to_string()))?;
        let mut limited = opened.file.take(blob.size.saturating_add(1));
        let (mut hasher, mut bytes) = (Sha256::new(), 0);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = limited.read(&mut buffer).map_err(|error| bad(error.to_string()))?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
            out.write_all(&buffer[..read])
                .map_err(|error| crate::fetch::http::not_written(&self.source, &error))?;
        }
        let digest = Digest::from_bytes(hasher.finalize().into());
        super::check_blob(&self.source, blob, digest, bytes)
    }
}
