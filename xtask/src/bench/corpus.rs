//! The real skills that benches run on: a large public collection, which lives beside the project or
//! where `METIER_CORPUS` says, and is not part of it.
//!
//! Where it is absent the bench says so loudly and continues with the trees it makes itself. Those
//! flatter: real frontmatter has nested and inline metadata, faults, and names that clash.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace::{Outcome, status};

const ARCHIVE: &str = "skills.tar.gz";
/// One JSON object a line, with the text of a `SKILL.md`.
const TEXTS: &str = "texts.jsonl.gz";

fn dir() -> PathBuf {
    let beside =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("shared").join("corpus");
    env::var_os("METIER_CORPUS").map_or_else(beside, PathBuf::from)
}

/// Unpacks the collection into `into` and gives the folder of skills; `None` where it is absent.
pub(crate) fn unpack(into: &Path) -> Result<Option<PathBuf>> {
    let archive = dir().join(ARCHIVE);
    if !archive.exists() {
        eprintln!("bench: NOT MEASURED: {} is absent; set METIER_CORPUS", archive.display());
        return Ok(None);
    }
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(&archive).arg("-C").arg(into);
    if status(&mut tar)? == Outcome::Failed {
        bail!("{} cannot be unpacked", archive.display());
    }
    Ok(Some(into.join("skills")))
}

/// Writes `folders` skills below `into`, made from the collection's loose texts; `false` where it is absent.
pub(crate) fn write_texts(into: &Path, folders: u32) -> Result<bool> {
    #[derive(Deserialize)]
    struct Line {
        text: Option<String>,
    }
    let archive = dir().join(TEXTS);
    if !archive.exists() {
        eprintln!("bench: NOT MEASURED: {} is absent; set METIER_CORPUS", archive.display());
        return Ok(false);
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&archive).output()?;
    let unpacked = String::from_utf8(unpacked.stdout)?;
    let mut texts = Vec::new();
    for line in unpacked.lines() {
        texts.extend(serde_json::from_str::<Line>(line)?.text);
    }
    let count = u32::try_from(texts.len())?;
    for at in 0..folders {
        let text = texts.get((at % count.max(1)) as usize).context("the collection is empty")?;
        let dir = into.join(format!("text-{at}"));
        fs::create_dir(&dir)?;
        fs::write(dir.join("SKILL.md"), renamed(text.as_bytes(), at / count))?;
    }
    Ok(true)
}

/// Skills of a folder, as directories.
pub(crate) fn count(skills: &Path) -> Result<u32> {
    Ok(u32::try_from(fs::read_dir(skills)?.count())?)
}

/// Writes `times` copies of each `SKILL.md` below `into`, each under a name of its own. The other
/// files of a skill are left out: listing never opens them.
pub(crate) fn copy(skills: &Path, into: &Path, times: u32) -> Result<()> {
    for skill in fs::read_dir(skills)? {
        let skill = skill?;
        let text = fs::read(skill.path().join("SKILL.md"))?;
        let name = skill.file_name().into_string().ok().context("a name that is no text")?;
        for copy in 0..times {
            let dir = into.join(format!("{name}-{copy}"));
            fs::create_dir(&dir)?;
            fs::write(dir.join("SKILL.md"), renamed(&text, copy))?;
        }
    }
    Ok(())
}

/// The text with the copy's number behind the value of its first `name:` line.
fn renamed(text: &[u8], copy: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 4);
    let mut done = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = line.trim_ascii_end();
        if done || !end.starts_with(b"name: ") {
            out.extend_from_slice(line);
            continue;
        }
        done = true;
        let value = end.strip_suffix(b"\"").or_else(|| end.strip_suffix(b"'")).unwrap_or(end);
        out.extend_from_slice(value);
        out.extend_from_slice(format!("-{copy}").as_bytes());
        out.extend_from_slice(&line[value.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_copy_has_a_name_of_its_own() {
        let text = |text: &str| String::from_utf8(renamed(text.as_bytes(), 7)).unwrap();
        assert_eq!(text("---\nname: a\nname: b\n"), "---\nname: a-7\nname: b\n");
        assert_eq!(text("---\r\nname: \"a\"\r\nx: y\r\n"), "---\r\nname: \"a-7\"\r\nx: y\r\n");
        assert_eq!(text("no name"), "no name");
    }
}
