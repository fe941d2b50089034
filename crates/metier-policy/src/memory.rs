//! Remembered answers: what was answered with "always", for which content, until when.
//!
//! The list is plain data that the caller stores in the user's state folder, outside any project. A
//! remembered answer turns an ask into an allow; it is consulted only after all layers are joined, so
//! it cannot override a deny. It is valid for the skill's content at that time: a changed skill asks
//! again.

use metier_skill::{Digest, SkillId};
use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use crate::permission::Permission;
use crate::places::PolicyPlaces;
use crate::request::{AlwaysScope, Request};
use crate::subject::{AbsolutePath, Subject, SubjectSpellings};
use crate::words::MatchMode;

/// Seconds since the start of 1970. This crate has no clock; the caller passes the time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct UnixTime(pub u64);

/// Where a remembered answer applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerScope {
    /// In this workspace.
    Workspace(AbsolutePath),
    /// In every workspace.
    Everywhere,
}

impl AnswerScope {
    /// Where an "always" to this request applies.
    pub fn of(request: &Request, workspace: &AbsolutePath) -> Self {
        if request.always_holds_everywhere() {
            Self::Everywhere
        } else {
            Self::Workspace(workspace.clone())
        }
    }
}

/// One remembered answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedAnswer {
    /// The id that `forget` takes: the same answer given twice has the same id.
    pub id: String,
    /// What may be done.
    pub permission: Permission,
    /// On what.
    pub covers: Vec<AlwaysScope>,
    /// The acting skill; without one, it applies only to requests without one.
    pub skill: Option<SkillId>,
    /// The content of that skill.
    pub digest: Option<Digest>,
    /// Where it applies.
    pub scope: AnswerScope,
    /// When it was given.
    pub granted_at: UnixTime,
    /// When it expires.
    pub expires_at: Option<UnixTime>,
}

/// How long an answer is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is forgotten, or the skill changes.
    Unlimited,
    /// For so many seconds.
    Seconds(u64),
}

impl Lifetime {
    /// The shorter of the two.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        match (self, other) {
            (Self::Seconds(one), Self::Seconds(two)) => Self::Seconds(one.min(two)),
            (Self::Unlimited, limited) | (limited, Self::Unlimited) => limited,
        }
    }
}

impl RememberedAnswer {
    /// The answer "always" to this request.
    pub fn of(request: &Request, scope: AnswerScope, now: UnixTime, lifetime: Lifetime) -> Self {
        let (skill, digest) = match &request.skill {
            Some(skill) => (Some(skill.id.clone()), Some(skill.digest)),
            None => (None, None),
        };
        let expires_at = match lifetime {
            Lifetime::Unlimited => None,
            Lifetime::Seconds(seconds) => Some(UnixTime(now.0.saturating_add(seconds))),
        };
        let mut answer = Self {
            id: String::new(),
            permission: request.permission.clone(),
            covers: request.remember.clone(),
            skill,
            digest,
            scope,
            granted_at: now,
            expires_at,
        };
        answer.id = answer.key();
        answer
    }

    /// Twelve hex digits over all but the times.
    fn key(&self) -> String {
        let covers: Vec<Digest> = self
            .covers
            .iter()
            .map(|cover| match cover {
                AlwaysScope::Exact(subject) => Digest::of_parts(subject.parts()),
                AlwaysScope::Pattern(pattern) => Digest::of_parts([b"pattern", pattern.as_bytes()]),
                AlwaysScope::Script { skill, path } => Digest::of_parts([
                    b"script".as_slice(),
                    skill.to_string().as_bytes(),
                    path.as_str().as_bytes(),
                ]),
            })
            .collect();
        let skill = self.skill.as_ref().map(ToString::to_string).unwrap_or_default();
        let digest = self.digest.map(|digest| digest.to_string()).unwrap_or_default();
        let scope = match &self.scope {
            AnswerScope::Workspace(folder) => folder.as_str(),
            AnswerScope::Everywhere => "",
        };
        let whole = Digest::of_parts([
            self.permission.as_str().as_bytes(),
            Digest::of_all(&covers).as_bytes(),
            skill.as_bytes(),
            digest.as_bytes(),
            scope.as_bytes(),
        ]);
        whole.to_string().chars().skip("sha256:".len()).take(12).collect()
    }

    /// Whether it has not expired yet.
    pub fn holds_at(&self, now: UnixTime) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// When it expires, if no answer is valid for longer than `longest`.
    pub fn end(&self, longest: Lifetime) -> Option<UnixTime> {
        let limit = match longest {
            Lifetime::Unlimited => None,
            Lifetime::Seconds(seconds) => Some(UnixTime(self.granted_at.0.saturating_add(seconds))),
        };
        [self.expires_at, limit].into_iter().flatten().min()
    }

    /// Whether it answers this request.
    pub fn matches(&self, request: &Request, places: &PolicyPlaces, now: UnixTime) -> bool {
        let skill = request.skill.as_ref();
        self.permission == request.permission
            && self.skill.as_ref() == skill.map(|skill| &skill.id)
            && self.digest == skill.map(|skill| skill.digest)
            && self.holds_at(now)
            && match &self.scope {
                AnswerScope::Workspace(folder) => folder == places.workspace(),
                AnswerScope::Everywhere => true,
            }
            && request.judged().iter().all(|subject| self.covers_subject(subject, places))
    }

    fn covers_subject(&self, subject: &Subject, places: &PolicyPlaces) -> bool {
        let spellings = SubjectSpellings::new(subject, places);
        self.covers.iter().any(|cover| match cover {
            AlwaysScope::Exact(exact) => exact == subject,
            AlwaysScope::Pattern(pattern) => {
                Pattern::new(pattern).matches(&spellings, MatchMode::Exact)
            }
            AlwaysScope::Script { skill, path } => matches!(
                subject,
                Subject::Script { skill: of, path: at, .. } if of == skill && at == path
            ),
        })
    }
}

/// All answers that are remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnswerMemory(Vec<RememberedAnswer>);

impl AnswerMemory {
    /// Adds an answer, replacing the same one given earlier. Expired answers are removed.
    pub fn remember(&mut self, answer: RememberedAnswer) {
        self.expire(answer.granted_at);
        self.0.retain(|known| known.id != answer.id);
        self.0.push(answer);
    }

    /// Removes an answer and returns it.
    pub fn forget(&mut self, id: &str) -> Option<RememberedAnswer> {
        let at = self.0.iter().position(|known| known.id == id)?;
        Some(self.0.remove(at))
    }

    /// Removes expired answers and returns them.
    pub fn expire(&mut self, now: UnixTime) -> Vec<RememberedAnswer> {
        self.0.extract_if(.., |known| !known.holds_at(now)).collect()
    }

    /// The remembered answer to a request, if one was given no longer ago than `longest`.
    pub fn answer_to(
        &self,
        request: &Request,
        places: &PolicyPlaces,
        now: UnixTime,
        longest: Lifetime,
    ) -> Option<&RememberedAnswer> {
        let counts = |known: &&RememberedAnswer| known.end(longest).is_none_or(|end| now < end);
        self.0.iter().filter(counts).find(|known| known.matches(request, places, now))
    }

    /// The answers, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &RememberedAnswer> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ActingSkill;

    fn places(workspace: &str) -> PolicyPlaces {
        PolicyPlaces::new(AbsolutePath::new(workspace).expect("a path"))
    }

    fn request(content: &[u8], words: &[&str]) -> Request {
        let subject = Subject::command(words.iter().copied()).expect("a command");
        let skill = ActingSkill::new("user:pdf".parse().expect("an id"), Digest::of(content));
        Request::new(Permission::RunCommand, vec![subject]).acting_for(skill)
    }

    #[test]
    fn an_answer_is_valid_for_this_content_workspace_and_time() {
        let here = places("/w");
        let asked = request(b"v1", &["git", "log"]);
        let scope = AnswerScope::Workspace(here.workspace().clone());
        let answer = RememberedAnswer::of(&asked, scope, UnixTime(100), Lifetime::Seconds(10));
        let matches = |request: &Request, places: &PolicyPlaces, now| {
            answer.matches(request, places, UnixTime(now))
        };
        assert!(matches(&asked, &here, 109));
        assert!(!matches(&asked, &here, 110), "it has expired");
        assert!(!matches(&asked, &places("/v"), 109), "another workspace");
        assert!(!matches(&request(b"v2", &["git", "log"]), &here, 109), "the skill has changed");
        assert!(!matches(&request(b"v1", &["git", "push"]), &here, 109), "another command");
        let mut unattributed = asked.clone();
        unattributed.skill = None;
        assert!(!matches(&unattributed, &here, 109));
    }

    #[test]
    fn a_star_in_a_name_is_not_a_wildcard() {
        let places = places("/w");
        let read =
            |path| Request::new(Permission::ReadFile, vec![Subject::path(path).expect("path")]);
        let answer = RememberedAnswer::of(
            &read("/x/*"),
            AnswerScope::Everywhere,
            UnixTime(0),
            Lifetime::Unlimited,
        );
        assert!(answer.matches(&read("/x/*"), &places, UnixTime(1)));
        assert!(!answer.matches(&read("/x/secret"), &places, UnixTime(1)));
        let wide = read("/x/a").remembering(vec![AlwaysScope::Pattern("/x/*".into())]);
        let answer =
            RememberedAnswer::of(&wide, AnswerScope::Everywhere, UnixTime(0), Lifetime::Unlimited);
        assert!(answer.matches(&read("/x/secret"), &places, UnixTime(1)));
    }

    #[test]
    fn a_memory_reads_back_forgets_and_expires() {
        let mut memory = AnswerMemory::default();
        let one = RememberedAnswer::of(
            &request(b"v1", &["git", "log"]),
            AnswerScope::Everywhere,
            UnixTime(1),
            Lifetime::Unlimited,
        );
        let two = RememberedAnswer::of(
            &request(b"v1", &["git", "show"]),
            AnswerScope::Everywhere,
            UnixTime(1),
            Lifetime::Seconds(5),
        );
        memory.remember(one.clone());
        memory.remember(two.clone());
        memory.remember(one.clone());
        assert_eq!(memory.iter().count(), 2);
        let text = serde_json::to_string(&memory).expect("writes");
        assert_eq!(serde_json::from_str::<AnswerMemory>(&text).expect("reads"), memory);
        assert_eq!(memory.expire(UnixTime(6)), [two]);
        assert_eq!(memory.forget(&one.id), Some(one));
        assert_eq!(memory, AnswerMemory::default());
    }
}
