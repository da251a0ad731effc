//! Keeping replicas as the policies say: repair, conversion, scrubbing.
//!
//! [`needs`] compares a load with the policies, [`rebuild`] writes what is missing into fresh parts
//! and publishes them by one record, [`upkeep`] goes through the loads, [`scrub`] verifies every
//! byte, [`forget`] lets go of a domain, [`report`] is what they answer.

#[cfg(test)]
mod crash_tests;
mod forget;
mod needs;
mod rebuild;
mod report;
mod scrub;
mod upkeep;

pub use report::{LostReplica, Progress, RepairReport, ScrubReport};
