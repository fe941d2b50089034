//! How these tests find their helper, become nobody, and look for what is left running.
//! The helper is the example `confine`, which `cargo test` builds.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use metier_sandbox::{RunOptions, RunPlan, Runner, SandboxProbe, SandboxReport, Tier};
use tempfile::TempDir;

/// The user of those who own nothing.
const NOBODY: u32 = 65534;

/// Names the helper for the process that runs a test again as nobody.
const HELPER: &str = "METIER_TEST_HELPER";

/// Both tiers that hold something.
pub(crate) const TIERS: [Tier; 2] = [Tier::Medium, Tier::Strong];

/// Those of them that this machine has; the others are reported as not tried.
pub(crate) fn tiers() -> Vec<Tier> {
    TIERS.into_iter().filter(|tier| holds(*tier)).collect()
}

/// Whether this machine has a tier.
pub(crate) fn holds(tier: Tier) -> bool {
    let tried = probe().tiers.iter().find(|probe| probe.tier == tier);
    let missing = tried.and_then(|probe| probe.missing.as_ref());
    if let Some(missing) = missing {
        eprintln!("NOT TRIED: the tier {tier} on this machine: {missing}");
    }
    missing.is_none()
}

/// Whether this machine has a feature.
pub(crate) fn has(feature: &str) -> bool {
    probe().features.iter().any(|one| one.name == feature && one.present)
}

fn probe() -> &'static SandboxProbe {
    static PROBE: OnceLock<SandboxProbe> = OnceLock::new();
    PROBE.get_or_init(|| SandboxProbe::run(&helper(), scratch().path()).expect("probes"))
}

/// The example that is its own helper; `cargo test` builds it beside these tests.
pub(crate) fn helper() -> PathBuf {
    if let Some(path) = std::env::var_os(HELPER) {
        return path.into();
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    metier_testkit::built_example("metier-sandbox", "confine", &sources)
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A temporary directory whose path has no links in it.
pub(crate) fn scratch() -> TempDir {
    let base = std::env::temp_dir().canonicalize().expect("a temporary directory");
    tempfile::Builder::new().prefix("metier-sandbox-").tempdir_in(base).expect("a directory")
}

/// Whether the test was run again by a process that is nobody, and passed. False where this is no
/// root: the test continues here.
pub(crate) fn ran_as_nobody(test: &str) -> bool {
    if !is_root() {
        return false;
    }
    if Command::new("true").uid(NOBODY).gid(NOBODY).status().is_err() {
        eprintln!("NOT TRIED as nobody: `{test}`: root cannot become another user here");
        return true;
    }
    let dir = scratch();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
    // The build directory may be closed to others.
    let copies = [std::env::current_exe().expect("a test binary"), helper()];
    let copies = copies.map(|from| {
        let to = dir.path().join(from.file_name().expect("a name"));
        assert!(Command::new("cp").arg(from).arg(&to).status().expect("cp").success());
        to
    });
    let output = Command::new(&copies[0])
        .args(["--exact", test, "--nocapture"])
        .env(HELPER, &copies[1])
        .env("TMPDIR", dir.path())
        .current_dir(dir.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("the test binary starts");
    let said = [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned());
    println!("as nobody: {}", said[0]);
    eprintln!("{}", said[1]);
    assert!(output.status.success() && said[0].contains("1 passed"), "as nobody, `{test}` failed");
    true
}

/// Makes a command that of an ordinary user: what it tries must not be root's.
pub(crate) fn as_nobody(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(NOBODY).gid(NOBODY).current_dir("/") } else { command }
}

/// Runs a program in a tier.
pub(crate) fn run(tier: Tier, plan: &RunPlan) -> SandboxReport {
    run_with(tier, plan, &RunOptions::default())
}

pub(crate) fn run_with(tier: Tier, plan: &RunPlan, options: &RunOptions) -> SandboxReport {
    let runner = Runner::new(helper(), tier);
    runner.run(plan, options, &|_| {}).unwrap_or_else(|error| panic!("{tier}: {error}"))
}

/// A plan for a shell or another program of the system, in a fresh directory.
pub(crate) fn plan(dir: &Path, words: &[&str]) -> RunPlan {
    let mut plan = RunPlan::new(words[0], dir);
    plan.args = words[1..].iter().map(|word| (*word).to_owned()).collect();
    plan.env.insert("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
    plan.env.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
    plan.env.insert("HOME".to_owned(), dir.to_string_lossy().into_owned());
    plan.env.insert("TMPDIR".to_owned(), dir.to_string_lossy().into_owned());
    plan.limits.wall = Duration::from_mins(1);
    plan
}

/// A program of this machine that nobody needs a home directory for.
pub(crate) fn system_program(name: &str) -> Option<String> {
    let places = ["/usr/bin", "/bin", "/usr/local/bin"].map(|dir| format!("{dir}/{name}"));
    let found = places.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("NOT TRIED: there is no {name} among the system's programs");
    }
    found
}

/// Processes of this machine with `mark` in their command line, zombies left out.
pub(crate) fn running(mark: &str) -> Vec<u32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| *id != own)
        .filter(|id| {
            let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(mark)
        })
        .collect()
}

/// Fails if a process with `mark` is still there. What was killed a moment ago may take another to
/// vanish from `/proc`, longer when the machine is loaded or the grace has to pass first.
pub(crate) fn assert_nothing_runs(mark: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let left = running(mark);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "still running with {mark}: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
