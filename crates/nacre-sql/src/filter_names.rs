//! A guard around the planner's rule that moves filters down to scans, also those that joins make
//! while they run.
//!
//! The rule finds a filter's columns in the input of an operator by their names, of which plans
//! have the same one several times: both sides of a join may have an `id`. The first one of that
//! name is not always the one that is meant, and rows would be missing. So while the rule runs,
//! inputs whose names do not tell stand behind an operator that lets no filter through.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};

type Plan = Arc<dyn ExecutionPlan>;
type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rule with its guard.
#[derive(Debug)]
pub(crate) struct FilterNames(Rule);

impl FilterNames {
    /// Puts the guard around a rule if it is one that moves filters.
    pub(crate) fn guard(rule: Rule) -> Rule {
        match rule.name().starts_with("FilterPushdown") {
            true => Arc::new(Self(rule)),
            false => rule,
        }
    }
}

impl PhysicalOptimizerRule for FilterNames {
    fn optimize(&self, plan: Plan, config: &ConfigOptions) -> Result<Plan> {
        let barred = plan.transform_up(bar)?;
        let has_bars = barred.transformed;
        let moved = self.0.optimize(barred.data, config)?;
        match has_bars {
            true => moved.transform_up(unbar).map(|plain| plain.data),
            false => Ok(moved),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Puts a bar before those inputs of an operator that filters must not reach.
fn bar(plan: Plan) -> Result<Transformed<Plan>> {
    let children = plan.children();
    let is_barred: Vec<bool> =
        children.iter().enumerate().map(|(side, child)| misleads(&plan, side, child)).collect();
    if !is_barred.contains(&true) {
        return Ok(Transformed::no(plan));
    }
    let barred = children.into_iter().zip(is_barred).map(|(child, is_barred)| match is_barred {
        true => Arc::new(Bar(Arc::clone(child))) as Plan,
        false => Arc::clone(child),
    });
    let barred = barred.collect();
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(barred, options).map(Transformed::yes)
}

fn unbar(plan: Plan) -> Result<Transformed<Plan>> {
    Ok(match plan.downcast_ref::<Bar>() {
        Some(bar) => Transformed::yes(Arc::clone(&bar.0)),
        None => Transformed::no(plan),
    })
}

/// Whether a column of an operator may be another one than that of its name in an input.
fn misleads(plan: &Plan, side: usize, child: &Plan) -> bool {
    let schema = child.schema();
    if has_twins(&schema) || absorbs_by_name(child) {
        return true;
    }
    if plan.is::<ProjectionExec>() {
        return has_twins(&plan.schema());
    }
    if plan.is::<UnionExec>() {
        return !plan.schema().fields().iter().map(|field| field.name()).eq(names(&schema));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr().expr().iter();
        return groups.into_iter().any(|(expr, name)| is_other(&schema, name, expr));
    }
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return false };
    // Filters of the side whose rows come out reach the other one by the keys, which are equal.
    let other_keys = |(left, right)| match join.join_type() {
        JoinType::LeftSemi if side == 1 => Some((left, right)),
        JoinType::RightSemi if side == 0 => Some((right, left)),
        _ => None,
    };
    let mut keys = join.on().iter().map(|(left, right)| (left, right)).filter_map(other_keys);
    keys.any(|(from, to): (&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>)| {
        from.downcast_ref::<Column>().is_some_and(|from| is_other(&schema, from.name(), to))
    })
}

/// Whether a schema has a column of that name which an expression is not.
fn is_other(schema: &Schema, name: &str, expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_same = |index| expr.downcast_ref::<Column>().is_some_and(|one| one.index() == index);
    schema.index_of(name).is_ok_and(|index| !is_same(index))
}

/// Whether an operator takes filters from above over, and finds their columns in an input where
/// names do not tell.
fn absorbs_by_name(plan: &Plan) -> bool {
    let filter = plan.downcast_ref::<FilterExec>();
    filter
        .is_some_and(|filter| filter.projection().is_some() && has_twins(&filter.input().schema()))
}

fn names(schema: &Schema) -> impl Iterator<Item = &String> {
    schema.fields().iter().map(|field| field.name())
}

/// Whether two columns have the same name.
fn has_twins(schema: &Schema) -> bool {
    names(schema).collect::<BTreeSet<_>>().len() < schema.fields().len()
}

/// Hands on what its input gives; filters go no further.
#[derive(Debug)]
struct Bar(Plan);

impl DisplayAs for Bar {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bar")
    }
}

impl ExecutionPlan for Bar {
    fn name(&self) -> &str {
        "Bar"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.0]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Plan>) -> Result<Plan> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self(input))),
            _ => internal_err!("a bar has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.0.execute(partition, context)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    use super::*;

    #[test]
    fn both_rules_that_move_filters_are_guarded() {
        let rules = PhysicalOptimizer::new().rules.into_iter().map(FilterNames::guard);
        let guarded = rules.filter(|rule| format!("{rule:?}").starts_with("FilterNames"));
        assert_eq!(guarded.count(), 2);
    }
}
