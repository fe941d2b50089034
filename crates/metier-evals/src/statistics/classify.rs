//! What yes-or-no decisions come to: precision, recall and their relatives, from the four counts.
//!
//! A measure whose denominator is zero has no value, rather than a 0 or a 1 that would be read as a result.

use serde::{Deserialize, Serialize};

use super::binomial::as_f64;

/// How often a decision was right and wrong, by what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decisions {
    /// Expected, and it happened.
    pub true_positives: u64,
    /// Not expected, and it happened.
    pub false_positives: u64,
    /// Expected, and it did not happen.
    pub false_negatives: u64,
    /// Not expected, and it did not happen.
    pub true_negatives: u64,
}

impl Decisions {
    /// The share of what happened that was expected.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of what was expected that happened.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The share of what was not expected that did not happen.
    pub fn specificity(&self) -> Option<f64> {
        share(self.true_negatives, self.true_negatives + self.false_positives)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let wrong = self.false_positives + self.false_negatives;
        share(2 * self.true_positives, 2 * self.true_positives + wrong)
    }

    /// The mean of recall and specificity.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some(f64::midpoint(self.recall()?, self.specificity()?))
    }

    /// Matthews' correlation between what was expected and what happened.
    pub fn matthews(&self) -> Option<f64> {
        let [tp, fp, fneg, tn] =
            [self.true_positives, self.false_positives, self.false_negatives, self.true_negatives]
                .map(as_f64);
        let product = (tp + fp) * (tp + fneg) * (tn + fp) * (tn + fneg);
        (product > 0.0).then(|| (tp * tn - fp * fneg) / product.sqrt())
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| as_f64(part) / as_f64(whole))
}
