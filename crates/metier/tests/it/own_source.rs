//! Skills from a source of the program's own: listed, loaded and run like those of a folder, and never
//! a way out of the folder that their files are put into.

use metier::{ExecCall, MemorySkill, Metier, SkillSource};
use metier_testkit::agent::{answer, codes, events_in, of_type, script, scripted, select};
use metier_testkit::{TestHome, skill_text};
use serde_json::json;

use crate::support::{builder, holds_scripts};

/// A source with these skills, or a failure.
struct TestSource(Result<Vec<MemorySkill>, String>);

impl SkillSource for TestSource {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn skills(&self) -> Result<Vec<MemorySkill>, String> {
        self.0.clone()
    }
}

fn skill(name: &str, description: &str, script: &str) -> MemorySkill {
    let text = skill_text(name, description);
    MemorySkill::new(name, [("SKILL.md", text.as_str()), ("scripts/run.sh", script)])
}

fn open(home: &TestHome, sources: impl IntoIterator<Item = TestSource>) -> Metier {
    let builder = sources.into_iter().fold(builder(home, "project"), metier::Builder::source);
    builder.open().expect("it opens")
}

fn exec(metier: &Metier, skill: &str, args: &[&str]) -> String {
    let call = ExecCall::new(skill, "scripts/run.sh").args(args.iter().copied());
    let ran = metier.session().approve(|ask| ask.once()).exec(&call).expect("it ran");
    ran.outcome.report.stdout.text.clone()
}

#[test]
fn a_skill_of_a_source_is_listed_found_loaded_and_run() {
    let home = TestHome::new();
    let source = TestSource(Ok(vec![skill("greet", "Greets people.", "echo \"hello $1\"\n")]));
    let metier = open(&home, [source]);
    let entry = metier.skill("greet").expect("it is listed");
    assert_eq!(entry.path.to_string_lossy(), "memory:greet");
    assert_eq!(metier.search("greets people", 1).expect("finds")[0].entry.name().as_str(), "greet");
    assert!(metier.load("greet").expect("a body").text.contains("greet"));
    assert_eq!(metier.read_raw("greet", "scripts/run.sh").expect("a file"), b"echo \"hello $1\"\n");
    if holds_scripts() {
        assert_eq!(exec(&metier, "greet", &["world"]), "hello world\n");
    }
}

#[test]
fn a_model_finds_loads_and_runs_a_skill_of_a_source() {
    let home = TestHome::new();
    if !holds_scripts() {
        return;
    }
    let greet = skill("greet", "Greets people.", "echo \"hello $1\"\n");
    let metier = open(&home, [TestSource(Ok(vec![greet]))]);
    let replies =
        json!([select(&["greet"]), script("greet", "scripts/run.sh", &["world"]), answer("done")]);
    let session = metier.session().model(scripted(&home, &replies)).approve(|ask| ask.once());
    let run = session.run("greet the world").expect("it runs");
    assert_eq!(run.answer(), "done");
    let events = events_in(run.folder().path());
    assert_eq!(codes(&events), ["ok", "ok"]);
    let printed = of_type(&events, "action.finished")[1]["text"].to_string();
    assert!(printed.contains("hello world"), "{printed}");
}

/// Of the skills of one source: the names that are listed, and the codes and messages of the report.
fn judged(home: &TestHome, skills: Vec<MemorySkill>) -> (Vec<String>, Vec<String>) {
    let scan = open(home, [TestSource(Ok(skills))]).skills();
    let own = |entry: &&std::sync::Arc<metier::registry::Entry>| {
        entry.source == metier::skill::Source::Explicit
    };
    let names = scan.index.entries().iter().filter(own).map(|it| it.name().to_string()).collect();
    let lines = scan.report.ignored.iter().chain(&scan.report.notes);
    let lines = lines.map(|line| format!("{}: {}", line.code, line.message)).collect();
    assert_eq!(scan.report.found, scan.report.valid + scan.report.ignored.len());
    (names, lines)
}

#[test]
fn files_that_cannot_lie_in_one_folder_are_no_skill() {
    let home = TestHome::new();
    let text = skill_text("odd", "Has files that no disk could hold.");
    let twice = [("SKILL.md", &*text), ("scripts/run.sh", "a\n"), ("scripts/run.sh", "b\n")];
    let respelt = [("SKILL.md", &*text), ("./SKILL.md", "another"), ("x", "")];
    let inside = [("SKILL.md", &*text), ("scripts", "a file\n"), ("scripts/run.sh", "a\n")];
    for (files, path) in [(twice, "scripts/run.sh"), (respelt, "SKILL.md"), (inside, "scripts")] {
        let (names, lines) = judged(&home, vec![MemorySkill::new("odd", files)]);
        assert!(names.is_empty(), "{names:?}");
        let expected = format!("file-path-invalid: `{path}` stands for more than one file");
        assert_eq!(lines, [expected]);
    }
}

#[test]
fn a_folder_of_a_source_has_a_name_that_a_folder_on_disk_could_have() {
    let home = TestHome::new();
    let text = skill_text("odd", "Lies in an odd folder.");
    let long = "x".repeat(300);
    let folders = [
        "",
        ".",
        "..",
        "../odd",
        "/odd",
        "a/odd",
        "./odd",
        "C:odd",
        "a\\odd",
        ".hidden",
        "nul",
        "a\0b",
        "a\nb",
        "a\u{202e}b",
        " odd",
        &long,
    ];
    for folder in folders {
        let (names, lines) =
            judged(&home, vec![MemorySkill::new(folder, [("SKILL.md", text.as_str())])]);
        assert!(names.is_empty(), "{folder:?}");
        assert!(lines[0].starts_with("file-path-invalid: "), "{folder:?}: {lines:?}");
        assert!(!lines[0].contains(['\0', '\n', '\u{202e}']), "{lines:?}");
    }
    let twice = || MemorySkill::new("odd", [("SKILL.md", text.as_str())]);
    let (names, lines) = judged(&home, vec![twice(), twice()]);
    assert_eq!(names, ["odd"]);
    assert_eq!(lines, ["file-path-invalid: the source has more than one folder \"odd\""]);
}

#[test]
fn a_file_of_a_source_that_no_reader_would_open_is_left_out_with_a_warning() {
    let home = TestHome::new();
    let text = skill_text("odd", "Brings files that are not read.");
    for path in ["../a", "/a", "C:/a", "a\0b", "a\nb", ".env", "a/.git/b", "con", "a//b", "a\\b"] {
        let metier = open(
            &home,
            [TestSource(Ok(vec![MemorySkill::new("odd", [("SKILL.md", &*text), (path, "x")])]))],
        );
        let entry = metier.skill("odd").expect("it is listed");
        let files: Vec<&str> =
            entry.memory.as_ref().expect("files").iter().map(|it| it.0).collect();
        assert_eq!(files, ["SKILL.md"], "{path:?}");
        let warning = entry.diagnostics.iter().find(|it| it.code.as_str() == "file-path-invalid");
        assert!(warning.expect("a warning").message.contains("is left out"), "{path:?}");
        assert!(metier.read_raw("odd", path).is_err(), "{path:?}");
    }
}

#[test]
fn sizes_and_names_count_for_a_source_as_for_a_folder() {
    let home = TestHome::new();
    let large =
        format!("{}{}", skill_text("large", "Is too large to load."), "x".repeat(2_100_000));
    let metier =
        open(&home, [TestSource(Ok(vec![MemorySkill::new("large", [("SKILL.md", large)])]))]);
    let entry = metier.skill("large").expect("listed with a warning");
    assert!(entry.diagnostics.iter().any(|it| it.code.as_str() == "skill-unloadable"));
    assert!(metier.load("large").is_err());

    let unusable = skill_text("a\tb/../c", "Has an unusable name.");
    let (names, lines) =
        judged(&home, vec![MemorySkill::new("odd", [("SKILL.md", unusable.as_str())])]);
    assert!(names.is_empty() && lines.len() == 1, "{names:?} {lines:?}");

    let text = skill_text("many", "Has too many files.");
    let files = (0..5001).map(|at| (format!("f{at}"), "x".to_owned()));
    let files =
        files.chain([("SKILL.md".to_owned(), text), ("scripts/run.sh".into(), "echo".into())]);
    let metier = open(&home, [TestSource(Ok(vec![MemorySkill::new("many", files)]))]);
    let call = ExecCall::new("many", "scripts/run.sh");
    let refused =
        metier.session().approve(|ask| ask.once()).exec(&call).map(|_| ()).expect_err("refused");
    assert!(refused.to_string().contains("more than 5000 files"), "{refused}");
}

/// A source whose name is all there is to it.
struct NamedSource(&'static str);

impl SkillSource for NamedSource {
    fn name(&self) -> &str {
        self.0
    }

    fn skills(&self) -> Result<Vec<MemorySkill>, String> {
        Ok(vec![skill("greet", "Greets people.", "")])
    }
}

#[test]
fn a_source_whose_name_is_not_one_word_is_not_searched() {
    let home = TestHome::new();
    for name in ["", "a", "C", "builtin", "a b", "../x", "a:b", "a/b", "a\nb", "\u{202e}ab"] {
        let metier = builder(&home, "project").source(NamedSource(name)).open().expect("opens");
        let scan = metier.skills();
        assert!(scan.index.find("greet").is_none(), "{name:?}");
        let line = scan.report.notes.iter().find(|it| it.message.contains("not one word"));
        assert!(line.is_some(), "{name:?}: {:?}", scan.report.notes);
    }
    let metier = builder(&home, "project").source(NamedSource("db-2")).open().expect("opens");
    assert_eq!(metier.skill("greet").expect("listed").path.to_string_lossy(), "db-2:greet");
}

#[test]
fn sources_come_before_folders_and_in_their_order() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/greet", "greet", "From the user's folder.");
    let first = TestSource(Ok(vec![skill("greet", "From the first source.", "")]));
    let second = TestSource(Ok(vec![
        skill("greet", "From the second source.", ""),
        skill("csv-summary", "Instead of the built-in skill.", ""),
    ]));
    let scan = open(&home, [first, second]).skills();
    let description =
        |name: &str| scan.index.find(name).expect("a skill").skill.description.to_string();
    assert_eq!(description("greet"), "From the first source.");
    assert_eq!(description("csv-summary"), "Instead of the built-in skill.");
    let mut shadowed: Vec<&str> =
        scan.index.shadowed().iter().map(|it| &*it.skill.description).collect();
    shadowed.retain(|text| text.starts_with("From"));
    assert_eq!(shadowed.len(), 2, "{shadowed:?}");
}

#[test]
fn a_source_that_fails_is_a_line_in_the_report() {
    let home = TestHome::new();
    let good = TestSource(Ok(vec![skill("greet", "Greets people.", "")]));
    let metier = open(&home, [TestSource(Err("the database is away".to_owned())), good]);
    let scan = metier.skills();
    let line = scan.report.notes.iter().find(|line| line.path.to_string_lossy() == "memory:");
    assert_eq!(&*line.expect("a line").message, "the database is away");
    assert!(scan.index.find("greet").is_some(), "the others are there");
}

#[test]
fn hostile_paths_of_files_and_folders_lead_nowhere() {
    let home = TestHome::new();
    let text = skill_text("sly", "Tries to get out.");
    let outside = home.path().join("outside.txt");
    let absolute = outside.to_string_lossy().into_owned();
    let look = "ls -A . \"$SKILL_DIR\" \"$SKILL_DIR/..\" \"$SKILL_DIR/scripts\"\n";
    let files = [
        ("SKILL.md", text.as_str()),
        ("scripts/run.sh", look),
        ("../evil.txt", "x"),
        ("scripts/../../evil.txt", "x"),
        (&*absolute, "x"),
        ("C:\\evil.txt", "x"),
        (".evil", "x"),
        (".git/hooks/evil", "x"),
        ("a/./evil.txt", "x"),
        ("a//evil.txt", "x"),
    ];
    let metier = open(&home, [TestSource(Ok(vec![MemorySkill::new("sly", files)]))]);
    let entry = metier.skill("sly").expect("it is listed");
    let kept: Vec<&str> =
        entry.memory.as_ref().expect("files").iter().map(|(path, _)| path).collect();
    assert_eq!(kept, ["SKILL.md", "scripts/run.sh"]);
    assert!(metier.read_raw("sly", "../evil.txt").is_err());
    if holds_scripts() {
        let seen = exec(&metier, "sly", &[]);
        assert!(seen.contains("run.sh") && !seen.contains("evil"), "{seen}");
    }
    assert!(!outside.exists());

    // The folder's name is no way out either.
    for folder in ["../sly", "/sly", "a/sly", "..", ""] {
        let files = [("SKILL.md", text.as_str()), ("scripts/run.sh", "echo ran\n")];
        let metier = open(&home, [TestSource(Ok(vec![MemorySkill::new(folder, files)]))]);
        if metier.skill("sly").is_ok() && holds_scripts() {
            assert_eq!(exec(&metier, "sly", &[]), "ran\n", "{folder}");
        }
    }
    assert!(!home.path().join("sly").exists() && !home.path().join("evil.txt").exists());
}
