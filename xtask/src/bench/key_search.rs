//! What a script waits for in a large workspace: every name in it is looked at for keys before it starts.
//!
//! Whole processes of `metier exec` with a script that does nothing, in turns: in an empty workspace and
//! in one of a hundred thousand files with a key among them.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::discovery::{environment, run_in_turns};
use super::process::Program;
use super::scratch::Scratch;

/// Files of the large workspace, a hundred in a folder.
pub(super) const FILES: usize = 100_000;
/// Milliseconds that they may add.
pub(super) const MAX_ADDED_MS: f64 = 100.0;

/// Milliseconds, minimum and median, without and with the files.
pub(super) struct KeySearch {
    pub(super) empty: (f64, f64),
    pub(super) full: (f64, f64),
}

pub(super) fn measure(metier: &Path, scratch: &Scratch, repeats: u32) -> Result<KeySearch> {
    let skills = scratch.fresh("exec-skills")?;
    fs::create_dir_all(skills.join("idle/scripts"))?;
    fs::write(skills.join("idle/SKILL.md"), "---\nname: idle\ndescription: Idles.\n---\n")?;
    fs::write(skills.join("idle/scripts/idle.sh"), "true\n")?;
    let home = scratch.fresh("exec-home")?;
    let (empty, full) = (scratch.fresh("exec-empty")?, scratch.fresh("exec-full")?);
    for folder in 0..FILES / 100 {
        let dir = full.join(format!("{}/{folder}", folder % 40));
        fs::create_dir_all(&dir)?;
        for file in 0..100 {
            fs::write(dir.join(format!("file-{file}.txt")), "")?;
        }
    }
    fs::write(full.join(".env"), "KEY=1")?;
    let program = |dir: &Path| -> Result<Program> {
        fs::create_dir(dir.join(".git"))?;
        let mut args = ["exec", "--yes", "--root"].map(Into::into).to_vec();
        args.extend([skills.clone().into(), "idle".into(), "scripts/idle.sh".into()]);
        let (path, env) = (metier.to_owned(), environment(&home));
        Ok(Program { path, args, env, dir: dir.to_owned() })
    };
    let [empty, full] = run_in_turns(&[program(&empty)?, program(&full)?], repeats)?;
    let (empty, full) = (empty.stat(), full.stat());
    Ok(KeySearch { empty: (empty.min, empty.median), full: (full.min, full.median) })
}
