//! A physical optimizer rule: constants and equalities of the inputs of joins and unions do not
//! hold for their output.
//!
//! The planner derives which columns are constant and which expressions are equal, and keeps that
//! for the output. In the rows that an outer join fills up, a constant of that side is null, and a
//! label that is constant in each branch of a union differs between them. Sorts, windows and the
//! bounds of a top-k would leave such columns out. Of constants of other inputs of joins a later
//! rule forgets that they were constant, behind sorts that leave them out. So a barrier before
//! these operators hides the properties of their inputs.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};

/// The rule; it runs before all others.
#[derive(Debug)]
pub(crate) struct EquivalenceBarriers;

impl PhysicalOptimizerRule for EquivalenceBarriers {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(add_barriers).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "equivalence_barriers"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn add_barriers(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if plan.is::<UnionExec>() && has_equivalences(&plan) {
        return Ok(Transformed::yes(Arc::new(EquivalenceBarrierExec::new(plan))));
    }
    let Some(join_type) = join_type(&plan) else { return Ok(Transformed::no(plan)) };
    let fills_up = match join_type {
        JoinType::Left => [false, true],
        JoinType::Right => [true, false],
        JoinType::Full => [true, true],
        _ => [false, false],
    };
    let mut is_changed = false;
    let children = plan.children().into_iter().zip(fills_up).map(|(child, fills_up)| {
        let is_misleading = has_constants(child) || (fills_up && has_equivalences(child));
        if !is_misleading {
            return Arc::clone(child);
        }
        is_changed = true;
        Arc::new(EquivalenceBarrierExec::new(Arc::clone(child))) as Arc<dyn ExecutionPlan>
    });
    let children = children.collect();
    if !is_changed {
        return Ok(Transformed::no(plan));
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(children, options).map(Transformed::yes)
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type)
}

fn has_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    !plan.properties().equivalence_properties().constants().is_empty()
}

fn has_equivalences(plan: &Arc<dyn ExecutionPlan>) -> bool {
    !plan.properties().equivalence_properties().eq_group().is_empty()
}

/// Hands its input's rows on and hides its equivalences. It hides orders, too, since these leave
/// columns out that are constant.
#[derive(Debug)]
struct EquivalenceBarrierExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl EquivalenceBarrierExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let unknown = EquivalenceProperties::new(input.schema());
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(unknown);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for EquivalenceBarrierExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EquivalenceBarrierExec")
    }
}

impl ExecutionPlan for EquivalenceBarrierExec {
    fn name(&self) -> &str {
        "EquivalenceBarrierExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input))),
            _ => internal_err!("a barrier has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("a barrier has one input"),
        }
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
