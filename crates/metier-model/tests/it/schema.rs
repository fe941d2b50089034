//! The schema keeps to the subset that providers enforce, and agrees with the words and the parser.
//! A small validator of the subset stands in for the providers'.

use metier_model::{
    Action, Decision, DecisionForm, PlanMode, SkillSearch, ToolOffer, call_instructions,
    instructions, parse_text,
    schema::{self, InOrder, answer_schema, brief_schema, schema_without},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::any;

/// The schema with a plan, which is the wider one.
fn decision_schema(tools: &[ToolOffer]) -> Value {
    schema::decision_schema(tools, PlanMode::On)
}

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
fn without_a_plan_a_decision_is_its_action_alone() {
    let tools = any::tools();
    let off = schema::decision_schema(&tools, PlanMode::Off);
    let (brief, short) = (brief_schema(&tools, PlanMode::Off), answer_schema());
    let list = json!({"action": {"type": "call_tool", "tool": "list_dir", "args": {"path": null},
        "skill": null}});
    let answer = json!({"action": {"type": "final_answer", "text": "x", "data": null,
        "status": "done"}});
    assert_eq!(off, brief);
    for (value, in_short) in [(&list, false), (&answer, true)] {
        assert!(parse_text(&value.to_string()).is_ok(), "{value}");
        for schema in [&off, &brief, &short] {
            walk(schema, "$");
        }
        assert_eq!((fits(&brief, value), fits(&short, value)), (true, in_short), "{value}");
        let mut planned = value.clone();
        (planned["plan"], planned["plan_update"]) = (Value::Null, Value::Null);
        assert!(fits(&decision_schema(&tools), &planned), "{planned}");
        assert!(!fits(&off, &planned) && !fits(&short, &planned), "{planned}");
    }
}

#[test]
fn a_plan_may_be_null_from_the_first_turn() {
    let first = json!({"plan": null, "plan_update": null,
        "action": {"type": "search_skills", "query": "q"}});
    assert!(fits(&decision_schema(&[]), &first));
}

#[test]
fn a_search_is_offered_only_where_there_is_something_to_find() {
    let form = DecisionForm { plan: PlanMode::Off, search: SkillSearch::Off };
    let search = json!({"action": {"type": "search_skills", "query": "q"}});
    assert!(!fits(&schema::decision_schema(&[], form), &search));
    assert!(!instructions(&[], form).contains("search_skills"));
}

#[test]
fn a_repeated_action_can_be_left_out_of_the_schema() {
    let tools = any::tools();
    let search = json!({"action": {"type": "search_skills", "query": "q"}});
    let list = json!({"action": {"type": "call_tool", "tool": "list_dir", "args": {"path": null},
        "skill": null}});
    let without_search =
        schema_without(&tools, PlanMode::Off, &Action::SearchSkills { query: "other".into() });
    assert_eq!((fits(&without_search, &search), fits(&without_search, &list)), (false, true));
    let without_list = schema_without(&tools, PlanMode::Off, &Action::call("list_dir", json!({})));
    assert_eq!((fits(&without_list, &search), fits(&without_list, &list)), (true, false));
    walk(&without_search, "$");
    walk(&without_list, "$");
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
    let check = |tools: &[ToolOffer], plan: PlanMode| {
        // Where there may be a plan, the parser takes an action alone too.
        let schema = schema::decision_schema(tools, PlanMode::Off);
        let words = instructions(tools, plan);
        let mut kinds = Vec::new();
        for line in words.lines().filter(|line| line.starts_with('{')) {
            let decision = parse_text(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert!(fits(&schema, &value), "{line}");
            kinds.push(decision.action.kind());
        }
        assert_eq!(words, instructions(tools, plan));
        kinds
    };
    let without = ["select_skills", "run_script", "load_resource", "search_skills", "final_answer"];
    for plan in [PlanMode::On, PlanMode::Off] {
        assert_eq!(check(&[], plan), without);
        let with = check(&any::tools(), plan);
        assert_eq!(with, [&without[..2], &["call_tool"], &without[2..]].concat());
    }
}

#[test]
fn a_copy_of_an_example_names_nothing_that_exists() {
    let words = instructions(&any::tools(), PlanMode::On);
    for line in words.lines().filter(|line| line.starts_with('{')) {
        let value: Value = serde_json::from_str(line).expect("JSON");
        let action = &value["action"];
        let texts = [
            &action["skill"]["name"],
            &action["skills"][0]["name"],
            &action["query"],
            &action["relative_path"],
            &action["reason"],
            &action["text"],
            &action["args"]["path"],
        ];
        for text in texts.into_iter().filter_map(Value::as_str) {
            assert_eq!(text, text.to_ascii_uppercase(), "{line}");
        }
    }
    assert!(!words.contains("example-skill"));
}

#[test]
fn the_plan_is_explained_after_the_actions_and_only_where_it_is_asked_for() {
    let (on, off) = (instructions(&[], PlanMode::On), instructions(&[], PlanMode::Off));
    assert!(on.find("GOAL").expect("a plan") > on.rfind("final_answer").expect("an action"));
    assert!(!off.contains("plan"), "{off}");
    assert!(!call_instructions(PlanMode::Off).contains("plan"));
}

#[test]
fn the_words_for_function_calls_leave_to_the_functions_what_stands_there() {
    let words = call_instructions(PlanMode::On);
    assert!(!words.contains('{') && !words.contains("JSON object"), "{words}");
    assert!(words.contains("`plan`") && !words.contains("select_skills"), "{words}");
}

#[test]
fn the_instructions_name_every_tool_with_its_arguments_in_order() {
    let words = instructions(&any::tools(), PlanMode::Off);
    let start = words.find("- read_file").expect("the tools");
    let end = words.find(r#"{"action":{"type":"call_tool""#).expect("the example");
    assert_eq!(
        &words[start..end],
        "- read_file: Read a text file.\n  args: path: The file; skill?: The skill; \
         first_line? (integer)\n- network_request: Send a request.\n  args: url; method (one of \
         \"GET\", \"POST\", null); headers (array or null, of objects with name, value)\n- list_dir: \
         List a directory.\n  args: path?\n"
    );
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
