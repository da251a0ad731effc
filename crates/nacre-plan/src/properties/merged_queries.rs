//! Which queries in FROM PostgreSQL makes one with the query around them.

use crate::algebra::RelationalOperator;

/// Whether PostgreSQL merges a query over an operator into the one around it.
pub(crate) fn is_merged(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Filter { input, .. } | RelationalOperator::Compute { input, .. } => {
            is_merged(input)
        }
        RelationalOperator::Aggregate { .. }
        | RelationalOperator::GroupingSets { .. }
        | RelationalOperator::Window { .. }
        | RelationalOperator::Expand { .. }
        | RelationalOperator::Sort { .. }
        | RelationalOperator::Limit { .. } => false,
        _ => true,
    }
}
