//! A request: who wants to do what, on what, for which skill; and its digest.
//!
//! Every caller (a model's action, a slash command, the command line, a server) makes the same
//! request for the same action, and so gets the same decision.

use std::borrow::Cow;

use metier_skill::{Digest, RelPath, SkillId, Source};
use serde::{Deserialize, Serialize};

use crate::permission::{Permission, Risk};
use crate::subject::Subject;
use crate::trust::TrustStatus;

/// Who makes the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Invoker {
    /// A model, by an action.
    Model,
    /// A person, by a command.
    User,
    /// A running script.
    Script,
}

/// The skill that a request acts for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActingSkill {
    /// Which skill.
    pub id: SkillId,
    /// The digest of its visible files: a remembered answer is valid for this content only.
    pub digest: Digest,
    /// Whether its folder is trusted.
    pub standing: TrustStatus,
}

impl ActingSkill {
    /// A skill; a project's is not trusted until the caller says so ([`Self::with_standing`]).
    pub fn new(id: SkillId, digest: Digest) -> Self {
        let standing = TrustStatus::by_source(id.source);
        Self { id, digest, standing }
    }

    /// Sets whether it is trusted. Only a project's skill needs trust.
    #[must_use]
    pub fn with_standing(mut self, standing: TrustStatus) -> Self {
        if self.id.source == Source::Project {
            self.standing = standing;
        }
        self
    }
}

/// What "always" would cover.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlwaysScope {
    /// Exactly this subject. A `*` in its name is not a wildcard here.
    Exact(Subject),
    /// Everything that a pattern matches, in the syntax of rules.
    Pattern(String),
    /// This script of this skill, whatever its arguments.
    Script {
        /// The skill.
        skill: SkillId,
        /// The script's path in the skill.
        path: RelPath,
    },
}

/// An action that needs a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// What it wants to do.
    pub permission: Permission,
    /// On what. With several, all of them must be allowed.
    pub subjects: Vec<Subject>,
    /// What "always" would remember.
    pub remember: Vec<AlwaysScope>,
    /// Who makes the request.
    pub invoker: Invoker,
    /// The skill it acts for.
    pub skill: Option<ActingSkill>,
    /// The declared risk of another program's tool. `None` for a built-in tool, whose risk is known, and
    /// for a tool that was never registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_risk: Option<Risk>,
}

impl Request {
    /// A model's request about `subjects`, of which "always" remembers exactly these. Without a
    /// subject it is about the tool itself.
    pub fn new(permission: Permission, mut subjects: Vec<Subject>) -> Self {
        if subjects.is_empty() {
            subjects.push(Subject::Text(String::new()));
        }
        let remember = subjects.iter().cloned().map(AlwaysScope::Exact).collect();
        Self {
            permission,
            subjects,
            remember,
            invoker: Invoker::Model,
            skill: None,
            declared_risk: None,
        }
    }

    /// Sets who makes the request.
    #[must_use]
    pub const fn by(mut self, invoker: Invoker) -> Self {
        self.invoker = invoker;
        self
    }

    /// Sets the skill it acts for.
    #[must_use]
    pub fn acting_for(mut self, skill: ActingSkill) -> Self {
        self.skill = Some(skill);
        self
    }

    /// Whether an "always" holds in every workspace: for a skill of the user's own, which is the same
    /// everywhere. A project's skill is that project's, and a command or a file is another one in another folder.
    pub fn always_holds_everywhere(&self) -> bool {
        self.judged().iter().all(|subject| match subject {
            Subject::Script { skill, .. } | Subject::Skill(skill) => {
                skill.source != Source::Project
            }
            _ => false,
        })
    }

    /// Sets what "always" remembers.
    #[must_use]
    pub fn remembering(mut self, covers: Vec<AlwaysScope>) -> Self {
        self.remember = covers;
        self
    }

    /// The same, of which "always" remembers the scripts whatever their arguments. A subject that is no
    /// script is remembered as it is.
    #[must_use]
    pub fn remembering_scripts(self) -> Self {
        let scope = |subject: &Subject| match subject {
            Subject::Script { skill, path, .. } => {
                AlwaysScope::Script { skill: skill.clone(), path: path.clone() }
            }
            other => AlwaysScope::Exact(other.clone()),
        };
        let mut scopes: Vec<AlwaysScope> = self.subjects.iter().map(scope).collect();
        scopes.dedup();
        self.remembering(scopes)
    }

    /// How much harm it can do: the risk of a built-in tool, or the declared one of another.
    pub(crate) fn risk(&self) -> Risk {
        match (&self.permission, self.declared_risk) {
            (Permission::Other(_), Some(risk)) => risk,
            (permission, _) => permission.risk(),
        }
    }

    /// The subjects, at least one, so that no request escapes the rules.
    pub(crate) fn judged(&self) -> Cow<'_, [Subject]> {
        if self.subjects.is_empty() {
            Cow::Owned(vec![Subject::Text(String::new())])
        } else {
            Cow::Borrowed(&self.subjects)
        }
    }

    /// The digest that `--approve` names. Two requests share it only if they want the same, for the
    /// same content of the same skill; what "always" would remember is no part of it.
    pub fn digest(&self) -> Digest {
        let mut subjects: Vec<Digest> =
            self.subjects.iter().map(|subject| Digest::of_parts(subject.parts())).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let invoker: &[u8] = match self.invoker {
            Invoker::Model => b"model",
            Invoker::User => b"user",
            Invoker::Script => b"script",
        };
        let skill = self.skill.as_ref().map(|skill| (skill.id.to_string(), skill.digest));
        let (id, tree) = skill
            .as_ref()
            .map_or((&b""[..], &b""[..]), |(id, tree)| (id.as_bytes(), &tree.as_bytes()[..]));
        Digest::of_parts([
            b"metier request 1".as_slice(),
            self.permission.as_str().as_bytes(),
            invoker,
            id,
            tree,
            Digest::of_all(&subjects).as_bytes(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Request {
        let command = Subject::command(words.iter().copied()).expect("a command");
        Request::new(Permission::RunCommand, vec![command])
    }

    #[test]
    fn different_requests_have_different_digests() {
        let skill = |content: &[u8]| {
            ActingSkill::new("user:pdf".parse().expect("an id"), Digest::of(content))
        };
        let all = [
            request(&["git", "log"]),
            request(&["git log"]),
            request(&["git", "log"]).by(Invoker::User),
            request(&["git", "log"]).acting_for(skill(b"a")),
            request(&["git", "log"]).acting_for(skill(b"b")),
            Request::new(Permission::RunScript, request(&["git", "log"]).subjects),
            Request::new(Permission::RunCommand, Vec::new()),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.digest() == other.digest(), i == j, "{i} {j}");
            }
        }
        let wider =
            request(&["git", "log"]).remembering(vec![AlwaysScope::Pattern("git *".into())]);
        assert_eq!(wider.digest(), all[0].digest());
    }

    #[test]
    fn the_digest_is_stable() {
        // Computed by another program from the parts: a printed digest must stay valid.
        let expected = "sha256:0d80c4c81b277eb58baecec89423076cf191b439ed5138a569ae931e641d6038";
        assert_eq!(request(&["git", "log"]).digest().to_string(), expected);
    }
}
