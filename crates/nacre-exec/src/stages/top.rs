//! A sort, and what a top-k has to do with the scan below it: see [`TopScan`].

use std::sync::Arc;

use super::common::StageList;
use super::{OpenPipeline, begin, end_in_sort, open_input, output_infos};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::StageContext;
use crate::plan::{FetchedColumn, SortKey, SortNode, TopScan};
use crate::rows::{FetchPlan, FetchSource};
use crate::scan::{PreparedScan, TopBound, TopOrder};
use crate::sort::SortOrder;

/// Opens a sort. The scan below a top-k learns from when on rows come too late, unless an
/// expression between may fail: PostgreSQL computes it for all rows.
pub(super) fn open_sort(
    node: &SortNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (keys, rows_max) = (node.keys.clone(), node.rows_max);
    let mut order = SortOrder { keys, rows_max, bound: None };
    let (Some(top), Some(scan)) = (node.top_scan(), pipeline.scan.clone()) else {
        return end_in_sort(pipeline, order, context, stages);
    };
    let may_fail = pipeline.may_fail || pipeline.builder.program.may_fail();
    if let (true, false, Some(output)) = (context.filters_keys, may_fail, top.first_key) {
        let SortKey { is_descending, is_nulls_first, .. } = node.keys[0];
        let first = TopOrder { is_descending, is_nulls_first };
        let bound = Arc::new(TopBound::new(first, node.keys.len() > 1));
        scan.set_top(output, &bound);
        order.bound = Some(bound);
    }
    if top.fetched.is_empty() || context.is_sliced {
        return end_in_sort(pipeline, order, context, stages);
    }
    open_fetching(pipeline, order, &scan, &top, context, stages)
}

/// Ends a pipeline in a top-k that has the places of rows instead of columns that are fetched.
fn open_fetching(
    mut pipeline: OpenPipeline,
    order: SortOrder,
    scan: &Arc<PreparedScan>,
    top: &TopScan<'_>,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let (depth, outputs) = (pipeline.depth, output_infos(&pipeline));
    let is_fetched = |column: usize| top.fetched.iter().any(|one| one.column == column);
    let kept: Vec<usize> = (0..outputs.len()).filter(|column| !is_fetched(*column)).collect();
    let place_of_key = |key: &SortKey| {
        let column = kept.iter().position(|column| *column == key.column);
        let column = column.ok_or_else(|| ExecError::internal("a sort by a fetched column"))?;
        Ok(SortKey { column, ..*key })
    };
    let keys = order.keys.iter().map(place_of_key).collect::<ExecResult<_>>()?;
    let places = pipeline.builder.slot(scan.place_info());
    let deferred: Vec<usize> =
        top.fetched.iter().map(|FetchedColumn { output, .. }| *output).collect();
    scan.defer(&deferred, places);
    pipeline.columns =
        kept.iter().map(|column| pipeline.columns[*column]).chain([places]).collect();
    let sorted = end_in_sort(pipeline, SortOrder { keys, ..order }, context, stages)?;
    let (rows_max, infos) = (sorted.rows_max, output_infos(&sorted));
    let plan = FetchPlan { scan: Arc::clone(scan), infos, kept, fetched: top.fetched.clone() };
    let source = FetchSource::new(sorted.source, plan, context);
    Ok(OpenPipeline { rows_max, ..begin(Arc::new(source), outputs, depth, context) })
}
