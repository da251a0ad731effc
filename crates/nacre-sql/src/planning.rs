//! Planning that takes long, on a thread that nobody else waits for.
//!
//! A thread that plans hears nothing: no cancel request, no timeout, no other session. Planning
//! takes microseconds for most statements; those that may take longer have a thread of their own,
//! and whoever waits for the plan may go away at any time. That thread then stops at the next rule
//! of the planner ([`Heeding`] stands behind each of them).

use std::iter;
use std::sync::Arc;
use std::thread;

use datafusion::common::Result as PlannerResult;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use nacre_ingest::Progress;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::cancellation::{CancelOnDrop, check_cancelled, watch_on_this_thread};
use crate::equivalence_barrier::EquivalenceBarriers;
use crate::error::{Error, ErrorKind, Result};
use crate::filter_names::FilterNames;
use crate::filter_placement::FilterPlacement;
use crate::lazy_logic::WholeJoinFilters;
use crate::members::Members;
use crate::null_equality::{NullKeys, OuterEquals};
use crate::plan_check::PlanCheck;
use crate::simplification::GuardedSimplification;
use crate::support::STATEMENT_STACK_BYTES;

/// Runs `planning`, on a thread of its own if it `is_long`.
///
/// # Errors
/// Its own, 53200 if there can be no thread, and `Internal` if it panicked there.
pub(crate) async fn aside<T: Send + 'static>(
    is_long: bool,
    planning: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    if !is_long {
        return planning.await;
    }
    let progress = Arc::<Progress>::default();
    let _caller = CancelOnDrop::new(&progress);
    let (sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    // Planning recurses over expressions; the threads of a runtime may have small stacks.
    let thread = thread::Builder::new().name("nacre-planner".into());
    let spawned = thread.stack_size(STATEMENT_STACK_BYTES).spawn(move || {
        watch_on_this_thread(progress);
        // Nobody may be waiting any more.
        let _ = sender.send(runtime.block_on(planning));
    });
    spawned.map_err(|error| {
        let message = format!("cannot start a thread that plans: {error}");
        Error::new(ErrorKind::OutOfMemory, message)
    })?;
    receiver.await.map_err(|_| {
        Error::new(ErrorKind::Internal, "internal error: planning ended without a plan")
    })?
}

/// A rule of the planner that ends at the next node of a plan once the statement has ended.
#[derive(Debug)]
struct InterruptibleRule(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for InterruptibleRule {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> PlannerResult<Transformed<LogicalPlan>> {
        check_cancelled()?;
        self.0.rewrite(plan, config)
    }
}

/// A rule that changes nothing, and fails once the statement has ended.
#[derive(Debug)]
pub(crate) struct Heeding;

impl Heeding {
    /// Returns the planner's logical rules, which end between two nodes, and ours.
    pub(crate) fn behind_logical() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
        let mut rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = Vec::new();
        for rule in Optimizer::new().rules {
            match rule.name() {
                "decorrelate_predicate_subquery" => {
                    rules.push(Arc::new(OuterEquals));
                    rules.push(Arc::new(Members));
                }
                "extract_equijoin_predicate" => rules.push(Arc::new(NullKeys)),
                _ => {}
            }
            let rule = FilterPlacement::guard(GuardedSimplification::replace(rule));
            rules.push(Arc::new(InterruptibleRule(rule)));
        }
        rules
    }

    /// Returns analyzer rules, each with this one behind it.
    pub(crate) fn behind_each(
        rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        rules.into_iter().flat_map(|rule| [rule, Arc::new(Self)]).collect()
    }

    /// Returns the planner's physical rules behind ours, each with this one before it.
    pub(crate) fn before_physical() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        let rules = PhysicalOptimizer::new().rules.into_iter();
        let rules = rules.map(FilterNames::guard).map(WholeJoinFilters::guard);
        let rules = rules.map(PlanCheck::replace);
        let first: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::new(EquivalenceBarriers);
        iter::once(first).chain(rules).flat_map(|rule| [Arc::new(Self), rule]).collect()
    }
}

impl AnalyzerRule for Heeding {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlannerResult<LogicalPlan> {
        check_cancelled().map(|()| plan)
    }

    fn name(&self) -> &str {
        "heeding"
    }
}

impl PhysicalOptimizerRule for Heeding {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlannerResult<Arc<dyn ExecutionPlan>> {
        check_cancelled().map(|()| plan)
    }

    fn name(&self) -> &str {
        "heeding"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
