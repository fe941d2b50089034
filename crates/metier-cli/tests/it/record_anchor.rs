//! What is remembered of a record outside the project: whatever is done to the folder of a run is found,
//! `runs` and `show` say so, and nothing continues from it.

use std::path::{Path, PathBuf};

use metier_agent::log;
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, events, holds_scripts, last_run, project, run_scripted, script, select,
};
use crate::support::{document, json, run, run_in};

/// A project with a run that deleted a file, ran a script that left a file and a long output, and waits.
fn waiting() -> TestHome {
    let home = project();
    home.write("project/todo.txt", "rest\n");
    let rule = json!({"permission": "write_file", "pattern": "*", "effect": "ask"});
    home.write("home/.agent/config.json", json!({ "permissions": [rule] }).to_string());
    home.skill("home/.agents/skills/long", "long", "Prints a lot.");
    home.write(
        "home/.agents/skills/long/scripts/long.sh",
        "seq 1 9000\necho made > \"$SKILL_DATA_DIR/x\"\necho made > outputs/made.txt\n",
    );
    let replies = json!([
        select(&["long"]),
        script("long", "scripts/long.sh", &[]),
        call("delete_file", &json!({"path": "todo.txt"})),
        call("write_file", &json!({"path": "out.txt", "content": "x"})),
        answer("written"),
    ]);
    let flags = ["--allow", "delete_file", "--allow", "run_script"];
    let output = run_scripted(&home, &replies, &flags);
    assert_eq!(output.code, 3, "{output:?}");
    home
}

/// The anchor of the newest run.
fn anchor_file(home: &TestHome) -> PathBuf {
    let id = last_run(home).file_name().expect("a name").to_owned();
    home.home().join(".local/state/metier/runs").join(id)
}

fn verdict(home: &TestHome) -> (i32, String) {
    let output = run(home, &["audit", "verify", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    (output.code, report["verdict"].as_str().expect("a word").to_owned())
}

fn status(home: &TestHome) -> String {
    let listed = json(home, &["runs", "--json"]);
    listed["runs"][0]["status"].as_str().expect("a status").to_owned()
}

/// That the newest run is found to be broken, wherever one looks, and is not resumed.
fn is_refused(home: &TestHome, what: &str) {
    let (code, verdict) = verdict(home);
    assert_eq!((code, verdict.as_str()), (1, "broken"), "{what}");
    assert_eq!(status(home), "broken", "{what}");
    let id = last_run(home).file_name().expect("a name").to_string_lossy().into_owned();
    let advice = format!("metier resume {id}");
    for command in [&["runs"][..], &["show"]] {
        let output = run(home, command);
        assert!(!output.stderr.contains(&advice), "{what}: {command:?}: {output:?}");
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("broken"), "{what}: {command:?}: {all}");
    }
    let before = std::fs::read(last_run(home).join("events.jsonl")).ok();
    let resumed = run(home, &["resume", "last", "--yes"]);
    assert_eq!(resumed.code, 1, "{what}: {resumed:?}");
    assert!(resumed.stderr.contains("broken"), "{what}: {resumed:?}");
    assert_eq!(std::fs::read(last_run(home).join("events.jsonl")).ok(), before, "{what}");
    assert!(!home.project().join("out.txt").exists(), "{what}");
}

fn edit_json(path: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value: Value =
        serde_json::from_slice(&std::fs::read(path).expect("reads")).expect("JSON");
    edit(&mut value);
    std::fs::write(path, serde_json::to_vec_pretty(&value).expect("JSON")).expect("writes");
}

/// Writes the chain anew over these records, and a summary that agrees with it: all that one can do who
/// has only the folder.
fn rewrite(folder: &Path, keep: impl Fn(usize, &str) -> bool) {
    let id = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let bytes = std::fs::read(folder.join("events.jsonl")).expect("a record");
    let (records, _) = log::read(&id, &bytes);
    let (mut before, mut seq, mut text) = (log::genesis(&id), 0, Vec::new());
    let kept = records.iter().enumerate().filter(|(at, it)| keep(*at, it.event.kind()));
    for (_, record) in kept {
        seq += 1;
        let (line, hash) =
            log::line(&before, seq, &record.time, record.elapsed_ms, &record.event).expect("line");
        text.extend(line);
        before = hash;
    }
    std::fs::write(folder.join("events.jsonl"), text).expect("writes");
    edit_json(&folder.join("run.json"), |summary| {
        summary["events"] = json!(seq);
        summary["last_hash"] = json!(before);
    });
}

fn first_below(folder: &Path, name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = crate::support::files_below(folder)
        .into_iter()
        .filter(|file| file.contains(name))
        .map(|file| folder.join(file))
        .collect();
    found.sort();
    found.into_iter().next().unwrap_or_else(|| panic!("no {name} below {}", folder.display()))
}

/// One thing that is done to the folder of a run.
type Attack = fn(&TestHome, &Path);

#[test]
fn whatever_is_done_to_the_folder_of_a_run_is_found() {
    if !holds_scripts(&project()) {
        return;
    }
    let attacks: &[(&str, Attack)] = &[
        ("the last line is cut off, and the summary adjusted", |_, run| {
            let path = run.join("events.jsonl");
            let text = std::fs::read_to_string(&path).expect("reads");
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            std::fs::write(&path, lines[..lines.len() - 1].concat()).expect("writes");
            let last: Value = serde_json::from_str(lines[lines.len() - 2]).expect("JSON");
            edit_json(&run.join("run.json"), |summary| {
                summary["events"] = last["seq"].clone();
                summary["last_hash"] = last["hash"].clone();
            });
        }),
        ("another answer", |_, run| {
            edit_json(&run.join("run.json"), |it| it["answer"] = json!("yes"));
        }),
        ("another status", |_, run| {
            edit_json(&run.join("run.json"), |it| it["status"] = json!("completed"));
        }),
        ("another request", |_, run| {
            edit_json(&run.join("run.json"), |it| it["request"] = json!("x"));
        }),
        ("other skills", |_, run| {
            edit_json(&run.join("run.json"), |it| it["skills"] = json!([]));
        }),
        ("another exit code", |_, run| {
            edit_json(&run.join("run.json"), |it| it["calls"][0]["exit_code"] = json!(7));
        }),
        ("one more key", |_, run| {
            edit_json(&run.join("run.json"), |it| it["note"] = json!("fine"));
        }),
        ("no summary", |_, run| std::fs::remove_file(run.join("run.json")).expect("removes")),
        ("a link in the place of the summary", |home, run| {
            let outside = home.path().join("elsewhere.json");
            std::fs::rename(run.join("run.json"), &outside).expect("moves");
            std::os::unix::fs::symlink(&outside, run.join("run.json")).expect("link");
        }),
        ("a changed output", |_, run| {
            std::fs::write(first_below(&run.join("observations"), "made.txt"), "other")
                .expect("writes");
        }),
        ("a removed output", |_, run| {
            std::fs::remove_file(first_below(&run.join("observations"), "stdout")).expect("goes");
        }),
        ("a moved output", |_, run| {
            let file = first_below(&run.join("observations"), "made.txt");
            std::fs::rename(&file, file.with_file_name("moved.txt")).expect("moves");
        }),
        ("a link in the place of the observations", |home, run| {
            let outside = home.path().join("observations");
            std::fs::rename(run.join("observations"), &outside).expect("moves");
            std::os::unix::fs::symlink(&outside, run.join("observations")).expect("link");
        }),
        ("a changed deleted file", |_, run| {
            std::fs::write(run.join("trash/trash-000001"), "ROOT\n").expect("writes");
        }),
        ("a deleted file that is gone", |_, run| {
            std::fs::remove_dir_all(run.join("trash")).expect("removes");
        }),
        ("a deleted file of another name", |_, run| {
            edit_json(&run.join("trash/trash-000001.json"), |it| it["path"] = json!("else.txt"));
        }),
        ("a deleted file that the run did not delete", |_, run| {
            for name in ["trash-000001", "trash-000001.json"] {
                let other = name.replace("000001", "000002");
                std::fs::copy(run.join("trash").join(name), run.join("trash").join(other))
                    .expect("copies");
            }
            edit_json(&run.join("trash/trash-000002.json"), |it| {
                it["reference"] = json!("trash-000002");
            });
        }),
        ("a line taken out of the middle, with new hashes", |_, run| {
            rewrite(run, |at, kind| at < 5 || kind != "policy.decided");
        }),
        ("the record of another run in its place", |home, run| {
            let replies = json!([answer("short")]);
            let other = last_run(home);
            assert_eq!(run_scripted(home, &replies, &[]).code, 0);
            let newer = last_run(home);
            let id = newer.file_name().expect("a name").to_owned();
            let text = std::fs::read_to_string(other.join("events.jsonl")).expect("reads");
            let old = run.file_name().expect("a name").to_string_lossy().into_owned();
            let text = text.replace(&old, &id.to_string_lossy());
            std::fs::write(newer.join("events.jsonl"), text).expect("writes");
            rewrite_as(&newer);
            for file in ["setup.json", "index.json", "run.json"] {
                std::fs::copy(other.join(file), newer.join(file)).expect("copies");
            }
        }),
        ("the anchor of another run", |home, _| {
            let own = anchor_file(home);
            let replies = json!([answer("short")]);
            assert_eq!(run_scripted(home, &replies, &[]).code, 0);
            std::fs::copy(&own, anchor_file(home)).expect("copies");
        }),
        ("an anchor that is none", |home, _| {
            std::fs::write(anchor_file(home), "{}").expect("writes");
        }),
    ];
    for (what, attack) in attacks {
        let home = waiting();
        assert_eq!(verdict(&home), (0, "holds".to_owned()), "before: {what}");
        assert_eq!(status(&home), "needs_approval");
        attack(&home, &last_run(&home));
        is_refused(&home, what);
    }
}

/// The chain over what stands in the record, whatever its hashes say.
fn rewrite_as(folder: &Path) {
    let id = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(folder.join("events.jsonl")).expect("reads");
    let (mut before, mut lines) = (log::genesis(&id), Vec::new());
    for line in text.lines() {
        let mut event: Value = serde_json::from_str(line).expect("JSON");
        let taken = ["seq", "time", "elapsed_ms", "hash"]
            .map(|key| event.as_object_mut().expect("an object").remove(key).expect("a value"));
        let event = serde_json::from_value(event).expect("an event");
        let (seq, elapsed) = (taken[0].as_u64().expect("one"), taken[2].as_u64().expect("one"));
        let time = taken[1].as_str().expect("a time");
        let (line, hash) = log::line(&before, seq, time, elapsed, &event).expect("a line");
        lines.extend(line);
        before = hash;
    }
    std::fs::write(folder.join("events.jsonl"), lines).expect("writes");
}

#[test]
fn an_older_copy_of_a_run_is_not_taken_for_it() {
    if !holds_scripts(&project()) {
        return;
    }
    let home = waiting();
    let folder = last_run(&home);
    let copy = home.path().join("older");
    let cp = |from: &Path, to: &Path| {
        let mut command = std::process::Command::new("cp");
        assert!(command.arg("-a").args([from, to]).status().expect("cp").success());
    };
    cp(&folder, &copy);
    let resumed = run(&home, &["resume", "last", "--yes", "--allow", "write_file"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(verdict(&home), (0, "holds".to_owned()));
    std::fs::remove_file(home.project().join("out.txt")).expect("written");
    std::fs::remove_dir_all(&folder).expect("removes");
    cp(&copy, &folder);
    is_refused(&home, "a rollback");
}

#[test]
fn a_run_that_nothing_here_remembers_is_consistent_and_not_resumed() {
    if !holds_scripts(&project()) {
        return;
    }
    let home = waiting();
    let mut cp = std::process::Command::new("cp");
    cp.args(["-a", "project", "copied"]).current_dir(home.path());
    assert!(cp.status().expect("cp").success());
    std::fs::remove_file(anchor_file(&home)).expect("removes");
    for place in ["project", "copied"] {
        let output = run_in(&home, place, &["audit", "verify"]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("consistent"), "{output:?}");
        assert!(output.stderr.contains("warning"), "{output:?}");
        assert_eq!(run_in(&home, place, &["audit", "verify", "--strict"]).code, 1);
        let listed = run_in(&home, place, &["runs"]);
        assert!(!listed.stderr.contains("metier resume"), "{listed:?}");
        let resumed = run_in(&home, place, &["resume", "last", "--yes"]);
        assert_eq!(resumed.code, 1, "{resumed:?}");
        assert!(resumed.stderr.contains("you did not begin the run"), "{resumed:?}");
    }
    // What was cut off is found by the summary still.
    let path = home.path().join("copied/.agent/runs").join(last_run(&home).file_name().expect("a"));
    let text = std::fs::read_to_string(path.join("events.jsonl")).expect("reads");
    let cut = text.trim_end().rfind('\n').expect("lines") + 1;
    std::fs::write(path.join("events.jsonl"), &text[..cut]).expect("writes");
    assert_eq!(run_in(&home, "copied", &["audit", "verify"]).code, 1);
}

#[test]
fn a_record_of_an_older_format_is_listed_and_not_resumed() {
    let home = project();
    assert_eq!(
        run_scripted(
            &home,
            &json!([call("write_file", &json!({"path": "a", "content": "b"}))]),
            &["--allow", "read_file"]
        )
        .code
            & 1,
        1
    );
    let folder = last_run(&home);
    let id = folder.file_name().expect("a name").to_string_lossy().into_owned();
    for format in [Some(2), None] {
        let text = std::fs::read_to_string(folder.join("events.jsonl")).expect("reads");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut first: Value = serde_json::from_str(&lines[0]).expect("JSON");
        let fields = first.as_object_mut().expect("an object");
        fields.remove("format");
        fields.extend(format.map(|format| ("format".to_owned(), json!(format))));
        // The hash stands last in a line.
        let hash = fields.remove("hash").expect("a hash");
        lines[0] = format!("{},\"hash\":{hash}}}", first.to_string().trim_end_matches('}'));
        std::fs::write(folder.join("events.jsonl"), lines.join("\n") + "\n").expect("writes");
        assert_eq!(status(&home), "other_format");
        let listed = run(&home, &["runs"]);
        assert!(!listed.stderr.contains("metier resume"), "{listed:?}");
        let resumed = document(&home, &run(&home, &["resume", &id, "--json"]), 1);
        assert_eq!(resumed["error"]["code"], "other-format");
        let message = resumed["error"]["message"].as_str().expect("a text");
        assert!(message.contains(&format!("format {}", format.unwrap_or(1))), "{message}");
        let audited = document(&home, &run(&home, &["audit", "verify", "--json"]), 1);
        assert_eq!(audited["findings"][0]["code"], "other-format");
    }
}

#[test]
fn a_restored_file_is_in_the_record_which_holds_before_and_after() {
    if !holds_scripts(&project()) {
        return;
    }
    let home = waiting();
    let before = events(&home).len();
    assert_eq!(run(&home, &["restore", "--run", "last", "todo.txt"]).code, 0);
    assert_eq!(verdict(&home), (0, "holds".to_owned()));
    let after = events(&home);
    let kinds: Vec<&Value> = after[before..].iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["file.restoring", "file.restored"]);
    assert_eq!(status(&home), "needs_approval", "the run is where it was");
    assert!(run(&home, &["show"]).stdout.contains("todo.txt restored"));
    assert_eq!(run(&home, &["replay"]).code, 0);
    // It continues, deletes the file a second time, and ends.
    let resumed = run(&home, &["resume", "last", "--yes", "--allow", "write_file"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(verdict(&home), (0, "holds".to_owned()));
    assert_eq!(status(&home), "completed");
    assert_eq!(run(&home, &["resume", "last"]).code, 1, "it has ended");
    assert_eq!(verdict(&home), (0, "holds".to_owned()), "and was not changed by that");
}

#[test]
fn what_no_rule_opens_is_not_restored() {
    let home = project();
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    let replies = json!([call("delete_file", &json!({"path": "notes.txt"})), answer("done")]);
    home.write("project/notes.txt", "x");
    assert_eq!(run_scripted(&home, &replies, &["--allow", "delete_file"]).code, 0);
    // A project that ships a run whose record agrees with itself.
    let folder = last_run(&home);
    for file in ["events.jsonl", "trash/trash-000001.json"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("reads");
        std::fs::write(folder.join(file), text.replace("notes.txt", ".envrc")).expect("writes");
    }
    rewrite_as(&folder);
    std::fs::remove_file(anchor_file(&home)).expect("removes");
    let output = document(&home, &run(&home, &["restore", "--run", "last", "--json", ".envrc"]), 3);
    assert_eq!(output["error"]["code"], "NotAllowed");
    assert!(!home.project().join(".envrc").exists());
}

/// The newest run as a kill leaves it while its question is open: the record ends there, and so does
/// what is remembered of it.
fn killed_while_asking(home: &TestHome) -> PathBuf {
    let folder = last_run(home);
    let text = std::fs::read_to_string(folder.join("events.jsonl")).expect("reads");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let asked = lines.iter().rposition(|line| line.contains(r#""type":"ask.opened""#));
    let kept = &lines[..=asked.expect("a question")];
    std::fs::write(folder.join("events.jsonl"), kept.concat()).expect("writes");
    std::fs::remove_file(folder.join("run.json")).expect("removes");
    let last: Value = serde_json::from_str(kept[kept.len() - 1]).expect("JSON");
    edit_anchor(home, |anchor| {
        anchor["state"] = json!("open");
        anchor["events"] = last["seq"].clone();
        anchor["last_hash"] = last["hash"].clone();
    });
    folder
}

fn edit_anchor(home: &TestHome, edit: impl FnOnce(&mut Value)) {
    let path = anchor_file(home);
    let text = std::fs::read_to_string(&path).expect("an anchor");
    let mut anchor: Value =
        serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    edit(&mut anchor);
    std::fs::write(path, format!("{anchor}\n")).expect("writes");
}

/// Adds an answer to the record, chained as it should be, and gives its hash.
fn add_answer(folder: &Path, answer: &Value) -> String {
    let id = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let mut bytes = std::fs::read(folder.join("events.jsonl")).expect("a record");
    let (records, _) = log::read(&id, &bytes);
    let last = records.last().expect("a question");
    let metier_agent::Event::AskOpened { op_id, .. } = &last.event else { panic!("{last:?}") };
    let event = json!({"type": "ask.answered", "op_id": op_id, "answer": answer, "by": "user"});
    let event = serde_json::from_value(event).expect("an event");
    let (line, hash) =
        log::line(&last.hash, last.seq + 1, &last.time, last.elapsed_ms, &event).expect("a line");
    bytes.extend(line);
    std::fs::write(folder.join("events.jsonl"), bytes).expect("writes");
    hash.to_string()
}

#[test]
fn an_answer_that_is_added_to_the_record_of_a_killed_run_is_found() {
    if !holds_scripts(&project()) {
        return;
    }
    for answer in [json!("once"), json!("lift"), json!({"reject": "no"})] {
        let home = waiting();
        let folder = killed_while_asking(&home);
        assert_eq!(verdict(&home), (0, "holds".to_owned()), "a kill leaves a true record");
        add_answer(&folder, &answer);
        is_refused(&home, "a forged answer");
    }
}

#[test]
fn an_answer_that_was_announced_holds_whether_or_not_it_was_written() {
    if !holds_scripts(&project()) {
        return;
    }
    let home = waiting();
    let folder = killed_while_asking(&home);
    let before = std::fs::read(folder.join("events.jsonl")).expect("a record");
    let hash = add_answer(&folder, &json!("once"));
    edit_anchor(&home, |anchor| anchor["next_answer"] = json!(hash));
    assert_eq!(verdict(&home), (0, "holds".to_owned()), "killed after it was written");
    std::fs::write(folder.join("events.jsonl"), before).expect("writes");
    assert_eq!(verdict(&home), (0, "holds".to_owned()), "killed before it was written");
    add_answer(&folder, &json!({"reject": "another one"}));
    is_refused(&home, "another answer than the one that was announced");
}
