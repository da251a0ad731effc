//! Queries whose answer depends on an order of rows that is open, or on chance.

use nacre_functions::catalog::FunctionKind;

use crate::algebra::{RelationalOperator, WindowColumn, WindowFrameUnit};

/// Whether an answer depends on the order of rows where that is open: which ones LIMIT keeps and
/// TABLESAMPLE chooses, and what window functions find that tell peers apart.
pub(crate) fn has_open_order(operator: &RelationalOperator) -> bool {
    let is_open = match operator {
        RelationalOperator::Limit { .. } | RelationalOperator::Sample { .. } => true,
        RelationalOperator::Window { functions, .. } => functions.iter().any(tells_peers_apart),
        _ => false,
    };
    is_open || operator.inputs().any(has_open_order)
}

/// Whether a query has the same number of rows each time, whichever these are.
pub(crate) fn has_fixed_count(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Compute { input, .. }
        | RelationalOperator::Sort { input, .. }
        | RelationalOperator::Window { input, .. }
        | RelationalOperator::Limit { input, .. } => has_fixed_count(input),
        other => !has_open_order(other),
    }
}

/// Whether the results of a function depend on the order of peers.
fn tells_peers_apart(one: &WindowColumn) -> bool {
    let is_of_peers = match one.call.function.kind {
        FunctionKind::Window => {
            matches!(one.call.function.name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
        }
        _ => one.frame.unit != WindowFrameUnit::Rows,
    };
    !is_of_peers
}
