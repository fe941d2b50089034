//! TLS to the database: rustls on ring, as everywhere in the workspace. The server's certificate is always
//! checked, against the system's roots or the ones in a file.

use std::path::Path;
use std::sync::Arc;

use metier::fs::read_bounded;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{EvalError, Result};

const MAX_CERTIFICATES: u64 = 4 << 20;

/// How connections are encrypted.
pub(super) fn connector(root_certificates: Option<&Path>) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let config = match root_certificates {
        Some(path) => builder.with_root_certificates(roots_in(path)?).with_no_client_auth(),
        None => {
            builder.with_platform_verifier().map_err(|error| failed(&error))?.with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots_in(path: &Path) -> Result<RootCertStore> {
    let unusable = |what: &dyn std::fmt::Display| {
        let message = format!("{}: {what}", path.display());
        EvalError::store(message, "`sslrootcert` must name a file of certificates in PEM form")
    };
    let pem = read_bounded(path, MAX_CERTIFICATES).map_err(|error| unusable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"there is no certificate in it"));
    }
    Ok(roots)
}

fn failed(error: &rustls::Error) -> EvalError {
    EvalError::store(
        format!("TLS cannot be set up: {error}"),
        "name the certificates: `sslrootcert=FILE`",
    )
}
