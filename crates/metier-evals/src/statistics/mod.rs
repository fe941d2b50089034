//! The numbers behind a report: shares, intervals, tests and the data they need.
//!
//! Pure functions over counts and numbers. Nothing here knows of skills, cases of an eval or reports; `report`
//! and `compare` call it, and a program with results of its own may.
//!
//! | module | owns |
//! |---|---|
//! | `normal`, `student`, `beta`, `binomial` | distributions, and the exact sign test (McNemar's) |
//! | `rate` | a share with Wilson's interval, at the effective number of trials |
//! | `classify` | precision, recall and their relatives |
//! | `passes` | pass@k and pass^k |
//! | `random`, `bootstrap` | intervals by drawing cases anew, the same every time |
//! | `paired` | two sides over the same cases |
//! | `corrections` | many comparisons at once |
//! | `power` | how much data a finding needs |

mod beta;
pub mod binomial;
pub mod bootstrap;
mod classify;
mod corrections;
pub mod normal;
mod paired;
pub mod passes;
pub mod power;
mod random;
mod rate;
pub mod student;

pub use classify::Decisions;
pub use corrections::Correction;
pub use paired::{PairedDifference, Scale};
pub use random::SplitMix;
pub use rate::{CONFIDENCE, Interval, Rate, Tally, wilson};
