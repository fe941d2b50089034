//! The skills compiled into the program: read only, lowest priority, there on any machine.
//!
//! The table names every file below `skills/`; a test compares the two.

/// A file of a compiled-in skill.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinFile {
    /// The skill's name.
    pub skill: &'static str,
    /// The file's path below the skill's directory.
    pub path: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

macro_rules! files {
    ($($skill:literal $path:literal;)*) => {
        &[$(BuiltinFile {
            skill: $skill,
            path: $path,
            bytes: include_bytes!(concat!("../../../skills/", $skill, "/", $path)),
        },)*]
    };
}

const FILES: &[BuiltinFile] = files! {
    "csv-summary" "SKILL.md";
    "csv-summary" "scripts/summarise.sh";
    "profile-csv" "SKILL.md";
    "profile-csv" "scripts/profile_csv.py";
    "project-overview" "SKILL.md";
    "project-overview" "scripts/overview.sh";
    "review-skill" "SKILL.md";
    "review-skill" "references/checklist.md";
    "review-skill" "references/safety.md";
    "write-skill" "SKILL.md";
    "write-skill" "references/descriptions.md";
};

/// Every file of every compiled-in skill.
pub fn builtin_files() -> &'static [BuiltinFile] {
    FILES
}

/// The `SKILL.md` of every compiled-in skill, with its name.
pub(crate) fn builtin_skills() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().filter(|file| file.path == "SKILL.md").map(|file| (file.skill, file.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metier_skill::{ParseOptions, Profile, check};
    use std::path::Path;

    #[test]
    fn the_table_names_every_file_below_skills() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
        let (files, _) =
            metier_fs::list_files(&dir, metier_fs::TreeLimits::default()).expect("skills/");
        let on_disk: Vec<String> = files.into_iter().map(|file| file.path).collect();
        let in_table: Vec<String> =
            FILES.iter().map(|file| format!("{}/{}", file.skill, file.path)).collect();
        assert_eq!(in_table, on_disk);
    }

    #[test]
    fn every_compiled_in_skill_is_flawless_by_every_profile() {
        for (name, text) in builtin_skills() {
            for profile in [Profile::Strict, Profile::Lenient, Profile::Spec] {
                let options =
                    ParseOptions { profile, directory: Some(name), ..ParseOptions::default() };
                assert_eq!(check(text, &options).diagnostics, [], "{name} under {profile}");
            }
        }
    }
}
