//! Runs without a provider: replies for the scripted model, and what a run left in its record.
//! For the tests of the runtime and of the command line, which run the same models.

use std::path::Path;

use serde_json::{Value, json};

use crate::TestHome;

/// Writes a scripted model into the project; gives the name by which a session finds it.
pub fn scripted(home: &TestHome, replies: &Value) -> &'static str {
    home.write("project/model.json", json!({ "replies": replies }).to_string());
    "scripted:model.json"
}

/// A reply that selects skills.
pub fn select(names: &[&str]) -> Value {
    let skills: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"action": {"type": "select_skills", "skills": skills, "reason": "it fits"}})
}

/// A reply that loads a file of a skill.
pub fn resource(skill: &str, path: &str) -> Value {
    json!({"action": {"type": "load_resource", "skill": {"name": skill}, "relative_path": path}})
}

/// A reply that runs a script of a skill.
pub fn script(skill: &str, path: &str, args: &[&str]) -> Value {
    json!({"action": {"type": "run_script", "skill": {"name": skill}, "relative_path": path,
        "args": args}})
}

/// A reply that calls a tool.
pub fn call(tool: &str, args: &Value) -> Value {
    json!({"action": {"type": "call_tool", "tool": tool, "args": args}})
}

/// A reply that ends the run.
pub fn answer(text: &str) -> Value {
    json!({"action": {"type": "final_answer", "text": text}})
}

/// The events in the folder of a run.
pub fn events_in(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).expect("a record");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Those of one type.
pub fn of_type<'e>(events: &'e [Value], wanted: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == wanted).collect()
}

/// The codes of what the model was given back, in order; `ok` where an action was done.
pub fn codes(events: &[Value]) -> Vec<&str> {
    let made = of_type(events, "observation.made");
    made.into_iter().map(|event| event["code"].as_str().unwrap_or("ok")).collect()
}
