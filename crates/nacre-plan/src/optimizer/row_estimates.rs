//! How many rows each operator of a plan is expected to have, for EXPLAIN.
//!
//! A plan has no place for what is known of its operators; they are told apart by where they lie,
//! as long as the plan is borrowed.

use std::collections::HashMap;
use std::marker::PhantomData;

use super::estimate::{RowEstimator, bounded_rows};
use super::join_order::JoinOrderPass;
use super::selectivity::ColumnProfiles;
use super::statistics::RelationStatistics;
use crate::algebra::{
    ColumnId, QueryColumns, QueryPlan, RelationalOperator, ScalarExpression, ScannedColumn,
};

/// The expected rows of the operators of a plan.
#[derive(Debug)]
pub struct RowEstimates<'p> {
    /// By address.
    rows: HashMap<usize, f64>,
    /// Rows of relations, without conditions, by the first column that a scan reads.
    scanned: HashMap<ColumnId, f64>,
    /// Columns of relations, without conditions.
    profiles: ColumnProfiles,
    plan: PhantomData<&'p QueryPlan>,
}

impl<'p> RowEstimates<'p> {
    /// Estimates all operators of an optimized plan.
    pub fn of(plan: &'p QueryPlan, statistics: &dyn RelationStatistics) -> Self {
        let mut estimates = Self {
            rows: HashMap::new(),
            scanned: HashMap::new(),
            profiles: ColumnProfiles::default(),
            plan: PhantomData,
        };
        for common in &plan.common {
            estimates.add(&common.root, &plan.columns, statistics);
            if let Some(term) = common.form.term() {
                estimates.add(&term.root, &plan.columns, statistics);
            }
        }
        estimates.add(&plan.root, &plan.columns, statistics);
        estimates
    }

    fn add(
        &mut self,
        root: &'p RelationalOperator,
        columns: &QueryColumns,
        statistics: &dyn RelationStatistics,
    ) {
        let rows = &mut self.rows;
        JoinOrderPass::new(columns, statistics).estimate(root, &mut |operator, own| {
            rows.insert(address(operator), own);
        });
        self.add_scans(root, &mut RowEstimator::new(columns, statistics));
    }

    fn add_scans(&mut self, operator: &RelationalOperator, estimator: &mut RowEstimator<'_>) {
        if let RelationalOperator::Scan { columns, .. } = operator
            && let Some(first) = columns.first()
        {
            let rows = estimator.rows(operator, &[]);
            self.scanned.insert(first.column, rows);
            for ScannedColumn { column, .. } in columns {
                if let Some(profile) = estimator.profiles().get(*column) {
                    self.profiles.set(*column, profile.clone());
                }
            }
        }
        operator.inputs().for_each(|input| self.add_scans(input, estimator));
    }

    /// Returns the rows of an operator of the plan.
    pub fn rows(&self, operator: &RelationalOperator) -> Option<f64> {
        self.rows.get(&address(operator)).copied()
    }

    /// Returns the rows of a scan of these columns that some conditions on it leave.
    pub fn rows_left(
        &self,
        scanned: &[ScannedColumn],
        conditions: &[&ScalarExpression],
    ) -> Option<f64> {
        let rows = self.scanned.get(&scanned.first()?.column)?;
        Some(bounded_rows(rows * self.profiles.of_all(conditions)))
    }
}

fn address(operator: &RelationalOperator) -> usize {
    std::ptr::from_ref(operator).addr()
}
