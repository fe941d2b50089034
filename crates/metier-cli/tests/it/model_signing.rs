//! Bundles of OpenSSF model signing (`skill.oms.sig`): checked by `verify` and shown at install. The bundles in
//! `fixtures/oms` were made by the package `model-signing`; where that program is at hand, new ones are made too.

use std::fs;
use std::path::{Path, PathBuf};

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::signing::code_of;
use crate::support::{json, run};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oms")
}

/// A home with the signed skill in its project, and one of the bundles in it.
fn with_bundle(bundle: &str) -> TestHome {
    let home = TestHome::new();
    for file in ["SKILL.md", "scripts/run.py"] {
        let bytes = fs::read(fixtures().join("skill").join(file)).expect("a fixture");
        home.write(&format!("project/skill/{file}"), bytes);
    }
    set_bundle(&home, bundle);
    home
}

fn set_bundle(home: &TestHome, bundle: &str) {
    let bytes = fs::read(fixtures().join(bundle)).expect("a fixture");
    home.write("project/skill/skill.oms.sig", bytes);
}

fn key(name: &str) -> String {
    fixtures().join(name).to_string_lossy().into_owned()
}

fn verified(home: &TestHome, name: &str) -> Value {
    json(home, &["verify", "./skill", "--key", &key(name), "--json"])["packs"][0]["skills"][0]
        .clone()
}

#[test]
fn bundles_of_keys_and_certificates_verify_offline() {
    let home = with_bundle("p256.sig");
    for (bundle, trusted, kind) in [
        ("p256.sig", "p256.pub", "ecdsa"),
        ("p384.sig", "p384.pub", "ecdsa"),
        ("leaf.sig", "root.pem", "authority"),
    ] {
        set_bundle(&home, bundle);
        let skill = verified(&home, trusted);
        assert_eq!(skill["signers"][0]["kind"], kind, "{bundle}");
        assert_eq!(skill["signers"][0]["trust"], "trusted", "{bundle}");
    }
    let name = &verified(&home, "root.pem")["signers"][0]["name"];
    assert_eq!(name, "Example leaf", "who the certificate is for");
}

#[test]
fn a_foreign_key_or_authority_is_named_and_does_not_count() {
    let home = with_bundle("p256.sig");
    for (bundle, trusted, code) in [
        ("p256.sig", "foreign.pub", "oms-key-unknown"),
        ("p256.sig", "root.pem", "oms-key-unknown"),
        ("leaf.sig", "foreign-root.pem", "oms-certificate"),
        ("leaf.sig", "p384.pub", "oms-certificate"),
        // A certificate for servers signs no skills.
        ("tls.sig", "root.pem", "oms-certificate"),
    ] {
        set_bundle(&home, bundle);
        let output = run(&home, &["verify", "./skill", "--key", &key(trusted), "--json"]);
        let skill = &output.json()["packs"][0]["skills"][0];
        assert_eq!(skill["unchecked"][0]["code"], code, "{bundle} {trusted}: {output:?}");
        assert_eq!((output.code, &skill["signers"]), (1, &json!([])), "{bundle} {trusted}");
    }
}

#[test]
fn altered_files_are_refused_even_where_the_key_is_not_known() {
    for file in ["skill/scripts/run.py", "skill/SKILL.md", "skill/extra.md"] {
        let home = with_bundle("p256.sig");
        home.write(&format!("project/{file}"), "---\nname: skill\ndescription: Another.\n---\n");
        for trusted in ["p256.pub", "foreign.pub"] {
            let code = code_of(&home, &["verify", "./skill", "--key", &key(trusted)]);
            assert_eq!(code, "oms-content", "{file} {trusted}");
        }
        assert_eq!(code_of(&home, &["install", "./skill", "--yes", "--force"]), "oms-content");
        assert!(!home.project().join(".agent/skills/skill").exists());
    }
    let home = with_bundle("leaf.sig");
    fs::remove_file(home.project().join("skill/scripts/run.py")).expect("removes");
    assert_eq!(code_of(&home, &["verify", "./skill", "--key", &key("root.pem")]), "oms-content");
}

#[test]
fn altered_bundles_are_refused() {
    let home = with_bundle("p256.sig");
    let genuine: Value =
        serde_json::from_slice(&fs::read(fixtures().join("p256.sig")).expect("a fixture"))
            .expect("JSON");
    let payload = genuine["dsseEnvelope"]["payload"].as_str().expect("text");
    let payload =
        String::from_utf8(data_encoding::BASE64.decode(payload.as_bytes()).expect("base64"));
    let payload = payload.expect("text");
    let with_payload = |payload: &str| {
        let mut bundle = genuine.clone();
        bundle["dsseEnvelope"]["payload"] = json!(data_encoding::BASE64.encode(payload.as_bytes()));
        bundle.to_string()
    };
    let with = |pointer: &str, value: Value| {
        let mut bundle = genuine.clone();
        *bundle.pointer_mut(pointer).expect("is there") = value;
        bundle.to_string()
    };
    let other: Value =
        serde_json::from_slice(&fs::read(fixtures().join("leaf.sig")).expect("a fixture"))
            .expect("JSON");
    let other = other["dsseEnvelope"]["signatures"][0]["sig"].clone();
    for (what, bundle, expected) in [
        (
            "the statement's spaces",
            with_payload(&payload.replace("\n  \"subject\"", "\n\"subject\"")),
            "oms-signature",
        ),
        (
            "ignored paths",
            with_payload(&payload.replace("\".github\"", "\"scripts\"")),
            "oms-signature",
        ),
        ("a digest", with_payload(&payload.replace("11ff4f59", "11ff4f58")), "oms-format"),
        (
            "the predicate",
            with_payload(&payload.replace("signature/v1.0", "signature/v9.0")),
            "oms-format",
        ),
        ("the method", with_payload(&payload.replace("\"files\"", "\"shards\"")), "oms-format"),
        ("another's signature", with("/dsseEnvelope/signatures/0/sig", other), "oms-signature"),
        ("no signature", with("/dsseEnvelope/signatures", json!([])), "oms-format"),
        (
            "the payload's type",
            with("/dsseEnvelope/payloadType", json!("text/plain")),
            "oms-format",
        ),
        ("the media type", with("/mediaType", json!("x")), "oms-format"),
        (
            "a Sigstore identity",
            with("/verificationMaterial", json!({"certificate": {"rawBytes": "AA=="}})),
            "oms-format",
        ),
        ("no JSON", "{".to_owned(), "oms-format"),
        ("nothing", String::new(), "oms-format"),
    ] {
        home.write("project/skill/skill.oms.sig", bundle);
        let code = code_of(&home, &["verify", "./skill", "--key", &key("p256.pub")]);
        assert_eq!(code, expected, "{what}");
    }
    // The right key's name on a bundle that another key signed.
    let hint = genuine["verificationMaterial"]["publicKey"]["hint"].clone();
    let mut forged: Value =
        serde_json::from_slice(&fs::read(fixtures().join("p384.sig")).expect("a fixture"))
            .expect("JSON");
    forged["verificationMaterial"]["publicKey"]["hint"] = hint;
    home.write("project/skill/skill.oms.sig", forged.to_string());
    assert_eq!(code_of(&home, &["verify", "./skill", "--key", &key("p256.pub")]), "oms-signature");
}

#[test]
fn an_install_shows_the_bundle_and_pins_its_signer() {
    let home = with_bundle("leaf.sig");
    let plan = json(&home, &["install", "./skill", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["unchecked"][0]["code"], "oms-certificate");
    let shown = run(&home, &["install", "./skill", "--dry-run"]).stdout;
    assert!(shown.contains("not checked: skill.oms.sig"), "{shown}");
    assert_eq!(run(&home, &["keys", "trust", &key("root.pem"), "--yes"]).code, 0);
    let done = json(&home, &["install", "./skill", "--yes", "--json"]);
    let id = done["skills"][0]["signer"]["id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("authority:sha256:") && id.ends_with("/Example leaf"), "{id}");
    // The same skill without its bundle is not the one that was accepted.
    fs::remove_file(home.project().join("skill/skill.oms.sig")).expect("removes");
    assert_eq!(code_of(&home, &["install", "./skill", "--yes"]), "signer-missing");
    // Packed, the bundle travels along.
    set_bundle(&home, "leaf.sig");
    assert_eq!(run(&home, &["pack", "skill"]).code, 0);
    assert_eq!(run(&home, &["verify", "skill.zip"]).code, 0);
}

/// `.ci/run` installs the program here; a developer names another by `METIER_MODEL_SIGNING`.
fn model_signing() -> Option<PathBuf> {
    let named = std::env::var_os("METIER_MODEL_SIGNING").map(PathBuf::from);
    let usual = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/tools/model-signing/bin/model_signing");
    let found = named.into_iter().chain([usual]).find(|path| path.exists());
    if found.is_none() {
        metier_testkit::not_tested_without(
            "model_signing",
            "model_signing is missing; .ci/run installs it under target/tools",
        );
    }
    found
}

#[test]
fn what_model_signing_makes_today_verifies_and_what_we_accept_it_accepts() {
    let Some(program) = model_signing() else { return };
    let program = program.to_string_lossy().into_owned();
    let home = with_bundle("p256.sig");
    home.write("project/skill/references/ünï.md", "text\n");
    let shell = |line: &str| crate::signing_programs::shell(&home, line);
    shell("rm skill/skill.oms.sig; openssl ecparam -genkey -noout -name prime256v1 -out k.pem");
    shell("openssl ec -in k.pem -pubout -out k.pub.pem");
    shell(&format!(
        "'{program}' sign key skill --signature skill/skill.oms.sig --private_key k.pem"
    ));
    let args = ["verify", "./skill", "--key", "k.pub.pem"];
    let output = run(&home, &args);
    assert_eq!(output.code, 0, "{output:?}");
    shell(&format!(
        "'{program}' verify key skill --signature skill/skill.oms.sig --public_key k.pub.pem"
    ));
    home.write("project/skill/scripts/run.py", "print('other')\n");
    assert_eq!(code_of(&home, &args), "oms-content");
}
