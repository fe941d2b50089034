//! The rankings of a moment ago, by their requests: the catalog ranks a request for the prompt, and the offline
//! model the same one for its choice. Pure: a ranking follows from the documents and the request alone, so the
//! one that is kept is the one that would be made.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::Ranked;

/// Rankings that are kept: as many as runs work at once, and no more than a few pages of memory each.
const KEPT: usize = 16;
/// A longer request is ranked each time: a pasted file would stay in memory.
const MAX_QUERY_BYTES: usize = 2048;

/// Rankings by their requests, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentRankings(Mutex<VecDeque<(Box<str>, Arc<Ranked>)>>);

impl RecentRankings {
    /// The ranking for `query` that is kept, else the one that `rank` makes.
    pub(super) fn get_or_rank(&self, query: &str, rank: impl FnOnce() -> Ranked) -> Arc<Ranked> {
        if query.len() > MAX_QUERY_BYTES {
            return Arc::new(rank());
        }
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The latest first: most often it is asked for at once.
        let is_it = |(of, _): &&(Box<str>, Arc<Ranked>)| **of == *query;
        if let Some((_, known)) = kept().iter().rev().find(is_it) {
            return Arc::clone(known);
        }
        // Not while others wait.
        let ranked = Arc::new(rank());
        let mut kept = kept();
        let oldest = if kept.len() >= KEPT { kept.pop_front() } else { None };
        kept.push_back((query.into(), Arc::clone(&ranked)));
        drop(kept);
        drop(oldest);
        ranked
    }
}
