//! Which function or operator a call means.
//!
//! 1. Candidates have the name, and as many parameters as there are arguments, or can have by
//!    `VARIADIC` and defaults.
//! 2. One whose parameters have the arguments' types is taken.
//! 3. Otherwise those that arguments can go to implicitly are narrowed down by [`best_candidate`].
//!
//! # Source
//! PostgreSQL 15 documentation, 10.2 (operators) and 10.3 (functions).

mod best_candidate;
mod function_call;
mod operator_call;
mod row_columns;

pub use function_call::{CallSignature, FunctionCallError, ResolvedFunction, resolve_function};
pub use operator_call::{OperatorCallError, ResolvedOperator, resolve_operator};
pub use row_columns::{RowColumn, row_columns};
