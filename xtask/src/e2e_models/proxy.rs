//! `LiteLLM`'s proxy: in front of the small model, and with the faults that it can play.
//!
//! Its mock models have an address without a listener, so that nothing ever leaves the machine.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::client::{CHAT, Client, Dialect, MESSAGES, MESSAGES_SCHEMA, RESPONSES, Target};
use super::environment::Environment;
use super::probes::{Expected, probe};
use super::report::Report;
use super::server::{Server, free_address};

const NAME: &str = "LiteLLM";
/// The word with which `LiteLLM`'s own faults are asked for, and the model that has it.
const FAULTS: &[(&str, &str)] = &[
    ("rate", "litellm.RateLimitError"),
    ("broken", "litellm.InternalServerError"),
    ("window", "litellm.ContextWindowExceededError"),
    ("prose", "Good morning! What can I do for you?"),
];

/// The proxy, with the key that it wants.
#[derive(Debug)]
pub(crate) struct Proxy {
    server: Server,
    key: String,
}

impl Proxy {
    /// Starts it in front of the model at `base_url`.
    pub(crate) fn start(environment: &Environment, base_url: &str) -> Result<Self> {
        let key = format!("sk-{:016x}{:016x}", chance(), chance());
        let unused_url = format!("http://{}/v1", free_address()?);
        let config = environment.dir.join("litellm.json");
        fs::write(&config, serde_json::to_vec_pretty(&settings(base_url, &unused_url))?)
            .context("cannot write the proxy's settings")?;
        let variables = [
            ("LITELLM_MASTER_KEY", key.as_str()),
            // Else it fetches a list of prices at every start.
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ];
        let args: &[PathBuf] = &[config];
        let server = Server::start(environment, "litellm", args, "/health/liveliness", &variables)?;
        Ok(Self { server, key })
    }

    fn target(&self, dialect: Dialect, model: &'static str) -> Target {
        Target {
            dialect,
            base_url: self.server.base_url(),
            model,
            key: self.key.clone(),
            timeout_s: 90.0,
            max_tokens: 700,
            stream: true,
            temperature: 0.0,
        }
    }

    /// Everything that is tried with it.
    pub(crate) fn try_all(&self, client: &Client, report: &mut Report) -> Result<()> {
        let whole = |dialect| Target { stream: false, ..self.target(dialect, "small") };
        for (target, what, expected) in [
            (self.target(CHAT, "small"), "the small model", Expected::Works("json_schema")),
            (whole(CHAT), "without a stream", Expected::Works("json_schema")),
            (self.target(MESSAGES, "small"), "the small model", Expected::Works("tool_call")),
            (whole(MESSAGES), "without a stream", Expected::Works("tool_call")),
            (
                self.target(MESSAGES_SCHEMA, "small"),
                "the small model",
                Expected::Works("json_schema"),
            ),
            (self.target(RESPONSES, "small"), "the small model", Expected::Works("json_schema")),
            (whole(RESPONSES), "without a stream", Expected::Works("json_schema")),
        ] {
            report.add(probe(client, NAME, what, &target, expected)?);
        }
        for dialect in [CHAT, MESSAGES] {
            for (model, what, expected) in [
                ("rate", "429", Expected::Error("rate_limited")),
                ("broken", "500", Expected::Error("server_error")),
                ("window", "context too long", Expected::Error("context_overflow")),
                ("late", "408", Expected::Error("timed_out")),
                ("prose", "prose in place of a decision", Expected::Fault("not_json")),
            ] {
                let target = self.target(dialect, model);
                report.add(probe(client, NAME, what, &target, expected)?);
            }
        }
        // It breaks its own stream of Responses when it plays another fault, and says 500.
        let rate = self.target(RESPONSES, "rate");
        report.add(probe(client, NAME, "a broken mock", &rate, Expected::Error("server_error"))?);
        let late = self.target(RESPONSES, "late");
        report.add(probe(client, NAME, "408", &late, Expected::Error("timed_out"))?);
        // Without a database it cannot look a key up, and calls that a bad request.
        for dialect in [CHAT, MESSAGES] {
            let key = "sk-of-someone-else".to_owned();
            let stranger = Target { key, ..self.target(dialect, "small") };
            let expected = Expected::Error("bad_request");
            report.add(probe(client, NAME, "a wrong key", &stranger, expected)?);
        }
        Ok(())
    }
}

fn settings(base_url: &str, unused_url: &str) -> Value {
    // As a `llamafile` the proxy asks by chat completions, whatever dialect it was asked in; as
    // `openai` it would hand Responses and Messages to llama.cpp's Responses, which drop the schema.
    let model = |name: &str, model: &str, base: &str, more: Value| {
        let mut params = json!({"model": model, "api_base": base, "api_key": "none"});
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        json!({"model_name": name, "litellm_params": params})
    };
    // So small a model repeats itself until it is cut off, unless that costs a little.
    let small = json!({"extra_body": {"repeat_penalty": 1.05}});
    let mut models = vec![model("small", "llamafile/smollm2", base_url, small)];
    models.extend(FAULTS.iter().map(|(name, word)| {
        model(name, "llamafile/mock", unused_url, json!({"mock_response": word}))
    }));
    let late = json!({"mock_timeout": true, "timeout": 1});
    models.push(model("late", "llamafile/mock", unused_url, late));
    json!({
        "model_list": models,
        // Trying again is our business, and a fault must stay one.
        "router_settings": {"num_retries": 0, "disable_cooldowns": true},
        "litellm_settings": {"num_retries": 0, "request_timeout": 120, "telemetry": false},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"}
    })
}

fn chance() -> u64 {
    RandomState::new().hash_one("key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_model_of_the_proxy_has_an_address_outside() {
        let settings = settings("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1");
        let models = settings["model_list"].as_array().unwrap();
        assert_eq!(models.len(), FAULTS.len() + 2);
        for model in models {
            let base = model["litellm_params"]["api_base"].as_str().unwrap();
            assert!(base.starts_with("http://127.0.0.1:"), "{model}");
        }
    }
}
