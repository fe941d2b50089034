//! Manifests and indexes: JSON becomes descriptors, or is refused. Pure.
//!
//! A document that could be read both as an index and as a manifest is refused: what one program checked,
//! another would not fetch (CVE-2021-41190).

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::Deserialize;

/// The largest manifest, which is also what registries take.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// Layers of one artifact.
const MAX_LAYERS: usize = 1000;

/// What may come for a manifest.
pub(crate) const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

pub(crate) const TITLE: &str = "org.opencontainers.image.title";
pub(crate) const CREATED: &str = "org.opencontainers.image.created";
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// How `oras` marks a folder that it packed.
const UNPACK: &str = "io.deis.oras.content.unpack";
/// How a builder marks what is about an image and not one.
const ATTESTATION: &str = "vnd.docker.reference.type";

/// A blob by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) platform: Option<Platform>,
}

/// What an image runs on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Platform {
    architecture: String,
    os: String,
}

/// A document that a registry gives for a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Document {
    /// Several manifests.
    Index(Vec<Descriptor>),
    /// One artifact.
    Manifest(Manifest),
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDocument {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    manifests: Option<Vec<Descriptor>>,
    #[serde(default)]
    layers: Option<Vec<Descriptor>>,
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Document {
    /// The document in `bytes`; or what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let raw: RawDocument = serde_json::from_slice(bytes)
            .map_err(|error| format!("its manifest cannot be read: {error}"))?;
        if raw.schema_version != 2 {
            return Err(format!("its manifest has the old schema version {}", raw.schema_version));
        }
        let says_index =
            raw.media_type.as_deref().map(|it| it.contains("index") || it.contains("list"));
        match (raw.manifests, raw.layers, raw.config) {
            (Some(manifests), None, None) if says_index != Some(false) => {
                Ok(Self::Index(manifests))
            }
            (None, Some(layers), Some(config)) if says_index != Some(true) => {
                if layers.len() > MAX_LAYERS {
                    return Err(format!(
                        "it has {} layers; at most {MAX_LAYERS} are read",
                        layers.len()
                    ));
                }
                Ok(Self::Manifest(Manifest { config, layers, annotations: raw.annotations }))
            }
            _ => Err("its manifest is neither clearly an index nor clearly a manifest".to_owned()),
        }
    }
}

/// The manifest of an index that is meant; on every machine the same. Or why it is not clear.
pub(crate) fn pick(manifests: Vec<Descriptor>) -> Result<Descriptor, String> {
    let is_real = |it: &Descriptor| {
        let is_unknown = it.platform.as_ref().is_some_and(|on| on.os == "unknown");
        !is_unknown && !it.annotations.contains_key(ATTESTATION)
    };
    let mut real: Vec<Descriptor> = manifests.into_iter().filter(is_real).collect();
    if real.len() == 1 {
        return Ok(real.remove(0));
    }
    let is_first = |it: &Descriptor| {
        it.platform.as_ref().is_some_and(|on| on.os == "linux" && on.architecture == "amd64")
    };
    let mut first = real.iter().filter(|it| is_first(it));
    match (first.next(), first.next()) {
        // Skills are the same for every platform, so that of one platform stands for all.
        (Some(one), None) => Ok(one.clone()),
        _ if real.is_empty() => Err("its index names no manifest".to_owned()),
        _ => Err(format!("its index names {} manifests, and none is clearly meant", real.len())),
    }
}

/// What a layer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LayerUse {
    /// An archive of files.
    Archive,
    /// One file with this name.
    File(String),
}

impl Descriptor {
    /// What a layer is, by what is said about it; `alone` is whether it is the only one. Or why it is not read.
    pub(crate) fn layer_use(&self, alone: bool) -> Result<LayerUse, String> {
        let kind = self.media_type.as_str();
        if kind.contains("zstd") {
            return Err("a layer is packed with zstd, which is not read; only gzip is".to_owned());
        }
        if kind.contains("encrypted") {
            return Err("a layer is encrypted".to_owned());
        }
        let Some(title) = self.annotations.get(TITLE) else { return Ok(LayerUse::Archive) };
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| title.ends_with(suffix));
        let is_archive = self.annotations.get(UNPACK).is_some_and(|it| it == "true")
            || kind.ends_with("tar+gzip")
            || kind.ends_with("tar.gzip")
            || alone && ends(&[".zip", ".skill", ".tar.gz", ".tgz", ".tar"]);
        Ok(if is_archive { LayerUse::Archive } else { LayerUse::File(title.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn descriptor() -> serde_json::Value {
        json!({"mediaType": "x", "digest": format!("sha256:{}", "0".repeat(64)), "size": 1})
    }

    fn parse(value: &serde_json::Value) -> Result<Document, String> {
        Document::parse(value.to_string().as_bytes())
    }

    #[test]
    fn a_document_is_one_thing() {
        let (one, index) = (descriptor(), "application/vnd.oci.image.index.v1+json");
        let manifest = json!({"schemaVersion": 2, "config": one, "layers": [one]});
        assert!(matches!(parse(&manifest), Ok(Document::Manifest(it)) if it.layers.len() == 1));
        let list = json!({"schemaVersion": 2, "mediaType": index, "manifests": [one, one]});
        assert!(matches!(parse(&list), Ok(Document::Index(all)) if all.len() == 2));
        for bad in [
            json!({"schemaVersion": 2, "config": one, "layers": [one], "manifests": [one]}),
            json!({"schemaVersion": 2, "mediaType": index, "config": one, "layers": [one]}),
            json!({"schemaVersion": 1, "config": one, "layers": [one]}),
            json!({"schemaVersion": 2, "config": one}),
            json!({"schemaVersion": 2, "config": one, "layers": vec![&one; 10_000]}),
            json!({"schemaVersion": 2, "config": one, "layers": [{"digest": "sha256:../..", "size": 1}]}),
            json!({"schemaVersion": 2, "config": one, "layers": [{"digest": "sha512:00", "size": 1}]}),
            json!({"schemaVersion": 2, "config": one, "layers": [{"digest": one["digest"], "size": -1}]}),
            json!([]),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
        let twice = r#"{"schemaVersion": 2, "layers": [], "layers": [], "config": {}}"#;
        assert!(Document::parse(twice.as_bytes()).is_err());
    }

    #[test]
    fn the_same_manifest_is_picked_on_every_machine() {
        let on = |architecture: &str, os: &str| {
            let mut one = descriptor();
            one["platform"] = json!({"architecture": architecture, "os": os});
            serde_json::from_value::<Descriptor>(one).expect("a descriptor")
        };
        let plain = || serde_json::from_value::<Descriptor>(descriptor()).expect("a descriptor");
        let (amd, arm, none) =
            (on("amd64", "linux"), on("arm64", "linux"), on("unknown", "unknown"));
        assert_eq!(pick(vec![plain()]), Ok(plain()));
        assert_eq!(pick(vec![arm.clone(), amd.clone()]), Ok(amd.clone()));
        assert_eq!(pick(vec![arm.clone(), none.clone()]), Ok(arm.clone()));
        assert!(pick(vec![none]).is_err());
        assert!(pick(vec![plain(), plain()]).is_err());
        assert!(pick(vec![amd.clone(), amd]).is_err());
        assert!(pick(vec![arm.clone(), arm]).is_err());
        assert!(pick(Vec::new()).is_err());
    }

    #[test]
    fn a_layer_is_an_archive_or_a_file() {
        let layer = |kind: &str, title: Option<&str>, unpack: bool| {
            let mut one = descriptor();
            one["mediaType"] = json!(kind);
            let mut notes = serde_json::Map::new();
            notes.extend(title.map(|title| (TITLE.to_owned(), json!(title))));
            notes.extend(unpack.then(|| (UNPACK.to_owned(), json!("true"))));
            one["annotations"] = notes.into();
            serde_json::from_value::<Descriptor>(one).expect("a descriptor")
        };
        let tar = "application/vnd.oci.image.layer.v1.tar";
        let gzip = "application/vnd.agentskills.skill.content.v1.tar+gzip";
        let file = |name: &str| Ok(LayerUse::File(name.to_owned()));
        assert_eq!(layer(tar, None, false).layer_use(true), Ok(LayerUse::Archive));
        assert_eq!(layer(gzip, Some("greet"), false).layer_use(true), Ok(LayerUse::Archive));
        assert_eq!(layer(tar, Some("scripts"), true).layer_use(false), Ok(LayerUse::Archive));
        assert_eq!(layer(tar, Some("SKILL.md"), false).layer_use(true), file("SKILL.md"));
        assert_eq!(layer("text/x", Some("a.zip"), false).layer_use(false), file("a.zip"));
        assert_eq!(layer("text/x", Some("a.zip"), false).layer_use(true), Ok(LayerUse::Archive));
        assert!(layer(&format!("{tar}+zstd"), None, false).layer_use(true).is_err());
        assert!(layer(&format!("{tar}+gzip+encrypted"), None, false).layer_use(true).is_err());
    }

    proptest! {
        #[test]
        fn no_document_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Document::parse(&bytes);
        }
    }
}
