//! The loop without disk, process or network, and its record on disk.
//! One module for each thing that a run promises.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "a test says what it relies on, and models in it are slow; its JSON is made where it is handed over"
)]

mod asking;
mod behaviour;
mod budgets;
mod context;
mod fakes;
mod foreign;
mod inner;
mod lifting;
mod many;
mod prompts;
mod record;
mod resume;
mod scripts;
mod small_models;
