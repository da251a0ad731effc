//! EXPLAIN of statements that change rows: the plan of the query for their rows, below a line that
//! says what is done with them.
//!
//! EXPLAIN alone changes nothing. With ANALYZE the query runs to be measured, and then the
//! statement runs, as in PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{AsArray, RecordBatch, StringViewArray};
use datafusion::common::DataFusionError;
use datafusion::common::format::ExplainStatementOptions;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{ExplainStatement, Statement as ParsedStatement};
use datafusion::sql::sqlparser::ast::Statement;
use futures::{StreamExt, stream};
use nacre_ingest::Progress;
use nacre_store::Store;

use super::cell::missing;
use super::change::{Change, Source};
use super::source::target;
use super::statement::{change_of, writes};
use crate::engine::{EnginePool, ExplainedChange, GivenStatement};
use crate::error::Result;
use crate::explain::{self, Form, Measured, Node};
use crate::planner::Planner;
use crate::transaction::{Moment, Turn};

/// Tells whether an EXPLAIN is of a statement that changes rows.
pub(crate) fn explains(explain: &ExplainStatement) -> bool {
    match explain.statement.as_ref() {
        ParsedStatement::Statement(inner) => {
            // That is refused: it has no query.
            writes(inner).is_some() || matches!(**inner, Statement::Truncate(_))
        }
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
    given: GivenStatement<'_>,
    pool: &Arc<EnginePool>,
    progress: Arc<Progress>,
) -> Result<SendableRecordBatchStream> {
    let form = explain::form(&ParsedStatement::Explain(statement.clone()));
    let ExplainStatement { options, statement } = statement;
    let ParsedStatement::Statement(inner) = *statement else {
        return Err(missing());
    };
    let change = change_of(store, *inner)?.offered(given, pool);
    change.require(planner)?;
    let moment = turn.moment(true)?;
    if let Some((offered, is_whole)) = change.source.offered(&change.schema)
        && let Some(measured) = offered.measure(planner, &moment, is_whole).await?
    {
        let (verb, schema) = (verb(&change), Arc::clone(&change.schema));
        let begun = Instant::now();
        let rows = match options.analyze {
            true => run(change, planner, turn, &moment, progress).await?,
            false => None,
        };
        let done = rows.map(|rows| (rows, begun.elapsed()));
        return measured.answer(ExplainedChange { verb, table: &schema.name, done });
    }
    if let Some(Form::Document { format, .. }) = form {
        let mut measured = Measured { planning: Duration::ZERO, steps: None, execution: None };
        let mut query = None;
        if let Some(inner) = change.query() {
            let tables = target(&change.table, &moment)?;
            let plan = planner.measure(&moment, tables, inner.clone(), options.analyze).await?;
            (query, measured) = (Some(plan.0), plan.1);
        }
        let (verb, table) = (verb(&change), change.table.schema().name.clone());
        let begun = Instant::now();
        let rows = match options.analyze {
            true => run(change, planner, turn, &moment, progress).await?,
            false => None,
        };
        if options.analyze {
            measured.execution = Some(measured.execution.unwrap_or_default() + begun.elapsed());
        }
        let node = Node::changing(verb, &table, query, rows);
        return explain::answer(format, node, measured.if_run(), explain::DATAFUSION_ENGINE);
    }
    let lines = query_lines(&change, planner, &moment, &options).await?;
    let mut head = head(&change);
    if options.analyze
        && let Some(rows) = run(change, planner, turn, &moment, progress).await?
    {
        head.push_str(&format!(" (actual rows={rows})"));
    }
    let schema = explain::schema(Form::Lines { is_verbose: options.verbose });
    let array = StringViewArray::from_iter_values(std::iter::once(head).chain(lines));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(array)]);
    let rows = stream::iter([batch.map_err(DataFusionError::from)]);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// Explains the query for the rows in DataFusion.
async fn query_lines(
    change: &Change,
    planner: &Planner,
    moment: &Arc<Moment>,
    options: &ExplainStatementOptions,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let Some(query) = change.query() else { return Ok(lines) };
    let (options, statement) = (options.clone(), Box::new(query.clone()));
    let query = ParsedStatement::Explain(ExplainStatement { options, statement });
    let mut plan = planner.start(moment, target(&change.table, moment)?, query).await?;
    while let Some(batch) = plan.next().await {
        let batch = batch?;
        let texts = batch.column(0).as_string_view();
        lines.extend(texts.iter().flatten().map(|line| format!("  {line}")));
    }
    Ok(lines)
}

/// Runs the statement and returns the number of rows that it changed.
async fn run(
    change: Change,
    planner: &Planner,
    turn: &mut Turn,
    moment: &Arc<Moment>,
    progress: Arc<Progress>,
) -> Result<Option<u64>> {
    turn.log(moment)?;
    let answer = change.run(planner, turn, progress).await?;
    Ok(answer.tag.rsplit(' ').next().and_then(|count| count.parse().ok()))
}

/// Returns the name that PostgreSQL's plans have for what is done.
fn verb(change: &Change) -> &'static str {
    match change.verb {
        "INSERT" => "Insert",
        "UPDATE" => "Update",
        "DELETE" => "Delete",
        _ => "Merge",
    }
}

fn head(change: &Change) -> String {
    let verb = verb(change);
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
            | Source::Merged { query, .. } => Some(query),
        }
    }
}
