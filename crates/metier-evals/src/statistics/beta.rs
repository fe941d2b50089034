//! The regularised incomplete beta function, which the binomial and Student's distribution are made of.
//!
//! Own code to about 1e-13: Stirling's series for the logarithm of the gamma function, Lentz's method for the
//! continued fraction. It knows nothing of evals; `binomial` and `student` call it.

use std::f64::consts::PI;

/// Stirling's series is exact to double precision from here on.
const STIRLING_FROM: f64 = 16.0;
const MAX_TERMS: u32 = 100_000;
/// What a vanishing denominator is replaced by in Lentz's method.
const TINY: f64 = 1e-300;

/// The logarithm of the gamma function of a positive number.
pub(super) fn ln_gamma(x: f64) -> f64 {
    // Below the series' range: gamma(x) = gamma(x + n) / (x (x+1) ... (x+n-1)).
    let mut product = 1.0;
    let mut x = x;
    while x < STIRLING_FROM {
        product *= x;
        x += 1.0;
    }
    // The coefficients are B(2k) / (2k (2k-1)), B being Bernoulli's numbers.
    let square = x * x;
    let series = (1.0 / 12.0
        - (1.0 / 360.0
            - (1.0 / 1260.0
                - (1.0 / 1680.0 - (1.0 / 1188.0 - 691.0 / 360_360.0 / square) / square) / square)
                / square)
            / square)
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// The share of a beta distribution with the shapes `a` and `b` that lies below `x`.
pub(super) fn regularised(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on the left of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for term in 1..MAX_TERMS {
        let turn = f64::from(term);
        let even = turn * (b - turn) * x / ((a + 2.0 * turn - 1.0) * (a + 2.0 * turn));
        below = 1.0 / not_zero(1.0 + even * below);
        above = not_zero(1.0 + even / above);
        value *= below * above;
        let odd = -(a + turn) * (a + b + turn) * x / ((a + 2.0 * turn) * (a + 2.0 * turn + 1.0));
        below = 1.0 / not_zero(1.0 + odd * below);
        above = not_zero(1.0 + odd / above);
        value *= below * above;
        if (below * above - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}
