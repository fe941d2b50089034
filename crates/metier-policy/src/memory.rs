//! Answers that are remembered: what was answered with "always", for which content, until when.
//!
//! The list is plain data that the caller keeps in the user's state, outside any project. A
//! remembered answer turns an ask into an allow; it is looked at only after every layer has spoken,
//! so it cannot touch a deny. It holds for the skill's content of then: a changed skill asks again.

use metier_skill::{Digest, SkillId};
use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use crate::permission::Permission;
use crate::places::Places;
use crate::request::{Cover, Request};
use crate::subject::{AbsolutePath, Spelled, Subject};
use crate::words::Lean;

/// A time: seconds since the start of 1970. This crate has no clock; whoever calls it has.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct UnixTime(pub u64);

/// Where a remembered answer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In this workspace.
    Workspace(AbsolutePath),
    /// Wherever the user works.
    Everywhere,
}

/// One answer that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// What `forget` takes: the same answer given twice has the same id.
    pub id: String,
    /// What may be done.
    pub permission: Permission,
    /// On what.
    pub covers: Vec<Cover>,
    /// For which skill; without one, only for what is done for no skill.
    pub skill: Option<SkillId>,
    /// The content of that skill.
    pub digest: Option<Digest>,
    /// Where it holds.
    pub scope: Scope,
    /// When it was given.
    pub granted_at: UnixTime,
    /// From when on it holds no more.
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

impl Remembered {
    /// What remembering "always" for this request amounts to.
    pub fn of(request: &Request, scope: Scope, now: UnixTime, lifetime: Lifetime) -> Self {
        let (skill, digest) = match &request.skill {
            Some(skill) => (Some(skill.id.clone()), Some(skill.digest)),
            None => (None, None),
        };
        let expires_at = match lifetime {
            Lifetime::Unlimited => None,
            Lifetime::Seconds(seconds) => Some(UnixTime(now.0.saturating_add(seconds))),
        };
        let mut kept = Self {
            id: String::new(),
            permission: request.permission.clone(),
            covers: request.remember.clone(),
            skill,
            digest,
            scope,
            granted_at: now,
            expires_at,
        };
        kept.id = kept.key();
        kept
    }

    /// Twelve hex digits over all but the times.
    fn key(&self) -> String {
        let covers: Vec<Digest> = self
            .covers
            .iter()
            .map(|cover| match cover {
                Cover::Exact(subject) => Digest::of_parts(subject.parts()),
                Cover::Pattern(pattern) => Digest::of_parts([b"pattern", pattern.as_bytes()]),
            })
            .collect();
        let skill = self.skill.as_ref().map(ToString::to_string).unwrap_or_default();
        let digest = self.digest.map(|digest| digest.to_string()).unwrap_or_default();
        let scope = match &self.scope {
            Scope::Workspace(folder) => folder.as_str(),
            Scope::Everywhere => "",
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

    /// Whether it still holds at this time.
    pub fn holds_at(&self, now: UnixTime) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// From when on it holds no more, where no answer counts for longer than `longest`.
    pub fn end(&self, longest: Lifetime) -> Option<UnixTime> {
        let limit = match longest {
            Lifetime::Unlimited => None,
            Lifetime::Seconds(seconds) => Some(UnixTime(self.granted_at.0.saturating_add(seconds))),
        };
        [self.expires_at, limit].into_iter().flatten().min()
    }

    /// Whether it answers this request.
    pub fn matches(&self, request: &Request, places: &Places, now: UnixTime) -> bool {
        let skill = request.skill.as_ref();
        self.permission == request.permission
            && self.skill.as_ref() == skill.map(|skill| &skill.id)
            && self.digest == skill.map(|skill| skill.digest)
            && self.holds_at(now)
            && match &self.scope {
                Scope::Workspace(folder) => folder == places.workspace(),
                Scope::Everywhere => true,
            }
            && request.judged().iter().all(|subject| self.covers_subject(subject, places))
    }

    fn covers_subject(&self, subject: &Subject, places: &Places) -> bool {
        let spelled = Spelled::new(subject, places);
        self.covers.iter().any(|cover| match cover {
            Cover::Exact(exact) => exact == subject,
            Cover::Pattern(pattern) => Pattern::new(pattern).matches(&spelled, Lean::Exact),
        })
    }
}

/// All answers that are remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(Vec<Remembered>);

impl Memory {
    /// Adds an answer, in place of the same one given earlier. What holds no more by then goes.
    pub fn remember(&mut self, answer: Remembered) {
        self.expire(answer.granted_at);
        self.0.retain(|known| known.id != answer.id);
        self.0.push(answer);
    }

    /// Takes an answer out, and gives it.
    pub fn forget(&mut self, id: &str) -> Option<Remembered> {
        let at = self.0.iter().position(|known| known.id == id)?;
        Some(self.0.remove(at))
    }

    /// Takes out what holds no more, and gives it.
    pub fn expire(&mut self, now: UnixTime) -> Vec<Remembered> {
        self.0.extract_if(.., |known| !known.holds_at(now)).collect()
    }

    /// The answer to a request, if one is remembered that was given no longer ago than `longest`.
    pub fn answer_to(
        &self,
        request: &Request,
        places: &Places,
        now: UnixTime,
        longest: Lifetime,
    ) -> Option<&Remembered> {
        let counts = |known: &&Remembered| known.end(longest).is_none_or(|end| now < end);
        self.0.iter().filter(counts).find(|known| known.matches(request, places, now))
    }

    /// The answers, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Remembered> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ActingSkill;

    fn places(workspace: &str) -> Places {
        Places::new(AbsolutePath::new(workspace).expect("a path"))
    }

    fn request(content: &[u8], words: &[&str]) -> Request {
        let subject = Subject::command(words.iter().copied()).expect("a command");
        let skill = ActingSkill::new("user:pdf".parse().expect("an id"), Digest::of(content));
        Request::new(Permission::RunCommand, vec![subject]).acting_for(skill)
    }

    #[test]
    fn an_answer_holds_for_this_content_place_and_time() {
        let here = places("/w");
        let asked = request(b"v1", &["git", "log"]);
        let scope = Scope::Workspace(here.workspace().clone());
        let answer = Remembered::of(&asked, scope, UnixTime(100), Lifetime::Seconds(10));
        let matches = |request: &Request, places: &Places, now| {
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
    fn a_star_in_a_name_is_no_pattern() {
        let places = places("/w");
        let read =
            |path| Request::new(Permission::ReadFile, vec![Subject::path(path).expect("path")]);
        let answer =
            Remembered::of(&read("/x/*"), Scope::Everywhere, UnixTime(0), Lifetime::Unlimited);
        assert!(answer.matches(&read("/x/*"), &places, UnixTime(1)));
        assert!(!answer.matches(&read("/x/secret"), &places, UnixTime(1)));
        let wide = read("/x/a").remembering(vec![Cover::Pattern("/x/*".into())]);
        let answer = Remembered::of(&wide, Scope::Everywhere, UnixTime(0), Lifetime::Unlimited);
        assert!(answer.matches(&read("/x/secret"), &places, UnixTime(1)));
    }

    #[test]
    fn a_memory_reads_back_forgets_and_expires() {
        let mut memory = Memory::default();
        let one = Remembered::of(
            &request(b"v1", &["git", "log"]),
            Scope::Everywhere,
            UnixTime(1),
            Lifetime::Unlimited,
        );
        let two = Remembered::of(
            &request(b"v1", &["git", "show"]),
            Scope::Everywhere,
            UnixTime(1),
            Lifetime::Seconds(5),
        );
        memory.remember(one.clone());
        memory.remember(two.clone());
        memory.remember(one.clone());
        assert_eq!(memory.iter().count(), 2);
        let text = serde_json::to_string(&memory).expect("writes");
        assert_eq!(serde_json::from_str::<Memory>(&text).expect("reads"), memory);
        assert_eq!(memory.expire(UnixTime(6)), [two]);
        assert_eq!(memory.forget(&one.id), Some(one));
        assert_eq!(memory, Memory::default());
    }
}
