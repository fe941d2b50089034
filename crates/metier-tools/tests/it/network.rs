//! `network_request` against a server on this machine: what it reaches, and all that it refuses.
//!
//! The server's address passes by an exception that only tests can make; the first test proves that
//! without it nothing is sent. No test needs the network.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_policy::Effect;
use metier_tools::{
    CallResult, FailureCode, HostList, NetworkRequest, NetworkSettings, PlainHttp, Resolver,
    Toolbox, Touch,
};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::server::{Reply, Server, page, redirect};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Gives these answers, one a lookup, the last for ever; counts the lookups.
struct Names {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Names {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |one: &&[&str]| one.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(parse).collect(), asked: 0.into() })
    }
}

impl Resolver for Names {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let at = self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers.get(at).or(self.answers.last());
        answer.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// `api.test` is the server; it may be reached by plain http.
fn settings(server: &Server) -> NetworkSettings {
    let port = server.address.port();
    let hosts = ["api.test", "other.test", "127.0.0.1"].map(|host| format!("{host}:{port}"));
    let mut settings = NetworkSettings::new(HostList::new(hosts));
    settings.plain_http = PlainHttp::Allow;
    settings.time = Duration::from_secs(10);
    settings.with_exception_for_tests(server.address)
}

fn ask(settings: NetworkSettings, names: Arc<Names>, arguments: Value) -> CallResult {
    ask_until(settings, names, arguments, &CancelToken::new())
}

fn ask_until(
    settings: NetworkSettings,
    names: Arc<Names>,
    arguments: Value,
    cancel: &CancelToken,
) -> CallResult {
    let bench = Bench::new(&[]);
    let tool = NetworkRequest::new(settings).with_resolver(names);
    let planned = bench.tools.clone().with(tool).plan("network_request", arguments)?;
    let permit = planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true))?;
    permit.call(cancel)
}

fn get(server: &Server, path: &str) -> Value {
    json!({"url": format!("http://api.test:{}{path}", server.address.port())})
}

fn here() -> Arc<Names> {
    Names::new(&[&["127.0.0.1"]])
}

#[track_caller]
fn code(answer: CallResult) -> &'static str {
    match answer {
        Ok(result) => panic!("no failure: {}", result.text),
        Err(failure) => failure.code.as_str(),
    }
}

fn hello() -> Server {
    Server::start(|_| page("200 OK", "content-type: text/plain\r\nset-cookie: s=1\r\n", "hello"))
}

#[test]
fn without_the_exception_this_machine_is_not_reached_by_any_name() {
    let server = hello();
    let port = server.address.port();
    let mut guarded = NetworkSettings::new(HostList::any());
    guarded.plain_http = PlainHttp::Allow;
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        format!("http://api.test:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        let answer = ask(guarded.clone(), here(), json!({"url": url}));
        assert_eq!(code(answer), "AddressNotAllowed", "{url}");
    }
    let tool = NetworkRequest::new(guarded);
    let url = format!("http://localhost:{port}/");
    let planned = Toolbox::new().with(tool).plan("network_request", json!({"url": url})).unwrap();
    let permit = planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true)).unwrap();
    assert_eq!(code(permit.call(&CancelToken::new())), "AddressNotAllowed", "by the system");
    assert!(server.asked().is_empty());
}

#[test]
fn an_allowed_host_answers_and_its_name_is_looked_up_once() {
    let server = hello();
    let names = here();
    let result = ask(settings(&server), Arc::clone(&names), get(&server, "/a?b#c")).expect("asks");
    assert_eq!(result.text, "HTTP 200, text/plain, 5 bytes\n\nhello");
    assert_eq!((&result.data["status"], &result.data["complete"]), (&json!(200), &json!(true)));
    assert_eq!(names.asked.load(Ordering::Relaxed), 1, "the connection is to what was checked");
    let asked = server.asked().remove(0);
    assert!(asked.starts_with("GET /a?b HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("user-agent: metier/"), "{asked}");
    for never in ["cookie", "authorization", "referer", "accept-encoding"] {
        assert!(!asked.to_lowercase().contains(never), "{asked}");
    }
    let by_address = json!({"url": format!("http://{}/", server.address)});
    ask(settings(&server), here(), by_address).expect("asks");
}

#[test]
fn the_policy_is_asked_about_the_host_before_anything_is_looked_up() {
    let server = hello();
    let names = here();
    let tool = NetworkRequest::new(settings(&server))
        .with_resolver(Arc::clone(&names) as Arc<dyn Resolver>);
    let tools = Toolbox::new().with(tool);
    let planned = tools.plan("network_request", get(&server, "/")).expect("a plan");
    let host = format!("api.test:{}", server.address.port());
    assert_eq!(planned.touches(), [Touch::Host(host)]);
    assert_eq!(names.asked.load(Ordering::Relaxed), 0);
    assert!(server.asked().is_empty());
}

#[test]
fn hosts_that_are_not_on_the_list_are_refused() {
    let server = hello();
    let port = server.address.port();
    for url in ["http://evil.test/", "http://api.test/", "https://api.test.evil.test/"] {
        assert_eq!(code(ask(settings(&server), here(), json!({"url": url}))), "HostNotAllowed");
    }
    let none = NetworkSettings::new(HostList::default());
    let url = format!("https://api.test:{port}/");
    assert_eq!(code(ask(none, here(), json!({"url": url}))), "HostNotAllowed");
}

#[test]
fn schemes_credentials_headers_and_bodies_that_are_not_sent() {
    let server = hello();
    let port = server.address.port();
    let url = format!("http://api.test:{port}/");
    for (arguments, expected) in [
        (json!({"url": format!("ftp://api.test:{port}/")}), "UrlNotAllowed"),
        (json!({"url": "file:///etc/passwd"}), "UrlNotAllowed"),
        (json!({"url": format!("http://me:secret@api.test:{port}/")}), "UrlNotAllowed"),
        (json!({"url": url, "headers": [{"name": "Authorization", "value": "x"}]}), "NotAllowed"),
        (json!({"url": url, "headers": [{"name": "Host", "value": "x"}]}), "NotAllowed"),
        (json!({"url": url, "headers": [{"name": "Cookie", "value": "x"}]}), "NotAllowed"),
        (
            json!({"url": url, "headers": [{"name": "accept", "value": "a\r\nb: c"}]}),
            "InvalidArguments",
        ),
        (json!({"url": url, "body": "x"}), "InvalidArguments"),
        (json!({"url": url, "method": "DELETE"}), "InvalidArguments"),
    ] {
        assert_eq!(
            code(ask(settings(&server), here(), arguments.clone())),
            expected,
            "{arguments}"
        );
    }
    let mut secure = settings(&server);
    secure.plain_http = PlainHttp::Refuse;
    assert_eq!(code(ask(secure.clone(), here(), get(&server, "/"))), "UrlNotAllowed");
    assert!(server.asked().is_empty());
    // TLS is not optional: a server that speaks plain http is no https server.
    let https = json!({"url": format!("https://api.test:{port}/")});
    let failure = ask(secure, here(), https).expect_err("no TLS");
    assert_eq!(failure.code, FailureCode::NetworkError);
    let message = &failure.message;
    assert!(message.contains("tls handshake"), "{message}");
}

#[test]
fn names_that_lead_to_private_addresses_are_refused_even_among_public_ones() {
    let server = hello();
    for answer in [
        &["10.0.0.1"][..],
        &["93.184.216.34", "127.0.0.2"],
        &["::1"],
        &["::ffff:93.184.216.34"],
        &["100.64.0.1"],
        &["fd00::1"],
        &["224.0.0.1"],
        &["169.254.169.254"],
    ] {
        let answer = ask(settings(&server), Names::new(&[answer]), get(&server, "/"));
        assert_eq!(code(answer), "AddressNotAllowed");
    }
    let no_address = Arc::new(Names { answers: Vec::new(), asked: 0.into() });
    assert_eq!(code(ask(settings(&server), no_address, get(&server, "/"))), "NetworkError");
    assert!(server.asked().is_empty());
}

#[test]
fn redirects_are_checked_like_requests() {
    let port_holder: Arc<AtomicUsize> = Arc::default();
    let port = Arc::clone(&port_holder);
    let server = Server::start(move |asked| {
        let port = port.load(Ordering::Relaxed);
        match asked.split(' ').nth(1).unwrap_or_default() {
            "/same" | "/post" => redirect("/end"),
            "/private" => redirect("http://10.0.0.1/"),
            "/metadata" => redirect("http://169.254.169.254/latest/meta-data/"),
            "/loopback" => redirect("http://127.0.0.1:1/"),
            "/elsewhere" => redirect(&format!("http://other.test:{port}/end")),
            "/unknown" => redirect("http://evil.test/"),
            "/file" => redirect("file:///etc/passwd"),
            "/credentials" => redirect(&format!("http://me:x@api.test:{port}/end")),
            "/loop" => redirect("/loop"),
            _ => page("200 OK", "", "end"),
        }
    });
    port_holder.store(usize::from(server.address.port()), Ordering::Relaxed);
    let followed = ask(settings(&server), here(), get(&server, "/same")).expect("follows");
    assert!(followed.text.ends_with("end"));
    assert_eq!(followed.data["redirects"].as_array().map(Vec::len), Some(1));
    assert!(!server.asked().concat().to_lowercase().contains("cookie:"), "cookies are not kept");
    for (path, expected) in [
        ("/private", "AddressNotAllowed"),
        ("/metadata", "AddressNotAllowed"),
        ("/loopback", "AddressNotAllowed"),
        ("/elsewhere", "RedirectElsewhere"),
        ("/unknown", "HostNotAllowed"),
        ("/file", "UrlNotAllowed"),
        ("/credentials", "UrlNotAllowed"),
        ("/loop", "TooManyRedirects"),
    ] {
        assert_eq!(code(ask(settings(&server), here(), get(&server, path))), expected, "{path}");
    }
    // The name leads elsewhere at the second lookup.
    let rebinding = Names::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let answer = ask(settings(&server), rebinding, get(&server, "/same"));
    assert_eq!(code(answer), "AddressNotAllowed");
    // A POST that is sent on becomes a GET without its body.
    let mut post = get(&server, "/post");
    post["method"] = json!("POST");
    post["body"] = json!("secret words");
    post["headers"] = json!([{"name": "Content-Type", "value": "text/plain"}]);
    ask(settings(&server), here(), post).expect("follows");
    let asked = server.asked();
    let [sent, next] = &asked[asked.len() - 2..] else { panic!("two requests") };
    assert!(sent.starts_with("POST /post") && sent.ends_with("secret words"), "{sent}");
    assert!(next.starts_with("GET /end") && !next.contains("secret"), "{next}");
}

#[test]
fn an_answer_without_end_is_cut_at_the_limit() {
    let server = Server::start(|_| Reply::Endless("0123456789", Duration::ZERO));
    let mut small = settings(&server);
    small.response_bytes = 1005;
    let result = ask(small, here(), get(&server, "/")).expect("asks");
    assert!(result.truncated && result.text.ends_with("01234"));
    assert_eq!((&result.data["bytes"], &result.data["complete"]), (&json!(1005), &json!(false)));
}

#[test]
fn a_slow_answer_ends_in_time_and_when_it_is_stopped() {
    let server = Server::start(|_| Reply::Endless("x", Duration::from_millis(50)));
    let mut hurried = settings(&server);
    hurried.time = Duration::from_millis(600);
    let start = Instant::now();
    assert_eq!(code(ask(hurried, here(), get(&server, "/"))), "TimedOut");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let cancel = CancelToken::new();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        });
        let answer = ask_until(settings(&server), here(), get(&server, "/"), &cancel);
        assert_eq!(answer.expect_err("stopped").code, FailureCode::Cancelled);
    });
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_lookup_that_hangs_does_not_hold_up_the_answer() {
    struct Hangs;
    impl Resolver for Hangs {
        fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            std::thread::sleep(Duration::from_secs(20));
            Ok(vec![HERE])
        }
    }
    let server = hello();
    let mut hurried = settings(&server);
    hurried.time = Duration::from_millis(300);
    let tool = NetworkRequest::new(hurried).with_resolver(Arc::new(Hangs));
    let planned = Toolbox::new().with(tool).plan("network_request", get(&server, "/")).unwrap();
    let permit = planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true)).unwrap();
    let start = Instant::now();
    assert_eq!(code(permit.call(&CancelToken::new())), "TimedOut");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn what_is_not_text_is_stored_and_not_shown() {
    let server = Server::start(|_| page("200 OK", "content-type: image/x\r\n", "a\0b"));
    let result = ask(settings(&server), here(), get(&server, "/")).expect("asks");
    assert!(result.text.ends_with("(the response is not text)\n"), "{}", result.text);
    assert_eq!(result.storage_ref.as_deref(), Some("network_request-1"));
}

#[test]
fn a_server_with_a_self_signed_certificate_is_not_trusted() {
    use std::process::{Command, Stdio};
    let dir = tempfile::tempdir().unwrap();
    let (key, certificate) = (dir.path().join("key"), dir.path().join("certificate"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=api.test"])
        .args(["-addext", "subjectAltName=DNS:api.test", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        metier_testkit::not_tested_without(
            "openssl",
            "there is no openssl here to make a certificate with",
        );
        return;
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = Command::new("openssl")
        .args(["s_server", "-www", "-accept", &free.to_string(), "-key"])
        .arg(&key)
        .arg("-cert")
        .arg(&certificate)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while std::net::TcpStream::connect(free).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let url = format!("https://api.test:{}/", free.port());
    let settings = NetworkSettings::new(HostList::any()).with_exception_for_tests(free);
    let answer = ask(settings, here(), json!({"url": url}));
    server.kill().unwrap();
    server.wait().unwrap();
    let failure = answer.expect_err("not trusted");
    assert_eq!(failure.code, FailureCode::NetworkError);
    assert!(failure.message.contains("invalid peer certificate"), "{}", failure.message);
}
