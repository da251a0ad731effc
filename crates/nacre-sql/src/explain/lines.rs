//! A plan as one text column with a line of the plan per row, as PostgreSQL gives it.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use super::options::{Form, schema};

/// Plans of an `EXPLAIN` without VERBOSE that say nothing about how the query runs.
const LOGICAL_PLAN: &str = "logical_plan";

/// The engines' names.
pub(crate) const NACRE_ENGINE: &str = "nacre";
pub(crate) const DATAFUSION_ENGINE: &str = "datafusion";

/// Returns the line that says which engine runs a plan.
pub(crate) fn engine_line(engine: &str) -> String {
    format!("Engine: {engine}")
}

/// Turns the planner's rows (kind of plan, plan of many lines) into rows of one line each.
pub(crate) fn as_lines(
    stream: SendableRecordBatchStream,
    is_verbose: bool,
) -> SendableRecordBatchStream {
    let schema = schema(Form::Lines { is_verbose });
    let of_batch = Arc::clone(&schema);
    let batches = stream.flat_map(move |batch| {
        let lines = batch.and_then(|batch| lines(&batch, &of_batch, is_verbose));
        stream::iter([lines])
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

fn lines(batch: &RecordBatch, schema: &SchemaRef, is_verbose: bool) -> Result<RecordBatch> {
    let (kinds, plans) = (batch.column(0), batch.column(1));
    let (kinds, plans) = (kinds.as_string::<i32>(), plans.as_string::<i32>());
    let mut lines = Vec::new();
    for (kind, plan) in kinds.iter().zip(plans) {
        let (kind, plan) = (kind.unwrap_or_default(), plan.unwrap_or_default());
        if is_verbose {
            lines.push(format!("{kind}:"));
        } else if kind == LOGICAL_PLAN {
            continue;
        }
        lines.extend(plan.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    }
    lines.push(engine_line(DATAFUSION_ENGINE));
    let array = StringViewArray::from_iter_values(lines);
    Ok(RecordBatch::try_new(Arc::clone(schema), vec![Arc::new(array)])?)
}
