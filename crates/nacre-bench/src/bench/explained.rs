//! EXPLAIN of a query, as the document that it answers.

use serde_json::Value;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::workload::Cell;

/// Returns what `EXPLAIN (options, FORMAT JSON)` answers for a query.
///
/// # Errors
/// Those of the statement; [`Error::Deviation`] if its answer is no document.
pub(super) async fn explained(nacre: &Engine, options: &str, sql: &str) -> Result<Value> {
    let answer = nacre.query(&format!("EXPLAIN ({options}, FORMAT JSON) {sql}")).await?;
    let text = match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => text.as_str(),
        _ => "",
    };
    let document = serde_json::from_str::<Value>(text);
    let mut document = document.map_err(|error| unexpected("a query", error))?;
    Ok(document.get_mut(0).map(Value::take).unwrap_or_default())
}

/// Runs a query for EXPLAIN ANALYZE and returns the outermost operator of its plan.
///
/// # Errors
/// As [`explained`].
pub(super) async fn explained_plan(nacre: &Engine, sql: &str) -> Result<Value> {
    let mut document = explained(nacre, "ANALYZE", sql).await?;
    Ok(document.get_mut("Plan").map(Value::take).unwrap_or_default())
}

/// The error for a plan of the query `name` that lacks something.
pub(super) fn unexpected(name: &str, what: impl std::fmt::Display) -> Error {
    Error::Deviation(format!("EXPLAIN of {name} answered {what}"))
}

/// Returns the operators that an operator takes rows from.
pub(super) fn plan_inputs(node: &Value) -> &[Value] {
    node["Plans"].as_array().map_or(&[][..], Vec::as_slice)
}
