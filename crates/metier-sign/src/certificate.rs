//! Certificates of model signing: a chain from the one that signed to an authority that a person trusts.
//!
//! The chain is webpki's to judge. What it does not give (a name to show, the first moment of validity) is
//! read here from a certificate that it accepted.
//!
//! A bundle carries no trusted time, so it is judged at the first moment of its certificate, as the
//! reference implementation does: a signature outlives the certificate, and a key that was stolen later is
//! not noticed. `SECURITY.md` says so.

use std::time::Duration;

use data_encoding::HEXLOWER;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use sha2::{Digest as _, Sha256};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::error::SignatureError;

/// The purpose "code signing" (1.3.6.1.5.5.7.3.3).
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// The attribute "common name" (2.5.4.3).
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// A certificate that a person trusts as an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    der: Vec<u8>,
    public_key: Vec<u8>,
    pub(crate) subject: String,
}

impl Authority {
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, SignatureError> {
        const FORMAT: SignatureError =
            SignatureError::KeyFormat("it is not a certificate of an authority");
        let owned = CertificateDer::from(der);
        anchor_from_trusted_cert(&owned).map_err(|_| FORMAT)?;
        let certificate = EndEntityCert::try_from(&owned).map_err(|_| FORMAT)?;
        let public_key = certificate.subject_public_key_info().as_ref().to_vec();
        let subject = common_name(certificate.subject());
        Ok(Self { der: der.to_vec(), public_key, subject })
    }

    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 over its public key, which a renewed certificate keeps.
    pub(crate) fn fingerprint(&self) -> String {
        format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&self.public_key)))
    }
}

/// The certificates of a bundle, the one that signed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateChain {
    ders: Vec<CertificateDer<'static>>,
}

impl CertificateChain {
    pub(crate) fn new(ders: Vec<Vec<u8>>) -> Option<Self> {
        let ders: Vec<CertificateDer<'static>> = ders.into_iter().map(Into::into).collect();
        (!ders.is_empty()).then_some(Self { ders })
    }

    fn leaf(&self) -> Result<EndEntityCert<'_>, SignatureError> {
        let format =
            || SignatureError::OmsFormat("its first certificate cannot be read".to_owned());
        EndEntityCert::try_from(self.ders.first().ok_or_else(format)?).map_err(|_| format())
    }

    /// The common name of the one that signed.
    pub(crate) fn subject(&self) -> String {
        self.leaf().map(|leaf| common_name(leaf.subject())).unwrap_or_default()
    }

    /// Checks a signature with the key of the certificate that signed.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
        use webpki::ring::{ECDSA_P256_SHA256, ECDSA_P384_SHA384};
        let leaf = self.leaf()?;
        let algorithms = [ECDSA_P256_SHA256, ECDSA_P384_SHA384];
        let is_right =
            algorithms.iter().any(|it| leaf.verify_signature(*it, message, signature).is_ok());
        if is_right { Ok(()) } else { Err(SignatureError::OmsSignature) }
    }

    /// The authority that the chain leads to.
    pub(crate) fn authority<'a>(
        &self,
        authorities: impl Iterator<Item = &'a Authority>,
    ) -> Result<&'a Authority, SignatureError> {
        let leaf = self.leaf()?;
        let time = first_moment(&self.ders[0]).ok_or_else(|| {
            SignatureError::OmsFormat("the dates of its certificate cannot be read".to_owned())
        })?;
        let mut why = "you trust no authority".to_owned();
        for authority in authorities {
            let der = CertificateDer::from(authority.der());
            let anchor = anchor_from_trusted_cert(&der).ok();
            let anchors: Vec<TrustAnchor<'_>> = anchor.into_iter().collect();
            let verified = leaf.verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &anchors,
                &self.ders[1..],
                time,
                KeyUsage::required_if_present(CODE_SIGNING),
                None,
                None,
            );
            match verified {
                Ok(_) => return Ok(authority),
                Err(error) => why = format!("{error} (signed by `{}`)", self.subject()),
            }
        }
        Err(SignatureError::OmsCertificate(why))
    }
}

/// One element of DER: its tag, what is in it, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (inside, rest) = rest.split_at_checked(length)?;
    Some((tag, inside, rest))
}

/// The first moment at which a certificate is valid.
fn first_moment(certificate: &[u8]) -> Option<UnixTime> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    // Version (where it stands), serial number, algorithm, issuer; then the dates.
    if element(rest)?.0 == 0xa0 {
        rest = element(rest)?.2;
    }
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (_, dates, _) = element(rest)?;
    let (tag, text, _) = element(dates)?;
    moment(tag, std::str::from_utf8(text).ok()?)
}

/// A time of a certificate, in one of the two forms that there are.
fn moment(tag: u8, text: &str) -> Option<UnixTime> {
    let text = text.strip_suffix('Z')?;
    let (year, rest) = match tag {
        // Two digits of the year: from 1950 to 2049.
        0x17 => {
            let year: i16 = text.get(..2)?.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, text.get(2..)?)
        }
        0x18 => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    if rest.len() != 10 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |at: usize| rest.get(at..at + 2)?.parse::<i8>().ok();
    let time = DateTime::new(year, number(0)?, number(2)?, number(4)?, number(6)?, number(8)?, 0);
    let seconds = TimeZone::UTC.to_timestamp(time.ok()?).ok()?.as_second();
    Some(UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(seconds).ok()?)))
}

/// The common name in a subject; an empty text where there is none.
fn common_name(subject: &[u8]) -> String {
    let mut rest = subject;
    let mut found = String::new();
    while let Some((_, set, after)) = element(rest) {
        rest = after;
        let Some((_, attribute, _)) = element(set) else { continue };
        let Some((_, name, value)) = element(attribute) else { continue };
        if name == COMMON_NAME
            && let Some((_, value, _)) = element(value)
        {
            let value = String::from_utf8_lossy(value);
            found = value.chars().filter(|ch| !ch.is_control()).take(100).collect();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_both_forms_and_only_where_the_calendar_has_them() {
        let seconds = |tag, text| moment(tag, text).map(|time| time.as_secs());
        assert_eq!(seconds(0x17, "700101000000Z"), Some(0));
        assert_eq!(seconds(0x17, "000229000001Z"), Some(11_016 * 86_400 + 1));
        assert_eq!(seconds(0x18, "20261118235959Z"), Some(20_776 * 86_400 - 1));
        for (tag, text) in [
            (0x17, "261318000000Z"),
            (0x17, "260018000000Z"),
            (0x17, "260100000000Z"),
            (0x17, "260230000000Z"),
            (0x17, "260101240000Z"),
            (0x17, "260101000000"),
            (0x17, "2601010000-1Z"),
            (0x17, "600101000000Z"),
            (0x18, "260101000000Z"),
            (0x19, "700101000000Z"),
        ] {
            assert_eq!(seconds(tag, text), None, "{tag} {text}");
        }
    }
}
