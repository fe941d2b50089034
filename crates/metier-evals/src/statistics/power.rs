//! How much data a finding needs, and the smallest difference that the data at hand could have shown.
//!
//! "No difference" from few cases says little; a report puts these numbers beside it. The power of a mean is by
//! the normal approximation, that of the sign test and of a bound on a share is exact.

use super::binomial;
use super::normal;
use super::rate::wilson;

/// The chance of seeing a real difference that the needed numbers are for.
pub const POWER: f64 = 0.8;
/// The level that a p-value is compared with.
pub const ALPHA: f64 = 0.05;
/// A search ends here: who needs more cases than this needs another question.
const MAX_COUNT: u64 = 1 << 20;
/// The exact power of the sign test is searched up to here; a win rate closer to a half than 0.51 needs more.
const MAX_PAIRS: u64 = 25_000;

/// The smallest mean difference that `cases` show with the power of 80 %, when differences spread by `deviation`.
pub fn detectable_difference(cases: u64, deviation: f64, alpha: f64) -> f64 {
    reach(alpha) * deviation / binomial::as_f64(cases).sqrt()
}

fn reach(alpha: f64) -> f64 {
    normal::quantile(1.0 - alpha / 2.0) + normal::quantile(POWER)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a count"
)]
fn count(number: f64) -> Option<u64> {
    (number >= 0.0 && number <= binomial::as_f64(MAX_COUNT)).then_some(number as u64)
}

/// How many pairs have to differ for the sign test to have a power of 80 %, when the better arm wins this share of
/// them. From there on every larger number has it too. `None` when more than 25,000 were needed.
pub fn pairs_for_power(win_rate: f64, alpha: f64) -> Option<u64> {
    let win_rate = win_rate.max(1.0 - win_rate);
    // The power goes up in saw teeth, a few wins wide, around the normal approximation: search from above them.
    let z = normal::quantile(1.0 - alpha / 2.0);
    let z_power = normal::quantile(POWER);
    let spread = (win_rate * (1.0 - win_rate)).sqrt();
    let about = ((z * 0.5 + z_power * spread) / (win_rate - 0.5)).powi(2);
    let last = count(about + 4.0 / (win_rate - 0.5) + 40.0).filter(|last| *last <= MAX_PAIRS)?;
    (1..=last)
        .rev()
        .find(|pairs| sign_test_power(*pairs, win_rate, alpha) < POWER)
        .map(|pairs| pairs + 1)
}

/// The smallest share of cases that have to differ for `pairs` of `cases` to do so with the power of 80 %. `None` when
/// there are not so many cases.
pub fn share_for(pairs: u64, cases: u64) -> Option<f64> {
    if pairs > cases {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if binomial::at_least(pairs, cases, middle) >= POWER {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// How many cases it takes for `pairs` of them to differ with the power of 80 %, where this share of them does.
pub fn cases_for(pairs: u64, share: f64) -> u64 {
    let does = |cases: u64| binomial::at_least(pairs, cases, share) >= POWER;
    let (mut low, mut high) = (pairs, pairs.max(1));
    while !does(high) && high < MAX_COUNT << 20 {
        high *= 2;
    }
    while low < high {
        let middle = u64::midpoint(low, high);
        if does(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The chance that the sign test on so many differing pairs reaches the level, when one arm wins this share.
pub fn sign_test_power(pairs: u64, win_rate: f64, alpha: f64) -> f64 {
    // The largest number of losses that is still significant: the test's p-value rises with it up to the middle.
    let (mut low, mut high) = (0, pairs / 2 + 1);
    while low < high {
        let middle = u64::midpoint(low, high);
        if binomial::sign_test(middle, pairs - middle) <= alpha {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    match low.checked_sub(1) {
        None => 0.0,
        Some(losses) => {
            binomial::at_most(losses, pairs, 1.0 - win_rate)
                + binomial::at_least(pairs - losses, pairs, 1.0 - win_rate)
        }
    }
}

/// How many independent trials show that a share lies above or below a bound, if it stays as it is, with an interval
/// of this confidence.
///
/// `None` when it lies on the bound, or so near that a million would not do.
pub fn trials_for_bound(rate: f64, bound: f64, confidence: f64) -> Option<u64> {
    let shows = |trials: u64| {
        let interval = wilson(rate, binomial::as_f64(trials), confidence);
        if rate >= bound { interval.low >= bound } else { interval.high < bound }
    };
    if !shows(MAX_COUNT) {
        return None;
    }
    let (mut low, mut high) = (1, MAX_COUNT);
    while low < high {
        let middle = u64::midpoint(low, high);
        if shows(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}
