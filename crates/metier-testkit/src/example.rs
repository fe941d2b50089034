//! Finds an example that `cargo test` built beside the tests: the helper of the sandbox has to be a program
//! with a `main` of its own, and a test has none.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The example `name` of `package`. `cargo test --test it` does not build it, and a stale one would prove
/// something else: it has to be at least as new as everything in `sources`.
pub fn built_example(package: &str, name: &str, sources: &Path) -> PathBuf {
    let tests = std::env::current_exe().expect("a test binary");
    let dir = tests.parent().and_then(Path::parent).expect("a folder");
    let example = dir.join("examples").join(name);
    let is_fresh = modified(&example) >= newest(sources);
    assert!(is_fresh, "{}: run `cargo build -p {package} --examples`", example.display());
    example
}

fn newest(dir: &Path) -> SystemTime {
    let entries = std::fs::read_dir(dir).expect("sources").flatten().map(|entry| entry.path());
    let times = entries.map(|path| if path.is_dir() { newest(&path) } else { modified(&path) });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn modified(path: &Path) -> SystemTime {
    std::fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}
