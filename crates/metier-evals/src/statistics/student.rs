//! Quantiles of Student's distribution, for intervals over few cases.
//!
//! `bootstrap` calls it to widen its intervals where the cases are few; nothing here knows of evals.

use super::beta::regularised;

/// The value that Student's variable with `freedom` degrees of freedom stays below with probability `p`.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && freedom > 0.0) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -quantile(1.0 - p, freedom);
    }
    // The share below -t is half the incomplete beta function at x = v / (v + t^2): find x by halving.
    let below = |t: f64| 0.5 * regularised(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    let mut high = 1.0;
    while below(high) > p && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    while high - low > f64::EPSILON * high {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    -high
}
