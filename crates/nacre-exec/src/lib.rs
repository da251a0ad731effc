//! Execution of physical plans: scans, sub-operators, operators and the workers that run them.
//!
//! A [`plan::PhysicalPlan`] over tables is prepared at each execution ([`stages`]): chunks that
//! cannot match are dropped, the bounds of what is left decide the width of every whole number, and
//! the plan becomes a list of pipelines of sub-operators over vectors. The workers of a
//! [`dispatch::WorkerPool`] run these, a morsel at a time.
//!
//! # Invariants
//! 1. It knows nothing of SQL text or of Arrow; strings are bytes. Types, operators and functions
//!    of SQL are known in [`lower`] alone, which makes physical plans of bound queries.
//! 2. Nothing here is async and nothing starts a thread but a [`dispatch::WorkerPool`].
//! 3. A block's bytes are checked before any sub-operator sees values of them ([`scan`]).
//! 4. Arithmetic never wraps unnoticed: bounds prove that it cannot overflow, or each row that
//!    reaches it is checked.
//! 5. A failed query, also one that panics, ends alone.
//!
//! # Source
//! [Muehlbauer16 section 6.4] morsel-driven pipelines; [Muehlbauer16 chapter 7] vectorized scans
//! below them.

#![deny(unsafe_code)]

pub mod control;
pub mod counters;
pub mod dispatch;
mod error;
pub mod expression;
mod group;
mod interpret;
mod join;
pub mod lower;
pub mod memory;
mod pipeline;
pub mod plan;
mod result;
mod rows;
mod scan;
mod sort;
pub mod spill;
mod stages;
pub mod value;
pub mod vector;
mod window;

pub use error::{ExecError, ExecErrorKind, ExecResult};
pub use scan::{ScanPredicate, StringPredicate};
