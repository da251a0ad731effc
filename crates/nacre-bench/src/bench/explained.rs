//! What `EXPLAIN (ANALYZE, FORMAT JSON)` says of a query.

use serde_json::Value;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::workload::Cell;

/// Runs a query for EXPLAIN ANALYZE and returns the outermost operator of its plan; `name` is the
/// query's in errors.
///
/// # Errors
/// Those of the query; [`Error::Deviation`] if the answer is no plan.
pub(super) async fn explained_plan(nacre: &Engine, name: &str, sql: &str) -> Result<Value> {
    let answer = nacre.query(&format!("EXPLAIN (ANALYZE, FORMAT JSON) {sql}")).await?;
    let text = match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => text.as_str(),
        _ => "",
    };
    let mut plans: Value = serde_json::from_str(text).map_err(|error| unexpected(name, error))?;
    Ok(plans.pointer_mut("/0/Plan").map(Value::take).unwrap_or_default())
}

/// The error for a plan that lacks something.
pub(super) fn unexpected(name: &str, what: impl std::fmt::Display) -> Error {
    Error::Deviation(format!("EXPLAIN of {name} answered {what}"))
}

/// Returns the operators that an operator takes rows from.
pub(super) fn plan_inputs(node: &Value) -> &[Value] {
    node["Plans"].as_array().map_or(&[][..], Vec::as_slice)
}
