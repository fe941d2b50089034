//! An OCI layout: the gzipped tar of `pack` as the one layer of an image, with nothing in it that depends on
//! the machine or the time.
//!
//! It is an image by its media types, so that every program that copies, shows or mounts images takes it
//! (`skopeo inspect` refuses other configurations); that it is a skill stands in `artifactType` and the
//! annotations.

use std::io::Write;
use std::path::{Path, PathBuf};

use metier_fs::WholeFile;
use metier_skill::Digest;
use serde_json::{Map, Value, json};

use super::tar_writer::{TarPacking, TarWriter};
use super::{ArchiveWriter, PackPlan, Packed};
use crate::archive::ArchiveKind;
use crate::error::PackError;
use crate::fetch::oci::{INDEX, LAYOUT_VERSION, MARKER, REF_NAME, is_tag};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SKILL: &str = "application/vnd.agentskills.skill.v1";

/// A blob that was written.
struct Blob {
    digest: Digest,
    size: u64,
}

impl Blob {
    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest, "size": self.size})
    }
}

impl PackPlan {
    /// Writes an OCI layout to the directory `target`, which must not be there. It appears whole.
    pub fn write_oci(mut self, target: &Path) -> Result<Packed, PackError> {
        self.kind = ArchiveKind::TarGz;
        let written = |error| PackError::not_written(target, error);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let making = target.with_file_name(format!(".{name}.metier-{}", std::process::id()));
        if !metier_fs::create_dir(&making).map_err(written)? {
            return Err(written(std::io::ErrorKind::AlreadyExists.into()));
        }
        let made = self.write_layout(&making, target).and_then(|made| {
            // What stands there is not replaced.
            metier_fs::rename_dir(&making, target).map_err(written)?;
            Ok(made)
        });
        if made.is_err() {
            let _ = metier_fs::remove_tree(&making);
        }
        let (manifest, layer, tag) = made?;
        let path = target.to_string_lossy().into_owned();
        Ok(Packed { path, bytes: layer, digest: manifest, tag: Some(tag), plan: self })
    }

    /// Gives the digest of the manifest, the bytes of the layer and the tag.
    fn write_layout(&self, dir: &Path, target: &Path) -> Result<(Digest, u64, String), PackError> {
        let blobs = dir.join("blobs/sha256");
        let written = |error| PackError::not_written(target, error);
        for made in [dir.join("blobs"), blobs.clone()] {
            metier_fs::create_dir(&made).map_err(written)?;
        }
        let (layer, unpacked) = self.write_layer(&blobs, target)?;
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [unpacked]},
        });
        let config = put(&blobs, &config).map_err(written)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": SKILL,
            "config": config.descriptor("application/vnd.oci.image.config.v1+json"),
            "layers": [layer.descriptor("application/vnd.oci.image.layer.v1.tar+gzip")],
            "annotations": self.annotations(),
        });
        let manifest = put(&blobs, &manifest).map_err(written)?;
        let tag = self.tag();
        let mut descriptor = manifest.descriptor(MANIFEST);
        descriptor["artifactType"] = json!(SKILL);
        descriptor["annotations"] = json!({REF_NAME: tag});
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [descriptor],
        });
        put_at(&dir.join(INDEX), &index).map_err(written)?;
        put_at(&dir.join(MARKER), &json!({"imageLayoutVersion": LAYOUT_VERSION}))
            .map_err(written)?;
        Ok((manifest.digest, layer.size, tag))
    }

    /// The layer, and the digest of the tar in it.
    fn write_layer(&self, blobs: &Path, target: &Path) -> Result<(Blob, Digest), PackError> {
        let written = |error| PackError::not_written(target, error);
        let path = blobs.join("layer");
        let mut file = WholeFile::create(&path).map_err(written)?;
        let mut writer = TarWriter::new(&mut file, TarPacking::Gzip);
        self.write_entries(&mut writer, target)?;
        writer.finish().map_err(written)?;
        let unpacked = writer.unpacked_digest();
        let (digest, size) = self.check(target, file.path())?;
        file.finish_new().map_err(written)?;
        metier_fs::rename_over(&path, &place(blobs, digest)).map_err(written)?;
        Ok((Blob { digest, size }, unpacked))
    }

    /// The version of the skill, where there is one that can be a tag.
    fn tag(&self) -> String {
        let version = match &self.skills[..] {
            [skill] => skill.version.as_deref().filter(|version| is_tag(version)),
            _ => None,
        };
        version.unwrap_or("latest").to_owned()
    }

    fn annotations(&self) -> Map<String, Value> {
        let mut notes = Map::new();
        if let ([skill], [found]) = (&self.skills[..], &self.found[..]) {
            notes.insert("io.agentskills.skill.name".to_owned(), json!(skill.name));
            notes.insert("org.opencontainers.image.title".to_owned(), json!(skill.name));
            let description = &found.summary.description;
            notes.insert("org.opencontainers.image.description".to_owned(), json!(description));
            if let Some(version) = &skill.version {
                notes.insert("org.opencontainers.image.version".to_owned(), json!(version));
            }
        }
        notes
    }
}

fn place(blobs: &Path, digest: Digest) -> PathBuf {
    let text = digest.to_string();
    blobs.join(text.trim_start_matches("sha256:"))
}

fn put(blobs: &Path, value: &Value) -> std::io::Result<Blob> {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    let blob = Blob { digest: Digest::of(&bytes), size: bytes.len() as u64 };
    write(&place(blobs, blob.digest), &bytes)?;
    Ok(blob)
}

fn put_at(path: &Path, value: &Value) -> std::io::Result<()> {
    write(path, &serde_json::to_vec(value).unwrap_or_default())
}

/// A new file that others may read, like the layer.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.finish_new()
}
