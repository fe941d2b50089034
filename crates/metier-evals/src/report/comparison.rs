//! Comparisons over the same cases: arms of one run, or two runs, each with what could have been seen.
//!
//! All comparisons of a report are corrected together. "No difference" never stands alone: the smallest one that
//! these cases could have shown stands beside it. `arms` and `compare` call it.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::statistics::power::ALPHA;
use crate::statistics::{Correction, PairedDifference, Scale};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// The share of trials that should load the skill and do.
    Recall,
    /// The share of trials that should not load the skill and do not.
    Specificity,
    /// The share of trials in which everything is as it should be.
    Passed,
    /// The share of trials in which all checks passed, whatever was loaded.
    Job,
    /// Tokens of a trial, sent and received.
    Tokens,
    /// Calls of the model in a trial.
    ModelCalls,
    /// Calls of tools and scripts in a trial.
    ToolCalls,
}

impl ComparedMetric {
    /// The words that are written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Specificity => "specificity",
            Self::Passed => "pass rate",
            Self::Job => "job done",
            Self::Tokens => "tokens",
            Self::ModelCalls => "model calls",
            Self::ToolCalls => "tool calls",
        }
    }

    /// Whether it is a share, of which more is better, and not a cost.
    pub const fn is_quality(self) -> bool {
        matches!(self, Self::Recall | Self::Specificity | Self::Passed | Self::Job)
    }
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonResult {
    /// Better, beyond noise.
    Better,
    /// Worse, beyond noise.
    Worse,
    /// Nothing that chance does not explain.
    NoDifference,
}

impl ComparisonResult {
    /// The words that are written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference seen",
        }
    }
}

/// Two sides over the same cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The skill whose cases these are; all cases where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// What is compared.
    pub metric: ComparedMetric,
    /// The first side: an arm, or an arm of the baseline.
    pub from: String,
    /// The second side.
    pub to: String,
    /// The difference and its test.
    #[serde(flatten)]
    pub paired: PairedDifference,
    /// The p-value, corrected for all comparisons beside it.
    pub corrected_p: f64,
    /// What it came to.
    pub result: ComparisonResult,
    /// The smallest difference that these cases show with a power of 80 %, corrected for all comparisons. Absent where
    /// they are too few to show any, and where nothing varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// How many cases would show the difference that was seen, where it is not beyond noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_needed: Option<u64>,
}

/// The value of each case on both sides.
pub(crate) type Pairs = Vec<(f64, f64)>;

/// A comparison that is still to be made: a value of each case on both sides.
pub(crate) struct Compared {
    pub(crate) skill: Option<String>,
    pub(crate) metric: ComparedMetric,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) pairs: Pairs,
}

/// Whether the same run gives the same results again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// The model's choices vary.
    Present,
    /// The same every time, so a difference on these cases is one.
    Absent,
}

/// Makes all comparisons of a report and corrects them together. Those without a case are left out.
pub(crate) fn compare_all(
    compared: Vec<Compared>,
    correction: Correction,
    noise: Noise,
) -> Vec<Comparison> {
    let made: Vec<(Compared, PairedDifference)> = compared
        .into_iter()
        .filter_map(|one| {
            let scale = if one.metric.is_quality() { Scale::Share } else { Scale::Unbounded };
            let paired = PairedDifference::of(&one.pairs, scale)?;
            Some((one, paired))
        })
        .collect();
    let p_values: Vec<f64> = made.iter().map(|(_, paired)| paired.p_value).collect();
    let corrected = correction.adjust(&p_values);
    let alpha = ALPHA / f64::from(u32::try_from(made.len()).unwrap_or(u32::MAX).max(1));
    let finish = |((one, paired), corrected_p): ((Compared, PairedDifference), f64)| {
        let result = result_of(one.metric, &paired, corrected_p, noise);
        let cases_needed = (result == ComparisonResult::NoDifference && corrected_p > ALPHA)
            .then(|| paired.cases_needed(alpha))
            .flatten();
        Comparison {
            skill: one.skill,
            metric: one.metric,
            from: one.from,
            to: one.to,
            detectable: paired.detectable_exactly(alpha).or_else(|| {
                let is_same_share = one.metric.is_quality() && paired.up + paired.down == 0;
                is_same_share.then(|| paired.detectable_share(alpha)).flatten()
            }),
            paired,
            corrected_p,
            result,
            cases_needed,
        }
    };
    made.into_iter().zip(corrected).map(finish).collect()
}

fn result_of(
    metric: ComparedMetric,
    paired: &PairedDifference,
    corrected_p: f64,
    noise: Noise,
) -> ComparisonResult {
    let difference = paired.difference;
    let is_up = match noise {
        // A case that is lost is lost, however many others are gained.
        Noise::Absent if metric.is_quality() && paired.up + paired.down > 0 => paired.down == 0,
        Noise::Absent if difference != 0.0 => difference > 0.0,
        // The test counts cases, and the difference is a mean: where one case outweighs the many, they contradict
        // each other and show nothing.
        Noise::Present if corrected_p <= ALPHA && is_of_most_cases(paired) => difference > 0.0,
        Noise::Absent | Noise::Present => return ComparisonResult::NoDifference,
    };
    if is_up == metric.is_quality() { ComparisonResult::Better } else { ComparisonResult::Worse }
}

/// Whether the mean went where most of the cases went that differ.
fn is_of_most_cases(paired: &PairedDifference) -> bool {
    match paired.up.cmp(&paired.down) {
        Ordering::Greater => paired.difference > 0.0,
        Ordering::Less => paired.difference < 0.0,
        Ordering::Equal => false,
    }
}
