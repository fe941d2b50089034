//! The closing table.
use super::arm::Arm;
use super::kept::Kept;
use super::requests::TaskRequest;
pub(crate) fn of(_arms: &[Arm], _requests: &[TaskRequest], _kept: &Kept) -> String { String::new() }
