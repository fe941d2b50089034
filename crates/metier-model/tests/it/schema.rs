//! The schema keeps to the subset that providers enforce, and agrees with the words and the parser.
//! A small validator of the subset stands in for the providers'.

use metier_model::{
    Decision, ToolOffer, decision_schema, instructions, parse_text,
    schema::{InOrder, answer_schema, brief_schema},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::any;

/// A validator of the subset: what it does not know, it refuses.
fn fits(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return false };
    rules.iter().all(|(rule, is)| match rule.as_str() {
        "description" | "required" | "additionalProperties" => true,
        "type" => {
            let kinds: Vec<&str> = match is {
                Value::String(kind) => vec![kind],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => return false,
            };
            kinds.contains(&match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(number) if number.is_f64() => "number",
                Value::Number(_) => "integer",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            })
        }
        "enum" => is.as_array().is_some_and(|words| words.contains(value)),
        "anyOf" => is.as_array().is_some_and(|all| all.iter().any(|it| fits(it, value))),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(is, item))),
        "properties" => value.as_object().is_none_or(|map| {
            is.as_object().is_some_and(|known| {
                known.len() == map.len()
                    && known.iter().all(|(name, it)| map.get(name).is_some_and(|is| fits(it, is)))
            })
        }),
        other => panic!("`{other}` is not in the subset"),
    })
}

/// Counts the objects of a schema, and fails where one leaves the subset.
fn walk(schema: &Value, path: &str) -> usize {
    let map = schema.as_object().unwrap_or_else(|| panic!("{path} is no schema"));
    let known =
        ["type", "enum", "anyOf", "items", "properties", "required", "additionalProperties"];
    for rule in map.keys() {
        assert!(known.contains(&rule.as_str()) || rule == "description", "{path} has `{rule}`");
    }
    assert!(map.contains_key("type") != map.contains_key("anyOf"), "{path}: a type or anyOf");
    let mut objects = 0;
    if let Some(properties) = map.get("properties") {
        objects += 1;
        assert_eq!(map["type"], "object", "{path}");
        assert_eq!(map["additionalProperties"], false, "{path}");
        let properties = properties.as_object().expect("properties");
        let mut required: Vec<&str> = map["required"]
            .as_array()
            .expect("required")
            .iter()
            .map(|name| name.as_str().expect("a name"))
            .collect();
        required.sort_unstable();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(required, names, "{path}: all are required");
        for (name, inner) in properties {
            objects += walk(inner, &format!("{path}.{name}"));
        }
    } else {
        assert_ne!(map.get("type"), Some(&json!("object")), "{path}: an object without properties");
    }
    for (i, option) in map.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        objects += walk(option, &format!("{path}|{i}"));
    }
    map.get("items").map_or(objects, |items| objects + walk(items, &format!("{path}[]")))
}

/// A decision with every field that the schema asks for.
fn filled(decision: &Decision) -> Value {
    let mut value = serde_json::to_value(decision).expect("JSON");
    let fill = |value: &mut Value, names: &[&str]| {
        for name in names {
            if value.is_object() && value.get(*name).is_none() {
                value[*name] = Value::Null;
            }
        }
    };
    fill(&mut value, &["plan", "plan_update"]);
    fill(&mut value["plan_update"], &["replace", "patch"]);
    let action = &mut value["action"];
    match action["type"].as_str().expect("a type") {
        "load_resource" => fill(action, &["section_hint"]),
        "call_tool" => fill(action, &["skill"]),
        "final_answer" => fill(action, &["data"]),
        _ => {}
    }
    fill(&mut action["skill"], &["name", "source"]);
    for skill in action.get_mut("skills").and_then(Value::as_array_mut).into_iter().flatten() {
        fill(skill, &["source"]);
    }
    // `Index` on a missing key puts null there.
    let action = action.as_object_mut().expect("an object");
    if matches!(action["type"].as_str(), Some("select_skills" | "search_skills" | "final_answer")) {
        action.remove("skill");
    }
    value
}

#[test]
fn the_schema_keeps_to_the_subset_with_and_without_tools() {
    let without = walk(&decision_schema(&[]), "$");
    let with = walk(&decision_schema(&any::tools()), "$");
    // Each tool adds its variant, its arguments and the skill; one has an object in a list.
    assert_eq!(with, without + 3 * any::tools().len() + 1);
}

#[test]
fn what_a_model_that_was_cut_off_is_held_to_fits_the_whole_schema_and_has_no_plan() {
    let (brief, short) = (brief_schema(&any::tools()), answer_schema());
    walk(&brief, "$");
    walk(&short, "$");
    let list = json!({"plan": null, "plan_update": null, "action": {"type": "call_tool",
        "tool": "list_dir", "args": {"path": null}, "skill": null}});
    let answer = json!({"plan": null, "plan_update": null, "action": {"type": "final_answer",
        "text": "x", "data": null, "status": "done"}});
    for (value, in_brief, in_short) in [(&list, true, false), (&answer, true, true)] {
        assert!(fits(&decision_schema(&any::tools()), value), "{value}");
        assert_eq!((fits(&brief, value), fits(&short, value)), (in_brief, in_short), "{value}");
        let mut planned = value.clone();
        planned["plan"] = json!({"goal": "x", "steps": [], "assumptions": [], "constraints": []});
        assert!(fits(&decision_schema(&any::tools()), &planned), "{planned}");
        assert!(!fits(&brief, &planned) && !fits(&short, &planned), "{planned}");
    }
}

#[test]
fn a_tool_that_is_not_offered_cannot_be_called() {
    let call = |tool: &str, args: Value| {
        json!({"plan": null, "plan_update": null,
            "action": {"type": "call_tool", "tool": tool, "args": args, "skill": null}})
    };
    let list = call("list_dir", json!({"path": null}));
    assert!(fits(&decision_schema(&any::tools()), &list));
    assert!(!fits(&decision_schema(&[]), &list));
    assert!(!fits(&decision_schema(&any::tools()), &call("other", json!({"path": null}))));
    // The arguments of another tool.
    assert!(!fits(&decision_schema(&any::tools()), &call("read_file", json!({"path": null}))));
}

#[test]
fn every_example_of_the_instructions_is_parsed_and_fits_the_schema() {
    let check = |tools: &[ToolOffer]| {
        let schema = decision_schema(tools);
        let words = instructions(tools);
        let mut kinds = Vec::new();
        for line in words.lines().filter(|line| line.starts_with('{')) {
            let decision = parse_text(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert!(fits(&schema, &value), "{line}");
            kinds.push(decision.action.kind());
        }
        assert_eq!(words, instructions(tools));
        kinds
    };
    let plans = ["select_skills", "search_skills"];
    let without = ["select_skills", "load_resource", "run_script", "search_skills", "final_answer"];
    assert_eq!(check(&[]), [&plans[..], &without].concat());
    let with = check(&any::tools());
    assert_eq!(with, [&plans[..], &without[..4], &["call_tool", "final_answer"]].concat());
}

#[test]
fn the_instructions_name_every_tool_with_its_arguments_in_order() {
    let words = instructions(&any::tools());
    assert!(words.contains(
        "- read_file: Read a text file.\n  path (string): The file.\n  skill (string or null): The \
         skill.\n  first_line (integer or null)\n- network_request: Send a request.\n"
    ));
    assert!(words.contains(r#"method (one of "GET", "POST", null)"#));
    assert!(words.contains("headers (array or null, of objects with name, value)"));
}

#[test]
fn the_schema_in_order_is_the_same_schema_with_the_type_first() {
    let schema = decision_schema(&any::tools());
    let text = serde_json::to_string(&InOrder(&schema)).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), schema);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}"));
    assert!(place(r#""plan":"#) < place(r#""plan_update":"#));
    assert!(place(r#""plan_update":"#) < place(r#""action":"#));
    assert!(
        text.contains(r#""properties":{"type":{"enum":["call_tool"],"type":"string"},"tool":"#)
    );
}

#[test]
fn a_plan_update_that_the_parser_refuses_does_not_fit_the_schema() {
    let plan = json!({"goal": "g", "steps": [], "assumptions": [], "constraints": []});
    let operation =
        |op: &str, from: Value| json!({"op": op, "path": "/goal", "from": from, "value": null});
    let update = |replace: &Value, patch: Value| {
        json!({"plan": null, "plan_update": {"replace": replace, "patch": patch},
            "action": {"type": "search_skills", "query": "q"}})
    };
    let schema = decision_schema(&[]);
    for (decision, is_fine) in [
        (update(&plan, json!(null)), true),
        (update(&json!(null), json!([operation("remove", json!(null))])), true),
        (update(&json!(null), json!([operation("copy", json!("/steps"))])), true),
        // A small model that a server held to the schema wrote both.
        (update(&plan, json!([operation("remove", json!(null))])), false),
        (update(&json!(null), json!([operation("move", json!(null))])), false),
    ] {
        assert_eq!(parse_text(&decision.to_string()).is_ok(), is_fine, "{decision}");
        assert_eq!(fits(&schema, &decision), is_fine, "{decision}");
    }
}

proptest! {
    #[test]
    fn what_fits_the_schema_is_taken_by_the_parser(decision in any::decision()) {
        let value = filled(&decision);
        // Numbers as data and free values in patches are wider than the schema.
        prop_assume!(fits(&decision_schema(&any::tools()), &value));
        prop_assert_eq!(parse_text(&value.to_string()), Ok(decision));
    }
}
