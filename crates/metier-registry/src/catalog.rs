//! Level 1 of progressive disclosure: the list of skills that a model is shown, within a budget.
//!
//! ```text
//! Index --visible--> may be shown --all fit?--> prefix: every description
//!                                  --no------> prefix: every name | tail: the descriptions that
//!                                              fit the request best, and a few by rotation
//! ```
//!
//! | module | owns |
//! |---|---|
//! | `visible` | which skills a model may see at all, and why not the others |
//! | `paths` | which files are worked on, for skills that apply to some files only |
//! | `fit`, `prefix` | what is shown in full, by name, or not at all, within the budget |
//! | `account` | what became of every skill, in words |
//! | `write` | the six formats |
//! | `written` | what they wrote, kept for the next request |
//! | `shared_index` | the index over the skills, for others who rank the same ones |
//!
//! The prefix depends on the index, the format and the budget, never on the request, so that a
//! provider's prompt cache survives from turn to turn. Nothing is left out in silence: every skill
//! of the index has a line in the report. Reads no file by itself: what two of the formats show
//! besides metadata (file names, the opening of a body) is asked of a [`SkillContents`].

mod account;
mod fit;
mod paths;
mod prefix;
mod shared_index;
#[cfg(test)]
mod tests;
mod visible;
mod write;
mod written;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use metier_skill::{SkillId, Source};
use serde::Serialize;

use crate::index::{Entry, Index};
use crate::search::{Document, SearchIndex};
use prefix::Prefix;
use visible::{Conditional, Visible};
use written::Written;

pub use shared_index::SharedIndex;
pub use write::CatalogFormat;

/// What a catalog is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct CatalogRequest<'a> {
    /// How it is written.
    pub format: CatalogFormat,
    /// The tokens it may take; all descriptions when there is no limit.
    pub budget: Option<usize>,
    /// What the user wants, for the ranking.
    pub request: Option<&'a str>,
    /// Files that are being worked on: they decide, together with paths in the request, about skills
    /// that apply to some files only.
    pub files: &'a [String],
    /// Directories of the project, to which `paths` of skills are relative: an absolute path below
    /// one of them is taken as relative to it.
    pub bases: &'a [PathBuf],
    /// Which turn this is: moves the rotation on.
    pub turn: u64,
    /// Whose model reads it.
    pub reader: CatalogReader,
}

/// Whose model reads a catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CatalogReader {
    /// Another program's, which has tools of its own: none of ours is mentioned.
    #[default]
    OtherProgram,
    /// Our own loop's, which can search for skills that are not listed.
    OwnLoop,
}

/// What some formats show of a skill besides its metadata.
pub trait SkillContents {
    /// The skill's files and folders, by name, a folder with a `/` (the `awareness` format).
    fn files(&self, entry: &Entry) -> Vec<String>;
    /// Where its directory is (the `awareness` format).
    fn shown_path(&self, entry: &Entry) -> String {
        entry.path.to_string_lossy().into_owned()
    }
    /// The opening of its body (the `direct` format), or nothing when it may not or cannot be read.
    fn opening(&self, entry: &Entry) -> Option<String>;
}

/// Metadata and nothing else: for the formats that show nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct MetadataOnly;

impl SkillContents for MetadataOnly {
    fn files(&self, _: &Entry) -> Vec<String> {
        Vec::new()
    }

    fn opening(&self, _: &Entry) -> Option<String> {
        None
    }
}

/// The skills of one index, ready to be shown turn after turn.
#[derive(Debug)]
pub struct Cataloger {
    /// The skills a model may always see, by name.
    visible: Vec<Visible>,
    /// Skills that apply to some files only.
    conditional: Vec<Conditional>,
    hidden: Vec<CatalogEntry>,
    ranking: OnceLock<Arc<SearchIndex>>,
    shared: SharedIndex,
    written: Written,
}

/// The list for one turn alone: what a prompt needs of a [`Catalog`].
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogText {
    /// The part that is the same for every request.
    pub prefix: String,
    /// The part that follows the request.
    pub tail: String,
    /// The skills whose descriptions are in it, in the order of the text.
    pub described: Arc<[SkillId]>,
}

/// The list for one turn, and what became of every skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    /// The part that is the same for every request.
    pub prefix: String,
    /// The part that follows the request.
    pub tail: String,
    /// What both cost a model, as an estimate: the sum of what their parts cost.
    pub tokens: usize,
    /// Every skill of the index, as shown: in full, by name, not at all; each in the order of the
    /// text or, where it is in none, of the names.
    pub placed: Vec<CatalogEntry>,
}

impl Catalog {
    /// The whole text.
    pub fn text(&self) -> String {
        [self.prefix.as_str(), &self.tail].concat()
    }

    /// The skills that are shown as `how`.
    pub fn shown(&self, how: DisplayLevel) -> impl Iterator<Item = &CatalogEntry> {
        self.placed.iter().filter(move |placed| placed.shown == how)
    }
}

/// What became of one skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CatalogEntry {
    /// `source:name`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// How it is shown.
    #[serde(skip)]
    pub shown: DisplayLevel,
    /// Why so.
    pub reason: DisplayReason,
    /// The reason in words.
    pub message: String,
    /// What its description costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Its place in the ranking for the request, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
}

/// How a skill is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DisplayLevel {
    /// Name and description.
    Full,
    /// The name alone.
    Named,
    /// Not at all.
    Omitted,
}

/// Why a skill is shown the way it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DisplayReason {
    /// Everything fits.
    AllFit,
    /// It applies to a file that is being worked on.
    PathsMet,
    /// It fits the request.
    Ranked,
    /// Included by rotation.
    Rotation,
    /// There was room left.
    RoomLeft,
    /// Others fit the request better.
    DescriptionOverBudget,
    /// The names alone are more than the budget.
    NameOverBudget,
    /// It is switched off.
    Disabled,
    /// A rule denies it.
    Denied,
    /// Only a person may invoke it.
    UserOnly,
    /// It applies only to files that are not being worked on.
    PathsUnmet,
}

/// A visible skill's position and its score for the request.
type Ranked = (usize, f32);

impl Cataloger {
    /// The skills of `index` that a model may see. `denied` gives the words of the rule that denies
    /// a skill, if one does.
    pub fn new(index: &Index, denied: &dyn Fn(&Entry) -> Option<String>) -> Self {
        let mut cataloger = Self {
            visible: Vec::with_capacity(index.entries().len()),
            conditional: Vec::new(),
            hidden: Vec::new(),
            ranking: OnceLock::new(),
            shared: SharedIndex::default(),
            written: Written::default(),
        };
        for entry in index.entries() {
            if let Some((reason, message)) = visible::hidden(entry, denied) {
                cataloger.hidden.push(CatalogEntry::new(
                    entry,
                    DisplayLevel::Omitted,
                    reason,
                    message,
                ));
            } else if let Some(conditional) = Conditional::of(entry) {
                cataloger.conditional.push(conditional);
            } else {
                cataloger.visible.push(Visible::new(entry));
            }
        }
        cataloger
    }

    /// The same with an index that others rank by, too.
    #[must_use]
    pub fn sharing(mut self, index: &SharedIndex) -> Self {
        self.shared = index.clone();
        self
    }

    /// The skills a model may see whatever it works on, by name.
    pub fn visible(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.visible.iter().map(|visible| &visible.entry)
    }

    /// The skills a model may see while it works on the files that are given or named in the
    /// request: the names that may be loaded.
    pub fn offered<'a>(
        &'a self,
        wanted: &CatalogRequest<'_>,
    ) -> impl Iterator<Item = &'a Arc<Entry>> + use<'a> {
        let met = self.met(wanted);
        self.visible().chain(met.into_iter().map(|at| &self.skill(at).entry))
    }

    /// The positions of the skills that apply to the files at hand.
    fn met(&self, wanted: &CatalogRequest<'_>) -> Vec<usize> {
        if self.conditional.is_empty() {
            return Vec::new();
        }
        let paths = paths::worked_on(wanted);
        let met = self.conditional.iter().enumerate().filter(|(_, some)| some.met(&paths));
        met.map(|(at, _)| at + self.visible.len()).collect()
    }

    /// The index over the skills of [`Cataloger::offered`], by their place in it.
    pub fn ranking_of_offered(&self, wanted: &CatalogRequest<'_>) -> Arc<SearchIndex> {
        if self.conditional.is_empty() {
            return Arc::clone(self.ranking());
        }
        Arc::new(SearchIndex::build(self.offered(wanted).map(document)))
    }

    /// The list for one turn.
    pub fn catalog(&self, wanted: &CatalogRequest<'_>, contents: &dyn SkillContents) -> Catalog {
        let fitted = fit::fit(self, wanted, contents);
        let mut placed = account::report(self, &fitted);
        placed.extend(self.hidden.iter().cloned());
        // Stable: inside one way of being shown the order is that of the text.
        placed.sort_by_key(|placed| placed.shown);
        let prefix = fitted.prefix().to_owned();
        Catalog { prefix, tail: fitted.tail, tokens: fitted.tokens, placed }
    }

    /// The same list without a word on what became of each skill, for a loop that works on many requests.
    pub fn text(&self, wanted: &CatalogRequest<'_>, contents: &dyn SkillContents) -> CatalogText {
        let fitted = fit::fit(self, wanted, contents);
        let in_prefix = if fitted.shows == Prefix::All { self.visible.len() } else { 0 };
        let described = (0..in_prefix).chain(fitted.chosen.iter().map(|one| one.at));
        CatalogText {
            described: described.map(|at| self.skill(at).entry.id()).collect(),
            prefix: fitted.prefix().to_owned(),
            tail: fitted.tail,
        }
    }

    /// How many skills there are by their positions.
    fn len(&self) -> usize {
        self.visible.len() + self.conditional.len()
    }

    /// A skill by its position: first those that are always visible, then the conditional ones.
    fn skill(&self, at: usize) -> &Visible {
        match at.checked_sub(self.visible.len()) {
            None => &self.visible[at],
            Some(at) => &self.conditional[at].visible,
        }
    }

    /// The ranking over all skills, by their positions; built at the first use.
    fn ranking(&self) -> &Arc<SearchIndex> {
        self.ranking.get_or_init(|| {
            let entries = (0..self.len()).map(|at| Arc::clone(&self.skill(at).entry));
            self.shared.of(entries.collect())
        })
    }
}

fn document(entry: &Arc<Entry>) -> Document<'_> {
    Document { name: entry.name().as_str(), description: &entry.skill.description }
}

impl CatalogEntry {
    fn new(
        entry: &Entry,
        shown: DisplayLevel,
        reason: DisplayReason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            id: entry.id().to_string(),
            name: entry.name().as_str().to_owned(),
            source: entry.source,
            shown,
            reason,
            message: message.into(),
            tokens: None,
            rank: None,
        }
    }
}
