//! The parameters of the model that a project's file may set, and how each may be written.
//!
//! A parameter stands in the request beside the user's key. Providers and proxies take far more there
//! than a temperature: servers to call, plugins to run, other models to fall back on, another address
//! to forward to, whether the conversation is stored. So this is a list of what is allowed, and
//! everything else is refused like an address. The list is part of the schema, which editors read.

use serde_json::{Value as Json, json};

/// The spellings of the limit on a reply's tokens, in the order in which an adapter takes them.
pub(crate) const REPLY_LIMITS: [&str; 3] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// The spellings of the effort of thinking.
const EFFORTS: [&str; 2] = ["reasoning_effort", "effort"];

/// The efforts that providers know.
const EFFORT_WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The whole numbers that every JSON parser reads exactly.
const EXACT: i64 = (1 << 53) - 1;

/// What `model.params` may be in a project's file.
pub(crate) fn schema() -> Json {
    let mut keys = json!({
        "temperature": {
            "description": "How much chance there is in a reply.",
            "type": "number", "minimum": 0, "maximum": 2,
        },
        "top_p": {
            "description": "Of which share of the likely words a reply is made.",
            "type": "number", "minimum": 0, "maximum": 1,
        },
        "seed": {
            "description": "The seed of chance.",
            "type": "integer", "minimum": -EXACT, "maximum": EXACT,
        },
        "stop": {
            "description": "A text that ends a reply, or a list of at most four.",
            "type": ["string", "array"], "minLength": 1, "maxLength": 200, "maxItems": 4,
            "items": { "type": "string", "minLength": 1, "maxLength": 200 },
        },
        "stop_sequences": {
            "description": "A list of at most four texts that end a reply.",
            "type": "array", "maxItems": 4,
            "items": { "type": "string", "minLength": 1, "maxLength": 200 },
        },
    });
    for name in EFFORTS {
        let word = |word: &str| json!({ "const": word, "type": "string" });
        keys[name] = json!({
            "description": "How much the model thinks before it replies.",
            "oneOf": EFFORT_WORDS.map(word),
        });
    }
    for name in REPLY_LIMITS {
        keys[name] = json!({
            "description": "Tokens of one reply. A project can lower the limit but not raise it.",
            "type": "integer", "minimum": 1, "maximum": u32::MAX,
        });
    }
    json!({
        "type": "object",
        "properties": keys,
        "additionalProperties": {
            "x-metier-user-only": true,
            "description": "set it in your own `~/.agent/config.json`; of the parameters a project \
                            may set `temperature`, `top_p`, `seed`, `stop`, `stop_sequences`, \
                            `reasoning_effort`, `effort` and a lower `max_tokens`",
        },
    })
}

/// The other spellings of a parameter: a value under one of them is replaced by a value under another.
pub(crate) fn other_spellings(name: &str) -> impl Iterator<Item = &'static str> {
    let same = [&EFFORTS[..], &REPLY_LIMITS[..]].into_iter().find(|names| names.contains(&name));
    same.into_iter().flatten().copied().filter(move |other| *other != name)
}
