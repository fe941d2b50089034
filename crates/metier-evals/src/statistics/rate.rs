//! A share of trials and its interval, also where several trials belong to one case.
//!
//! Wilson's interval never has zero width: three passes in three trials are not certainty. Trials of one case
//! resemble each other, so they count for fewer: the interval is taken at the effective number of trials, the
//! real one divided by the design effect.

use serde::{Deserialize, Serialize};

use super::binomial::as_f64;
use super::normal;

/// The confidence of every interval in a report.
pub const CONFIDENCE: f64 = 0.95;

/// The two ends of a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Successes and trials of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many of the trials succeeded.
    pub successes: u64,
    /// How many trials were scored.
    pub trials: u64,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// How many trials succeeded.
    pub successes: u64,
    /// How many trials were scored.
    pub trials: u64,
    /// The successes divided by the trials.
    pub rate: f64,
    /// How many independent trials these are worth: fewer than `trials` when trials of a case resemble each other.
    pub effective_trials: f64,
    /// The 95 % interval.
    pub interval: Interval,
}

impl Rate {
    /// The share in independent trials. `None` without a trial.
    pub fn of_trials(successes: u64, trials: u64) -> Option<Self> {
        Self::at(successes, trials, as_f64(trials))
    }

    /// The share in trials that come in cases, one tally a case. `None` without a trial.
    pub fn of_cases(cases: &[Tally]) -> Option<Self> {
        let successes = cases.iter().map(|case| case.successes).sum();
        let trials = cases.iter().map(|case| case.trials).sum();
        Self::at(successes, trials, effective_trials(cases))
    }

    fn at(successes: u64, trials: u64, effective_trials: f64) -> Option<Self> {
        if trials == 0 {
            return None;
        }
        let rate = as_f64(successes) / as_f64(trials);
        let interval = wilson(rate, effective_trials, CONFIDENCE);
        Some(Self { successes, trials, rate, effective_trials, interval })
    }
}

/// Wilson's score interval of a share of `rate` in `trials`, which may be a fraction of a trial.
pub fn wilson(rate: f64, trials: f64, confidence: f64) -> Interval {
    let z = normal::quantile(0.5 + confidence / 2.0);
    let square = z * z / trials;
    let middle = (rate + square / 2.0) / (1.0 + square);
    let half = z / (1.0 + square) * (rate * (1.0 - rate) / trials + square / (4.0 * trials)).sqrt();
    // At 0 and 1 the end is exact, and rounding must not say otherwise.
    Interval {
        low: if rate <= 0.0 { 0.0 } else { (middle - half).max(0.0) },
        high: if rate >= 1.0 { 1.0 } else { (middle + half).min(1.0) },
    }
}

/// How many independent trials the trials of these cases are worth.
///
/// The cluster-robust variance of the share over its variance in independent trials is the design effect; it is
/// never taken as less than one. Without any variance nothing can be said about how alike the trials of a case
/// are, and each case counts once.
fn effective_trials(cases: &[Tally]) -> f64 {
    let scored = || cases.iter().filter(|case| case.trials > 0);
    let clusters = as_f64(scored().map(|_| 1).sum());
    let trials = as_f64(scored().map(|case| case.trials).sum());
    let successes = as_f64(scored().map(|case| case.successes).sum());
    let rate = successes / trials;
    let independent = rate * (1.0 - rate) / (trials - 1.0);
    if clusters < 2.0 || independent <= 0.0 {
        return clusters;
    }
    let residuals = scored().map(|case| {
        let residual = as_f64(case.successes) - rate * as_f64(case.trials);
        residual * residual
    });
    let clustered = clusters / (clusters - 1.0) * residuals.sum::<f64>() / (trials * trials);
    (trials / (clustered / independent).max(1.0)).max(1.0)
}
