//! Expressions: a graph over the columns of an operator's input, before bounds are known.
//!
//! Equal nodes are one node, so that what two expressions have in common is computed once. Types
//! are physical classes ([`crate::value::ValueClass`]); whole numbers have no width here, only the
//! limit of their SQL type, beyond which a result is an error.
//!
//! # Invariants
//! 1. A node's inputs come before it.

mod foreign;
mod graph;
mod year;

pub use foreign::{CallRoom, ForeignCall, ForeignFunction, ForeignKernel};
pub use graph::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
pub(crate) use year::year_of;
