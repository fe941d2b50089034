//! The skills that a person orders in the words of a request: `use the pdf skill`, `enter voice-mode`.
//! tidy:allow-cjk
//!
//! What is ordered is loaded before the first turn, even where only a user may start it. So a request that
//! merely contains a name must start nothing, and this grammar is narrower than that of `naming`, which
//! only weighs a ranking:
//!
//! - Only the first line counts, and in it nothing behind a colon: what follows is usually pasted.
//! - Nothing in quotation marks counts, but for a name alone beside the word skill (`the "best" skill`).
//! - The verb opens the clause, perhaps behind *please*, *can you*, *let's* (请, 帮我); a clause that asks,
//!   tells, denies or depends on another orders nothing, and neither does one that *with* or *via* opens.
//! - It is an order only where a short closed form follows it (`on staging`, `to print it now`), and clauses that
//!   leave it alone. Anything else behind it (`in case the tests pass`, `but not today`), and a condition or a text
//!   to work on before it (`Translate this. Use …`), leaves a wish of it.
//! - A name is a whole word: `site-deploy` is not `deploy`, and what holds a slash or a dot is a path.
//!
//! [`Force::Mentioned`] is for sentences that want a skill without ordering it (`a page with the html skill`);
//! they call only what a model could have chosen too.

use std::cell::LazyCell;

use super::naming::{Naming, Prose};
use super::order_clauses;
use super::ordinary_words::is_ordinary;
use super::{names, order_quotes};

/// How plainly a skill is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// A sentence that wants it: enough for what a model may choose itself.
    Mentioned,
    /// An order, as good as `/name`.
    Ordered,
}

/// A skill that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedSkill<'n, 'r> {
    /// Its name.
    pub name: &'n str,
    /// What follows the call.
    pub arguments: &'r str,
    /// How plainly it is asked for.
    pub force: Force,
}

/// One place of a request where a name is expected.
#[derive(Debug)]
pub(super) struct Order<'r> {
    /// The words at the place of a name.
    pub(super) called: &'r str,
    pub(super) arguments: &'r str,
    pub(super) force: Force,
    /// The word skill stands beside it.
    pub(super) beside: bool,
    pub(super) quoted: bool,
}

impl Order<'_> {
    /// Whether what stands at the place of a name can only be one.
    fn is_certain(&self) -> bool {
        self.beside || self.called.starts_with('/')
    }
}

/// What a person orders in the words of a request, whatever skills there are. Not for texts that others wrote.
#[derive(Debug)]
pub struct RequestOrders<'r> {
    request: &'r str,
    orders: Vec<Order<'r>>,
}

impl<'r> RequestOrders<'r> {
    /// What the words of `request` order.
    pub fn read(request: &'r str) -> Self {
        Self { request, orders: orders(request) }
    }

    /// The request.
    pub const fn request(&self) -> &'r str {
        self.request
    }

    /// Which of `names` are plainly asked for, in the order of the names.
    pub fn asked<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<AskedSkill<'n, 'r>> {
        if self.orders.is_empty() { Vec::new() } else { asked(self, names) }
    }

    /// What is ordered by a name that is none of `names`, where one of them was probably meant: `use the depoy
    /// skill`, or `use the my-deploy skill` where there is only `deploy`. Without the word skill beside it, only a
    /// name with a hyphen is one.
    pub fn unknown<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Option<UnknownOrder<'n, 'r>> {
        unknown(&self.orders, names)
    }
}

fn asked<'n, 'r>(
    words: &RequestOrders<'r>,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<AskedSkill<'n, 'r>> {
    let RequestOrders { request, orders } = words;
    let prose = Prose::read(request);
    let names: Vec<(&str, String)> =
        names.into_iter().map(|name| (name, names::key(name))).collect();
    let mut keys: Vec<(String, &Order<'r>)> =
        orders.iter().map(|order| (names::key(order.called), order)).collect();
    for (called, order) in &mut keys {
        if !order.is_certain() || names.iter().any(|(_, key)| key == called) {
            continue;
        }
        // `the e-mail skill` is `email`, where nothing is called so.
        if let Some((_, key)) = names.iter().find(|(_, key)| has_same_letters(key, called)) {
            called.clone_from(key);
        }
    }
    let named = names.iter().filter_map(|&(name, ref key)| {
        let calls = keys.iter().filter(|(called, order)| {
            called == key && (order.quoted || !is_ordinary(key) || order.called.starts_with('/'))
        });
        let (_, order) = calls.max_by_key(|(_, order)| order.force)?;
        let declined = prose.naming(key) == Some(Naming::Declined);
        let &Order { arguments, force, .. } = *order;
        (!declined).then_some(AskedSkill { name, arguments, force })
    });
    named.collect()
}

/// A name that a request orders and no skill has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownOrder<'n, 'r> {
    /// As the request has it.
    pub called: &'r str,
    /// The name that was probably meant.
    pub near: &'n str,
    /// The word skill stands beside it. Without it `use e-mail` and `run re-deploy` may be plain words.
    pub certain: bool,
}

fn unknown<'n, 'r>(
    orders: &[Order<'r>],
    names: impl IntoIterator<Item = &'n str>,
) -> Option<UnknownOrder<'n, 'r>> {
    let is_candidate = |order: &&Order<'r>| {
        let is_one_word = order.beside && is_name(order.called);
        is_one_word || order.force == Force::Ordered && is_compound(order.called)
    };
    let mut candidates = orders.iter().filter(is_candidate).peekable();
    candidates.peek()?;
    let names: Vec<&str> = names.into_iter().collect();
    let keys: LazyCell<Vec<String>, _> =
        LazyCell::new(|| names.iter().map(|name| names::key(name)).collect());
    candidates.find_map(|order| {
        if names.iter().any(|name| name.eq_ignore_ascii_case(order.called)) {
            return None; // mostly it is there
        }
        let key = names::key(order.called);
        let is_it =
            |known: &String| *known == key || order.is_certain() && has_same_letters(known, &key);
        let is_there = || keys.iter().any(is_it);
        if is_ordinary(&key) || is_there() {
            return None;
        }
        let is_part = |part: &&String| {
            let rest = key.strip_prefix(part.as_str()).map(|rest| rest.starts_with(' '));
            let before = key.strip_suffix(part.as_str()).map(|rest| rest.ends_with(' '));
            !part.is_empty() && (rest == Some(true) || before == Some(true))
        };
        let part = || keys.iter().position(|key| is_part(&key)).filter(|_| order.beside);
        let near = metier_skill::nearest(order.called, names.iter().copied());
        let near = near.or_else(|| part().and_then(|at| names.get(at).copied()))?;
        let certain = order.force == Force::Ordered && order.is_certain();
        Some(UnknownOrder { called: order.called, near, certain })
    })
}

/// Whether two folded names differ only in where their words end.
fn has_same_letters(one: &str, other: &str) -> bool {
    fn letters(key: &str) -> impl Iterator<Item = u8> {
        key.bytes().filter(|byte| *byte != b' ')
    }
    letters(one).eq(letters(other))
}

/// A name of several parts, as only names are written.
pub(super) fn is_compound(name: &str) -> bool {
    let inner = name.trim_matches(['-', '_']);
    inner.contains(['-', '_']) && is_name(name)
}

/// Whether a word may be a name at all: no path, no file.
pub(super) fn is_name(word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '#');
    word.starts_with(char::is_alphanumeric) && word.chars().all(is_part)
}

fn orders(request: &str) -> Vec<Order<'_>> {
    let begin = request.len() - request.trim_start().len();
    let line = request[begin..].lines().next().unwrap_or_default();
    let line = order_quotes::masked(line);
    let behind = request[begin + line.text.len()..].trim_start();
    let found = order_clauses::calls(&line, behind.lines().next().unwrap_or_default());
    let place = |span: &std::ops::Range<usize>| request.get(begin + span.start..begin + span.end);
    let order = |it: order_clauses::Found| {
        Some(Order {
            called: place(&it.name)?,
            arguments: arguments(request.get(begin + it.end..)?),
            force: it.force,
            beside: it.beside,
            quoted: line
                .kept
                .iter()
                .any(|kept| kept.start <= it.name.start && it.name.end <= kept.end),
        })
    };
    found.into_iter().filter_map(order).collect()
}

/// What follows a call, without the signs between.
fn arguments(rest: &str) -> &str {
    let closing = |c: char| c.is_whitespace() || ",;:.!?)'\"`”」』’，。；：！？、）".contains(c);
    let rest = rest.trim_start_matches(closing).trim();
    // What is only a sign says nothing.
    if rest.chars().any(char::is_alphanumeric) { rest } else { "" }
}
