//! Work shared by the cores: one function over many items.
//!
//! Threads live as long as one call. A pool would have to stand before there is anything to do, and
//! the usual call of Metier finds a few dozen skills, for which starting any thread costs more than
//! the work; each caller says from how many items on it pays. The first helper is started while items
//! still come in, or before, and starts the next itself: asking the system for the number of cores can take
//! longer than starting a thread (75 and 60 µs). Knows nothing about skills.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::{self, Scope};

/// Items that a worker takes at a time: enough not to meet the others at the queue. The last pieces are
/// halved, for all to end at about the same time.
const PIECE: usize = 16;
const LAST_PIECE: usize = 4;

/// `task` over the items that `feed` puts in, a piece of them at a time, on all cores where each of
/// them gets at least `least` items. Work begins while `feed` still runs. Each worker makes a state
/// with `start`, which it uses for all of its items; the states are the result, in no particular order.
pub fn spread<T: Send, S: Send>(
    feed: impl FnOnce(&mut Feed<'_, T>),
    least: usize,
    start: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, Vec<T>) + Sync,
) -> Vec<S> {
    let queue = Queue::default();
    let states: Mutex<Vec<S>> = Mutex::default();
    let work = || {
        let mut state = start();
        while let Some(piece) = queue.take() {
            task(&mut state, piece);
        }
        states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    };
    let more = |helpers| helpers + 1 < cores() && queue.waiting() >= (helpers + 1) * least;
    thread::scope(|scope| {
        let mut first = || help(scope, 1, &work, &more);
        let mut open = Feed { queue: &queue, piece: Vec::new(), least, helper: Some(&mut first) };
        feed(&mut open);
        drop(open);
        work();
    });
    states.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that works, the `number`th. One that cannot be started is no failure: the others
/// do its share.
fn help<'scope>(
    scope: &'scope Scope<'scope, '_>,
    number: usize,
    work: &'scope (impl Fn() + Sync),
    more: &'scope (impl Fn(usize) -> bool + Sync),
) {
    let run = move || {
        if more(number) {
            help(scope, number + 1, work, more);
        }
        work();
    };
    let _ = thread::Builder::new().spawn_scoped(scope, run);
}

/// `task` over `items`, in parallel as in [`spread`]; the results stand in the order of the items.
pub fn map<T: Send, U: Send, S: Send>(
    items: Vec<T>,
    least: usize,
    start: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, T) -> U + Sync,
) -> Vec<U> {
    let mut results: Vec<Option<U>> = items.iter().map(|_| None).collect();
    let states = spread(
        |feed| items.into_iter().enumerate().for_each(|item| feed.push(item)),
        least,
        || (start(), Vec::new()),
        |(state, done), piece| {
            done.extend(piece.into_iter().map(|(at, item)| (at, task(state, item))));
        },
    );
    for (at, result) in states.into_iter().flat_map(|(_, done)| done) {
        results[at] = Some(result);
    }
    results.into_iter().flatten().collect()
}

/// Where the items of [`spread`] are put in.
pub struct Feed<'q, T> {
    queue: &'q Queue<T>,
    /// Items that the workers do not see yet.
    piece: Vec<T>,
    least: usize,
    /// Starts the first helper.
    helper: Option<&'q mut dyn FnMut()>,
}

impl<T> Feed<'_, T> {
    /// Says that about so many items will come, so that helpers start now: a thread takes a quarter of a
    /// millisecond to its first item.
    pub fn expect(&mut self, items: usize) {
        let waiting = self.queue.expect(items);
        self.start_helper(waiting);
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) {
        self.piece.push(item);
        if self.piece.len() == PIECE {
            self.pass_on();
            self.piece.reserve_exact(PIECE);
        }
    }

    fn pass_on(&mut self) {
        let waiting = self.queue.add(std::mem::take(&mut self.piece));
        self.start_helper(waiting);
    }

    fn start_helper(&mut self, waiting: usize) {
        if waiting >= self.least * 2
            && let Some(start) = self.helper.take()
        {
            start();
        }
    }
}

impl<T> Drop for Feed<'_, T> {
    /// The last items are there, also where the caller panicked: no one waits for more.
    fn drop(&mut self) {
        self.pass_on();
        self.queue.close();
    }
}

/// The items that wait for a worker, in pieces: one long list would grow through ever larger blocks of
/// fresh memory.
struct Queue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
}

struct QueueState<T> {
    pieces: VecDeque<Vec<T>>,
    items: usize,
    /// Items that were announced and have not come.
    expected: usize,
    /// Workers that wait for a piece: waking no one would still be a system call.
    idle: usize,
    is_closed: bool,
}

impl<T> QueueState<T> {
    /// Items to do, those that are announced among them.
    fn waiting(&self) -> usize {
        self.items + self.expected
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let pieces = VecDeque::new();
        let state = QueueState { pieces, items: 0, expected: 0, idle: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces items; gives how many there are to do.
    fn expect(&self, items: usize) -> usize {
        let mut state = self.lock();
        state.expected = items;
        state.waiting()
    }

    /// Adds a piece; gives how many items there are to do.
    fn add(&self, piece: Vec<T>) -> usize {
        let mut state = self.lock();
        state.items += piece.len();
        state.expected = state.expected.saturating_sub(piece.len());
        state.pieces.push_back(piece);
        if state.idle > 0 {
            self.changed.notify_one();
        }
        state.waiting()
    }

    fn close(&self) {
        let mut state = self.lock();
        (state.is_closed, state.expected) = (true, 0);
        self.changed.notify_all();
    }

    fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// The next piece, once there is one; `None` when there will be none.
    fn take(&self) -> Option<Vec<T>> {
        let mut state = self.lock();
        while state.pieces.is_empty() && !state.is_closed {
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        let mut piece = state.pieces.pop_front()?;
        if state.is_closed && state.pieces.len() < cores() && piece.len() > LAST_PIECE {
            let rest = piece.split_off(piece.len() / 2);
            state.pieces.push_front(rest);
        }
        state.items -= piece.len();
        Some(piece)
    }
}

/// Renders `items` on all cores, some dozens at a time, and hands the bytes to `write` in the order of
/// the items. At most a few pieces exist at a time, in buffers that are used again: of a large
/// listing nothing stays in memory, and of a small one fresh memory is what costs most. So the
/// buffers are there before the threads are, with room for `item_bytes` an item: the first
/// allocation of a thread takes as long as rendering two hundred skills.
pub fn render_in_order<T: Sync>(
    items: &[T],
    item_bytes: usize,
    render: impl Fn(&T, &mut Vec<u8>) + Sync,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    /// Items of a piece: enough for rendering them to be most of what a thread does.
    const ITEMS: usize = 24;
    /// Pieces that may wait for one before them, and for the thread that writes.
    const MAX_WAITING: usize = 4;
    let pieces: Vec<&[T]> = items.chunks(ITEMS).collect();
    let next = AtomicUsize::new(0);
    let workers = if pieces.len() < 2 { 1 } else { cores().min(pieces.len()) };
    let buffer = || Vec::with_capacity(ITEMS.min(items.len()) * item_bytes);
    // As many as can be in use: in each hand, on the way and waiting.
    let most = if workers == 1 { 1 } else { workers + 2 * MAX_WAITING };
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::new((0..most).map(|_| buffer()).collect());
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    // The next piece that no one has begun, rendered.
    let rendered = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let piece = pieces.get(at)?;
        let mut bytes = spare().pop().unwrap_or_else(buffer);
        bytes.clear();
        piece.iter().for_each(|item| render(item, &mut bytes));
        Some((at, bytes))
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(MAX_WAITING);
        for _ in 1..workers {
            let sender = sender.clone();
            let work = move || while rendered().is_some_and(|done| sender.send(done).is_ok()) {};
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for at in 0..pieces.len() {
            let bytes = loop {
                waiting.extend(receiver.try_iter());
                if let Some(bytes) = waiting.remove(&at) {
                    break bytes;
                }
                let own = if waiting.len() < MAX_WAITING { rendered() } else { None };
                let Some((done, bytes)) = own.or_else(|| receiver.recv().ok()) else {
                    // A thread that held this piece panicked, which the scope passes on.
                    return Ok(());
                };
                waiting.insert(done, bytes);
            };
            write(&bytes)?;
            spare().push(bytes);
        }
        Ok(())
    })
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

/// How many threads may work at once; asked of the system once.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| match allowed_cores() {
        // A container's share of the machine stands in files, and reading them takes longer than starting a
        // thread. It can only lower the number, which of two cores is not worth asking.
        Some(few @ 1..=2) => few,
        _ => thread::available_parallelism().map_or(1, usize::from),
    })
}

/// The cores that the process may run on, where one call tells.
#[cfg(target_os = "linux")]
fn allowed_cores() -> Option<usize> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    usize::try_from(set.count()).ok()
}

#[cfg(not(target_os = "linux"))]
fn allowed_cores() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const COUNTS: [usize; 9] = [0, 1, 3, 63, 64, 65, 128, 1000, 5000];

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        for count in COUNTS {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map(items, 2, || 0usize, |seen, item| (item * 2, *seen += 1).0);
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_item_is_worked_on_once_also_while_more_come_in() {
        for count in COUNTS {
            let feed = |feed: &mut Feed<'_, usize>| {
                feed.expect(count / 2);
                for item in 0..count {
                    if item % 100 == 0 {
                        thread::yield_now();
                    }
                    feed.push(item);
                }
            };
            let seen = spread(feed, 2, Vec::new, |seen: &mut Vec<usize>, piece| seen.extend(piece));
            let mut seen: Vec<usize> = seen.into_iter().flatten().collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_no_one_waits_forever() {
        let work = |fails_in_feed: bool| {
            let feed = |feed: &mut Feed<'_, usize>| {
                (0..1000).for_each(|item| feed.push(item));
                assert!(!fails_in_feed, "the feed fails");
            };
            spread(
                feed,
                2,
                || (),
                |(), piece| assert!(fails_in_feed || !piece.contains(&500), "a task fails"),
            );
        };
        assert!(catch_unwind(|| work(true)).is_err());
        assert!(catch_unwind(|| work(false)).is_err());
        let render = |item: &usize, _: &mut Vec<u8>| assert_ne!(*item, 500);
        let items: Vec<usize> = (0..1000).collect();
        let rendered =
            catch_unwind(AssertUnwindSafe(|| render_in_order(&items, 8, render, |_| Ok(()))));
        assert!(rendered.is_err());
    }

    #[test]
    fn what_is_rendered_is_written_in_the_order_of_the_items() {
        for count in COUNTS {
            let items: Vec<usize> = (0..count).collect();
            let render = |item: &usize, bytes: &mut Vec<u8>| {
                bytes.extend_from_slice(format!("{item} ").as_bytes());
            };
            let mut written = Vec::new();
            let write = |bytes: &[u8]| {
                written.extend_from_slice(bytes);
                Ok(())
            };
            render_in_order(&items, 4, render, write).expect("written");
            let expected: Vec<String> = items.iter().map(ToString::to_string).collect();
            let written = String::from_utf8(written).expect("text");
            assert_eq!(written.split_whitespace().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_writer_that_fails_ends_the_rendering() {
        let items = vec![(); 5000];
        let mut calls = 0;
        let write = |_: &[u8]| {
            calls += 1;
            if calls < 3 { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        };
        let result = render_in_order(&items, 1, |(), bytes| bytes.push(0), write);
        assert_eq!(result.map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
        assert_eq!(calls, 3);
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
