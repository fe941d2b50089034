//! Keys and tokens in skills: what `pack` leaves out by name, and what it and `install` say about contents. From the
//! outside.

use std::fs;

use metier_testkit::TestHome;

use crate::support::{json, run, run_in};

/// Put together here, so that no scanner takes this file for one that holds a token.
fn token() -> String {
    ["ghp", "_9fQ2mZr7LxW4kT8vB3nH6pJ1sD5cYgEaUoRi"].concat()
}

fn source() -> TestHome {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home
}

#[test]
fn files_of_secrets_are_left_out_by_their_names_and_all_of_them_are_named() {
    let home = source();
    let names = [
        ".pgpass",
        ".kube/config",
        ".dockercfg",
        ".docker/config.json",
        ".my.cnf",
        ".envrc",
        "prod.env",
        "credentials",
        "credentials.json",
        "secrets.json",
        "service-account.json",
        "terraform.tfstate",
        "kubeconfig",
        "private-key.asc",
        ".vault-token",
        ".secrets",
    ];
    for name in names {
        home.write(&format!("project/src/pdf/{name}"), "x");
    }
    for name in [".env.example", "version.env", "credentials.md", "release.asc"] {
        home.write(&format!("project/src/pdf/{name}"), "x");
    }
    let output = run_in(&home, "project", &["pack", "src/pdf"]);
    assert_eq!(output.code, 0, "{output:?}");
    for name in names {
        let top = name.split('/').next().unwrap_or(name);
        assert!(output.stderr.contains(&format!("left out: {top}")), "{name}: {output:?}");
    }
    assert_eq!(run(&home, &["install", "pdf.zip", "--yes"]).code, 0);
    let skill = home.project().join(".agent/skills/pdf");
    let mut there: Vec<String> = fs::read_dir(skill)
        .expect("lists")
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    there.sort();
    assert_eq!(there, [".env.example", "SKILL.md", "credentials.md", "release.asc", "version.env"]);
}

#[test]
fn a_token_in_a_file_is_reported_with_its_line_and_is_not_printed() {
    let home = source();
    home.write(
        "project/src/pdf/notes.md",
        format!("# Notes\n\nAKIAIOSFODNN7EXAMPLE\n{}\n", token()),
    );
    let packed = json(&home, &["pack", "src/pdf", "--dry-run", "--json"]);
    let findings = packed["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "an example is none: {packed}");
    assert_eq!((&findings[0]["file"], &findings[0]["line"]), (&"notes.md".into(), &4.into()));
    let output = run(&home, &["pack", "src/pdf", "-o", "pdf.zip"]);
    assert!(
        output.code == 0 && output.stderr.contains("[holds-a-secret] notes.md:4"),
        "{output:?}"
    );
    let plan = run(&home, &["install", "pdf.zip", "--dry-run"]);
    assert!(plan.stdout.contains("[holds-a-secret] notes.md:4"), "{plan:?}");
    for said in [&output.stderr, &output.stdout, &plan.stdout, &plan.stderr] {
        assert!(!said.contains(&token()), "{said}");
    }
}
