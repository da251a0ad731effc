//! EXPLAIN of statements that change rows: the plan of the query for their rows, below a line that
//! says what is done with them.
//!
//! EXPLAIN alone changes nothing. With ANALYZE the query runs to be measured, and then the
//! statement runs, as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{ExplainStatement, Statement as ParsedStatement};
use futures::{StreamExt, stream};
use nacre_ingest::Progress;
use nacre_store::Store;

use super::cell::missing;
use super::change::{Change, Source};
use super::source::target;
use super::statement::{change_of, writes};
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Turn;

/// Tells whether an EXPLAIN is of a statement that changes rows.
pub(crate) fn explains(explain: &ExplainStatement) -> bool {
    match explain.statement.as_ref() {
        ParsedStatement::Statement(inner) => writes(inner).is_some(),
        _ => false,
    }
}

/// Runs EXPLAIN of a statement that changes rows.
///
/// # Errors
/// Those of planning it and, with ANALYZE, of running it.
pub(crate) async fn explain(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    statement: ExplainStatement,
    progress: Arc<Progress>,
) -> Result<SendableRecordBatchStream> {
    let ExplainStatement { options, statement } = statement;
    let ParsedStatement::Statement(inner) = *statement else {
        return Err(missing());
    };
    let change = change_of(store, *inner)?;
    change.require(planner)?;
    let moment = turn.moment(true)?;
    let mut lines = Vec::new();
    if let Some(query) = change.query() {
        let statement = Box::new(query.clone());
        let query =
            ParsedStatement::Explain(ExplainStatement { options: options.clone(), statement });
        let tables = target(&change.table, &moment);
        let mut plan = planner.start(&moment, tables, query).await?;
        while let Some(batch) = plan.next().await {
            let batch = batch?;
            let texts = batch.column(0).as_string_view();
            lines.extend(texts.iter().flatten().map(|line| format!("  {line}")));
        }
    }
    let mut head = head(&change);
    if options.analyze {
        turn.log(&moment)?;
        let answer = change.run(planner, turn, progress).await?;
        let rows = answer.tag.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
        if let Some(rows) = rows {
            head.push_str(&format!(" (actual rows={rows})"));
        }
    }
    let field = Field::new("QUERY PLAN", DataType::Utf8View, false);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let array = StringViewArray::from_iter_values(std::iter::once(head).chain(lines));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let rows = stream::iter([batch.map_err(DataFusionError::from)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

fn head(change: &Change) -> String {
    let verb = match change.verb {
        "INSERT" => "Insert",
        "UPDATE" => "Update",
        "DELETE" => "Delete",
        "MERGE" => "Merge",
        _ => "Truncate",
    };
    let rows = match &change.source {
        Source::Values { lists, .. } => format!(", rows={}", lists.len()),
        _ => String::new(),
    };
    format!("{verb} on {}{rows}", change.table.schema().name)
}

impl Change {
    /// Returns the query for the rows, if there is one.
    fn query(&self) -> Option<&ParsedStatement> {
        match &self.source {
            Source::Values { query, .. } => query.as_ref(),
            Source::Query { query, .. }
            | Source::Found { query, .. }
            | Source::Whole { query, .. }
            | Source::Merged { query, .. } => Some(query),
        }
    }
}
