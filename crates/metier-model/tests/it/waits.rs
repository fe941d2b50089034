//! Waiting for a provider: every wait has an end of its own, and a stop ends them all.
//! Limits are set small; nothing here measures time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

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
                endpoint.timeouts.first_byte = limit;
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
            let stopped = Arc::new(AtomicBool::new(false));
            let tell = stopped.clone();
            let server =
                Server::start_and_tell(vec![answer], move || tell.store(true, Ordering::SeqCst));
            let model = way.model(&server.url(), none);
            let outcome = ask_until(&*model, &|| stopped.load(Ordering::SeqCst));
            assert_eq!(outcome.kind(), Some(Kind::Cancelled), "{way:?}");
            assert_eq!(server.requests(), 1);
            server.wait_until_gone();
        }
        let server = Server::start(vec![way.good()]);
        let outcome = ask_until(&*way.model(&server.url(), none), &|| true);
        assert_eq!((outcome.kind(), server.requests()), (Some(Kind::Cancelled), 0), "{way:?}");
    }
}

#[test]
fn a_stop_is_heard_between_attempts() {
    for way in WAYS {
        let slow = way.error(429, "x", "slow", &[("retry-after", "50")]);
        let server = Server::start(vec![slow, way.good()]);
        let model = way.model(&server.url(), none);
        let waiting = AtomicBool::new(false);
        let (looks, mut events) = (AtomicU32::new(0), Vec::new());
        let mut sink = |event: StreamEvent| {
            waiting.store(true, Ordering::SeqCst);
            events.push(event);
        };
        // It is looked at again and again while it waits, not only once.
        let stop = || waiting.load(Ordering::SeqCst) && looks.fetch_add(1, Ordering::SeqCst) >= 4;
        let reply = model.reply(&crate::talk::turn(), &mut sink, &stop);
        let outcome = Outcome { reply, events };
        assert_eq!((outcome.kind(), server.requests()), (Some(Kind::Cancelled), 1), "{way:?}");
        assert_eq!(looks.load(Ordering::SeqCst), 5);
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
