//! What `/name arguments` gives, and the block in which a skill reaches a model, through
//! `metier read`. The rules of placeholders are tested with the loader.

use metier_testkit::TestHome;

use crate::support::{document, run, shown};

fn skills() -> TestHome {
    let home = TestHome::new();
    home.write(
        "home/.agents/skills/fix/SKILL.md",
        "---\nname: fix\ndescription: Fix an issue.\nargument-hint: <issue> [priority]\n---\n\
         Fix issue $1 ($priority). All: $ARGUMENTS. Costs \\$5.\n",
    );
    home.write("home/.agents/skills/fix/scripts/run.sh", "echo");
    home.write(
        "home/.agents/skills/hidden/SKILL.md",
        "---\nname: hidden\ndescription: For models.\nuser-invocable: false\n---\nSecret.\n",
    );
    home
}

#[test]
fn arguments_fill_the_placeholders_once() {
    let home = skills();
    let output = run(&home, &["read", "fix", "--arguments", "12 '$1 high'"]);
    assert_eq!(output.stdout, "Fix issue 12 ($1 high). All: 12 '$1 high'. Costs $5.\n");
    // A model gets the body as it is.
    let plain = run(&home, &["read", "fix"]);
    assert!(plain.stdout.contains("Fix issue $1 ($priority)."), "{plain:?}");
}

#[test]
fn a_skill_that_is_not_for_people_is_refused() {
    let home = skills();
    let output = run(&home, &["read", "hidden", "--arguments", "", "--json"]);
    let error = document(&home, &output, 3);
    assert_eq!(error["error"]["code"], "NotAllowed");
    assert!(!output.stdout.contains("Secret"), "{output:?}");
}

#[test]
fn the_block_names_the_skill_and_its_files() {
    let home = skills();
    let output = run(&home, &["read", "fix", "--block"]);
    insta::with_settings!({filters => vec![("[0-9a-f]{64}", "[digest]"), ("mark [0-9a-f]{8}", "mark [mark]")]}, {
        insta::assert_snapshot!(shown(&home, &output), @r#"
        exit: 0
        ---- stdout
        [Skill: fix | source=user]
        [Skill Path: [T]/home/.agents/skills/fix]
        [Load Report: file=SKILL.md sha256=sha256:[digest] truncated=false bytes_read=133]
        [Skill Text | mark [mark]]
        Fix issue $1 ($priority). All: $ARGUMENTS. Costs \$5.
        [End of Skill Text | mark [mark]]
        [Skill Files: scripts/run.sh]

        ---- stderr
        "#);
    });
}
