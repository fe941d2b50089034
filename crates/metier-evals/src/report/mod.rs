//! What a run came to, as a value and in every form that it is read in.
//!
//! ```text
//! TrialResult, one after the other --builder--> EvalReport --text, markdown, junit, github, html--> text
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `eval_report` | the report as a value; as JSON it is what is saved |
//! | `builder`, `tally` | the fold over the results, in memory for the cases |
//! | `triggers`, `arms`, `comparison` | the parts: skills, arms, arms side by side |
//! | `verdict` | gates, the verdict and its reasons |
//! | `words` | the sentences that several forms share |
//! | `text`, `markdown`, `junit`, `github`, `html` | a form each |

mod arms;
mod builder;
pub(crate) mod comparison;
mod eval_report;
mod github;
mod html;
mod junit;
pub(crate) mod markdown;
mod tally;
pub(crate) mod text;
mod triggers;
mod verdict;
mod words;

pub use builder::{ReportBuilder, ReportOptions};
pub use comparison::{ComparedMetric, Comparison, ComparisonResult};
pub use eval_report::{
    ArmCost, ArmScore, ArmTime, CaseArm, CaseCost, CaseOutcome, CaseScore, CaseTrigger,
    CheckFailure, ConfusionCell, Estimate, EvalReport, PassAt, REPORT_FORMAT, SkillScore,
    UnitCounts,
};
pub use github::github_annotations;
pub use html::{HtmlPage, page_with_baseline};
pub use junit::junit;
pub use markdown::markdown;
pub(crate) use tally::called;
pub use text::plain_text;
pub(crate) use verdict::counted;
pub use verdict::{EvalVerdict, Gates, ReasonCode, RequiredModel, VerdictReason, VerdictReport};
