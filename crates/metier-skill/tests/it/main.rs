//! What a skill is, tested from outside: the corpus of real skills, the reference validator's
//! recorded verdicts, and laws that hold for any bytes.

mod corpus;
mod laws;
mod oracle;
