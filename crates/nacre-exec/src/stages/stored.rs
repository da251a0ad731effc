//! Aggregates of whole tables, as far as the stored aggregates of chunks answer them.
//!
//! An aggregation without keys right above a scan, perhaps with a map of columns between them,
//! takes the shares of chunks that come out as a whole from their aggregates. Chunks with deleted
//! rows, with rows that a predicate may leave out, and hot ones are read.

use super::OpenPipeline;
use crate::group::GroupSink;
use crate::plan::{AggregateNode, PlanNode};

/// Has the chunks of the scan below an aggregation not read whose aggregates tell their shares, and
/// adds these to the sink.
pub(super) fn answer_stored(node: &AggregateNode, pipeline: &OpenPipeline, sink: &GroupSink) {
    let Some(scan) = &pipeline.scan else { return };
    if !node.keys.is_empty() || !hands_on_all_rows(&node.input) {
        return;
    }
    scan.answer_whole_chunks(|chunk| {
        sink.add_stored(chunk.rows(), |slot| {
            let output = pipeline.scan_columns.get(slot).copied().flatten()?;
            scan.columns.get(output).map(|column| chunk.sma(column.column))
        })
    });
}

/// Whether an operator is a scan below maps alone: each row of the scan comes out once.
fn hands_on_all_rows(node: &PlanNode) -> bool {
    match node.operator() {
        PlanNode::Scan(_) => true,
        PlanNode::Map(map) => hands_on_all_rows(&map.input),
        _ => false,
    }
}
