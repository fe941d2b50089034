//! The first line of a program that runs scripts: [`init`].
//!
//! Scripts run in a sandbox that a small helper sets up. The helper is the program itself, executed
//! again with a private argument; a program that does not call [`init`] first would run its own
//! `main` a second time instead, so scripts are refused until it does.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

static CALLED: AtomicBool = AtomicBool::new(false);

/// Call this first in `main`, before threads are started and files are opened. Where the program was
/// re-executed as the helper of the sandbox it becomes that helper and does not return; otherwise it
/// returns at once.
pub fn init() {
    CALLED.store(true, Ordering::Relaxed);
    if std::env::args_os().nth(1).is_some_and(|word| word == metier_sandbox::HELPER_ARGUMENT) {
        let code = metier_sandbox::helper_main();
        #[expect(
            clippy::exit,
            reason = "the helper ends here: the program's own main must not run"
        )]
        std::process::exit(code);
    }
}

/// The program that is the helper.
pub(crate) fn helper(configured: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(program) = configured {
        return Ok(program.clone());
    }
    if !CALLED.load(Ordering::Relaxed) {
        return Err(Error::failed("no-helper", "this program cannot run scripts in the sandbox")
            .with_help("call `metier::init()` in the first line of its `main`"));
    }
    std::env::current_exe().map_err(|error| {
        Error::failed("no-helper", format!("this program cannot find itself: {error}"))
    })
}
