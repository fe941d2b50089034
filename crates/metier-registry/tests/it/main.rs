//! Finding skills, tested on real trees: bad input, determinism, the cache, the watcher, and how
//! much of each file is read.

mod bad_input;
mod cache;
mod churn;
mod corpus;
mod identity;
mod support;
mod watching;
