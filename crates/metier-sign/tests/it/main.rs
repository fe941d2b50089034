//! Laws of signatures: nothing that was changed verifies, and no text makes a reader fail.
//! Other programs' signatures are tried through the binary, in `metier-cli`.
#![expect(clippy::expect_used, reason = "tests")]

use metier_sign::{
    FileHash, HashKind, OmsBundle, SidecarKind, SidecarSignature, SigningKey, TrustedKeys,
    generate_key, parse_public_keys,
};
use proptest::prelude::*;

fn signed(bytes: &[u8], comment: &str) -> (TrustedKeys, FileHash, String) {
    let made = generate_key(None).expect("a key");
    let key = SigningKey::open(&made.secret, || None).expect("opens");
    let hash = FileHash::of_reader(key.hash_kind(), bytes).expect("hashes");
    let text = key.sign(&hash, comment).expect("signs");
    let mut keys = TrustedKeys::default();
    keys.add(made.public, None).expect("adds");
    (keys, hash, text)
}

proptest! {
    #[test]
    fn a_signature_with_any_other_character_is_refused(
        at in 0usize..400, with in any::<char>(), bytes in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let (keys, hash, text) = signed(&bytes, "a comment");
        let first = text.find('\n').expect("lines") + 1;
        let rest: Vec<char> = text[first..].chars().collect();
        let at = at % (rest.len() - 1);
        prop_assume!(rest[at] != with);
        let mut changed = rest;
        changed[at] = with;
        let changed = format!("{}{}", &text[..first], changed.into_iter().collect::<String>());
        let read = SidecarSignature::parse(SidecarKind::Minisign, changed.as_bytes());
        let accepted = read.is_ok_and(|signature| signature.check(&hash, &keys, None).is_ok());
        prop_assert!(!accepted, "{changed}");
    }

    #[test]
    fn a_signature_is_of_its_file_alone(one in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
        let (keys, hash, text) = signed(&one, "");
        let signature = SidecarSignature::parse(SidecarKind::Minisign, text.as_bytes()).expect("reads");
        prop_assert!(signature.check(&hash, &keys, None).is_ok());
        let hash = FileHash::of_reader(HashKind::Blake2b, &other[..]).expect("hashes");
        prop_assert_eq!(signature.check(&hash, &keys, None).is_ok(), one == other);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        for kind in SidecarKind::ALL {
            let _ = SidecarSignature::parse(kind, &bytes);
            let _ = SidecarSignature::parse(kind, text.as_bytes());
        }
        let _ = parse_public_keys(&text);
        let _ = OmsBundle::parse(&bytes);
        let _ = TrustedKeys::parse(&text);
        let _ = SigningKey::open(&text, || None);
        let armoured = data_encoding::BASE64.encode(&bytes);
        for label in ["SSH SIGNATURE", "OPENSSH PRIVATE KEY", "PUBLIC KEY", "CERTIFICATE"] {
            let text = format!("-----BEGIN {label}-----\n{armoured}\n-----END {label}-----\n");
            let _ = SidecarSignature::parse(SidecarKind::Ssh, text.as_bytes());
            let _ = SigningKey::open(&text, || None);
            let _ = parse_public_keys(&text);
        }
    }
}

#[test]
fn trusted_keys_are_read_back_and_a_short_id_is_taken_once() {
    let made = generate_key(None).expect("a key");
    let mut keys = TrustedKeys::default();
    assert_eq!(keys.add(made.public.clone(), Some("ada".to_owned())), Ok(true));
    assert_eq!(keys.add(made.public.clone(), None), Ok(false));
    assert_eq!(TrustedKeys::parse(&keys.to_text()), Ok(keys.clone()));
    // Another key with the same short id, which anyone can make.
    let mut bytes = data_encoding::BASE64.decode(made.public.to_text().as_bytes()).expect("base64");
    bytes[20] ^= 1;
    let other = parse_public_keys(&data_encoding::BASE64.encode(&bytes)).expect("a key").remove(0);
    assert_eq!(keys.add(other.key, None).map_err(|error| error.code()), Err("key-id-taken"));
    assert_eq!(keys.find("ada").len(), 1);
    assert!(keys.remove(&made.public) && keys.is_empty());
    for text in [
        "",
        "{}",
        "{\"version\":2,\"keys\":[]}",
        "{\"version\":1,\"keys\":[{\"kind\":\"x\",\"key\":\"\"}]}",
    ] {
        assert!(TrustedKeys::parse(text).is_err(), "{text}");
    }
}
