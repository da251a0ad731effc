//! From a tree of syntax to typed relational algebra.
//!
//! 1. [`definition`] says which relations there are; whoever opens a database answers for them.
//! 2. [`binder`] resolves names, functions, operators and types by PostgreSQL's rules.
//! 3. [`algebra`] is the result: operators over columns with identities, expressions with types.
//! 4. [`folding`] computes constants and leaves out what they decide.
//! 5. [`optimizer`] turns a plan with joins into a cheaper one of the same rows.
//! 6. [`control`] ends any of them early.
//!
//! # Invariants
//! 1. What PostgreSQL refuses is refused with its SQLSTATE, words and position.
//! 2. What is not there yet is refused with 0A000, and nothing of it is ignored.
//! 3. Knows nothing of storage and of how a plan is run.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod binder;
pub mod control;
pub mod definition;
mod error;
mod folding;
pub mod optimizer;
mod parameters;
mod properties;

pub use error::BindError;
