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

#[test]
fn of_files_that_cannot_lie_in_one_folder_only_what_was_judged_runs() {
    let home = TestHome::new();
    if !holds_scripts() {
        return;
    }
    let text = skill_text("odd", "Has files that no disk could hold.");
    let twice =
        [("SKILL.md", &*text), ("scripts/run.sh", "echo a\n"), ("scripts/run.sh", "echo b\n")];
    let inside = [("SKILL.md", &*text), ("scripts", "a file\n"), ("scripts/run.sh", "echo a\n")];
    for files in [twice, inside] {
        let metier = open(&home, [TestSource(Ok(vec![MemorySkill::new("odd", files)]))]);
        let call = ExecCall::new("odd", "scripts/run.sh");
        let ran = metier.session().approve(|ask| ask.once()).exec(&call);
        // Whichever file counts, it is the one that was judged: never a mixture.
        if let Ok(ran) = ran {
            let judged = metier.read_raw("odd", "scripts/run.sh").expect("a file");
            let printed = format!("echo {}", ran.outcome.report.stdout.text);
            assert_eq!(printed.as_bytes(), judged);
        }
    }
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
