//! `metier sign`, `keys`, `verify FILE` and the signer in a plan and a lock, from the outside.
//! What other programs sign is in `signing_programs`, what attackers would in `signing_hostile`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::{METIER, answer_on_terminal, json, run, shown};

/// A project with a pack, and a key of one's own that is not encrypted.
pub(crate) fn with_key() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    assert_eq!(run(&home, &["pack", "src/pdf", "-o", "pdf.zip"]).code, 0);
    let made = run(&home, &["keys", "generate", "--no-password", "-o", "own"]);
    assert_eq!(made.code, 0, "{made:?}");
    home
}

pub(crate) fn sign(home: &TestHome, key: &str) {
    let signed = run(home, &["sign", "pdf.zip", "--key", key, "--force"]);
    assert_eq!(signed.code, 0, "{signed:?}");
}

/// The code of the error that a run ended with.
pub(crate) fn code(output: &Output) -> String {
    output.json()["error"]["code"].as_str().unwrap_or("none").to_owned()
}

pub(crate) fn code_of(home: &TestHome, args: &[&str]) -> String {
    let mut args = args.to_vec();
    args.push("--json");
    let output = run(home, &args);
    assert_ne!(output.code, 0, "{args:?}: {output:?}");
    code(&output)
}

fn locked(home: &TestHome) -> Value {
    let text = fs::read_to_string(home.project().join(".agent/skills.lock.json")).expect("a lock");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_pack_is_signed_verified_installed_and_its_signer_pinned() {
    let home = with_key();
    assert_eq!(run(&home, &["verify", "pdf.zip"]).code, 1, "it is not signed");
    sign(&home, "own.key");
    let again = run(&home, &["sign", "pdf.zip", "--key", "own.key", "--json"]);
    assert_eq!((again.code, code(&again).as_str()), (1, "signature-exists"));
    let output = run(&home, &["verify", "pdf.zip"]);
    insta::with_settings!({filters => vec![
        (r"sha256:[0-9a-f]{64}", "[DIGEST]"),
        (r"RW[A-Za-z0-9+/]{54}", "[KEY]"),
        (r"\d+ B", "[SIZE]"),
    ]}, {
        insta::assert_snapshot!(shown(&home, &output), @"
        exit: 0
        ---- stdout
        [T]/project/pdf.zip  signed
          [DIGEST]  its manifest fits
          signed by default minisign:[KEY] (a key that you trust): pdf [DIGEST]
          pdf  1 file  [DIGEST]

        ---- stderr
        ");
        insta::assert_snapshot!(shown(&home, &run(&home, &["install", "pdf.zip", "--dry-run"])), @"
        exit: 0
        ---- stdout
        install pdf  from ./pdf.zip (1 file, [SIZE])
          Fill PDF forms.
          signed by default minisign:[KEY] (a key that you trust): pdf [DIGEST]
          [DIGEST]

        ---- stderr
        1 skill in the plan; nothing was changed
        ");
    });
    let done = json(&home, &["install", "pdf.zip", "--yes", "--json"]);
    let signer = &done["skills"][0]["signer"];
    assert_eq!((&signer["trust"], &signer["kind"]), (&json!("trusted"), &json!("minisign")));
    assert_eq!(locked(&home)["skills"]["pdf"]["signer"], signer["id"]);
    assert_eq!(json(&home, &["verify", "--json"])["skills"][0]["signer"], signer["id"]);
}

#[test]
fn another_signer_or_none_stops_until_a_flag_of_its_own_says_otherwise() {
    let home = with_key();
    sign(&home, "own.key");
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes"]).code, 0);
    let first = locked(&home);
    fs::remove_file(home.project().join("pdf.zip.minisig")).expect("removes");
    for args in [&["install", "pdf.zip", "--yes"][..], &["install", "pdf.zip", "--yes", "--force"]]
    {
        assert_eq!(code_of(&home, args), "signer-missing", "{args:?}");
    }
    // A new version, by another key, through the source and through the records.
    let other =
        run(&home, &["keys", "generate", "--no-password", "--name", "other", "-o", "other"]);
    assert_eq!(other.code, 0, "{other:?}");
    sign(&home, "other.key");
    assert_eq!(code_of(&home, &["install", "pdf.zip", "--yes"]), "signer-changed");
    fs::remove_dir_all(home.project().join(".agent/skills/pdf")).expect("removes");
    assert_eq!(code_of(&home, &["install", "--yes"]), "signer-changed");
    assert_eq!(code_of(&home, &["install", "--locked", "--yes"]), "signer-changed");
    assert_eq!(locked(&home), first, "nothing was written");
    let done = json(&home, &["install", "pdf.zip", "--yes", "--accept-signer", "--json"]);
    assert_eq!(done["skills"][0]["signer"]["name"], "other");
    assert_ne!(locked(&home)["skills"]["pdf"]["signer"], first["skills"]["pdf"]["signer"]);
    fs::remove_file(home.project().join("pdf.zip.minisig")).expect("removes");
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes", "--accept-signer"]).code, 0);
    assert_eq!(locked(&home)["skills"]["pdf"].get("signer"), None);
}

#[test]
fn a_pinned_key_is_enough_to_install_again_where_it_is_not_trusted() {
    let home = with_key();
    sign(&home, "own.key");
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes"]).code, 0);
    assert_eq!(run(&home, &["keys", "forget", "default"]).code, 0);
    fs::remove_dir_all(home.project().join(".agent/skills/pdf")).expect("removes");
    let done = json(&home, &["install", "--locked", "--yes", "--json"]);
    assert_eq!(done["skills"][0]["signer"]["trust"], "pinned");
    // Without a pin the key of a minisign signature is not known, and the plan says so.
    assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0);
    let plan = json(&home, &["install", "pdf.zip", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["unchecked"][0]["code"], "signature-key-unknown");
    assert_eq!(plan["skills"][0].get("signer"), None);
}

#[test]
fn a_key_in_the_configuration_is_trusted_and_forgotten_only_there() {
    let home = with_key();
    sign(&home, "own.key");
    let own = fs::read_to_string(home.project().join("own.pub")).expect("a public key");
    let own = own.lines().nth(1).expect("the key");
    assert_eq!(run(&home, &["keys", "forget", "default"]).code, 0);
    assert_eq!(run(&home, &["verify", "pdf.zip"]).code, 1, "nothing is trusted");

    home.write("home/.agent/config.json", json!({ "trusted_keys": [own] }).to_string());
    let verified = run(&home, &["verify", "pdf.zip"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let listed = json(&home, &["keys", "--json"]);
    assert_eq!(listed["keys"][0]["name"], "trusted_keys[0]");
    let forgotten = run(&home, &["keys", "forget", "trusted_keys[0]"]);
    assert_eq!(forgotten.code, 1);
    assert!(forgotten.stderr.contains("remove it there"), "{forgotten:?}");
    // The list of `metier keys` has never seen it.
    assert!(
        !home.home().join(".agent/keys/trusted.json").exists() || {
            let list =
                fs::read_to_string(home.home().join(".agent/keys/trusted.json")).expect("text");
            !list.contains(own)
        }
    );

    home.write("home/.agent/config.json", r#"{ "trusted_keys": ["RWnonsense"] }"#);
    let broken = run(&home, &["verify", "pdf.zip"]);
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.contains("`trusted_keys[0]` in the configuration"), "{broken:?}");
}

#[test]
fn keys_are_trusted_after_a_yes_listed_and_forgotten_and_are_private() {
    let home = with_key();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII";
    home.write("project/signers", format!("# people\nada@example.org {key}\n"));
    assert_eq!(run(&home, &["keys", "trust", "signers"]).code, 3, "it needs a yes");
    assert_eq!(json(&home, &["keys", "--json"])["keys"].as_array().map(Vec::len), Some(1));
    let trusted = json(&home, &["keys", "trust", "signers", "--yes", "--json"]);
    assert_eq!(
        (&trusted["added"], &trusted["keys"][0]["name"]),
        (&json!(1), &json!("ada@example.org"))
    );
    assert_eq!(json(&home, &["keys", "trust", "signers", "--yes", "--json"])["added"], 0);
    let listed = json(&home, &["keys", "list", "--json"]);
    let ids: Vec<&str> = listed["keys"]
        .as_array()
        .expect("keys")
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    assert!(ids[0].starts_with("minisign:RW") && ids[1].starts_with("ssh:SHA256:"), "{ids:?}");
    for private in [".agent/keys/trusted.json", "../project/own.key"] {
        let data = fs::metadata(home.home().join(private)).expect("there");
        assert_eq!(data.permissions().mode() & 0o777, 0o600, "{private}");
    }
    assert_eq!(
        run(&home, &["keys", "forget", &ids[1][..12]]).code,
        0,
        "by the beginning of its id"
    );
    assert_eq!(code_of(&home, &["keys", "forget", "ada@example.org"]), "key-not-found");
    for (args, expected) in [
        (&["keys", "trust", "own.key", "--yes"][..], "key-format"),
        (&["keys", "trust", "pdf.zip", "--yes"], "key-format"),
        (&["keys", "generate", "--no-password", "-o", "own"], "key-exists"),
        (&["keys", "generate", "--no-password", "--name", "../x"], "usage"),
        (&["keys", "generate", "--name", "locked"], "usage"),
        (&["sign", "pdf.zip", "--key", "own.pub"], "key-format"),
        (&["sign", "own.pub", "--key", "own.key"], "archive-format"),
        (&["sign", "none.zip", "--key", "own.key"], "source-not-found"),
        (&["verify", "pdf", "--key", "own.pub"], "usage"),
    ] {
        assert_eq!(code_of(&home, args), expected, "{args:?}");
    }
    // A list that every account can write is not believed, and not made believable by a change.
    let list = home.home().join(".agent/keys/trusted.json");
    fs::set_permissions(&list, fs::Permissions::from_mode(0o666)).expect("chmod");
    for args in
        [&["keys"][..], &["keys", "trust", "signers", "--yes"], &["install", "pdf.zip", "--yes"]]
    {
        assert_eq!(code_of(&home, args), "keys-not-private", "{args:?}");
    }
}

#[test]
fn a_password_is_typed_unseen_or_comes_from_standard_input_or_the_environment() {
    let home = with_key();
    let mut made = home.command(METIER);
    made.args(["keys", "generate", "--name", "locked"]).env("METIER_KEY_PASSWORD", "s3cret");
    assert_eq!(TestHome::finish(&mut made).code, 0);
    let key = home.home().join(".agent/keys/locked.key").to_string_lossy().into_owned();
    let args = ["sign", "pdf.zip", "--force", "--key", key.as_str()];
    assert_eq!(code_of(&home, &args), "key-password");
    let mut wrong = home.command(METIER);
    wrong.args(args).arg("--json").env("METIER_KEY_PASSWORD", "other");
    assert_eq!(code(&TestHome::finish(&mut wrong)), "key-password-wrong");
    let mut piped = home.command("sh");
    piped.args(["-c", "printf 's3cret\\n' | \"$@\" --password-stdin", "sh", METIER]).args(args);
    let piped = TestHome::finish(&mut piped);
    assert_eq!(piped.code, 0, "{piped:?}");
    let Some(typed) = answer_on_terminal(&home, &args, "Password of the key:", "s3cret\n") else {
        return;
    };
    assert_eq!(typed.code, 0, "{typed:?}");
    assert!(!typed.stdout.contains("s3cret"), "{typed:?}");
}
