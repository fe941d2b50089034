//! Statistics by hand: values that a reader can check on paper, and what happens at the edges.
//! The comparison with other programs is in `statistics_oracle`.

use metier_evals::statistics::bootstrap::{self, Ends, WeightedValue};
use metier_evals::statistics::{
    Correction, Decisions, Interval, PairedDifference, Rate, Scale, SplitMix, Tally, binomial,
    normal, passes, power,
};

#[track_caller]
fn assert_close(ours: f64, expected: f64) {
    assert!((ours - expected).abs() < 1e-9, "{ours} is not {expected}");
}

#[test]
fn ten_of_ten_is_not_certainty() {
    let rate = Rate::of_trials(10, 10).expect("trials");
    // 1 / (1 + z^2 / n), with z = 1.959963985.
    assert_close(rate.interval.low, 0.722_467_200_137);
    assert_close(rate.interval.high, 1.0);
    assert_eq!(Rate::of_trials(0, 0), None, "nothing was tried");
}

#[test]
fn trials_of_one_case_that_always_agree_count_once() {
    let case = |successes| Tally { successes, trials: 5 };
    let cases: Vec<Tally> = (0..40).map(|at| case(if at < 30 { 5 } else { 0 })).collect();
    let rate = Rate::of_cases(&cases).expect("trials");
    // The design effect is 5 * (n - 1) / n * G / (G - 1), which the small-sample factors bring just above 5.
    assert!((39.0..40.0).contains(&rate.effective_trials), "{}", rate.effective_trials);
    let all = Rate::of_cases(&[case(5); 10]).expect("trials");
    assert_close(all.effective_trials, 10.0);
    assert_eq!(all.interval, Rate::of_trials(10, 10).expect("trials").interval);
}

#[test]
fn one_trial_a_case_is_the_plain_interval() {
    let cases: Vec<Tally> =
        (0..20).map(|at| Tally { successes: u64::from(at < 13), trials: 1 }).collect();
    let rate = Rate::of_cases(&cases).expect("trials");
    assert_close(rate.effective_trials, 20.0);
    let plain = Rate::of_trials(13, 20).expect("trials").interval;
    assert_close(rate.interval.low, plain.low);
    assert_close(rate.interval.high, plain.high);
}

/// All ways in which so many cases of so many trials can come out, up to their order.
fn outcomes(cases: usize, trials: u64) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..cases {
        all = all
            .into_iter()
            .flat_map(|some: Vec<u64>| {
                let most = some.last().copied().unwrap_or(trials);
                (0..=most).map(move |next| [&some[..], &[next]].concat())
            })
            .collect();
    }
    all
}

#[test]
fn one_more_failure_never_raises_an_end_of_the_interval() {
    for (cases, trials) in [(1, 5), (2, 5), (3, 5), (5, 3), (6, 4), (10, 2)] {
        let interval = |passed: &[u64]| {
            let tallies: Vec<Tally> =
                passed.iter().map(|successes| Tally { successes: *successes, trials }).collect();
            Rate::of_cases(&tallies).expect("trials").interval
        };
        for before in outcomes(cases, trials) {
            let better = interval(&before);
            for at in (0..cases).filter(|at| before[*at] > 0) {
                let mut after = before.clone();
                after[at] -= 1;
                let worse = interval(&after);
                assert!(
                    worse.low <= better.low + 1e-12 && worse.high <= better.high + 1e-12,
                    "{before:?} has {better:?}, {after:?} has {worse:?}"
                );
            }
        }
    }
}

#[test]
fn the_smallest_difference_that_could_be_seen_is_seen_in_four_of_five_samples() {
    for (cases, alpha) in [(12, 0.05 / 12.0), (12, 0.05), (40, 0.01)] {
        let same = PairedDifference::of(&vec![(1.0, 1.0); cases], Scale::Share).expect("pairs");
        let share = same.detectable_share(alpha).expect("enough cases");
        let needed = power::pairs_for_power(1.0, alpha).expect("a number");
        let seen = binomial::at_least(needed, cases as u64, share);
        assert!((0.8..0.801).contains(&seen), "{cases} cases, {share}: {seen}");
        let fewer = usize::try_from(needed - 1).expect("few");
        let too_few = PairedDifference::of(&vec![(1.0, 1.0); fewer], Scale::Share);
        assert_eq!(too_few.expect("pairs").detectable_share(alpha), None);
    }
    // Three of twenty went down, none up: six have to, in four samples of five.
    let pairs: Vec<_> = (0..20).map(|at| (1.0, f64::from(u8::from(at >= 3)))).collect();
    let seen = PairedDifference::of(&pairs, Scale::Share).expect("pairs");
    let needed = seen.cases_needed(0.05).expect("a number");
    assert!(binomial::at_least(6, needed, 0.15) >= 0.8, "{needed}");
    assert!(binomial::at_least(6, needed - 1, 0.15) < 0.8, "{needed}");
}

#[test]
fn six_pairs_in_one_direction_are_the_first_that_count() {
    assert_close(binomial::sign_test(5, 0), 0.0625);
    assert_close(binomial::sign_test(6, 0), 0.03125);
    assert_close(binomial::sign_test(7, 1), 2.0 * 9.0 / 256.0);
    assert_close(binomial::sign_test(0, 0), 1.0);
    assert_close(binomial::sign_test(4, 4), 1.0);
    assert_eq!(power::pairs_for_power(1.0, 0.05), Some(6));
    assert_eq!(power::pairs_for_power(1.0, 0.05 / 10.0), Some(9));
}

#[test]
fn pass_at_k_counts_draws_without_putting_back() {
    // Two of four passed: a draw of two misses both in one of six ways, and holds both in one of six.
    assert_close(passes::any_of(2, 4, 2).expect("k"), 5.0 / 6.0);
    assert_close(passes::all_of(2, 4, 2).expect("k"), 1.0 / 6.0);
    assert_close(passes::any_of(3, 4, 2).expect("k"), 1.0);
    assert_close(passes::all_of(0, 4, 1).expect("k"), 0.0);
    assert_eq!(passes::any_of(2, 4, 5), None, "more than were tried");
    assert_eq!(passes::any_of(5, 4, 1), None, "more passes than trials");
    assert_eq!(passes::all_of(2, 4, 0), None);
}

#[test]
fn a_measure_without_a_denominator_has_no_value() {
    let decisions = Decisions { false_negatives: 3, true_negatives: 4, ..Decisions::default() };
    assert_eq!(decisions.precision(), None, "nothing fired");
    assert_eq!(decisions.recall(), Some(0.0));
    assert_eq!(decisions.f1(), Some(0.0));
    assert_eq!(decisions.matthews(), None);
    assert_eq!(Decisions::default().f1(), None);
}

#[test]
fn corrected_p_values_are_those_worked_out_by_hand() {
    let p_values = [0.01, 0.04, 0.03, 0.005];
    let holm = Correction::Holm.adjust(&p_values);
    for (ours, expected) in holm.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert_close(ours, expected);
    }
    let shares = Correction::BenjaminiHochberg.adjust(&p_values);
    for (ours, expected) in shares.into_iter().zip([0.02, 0.04, 0.04, 0.02]) {
        assert_close(ours, expected);
    }
    assert!(Correction::Holm.adjust(&[]).is_empty());
}

#[test]
fn equal_runs_leave_a_difference_that_the_number_of_cases_bounds() {
    let same = PairedDifference::of(&[(1.0, 1.0); 20], Scale::Share).expect("pairs");
    assert_close(same.p_value, 1.0);
    // The upper end of 0 of 20.
    let unseen = 0.161_125_158_228;
    assert_eq!(same.interval.map(|interval| (interval.low - -unseen).abs() < 1e-9), Some(true));
    assert!(same.detectable(0.05) > 0.2, "no difference seen is not none there");
    let tokens = PairedDifference::of(&[(100.0, 100.0); 20], Scale::Unbounded).expect("pairs");
    assert_eq!(tokens.interval, None);
    assert_eq!(PairedDifference::of(&[], Scale::Share), None);
}

#[test]
fn the_bootstrap_repeats_to_the_bit_and_follows_its_data() {
    let parts: Vec<WeightedValue> =
        (0..30).map(|at| WeightedValue { value: f64::from(at), weight: 1.0 }).collect();
    let interval = |parts: &[WeightedValue]| bootstrap::interval(parts, 0.95, Ends::Widened, 500);
    assert_eq!(interval(&parts), interval(&parts));
    assert_ne!(interval(&parts), interval(&parts[1..]));
    assert_eq!(interval(&parts[..1]), None, "one case says nothing about others");
    assert_eq!(interval(&parts[..5]), None, "five are too few to draw from");
    assert!(interval(&parts[..6]).is_some());
    assert_eq!(interval(&[WeightedValue { value: 2.0, weight: 1.0 }; 9]), None, "nothing varies");
    assert_eq!(
        interval(&[WeightedValue { value: 0.0, weight: 0.0 }; 9]),
        None,
        "nothing was counted"
    );
}

#[test]
fn the_generator_is_splitmix64_and_draws_evenly() {
    let mut random = SplitMix::new(1_234_567);
    // The first values that the generator's authors publish for this seed.
    assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
    assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    let mut counts = [0_u32; 7];
    (0..70_000).for_each(|_| counts[random.below(7)] += 1);
    assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    assert!((0..1000).all(|_| (0.0..1.0).contains(&random.fraction())));
    let same = |values: [f64; 2]| SplitMix::for_values(values).next_u64();
    assert_eq!(same([0.0, 1.0]), same([-0.0, 1.0]));
    assert_ne!(same([0.0, 1.0]), same([1.0, 0.0]));
}

#[test]
fn quantiles_at_and_beyond_the_ends_say_so() {
    assert!(normal::quantile(0.0).is_infinite() && normal::quantile(0.0) < 0.0);
    assert!(normal::quantile(1.0).is_infinite());
    assert!(normal::quantile(1.5).is_nan() && normal::cumulative(f64::NAN).is_nan());
    assert_close(normal::quantile(0.5), 0.0);
    assert_close(normal::cumulative(50.0), 1.0);
    assert_close(normal::cumulative(-50.0), 0.0);
}

#[test]
fn a_bound_is_shown_by_the_first_number_of_trials_that_clears_it() {
    // All pass: 1 / (1 + z^2 / n) >= 0.8 from n = 4 z^2 = 15.4 on.
    assert_eq!(power::trials_for_bound(1.0, 0.8, 0.95), Some(16));
    assert_eq!(power::trials_for_bound(0.0, 0.8, 0.95), Some(1));
    assert_eq!(power::trials_for_bound(0.8, 0.8, 0.95), None, "on the bound");
    let needed = power::trials_for_bound(0.9, 0.8, 0.95).expect("a number");
    let at = |trials: u64| Rate::of_trials(trials * 9 / 10, trials).expect("trials").interval;
    let Interval { low, .. } = at(needed.div_ceil(10) * 10);
    assert!(low >= 0.8 && at(needed / 20 * 10).low < 0.8, "{needed}");
}
