//! Tests of permissions where root runs them: root may read everything, so the test is run again by
//! a process of its own that is nobody. Unix only, like permissions themselves.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user and group of those who own nothing.
const NOBODY: u32 = 65534;

/// Set for the process that runs the test again.
const AGAIN: &str = "METIER_TEST_AS_NOBODY";

/// Whether the calling test is done, because it ran as another user; it must return then. `test` is
/// its own name with its modules, as the test binary lists it. False where permissions stop this user
/// anyway: the test continues here.
///
/// Where root cannot become another user, this says that nothing was tested.
pub fn ran_unprivileged(test: &str) -> bool {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    };
    let probe = dir.path().join("probe");
    std::fs::write(&probe, "x").expect("writes");
    set(&probe, 0o000);
    if std::fs::read(&probe).is_err() {
        return false;
    }
    let becomes = Command::new("true").uid(NOBODY).gid(NOBODY).status().is_ok();
    if std::env::var_os(AGAIN).is_some() || !becomes {
        crate::not_tested("this user may read everything and cannot become another");
        return true;
    }
    // The build directory may be closed to others. `cp`, not a copy of our own: a file that this
    // process has open for writing could not be started while another thread starts a process.
    let binary = dir.path().join("tests");
    let own = std::env::current_exe().expect("a test binary");
    assert!(Command::new("cp").arg(own).arg(&binary).status().expect("cp").success());
    set(&binary, 0o755);
    // Its temporary files go here. Sticky like `/tmp`: what everyone could replace, no test could trust.
    set(dir.path(), 0o1777);
    let output = Command::new(&binary)
        .args(["--exact", test, "--nocapture"])
        .env(AGAIN, "1")
        .env("TMPDIR", dir.path())
        .current_dir(dir.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("the test binary starts");
    let said = [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned());
    let passed = output.status.success() && said[0].contains("1 passed");
    assert!(passed, "as nobody, `{test}` gave:\n{}\n{}", said[0], said[1]);
    if said[1].contains("NOT TESTED") {
        let _ = std::io::stderr().write_all(said[1].as_bytes());
    }
    true
}
