//! How many rows queries that are computed once are expected to have.

use super::estimate::RowEstimator;
use super::statistics::RelationStatistics;
use crate::algebra::{QueryColumns, RelationalOperator};

/// Returns how many rows an operator is expected to have.
pub(super) fn expected_rows(
    operator: &RelationalOperator,
    columns: &QueryColumns,
    statistics: &dyn RelationStatistics,
) -> f64 {
    estimated(operator, &mut RowEstimator::new(columns, statistics))
}

fn estimated(operator: &RelationalOperator, estimator: &mut RowEstimator<'_>) -> f64 {
    let inputs: Vec<f64> =
        operator.inputs().into_iter().map(|input| estimated(input, estimator)).collect();
    estimator.rows(operator, &inputs)
}

/// Tells the places where common queries are read how many rows these have, by their index.
pub(super) fn set_expected_rows(operator: &mut RelationalOperator, rows: &[f64]) {
    if let RelationalOperator::CommonScan { query, .. } = operator {
        query.rows_expected = rows.get(query.index).copied();
    }
    operator.inputs_mut().into_iter().for_each(|input| set_expected_rows(input, rows));
}
