//! What a script sees of a workspace, through the binary and in both tiers: keys and the records of runs
//! are hidden wherever they are and however they are called; the rest stays visible.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use metier_testkit::TestHome;
use serde_json::Value;

use crate::support::{run_unprivileged, tiers, work_skill};

/// What no script may print.
const KEY: &str = "KEY-OF-THE-PROJECT";

/// Prints every file of the workspace that it can open, under each of its names, and how many there were.
const READ_ALL: &str = r#"import os, sys
top = os.environ.get("WORKSPACE_DIR", "/nonexistent").encode()
found = []
for folder, folders, files in os.walk(top):
    for name in files + folders:
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                found.append(os.path.relpath(path, top) + b"=" + file.read(200))
        except OSError:
            pass
for path in sys.argv[1:]:
    try:
        found.append(open(path, "rb").read(200))
    except OSError:
        pass
found.sort()
sys.stdout.buffer.write(b"%d\n" % len(found) + b"\n".join(found[:50]))
"#;

fn stdout(document: &Value) -> &str {
    document["stdout"].as_str().unwrap_or_else(|| panic!("no output in {document}"))
}

/// In each tier the script prints what is expected, twice the same, and no key.
fn sees(home: &TestHome, expected: &str) {
    work_skill(home, "scripts/read.py", READ_ALL);
    for tier in tiers(home) {
        for _ in 0..2 {
            let document = tier.exec(home, &["scripts/read.py"], &[]);
            assert_eq!(document["tier"], tier.name);
            assert!(!document.to_string().contains(KEY), "{}: {document}", tier.name);
            assert_eq!(stdout(&document), expected, "{}: {document}", tier.name);
        }
    }
}

#[test]
fn a_key_is_hidden_however_many_files_come_before_it() {
    let home = TestHome::new();
    for at in 0..20_100 {
        home.write(&format!("project/+{at:05}"), "");
    }
    home.write("project/.env", KEY);
    home.write("project/sub/.env.local", KEY);
    work_skill(&home, "scripts/read.py", READ_ALL);
    for tier in tiers(&home) {
        let document = tier.exec(&home, &["scripts/read.py"], &[]);
        assert!(!document.to_string().contains(KEY), "{}: {document}", tier.name);
        assert!(stdout(&document).starts_with("20100\n+00000="), "{}: {document}", tier.name);
    }
}

#[test]
fn a_key_is_hidden_in_folders_of_foreign_code_and_in_those_that_mark_themselves_as_caches() {
    let home = TestHome::new();
    let folders = [".git", "node_modules/x", "__pycache__", "target/debug", ".cache", "a/b/c"];
    for folder in folders {
        home.write(&format!("project/{folder}/.env"), KEY);
        home.write(&format!("project/{folder}/ID_RSA"), KEY);
        home.write(&format!("project/{folder}/.env.example"), "template");
    }
    home.write("project/target/CACHEDIR.TAG", "tag");
    let mut expected: Vec<String> =
        folders.map(|folder| format!("{folder}/.env.example=template")).to_vec();
    expected.push("target/CACHEDIR.TAG=tag".to_owned());
    expected.sort();
    sees(&home, &format!("{}\n{}", expected.len(), expected.join("\n")));
}

#[test]
fn what_a_link_with_the_name_of_a_key_leads_to_is_hidden_under_every_name() {
    let home = TestHome::new();
    let link = |target: &str, at: &str| {
        let at = home.path().join("project").join(at);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("makes");
        symlink(target, at).expect("links");
    };
    for file in ["config.txt", "deep/down/settings.ini", "third", "secrets/one", "real/.env"] {
        home.write(&format!("project/{file}"), KEY);
    }
    link("config.txt", ".env");
    link("../deep/down/settings.ini", "app/.env.production");
    // By way of another link, and absolute.
    link("hop", "other/.ENV");
    symlink(home.project().join("third"), home.project().join("other/hop")).expect("links");
    link("secrets", ".env.d");
    // The other way round: a name that says nothing, and links in the path.
    link("real/.env", "notes.txt");
    link("real", "folder");
    link("app/.env.production", "twice");
    // Links that lead nowhere, round in a circle, and to all there is.
    link("nowhere", ".env.gone");
    link(".env.loop", ".env.loop");
    link(".", ".env.here");
    link("/", ".env.all");
    home.write("project/open.txt", "open");
    sees(&home, "1\nopen.txt=open");
}

#[test]
fn a_key_is_hidden_in_a_folder_whose_name_is_not_text() {
    let home = TestHome::new();
    let odd = home.project().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(odd.join(".env.d")).expect("makes");
    for file in [".env", "id_rsa", ".env.d/x"] {
        std::fs::write(odd.join(file), KEY).expect("writes");
    }
    std::fs::write(odd.join(OsStr::from_bytes(b".env.\xff")), KEY).expect("writes");
    std::fs::write(odd.join("open.txt"), "open").expect("writes");
    symlink(odd.join("linked"), home.project().join(".env.linked")).expect("links");
    std::fs::write(odd.join("linked"), KEY).expect("writes");
    sees(&home, "1\ncaf\u{fffd}/open.txt=open");
}

#[test]
fn a_key_is_hidden_in_a_workspace_among_the_folders_of_the_system() {
    let home = TestHome::new();
    home.write("project/.env", KEY);
    home.write("project/open.txt", "open");
    home.write("project/.agent/runs/1/events.jsonl", KEY);
    work_skill(&home, "scripts/read.py", READ_ALL);
    let place =
        ["/usr/src", "/usr/local/src", "/usr/share"].into_iter().find(|it| Path::new(it).is_dir());
    let Some(place) = place else {
        metier_testkit::not_tested("there is no folder below /usr to mount something on");
        return;
    };
    let mount = format!("mount --bind '{}' {place} && cd {place}/project", home.path().display());
    for tier in tiers(&home) {
        let mut command = tier.prepared(&home, &mount);
        let output =
            TestHome::finish(command.args(["exec", "--json", "--yes", "work", "scripts/read.py"]));
        let Ok(document) = serde_json::from_str::<Value>(&output.stdout) else {
            metier_testkit::not_tested(format_args!(
                "a workspace below {place} in {}: {output:?}",
                tier.name
            ));
            continue;
        };
        assert!(!document.to_string().contains(KEY), "{}: {document}", tier.name);
        assert_eq!(stdout(&document), "1\nopen.txt=open", "{}: {document}", tier.name);
    }
}

#[test]
fn a_folder_that_cannot_be_searched_is_hidden_and_named_and_the_rest_is_visible() {
    let home = TestHome::new();
    home.write("project/open.txt", "open");
    home.write("project/closed/.env", KEY);
    work_skill(&home, "scripts/read.py", READ_ALL);
    for dir in ["home", "home/.agents", "project"] {
        // Only root can, and only root has to: the test becomes `nobody` then.
        let _ordinary_user = chown(home.path().join(dir), Some(65534), Some(65534));
    }
    let closed = home.project().join("closed");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).expect("chmod");
    let ran = run_unprivileged(&home, &["exec", "--json", "--yes", "work", "scripts/read.py"]);
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).expect("chmod");
    let Some(ran) = ran else { return };
    let Ok(document) = serde_json::from_str::<Value>(&ran.stdout) else { panic!("{ran:?}") };
    assert_eq!(stdout(&document), "1\nopen.txt=open", "{document}");
    let warnings = document["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1, "{document}");
    assert_eq!(warnings[0], "the script does not see closed: it cannot be read");
}

#[test]
fn folders_with_very_many_keys_are_hidden_as_a_whole_and_others_are_not() {
    let home = TestHome::new();
    for at in 0..700 {
        home.write(&format!("project/many/.env.{at}"), KEY);
        home.write(&format!("project/each/{at}/.env"), KEY);
    }
    home.write("project/many/beside.txt", "beside");
    home.write("project/few/.env", KEY);
    home.write("project/few/open.txt", "open");
    home.write("project/open.txt", "open");
    sees(&home, "2\nfew/open.txt=open\nopen.txt=open");
    for tier in tiers(&home) {
        let document = tier.exec(&home, &["scripts/read.py"], &[]);
        assert!(document["warnings"].to_string().contains("1,000"), "{document}");
    }
}

#[test]
fn a_script_reads_no_records_of_runs() {
    let home = TestHome::new();
    home.write("project/.agent/runs/1/events.jsonl", KEY);
    home.write("project/.agent/runs/2/observations/output-001/stdout", KEY);
    home.write("project/.agent/config.json", "{}");
    home.write("project/inner/.Agent/Runs/1/events.jsonl", KEY);
    home.write("project/runs/open.txt", "open");
    home.write("project/moved/runs/1/events.jsonl", KEY);
    std::fs::create_dir(home.project().join("linked")).expect("makes");
    symlink("../moved", home.project().join("linked/.agent")).expect("links");
    home.write("project/records/1/events.jsonl", KEY);
    std::fs::create_dir_all(home.project().join("other/.agent")).expect("makes");
    symlink("../../records", home.project().join("other/.agent/runs")).expect("links");
    sees(&home, "2\n.agent/config.json={}\nruns/open.txt=open");
}

#[test]
fn our_own_folders_are_hidden_in_a_workspace_that_holds_them() {
    let home = TestHome::new();
    work_skill(&home, "scripts/read.py", READ_ALL);
    home.write("project/open.txt", "open");
    home.write(
        "project/.metier/config.json",
        format!("{{\"execution\": {{\"env\": [\"{KEY}\"]}}}}"),
    );
    home.write("project/.metier/state/notes", KEY);
    let own = home.project().join(".metier");
    let own = own.to_str().expect("a text");
    for tier in tiers(&home) {
        for _ in 0..2 {
            let document = tier.exec(&home, &["scripts/read.py"], &[("METIER_HOME", own)]);
            assert!(!document.to_string().contains(KEY), "{}: {document}", tier.name);
            // The run's own folder lies in there, and can be read where it can be found.
            let others = |line: &&str| line.contains('=') && !line.contains("/stage/skill/");
            let others: Vec<&str> = stdout(&document).lines().filter(others).collect();
            assert!(others.contains(&"open.txt=open"), "{}: {document}", tier.name);
            assert!(!others.iter().any(|line| line.starts_with(".metier")), "{document}");
        }
    }
}
