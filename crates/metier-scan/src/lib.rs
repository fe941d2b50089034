//! A linter for what a skill could do to its user. It gives evidence, never a verdict: a skill without findings is
//! not safe, and nothing is allowed because a scan found nothing.
//!
//! Pure: the bytes of a skill's files in, findings out. The sharpest question is not "is this skill bad" but "what is
//! new since the version that I accepted", which [`FindingReport::new_since`] answers.
//!
//! | module | owns |
//! |---|---|
//! | `rules` | the table of patterns: what, where it counts, how severe, what to do ([`ScanRule`]) |
//! | `places` | whether a line of a file is prose, a quotation, or something that is executed |
//! | `readings` | the texts that the bytes of a file can be taken for |
//! | `scanner` | one skill, file by file ([`Scanner`], [`InspectedFile`]) |
//! | `listed_findings` | which findings of a file are listed one by one |
//! | `hidden_text` | text that a model reads and a person does not see, decoded |
//! | `encoded` | commands in base64, escapes and character codes, decoded |
//! | `runs` | runs of bytes of one kind, and what is not ASCII |
//! | `words` | which patterns can match a text at all |
//! | `split_words` | names of dangerous functions that are put together from pieces |
//! | `addresses` | addresses from which nothing should be executed |
//! | `secrets` | which keys and tokens are examples, and how one is shown |
//! | `flows` | what is dangerous only together: a secret and a way out, a request and its concealment |
//! | `report` | findings, and how much of the skill could be inspected ([`FindingReport`]) |
//! | `suppression` | findings that a person looked at and accepted ([`Suppressions`]) |
//!
//! Files on disk: none.

mod addresses;
mod encoded;
mod flows;
mod hidden_text;
mod listed_findings;
mod places;
mod readings;
mod report;
mod rules;
mod runs;
mod scanner;
mod secrets;
mod split_words;
mod suppression;
mod words;

pub use report::{Coverage, FindingReport, NotInspected, ScanFinding};
pub use rules::{FindingSeverity, SECRET_RULE, ScanRule, rule, rules};
pub use scanner::{InspectedFile, MAX_INSPECTED, Scanner, prepare};
pub use suppression::{InvalidSuppressions, Suppression, Suppressions};
