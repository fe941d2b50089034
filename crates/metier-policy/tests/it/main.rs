//! What metier-policy promises, one module a subject.
//!
//! One binary; each module proves one part of the contract.

#![expect(clippy::unwrap_used, reason = "clippy allows it in tests, but not in their helpers")]
#![expect(clippy::disallowed_methods, reason = "a test waits a moment for what must not happen")]

mod asks;
mod ceilings;
mod decisions;
mod examples;
mod laws;
mod laws_of_ceilings;
mod support;
