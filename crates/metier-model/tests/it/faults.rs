//! Everything that goes wrong between us and a provider, over real HTTP: each ends in an attempt
//! that succeeds or in a clear kind of failure, with both adapters, streaming and not.

use std::net::TcpListener;

use metier_model::{Endpoint, ModelErrorKind as Kind, StreamEvent};

use crate::server::{Answer, Server};
use crate::talk::{KEY, Provider, WAYS, Way, ask};

fn none(_: &mut Endpoint) {}

/// For each way: the answers before a good one, and the number of requests it takes.
fn recovers(faults: impl Fn(Way) -> Vec<Answer>) {
    for way in WAYS {
        let mut script = faults(way);
        let requests = u32::try_from(script.len() + 1).expect("few");
        script.push(way.good());
        let server = Server::start(script);
        ask(&*way.model(&server.url(), none)).is_good(way, &server, requests);
    }
}

/// For each way: the answer that is given again and again, and what comes of it.
fn fails(kind: Kind, requests: u32, fault: impl Fn(Way) -> Answer) -> Vec<String> {
    let one = |way: Way| {
        let server = Server::start(vec![fault(way)]);
        let outcome = ask(&*way.model(&server.url(), none));
        outcome.is_failure(way, &server, kind, requests)
    };
    WAYS.into_iter().map(one).collect()
}

#[test]
fn a_good_reply_takes_one_request() {
    recovers(|_| Vec::new());
}

#[test]
fn a_429_is_tried_again_with_and_without_a_time() {
    recovers(|way| vec![way.error(429, "rate_limit_error", "slow down", &[])]);
    recovers(|way| {
        vec![way.error(429, "rate_limit_error", "slow down", &[("retry-after-ms", "3")])]
    });
    recovers(|way| {
        vec![way.error(429, "x", "slow down", &[("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT")])]
    });
    fails(Kind::RateLimited, 3, |way| way.error(429, "rate_limit_error", "slow down", &[]));
}

#[test]
fn the_time_that_a_provider_asks_for_is_kept() {
    for way in WAYS {
        let headers = [("retry-after-ms", "40")];
        let by_words = way.error(429, "x", "Please try again in 30ms.", &[]);
        let script = vec![way.error(429, "x", "slow", &headers), by_words, way.good()];
        let server = Server::start(script);
        let outcome = ask(&*way.model(&server.url(), none));
        outcome.is_good(way, &server, 3);
        let delays = outcome.events.iter().filter_map(|event| match event {
            StreamEvent::Retrying { delay, attempt, error } => {
                Some((*attempt, error.kind, delay.as_millis()))
            }
            _ => None,
        });
        let delays: Vec<_> = delays.collect();
        assert_eq!(delays, [(1, Kind::RateLimited, 40), (2, Kind::RateLimited, 30)]);
    }
}

#[test]
fn a_wait_that_is_too_long_ends_as_an_error_that_says_so() {
    let headers = [("retry-after", "3600")];
    for message in fails(Kind::RateLimited, 1, |way| way.error(429, "x", "slow", &headers)) {
        assert!(message.contains("3600 seconds, longer than the 60"), "{message}");
    }
}

#[test]
fn a_wait_beyond_the_whole_time_is_not_begun() {
    for way in WAYS {
        let server = Server::start(vec![way.error(429, "x", "slow", &[("retry-after", "30")])]);
        let model = way.model(&server.url(), |endpoint| {
            endpoint.params.insert("timeout_s".to_owned(), 20.into());
        });
        let message = ask(&*model).is_failure(way, &server, Kind::RateLimited, 1);
        assert!(message.contains("no time left"), "{message}");
    }
}

#[test]
fn failures_of_the_server_are_tried_again() {
    for (status, kind) in [
        (500, Kind::ServerError),
        (502, Kind::ServerError),
        (503, Kind::Overloaded),
        (529, Kind::Overloaded),
    ] {
        recovers(|way| vec![way.error(status, "api_error", "boom", &[])]);
        recovers(|way| vec![Answer::reply(status, &[], ""), way.error(status, "x", "boom", &[])]);
        for message in fails(kind, 3, |_| Answer::reply(status, &[], "<html>Bad day</html>")) {
            assert!(message.contains("Bad day"), "{message}");
        }
    }
}

#[test]
fn a_provider_can_say_whether_to_try_again() {
    fails(Kind::ServerError, 1, |way| way.error(500, "x", "no", &[("x-should-retry", "false")]));
    recovers(|way| vec![way.error(418, "x", "again", &[("x-should-retry", "true")])]);
}

#[test]
fn what_will_not_change_is_not_tried_again() {
    for (status, kind) in [
        (400, Kind::BadRequest),
        (401, Kind::Unauthorized),
        (403, Kind::Unauthorized),
        (404, Kind::NotFound),
        (413, Kind::BadRequest),
    ] {
        for message in fails(kind, 1, |way| way.error(status, "some_error", "the words of it", &[]))
        {
            assert!(message.contains("the words of it"), "{message}");
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_is_known() {
    for words in ["prompt is too long: 9 > 8", "maximum context length is 8 tokens"] {
        fails(Kind::ContextOverflow, 1, |way| way.error(400, "invalid_request_error", words, &[]));
    }
    fails(Kind::ContextOverflow, 1, |way| way.error(400, "context_length_exceeded", "x", &[]));
}

#[test]
fn an_error_inside_a_good_status_is_an_error() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let event = format!("event: error\ndata: {body}\n\n");
    recovers(|_| vec![Answer::reply(200, &[], body), Answer::reply(200, &[], &event)]);
    for message in fails(Kind::Overloaded, 3, |_| Answer::reply(200, &[], &event)) {
        assert!(message.contains("busy"), "{message}");
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_an_error() {
    for way in WAYS.into_iter().filter(|way| way.stream) {
        let body = way.good_body();
        let half = &body[..body.find('漢').expect("there")];
        let half = &half[..half.rfind("\n\n").expect("events") + 2];
        let broken = format!("{half}data: {{\"error\":{{\"message\":\"gone\",\"code\":502}}}}\n\n");
        let server = Server::start(vec![Answer::reply(200, &[], broken), way.good()]);
        ask(&*way.model(&server.url(), none)).is_good(way, &server, 2);
    }
}

#[test]
fn a_reply_that_breaks_off_is_never_a_success() {
    let cut_at = |way: Way, at: usize| {
        let body = way.good_body();
        let piece = body.as_bytes()[..at].to_vec();
        Answer::begun(200, &[("content-type", way.content_type())]).chunk(&piece)
    };
    // The connection ends without the last chunk.
    recovers(|way| vec![cut_at(way, way.good_body().find('漢').expect("there") + 1)]);
    fails(Kind::Network, 3, |way| cut_at(way, way.good_body().len() / 2));
    // The reply ends as HTTP wants it, but it is not whole.
    let half = |way: Way| {
        let body = way.good_body();
        Answer::reply(200, &[], &body.as_bytes()[..body.len() / 2])
    };
    recovers(|way| vec![half(way)]);
    fails(Kind::Network, 3, half);
    fails(Kind::Network, 3, |_| Answer::reply(200, &[], ""));
}

#[test]
fn no_place_to_cut_a_reply_makes_another_reply() {
    for way in WAYS {
        let body = way.good_body();
        let server = Server::start(Vec::new());
        let model = way.model(&server.url(), |endpoint| endpoint.retry.attempts = 1);
        for at in (0..body.len()).step_by(7) {
            server.script(vec![Answer::reply(200, &[], &body.as_bytes()[..at])]);
            // Late cuts take away the count of tokens, or the mark of the end: then it is whole.
            match ask(&*model).reply {
                Ok(reply) => assert_eq!(reply.text, crate::talk::DECISION, "{way:?} at {at}"),
                Err(error) => assert_eq!(error.kind, Kind::Network, "{way:?} at {at}"),
            }
        }
    }
}

#[test]
fn what_is_no_reply_is_not_taken_for_one() {
    let html = "<!doctype html><title>Welcome</title>";
    for message in
        fails(Kind::Protocol, 1, |_| Answer::reply(200, &[("content-type", "text/html")], html))
    {
        assert!(message.contains("<!doctype html>"), "{message}");
    }
    fails(Kind::Protocol, 1, |_| Answer::reply(200, &[], r#"{"hello":"world"}"#));
    recovers(|_| vec![Answer::reply(200, &[], "{nonsense}")]);
    recovers(|_| vec![Answer::reply(200, &[], "data: {nonsense}\n\n")]);
}

#[test]
fn the_bytes_decide_what_a_reply_is_not_its_content_type() {
    for way in WAYS {
        let other = Way { stream: !way.stream, ..way };
        for content_type in ["text/html", "application/json", "text/event-stream", ""] {
            for answered in [way, other] {
                let answer =
                    Answer::reply(200, &[("content-type", content_type)], answered.good_body());
                let server = Server::start(vec![answer]);
                ask(&*way.model(&server.url(), none)).is_good(way, &server, 1);
            }
        }
    }
}

#[test]
fn odd_streams_are_read_all_the_same() {
    for way in WAYS.into_iter().filter(|way| way.stream) {
        let body = way.good_body();
        let comment = format!(": KEEPALIVE\n\n{}", body.replace("\n\n", "\n\n: ping\n\n"));
        for odd in [
            body.replace('\n', "\r\n"),
            body.replace('\n', "\r"),
            body.replace("data: ", "data:"),
            format!("\u{feff}{body}"),
            comment,
            body.replace("data: [DONE]\n\n", ""),
            body.replace("\n\n", "\n").replace("event: ", ": "),
            body.lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .filter(|line| *line != "[DONE]")
                .collect(),
        ] {
            let pieces = odd.as_bytes().chunks(5);
            let server = Server::start(vec![Answer::chunks(200, &[], pieces)]);
            ask(&*way.model(&server.url(), none)).is_good(way, &server, 1);
        }
    }
}

#[test]
fn a_reply_of_fifty_megabytes_ends_at_the_limit() {
    let piece = vec![b'x'; 1 << 20];
    let starts: [&[u8]; 4] = [b"{\"choices\":\"", b"data: {\"a\":\"", b": ", b"<html>"];
    for start in starts {
        fails(Kind::ReplyTooLarge, 1, |_| Answer::begun(200, &[]).chunk(start).repeat(&piece, 50));
    }
    let comments = b": nothing to say\n\n".repeat(1 << 16);
    fails(Kind::ReplyTooLarge, 1, |_| Answer::begun(200, &[]).repeat(&comments, 50));
    // A failure's own words are not read to their end either.
    fails(Kind::BadRequest, 1, |_| Answer::begun(400, &[]).repeat(&piece, 50));
}

#[test]
fn a_provider_that_cannot_be_reached_is_said_so() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    for way in WAYS {
        let outcome = ask(&*way.model(&format!("http://{address}"), none));
        let error = outcome.reply.as_ref().expect_err("no server");
        assert_eq!((error.kind, error.attempts), (Kind::Network, 3));
        assert!(error.message.contains(&format!("http://{address} cannot be reached")), "{error}");
    }
}

#[test]
fn a_connection_that_is_reset_is_tried_again() {
    recovers(|_| vec![Answer::reset(), Answer::reset()]);
    fails(Kind::Network, 3, |_| Answer::reset());
}

#[test]
fn a_server_without_tls_at_an_https_address_is_not_trusted() {
    for way in WAYS {
        let server = Server::start(vec![Answer::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")]);
        let outcome = ask(&*way.model(&server.https_url(), none));
        outcome.is_failure(way, &server, Kind::Tls, 1);
    }
}

#[test]
fn a_redirect_is_not_followed_and_the_key_stays() {
    let elsewhere = Server::start(vec![WAYS[0].good()]);
    for status in ["301", "302", "307", "308"] {
        let to = format!("{}/v1/other?token=1", elsewhere.url());
        let status = status.parse().expect("a number");
        for message in fails(Kind::NotFound, 1, |_| Answer::reply(status, &[("location", &to)], ""))
        {
            assert!(message.contains("/v1/other`") && !message.contains("token"), "{message}");
        }
    }
    assert_eq!(elsewhere.requests(), 0);
}

#[test]
fn a_key_goes_out_as_a_header_and_comes_back_in_no_message() {
    for way in WAYS {
        let words = format!("Incorrect API key provided: {KEY}. Also sk-test-****************6789");
        let server = Server::start(vec![way.error(401, "authentication_error", &words, &[])]);
        let outcome = ask(&*way.model(&server.url(), none));
        let message = outcome.is_failure(way, &server, Kind::Unauthorized, 1);
        assert!(message.contains("provided: [key]. Also [key]"), "{message}");
        let asked = &server.asked()[0];
        let (name, value) = match way.provider {
            Provider::OpenAi | Provider::Responses => ("authorization", format!("Bearer {KEY}")),
            Provider::Anthropic => ("x-api-key", KEY.to_owned()),
        };
        assert_eq!(asked.headers.get(name), Some(&value));
        assert!(!asked.body.to_string().contains("VERYSECRET"));
        assert!(!asked.line.contains("VERYSECRET"));
    }
}
