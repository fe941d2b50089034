//! Two arms, or two runs, over the same cases: the mean difference, its interval, and whether it is beyond noise.
//!
//! The pair is the case: its difference is taken first, so that what makes a case hard cancels, and cases are
//! what the interval and the test count. With one trial a case the test is `McNemar`'s exact test.

use serde::{Deserialize, Serialize};

use super::binomial::{as_f64, sign_test};
use super::bootstrap::{self, Ends, WeightedValue};
use super::power::{self, detectable_difference};
use super::rate::{CONFIDENCE, Interval, wilson};

/// What the values of a case can be: it decides what identical differences still say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A share from 0 to 1, so a difference lies between -1 and 1.
    Share,
    /// Any number, such as tokens.
    Unbounded,
}

/// The same cases before and after, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// How many cases both sides have.
    pub cases: u64,
    /// The mean of the first side over the cases.
    pub before: f64,
    /// The mean of the second side over the cases.
    pub after: f64,
    /// The mean difference, after minus before.
    pub difference: f64,
    /// The 95 % interval of the difference, by a bootstrap over cases. None when all differ alike in tokens or time.
    pub interval: Option<Interval>,
    /// Cases whose value went up.
    pub up: u64,
    /// Cases whose value went down.
    pub down: u64,
    /// The exact two-sided test on the cases that differ (`McNemar`'s, with one trial a case).
    pub p_value: f64,
    /// By how much a case differs that differs at all: the mean size, whatever the direction.
    pub size: f64,
    /// The standard deviation of the differences, or what is left possible for it when none differs.
    pub deviation: f64,
}

impl PairedDifference {
    /// Compares pairs of (before, after), one a case. `None` without a case.
    pub fn of(pairs: &[(f64, f64)], scale: Scale) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let cases = pairs.len() as u64;
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / as_f64(cases);
        let differences: Vec<f64> =
            pairs.iter().map(|(before, after)| without_rounding_error(after - before)).collect();
        let difference = without_rounding_error(mean(&mut differences.iter().copied()));
        let parts: Vec<WeightedValue> =
            differences.iter().map(|value| WeightedValue { value: *value, weight: 1.0 }).collect();
        let interval = bootstrap::interval(
            &parts,
            CONFIDENCE,
            Ends::Widened,
            bootstrap::resamples(parts.len()),
        )
        .or_else(|| identical(cases, difference, scale));
        let up = differences.iter().filter(|value| **value > 0.0).count() as u64;
        let down = differences.iter().filter(|value| **value < 0.0).count() as u64;
        Some(Self {
            cases,
            before: mean(&mut pairs.iter().map(|(before, _)| *before)),
            after: mean(&mut pairs.iter().map(|(_, after)| *after)),
            difference,
            interval,
            up,
            down,
            p_value: sign_test(up, down),
            size: differences.iter().map(|value| value.abs()).sum::<f64>()
                / as_f64((up + down).max(1)),
            deviation: deviation(&differences, difference, scale),
        })
    }

    /// The smallest difference that a mean over these cases shows with a power of 80 % at this level. Zero where
    /// nothing varies.
    pub fn detectable(&self, alpha: f64) -> f64 {
        detectable_difference(self.cases, self.deviation, alpha)
    }

    /// The same for the exact test, which also needs so many cases that differ. `None` where there are too few cases
    /// to show any difference, or nothing varies.
    pub fn detectable_exactly(&self, alpha: f64) -> Option<f64> {
        let least = self.detectable_share(alpha)? * self.usual_size();
        let detectable = self.detectable(alpha).max(least);
        (detectable > 0.0 && self.deviation > 0.0).then_some(detectable)
    }

    /// The same for shares where no case differs: the smallest share of cases of which as many as the test needs differ
    /// in four samples of five, all in one direction. `None` where there are too few cases to show any.
    pub fn detectable_share(&self, alpha: f64) -> Option<f64> {
        power::share_for(power::pairs_for_power(1.0, alpha)?, self.cases)
    }

    /// How many cases the exact test needs to show the difference that was seen, with a power of 80 % at this level:
    /// as many of them differ, and in the same directions. `None` where as many went up as down.
    pub fn cases_needed(&self, alpha: f64) -> Option<u64> {
        let differing = self.up + self.down;
        if self.up == self.down {
            return None;
        }
        let win_rate = as_f64(self.up.max(self.down)) / as_f64(differing);
        let pairs = power::pairs_for_power(win_rate, alpha)?;
        Some(power::cases_for(pairs, as_f64(differing) / as_f64(self.cases)))
    }

    /// By how much a case differs that differs at all.
    fn usual_size(&self) -> f64 {
        if self.size > 0.0 { self.size } else { 1.0 }
    }
}

/// Zero for what only rounding left: the sign of a difference counts.
fn without_rounding_error(difference: f64) -> f64 {
    if difference.abs() < 1e-12 { 0.0 } else { difference }
}

/// The share of cases that may differ from what all the observed ones show.
fn unseen(cases: u64) -> f64 {
    wilson(0.0, as_f64(cases), CONFIDENCE).high
}

/// The interval when every case differs alike: a share of cases that was not seen may still differ otherwise, at
/// worst from one end of the scale to the other.
fn identical(cases: u64, difference: f64, scale: Scale) -> Option<Interval> {
    let unseen = unseen(cases);
    (scale == Scale::Share).then_some(Interval {
        low: (1.0 - unseen) * difference - unseen,
        high: (1.0 - unseen) * difference + unseen,
    })
}

fn deviation(differences: &[f64], mean: f64, scale: Scale) -> f64 {
    let cases = differences.len() as u64;
    let squares: f64 = differences.iter().map(|value| (value - mean).powi(2)).sum();
    if squares > 0.0 && cases > 1 {
        return (squares / as_f64(cases - 1)).sqrt();
    }
    match scale {
        Scale::Share => unseen(cases).sqrt(),
        Scale::Unbounded => 0.0,
    }
}
