//! What a run must reach and how its comparisons are corrected, as it is typed.
//! The commands that judge a run share it.

use clap::{Args, ValueEnum};
use metier_evals::report::{Gates, ReportOptions};
use metier_evals::statistics::Correction;

use crate::error::Result;

/// How a run is judged.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ScoringArgs {
    /// What the run must reach: recall, precision, `pass_rate` or errors, such as `recall=0.9`, or `model=real`
    /// (may be repeated).
    #[arg(long = "gate", value_name = "KEY=VALUE")]
    gates: Vec<String>,
    #[command(flatten)]
    correction: CorrectionArgs,
}

/// How comparisons are corrected.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CorrectionArgs {
    /// How many comparisons at once are corrected: `holm` keeps any false finding rare, `bh` (Benjamini and Hochberg)
    /// the share of false findings; `holm` otherwise.
    #[arg(long, value_name = "METHOD")]
    correction: Option<CorrectionName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CorrectionName {
    Holm,
    Bh,
}

/// How a run is judged. What was not typed is nothing, so that a saved report keeps its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scoring {
    pub(super) gates: Option<Gates>,
    pub(super) correction: Option<Correction>,
}

impl ScoringArgs {
    pub(super) fn scoring(&self) -> Result<Scoring> {
        let typed = self.gates.iter().try_fold(Gates::default(), |gates, text| gates.with(text))?;
        let gates = (!self.gates.is_empty()).then_some(typed);
        Ok(Scoring { gates, correction: self.correction.typed() })
    }
}

impl CorrectionArgs {
    pub(super) fn typed(&self) -> Option<Correction> {
        self.correction.map(|name| match name {
            CorrectionName::Holm => Correction::Holm,
            CorrectionName::Bh => Correction::BenjaminiHochberg,
        })
    }
}

impl Scoring {
    pub(super) fn options(self) -> ReportOptions {
        ReportOptions {
            gates: self.gates.unwrap_or_default(),
            correction: self.correction.unwrap_or_default(),
        }
    }
}
