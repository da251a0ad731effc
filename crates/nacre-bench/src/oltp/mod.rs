//! Transaction workloads through the Rust API: TPC-C and TATP.
//!
//! [`work`] is what their transactions ask for: it is a transaction of the engine, or one without
//! concurrency control, which the first is compared with. [`run`] has one thread run a mix, one
//! transaction after the other; [`interleave`] has it run several at once, a step of each in turn.
//!
//! # Invariants
//! 1. Both sides run the same code on the same inputs.

pub(crate) mod interleave;
pub(crate) mod table;
pub(crate) mod tatp;
pub(crate) mod tpcc;
pub(crate) mod work;
