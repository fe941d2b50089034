//! The bootstrap clustered by case: how far a figure would move, had other cases been written.
//!
//! Whole cases are drawn, never trials: trials of one case resemble each other. The interval is bias-corrected
//! and accelerated (`BCa`), and widened where cases are few, which a plain bootstrap ignores. The figure is a
//! ratio of sums (a mean, when every weight is one), so that a resample costs one addition a case.

use super::binomial::as_f64;
use super::random::SplitMix;
use super::rate::Interval;
use super::{normal, student};

/// How many times some thousand cases are drawn anew. The ends then repeat to about a twentieth of a standard
/// error, and always to the byte, as the seed comes from the data.
const RESAMPLES: usize = 4000;
/// Fewer would not do, however many cases there are.
const LEAST_RESAMPLES: usize = 1000;
/// Fewer cases give no interval: so few are often drawn alike, or all without the one that differs, and whatever is made
/// of such draws holds the truth far less often than it says.
pub const LEAST_CASES: usize = 6;
/// Cases drawn in all: with more cases, fewer resamples keep a report from taking minutes.
const MAX_DRAWS: usize = 20_000_000;

/// A spread up to here, relative to the figure, is what rounding makes.
const ROUNDING: f64 = 1e-12;

/// What one case adds to the numerator and to the denominator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedValue {
    /// Its sum, for example the tokens of its trials.
    pub value: f64,
    /// Its weight, for example the number of its trials.
    pub weight: f64,
}

/// How the ends of the interval are found among the resampled figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// The plain percentiles.
    Percentile,
    /// Corrected for bias and for skewness.
    BiasCorrected,
    /// As `BiasCorrected`, and widened for few cases: by Student's quantile in place of the normal one, and by the
    /// share that dividing by n instead of n - 1 costs.
    Widened,
}

/// How many times so many cases are drawn anew.
pub fn resamples(cases: usize) -> usize {
    (MAX_DRAWS / cases.max(1)).clamp(LEAST_RESAMPLES, RESAMPLES)
}

/// The interval of the sum of values divided by the sum of weights, over cases.
///
/// `None` for fewer than six cases, without any weight, and when no resample differs from another: then the data
/// hold no information about how far the figure would move.
pub fn interval(
    parts: &[WeightedValue],
    confidence: f64,
    ends: Ends,
    resamples: usize,
) -> Option<Interval> {
    let total = sum(parts.iter().copied());
    let figure = ratio(total)?;
    if parts.len() < LEAST_CASES || parts.iter().all(|part| *part == parts[0]) {
        return None;
    }
    let mut random = SplitMix::for_values(parts.iter().flat_map(|part| [part.value, part.weight]));
    let mut drawn: Vec<f64> = (0..resamples)
        .filter_map(|_| ratio(sum((0..parts.len()).map(|_| parts[random.below(parts.len())]))))
        .collect();
    drawn.sort_by(f64::total_cmp);
    let spread = drawn.last()? - drawn.first()?;
    if spread <= ROUNDING * figure.abs().max(1.0) {
        return None;
    }
    let cases = as_f64(parts.len() as u64);
    let z = match ends {
        Ends::Percentile | Ends::BiasCorrected => normal::quantile(0.5 + confidence / 2.0),
        Ends::Widened => {
            student::quantile(0.5 + confidence / 2.0, cases - 1.0) * (cases / (cases - 1.0)).sqrt()
        }
    };
    let place = |z: f64| match ends {
        Ends::Percentile => normal::cumulative(z),
        Ends::BiasCorrected | Ends::Widened => {
            corrected(z, bias(&drawn, figure), acceleration(parts, total))
        }
    };
    Some(Interval { low: percentile(&drawn, place(-z)), high: percentile(&drawn, place(z)) })
}

fn sum(parts: impl Iterator<Item = WeightedValue>) -> WeightedValue {
    parts.fold(WeightedValue { value: 0.0, weight: 0.0 }, |sum, part| WeightedValue {
        value: sum.value + part.value,
        weight: sum.weight + part.weight,
    })
}

fn ratio(total: WeightedValue) -> Option<f64> {
    (total.weight > 0.0).then(|| total.value / total.weight)
}

/// Where the figure stands among the resampled ones, as a normal quantile. Ties count half, because shares of few
/// trials are lumpy.
fn bias(sorted: &[f64], figure: f64) -> f64 {
    let below = sorted.partition_point(|drawn| *drawn < figure);
    let up_to = sorted.partition_point(|drawn| *drawn <= figure);
    let count = as_f64(sorted.len() as u64);
    let share = f64::midpoint(as_f64(below as u64), as_f64(up_to as u64)) / count;
    normal::quantile(share.clamp(0.5 / count, 1.0 - 0.5 / count))
}

/// How fast the spread changes with the figure: the skewness of the figures without one case each.
fn acceleration(parts: &[WeightedValue], total: WeightedValue) -> f64 {
    let without: Vec<f64> = parts
        .iter()
        .filter_map(|part| {
            ratio(WeightedValue {
                value: total.value - part.value,
                weight: total.weight - part.weight,
            })
        })
        .collect();
    let mean = without.iter().sum::<f64>() / as_f64(without.len() as u64);
    let moment = |power| without.iter().map(|one| (mean - one).powi(power)).sum::<f64>();
    let spread = moment(2);
    if spread > 0.0 { moment(3) / (6.0 * spread.powf(1.5)) } else { 0.0 }
}

fn corrected(z: f64, bias: f64, acceleration: f64) -> f64 {
    let shifted = bias + z;
    let divisor = 1.0 - acceleration * shifted;
    // An acceleration this large is no correction any more.
    let divisor = if divisor > 0.0 { divisor } else { 1.0 };
    normal::cumulative(bias + shifted / divisor)
}

/// The percentile between the two nearest values, as numpy has it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into `sorted`"
)]
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = share.clamp(0.0, 1.0) * as_f64(sorted.len() as u64 - 1);
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (at - at.floor())
}
