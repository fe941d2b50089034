//! What holds scripts is tried once in a process, and again when it held no longer. How often it is tried is counted by
//! a helper that notes each of its starts.

use std::process::Command;

use metier::{ExecCall, Metier};
use metier_testkit::TestHome;

use crate::support::{builder, helper, holds_scripts};

/// A helper that writes down each time it is started, and ends at once while `broken` is there.
fn counted_helper(home: &TestHome) -> std::path::PathBuf {
    let (path, real) = (home.path().join("helper"), helper().display());
    let text = home.write(
        "helper.txt",
        format!(
            "#!/bin/sh\n[ -e '{0}/broken' ] && exit 7\necho >> '{0}/started'\nexec '{real}' \"$@\"\n",
            home.path().display()
        ),
    );
    // By another process: a file that this one has open for writing could not be started while another thread
    // starts a process.
    let mut copy = Command::new("install");
    assert!(copy.args(["-m", "755"]).args([&text, &path]).status().expect("install").success());
    path
}

fn started(home: &TestHome) -> usize {
    std::fs::read_to_string(home.path().join("started")).map_or(0, |text| text.lines().count())
}

fn exec(metier: &Metier) -> Result<String, &'static str> {
    let session = metier.session().approve(|ask| ask.once());
    match session.exec(&ExecCall::new("look", "scripts/look.sh")) {
        Ok(ran) => Ok(ran.outcome.report.stdout.text),
        Err(error) => Err(error.code),
    }
}

#[test]
fn what_holds_scripts_is_tried_once_in_a_process_and_again_when_it_held_no_longer() {
    if !holds_scripts() {
        return;
    }
    let home = TestHome::new();
    home.skill("home/.agents/skills/look", "look", "Looks around.");
    home.write("home/.agents/skills/look/scripts/look.sh", "echo looked\n");
    let open = || {
        let builder = builder(&home, "project").sandbox_helper(counted_helper(&home));
        builder.open().expect("it opens")
    };
    let metier = open();
    // Threads that begin together try it once.
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| exec(&metier))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("ends").as_deref(), Ok("looked\n"));
        }
    });
    let tries = started(&home) - 4;
    assert!(tries > 0, "it was tried");
    assert_eq!(exec(&open()).as_deref(), Ok("looked\n"));
    assert_eq!(started(&home), tries + 5, "another runtime of this process: it is known");
    home.write("broken", "");
    assert_eq!(exec(&metier), Err("sandbox-helper"));
    std::fs::remove_file(home.path().join("broken")).expect("removes");
    let before = started(&home);
    assert_eq!(exec(&metier).as_deref(), Ok("looked\n"));
    assert_eq!(started(&home), before + tries + 1, "it is tried again");
    assert_eq!(exec(&metier).as_deref(), Ok("looked\n"));
    assert_eq!(started(&home), before + tries + 2, "and once");
}
