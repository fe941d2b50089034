//! Waiting for a provider: every wait has an end of its own, and a stop ends them all.
//! Limits are set small; nothing here measures time.

use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_model::{Endpoint, ModelErrorKind as Kind, StreamEvent};

use crate::server::{Answer, Server};
use crate::talk::{Outcome, WAYS, ask, ask_until};

fn none(_: &mut Endpoint) {}

#[test]
fn silence_ends_in_its_own_time() {
    for way in WAYS {
        let server = Server::start(vec![Answer::silence()]);
        let model = way.model(&server.url(), |endpoint| {
            let limit = Duration::from_millis(150);
            if way.stream {
                endpoint.timeouts.first_byte = Some(limit);
            } else {
                endpoint.timeouts.whole = limit;
            }
        });
        // A whole reply has no first byte that comes earlier, so there all the time is over.
        let requests = if way.stream { 3 } else { 1 };
        ask(&*model).is_failure(way, &server, Kind::TimedOut, requests);
        server.wait_until_gone();
    }
}

#[test]
fn a_stream_that_stalls_is_tried_again() {
    for way in WAYS.into_iter().filter(|way| way.stream) {
        let body = way.good_body();
        let stall = Answer::begun(200, &[]).chunk(&body.as_bytes()[..body.len() / 2]).hold();
        let server = Server::start(vec![stall, way.good()]);
        let model = way
            .model(&server.url(), |endpoint| endpoint.timeouts.idle = Duration::from_millis(400));
        ask(&*model).is_good(way, &server, 2);
        server.wait_until_gone();
    }
}

#[test]
fn a_stream_that_is_whole_need_not_be_closed() {
    for way in WAYS.into_iter().filter(|way| way.stream) {
        let answer = Answer::begun(200, &[]).chunk(way.good_body().as_bytes()).hold();
        let server = Server::start(vec![answer]);
        ask(&*way.model(&server.url(), none)).is_good(way, &server, 1);
        server.wait_until_gone();
    }
}

#[test]
fn a_call_ends_when_it_is_stopped_wherever_it_waits() {
    for way in WAYS {
        let body = way.good_body();
        let in_the_body = Answer::begun(200, &[]).chunk(&body.as_bytes()[..body.len() / 2]).hold();
        for answer in [Answer::silence(), in_the_body] {
            let cancel = CancelToken::new();
            let on_request = cancel.clone();
            let server = Server::start_and_notify(vec![answer], move || on_request.cancel());
            let model = way.model(&server.url(), none);
            let outcome = ask_until(&*model, &cancel);
            assert_eq!(outcome.kind(), Some(Kind::Cancelled), "{way:?}");
            assert_eq!(server.requests(), 1);
            server.wait_until_gone();
        }
        let server = Server::start(vec![way.good()]);
        let cancel = CancelToken::new();
        cancel.cancel();
        let outcome = ask_until(&*way.model(&server.url(), none), &cancel);
        assert_eq!((outcome.kind(), server.requests()), (Some(Kind::Cancelled), 0), "{way:?}");
    }
}

#[test]
fn a_stop_is_heard_between_attempts() {
    for way in WAYS {
        let slow = way.error(429, "x", "slow", &[("retry-after", "50")]);
        let server = Server::start(vec![slow, way.good()]);
        let model = way.model(&server.url(), none);
        let (cancel, mut events) = (CancelToken::new(), Vec::new());
        let started = Instant::now();
        let reply = std::thread::scope(|scope| {
            let mut sink = |event: StreamEvent| {
                events.push(event);
                // It already waits for its next attempt when it is stopped.
                let cancel = cancel.clone();
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(50));
                    cancel.cancel();
                });
            };
            model.reply(&crate::talk::turn(), &mut sink, &cancel)
        });
        assert!(
            started.elapsed() < Duration::from_secs(25),
            "{way:?}: half of what the server asked for"
        );
        let outcome = Outcome { reply, events };
        assert_eq!((outcome.kind(), server.requests()), (Some(Kind::Cancelled), 1), "{way:?}");
        assert!(matches!(outcome.events[..], [StreamEvent::Retrying { .. }]), "{way:?}");
    }
}

#[test]
fn a_call_from_inside_a_runtime_is_refused_not_a_crash() {
    let server = Server::start(vec![WAYS[0].good()]);
    let model = WAYS[0].model(&server.url(), none);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let outcome = runtime.block_on(async { ask(&*model) });
    assert_eq!((outcome.kind(), server.requests()), (Some(Kind::Config), 0));
}
