//! Functions, operators and aggregates: which there are, and which one a call means.
//!
//! 1. [`catalog`] has the signatures of all functions and operators of PostgreSQL 15 as data.
//! 2. [`coercion`] says from which type a value may go to which other one, and where.
//! 3. [`resolution`] chooses the function or operator that a call means by PostgreSQL's rules.
//! 4. [`kernels`] computes calls of functions and operators on SQL values, [`aggregates`] folds
//!    those of the rows of a group.
//!
//! # Invariants
//! 1. A call means what it means in PostgreSQL, also if Nacre cannot run it: all signatures take
//!    part in the choice, so that nothing is ambiguous or found here alone.
//! 2. Knows nothing of tables, plans and text.
//! # Source
//! PostgreSQL 15 documentation, chapter 10 (type conversion).
//! # See
//! `tests/postgres.rs` compares catalogs and choices with a server's.
#![forbid(unsafe_code)]

pub mod aggregates;
pub mod catalog;
pub mod coercion;
pub mod kernels;
pub mod resolution;
