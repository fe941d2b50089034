//! Work shared by the cores: one function over many items, results in the order of the items.
//!
//! Threads live as long as one call. A pool would have to stand before there is anything to do, and
//! the usual call of Metier finds a few dozen skills, for which starting any thread costs more than
//! the work; each caller says from how many items on it pays. Knows nothing about skills.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// Items that a worker takes at a time, at most: enough not to meet the others at the queue.
const PIECE: usize = 64;

/// `task` over `items`, on all cores where each of them gets at least `least` items. A worker makes
/// what it reuses from item to item with `start`.
pub fn map<T: Send, U: Send, S>(
    items: Vec<T>,
    least: usize,
    start: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, T) -> U + Sync,
) -> Vec<U> {
    let workers = if items.len() < least * 2 { 1 } else { cores().min(items.len() / least) };
    if workers < 2 {
        let mut state = start();
        return items.into_iter().map(|item| task(&mut state, item)).collect();
    }
    let count = items.len();
    let queue = Mutex::new((0, items.into_iter()));
    let work = || {
        let mut state = start();
        let mut done: Vec<(usize, Vec<U>)> = Vec::new();
        loop {
            let (at, taken): (usize, Vec<T>) = {
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.0 += 1;
                // Fewer towards the end, so that all end at about the same time.
                let piece = (queue.1.len() / (workers * 4)).clamp(1, PIECE);
                (queue.0, queue.1.by_ref().take(piece).collect())
            };
            if taken.is_empty() {
                return done;
            }
            done.push((at, taken.into_iter().map(|item| task(&mut state, item)).collect()));
        }
    };
    let mut pieces = thread::scope(|scope| {
        // A thread that cannot be started is no failure: the others do its share.
        let others: Vec<_> = (1..workers)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut pieces = work();
        for other in others {
            match other.join() {
                Ok(more) => pieces.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        pieces
    });
    pieces.sort_unstable_by_key(|(at, _)| *at);
    let mut all = Vec::with_capacity(count);
    all.extend(pieces.into_iter().flat_map(|(_, piece)| piece));
    all
}

/// Sorts as [`slice::sort_by`] does, in parallel where there are thousands.
pub(crate) fn sort_by<T: Send>(
    items: &mut [T],
    order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync,
) {
    const MIN_ITEMS: usize = 2048;
    if items.len() > 2 * MIN_ITEMS {
        let runs = items.chunks_mut(items.len().div_ceil(cores())).collect();
        map(runs, 1, || (), |(), run: &mut [T]| run.sort_by(&order));
    }
    // What is sorted already is merged, run by run.
    items.sort_by(&order);
}

/// How many threads may work at once; asked of the system once, since the answer takes several reads.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        for count in [0, 1, 3, 63, 64, 65, 1000, 5000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map(items, 2, || 0usize, |seen, item| (item * 2, *seen += 1).0);
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_sort_in_parallel_is_a_stable_sort() {
        let mut items: Vec<(u32, u32)> =
            (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) % 97, at)).collect();
        let mut sorted = items.clone();
        sorted.sort_by_key(|item| item.0);
        sort_by(&mut items, |a, b| a.0.cmp(&b.0));
        assert_eq!(items, sorted);
    }
}
