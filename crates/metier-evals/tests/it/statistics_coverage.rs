//! Coverage by simulation: in 2,000 data sets of 60 cases, the 95 % intervals hold the truth in 93 to 97 % of them,
//! and those that take the trials of a case for independent do not.

use metier_evals::statistics::bootstrap::{self, Ends, WeightedValue};
use metier_evals::statistics::{Interval, PairedDifference, Rate, Scale, SplitMix, Tally};

const DATA_SETS: u32 = 2000;
const CASES: usize = 60;
const TRIALS: u32 = 5;
/// The bootstrap is run with fewer resamples than in a report, to keep the test short.
const RESAMPLES: usize = 400;

/// Some cases nearly always pass and some nearly never: trials of a case resemble each other. The mean is 0.6.
fn chance_of_a_case(random: &mut SplitMix) -> f64 {
    if random.fraction() < 0.6 { 0.8 + 0.2 * random.fraction() } else { 0.3 * random.fraction() }
}

const TRUE_RATE: f64 = 0.6 * 0.9 + 0.4 * 0.15;

fn passes(random: &mut SplitMix, chance: f64) -> u64 {
    (0..TRIALS).map(|_| u64::from(random.fraction() < chance)).sum()
}

/// Draws how likely a case is to pass.
type Chance = fn(&mut SplitMix) -> f64;

/// The share of data sets whose interval holds the truth.
fn coverage(truth: f64, mut interval: impl FnMut(&mut SplitMix) -> Option<Interval>) -> f64 {
    let mut random = SplitMix::new(20_261_118);
    let held = (0..DATA_SETS)
        .filter_map(|_| interval(&mut random))
        .filter(|interval| interval.low <= truth && truth <= interval.high)
        .count();
    f64::from(u32::try_from(held).expect("at most 2,000")) / f64::from(DATA_SETS)
}

fn cases(random: &mut SplitMix) -> Vec<Tally> {
    let case = |random: &mut SplitMix| {
        let chance = chance_of_a_case(random);
        Tally { successes: passes(random, chance), trials: u64::from(TRIALS) }
    };
    (0..CASES).map(|_| case(random)).collect()
}

#[track_caller]
fn assert_covers(share: f64, what: &str) {
    println!("{what}: {:.2} %", share * 100.0);
    assert!((0.93..=0.97).contains(&share), "{what} covers {share}");
}

#[test]
fn intervals_of_a_rate_over_cases_cover_95_percent() {
    let share =
        coverage(TRUE_RATE, |random| Rate::of_cases(&cases(random)).map(|rate| rate.interval));
    assert_covers(share, "the rate over cases");
}

#[test]
fn intervals_of_a_rate_over_ten_cases_cover_95_percent_however_alike_their_trials() {
    let alike = |random: &mut SplitMix| chance_of_a_case(random);
    let nearly_always = |random: &mut SplitMix| 0.8 + 0.2 * random.fraction();
    let independent = |_: &mut SplitMix| 0.8;
    let chances: [(f64, Chance); 3] =
        [(TRUE_RATE, alike), (0.9, nearly_always), (0.8, independent)];
    for (truth, chance) in chances {
        let share = coverage(truth, |random| {
            let case = |random: &mut SplitMix| {
                let chance = chance(random);
                Tally { successes: passes(random, chance), trials: u64::from(TRIALS) }
            };
            let cases: Vec<Tally> = (0..10).map(|_| case(random)).collect();
            Rate::of_cases(&cases).map(|rate| rate.interval)
        });
        println!("ten cases at {truth:.2}: {:.2} %", share * 100.0);
        assert!(share >= 0.93, "ten cases at {truth:.2}: {share}");
    }
}

#[test]
fn intervals_that_ignore_the_cases_cover_far_less() {
    let share = coverage(TRUE_RATE, |random| {
        let cases = cases(random);
        let passed = cases.iter().map(|case| case.successes).sum();
        Rate::of_trials(passed, cases.len() as u64 * u64::from(TRIALS)).map(|rate| rate.interval)
    });
    println!("the rate over trials: {:.2} %", share * 100.0);
    assert!(share < 0.80, "trials of a case are not independent, and {share} must show it");
}

#[test]
fn the_bootstrap_over_cases_covers_95_percent() {
    for ends in [Ends::Percentile, Ends::BiasCorrected, Ends::Widened] {
        let share = coverage(TRUE_RATE, |random| {
            let parts: Vec<WeightedValue> = cases(random)
                .into_iter()
                .map(|case| WeightedValue {
                    value: f64::from(u32::try_from(case.successes).expect("few")),
                    weight: f64::from(TRIALS),
                })
                .collect();
            bootstrap::interval(&parts, 0.95, ends, RESAMPLES)
        });
        assert_covers(share, &format!("the bootstrap, {ends:?}"));
    }
}

#[test]
fn paired_differences_cover_95_percent_and_find_nothing_where_nothing_is() {
    let pair = |random: &mut SplitMix, gain: f64| {
        let chance = chance_of_a_case(random);
        let share =
            |passes: u64| f64::from(u32::try_from(passes).expect("few")) / f64::from(TRIALS);
        let before = share(passes(random, chance));
        (before, share(passes(random, chance * (1.0 - gain) + gain)))
    };
    // Half of what is missing to certainty is gained: on average 0.5 * (1 - 0.6).
    let mut found = 0_u32;
    for (gain, truth) in [(0.0, 0.0), (0.5, 0.5 * (1.0 - TRUE_RATE))] {
        let share = coverage(truth, |random| {
            let pairs: Vec<_> = (0..CASES).map(|_| pair(random, gain)).collect();
            let compared = PairedDifference::of(&pairs, Scale::Share)?;
            found += u32::from(truth == 0.0 && compared.p_value <= 0.05);
            compared.interval
        });
        assert_covers(share, &format!("the difference of {truth:.2}"));
    }
    assert!(f64::from(found) <= 0.05 * f64::from(DATA_SETS), "{found} false findings");
}

#[test]
fn with_twelve_cases_the_widened_bootstrap_covers_what_the_plain_one_misses() {
    let covered = |ends| {
        coverage(0.0, |random| {
            let parts: Vec<WeightedValue> = (0..12)
                .map(|_| {
                    let chance = chance_of_a_case(random);
                    let [before, after] = [(); 2]
                        .map(|()| f64::from(u32::try_from(passes(random, chance)).expect("few")));
                    WeightedValue { value: after - before, weight: f64::from(TRIALS) }
                })
                .collect();
            bootstrap::interval(&parts, 0.95, ends, RESAMPLES)
        })
    };
    let plain = covered(Ends::BiasCorrected);
    println!("twelve cases, not widened: {:.2} %", plain * 100.0);
    assert!(plain < 0.93, "a plain bootstrap is too sure of few cases, and {plain} must show it");
    assert_covers(covered(Ends::Widened), "twelve cases, widened");
}
