//! A draft becomes a skill: judged as every skill is, then put into its folder whole.
//!
//! Nothing is written for a draft that a scan would ignore, and nothing that is there is replaced.

use std::path::{Path, PathBuf};

use metier_fs::{NewFile, create_dir_whole};
use metier_skill::{
    Diagnostic, Limits, NameFault, ParseOptions, Profile, RelPath, Severity, check, name_faults,
    suggested_name,
};

use super::error::ManageError;
use super::template::{SCRIPT, SCRIPT_PATH, SkillDraft, TemplateScript, skill_md};

/// A skill that was made.
#[derive(Debug)]
pub struct Created {
    /// Its directory.
    pub path: PathBuf,
    /// Its files, below the directory.
    pub files: Vec<&'static str>,
    /// What could be better in it; no errors.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes the skill in a directory of its name in `folder`.
///
/// # Errors
///
/// [`ManageError`]; then nothing is left behind.
pub fn create(
    folder: &Path,
    draft: &SkillDraft<'_>,
    limits: &Limits,
) -> Result<Created, ManageError> {
    check_new_name(draft.name)?;
    let text = skill_md(draft);
    let options =
        ParseOptions { profile: Profile::Strict, limits: *limits, directory: Some(draft.name) };
    let diagnostics = check(text.as_bytes(), &options).diagnostics;
    if let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) {
        let (code, message) = (error.code, error.message.to_string());
        return Err(ManageError::WouldBeIgnored { code, message });
    }
    let skill = NewFile { path: "SKILL.md", bytes: text.as_bytes(), executable: false };
    let script = NewFile { path: SCRIPT_PATH, bytes: SCRIPT.as_bytes(), executable: true };
    let (files, names) = match draft.script {
        TemplateScript::None => (vec![skill], vec!["SKILL.md"]),
        TemplateScript::Example => (vec![skill, script], vec!["SKILL.md", SCRIPT_PATH]),
    };
    let path = folder.join(draft.name);
    create_dir_whole(&path, &files).map_err(ManageError::io(&path))?;
    Ok(Created { path, files: names, diagnostics })
}

/// Refuses what breaks the public rules, and what no folder can be called everywhere. Letters outside
/// a-z break neither.
///
/// # Errors
///
/// [`ManageError::BadName`].
pub fn check_new_name(name: &str) -> Result<(), ManageError> {
    let faults = name_faults(name, None, Profile::Strict);
    let breaks_rules = faults.iter().any(|fault| *fault != NameFault::NotAscii);
    if !name.is_empty() && !name.contains('/') && !breaks_rules && RelPath::new(name).is_ok() {
        return Ok(());
    }
    let usable = |near: &String| RelPath::new(near).is_ok() && near != name;
    let suggestion = suggested_name(name).filter(usable);
    Err(ManageError::BadName { name: name.to_owned(), suggestion })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_with_a_suggestion() {
        for name in ["pdf-tools", "a", "0", "技能", "कौशल"] {
            assert!(check_new_name(name).is_ok(), "{name}");
        }
        for (name, near) in [
            ("PDF Tools", Some("pdf-tools")),
            ("acme/pdf", Some("acme-pdf")),
            ("..", None),
            ("../x", Some("x")),
            ("a\\b", Some("a-b")),
            ("-a", Some("a")),
            ("nul", None),
            ("", None),
        ] {
            match check_new_name(name) {
                Err(ManageError::BadName { suggestion, .. }) => {
                    assert_eq!(suggestion.as_deref(), near, "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
