//! Signatures across programs: what minisign and ssh-keygen sign we accept, and the other way round.
//! Both are Debian's; where one is missing, the test says so.

use std::fs;
use std::process::Command;

use metier_testkit::TestHome;

use crate::signing::{code, code_of, sign, with_key};
use crate::support::{METIER, json, run};

/// Whether a program is there; says so where it is not.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        metier_testkit::not_tested_without(
            program,
            format_args!("{program} is missing (Debian: apt install minisign openssh-client)"),
        );
    }
    found
}

/// Runs a line of shell in the project; it has to succeed.
pub(crate) fn shell(home: &TestHome, line: &str) -> String {
    let output = TestHome::finish(home.command("sh").args(["-c", line]));
    assert_eq!(output.code, 0, "{line}: {output:?}");
    output.stdout
}

fn signer(home: &TestHome, key: &str) -> (String, String) {
    let verified = json(home, &["verify", "pdf.zip", "--key", key, "--json"]);
    let signer = &verified["packs"][0]["signers"][0];
    let text = |name: &str| signer[name].as_str().unwrap_or_default().to_owned();
    (text("id"), text("trust"))
}

#[test]
fn minisign_accepts_ours_and_we_accept_minisigns() {
    if !has("minisign") {
        return;
    }
    let home = with_key();
    sign(&home, "own.key");
    let said = shell(&home, "minisign -V -m pdf.zip -p own.pub");
    assert!(said.contains("Trusted comment: pdf sha256:"), "{said}");
    // Minisign signs with our key, and with one of its own.
    shell(&home, "minisign -S -m pdf.zip -s own.key -t 'ours, by minisign'");
    assert_eq!(signer(&home, "own.pub").1, "trusted");
    shell(
        &home,
        "minisign -G -W -f -p their.pub -s their.key && minisign -S -m pdf.zip -s their.key",
    );
    let (id, trust) = signer(&home, "their.pub");
    let key = fs::read_to_string(home.project().join("their.pub")).expect("a key");
    assert_eq!(
        (format!("minisign:{}", key.lines().nth(1).expect("a line")), trust.as_str()),
        (id, "trusted")
    );
    assert_eq!(run(&home, &["verify", "pdf.zip"]).code, 1, "not a key that we trust");
    sign(&home, "their.key");
    shell(&home, "minisign -V -m pdf.zip -p their.pub");
}

#[test]
fn encrypted_keys_of_minisign_are_opened_and_minisign_opens_ours() {
    if !has("minisign") {
        return;
    }
    let home = with_key();
    shell(&home, "printf 'pw\\npw\\n' | minisign -G -f -p their.pub -s their.key");
    let mut command = home.command(METIER);
    command.args(["sign", "pdf.zip", "--key", "their.key"]).env("METIER_KEY_PASSWORD", "pw");
    let signed = TestHome::finish(&mut command);
    assert_eq!(signed.code, 0, "{signed:?}");
    shell(&home, "minisign -V -m pdf.zip -p their.pub");
    let mut command = home.command(METIER);
    command.args(["keys", "generate", "-o", "ours", "--name", "ours"]);
    assert_eq!(TestHome::finish(command.env("METIER_KEY_PASSWORD", "pw")).code, 0);
    shell(&home, "printf 'pw\\n' | minisign -S -m pdf.zip -s ours.key");
    assert_eq!(signer(&home, "ours.pub").1, "trusted");
}

#[test]
fn ssh_keygen_accepts_ours_and_we_accept_its_own_for_each_kind_of_key() {
    if !has("ssh-keygen") {
        return;
    }
    let home = with_key();
    let verify = "ssh-keygen -Y verify -f signers -I ada -n metier-pack -s pdf.zip.sig < pdf.zip";
    for (kind, password, we_sign) in [
        ("ed25519", "", true),
        ("ed25519", "pass word", true),
        ("ecdsa -b 256", "", true),
        ("ecdsa -b 384", "x", true),
        ("rsa -b 2048", "", false),
    ] {
        shell(
            &home,
            &format!("rm -f k k.pub *.sig && ssh-keygen -q -t {kind} -N '{password}' -f k"),
        );
        shell(&home, "printf 'ada %s\\n' \"$(cat k.pub)\" > signers");
        if we_sign {
            let mut command = home.command(METIER);
            command.args(["sign", "pdf.zip", "--key", "k"]).env("METIER_KEY_PASSWORD", password);
            let signed = TestHome::finish(&mut command);
            assert_eq!(signed.code, 0, "{kind}: {signed:?}");
            let said = shell(&home, verify);
            assert!(said.contains("Good \"metier-pack\" signature for ada"), "{said}");
            assert_eq!(signer(&home, "k.pub").1, "trusted", "{kind}");
        }
        if password.is_empty() {
            for hash in ["sha512", "sha256"] {
                shell(
                    &home,
                    &format!(
                        "rm -f pdf.zip.sig && ssh-keygen -q -Y sign -n metier-pack -O hashalg={hash} -f k pdf.zip"
                    ),
                );
                let (id, trust) = signer(&home, "signers");
                let print = shell(&home, "ssh-keygen -l -f k.pub");
                assert!(print.contains(id.strip_prefix("ssh:").expect("ssh")), "{print} {id}");
                assert_eq!(trust, "trusted", "{kind} {hash}");
            }
        }
    }
    // RSA verifies, and does not sign; other ciphers are named.
    assert_eq!(code_of(&home, &["sign", "pdf.zip", "--force", "--key", "k"]), "key-unsupported");
    shell(&home, "rm -f k k.pub && ssh-keygen -q -t ed25519 -Z aes256-gcm@openssh.com -N x -f k");
    assert_eq!(code_of(&home, &["sign", "pdf.zip", "--force", "--key", "k"]), "key-unsupported");
    shell(&home, "rm -f k k.pub && ssh-keygen -q -t ecdsa -b 521 -N '' -f k");
    assert_eq!(code_of(&home, &["sign", "pdf.zip", "--force", "--key", "k"]), "key-unsupported");
    assert_eq!(code_of(&home, &["keys", "trust", "k.pub", "--yes"]), "key-unsupported");
    shell(&home, "rm -f pdf.zip.sig && ssh-keygen -q -Y sign -n metier-pack -f k pdf.zip");
    assert_eq!(code_of(&home, &["verify", "pdf.zip"]), "signature-key-kind");
    assert_eq!(code_of(&home, &["install", "pdf.zip", "--yes"]), "signature-key-kind");
}

#[test]
fn an_unknown_ssh_key_is_shown_and_pinned_and_another_one_stops() {
    if !has("ssh-keygen") {
        return;
    }
    let home = with_key();
    let sign = |key: &str| {
        shell(
            &home,
            &format!("rm -f pdf.zip.sig; ssh-keygen -q -Y sign -n metier-pack -f {key} pdf.zip"),
        )
    };
    shell(&home, "ssh-keygen -q -t ed25519 -N '' -f a && ssh-keygen -q -t ed25519 -N '' -f b");
    sign("a");
    let done = json(&home, &["install", "pdf.zip", "--yes", "--json"]);
    assert_eq!(done["skills"][0]["signer"]["trust"], "unknown");
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes"]).code, 0);
    sign("b");
    let output = run(&home, &["install", "pdf.zip", "--yes", "--json"]);
    assert_eq!((output.code, code(&output).as_str()), (1, "signer-changed"));
    // Both signatures count: the pinned one is enough beside another.
    sign("a");
    crate::signing::sign(&home, "own.key");
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes"]).code, 0);
    assert_eq!(run(&home, &["verify", "pdf.zip"]).code, 0, "one of the two is trusted");
}
