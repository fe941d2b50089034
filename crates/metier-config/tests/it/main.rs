//! What metier-config promises, one module a subject.
//!
//! One binary; each module proves one part of the contract.

#![expect(clippy::unwrap_used, reason = "clippy allows it in tests, but not in their helpers")]

mod edit;
mod errors;
mod layers;
mod properties;
mod rules;
mod schema;
mod support;
mod syntax;
