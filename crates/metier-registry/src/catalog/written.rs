//! What a format writes of skills, kept from one request to the next: entries with what they cost, and the part
//! that is the same for every request.
//!
//! Only formats that show metadata and nothing else are kept, as the index has it; files are looked at each time.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use metier_skill::TokenCost;

use super::prefix::WrittenPrefix;
use super::{CatalogFormat, CatalogReader, CatalogRequest, Cataloger, SkillContents};

/// What was written, for the format that was asked for first.
#[derive(Debug, Default)]
pub(super) struct Written {
    entries: OnceLock<(CatalogFormat, Vec<OnceLock<WrittenEntry>>)>,
    prefix: OnceLock<(PrefixKey, Arc<WrittenPrefix>)>,
}

/// An entry as it stands after another one.
#[derive(Debug, Clone)]
pub(super) struct WrittenEntry {
    pub(super) text: Arc<str>,
    pub(super) cost: TokenCost,
}

impl WrittenEntry {
    pub(super) fn new(text: String) -> Self {
        Self { cost: TokenCost::of(&text), text: text.into() }
    }
}

/// What the prefix depends on, besides the skills.
type PrefixKey = (CatalogFormat, Option<usize>, CatalogReader);

impl Written {
    /// The entry of the skill at this position of `all`.
    pub(super) fn entry(
        &self,
        all: &Cataloger,
        at: usize,
        format: CatalogFormat,
        contents: &dyn SkillContents,
    ) -> Cow<'_, WrittenEntry> {
        let write = || WrittenEntry::new(format.entry(all.skill(at), contents, false));
        if format.needs_contents() {
            return Cow::Owned(write());
        }
        let (kept, entries) = self
            .entries
            .get_or_init(|| (format, (0..all.len()).map(|_| OnceLock::new()).collect()));
        match entries.get(at).filter(|_| *kept == format) {
            Some(entry) => Cow::Borrowed(entry.get_or_init(write)),
            None => Cow::Owned(write()),
        }
    }

    /// The prefix: the one that is there, or else this one.
    pub(super) fn prefix(
        &self,
        wanted: &CatalogRequest<'_>,
        write: impl Fn() -> WrittenPrefix,
    ) -> Arc<WrittenPrefix> {
        if wanted.format.needs_contents() {
            return Arc::new(write());
        }
        let key = (wanted.format, wanted.budget, wanted.reader);
        let (kept, prefix) = self.prefix.get_or_init(|| (key, Arc::new(write())));
        if *kept == key { Arc::clone(prefix) } else { Arc::new(write()) }
    }
}
