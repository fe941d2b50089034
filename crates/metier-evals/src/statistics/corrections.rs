//! Many comparisons at once: p-values corrected so that chance findings stay rare.
//!
//! Twenty comparisons at 5 % show one difference that is not there. Holm keeps the chance of any such finding
//! below the level; Benjamini and Hochberg keep their share among the findings below it.

use serde::{Deserialize, Serialize};

use super::binomial::as_f64;

/// Which errors are kept rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Any false finding at all.
    #[default]
    Holm,
    /// The share of false findings among the findings.
    BenjaminiHochberg,
}

impl Correction {
    /// The corrected p-values, in the order given; each is compared with the level itself.
    pub fn adjust(self, p_values: &[f64]) -> Vec<f64> {
        let count = p_values.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
        let mut adjusted = vec![1.0; count];
        let mut bound: f64 = match self {
            Self::Holm => 0.0,
            Self::BenjaminiHochberg => 1.0,
        };
        match self {
            // From the smallest up: never less than the one before.
            Self::Holm => {
                for (rank, at) in order.into_iter().enumerate() {
                    let factor = as_f64((count - rank) as u64);
                    bound = bound.max((factor * p_values[at]).min(1.0));
                    adjusted[at] = bound;
                }
            }
            // From the largest down: never more than the one after.
            Self::BenjaminiHochberg => {
                for (rank, at) in order.into_iter().enumerate().rev() {
                    let factor = as_f64(count as u64) / as_f64(rank as u64 + 1);
                    bound = bound.min(factor * p_values[at]);
                    adjusted[at] = bound;
                }
            }
        }
        adjusted
    }
}
