//! Every diagnostic code in one table: what it means, why it matters, how to fix it,
//! how severe it is in each profile, and which other tools reject the same thing.
//!
//! A code is stable: it may be retired, never reused for something else. `docs/diagnostics.md` is
//! generated from this table (`cargo xtask gen`).

mod info;

pub use info::CodeInfo;

use crate::diagnostic::Severity;

const E: Option<Severity> = Some(Severity::Error);
const W: Option<Severity> = Some(Severity::Warning);
const N: Option<Severity> = Some(Severity::Note);
/// Not reported in this profile.
const O: Option<Severity> = None;

/// The reference validator of the public specification.
const REF: &str = "skills-ref";
/// The validator in the skill-creator skill, which the packager runs.
const QUICK: &str = "quick_validate";
/// Clients that load the frontmatter with a YAML parser as it is, such as `npx skills`.
const YAML: &str = "strict-yaml-clients";

macro_rules! codes {
    ($($variant:ident $code:literal [$strict:ident $lenient:ident $spec:ident] [$($by:ident),*]
        $what:literal, $why:literal, $fix_advice:literal;)*) => {
        /// A stable diagnostic code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $what] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Everything documented about this code.
            pub const fn info(self) -> &'static CodeInfo {
                match self {
                    $(Self::$variant => &CodeInfo {
                        code: $code, what: $what, why: $why, fix_advice: $fix_advice,
                        rejected_by: &[$($by),*],
                        strict: $strict, lenient: $lenient, spec: $spec,
                    },)*
                }
            }
        }
    };
}

// Columns after the code: severity under strict, lenient and spec; then who else rejects every case of it, as
// tried (`tests/it/rejections.json` has the cases and the versions).
codes! {
    // The file.
    FileMissing "file-missing" [E E E] [REF, QUICK]
        "The directory has no `SKILL.md`.",
        "A skill is a directory with a file named exactly `SKILL.md`.",
        "Create `SKILL.md` with a `name` and a `description`, or point at the right directory.";
    FileNameCase "file-name-case" [W W O] [QUICK]
        "The file is called `skill.md`, not `SKILL.md`.",
        "Most clients look for the exact name and do not see this skill.",
        "Rename the file to `SKILL.md`.";
    FileNotRegular "file-not-regular" [E E E] []
        "`SKILL.md` is not a regular file.",
        "A pipe, socket, device or directory is never opened for reading: it could hang or lie.",
        "Replace it with a regular file.";
    FileUnreadable "file-unreadable" [E E E] []
        "The file could not be read.",
        "The operating system refused to open it, so the skill cannot be checked.",
        "Check the permissions of the file and of its directories.";
    FileUnwritable "file-unwritable" [E E E] []
        "The fixed file could not be written.",
        "The file is unchanged.",
        "Check the permissions of the file and its directory; if the file is a link, fix its target.";
    FileChanging "file-changing" [E E E] []
        "The file kept changing while it was being read.",
        "A half-written skill must not be listed as a valid one.",
        "Wait until whatever is writing it has finished; the next scan reads it again.";
    FilePathInvalid "file-path-invalid" [E E E] []
        "A path in a program's own source of skills could not be one on disk.",
        "Absolute paths, `..`, hidden files, control characters and two files in one place mean different things to different readers.",
        "Give each skill a plain folder name and each file its own path below it, such as `scripts/run.sh`.";
    FileEmpty "file-empty" [E E E] [REF, QUICK]
        "The file is empty.",
        "There is nothing to show to a model: neither a name nor a description.",
        "Write the frontmatter and a body, or remove the directory.";
    FileNotUtf8 "file-not-utf8" [E E E] [REF, QUICK]
        "The frontmatter is not UTF-8.",
        "Guessing an encoding can change what the text says.",
        "Save the file as UTF-8.";
    FileBom "file-bom" [N N E] [REF, QUICK]
        "The file starts with a byte order mark.",
        "It is read, but several clients then see no frontmatter at all.",
        "Save the file as UTF-8 without a byte order mark (`metier check --fix` removes it).";
    // The fences.
    FrontmatterMissing "frontmatter-missing" [E E E] [REF, QUICK]
        "The file does not start with a `---` line.",
        "The frontmatter holds the name and the description; without it the skill cannot be shown.",
        "Start the file with `---`, the fields and another `---`, followed by the body.";
    FrontmatterUnclosed "frontmatter-unclosed" [E E E] [REF, QUICK]
        "The frontmatter is opened but never closed.",
        "Without a closing `---` line, fields and body cannot be distinguished.",
        "Put an unindented line with only `---` after the last field.";
    FrontmatterTooLarge "frontmatter-too-large" [E E E] []
        "The frontmatter is larger than the limit.",
        "It is read for every skill at every start; most are a few hundred bytes.",
        "Move long text into the body or into files under `references/`.";
    FrontmatterTooManyLines "frontmatter-too-many-lines" [E E O] []
        "The frontmatter has more lines than the limit.",
        "It is read for every skill at every start; most have about ten lines.",
        "Move long text into the body or into files under `references/`.";
    FrontmatterLineTooLong "frontmatter-line-too-long" [E W O] []
        "A line of a field that Metier does not know is longer than the limit.",
        "A very long line in an unknown field can hide text from a reviewer.",
        "Shorten the line or move the text into the body.";
    FrontmatterNotMapping "frontmatter-not-mapping" [E E E] [REF, QUICK]
        "The frontmatter is not a list of `key: value` fields.",
        "Fields are looked up by name.",
        "Write at least `name:` and `description:`.";
    FrontmatterInnerFence "frontmatter-inner-fence" [N N N] []
        "A value contains `---`.",
        "The reference validator splits at any `---` and silently cuts the value there.",
        "Use another dash, such as an em dash, in values.";
    ControlCharacter "control-character" [E E E] []
        "The frontmatter contains a control character.",
        "Control characters can hide text and take over a terminal.",
        "Delete the character; write line breaks as line breaks.";
    LoneCarriageReturn "lone-carriage-return" [E E E] []
        "There is a carriage return without a line feed.",
        "Parsers disagree on whether it ends a line, and therefore on what the fields are.",
        "Save the file with LF or CRLF line endings.";
    // YAML.
    YamlSyntax "yaml-syntax" [E E E] [REF, QUICK, YAML]
        "The frontmatter is not valid YAML.",
        "The fields cannot be read.",
        "Fix the line; when in doubt, put the value in double quotes.";
    YamlUnquotedColon "yaml-unquoted-colon" [W W E] [REF, QUICK, YAML]
        "An unquoted value contains `: `.",
        "YAML reads it as a second key and rejects the line; this is the most common mistake.",
        "Put the value in double quotes (`metier check --fix` does it).";
    YamlSpecialStart "yaml-special-start" [W W E] [REF, QUICK, YAML]
        "An unquoted value starts with a character that YAML reserves.",
        "YAML reads it as a list, a map, an alias, a tag or an error instead of text.",
        "Put the value in double quotes (`metier check --fix` does it).";
    YamlTextAfterBlock "yaml-text-after-block" [W W E] [REF, QUICK, YAML]
        "Text follows `|` or `>` on the same line.",
        "A block value starts on the next line; YAML rejects text beside the indicator.",
        "Drop the indicator and quote the text (`metier check --fix` does it).";
    YamlTextAfterQuote "yaml-text-after-quote" [W W E] [REF, QUICK, YAML]
        "Text follows a closing quote.",
        "YAML ends the value at the quote and rejects the rest.",
        "Quote the whole value (`metier check --fix` does it).";
    YamlUnclosedQuote "yaml-unclosed-quote" [W W E] [REF, QUICK, YAML]
        "A quoted value is not closed on its line.",
        "YAML reads on to the end of the frontmatter and rejects it.",
        "Close the quote (`metier check --fix` does it).";
    YamlQuoteUnindented "yaml-quote-unindented" [W W W] []
        "A quoted value continues at column 1.",
        "YAML asks for a blank before each further line of a quoted value. Common parsers do without, strict ones reject the file.",
        "Indent the further lines of the value (`metier check --fix` does it).";
    YamlBadEscape "yaml-bad-escape" [W W E] [REF, QUICK, YAML]
        "A double-quoted value has a backslash that does not start a valid escape.",
        "YAML rejects unknown escapes such as `\\d`.",
        "Write the backslash twice (`metier check --fix` does it).";
    YamlSmartQuotes "yaml-smart-quotes" [W W N] []
        "The value is in typographic quotes.",
        "YAML does not treat them as quotes: they become part of the text, or the line is rejected.",
        "Use straight double quotes (`metier check --fix` does it).";
    YamlTab "yaml-tab" [W W E] [REF, QUICK]
        "There is a tab where YAML requires spaces.",
        "YAML rejects tabs before a value and in indentation.",
        "Use spaces (`metier check --fix` does it for `name` and `description`).";
    YamlByteOrderMark "yaml-byte-order-mark" [W W W] []
        "There is a byte order mark inside a value.",
        "It is invisible, and only some parsers take it for text.",
        "Remove it (`metier check --fix` does it for `name` and `description`).";
    YamlCommentCut "yaml-comment-cut" [W W O] []
        "The rest of the value is cut off as a comment.",
        "In YAML, ` #` starts a comment, so a model never sees what follows.",
        "Put the value in double quotes, or move the comment to its own line.";
    YamlDuplicateKey "yaml-duplicate-key" [E E E] [REF]
        "A key appears twice.",
        "Some parsers use the first, some the last: two tools would see two different skills.",
        "Keep one of them.";
    YamlAlias "yaml-alias" [E E E] [REF]
        "The frontmatter uses an anchor, an alias or a merge key.",
        "Aliases can expand a few bytes to gigabytes and hide what a field really says.",
        "Write the value out; quote it if it only looks like an alias.";
    YamlTag "yaml-tag" [E E E] [REF]
        "The frontmatter uses a YAML tag.",
        "Tags ask the reader to build typed objects; fields are plain text.",
        "Remove the tag, or quote the value.";
    YamlFlow "yaml-flow" [N N E] [REF]
        "A list or map is written inline, with brackets or braces.",
        "It is read, but the reference validator rejects it.",
        "Write one item per line if the skill should pass that validator.";
    YamlDocuments "yaml-documents" [E E E] [REF, QUICK, YAML]
        "The frontmatter holds more than one YAML document.",
        "Only one of them can be used, and readers disagree on which.",
        "Remove `...` and `%` lines.";
    YamlTooDeep "yaml-too-deep" [E E E] []
        "Values are nested deeper than the limit.",
        "Deep nesting is a known way to crash parsers.",
        "Flatten the value or move it into a file.";
    YamlTooManyNodes "yaml-too-many-nodes" [E E E] []
        "The frontmatter has more values than the limit.",
        "It is read for every skill at every start.",
        "Move the data into a file in the skill's directory.";
    FieldUnreadable "field-unreadable" [W W E] [REF, QUICK, YAML]
        "A field is not valid YAML and was kept as plain text.",
        "The other fields could be read; this one has no effect.",
        "Fix the field; when in doubt, put its value in double quotes.";
    ControlUnreadable "control-unreadable" [E E E] [REF, QUICK, YAML]
        "A field that limits what the skill may do cannot be read.",
        "Ignoring it or guessing could grant more than its author intended.",
        "Fix the field: a list or a comma-separated string for tools, `true` or `false` for switches.";
    // Names.
    NameMissing "name-missing" [E W E] [REF]
        "There is no `name`.",
        "A model calls a skill by its name. The lenient profile uses the directory's name.",
        "Add `name:` with the directory's name.";
    NameNotText "name-not-text" [E E E] [REF, QUICK]
        "`name` is not text.",
        "A model calls a skill by its name.",
        "Write one word, such as `pdf-tools`.";
    NameUnusable "name-unusable" [E E E] [REF, QUICK]
        "The name cannot be used at all.",
        "It is empty, longer than 256 characters, or contains control characters.",
        "Use lower-case letters, digits and hyphens, such as `pdf-tools`.";
    NameTooLong "name-too-long" [W W E] [REF, QUICK]
        "The name is longer than 64 characters.",
        "The public specification allows 64.",
        "Choose a shorter name and rename the directory to match.";
    NameCharset "name-charset" [W W E] [REF, QUICK]
        "The name has characters other than lower-case letters, digits and hyphens.",
        "The public specification allows no others; some clients skip such skills.",
        "Use lower-case letters, digits and hyphens, such as `pdf-tools`.";
    NameHyphens "name-hyphens" [W W E] [REF, QUICK]
        "The name starts or ends with a hyphen, or has two in a row.",
        "The public specification forbids it.",
        "Remove the extra hyphens.";
    NameNotAscii "name-not-ascii" [N N O] [QUICK]
        "The name has letters outside a-z.",
        "The specification contradicts itself here; some clients accept only a-z, 0-9 and hyphens.",
        "Use ASCII letters if the skill should work everywhere.";
    NameDirectory "name-directory" [W W E] [REF]
        "The name differs from the directory's name.",
        "The public specification requires them to be equal; some clients skip the skill otherwise.",
        "Rename the directory or the skill.";
    // Descriptions.
    DescriptionMissing "description-missing" [E W E] [REF]
        "There is no `description`, or it is empty.",
        "The description is all a model sees when it decides whether to use the skill.",
        "Say in a sentence or two what the skill does and when to use it.";
    DescriptionNotText "description-not-text" [E W E] [REF, QUICK]
        "`description` is not text.",
        "The description is shown to a model as one line of text.",
        "Write it as a single string in double quotes.";
    DescriptionTooLong "description-too-long" [W W E] [REF, QUICK]
        "The description is longer than 1,024 characters.",
        "The public specification allows 1,024; a catalog shows no more than that.",
        "Keep what it does and when to use it; move the rest into the body.";
    DescriptionOverLimit "description-over-limit" [E E E] [REF, QUICK]
        "The description is longer than the hard limit.",
        "It would crowd every other skill out of the model's context.",
        "Keep what it does and when to use it; move the rest into the body.";
    AngleBrackets "angle-brackets" [E W O] [QUICK]
        "A field that a model sees contains `<` or `>`.",
        "Tags in a name or description can pose as instructions from the program. The lenient profile escapes them.",
        "Write the words out: `less than`, `->` as `to`, placeholders in capitals.";
    HiddenText "hidden-text" [E W N] []
        "A field that a model sees contains invisible text.",
        "A model reads it and a person does not: the classic way to smuggle in instructions. The lenient profile removes it.",
        "Delete the invisible characters.";
    HiddenTextElsewhere "hidden-text-elsewhere" [W W O] []
        "This file contains invisible text.",
        "A model or a tool may read it, but a person does not see it.",
        "Delete the invisible characters.";
    // Other fields.
    CompatibilityTooLong "compatibility-too-long" [N N E] [REF, QUICK]
        "`compatibility` is longer than 500 characters.",
        "The public specification allows 500.",
        "Keep the requirements; move explanations into the body.";
    FieldNotText "field-not-text" [W W E] []
        "A field that should be text is a list or a map.",
        "Its value is kept, but shown as data.",
        "Write it as a single string.";
    MetadataNotMap "metadata-not-map" [W W O] []
        "`metadata` is not a map.",
        "The public specification requires a map from names to strings.",
        "Write `metadata:` and below it, indented, `key: value` lines.";
    MetadataNested "metadata-nested" [N N O] []
        "`metadata` contains values that are not strings.",
        "The value is kept, but the public specification allows only strings there.",
        "Keep it if your agent uses it; others ignore it.";
    AllowedToolsEmpty "allowed-tools-empty" [N N O] []
        "`allowed-tools` is present and lists nothing.",
        "`allowed-tools` is an upper limit, so this skill may use no tools at all.",
        "List the tools, or remove the field to lift the limit.";
    AllowedToolsUnbalanced "allowed-tools-unbalanced" [E E O] []
        "A parenthesis in `allowed-tools` is not closed.",
        "Guessing where a tool pattern ends could grant more than its author intended.",
        "Close the parenthesis, as in `Bash(git:*)`.";
    AllowedToolsUnknown "allowed-tools-unknown" [W W O] []
        "A name in `allowed-tools` is not a tool of Metier or of another known agent.",
        "`allowed-tools` is an upper limit: a misspelt name leaves the tool that was meant out of it.",
        "Correct the name. Keep it if it is another program's tool; a server's is written `mcp__server__tool`.";
    SwitchNotBoolean "switch-not-boolean" [E E O] []
        "A switch is neither `true` nor `false`.",
        "Guessing could let a model start a skill that only a person should start.",
        "Write `true` or `false`.";
    RunModeUnknown "run-mode-unknown" [W W O] []
        "`run-mode` is neither `inline` nor `subagent`.",
        "The skill runs inline.",
        "Write `inline` or `subagent`.";
    PathsGlobInvalid "paths-glob-invalid" [W W O] []
        "An entry in `paths` is not a valid glob.",
        "It matches no file, so the skill is not shown for the files it was meant for; if no other \
         entry matches, it is never shown.",
        "Close every `[` and `{`, and put the smaller end of a range first.";
    FieldMisspelt "field-misspelt" [W W O] [REF, QUICK]
        "A field's name is almost, but not exactly, a known one.",
        "It is kept, but it has no effect under this spelling.",
        "Use the known spelling.";
    FieldUnknown "field-unknown" [N N O] [REF, QUICK]
        "A field is unknown to Metier.",
        "It is kept, but it has no effect.",
        "Put your own data under `metadata` if the skill should pass strict validators.";
    FieldNotInSpec "field-not-in-spec" [O O E] [REF, QUICK]
        "A field is not one of the six in the public specification.",
        "Strict validators reject the skill.",
        "Put the value under `metadata`.";
    // The body.
    BodyEmpty "body-empty" [W W O] []
        "There is no text after the frontmatter.",
        "A model that loads the skill learns nothing from it.",
        "Explain how to do the task: when to use the skill, the steps, the checks.";
    BodyTooLong "body-too-long" [W W O] []
        "The body has more lines than the limit.",
        "A long body crowds the model's context, so it is trimmed when loaded.",
        "Move details into files under `references/` and say when to read each.";
    ReferenceMissing "reference-missing" [W W O] []
        "The body mentions a file that the skill does not have.",
        "A model that follows the body asks for the file, gets an error and continues without it.",
        "Add the file, correct the path, or remove the mention.";
    ReferenceCase "reference-case" [W W O] []
        "The body writes a file's name with different capitalization.",
        "It works where the file system ignores case and fails everywhere else.",
        "Write the path exactly as the file is named, or rename the file.";
    // Several skills together. `metier doctor` reports these.
    SkillShadowed "skill-shadowed" [W W W] []
        "Another skill with the same name is used instead of this one.",
        "Using the name selects the other one, and two versions drift out of sync unnoticed.",
        "Keep one of them, or rename one. `source:name` still selects the shadowed one.";
    SkillCopied "skill-copied" [N N N] []
        "The same skill, byte for byte, is in several folders.",
        "It is listed once. Once one copy changes, the copies conflict.",
        "Leave it, or keep one copy and link to it from the other folders.";
    SkillUnloadable "skill-unloadable" [E E E] []
        "The skill is listed, but its body cannot be loaded.",
        "A model sees the skill, chooses it, and gets an error.",
        "Make `SKILL.md` a regular text file of its own, within the size limit.";
    SkillUntrusted "skill-untrusted" [N N O] []
        "The skill came with a project that is not trusted.",
        "Loading it asks, and its scripts do not run.",
        "Read it, then trust the project with `metier trust`, which shows its scripts and tools first.";
    SkillTrustChanged "skill-trust-changed" [W W O] []
        "The skill has changed since its folder was trusted.",
        "Loading it asks and its scripts do not run, or, where changes are followed, its scripts ask.",
        "Look at the change, then trust it again with `metier trust`.";
    RequirementMissing "requirement-missing" [E E E] []
        "Something that the skill's `metadata.requires` names is missing here.",
        "The skill's scripts are refused until it is there.",
        "Install the program or the skill; set the variable and name it in `execution.env`.";
    PluginOutdated "plugin-outdated" [W W W] []
        "The skill is only in an older version of its plugin.",
        "Only the newest version of a plugin is searched, so the skill is not listed.",
        "Install the version that has it, or copy the skill to a folder of your own.";
    RuleUnmatched "rule-unmatched" [W W W] []
        "A rule of the configuration matches no known skill or tool.",
        "It has no effect; a typo in a rule that denies leaves open what it should close.",
        "Correct the name, or remove the rule. `metier list` and `metier tools` show the names; a rule about scripts is written SKILL/PATH.";
    RecordsUnreadable "records-unreadable" [E E E] []
        "`skills.json` or `skills.lock.json` cannot be read.",
        "Without them it is not known which skills were installed, from where, and whether they were changed.",
        "Fix the file, or restore it from version control.";
    // The walk. These appear in the scan's report.
    RootMissing "root-missing" [E E E] []
        "The root does not exist.",
        "It was given explicitly, so it was expected to exist.",
        "Check the path, or create the directory.";
    RootNotDirectory "root-not-directory" [E E E] []
        "The root is not a directory.",
        "Skills are directories below a root.",
        "Name the directory that holds the skills.";
    RootUnreadable "root-unreadable" [E E E] []
        "The root could not be read.",
        "The skills below it are unknown.",
        "Check the permissions of the directory.";
    RootForeign "root-foreign" [W W W] []
        "Other accounts can write to the root, or to a folder on the way to it.",
        "Above the working directory, and in the home directory, skills are found without being asked for; one that another account put there would pose as yours.",
        "Take the others' access away (the message names it), or name the folder with `--root` to use it all the same.";
    DirectoryUnreadable "directory-unreadable" [W W W] []
        "A directory below a root could not be read.",
        "Skills below it, if any, are unknown.",
        "Check the permissions of the directory.";
    LinkDangling "link-dangling" [W W W] []
        "A link's target does not exist.",
        "If it pointed to a skill, that skill is gone.",
        "Remove the link or restore its target.";
    LinkCycle "link-cycle" [N N N] []
        "A link points back to a directory that was already walked.",
        "It is walked once; following it again would never end.",
        "Remove the link if it is a mistake.";
    LinkNotFollowed "link-not-followed" [N N N] []
        "A link was not followed, because `follow_symlinks` is off.",
        "Skills behind it are not listed.",
        "Turn on `security.follow_symlinks`, or copy the skill.";
    WalkTooDeep "walk-too-deep" [W W W] []
        "Directories below the depth limit were not walked.",
        "Skills below them, if any, are not listed.",
        "Name the deeper directory as a root of its own, or raise `security.max_walk_depth`.";
    WalkTooMany "walk-too-many" [W W W] []
        "The root has more entries than the limit; the rest were not walked.",
        "Any skills among the rest are not listed.",
        "Name the directories that hold skills as roots, or raise `security.max_walk_entries`.";
    SkillHoldsRoot "skill-holds-root" [E E E] []
        "A link leads to a folder with a `SKILL.md` that holds a folder of skills.",
        "As one skill it would read and run the files of all the others as its own.",
        "Remove the link, or move the `SKILL.md` into a directory of its own.";
    RootHoldsSkill "root-holds-skill" [W W W] []
        "There is a `SKILL.md` directly in a folder of skills.",
        "Skills are directories below the folder; this file is not listed and hides no other skill.",
        "Move it into a directory of its own.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_kebab_case_and_found_by_their_spelling() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let text = code.as_str();
            assert!(seen.insert(text), "{text} appears twice");
            assert!(
                text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert_eq!(Code::find(text), Some(*code));
            let info = code.info();
            for sentence in [info.what, info.why, info.fix_advice] {
                assert!(sentence.ends_with(['.', ')']), "{text}: {sentence}");
            }
        }
    }
}
