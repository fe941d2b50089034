//! Case files: every spelling that is read, and what is said of those that cannot be.
//! Judging by them is tested from outside.

use metier_evals::{ActionPattern, Arm, Case, SequenceMode, parse_cases};

fn read(name: &str, text: &str) -> Vec<Case> {
    parse_cases(text, name, None).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn fault(name: &str, text: &str) -> String {
    let faults = parse_cases(text, name, None).expect_err(text);
    let help = faults[0].help.clone().unwrap_or_default();
    format!("{} | {help}", faults[0])
}

#[test]
fn the_seed_s_three_fields_are_a_case() {
    let text = r#"
input: "把这两个 PDF 合并"
expected:
  skills: [pdf]
  actions:
    - load_skill pdf
    - run_script pdf/scripts/merge.py
  output: 合并
constraints:
  max_tool_calls: 3
  forbidden_tools: [network_request]
"#;
    let cases = read("seed.yaml", text);
    let [case] = cases.as_slice() else { panic!("{cases:?}") };
    assert_eq!(case.input, "把这两个 PDF 合并");
    assert_eq!(case.expected.skills.as_deref(), Some(&["pdf".to_owned()][..]));
    let order = case.expected.actions.order.as_ref().unwrap();
    assert_eq!(order.mode, SequenceMode::InOrder);
    assert_eq!(order.actions[0].action.as_deref(), Some("select_skills"));
    assert_eq!(order.actions[1].path.as_deref(), Some("scripts/merge.py"));
    assert_eq!(case.expected.output.contains, ["合并"]);
    assert_eq!(case.constraints.max_tool_calls, Some(3));
    assert_eq!(case.constraints.forbidden_tools, ["network_request"]);
    assert_eq!(case.constraints.trigger_within(), 3);
    assert_eq!(case.skill.as_deref(), Some("pdf"));
}

#[test]
fn short_and_long_spellings_are_the_same_case() {
    let short = r"
skill: pdf
cases:
  - input: fill it
    expected:
      actions: {must: run_script pdf/scripts/fill.py form.pdf, must_not: [write_file], order: [load_skill, run_script]}
      output: {contains: done, files: out.pdf, commands: [python3 check.py]}
      steps: [load_resource pdf/forms.md]
";
    let long = r#"
{"skill": "pdf", "cases": [{"prompt": "fill it", "expected": {
  "actions": {
    "must": [{"action": "run_script", "skill": "pdf", "path": "scripts/fill.py", "args": {"0": {"equals": "form.pdf"}}}],
    "must_not": [{"action": "call_tool", "tool": "write_file"}],
    "order": {"mode": "in_order", "actions": [{"action": "select_skills"}, {"action": "run_script"}]}},
  "output": {"contains": ["done"], "files": [{"path": "out.pdf"}], "commands": [{"command": ["python3", "check.py"], "exit": 0}]},
  "steps": [{"title": "load_resource pdf/forms.md", "action": {"action": "load_resource", "skill": "pdf", "path": "forms.md"}}]}}]}
"#;
    let (mut short, mut long) = (read("a.yaml", short), read("a.json", long));
    for case in short.iter_mut().chain(&mut long) {
        case.origin = Default::default();
    }
    assert_eq!(short, long);
    assert!(Arm::Listed.measures_triggers());
    assert_eq!(
        short[0].expected.actions.must_not,
        [ActionPattern {
            action: Some("call_tool".to_owned()),
            tool: Some("write_file".to_owned()),
            ..ActionPattern::default()
        }]
    );
}

#[test]
fn what_is_written_in_the_long_form_is_read_again() {
    let case = read(
        "a.yaml",
        "input: x\nexpected: {skills: pdf, actions: [load_skill, {tool: 'grep'}]}\n",
    );
    let json = serde_json::to_string(&case[0]).unwrap();
    assert_eq!(serde_json::from_str::<Case>(&json).unwrap(), case[0]);
}

#[test]
fn lists_of_triggers_are_read_in_all_their_spellings() {
    for (name, text) in [
        (
            "a.json",
            r#"[{"query": "merge two pdfs", "should_trigger": true}, {"query": "what is 2+2", "should_trigger": false}]"#,
        ),
        (
            "a.json",
            r#"{"skill_name": "pdf", "evals": [{"prompt": "merge two pdfs", "should_trigger": true}, {"prompt": "what is 2+2", "should_trigger": false}]}"#,
        ),
        (
            "a.json",
            r#"{"queries": [{"query": "merge two pdfs", "expected": "fire", "split": "train"}, {"query": "what is 2+2", "expected": "no_fire", "split": "val"}]}"#,
        ),
        (
            "a.yaml",
            "should_trigger_prompts:\n  - prompt: merge two pdfs\n    reason: named\nshould_not_trigger_prompts:\n  - what is 2+2\n",
        ),
    ] {
        let cases = parse_cases(text, name, Some("pdf")).unwrap();
        let fires: Vec<_> = cases.iter().map(|case| case.expected.skills.clone()).collect();
        assert_eq!(fires, [Some(vec!["pdf".to_owned()]), None], "{text}");
        assert_eq!(cases[1].expected.not_skills, ["pdf"], "{text}");
        assert_eq!(cases[0].input, "merge two pdfs");
    }
}

#[test]
fn both_public_spellings_of_statements_become_questions_for_a_judge() {
    for key in ["assertions", "expectations"] {
        let text = format!(
            r#"{{"skill_name": "pdf", "evals": [{{"id": 1, "prompt": "fill it", "expected_output": "a filled form",
                "files": ["evals/files/form.pdf"], "{key}": ["the name is filled in", {{"text": "no field is empty"}}]}}]}}"#
        );
        let cases = read("evals.json", &text);
        let statements: Vec<&str> =
            cases[0].expected.output.judge.iter().map(|it| it.statement.as_str()).collect();
        assert_eq!(
            statements,
            [
                "The result is as described: a filled form",
                "the name is filled in",
                "no field is empty"
            ]
        );
        assert_eq!(cases[0].files["form.pdf"], "evals/files/form.pdf");
        assert_eq!(
            cases[0].expected.skills, None,
            "how well it is done says nothing about triggering"
        );
    }
}

#[test]
fn a_mistake_is_shown_where_it_is_with_what_was_meant() {
    insta_like(
        &fault("a.yaml", "cases:\n  - input: x\n    expected:\n      skill: pdf\n"),
        "a.yaml:4:7: unknown key `skill` | did you mean `skills`?",
    );
    insta_like(
        &fault("a.json", "{\"cases\": [\n {\"input\": \"x\", \"constrants\": {}}]}"),
        "a.json:2:17: unknown key `constrants` | did you mean `constraints`?",
    );
    insta_like(
        &fault("a.yaml", "cases:\n  - input: x\n    constraints: {max_tool_calls: many}\n"),
        "a.yaml:3:35: expected u32, found a text | ",
    );
    insta_like(
        &fault("a.yaml", "cases:\n  - expected: {skills: []}\n"),
        "a.yaml:2:5: the key `input` is missing | ",
    );
    insta_like(
        &fault("a.yaml", "input: x\nexpected: {actions: {must: [run_scirpt pdf/a.py]}}\n"),
        "a.yaml:2:29: `run_scirpt` takes nothing like `pdf/a.py` in one line: write its keys, such as `{tool: run_scirpt, args: {...}}` | ",
    );
    insta_like(
        &fault("a.json", r#"[{"query": "x", "should_trigger": true}]"#),
        "a.json:1:2: nothing says which skill this is about | add a key `skill`, put the file into the skill's folder, or name it with --skill",
    );
    assert!(
        fault("a.yaml", "input: x\nexpected: {output: {regex: '('}}\n")
            .contains("the expression `(` cannot be read")
    );
    assert!(
        fault("a.yaml", "input: x\nexpected: {output: {json_schema: {type: nope}}}\n")
            .contains("`json_schema` is not a valid JSON Schema")
    );
}

fn insta_like(found: &str, wanted: &str) {
    assert_eq!(found, wanted);
}

#[test]
fn a_file_without_cases_is_a_fault_and_never_an_empty_pass() {
    for (name, text) in [
        ("a.yaml", ""),
        ("a.yaml", "cases: []\n"),
        ("a.json", "[]"),
        ("a.json", "{\"evals\": []}"),
        ("a.json", "null"),
    ] {
        assert!(
            fault(name, text).contains("no cases") || fault(name, text).contains("is empty"),
            "{text}"
        );
    }
}

#[test]
fn attacks_end_in_a_fault() {
    for (name, text) in [
        ("a.json", "[".repeat(100_000)),
        ("a.yaml", "- ".repeat(100_000)),
        ("a.yaml", "a: &x [*x]\n".to_owned()),
        ("a.yaml", "input: !!python/object:os.system x\n".to_owned()),
        ("a.json", "{\"input\": \"x\", \"input\": \"y\"}".to_owned()),
        ("a.yaml", "input: x\ninput: y\n".to_owned()),
        ("a.json", "{\"input\": \"x".to_owned()),
        ("a.yaml", "\u{0}".to_owned()),
    ] {
        fault(name, &text);
    }
}

#[test]
fn all_mistakes_of_a_file_are_shown_at_once() {
    let text = "cases:\n  - input: x\n    a: 1\n  - input: y\n  - input: z\n    b: 1\n";
    assert_eq!(parse_cases(text, "a.yaml", None).unwrap_err().len(), 2);
}

#[test]
fn what_a_case_asks_for_and_forbids_at_once_is_a_fault() {
    let both = fault("a.yaml", "input: x\nexpected: {skills: [pdf], not_skills: [pdf]}\n");
    assert!(both.contains("`pdf` is listed both in `skills` and in `not_skills`"), "{both}");
    for tool in ["load_skill", "load_*", "select_skills"] {
        let text = format!(
            "input: x\nexpected: {{skills: [pdf]}}\nconstraints: {{forbidden_tools: ['{tool}']}}\n"
        );
        let said = fault("a.yaml", &text);
        let expected = format!("`pdf` is to be loaded, and `{tool}` is forbidden");
        assert!(said.contains(&expected), "{said}");
    }
    read("a.yaml", "input: x\nexpected: {skills: [pdf]}\nconstraints: {forbidden_tools: ['*']}\n");
    read(
        "a.yaml",
        "input: x\nexpected: {skills: []}\nconstraints: {forbidden_tools: [load_skill]}\n",
    );
}

#[test]
fn a_blank_list_of_skills_is_a_fault_and_not_none() {
    for blank in ["{skills: }", "{skills: null}", "{skills: ~}"] {
        let said = fault("a.yaml", &format!("input: x\nexpected: {blank}\n"));
        assert!(said.contains("`skills` is blank: write `[]` for none"), "{said}");
    }
    let none = read("a.yaml", "input: x\nexpected: {skills: []}\n");
    assert_eq!(none[0].expected.skills.as_deref(), Some(&[][..]));
}

#[test]
fn statements_beside_should_trigger_are_judged_too() {
    let text = r#"[{"query": "fill it", "skill": "pdf", "should_trigger": true,
                    "expectations": ["the form is filled"], "expected_output": "a form"}]"#;
    let cases = read("a.json", text);
    let judged: Vec<&str> =
        cases[0].expected.output.judge.iter().map(|it| it.statement.as_str()).collect();
    assert_eq!(judged, ["The result is as described: a form", "the form is filled"]);
    assert_eq!(cases[0].expected.skills.as_deref(), Some(&["pdf".to_owned()][..]));
}
