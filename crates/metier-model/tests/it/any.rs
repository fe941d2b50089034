//! Any decision, for property tests; and tools with the shapes of the real ones.
//! Names and texts hold quotes, breaks and other scripts on purpose.

use metier_model::{Action, Decision, Plan, PlanStep, PlanUpdate, SkillRef, StepStatus, ToolOffer};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Text with everything that is hard in JSON and in streams.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_./-]{0,12}",
        vec(
            prop_oneof![
                any::<char>(),
                Just('"'),
                Just('\\'),
                Just('{'),
                Just('}'),
                Just('\n'),
                Just('😀'),
                Just('\u{1}'),
            ],
            0..12
        )
        .prop_map(String::from_iter),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |it| it.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner).prop_map(Value::Object),
        ]
    })
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value), 0..4).prop_map(Map::from_iter)
}

/// What `data` can be after reading: no null, and no text of an object or a list.
fn data() -> impl Strategy<Value = Value> {
    value().prop_filter("as it is read", |value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim_start().starts_with(['{', '[']),
        _ => true,
    })
}

fn skill() -> impl Strategy<Value = SkillRef> {
    (text(), option::of(text())).prop_map(|(name, source)| SkillRef { name, source })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (vec(skill(), 0..4), text())
            .prop_map(|(skills, reason)| Action::SelectSkills { skills, reason }),
        (skill(), text(), option::of(text())).prop_map(|(skill, relative_path, section_hint)| {
            Action::LoadResource { skill, relative_path, section_hint }
        }),
        (skill(), text(), vec(text(), 0..4)).prop_map(|(skill, relative_path, args)| {
            Action::RunScript { skill, relative_path, args }
        }),
        text().prop_map(|query| Action::SearchSkills { query }),
        (text(), object_of(value()), option::of(skill()))
            .prop_map(|(tool, args, skill)| Action::CallTool { tool, args, skill }),
        (
            text(),
            option::of(data()),
            proptest::sample::select(vec![
                metier_model::AnswerStatus::Done,
                metier_model::AnswerStatus::Failed
            ])
        )
            .prop_map(|(text, data, status)| Action::FinalAnswer { text, data, status }),
    ]
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let status = prop_oneof![
        Just(StepStatus::Pending),
        Just(StepStatus::InProgress),
        Just(StepStatus::Completed),
        Just(StepStatus::Skipped),
    ];
    let step =
        (text(), text(), status).prop_map(|(id, title, status)| PlanStep { id, title, status });
    (text(), vec(step, 0..4), vec(text(), 0..3), vec(text(), 0..3)).prop_map(
        |(goal, steps, assumptions, constraints)| Plan { goal, steps, assumptions, constraints },
    )
}

fn update() -> impl Strategy<Value = PlanUpdate> {
    let operation = prop_oneof![
        (prop_oneof![Just("add"), Just("replace"), Just("test")], text(), value())
            .prop_map(|(op, path, value)| json!({"op": op, "path": path, "value": value})),
        text().prop_map(|path| json!({"op": "remove", "path": path, "from": null, "value": null})),
        (prop_oneof![Just("move"), Just("copy")], text(), text())
            .prop_map(|(op, from, path)| json!({"op": op, "from": from, "path": path})),
    ];
    prop_oneof![
        plan().prop_map(PlanUpdate::Replace),
        vec(operation, 0..4).prop_map(PlanUpdate::Patch),
    ]
}

/// Any decision as it is read.
pub(crate) fn decision() -> impl Strategy<Value = Decision> {
    (option::of(plan()), option::of(update()), action())
        .prop_map(|(plan, plan_update, action)| Decision { plan, plan_update, action })
}

/// Tools with the shapes of the real ones: nullable fields, a choice, a list of objects.
pub(crate) fn tools() -> Vec<ToolOffer> {
    let offer = |name: &str, description: &str, fields: Vec<(&str, Value)>| {
        let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let properties: Map<String, Value> =
            fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        ToolOffer {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false
            }),
        }
    };
    let header = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
        "required": ["name", "value"],
        "additionalProperties": false
    });
    vec![
        offer(
            "read_file",
            "Read a text file.",
            vec![
                ("path", json!({"type": "string", "description": "The file."})),
                ("skill", json!({"type": ["string", "null"], "description": "The skill."})),
                ("first_line", json!({"type": ["integer", "null"]})),
            ],
        ),
        offer(
            "network_request",
            "Send a request.",
            vec![
                ("url", json!({"type": "string"})),
                ("method", json!({"type": ["string", "null"], "enum": ["GET", "POST", null]})),
                ("headers", json!({"type": ["array", "null"], "items": header})),
            ],
        ),
        offer("list_dir", "List a directory.", vec![("path", json!({"type": ["string", "null"]}))]),
    ]
}
