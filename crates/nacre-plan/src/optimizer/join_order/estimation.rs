//! How many rows each operator of an ordered plan is expected to have, as the order was chosen by.
//!
//! The joins of a region are estimated by the same [`QueryGraph`] that ordered them: the rows of a
//! set of leaves depend on the set alone.

use std::collections::BTreeMap;
use std::ops::Range;

use super::query_graph::{GraphCondition, GraphLeaf, QueryGraph};
use super::{JoinOrderPass, RegionCondition, add_columns, is_always_true};
use crate::algebra::conjuncts::split_conjunction;
use crate::algebra::{ColumnId, JoinVariant, RelationalOperator};

/// What a region of inner joins is made of, as it stands.
#[derive(Default)]
struct RegionView<'p> {
    leaves: Vec<&'p RelationalOperator>,
    conditions: Vec<RegionCondition>,
    /// Joins and the leaves below them, inputs first.
    joins: Vec<(&'p RelationalOperator, Range<usize>)>,
}

impl<'p> RegionView<'p> {
    fn add(&mut self, operator: &'p RelationalOperator) {
        let RelationalOperator::Join { variant: JoinVariant::Inner, left, right, condition } =
            operator
        else {
            self.leaves.push(operator);
            return;
        };
        let start = self.leaves.len();
        self.add(left);
        self.add(right);
        let scope = start..self.leaves.len();
        let mut own = Vec::new();
        condition.iter().for_each(|one| split_conjunction(one.clone(), &mut own));
        let own = own.into_iter().filter(|one| !is_always_true(one));
        self.conditions
            .extend(own.map(|expression| RegionCondition { expression, scope: scope.clone() }));
        self.joins.push((operator, scope));
    }
}

impl JoinOrderPass<'_> {
    /// Estimates an operator and all below it, inputs first, and tells `note` of each.
    pub(in crate::optimizer) fn estimate<'p>(
        &mut self,
        operator: &'p RelationalOperator,
        note: &mut dyn FnMut(&'p RelationalOperator, f64),
    ) -> f64 {
        if let RelationalOperator::Join { variant: JoinVariant::Inner, .. } = operator {
            return self.estimate_region(operator, note);
        }
        let inputs: Vec<f64> = operator.inputs().map(|input| self.estimate(input, note)).collect();
        let rows = self.estimator.rows(operator, &inputs);
        note(operator, rows);
        rows
    }

    fn estimate_region<'p>(
        &mut self,
        operator: &'p RelationalOperator,
        note: &mut dyn FnMut(&'p RelationalOperator, f64),
    ) -> f64 {
        let mut region = RegionView::default();
        region.add(operator);
        let mut leaf_of = BTreeMap::new();
        let mut leaves = Vec::with_capacity(region.leaves.len());
        for (place, leaf) in region.leaves.into_iter().enumerate() {
            add_columns(leaf, place, &mut leaf_of);
            let rows = self.estimate(leaf, note);
            leaves.push(GraphLeaf { rows, composite_key: self.composite_key(leaf) });
        }
        let conditions = region.conditions.into_iter();
        let conditions: Vec<GraphCondition> =
            conditions.map(|one| one.with_needs(&leaf_of)).collect();
        let find_leaf = |column: ColumnId| leaf_of.get(&column).copied();
        let graph = QueryGraph::new(leaves, conditions, &find_leaf, self.estimator.profiles());
        let mut all = 1.0;
        for (join, below) in region.joins {
            all = graph.rows_of(&|leaf| below.contains(&leaf));
            note(join, all);
        }
        all
    }
}
