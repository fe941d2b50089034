//! Tables on a real terminal of 80 and of 40 columns: every row fits, whatever names, paths and columns there are;
//! what goes elsewhere is whole.

use std::process::Stdio;

use metier_testkit::TestHome;
use unicode_width::UnicodeWidthStr;

use crate::run_support::project;
use crate::support::METIER;

/// The commands whose output is a table.
const TABLES: &[&str] = &[
    "list",
    "list --source project",
    "search report",
    "roots",
    "roots --all",
    "tools",
    "models",
    "runs",
    "stats",
    "permissions",
    "requests",
    "trust --list",
    "catalog --explain",
];

fn with_long_names() -> TestHome {
    let home = project();
    let long = format!("{}-report", "a".repeat(57));
    let text = "Writes a report. 生成电子表格与演示文稿的报告。Use when someone wants one.";
    for name in [long.as_str(), "生成电子表格与演示文稿的技能报告", "report"] {
        home.skill(&format!("project/.agent/skills/{name}"), name, text);
        home.skill(&format!("home/.agents/skills/{name}"), name, text);
    }
    let deep = "很长的目录名称-and-a-long-one/".repeat(4);
    home.skill(&format!("project/{deep}skills/deep-report"), "deep-report", text);
    let roots = format!("{{\"skill_roots\": [\"{deep}skills\"]}}");
    home.write("project/.agent/config.json", roots);
    home
}

/// What stands on a terminal of so many columns; nothing where there is no `script`.
fn on_terminal(home: &TestHome, line: &str, columns: usize) -> Option<String> {
    let line = format!("stty cols {columns} rows 30; '{METIER}' {line} 2>/dev/null");
    let mut command = home.command("script");
    command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(Stdio::null());
    let Ok(output) = command.output() else {
        metier_testkit::not_tested_without("script", "there is no `script` to make a terminal");
        return None;
    };
    let plain = anstream::adapter::strip_bytes(&output.stdout).into_vec();
    Some(String::from_utf8_lossy(&plain).replace('\r', ""))
}

#[test]
fn every_table_fits_the_terminal() {
    let home = with_long_names();
    for agent in ["trust --yes", "run read-me-nothing", "run '生成电子表格与演示文稿的技能报告'"]
    {
        let args: Vec<&str> = agent.split(' ').map(|word| word.trim_matches('\'')).collect();
        let _ = home.run(METIER, &args);
    }
    for columns in [80, 40] {
        for line in TABLES {
            let Some(text) = on_terminal(&home, line, columns) else { return };
            // The sentence below a table is wrapped by the terminal.
            let is_row =
                |row: &&str| !row.starts_with("Choose one: ") && !row.contains(" tokens: ");
            let mut rows = text.lines().filter(is_row);
            let wide = rows.find(|row| row.width() > columns);
            assert!(wide.is_none(), "{line} at {columns}: {wide:?}\n{text}");
        }
    }
    let Some(narrow) = on_terminal(&home, "list", 40) else { return };
    assert!(narrow.contains('…') && narrow.contains("生成电子"), "{narrow}");
    let whole = home.run(METIER, &["list"]).stdout;
    assert!(whole.contains(&"a".repeat(57)) && !whole.contains('…'), "{whole}");
}
