//! What of an interpreter's installation a script can read, through the binary and in both tiers. An
//! installation in the home directory shows its code and nothing of the user's.
#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_testkit::TestHome;
use serde_json::Value;

use crate::support::{tiers, work_skill};

/// What no script may print.
const SECRET: &str = "SECRET-OF-THE-USER";

/// Prints where the interpreter is, then what it can read of the files that are named, by name. A file that
/// an argument names by its path would be given as a copy: the person means it. `@` before it hides that.
const READ: &str = r#"import os, sys
try:
    import installed
    print(installed.WORD)
except ImportError:
    print("no module")
print(sys.executable)
for path in sys.argv[1:]:
    try:
        print(os.path.basename(path), open(path[1:]).read())
    except OSError as error:
        pass
"#;

const PYTHON: &str = "/usr/bin/python3";

/// A home with files that no script may read, and a skill whose script tries.
fn home() -> Option<(TestHome, PathBuf)> {
    if !Path::new(PYTHON).exists() {
        metier_testkit::not_tested_without("python3", format_args!("there is no {PYTHON}"));
        return None;
    }
    let home = TestHome::new();
    work_skill(&home, "scripts/read.py", READ);
    for file in SECRETS {
        home.write(&format!("home/{file}"), SECRET);
    }
    let real = home.home().canonicalize().expect("a home");
    Some((home, real))
}

const SECRETS: &[&str] = &[
    "secret.txt",
    ".ssh/id_ed25519",
    ".ssh/config",
    ".config/gh/hosts.yml",
    ".local/share/keyrings/login.keyring",
    ".local/share/app/data",
    ".local/state/app/data",
    ".local/notes.txt",
    "Documents/letter.txt",
    "tools/letter.txt",
];

/// Links `at` to the system's interpreter, as a virtual environment does.
fn link_python(at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("makes");
    symlink(PYTHON, at).expect("links");
}

/// Copies the system's interpreter. `cp`, not a copy of our own: a file that this process has open for
/// writing could not be started.
fn copy_python(at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("makes");
    assert!(Command::new("cp").args(["-L", PYTHON]).arg(at).status().expect("cp").success());
}

/// Writes the file that makes a folder a virtual environment, and a module into it.
fn make_venv(venv: &Path) {
    std::fs::create_dir_all(venv.join("bin")).expect("makes");
    std::fs::write(
        venv.join("pyvenv.cfg"),
        "home = /usr/bin\ninclude-system-site-packages = false\n",
    )
    .expect("writes");
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let version = Command::new(PYTHON).args(["-c", version]).output().expect("starts").stdout;
    let version = String::from_utf8(version).expect("a text");
    let packages = venv.join(format!("lib/python{}/site-packages", version.trim()));
    std::fs::create_dir_all(&packages).expect("makes");
    std::fs::write(packages.join("installed.py"), "WORD = 'from the environment'\n")
        .expect("writes");
    std::fs::write(packages.join(".env"), SECRET).expect("writes");
}

/// Runs the script in each tier with this `PATH` before the system's, and with all secrets and `more` as
/// arguments. Gives what it printed, which has none of them in it.
fn printed(home: &TestHome, path: &Path, more: &[PathBuf]) -> Vec<String> {
    let real = home.home().canonicalize().expect("a home");
    let files = SECRETS.iter().map(|file| real.join(file)).chain(more.iter().cloned());
    let files: Vec<String> = files.map(|file| format!("@{}", file.display())).collect();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", path.display());
    let mut args = vec!["scripts/read.py", "--"];
    args.extend(files.iter().map(String::as_str));
    let run = |tier: &crate::support::TierHere| {
        let document = tier.exec(home, &args, &[("PATH", &path)]);
        let text = document["stdout"].as_str().unwrap_or_else(|| panic!("{document}")).to_owned();
        assert!(!text.contains(SECRET), "{}: {text}", tier.name);
        assert_eq!(document["exit_code"], Value::from(0), "{}: {document}", tier.name);
        text
    };
    tiers(home).iter().map(run).collect()
}

#[test]
fn an_environment_that_is_the_home_directory_shows_nothing_of_it() {
    let Some((home, real)) = home() else { return };
    make_venv(&real);
    link_python(&real.join("bin/python3"));
    home.write("home/bin/mine.sh", SECRET);
    home.write("home/lib/letter.txt", SECRET);
    home.write("home/share/letter.txt", SECRET);
    let more = ["bin/mine.sh", "lib/letter.txt", "share/letter.txt"].map(|file| real.join(file));
    for text in printed(&home, &real.join("bin"), &more) {
        assert!(text.starts_with("no module\n/usr/bin/python3"), "{text}");
    }
    // The same by way of a link to the folder, and of one to the home directory.
    let links = home.path().join("links");
    std::fs::create_dir(&links).expect("makes");
    symlink(real.join("bin"), links.join("bin")).expect("links");
    std::fs::copy(real.join("pyvenv.cfg"), links.join("pyvenv.cfg")).expect("copies");
    printed(&home, &links.join("bin"), &more);
    symlink(&real, links.join("home")).expect("links");
    printed(&home, &links.join("home/bin"), &more);
}

#[test]
fn an_environment_in_the_shared_folder_shows_its_code_and_no_other_programs_data() {
    let Some((home, real)) = home() else { return };
    let venv = real.join(".local");
    make_venv(&venv);
    link_python(&venv.join("bin/python3"));
    symlink("lib", venv.join("lib64")).expect("links");
    for _ in 0..2 {
        for text in printed(&home, &venv.join("bin"), &[]) {
            assert!(text.starts_with("from the environment\n"), "{text}");
            assert!(text.contains(".local/bin/python3\n"), "{text}");
        }
    }
}

#[test]
fn an_interpreter_outside_a_bin_shows_only_itself() {
    let Some((home, real)) = home() else { return };
    copy_python(&real.join("tools/python3"));
    copy_python(&real.join("python3"));
    copy_python(&real.join("bin/python3"));
    home.write("home/bin/mine.sh", SECRET);
    home.write("home/lib/letter.txt", SECRET);
    let more = ["bin/mine.sh", "lib/letter.txt"].map(|file| real.join(file));
    symlink(&real, home.path().join("link-to-home")).expect("links");
    let places =
        [real.join("tools"), real.clone(), real.join("bin"), home.path().join("link-to-home")];
    for place in places {
        let own = place.canonicalize().expect("a folder").join("python3");
        for text in printed(&home, &place, &more) {
            assert!(text.contains(&*own.to_string_lossy()), "{}: {text}", place.display());
        }
    }
}

#[test]
fn the_parts_of_an_installation_that_lead_elsewhere_are_not_shown() {
    let Some((home, real)) = home() else { return };
    let prefix = real.join("opt/python");
    copy_python(&prefix.join("bin/python3"));
    for (part, to) in [("lib", "Documents"), ("include", ".ssh"), ("share", ".local"), ("ssl", "")]
    {
        symlink(real.join(to), prefix.join(part)).expect("links");
    }
    let through = [prefix.join("lib/letter.txt"), prefix.join("include/config")];
    printed(&home, &prefix.join("bin"), &through);
    let venv = real.join("opt/venv");
    link_python(&venv.join("bin/python3"));
    std::fs::write(venv.join("pyvenv.cfg"), "home = /usr/bin\n").expect("writes");
    symlink(real.join("Documents"), venv.join("lib")).expect("links");
    printed(&home, &venv.join("bin"), &[venv.join("lib/letter.txt")]);
}

#[test]
fn an_environment_and_a_version_managers_interpreter_work_and_their_keys_are_hidden() {
    let Some((home, real)) = home() else { return };
    let venv = real.join("envs/data");
    make_venv(&venv);
    // By way of a link to a whole installation, as `uv` makes it.
    let base = real.join("store/python-3.x.y");
    copy_python(&base.join("bin/python3.99"));
    symlink("python-3.x.y", real.join("store/python-3.x")).expect("links");
    symlink(real.join("store/python-3.x/bin/python3.99"), venv.join("bin/python")).expect("links");
    symlink("python", venv.join("bin/python3")).expect("links");
    home.write("home/envs/data/share/letter.txt", SECRET);
    home.write("home/store/python-3.x.y/lib/.env", SECRET);
    let more =
        ["envs/data/share/letter.txt", "store/python-3.x.y/lib/.env"].map(|it| real.join(it));
    for text in printed(&home, &venv.join("bin"), &more) {
        assert!(text.starts_with("from the environment\n"), "{text}");
        assert!(text.contains("envs/data/bin/python3\n"), "{text}");
    }
    // pyenv: a shim, a file that names the version, and folders of versions.
    let pyenv = real.join(".pyenv");
    copy_python(&pyenv.join("versions/3.9.1/bin/python3"));
    home.write("home/.pyenv/shims/python3", "#!/usr/bin/env bash\n");
    home.write("home/.pyenv/version", "3.9.1\n");
    home.write("home/.pyenv/versions/3.9.1/lib/code.txt", "code of the installation");
    home.write("home/.pyenv/versions/3.9.1/lib/id_rsa", SECRET);
    let more = ["lib/code.txt", "lib/id_rsa"].map(|file| pyenv.join("versions/3.9.1").join(file));
    for text in printed(&home, &pyenv.join("shims"), &more) {
        assert!(text.contains(".pyenv/versions/3.9.1/bin/python3\n"), "{text}");
        assert!(text.contains("code of the installation"), "{text}");
    }
}

#[test]
fn an_environment_in_the_workspace_is_not_used_however_it_is_reached() {
    let Some((home, _)) = home() else { return };
    let venv = home.project().join(".venv");
    make_venv(&venv);
    copy_python(&venv.join("bin/python3"));
    symlink(venv.join("bin"), home.path().join("activated")).expect("links");
    symlink(venv.join("bin/python3"), home.path().join("home/python3")).expect("links");
    for place in [venv.join("bin"), home.path().join("activated"), home.home()] {
        for text in printed(&home, &place, &[]) {
            assert!(text.starts_with("no module\n/usr/bin/python3"), "{}: {text}", place.display());
        }
    }
}
