//! Subqueries that the planner does not run, as joins.
//!
//! 1. [`values`] finds them: IN and EXISTS among the outputs of a query, and those that are too
//!    hard for the planner, become scalar subqueries that count, and scalar subqueries that refer
//!    to the outer query by something else than equality, or have a LIMIT, become joins.
//! 2. [`domain`] makes such a join: it gathers the different values that the outer query hands in,
//!    pairs the subquery's tables with them, and carries them up through all its operators, so that
//!    each computes what it does for every one of them.
//! 3. [`references`] tells what a subquery refers to from subqueries within it; when those of two
//!    levels are met, the outer one becomes a join first, and the inner one then refers to that.
//! 4. [`lateral`] does the same for queries in FROM.
//! 5. [`shapes`] tells which subqueries of conditions the planner would make wrong joins of.
//!
//! # Invariants
//! 1. What is not understood stays as it was, and the planner refuses it.
//! # Source
//! T. Neumann, A. Kemper, "Unnesting Arbitrary Queries", BTW 2015. Differs: only what the planner
//! cannot do itself goes this way, and the outer query is planned twice.

mod domain;
mod lateral;
mod references;
mod shapes;
mod values;

pub(crate) use lateral::MISREAD_LATERAL;
pub(crate) use references::references;
pub(crate) use values::{MISREAD, SubqueryValues};
