//! The loop without disk, process or network, and its record on disk.
//! One module for each thing that a run promises.

mod behaviour;
mod budgets;
mod context;
mod fakes;
mod inner;
mod many;
mod record;
mod resume;
