//! The helper on Linux: one file a step, and the order of the steps in `steps`.
//!
//! Everything here runs in a process of its own that has one thread and nothing of ours in memory
//! but the policy. A step that fails ends the helper; nothing is run then.

mod attempts;
mod bpf;
mod calls;
mod changes;
mod descriptors;
mod filter;
mod listener;
mod memory;
mod mounts;
mod namespaces;
mod privileges;
mod processes;
mod resources;
mod rules;
mod steps;
mod supervisor;

pub(crate) use processes::{Descendants, signal_all};
pub(crate) use rules::landlock_abi;
pub(crate) use steps::helper_main;
