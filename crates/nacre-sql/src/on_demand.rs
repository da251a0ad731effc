//! A physical optimizer rule: what a join makes its table of starts to run when the join asks for
//! it, not when the plan is started.
//!
//! [`CoalescePartitionsExec`] starts its partitions at once. Joins ask for their tables from the
//! outermost one inwards, and each that is made tells the scans below what rows it will look for;
//! scans that were started before that read every row, and tables of inner joins became many times
//! as large.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::TryStreamExt;

/// The rule; it runs after all others.
#[derive(Debug)]
pub(crate) struct BuildOnDemand;

impl PhysicalOptimizerRule for BuildOnDemand {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
                return Ok(Transformed::no(plan));
            };
            let is_spread = join.left().is::<CoalescePartitionsExec>();
            if *join.partition_mode() != PartitionMode::CollectLeft || !is_spread {
                return Ok(Transformed::no(plan));
            }
            let left: Arc<dyn ExecutionPlan> =
                Arc::new(OnDemandExec { input: Arc::clone(join.left()) });
            let children = vec![left, Arc::clone(join.right())];
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
            plan.replace_children(children, options).map(Transformed::yes)
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "build_on_demand"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Starts its input when its first rows are asked for.
#[derive(Debug)]
struct OnDemandExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for OnDemandExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnDemandExec")
    }
}

impl ExecutionPlan for OnDemandExec {
    fn name(&self) -> &str {
        "OnDemandExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
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
            (Some(input), true) => Ok(Arc::new(Self { input })),
            _ => internal_err!("a plan that is started on demand has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (input, schema) = (Arc::clone(&self.input), self.input.schema());
        let rows = futures::stream::once(async move { input.execute(partition, context) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten())))
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
            _ => internal_err!("a plan that is started on demand has one input"),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
