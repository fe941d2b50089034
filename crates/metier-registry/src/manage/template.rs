//! The text of a new skill: the recommended sections, each with a line that says what belongs there.
//!
//! Pure. A new skill has no diagnostics: a property test holds that for any description that could
//! be one, with whatever quotes, colons and line breaks.

use metier_skill::double_quoted;

/// What a new skill should say.
#[derive(Debug, Clone, Copy)]
pub struct SkillDraft<'a> {
    /// Its name, and its folder's.
    pub name: &'a str,
    /// What it does and when to use it.
    pub description: &'a str,
    /// The tools it is limited to, as one text; `None` for no limit of its own.
    pub allowed_tools: Option<&'a str>,
    /// Its licence.
    pub license: Option<&'a str>,
    /// Whether it has a script.
    pub script: TemplateScript,
}

/// Whether a new skill has a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateScript {
    /// Words are enough.
    None,
    /// With one to start from.
    Example,
}

/// Where the example script stands.
pub(super) const SCRIPT_PATH: &str = "scripts/main.py";

/// The example script.
pub(super) const SCRIPT: &str = r#"#!/usr/bin/env python3
"""Say here what the script does, and what it prints."""

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", help="what to work on")
    arguments = parser.parse_args()
    print(f"input: {arguments.input}")


if __name__ == "__main__":
    main()
"#;

/// The `SKILL.md` of a draft.
pub(super) fn skill_md(draft: &SkillDraft<'_>) -> String {
    let mut fields = format!("name: {}\n", name_value(draft.name));
    // Windows' line ends, and old Macs': a carriage return has no place in a field.
    let description = draft.description.replace("\r\n", "\n").replace('\r', "\n");
    fields.push_str(&format!("description: {}\n", quoted(&description)));
    if let Some(license) = draft.license {
        fields.push_str(&format!("license: {}\n", quoted(license)));
    }
    if let Some(tools) = draft.allowed_tools {
        fields.push_str(&format!("allowed-tools: {}\n", quoted(tools)));
    }
    let (step, resources) = match draft.script {
        TemplateScript::None => (
            "The next thing to do, and how to check that it worked.".to_owned(),
            "Nothing yet. Details that only some tasks need go into a folder called references, code \
             that\nwould be written again each time into one called scripts; name each file here, and \
             say when to\nuse it."
                .to_owned(),
        ),
        TemplateScript::Example => (
            format!("Run `{SCRIPT_PATH}` on the input, and read its output."),
            format!("- `{SCRIPT_PATH}`: say what it does; `--help` shows its arguments."),
        ),
    };
    format!(
        "---\n{fields}---\n\n\
         # {title}\n\n\
         Say in a sentence or two what this skill gets done, and what the result looks like.\n\n\
         ## When to use\n\n\
         - The requests it is for, in the words people use.\n\
         - What looks close and is not for it.\n\n\
         ## Steps\n\n\
         1. The first thing to do, with what to look at before.\n\
         2. {step}\n\n\
         ## Checks\n\n\
         - How to tell that the result is right, before it is handed over.\n\
         - What to do when it is not.\n\n\
         ## Resources\n\n\
         {resources}\n",
        title = title(draft.name),
    )
}

/// `pdf-tools` as a heading: `Pdf tools`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A name as a YAML value: in quotes where a parser would see a number, a date or a switch.
fn name_value(name: &str) -> String {
    const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_text = name.starts_with(|ch: char| ch.is_ascii_lowercase()) && !WORDS.contains(&name);
    if is_text { name.to_owned() } else { quoted(name) }
}

/// `text` as a YAML value in quotes. Some readers take three hyphens for the closing fence wherever they
/// stand.
fn quoted(text: &str) -> String {
    double_quoted(text).replace("---", "--\\x2d")
}

#[cfg(test)]
mod tests {
    use metier_skill::{ParseOptions, Profile, check};
    use proptest::prelude::*;

    use super::*;

    fn draft<'a>(name: &'a str, description: &'a str) -> SkillDraft<'a> {
        let (allowed_tools, license) = (None, None);
        SkillDraft { name, description, allowed_tools, license, script: TemplateScript::None }
    }

    fn options(name: &str, profile: Profile) -> ParseOptions<'_> {
        ParseOptions { profile, directory: Some(name), ..ParseOptions::default() }
    }

    #[test]
    fn a_new_skill_has_no_diagnostics_in_any_profile() {
        let whole = SkillDraft {
            allowed_tools: Some("Read Bash(git add:*, git commit:*)"),
            license: Some("MIT OR Apache-2.0"),
            script: TemplateScript::Example,
            ..draft("pdf-tools", "Fill: \"forms\" #1\n- it's 'so'\\n, C:\\x\tend")
        };
        for draft in [whole, draft("pdf-tools", "Fill PDF forms.")] {
            for profile in [Profile::Strict, Profile::Lenient, Profile::Spec] {
                let text = skill_md(&draft);
                let checked = check(text.as_bytes(), &options(draft.name, profile));
                assert!(checked.diagnostics.is_empty(), "{profile:?}: {:?}", checked.diagnostics);
                let skill = checked.skill.expect("a skill");
                assert_eq!(&*skill.description, draft.description);
                let tools = skill.controls.allowed_tools.map(|tools| tools.len());
                assert_eq!(tools, draft.allowed_tools.map(|_| 2));
            }
        }
    }

    #[test]
    fn names_that_yaml_would_take_for_something_else_stay_names() {
        for name in ["true", "no", "null", "123", "1e5", "0x1f", "2024-01-01", "技能", "y"] {
            let text = skill_md(&draft(name, "Fill PDF forms."));
            let skill = check(text.as_bytes(), &options(name, Profile::Strict)).skill;
            assert_eq!(skill.expect("a skill").name.as_str(), name);
            assert!(text.contains(&format!("name: \"{name}\"\n")), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_description_is_kept_or_refused(description in any::<String>()) {
            let text = skill_md(&draft("pdf", &description));
            let checked = check(text.as_bytes(), &options("pdf", Profile::Strict));
            if let Some(skill) = checked.skill {
                let lines = description.replace("\r\n", "\n").replace('\r', "\n");
                prop_assert_eq!(&*skill.description, lines.trim());
            } else {
                prop_assert!(!checked.diagnostics.is_empty());
            }
        }

        #[test]
        fn what_people_type_has_no_diagnostics(description in "[a-zA-Z0-9 .,:;#'\"\\\\\\n\\t|&*!%@`{}\\[\\]?-]{0,200}x") {
            let text = skill_md(&draft("pdf", &description));
            let checked = check(text.as_bytes(), &options("pdf", Profile::Strict));
            prop_assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
            prop_assert_eq!(&*checked.skill.unwrap().description, description.trim());
        }
    }
}
