//! What every turn of every run pays for: the fixed part of the prompt, with the tools that are always
//! offered and no skill.

use metier::Metier;
use metier::model::{Action, Decision, Model, ModelError, ModelInfo, Reply, Sink, Turn};
use metier_cancel::CancelToken;
use metier_skill::estimate_tokens;

/// Tokens of the fixed part, at most. It had 1,159.
const MAX_TOKENS: usize = 800;

struct Answers;

impl Model for Answers {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "answers")
    }

    fn reply(&self, _: &Turn, _: Sink<'_>, _: &CancelToken) -> Result<Reply, ModelError> {
        Ok(Reply::of(&Decision::to(Action::answer("done"))))
    }
}

/// The prompts of a run with this configuration, without the catalog: for JSON, and for function calls
/// with the schema that goes with them.
fn fixed_parts(config: &str) -> (String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(dir.path().join(".agent")).expect("a folder");
    std::fs::write(dir.path().join(".agent/config.json"), config).expect("a file");
    let metier = Metier::builder(dir.path()).without_user_folders().open().expect("opens");
    let run = metier.session().own_model(Answers).run("do it").expect("runs");
    let setup = run.state().setup();
    let without_catalog =
        |text: &str| text.split("\n# Skills\n").next().unwrap_or_default().to_owned();
    (without_catalog(&setup.system), without_catalog(&setup.system_for_call))
}

#[test]
fn the_fixed_part_of_a_prompt_has_at_most_800_tokens() {
    for plan in ["on", "off"] {
        let (json, calls) = fixed_parts(&format!(r#"{{"model": {{"plan": "{plan}"}}}}"#));
        let tokens = estimate_tokens(&json);
        assert!(tokens <= MAX_TOKENS, "plan {plan}: {tokens} tokens in\n{json}");
        assert!(
            json.contains("read_file") && json.contains("grep") && json.contains("final_answer")
        );
        assert!(json.contains("Answer in the language of the request"));
        assert_eq!(json.contains("plan_update"), plan == "on");
        let of_calls = estimate_tokens(&calls);
        assert!(of_calls < tokens * 2 / 3, "{of_calls} of {tokens}: the parameters say the rest");
        assert!(!calls.contains("JSON object"), "{calls}");
    }
}
