//! What the layers of an artifact are, and which of several archives holds the skills. Pure.
//!
//! Layers lie over each other, and what a file is in the end depends on all of them. They are not merged here:
//! the skills have to be whole in one layer, and no other layer may touch their folders. So every program that
//! merges comes to the same files.

use super::manifest::{Descriptor, LayerUse};
use crate::archive::{NameSet, check_entry_name, fold};
use crate::facts::SKILL_FILE;
use crate::limits::PackLimits;

/// Archives that one artifact may have.
const MAX_ARCHIVES: usize = 32;

/// How the name of a file begins that takes another one away.
const WHITEOUT: &str = ".wh.";
/// How many folders a `SKILL.md` may be in.
const MAX_DEPTH: usize = 2;

/// What each layer is, before any of them is fetched; or why they are not read.
pub(super) fn layer_uses<'m>(
    layers: &'m [Descriptor],
    limits: &PackLimits,
) -> Result<Vec<(&'m Descriptor, LayerUse)>, String> {
    let total = layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size));
    if total > limits.total_bytes {
        return Err(format!(
            "its layers have {total} bytes; at most {} are read",
            limits.total_bytes
        ));
    }
    let mut uses = Vec::new();
    let mut names = NameSet::default();
    for layer in layers {
        let layer_use = layer.layer_use(layers.len() == 1)?;
        if let LayerUse::File(title) = &layer_use {
            let unsound = |fault| format!("the layer `{title}`: {fault}");
            let (_, is_dir) = check_entry_name(title, limits).map_err(unsound)?;
            if is_dir {
                return Err(format!("the layer `{title}` is called like a folder"));
            }
            names.add(title, false).map_err(unsound)?;
        }
        uses.push((layer, layer_use));
    }
    let archives = uses.iter().filter(|(_, it)| *it == LayerUse::Archive).count();
    match (uses.len(), archives) {
        (0, _) => Err("it has no layers".to_owned()),
        (_, 0) => Ok(uses),
        (all, archives) if all == archives && all <= MAX_ARCHIVES => Ok(uses),
        (all, archives) => Err(format!(
            "{archives} of its {all} layers are archives; they may all be, up to {MAX_ARCHIVES}, or none, each a file then"
        )),
    }
}

/// The number of the layer that holds the skills; or why it is not clear.
pub(super) fn holder(layers: &[Vec<String>]) -> Result<usize, String> {
    let mut paths = layers.iter().flatten();
    let is_whiteout = |path: &&String| path.split('/').any(|name| name.starts_with(WHITEOUT));
    if let Some(path) = paths.find(is_whiteout) {
        return Err(format!("a layer takes files of another layer away: `{path}`"));
    }
    if layers.len() == 1 {
        return Ok(0);
    }
    let with_skills: Vec<usize> =
        (0..layers.len()).filter(|number| !skill_dirs(&layers[*number]).is_empty()).collect();
    let [number] = with_skills[..] else {
        return Err(match with_skills.len() {
            0 => format!("none of its {} layers has a {SKILL_FILE}", layers.len()),
            some => {
                format!("{some} of its layers have a {SKILL_FILE}, and skills have to be in one")
            }
        });
    };
    let dirs: Vec<String> = skill_dirs(&layers[number]).into_iter().map(|dir| fold(&dir)).collect();
    let others = layers.iter().enumerate().filter(|(other, _)| *other != number);
    let touches = |path: &&String| {
        let path = fold(path);
        dirs.iter().any(|dir| {
            dir.is_empty()
                || path
                    .strip_prefix(dir.as_str())
                    .is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..]))
        })
    };
    match others.flat_map(|(_, files)| files).find(touches) {
        None => Ok(number),
        Some(path) => Err(format!("another layer changes the skill: `{path}`")),
    }
}

/// The folders with a `SKILL.md`.
fn skill_dirs(files: &[String]) -> Vec<String> {
    let dirs = files.iter().filter_map(|path| match path.rsplit_once('/') {
        Some((dir, SKILL_FILE)) => Some(dir),
        None if path == SKILL_FILE => Some(""),
        _ => None,
    });
    let is_near = |dir: &&str| dir.is_empty() || dir.split('/').count() <= MAX_DEPTH;
    dirs.filter(is_near).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(layers: &[&[&str]]) -> Result<usize, String> {
        let layer = |files: &&[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        holder(&layers.iter().map(layer).collect::<Vec<_>>())
    }

    #[test]
    fn the_skills_are_whole_in_one_layer() {
        assert_eq!(of(&[&["a/b/c/d/SKILL.md"]]), Ok(0));
        assert_eq!(of(&[&["etc/passwd"], &["skills/a/SKILL.md", "skills/a/x"]]), Ok(1));
        assert_eq!(of(&[&["SKILL.md"], &[]]), Ok(0));
        assert_eq!(of(&[&["a/SKILL.md"], &["a-b/x", "README.md"]]), Ok(0));
        for bad in [
            &[&["a/x"][..], &["b/x"][..]][..],
            &[&["a/SKILL.md"], &["b/SKILL.md"]],
            &[&["a/SKILL.md"], &["a/scripts/run.sh"]],
            &[&["a/scripts/run.sh"], &["a/SKILL.md"]],
            &[&["a/SKILL.md"], &["A/run.sh"]],
            &[&["a/SKILL.md"], &["a"]],
            &[&["SKILL.md"], &["run.sh"]],
            &[&["a/SKILL.md"], &["a/.wh.x"]],
            &[&["a/SKILL.md", "a/.wh..wh..opq"]],
            &[&["a/b/c/SKILL.md"], &["x"]],
            &[],
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
