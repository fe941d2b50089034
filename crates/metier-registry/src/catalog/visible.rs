//! Which skills a model may see at all, and why not the others.
//!
//! A skill with `paths` is seen only while a matching file is worked on. What is denied is asked of
//! the caller; this module knows no rules.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use metier_skill::estimate_tokens;
use metier_skill::text::clip;

use super::DisplayReason;
use crate::index::Entry;

/// Characters of a description that are shown.
const DESCRIPTION_CHARS: usize = 1024;
/// What an entry costs besides its description, about.
const ENTRY_TOKENS: usize = 12;

/// A skill and what a catalog shows of it.
#[derive(Debug)]
pub(super) struct Visible {
    pub(super) entry: Arc<Entry>,
    /// The description as it is shown, where that is not all of it.
    clipped: Option<String>,
    /// By how much a score counts less for what the description costs, once that was asked for.
    thrift: OnceLock<f32>,
}

impl Visible {
    pub(super) fn new(entry: &Arc<Entry>) -> Self {
        let clipped = match clip(&entry.skill.description, DESCRIPTION_CHARS) {
            Cow::Owned(clipped) => Some(clipped),
            Cow::Borrowed(_) => None,
        };
        Self { entry: Arc::clone(entry), clipped, thrift: OnceLock::new() }
    }

    /// The same skill with at most `chars` characters of its description; `None` where it has no more.
    pub(super) fn cut(&self, chars: usize) -> Option<Self> {
        match clip(self.description(), chars) {
            Cow::Owned(clipped) => Some(Self {
                entry: Arc::clone(&self.entry),
                clipped: Some(clipped),
                thrift: OnceLock::new(),
            }),
            Cow::Borrowed(_) => None,
        }
    }

    /// The description as a model sees it: its first characters.
    pub(super) fn description(&self) -> &str {
        self.clipped.as_deref().unwrap_or(&self.entry.skill.description)
    }

    /// Characters of the description as a model sees it.
    pub(super) fn description_chars(&self) -> usize {
        self.description().chars().count()
    }

    /// By how much a score counts less for what the description costs.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^24")]
    pub(super) fn thrift(&self) -> f32 {
        *self.thrift.get_or_init(|| {
            let cost = estimate_tokens(self.description()) + ENTRY_TOKENS;
            thrift(cost as f32)
        })
    }
}

/// By how much a score counts less for a cost: the power 5/8, by roots alone. Of powers it is flat from 0.5 to 1.
fn thrift(cost: f32) -> f32 {
    cost.sqrt() * cost.sqrt().sqrt().sqrt()
}

/// A skill that applies to some files only.
#[derive(Debug)]
pub(super) struct Conditional {
    pub(super) visible: Visible,
    globs: GlobSet,
}

impl Conditional {
    /// The skill, if its frontmatter has `paths`. A glob that cannot be read matches nothing; one
    /// without a slash matches file names anywhere; one that names a directory matches what is in it.
    pub(super) fn of(entry: &Arc<Entry>) -> Option<Self> {
        let patterns = &entry.skill.details().paths;
        if patterns.is_empty() {
            return None;
        }
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
            let anywhere =
                if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
            if let Ok(glob) = GlobBuilder::new(&anywhere).literal_separator(true).build() {
                globs.add(glob);
            }
        }
        let globs = globs.build().unwrap_or_else(|_| GlobSet::empty());
        Some(Self { visible: Visible::new(entry), globs })
    }

    /// Whether one of the files is one it applies to.
    pub(super) fn met(&self, paths: &[String]) -> bool {
        paths.iter().any(|path| self.globs.is_match(path))
    }

    pub(super) fn unmet_message(&self) -> String {
        let paths = &self.visible.entry.skill.details().paths;
        let list: Vec<&str> = paths.iter().map(|path| &**path).collect();
        format!("it applies to {}, and you are not working on such a file", list.join(", "))
    }
}

/// Why a skill is never shown, if so.
pub(super) fn hidden(
    entry: &Entry,
    denied: &dyn Fn(&Entry) -> Option<String>,
) -> Option<(DisplayReason, String)> {
    if !entry.enabled {
        return Some((DisplayReason::Disabled, "it is disabled".to_owned()));
    }
    if entry.skill.controls.disable_model_invocation {
        let message = "only a person may invoke it (`disable-model-invocation`)";
        return Some((DisplayReason::UserOnly, message.to_owned()));
    }
    denied(entry).map(|rule| (DisplayReason::Denied, rule))
}
