//! The offline model with the real ranking over the compiled-in skills, and their scripts run by a
//! plain shell: the way from a request on a fresh clone to the right numbers. tidy:allow-cjk

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use metier_model::{Action, LoadedText, OfferedSkill, PastAction, SkillRef, ToolOffer, View};
use metier_registry::{Entry, ScanOptions, scan};
use serde_json::json;

use crate::support::{Scene, decide};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scene(view: View) -> Scene {
    Scene { view, past: Vec::new() }
}

/// The compiled-in skills.
fn built_in() -> Vec<Arc<Entry>> {
    let scan = scan(&[], &ScanOptions { builtin: true, ..ScanOptions::default() });
    scan.index.entries().to_vec()
}

/// What is offered on a fresh clone.
fn offered() -> Arc<[OfferedSkill]> {
    let entries = built_in();
    entries
        .iter()
        .map(|entry| OfferedSkill {
            name: entry.name().as_str().to_owned(),
            source: entry.source.to_string(),
            description: entry.skill.description.to_string(),
        })
        .collect()
}

fn loaded(name: &str) -> LoadedText {
    let entries = built_in();
    let entry = entries.iter().find(|entry| entry.name().as_str() == name).expect("a skill");
    let files = entry.memory.as_ref().expect("in memory");
    let text = std::str::from_utf8(files.get("SKILL.md").expect("a SKILL.md")).expect("UTF-8");
    let body = text.splitn(3, "---\n").nth(2).expect("a body");
    LoadedText {
        name: name.to_owned(),
        source: "builtin".to_owned(),
        description: String::new(),
        body: body.into(),
        arguments: None,
        files: files.iter().map(|(path, _)| path.to_owned()).collect(),
        by_user: false,
    }
}

fn first_skill(request: &str) -> Option<String> {
    let view = View { request: request.to_owned(), offered: offered(), ..View::default() };
    match decide(&scene(view)).action {
        Action::SelectSkills { skills, .. } => Some(skills[0].name.clone()),
        _ => None,
    }
}

fn next_action(request: &str, skill: &str) -> Action {
    let view = View {
        request: request.to_owned(),
        offered: offered(),
        loaded: vec![loaded(skill)],
        ..View::default()
    };
    decide(&scene(view)).action
}

/// Runs a compiled-in script as the sandbox does: elsewhere, with the project readable.
fn run(shell: &str, skill: &str, script: &str, args: &[&str], workspace: &Path) -> Output {
    let elsewhere = tempfile::tempdir().expect("dir");
    Command::new(shell)
        .arg(project().join("skills").join(skill).join(script))
        .args(args)
        .current_dir(elsewhere.path())
        .env("WORKSPACE_DIR", workspace)
        .output()
        .expect("runs")
}

/// The table that a script prints below a heading, as words.
fn table(output: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = output.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The shells that are on this machine; `sh` is on every one.
fn shells() -> Vec<&'static str> {
    let there = |shell: &&str| Command::new(shell).args(["-c", ":"]).output().is_ok();
    ["sh", "dash", "bash"].into_iter().filter(there).collect()
}

#[test]
fn a_request_on_a_fresh_clone_leads_to_the_right_numbers() {
    let request = "summarise examples/sales.csv by region";
    assert_eq!(first_skill(request).as_deref(), Some("csv-summary"));
    let action = next_action(request, "csv-summary");
    let wanted = Action::RunScript {
        skill: SkillRef::named("csv-summary"),
        relative_path: "scripts/summarise.sh".to_owned(),
        args: ["--by", "region", "examples/sales.csv"].map(str::to_owned).to_vec(),
    };
    assert_eq!(action, wanted);
    let Action::RunScript { relative_path, args, .. } = &action else { panic!() };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let stdout = printed(&run("sh", "csv-summary", relative_path, &args, &project()));
    let units = [
        ["region", "count", "sum", "mean", "min", "max"],
        ["East", "5", "259", "51.8", "4", "140"],
        ["North", "6", "124", "20.666667", "2", "85"],
        ["South", "5", "159", "31.8", "2", "75"],
        ["West", "3", "11", "3.666667", "1", "9"],
    ];
    assert_eq!(
        table(&stdout, "units by region:"),
        units.map(|row| row.map(str::to_owned).to_vec())
    );
    assert!(stdout.contains("Missing values: units 1."), "{stdout}");

    let data = json!({"exit_code": 0, "timed_out": false, "stdout": stdout, "stderr": ""});
    let done = PastAction { action: Some(action), ok: true, data, ..PastAction::default() };
    let view = View {
        request: request.to_owned(),
        offered: offered(),
        loaded: vec![loaded("csv-summary")],
        ..View::default()
    };
    let after = Scene { view, past: vec![done] };
    let Action::FinalAnswer { text, .. } = decide(&after).action else { panic!() };
    assert!(text.contains(stdout.trim_end()), "{text}");
}

#[test]
fn a_look_at_a_table_is_for_a_skill_about_tables() {
    for request in [
        "quick overview of sales.csv",
        "give me an overview of sales.csv",
        "overview of data/q1.tsv",
        "take a quick glance at sales.csv",
        "have a look at sales.csv",
        "look at ./sales.csv for me",
        "what's in sales.csv?",
        "What is inside data/2024/q1.tsv?",
        "what does sales.csv contain?",
        "tell me about sales.csv",
        "describe the data in sales.csv",
        "explain sales.csv to me please",
        "show me what sales.csv looks like",
        "give me the gist of sales.csv",
        "a high-level view of \"my data.csv\"",
        "explore the dataset 'exports/sales.csv'",
        "sales.csv overview please",
        "overview of the file sales.csv",
        "SALES.CSV: a short description",
        "can you skim `out/report.tsv` for me?",
        "概览 sales.csv",
        "看一下 sales.csv",
        "帮我看看 data/q1.tsv",
        "sales.csv 里有什么？",
        "sales.csv 里有哪些数据",
        "介绍一下 sales.csv",
        "给我 sales.csv 的概览",
        "帮我快速了解一下“销售 数据.csv”",
        "概述一下 sales.csv 的内容",
        "请浏览一下 exports/sales.tsv",
    ] {
        let first = first_skill(request);
        let is_about = |name: &str| matches!(name, "csv-summary" | "profile-csv");
        assert!(first.as_deref().is_some_and(is_about), "{request}: {first:?}");
    }
    for (request, skill) in [
        ("give an overview of the project", Some("project-overview")),
        ("overview of this repository", Some("project-overview")),
        ("project overview", Some("project-overview")),
        ("give me an overview of this repo, not of sales.csv", Some("project-overview")),
        ("give an overview of the project that sales.csv belongs to", Some("project-overview")),
        ("项目概览", Some("project-overview")),
        ("is sales.csv clean", Some("profile-csv")),
        ("review the skill in ./my-skill", Some("review-skill")),
        ("summarise README.md", None),
        ("look at sales.csv and email it to Bob", None),
        ("what is in docs?", None),
        ("看一下 README.md", None),
    ] {
        let first = first_skill(request);
        let wanted = skill.map_or(first.is_none(), |skill| first.as_deref() == Some(skill));
        assert!(wanted, "{request}: {first:?}");
    }
}

#[test]
fn a_text_is_read_however_it_is_asked_for() {
    for request in
        ["what's in README.md?", "read sales.csv", "看一下 README.md", "看看 sales.csv 的内容"]
    {
        let tools = [ToolOffer {
            name: "read_file".to_owned(),
            description: String::new(),
            schema: json!({}),
        }];
        let view = View {
            request: request.to_owned(),
            offered: offered(),
            tools: tools.into(),
            ..View::default()
        };
        let action = decide(&scene(view)).action;
        assert!(
            matches!(&action, Action::CallTool { tool, .. } if tool == "read_file"),
            "{request}"
        );
    }
}

#[test]
fn what_is_not_to_be_done_is_not_done() {
    for (request, skill) in [
        ("don't summarise sales.csv", None),
        ("please don't check sales.csv", None),
        ("不要汇总 sales.csv", None),
        ("别汇总 sales.csv", None),
        ("summarise sales.csv? no, don't", None),
        ("summarise sales.csv, but don't delete it", Some("csv-summary")),
        ("don't forget to summarise sales.csv", Some("csv-summary")),
    ] {
        assert_eq!(first_skill(request).as_deref(), skill, "{request}");
    }
}

#[test]
fn skills_are_written_and_reviewed_in_chinese_too() {
    for (request, skill) in [
        ("帮我写一个技能", Some("write-skill")),
        ("写一个用来总结会议的技能", Some("write-skill")),
        ("写一个新的技能，用来生成发布说明", Some("write-skill")),
        ("请创建一个生成周报的技能", Some("write-skill")),
        ("审查 ./my-skill 这个技能", Some("review-skill")),
        ("检查一下这个技能是否安全", Some("review-skill")),
        ("写一篇关于技能的文章", None),
        ("不要写技能", None),
    ] {
        assert_eq!(first_skill(request).as_deref(), skill, "{request}");
    }
}

#[test]
fn each_compiled_in_skill_is_followed() {
    let script = |request: &str, skill: &str| match next_action(request, skill) {
        Action::RunScript { relative_path, args, .. } => {
            format!("{relative_path} {}", args.join(" "))
        }
        other => format!("{} {}", other.kind(), other.target()),
    };
    assert_eq!(script("an overview, please", "project-overview"), "scripts/overview.sh ");
    assert_eq!(
        script("an overview of crates/metier-cli", "project-overview"),
        "scripts/overview.sh crates/metier-cli"
    );
    assert_eq!(script("is a.csv clean?", "profile-csv"), "scripts/profile_csv.py a.csv");
    assert_eq!(
        script("average price by product in sales.csv", "csv-summary"),
        "scripts/summarise.sh --by product --column price sales.csv"
    );
    assert_eq!(
        script("sales.csv 中销量最高的 ２ 个产品", "csv-summary"),
        "scripts/summarise.sh --lang zh --by 产品 --column 销量 --top 2 sales.csv"
    );
    assert_eq!(
        script("检查 报告２.csv", "profile-csv"),
        "scripts/profile_csv.py --lang zh 报告２.csv"
    );
    for (request, file) in [
        ("检查 ２月报告.csv", "２月报告.csv"),
        ("检查２月报告.csv", "２月报告.csv"),
        ("检查 “２ 月报告.csv”", "２ 月报告.csv"),
        ("检查 第２行.csv", "第２行.csv"),
        ("检查 数据/２年.csv", "数据/２年.csv"),
        ("is ２月.csv clean?", "２月.csv"),
    ] {
        let zh = if request.starts_with("is") { "" } else { "--lang zh " };
        assert_eq!(
            script(request, "profile-csv"),
            format!("scripts/profile_csv.py {zh}{file}"),
            "{request}"
        );
    }
    assert_eq!(
        script("sharpen the description of my skill", "write-skill"),
        "load_resource write-skill/references/descriptions.md"
    );
    assert!(
        script("is this script safe?", "review-skill").starts_with("load_resource review-skill/")
    );
}

#[test]
fn the_summary_takes_the_csv_that_people_have() {
    let dir = tempfile::tempdir().expect("dir");
    let file =
        |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).expect("writes");
    // Byte order mark, CRLF, a delimiter and a line break and quotes in fields, blanks, a short row.
    file(
        "odd.csv",
        b"\xEF\xBB\xBFteam,\"unit price\",note\r\nred,1.5,\"a, b\"\r\nblue,-2,\"two\r\nlines\"\r\nred, 3 ,\"say \"\"hi\"\"\"\r\nblue,,x\r\n\r\ngreen\r\n",
    );
    file("semi.csv", "stadt;menge\nKöln;1\nBonn;2,5\n".as_bytes());
    file("numbers.csv", b"year,n\n10,1\n9,2\n10,3\n");
    file("head.csv", b"a,b\n");
    file("empty.csv", b"");
    file("open.csv", b"a,b\n1,\"2\n");
    file("a=b.csv", b"k,v\nx,1\n");
    for shell in shells() {
        let summary =
            |args: &[&str]| run(shell, "csv-summary", "scripts/summarise.sh", args, dir.path());
        let text = printed(&summary(&["--by", "TEAM", "odd.csv"]));
        assert!(
            text.starts_with("odd.csv: 5 rows, 3 columns (team, unit price, note)\n"),
            "{text}"
        );
        let rows = table(&text, "unit price by team:");
        assert_eq!(rows[1], ["blue", "1", "-2", "-2", "-2", "-2"], "{shell}");
        assert_eq!(rows[2], ["green", "0", "-", "-", "-", "-"], "{shell}");
        assert_eq!(rows[3], ["red", "2", "4.5", "2.25", "1.5", "3"], "{shell}");
        assert!(text.contains("row 5 has more or fewer fields"), "{text}");
        assert!(text.contains("Missing values: unit price 2, note 1."), "{text}");
        let text = printed(&summary(&["semi.csv"]));
        assert!(text.contains("2 columns (stadt, menge)"), "{text}");
        assert!(text.contains("Read as numbers: menge (\"2,5\" as 2.5)."), "{text}");
        let text = printed(&summary(&["--by", "year", "numbers.csv"]));
        assert_eq!(table(&text, "n by year:")[1], ["9", "1", "2", "2", "2", "2"], "{shell}");
        assert!(printed(&summary(&["head.csv"])).contains("There is a header and no row."));
        assert!(printed(&summary(&["a=b.csv"])).contains("1 row,"));
        for (args, said) in [
            (&["nowhere.csv"][..], "there is no file nowhere.csv"),
            (&["empty.csv"], "empty.csv is empty"),
            (&["open.csv"], "a quote that opens on line 2 of open.csv is never closed"),
            (
                &["--by", "size", "numbers.csv"],
                "there is no column \"size\"; the columns are: year, n",
            ),
            (&["--column", "note", "odd.csv"], "the column \"note\" is not numeric"),
            (&["--by"], "--by needs a value"),
            (&["--odd", "numbers.csv"], "unknown option: --odd"),
            (&[], "name the file to summarise"),
            (&["numbers.csv", "odd.csv"], "one file at a time"),
            (&["."], "is not a file"),
        ] {
            let output = summary(args);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains(said), "{shell} {args:?}: {error}");
            assert!(output.stdout.is_empty() || args.contains(&"--column"), "{shell} {args:?}");
        }
    }
}

#[test]
fn the_overview_tells_what_a_project_is_made_of() {
    let dir = tempfile::tempdir().expect("dir");
    let file = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
        std::fs::write(path, text).expect("writes");
    };
    file("README.md", "\n<!-- badge -->\n# The *Shop*\n\nSells.\n");
    file("Cargo.toml", "[package]\n");
    file("src/main.rs", "fn main() {\n}\n");
    file("src/lib.rs", "//! lib\n");
    file("src/odd name.rs", "// one\n");
    file("tools/run.py", "print(1)\n");
    file("node_modules/x/index.js", "1\n");
    file("target/debug/a.rs", "fn a() {}\n");
    file(".agent/runs/1/log.json", "{}\n");
    file(".github/ci.yml", "on: push\n");
    file("data.bin", "0");
    for shell in shells() {
        let overview =
            |args: &[&str]| run(shell, "project-overview", "scripts/overview.sh", args, dir.path());
        let text = printed(&overview(&[]));
        assert!(
            text.contains("Title: The *Shop* (README.md)\nAbout: Sells.\nFiles: 8\n"),
            "{text}"
        );
        let languages = table(&text, "Languages:");
        let rust = ["Rust", "3", "files", "3", "lines"];
        assert_eq!(languages[0][0], "Markdown", "{text}");
        assert!(languages.iter().any(|row| row == &rust), "{text}");
        assert!(text.contains("  Cargo.toml\n") && !text.contains("JavaScript"), "{text}");
        assert!(text.contains("lines of 1 file were not counted"), "{text}");
        assert_eq!(table(&text, "Top folders by number of files:")[0], ["(top", "level)", "3"]);
        let text = printed(&overview(&["src"]));
        assert!(text.starts_with("Folder: src\nFiles: 3\n"), "{text}");
        assert!(!overview(&["nowhere"]).status.success());
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).expect("lists").collect();
    assert_eq!(left.len(), 9, "the project is only read");
}

#[test]
fn compiled_in_skills_mention_only_files_that_they_have() {
    for entry in built_in() {
        let name = entry.name().as_str();
        let skill = loaded(name);
        for reference in metier_skill::references(&skill.body) {
            assert!(skill.files.contains(&reference.path), "{} in {name}", reference.path);
        }
    }
}
