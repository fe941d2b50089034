//! `metier list --json`: every key of an entry and of the report, and the same document with and
//! without a cache.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{at, builtin, document, entry, json, keys, many_skills, run, texts};

/// A skill that says everything a skill can say.
const FULL: &str = "\
---
name: full
description: Says everything.
license: MIT
compatibility: Linux
version: 2.1
author: Ada
allowed-tools: Read, Bash(git:*)
disable-model-invocation: true
user-invocable: false
run-mode: subagent
argument-hint: FILE
paths: src/**
model: small
metadata:
  team: tools
colour: blue
---
# Full

Do it.
";

#[test]
fn an_entry_has_every_key_of_the_design() {
    let home = TestHome::new();
    home.write("project/.agents/skills/full/SKILL.md", FULL);
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(keys(&listing), ["report", "skills"]);
    assert_eq!(
        entry(&listing, "project:full"),
        &json!({
            "id": "project:full",
            "name": "full",
            "description": "Says everything.",
            "source": "project",
            "path": "[T]/project/.agents/skills/full",
            "trust": "untrusted",
            "controls": {
                "disable_model_invocation": true,
                "user_invocable": false,
                "allowed_tools": ["Read", "Bash(git:*)"],
                "run_mode": "subagent",
            },
            "meta": {
                "version": "2.1",
                "author": "Ada",
                "license": "MIT",
                "compatibility": "Linux",
                "argument_hint": "FILE",
                "model": "small",
                "paths": ["src/**"],
                "metadata": { "team": "tools" },
                "unknown": { "colour": "blue" },
            },
            "enabled": true,
            "digest": "sha256:0c38117e5ed1f7290cfea26a02538760736d7372a62968a7ec956589dd902d60",
            "diagnostics": [{
                "code": "field-unknown",
                "severity": "note",
                "line": 17,
                "column": 1,
                "message": "unknown field `colour`",
                "help": "Put your own data under `metadata` if the skill should pass strict validators.",
                "fixable": false,
                "rejected_by": ["skills-ref", "quick_validate"],
            }],
        })
    );
    for skill in listing["skills"].as_array().expect("a list") {
        assert_eq!(keys(skill).len(), 11, "{skill}");
    }
}

#[test]
fn the_report_accounts_for_every_file() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.write(
        "home/.agents/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: The user's.\nversion: 1.2\n---\nDo it.\n",
    );
    home.write("home/.agents/skills/broken/SKILL.md", "---\nname: broken\n---\nx\n");
    let output = run(&home, &["list", "--json", "--root", &at(&home, "none")]);
    let mut report = document(&home, &output, 1)["report"].take();
    let hash = report["index_hash"].take();
    assert!(hash.as_str().is_some_and(|hash| hash.starts_with("sha256:") && hash.len() == 71));
    assert_eq!(
        report,
        json!({
            "roots": [
                { "source": "explicit", "path": "[T]/none", "priority": 0, "state": "missing", "found": 0 },
                { "source": "project", "path": "[T]/project/.agents/skills", "priority": 3, "state": "ok", "found": 1 },
                { "source": "user", "path": "[T]/home/.agents/skills", "priority": 25, "state": "ok", "found": 2 },
                { "source": "builtin", "path": "builtin:", "priority": 46, "state": "ok", "found": builtin() },
            ],
            "elapsed_ms": null,
            "found": 3 + builtin(),
            "valid": 2 + builtin(),
            "ignored": [{
                "path": "[T]/home/.agents/skills/broken",
                "code": "description-missing",
                "message": "the frontmatter has no `description`",
                "line": 2,
                "column": 1,
            }],
            "notes": [
                { "path": "[T]/none", "code": "root-missing", "message": "the root does not exist" },
            ],
            "conflicts": [{
                "name": "pdf",
                "winner": "[T]/project/.agents/skills/pdf",
                "source": "project",
                "shadowed": [{
                    "source": "user",
                    "path": "[T]/home/.agents/skills/pdf",
                    "version": "1.2",
                    "reason": "higher-root",
                }],
                "reason": "higher-root",
            }],
            "truncated": false,
            "index_hash": null,
        })
    );
}

#[test]
fn all_adds_the_shadowed_entries_as_whole_entries() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    let listing = json(&home, &["list", "--json", "--all"]);
    assert_eq!(keys(&listing), ["report", "shadowed", "skills"]);
    assert_eq!(texts(&listing["shadowed"], "id"), ["user:pdf"]);
    assert_eq!(keys(&listing["shadowed"][0]), keys(entry(&listing, "project:pdf")));
}

#[test]
fn a_disabled_skill_stays_in_the_document() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/off", "off", "Switched off.");
    home.skill("project/.agents/skills/on", "on", "Switched on.");
    home.write("project/.agent/config.json", r#"{"skills": {"off": {"enabled": false}}}"#);
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "project:off")["enabled"], Value::Bool(false));
    assert_eq!(entry(&listing, "project:on")["enabled"], Value::Bool(true));
}

#[test]
fn copies_belong_to_one_entry() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "One skill.");
    home.skill("home/.agents/skills/pdf", "pdf", "One skill.");
    let listing = json(&home, &["list", "--json"]);
    let pdf = entry(&listing, "project:pdf");
    assert_eq!(pdf["path"], "[T]/project/.agents/skills/pdf");
    assert_eq!(pdf["copies"], json!([{ "source": "user", "path": "[T]/home/.agents/skills/pdf" }]));
    assert_eq!(listing["report"]["conflicts"], json!([]));
}

#[test]
fn a_diagnostic_reports_code_place_and_who_else_rejects_it() {
    let home = TestHome::new();
    home.write(
        "project/.agents/skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: asked\n---\nx\n",
    );
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "project:colon")["description"], "Use when: asked");
    assert_eq!(
        entry(&listing, "project:colon")["diagnostics"],
        json!([{
            "code": "yaml-unquoted-colon",
            "severity": "warning",
            "line": 3,
            "column": 14,
            "message": "read as `description: \"Use when: asked\"`",
            "help": "Put the value in double quotes (`metier check --fix` does it).",
            "fixable": true,
            "rejected_by": ["skills-ref", "quick_validate", "strict-yaml-clients"],
        }])
    );
}

#[test]
fn the_document_of_many_skills_is_the_same_each_time_and_nothing_is_written() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 400);
    home.write("project/.agents/skills/full/SKILL.md", FULL);
    home.write("project/.agents/skills/broken/SKILL.md", "---\nname: broken\n---\nx\n");
    home.write(
        "project/.agents/skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: asked\n---\nx\n",
    );
    let first = json(&home, &["list", "--json"]);
    assert_eq!(first["skills"].as_array().expect("a list").len(), 402 + builtin());
    assert_eq!(json(&home, &["list", "--json"]), first);
    assert!(!home.home().join(".cache").exists());
}

#[test]
fn the_same_skills_in_another_place_have_the_same_hash() {
    let hash = |home: &TestHome| {
        home.skill("project/.agents/skills/b", "b", "Second.");
        home.skill("project/.agents/skills/a", "a", "First.");
        json(home, &["list", "--json"])["report"]["index_hash"].take()
    };
    let (one, two) = (TestHome::new(), TestHome::new());
    let same = hash(&one);
    assert_eq!(same, hash(&two));
    two.skill("project/.agents/skills/a", "a", "Another description.");
    assert_ne!(same, json(&two, &["list", "--json"])["report"]["index_hash"]);
}
