//! The binomial distribution, and the exact test on pairs that is made of it.
//!
//! On pairs with a yes or no in each arm the sign test is `McNemar`'s exact test: pairs that agree say nothing
//! about which arm is better, and the others are coin tosses if neither is.

use super::beta::regularised;

/// The probability of at most `successes` in `trials`, each of which succeeds with probability `p`.
pub fn at_most(successes: u64, trials: u64, p: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    regularised(as_f64(trials - successes), as_f64(successes) + 1.0, 1.0 - p)
}

/// The probability of at least `successes` in `trials`, each of which succeeds with probability `p`.
pub fn at_least(successes: u64, trials: u64, p: f64) -> f64 {
    if successes == 0 {
        return 1.0;
    }
    if successes > trials {
        return 0.0;
    }
    regularised(as_f64(successes), as_f64(trials - successes) + 1.0, p)
}

/// The two-sided probability of a split at least as uneven as `better` to `worse`, were both equally likely.
///
/// This is the exact sign test, and `McNemar`'s exact test when each pair is a yes or no.
pub fn sign_test(better: u64, worse: u64) -> f64 {
    let pairs = better + worse;
    (2.0 * at_most(better.min(worse), pairs, 0.5)).min(1.0)
}

/// A count as a number to calculate with: exact up to 2^53, far beyond any count of trials.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}
