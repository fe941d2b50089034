//! The index over some skills, made once for all who rank the same ones: the catalog, the next request's catalog, and
//! the offline model.
//!
//! It is for these very skills or not at all: who has them as entries is known by those, and who has only their
//! words by each of them.

use std::sync::{Arc, Mutex, PoisonError};

use super::document;
use crate::index::Entry;
use crate::search::{Document, SearchIndex};

/// The index that was made last. A clone is the same one.
#[derive(Debug, Clone, Default)]
pub struct SharedIndex(Arc<Mutex<Option<KnownIndex>>>);

#[derive(Debug, Clone)]
struct KnownIndex {
    entries: Arc<[Arc<Entry>]>,
    index: Arc<SearchIndex>,
}

impl SharedIndex {
    /// The index over these skills: the one that is there, if it is theirs, else a new one.
    pub(super) fn of(&self, entries: Vec<Arc<Entry>>) -> Arc<SearchIndex> {
        let is_same = |known: &KnownIndex| {
            known.entries.len() == entries.len()
                && known
                    .entries
                    .iter()
                    .zip(&entries)
                    .all(|(known, entry)| Arc::ptr_eq(known, entry))
        };
        if let Some(known) = self.known().filter(is_same) {
            return known.index;
        }
        let index = Arc::new(SearchIndex::build(entries.iter().map(document)));
        let known = KnownIndex { entries: entries.into(), index: Arc::clone(&index) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        index
    }

    /// The index over these documents: the one that is there, if it is over the same words in the same order, else a
    /// new one.
    pub fn of_documents<'d>(
        &self,
        documents: impl ExactSizeIterator<Item = Document<'d>> + Clone,
    ) -> Arc<SearchIndex> {
        let is_same = |known: &KnownIndex| {
            let pairs = known.entries.iter().zip(documents.clone());
            known.entries.len() == documents.len() && { pairs }
                .all(|(entry, wanted)| document(entry) == wanted)
        };
        match self.known().filter(is_same) {
            Some(known) => known.index,
            None => Arc::new(SearchIndex::build(documents)),
        }
    }

    fn known(&self) -> Option<KnownIndex> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
