//! Skills of others, which no request needs: from the public collection that the benches use.
//!
//! Only their `SKILL.md` is taken. Some of the collection is hostile, and none of it is to run.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::bench::corpus;

/// Copies `count` of them into `skills`, spread over the alphabet, and says how many there were. `into` is where
/// the collection is unpacked.
pub(crate) fn add(skills: &Path, into: &Path, count: u32) -> Result<u32> {
    let unpacked = into.join("skills");
    if !unpacked.exists() {
        fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
        if corpus::unpack(into)?.is_none() {
            eprintln!("e2e-models: NO DISTRACTORS: the requests are much easier without them");
            return Ok(0);
        }
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&unpacked)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path().join("SKILL.md")).unwrap_or_default();
        if is_plain(&text, &name) && !skills.join(&name).exists() {
            names.push(name);
        }
    }
    names.sort();
    let step = (names.len() / count.max(1) as usize).max(1);
    let mut added = 0;
    for name in names.iter().step_by(step).take(count as usize) {
        let to = skills.join(name);
        fs::create_dir(&to).with_context(|| format!("cannot make {}", to.display()))?;
        fs::copy(unpacked.join(name).join("SKILL.md"), to.join("SKILL.md"))?;
        added += 1;
    }
    Ok(added)
}

/// Whether it is listed for certain: it is called like its folder, and says on one line what it is for.
fn is_plain(text: &str, folder: &str) -> bool {
    let Some(rest) = text.strip_prefix("---\n") else { return false };
    let Some((head, _)) = rest.split_once("\n---") else { return false };
    let value = |key: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    };
    let described = value("description:").unwrap_or_default();
    value("name:").as_deref() == Some(folder)
        && (40..=400).contains(&described.chars().count())
        && !head.contains(['<', '>'])
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_distractor_is_called_like_its_folder_and_described_on_one_line() {
        let described = "d".repeat(50);
        let text = |name: &str, description: &str| {
            format!("---\nname: \"{name}\"\ndescription: {description}\n---\nbody\n")
        };
        assert!(is_plain(&text("a", &described), "a"));
        assert!(!is_plain(&text("b", &described), "a"));
        assert!(!is_plain(&text("a", ">"), "a"));
        assert!(!is_plain("no head", "a"));
    }
}
