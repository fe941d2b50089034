//! What is hidden stays hidden, in both tiers: among the system's folders, under names that are no text,
//! when it is replaced during the run; and a root that lies in a hidden folder is shown.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use metier_sandbox::{Error, RunEvent, RunOptions, Runner};

use crate::support::{helper, plan, ran_as_nobody, run, scratch, tiers};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    std::fs::write(path, text).expect("writes");
}

/// A file of the system that anybody may read, with a neighbour.
const OF_SYSTEM: [&str; 2] = ["/usr/bin/env", "/usr/bin/cat"];

#[test]
fn a_file_among_those_of_the_system_can_be_hidden() {
    if !OF_SYSTEM.iter().all(|path| Path::new(path).is_file()) {
        eprintln!("NOT TRIED: there is no {OF_SYSTEM:?}");
        return;
    }
    let dir = scratch();
    for tier in tiers() {
        let script = "/usr/bin/cat /usr/bin/env >/dev/null && echo read; \
                      /usr/bin/cat /bin/env >/dev/null && echo read; \
                      /usr/bin/cat /usr/bin/cat >/dev/null && echo neighbour; ls /usr/lib >/dev/null && echo lib";
        let mut plan = plan(dir.path(), &["/bin/sh", "-c", script]);
        assert!(run(tier, &plan).stdout.text.starts_with("read\n"), "{tier}: the control");
        plan.hidden.push("/usr/bin/env".into());
        let report = run(tier, &plan);
        assert_eq!(report.stdout.text, "neighbour\nlib\n", "{tier}: {report:?}");
    }
}

#[test]
fn a_root_in_a_hidden_folder_is_shown_and_nothing_else_of_it() {
    if ran_as_nobody("hiding::a_root_in_a_hidden_folder_is_shown_and_nothing_else_of_it") {
        return;
    }
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    for name in ["w/open", "w/own/secret", "w/own/deep/secret", "w/own/deep/shown/file"] {
        write(&at(name), name);
    }
    write(&at("w/own/deep/shown/.env"), "key");
    std::fs::create_dir_all(at("w/own/work")).expect("makes");
    for tier in tiers() {
        let script = "cd \"$1\"; cat open own/deep/shown/file; \
                      cat own/secret own/deep/secret own/deep/shown/.env; echo; echo x > own/work/x && cat own/work/x";
        let mut plan = plan(&at("w/own/work"), &["/bin/sh", "-c", script, "sh"]);
        plan.args.push(at("w").to_string_lossy().into_owned());
        plan.read_only = vec![at("w"), at("w/own/deep/shown")];
        plan.hidden = vec![at("w/own"), at("w/own/deep/shown/.env")];
        plan.closed = vec![at("w/own")];
        let report = run(tier, &plan);
        let expected = "w/openw/own/deep/shown/file\nx\n";
        assert_eq!(report.stdout.text, expected, "{tier}: {report:?}");
        assert!(!at("w/own/deep/shown/made").exists());
    }
}

#[test]
fn a_key_that_is_replaced_during_the_run_stays_hidden() {
    // Not below `/tmp`: what is mounted there is below a folder that the script may read as a whole.
    let base =
        Path::new(env!("CARGO_TARGET_TMPDIR")).canonicalize().expect("a temporary directory");
    if base.starts_with("/tmp") {
        eprintln!("NOT TRIED: the build directory is below /tmp");
        return;
    }
    let dir = tempfile::tempdir_in(base).expect("a directory");
    let at = |name: &str| dir.path().join(name);
    write(&at("w/open"), "open");
    std::fs::create_dir_all(at("work")).expect("makes");
    for tier in tiers() {
        write(&at("w/.env"), "key");
        let go = at("w/go");
        std::fs::remove_file(&go).ok();
        let script = "cd \"$1\"; cat .env; echo ready; until [ -e go ]; do sleep 0.02; done; cat .env; cat open";
        let mut plan = plan(&at("work"), &["/bin/sh", "-c", script, "sh"]);
        plan.args.push(at("w").to_string_lossy().into_owned());
        plan.read_only = vec![at("w")];
        plan.hidden = vec![at("w/.env")];
        // As an editor saves a file.
        let replace = |event: RunEvent| {
            if matches!(&event, RunEvent::Output { text, .. } if text.contains("ready")) {
                write(&at("new"), "new key");
                std::fs::rename(at("new"), at("w/.env")).expect("replaces");
                write(&go, "");
            }
        };
        let report = Runner::new(helper(), tier).run(&plan, &RunOptions::default(), &replace);
        let report = report.unwrap_or_else(|error| panic!("{tier}: {error}"));
        assert_eq!(report.stdout.text, "ready\nopen", "{tier}: {report:?}");
        std::fs::remove_file(&go).expect("was there");
    }
}

#[test]
fn names_that_are_no_text_are_hidden_and_their_neighbours_are_not() {
    let dir = scratch();
    let odd = dir.path().join("w").join(OsStr::from_bytes(b"\xff\xfe"));
    write(&odd.join(".env"), "key");
    write(&odd.join("open"), "open");
    write(&odd.join(OsStr::from_bytes(b"n\xff")), "neighbour");
    std::fs::create_dir_all(dir.path().join("work")).expect("makes");
    for tier in tiers() {
        let script = "cd \"$1\"/*/ && cat .env; cat open n*";
        let mut plan = plan(&dir.path().join("work"), &["/bin/sh", "-c", script, "sh"]);
        plan.args.push(dir.path().join("w").to_string_lossy().into_owned());
        plan.read_only = vec![dir.path().join("w")];
        plan.hidden = vec![odd.join(".env")];
        let report = run(tier, &plan);
        assert_eq!(report.stdout.text, "openneighbour", "{tier}: {report:?}");
    }
}

#[test]
fn a_plan_that_would_show_a_closed_place_is_refused_before_anything_starts() {
    let dir = scratch();
    let home = dir.path().join("home");
    write(&home.join("secret"), "secret");
    std::fs::create_dir_all(dir.path().join("work")).expect("makes");
    for tier in tiers() {
        let mut plan = plan(&dir.path().join("work"), &["/bin/true"]);
        plan.closed = vec![home.clone()];
        for root in [home.as_path(), dir.path()] {
            plan.read_only = vec![root.to_owned()];
            let refused = Runner::new(helper(), tier).run(&plan, &RunOptions::default(), &|_| {});
            let is_refused =
                matches!(&refused, Err(Error::Plan { reason }) if reason.contains("would show"));
            assert!(is_refused, "{tier}: {refused:?}");
        }
    }
}

#[test]
fn links_between_roots_are_there_and_open_nothing_by_themselves() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    write(&at("store/one/lib/code"), "code");
    write(&at("store/one/secret"), "secret");
    std::os::unix::fs::symlink("one", at("store/current")).expect("links");
    std::fs::create_dir_all(at("work")).expect("makes");
    for tier in tiers() {
        let script = "cat \"$1/current/lib/code\"; cat \"$1/current/secret\" \"$1/one/secret\"";
        let mut plan = plan(&at("work"), &["/bin/sh", "-c", script, "sh"]);
        plan.args.push(at("store").to_string_lossy().into_owned());
        plan.read_only = vec![at("store/one/lib")];
        plan.links.insert(at("store/current"), "one".into());
        let report = run(tier, &plan);
        assert_eq!(report.stdout.text, "code", "{tier}: {report:?}");
    }
}
