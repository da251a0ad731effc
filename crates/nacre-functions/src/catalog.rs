//! PostgreSQL 15's functions and operators as data.
//!
//! `catalog/pg_proc.tsv` and `catalog/pg_operator.tsv` are PostgreSQL's own catalogs, without
//! functions whose parameters SQL cannot write, such as `internal`. They are parsed at first use.

mod function_entry;
mod information_functions;
mod operator_entry;

pub use function_entry::{
    AggregateKind, FunctionEntry, FunctionKind, FunctionVolatility, all_functions, find_function,
    functions_named,
};
pub use information_functions::is_information_function;
pub use operator_entry::{OperatorEntry, all_operators, find_operator, operators_named};
