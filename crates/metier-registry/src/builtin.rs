//! The skills compiled into the program: read only, lowest priority, there on any machine.
//!
//! The table names every file below `skills/`; a test compares the two.

use crate::memory::{MemorySkill, MemorySkillFiles};

/// A file of a compiled-in skill.
#[derive(Debug, Clone, Copy)]
struct BuiltinFile {
    skill: &'static str,
    path: &'static str,
    bytes: &'static [u8],
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

/// The compiled-in skills. The table names the files of one skill one after the other.
pub(crate) fn builtin_skills() -> impl Iterator<Item = MemorySkill> {
    FILES.chunk_by(|a, b| a.skill == b.skill).map(|files| MemorySkill {
        folder: files[0].skill.to_owned(),
        files: MemorySkillFiles::new(files.iter().map(|file| (file.path, file.bytes))),
    })
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
        for skill in builtin_skills() {
            let name = skill.folder.as_str();
            let text = skill.files.get("SKILL.md").expect("a SKILL.md");
            for profile in [Profile::Strict, Profile::Lenient, Profile::Spec] {
                let options =
                    ParseOptions { profile, directory: Some(name), ..ParseOptions::default() };
                assert_eq!(check(text, &options).diagnostics, [], "{name} under {profile}");
            }
        }
    }
}
