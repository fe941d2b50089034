//! Artifacts of OCI registries, and OCI layouts on this machine.
//!
//! | module | owns |
//! |---|---|
//! | `reference` | `oci://HOST/NAME[:TAG][@sha256:…]` |
//! | `challenge`, `credentials` | how a registry asks who one is, and what Docker's file knows |
//! | `manifest` | manifests and indexes, and what a layer is |
//! | `layers` | which of several archives holds the skills |
//! | `registry`, `layout_dir` | the two places where blobs come from |
//!
//! The digest of the manifest is what the lock keeps; everything below it is checked by the digests that it
//! gives. Skills are in one archive, or are files that are a layer each.

mod challenge;
mod credentials;
mod layers;
mod layout_dir;
mod manifest;
mod reference;
mod registry;

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use metier_fs::PiecewiseFile;
use metier_net::Url;
use metier_skill::Digest;

use super::fault::{FetchError, FetchFault};
use super::http::{DownloadSettings, FetchWatch, Web, new_file, not_written, url_of};
use super::{Fetched, FetchedKind};
use crate::archive::inspect_archive;
use crate::limits::PackLimits;
use crate::source::OciSource;
use credentials::Credentials;
use layers::layer_uses;
use layout_dir::LayoutDir;
use manifest::{CREATED, Descriptor, Document, LayerUse, MAX_MANIFEST_BYTES, Manifest, pick};
use reference::OciReference;
use registry::Registry;

pub(crate) use credentials::basic;
pub(crate) use layout_dir::{INDEX, LAYOUT_VERSION, MARKER};
pub(crate) use manifest::REF_NAME;
pub(crate) use reference::{DOCKER_HUB, DOCKER_HUB_NAMES, is_tag, is_version_tag};

/// How many indexes may lie inside each other.
const MAX_INDEXES: usize = 2;
/// The largest configuration that is looked at.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Where blobs come from.
trait Blobs {
    /// A manifest by tag or digest, and its own digest, which is not checked yet.
    fn document(&self, wanted: &str) -> Result<(Vec<u8>, Digest), FetchError>;
    /// A blob, checked.
    fn blob(&self, blob: &Descriptor, what: &str, out: &mut dyn Write) -> Result<(), FetchError>;
}

/// Fetches an artifact of a registry, or of a layout.
pub(super) fn fetch(
    settings: &DownloadSettings,
    source: &OciSource,
    pinned: Option<&str>,
    into: &Path,
    limits: &PackLimits,
    watch: FetchWatch<'_>,
) -> Result<Fetched, FetchError> {
    let (url, recorded) = match source {
        OciSource::Registry { url } => (url, url.shown()),
        OciSource::Layout { path, recorded } => {
            let layout = LayoutDir::open(path, recorded)?;
            let artifact = Artifact { blobs: &layout, source: recorded, limits };
            // A directory may be written anew, whatever its index names.
            let fetched = artifact.fetch(&layout.wanted(), pinned, into)?;
            return Ok(Fetched { is_fixed: false, ..fetched });
        }
    };
    let bad = |why| FetchError::new(FetchFault::Reference, &recorded, why);
    let reference = OciReference::of(url).map_err(bad)?;
    let base = base_url(&reference, url).ok_or_else(|| bad("its host is not valid"))?;
    let web = Web::new(settings, &recorded, &base, registry::own_servers(&base), watch)?;
    let credentials = match &settings.docker {
        Some(folder) => Credentials::read(folder, &reference.registry)
            .map_err(|why| FetchError::new(FetchFault::Credentials, &recorded, why))?,
        None => Credentials::None,
    };
    let registry = Registry {
        web: &web,
        reference: &reference,
        base: &base,
        credentials,
        authorization: RefCell::new(None),
        withheld: RefCell::new(None),
    };
    let artifact = Artifact { blobs: &registry, source: &recorded, limits };
    let fetched = artifact.fetch(&reference.wanted(), pinned, into);
    let fetched = fetched.map(|it| Fetched { is_fixed: reference.is_fixed(), ..it });
    fetched.map_err(|error| match (&error.fault, pinned) {
        (FetchFault::Changed, Some(pinned)) => {
            let (registry, name) = (&reference.registry, &reference.name);
            error.advise(format!(
                "the tag was moved; to stay with what is locked: metier install oci://{registry}/{name}@{pinned}"
            ))
        }
        _ => error,
    })
}

/// Where a registry answers. On this machine registries speak plain http, as every program takes it.
fn base_url(reference: &OciReference, url: &crate::source::SourceUrl) -> Option<Url> {
    let is_local = matches!(url.host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    let scheme = if is_local { "http" } else { "https" };
    if reference.server() == reference.registry {
        return url_of(url, scheme, "/");
    }
    format!("{scheme}://{}/", reference.server()).parse().ok()
}

fn check_blob(
    source: &str,
    blob: &Descriptor,
    digest: Digest,
    bytes: u64,
) -> Result<(), FetchError> {
    if digest == blob.digest && bytes == blob.size {
        return Ok(());
    }
    let about = format!(
        "a blob is {digest} with {bytes} bytes, and its manifest says {} with {} bytes",
        blob.digest, blob.size
    );
    Err(FetchError::new(FetchFault::Digest, source, about))
}

/// One artifact that is being fetched.
struct Artifact<'a> {
    blobs: &'a dyn Blobs,
    source: &'a str,
    limits: &'a PackLimits,
}

impl Artifact<'_> {
    fn failed(&self, fault: FetchFault, about: impl AsRef<str>) -> FetchError {
        FetchError::new(fault, self.source, about)
    }

    fn fetch(
        &self,
        wanted: &str,
        pinned: Option<&str>,
        into: &Path,
    ) -> Result<Fetched, FetchError> {
        let (manifest, resolved) = self.manifest(wanted, pinned)?;
        let created = self.created(&manifest)?;
        let layers = layer_uses(&manifest.layers, self.limits)
            .map_err(|why| self.failed(FetchFault::Layers, why))?;
        let (path, kind) = match layers.first() {
            Some((_, LayerUse::Archive)) => (self.archive(&layers, into)?, FetchedKind::Archive),
            _ => (self.files(&layers, into)?, FetchedKind::Directory),
        };
        Ok(Fetched { released_at: created, ..Fetched::new(path, kind, resolved) })
    }

    /// The manifest that is meant, and the digest of what the tag led to.
    fn manifest(
        &self,
        wanted: &str,
        pinned: Option<&str>,
    ) -> Result<(Manifest, String), FetchError> {
        let bad = |why: String| self.failed(FetchFault::Manifest, why);
        let (mut bytes, digest) = self.blobs.document(wanted)?;
        let resolved = digest.to_string();
        if wanted.parse::<Digest>().is_ok() && wanted != resolved {
            let about = format!("its manifest is {resolved}, and {wanted} was asked for");
            return Err(self.failed(FetchFault::Digest, about));
        }
        if let Some(pinned) = pinned.filter(|pinned| *pinned != resolved) {
            let about = format!("it is {resolved} now, and skills.lock.json says {pinned}");
            return Err(self.failed(FetchFault::Changed, about));
        }
        for _ in 0..=MAX_INDEXES {
            let inner = match Document::parse(&bytes).map_err(bad)? {
                Document::Manifest(manifest) => return Ok((manifest, resolved)),
                Document::Index(all) => pick(all).map_err(bad)?,
            };
            if inner.size > MAX_MANIFEST_BYTES {
                return Err(bad("a manifest in its index is too large".to_owned()));
            }
            let digest;
            (bytes, digest) = self.blobs.document(&inner.digest.to_string())?;
            check_blob(self.source, &inner, digest, bytes.len() as u64)?;
        }
        Err(bad("its indexes lie too deep inside each other".to_owned()))
    }

    /// When it was made, as it says itself: in its manifest, or in the configuration of an image.
    fn created(&self, manifest: &Manifest) -> Result<Option<i64>, FetchError> {
        let seconds = |text: &str| text.parse().ok().map(|at: jiff::Timestamp| at.as_second());
        if let Some(text) = manifest.annotations.get(CREATED) {
            return Ok(seconds(text));
        }
        let config = &manifest.config;
        let is_image = config.media_type.contains("image.config")
            || config.media_type.contains("container.image");
        if !is_image || config.size > MAX_CONFIG_BYTES {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.blobs.blob(config, "reading the configuration", &mut bytes)?;
        let config: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(config["created"].as_str().and_then(seconds))
    }

    /// Fetches layers that are archives; gives the one that holds skills.
    fn archive(
        &self,
        layers: &[(&Descriptor, LayerUse)],
        into: &Path,
    ) -> Result<PathBuf, FetchError> {
        let place = |number: usize| into.join(format!("layer-{number}"));
        let mut listings = Vec::new();
        for (number, (layer, _)) in layers.iter().enumerate() {
            let mut file = new_file(self.source, &place(number))?;
            self.blobs.blob(layer, "downloading", &mut file)?;
            let files = match self.listing(&place(number)) {
                Ok(files) => files,
                // What is unsound about the only one is said, with its own code, when it is unpacked.
                Err(_) if layers.len() == 1 => return Ok(place(number)),
                Err(why) => {
                    let about = format!("layer {} cannot be read: {why}", number + 1);
                    return Err(self.failed(FetchFault::Layers, about));
                }
            };
            listings.push(files);
        }
        let number =
            layers::holder(&listings).map_err(|why| self.failed(FetchFault::Layers, why))?;
        Ok(place(number))
    }

    fn listing(&self, path: &Path) -> Result<Vec<String>, String> {
        let file = PiecewiseFile::open(path).map_err(|error| error.to_string())?;
        let files = inspect_archive(&file, self.limits).map_err(|error| error.to_string())?;
        Ok(files.into_iter().map(|file| file.path).collect())
    }

    /// Fetches layers that are a file each.
    fn files(
        &self,
        layers: &[(&Descriptor, LayerUse)],
        into: &Path,
    ) -> Result<PathBuf, FetchError> {
        let top = into.join("files");
        let written = |error: std::io::Error| not_written(self.source, &error);
        for (layer, layer_use) in layers {
            let LayerUse::File(title) = layer_use else { continue };
            let path = top.join(title);
            metier_fs::create_private_dir(path.parent().unwrap_or(&top)).map_err(written)?;
            let mut file = new_file(self.source, &path)?;
            self.blobs.blob(layer, "downloading", &mut file)?;
        }
        Ok(top)
    }
}

/// The names that a manifest in `bytes` gives to files that would be written; no challenge is a panic.
pub(super) fn named_in(bytes: &[u8]) -> Vec<String> {
    let _ = challenge::parse_challenges(&String::from_utf8_lossy(bytes));
    let Ok(Document::Manifest(manifest)) = Document::parse(bytes) else { return Vec::new() };
    let uses = layer_uses(&manifest.layers, &PackLimits::default()).unwrap_or_default();
    let named = uses.into_iter().filter_map(|(_, it)| match it {
        LayerUse::File(title) => Some(title),
        LayerUse::Archive => None,
    });
    named.collect()
}
