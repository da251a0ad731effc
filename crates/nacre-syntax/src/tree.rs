//! What a text says: one [`Statement`], typed down to its expressions.
//!
//! Names are folded and literals decoded, but nothing is looked up. Each node has the range of its
//! text, parentheses around it excluded.
//!
//! # Invariants
//! 1. Chains of operators, joins and set operations are lists: the height of a tree is bounded by
//!    the parser, also for long texts, so that passes and `Drop` may recurse.
//! 2. What the grammar knows and the tree does not is [`Statement::Other`], never left out.

mod definitions;
mod expressions;
mod functions;
mod modifications;
mod names;
mod queries;
mod sessions;
mod statements;
mod tables;
mod type_names;

pub use definitions::*;
pub use expressions::*;
pub use functions::*;
pub use modifications::*;
pub use names::*;
pub use queries::*;
pub use sessions::*;
pub use statements::*;
pub use tables::*;
pub use type_names::*;
