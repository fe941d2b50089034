//! Bundles of OpenSSF model signing, `skill.oms.sig` in the folder of a skill: read, and checked offline.
//!
//! A bundle is Sigstore's JSON around a DSSE envelope around an in-toto statement, which lists the digest of
//! every file. It is signed by an ECDSA key, or by a certificate whose chain comes with it. Sigstore's own
//! identities need a network or a pinned root, and are named as what they are.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::certificate::CertificateChain;
use crate::error::{ContentDifference, SignatureError};
use crate::public_key::{AnyKey, KeyKind};
use crate::signer::{Signer, SignerTrust};
use crate::trusted_keys::TrustedKeys;

/// The name of a bundle in the folder of a skill.
pub const OMS_FILE: &str = "skill.oms.sig";

const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://model_signing/signature/v1.0";

/// What a bundle was signed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OmsMethod {
    /// A key.
    Key,
    /// A certificate, whose chain is in the bundle.
    Certificate,
}

/// A bundle that was read and not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmsBundle {
    material: Material,
    signature: Vec<u8>,
    /// What is signed, as bytes.
    signed: Vec<u8>,
    files: BTreeMap<String, Digest>,
    ignored: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    /// The digest of the key's file, where the bundle has it.
    Key(Option<String>),
    Chain(CertificateChain),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleJson {
    media_type: String,
    verification_material: MaterialJson,
    dsse_envelope: EnvelopeJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MaterialJson {
    public_key: Option<HintJson>,
    x509_certificate_chain: Option<ChainJson>,
    certificate: Option<CertificateJson>,
}

#[derive(Deserialize)]
struct HintJson {
    hint: Option<String>,
}

#[derive(Deserialize)]
struct ChainJson {
    certificates: Vec<CertificateJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CertificateJson {
    raw_bytes: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EnvelopeJson {
    payload: String,
    payload_type: String,
    signatures: Vec<SignatureJson>,
}

#[derive(Deserialize)]
struct SignatureJson {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatementJson {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<SubjectJson>,
    predicate_type: String,
    predicate: PredicateJson,
}

#[derive(Deserialize)]
struct SubjectJson {
    digest: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct PredicateJson {
    serialization: SerializationJson,
    resources: Vec<ResourceJson>,
}

#[derive(Deserialize)]
struct SerializationJson {
    method: String,
    hash_type: String,
    #[serde(default)]
    ignore_paths: Vec<String>,
}

#[derive(Deserialize)]
struct ResourceJson {
    name: String,
    algorithm: String,
    digest: String,
}

fn format(what: impl Into<String>) -> SignatureError {
    SignatureError::OmsFormat(what.into())
}

impl OmsBundle {
    /// The bundle in the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`SignatureError::OmsFormat`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        let bundle: BundleJson =
            serde_json::from_slice(bytes).map_err(|error| format(error.to_string()))?;
        if bundle.media_type != MEDIA_TYPE {
            return Err(format("it is not a Sigstore bundle of version 0.3"));
        }
        let decoded = |text: &str| {
            BASE64.decode(text.as_bytes()).map_err(|_| format("a part of it is not base64"))
        };
        let envelope = &bundle.dsse_envelope;
        let [signature] = &envelope.signatures[..] else {
            return Err(format("it does not have exactly one signature"));
        };
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(format("what it signs is not an in-toto statement"));
        }
        let payload = decoded(&envelope.payload)?;
        let material = match bundle.verification_material {
            MaterialJson { x509_certificate_chain: Some(chain), public_key: None, .. } => {
                let ders: Result<Vec<Vec<u8>>, SignatureError> =
                    chain.certificates.iter().map(|it| decoded(&it.raw_bytes)).collect();
                let chain = CertificateChain::new(ders?);
                Material::Chain(chain.ok_or_else(|| format("it has no certificate"))?)
            }
            MaterialJson { public_key: Some(key), x509_certificate_chain: None, .. } => {
                Material::Key(key.hint.filter(|hint| !hint.is_empty()))
            }
            MaterialJson { certificate: Some(_), .. } => {
                return Err(format(
                    "it is signed by a Sigstore identity, which cannot be checked offline; keys and \
                     certificate chains can",
                ));
            }
            _ => return Err(format("it does not say what it is signed with")),
        };
        let (files, ignored) = read_statement(&payload)?;
        let mut signed =
            format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
        signed.extend_from_slice(&payload);
        Ok(Self { material, signature: decoded(&signature.sig)?, signed, files, ignored })
    }

    /// What it was signed with.
    pub const fn method(&self) -> OmsMethod {
        match self.material {
            Material::Key(_) => OmsMethod::Key,
            Material::Chain(_) => OmsMethod::Certificate,
        }
    }

    /// Checks the files of a skill and the signature, and says who made it. A signed file that is not there
    /// because it is `left_out` of every skill is no difference.
    ///
    /// # Errors
    ///
    /// [`SignatureError::OmsContent`] for a skill that is not the signed one; where only the key is not
    /// known, the files are the signed ones.
    pub fn check<'f>(
        &self,
        files: impl Iterator<Item = (&'f str, Digest)>,
        left_out: impl Fn(&str) -> bool,
        keys: &TrustedKeys,
    ) -> Result<Signer, SignatureError> {
        let mut differences = self.differences(files);
        differences.retain(|difference| match difference {
            ContentDifference::Missing(path) => !left_out(path),
            _ => true,
        });
        let signer = match &self.material {
            Material::Key(hint) => self.check_key(hint.as_deref(), keys),
            Material::Chain(chain) => self.check_chain(chain, keys),
        };
        match signer {
            // A signature that is wrong says nothing about the files.
            Err(error) if !error.is_unknown_key() => Err(error),
            _ if !differences.is_empty() => Err(SignatureError::OmsContent(differences)),
            other => other,
        }
    }

    fn check_key(&self, hint: Option<&str>, keys: &TrustedKeys) -> Result<Signer, SignatureError> {
        let known = || {
            keys.any().filter_map(|(key, known)| match key {
                AnyKey::Ec(key) => Some((key, known)),
                _ => None,
            })
        };
        let unknown = || {
            let shown = hint.map_or_else(
                || "a key that it does not name".to_owned(),
                |hint| format!("the key {}…", hint.chars().take(16).collect::<String>()),
            );
            SignatureError::OmsUnknownKey(shown)
        };
        let is_it = |key: &crate::ec_key::EcKey| match hint {
            Some(hint) => key.hint() == hint,
            None => key.verify(&self.signed, &self.signature).is_ok(),
        };
        let (key, known) = known().find(|(key, _)| is_it(key)).ok_or_else(unknown)?;
        key.verify(&self.signed, &self.signature)?;
        Ok(Signer {
            id: known.key.id(),
            kind: KeyKind::Ecdsa,
            name: known.name.clone(),
            trust: SignerTrust::Trusted,
            comment: None,
        })
    }

    fn check_chain(
        &self,
        chain: &CertificateChain,
        keys: &TrustedKeys,
    ) -> Result<Signer, SignatureError> {
        chain.verify(&self.signed, &self.signature)?;
        let authorities = keys.any().filter_map(|(key, _)| match key {
            AnyKey::Authority(authority) => Some(authority),
            _ => None,
        });
        let authority = chain.authority(authorities)?;
        let subject = chain.subject();
        Ok(Signer {
            id: format!("authority:{}/{subject}", authority.fingerprint()),
            kind: KeyKind::Authority,
            name: Some(subject).filter(|name| !name.is_empty()),
            trust: SignerTrust::Trusted,
            comment: None,
        })
    }

    fn differences<'f>(
        &self,
        files: impl Iterator<Item = (&'f str, Digest)>,
    ) -> Vec<ContentDifference> {
        let here: BTreeMap<&str, Digest> =
            files.filter(|(path, _)| !self.is_ignored(path)).collect();
        let mut found = Vec::new();
        for (path, digest) in &self.files {
            match here.get(path.as_str()) {
                None => found.push(ContentDifference::Missing(path.clone())),
                Some(other) if other != digest => {
                    found.push(ContentDifference::Changed(path.clone()));
                }
                Some(_) => {}
            }
        }
        let unsigned = here.keys().filter(|path| !self.files.contains_key(**path));
        found.extend(unsigned.map(|path| ContentDifference::Unsigned((*path).to_owned())));
        found
    }

    /// Whether a file is none of the signed ones on purpose: the bundle itself, and what the signer left
    /// out. A file that was left out is not vouched for; the usual ones are git's.
    fn is_ignored(&self, path: &str) -> bool {
        let below = |dir: &String| {
            path.strip_prefix(dir.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path == OMS_FILE || self.ignored.iter().any(below)
    }
}

/// The files of a statement with their digests, and the paths that the signer left out.
fn read_statement(
    payload: &[u8],
) -> Result<(BTreeMap<String, Digest>, Vec<String>), SignatureError> {
    let statement: StatementJson =
        serde_json::from_slice(payload).map_err(|error| format(error.to_string()))?;
    if statement.kind != STATEMENT_TYPE || statement.predicate_type != PREDICATE_TYPE {
        return Err(format("what it signs is not a statement of model signing 1.0"));
    }
    let serialization = &statement.predicate.serialization;
    if serialization.method != "files" || serialization.hash_type != "sha256" {
        return Err(format("it lists pieces of files, or hashes that are not SHA-256"));
    }
    let (mut files, mut digests) = (BTreeMap::new(), Vec::new());
    for resource in &statement.predicate.resources {
        let digest = format!("sha256:{}", resource.digest).parse::<Digest>();
        let digest = digest.map_err(|_| format("it has a digest that is not SHA-256"))?;
        digests.push(digest);
        if resource.algorithm != "sha256" || files.insert(resource.name.clone(), digest).is_some() {
            return Err(format("it lists a file twice, or with another hash than SHA-256"));
        }
    }
    let whole = Digest::of_all(&digests).to_string();
    let is_whole = |subject: &SubjectJson| {
        subject.digest.get("sha256").is_some_and(|it| whole == format!("sha256:{it}"))
    };
    match &statement.subject[..] {
        [subject] if is_whole(subject) => {}
        _ => return Err(format("its list of files does not fit its own digest")),
    }
    let ignored = serialization.ignore_paths.iter().cloned();
    // A path that leaves the folder, or stands for all of it, leaves nothing out.
    let ignored = ignored.filter(|path| {
        let path = path.trim_end_matches('/');
        !path.is_empty() && path != "." && !path.starts_with('/') && !path.contains("..")
    });
    Ok((files, ignored.collect()))
}
