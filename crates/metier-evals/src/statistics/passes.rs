//! The chance that one of k trials passes (pass@k), and that all of them do (pass^k), from n trials of a case.
//!
//! Both are the unbiased estimates for every k up to n, unlike `1 - (1 - c/n)^k` and `(c/n)^k`: of all ways to
//! draw k of the n trials, the share with at least one pass, or with passes only.

/// The chance that at least one of `k` trials passes: 1 - C(n-c, k) / C(n, k). `None` when there are fewer trials.
pub fn any_of(passed: u64, trials: u64, k: u64) -> Option<f64> {
    let failed = trials.checked_sub(passed)?;
    Some(1.0 - all_drawn_from(failed, trials, k)?)
}

/// The chance that all of `k` trials pass: C(c, k) / C(n, k). `None` when there are fewer trials.
pub fn all_of(passed: u64, trials: u64, k: u64) -> Option<f64> {
    all_drawn_from(passed, trials, k)
}

/// The chance that `k` of `trials`, drawn without putting any back, all belong to a group of this size.
fn all_drawn_from(group: u64, trials: u64, k: u64) -> Option<f64> {
    if k == 0 || k > trials || group > trials {
        return None;
    }
    let ratio = |drawn: u64| {
        super::binomial::as_f64(group.saturating_sub(drawn))
            / super::binomial::as_f64(trials - drawn)
    };
    Some((0..k).map(ratio).product())
}
