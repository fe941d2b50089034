//! `metier install` from git repositories: real ones, served on loopback by `git daemon` and smart HTTP, on
//! disk and through a stand-in for ssh; honest, broken and hostile.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use metier_testkit::{GitServer, TestHome, TestRepository, skill_text};
use serde_json::Value;

use crate::support::{METIER, answer_on_terminal, at, files_below, json, run};

/// A repository `repo` with two skills in `skills`, and files beside them. Its tag `v1` is the first commit.
fn with_repository() -> (TestHome, TestRepository) {
    let home = TestHome::new();
    home.skill("served/repo/skills/pdf", "pdf", "Fill PDF forms.");
    let script = home.write("served/repo/skills/pdf/scripts/fill.sh", "#!/bin/sh\r\necho\n");
    fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("chmod");
    home.skill("served/repo/skills/csv", "csv", "Read CSV.");
    home.write("served/repo/README.md", "# Skills\n");
    let repository = TestRepository::new(home.path().join("served/repo"));
    repository.commit();
    repository.git(&["tag", "v1"]);
    (home, repository)
}

fn served(home: &TestHome) -> std::path::PathBuf {
    home.path().join("served")
}

fn lock(home: &TestHome) -> Value {
    let text = fs::read_to_string(home.project().join(".agent/skills.lock.json")).expect("a lock");
    serde_json::from_str(&text).expect("JSON")
}

fn error_code(home: &TestHome, args: &[&str]) -> (i32, String, String) {
    let output = run(home, &[args, &["--json"]].concat());
    let error = &output.json()["error"];
    let text = format!("{} {}", error["message"].as_str().expect("said"), error["help"]);
    (output.code, error["code"].as_str().expect("a code").to_owned(), text)
}

#[test]
fn a_repository_is_listed_chosen_from_installed_and_pinned() {
    let (home, repository) = with_repository();
    let first = repository.git(&["rev-parse", "HEAD"]);
    for server in [GitServer::daemon(&served(&home)), GitServer::http(&served(&home))] {
        let url = server.url("repo/.git");
        let listed = run(&home, &["install", &url, "--list", "--yes"]);
        assert_eq!(listed.stdout, "csv  Read CSV.\npdf  Fill PDF forms.\n", "{listed:?}");
        let (exit, code, said) = error_code(&home, &["install", &url, "--yes"]);
        assert_eq!((exit, code.as_str()), (2, "several-skills"));
        assert!(said.contains("csv, pdf"), "{said}");
        assert!(!home.project().join(".agent").exists(), "nothing is left of it");

        let shown =
            json(&home, &["install", &url, "--skill", "pdf", "--yes", "--dry-run", "--json"]);
        let done = json(&home, &["install", &url, "--skill", "pdf", "--yes", "--json"]);
        assert_eq!(shown["skills"], done["skills"]);
        let installed = home.project().join(".agent/skills");
        assert_eq!(files_below(&installed.join("pdf")), ["SKILL.md", "scripts/fill.sh"]);
        let script = installed.join("pdf/scripts/fill.sh");
        assert_eq!(fs::read(&script).expect("there"), b"#!/bin/sh\r\necho\n", "byte for byte");
        assert_ne!(fs::metadata(&script).expect("there").permissions().mode() & 0o100, 0);
        let locked = lock(&home)["skills"]["pdf"].clone();
        assert_eq!(
            (&locked["kind"], &locked["resolved"], &locked["path"]),
            (&"git".into(), &first.as_str().into(), &"skills/pdf".into())
        );

        let again = run(&home, &["install", &url, "--skill", "pdf", "--yes"]);
        assert!(again.stdout.contains("should be"), "{again:?}");
        assert_eq!(run(&home, &["verify"]).code, 0);
        assert_eq!(run(&home, &["install", &url, "--all", "--yes"]).code, 0);
        assert_eq!(files_below(&installed.join("csv")), ["SKILL.md"]);
        assert_eq!(run(&home, &["uninstall", "pdf", "csv", "--yes"]).code, 0);
        fs::remove_dir_all(home.project().join(".agent")).expect("removes");
        assert_eq!(
            files_below(&home.home().join(".local/state/metier/fetch")),
            Vec::<String>::new()
        );
    }
}

#[test]
fn the_lock_is_installed_again_when_the_branch_and_the_tag_have_moved_on() {
    let (home, repository) = with_repository();
    let server = GitServer::daemon(&served(&home));
    let allow = format!(r#"{{"sources": {{"allow": ["git://{}"]}}}}"#, server.address());
    home.write("home/.agent/config.json", allow);
    let (branch, tag) = (server.url("repo/.git"), server.url("repo/.git#v1"));
    assert_eq!(run(&home, &["install", &branch, "--skill", "csv", "--yes"]).code, 0);
    assert_eq!(run(&home, &["install", &tag, "--skill", "pdf", "--yes"]).code, 0);
    let before = lock(&home);
    assert_eq!(before["skills"]["pdf"]["source"], tag);
    home.skill("served/repo/skills/pdf", "pdf", "Something else.");
    home.skill("served/repo/skills/csv", "csv", "Something else.");
    let second = repository.commit();
    repository.git(&["tag", "--force", "v1"]);

    fs::remove_dir_all(home.project().join(".agent/skills")).expect("removes");
    let locked = run(&home, &["install", "--locked", "--yes"]);
    assert_eq!((locked.code, lock(&home)), (0, before.clone()), "{locked:?}");
    let text =
        fs::read_to_string(home.project().join(".agent/skills/pdf/SKILL.md")).expect("there");
    assert!(text.contains("Fill PDF forms."), "exactly what was locked");
    assert_eq!(run(&home, &["install", "--locked", "--yes"]).code, 0, "and again");

    // A clone has the lock, and often not the folder.
    for is_there in [true, false] {
        if !is_there {
            fs::remove_dir_all(home.project().join(".agent/skills/pdf")).expect("removes");
        }
        let (exit, code, said) = error_code(&home, &["install", &tag, "--skill", "pdf", "--yes"]);
        assert_eq!((exit, code.as_str()), (1, "already-exists"), "a moved tag is not followed");
        assert!(said.contains("tag that has been moved") && said.contains("publisher"), "{said}");
    }
    assert_eq!(run(&home, &["install", &tag, "--skill", "pdf", "--yes", "--force"]).code, 0);
    assert_eq!(run(&home, &["install", &branch, "--skill", "csv", "--yes"]).code, 0, "a branch is");
    for name in ["pdf", "csv"] {
        assert_eq!(lock(&home)["skills"][name]["resolved"], second.as_str());
    }
}

#[test]
fn a_commit_that_is_gone_is_an_error_of_its_own() {
    let (home, _repository) = with_repository();
    let server = GitServer::daemon(&served(&home));
    let url = server.url("repo/.git");
    assert_eq!(run(&home, &["install", &url, "--skill", "csv", "--yes"]).code, 0);
    home.write(
        "home/.agent/config.json",
        format!(r#"{{"sources": {{"allow": ["git://{}"]}}}}"#, server.address()),
    );
    fs::remove_dir_all(home.path().join("served/repo")).expect("removes");
    home.skill("served/repo/skills/csv", "csv", "New.");
    TestRepository::new(home.path().join("served/repo")).commit();
    fs::remove_dir_all(home.project().join(".agent/skills")).expect("removes");
    let (exit, code, said) = error_code(&home, &["install", "--locked", "--yes"]);
    assert_eq!((exit, code.as_str()), (1, "commit-gone"), "{said}");
}

#[test]
fn every_spelling_of_a_ref_and_a_path_works() {
    let (home, repository) = with_repository();
    let first = repository.git(&["rev-parse", "HEAD"]);
    home.skill("served/repo/skills/pdf", "pdf", "Second.");
    let second = repository.commit();
    repository.git(&["branch", "feature/x"]);
    repository.git(&["tag", "--annotate", "--message=x", "v2"]);
    let bare = at(&home, "served/repo/.git");
    let server = GitServer::http(&served(&home));
    let url = server.url("repo/.git");
    for (source, extra, commit) in [
        (format!("{url}//skills/pdf#v1"), &[][..], &first),
        (format!("{url}//skills/pdf"), &["--ref", "v1"], &first),
        (format!("{url}//skills/pdf"), &["--ref", &first], &first),
        (format!("{url}//skills/pdf#feature/x"), &[], &second),
        (format!("{url}//skills/pdf#v2"), &[], &second),
        (format!("{url}//skills/pdf#refs/heads/main"), &[], &second),
        (format!("{bare}//skills/pdf#v1"), &[], &first),
        (format!("file://{bare}//skills/pdf@v1"), &[], &first),
        ("../served/repo//skills/pdf@v1".to_owned(), &[], &first),
        ("../served/repo".to_owned(), &["--ref", "v1", "--skill", "pdf"], &first),
    ] {
        let args = [&["install", &source, "--yes", "--dry-run", "--json"], extra].concat();
        let plan = json(&home, &args);
        assert_eq!(plan["skills"][0]["resolved"], commit.as_str(), "{source} {extra:?}");
        assert_eq!(plan["skills"].as_array().map(Vec::len), Some(1), "{source}");
    }
    let plan = json(&home, &["install", "../served/repo", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["kind"], "directory", "a directory stays a directory");
}

#[test]
fn each_failure_has_its_own_code_and_advice() {
    let (home, _repository) = with_repository();
    let server = GitServer::daemon(&served(&home));
    let url = |rest: &str| server.url(rest);
    home.write("served/empty/x", "");
    TestRepository::new(home.path().join("served/empty"));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let unreachable = format!("git://{}/x.git", gone.local_addr().expect("bound"));
    drop(gone);
    for (source, code, said) in [
        (url("none/.git"), "repository-not-found", "check the name"),
        (unreachable, "unreachable", "the network"),
        (url("repo/.git#v2"), "ref-not-found", "the nearest: main, v1"),
        (url("repo/.git#0123abc"), "ref-not-found", "main"),
        (url("repo/.git//skils/pdf"), "path-not-found", "skills/pdf"),
        (url("empty/.git"), "repository-empty", "push"),
        (url("repo/.git//skills/pdf/scripts"), "no-skill", "SKILL.md"),
        (url("repo/.git#--upload-pack=x"), "bad-source", "ref"),
        (url("-x/.git"), "bad-source", "path"),
    ] {
        let (_, found, text) = error_code(&home, &["install", &source, "--yes"]);
        assert_eq!(found, code, "{source}: {text}");
        assert!(text.contains(said), "{source}: {text}");
    }
    let (_, code, text) =
        error_code(&home, &["install", &url("repo/.git"), "--skill", "pdff", "--yes"]);
    assert_eq!(code, "not-in-source");
    assert!(text.contains("csv, pdf"), "{text}");

    let mut command = home.command(METIER);
    command.env("PATH", home.path().join("empty")).args(["install", &url("repo/.git"), "--yes"]);
    let output = TestHome::finish(&mut command);
    assert!(output.stderr.contains("git is not installed"), "{output:?}");
}

#[test]
fn a_private_repository_says_so_and_credentials_are_used_and_never_written() {
    let (home, _repository) = with_repository();
    let server = GitServer::http(&served(&home));
    // `me:s3cret` as HTTP spells it.
    server.want_login("Basic bWU6czNjcmV0");
    let url = server.url("repo/.git");
    let (exit, code, text) = error_code(&home, &["install", &url, "--all", "--yes"]);
    assert_eq!((exit, code.as_str()), (1, "repository-private"), "{text}");
    let with_login = url.replace("http://", "http://me:s3cret@");
    let output = run(&home, &["install", &with_login, "--all", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let wrong = url.replace("http://", "http://me:wr0ng@");
    let refused = run(&home, &["install", &wrong, "--all", "--yes"]);
    assert!(!format!("{output:?}{refused:?}").contains("s3cret"));
    assert!(!format!("{refused:?}").contains("wr0ng"), "{refused:?}");
    for file in ["skills.json", "skills.lock.json"] {
        let text = fs::read_to_string(home.project().join(".agent").join(file)).expect("written");
        assert!(text.contains(&url) && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn a_redirect_to_a_host_that_no_one_judged_is_not_followed() {
    let (home, _repository) = with_repository();
    let (first, other) = (GitServer::http(&served(&home)), GitServer::http(&served(&home)));
    first.redirect(&format!("http://{}", other.address()));
    let (_, code, text) =
        error_code(&home, &["install", &first.url("repo/.git"), "--all", "--yes"]);
    assert_eq!((code.as_str(), other.connections()), ("repository-moved", 0), "{text}");
}

/// Programs that git would run if it read anyone's configuration, hooks or attributes.
fn trap(home: &TestHome) -> std::path::PathBuf {
    let marker = home.path().join("RAN");
    let script = home.write("trap", format!("#!/bin/sh\ntouch {}\ncat\n", marker.display()));
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("chmod");
    let trap = script.display();
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"] {
        let hook = home.write(&format!("hooks/{hook}"), format!("#!/bin/sh\nexec {trap}\n"));
        fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).expect("chmod");
    }
    let hooks = home.path().join("hooks");
    let config = format!(
        "[core]\n hooksPath = {}\n fsmonitor = {trap}\n sshCommand = {trap}\n gitProxy = {trap}\n askPass = {trap}\n\
         [credential]\n helper = {trap}\n[filter \"evil\"]\n smudge = {trap}\n process = {trap}\n required = true\n\
         [uploadpack]\n packObjectsHook = {trap}\n[init]\n templateDir = {}\n[url \"ext::{trap} \"]\n insteadOf = git://\n",
        hooks.display(),
        home.path().join("template").display(),
    );
    home.write("home/.gitconfig", &config);
    home.write("home/.config/git/config", &config);
    let hook =
        home.write("template/hooks/reference-transaction", format!("#!/bin/sh\nexec {trap}\n"));
    fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).expect("chmod");
    marker
}

#[test]
fn nothing_of_a_repository_or_of_a_configuration_runs() {
    let (home, repository) = with_repository();
    let marker = trap(&home);
    home.write("served/repo/.gitattributes", "* filter=evil\n*.sh text eol=lf ident\n");
    home.write("served/repo/skills/pdf/.gitattributes", "* filter=evil eol=crlf\n");
    home.write(
        "served/repo/.gitmodules",
        "[submodule \"m\"]\n path = skills/pdf/m\n url = ../other\n update = !touch\n",
    );
    home.write(
        "served/repo/skills/pdf/big.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
    );
    symlink("/etc/passwd", home.path().join("served/repo/skills/pdf/link")).expect("link");
    // By itself git applies the attributes only to what it takes for changed, which depends on the clock.
    repository.git(&["add", "--renormalize", "."]);
    let head = repository.commit();
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},skills/pdf/m"),
    ]);
    repository.git(&["commit", "--quiet", "--message=module"]);
    for server in [GitServer::daemon(&served(&home)), GitServer::http(&served(&home))] {
        let url = server.url("repo/.git");
        let output = run(&home, &["install", &url, "--skill", "pdf", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
        for left in ["link (a link)", "m (not a regular file)", "big.bin (a git lfs pointer"] {
            assert!(output.stderr.contains(left), "{left}: {output:?}");
        }
        let installed = home.project().join(".agent/skills/pdf");
        assert_eq!(files_below(&installed), [".gitattributes", "SKILL.md", "scripts/fill.sh"]);
        let script = fs::read(installed.join("scripts/fill.sh")).expect("there");
        // A checkout would write CRLF.
        assert_eq!(script, b"#!/bin/sh\necho\n", "no attribute changes a byte");
        assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0);
    }
    let local = run(&home, &["install", &at(&home, "served/repo/.git"), "--all", "--yes"]);
    assert_eq!(local.code, 0, "{local:?}");
    assert!(!marker.exists(), "a program ran");
}

#[test]
fn names_that_lead_out_or_collide_and_files_too_large_are_refused() {
    let (home, repository) = with_repository();
    let blob = repository.git_with(&["hash-object", "-w", "--stdin"], "x\n");
    let skill =
        repository.git_with(&["hash-object", "-w", "--stdin"], &skill_text("evil", "Evil."));
    let server = GitServer::http(&served(&home));
    let before = files_below(home.path());
    let tree = |lines: &str| repository.git_with(&["mktree"], lines);
    let dots = tree(&format!("100644 blob {blob}\tevil.sh\n"));
    let up = tree(&format!("100644 blob {skill}\tSKILL.md\n040000 tree {dots}\t..\n"));
    let git_dir = tree(&format!("100644 blob {skill}\tSKILL.md\n040000 tree {dots}\t.GIT\n"));
    let folded = tree(&format!(
        "100644 blob {skill}\tSKILL.md\n100644 blob {blob}\tA.md\n100644 blob {blob}\ta.md\n"
    ));
    let reserved = tree(&format!("100644 blob {skill}\tSKILL.md\n100644 blob {blob}\taux.txt\n"));
    for (tree, what) in [
        (&up, "archive-name-parent"),
        (&folded, "archive-name-collision"),
        (&reserved, "archive-name-reserved"),
    ] {
        repository.commit_tree(tree);
        let (exit, code, text) = error_code(&home, &["install", &server.url("repo/.git"), "--yes"]);
        assert_eq!((exit, code.as_str()), (1, what), "{text}");
        assert!(!home.project().join(".agent").exists(), "{what}");
    }
    repository.commit_tree(&git_dir);
    run(&home, &["install", &server.url("repo/.git"), "--yes"]);
    assert!(!home.project().join(".agent/skills/evil/.GIT").exists());
    let own = |files: Vec<String>| -> Vec<String> {
        let outside = |file: &String| {
            !file.starts_with("served/")
                && !file.starts_with("project/")
                && !file.starts_with("home/")
        };
        files.into_iter().filter(outside).collect()
    };
    assert_eq!(own(files_below(home.path())), own(before), "nothing else was touched");

    fs::remove_dir_all(home.project().join(".agent")).ok();
    home.write("served/repo/skills/pdf/huge", vec![0; 101 << 20]);
    repository.git(&["read-tree", "v1"]);
    repository.commit();
    let (_, code, text) =
        error_code(&home, &["install", &server.url("repo/.git"), "--all", "--yes"]);
    assert_eq!(code, "archive-size", "{text}");
    assert!(text.contains("skills/pdf/huge"), "{text}");
    assert!(!home.project().join(".agent").exists());
}

#[test]
fn ssh_is_asked_without_a_question_and_its_failures_are_known() {
    let (home, _repository) = with_repository();
    let log = home.path().join("ssh.log");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nfor last; do :; done\ncase \"$last\" in *private*) echo 'git@h: Permission denied (publickey).' >&2; exit 255;; \
         *unknown*) echo 'Host key verification failed.' >&2; exit 255;; esac\ncd {} && exec sh -c \"$last\"\n",
        log.display(),
        served(&home).display()
    );
    let ssh = home.write("bin/ssh", script);
    fs::set_permissions(ssh, PermissionsExt::from_mode(0o755)).expect("chmod");
    let path =
        format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").expect("a path"));
    let install = |source: &str| {
        let mut command = home.command(METIER);
        TestHome::finish(
            command.env("PATH", &path).args(["install", source, "--all", "--yes", "--json"]),
        )
    };
    let done = install("git@example.org:repo/.git");
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(lock(&home)["skills"]["pdf"]["source"], "git@example.org:repo/.git");
    let said = fs::read_to_string(&log).expect("logged");
    assert!(said.contains("BatchMode=yes") && said.contains("git@example.org"), "{said}");
    assert_eq!(
        install("ssh://git@example.org/private").json()["error"]["code"],
        "repository-private"
    );
    assert_eq!(
        install("ssh://git@example.org/unknown").json()["error"]["code"],
        "host-key-unknown"
    );
}

/// An OpenSSH server of this account on a free port of loopback, with keys of its own. It ends when it is dropped.
struct SshServer {
    child: std::process::Child,
    port: u16,
}

impl SshServer {
    /// Gives the server, and writes `ssh`, which reaches it with the right key, into `bin`.
    fn start(home: &TestHome) -> Option<Self> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.exists() {
            metier_testkit::not_tested_without("sshd", "there is no sshd to fetch from");
            return None;
        }
        let dir = home.path().join("ssh");
        fs::create_dir_all(&dir).expect("a directory");
        for key in ["host", "user"] {
            let made = std::process::Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(dir.join(key))
                .status();
            assert!(made.expect("ssh-keygen").success());
        }
        let port = crate::web_server::closed_port();
        let at = dir.display();
        home.write("ssh/authorized", fs::read_to_string(dir.join("user.pub")).expect("a key"));
        let host_key = fs::read_to_string(dir.join("host.pub")).expect("a key");
        home.write("ssh/known", format!("[127.0.0.1]:{port} {host_key}"));
        home.write(
            "ssh/server",
            format!(
                "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
                 StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n"
            ),
        );
        home.write(
            "ssh/client",
            format!("IdentityFile {at}/user\nIdentitiesOnly yes\nUserKnownHostsFile {at}/known\n"),
        );
        let ssh =
            home.write("bin/ssh", format!("#!/bin/sh\nexec /usr/bin/ssh -F {at}/client \"$@\"\n"));
        fs::set_permissions(ssh, PermissionsExt::from_mode(0o755)).expect("chmod");
        // As root it wants an empty folder that only root can write, at a fixed place.
        let line = format!(
            "mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f {at}/server"
        );
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = std::process::Command::new("unshare");
            command.args(["--mount", "sh", "-c", &line]);
            command
        } else {
            let mut command = std::process::Command::new(sshd);
            command.args(["-D", "-e", "-f"]).arg(dir.join("server"));
            command
        };
        let log = fs::File::create(dir.join("log")).expect("a log");
        let mut child = command.stderr(log).spawn().expect("starts");
        for _ in 0..200 {
            if crate::web_server::answers(port) {
                return Some(Self { child, port });
            }
            if child.try_wait().expect("waits").is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let said = fs::read_to_string(dir.join("log")).unwrap_or_default();
        metier_testkit::not_tested(format_args!("sshd does not start here: {said}"));
        let _ = child.kill();
        None
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_ssh_server_is_fetched_from_and_one_that_is_not_known_is_refused() {
    let (home, _repository) = with_repository();
    let Some(server) = SshServer::start(&home) else { return };
    let path =
        format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").expect("a path"));
    let install = |source: &str| {
        let mut command = home.command(METIER);
        TestHome::finish(
            command.env("PATH", &path).args(["install", source, "--all", "--yes", "--json"]),
        )
    };
    let user = std::process::Command::new("id").arg("-un").output().expect("id").stdout;
    let user = String::from_utf8(user).expect("a name").trim().to_owned();
    let url = |repository: &str| {
        let place = served(&home).join(repository);
        format!("ssh://{user}@127.0.0.1:{}{}", server.port, place.display())
    };
    let done = install(&url("repo/.git"));
    assert_eq!(done.code, 0, "{done:?}");
    assert!(home.project().join(".agent/skills/pdf/scripts/fill.sh").exists());
    let code = |output: &metier_testkit::Output| output.json()["error"]["code"].clone();
    assert_eq!(code(&install(&url("none/.git"))), "repository-not-found");
    home.write("ssh/known", "");
    assert_eq!(code(&install(&url("repo/.git"))), "host-key-unknown");
}

#[test]
fn a_linked_manual_in_a_repository_is_said_and_not_followed() {
    let (home, repository) = with_repository();
    let folder = served(&home).join("repo/skills");
    fs::create_dir_all(folder.join("linked")).expect("a directory");
    symlink("../pdf/SKILL.md", folder.join("linked/SKILL.md")).expect("links");
    repository.commit();
    let source = format!("{}#main", served(&home).join("repo").display());
    let listed = run(&home, &["install", &source, "--list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stderr.contains("left out: skills/linked/SKILL.md (a link)"), "{listed:?}");
    let output = run(&home, &["install", &source, "--all", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("left out: skills/linked/SKILL.md (a link)"), "{output:?}");
    let (_, code, said) = error_code(&home, &["install", &source, "--skill", "linked", "--yes"]);
    assert_eq!(code, "skill-left-out", "{said}");
    // The same of a directory, and of folders that are links.
    symlink("pdf", folder.join("folder")).expect("links");
    let plan = json(&home, &["install", &folder.to_string_lossy(), "--dry-run", "--json"]);
    let left: Vec<&Value> =
        plan["left_out"].as_array().expect("a list").iter().map(|it| &it["path"]).collect();
    assert_eq!(left, ["folder/SKILL.md", "linked/SKILL.md"], "{plan}");
    // One that was installed and is a link now is no skill that is gone.
    fs::remove_file(folder.join("csv/SKILL.md")).expect("removes");
    symlink("../pdf/SKILL.md", folder.join("csv/SKILL.md")).expect("links");
    repository.commit();
    let output = run(&home, &["update", "csv", "--yes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("skills/csv/SKILL.md is a link"), "{output:?}");
    fs::remove_file(folder.join("pdf/SKILL.md")).expect("removes");
    symlink("../x", folder.join("pdf/SKILL.md")).expect("links");
    repository.commit();
    let (_, code, said) = error_code(&home, &["install", &source, "--all", "--yes"]);
    assert_eq!(code, "skill-left-out", "a repository of links is not an empty one: {said}");
}

#[test]
fn a_person_picks_from_the_list_on_a_terminal() {
    let (home, _repository) = with_repository();
    let server = GitServer::daemon(&served(&home));
    home.write(
        "home/.agent/config.json",
        format!(r#"{{"sources": {{"allow": ["git://{}"]}}}}"#, server.address()),
    );
    let url = server.url("repo/.git");
    let args = ["install", &url, "--yes"];
    let Some(output) = answer_on_terminal(&home, &args, "Which of them?", "7\n2\n") else { return };
    assert_eq!(output.code, 0, "{output:?}");
    for said in ["1  csv", "2  pdf", "there is no `7` in the list", "installed pdf"] {
        assert!(output.stdout.contains(said), "{said}: {output:?}");
    }
    assert_eq!(
        files_below(&home.project().join(".agent/skills/pdf")),
        ["SKILL.md", "scripts/fill.sh"]
    );
    assert!(!home.project().join(".agent/skills/csv").exists());
}

#[test]
fn a_killed_fetch_leaves_nothing_after_the_next_command() {
    let home = TestHome::new();
    // A server that takes a connection and never says anything.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("git://{}/x.git", silent.local_addr().expect("bound"));
    let mut command = home.command(METIER);
    let mut child = command.args(["install", &url, "--all", "--yes"]).spawn().expect("starts");
    let (mut connection, _) = silent.accept().expect("git connects");
    let fetch = home.home().join(".local/state/metier/fetch");
    assert!(!files_below(&fetch).is_empty());
    child.kill().expect("kills");
    child.wait().expect("ends");
    // git ends with its caller, so the connection does.
    let mut sink = Vec::new();
    std::io::Read::read_to_end(&mut connection, &mut sink).expect("closed");
    assert_eq!(run(&home, &["list"]).code, 0);
    assert_eq!(files_below(&fetch), Vec::<String>::new());
    assert_eq!(files_below(&home.project().join(".agent")), Vec::<String>::new());
}

#[test]
fn plugins_that_a_repository_lists_are_installed_from_it_or_from_where_they_are() {
    let (home, repository) = with_repository();
    home.skill("served/other/skills/far", "far", "Far away.");
    TestRepository::new(home.path().join("served/other")).commit();
    let server = GitServer::http(&served(&home));
    let list = format!(
        r#"{{"name": "m", "plugins": [
            {{"name": "documents", "source": "./", "strict": false, "skills": ["./skills/pdf"]}},
            {{"name": "tables", "source": "./", "skills": ["./skills/csv"]}},
            {{"name": "far", "source": {{"source": "url", "url": "{}"}}}},
            {{"name": "npm", "source": {{"source": "npm", "package": "x"}}}},
            {{"name": "local", "source": {{"source": "url", "url": "{}"}}}}
        ]}}"#,
        server.url("other/.git"),
        at(&home, "served/other/.git"),
    );
    for place in [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"] {
        home.write(&format!("served/repo/{place}"), &list);
        repository.commit();
        let url = server.url("repo/.git");
        let listed = run(&home, &["install", &url, "--list", "--yes"]);
        assert_eq!(
            listed.stdout, "csv  (tables)  Read CSV.\npdf  (documents)  Fill PDF forms.\n",
            "{listed:?}"
        );
        for source in [url.as_str(), "../served/repo"] {
            let args = ["install", source, "--plugin", "documents", "--yes", "--dry-run", "--json"];
            let plan = json(&home, &args);
            assert_eq!(plan["skills"].as_array().map(Vec::len), Some(1));
            assert_eq!(plan["skills"][0]["name"], "pdf");
        }
        let (_, code, text) = error_code(&home, &["install", &url, "--plugin", "docs", "--yes"]);
        assert_eq!(code, "no-plugin");
        assert!(text.contains("documents, tables, far"), "{text}");
        let (_, code, text) = error_code(&home, &["install", &url, "--plugin", "npm", "--yes"]);
        assert_eq!(code, "source-unsupported", "{text}");
        let (_, code, text) = error_code(&home, &["install", &url, "--plugin", "local", "--yes"]);
        assert_eq!(code, "source-not-found", "a list cannot reach into this machine: {text}");
        // The list named the other source, so `--yes` does not answer for it.
        let (exit, code, text) = error_code(&home, &["install", &url, "--plugin", "far", "--yes"]);
        assert_eq!((exit, code.as_str()), (3, "source-not-allowed"), "{text}");
        fs::remove_dir_all(
            home.path().join("served/repo").join(Path::new(place).parent().expect("a folder")),
        )
        .expect("removes");
    }
    home.write("served/repo/.claude-plugin/marketplace.json", &list);
    repository.commit();
    home.write(
        "home/.agent/config.json",
        format!(r#"{{"sources": {{"allow": ["http://{}"]}}}}"#, server.address()),
    );
    let done =
        json(&home, &["install", &server.url("repo/.git"), "--plugin", "far", "--yes", "--json"]);
    assert_eq!(done["skills"][0]["source"], server.url("other/.git"));
    assert_eq!(files_below(&home.project().join(".agent/skills/far")), ["SKILL.md"]);
}

/// Who named a plugin's repository and said yes trusts what it has, and not what its list leads to elsewhere.
#[test]
fn a_plugin_is_trusted_only_where_it_is_in_the_source_that_was_named() {
    for place in [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"] {
        let (home, repository) = with_repository();
        home.skill("served/other/skills/far", "far", "Far away.");
        TestRepository::new(home.path().join("served/other")).commit();
        let server = GitServer::http(&served(&home));
        let list = format!(
            r#"{{"name": "m", "plugins": [
                {{"name": "documents", "source": "./", "strict": false, "skills": ["./skills/pdf"]}},
                {{"name": "far", "source": {{"source": "url", "url": "{}"}}}}
            ]}}"#,
            server.url("other/.git"),
        );
        home.write(&format!("served/repo/{place}"), list);
        repository.commit();
        let allow = format!(r#"{{"sources": {{"allow": ["http://{}"]}}}}"#, server.address());
        home.write("home/.agent/config.json", allow);
        let trust = |name: &str| json(&home, &["inspect", name, "--json"])["trust"].clone();
        for source in [server.url("repo/.git"), at(&home, "served/repo")] {
            for (plugin, name, expected) in
                [("documents", "pdf", "trusted"), ("far", "far", "untrusted")]
            {
                let output = run(&home, &["install", &source, "--plugin", plugin, "--yes"]);
                assert_eq!(output.code, 0, "{place} {source} {plugin}: {output:?}");
                assert_eq!(trust(name), expected, "{place} {source} {plugin}: {output:?}");
                // The records say where it came from; what they bring is seen by no one.
                fs::remove_dir_all(home.project().join(".agent/skills").join(name))
                    .expect("removes");
                run(&home, &["untrust"]);
                assert_eq!(run(&home, &["install", "--yes"]).code, 0, "{place} {source} {plugin}");
                assert_eq!(trust(name), "untrusted", "{place} {source} {plugin}");
                assert_eq!(run(&home, &["uninstall", name, "--yes"]).code, 0);
            }
        }
    }
}

#[test]
fn edits_of_skills_that_are_locked_at_different_commits_are_shown_line_by_line() {
    let (home, repository) = with_repository();
    let server = GitServer::daemon(&served(&home));
    let allow = format!(r#"{{"sources": {{"allow": ["git://{}"]}}}}"#, server.address());
    home.write("home/.agent/config.json", allow);
    let url = server.url("repo/.git");
    assert_eq!(run(&home, &["install", &url, "--skill", "pdf", "--yes"]).code, 0);
    for name in ["pdf", "csv"] {
        home.skill(&format!("served/repo/skills/{name}"), name, "Something else.");
    }
    repository.commit();
    assert_eq!(run(&home, &["install", &url, "--skill", "csv", "--yes"]).code, 0);
    for name in ["pdf", "csv"] {
        let path = home.project().join(format!(".agent/skills/{name}/SKILL.md"));
        let text = fs::read_to_string(&path).expect("there");
        fs::write(path, text + "edited\n").expect("writes");
    }
    let output = run(&home, &["diff", "pdf", "csv", "--local"]);
    assert_eq!(output.stdout.matches("+edited").count(), 2, "{output:?}");
}
