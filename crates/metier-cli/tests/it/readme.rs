//! The tour of both READMEs, run for real: every command that needs neither a person nor a key, in the
//! shop that they describe. `…` stands for whatever is left out.

use std::path::Path;

use metier_testkit::{TestHome, skill_text};

use crate::run_support::holds_scripts;
use crate::support::METIER;

/// Commands that need a person, a key, a change while they run, or what such a command left behind.
const NOT_RUN: [&str; 7] = [
    "list --watch",
    "metier run \"",
    "metier show",
    "metier audit",
    "metier replay",
    "OPENAI_API_KEY",
    "models test",
];

/// A command of a page, and the lines that it should print.
struct Shown {
    command: String,
    lines: Vec<String>,
}

fn commands(page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            let command = command.split("   #").next().unwrap_or(command).trim();
            found.push(Shown { command: command.to_owned(), lines: Vec::new() });
        } else if let Some(last) = found.last_mut().filter(|_| is_console) {
            last.lines.push(line.to_owned());
        }
    }
    found
}

/// The folder `shop`, and the user's skills, as the tour describes them.
fn tour_home() -> TestHome {
    let home = TestHome::new();
    let skills = "home/shop/.claude/skills";
    std::fs::create_dir_all(home.home().join("shop/.git")).expect("a repository");
    home.skill(
        &format!("{skills}/invoice"),
        "invoice",
        "Create an invoice for the shop from an order number.",
    );
    home.write(
        &format!("{skills}/release-notes/SKILL.md"),
        "---\nname: release-notes\ndescription: Write release notes from merged pull requests. Use when: a version \
         is tagged.\n---\n# Notes\n\nGroup them as in `references/Groups.md`.\n",
    );
    home.write(&format!("{skills}/release-notes/references/groups.md"), "# Groups\n");
    home.skill("home/.claude/skills/invoice", "invoice", "The user's own.");
    for folder in ["home/.claude/skills/pdf-forms", "home/.codex/skills/pdf-forms"] {
        let text = skill_text("pdf-forms", "Fill in PDF forms and read their fields.");
        home.write(&format!("{folder}/SKILL.md"), text);
        home.write(&format!("{folder}/references/fields.md"), "# Fields\n\nThe kinds of fields.\n");
        home.write(&format!("{folder}/scripts/fill.py"), "print('The form is filled in.')\n");
    }
    home.write("home/.claude/skills/translate/SKILL.md", "---\nname: translate\n---\nText.\n");
    home.write(
        "home/shop/notes/SKILL.md",
        "---\nname: notes\ndescription: Write notes for <version>. Use when: a version is tagged\n---\n# Notes\n",
    );
    home.write("home/shop/sales.csv", "region,units\nNorth,3\nSouth,4\n");
    home.write("home/.agent/config.json", "{\n  \"security\": {\n    \"max_walk_depth\": 4 } }\n");
    home.write(
        "home/shop/.agent/config.json",
        "{ \"budgets\": {\n    \"turns\": 6 },\n  \"security\": { \"max_walk_depth\": 20 } }\n",
    );
    home
}

/// Whether `printed` is what is shown, as far as it is shown.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return printed.is_empty() };
    if first == "…" {
        return (0..=printed.len()).any(|skip| matches(rest, &printed[skip..]));
    }
    let Some((line, after)) = printed.split_first() else { return false };
    is_line(first.trim_end(), line.trim_end()) && matches(rest, after)
}

fn is_line(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    is_open || rest.is_empty()
}

#[test]
fn every_command_of_the_tour_prints_what_is_shown() {
    for page in ["README.md", "README.zh-CN.md"] {
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(text).expect("the page");
        let home = tour_home();
        if !holds_scripts(&home) {
            return;
        }
        let bin = Path::new(METIER).parent().expect("a folder").display().to_string();
        let mut faults = Vec::new();
        for Shown { command, lines } in commands(&text) {
            if NOT_RUN.iter().any(|word| command.contains(word)) {
                continue;
            }
            let mut shell = home.command("sh");
            shell.args(["-c", &format!("PATH={bin}:$PATH; {{ {command}\n}} 2>&1 </dev/null")]);
            let output = TestHome::finish(shell.current_dir(home.home().join("shop")));
            let user = home.home().to_string_lossy().into_owned();
            let printed = output.stdout.replace(&user, "/home/user");
            let printed: Vec<&str> = printed.lines().collect();
            if !lines.is_empty() && !matches(&lines, &printed) {
                faults.push(format!(
                    "$ {command}\nshown:\n{}\nprinted:\n{}",
                    lines.join("\n"),
                    printed.join("\n")
                ));
            }
        }
        assert!(faults.is_empty(), "{page}\n{}", faults.join("\n\n"));
    }
}
