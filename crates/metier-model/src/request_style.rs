//! How a provider is asked, and how to step down when it refuses a part of that.
//!
//! Servers that call themselves compatible take different parts of the protocol. They say so with
//! 400 or 422, some with 404 or 500; what they complain about is left out or done in another way,
//! one thing at a time. Pure; the adapter remembers the style that worked.

use crate::failure::Failure;
use crate::model::{Finish, ModelErrorKind, OutputMode};

/// How a request is made: what of our wishes it carries, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestStyle {
    pub(crate) mode: OutputMode,
    /// Whether the mode may be left for another.
    pub(crate) mode_may_change: bool,
    /// Whether a call is demanded, or functions are only offered.
    pub(crate) demand_call: bool,
    /// Whether a demanded call has come.
    pub(crate) has_called: bool,
    /// Whether more than one call in a reply is forbidden; the parser refuses it in any case.
    pub(crate) forbid_parallel: bool,
    pub(crate) stream: bool,
    /// Whether a stream is asked to count its tokens.
    pub(crate) ask_usage: bool,
    pub(crate) limit: LimitName,
    /// Whether the other name of the limit may still be tried.
    pub(crate) limit_may_change: bool,
}

/// What the limit of tokens is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitName {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// Steps there are at most.
pub(crate) const MAX_STEPS: u32 = 7;

/// Words of a provider that does not know or want something.
const UNWANTED: &[&str] = &[
    "not support",
    "unsupported",
    "unknown",
    "unrecognized",
    "unrecognised",
    "not permitted",
    "not allowed",
    "unexpected",
    "extra input",
    "extra field",
    "not implemented",
    "not available",
    "must be verified",
    "additional propert",
    "invalid param",
    "no endpoints",
    "require",
    "cannot use",
];

impl RequestStyle {
    /// Remembers how a reply came. Where the server cannot read the model's calls, a demand makes it write to the
    /// limit; where it once could, a reply that was cut off says nothing.
    pub(crate) fn learn(&mut self, is_call: bool, finish: Finish) {
        self.has_called |= is_call;
        if self.mode == OutputMode::ToolCall && !self.has_called && finish == Finish::Length {
            self.demand_call = false;
        }
    }

    /// The next style to try after a failure; nothing where the failure is about something else.
    pub(crate) fn after(self, failure: &Failure) -> Option<Self> {
        let error = &failure.error;
        let may_be_ours = match error.status {
            Some(400 | 415 | 422) => error.kind == ModelErrorKind::BadRequest,
            Some(404 | 500 | 501) => true,
            _ => false,
        };
        if !may_be_ours || error.kind == ModelErrorKind::ContextOverflow {
            return None;
        }
        let said = error.message.to_ascii_lowercase();
        let field = failure.field.as_deref().unwrap_or_default();
        let unwanted = UNWANTED.iter().any(|words| said.contains(words));
        if !matches!(error.status, Some(400 | 415 | 422)) && !unwanted {
            return None;
        }
        let speaks_of = |names: &[&str]| {
            names.iter().any(|name| field.starts_with(name) || said.contains(name))
        };
        let mut next = self;
        if self.stream && self.ask_usage && speaks_of(&["stream_options", "include_usage"]) {
            next.ask_usage = false;
            return Some(next);
        }
        if self.limit_may_change && self.is_about_the_limit(&said, field, unwanted) {
            (next.limit, next.limit_may_change) = (self.limit.other(), false);
            return Some(next);
        }
        if self.mode == OutputMode::ToolCall {
            let about_choice = speaks_of(&["tool_choice", "tool choice"]);
            let about_parallel = speaks_of(&["parallel_tool", "parallel tool"]);
            if self.forbid_parallel && about_parallel {
                next.forbid_parallel = false;
                return Some(next);
            }
            if self.demand_call && about_choice {
                next.demand_call = false;
                return Some(next);
            }
            // Messages have it inside the choice.
            if self.forbid_parallel && about_choice {
                next.forbid_parallel = false;
                return Some(next);
            }
        }
        let schema = ["response_format", "json_schema", "structured output", "schema", "grammar"];
        let tools = ["tool", "function", "schema", "grammar"];
        match self.mode {
            OutputMode::JsonSchema if self.mode_may_change && speaks_of(&schema) => {
                next.mode = OutputMode::ToolCall;
                return Some(next);
            }
            OutputMode::ToolCall if self.mode_may_change && speaks_of(&tools) => {
                next.mode = OutputMode::Prompted;
                return Some(next);
            }
            _ => {}
        }
        if self.stream && (field == "stream" || unwanted && said.contains("stream")) {
            next.stream = false;
            return Some(next);
        }
        None
    }

    /// A limit that is too large is complained about by its name too; only the name matters here.
    fn is_about_the_limit(self, said: &str, field: &str, unwanted: bool) -> bool {
        let (ours, other) = (self.limit.as_str(), self.limit.other().as_str());
        let named = field == ours || said.contains(ours);
        named && (said.contains(other) || unwanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::SystemTime;

    const FULL: RequestStyle = RequestStyle {
        mode: OutputMode::JsonSchema,
        mode_may_change: true,
        demand_call: true,
        has_called: false,
        forbid_parallel: true,
        stream: true,
        ask_usage: true,
        limit: LimitName::MaxTokens,
        limit_may_change: true,
    };

    fn refused(status: u16, field: Option<&str>, message: &str) -> Failure {
        let body = json!({"error": {"message": message, "param": field}}).to_string();
        Failure::of_status(status, |_| None, body.as_bytes(), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn what_a_provider_does_not_take_is_asked_in_another_manner() {
        let tool = RequestStyle { mode: OutputMode::ToolCall, ..FULL };
        let free = RequestStyle { demand_call: false, ..tool };
        let several = RequestStyle { forbid_parallel: false, ..tool };
        let bare = RequestStyle { forbid_parallel: false, ..free };
        let newer =
            RequestStyle { limit: LimitName::MaxCompletionTokens, limit_may_change: false, ..FULL };
        for (from, status, field, message, to) in [
            (
                FULL,
                400,
                Some("response_format"),
                "This response_format type is unavailable now",
                Some(tool),
            ),
            (FULL, 422, None, "Invalid schema for response_format 'decision'", Some(tool)),
            (
                FULL,
                400,
                None,
                "stream_options: Extra inputs are not permitted",
                Some(RequestStyle { ask_usage: false, ..FULL }),
            ),
            (
                FULL,
                400,
                Some("max_tokens"),
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some(newer),
            ),
            (newer, 400, None, "unknown field max_completion_tokens", None),
            (
                FULL,
                400,
                Some("max_tokens"),
                "max_tokens is too large: 9. This model takes at most 4.",
                None,
            ),
            (
                FULL,
                400,
                Some("stream"),
                "Your organization must be verified to stream this model.",
                Some(RequestStyle { stream: false, ..FULL }),
            ),
            (tool, 400, None, "Thinking mode does not support this tool_choice", Some(free)),
            (
                tool,
                400,
                Some("parallel_tool_calls"),
                "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
                Some(several),
            ),
            (free, 400, None, "tool_choice: Extra inputs are not permitted", Some(bare)),
            (
                free,
                500,
                None,
                "tools param requires --jinja flag",
                Some(RequestStyle { mode: OutputMode::Prompted, ..free }),
            ),
            (
                free,
                404,
                None,
                "No endpoints found that support tool use",
                Some(RequestStyle { mode: OutputMode::Prompted, ..free }),
            ),
            (FULL, 400, Some("temperature"), "decimal above maximum value", None),
            (FULL, 500, None, "the schema service is down", None),
            (FULL, 401, None, "response_format is not supported", None),
            (FULL, 404, None, "model x does not exist", None),
            (
                RequestStyle { mode_may_change: false, ..FULL },
                400,
                None,
                "response_format is not supported",
                None,
            ),
        ] {
            assert_eq!(from.after(&refused(status, field, message)), to, "{status} {message}");
        }
    }

    #[test]
    fn stepping_down_comes_to_an_end() {
        let all = "unsupported: stream_options, max_tokens, max_completion_tokens, response_format, \
                   tool_choice, parallel_tool_calls, tools, stream";
        let mut style = FULL;
        let mut steps = 0;
        while let Some(next) = style.after(&refused(400, None, all)) {
            assert_ne!(next, style);
            (style, steps) = (next, steps + 1);
            assert!(steps <= MAX_STEPS, "{style:?}");
        }
        assert_eq!((steps, style.mode, style.stream), (MAX_STEPS, OutputMode::Prompted, false));
    }
}
