//! Reading a text and writing its problems the way a terminal would.
//!
//! Short words for parsing and for expecting errors.

use metier_config::{ConfigError, Layer, Scope, parse};

pub(crate) fn user(text: &str) -> Layer {
    parse(text, "~/.agent/config.json", Scope::User).unwrap()
}

pub(crate) fn project(text: &str) -> Layer {
    parse(text, ".agent/config.json", Scope::Project).unwrap()
}

/// The problems of a user's file, two lines each.
pub(crate) fn problems(text: &str) -> String {
    shown(parse(text, "config.json", Scope::User))
}

/// The problems of a project's file, two lines each.
pub(crate) fn project_problems(text: &str) -> String {
    shown(parse(text, "config.json", Scope::Project))
}

fn shown(result: Result<Layer, Vec<ConfigError>>) -> String {
    match result {
        Ok(layer) => format!("no problem: {:?}", layer.config()),
        Err(errors) => {
            let lines =
                |error: &ConfigError| format!("{error} [{}]\n  help: {}", error.code(), error.help);
            errors.iter().map(lines).collect::<Vec<_>>().join("\n")
        }
    }
}
