//! A physical optimizer rule: what can make many rows of few gives its thread back now and then.
//!
//! The executor has scans do that. A join of small tables reads them in a moment and may then make
//! rows for hours; a thread that is not given back until the end hears no cancel request and serves
//! nobody else. Joins whose conditions discard rows may not even have one to give back: they have
//! threads of their own.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};

use crate::join_threads::JoinThreadExec;

/// The rule; it runs after all that look for joins.
#[derive(Debug)]
pub(crate) struct Yielding;

impl PhysicalOptimizerRule for Yielding {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            if let Some(apart) = JoinThreadExec::around(&plan)? {
                return Ok(Transformed::yes(Arc::new(apart) as _));
            }
            let is_join = plan.is::<HashJoinExec>()
                || plan.is::<NestedLoopJoinExec>()
                || plan.is::<CrossJoinExec>();
            Ok(match is_join {
                true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as _),
                false => Transformed::no(plan),
            })
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "yielding"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
