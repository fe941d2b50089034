//! What a case file, a skill, a plan or results from others can make `metier eval` do: nothing that the user
//! did not agree to.

use std::io::Write;
use std::process::Stdio;

use metier_testkit::TestHome;
use metier_testkit::agent::{answer, scripted, select};
use serde_json::{Value, json};

use crate::support::{METIER, run};

fn outcome(printed: &str) -> Value {
    let report: Value = serde_json::from_str(printed).unwrap_or_else(|_| panic!("{printed}"));
    report["cases"][0]["arms"][0]["outcome"].clone()
}

#[test]
fn programs_of_cases_wait_for_a_word() {
    let home = TestHome::new();
    let text = "input: x\nskill: csv-summary\nexpected: {output: {commands: [[sh, -c, 'touch ran; true']]}}\n";
    home.write("project/.agent/evals/cases.yaml", text);
    let model = scripted(&home, &json!([answer("done")]));
    // Letting a model use programs is another thing.
    for more in [&[][..], &["--allow", "run_command"]] {
        let ran = run(&home, &[&["eval", "run", "--model", model][..], more].concat());
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains("sh -c") && ran.stderr.contains("--run-commands"), "{ran:?}");
        assert!(!home.project().join(".agent/evals/results").exists());
    }
    // Looking at the plan runs nothing.
    assert_eq!(run(&home, &["eval", "plan", "--model", model]).code, 0);
}

#[test]
fn files_of_a_case_are_those_of_the_project_and_no_keys() {
    let home = TestHome::new();
    home.write("home/.ssh/id_ed25519", "KEY-OF-THE-USER");
    home.write("home/plain.txt", "OF-THE-USER");
    home.write("project/.env", "KEY=IN-THE-PROJECT");
    home.write("project/data.txt", "data");
    std::os::unix::fs::symlink("../.env", home.project().join(".agent-link")).expect("a link");
    let key = home.home().join(".ssh/id_ed25519").display().to_string();
    let model = scripted(&home, &json!([answer("done")]));
    let bad = ["../../.env", "../../.agent-link", ".env", &key, "../../../home/plain.txt"];
    for from in bad {
        let text = format!(
            "input: x\nskill: csv-summary\nfiles: {{a.txt: '{from}'}}\nexpected: {{output: {{contains: done}}}}\n"
        );
        home.write("project/.agent/evals/cases.yaml", text);
        let ran = run(&home, &["eval", "run", "--model", model, "--json"]);
        assert_eq!(ran.code, 1, "{from}: {ran:?}");
        assert!(ran.stdout.contains("eval-cases"), "{from}: {ran:?}");
    }
    let text = "input: x\nskill: csv-summary\nfiles: {a.txt: ../../data.txt}\nexpected: {output: {contains: done}}\n";
    home.write("project/.agent/evals/cases.yaml", text);
    let ran = run(&home, &["eval", "run", "--model", model, "--json"]);
    assert_eq!(outcome(&ran.stdout), "passed", "{ran:?}");
}

#[test]
fn a_request_of_a_case_gives_scripts_no_file_of_the_user() {
    let home = TestHome::new();
    home.write("home/units.csv", "region,units\nNorth,10\n");
    let path = home.home().join("units.csv").canonicalize().expect("a path");
    for named in ["~/units.csv", path.to_str().expect("a text")] {
        let text = format!(
            "input: summarise {named} by region\nskill: csv-summary\nexpected: {{output: {{contains: North}}}}\n"
        );
        home.write("project/.agent/evals/cases.yaml", text);
        let ran = run(&home, &["eval", "run", "--json"]);
        assert_eq!(outcome(&ran.stdout), "failed", "{named}: {ran:?}");
    }
}

#[test]
fn a_downloaded_case_file_has_the_files_beside_it_and_no_others() {
    let home = TestHome::new();
    home.write("home/.ssh/id_ed25519", "KEY-OF-THE-USER");
    home.write("home/letter.txt", "PRIVATE");
    home.write("home/Downloads/data.txt", "data");
    home.write("home/Downloads/skill/given.txt", "given");
    let model = scripted(&home, &json!([answer("done")]));
    let try_with = |file: &str, from: &str| {
        let case = json!({"input": "x", "skill": "csv-summary", "files": {"k.txt": from}, "expected": {"output": "done"}});
        home.write(&format!("home/Downloads/{file}"), case.to_string());
        let path = home.home().join("Downloads").join(file).display().to_string();
        run(&home, &["eval", "run", &path, "--model", model, "--json"])
    };
    for from in [".ssh/id_ed25519", "../.ssh/id_ed25519", "../letter.txt", "letter.txt"] {
        let ran = try_with("cases.json", from);
        assert!(ran.code == 1 && ran.stdout.contains("eval-cases"), "{from}: {ran:?}");
    }
    assert_eq!(outcome(&try_with("cases.json", "data.txt").stdout), "passed");
    // The public format counts from the skill's folder.
    assert_eq!(outcome(&try_with("skill/evals/evals.json", "given.txt").stdout), "passed");
}

#[test]
fn a_plan_of_others_does_not_say_where_files_are_read() {
    let home = TestHome::new();
    home.write("home/letter.txt", "PRIVATE");
    home.write("project/letter.txt", "ours");
    let text = "input: x\nskill: csv-summary\nfiles: {a.txt: ../../letter.txt}\nexpected: {output: {contains: x}}\n";
    home.write("project/.agent/evals/cases.yaml", text);
    let request = run(&home, &["eval", "plan", "--units"]).stdout;
    let honest: Value = serde_json::from_str(request.lines().next().expect("one")).expect("JSON");
    let run_unit = |request: &Value| {
        let mut command = home.command(METIER);
        command.args(["eval", "run-unit", "--json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let _ = child.stdin.take().expect("input").write_all(request.to_string().as_bytes());
        let output = child.wait_with_output().expect("ends");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(run_unit(&honest).contains("fingerprint"));
    let mut elsewhere = honest.clone();
    elsewhere["plan"]["cases"][0]["origin"]["file"] =
        json!(home.home().join("cases.yaml").display().to_string());
    let mut unsaid = honest.clone();
    unsaid["plan"]["cases"][0]["contents"] = json!({});
    for bad in [elsewhere, unsaid] {
        let printed = run_unit(&bad);
        assert!(printed.contains("\"error\"") && !printed.contains("fingerprint"), "{printed}");
    }
}

#[test]
fn an_untrusted_skill_that_another_hides_stops_the_run_too() {
    let home = TestHome::new();
    home.skill("mine/pdf", "pdf", "Fill in PDF forms.");
    home.skill("project/.agent/skills/pdf", "pdf", "Fill in PDF forms, and more.");
    home.write("project/.agent/evals/cases.yaml", "input: x\nexpected: {skills: [pdf]}\n");
    let mine = home.path().join("mine").display().to_string();
    let ran = run(&home, &["eval", "run", "--root", &mine]);
    assert!(ran.code == 3 && ran.stderr.contains("not trusted"), "{ran:?}");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    // The hidden one is another skill than the one that is expected.
    let hidden = json!({"action": {"type": "select_skills", "reason": "r",
        "skills": [{"name": "pdf", "source": "project"}]}});
    let model = scripted(&home, &json!([hidden, answer("done")]));
    let ran = run(&home, &["eval", "run", "--root", &mine, "--model", model, "--json"]);
    assert_eq!(outcome(&ran.stdout), "failed", "{ran:?}");
    let model = scripted(&home, &json!([select(&["pdf"]), answer("done")]));
    let ran =
        run(&home, &["eval", "run", "--root", &mine, "--model", model, "--trials", "2", "--json"]);
    assert_eq!(outcome(&ran.stdout), "passed", "{ran:?}");
}

#[test]
fn a_skill_that_no_model_is_shown_was_not_missed() {
    let home = TestHome::new();
    home.write(
        "project/.agent/skills/quiet/SKILL.md",
        "---\nname: quiet\ndescription: Works quietly.\ndisable-model-invocation: true\n---\nText.\n",
    );
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    for (skill, more) in
        [("quiet", &[][..]), ("csv-summary", &["--deny", "load_skill:csv-summary"])]
    {
        let text = format!("input: sum it\nexpected: {{skills: [{skill}]}}\n");
        home.write("project/.agent/evals/cases.yaml", text);
        let ran = run(&home, &[&["eval", "run", "--json"][..], more].concat());
        assert_eq!(outcome(&ran.stdout), "error", "{skill}: {ran:?}");
        assert!(ran.stdout.contains("skill_not_loadable"), "{skill}: {ran:?}");
    }
}

/// Every file of results below a project, with its text.
fn result_files(home: &TestHome) -> Vec<(std::path::PathBuf, String)> {
    let plans = std::fs::read_dir(home.project().join(".agent/evals/results")).expect("results");
    let plans = plans.flatten().map(|plan| plan.path()).filter(|path| path.is_dir());
    let files = plans.flat_map(|plan| std::fs::read_dir(plan).expect("a plan").flatten());
    let files = files.map(|file| file.path());
    let files = files.filter(|path| path.to_string_lossy().contains("results-"));
    files.map(|path| (path.clone(), std::fs::read_to_string(path).expect("text"))).collect()
}

#[test]
fn results_that_a_clone_brings_are_not_believed() {
    let home = TestHome::new();
    let text = "input: what is the capital of France?\nexpected: {skills: [csv-summary]}\n";
    home.write("project/.agent/evals/cases.yaml", text);
    assert_eq!(outcome(&run(&home, &["eval", "--json"]).stdout), "failed");
    let ignored = home.project().join(".agent/evals/results/.gitignore");
    assert_eq!(std::fs::read_to_string(ignored).expect("made"), "*\n");
    // Our own are reused, and one that was changed is not.
    let again = run(&home, &["eval", "--json"]);
    assert!(!again.stderr.contains("left out"), "{again:?}");
    assert_eq!(result_files(&home)[0].1.lines().count(), 1, "nothing ran again");
    for (path, text) in result_files(&home) {
        std::fs::write(path, text.replace("\"fired\":false", "\"fired\":true")).expect("writes");
    }
    let ran = run(&home, &["eval", "--json"]);
    assert_eq!(outcome(&ran.stdout), "failed", "{ran:?}");
    // Neither is what another user made, until it is merged.
    let other = TestHome::new();
    for (path, _) in result_files(&home) {
        let below = path.strip_prefix(home.project()).expect("below");
        let plan = path.parent().expect("a plan");
        let manifest = std::fs::read_to_string(plan.join("plan.json")).expect("a plan");
        let text = result_files(&home)[0].1.lines().last().expect("ours").to_owned() + "\n";
        other.write(&format!("project/{}", below.display()), text);
        let place = below.parent().expect("a plan").join("plan.json");
        other.write(&format!("project/{}", place.display()), manifest);
    }
    other.write("project/.agent/evals/cases.yaml", text);
    let shown = run(&other, &["eval", "report", "--json"]);
    assert_eq!(outcome(&shown.stdout), "missing", "{shown:?}");
    // Nor by the name of a folder above, where a plan lies in the folder of results itself.
    let results = other.project().join(".agent/evals/results");
    let (plan, _) = result_files(&other)[0].clone();
    let plan = plan.parent().expect("a plan").to_owned();
    for entry in std::fs::read_dir(&plan).expect("files").flatten() {
        std::fs::copy(entry.path(), results.join(entry.file_name())).expect("copied");
    }
    for folder in [".agent/evals", ".agent/evals/results"] {
        let shown = run(&other, &["eval", "report", folder, "--json"]);
        assert_eq!(outcome(&shown.stdout), "missing", "{folder}: {shown:?}");
    }
    for entry in std::fs::read_dir(&plan).expect("files").flatten() {
        std::fs::remove_file(results.join(entry.file_name())).expect("removed");
    }
    let folder = other.project().join(".agent/evals/results").display().to_string();
    assert_eq!(run(&other, &["eval", "merge", &folder]).code, 0);
    assert_eq!(outcome(&run(&other, &["eval", "report", "--json"]).stdout), "failed");
}

#[test]
fn a_file_or_folder_that_a_clone_brings_is_not_taken_for_a_run_of_the_users_own() {
    let home = TestHome::new();
    let text = "input: what is the capital of France?\nexpected: {skills: [csv-summary]}\n";
    home.write("project/.agent/evals/cases.yaml", text);
    let report = |args: &[&str]| run(&home, &[&["eval", "report", "--json"], args].concat());
    // Before there is any run: nothing else is the last one.
    home.write("project/last", "junk");
    let none = report(&[]);
    assert!(none.code == 1 && none.stdout.contains("eval-run-not-found"), "{none:?}");
    let own = run(&home, &["eval", "--json"]).json();
    assert_eq!(own["cases"][0]["arms"][0]["outcome"], "failed");
    let id = own["plan"].as_str().expect("an id").trim_start_matches("sha256:").to_owned();
    assert_eq!(report(&[]).json()["plan"], own["plan"]);
    // A report that passes, under the names that mean a run.
    let shown = own.to_string().replace("\"failed\"", "\"passed\"");
    for name in ["last", &id[..4], &id] {
        home.write(&format!("project/{name}"), &shown);
        assert_eq!(outcome(&report(&[name]).stdout), "failed", "{name}");
        assert_eq!(outcome(&report(&[&format!("./{name}")]).stdout), "passed", "{name}");
        let compared = run(&home, &["eval", "compare", "--json", "./last", name]);
        assert_eq!(compared.json()["current"]["verdict"], own["verdict"]["verdict"], "{name}");
    }
    home.write("project/baseline", &shown);
    assert_eq!(outcome(&report(&["baseline"]).stdout), "passed", "it is no run");
    // A folder of that name.
    std::fs::remove_file(home.project().join("last")).expect("removes");
    let results = home.project().join(".agent/evals/results");
    let plan = std::fs::read_dir(&results).expect("results").flatten().map(|it| it.path());
    let plan = plan.into_iter().find(|path| path.is_dir()).expect("a plan");
    std::fs::rename(&results, home.project().join("last")).expect("moves");
    let none = report(&["last"]);
    assert!(none.code == 1 && none.stdout.contains("eval-run-not-found"), "{none:?}");
    std::fs::rename(home.project().join("last"), &results).expect("moves back");
    // Edited results, by every name of their folder: they are left out, and that is said.
    for (path, text) in result_files(&home) {
        std::fs::write(path, text.replace("\"fired\":false", "\"fired\":true")).expect("writes");
    }
    std::os::unix::fs::symlink(&results, home.path().join("link")).expect("a link");
    let names = [
        "last".to_owned(),
        id,
        ".agent/evals/results".to_owned(),
        ".agent/../.agent/evals/results/.".to_owned(),
        home.path().join("link").display().to_string(),
        plan.display().to_string(),
    ];
    for name in &names {
        let ran = report(&[name]);
        assert_eq!(outcome(&ran.stdout), "missing", "{name}: {ran:?}");
        assert!(ran.stderr.contains("left out"), "{name}: {ran:?}");
    }
    // In any other folder everybody's count: who names it believes it.
    let copied = home.path().join("copied");
    assert!(std::process::Command::new("cp").arg("-r").args([&results, &copied]).status().is_ok());
    assert_eq!(outcome(&report(&[&copied.display().to_string()]).stdout), "passed");
}

#[test]
fn merged_results_are_kept_out_of_the_repository_of_a_fresh_checkout() {
    let (home, fresh) = (TestHome::new(), TestHome::new());
    for it in [&home, &fresh] {
        it.write("project/.agent/evals/cases.yaml", "input: x\nexpected: {skills: []}\n");
    }
    assert_eq!(outcome(&run(&home, &["eval", "--json"]).stdout), "passed");
    let folder = home.project().join(".agent/evals/results").display().to_string();
    assert_eq!(run(&fresh, &["eval", "merge", &folder]).code, 0);
    let ignored = fresh.project().join(".agent/evals/results/.gitignore");
    assert_eq!(std::fs::read_to_string(ignored).expect("made"), "*\n");
}

#[test]
fn where_a_file_of_a_case_goes_is_checked_before_anything_runs() {
    let home = TestHome::new();
    home.write("project/x.txt", "x");
    for to in ["../up.txt", "/up.txt", ".", "a/../../up.txt"] {
        let text = format!(
            "input: x\nskill: csv-summary\nfiles: {{'{to}': ../../x.txt}}\nexpected: {{output: done}}\n"
        );
        home.write("project/.agent/evals/cases.yaml", text);
        for command in ["check", "run"] {
            let ran = run(&home, &["eval", command]);
            assert_eq!(ran.code, 1, "{to}: {ran:?}");
            assert!(ran.stderr.contains("cases.yaml:1:1") && ran.stderr.contains(to), "{ran:?}");
        }
    }
    assert!(!home.project().join(".agent/evals/results").exists());
}

#[test]
fn a_last_run_that_cannot_be_read_takes_nothing_from_the_overlaps() {
    let home = TestHome::new();
    home.write("project/.agent/evals/cases.yaml", "input: x\nexpected: {skills: [csv-summary]}\n");
    let overlaps = || run(&home, &["eval", "overlap"]);
    assert!(!overlaps().stderr.contains("left out"));
    run(&home, &["eval"]);
    let (results, _) = result_files(&home).remove(0);
    assert!(overlaps().stdout.contains("missed"));
    let is_left_out = || {
        let ran = overlaps();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("the last run is left out"), "{ran:?}");
        assert_ne!(run(&home, &["eval", "overlap", "--run", "last"]).code, 0);
    };
    std::fs::remove_file(&results).expect("removes");
    std::fs::create_dir(&results).expect("in its place");
    is_left_out();
    std::fs::remove_dir(&results).expect("removes");
    assert!(!overlaps().stderr.contains("left out"));
    let plan = results.with_file_name("plan.json");
    let text = std::fs::read_to_string(&plan).expect("text");
    std::fs::write(&plan, text.replace("\"x\"", "\"y\"")).expect("writes");
    is_left_out();
}
