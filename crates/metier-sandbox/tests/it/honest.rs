//! What honest scripts do must work inside, in every tier: shells, Python, Node, git, perl,
//! and what a plan grants: a network, a writable folder.

use std::path::Path;

use metier_sandbox::{NetworkAccess, RunPlan, SandboxReport, Tier};

use crate::support::{plan, ran_as_nobody, run, scratch, system_program, tiers};

const PYTHON: &str = r#"
import sqlite3, subprocess, threading, tempfile, json, asyncio, os, sys, concurrent.futures
assert len(os.listdir("/proc/self/fd")) == 4, os.listdir("/proc/self/fd")
db = sqlite3.connect("x.db"); db.execute("create table t(a)"); db.execute("insert into t values(1)"); db.commit()
assert db.execute("select sum(a) from t").fetchone() == (1,)
assert subprocess.run(["sh", "-c", "echo hi | tr a-z A-Z"], capture_output=True, text=True).stdout == "HI\n"
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
threads = [threading.Thread(target=lambda: None) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
async def f(): await asyncio.sleep(0.01); return 2
assert asyncio.run(f()) == 2
with concurrent.futures.ThreadPoolExecutor(4) as p: assert list(p.map(abs, [-1])) == [1]
os.makedirs("outputs", exist_ok=True); open("outputs/r.json", "w").write(json.dumps({"ok": True}))
os.chmod("outputs/r.json", 0o600); os.utime("outputs/r.json"); os.rename("outputs/r.json", "outputs/s.json")
status = open("/proc/self/status").read()
print("python works", "NoNewPrivs:\t1" in status, "CapEff:\t0000000000000000" in status, "Seccomp:\t2" in status)
"#;

const BASH: &str = r#"set -euo pipefail
cat > a.txt <<TEXT
three
one
TEXT
sort a.txt | grep -c e
diff <(echo a) <(echo a) && echo same
for i in 1 2 3; do (echo $i) & done; wait
mkdir -p d/e; cp -a a.txt d/e/; find d -type f | wc -l; tar cf t.tar d; tar tf t.tar | wc -l
echo gone > /dev/null; printf '%s\n' "${HOME##*/}" > /dev/stderr
"#;

const NODE: &str = r#"
const fs = require("fs"), cp = require("child_process"), { Worker } = require("worker_threads");
fs.writeFileSync("n.txt", "x");
const out = cp.execFileSync("sh", ["-c", "echo child"]).toString().trim();
new Worker("require('worker_threads').parentPort.postMessage(1)", { eval: true })
  .on("message", () => fs.promises.readFile("n.txt", "utf8").then(t => console.log("node works", out, t)));
"#;

/// What keeps modes, times and owners, and what is run after it was made.
const KEEPS: &str = r#"set -e
printf '#!/bin/sh\necho ran\n' > f && chmod 755 f && ./f
chmod u=rwx,go= f && cp -p f g && cp -a f h && install -m 640 f i && install -d -m 750 j
touch -d 2001-02-03 f && cp --preserve=mode,timestamps f k && mv k l
mkdir -p d/e && cp -a f d/e && chmod -R go-w d && tar cf t.tar d && rm -r d && tar xf t.tar && tar xpf t.tar
ln -s f s && chmod 711 s && touch -h -d 2002-02-02 s && chgrp "$(id -g)" f && chown -h "$(id -u)" s
gzip -k t.tar && gunzip -c t.tar.gz | cmp - t.tar && sed -i s/ran/run/ f && ./f
stat -c '%a %n' f g h i j l d/e/f
"#;

const KEPT: &str = "ran\nrun\n711 f\n700 g\n700 h\n640 i\n750 j\n700 l\n700 d/e/f\n";

const COPIES: &str = r#"
import os, shutil, stat, tempfile, zipfile
os.mkdir("a"); open("a/x", "w").write("x"); os.chmod("a/x", 0o750); os.utime("a/x", (1e9, 1e9))
shutil.copy2("a/x", "y"); shutil.copytree("a", "b"); shutil.copystat("a", "b"); shutil.move("b", "c")
for path in ["y", "c/x"]:
    found = os.stat(path); assert (stat.S_IMODE(found.st_mode), found.st_mtime) == (0o750, 1e9), path
with open("y") as f: os.fchmod(f.fileno(), 0o600); os.utime(f.fileno(), ns=(5, 6))
assert (stat.S_IMODE(os.stat("y").st_mode), os.stat("y").st_mtime_ns) == (0o600, 6)
here = os.open(".", os.O_RDONLY)
os.chmod("y", 0o640, dir_fd=here); os.utime("y", dir_fd=here); os.chown("y", os.getuid(), -1, dir_fd=here)
os.chmod(os.path.abspath("y"), 0o644); os.chmod("/proc/self/fd/%d" % here, 0o700)
with tempfile.TemporaryFile() as f: os.fchmod(f.fileno(), 0o600)
shutil.make_archive("z", "zip", "a"); zipfile.ZipFile("z.zip").extractall("e"); shutil.rmtree("a")
os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))
for bad in [lambda: os.chmod("not-there", 0o600), lambda: os.utime("not-there")]:
    try: bad(); raise SystemExit("it is not there")
    except FileNotFoundError: pass
print("copies work")
"#;

fn check(tier: Tier, plan: &RunPlan, wanted: &str) {
    let report: SandboxReport = run(tier, plan);
    assert!(report.succeeded() && report.stdout.text.contains(wanted), "{tier}: {report:?}");
}

fn everything() {
    for tier in tiers() {
        let dir = scratch();
        let work = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).expect("a directory");
            path
        };
        let with = |name: &str, words: &[&str]| plan(&work(name), words);
        if let Some(bash) = system_program("bash") {
            check(tier, &with("bash", &[&bash, "-c", BASH]), "2\nsame\n");
        }
        if let Some(python) = system_program("python3") {
            check(tier, &with("python", &[&python, "-c", PYTHON]), "python works True True True");
            assert!(dir.path().join("python/outputs/s.json").exists());
        }
        if let Some(node) = system_program("node") {
            check(tier, &with("node", &[&node, "-e", NODE]), "node works child x");
        }
        if let Some(perl) = system_program("perl") {
            let script = "use POSIX; use File::Temp; open F,'>','x'; print F 1; close F; \
                          print 'perl works ', `echo 1`";
            check(tier, &with("perl", &[&perl, "-e", script]), "perl works 1");
        }
        if let Some(git) = system_program("git") {
            let script = format!(
                "{git} init -q r && cd r && echo x > f && {git} add f && \
                 {git} -c user.name=a -c user.email=a@b commit -qm first && {git} log --oneline"
            );
            check(tier, &with("git", &["/bin/sh", "-c", &script]), "first");
        }
        if let Some(bash) = system_program("bash") {
            check(tier, &with("keeps", &[&bash, "-c", KEEPS]), KEPT);
        }
        if let Some(python) = system_program("python3") {
            check(tier, &with("copies", &[&python, "-c", COPIES]), "copies work");
        }
        if let Some(rsync) = system_program("rsync") {
            let script = format!("mkdir a && touch -d 2001-01-01 a/x && {rsync} -a a/ b && ls b");
            check(tier, &with("rsync", &["/bin/sh", "-c", &script]), "x");
        }
        if let Some(uv) = system_program("uv") {
            check(tier, &uv_run(&uv, &work("uv")), "uv works");
        }
        python_with_processes(tier, &work("pool"));
    }
}

/// A script that says itself what it needs, without a network: it needs nothing but Python.
fn uv_run(uv: &str, dir: &Path) -> RunPlan {
    let script = "# /// script\n# requires-python = '>=3.8'\n# dependencies = []\n# ///\nprint('uv works')\n";
    std::fs::write(dir.join("script.py"), script).expect("writes");
    let mut plan = plan(dir, &[uv, "run", "--offline", "--no-project", "script.py"]);
    plan.env.insert("UV_CACHE_DIR".to_owned(), dir.join("cache").to_string_lossy().into_owned());
    plan
}

/// A table of 200 MB and a repository, both in a folder that may only be read.
#[test]
fn much_is_read_from_a_workspace() {
    let dir = scratch();
    for name in ["work", "workspace"] {
        std::fs::create_dir(dir.path().join(name)).expect("a directory");
    }
    let workspace = dir.path().join("workspace");
    let rows = "north,12\nsouth,30\n".repeat(64 << 10);
    let table = rows.repeat((200 << 20) / rows.len());
    std::fs::write(workspace.join("table.csv"), &table).expect("writes");
    let wanted = table.len() / 18;
    let git = system_program("git").filter(|git| {
        let make = format!(
            "cd {} && {git} init -q . && for i in 1 2 3; do echo $i > f && {git} add f && \
             {git} -c user.name=a -c user.email=a@b commit -qm change-$i; done",
            workspace.display()
        );
        let made = std::process::Command::new("sh").args(["-c", &make]).status();
        made.is_ok_and(|status| status.success())
    });
    for tier in tiers() {
        let with = |words: &[&str]| {
            let mut plan = plan(&dir.path().join("work"), words);
            plan.read_only.push(workspace.clone());
            plan
        };
        if let Some(awk) = system_program("awk") {
            let file = workspace.join("table.csv").to_string_lossy().into_owned();
            let sum = "{n[$1]++; s[$1]+=$2} END {print n[\"north\"], s[\"south\"]}";
            let plan = with(&[&awk, "-F", ",", sum, &file]);
            check(tier, &plan, &format!("{wanted} {}", 30 * wanted));
        }
        if let Some(git) = &git {
            let folder = workspace.to_string_lossy().into_owned();
            let log = with(&[git, "-C", &folder, "log", "--oneline", "--stat"]);
            check(tier, &log, "change-1");
            check(tier, &with(&[git, "-C", &folder, "status", "--short"]), "table.csv");
        }
    }
}

/// `multiprocessing` keeps its locks in `/dev/shm`, which only the strong tier has one of its own of.
fn python_with_processes(tier: Tier, dir: &Path) {
    let Some(python) = system_program("python3") else { return };
    let script = "import multiprocessing as m\nif __name__ == '__main__':\n    \
                  print(m.Pool(2).map(abs, [-3]))";
    let report = run(tier, &plan(dir, &[&python, "-c", script]));
    assert_eq!(report.succeeded(), tier == Tier::Strong, "{report:?}");
}

#[test]
fn honest_scripts_work_in_every_tier() {
    everything();
}

#[test]
fn honest_scripts_of_an_ordinary_user_work_in_every_tier() {
    if !ran_as_nobody("honest::honest_scripts_of_an_ordinary_user_work_in_every_tier") {
        everything();
    }
}

#[test]
fn a_granted_network_reaches_loopback_and_still_no_local_socket() {
    let Some(python) = system_program("python3") else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!(
        "import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\nprint('connected')\n\
         try:\n    socket.socket(socket.AF_UNIX)\n    print('local')\nexcept OSError: pass"
    );
    for tier in tiers() {
        let dir = scratch();
        let mut plan = plan(dir.path(), &[&python, "-c", &script]);
        plan.network = NetworkAccess::Open;
        let report = run(tier, &plan);
        assert_eq!(report.stdout.text, "connected\n", "{tier}: {report:?}");
    }
}

#[test]
fn a_writable_root_is_writable_and_a_read_only_one_is_not() {
    for tier in tiers() {
        let dir = scratch();
        for name in ["work", "rw", "ro"] {
            std::fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        let (rw, ro) = (dir.path().join("rw"), dir.path().join("ro"));
        std::fs::write(ro.join("f"), "readable").expect("writes");
        let script = format!(
            "echo x > {}/made && cat {ro}/f && ! echo x > {ro}/made 2>/dev/null",
            rw.display(),
            ro = ro.display()
        );
        let mut plan = plan(&dir.path().join("work"), &["/bin/sh", "-c", &script]);
        plan.read_only.push(ro.clone());
        plan.writable.push(rw.clone());
        let report = run(tier, &plan);
        assert!(report.succeeded() && report.stdout.text == "readable", "{tier}: {report:?}");
        assert!(rw.join("made").exists() && !ro.join("made").exists());
    }
}

#[test]
fn what_is_hidden_in_a_readable_root_is_not_read_under_any_name() {
    hiding();
}

#[test]
fn what_is_hidden_from_an_ordinary_user_is_not_read_either() {
    if !ran_as_nobody("honest::what_is_hidden_from_an_ordinary_user_is_not_read_either") {
        hiding();
    }
}

fn hiding() {
    for tier in tiers() {
        let dir = scratch();
        let at = |path: &str| dir.path().join(path);
        for folder in ["work", "ro/deep/keys", "ro/plain/deeper"] {
            std::fs::create_dir_all(at(folder)).expect("directories");
        }
        for file in ["ro/.env", "ro/deep/.env", "ro/deep/keys/id", "ro/deep/open", "ro/open"] {
            std::fs::write(at(file), "HIDDEN").expect("writes");
        }
        for file in ["ro/deep/open", "ro/open", "ro/plain/deeper/open"] {
            std::fs::write(at(file), "shown").expect("writes");
        }
        std::os::unix::fs::symlink(".env", at("ro/link")).expect("links");
        std::os::unix::fs::symlink("/etc/shadow", at("ro/shadow")).expect("links");
        let script = "cat open deep/open plain/deeper/open && cat .env deep/.env deep/keys/id link \
                      shadow 2>/dev/null; echo x > .env; ls -a; ls deep >/dev/null";
        let mut plan = plan(&at("work"), &["/bin/sh", "-c", &format!("cd ../ro; {script}")]);
        plan.read_only.push(at("ro"));
        plan.hidden =
            ["ro/.env", "ro/deep/.env", "ro/deep/keys", "ro/link", "ro/gone"].map(at).to_vec();
        let report = run(tier, &plan);
        assert!(report.stdout.text.starts_with("shownshownshown"), "{tier}: {report:?}");
        assert!(!report.stdout.text.contains("HIDDEN"), "{tier}: {report:?}");
        assert_eq!(std::fs::read(at("ro/.env")).expect("there"), b"HIDDEN");
        plan.hidden.clear();
        assert!(run(tier, &plan).stdout.text.contains("HIDDEN"), "the control reads it");
    }
}
