//! Every diagnostic code of the house, in one table: what it means, why it matters, how to mend it,
//! how severe it is in each profile, and which other tools reject the same thing.
//!
//! A code is stable: it may be retired, never reused for something else. `docs/diagnostics.md` is
//! generated from this table (`cargo xtask gen`).

use serde::{Serialize, Serializer};

use crate::diagnostic::Severity;
use crate::limits::Profile;

const E: Option<Severity> = Some(Severity::Error);
const W: Option<Severity> = Some(Severity::Warning);
const N: Option<Severity> = Some(Severity::Note);
/// Not reported in this profile.
const O: Option<Severity> = None;

/// The reference validator of the public specification.
const REF: &str = "skills-ref";
/// The validator in the skill-creator skill, which the packager runs.
const QUICK: &str = "quick_validate";
/// Clients of the Agent Plugins format, which must skip what breaks the specification.
const PLUGINS: &str = "agent-plugins";
/// Strict YAML loaders: Codex before its repair, `npx skills`, Zed, Goose.
const YAML: &str = "strict-yaml-clients";

/// What is known about a code.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    /// The stable spelling.
    pub code: &'static str,
    /// What was found, in a few words.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to mend it.
    pub mend: &'static str,
    /// Other tools that reject the same thing.
    pub rejected_by: &'static [&'static str],
    strict: Option<Severity>,
    lenient: Option<Severity>,
    spec: Option<Severity>,
}

macro_rules! codes {
    ($($variant:ident $code:literal [$strict:ident $lenient:ident $spec:ident] [$($by:ident),*]
        $what:literal, $why:literal, $mend:literal;)*) => {
        /// A stable diagnostic code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $what] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is known about this code.
            pub const fn info(self) -> &'static CodeInfo {
                match self {
                    $(Self::$variant => &CodeInfo {
                        code: $code, what: $what, why: $why, mend: $mend,
                        rejected_by: &[$($by),*],
                        strict: $strict, lenient: $lenient, spec: $spec,
                    },)*
                }
            }
        }
    };
}

impl Code {
    /// The stable spelling, such as `yaml-unquoted-colon`.
    pub const fn as_str(self) -> &'static str {
        self.info().code
    }

    /// How severe this is under `profile`; `None` when that profile does not care.
    pub const fn severity(self, profile: Profile) -> Option<Severity> {
        match profile {
            Profile::Strict => self.info().strict,
            Profile::Lenient => self.info().lenient,
            Profile::Spec => self.info().spec,
        }
    }

    /// The code with this spelling.
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

// Columns after the code: severity under strict, lenient and spec; then who else rejects it.
codes! {
    // The file.
    FileMissing "file-missing" [E E E] [REF, QUICK, PLUGINS]
        "The directory has no `SKILL.md`.",
        "A skill is a directory with a file named exactly `SKILL.md`.",
        "Create `SKILL.md` with a `name` and a `description`, or point at the right directory.";
    FileNameCase "file-name-case" [W W O] [QUICK, PLUGINS]
        "The file is called `skill.md`, not `SKILL.md`.",
        "Most clients look for the exact name and do not see this skill.",
        "Rename the file to `SKILL.md`.";
    FileNotRegular "file-not-regular" [E E E] []
        "`SKILL.md` is not a regular file.",
        "A pipe, socket, device or directory is never opened for reading: it could hang or lie.",
        "Replace it by a regular file.";
    FileUnreadable "file-unreadable" [E E E] []
        "The file could not be read.",
        "The operating system refused; the skill cannot be judged.",
        "Check the permissions of the file and of its directories.";
    FileUnwritable "file-unwritable" [E E E] []
        "The mended file could not be written.",
        "Nothing was changed in it.",
        "Check the permissions of the file and its directory; mend a linked file where it is.";
    FileChanging "file-changing" [E E E] []
        "The file changed while it was read, several times.",
        "A half-written skill must not be listed as a valid one.",
        "Wait until the writer is done; the next scan reads it again.";
    FileEmpty "file-empty" [E E E] [REF, QUICK, PLUGINS]
        "The file is empty.",
        "There is no name and no description to show to a model.",
        "Write the frontmatter and a body, or remove the directory.";
    FileNotUtf8 "file-not-utf8" [E E E] [REF, QUICK, PLUGINS]
        "The frontmatter is not UTF-8.",
        "Guessing an encoding can change what the text says.",
        "Save the file as UTF-8.";
    FileBom "file-bom" [N N E] [REF, QUICK]
        "The file starts with a byte order mark.",
        "It is read, but several clients then see no frontmatter at all.",
        "Save the file as UTF-8 without a byte order mark (`metier check --fix` removes it).";
    // The fences.
    FrontmatterMissing "frontmatter-missing" [E E E] [REF, QUICK, PLUGINS]
        "The file does not start with a `---` line.",
        "Name and description stand in the frontmatter; without it the skill cannot be shown.",
        "Put `---`, the fields, and `---` before the body, from the first line on.";
    FrontmatterUnclosed "frontmatter-unclosed" [E E E] [REF, QUICK, PLUGINS]
        "The frontmatter is opened but never closed.",
        "Without a closing `---` line nobody can tell fields from body.",
        "Put a line `---`, alone and not indented, after the last field.";
    FrontmatterTooLarge "frontmatter-too-large" [E E E] []
        "The frontmatter is larger than the limit.",
        "It is read for every skill at every start; real ones have a few hundred bytes.",
        "Move long text into the body or into files under `references/`.";
    FrontmatterTooManyLines "frontmatter-too-many-lines" [E E O] []
        "The frontmatter has more lines than the limit.",
        "It is read for every skill at every start; real ones have about ten lines.",
        "Move long text into the body or into files under `references/`.";
    FrontmatterLineTooLong "frontmatter-line-too-long" [E W O] []
        "A line of a field that Metier does not know is longer than the limit.",
        "Very long lines in unknown fields are a place to hide things.",
        "Shorten the line or move the text into the body.";
    FrontmatterNotMapping "frontmatter-not-mapping" [E E E] [REF, QUICK, PLUGINS, YAML]
        "The frontmatter is not a list of `key: value` fields.",
        "Fields are looked up by name.",
        "Write at least `name:` and `description:`.";
    FrontmatterInnerFence "frontmatter-inner-fence" [N N N] [REF]
        "A value contains `---`.",
        "The reference validator splits at any `---` and silently cuts the value there.",
        "Use another dash, such as an em dash, in values.";
    ControlCharacter "control-character" [E E E] [REF, YAML]
        "There is a control character in the frontmatter.",
        "Control characters can hide text and take over a terminal.",
        "Delete the character; write line breaks as line breaks.";
    LoneCarriageReturn "lone-carriage-return" [E E E] []
        "A carriage return stands without a line feed.",
        "Parsers disagree whether it ends a line, so they disagree on what the fields are.",
        "Save the file with LF or CRLF line ends.";
    // YAML.
    YamlSyntax "yaml-syntax" [E E E] [REF, QUICK, PLUGINS, YAML]
        "The frontmatter is not valid YAML.",
        "The fields cannot be read.",
        "Mend the line; when in doubt put the value in double quotes.";
    YamlUnquotedColon "yaml-unquoted-colon" [W W E] [REF, QUICK, PLUGINS, YAML]
        "An unquoted value contains `: `.",
        "YAML reads it as a second key and rejects the line; this is the commonest fault of all.",
        "Put the value in double quotes (`metier check --fix` does it).";
    YamlSpecialStart "yaml-special-start" [W W E] [REF, QUICK, PLUGINS, YAML]
        "An unquoted value starts with a character that YAML reserves.",
        "YAML reads it as a list, a map, an alias, a tag or an error instead of text.",
        "Put the value in double quotes (`metier check --fix` does it).";
    YamlTextAfterBlock "yaml-text-after-block" [W W E] [REF, QUICK, PLUGINS, YAML]
        "Text follows `|` or `>` on the same line.",
        "A block value starts on the next line; YAML rejects text beside the indicator.",
        "Drop the indicator and quote the text (`metier check --fix` does it).";
    YamlTextAfterQuote "yaml-text-after-quote" [W W E] [REF, QUICK, PLUGINS, YAML]
        "Text follows a closing quote.",
        "YAML ends the value at the quote and rejects the rest.",
        "Quote the whole value (`metier check --fix` does it).";
    YamlUnclosedQuote "yaml-unclosed-quote" [W W E] [REF, QUICK, PLUGINS, YAML]
        "A quoted value is not closed on its line.",
        "YAML reads on to the end of the frontmatter and rejects it.",
        "Close the quote (`metier check --fix` does it).";
    YamlBadEscape "yaml-bad-escape" [W W E] [REF, QUICK, PLUGINS, YAML]
        "A double-quoted value has a backslash that starts no escape.",
        "YAML rejects unknown escapes such as `\\d`.",
        "Write the backslash twice (`metier check --fix` does it).";
    YamlSmartQuotes "yaml-smart-quotes" [W W N] []
        "The value stands in typographic quotes.",
        "YAML does not know them: they become part of the text, or the line is rejected.",
        "Use straight double quotes (`metier check --fix` does it).";
    YamlTab "yaml-tab" [W W E] [REF, QUICK, PLUGINS, YAML]
        "A tab stands where YAML wants spaces.",
        "YAML rejects tabs before a value and in indentation.",
        "Use spaces (`metier check --fix` does it for `name` and `description`).";
    YamlCommentCut "yaml-comment-cut" [W W O] []
        "The rest of the value is cut off as a comment.",
        "In YAML ` #` starts a comment, so a model never sees what follows.",
        "Put the value in double quotes, or the comment on its own line.";
    YamlDuplicateKey "yaml-duplicate-key" [E E E] [REF, PLUGINS, YAML]
        "A key stands twice.",
        "Some parsers take the first, some the last: two tools would see two different skills.",
        "Keep one of them.";
    YamlAlias "yaml-alias" [E E E] [REF]
        "The frontmatter uses an anchor, an alias or a merge key.",
        "Aliases can blow a few bytes up to gigabytes, and hide what a field really says.",
        "Write the value out; quote it if it only looks like an alias.";
    YamlTag "yaml-tag" [E E E] [REF]
        "The frontmatter uses a YAML tag.",
        "Tags ask the reader to build typed objects; fields are plain text.",
        "Remove the tag, or quote the value.";
    YamlFlow "yaml-flow" [N N E] [REF]
        "A list or map is written inline, with brackets or braces.",
        "It is read, but the reference validator rejects it.",
        "Write one item a line if the skill should pass there.";
    YamlDocuments "yaml-documents" [E E E] [REF, QUICK, PLUGINS, YAML]
        "The frontmatter holds more than one YAML document.",
        "Only one of them could count, and readers disagree on which.",
        "Remove `...` and `%` lines.";
    YamlTooDeep "yaml-too-deep" [E E E] []
        "Values are nested deeper than the limit.",
        "Deep nesting is how parsers are made to crash.",
        "Flatten the value or move it into a file.";
    YamlTooManyNodes "yaml-too-many-nodes" [E E E] []
        "The frontmatter has more values than the limit.",
        "It is read for every skill at every start.",
        "Move the data into a file of the skill.";
    FieldUnreadable "field-unreadable" [W W E] [REF, QUICK, PLUGINS, YAML]
        "A field is not valid YAML and was kept as plain text.",
        "The other fields could be read; this one means nothing to Metier.",
        "Mend the field; when in doubt put its value in double quotes.";
    ControlUnreadable "control-unreadable" [E E E] [REF, QUICK, PLUGINS, YAML]
        "A field that limits what the skill may do cannot be read.",
        "Dropping or guessing it could grant more than its author meant.",
        "Mend the field: a list or a comma-separated string for tools, `true` or `false` for switches.";
    // Names.
    NameMissing "name-missing" [E W E] [REF, QUICK, PLUGINS, YAML]
        "There is no `name`.",
        "A model calls a skill by its name. The lenient profile takes the directory's name.",
        "Add `name:` with the name of the directory.";
    NameNotText "name-not-text" [E E E] [REF, QUICK, PLUGINS]
        "`name` is not a text.",
        "A model calls a skill by its name.",
        "Write one word, such as `pdf-tools`.";
    NameUnusable "name-unusable" [E E E] [REF, QUICK, PLUGINS]
        "The name cannot be used at all.",
        "It is empty, longer than 256 characters, or holds control characters.",
        "Use lower-case letters, digits and hyphens, such as `pdf-tools`.";
    NameTooLong "name-too-long" [W W E] [REF, QUICK, PLUGINS]
        "The name is longer than 64 characters.",
        "The public specification allows 64.",
        "Choose a shorter name, for the directory too.";
    NameCharset "name-charset" [W W E] [REF, QUICK, PLUGINS]
        "The name has characters other than lower-case letters, digits and hyphens.",
        "The public specification allows no others; some clients skip such skills.",
        "Use lower-case letters, digits and hyphens, such as `pdf-tools`.";
    NameHyphens "name-hyphens" [W W E] [REF, QUICK, PLUGINS]
        "The name starts or ends with a hyphen, or has two in a row.",
        "The public specification forbids it.",
        "Remove the extra hyphens.";
    NameNotAscii "name-not-ascii" [N N O] [QUICK]
        "The name has letters outside a-z.",
        "The specification contradicts itself here; some clients accept only a-z, 0-9 and hyphens.",
        "Use ASCII letters if the skill should work everywhere.";
    NameDirectory "name-directory" [W W E] [REF, PLUGINS]
        "The name differs from the name of its directory.",
        "The public specification wants them equal; some clients skip the skill otherwise.",
        "Rename the directory or the skill.";
    // Descriptions.
    DescriptionMissing "description-missing" [E W E] [REF, QUICK, PLUGINS, YAML]
        "There is no `description`, or it is empty.",
        "The description is all a model sees when it decides whether to use the skill.",
        "Say in a sentence or two what the skill does and when to use it.";
    DescriptionNotText "description-not-text" [E W E] [REF, QUICK, PLUGINS]
        "`description` is not a text.",
        "The description is shown to a model as one line of text.",
        "Write it as one text, in double quotes.";
    DescriptionTooLong "description-too-long" [W W E] [REF, QUICK, PLUGINS]
        "The description is longer than 1,024 characters.",
        "The public specification allows 1,024; a catalog shows no more than that.",
        "Keep what it does and when to use it; move the rest into the body.";
    DescriptionOverLimit "description-over-limit" [E E E] [REF, QUICK, PLUGINS]
        "The description is longer than the hard limit.",
        "It would crowd every other skill out of the model's context.",
        "Keep what it does and when to use it; move the rest into the body.";
    AngleBrackets "angle-brackets" [E W O] [QUICK]
        "There is `<` or `>` in a text that a model sees.",
        "Tags in a name or description can pose as instructions of the program. The lenient profile escapes them.",
        "Write the words out: `less than`, `->` as `to`, placeholders in capitals.";
    HiddenText "hidden-text" [E W N] []
        "There is invisible text in a field that a model sees.",
        "A model reads it, a person does not: the classic way to smuggle instructions. The lenient profile removes it.",
        "Delete the invisible characters.";
    HiddenTextElsewhere "hidden-text-elsewhere" [W W O] []
        "There is invisible text in this file.",
        "A model or a tool may read it, a person does not.",
        "Delete the invisible characters.";
    // Other fields.
    CompatibilityTooLong "compatibility-too-long" [N N E] [REF, QUICK, PLUGINS]
        "`compatibility` is longer than 500 characters.",
        "The public specification allows 500.",
        "Keep the requirements; move explanations into the body.";
    FieldNotText "field-not-text" [W W E] [REF, QUICK]
        "A field that should be a text is a list or a map.",
        "Its value is kept, but shown as data.",
        "Write it as one text.";
    MetadataNotMap "metadata-not-map" [W W O] []
        "`metadata` is not a map.",
        "The public specification wants a map from names to texts.",
        "Write `metadata:` and below it, indented, `key: value` lines.";
    MetadataNested "metadata-nested" [N N O] []
        "`metadata` holds more than texts.",
        "The value is kept, but the public specification knows only texts there.",
        "Keep it if your agent reads it; others ignore it.";
    AllowedToolsEmpty "allowed-tools-empty" [N N O] []
        "`allowed-tools` is present and lists nothing.",
        "A listed `allowed-tools` is a ceiling, so this skill may use no tool at all.",
        "List the tools, or remove the field if the skill should not be limited.";
    AllowedToolsUnbalanced "allowed-tools-unbalanced" [E E O] []
        "A parenthesis in `allowed-tools` is not closed.",
        "Guessing where a tool pattern ends could grant more than its author meant.",
        "Close the parenthesis, as in `Bash(git:*)`.";
    SwitchNotBoolean "switch-not-boolean" [E E O] []
        "A switch is neither `true` nor `false`.",
        "Guessing could let a model start a skill that only a person should start.",
        "Write `true` or `false`.";
    RunModeUnknown "run-mode-unknown" [W W O] []
        "`run-mode` is neither `inline` nor `subagent`.",
        "The skill runs inline.",
        "Write `inline` or `subagent`.";
    PathsGlobInvalid "paths-glob-invalid" [W W O] []
        "An entry of `paths` is no valid glob.",
        "It matches no file, so the skill is not shown for the files it was meant for; if no other \
         entry matches, it is never shown.",
        "Close every `[` and `{`, and put the smaller end of a range first.";
    FieldMisspelt "field-misspelt" [W W O] [REF, QUICK, PLUGINS]
        "A field has a name that is nearly a known one.",
        "It is kept but has no effect under this spelling.",
        "Use the known spelling.";
    FieldUnknown "field-unknown" [N N O] [REF, QUICK, PLUGINS]
        "A field is not known to Metier.",
        "It is kept and has no effect here.",
        "Put your own data under `metadata` if the skill should pass strict validators.";
    FieldNotInSpec "field-not-in-spec" [O O E] [REF, QUICK, PLUGINS]
        "A field is not one of the six of the public specification.",
        "Strict validators reject the skill, and plugin clients must skip it.",
        "Put the value under `metadata`.";
    // The body.
    BodyEmpty "body-empty" [W W O] []
        "There is no text after the frontmatter.",
        "A model that loads the skill learns nothing from it.",
        "Say how to do the task: when to use it, steps, checks.";
    BodyTooLong "body-too-long" [W W O] []
        "The body has more lines than the limit.",
        "A long body crowds the context; a loader trims it.",
        "Move details into files under `references/` and say when to read each.";
    ReferenceMissing "reference-missing" [W W O] []
        "The body speaks of a file of the skill that is not there.",
        "A model that follows the body asks for the file, gets an error, and goes on without it.",
        "Add the file, correct the path, or take the mention out.";
    ReferenceCase "reference-case" [W W O] []
        "The body spells a file of the skill with other capitals than its name has.",
        "It works where the file system ignores case and fails everywhere else.",
        "Spell the path as the file is spelt, or rename the file.";
    // Several skills together. `metier doctor` tells these.
    SkillShadowed "skill-shadowed" [W W W] []
        "Another skill of the same name counts instead of this one.",
        "Whoever uses the name gets the other one; two versions drift apart unnoticed.",
        "Keep one of them, or rename one. `source:name` reaches the one that is shadowed.";
    SkillCopied "skill-copied" [N N N] []
        "The same skill, byte for byte, stands in several folders.",
        "It counts once. A change in one of the folders makes rivals of the copies.",
        "Leave it, or keep one and put links to it into the other folders.";
    SkillUnloadable "skill-unloadable" [E E E] []
        "The skill is listed, but its body cannot be loaded.",
        "A model sees the skill, chooses it, and gets an error.",
        "Make `SKILL.md` a regular text file of its own, within the size limit.";
    // The walk. These stand in the scan's report.
    RootMissing "root-missing" [E E E] []
        "The root does not exist.",
        "It was named explicitly, so its absence is a mistake.",
        "Check the path, or create the directory.";
    RootNotDirectory "root-not-directory" [E E E] []
        "The root is not a directory.",
        "Skills are directories below a root.",
        "Name the directory that holds the skills.";
    RootUnreadable "root-unreadable" [E E E] []
        "The root could not be read.",
        "The skills below it are unknown.",
        "Check the permissions of the directory.";
    DirectoryUnreadable "directory-unreadable" [W W W] []
        "A directory below a root could not be read.",
        "Skills below it, if any, are unknown.",
        "Check the permissions of the directory.";
    LinkDangling "link-dangling" [W W W] []
        "A link leads nowhere.",
        "If it was a skill, it is not there any more.",
        "Remove the link or restore its target.";
    LinkCycle "link-cycle" [N N N] []
        "A link leads back to a directory that was already walked.",
        "It is walked once; following it again would never end.",
        "Remove the link if it is a mistake.";
    LinkNotFollowed "link-not-followed" [N N N] []
        "A link was not followed, because `follow_symlinks` is off.",
        "Skills behind it are not listed.",
        "Switch `security.follow_symlinks` on, or copy the skill.";
    WalkTooDeep "walk-too-deep" [W W W] []
        "Directories below the depth limit were not walked.",
        "Skills below them, if any, are not listed.",
        "Name the deeper directory as a root of its own, or raise `security.max_walk_depth`.";
    WalkTooMany "walk-too-many" [W W W] []
        "The root has more entries than the limit; the rest was not walked.",
        "Skills among the rest are not listed.",
        "Name the directories that hold skills as roots, or raise `security.max_walk_entries`.";
    RootHoldsSkill "root-holds-skill" [W W W] []
        "`SKILL.md` stands in a folder of skills itself.",
        "Skills are directories below the folder; this one is not listed, and hides nothing.",
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
            assert!(seen.insert(text), "{text} stands twice");
            assert!(
                text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert_eq!(Code::find(text), Some(*code));
            let info = code.info();
            for sentence in [info.what, info.why, info.mend] {
                assert!(sentence.ends_with(['.', ')']), "{text}: {sentence}");
            }
        }
    }
}
