//! Every shape of an error that we know of, and the kind it has.
//! The shapes are those of recordings and of providers' own pages.

use super::*;
use serde_json::json;

fn kind(status: u16, body: &str) -> ModelErrorKind {
    of(status, body).error.kind
}

fn of(status: u16, body: &str) -> Failure {
    Failure::of_status(status, |_| None, body.as_bytes(), SystemTime::UNIX_EPOCH)
}

#[test]
fn a_status_alone_gives_the_kind() {
    use ModelErrorKind as Kind;
    for (status, expected) in [
        (400, Kind::BadRequest),
        (401, Kind::Unauthorized),
        (402, Kind::Unauthorized),
        (403, Kind::Unauthorized),
        (404, Kind::NotFound),
        (408, Kind::TimedOut),
        (409, Kind::ServerError),
        (413, Kind::BadRequest),
        (418, Kind::BadRequest),
        (422, Kind::BadRequest),
        (429, Kind::RateLimited),
        (500, Kind::ServerError),
        (502, Kind::ServerError),
        (503, Kind::Overloaded),
        (504, Kind::TimedOut),
        (529, Kind::Overloaded),
        (302, Kind::NotFound),
    ] {
        assert_eq!(kind(status, ""), expected, "{status}");
    }
}

#[test]
fn a_prompt_that_is_too_long_is_known_in_all_spellings() {
    for body in [
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":512}}"#,
        r#"{"error":{"message":"litellm.ContextWindowExceededError: too much","type":null,"code":"400"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. Please reduce the length of the messages","type":"BadRequestError","code":400}"#,
        r#"[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
        r#"{"detail":"Input is too long for requested model."}"#,
    ] {
        assert_eq!(kind(400, body), ModelErrorKind::ContextOverflow, "{body}");
    }
    let other =
        r#"{"error":{"message":"temperature: range: 0..1","type":"invalid_request_error"}}"#;
    assert_eq!(kind(400, other), ModelErrorKind::BadRequest);
}

#[test]
fn an_error_inside_a_reply_of_status_200_is_found() {
    use ModelErrorKind as Kind;
    for (value, expected) in [
        (json!({"error": {"message": "x", "code": 429}}), Kind::RateLimited),
        (json!({"error": {"message": "x", "code": 502}}), Kind::ServerError),
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
            Kind::Overloaded,
        ),
        (json!({"error": "model not loaded"}), Kind::ServerError),
        (json!({"object": "error", "message": "no", "code": 404}), Kind::NotFound),
        (json!({"error": {"type": "invalid_request_error", "message": "no"}}), Kind::BadRequest),
    ] {
        assert_eq!(Failure::inside(&value).map(|f| f.error.kind), Some(expected), "{value}");
    }
    for fine in [json!({"error": null, "choices": []}), json!({"type": "ping"}), json!(3)] {
        assert_eq!(Failure::inside(&fine), None, "{fine}");
    }
}

#[test]
fn words_come_through_from_every_shape() {
    for (status, body, expected) in [
        (500, r#"{"error":{"message":"boom"}}"#, "status 500: boom"),
        (500, "data: {\"error\":{\"message\":\"boom\"}}\n\ndata: [DONE]\n\n", "status 500: boom"),
        (422, r#"{"detail":"boom"}"#, "status 422: boom"),
        (400, r#"{"message":"boom","code":"x"}"#, "status 400: boom"),
        (502, "<html><h1>Bad\n Gateway</h1></html>", "status 502: Bad Gateway"),
        (500, "boom\u{1b}[31m", "status 500: boom\\x1b[31m"),
        (500, "", "replied with status 500"),
        (
            502,
            r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"boom"}}}"#,
            "Provider returned error: boom",
        ),
    ] {
        let message = of(status, body).error.message;
        assert!(message.ends_with(expected), "{message}");
    }
    assert!(of(500, &"x".repeat(100_000)).error.message.len() < 1000);
}

#[test]
fn a_quota_that_is_used_up_is_not_waited_for() {
    let body = r#"{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    assert!(!of(429, body).is_retryable());
    assert!(of(429, "{}").is_retryable());
    assert!(!of(501, "").is_retryable());
    let says = |again: &'static str| {
        let header = move |name: &str| (name == "x-should-retry").then_some(again);
        Failure::of_status(429, header, b"", SystemTime::UNIX_EPOCH).is_retryable()
    };
    assert_eq!((says("true"), says("false")), (true, false));
}

#[test]
fn a_redirect_does_not_show_what_may_be_a_token() {
    let header = |name: &str| (name == "location").then_some("https://x.test/v1?token=abc#d");
    let failure = Failure::of_status(307, header, b"", SystemTime::UNIX_EPOCH);
    assert!(failure.error.message.contains("`https://x.test/v1`"), "{}", failure.error.message);
    assert!(!failure.error.message.contains("abc"));
    assert!(!failure.is_retryable());
}
