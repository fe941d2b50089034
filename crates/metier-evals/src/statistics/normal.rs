//! The normal distribution: its cumulative function and quantiles, to about 1e-14.
//!
//! Own code, because the standard library has no `erf`: a series near the middle, a continued fraction in
//! the tails. Intervals, the bootstrap and the power of a comparison call it; it knows nothing of evals.

use std::f64::consts::PI;

/// From here on the continued fraction converges faster than the series.
const TAIL: f64 = 3.0;
/// Terms of the continued fraction: at `TAIL`, forty leave an error below 1e-16.
const TERMS: u32 = 120;
/// Beyond this, both tails are 0 or 1 in double precision.
const FARTHEST: f64 = 38.6;

/// The probability that a standard normal variable is at most `x`.
pub fn cumulative(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x < -TAIL {
        return upper_tail(-x);
    }
    if x > TAIL {
        return 1.0 - upper_tail(x);
    }
    // The integral from 0 to x is the density times x + x^3/3 + x^5/(3*5) + ...
    let mut term = x;
    let mut sum = x;
    let mut odd = 1.0;
    while term.abs() > f64::EPSILON * sum.abs() * 0.01 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + density(x) * sum
}

/// The value that a standard normal variable stays below with probability `p`.
///
/// Infinite at 0 and 1; not a number outside.
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -lower_quantile(1.0 - p);
    }
    lower_quantile(p)
}

/// The quantile for `p` of at most a half: Newton's method on the logarithm, whose slope never vanishes.
fn lower_quantile(p: f64) -> f64 {
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    // The logarithm of the tail is concave, so Newton's steps converge from this bound on the left.
    let mut x = -(-2.0 * p.ln()).sqrt();
    for _ in 0..60 {
        let below = cumulative(x);
        let step = (below.ln() - p.ln()) * below / density(x);
        x -= step;
        if step.abs() <= 4.0 * f64::EPSILON * x.abs() || x.abs() < f64::MIN_POSITIVE {
            break;
        }
    }
    x
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The probability above `x`, for `x` of at least `TAIL`: density / (x + 1/(x + 2/(x + 3/(x + ...)))).
fn upper_tail(x: f64) -> f64 {
    if x > FARTHEST {
        return 0.0;
    }
    let fraction = (1..=TERMS).rev().fold(x, |below, term| x + f64::from(term) / below);
    density(x) / fraction
}
