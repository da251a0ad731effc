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
    let mut document =
        document.map_err(|error| Error::Deviation(format!("EXPLAIN answered {error}")))?;
    Ok(document[0].take())
}
