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
        let rate = Self::at(successes, trials, Sums::of(cases).effective_trials())?;
        let failures: Vec<Tally> = cases
            .iter()
            .map(|case| Tally { successes: case.trials - case.successes, trials: case.trials })
            .collect();
        let interval = Interval { low: lower_end(cases), high: 1.0 - lower_end(&failures) };
        Some(Self { interval, ..rate })
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

/// The lower end of the interval of a share over cases, which one more failure never raises.
///
/// How alike the trials of a case are is estimated from the data, and a failure can make it look like less: 49 of 50
/// would be surer than 50 of 50, of which nothing is known but that ten cases pass. So an end counts only as far as
/// better data would reach, too: the same with its best cases all passed, and as many single trials as there are cases
/// that ever passed.
fn lower_end(cases: &[Tally]) -> f64 {
    let mut sums = Sums::of(cases);
    if sums.successes <= 0.0 {
        return 0.0;
    }
    let passing = cases.iter().filter(|case| case.successes > 0).count() as u64;
    let mut low = wilson(1.0, as_f64(passing), CONFIDENCE).low.min(sums.low());
    // Cases all of whose trials agree come alike whatever the order, and those that never passed only raise it.
    let is_mixed = |case: &&Tally| case.successes > 0 && case.successes < case.trials;
    let mut mixed: Vec<&Tally> = cases.iter().filter(is_mixed).collect();
    let share = |case: &Tally| as_f64(case.successes) / as_f64(case.trials);
    mixed.sort_by(|one, other| share(other).total_cmp(&share(one)));
    for case in mixed {
        sums.pass_all(case);
        low = low.min(sums.low());
    }
    low
}

/// What the design effect of cases is made of.
struct Sums {
    cases: f64,
    trials: f64,
    successes: f64,
    /// Of the squares of successes, of successes times trials, and of the squares of trials.
    squares: [f64; 3],
}

impl Sums {
    fn of(cases: &[Tally]) -> Self {
        let sum = |of: &dyn Fn(&Tally) -> u64| as_f64(cases.iter().map(of).sum());
        Self {
            cases: as_f64(cases.iter().filter(|case| case.trials > 0).count() as u64),
            trials: sum(&|case| case.trials),
            successes: sum(&|case| case.successes),
            squares: [
                sum(&|case| case.successes * case.successes),
                sum(&|case| case.successes * case.trials),
                sum(&|case| case.trials * case.trials),
            ],
        }
    }

    /// As if all trials of a case had passed.
    fn pass_all(&mut self, case: &Tally) {
        self.successes += as_f64(case.trials - case.successes);
        let square = case.trials * case.trials;
        self.squares[0] += as_f64(square - case.successes * case.successes);
        self.squares[1] += as_f64(square - case.successes * case.trials);
    }

    fn low(&self) -> f64 {
        wilson(self.successes / self.trials, self.effective_trials(), CONFIDENCE).low
    }

    /// How many independent trials they are worth.
    ///
    /// The cluster-robust variance of the share over its variance in independent trials is the design effect; it is
    /// never taken as less than one. Without any variance nothing can be said about how alike the trials of a case
    /// are, and each case counts once.
    fn effective_trials(&self) -> f64 {
        let Self { cases, trials, successes, squares } = self;
        let rate = successes / trials;
        let independent = rate * (1.0 - rate) / (trials - 1.0);
        if *cases < 2.0 || independent <= 0.0 {
            return *cases;
        }
        // Of the residuals, successes less the rate times trials: whole numbers, so little is lost.
        let residuals = squares[0] - 2.0 * rate * squares[1] + rate * rate * squares[2];
        let clustered = cases / (cases - 1.0) * residuals.max(0.0) / (trials * trials);
        (trials / (clustered / independent).max(1.0)).max(1.0)
    }
}
