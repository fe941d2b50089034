//! Where the skills of a tree are: pure, over the paths of its files.
//!
//! Two layouts are in use: `SKILL.md` at the top, or a folder for each skill. A tree that has both could
//! mean one skill or several, so it is refused.

use crate::facts::SKILL_FILE;
use crate::shipped_tree::ShippedFile;

/// How deep a skill may lie below the top, as in `repository/plugins/name/skills/skill`.
pub(crate) const MAX_DEPTH: usize = 6;

/// Why the skills of a tree are not clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutFault {
    /// There is none.
    NoSkill,
    /// There is one at the top and one in a folder right below it.
    TwoLayouts,
}

/// The directories of the skills, sorted; empty text for the top itself. A `SKILL.md` inside a skill is a
/// file of that skill.
pub(crate) fn skill_dirs(files: &[ShippedFile]) -> Result<Vec<String>, LayoutFault> {
    let mut dirs: Vec<&str> = files
        .iter()
        .filter_map(|file| {
            let dir = match file.path.rsplit_once('/') {
                Some((dir, name)) => (name == SKILL_FILE).then_some(dir)?,
                None => (file.path == SKILL_FILE).then_some("")?,
            };
            (dir.split('/').count() <= MAX_DEPTH).then_some(dir)
        })
        .collect();
    dirs.sort_unstable();
    if dirs.first() == Some(&"") {
        let is_beside = |dir: &&str| !dir.is_empty() && !dir.contains('/');
        let is_unclear = dirs.iter().any(is_beside);
        return if is_unclear { Err(LayoutFault::TwoLayouts) } else { Ok(vec![String::new()]) };
    }
    let mut found: Vec<String> = Vec::new();
    for dir in &dirs {
        let is_inside = |outer: &String| {
            dir.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if !found.iter().any(is_inside) {
            found.push((*dir).to_owned());
        }
    }
    if found.is_empty() { Err(LayoutFault::NoSkill) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use metier_skill::Digest;

    use super::*;

    fn dirs(paths: &[&str]) -> Result<Vec<String>, LayoutFault> {
        let file = |path: &&str| ShippedFile {
            path: (*path).to_owned(),
            size: 0,
            executable: false,
            digest: Digest::of(b""),
            facts: None,
            manifest: None,
            bundle: None,
            inspected: None,
            text: None,
        };
        skill_dirs(&paths.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn skills_are_found_at_the_top_or_in_folders_and_not_inside_each_other() {
        assert_eq!(dirs(&["SKILL.md", "scripts/x"]), Ok(vec![String::new()]));
        assert_eq!(
            dirs(&["a/SKILL.md", "a/assets/SKILL.md", "a-b/SKILL.md", "README.md"]),
            Ok(vec!["a".to_owned(), "a-b".to_owned()])
        );
        assert_eq!(dirs(&["r-main/skills/x/SKILL.md"]), Ok(vec!["r-main/skills/x".to_owned()]));
        assert_eq!(dirs(&["SKILL.md", "assets/t/SKILL.md"]), Ok(vec![String::new()]));
        assert_eq!(dirs(&["SKILL.md", "a/SKILL.md"]), Err(LayoutFault::TwoLayouts));
        assert_eq!(dirs(&["a/skill.md", "a/x"]), Err(LayoutFault::NoSkill));
    }
}
