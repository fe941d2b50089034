//! `metier doctor`: one page about all skills, a fix for each finding, and an exit code that says
//! whether every skill works.

use std::os::unix::fs::symlink;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{builtin, document, json, keys, run, run_unprivileged, shown, texts};

const ROOT: &str = "project/.agents/skills";

/// A skill with a body.
fn skill(home: &TestHome, dir: &str, body: &str) {
    let name = dir.rsplit('/').next().expect("a name");
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}");
    home.write(&format!("{dir}/SKILL.md"), text);
}

#[test]
fn the_sandbox_of_this_machine_is_tried() {
    let home = TestHome::new();
    let document = json(&home, &["doctor", "--json"]);
    let sandbox = &document["sandbox"];
    assert_eq!(sandbox["least"], "medium");
    let tiers = texts(&sandbox["tiers"], "tier");
    assert!(tiers.contains(&"medium"), "{sandbox}");
    assert!(sandbox["features"].as_array().is_some_and(|list| !list.is_empty()), "{sandbox}");
    let page = run(&home, &["doctor"]).stdout;
    let best = sandbox["best"].as_str().expect("a tier");
    assert!(page.contains(&format!("in tier {best} (")) || page.contains("do not run"), "{page}");
}

/// The findings of a code.
fn of_code<'a>(document: &'a Value, code: &str) -> Vec<&'a Value> {
    let findings = document["findings"].as_array().expect("a list").iter();
    findings.filter(|finding| finding["code"] == code).collect()
}

#[test]
fn a_page_has_roots_counts_cost_findings_and_a_verdict() {
    let home = TestHome::new();
    skill(&home, &format!("{ROOT}/pdf"), "# PDF\n\nRead `references/Forms.md`.\n");
    home.write(&format!("{ROOT}/pdf/references/forms.md"), "# Forms\n");
    home.write(&format!("{ROOT}/broken/SKILL.md"), "---\nname: broken\n---\nText.\n");
    skill(&home, "home/.claude/skills/pdf", "Another.\n");
    let output = run(&home, &["doctor"]);
    let own = |line: &&str| !line.contains("builtin") && !line.starts_with("  about");
    let text = shown(&home, &output);
    // What holds scripts is this machine's; another test looks at it.
    let (before, after) = text.split_once("Sandbox\n").expect("a sandbox");
    let (_, after) = after.split_once("\n\n").expect("an end");
    let text = format!("{before}{after}");
    let page: Vec<String> =
        text.lines().filter(own).map(|line| line.trim_end().to_owned()).collect();
    insta::assert_snapshot!(page.join("\n"), @"
    exit: 1
    ---- stdout
    Roots
    SOURCE   STATE  SKILLS  PATH
    project  ok     2       [T]/project/.agents/skills
    user     ok     1       [T]/home/.claude/skills
    43 more folders would be searched if they existed (metier roots --all)

    Skills
      6 skills: 6 listed
      of 8 SKILL.md files found: 1 ignored, 1 shadowed

    Cost
      LISTED  LOADED  LINES  SKILL
      15      13      3      project:pdf

    error[description-missing]: There is no `description`, or it is empty.
      [T]/project/.agents/skills/broken/SKILL.md:2
        the frontmatter has no `description`
        help: Say in a sentence or two what the skill does and when to use it. `metier check PATH` shows the line.

    warning[reference-case]: The body writes a file's name with different capitalization.
      project:pdf  [T]/project/.agents/skills/pdf/SKILL.md:7
        the body mentions `references/Forms.md`, but the file is named `references/forms.md`
        help: Write the path exactly as the file is named, or rename the file.

    note[skill-shadowed]: Another skill with the same name is used instead of this one.
      user:pdf  [T]/home/.claude/skills/pdf
        project:pdf at [T]/project/.agents/skills/pdf is used instead: a root with higher priority has a skill of that name; their frontmatter is the same, the body or other files differ
        help: Keep one of them, or rename one. `user:pdf` still selects this one.

    note[skill-untrusted]: The skill came with a project that is not trusted.
      [T]/project/.agents/skills
        1 skill of the project not trusted: pdf
        help: Read it, then trust the project with `metier trust`, which shows its scripts and tools first.

    1 error, 1 warning, 2 notes

    ---- stderr
    ");
}

#[test]
fn the_document_has_stable_keys() {
    let home = TestHome::new();
    skill(&home, &format!("{ROOT}/one"), "# One\n\nDo it.\n");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let document = json(&home, &["doctor", "--json"]);
    assert_eq!(keys(&document), ["findings", "roots", "sandbox", "skills", "totals"]);
    assert_eq!(document["findings"], json!([]));
    let one = &document["skills"].as_array().expect("a list").iter().find(|it| it["name"] == "one");
    assert_eq!(
        *one.expect("one"),
        json!({
            "id": "project:one", "name": "one", "source": "project",
            "path": format!("[T]/{ROOT}/one"), "enabled": true, "listed": true,
            "tokens": { "catalog": 15, "body": 7 }, "body_lines": 3,
        })
    );
    let totals = &document["totals"];
    assert_eq!(
        keys(totals),
        [
            "conditional",
            "copies",
            "enabled",
            "errors",
            "found",
            "ignored",
            "listed",
            "notes",
            "shadowed",
            "skills",
            "tokens",
            "warnings"
        ]
    );
    assert_eq!(
        (&totals["found"], &totals["skills"], &totals["listed"]),
        (&json!(builtin() + 1), &json!(builtin() + 1), &json!(builtin() + 1))
    );
    let sum: u64 = document["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["tokens"]["catalog"].as_u64().expect("a number"))
        .sum();
    assert_eq!(totals["tokens"]["catalog"], json!(sum));
}

#[test]
fn an_ignored_skill_is_an_error_with_its_place_and_its_fix() {
    let home = TestHome::new();
    home.write(&format!("{ROOT}/broken/SKILL.md"), "---\nname: broken\n---\nText.\n");
    let document = document(&home, &run(&home, &["doctor", "--json"]), 1);
    let help = "Say in a sentence or two what the skill does and when to use it. `metier check PATH` shows the line.";
    assert_eq!(
        document["findings"],
        json!([{
            "code": "description-missing", "severity": "error", "path": format!("[T]/{ROOT}/broken"),
            "line": 2, "column": 1, "message": "the frontmatter has no `description`", "help": help,
        }])
    );
    assert_eq!(
        (&document["totals"]["ignored"], &document["totals"]["errors"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_reference_to_a_file_that_is_not_there_names_the_one_that_is_meant() {
    let home = TestHome::new();
    let body = "See [forms](references/Forms.md), [api](api.md#x) and `scripts/fill_form.py`.\n\
                Not [this](https://x.y/a.md), [that](/etc/x.md) or [there](#here).\n\
                ```\npython scripts/none.py\n```\n[gone](references/gone.md) `references/ok.md`\n";
    skill(&home, &format!("{ROOT}/pdf"), body);
    for file in
        ["references/forms.md", "references/api.md", "references/ok.md", "scripts/fill-form.py"]
    {
        home.write(&format!("{ROOT}/pdf/{file}"), "text");
    }
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let document = json(&home, &["doctor", "--json"]);
    let found: Vec<(&str, u64, &str)> = document["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().expect("a text");
            assert_eq!((text("severity"), text("skill")), ("warning", "project:pdf"));
            (text("code"), it["line"].as_u64().expect("a line"), text("message"))
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                "reference-missing",
                5,
                "the body mentions `api.md`, but there is no such file; did you mean `references/api.md`?"
            ),
            (
                "reference-missing",
                5,
                "the body mentions `scripts/fill_form.py`, but there is no such file; did you mean `scripts/fill-form.py`?"
            ),
            (
                "reference-missing",
                10,
                "the body mentions `references/gone.md`, but there is no such file"
            ),
            (
                "reference-case",
                5,
                "the body mentions `references/Forms.md`, but the file is named `references/forms.md`"
            ),
        ]
    );
    assert_eq!(run(&home, &["doctor"]).code, 0, "the skill works");
    assert_eq!(run(&home, &["doctor", "--deny-warnings"]).code, 1);
}

#[test]
fn check_and_inspect_report_broken_references_too() {
    let home = TestHome::new();
    skill(&home, &format!("{ROOT}/pdf"), "# PDF\n\nSee [a](references/a.md).\n");
    let output = run(&home, &["check"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 0
    ---- stdout
    warning[reference-missing]: the body mentions `references/a.md`, but there is no such file
     --> .agents/skills/pdf/SKILL.md:7:9
      |
    7 | See [a](references/a.md).
      |         ^^^^^^^^^^^^^^^
      |
      = help: Add the file, correct the path, or remove the mention.

    1 skill checked: 1 warning

    ---- stderr
    looked in: [T]/project/.agents/skills
    ");
    assert_eq!(run(&home, &["check", "--spec"]).stdout, "1 skill checked: no problems\n");
    let shown = json(&home, &["inspect", "pdf", "--json"]);
    assert_eq!(texts(&shown["diagnostics"], "code"), ["reference-missing"]);
}

#[test]
fn rivals_are_reported_with_the_id_that_reaches_them() {
    let home = TestHome::new();
    skill(&home, &format!("{ROOT}/pdf"), "One.\n");
    skill(&home, "home/.claude/skills/pdf", "Two.\n");
    skill(&home, "home/.codex/skills/pdf", "Three.\n");
    let odd = "---\nname: pdf\ndescription: Another.\n---\nFour.\n";
    home.write("home/.codex/skills/again/SKILL.md", odd);
    skill(&home, "home/.claude/skills/csv", "One.\n");
    skill(&home, "home/.codex/skills/csv", "Two.\n");
    let document = json(&home, &["doctor", "--json"]);
    let rivals = of_code(&document, "skill-shadowed");
    assert_eq!(rivals.len(), 4, "{document}");
    for rival in rivals {
        let id = rival["skill"].as_str().expect("an id");
        let reached = json(&home, &["inspect", id, "--json"]);
        assert_eq!(reached["path"], rival["path"], "{id}");
        // A project's skill before the user's is meant; two of the user's are not.
        let severity = if id.contains("csv") { "warning" } else { "note" };
        assert_eq!(rival["severity"], severity, "{id}");
        let message = rival["message"].as_str().expect("a text");
        let differs = reached["description"] == "Another.";
        let ending = if differs { "frontmatter differs" } else { "the body or other files differ" };
        assert!(message.ends_with(ending), "{message}");
        assert_eq!(rival["others"].as_array().expect("the winner").len(), 1);
    }
}

#[test]
fn copies_are_one_entry_and_links_are_no_copies() {
    let home = TestHome::new();
    for root in [ROOT, "home/.claude/skills", "home/.codex/skills"] {
        skill(&home, &format!("{root}/pdf"), "Same.\n");
    }
    skill(&home, &format!("{ROOT}/linked"), "Real.\n");
    std::fs::create_dir_all(home.path().join("home/.agents/skills")).expect("directories");
    symlink(home.path().join(ROOT).join("linked"), home.path().join("home/.agents/skills/linked"))
        .expect("link");
    let document = json(&home, &["doctor", "--json"]);
    let copies = of_code(&document, "skill-copied");
    assert_eq!(copies.len(), 1, "{document}");
    assert_eq!(
        (&copies[0]["skill"], &copies[0]["severity"]),
        (&json!("project:pdf"), &json!("note"))
    );
    assert_eq!(
        copies[0]["others"],
        json!(["[T]/home/.claude/skills/pdf", "[T]/home/.codex/skills/pdf"])
    );
    assert_eq!(
        (&document["totals"]["copies"], &document["totals"]["shadowed"]),
        (&json!(3), &json!(0))
    );
}

#[test]
fn a_skill_that_is_listed_and_cannot_be_loaded_is_an_error() {
    let home = TestHome::new();
    let elsewhere =
        home.write("elsewhere.md", "---\nname: linked\ndescription: A link.\n---\nText.\n");
    std::fs::create_dir_all(home.path().join(ROOT).join("linked")).expect("directories");
    symlink(elsewhere, home.path().join(ROOT).join("linked/SKILL.md")).expect("link");
    skill(&home, &format!("{ROOT}/huge"), &"A line of a body.\n".repeat(600_000));
    home.write(
        &format!("{ROOT}/latin/SKILL.md"),
        b"---\nname: latin\ndescription: d\n---\ncaf\xe9\n",
    );
    let document = document(&home, &run(&home, &["doctor", "--json"]), 1);
    let found = of_code(&document, "skill-unloadable");
    let skills: Vec<&str> = found.iter().map(|it| it["skill"].as_str().expect("a text")).collect();
    assert_eq!(skills, ["project:huge", "project:latin", "project:linked"]);
    for finding in found {
        let id = finding["skill"].as_str().expect("an id");
        let error = run(&home, &["read", id, "--yes", "--json"]).json()["error"]["message"].clone();
        assert_eq!(error, finding["message"], "what loading it says");
    }
}

#[test]
fn a_long_body_costs_and_is_reported() {
    let home = TestHome::new();
    skill(&home, &format!("{ROOT}/long"), &"A line.\n".repeat(501));
    skill(&home, &format!("{ROOT}/short"), "A line.\n");
    let document = json(&home, &["doctor", "--json"]);
    assert_eq!(document["skills"][0]["id"], "project:long", "the dearest first");
    assert_eq!(of_code(&document, "body-too-long").len(), 1);
}

#[test]
fn long_lists_are_cut_unless_all_is_asked_for() {
    let home = TestHome::new();
    for at in 0..15 {
        skill(&home, &format!("{ROOT}/s{at:02}"), "See [a](references/a.md).\n");
    }
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    let page = run(&home, &["doctor"]).stdout;
    let more = format!("and {} more (metier doctor --all)", 5 + builtin());
    assert_eq!(page.matches(&more).count(), 1, "{page}");
    assert_eq!(page.matches("and 5 more (metier doctor --all)").count(), 1, "{page}");
    assert_eq!(page.matches("help:").count(), 1, "advice is given once: {page}");
    let all = run(&home, &["doctor", "--all"]).stdout;
    assert!(!all.contains("--all)") || all.contains("metier roots --all"), "{all}");
    assert_eq!(all.matches("but there is no such file").count(), 15);
}

#[test]
fn a_skill_that_only_a_person_starts_or_that_is_off_is_not_listed() {
    let home = TestHome::new();
    home.write(
        &format!("{ROOT}/person/SKILL.md"),
        "---\nname: person\ndescription: d\ndisable-model-invocation: true\n---\nText.\n",
    );
    skill(&home, &format!("{ROOT}/off"), "Text.\n");
    home.write("home/.agent/config.json", r#"{"skills": {"off": {"enabled": false}}}"#);
    let totals = json(&home, &["doctor", "--json"])["totals"].clone();
    assert_eq!(
        (&totals["skills"], &totals["enabled"], &totals["listed"]),
        (&json!(builtin() + 2), &json!(builtin() + 1), &json!(builtin()))
    );
    let page = run(&home, &["doctor"]).stdout;
    let report =
        format!("{} skills: {} listed, 1 for people only, 1 off\n", builtin() + 2, builtin());
    assert!(page.contains(&report), "{page}");
}

#[test]
fn a_named_root_that_is_not_there_is_an_error_and_a_closed_folder_a_warning() {
    let home = TestHome::new();
    let output = run(&home, &["doctor", "--json", "--root", "nowhere"]);
    let report = document(&home, &output, 1);
    assert_eq!(texts(&report["findings"], "code"), ["root-missing"]);

    let closed = home.path().join(ROOT).join("closed");
    std::fs::create_dir_all(&closed).expect("directories");
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000))
        .expect("chmod");
    let Some(output) = run_unprivileged(&home, &["doctor", "--json"]) else { return };
    let report = document(&home, &output, 0);
    assert_eq!(texts(&report["findings"], "code"), ["directory-unreadable"]);
}

#[test]
fn text_of_a_skill_cannot_take_over_the_terminal() {
    let home = TestHome::new();
    skill(
        &home,
        &format!("{ROOT}/odd"),
        "See [a](references/%1b.md) and [b](<references/\u{202e}b.md>).\n",
    );
    let output = run(&home, &["doctor", "--color", "never"]);
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{output:?}");
    assert!(output.stdout.contains("\\u{202e}"), "{output:?}");
}

#[test]
fn a_body_is_too_long_by_characters_too_and_the_settings_say_what_that_means() {
    let home = TestHome::new();
    let chars = "# A\n\nA line of text.\n\n# B\n\nAnother line.\n";
    skill(&home, &format!("{ROOT}/wide"), chars);
    let config = |text: &str| home.write("home/.agent/config.json", text);
    config(r#"{"security": {"max_skill_body_chars": 20}}"#);
    let document = json(&home, &["doctor", "--json"]);
    let found = of_code(&document, "body-too-long");
    let messages: Vec<&Value> = found.iter().map(|it| &it["message"]).collect();
    let report =
        "the body has 7 lines and 41 characters; a loader gives 500 and 20 and names the rest";
    assert!(messages.contains(&&json!(report)), "{document}");
    config(r#"{"security": {"max_skill_body_chars": 20, "over_long_body": "refuse"}}"#);
    let document = self::document(&home, &run(&home, &["doctor", "--json"]), 1);
    let found = of_code(&document, "skill-unloadable");
    assert!(found.iter().any(|it| it["skill"] == "project:wide"), "{document}");
    assert!(of_code(&document, "body-too-long").is_empty(), "reported once: {document}");
}

#[test]
fn a_skill_for_some_files_is_not_listed_in_every_request() {
    let home = TestHome::new();
    let text = "---\nname: sheets\ndescription: d\npaths: \"*.csv\"\n---\nText.\n";
    home.write(&format!("{ROOT}/sheets/SKILL.md"), text);
    let document = json(&home, &["doctor", "--json"]);
    let row = document["skills"].as_array().expect("a list");
    let row = row.iter().find(|it| it["name"] == "sheets").expect("sheets");
    assert_eq!(row["listed"], json!(false));
    let totals = &document["totals"];
    assert_eq!((&totals["listed"], &totals["conditional"]), (&json!(builtin()), &json!(1)));
    let page = run(&home, &["doctor"]).stdout;
    let report = format!("{} skills: {} listed, 1 for some files only\n", builtin() + 1, builtin());
    assert!(page.contains(&report), "{page}");
}

#[test]
fn a_place_in_a_lower_case_file_names_that_file() {
    let home = TestHome::new();
    let text = "---\nname: low\ndescription: d\n---\nSee [a](references/a.md).\n";
    home.write(&format!("{ROOT}/low/skill.md"), text);
    let page = home.scrub(&run(&home, &["doctor"]).stdout);
    assert!(page.contains("/low/skill.md:5"), "{page}");
}
