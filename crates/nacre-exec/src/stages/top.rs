//! A sort, and what a top-k has to do with the scans below it: see [`TopScans`].

use std::sync::Arc;

use super::common::StageList;
use super::{OpenPipeline, begin, end_in_sort, open_input, output_infos};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{SlotInfo, StageContext};
use crate::plan::{FetchedColumn, SortKey, SortNode, TopScans};
use crate::rows::{FetchPlan, FetchPlanScan, FetchSource};
use crate::scan::{TopBound, TopOrder};
use crate::sort::SortOrder;

/// Opens a sort. The scan below a top-k learns from when on rows come too late, unless an
/// expression between may fail: PostgreSQL computes it for all rows.
#[inline(never)]
pub(super) fn open_sort(
    node: &SortNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let (keys, rows_max) = (node.keys.clone(), node.rows_max);
    let mut order = SortOrder { keys, rows_max, bound: None };
    let Some(TopScans { first_key, mut fetched }) = node.top_scans() else {
        let pipeline = open_input(&node.input, context, stages)?;
        return end_in_sort(pipeline, order, context, stages);
    };
    if context.is_sliced {
        fetched.clear();
    }
    stages.deferred.begin(&fetched);
    let pipeline = open_input(&node.input, context, stages)?;
    let scans = stages.deferred.end(fetched.len())?;
    let may_fail = pipeline.may_fail || pipeline.builder.program.may_fail();
    if let (true, false, Some(first), Some(scan)) =
        (context.filters_keys, may_fail, first_key, &pipeline.scan)
    {
        let SortKey { is_descending, is_nulls_first, .. } = node.keys[0];
        let top_order = TopOrder { is_descending, is_nulls_first };
        let bound = Arc::new(TopBound::new(top_order, node.keys.len() > 1));
        scan.set_top(first.output, &bound);
        order.bound = Some(bound);
    }
    if fetched.is_empty() {
        return end_in_sort(pipeline, order, context, stages);
    }
    let scans = scans.into_iter().zip(fetched);
    let scans = scans.map(|(scan, fetched)| FetchPlanScan { scan, columns: fetched.columns });
    open_fetching(pipeline, order, scans.collect(), context, stages)
}

/// Ends a pipeline in a top-k that has the places of rows instead of columns that are fetched.
fn open_fetching(
    mut pipeline: OpenPipeline,
    order: SortOrder,
    scans: Vec<FetchPlanScan>,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let depth = pipeline.depth;
    let mut outputs = output_infos(&pipeline);
    let mut is_kept = vec![true; outputs.len()];
    let mut places = Vec::with_capacity(scans.len());
    for FetchPlanScan { scan, columns } in &scans {
        for (at, FetchedColumn { column, output }) in columns.iter().enumerate() {
            // All of them are the slot of the places.
            let is_padded = outputs[*column].is_nullable;
            if at == 0 {
                places.push(pipeline.columns[*column]);
            }
            let own = scan.columns[*output].info();
            let is_nullable = own.is_nullable || is_padded;
            outputs[*column] = SlotInfo { is_nullable, ..own };
            is_kept[*column] = false;
        }
    }
    let kept: Vec<usize> = (0..outputs.len()).filter(|column| is_kept[*column]).collect();
    let place_of_key = |key: &SortKey| {
        let column = kept.iter().position(|column| *column == key.column);
        let column = column.ok_or_else(|| ExecError::internal("a sort by a fetched column"))?;
        Ok(SortKey { column, ..*key })
    };
    let keys = order.keys.iter().map(place_of_key).collect::<ExecResult<_>>()?;
    let kept_slots = kept.iter().map(|column| pipeline.columns[*column]);
    pipeline.columns = kept_slots.chain(places).collect();
    let sorted = end_in_sort(pipeline, SortOrder { keys, ..order }, context, stages)?;
    let (rows_max, infos) = (sorted.rows_max, output_infos(&sorted));
    let source = FetchSource::new(sorted.source, FetchPlan { infos, kept, scans }, context);
    Ok(OpenPipeline { rows_max, ..begin(Arc::new(source), outputs, depth, context) })
}
