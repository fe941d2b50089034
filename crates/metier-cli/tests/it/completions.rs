//! What shells offer at the press of Tab. Bash is really driven: it loads the script and completes a line, as it
//! does when a person types.

use std::path::Path;

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_support::{answer, run_scripted};
use crate::support::METIER;

fn home() -> TestHome {
    let home = TestHome::new();
    home.skill("project/.agents/skills/deploy", "deploy", "Deploys. It\u{2019}s quick.");
    home.write("project/.agents/skills/deploy/scripts/ship.sh", "echo ship\n");
    home.write("project/.agents/skills/deploy/references/notes.md", "# Notes\n");
    home.write(
        "project/.agents/skills/odd/SKILL.md",
        "---\nname: de;reboot\ndescription: Bad.\n---\nx\n",
    );
    home.skill("elsewhere/skills/demo", "demo", "Shows.");
    home
}

/// What bash offers for the last of these words.
fn offered(home: &TestHome, words: &[&str]) -> Option<Vec<String>> {
    let bash = Path::new("/bin/bash");
    if !bash.exists() {
        metier_testkit::not_tested("there is no bash to try its completions in");
        return None;
    }
    let typed = format!("'{}'", words.join("' '"));
    let last = words.len() - 1;
    let script = format!(
        "source <(metier completions bash)\nCOMP_WORDS=({typed})\nCOMP_CWORD={last}\n\
         _clap_complete_metier metier '{}' x 2>&1\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words[last]
    );
    let mut command = home.command(bash.to_str().expect("UTF-8"));
    let bin = Path::new(METIER).parent().expect("a folder");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let output = TestHome::finish(command.args(["--norc", "--noprofile", "-c", &script]));
    assert_eq!((output.code, &*output.stderr), (0, ""), "{output:?}");
    Some(output.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_options_and_the_names_of_this_machine() {
    let home = home();
    run_scripted(&home, &json!([answer("x")]), &[]);
    for (words, wanted) in [
        (&["metier", "insp"][..], &["inspect"][..]),
        (&["metier", "inspect", "dep"], &["deploy"]),
        (&["metier", "inspect", "pro"], &["profile-csv", "project-overview"]),
        (&["metier", "check", "dep"], &["deploy"]),
        (&["metier", "run", "--skill", "dep"], &["deploy"]),
        (&["metier", "exec", "deploy", "scr"], &["scripts/ship.sh"]),
        (&["metier", "read", "deploy", "ref"], &["references/notes.md"]),
        (&["metier", "exec", "profile-csv", "scr"], &["scripts/profile_csv.py"]),
        (&["metier", "run", "--agent", "read"], &["read-only"]),
        (&["metier", "check", "--explain", "yaml-unq"], &["yaml-unquoted-colon"]),
        (&["metier", "explain", "run_s"], &["run_script"]),
        (&["metier", "inspect", "--root", "../elsewhere/skills", "dem"], &["demo"]),
        (&["metier", "-C", "/", "inspect", "dep"], &[]),
        (&["metier", "__"], &[]),
    ] {
        let Some(offered) = offered(&home, words) else { return };
        assert_eq!(offered, wanted, "{words:?}");
    }
    for command in ["show", "resume", "replay"] {
        let runs = offered(&home, &["metier", command, ""]).expect("bash");
        assert_eq!(runs[0], "last", "{command}: {runs:?}");
        assert!(runs[1].starts_with("20"), "{command}: {runs:?}");
    }
}

#[test]
fn nothing_is_printed_where_nothing_can_be_offered() {
    let home = home();
    home.write("project/.agent/config.json", "{ broken");
    for shell in ["bash", "zsh", "fish", "no-shell"] {
        let mut command = home.command(METIER);
        command.env("METIER_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "2");
        let output = TestHome::finish(command.args(["--", "metier", "inspect", "dep"]));
        let seen = (output.code, &*output.stdout, &*output.stderr);
        assert_eq!(seen, (0, "", ""), "{shell}");
    }
}

#[test]
fn zsh_and_fish_get_what_a_skill_is_for() {
    let home = home();
    for shell in ["zsh", "fish"] {
        let mut command = home.command(METIER);
        command.env("METIER_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "2");
        let output = TestHome::finish(command.args(["--", "metier", "inspect", "dep"]));
        assert!(output.stdout.starts_with("deploy"), "{shell}: {output:?}");
        assert!(output.stdout.contains("Deploys."), "{shell}: {output:?}");
    }
}
