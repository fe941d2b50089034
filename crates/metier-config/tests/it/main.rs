//! What metier-config promises, one module a subject.

#![expect(clippy::unwrap_used, reason = "clippy allows it in tests, but not in their helpers")]

mod errors;
mod layers;
mod nearest;
mod properties;
mod schema;
mod support;
mod syntax;
