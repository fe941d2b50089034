//! Installing from OCI registries and layouts: against Debian's `docker-registry` filled by `skopeo`, where
//! they are installed, and against registries that lie.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use metier_skill::Digest;
use metier_testkit::{Output, TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{run, run_in};
use crate::web_server::{WebAnswer, WebServer, answers, closed_port};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
const TITLE: &str = "org.opencontainers.image.title";

fn is_there(program: &str) -> bool {
    let found =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        metier_testkit::not_tested_without(
            program,
            format_args!("{program} is not installed (Debian: apt install {program})"),
        );
    }
    found.is_ok()
}

/// A real registry; it ends with this value.
struct RealRegistry {
    child: Child,
    port: u16,
}

impl RealRegistry {
    fn start(dir: &Path) -> Self {
        loop {
            let port = closed_port();
            let config = format!(
                "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\n\
                 http:\n  addr: 127.0.0.1:{port}\n",
                dir.join("registry").display()
            );
            let file = dir.join("registry.yml");
            fs::write(&file, config).expect("writes");
            let mut child = Command::new("docker-registry")
                .arg("serve")
                .arg(&file)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("starts");
            let until = Instant::now() + Duration::from_mins(2);
            while Instant::now() < until {
                if answers(port) {
                    return Self { child, port };
                }
                // Another process may have taken the port.
                if child.try_wait().expect("a child").is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn skopeo(home: &TestHome, args: &[&str]) -> String {
        let output =
            home.command("skopeo").arg("--insecure-policy").args(args).output().expect("skopeo");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for RealRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pack_oci(home: &TestHome, text: &str, dir: &str) {
    home.skill("src/greet", "greet", "Say hello.");
    home.write("src/greet/notes.md", text);
    home.write("src/greet/scripts/hi.sh", "#!/bin/sh\necho hi\n");
    let script = home.path().join("src/greet/scripts/hi.sh");
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("chmod");
    let output = run_in(home, "src", &["pack", "greet", "--oci", &format!("../project/{dir}")]);
    assert_eq!(output.code, 0, "{output:?}");
}

fn locked(home: &TestHome) -> Value {
    let text = fs::read(home.project().join(".agent/skills.lock.json")).expect("a lock");
    serde_json::from_slice(&text).expect("JSON")
}

fn fails(home: &TestHome, output: &Output, code: &str) {
    assert_eq!(output.code, 1, "{code}: {output:?}");
    let said: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    assert_eq!(said["error"]["code"].as_str().unwrap_or_default(), code, "{output:?}");
    assert!(!home.project().join(".agent").exists(), "{code}: something was written");
}

fn install(home: &TestHome, source: &str) -> Output {
    run(home, &["--json", "install", source, "--yes"])
}

#[test]
fn a_skill_travels_through_a_real_registry_and_a_moved_tag_is_noticed() {
    if !(is_there("skopeo") & is_there("docker-registry")) {
        return;
    }
    let home = TestHome::new();
    let registry = RealRegistry::start(home.path());
    let place = format!("127.0.0.1:{}/team/greet", registry.port);
    let (docker, oci) = (format!("docker://{place}:v1"), format!("oci://{place}:v1"));
    let push = |layout: &str| {
        let from = format!("oci:{}", home.project().join(layout).display());
        RealRegistry::skopeo(&home, &["copy", "--dest-tls-verify=false", &from, &docker]);
        let shown = RealRegistry::skopeo(&home, &["inspect", "--tls-verify=false", &docker]);
        serde_json::from_str::<Value>(&shown).expect("JSON")["Digest"].clone()
    };
    pack_oci(&home, "one", "layout");
    let digest = push("layout");
    let output = run(&home, &["install", &oci, "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let skill = home.project().join(".agent/skills/greet");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "one");
    let mode = fs::metadata(skill.join("scripts/hi.sh")).expect("installed").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o111, 0o111);
    let record = &locked(&home)["skills"]["greet"];
    assert_eq!((&record["source"], &record["kind"]), (&json!(oci), &json!("oci")));
    assert_eq!(record["resolved"], digest);
    let again = run(&home, &["install", &oci, "--yes"]);
    assert!(again.code == 0 && again.stdout.contains("should be"), "{again:?}");
    fs::remove_dir_all(&skill).expect("removes");
    let list = json!([format!("oci://127.0.0.1:{}", registry.port)]).to_string();
    assert_eq!(run(&home, &["config", "set", "sources.allow", &list]).code, 0);
    assert_eq!(run(&home, &["install", "--locked", "--yes"]).code, 0);
    // The tag is moved under us.
    pack_oci(&home, "two", "layout2");
    assert_ne!(push("layout2"), digest);
    let refused = run(&home, &["update", "--all", "--yes", "--json"]);
    assert_eq!((refused.code, &refused.json()["not_updated"][0]["reason"]), (1, &json!("moved")));
    let refused = run(&home, &["install", &oci, "--yes", "--json"]);
    assert_eq!(refused.json()["error"]["code"], "already-exists", "{refused:?}");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "one");
    let outdated = run(&home, &["outdated"]);
    assert!(outdated.code == 0 && outdated.stdout.contains("tag moved"), "{outdated:?}");
    assert_eq!(run(&home, &["verify"]).code, 0, "what is on the disk is what was accepted");
    let verified = run(&home, &["verify", "--upstream"]);
    assert!(verified.code == 1 && verified.stdout.contains("tag moved greet"), "{verified:?}");
    assert_eq!(
        run(&home, &["verify", "--upstream", "--json"]).json()["upstream"][0]["state"],
        "moved"
    );
    let forced = run(&home, &["update", "greet", "--yes", "--force", "--dry-run", "--json"]);
    assert_eq!((forced.code, &forced.json()["skills"][0]["action"]), (0, &json!("replace")));
    fs::remove_dir_all(&skill).expect("removes");
    let output = run(&home, &["--json", "install", "--locked", "--yes"]);
    assert_eq!((output.code, &output.json()["error"]["code"]), (1, &json!("lock-mismatch")));
    let old = format!("oci://{place}@{}", digest.as_str().expect("a digest"));
    assert!(output.stdout.contains(&old), "it says how to stay: {output:?}");
    assert!(!skill.exists());
    let output = run(&home, &["install", &old, "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "one");
    let output = run(&home, &["install", &oci, "--yes", "--force"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "two");
    let verified = run(&home, &["verify", "--upstream"]);
    assert!(verified.code == 0 && verified.stderr.contains("1 of 1 skill"), "{verified:?}");
    let missing = run(&home, &["--json", "install", &format!("oci://{place}:v9"), "--yes"]);
    assert_eq!(missing.json()["error"]["code"], "not-found", "{missing:?}");
}

#[test]
fn a_layout_is_the_same_bytes_everywhere_and_installs() {
    let home = TestHome::new();
    pack_oci(&home, "one", "a");
    pack_oci(&home, "one", "b");
    let same = Command::new("diff").arg("-r").args(["a", "b"]).current_dir(home.project()).status();
    assert!(same.expect("diff").success());
    let again = run_in(&home, "src", &["--json", "pack", "greet", "--oci", "../project/a"]);
    assert_eq!(again.json()["error"]["code"], "already-exists", "{again:?}");
    let names: Vec<_> =
        fs::read_dir(home.project()).expect("lists").flatten().map(|it| it.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("metier-")), "{names:?}");
    if is_there("skopeo") {
        let layout = format!("oci:{}", home.project().join("a").display());
        let shown = RealRegistry::skopeo(&home, &["inspect", &layout]);
        assert!(shown.contains("\"Layers\""), "{shown}");
        let copy = format!("oci:{}:v1", home.project().join("copy").display());
        RealRegistry::skopeo(&home, &["copy", &layout, &copy]);
        let output = install(&home, "copy");
        assert_eq!(output.code, 0, "{output:?}");
    } else {
        assert_eq!(install(&home, "a").code, 0);
    }
    assert_eq!(locked(&home)["skills"]["greet"]["kind"], "oci");
    let skill = home.project().join(".agent/skills/greet");
    assert_eq!(fs::read_to_string(skill.join("notes.md")).expect("installed"), "one");
}

#[test]
fn a_layout_that_was_changed_is_refused() {
    let home = TestHome::new();
    pack_oci(&home, "one", "a");
    let blobs = home.project().join("a/blobs/sha256");
    for blob in fs::read_dir(&blobs).expect("lists").flatten() {
        let bytes = fs::read(blob.path()).expect("reads");
        fs::write(blob.path(), [&bytes[..], b" "].concat()).expect("writes");
        let output = install(&home, "a");
        fails(&home, &output, "digest-mismatch");
        fs::write(blob.path(), bytes).expect("writes");
    }
    // A link could lead anywhere.
    let one = fs::read_dir(&blobs).expect("lists").flatten().next().expect("a blob").path();
    fs::rename(&one, home.path().join("elsewhere")).expect("moves");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), &one).expect("links");
    let output = install(&home, "a");
    assert_eq!(output.code, 1, "{output:?}");
}

/// A registry that says what a test wants.
#[derive(Default)]
struct FakeRegistry {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: BTreeMap<String, Vec<u8>>,
}

impl FakeRegistry {
    fn blob(&mut self, kind: &str, bytes: &[u8], notes: &Value) -> Value {
        let digest = Digest::of(bytes).to_string();
        self.blobs.insert(digest.clone(), bytes.to_vec());
        json!({"mediaType": kind, "digest": digest, "size": bytes.len(), "annotations": notes})
    }

    /// The manifest of `layers` at the tag `tag`, and its descriptor.
    fn manifest(&mut self, tag: &str, layers: &[Value]) -> Value {
        let config = self.blob("application/vnd.oci.empty.v1+json", b"{}", &json!({}));
        let text =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        self.document(tag, &text)
    }

    fn document(&mut self, tag: &str, document: &Value) -> Value {
        let bytes = document.to_string().into_bytes();
        let digest = Digest::of(&bytes).to_string();
        let size = bytes.len();
        self.manifests.insert(digest.clone(), bytes.clone());
        self.manifests.insert(tag.to_owned(), bytes);
        json!({"mediaType": document["mediaType"], "digest": digest, "size": size})
    }

    fn answer(&self, path: &str) -> WebAnswer {
        let found = match path.strip_prefix("/v2/x/") {
            Some(rest) => match rest.split_once('/') {
                Some(("manifests", tag)) => self.manifests.get(tag),
                Some(("blobs", digest)) => self.blobs.get(digest),
                _ => None,
            },
            None => None,
        };
        found.map_or_else(WebAnswer::missing, WebAnswer::ok)
    }

    fn serve(self) -> WebServer {
        WebServer::plain(move |asked| self.answer(&asked.path))
    }
}

/// A tar of these files, as GNU tar writes it.
fn tar(home: &TestHome, files: &[(&str, &str)], gzip: &str) -> Vec<u8> {
    let dir = tempfile::tempdir_in(home.path()).expect("a directory");
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("writes");
    }
    let output =
        Command::new("tar").arg(format!("-c{gzip}")).arg("-C").arg(dir.path()).arg(".").output();
    output.expect("tar").stdout
}

fn greet() -> String {
    skill_text("greet", "Say hello.")
}

#[test]
fn layers_are_an_archive_or_a_file_each() {
    let home = TestHome::new();
    let text = greet();
    let mut fake = FakeRegistry::default();
    let plain = fake.blob(TAR, &tar(&home, &[("skills/greet/SKILL.md", &text)], ""), &json!({}));
    let image = fake.manifest("plain", &[plain]);
    let packed = tar(&home, &[("SKILL.md", &text), ("a/b.md", "more")], "z");
    let flat = fake.blob(
        "application/vnd.agent.skill.content.v1.tar+gzip",
        &packed,
        &json!({TITLE: "greet"}),
    );
    fake.manifest("flat", &[flat]);
    let files = [
        fake.blob(TAR, text.as_bytes(), &json!({TITLE: "greet/SKILL.md"})),
        fake.blob("text/x-sh", b"echo hi\n", &json!({TITLE: "greet/scripts/hi.sh"})),
    ];
    fake.manifest("files", &files);
    let other = fake.blob(TAR, &tar(&home, &[("etc/motd", "hi")], ""), &json!({}));
    let skill = fake.blob(TAR, &tar(&home, &[("skills/greet/SKILL.md", &text)], "z"), &json!({}));
    fake.manifest("image", &[other, skill.clone()]);
    let over = fake.blob(TAR, &tar(&home, &[("skills/greet/run.sh", "evil")], ""), &json!({}));
    fake.manifest("over", &[skill, over]);
    let attestation = {
        let mut other = fake.manifest("other", &files[..1]);
        other["platform"] = json!({"os": "unknown", "architecture": "unknown"});
        other
    };
    fake.document(
        "index",
        &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [attestation, image]}),
    );
    let server = fake.serve();
    for (tag, file) in [
        ("plain", "SKILL.md"),
        ("flat", "a/b.md"),
        ("files", "scripts/hi.sh"),
        ("index", "SKILL.md"),
        ("image", "SKILL.md"),
    ] {
        let home = TestHome::new();
        let output = install(&home, &format!("oci://{}/x:{tag}", server.host()));
        assert_eq!(output.code, 0, "{tag}: {output:?}");
        assert!(home.project().join(".agent/skills/greet").join(file).exists(), "{tag}");
    }
    fails(&home, &install(&home, &format!("oci://{}/x:over", server.host())), "bad-layers");
}

#[test]
fn what_a_registry_may_lie_about_is_refused() {
    let home = TestHome::new();
    let text = greet();
    let mut fake = FakeRegistry::default();
    let good = fake.blob(TAR, text.as_bytes(), &json!({TITLE: "SKILL.md"}));
    let with = |change: Value| {
        let mut layer = good.clone();
        for (key, value) in change.as_object().expect("an object") {
            layer[key] = value.clone();
        }
        layer
    };
    let mut cases: Vec<(&str, &str, Vec<Value>)> = vec![
        ("size", "digest-mismatch", vec![with(json!({"size": text.len() + 1}))]),
        ("small", "too-large", vec![with(json!({"size": text.len() - 1}))]),
        ("large", "bad-layers", vec![with(json!({"size": 1u64 << 40}))]),
        (
            "up",
            "bad-layers",
            vec![good.clone(), with(json!({"annotations": {TITLE: "../../evil.md"}}))],
        ),
        ("root", "bad-layers", vec![with(json!({"annotations": {TITLE: "/etc/evil.md"}}))]),
        ("win", "bad-layers", vec![with(json!({"annotations": {TITLE: "a\\evil.md"}}))]),
        ("dot", "bad-layers", vec![with(json!({"annotations": {TITLE: "."}}))]),
        ("none", "bad-layers", vec![with(json!({"annotations": {TITLE: ""}}))]),
        ("twice", "bad-layers", vec![good.clone(), good.clone()]),
        (
            "case",
            "bad-layers",
            vec![good.clone(), with(json!({"annotations": {TITLE: "skill.MD"}}))],
        ),
        ("many", "bad-manifest", vec![good.clone(); 10_000]),
        ("empty", "bad-layers", Vec::new()),
        (
            "zstd",
            "bad-layers",
            vec![with(json!({"mediaType": format!("{TAR}+zstd"), "annotations": {}}))],
        ),
        (
            "tars",
            "bad-layers",
            vec![with(json!({"annotations": {}})), with(json!({"annotations": {}}))],
        ),
        ("noise", "archive-format", vec![with(json!({"annotations": {}}))]),
        ("algorithm", "bad-manifest", vec![with(json!({"digest": "sha512:00"}))]),
        ("path", "bad-manifest", vec![with(json!({"digest": "sha256:../../../etc/passwd"}))]),
    ];
    let whiteout = tar(&home, &[("SKILL.md", &text), (".wh.SKILL.md", "")], "");
    let whiteout = fake.blob(TAR, &whiteout, &json!({}));
    cases.push(("whiteout", "bad-layers", vec![whiteout]));
    for (tag, _, layers) in &cases {
        fake.manifest(tag, layers);
    }
    fake.document(
        "both",
        &json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": good,
        "layers": [good], "manifests": [good]}),
    );
    fake.manifests.insert("page".to_owned(), b"<html>".to_vec());
    // Other bytes than the digest that is asked for.
    let other = format!("sha256:{}", "1".repeat(64));
    fake.manifests.insert(other.clone(), b"{}".to_vec());
    let lie = with(json!({"digest": other}));
    fake.blobs.insert(other.clone(), text.clone().into_bytes());
    fake.manifest("lie", &[lie]);
    let server = fake.serve();
    let at = |rest: &str| format!("oci://{}/x{rest}", server.host());
    for (tag, code, _) in &cases {
        fails(&home, &install(&home, &at(&format!(":{tag}"))), code);
    }
    fails(&home, &install(&home, &at(":both")), "bad-manifest");
    fails(&home, &install(&home, &at(":page")), "bad-manifest");
    fails(&home, &install(&home, &at(":lie")), "digest-mismatch");
    fails(&home, &install(&home, &at(&format!("@{other}"))), "digest-mismatch");
    fails(&home, &install(&home, &at("/..:1")), "bad-reference");
    fails(&home, &install(&home, "oci://ghcr/x"), "bad-reference");
}

/// A registry that wants a token from `realm` before it gives anything.
fn guarded(
    fake: FakeRegistry,
    realm: impl Fn(&str) -> String + Send + Sync + 'static,
) -> WebServer {
    let fake = Arc::new(fake);
    WebServer::plain(move |asked| {
        let host = asked.head.split("host: ").nth(1).and_then(|it| it.split("\r\n").next());
        let host = host.unwrap_or_default();
        if asked.path.starts_with("/token") {
            let is_known =
                asked.head.contains(&format!("basic {}", BASE64.encode(b"me:pw").to_lowercase()));
            return if is_known {
                WebAnswer::ok(r#"{"token": "t0k3n"}"#)
            } else {
                WebAnswer::status(401, "", "{}")
            };
        }
        if asked.head.contains("authorization: bearer t0k3n") {
            return fake.answer(&asked.path);
        }
        let realm = realm(host);
        let header = format!(
            "www-authenticate: Bearer realm=\"{realm}\",service=\"s\",scope=\"repository:*:push\"\r\n"
        );
        WebAnswer::status(401, &header, "{}")
    })
}

fn one_skill() -> FakeRegistry {
    let mut fake = FakeRegistry::default();
    let layer = fake.blob(TAR, greet().as_bytes(), &json!({TITLE: "SKILL.md"}));
    fake.manifest("latest", &[layer]);
    fake
}

fn log_in(home: &TestHome, server: &WebServer) {
    let auth = BASE64.encode(b"me:pw");
    let config = json!({"auths": {server.host(): {"auth": auth}}});
    home.write("home/.docker/config.json", config.to_string());
}

#[test]
fn a_password_gets_a_token_for_reading_and_goes_nowhere_else() {
    let home = TestHome::new();
    let server = guarded(one_skill(), |host| format!("http://{host}/token"));
    let source = format!("oci://{}/x", server.host());
    let output = install(&home, &source);
    fails(&home, &output, "not-authorized");
    assert!(output.stdout.contains("docker login"), "{output:?}");
    home.write("home/.docker/config.json", r#"{"credsStore": "desktop"}"#);
    let output = install(&home, &source);
    fails(&home, &output, "not-authorized");
    assert!(output.stdout.contains("credential helper `desktop`"), "{output:?}");
    home.write("home/.docker/config.json", "{");
    fails(&home, &install(&home, &source), "bad-credentials");
    log_in(&home, &server);
    let output = install(&home, &source);
    assert_eq!(output.code, 0, "{output:?}");
    let asked = server.asked();
    let tokens: Vec<_> = asked.iter().filter(|it| it.path.starts_with("/token")).collect();
    let last = tokens.last().expect("a token was asked for");
    assert_eq!(
        last.path, "/token?service=s&scope=repository%3Ax%3Apull",
        "reading only, whatever it wants"
    );
    let with_password =
        |it: &&crate::web_server::WebAsked| it.head.contains("authorization: basic");
    assert!(asked.iter().filter(with_password).all(|it| it.path.starts_with("/token")));
    let again = run(&home, &["install", &source, "--yes"]);
    assert!(again.code == 0 && again.stdout.contains("should be"), "{again:?}");
}

#[test]
fn a_realm_elsewhere_does_not_get_the_password() {
    let other = WebServer::plain(|_| WebAnswer::ok(r#"{"token": "t0k3n"}"#));
    let to = other.url("/token");
    let home = TestHome::new();
    let server = guarded(one_skill(), move |_| to.clone());
    log_in(&home, &server);
    let source = format!("oci://{}/x", server.host());
    // On this machine another server is not even asked.
    fails(&home, &install(&home, &source), "address-not-allowed");
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    assert!(server.asked().iter().all(|it| !it.head.contains("authorization: basic")));
}

#[test]
fn a_blob_may_be_elsewhere_but_not_on_this_machine() {
    let other = WebServer::plain(|_| WebAnswer::ok(greet()));
    let to = other.url("/blob");
    let fake = one_skill();
    let server = WebServer::plain(move |asked| {
        if asked.path.contains("/blobs/") {
            WebAnswer::redirect(&to)
        } else {
            fake.answer(&asked.path)
        }
    });
    let home = TestHome::new();
    fails(&home, &install(&home, &format!("oci://{}/x", server.host())), "address-not-allowed");
    assert!(other.asked().is_empty(), "{:?}", other.asked());
}

#[test]
fn a_rule_about_the_server_of_tokens_holds_before_it_is_asked() {
    let home = TestHome::new();
    let deny = |patterns: Value| {
        let list = patterns.to_string();
        let output = run(&home, &["config", "set", "sources.deny", &list]);
        assert_eq!(output.code, 0, "{output:?}");
    };
    // A host of its own: it is refused by its name, which is not even looked up.
    let server = guarded(one_skill(), |_| "https://auth.docker.invalid/token".to_owned());
    log_in(&home, &server);
    let source = format!("oci://{}/x", server.host());
    fails(&home, &install(&home, &source), "host-unknown");
    for pattern in ["auth.docker.invalid", "*.docker.invalid", "auth.docker.invalid/token"] {
        deny(json!([pattern]));
        let output = install(&home, &source);
        fails(&home, &output, "host-not-allowed");
        assert!(output.stdout.contains(pattern), "the rule is named: {output:?}");
    }
    deny(json!(["docker.invalid", "auth.docker.invalid/other"]));
    fails(&home, &install(&home, &source), "host-unknown");
    // A path of the registry itself.
    let server = guarded(one_skill(), |host| format!("http://{host}/token"));
    log_in(&home, &server);
    let source = format!("oci://{}/x", server.host());
    deny(json!([format!("{}/token", server.host())]));
    let output = install(&home, &source);
    fails(&home, &output, "host-not-allowed");
    assert!(server.asked().iter().all(|it| !it.path.starts_with("/token")), "{:?}", server.asked());
    deny(json!([]));
    assert_eq!(install(&home, &source).code, 0);
}
