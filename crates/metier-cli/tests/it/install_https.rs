//! Installing from URLs: archives, single files and lists of hosts, over real TLS with an authority of our
//! own. Hostile servers get nothing, and nothing of theirs is left.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64;
use metier_skill::Digest;
use metier_testkit::{Output, TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{METIER, run, run_in};
use crate::web_server::{WebAnswer, WebServer, closed_port};

/// A home with a packed skill, and its bytes.
fn with_pack(text: &str) -> (TestHome, Vec<u8>) {
    let home = TestHome::new();
    let bytes = packed(&home, "pdf", text);
    (home, bytes)
}

fn packed(home: &TestHome, name: &str, text: &str) -> Vec<u8> {
    home.skill(&format!("src/{name}"), name, "Fill PDF forms.");
    home.write(&format!("src/{name}/notes.md"), text);
    let file = format!("../{name}.zip");
    let output = run_in(home, "src", &["pack", name, "--force", "-o", &file]);
    assert_eq!(output.code, 0, "{output:?}");
    fs::read(home.path().join(format!("{name}.zip"))).expect("packed")
}

/// Runs the binary with the authority of `server`.
fn with_authority(home: &TestHome, server: &WebServer, args: &[&str]) -> Output {
    let file = home.path().join("ca.pem");
    server.write_authority(&file);
    TestHome::finish(home.command(METIER).env("SSL_CERT_FILE", file).args(args))
}

/// Allows what is in files to be fetched from `server`.
fn allow(home: &TestHome, server: &WebServer) {
    let list = json!([server.url("")]).to_string();
    let output = run(home, &["config", "set", "sources.allow", &list]);
    assert_eq!(output.code, 0, "{output:?}");
}

fn locked(home: &TestHome) -> Value {
    let text = fs::read(home.project().join(".agent/skills.lock.json")).expect("a lock");
    serde_json::from_slice(&text).expect("JSON")
}

/// Fails with this code, and leaves nothing behind.
fn fails(home: &TestHome, output: &Output, code: &str) {
    assert_eq!(output.code, 1, "{code}: {output:?}");
    let said: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let found = said["error"]["code"].as_str().unwrap_or_default();
    assert_eq!(found, code, "{output:?}");
    assert!(!home.project().join(".agent").exists(), "{code}: something was written");
    nothing_left(home);
}

/// No download is left in the user's state.
fn nothing_left(home: &TestHome) {
    let found = Command::new("find").arg(home.home()).args(["-path", "*/fetch/*"]).output();
    let found = String::from_utf8(found.expect("find").stdout).expect("text");
    assert_eq!(found, "", "left in the folder of downloads");
}

#[test]
fn an_archive_at_a_url_is_installed_pinned_and_noticed_when_it_changes() {
    let (home, bytes) = with_pack("one");
    let served = Arc::new(Mutex::new(bytes.clone()));
    let body = Arc::clone(&served);
    let server = WebServer::tls(move |asked| match asked.path.as_str() {
        "/x.zip" => WebAnswer::ok(body.lock().expect("no panic").as_slice()),
        "/latest" => WebAnswer::redirect("/x.zip"),
        _ => WebAnswer::missing(),
    });
    let url = server.url("/latest");
    let args = ["install", &url, "--yes"];
    let output = with_authority(&home, &server, &args);
    assert_eq!(output.code, 0, "{output:?}");
    let skill = home.project().join(".agent/skills/pdf");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "one");
    let record = &locked(&home)["skills"]["pdf"];
    assert_eq!(record["source"], json!(url));
    assert_eq!(record["kind"], "https");
    assert_eq!(record["resolved"], json!(Digest::of(&bytes)));
    let head = &server.asked()[0].head;
    assert!(
        head.contains("user-agent: metier/") && head.contains("accept-encoding: identity"),
        "{head}"
    );
    assert!(!head.contains("cookie") && !head.contains("referer"), "{head}");
    nothing_left(&home);
    // A second time there is nothing to do.
    let again = with_authority(&home, &server, &args);
    assert!(again.code == 0 && again.stdout.contains("should be"), "{again:?}");
    // What is missing comes back, and is what it was. The source is in a file now, so a rule has to allow it.
    fs::remove_dir_all(&skill).expect("removes");
    let locked_args = ["--json", "install", "--locked", "--yes"];
    let output = with_authority(&home, &server, &locked_args);
    assert_eq!(output.json()["error"]["code"], "source-not-allowed", "{output:?}");
    allow(&home, &server);
    let output = with_authority(&home, &server, &["install", "--locked", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(skill.join("SKILL.md").exists());
    // Something else at the same address is not taken for it.
    *served.lock().expect("no panic") = packed(&home, "pdf", "two");
    fs::remove_dir_all(&skill).expect("removes");
    for args in
        [&["--json", "install", "--locked", "--yes"][..], &["--json", "install", "--yes"][..]]
    {
        let output = with_authority(&home, &server, args);
        assert_eq!((output.code, &output.json()["error"]["code"]), (1, &json!("lock-mismatch")));
        assert!(!skill.exists());
    }
    // Unless a person installs it anew.
    let output = with_authority(&home, &server, &args);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "two");
    nothing_left(&home);
}

#[test]
fn a_digest_in_the_url_has_to_fit() {
    let (home, bytes) = with_pack("one");
    let hex = Digest::of(&bytes).to_string().replace("sha256:", "");
    let server = WebServer::tls(move |_| WebAnswer::ok(&bytes));
    let wrong = server.url(&format!("/x.zip#sha256={}", "0".repeat(64)));
    let output = with_authority(&home, &server, &["--json", "install", &wrong, "--yes"]);
    fails(&home, &output, "digest-mismatch");
    let asked = server.asked().len();
    let short = server.url("/x.zip#sha256=abc");
    fails(
        &home,
        &with_authority(&home, &server, &["--json", "install", &short, "--yes"]),
        "digest-mismatch",
    );
    assert_eq!(server.asked().len(), asked, "nothing is asked for what cannot fit");
    let right = server.url(&format!("/x.zip#sha256={hex}"));
    let output = with_authority(&home, &server, &["install", &right, "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(locked(&home)["skills"]["pdf"]["source"], json!(right));
}

#[test]
fn one_file_is_a_skill_too() {
    let home = TestHome::new();
    let server = WebServer::tls(|_| WebAnswer::ok(skill_text("greet", "Say hello.")));
    let output = with_authority(&home, &server, &["install", &server.url("/a/SKILL.md"), "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(home.project().join(".agent/skills/greet/SKILL.md").exists());
}

#[test]
fn what_a_server_may_do_wrong_has_an_error_of_its_own() {
    let home = TestHome::new();
    let bomb = Command::new("sh").args(["-c", "head -c 300000000 /dev/zero | gzip -1"]).output();
    let bomb = bomb.expect("gzip").stdout;
    let server = WebServer::tls(move |asked| match asked.path.as_str() {
        "/private.zip" => WebAnswer::status(401, "www-authenticate: Basic realm=x\r\n", ""),
        "/forbidden.zip" => WebAnswer::status(403, "", ""),
        "/broken.zip" => WebAnswer::status(503, "", ""),
        "/page.zip" => WebAnswer::ok("\n<!DOCTYPE html><html><body>Sign in</body></html>"),
        "/text.zip" => WebAnswer::status(200, "content-type: text/plain\r\n", "hello"),
        "/empty.zip" => WebAnswer::ok(""),
        "/bomb.tar.gz" => WebAnswer::ok(&bomb),
        "/huge.zip" => {
            WebAnswer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nPK".to_vec())
        }
        "/cut.zip" => {
            WebAnswer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\nPK\x03\x04".to_vec())
        }
        "/endless/SKILL.md" => {
            WebAnswer::Endless(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec())
        }
        "/silly.zip" => WebAnswer::Raw(b"no HTTP at all\r\n\r\n".to_vec()),
        "/to-http" => WebAnswer::redirect("http://127.0.0.1/x.zip"),
        "/to-keys" => WebAnswer::redirect("https://169.254.169.254/latest/meta-data/"),
        "/to-odd-keys" => WebAnswer::redirect("https://[::ffff:169.254.169.254]/latest/"),
        "/to-file" => WebAnswer::redirect("file:///etc/passwd"),
        "/to-password" => WebAnswer::redirect("https://me:pw@127.0.0.1/x.zip"),
        "/round" => WebAnswer::redirect("/round"),
        _ => WebAnswer::missing(),
    });
    for (path, code) in [
        ("/none.zip", "not-found"),
        ("/private.zip", "not-authorized"),
        ("/forbidden.zip", "not-authorized"),
        ("/broken.zip", "server-error"),
        ("/page.zip", "not-an-archive"),
        ("/text.zip", "not-an-archive"),
        ("/empty.zip", "not-an-archive"),
        ("/bomb.tar.gz", "archive-ratio"),
        ("/huge.zip", "too-large"),
        ("/cut.zip", "cut-off"),
        ("/endless/SKILL.md", "too-large"),
        ("/silly.zip", "unreachable"),
        ("/to-http", "redirect-to-http"),
        ("/to-keys", "address-not-allowed"),
        ("/to-odd-keys", "address-not-allowed"),
        ("/to-file", "redirect-to-http"),
        ("/to-password", "url-not-allowed"),
        ("/round", "too-many-redirects"),
    ] {
        let url = server.url(path);
        let output = with_authority(&home, &server, &["--json", "install", &url, "--yes"]);
        fails(&home, &output, code);
    }
    let page = with_authority(&home, &server, &["install", &server.url("/page.zip"), "--yes"]);
    assert!(page.stderr.contains("it is a web page, not an archive"), "{page:?}");
}

#[test]
fn a_server_does_not_lead_to_another_one_on_this_machine() {
    let (home, bytes) = with_pack("one");
    let other = WebServer::tls(move |_| WebAnswer::ok(&bytes));
    let to = other.url("/x.zip");
    let named =
        format!("https://localhost:{}/x.zip", other.host().rsplit(':').next().expect("a port"));
    let server = WebServer::tls(move |asked| match asked.path.as_str() {
        "/by-name.zip" => WebAnswer::redirect(&named),
        _ => WebAnswer::redirect(&to),
    });
    for path in ["/x.zip", "/by-name.zip"] {
        let url = server.url(path);
        let output = with_authority(&home, &server, &["--json", "install", &url, "--yes"]);
        fails(&home, &output, "address-not-allowed");
    }
    assert!(other.asked().is_empty(), "{:?}", other.asked());
}

#[test]
fn a_rule_holds_for_where_a_source_leads_too() {
    let (home, bytes) = with_pack("one");
    let server = WebServer::tls(move |asked| match asked.path.as_str() {
        "/x.zip" => WebAnswer::redirect("/denied/x.zip"),
        _ => WebAnswer::ok(&bytes),
    });
    let list = json!([server.url("/denied")]).to_string();
    assert_eq!(run(&home, &["config", "set", "sources.deny", &list]).code, 0);
    let url = server.url("/x.zip");
    let output = with_authority(&home, &server, &["--json", "install", &url, "--yes"]);
    fails(&home, &output, "host-not-allowed");
    assert_eq!(server.asked().len(), 1, "{:?}", server.asked());
}

#[test]
fn no_network_no_host_and_no_trust_are_three_errors() {
    let (home, bytes) = with_pack("one");
    let server = WebServer::tls(move |_| WebAnswer::ok(&bytes));
    let install = |url: &str| run(&home, &["--json", "install", url, "--yes"]);
    fails(&home, &install(&server.url("/x.zip")), "certificate");
    assert!(server.asked().is_empty(), "nothing is sent to who is not trusted");
    let closed = format!("https://127.0.0.1:{}/x.zip", closed_port());
    fails(&home, &install(&closed), "unreachable");
    fails(&home, &install("https://nothing.invalid/x.zip"), "host-unknown");
    fails(&home, &install("http://example.invalid/x.zip"), "plain-http");
    // One and the same address in another form would be judged as a name.
    let refused = install("https://0x7f.1/x.zip");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stdout.contains("bad-source"), "{refused:?}");
}

#[test]
fn a_password_in_the_url_is_sent_once_and_never_written() {
    let (home, bytes) = with_pack("one");
    let server = WebServer::tls(move |_| WebAnswer::ok(&bytes));
    let url = server.url("/x.zip").replace("https://", "https://me:s3cret@");
    let output = with_authority(&home, &server, &["install", &url, "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let sent = format!("authorization: basic {}", BASE64.encode(b"me:s3cret").to_lowercase());
    assert!(server.asked()[0].head.contains(&sent));
    assert!(!output.stdout.contains("s3cret") && !output.stderr.contains("s3cret"), "{output:?}");
    for file in ["skills.json", "skills.lock.json"] {
        let text = fs::read_to_string(home.project().join(".agent").join(file)).expect("a record");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

/// A host with two skills, one an archive and one a single file; `change` may spoil the list.
fn listing(
    bytes: Vec<u8>,
    place: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> WebServer {
    let manual = skill_text("greet", "Say hello.");
    WebServer::tls(move |asked| match asked.path.as_str() {
        path if path == place => {
            let mut list = json!({
                "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
                "skills": [
                    {"name": "pdf", "type": "archive", "description": "Forms.",
                        "url": "pdf.zip", "digest": Digest::of(&bytes)},
                    {"name": "greet", "type": "skill-md", "description": "Hello.",
                        "url": "/files/greet.md", "digest": Digest::of(manual.as_bytes())},
                    {"name": "other", "type": "hologram", "description": "Not known."},
                ],
            });
            change(&mut list);
            WebAnswer::ok(list.to_string())
        }
        "/files/greet.md" => WebAnswer::ok(&manual),
        path if path.ends_with("pdf.zip") => WebAnswer::ok(&bytes),
        _ => WebAnswer::missing(),
    })
}

#[test]
fn a_host_that_lists_its_skills_is_a_source() {
    for place in ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"] {
        let (home, bytes) = with_pack("one");
        let server = listing(bytes, place, |_| {});
        let url = server.url("");
        let output = with_authority(&home, &server, &["install", &url, "--list", "--yes"]);
        assert!(output.code == 0 && output.stdout.contains("greet"), "{output:?}");
        let args = ["install", &url, "--skill", "pdf,greet", "--yes"];
        let output = with_authority(&home, &server, &args);
        assert_eq!(output.code, 0, "{output:?}");
        let skills = home.project().join(".agent/skills");
        assert_eq!(fs::read_to_string(skills.join("pdf/notes.md")).expect("installed"), "one");
        assert!(skills.join("greet/SKILL.md").exists());
        assert_eq!(locked(&home)["skills"]["greet"]["kind"], "well-known");
        let again = with_authority(&home, &server, &args);
        assert!(again.code == 0 && again.stdout.contains("should be"), "{again:?}");
        fs::remove_dir_all(skills.join("greet")).expect("removes");
        allow(&home, &server);
        let output = with_authority(&home, &server, &["install", "--locked", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(skills.join("greet/SKILL.md").exists());
        nothing_left(&home);
    }
}

#[test]
fn of_a_list_only_the_chosen_skills_and_what_they_need_are_fetched() {
    let home = TestHome::new();
    let server = WebServer::tls(|asked| {
        let text = |name: &str, needs: &str| {
            let needs = if needs.is_empty() {
                String::new()
            } else {
                format!("metadata:\n  metier.requires: {needs}\n")
            };
            WebAnswer::ok(format!("---\nname: {name}\ndescription: Works.\n{needs}---\n"))
        };
        let skills: Vec<Value> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| json!({"name": name, "description": "d", "files": ["SKILL.md"]}))
            .collect();
        match asked.path.as_str() {
            "/.well-known/skills/index.json" => {
                WebAnswer::ok(json!({"skills": skills}).to_string())
            }
            "/.well-known/skills/a/SKILL.md" => text("a", "b"),
            "/.well-known/skills/b/SKILL.md" => text("b", ""),
            "/.well-known/skills/c/SKILL.md" => text("c", ""),
            "/.well-known/skills/d/SKILL.md" => text("d", "c"),
            _ => WebAnswer::missing(),
        }
    });
    let manuals = |from: usize| -> Vec<String> {
        let asked = server.asked();
        let manuals = asked[from..].iter().filter_map(|it| it.path.strip_suffix("/SKILL.md"));
        manuals.map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()).collect()
    };
    let url = server.url("/");
    let output = with_authority(&home, &server, &["install", &url, "--skill", "d", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(manuals(0), ["d", "c"]);
    assert!(home.project().join(".agent/skills/c/SKILL.md").exists());
    let before = server.asked().len();
    let output = with_authority(&home, &server, &["update", "d", "--yes"]);
    assert_eq!(output.code, 1, "the host is not allowed: {output:?}");
    allow(&home, &server);
    let output = with_authority(&home, &server, &["update", "c", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(manuals(before), ["c"]);
    let before = server.asked().len();
    let output = with_authority(&home, &server, &["install", &url, "--skill", "nothing", "--yes"]);
    assert!(output.code != 0 && output.stderr.contains("it has: a, b, c, d"), "{output:?}");
    assert_eq!(manuals(before).len(), 4, "a name that is not there is looked for in all");
}

#[test]
fn a_list_of_files_without_digests_is_read_too() {
    let home = TestHome::new();
    let server = WebServer::tls(|asked| {
        match asked.path.as_str() {
        "/.well-known/skills/index.json" => WebAnswer::ok(
            json!({"skills": [{"name": "greet", "description": "d", "files": ["SKILL.md", "a/b c.md"]}]})
                .to_string(),
        ),
        "/.well-known/skills/greet/SKILL.md" => WebAnswer::ok(skill_text("greet", "Say hello.")),
        "/.well-known/skills/greet/a/b%20c.md" => WebAnswer::ok("more"),
        _ => WebAnswer::missing(),
    }
    });
    let output = with_authority(&home, &server, &["install", &server.url("/"), "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let file = home.project().join(".agent/skills/greet/a/b c.md");
    assert_eq!(fs::read_to_string(file).expect("installed"), "more");
}

/// What spoils a list.
type Change = Arc<dyn Fn(&mut Value) + Send + Sync>;

#[test]
fn a_list_that_does_not_fit_installs_nothing() {
    let zeros = format!("sha256:{}", "0".repeat(64));
    let changes: Vec<(&str, Change)> = vec![
        ("digest-mismatch", Arc::new(move |list| list["skills"][1]["digest"] = json!(zeros))),
        ("bad-index", Arc::new(|list| list["skills"][1]["name"] = json!("../../evil"))),
        ("bad-index", Arc::new(|list| list["skills"][1]["name"] = json!("hello"))),
        ("bad-index", Arc::new(|list| list["skills"][0]["name"] = json!("forms"))),
        ("bad-index", Arc::new(|list| list["skills"][1]["digest"] = Value::Null)),
        ("bad-index", Arc::new(|list| list["$schema"] = json!("https://x.org/1"))),
        ("bad-index", Arc::new(|list| *list = json!("<html>"))),
        ("not-found", Arc::new(|list| list["skills"][1]["url"] = json!("gone.md"))),
        (
            "plain-http",
            Arc::new(|list| list["skills"][1]["url"] = json!("http://example.invalid/a")),
        ),
        (
            "address-not-allowed",
            Arc::new(|list| list["skills"][1]["url"] = json!("https://10.0.0.1/a")),
        ),
    ];
    for (code, change) in changes {
        let (home, bytes) = with_pack("one");
        let place = "/.well-known/agent-skills/index.json";
        let server = listing(bytes, place, move |list| change(list));
        let output =
            with_authority(&home, &server, &["--json", "install", &server.url(place), "--yes"]);
        fails(&home, &output, code);
    }
    let home = TestHome::new();
    let server = WebServer::tls(|_| WebAnswer::missing());
    let output = with_authority(&home, &server, &["--json", "install", &server.url(""), "--yes"]);
    fails(&home, &output, "not-found");
}

#[test]
fn a_digest_behind_a_list_is_that_of_the_list() {
    let place = "/.well-known/agent-skills/index.json";
    let (home, bytes) = with_pack("one");
    // The server's own words: the digest of what it sends.
    let is_changed = Arc::new(Mutex::new(false));
    let changed = is_changed.clone();
    let server = listing(bytes, place, move |list| {
        if *changed.lock().expect("a lock") {
            list["skills"][0]["description"] = json!("Other forms.");
        }
    });
    let listed =
        with_authority(&home, &server, &["install", &server.url(""), "--skill", "greet", "--yes"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let digest =
        locked(&home)["skills"]["greet"]["resolved"].as_str().expect("a digest").to_owned();
    assert_eq!(with_authority(&home, &server, &["uninstall", "greet", "--yes"]).code, 0);
    fs::remove_dir_all(home.project().join(".agent")).expect("removes");
    let hex = digest.trim_start_matches("sha256:");
    let zeros = "0".repeat(64);
    for at in [server.url(""), server.url("/"), server.url(place)] {
        for bad in [&zeros, "abc", ""] {
            let source = format!("{at}#sha256={bad}");
            let args = ["--json", "install", &source, "--skill", "greet", "--yes"];
            fails(&home, &with_authority(&home, &server, &args), "digest-mismatch");
        }
        let source = format!("{at}#sha256={hex}");
        let output =
            with_authority(&home, &server, &["install", &source, "--skill", "greet", "--yes"]);
        assert_eq!(output.code, 0, "{source}: {output:?}");
        let lock = locked(&home);
        assert_eq!(lock["skills"]["greet"]["source"], source);
        assert_eq!(
            (&lock["skills"]["greet"]["kind"], &lock["skills"]["greet"]["fixed"]),
            (&json!("well-known"), &json!(true))
        );
        // What the list says meanwhile is another list, and brings nothing.
        *is_changed.lock().expect("a lock") = true;
        allow(&home, &server);
        let output = with_authority(&home, &server, &["update", "greet", "--yes", "--json"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stdout.contains("its digest is"), "{output:?}");
        fs::remove_dir_all(home.project().join(".agent/skills/greet")).expect("removes");
        let output = with_authority(&home, &server, &["install", "--locked", "--yes"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert_eq!(locked(&home), lock);
        *is_changed.lock().expect("a lock") = false;
        let output = with_authority(&home, &server, &["install", "--locked", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
        fs::remove_dir_all(home.project().join(".agent")).expect("removes");
    }
}
