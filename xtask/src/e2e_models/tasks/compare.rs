//! How sure a figure is: Wilson's interval of one arm, and two arms on the same requests pair by pair.
//!
//! Pairs count, not totals: the requests differ far more from each other than the arms do. Everything is
//! computed the same way each time, the bootstrap from a fixed seed.

/// A share with its bounds, all between 0 and 1 (a difference: between -1 and 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_964;
const RESAMPLES: usize = 10_000;

/// Wilson's 95 % interval of `hits` of `all`.
pub(crate) fn wilson(hits: u32, all: u32) -> Interval {
    if all == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, share) = (f64::from(all), f64::from(hits) / f64::from(all));
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Interval {
        low: ((centre - spread) / scale).max(0.0),
        high: ((centre + spread) / scale).min(1.0),
    }
}

/// Two arms on the same requests: whether the first and the second were right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paired {
    /// Right with the second arm alone.
    pub(crate) gained: u32,
    /// Right with the first arm alone.
    pub(crate) lost: u32,
    /// The second arm's share less the first's: the 95 % interval of a paired bootstrap.
    pub(crate) difference: Interval,
    /// The exact two-sided test of `McNemar`.
    pub(crate) p: f64,
}

/// Compares `pairs`.
pub(crate) fn paired(pairs: &[(bool, bool)]) -> Paired {
    let count = |which: (bool, bool)| {
        u32::try_from(pairs.iter().filter(|pair| **pair == which).count()).unwrap_or(u32::MAX)
    };
    let (gained, lost) = (count((false, true)), count((true, false)));
    Paired { gained, lost, difference: bootstrap(pairs), p: mcnemar(gained, lost) }
}

/// How likely so uneven a split is if both arms are the same: a fair coin for each pair that differs.
fn mcnemar(gained: u32, lost: u32) -> f64 {
    let n = gained + lost;
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut tail = 0.0;
    for k in 0..=gained.min(lost) {
        tail += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    (2.0 * tail).min(1.0)
}

fn bootstrap(pairs: &[(bool, bool)]) -> Interval {
    if pairs.is_empty() {
        return Interval { low: -1.0, high: 1.0 };
    }
    let steps: Vec<i32> =
        pairs.iter().map(|(first, second)| i32::from(*second) - i32::from(*first)).collect();
    let mut random = SplitMix(20_260_101);
    let mut sums: Vec<i32> = (0..RESAMPLES)
        .map(|_| steps.iter().map(|_| steps[random.below(steps.len())]).sum())
        .collect();
    sums.sort_unstable();
    let share = |at: usize| {
        f64::from(sums[at]) / u32::try_from(pairs.len()).map_or(f64::INFINITY, f64::from)
    };
    Interval { low: share(RESAMPLES / 40), high: share(RESAMPLES - 1 - RESAMPLES / 40) }
}

/// Steele, Lea and Flood's generator: a few lines, and the same numbers everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The bias of a remainder is far below the noise for so small a bound.
        usize::try_from(mixed % bound as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(is: f64, expected: f64) -> bool {
        (is - expected).abs() < 0.0005
    }

    #[test]
    fn wilsons_interval_is_the_published_one_and_stays_between_0_and_1() {
        // 81 of 263: the example of Newcombe 1998, table I.
        let Interval { low, high } = wilson(81, 263);
        assert!(near(low, 0.2553) && near(high, 0.3662), "{low} {high}");
        let Interval { low, high } = wilson(0, 20);
        assert!(near(low, 0.0) && near(high, 0.1611), "{low} {high}");
        assert_eq!(wilson(0, 0), Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn only_pairs_that_differ_say_something() {
        // Ten against two: 2 * (1 + 12 + 66) / 4096.
        assert!(near(mcnemar(10, 2), 0.0386) && near(mcnemar(2, 10), 0.0386));
        assert!(near(mcnemar(0, 0), 1.0) && near(mcnemar(3, 3), 1.0));
        let mut pairs = vec![(true, true); 15];
        pairs.extend([(false, true); 10]);
        pairs.extend([(true, false); 2]);
        let compared = paired(&pairs);
        assert_eq!((compared.gained, compared.lost), (10, 2));
        let Interval { low, high } = compared.difference;
        assert!(low > 0.0 && low < 8.0 / 27.0 && high > 8.0 / 27.0 && high < 0.6, "{low} {high}");
        assert_eq!(compared, paired(&pairs), "the seed is fixed");
    }

    #[test]
    fn equal_arms_have_no_difference() {
        let compared = paired(&[(true, true), (false, false)]);
        assert_eq!(compared.difference, Interval { low: 0.0, high: 0.0 });
        assert!(near(compared.p, 1.0));
    }
}
