//! The skill tool: how an agent that speaks in tool calls loads a skill.
//!
//! A host registers one tool whose description is the catalog and whose only argument is a name out
//! of those a model may see. The order of a call is fixed: the name, then the policy, and only then
//! the body. Where the catalog comes from, who decides and where files are is the host's business,
//! behind two small traits.

use std::collections::HashMap;

use metier_policy::Effect;
use metier_skill::{Digest, FailureCode, SkillId, Source, estimate_tokens, unknown_skill};
use serde::Serialize;
use serde_json::{Value, json};

use crate::block::inject;
use crate::body::{BodyLimits, load_body};
use crate::error::LoadError;
use crate::files::SkillFiles;

/// A skill that the tool offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadableSkill {
    /// What a model calls it by.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// Its directory, as shown.
    pub path: String,
    /// The digest of its frontmatter, as the index has it.
    pub digest: Digest,
}

impl LoadableSkill {
    /// `source:name`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.source, self.name)
    }
}

/// Where the tool gets a skill's files.
pub trait SkillLibrary {
    /// The files of a skill.
    fn open(&self, skill: &LoadableSkill) -> Result<Box<dyn SkillFiles>, LoadError>;
    /// Their names, for the list after the body. Opens none of them.
    fn file_names(&self, skill: &LoadableSkill) -> Vec<String>;
}

/// Who decides whether a skill may be loaded. Asked before a byte of its body is read.
pub trait LoadPolicy {
    /// The decision about one skill, and why.
    fn decide(&self, skill: &LoadableSkill) -> (Effect, String);
}

/// Everything may be loaded: for hosts without rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl LoadPolicy for AllowAll {
    fn decide(&self, _: &LoadableSkill) -> (Effect, String) {
        (Effect::Allow, String::new())
    }
}

/// The skill tool of one session.
#[derive(Debug)]
pub struct SkillTool {
    description: String,
    skills: Vec<LoadableSkill>,
    limits: BodyLimits,
    /// What was loaded in this session, by id, and the digest it had.
    loaded: HashMap<String, Digest>,
}

/// What a call gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillToolOutput {
    /// A line for people.
    pub title: String,
    /// The text for the model.
    pub output: String,
    /// The account.
    pub metadata: SkillToolMetadata,
}

impl SkillToolOutput {
    fn new(skill: &LoadableSkill, output: String, sha256: Digest) -> Self {
        let metadata = SkillToolMetadata {
            skill: skill.id(),
            sha256,
            already_loaded: false,
            truncated: false,
            tokens: estimate_tokens(&output),
        };
        Self { title: format!("Loaded skill: {}", skill.name), output, metadata }
    }

    fn already(mut self) -> Self {
        self.title = self.title.replacen("Loaded skill", "Already loaded", 1);
        self.metadata.already_loaded = true;
        self
    }
}

/// The account of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillToolMetadata {
    /// The skill's id.
    pub skill: String,
    /// The digest of its `SKILL.md`.
    pub sha256: Digest,
    /// Whether it was in the context already, so that nothing was read.
    pub already_loaded: bool,
    /// Whether something was left out.
    pub truncated: bool,
    /// What the output costs a model, as an estimate.
    pub tokens: usize,
}

/// Why a call gave no skill. It becomes an observation; it never ends a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillToolError {
    /// The arguments are not an object with a `name`.
    InvalidArguments(String),
    /// There is no such skill among those on offer, in a sentence that names the nearest.
    UnknownSkill(String),
    /// A rule denies it.
    Denied(String),
    /// It needs approval first.
    NeedsApproval(String),
    /// It could not be read.
    Load(LoadError),
}

impl SkillToolError {
    /// The stable code.
    pub const fn code(&self) -> FailureCode {
        match self {
            Self::InvalidArguments(_) => FailureCode::InvalidArguments,
            Self::UnknownSkill(_) => FailureCode::SkillNotFound,
            Self::Denied(_) => FailureCode::NotAllowed,
            Self::NeedsApproval(_) => FailureCode::NeedsApproval,
            Self::Load(error) => error.code(),
        }
    }
}

impl std::fmt::Display for SkillToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidArguments(message) => {
                write!(f, "{message}; call the tool with an object such as {{\"name\": \"pdf\"}}")
            }
            Self::UnknownSkill(words) => f.write_str(words),
            Self::Denied(reason) => write!(f, "the skill may not be loaded: {reason}"),
            Self::NeedsApproval(what) => write!(f, "the skill needs approval first: {what}"),
            Self::Load(error) => write!(f, "{error}; {}", error.help()),
        }
    }
}

impl std::error::Error for SkillToolError {}

impl Serialize for SkillToolError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"code": self.code(), "message": self.to_string()}).serialize(serializer)
    }
}

impl SkillTool {
    /// The name to register it under.
    pub const NAME: &'static str = "skill";

    /// The tool for `skills`, described by a catalog of them; nothing when there is nothing to
    /// show, so that no tool is registered that can only fail.
    pub fn new(catalog: &str, skills: Vec<LoadableSkill>, limits: BodyLimits) -> Option<Self> {
        if skills.is_empty() {
            return None;
        }
        let description = format!(
            "Load a skill: detailed instructions for one kind of task, with the list of its files. \
             Load the one whose description fits the task before you start on it.\n\n{catalog}"
        );
        Some(Self { description, skills, limits, loaded: HashMap::new() })
    }

    /// What the model sees of the tool.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON Schema of its arguments: one of the names on offer.
    pub fn schema(&self) -> Value {
        let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": names, "description": "The skill to load."}
            },
            "required": ["name"],
            "additionalProperties": false
        })
    }

    /// Does a call: finds the skill, asks the policy, reads the body.
    pub fn execute(
        &mut self,
        arguments: &Value,
        library: &dyn SkillLibrary,
        policy: &dyn LoadPolicy,
    ) -> Result<SkillToolOutput, SkillToolError> {
        let name = arguments.get("name").and_then(Value::as_str).ok_or_else(|| {
            SkillToolError::InvalidArguments("the arguments need a string `name`".to_owned())
        })?;
        let skill = self.find(name)?.clone();
        match policy.decide(&skill) {
            (Effect::Allow, _) => {}
            (Effect::Deny, reason) => return Err(SkillToolError::Denied(reason)),
            (Effect::Ask, reason) => return Err(SkillToolError::NeedsApproval(reason)),
        }
        let id = skill.id();
        if let Some(digest) = self.loaded.get(&id) {
            let output =
                format!("The skill `{}` is already loaded: its text is above.\n", skill.name);
            return Ok(SkillToolOutput::new(&skill, output, *digest).already());
        }
        let files = library.open(&skill).map_err(SkillToolError::Load)?;
        let loaded = load_body(&*files, &self.limits).map_err(SkillToolError::Load)?;
        let names = library.file_names(&skill);
        let block = inject(&skill.name, skill.source, &skill.path, &loaded, &names);
        self.loaded.insert(id, loaded.report.sha256);
        let mut output = SkillToolOutput::new(&skill, block, loaded.report.sha256);
        output.metadata.truncated = loaded.report.truncated;
        Ok(output)
    }

    /// Forgets that a skill was loaded: its text is no longer in the context.
    pub fn forget(&mut self, id: &SkillId) -> bool {
        self.loaded.remove(&id.to_string()).is_some()
    }

    fn find(&self, name: &str) -> Result<&LoadableSkill, SkillToolError> {
        let found = self.skills.iter().find(|skill| skill.name == name);
        let found = found.or_else(|| self.skills.iter().find(|skill| skill.id() == name));
        found.ok_or_else(|| {
            let offered = self.skills.iter().map(|skill| &*skill.name);
            SkillToolError::UnknownSkill(unknown_skill(name, offered, "Select one of the list."))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::files::MemoryFiles;

    /// A library that records which skills were opened.
    #[derive(Default)]
    struct RecordingLibrary {
        opened: RefCell<Vec<String>>,
    }

    impl SkillLibrary for RecordingLibrary {
        fn open(&self, skill: &LoadableSkill) -> Result<Box<dyn SkillFiles>, LoadError> {
            self.opened.borrow_mut().push(skill.name.clone());
            let text = format!("---\nname: {0}\ndescription: d\n---\n# {0}\n", skill.name);
            Ok(Box::new(MemoryFiles(vec![("SKILL.md".to_owned(), text.into_bytes())])))
        }

        fn file_names(&self, _: &LoadableSkill) -> Vec<String> {
            vec!["scripts/run.py".to_owned()]
        }
    }

    struct Refuse(Effect);

    impl LoadPolicy for Refuse {
        fn decide(&self, _: &LoadableSkill) -> (Effect, String) {
            (self.0, "rule 3".to_owned())
        }
    }

    fn offered(name: &str) -> LoadableSkill {
        LoadableSkill {
            name: name.to_owned(),
            source: Source::User,
            path: format!("/skills/{name}"),
            digest: Digest::of(name.as_bytes()),
        }
    }

    fn tool() -> SkillTool {
        let skills = vec![offered("pdf"), offered("pdf-forms")];
        SkillTool::new("- **pdf**: d", skills, BodyLimits::default()).expect("a tool")
    }

    #[test]
    fn without_skills_there_is_no_tool() {
        assert!(SkillTool::new("", Vec::new(), BodyLimits::default()).is_none());
    }

    #[test]
    fn the_schema_names_what_is_on_offer() {
        let tool = tool();
        assert_eq!(tool.schema()["properties"]["name"]["enum"], json!(["pdf", "pdf-forms"]));
        assert!(tool.description().ends_with("- **pdf**: d"));
    }

    #[test]
    fn a_skill_is_loaded_once_until_it_is_forgotten() {
        let (mut tool, library) = (tool(), RecordingLibrary::default());
        let first = tool.execute(&json!({"name": "pdf"}), &library, &AllowAll).expect("loads");
        assert_eq!(first.title, "Loaded skill: pdf");
        assert!(first.output.contains("# pdf\n") && first.output.contains("scripts/run.py"));
        assert!(!first.metadata.already_loaded);
        let again =
            tool.execute(&json!({"name": "user:pdf"}), &library, &AllowAll).expect("says so");
        assert!(again.output.contains("already loaded") && again.metadata.already_loaded);
        assert_eq!(again.metadata.sha256, first.metadata.sha256);
        assert_eq!(*library.opened.borrow(), ["pdf"]);
        assert!(tool.forget(&"user:pdf".parse().expect("an id")));
        let fresh = tool.execute(&json!({"name": "pdf"}), &library, &AllowAll).expect("loads");
        assert_eq!(fresh, first);
    }

    #[test]
    fn the_policy_is_asked_before_anything_is_opened() {
        let (mut tool, library) = (tool(), RecordingLibrary::default());
        for (effect, code) in [(Effect::Deny, "NotAllowed"), (Effect::Ask, "NeedsApproval")] {
            let refused = tool.execute(&json!({"name": "pdf"}), &library, &Refuse(effect));
            assert_eq!(refused.expect_err("refused").code().as_str(), code);
        }
        assert!(library.opened.borrow().is_empty());
    }

    #[test]
    fn mistakes_are_reported_with_what_to_do() {
        let (mut tool, library) = (tool(), RecordingLibrary::default());
        let mut call = |arguments: Value| {
            let error = tool.execute(&arguments, &library, &AllowAll).expect_err("a mistake");
            (error.code().as_str(), error.to_string())
        };
        let (code, message) = call(json!({"skill": "pdf"}));
        assert_eq!(code, "InvalidArguments");
        assert!(message.contains("\"name\""), "{message}");
        let (code, message) = call(json!({"name": "PDF"}));
        assert_eq!(code, "SkillNotFound");
        assert!(message.contains("Did you mean `pdf` or `pdf-forms`?"), "{message}");
        assert_eq!(call(json!("pdf")).0, "InvalidArguments");
        assert_eq!(call(json!({"name": ""})).1, "There is no skill ``. Select one of the list.");
    }
}
