//! What the binary changes for a person, a program on the library changes alike: requests to install, signatures,
//! switched-off and deleted skills.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use metier::Metier;
use metier::config::Scope;
use metier::pack::Overwrite;
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::library::library;
use crate::signing::{sign, with_key};
use crate::support::{entry, files_below, json, run};

/// Two homes in which everything is the same.
fn two(prepare: impl Fn(&TestHome)) -> [TestHome; 2] {
    let homes = [TestHome::new(), TestHome::new()];
    homes.iter().for_each(prepare);
    homes
}

/// A document in which the home has no name.
fn same(home: &TestHome, value: &Value) -> Value {
    serde_json::from_str(&home.scrub(&value.to_string())).expect("JSON")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// What both left of skills, records and settings.
fn state(home: &TestHome) -> Value {
    let agent = home.project().join(".agent");
    let files = ["skills.json", "skills.lock.json", "config.json"].map(|it| text(&agent.join(it)));
    let listing = run(home, &["list", "--all", "--json"]).json();
    let skills = listing["skills"]
        .as_array()
        .expect("skills")
        .iter()
        .map(|skill| json!([skill["id"], skill["enabled"], skill["trust"], skill["path"]]));
    let skills: Value = skills.collect();
    let user = text(&home.home().join(".agent/config.json"));
    same(home, &json!({ "files": files, "skills": skills, "user": user }))
}

#[test]
fn a_request_that_is_approved_by_either_lands_alike() {
    let [binary, other] = two(|home| {
        home.skill("project/packs/pdf", "pdf", "Fill PDF forms.");
        home.skill("project/packs/csv", "csv", "Read tables.");
        let metier = library(home, "project");
        let skills = ["pdf".to_owned()];
        metier.file_install_request("packs", &skills, "to work", "my-agent").expect("files");
    });
    let listed = json(&binary, &["requests", "--json"]);
    let id = listed["requests"][0]["id"].as_str().expect("an id");
    assert_eq!(run(&binary, &["requests", "approve", id, "--yes"]).code, 0);

    let metier = library(&other, "project");
    let listed = json(&other, &["requests", "--json"]);
    let id = listed["requests"][0]["id"].as_str().expect("an id");
    let request = metier.filed_request(id).expect("it waits");
    let target = metier.install_target(None).expect("a target");
    let wanted = metier.requested_install(&request).expect("a request");
    let plan = metier.plan_install(&target, &wanted).expect("a plan");
    metier.carry_out_request(&request, &target, plan).expect("installs");

    assert_eq!(state(&binary), state(&other));
    for home in [&binary, &other] {
        let listing = run(home, &["list", "--all", "--json"]).json();
        let landed = entry(&listing, "project:pdf");
        assert_eq!((&landed["enabled"], &landed["trust"]), (&json!(false), &json!("untrusted")));
        assert_eq!(json(home, &["requests", "--json"])["requests"], json!([]));
    }
}

#[test]
fn a_pack_is_signed_by_the_same_for_both() {
    let home = with_key();
    let metier = library(&home, "project");
    let decided = |metier: &Metier| {
        let keys = metier.trusted_keys().expect("keys");
        let verified = metier.verify_pack("pdf.zip".as_ref(), &keys).expect("verified");
        let printed = run(&home, &["verify", "pdf.zip", "--json"]);
        assert_eq!(printed.code == 0, verified.is_signed(), "{printed:?}");
        assert_eq!(
            same(&home, &printed.json()["packs"][0]),
            same(&home, &serde_json::to_value(&verified).expect("JSON"))
        );
        verified.is_signed()
    };
    assert!(!decided(&metier), "no one has signed it");
    // Signed by the binary, then by the library: byte for byte the same signer.
    sign(&home, "own.key");
    assert!(decided(&metier));
    let signers = |home: &TestHome| {
        json(home, &["verify", "pdf.zip", "--json"])["packs"][0]["signers"].clone()
    };
    let by_binary = signers(&home);
    let refused = |replace| {
        let key = metier.open_signing_key("own.key".as_ref(), || None).expect("a key");
        metier.sign_pack("pdf.zip".as_ref(), &key, None, replace)
    };
    assert_eq!(refused(Overwrite::Refuse).expect_err("it is signed").code, "signature-exists");
    refused(Overwrite::Replace).expect("signs");
    assert_eq!(signers(&home), by_binary);
    assert!(decided(&metier));
    // A key that is forgotten counts for neither.
    let key = metier.trusted_keys().expect("keys").iter().next().expect("a key").key.id();
    metier.forget_key(&key).expect("forgotten");
    assert!(!decided(&metier));
}

#[test]
fn a_skill_is_switched_and_deleted_alike() {
    let [binary, other] = two(|home| {
        home.skill("home/.agent/skills/pdf", "pdf", "Fill PDF forms.");
        home.skill("home/.agent/skills/csv", "csv", "Read tables.");
        home.skill("project/.agent/skills/own", "own", "Comes with the project.");
    });
    let metier = library(&other, "project");
    assert_eq!(run(&binary, &["disable", "pdf"]).code, 0);
    assert!(metier.switch_skill(Scope::User, "user:pdf", false).expect("switched"));
    assert_eq!(run(&binary, &["disable", "own", "--project"]).code, 0);
    assert!(metier.switch_skill(Scope::Project, "project:own", false).expect("switched"));
    assert_eq!(state(&binary), state(&other));
    assert_eq!(run(&binary, &["enable", "pdf"]).code, 0);
    assert!(metier.switch_skill(Scope::User, "user:pdf", true).expect("switched"));
    assert_eq!(state(&binary), state(&other));

    assert_eq!(run(&binary, &["delete", "csv", "--yes"]).code, 0);
    let plan = metier.plan_delete("csv").expect("a plan");
    let backups = metier.backups().expect("backups");
    backups.keep(plan.deletion, SystemTime::now()).expect("deleted");
    assert_eq!(state(&binary), state(&other));
    for home in [&binary, &other] {
        assert_eq!(run(home, &["restore", "user:csv", "--yes"]).code, 0);
        assert!(files_below(&home.home()).contains(&".agent/skills/csv/SKILL.md".to_owned()));
    }

    // What the one refuses, the other refuses.
    for home in [&binary, &other] {
        home.skill("project/packs/landed", "landed", "Was installed.");
        assert_eq!(run(home, &["install", "./packs/landed", "--user", "--yes"]).code, 0);
    }
    let opened = library(&other, "project");
    for name in ["own", "landed", "write-skill", "nowhere"] {
        let refused = run(&binary, &["delete", name, "--yes", "--json"]).json();
        let error = opened.plan_delete(name).expect_err("refused");
        let printed = &refused["error"];
        assert_eq!(
            same(&binary, &json!([printed["code"], printed["message"], printed["help"]])),
            same(&other, &json!([error.code, error.message, error.help])),
            "{name}"
        );
    }
}
