//! Operators that are measured: what EXPLAIN shows of them.

use std::sync::Arc;

use super::node::PlanNode;
use crate::counters::NodeCounters;

/// Hands on the rows of an operator as they are, and counts them. Where the operator is looked at
/// by its kind, this node is looked through.
#[derive(Clone, Debug)]
pub struct MeasuredNode {
    pub input: PlanNode,
    /// How many rows the optimizer expects.
    pub rows_expected: Option<f64>,
    /// Of all executions of the plan.
    pub(crate) counters: Arc<NodeCounters>,
}

impl PlanNode {
    /// Has an operator measured that is not yet.
    pub fn measured(self, rows_expected: Option<f64>) -> Self {
        match self {
            Self::Measured(_) => self,
            input => {
                let counters = Arc::default();
                Self::Measured(Box::new(MeasuredNode { input, rows_expected, counters }))
            }
        }
    }

    /// Has all operators measured that can be.
    pub(crate) fn measure_all(&mut self) {
        let operator = self.operator_mut();
        operator.inputs_mut().into_iter().for_each(Self::measure_all);
        // Common queries are no operators but ways to compute rows before they are asked for.
        let is_common = matches!(
            operator,
            Self::Common(_) | Self::Kept(_) | Self::Once(_) | Self::Called(_) | Self::Recursion(_)
        );
        if !is_common {
            let rows_expected = self.derived_rows();
            let own = std::mem::replace(self, Self::none());
            *self = own.measured(rows_expected);
        }
    }

    /// Returns the operator itself, if it is measured.
    pub fn operator(&self) -> &Self {
        match self {
            Self::Measured(measured) => measured.input.operator(),
            operator => operator,
        }
    }

    /// As [`Self::operator`], to be changed.
    pub(crate) fn operator_mut(&mut self) -> &mut Self {
        match self {
            Self::Measured(measured) => measured.input.operator_mut(),
            operator => operator,
        }
    }

    /// Returns the rows that are expected of an operator that nothing was said of.
    fn derived_rows(&self) -> Option<f64> {
        match self {
            Self::Measured(measured) => measured.rows_expected,
            Self::Rows(rows) => Some(rows.rows as f64),
            Self::Series(series) => Some(series.rows as f64),
            Self::CommonScan(scan) => Some(scan.rows_expected),
            Self::Kept(kept) => kept.input.derived_rows(),
            Self::Map(map) => map.input.derived_rows(),
            Self::Sort(sort) => {
                let rows = sort.input.derived_rows()?;
                Some(sort.rows_max.map_or(rows, |most| rows.min(most as f64)))
            }
            Self::Limit(limit) => {
                let rows = limit.input.derived_rows()?;
                Some(limit.rows_max.map_or(rows, |most| rows.min(most as f64)))
            }
            Self::Window(window) => window.input.derived_rows(),
            Self::Append(append) => append.inputs.iter().map(Self::derived_rows).sum(),
            _ => None,
        }
    }

    /// Forgets what was counted.
    pub(crate) fn reset_counters(&self) {
        if let Self::Measured(measured) = self {
            measured.counters.reset();
        }
        self.inputs().into_iter().for_each(Self::reset_counters);
    }
}
