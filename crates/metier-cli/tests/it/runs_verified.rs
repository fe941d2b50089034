//! `metier replay` and `audit verify`: records as they were written, and records that someone has
//! changed, with care or without.

use metier_agent::{Event, RunFolder};
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::recorded_run::{Case, events_of, forge, kill_after, lines_of, report};
use crate::support::{document, json, keys, run, shown};

#[test]
fn a_replay_reproduces_every_event() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    let inner = folder.path().join("inner/20260131-120000-aaaaa-sub5/events.jsonl");
    let inner = std::fs::read(inner).expect("the record of the loop inside");
    let written = lines_of(&events_of(&folder).1).len() + lines_of(&inner).len();
    let report = json(&home, &["replay", "--json"]);
    assert_eq!(keys(&report), ["difference", "events", "missing", "reproduced", "run_id"]);
    assert_eq!((&report["reproduced"], &report["difference"]), (&json!(true), &Value::Null));
    assert_eq!(report["events"], written);
    let shown = run(&home, &["replay"]);
    let expected = format!("20260131-120000-aaaaa  {written} events, all reproduced\n");
    assert_eq!(shown.stdout, expected);
}

#[test]
fn a_killed_run_is_reproduced_up_to_its_end_wherever_that_is() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    let whole = events_of(&folder).1;
    for events in (1..lines_of(&whole).len()).rev() {
        std::fs::write(folder.events_file(), &whole).expect("writes");
        std::fs::write(folder.path().join("run.json"), "").expect("writes");
        kill_after(&folder, events);
        let report = json(&home, &["replay", "--json"]);
        assert_eq!(report["reproduced"], true, "after {events}: {report}");
    }
}

#[test]
fn a_replay_reports_the_first_difference_of_a_record_that_was_written_anew() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    forge(&folder, |event| match event {
        Event::PlanChanged { plan, .. } => {
            plan.steps[1].title = "Write \u{1b}[31mnothing".to_owned();
            true
        }
        _ => false,
    });
    // As one finds it who has only the folder.
    let anchors = home.home().join(".local/state/metier/runs");
    std::fs::remove_file(anchors.join(folder.id().as_str())).expect("removes");
    let audited = json(&home, &["audit", "verify", "--json"]);
    assert_eq!((&audited["findings"], &audited["verdict"]), (&json!([]), &json!("unanchored")));
    report!(&home, &["replay"], @"
    exit: 1
    ---- stdout
    20260131-120000-aaaaa  differs at event 6, in /plan/steps/1/title
      expected  {\"type\":\"plan.changed\",\"plan\":{\"goal\":\"Know how many\",\"steps\":[{\"id\":\"s1\",\"title\":\"Find them\",\"status\":\"in_progress\"},{\"id\":\"s2\",\"title\":\"Write it down\",\"status\":\"pending\"}],\"assumptions\":[],\"constraints\":[]},\"by\":\"model\"}
      recorded  {\"type\":\"plan.changed\",\"plan\":{\"goal\":\"Know how many\",\"steps\":[{\"id\":\"s1\",\"title\":\"Find them\",\"status\":\"in_progress\"},{\"id\":\"s2\",\"title\":\"Write \\u001b[31mnothing\",\"status\":\"pending\"}],\"assumptions\":[],\"constraints\":[]},\"by\":\"model\"}

    ---- stderr
    the record was rewritten, or another version of Metier wrote it
    ");
    let report = document(&home, &run(&home, &["replay", "--json"]), 1);
    assert_eq!(report["reproduced"], false);
    let difference = &report["difference"];
    assert_eq!(difference["at"], "/plan/steps/1/title");
    assert_eq!(difference["expected"]["plan"]["steps"][1]["title"], "Write it down");
    assert_eq!(difference["seq"], 6);
}

/// One way to damage a record.
type Damage = fn(&RunFolder);

fn change(folder: &RunFolder, name: &str, with: impl Fn(Vec<u8>) -> Vec<u8>) {
    let path = folder.path().join(name);
    let bytes = std::fs::read(&path).expect("reads");
    std::fs::write(path, with(bytes)).expect("writes");
}

fn stored_text(folder: &RunFolder) -> String {
    let mut names = std::fs::read_dir(folder.observations().path()).expect("a folder");
    let name = names.next().expect("a text").expect("a name").file_name();
    format!("observations/{}", name.to_string_lossy())
}

#[test]
fn whatever_is_changed_in_a_record_is_found() {
    let cases: [(&str, Damage, &str, &str); 8] = [
        (
            "a changed byte",
            |it| {
                change(it, "events.jsonl", |bytes| {
                    String::from_utf8(bytes).expect("text").replacen("finder", "binder", 1).into()
                });
            },
            "events.jsonl",
            "hash-mismatch",
        ),
        (
            "a dropped line",
            |it| {
                change(it, "events.jsonl", |bytes| {
                    let mut lines = lines_of(&bytes);
                    lines.remove(4);
                    lines.concat()
                });
            },
            "events.jsonl",
            "hash-mismatch",
        ),
        (
            "a line that was added",
            |it| {
                change(it, "events.jsonl", |bytes| [&bytes[..], b"{}\n"].concat());
            },
            "events.jsonl",
            "not-an-event",
        ),
        (
            "a cut end",
            |it| {
                change(it, "events.jsonl", |bytes| {
                    let lines = lines_of(&bytes);
                    lines[..lines.len() - 2].concat()
                });
            },
            "events.jsonl",
            "truncated",
        ),
        (
            "a torn line",
            |it| {
                change(it, "events.jsonl", |mut bytes| {
                    bytes.truncate(bytes.len() - 10);
                    bytes
                });
            },
            "events.jsonl",
            "torn",
        ),
        (
            "a changed setup",
            |it| {
                change(it, "setup.json", |bytes| {
                    String::from_utf8(bytes).expect("text").replacen("Work on", "Work at", 1).into()
                });
            },
            "setup.json",
            "file-changed",
        ),
        (
            "a changed index",
            |it| {
                change(it, "index.json", |bytes| {
                    String::from_utf8(bytes)
                        .expect("text")
                        .replacen("The finder", "The thief", 1)
                        .into()
                });
            },
            "index.json",
            "file-changed",
        ),
        (
            "a changed stored text",
            |it| {
                change(it, &stored_text(it), |mut bytes| {
                    bytes[0] = b'L';
                    bytes
                });
            },
            "observations/",
            "text-changed",
        ),
    ];
    for (name, damage, file, code) in cases {
        let home = TestHome::new();
        let folder = Case::default().record(&home);
        let whole = json(&home, &["audit", "verify", "--json"]);
        assert_eq!(
            keys(&whole),
            ["events", "findings", "finished", "inner", "last_hash", "run_id", "verdict"]
        );
        assert_eq!((&whole["finished"], &whole["findings"]), (&json!(true), &json!([])));
        damage(&folder);
        let found = document(&home, &run(&home, &["audit", "verify", "--json"]), 1);
        let finding = &found["findings"][0];
        assert_eq!(finding["code"], code, "{name}: {found}");
        assert!(finding["file"].as_str().expect("a file").starts_with(file), "{name}: {found}");
        let replayed = document(&home, &run(&home, &["replay", "--json"]), 1);
        assert_eq!(replayed["findings"][0]["code"], code, "{name}: replay tells it first");
        assert_eq!(replayed["reproduced"], false);
    }
}

#[test]
fn a_check_says_what_holds_and_where_it_stops() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    report!(&home, &["audit", "verify"], @"
    exit: 0
    ---- stdout
    20260131-120000-aaaaa  holds, 47 events; the run has ended
      last hash [HASH]
    20260131-120000-aaaaa-sub5  holds, 12 events; the run has ended
      last hash [HASH]

    ---- stderr
    ");
    change(&folder, "events.jsonl", |bytes| {
        String::from_utf8(bytes).expect("text").replacen("secret", "public", 1).into()
    });
    report!(&home, &["audit", "verify", "aaaaa"], @"
    exit: 1
    ---- stdout
    20260131-120000-aaaaa  broken, 15 events read; the run has not ended
      last hash [HASH]
      events.jsonl:16 the line, or one before it, is not what was written [hash-mismatch]
    20260131-120000-aaaaa-sub5  holds, 12 events; the run has ended
      last hash [HASH]

    ---- stderr
    metier show RUN still shows the intact part
    ");
    report!(&home, &["replay"], @"
    exit: 1
    ---- stdout
    20260131-120000-aaaaa  broken: the record was changed
      events.jsonl:16 the line, or one before it, is not what was written [hash-mismatch]

    ---- stderr
    ");
    let broken = run(&home, &["show"]);
    assert_eq!(broken.code, 1);
    assert!(broken.stdout.contains("turn 2"), "{broken:?}");
    assert!(broken.stderr.contains("warning: the record of 20260131-120000-aaaaa is broken"));
}

#[test]
fn a_change_in_the_loop_inside_is_found() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    change(&folder, "inner/20260131-120000-aaaaa-sub5/events.jsonl", |bytes| {
        String::from_utf8(bytes).expect("text").replacen("closer", "closed", 1).into()
    });
    let found = document(&home, &run(&home, &["audit", "verify", "--json"]), 1);
    assert_eq!(found["findings"][0]["code"], "another-record");
    assert_eq!(found["inner"][0]["findings"][0]["code"], "hash-mismatch");
    assert_eq!(run(&home, &["replay"]).code, 1);
}
