//! Signatures that are not what they seem: each is refused with its own code, by `verify` and by `install`, and
//! nothing is installed, whatever flags are given.

use std::fs;

use metier_testkit::TestHome;

use crate::signing::{code_of, sign, with_key};
use crate::signing_programs::{has, shell};

fn refused(home: &TestHome, expected: &str, what: &str) {
    for args in [
        &["verify", "pdf.zip"][..],
        &["install", "pdf.zip", "--yes", "--force", "--accept-signer"],
        &["install", "pdf.zip", "--dry-run"],
    ] {
        assert_eq!(code_of(home, args), expected, "{what}: {args:?}");
    }
    assert!(!home.project().join(".agent/skills/pdf").exists(), "{what}");
}

/// The four lines of the signature, changed.
fn rewritten(home: &TestHome, change: impl Fn(&mut Vec<String>)) {
    sign(home, "own.key");
    let path = home.project().join("pdf.zip.minisig");
    let text = fs::read_to_string(&path).expect("a signature");
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    change(&mut lines);
    fs::write(&path, lines.join("\n") + "\n").expect("writes");
}

/// A change of the lines of a signature.
type Alteration = fn(&mut Vec<String>);

/// Another character at a place in base64.
fn flip(line: &mut String, at: usize) {
    let other = if &line[at..=at] == "A" { "B" } else { "A" };
    line.replace_range(at..=at, other);
}

#[test]
fn altered_minisign_signatures_are_refused_each_with_its_code() {
    let home = with_key();
    let alter: &[(&str, &str, Alteration)] = &[
        ("the signature", "signature-wrong", |lines| flip(&mut lines[1], 40)),
        ("the trusted comment", "signature-comment", |lines| lines[2].push_str(" and more")),
        ("the comment's signature", "signature-comment", |lines| flip(&mut lines[3], 10)),
        ("a fifth line", "signature-format", |lines| lines.push("x".to_owned())),
        ("an empty fifth line", "signature-format", |lines| lines.push(" ".to_owned())),
        ("three lines", "signature-format", |lines| drop(lines.pop())),
        ("no comment", "signature-format", |lines| lines[0] = "comment".to_owned()),
        ("not base64", "signature-format", |lines| lines[1].insert(0, '!')),
        ("the old kind", "signature-legacy", |lines| lines[1].replace_range(1..2, "W")),
        ("another algorithm", "signature-format", |lines| lines[1].replace_range(0..2, "AA")),
    ];
    for (what, expected, change) in alter {
        rewritten(&home, change);
        refused(&home, expected, what);
    }
    // The id of another key that is trusted: the signature is not one by that key.
    crate::support::run(&home, &["keys", "generate", "--no-password", "--name", "b", "-o", "b"]);
    let other = fs::read_to_string(home.project().join("b.pub")).expect("a key");
    let bytes = |line: &str| data_encoding::BASE64.decode(line.as_bytes()).expect("base64");
    let other = bytes(other.lines().nth(1).expect("a line"));
    rewritten(&home, |lines| {
        let mut signature = bytes(&lines[1]);
        signature[2..10].copy_from_slice(&other[2..10]);
        lines[1] = data_encoding::BASE64.encode(&signature);
    });
    refused(&home, "signature-wrong", "the id of another key");
}

#[test]
fn a_signature_of_another_file_a_huge_one_a_link_and_a_pipe_are_refused() {
    let home = with_key();
    sign(&home, "own.key");
    let signature = home.project().join("pdf.zip.minisig");
    let genuine = fs::read(&signature).expect("a signature");
    // The pack is changed after it was signed.
    home.skill("project/src/pdf", "pdf", "Fill PDF forms and more.");
    shell(&home, &format!("{} pack src/pdf -o pdf.zip --force", crate::support::METIER));
    refused(&home, "signature-wrong", "another file");
    fs::write(&signature, vec![b'x'; 70 << 10]).expect("writes");
    refused(&home, "signature-format", "a huge file");
    fs::write(&signature, [0xff, 0xfe, 0x00]).expect("writes");
    refused(&home, "signature-format", "no text");
    fs::remove_file(&signature).expect("removes");
    home.write("project/real", genuine);
    std::os::unix::fs::symlink("real", &signature).expect("a link");
    refused(&home, "signature-format", "a link");
    fs::remove_file(&signature).expect("removes");
    shell(&home, "mkfifo pdf.zip.minisig");
    refused(&home, "signature-format", "a pipe");
    fs::remove_file(&signature).expect("removes");
    fs::create_dir(&signature).expect("a folder");
    refused(&home, "signature-format", "a folder");
}

#[test]
fn minisigns_old_kind_is_refused_because_it_can_pass_for_another_files() {
    if !has("minisign") {
        return;
    }
    let home = with_key();
    shell(&home, "minisign -S -l -m pdf.zip -s own.key && minisign -V -m pdf.zip -p own.pub");
    refused(&home, "signature-legacy", "made by minisign -l");
}

#[test]
fn altered_ssh_signatures_are_refused_each_with_its_code() {
    if !has("ssh-keygen") {
        return;
    }
    let home = with_key();
    shell(&home, "ssh-keygen -q -t ed25519 -N '' -f k");
    assert_eq!(crate::support::run(&home, &["keys", "trust", "k.pub", "--yes"]).code, 0);
    let resign = |namespace: &str| {
        shell(
            &home,
            &format!("rm -f pdf.zip.sig; ssh-keygen -q -Y sign -n {namespace} -f k pdf.zip"),
        );
        fs::read_to_string(home.project().join("pdf.zip.sig")).expect("a signature")
    };
    for namespace in ["git", "file", "metier-packs"] {
        resign(namespace);
        refused(&home, "signature-namespace", namespace);
    }
    let genuine = resign("metier-pack");
    let path = home.project().join("pdf.zip.sig");
    let body: Vec<&str> = genuine.lines().filter(|line| !line.starts_with('-')).collect();
    let blob = data_encoding::BASE64.decode(body.concat().as_bytes()).expect("base64");
    let armoured = |blob: &[u8]| {
        let body = data_encoding::BASE64.encode(blob);
        format!("-----BEGIN SSH SIGNATURE-----\n{body}\n-----END SSH SIGNATURE-----\n")
    };
    let replaced = |from: &[u8], to: &[u8]| {
        let at = blob.windows(from.len()).position(|it| it == from).expect("is there");
        armoured(&[&blob[..at], to, &blob[at + from.len()..]].concat())
    };
    let mut last = blob.clone();
    *last.last_mut().expect("bytes") ^= 1;
    for (what, text, expected) in [
        ("text after it", format!("{genuine}x\n"), "signature-format"),
        ("text before it", format!("x\n{genuine}"), "signature-format"),
        ("twice", format!("{genuine}{genuine}"), "signature-format"),
        ("bytes after it", armoured(&[&blob[..], &[0]].concat()), "signature-format"),
        ("cut off", armoured(&blob[..blob.len() - 1]), "signature-format"),
        ("another version", replaced(b"SSHSIG\0\0\0\x01", b"SSHSIG\0\0\0\x02"), "signature-format"),
        ("another hash", replaced(b"sha512", b"sha256"), "signature-wrong"),
        ("an unknown hash", replaced(b"sha512", b"sha1\0\0"), "signature-hash"),
        ("a bit of the signature", armoured(&last), "signature-wrong"),
        (
            "a key on hardware",
            replaced(b"\0\0\0\x33\0\0\0\x0bssh-ed25519", b"\0\0\0\x33\0\0\0\x0bsk-ssh-ed25"),
            "signature-key-kind",
        ),
        ("no signature at all", "hello\n".to_owned(), "signature-format"),
    ] {
        fs::write(&path, text).expect("writes");
        refused(&home, expected, what);
    }
    // GnuPG's signatures have the same suffix: they are named, and count as none.
    fs::write(&path, "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n")
        .expect("writes");
    let plan = crate::support::json(&home, &["install", "pdf.zip", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["unchecked"][0]["code"], "signature-openpgp");
}
