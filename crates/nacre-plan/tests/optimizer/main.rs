//! The optimizer: shapes of plans, rules one by one, soundness on random queries, limits.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod catalog;
mod dependent_columns;
mod evaluator;
mod limits;
mod many_joins;
mod printer;
mod random_queries;
mod row_estimates;
mod rules;
mod shapes;
mod soundness;
mod subqueries;
mod tpch;
