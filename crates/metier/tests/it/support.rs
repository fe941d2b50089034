//! How these tests open the runtime, and find the helper of the sandbox: a test's own `main` belongs to
//! its harness, so the helper is the example `agent`, which `cargo test` builds and which calls
//! [`metier::init`] first, as every program has to.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use metier::sandbox::{SandboxProbe, Tier};
use metier::{Builder, Environment, Metier};
use metier_testkit::TestHome;

/// The environment of a user whose home this is.
pub(crate) fn environment(home: &TestHome) -> Environment {
    let environment = Environment::empty().with_home(home.home()).with("HOME", home.home());
    match std::env::var_os("PATH") {
        Some(path) => environment.with("PATH", path),
        None => environment,
    }
}

/// The runtime in a folder below the home's place.
pub(crate) fn builder(home: &TestHome, dir: &str) -> Builder {
    let builder = Metier::builder(home.path().join(dir)).environment(environment(home));
    builder.sandbox_helper(helper())
}

/// The same, opened.
pub(crate) fn open(home: &TestHome, dir: &str) -> Metier {
    builder(home, dir).open().expect("it opens")
}

/// Whether scripts can run on this machine.
pub(crate) fn holds_scripts() -> bool {
    static HOLDS: OnceLock<bool> = OnceLock::new();
    *HOLDS.get_or_init(|| {
        let home = TestHome::new();
        let place = home.path().canonicalize().expect("a path").join("probe");
        let probe = SandboxProbe::run(helper(), &place).expect("a probe");
        let holds = probe.tier_for(Tier::Medium).is_ok();
        if !holds {
            metier_testkit::not_tested(format_args!(
                "this machine holds no script (sandbox {})",
                probe.best
            ));
        }
        holds
    })
}

pub(crate) fn helper() -> &'static Path {
    static HELPER: OnceLock<PathBuf> = OnceLock::new();
    HELPER.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-sandbox/src");
        metier_testkit::built_example("metier", "agent", &sources)
    })
}
