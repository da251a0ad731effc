//! Prepared statements: text with parameters `$1`, `$2` and so on, that is parsed once.
//!
//! 1. [`parameters`] counts them, [`infer`] finds the type of each one that was not declared, from
//!    what it is compared with or assigned to; [`expressions`] knows the types of these. A
//!    parameter may have types that no column has ([`types`]).
//! 2. A short statement takes the values as they are ([`crate::short`]); in any other one
//!    [`substitute`] puts them in as constants of their types.
//!    A query that Nacre's own engine takes has the types that are inferred there, and values as
//!    constants of these.
//! 3. [`command`] runs PREPARE, EXECUTE and DEALLOCATE.

mod command;
mod expressions;
mod infer;
mod parameters;
mod statement;
mod substitute;
mod types;

pub(crate) use command::{Command, PreparedStatements};
pub(crate) use statement::EngineDecision;
pub use statement::Statement;
pub use types::{ParameterType, value_text};
pub(crate) use types::{numeric, numeric_type, uuid};
