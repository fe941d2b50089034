//! Ctrl-C while a source does not answer: installing, updating and comparing end at once, nothing of them is left, and
//! nothing is changed. A program on the library cancels by a token.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use metier::{CancelToken, ErrorKind};
use metier_testkit::{Output, TestHome};
use serde_json::json;

use crate::eval::wait_while;
use crate::library::library;
use crate::support::{METIER, answer_on_terminal, files_below, run};
use crate::web_server::{WebAnswer, WebServer};

const TIMEOUT: Duration = Duration::from_mins(2);

/// A server that accepts, says so, and never answers.
fn silent_server() -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let host = listener.local_addr().expect("an address").to_string();
    let (sender, accepted) = channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            held.push(stream);
            let _ = sender.send(());
        }
    });
    (host, accepted)
}

/// Presses Ctrl-C once `wait` is over.
fn interrupted(home: &TestHome, args: &[&str], wait: impl FnOnce(&mut Child)) -> Output {
    let mut command = home.command(METIER);
    let piped = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("starts");
    wait(&mut child);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let output = child.wait_with_output().expect("ends");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// No download and nothing staged is left.
fn nothing_left(home: &TestHome) {
    let mut found = Command::new("find");
    found.arg(home.path()).args(["-path", "*/fetch/*", "-o", "-name", ".metier-*"]);
    let found = String::from_utf8(found.output().expect("find").stdout).expect("text");
    assert_eq!(found, "", "left behind");
}

/// Whether a process has this text in its environment, as git has the address of a repository.
fn has_process_about(text: &str) -> bool {
    let is_about = |dir: &Path| {
        let environ = fs::read(dir.join("environ")).unwrap_or_default();
        environ.windows(text.len()).any(|window| window == text.as_bytes())
    };
    fs::read_dir("/proc").expect("processes").flatten().any(|entry| is_about(&entry.path()))
}

#[test]
fn ctrl_c_ends_an_installation_from_a_server_that_never_answers() {
    for form in ["http://HOST/pdf.zip", "http://HOST/pdf.git", "http://HOST", "oci://HOST/pdf:1"] {
        let home = TestHome::new();
        let (host, accepted) = silent_server();
        let source = form.replace("HOST", &host);
        let output = interrupted(&home, &["install", &source, "--yes"], |_| {
            accepted.recv_timeout(TIMEOUT).expect("it connects");
        });
        let said = (output.code, output.stderr.as_str());
        assert_eq!(said, (130, "Cancelled. Nothing was installed.\n"), "{source}: {output:?}");
        nothing_left(&home);
        assert!(!home.project().join(".agent").exists(), "{source}");
        let since = Instant::now();
        while has_process_about(&host) {
            assert!(since.elapsed() < TIMEOUT, "git is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn ctrl_c_ends_an_update_and_a_comparison_and_the_lock_is_as_it_was() {
    let home = TestHome::new();
    home.skill("src/pdf", "pdf", "Fill PDF forms.");
    let packed = run(&home, &["pack", "../src/pdf", "-o", "../pdf.zip"]);
    assert_eq!(packed.code, 0, "{packed:?}");
    let bytes = fs::read(home.path().join("pdf.zip")).expect("packed");
    let hangs = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&hangs);
    let server = WebServer::plain(move |_| {
        while is_silent.load(Ordering::SeqCst) {
            std::thread::park();
        }
        WebAnswer::ok(&bytes)
    });
    let list = json!([server.url("")]).to_string();
    assert_eq!(run(&home, &["config", "set", "sources.allow", &list]).code, 0);
    let installed = run(&home, &["install", &server.url("/pdf.zip"), "--yes"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let agent = home.project().join(".agent");
    let lock = || fs::read(agent.join("skills.lock.json")).expect("a lock");
    let before = (lock(), files_below(&agent));
    hangs.store(true, Ordering::SeqCst);
    let source = server.url("/pdf.zip");
    for args in [
        &["update", "--all", "--yes", "--force"][..],
        &["outdated"],
        &["diff"],
        &["install", "--yes", "--force", &source],
        &["outdated", "--json"],
    ] {
        let asked = server.asked().len();
        let output = interrupted(&home, args, |child| {
            wait_while(child, || server.asked().len() == asked);
        });
        assert_eq!(output.code, 130, "{args:?}: {output:?}");
        if args.contains(&"--json") {
            assert_eq!(output.json()["error"]["code"], "Cancelled", "{output:?}");
        } else {
            assert_eq!(output.stderr, "Cancelled. Nothing was installed.\n", "{args:?}");
        }
        nothing_left(&home);
        assert_eq!((lock(), files_below(&agent)), before, "{args:?}");
    }
}

#[test]
fn ctrl_c_at_the_question_leaves_nothing_staged() {
    let home = TestHome::new();
    home.skill("project/packs/pdf", "pdf", "Fill PDF forms.");
    let pressed = answer_on_terminal(&home, &["install", "./packs/pdf"], "Install?", "\u{3}");
    let Some(output) = pressed else { return };
    assert_eq!(output.code, 130, "{output:?}");
    assert!(output.stdout.contains("Cancelled. Nothing was installed."), "{output:?}");
    assert!(!home.project().join(".agent").exists());
}

#[test]
fn a_program_cancels_by_its_token() {
    let home = TestHome::new();
    home.skill("project/packs/pdf", "pdf", "Fill PDF forms.");
    let metier = library(&home, "project");
    for form in ["http://HOST/pdf.zip", "http://HOST/pdf.git"] {
        let (host, accepted) = silent_server();
        home.write(
            "home/.agent/config.json",
            json!({"sources": {"allow": [format!("http://{host}")]}}).to_string(),
        );
        let metier = library(&home, "project");
        let token = CancelToken::new();
        let target = metier.install_target(None).expect("a target").with_cancel(token.clone());
        let cancels = std::thread::spawn(move || {
            accepted.recv_timeout(TIMEOUT).expect("it connects");
            token.cancel();
        });
        let request = metier.install_request(form.replace("HOST", &host));
        let error = metier.plan_install(&target, &request).expect_err("cancelled");
        assert_eq!((error.kind, error.code), (ErrorKind::Cancelled, "Cancelled"), "{error}");
        cancels.join().expect("cancels");
        nothing_left(&home);
        // It stays so for whatever uses the same folder and token.
        let request = metier.install_request("packs");
        let error = metier.plan_install(&target, &request).expect_err("cancelled");
        assert_eq!(error.kind, ErrorKind::Cancelled);
    }
    // What was planned before is not carried out any more.
    let token = CancelToken::new();
    let target = metier.install_target(None).expect("a target").with_cancel(token.clone());
    let plan = metier.plan_install(&target, &metier.install_request("packs")).expect("a plan");
    token.cancel();
    let error = metier.carry_out(plan).expect_err("cancelled");
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(!home.project().join(".agent").exists());
}
