//! `metier runs` and `show`: what they tell of real records, of killed and of running runs, on a
//! terminal, in JSON and on a page.

use metier_agent::Event;
use metier_fs::AppendFile;
use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::recorded_run::{Case, events_of, kill_after, lines_of, open_anchor, report};
use crate::support::{document, json, keys, run, shown, texts};

#[test]
fn runs_are_listed_newest_first_with_how_they_stand() {
    let home = TestHome::new();
    Case::default().record(&home);
    Case::waiting("20260131-120100-bbbbb").record(&home);
    kill_after(&Case { id: "20260131-120200-ccccc", ..Case::default() }.record(&home), 12);
    report!(&home, &["runs"], @"
    exit: 0
    ---- stdout
    RUN                    WHEN              STATUS          TURNS  TOKENS  MODEL         REQUEST
    20260131-120200-ccccc  [TIME]  interrupted     2      220     openai:small  Count the matches
    20260131-120100-bbbbb  [TIME]  needs_approval  4      440     openai:small  Count the matches
    20260131-120000-aaaaa  [TIME]  completed       7      880     openai:small  Count the matches

    ---- stderr
    3 runs; metier show RUN shows one; metier resume 20260131-120200-ccccc continues one
    ");
    let listed = json(&home, &["runs", "--json"]);
    assert_eq!(texts(&listed["runs"], "status"), ["interrupted", "needs_approval", "completed"]);
    assert_eq!(listed["runs"][2]["answer"], "There are 900.\nThey are in out.txt.");
    assert_eq!(listed["runs"][2]["spent"]["usage"]["input"], 800);
    let few = json(&home, &["runs", "--limit", "1", "--json"]);
    assert_eq!(texts(&few["runs"], "run_id"), ["20260131-120200-ccccc"]);
    let waiting = json(&home, &["runs", "--status", "needs_approval", "--json"]);
    assert_eq!(texts(&waiting["runs"], "run_id"), ["20260131-120100-bbbbb"]);
    assert_eq!(run(&home, &["runs", "--status", "lost"]).code, 2);
}

#[test]
fn a_run_that_a_process_holds_is_running() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    kill_after(&folder, 5);
    let (held, before, _) = AppendFile::open(&folder.events_file(), 1 << 20).expect("opens");
    let status = || json(&home, &["runs", "--json"])["runs"][0]["status"].clone();
    assert_eq!(status(), "running");
    drop(held);
    assert_eq!(status(), "interrupted");
    // Looking changes nothing, not even a line that was cut off.
    let torn = [before.as_slice(), b"{\"seq\":6"].concat();
    std::fs::write(folder.events_file(), &torn).expect("writes");
    assert_eq!(status(), "interrupted");
    assert_eq!(events_of(&folder).1, torn);
}

#[test]
fn a_run_whose_summary_is_behind_its_record_is_shown_from_the_record() {
    let home = TestHome::new();
    let folder = Case::waiting("20260131-120000-aaaaa").record(&home);
    let file = folder.path().join("run.json");
    let old = std::fs::File::options().write(true).open(&file).expect("opens");
    old.set_modified(std::time::UNIX_EPOCH).expect("sets");
    // It was gone on with, and killed at once.
    open_anchor(&home.home(), folder.path());
    let (path, bytes) = events_of(&folder);
    let (records, _) = metier_agent::log::read(folder.id().as_str(), &bytes);
    let last = records.last().expect("a record");
    let event = Event::RunResumed { version: "0.1.0".to_owned(), not_begun: false };
    let (line, _) =
        metier_agent::log::line(&last.hash, last.seq + 1, &last.time, 9, &event).expect("a line");
    std::fs::write(path, [bytes, line].concat()).expect("writes");
    let listed = json(&home, &["runs", "--json"]);
    assert_eq!(listed["runs"][0]["status"], "interrupted");
    assert_eq!(listed["runs"][0]["events"], last.seq + 1);
}

#[test]
fn nothing_readable_and_nothing_at_all_are_distinguished() {
    let home = TestHome::new();
    report!(&home, &["runs"], @"
    exit: 0
    ---- stdout

    ---- stderr
    no runs here; to start one: metier run \"REQUEST\"
    ");
    let error = document(&home, &run(&home, &["show", "--json"]), 1);
    assert_eq!(error["error"]["code"], "run-not-found");
    home.write("project/.agent/runs/20260131-120000-aaaaa/events.jsonl", "no record\n");
    let listed = json(&home, &["runs", "--json"]);
    assert_eq!(
        listed,
        json!({"runs": [{"run_id": "20260131-120000-aaaaa", "status": "broken", "record": "broken"}]})
    );
    let error = document(&home, &run(&home, &["show", "--json"]), 1);
    assert_eq!(error["error"]["code"], "run-unreadable");
}

#[test]
fn a_run_is_shown_turn_by_turn() {
    let home = TestHome::new();
    Case::default().record(&home);
    report!(&home, &["show"], @r#"
    exit: 0
    ---- stdout
    20260131-120000-aaaaa  completed
    | Count the matches
    model    openai:small
    skills   user:finder
    files    data.txt
    started  [TIME] UTC

    turn 1  100 tokens in, 10 out, [MS], 40 from a cache, 2 attempts
      retry    attempt 1 failed: rate_limited  (again after 1.5 s)
               slow down
      decides  select_skills finder
               It finds things.
      plan     Know how many
               [>] Find them
               [ ] Write it down
      policy   allow: load user:finder
               a rule about load user:finder
      does     load user:finder  (ok, [MS])
               | # The body of user:finder
               | Do it.

    turn 2  100 tokens in, 10 out, [MS], 40 from a cache
      invalid  no decision: not_json
               expected value (line 1, column 1); reply with one JSON object: keys and texts in double quotes, no trailing commas, no comments, line breaks in texts as \n
               | Let me think.

    turn 3  100 tokens in, 10 out, [MS], 40 from a cache
      decides  call_tool grep {"pattern":"secret needle"}
      policy   allow: grep secret needle
               a rule about grep secret needle
      does     grep secret needle  (ok, [MS])
               | line 1 matches
               | line 2 matches
               | line 3 matches
               | line 4 matches
               | line 5 matches
               | line 6 matches
               | ... 894 more lines (--full shows all)

    turn 4  100 tokens in, 10 out, [MS], 40 from a cache
      decides  call_tool write_file {"path":"out.txt","text":"900"}
      plan     Know how many
               [x] Find them
               [>] Write it down
      policy   ask: write_file path="out.txt" text="900"
               a rule about write_file path="out.txt" text="900"
      asks     write_file path="out.txt" text="900"
      answer   yes, this time  (by yes)
      does     write_file path="out.txt" text="900"  (ok, [MS])
               | written

    turn 5  100 tokens in, 10 out, [MS], 40 from a cache
      decides  call_tool network_request {"url":"https://example.com"}
      policy   deny: network_request https://example.com
               a rule about network_request https://example.com

    turn 6  100 tokens in, 10 out, [MS], 40 from a cache
      decides  select_skills researcher
               It looks closer.
      policy   allow: delegate to user:researcher
               a rule about delegate to user:researcher
      does     delegate to user:researcher  (ok, [MS])
               | I looked closer.
        loop     20260131-120000-aaaaa-sub5

        before the first turn
          policy   allow: load user:researcher
                   a rule about load user:researcher
          does     load user:researcher  (ok, [MS])
                   | # The body of user:researcher
                   | Do it.

        turn 1  100 tokens in, 10 out, [MS], 40 from a cache, 2 attempts
          retry    attempt 1 failed: rate_limited  (again after 1.5 s)
                   slow down
          decides  final_answer

        completed
        | I looked closer.
        spent: 1 turn, 100 tokens in, 10 out, [MS]

    turn 7  100 tokens in, 10 out, [MS], 40 from a cache
      decides  final_answer

    completed
    | There are 900.
    | They are in out.txt.
    | {"count":900}
    spent: 7 turns, 2 tool calls, 800 tokens in, 80 out, [MS]

    ---- stderr
    "#);
    let full = run(&home, &["show", "last", "--full"]).stdout;
    assert!(full.contains("line 900 matches") && !full.contains("more line"), "{full}");
}

#[test]
fn a_killed_and_a_waiting_run_are_shown_up_to_where_they_stand() {
    let home = TestHome::new();
    let folder = Case::waiting("20260131-120000-aaaaa").record(&home);
    let waiting = run(&home, &["show"]);
    assert!(waiting.stdout.contains("no answer; the run waits"), "{waiting:?}");
    assert!(waiting.stdout.contains("` needs approval"), "{waiting:?}");
    assert_eq!(waiting.stderr, "to continue it: metier resume 20260131-120000-aaaaa\n");
    let (_, bytes) = events_of(&folder);
    let began = |line: &&[u8]| String::from_utf8_lossy(line).contains("\"action.started\"");
    let at = lines_of(&bytes).iter().position(began).expect("an action");
    kill_after(&folder, at + 1);
    let killed = run(&home, &["show"]);
    assert!(killed.stdout.contains("load user:finder  (no end is recorded)"), "{killed:?}");
    assert!(killed.stdout.starts_with("20260131-120000-aaaaa  interrupted\n"), "{killed:?}");
}

#[test]
fn the_document_of_a_run_has_its_events_as_they_were_written() {
    let home = TestHome::new();
    let folder = Case::default().record(&home);
    let report = json(&home, &["show", "--json"]);
    assert_eq!(keys(&report), ["events", "inner", "setup", "summary"]);
    assert_eq!(report["summary"]["status"], "completed");
    assert_eq!(report["setup"]["request"], "Count the matches");
    let events = report["events"].as_array().expect("events");
    let (_, bytes) = events_of(&folder);
    let lines: Vec<Value> =
        lines_of(&bytes).iter().map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    assert_eq!(events.len(), lines.len());
    for (event, line) in events.iter().zip(&lines) {
        if line["text"]["ref"].is_string() {
            let text = event["text"].as_str().expect("the text itself");
            assert!(text.ends_with("line 900 matches"));
        } else {
            assert_eq!(event, line);
        }
    }
    assert_eq!(report["inner"][0]["run_id"], "20260131-120000-aaaaa-sub5");
}

/// Blinking text, a window title, text that runs backwards, and every way out of HTML.
const HOSTILE: &str = "\u{1b}[5mA\u{1b}]0;t\u{7}\u{202e}\u{9b}2J</pre></p></title><script>x()</script>\
                       <img src=x onerror=x()>\" onload='x()' <!-- ]]> &lt;";

fn hostile() -> Case {
    Case { request: HOSTILE.to_owned(), answer: HOSTILE.to_owned(), ..Case::default() }
}

#[test]
fn foreign_text_does_not_act_on_the_terminal() {
    let home = TestHome::new();
    hostile().record(&home);
    for args in [&["show"][..], &["show", "--full"], &["runs"], &["replay"], &["audit", "verify"]] {
        let output = run(&home, args);
        for bad in ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'] {
            assert!(!output.stdout.contains(bad), "{args:?}: {bad:?}");
        }
    }
}

#[test]
fn the_page_needs_nothing_and_foreign_text_stays_text() {
    let home = TestHome::new();
    hostile().record(&home);
    let page = run(&home, &["show", "--html"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    let page = page.stdout;
    let (head, rest) = page.split_once("<style>").expect("a style");
    let (_, body) = rest.split_once("</style>").expect("its end");
    assert!(head.contains("default-src 'none'; style-src 'sha256-"), "{head}");
    // Whatever looks like a tag is one of ours, with attributes of ours.
    for tag in format!("{head}{body}").split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("a whole tag");
        let name = inside.trim_start_matches('/').split(' ').next().expect("a name");
        let plain = [
            "!doctype", "html", "head", "meta", "title", "body", "header", "main", "footer",
            "section", "div", "span", "p", "h1", "h2", "dl", "dt", "dd", "ol", "li", "b", "pre",
            "details", "summary",
        ];
        assert!(plain.contains(&name), "{inside}");
        let attributes = inside.split_once(' ').map_or("", |(_, rest)| rest);
        let ours = ["", "html", "lang=", "charset=", "name=", "http-equiv=", "class="];
        assert!(
            ours.iter().any(|start| attributes.starts_with(start))
                && (name == "meta" || attributes.matches('=').count() <= 1),
            "{inside}"
        );
    }
    for absent in ["<script", "<img", "src=x o\"", "\u{1b}", "\u{202e}", "url(", "@import"] {
        assert!(!page.contains(absent), "{absent}");
    }
    for present in ["&lt;script&gt;x()&lt;/script&gt;", "\\u{202e}", "line 900 matches", "&amp;lt;"]
    {
        assert!(page.contains(present), "{present}");
    }
    let written = json(&home, &["show", "--html", "-o", "run.html", "--json"]);
    assert_eq!(written, json!({"file": "[T]/project/run.html"}));
    let file = std::fs::read_to_string(home.project().join("run.html")).expect("a page");
    assert_eq!(file, page);
    assert_eq!(json(&home, &["show", "--html", "--json"])["page"], page);
}
