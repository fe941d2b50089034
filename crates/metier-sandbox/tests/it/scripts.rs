//! From a skill's folder to a report, as a caller does it: stage, interpreter, environment, run.
//! What is approved is what runs, and a secret is in no output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_fs::SkillRoot;
use metier_sandbox::{
    Error, Interpreter, Located, RunOptions, RunPlan, SandboxReport, ScriptPlaces, SearchPath,
    Secrets, Stage, StageLimits, environment,
};
use metier_skill::{Digest, RelPath};

use crate::support::{plan, run, run_with, scratch, system_program, tiers};
use crate::world::CANARY;

struct Skill {
    dir: tempfile::TempDir,
}

impl Skill {
    fn new(files: &[(&str, &str)]) -> Self {
        let skill = Self { dir: scratch() };
        for (name, text) in files {
            let path = skill.dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("dirs");
            std::fs::write(path, text).expect("writes");
        }
        skill
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("skill")
    }

    fn stage(&self, name: &str) -> Stage {
        let root = SkillRoot::open(&self.path()).expect("a skill");
        Stage::prepare(&root, &self.dir.path().join(name), StageLimits::default()).expect("a stage")
    }
}

fn search() -> SearchPath {
    let dirs = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
    SearchPath {
        dirs: dirs.unwrap_or_default(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        untrusted: Vec::new(),
    }
}

/// The whole way of a script.
fn plan_of(
    stage: &Stage,
    script: &str,
    approved: Digest,
    declared: &BTreeMap<String, String>,
) -> Result<RunPlan, Error> {
    let path = stage.approved(&RelPath::new(script).expect("a path"), approved)?;
    let text = std::fs::read(&path).expect("reads");
    let located = Located::find(&Interpreter::of(script, &text)?, &search())?;
    let data = stage.work_dir.join("data");
    std::fs::create_dir_all(&data).expect("a directory");
    let places = ScriptPlaces {
        skill_dir: &stage.skill_dir,
        data_dir: &data,
        work_dir: &stage.work_dir,
        interpreter_dir: located.dir(),
    };
    let mut plan = RunPlan::new(&located.program, &stage.work_dir);
    plan.env = environment(places, declared)?;
    plan.args.clone_from(&located.args);
    plan.args.push(path.to_string_lossy().into_owned());
    plan.read_only.clone_from(&located.roots);
    plan.read_only.push(stage.skill_dir.clone());
    Ok(plan)
}

fn only(report: &SandboxReport) -> &str {
    assert!(report.succeeded(), "{report:?}");
    report.stdout.text.trim_end()
}

#[test]
fn a_script_finds_its_neighbours_its_folders_and_the_interpreter_of_the_user() {
    let source = "import os, sys\nfrom neighbour import word\n\
        open(os.environ['SKILL_OUTPUT_DIR'] + '/o', 'w').write('kept')\n\
        print(word, os.path.dirname(os.path.abspath(__file__)) == os.environ['SKILL_DIR'] + '/scripts',\n\
        \x20     sorted(k for k in os.environ if 'KEY' in k), os.getcwd() == os.environ['HOME'])\n";
    let skill = Skill::new(&[
        ("skill/SKILL.md", "---\n---\n"),
        ("skill/scripts/run.py", source),
        ("skill/scripts/neighbour.py", "word = 'imported'"),
    ]);
    for tier in tiers() {
        let stage = skill.stage(tier.as_str());
        let plan =
            plan_of(&stage, "scripts/run.py", Digest::of(source.as_bytes()), &BTreeMap::new());
        let report = run_with(tier, &plan.expect("a plan"), &RunOptions::default());
        assert_eq!(only(&report), "imported True [] True", "{tier}");
        assert_eq!(std::fs::read(stage.outputs.join("o")).expect("an output"), b"kept");
    }
}

#[test]
fn a_script_that_changed_after_its_approval_does_not_run() {
    let skill = Skill::new(&[("skill/x.sh", "echo evil")]);
    let approved = Digest::of(b"echo good");
    let error =
        plan_of(&skill.stage("s"), "x.sh", approved, &BTreeMap::new()).expect_err("refused");
    assert!(matches!(error, Error::ScriptChanged { .. }), "{error}");
}

#[test]
fn a_swap_after_the_check_gains_nothing() {
    let skill =
        Skill::new(&[("skill/x.sh", ". \"$(dirname \"$0\")\"/y.sh"), ("skill/y.sh", "echo good")]);
    for tier in tiers() {
        let stage = skill.stage(tier.as_str());
        let approved = stage.digest_of(&RelPath::new("x.sh").expect("a path")).expect("a digest");
        let plan = plan_of(&stage, "x.sh", approved, &BTreeMap::new()).expect("a plan");
        std::fs::write(skill.path().join("x.sh"), "echo evil").expect("writes");
        std::fs::write(skill.path().join("y.sh"), "echo evil").expect("writes");
        assert_eq!(only(&run_with(tier, &plan, &RunOptions::default())), "good");
        std::fs::write(skill.path().join("x.sh"), ". \"$(dirname \"$0\")\"/y.sh").expect("writes");
        std::fs::write(skill.path().join("y.sh"), "echo good").expect("writes");
    }
}

#[test]
fn a_hard_link_to_a_foreign_file_is_not_staged() {
    let skill = Skill::new(&[("skill/x.sh", "cat \"$SKILL_DIR/hard\" 2>&1"), ("secret", "SECRET")]);
    std::fs::hard_link(skill.dir.path().join("secret"), skill.path().join("hard")).expect("link");
    let stage = skill.stage("s");
    assert_eq!(stage.left_out.len(), 1);
    let approved = stage.digest_of(&RelPath::new("x.sh").expect("a path")).expect("a digest");
    let plan = plan_of(&stage, "x.sh", approved, &BTreeMap::new()).expect("a plan");
    for tier in tiers() {
        let report = run_with(tier, &plan, &RunOptions::default());
        assert!(!report.stdout.text.contains("SECRET"), "{report:?}");
    }
}

#[test]
fn a_passed_secret_is_in_no_output_and_no_file() {
    let source = "import os, base64, sys\nv = os.environ['API_KEY']\n\
        for text in (v, base64.b64encode(v.encode()).decode(), v.encode().hex()):\n\
        \x20   print('value', text); print(text, file=sys.stderr)\n\
        \x20   for c in text: sys.stdout.write(c); sys.stdout.flush()\n\
        \x20   print()\n";
    let skill = Skill::new(&[("skill/x.py", source)]);
    for tier in tiers() {
        let stage = skill.stage(tier.as_str());
        let declared = BTreeMap::from([("API_KEY".to_owned(), CANARY.to_owned())]);
        let plan =
            plan_of(&stage, "x.py", Digest::of(source.as_bytes()), &declared).expect("a plan");
        let file = |name: &str| skill.dir.path().join(format!("{tier}-{name}"));
        let options = RunOptions {
            secrets: Arc::new(Secrets::new([CANARY])),
            stdout_file: Some(file("out")),
            stderr_file: Some(file("err")),
            ..RunOptions::default()
        };
        let events = std::sync::Mutex::new(String::new());
        let runner = metier_sandbox::Runner::new(crate::support::helper(), tier);
        let report = runner
            .run(&plan, &options, &|event| {
                *events.lock().expect("a lock") += &format!("{event:?}");
            })
            .expect("runs");
        assert!(report.succeeded() && report.masked >= 9, "{report:?}");
        let stored =
            ["out", "err"].map(|name| std::fs::read_to_string(file(name)).expect("a file"));
        assert!(stored[0].contains("value [redacted]"), "{stored:?}");
        let all = format!("{report:?}{stored:?}{}", events.into_inner().expect("events"));
        let encoded = "Y2FuYXJ5LTdmM2E5MWMyZDRl";
        for form in [CANARY, encoded, "63616e6172792d37"] {
            assert!(!all.contains(form), "{form} in {all}");
        }
    }
}

#[test]
fn a_secret_in_the_environment_of_the_caller_is_in_no_output() {
    const SHOW_ENVIRONMENT: &str =
        "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; echo looked";
    let dir = scratch();
    let look = |words: &[&str]| {
        let mut command = std::process::Command::new(words[0]);
        let output = command.args(&words[1..]).env("CALLER_KEY", CANARY).output().expect("starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("looked"), "{output:?}");
        said.contains(CANARY) || String::from_utf8_lossy(&output.stderr).contains(CANARY)
    };
    assert!(look(&["/bin/sh", "-c", SHOW_ENVIRONMENT]), "the control sees it");
    let (confine, at) = (crate::support::helper(), dir.path().to_string_lossy().into_owned());
    for tier in tiers() {
        let confine = confine.to_string_lossy();
        assert!(
            !look(&[&confine, tier.as_str(), &at, "/bin/sh", "-c", SHOW_ENVIRONMENT]),
            "{tier}"
        );
    }
}

#[test]
fn nothing_of_our_environment_reaches_a_script() {
    let dir = scratch();
    for tier in [vec![metier_sandbox::Tier::None], tiers()].concat() {
        let plan = plan(dir.path(), &["/usr/bin/env"]);
        let report = run_with(tier, &plan, &RunOptions::default());
        let mut names: Vec<&str> =
            report.stdout.text.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["GIT_CONFIG_NOSYSTEM", "HOME", "PATH", "TMPDIR"], "{tier}");
    }
}

#[test]
fn a_file_is_not_emptied_by_who_does_not_write_it_even_where_writing_is_allowed() {
    let Some(python) = system_program("python3") else { return };
    // Where Landlock allows everything, only the filter of calls is left to refuse it.
    let source = "import os\nopen('own', 'w').write('text')\nopen('own', 'w').write('more')\n\
        for way in (os.O_RDONLY, 3):\n  try:\n    os.open('own', way | os.O_TRUNC)\n    \
        print('emptied')\n  except PermissionError as error:\n    print(error.errno)\n\
        print(open('own').read())";
    let dir = scratch();
    for tier in tiers() {
        let mut plan = plan(dir.path(), &[&python]);
        plan.args = ["-I", "-c", source].map(str::to_owned).to_vec();
        assert_eq!(run(tier, &plan).stdout.text, "1\n1\nmore\n", "{tier}");
    }
}

#[test]
fn packages_without_uv_are_an_error_that_names_it() {
    let source = b"# /// script\n# dependencies = [\"requests\"]\n# ///\nprint()\n";
    let interpreter = Interpreter::of("x.py", source).expect("an interpreter");
    let nowhere = SearchPath { dirs: vec!["/nowhere".into()], ..SearchPath::default() };
    if ["/usr/local/bin/uv", "/usr/bin/uv"].iter().any(|path| Path::new(path).exists()) {
        eprintln!("NOT TRIED: uv is among the system's programs");
        return;
    }
    let error = Located::find(&interpreter, &nowhere).expect_err("missing");
    assert!(
        error.to_string().contains("needs `uv") && error.hint().contains("install uv"),
        "{error}"
    );
}

#[test]
fn a_shim_of_a_version_manager_leads_to_the_interpreter_and_not_to_the_home() {
    let dir = scratch();
    let home = dir.path().join("home");
    let real = home.join(".pyenv/versions/3.9.1/bin");
    std::fs::create_dir_all(home.join(".pyenv/versions/3.10.0/bin")).expect("dirs");
    std::fs::create_dir_all(home.join(".pyenv/versions/3.9.1/lib")).expect("dirs");
    std::fs::create_dir_all(home.join(".pyenv/shims")).expect("dirs");
    std::fs::create_dir_all(&real).expect("dirs");
    std::fs::write(home.join(".pyenv/shims/python3"), "#!/usr/bin/env bash\n").expect("writes");
    std::fs::write(home.join(".pyenv/version"), "3.9.1\n").expect("writes");
    std::fs::write(real.join("python3"), "\x7fELF").expect("writes");
    let search = SearchPath {
        dirs: vec![home.join(".pyenv/shims")],
        home: Some(home.clone()),
        untrusted: Vec::new(),
    };
    let interpreter = Interpreter::of("x.py", b"").expect("an interpreter");
    let located = Located::find(&interpreter, &search).expect("found");
    assert_eq!(located.program, real.join("python3"));
    let prefix = home.join(".pyenv/versions/3.9.1");
    assert_eq!(located.roots, [prefix.join("bin"), prefix.join("lib")]);
    // In a folder of the project the same is never taken.
    let search = SearchPath { untrusted: vec![home.clone()], ..search };
    let elsewhere = Located::find(&interpreter, &search).ok();
    assert!(elsewhere.is_none_or(|located| !located.program.starts_with(&home)));
}

#[test]
fn an_interpreter_beside_the_users_files_makes_only_itself_readable() {
    let dir = scratch();
    let home = dir.path().join("home");
    std::fs::create_dir_all(home.join("bin")).expect("dirs");
    std::fs::create_dir_all(home.join(".local/bin")).expect("dirs");
    std::fs::create_dir_all(home.join(".local/share/keyrings")).expect("dirs");
    for place in ["bin/ruby", ".local/bin/perl"] {
        std::fs::write(home.join(place), "\x7fELF").expect("writes");
    }
    let find = |script: &str, place: &str| {
        let search = SearchPath {
            dirs: vec![home.join(place)],
            home: Some(home.clone()),
            untrusted: Vec::new(),
        };
        Located::find(&Interpreter::of(script, b"").expect("one"), &search).expect("found").roots
    };
    assert_eq!(find("x.rb", "bin"), [home.join("bin/ruby")]);
    assert_eq!(find("x.pl", ".local/bin"), [home.join(".local/bin")]);
}

#[test]
fn the_interpreter_in_the_home_of_this_user_runs_in_every_tier() {
    let Some(python) =
        std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions"))
    else {
        return;
    };
    if !python.exists() || system_program("python3").is_none() {
        eprintln!("NOT TRIED: no version manager keeps a Python in this home directory");
        return;
    }
    let source = "import sys, os\nprint(sys.prefix)\n\
        try: print(os.listdir(os.path.expanduser('~' + __import__('pwd').getpwuid(os.getuid()).pw_name)))\n\
        except OSError: print('closed')\n";
    let skill = Skill::new(&[("skill/x.py", source)]);
    for tier in tiers() {
        let stage = skill.stage(tier.as_str());
        let plan = plan_of(&stage, "x.py", Digest::of(source.as_bytes()), &BTreeMap::new());
        let report = run_with(tier, &plan.expect("a plan"), &RunOptions::default());
        println!("{tier}: {}", only(&report));
        assert!(report.stdout.text.contains(".pyenv/versions/"), "{report:?}");
        assert!(!report.stdout.text.contains(".bashrc"), "{report:?}");
    }
}

/// A wheel with one module, made without a network.
const WHEEL: &str = "import sys, zipfile\n\
    z = zipfile.ZipFile(sys.argv[1] + '/tiny-1.0-py3-none-any.whl', 'w')\n\
    z.writestr('tiny.py', 'word = \"installed\"')\n\
    z.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')\n\
    z.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
    z.writestr('tiny-1.0.dist-info/RECORD', 'tiny.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n')\n\
    z.close()\n";

#[test]
fn a_script_with_packages_runs_through_uv_without_a_network() {
    let Some(python) = system_program("python3") else { return };
    let source = "# /// script\n# dependencies = [\"tiny\"]\n# [tool.uv]\n# no-index = true\n\
        # find-links = [\"wheels\"]\n# ///\nimport tiny, sys\nprint(tiny.word)\n";
    let skill = Skill::new(&[("skill/x.py", source), ("skill/wheels/README", "")]);
    let made = std::process::Command::new(python)
        .args(["-c", WHEEL])
        .arg(skill.path().join("wheels"))
        .status();
    assert!(made.expect("starts").success());
    for tier in tiers() {
        let stage = skill.stage(tier.as_str());
        let plan = plan_of(&stage, "x.py", Digest::of(source.as_bytes()), &BTreeMap::new());
        let plan = match plan {
            Err(error @ Error::InterpreterMissing { .. }) => {
                eprintln!("NOT TRIED: {error}");
                return;
            }
            other => other.expect("a plan"),
        };
        assert_eq!(only(&run_with(tier, &plan, &RunOptions::default())), "installed", "{tier}");
    }
}
