//! How many rows queries that are computed once are expected to have.

use super::estimate::RowEstimator;
use super::statistics::RelationStatistics;
use crate::algebra::conjuncts::with_filter;
use crate::algebra::{
    CommonQuery, CommonReference, QueryColumns, RelationalOperator, ScalarExpression, ScannedColumn,
};

/// Returns how many rows a common query would be expected to have if all were wanted, and not those
/// alone for which the conditions `wanted` are true: its readers count what their own conditions
/// leave of all.
pub(super) fn expected_rows(
    common: &CommonQuery,
    wanted: &[ScalarExpression],
    columns: &QueryColumns,
    statistics: &dyn RelationStatistics,
) -> f64 {
    let rows = estimated(&common.root, &mut RowEstimator::new(columns, statistics));
    if wanted.is_empty() {
        return rows;
    }
    let query = CommonReference {
        index: 0,
        may_fail: false,
        is_whole: false,
        has_one_row: false,
        key: None,
        rows_expected: Some(rows),
    };
    let outputs = common.outputs.iter().enumerate();
    let outputs = outputs.map(|(position, column)| ScannedColumn { position, column: *column });
    let reader = RelationalOperator::CommonScan { query, columns: outputs.collect() };
    let reader = with_filter(reader, wanted.to_vec());
    rows * rows / estimated(&reader, &mut RowEstimator::new(columns, statistics))
}

fn estimated(operator: &RelationalOperator, estimator: &mut RowEstimator<'_>) -> f64 {
    let inputs: Vec<f64> = operator.inputs().map(|input| estimated(input, estimator)).collect();
    estimator.rows(operator, &inputs)
}

/// Tells the places where common queries are read how many rows these have, by their index.
pub(super) fn set_expected_rows(operator: &mut RelationalOperator, rows: &[f64]) {
    if let RelationalOperator::CommonScan { query, .. } = operator {
        query.rows_expected = rows.get(query.index).copied();
    }
    operator.inputs_mut().for_each(|input| set_expected_rows(input, rows));
}
