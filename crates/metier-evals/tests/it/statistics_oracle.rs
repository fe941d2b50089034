//! Our statistics against scipy, statsmodels and deltagate, on the random inputs of `statistics_oracle.py`:
//! closed forms to 1e-9, the bootstrap to its Monte Carlo error.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use metier_evals::statistics::bootstrap::{self, Ends, WeightedValue};
use metier_evals::statistics::{
    Correction, Decisions, PairedDifference, Rate, Scale, Tally, binomial, normal, passes, power,
    student,
};
use serde_json::Value;

/// `.ci/run` installs the packages here; a developer names another Python by `METIER_STATISTICS_PYTHON`.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("METIER_STATISTICS_PYTHON").map(PathBuf::from);
    let usual =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/statistics/bin/python");
    let found = named.into_iter().chain([usual]).find(|path| path.exists());
    if found.is_none() {
        metier_testkit::not_tested_without(
            "scipy",
            "scipy, statsmodels and deltagate are missing; .ci/run installs them under target/tools",
        );
    }
    found
}

/// The rows of one table of the oracle, which runs once; none where it is not installed.
fn rows(table: &str) -> &'static [Value] {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| {
        let Some(python) = python() else { return Value::Null };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statistics_oracle.py");
        let output = Command::new(python).arg(script).output().expect("Python starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the oracle failed: {errors}");
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    });
    let rows = document[table].as_array().map_or(&[][..], Vec::as_slice);
    assert!(document.is_null() || rows.len() > 10, "the oracle has rows for {table}");
    rows
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

/// Absolutely below one, relatively above.
#[track_caller]
fn assert_close(ours: f64, theirs: &Value, row: &Value) {
    assert_within(ours, theirs, 1e-9, row);
}

#[track_caller]
fn assert_within(ours: f64, theirs: &Value, tolerance: f64, row: &Value) {
    let theirs = number(theirs);
    let allowed = tolerance * theirs.abs().max(1.0);
    assert!((ours - theirs).abs() <= allowed, "{ours} is not {theirs} for {row}");
}

#[test]
fn the_normal_distribution_is_that_of_scipy() {
    for row in rows("normal") {
        let ours = normal::cumulative(number(&row[0]));
        assert_close(ours, &row[1], row);
        let relative = (ours / number(&row[1]) - 1.0).abs();
        assert!(relative < 1e-11, "far out too, {ours} for {row}");
    }
    for row in rows("normal_quantile") {
        assert_within(normal::quantile(number(&row[0])), &row[1], 1e-12, row);
    }
}

#[test]
fn students_quantiles_are_those_of_scipy() {
    for row in rows("student") {
        assert_close(student::quantile(number(&row[0]), number(&row[1])), &row[2], row);
    }
}

#[test]
fn binomial_tails_are_those_of_scipy() {
    for row in rows("binomial") {
        let (successes, trials, p) = (count(&row[0]), count(&row[1]), number(&row[2]));
        assert_close(binomial::at_most(successes, trials, p), &row[3], row);
        assert_close(binomial::at_least(successes, trials, p), &row[4], row);
    }
}

#[test]
fn the_sign_test_is_that_of_scipy_and_mcnemars_that_of_statsmodels_and_deltagate() {
    for row in rows("sign") {
        let ours = binomial::sign_test(count(&row[0]), count(&row[1]));
        for theirs in [&row[2], &row[3], &row[4]] {
            assert_close(ours, theirs, row);
        }
    }
}

#[test]
fn wilsons_interval_is_that_of_statsmodels() {
    for row in rows("wilson") {
        let ours = Rate::of_trials(count(&row[0]), count(&row[1])).expect("trials");
        assert_close(ours.interval.low, &row[2], row);
        assert_close(ours.interval.high, &row[3], row);
    }
}

#[test]
fn a_rate_over_cases_has_the_design_effect_of_deltagate() {
    for row in rows("clustered") {
        let cases: Vec<Tally> = row[0]
            .as_array()
            .expect("cases")
            .iter()
            .map(|case| Tally { successes: count(&case[0]), trials: count(&case[1]) })
            .collect();
        let ours = Rate::of_cases(&cases).expect("trials");
        assert_close(ours.effective_trials, &row[1], row);
        assert_close(ours.interval.low, &row[2], row);
        assert_close(ours.interval.high, &row[3], row);
        // One more failure never raises an end, for which the interval may be wider than at that design effect.
        assert!(ours.interval.low <= number(&row[4]) + 1e-9, "{ours:?} for {row}");
        assert!(ours.interval.high >= number(&row[5]) - 1e-9, "{ours:?} for {row}");
    }
}

#[test]
fn pass_at_k_and_pass_to_the_k_are_the_exact_fractions() {
    for row in rows("passes") {
        let (passed, trials, k) = (count(&row[0]), count(&row[1]), count(&row[2]));
        assert_close(passes::any_of(passed, trials, k).expect("k up to n"), &row[3], row);
        assert_close(passes::all_of(passed, trials, k).expect("k up to n"), &row[4], row);
    }
}

#[test]
fn precision_recall_and_their_relatives_are_those_of_the_vectors() {
    for row in rows("classify") {
        let decisions = Decisions {
            true_positives: count(&row[0]),
            false_positives: count(&row[1]),
            false_negatives: count(&row[2]),
            true_negatives: count(&row[3]),
        };
        let ours = [
            decisions.precision(),
            decisions.recall(),
            decisions.specificity(),
            decisions.f1(),
            decisions.balanced_accuracy(),
            decisions.matthews(),
        ];
        for (at, ours) in ours.into_iter().enumerate() {
            assert_close(ours.expect("no count is zero"), &row[4 + at], row);
        }
    }
}

#[test]
fn holm_and_benjamini_hochberg_are_those_of_statsmodels_and_deltagate() {
    for row in rows("corrections") {
        let numbers = |value: &Value| {
            value.as_array().expect("numbers").iter().map(number).collect::<Vec<_>>()
        };
        for (correction, theirs) in
            [(Correction::Holm, &row[1]), (Correction::BenjaminiHochberg, &row[2])]
        {
            let ours = correction.adjust(&numbers(&row[0]));
            for (at, ours) in ours.into_iter().enumerate() {
                assert_close(ours, &theirs[at], row);
            }
        }
    }
}

#[test]
fn paired_differences_and_their_power_are_those_of_deltagate() {
    for row in rows("paired") {
        let pairs: Vec<(f64, f64)> = row["pairs"]
            .as_array()
            .expect("pairs")
            .iter()
            .map(|pair| (number(&pair[0]), number(&pair[1])))
            .collect();
        let ours = PairedDifference::of(&pairs, Scale::Share).expect("pairs");
        #[expect(clippy::cast_precision_loss, reason = "some dozens")]
        let error = ours.deviation / (pairs.len() as f64).sqrt();
        assert_close(ours.difference, &row["difference"], row);
        assert_close(error, &row["error"], row);
        assert_close(ours.p_value, &row["p_value"], row);
        assert_close(ours.detectable(0.05), &row["detectable"], row);
        // deltagate's normal quantile is good to 1e-9 itself, and it searches.
        assert_within(ours.detectable(0.05), &row["detectable_gate"], 1e-8, row);
    }
}

#[test]
fn the_bootstrap_is_that_of_scipy_within_its_monte_carlo_error() {
    for row in rows("bootstrap") {
        let parts: Vec<WeightedValue> = row["parts"]
            .as_array()
            .expect("parts")
            .iter()
            .map(|part| WeightedValue { value: number(&part[0]), weight: number(&part[1]) })
            .collect();
        for (ends, method) in [(Ends::Percentile, "percentile"), (Ends::BiasCorrected, "BCa")] {
            let ours = bootstrap::interval(&parts, 0.95, ends, 20_000).expect("an interval");
            // An end at 2.5 % of 20,000 resamples repeats to 0.019 standard errors, the difference of two such ends
            // to 0.027; BCa's bias adds about as much again.
            let allowed = 0.12 * number(&row["error"]);
            for (ours, theirs) in [(ours.low, &row[method][0]), (ours.high, &row[method][1])] {
                let off = (ours - number(theirs)).abs();
                assert!(
                    off < allowed,
                    "{method}: {ours} and {theirs} differ by {off} of {allowed}"
                );
            }
        }
    }
}

#[test]
fn the_pairs_that_the_sign_test_needs_are_those_of_a_full_search() {
    for row in rows("power") {
        let (win_rate, alpha) = (number(&row[0]), number(&row[1]));
        assert_eq!(power::pairs_for_power(win_rate, alpha), Some(count(&row[2])), "{row}");
        assert_close(power::sign_test_power(40, win_rate, alpha), &row[3], row);
    }
}
