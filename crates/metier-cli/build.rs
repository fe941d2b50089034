//! Links the unwinder into the binary on Linux with the GNU C library, where the C compiler has it.
//!
//! Otherwise every start of `metier` loads `libgcc_s.so.1` for it, which takes as long as opening the
//! configuration and a hundred absent roots: 0.1 of the 0.9 milliseconds that `--version` takes beyond `/bin/true`.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script asks the compiler and prints for cargo"
)]

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    if is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && let Some(path) = unwinder()
        && let Some(folder) = path.parent()
    {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Where the linker's compiler has it; it gives the bare name of a file that it has not.
fn unwinder() -> Option<PathBuf> {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| OsString::from("cc"));
    let found = Command::new(linker).arg(format!("-print-file-name={UNWINDER}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}
