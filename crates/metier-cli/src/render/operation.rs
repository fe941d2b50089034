//! An operation of a run in the words of a person: `read README.md`, `grep "TODO" src`.
//!
//! Nothing of it is left out, except the content of a file that is written and arguments that are
//! null: whatever has no word of its own follows as JSON. The text is untrusted; what shows it makes
//! it safe.

use metier::agent::Op;
use metier::model::Action;
use serde_json::{Map, Value};

use crate::render::shell;

/// What an operation does.
pub(crate) fn words(op: &Op) -> String {
    match op {
        Op::Script { skill, path, args } => {
            let words = std::iter::once(format!("run {skill}/{path}"));
            words.chain(args.iter().map(|arg| shell::quoted(arg))).collect::<Vec<_>>().join(" ")
        }
        Op::Tool { tool, args, .. } => tool_words(tool, args),
        Op::Search { query } => format!("search skills for {query:?}"),
        op => op.describe(),
    }
}

/// What an action is to do, where it never became an operation.
pub(crate) fn action_words(action: &Action) -> String {
    match action {
        Action::CallTool { tool, args, .. } => tool_words(tool, args),
        action => format!("{} {}", action.kind(), action.target()),
    }
}

fn tool_words(tool: &str, args: &Map<String, Value>) -> String {
    let mut args = args.clone();
    args.retain(|_, value| !value.is_null());
    let words = match tool {
        "read_file" => path(&mut args).map(|path| {
            let lines = match (number(&mut args, "first_line"), number(&mut args, "last_line")) {
                (None, None) => String::new(),
                (first, None) => format!(":{}-", first.unwrap_or(1)),
                (first, Some(last)) => format!(":{}-{last}", first.unwrap_or(1)),
            };
            format!("read {path}{lines}")
        }),
        "list_dir" => {
            let path = path(&mut args);
            path.or_else(|| (!args.contains_key("path")).then(|| ".".to_owned()))
                .map(|path| format!("list {path}"))
        }
        "grep" => text(&mut args, "pattern").map(|pattern| {
            let place = path(&mut args).map_or_else(String::new, |path| format!(" {path}"));
            format!("grep {pattern:?}{place}")
        }),
        "write_file" => path(&mut args).map(|path| {
            args.remove("content");
            args.remove("expected_sha256");
            format!("write {path}")
        }),
        "delete_file" => path(&mut args).map(|path| format!("delete {path}")),
        "network_request" => text(&mut args, "url").map(|url| {
            let method = text(&mut args, "method").unwrap_or_else(|| "GET".to_owned());
            format!("{method} {url}")
        }),
        "run_command" => command(&mut args).map(|command| format!("run {command}")),
        _ => None,
    };
    let words = words.unwrap_or_else(|| tool.to_owned());
    if args.is_empty() { words } else { format!("{words} {}", Value::Object(args)) }
}

/// The path of a call, beneath the skill that it names.
fn path(args: &mut Map<String, Value>) -> Option<String> {
    let path = text(args, "path")?;
    let skill = text(args, "skill").map_or_else(String::new, |skill| format!("{skill}/"));
    Some(format!("{skill}{path}"))
}

fn text(args: &mut Map<String, Value>, key: &str) -> Option<String> {
    args.get(key)?.as_str()?;
    match args.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn number(args: &mut Map<String, Value>, key: &str) -> Option<u64> {
    let number = args.get(key)?.as_u64()?;
    args.remove(key);
    Some(number)
}

fn command(args: &mut Map<String, Value>) -> Option<String> {
    let words: Option<Vec<&str>> =
        args.get("command")?.as_array()?.iter().map(Value::as_str).collect();
    let words: Vec<_> = words?.into_iter().map(shell::quoted).collect();
    args.remove("command");
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn called(tool: &str, args: Value) -> String {
        let Value::Object(args) = args else { panic!("an object") };
        tool_words(tool, &args)
    }

    #[test]
    fn a_call_reads_as_a_person_would_say_it_and_hides_no_argument() {
        for (tool, args, words) in [
            ("read_file", json!({"path": "README.md", "skill": null}), "read README.md"),
            ("read_file", json!({"path": "a.md", "skill": "pdf"}), "read pdf/a.md"),
            ("read_file", json!({"path": "a", "first_line": 3, "last_line": 9}), "read a:3-9"),
            ("list_dir", json!({"path": null}), "list ."),
            ("list_dir", json!({"path": "src"}), "list src"),
            ("grep", json!({"pattern": "TODO", "path": "src"}), "grep \"TODO\" src"),
            ("grep", json!({"pattern": "x", "glob": "*.rs"}), "grep \"x\" {\"glob\":\"*.rs\"}"),
            ("write_file", json!({"path": "a.txt", "content": "long"}), "write a.txt"),
            ("delete_file", json!({"path": "a.txt"}), "delete a.txt"),
            ("run_command", json!({"command": ["git", "log", "a b"]}), "run git log 'a b'"),
            (
                "network_request",
                json!({"url": "https://x.example/", "method": "POST", "body": "data"}),
                "POST https://x.example/ {\"body\":\"data\"}",
            ),
            ("network_request", json!({"url": 7}), "network_request {\"url\":7}"),
            ("list_dir", json!({"path": 7}), "list_dir {\"path\":7}"),
            ("weather", json!({"place": "Bern"}), "weather {\"place\":\"Bern\"}"),
            ("weather", json!({}), "weather"),
        ] {
            assert_eq!(called(tool, args), words);
        }
    }
}
