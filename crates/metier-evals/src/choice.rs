//! Which cases of all that were read are meant: by skill, id and tag. It only chooses; `read` has read them, and
//! `planning` makes a plan of them.

use crate::case::Case;

/// Which cases are meant. What is empty chooses nothing out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseChoice {
    /// Only those about this skill.
    pub skill: Option<String>,
    /// Only those whose id has one of these in it.
    pub ids: Vec<String>,
    /// Only those with one of these tags.
    pub tags: Vec<String>,
}

impl CaseChoice {
    /// Whether a case is meant.
    pub fn holds(&self, case: &Case) -> bool {
        let Self { skill, ids, tags } = self;
        (skill.is_none() || case.skill == *skill)
            && (ids.is_empty() || ids.iter().any(|part| case.id.contains(part)))
            && (tags.is_empty() || tags.iter().any(|tag| case.tags.contains(tag)))
    }
}
