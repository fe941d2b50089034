//! What a model reads, word by word: the tail, headings, what comes after a load, a denial, a repeated
//! action, the last turn. Small models follow the newest and the strongest pattern in a prompt, so
//! these words are measured, and a change of them is seen here.

use std::sync::Mutex;

use metier_agent::{AutoApprove, Event, PlanAuthor};
use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{
    Model, ModelError, ModelInfo, PlanMode, Reply, Scripted, StepStatus, Turn, schema,
};
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, Ran, answer, run, script, scripted, select};

/// A scripted model that keeps every turn.
struct Turns {
    inner: Scripted,
    seen: Mutex<Vec<Turn>>,
}

impl Model for Turns {
    fn info(&self) -> ModelInfo {
        self.inner.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        self.seen.lock().expect("whole").push(turn.clone());
        self.inner.reply(turn, sink, cancel)
    }
}

/// The turns that a model with these replies was shown, and the run.
fn turns(replies: Value, change: impl FnOnce(&mut metier_agent::Setup)) -> (Vec<Turn>, Ran) {
    let model = Turns { inner: scripted(replies), seen: Mutex::default() };
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, change);
    (model.seen.into_inner().expect("whole"), ran)
}

fn read(path: &str) -> Value {
    json!({"action": {"type": "call_tool", "tool": "read_file",
        "args": {"path": path, "first_line": null}, "skill": null}})
}

/// The last observation of a turn.
fn observed(turn: &Turn) -> String {
    turn.trail.last().map(|entry| entry.observation.to_string()).unwrap_or_default()
}

fn plans(ran: &Ran) -> Vec<(PlanAuthor, Vec<StepStatus>)> {
    let events = ran.records.iter().filter_map(|record| match &record.event {
        Event::PlanChanged { plan, by } => {
            Some((*by, plan.steps.iter().map(|step| step.status).collect()))
        }
        _ => None,
    });
    events.collect()
}

#[test]
fn from_the_second_turn_on_the_tail_repeats_the_request_and_says_what_to_do() {
    let (seen, _) = turns(json!([select(&["pdf"]), script("pdf", &["x"]), answer("x")]), |_| {});
    let tails: Vec<&str> = seen.iter().map(|turn| turn.tail.as_str()).collect();
    assert_eq!(
        tails,
        [
            "",
            "[The request: do it]\n[Do now what the text of the skill says for the request.]",
            "[The request: do it]\n[Answer now if an observation above holds the answer, else take an \
             action other than the last.]",
        ]
    );
}

#[test]
fn the_tail_speaks_of_budgets_only_when_little_is_left() {
    let (seen, _) = turns(json!([script("pdf", &[]), read("a"), answer("x")]), |setup| {
        (setup.limits.tool_calls, setup.limits.script_runs) = (3, 30);
    });
    let last = |turn: &Turn| turn.tail.lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        last(&seen[1]),
        "[tool calls left: 3. That failed: take another action, or answer.]"
    );
    assert!(last(&seen[2]).starts_with("[tool calls left: 2. Answer now"), "{}", seen[2].tail);
    let (seen, _) = turns(json!([read("a"), read("b"), answer("x")]), |setup| {
        setup.limits.turns = 4;
    });
    assert!(last(&seen[1]).starts_with("[turns left: 3. Answer now"), "{}", seen[1].tail);
}

#[test]
fn a_decision_goes_back_without_its_plan_and_the_plan_stands_once_in_the_tail() {
    let plan = json!({"goal": "a sum", "assumptions": [], "constraints": [],
        "steps": [{"id": "s1", "title": "add", "status": "in_progress"}]});
    let mut first = select(&["pdf"]);
    first["plan"] = plan;
    let (seen, ran) = turns(json!([first, answer("x")]), |_| {});
    let decision = seen[1].trail[0].decision.as_deref().expect("a decision");
    assert_eq!(
        decision,
        r#"{"action":{"type":"select_skills","skills":[{"name":"pdf"}],"reason":"fits"}}"#
    );
    assert!(seen[1].tail.starts_with("[Plan: a sum]\n[>] s1: add\n[The request: do it]\n"));
    assert_eq!(plans(&ran), [(PlanAuthor::Model, vec![StepStatus::InProgress])]);
}

#[test]
fn after_a_load_the_model_is_shown_what_comes_next_and_no_absolute_path() {
    let (seen, _) = turns(json!([select(&["pdf"]), answer("x")]), |_| {});
    let text = observed(&seen[1]);
    let mark = text.split("mark ").nth(1).and_then(|rest| rest.get(..8)).expect("a mark");
    assert_eq!(
        text.replace(mark, "MARK"),
        "[Observation: load user:pdf | ok]\n[Skill: pdf | source=user]\n[Skill Text | mark MARK]\n\
         # user:pdf\nRun scripts/do.sh.\n[End of Skill Text | mark MARK]\n[Skill Files: \
         scripts/do.sh]\n[Next: the skill `pdf` is loaded. Do what its text says. Run its script with \
         `run_script`: `scripts/do.sh`. Do not select it again.]\n"
    );
}

#[test]
fn a_second_load_does_nothing_says_what_could_be_done_and_cannot_be_repeated() {
    let (seen, ran) = turns(json!([select(&["pdf"]), select(&["pdf"]), answer("x")]), |_| {});
    assert_eq!(
        observed(&seen[2]),
        "[Observation: select_skills | AlreadyLoaded]\nThe skill `pdf` is already loaded, and nothing \
         was done: its text stands above. Instead, run a script of it with `run_script` (such as \
         `scripts/do.sh`), call a tool, or answer.\n"
    );
    assert_eq!(ran.executor.log().iter().filter(|done| done.starts_with("load")).count(), 1);
    let schema = seen[2].schema.to_string();
    assert!(!schema.contains("select_skills") && schema.contains("run_script"));
    assert!(seen[1].schema.to_string().contains("select_skills"), "before it, it may be chosen");
}

#[test]
fn the_same_result_is_not_shown_twice_and_the_same_call_cannot_be_made_a_third_time() {
    let (seen, _) = turns(json!([read("a.md"), read("a.md"), answer("x")]), |_| {});
    assert!(observed(&seen[1]).contains("[Output | mark "), "{}", observed(&seen[1]));
    assert_eq!(
        observed(&seen[2]),
        "[Observation: read_file | ok | same as before: it stands above]\n"
    );
    let schema = seen[2].schema.to_string();
    assert!(!schema.contains("read_file") && schema.contains("write_file"));
}

#[test]
fn a_heading_names_what_was_given_and_no_null() {
    let (seen, _) = turns(json!([read("a.md"), answer("x")]), |_| {});
    assert!(observed(&seen[1]).starts_with("[Observation: read_file a.md | ok]\n"));
}

#[test]
fn a_denial_says_what_is_not_allowed_that_it_stays_so_and_what_to_do() {
    let write = json!({"action": {"type": "call_tool", "tool": "write_file",
        "args": {"path": "deny.txt"}, "skill": null}});
    let model = Turns { inner: scripted(json!([write, answer("x")])), seen: Mutex::default() };
    let executor = FakeExecutor { deny: vec!["write_file"], ..FakeExecutor::default() };
    let ran = run(&model, executor, &AutoApprove, |_| {});
    let seen = model.seen.into_inner().expect("whole");
    assert_eq!(
        observed(&seen[1]),
        "[Observation: write_file deny.txt | NotAllowed]\nNot allowed here: write_file deny.txt. This stays \
         so.\n",
        "a copy of it is a fair answer"
    );
    assert!(
        seen[1]
            .tail
            .ends_with("[Not allowed: say so in `final_answer`, unless there is another way.]")
    );
    let decided = ran.records.iter().find_map(|record| match &record.event {
        Event::PolicyDecided { reason, layers, .. } => Some((reason.clone(), layers.clone())),
        _ => None,
    });
    let (reason, layers) = decided.expect("a decision");
    assert_eq!(reason, "a rule about write_file deny.txt", "the record has the reason");
    assert_eq!(layers, ["user: a rule"], "and what each layer says");
}

#[test]
fn the_last_turn_is_always_held_to_an_answer() {
    let (seen, ran) = turns(json!([read("a"), read("b"), answer("x")]), |setup| {
        setup.limits.turns = 2;
    });
    let last = seen.last().expect("a turn");
    assert_eq!(*last.schema, schema::answer_schema());
    assert!(last.view.last_turn);
    assert!(
        last.tail.ends_with(
            "[The request: do it]\n[Last turn: `final_answer` now, from the observations above; say what \
             is missing.]"
        ),
        "{}",
        last.tail
    );
    assert_eq!(seen[0].schema, seen[1].schema, "before it the schema stays");
    assert!(ran.state.finished().is_some_and(|end| end.answer.is_some()));
}

#[test]
fn a_run_whose_model_gives_no_plan_has_one_that_follows_what_happened() {
    use StepStatus::{Completed, InProgress, Pending, Skipped};
    let runtime = |statuses: [StepStatus; 3]| (PlanAuthor::Runtime, statuses.to_vec());
    let replies = json!([select(&["pdf"]), script("pdf", &["x"]), answer("x")]);
    let (seen, ran) = turns(replies, |setup| setup.plan = PlanMode::Off);
    assert_eq!(
        plans(&ran),
        [
            runtime([InProgress, Pending, Pending]),
            runtime([Completed, InProgress, Pending]),
            runtime([Completed, Completed, Completed]),
        ]
    );
    assert!(seen.iter().all(|turn| !turn.tail.contains("[Plan")), "it tells the model nothing new");
    let (_, ran) = turns(json!([answer("x")]), |_| {});
    assert_eq!(plans(&ran).last(), Some(&runtime([Skipped, Skipped, Completed])));
}

#[test]
fn what_is_no_skill_is_called_what_it_is() {
    let search = |query: &str| json!({"action": {"type": "search_skills", "query": query}});
    let from_project = json!([{"name": "pdf", "source": "project"}]);
    for (decision, words) in [
        (
            json!({"action": {"type": "select_skills", "skills": from_project, "reason": "x"}}),
            "There is no skill `project:pdf`. Did you mean `user:pdf`?",
        ),
        (select(&["notes/a.md"]), "`notes/a.md` is a file, not a skill: read it with `read_file`."),
        (select(&["sales.csv"]), "`sales.csv` is a file, not a skill: read it with `read_file`."),
        (select(&["read_file"]), "`read_file` is a tool, not a skill: call it as a tool."),
        (
            select(&["run_script"]),
            "`run_script` is an action, not a skill: take that action itself.",
        ),
        (
            json!({"action": {"type": "call_tool", "tool": "pdf", "args": {}}}),
            "`pdf` is a skill, not a tool: load it with `select_skills`.",
        ),
        (select(&["SKILL"]), "`SKILL` stands for words of the request: write those instead."),
        (search("docs/handbook.md"), "is a file, not a skill: read it with `read_file`."),
    ] {
        let (seen, _) = turns(json!([decision, answer("x")]), |_| {});
        assert!(observed(&seen[1]).contains(words), "{}", observed(&seen[1]));
    }
}

#[test]
fn a_call_by_name_is_repeated_as_a_sentence() {
    let (seen, _) = turns(json!([read("a"), answer("x")]), |setup| {
        setup.request = "/pdf a.pdf".to_owned();
        let id = "user:pdf".parse().expect("an id");
        setup.chosen = vec![metier_agent::setup::Chosen { id, arguments: Some("a.pdf".into()) }];
    });
    assert_eq!(
        seen[0].tail,
        "[The request: Use the loaded skill `pdf` with: a.pdf]\n[Do now what the text of the skill \
         says for the request.]"
    );
}

#[test]
fn options_that_were_written_as_one_word_are_split_and_the_model_is_shown_that() {
    let given = script("pdf", &["--by region", "two words", "--name=a b", "a.csv"]);
    let (seen, ran) = turns(json!([select(&["pdf"]), given, answer("x")]), |_| {});
    assert_eq!(
        ran.executor.log()[1],
        "run user:pdf/scripts/do.sh --by region two words --name=a b a.csv"
    );
    let note = "Each word is an argument of its own, so these were given: \"--by\", \"region\", \"two \
                words\", \"--name=a b\", \"a.csv\"";
    assert!(observed(&seen[2]).contains(note), "{}", observed(&seen[2]));
    let (seen, _) =
        turns(json!([select(&["pdf"]), script("pdf", &["--fail"]), answer("x")]), |_| {});
    assert!(seen[2].tail.contains("[The script failed: read its message, and run it with"));
}
