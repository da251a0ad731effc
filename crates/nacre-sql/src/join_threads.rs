//! Joins with conditions beside their keys run on threads of their own.
//!
//! Such a join looks at pairs of rows until one passes, for hours if none does, and returns to
//! nobody meanwhile. On a thread of its own it keeps no other session waiting, and its condition
//! fails at the next pairs once nobody waits for rows. A join below another one on such a thread
//! runs there, too.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::thread;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use nacre_ingest::Progress;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::cancellation::{CancelOnDrop, check_cancelled, is_watched, watch_on_this_thread};
use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::support::STATEMENT_STACK_BYTES;

/// Batches that may wait for whoever takes them.
const WAITING_BATCHES: usize = 2;

/// Runs a join on a thread for each partition, from when its first rows are asked for.
#[derive(Debug)]
pub(crate) struct JoinThreadExec {
    join: Arc<dyn ExecutionPlan>,
}

impl JoinThreadExec {
    /// Returns a join that can be cancelled if `plan` is one with a condition beside its keys.
    ///
    /// # Errors
    /// Those of making the join anew.
    pub(crate) fn around(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let join: Arc<dyn ExecutionPlan> = if let Some(join) =
            plan.downcast_ref::<NestedLoopJoinExec>()
        {
            let Some(filter) = join.filter() else { return Ok(None) };
            let join = NestedLoopJoinExecBuilder::from(join);
            Arc::new(join.with_filter(Some(cancellable(filter))).build()?)
        } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            let Some(filter) = join.filter() else { return Ok(None) };
            HashJoinExecBuilder::from(join).with_filter(Some(cancellable(filter))).build_exec()?
        } else {
            return Ok(None);
        };
        Ok(Some(Self { join }))
    }
}

fn cancellable(filter: &JoinFilter) -> JoinFilter {
    let condition = CancellableCondition(Arc::clone(filter.expression()));
    let (columns, schema) = (filter.column_indices().to_vec(), Arc::clone(filter.schema()));
    JoinFilter::new(Arc::new(condition), columns, schema)
}

impl DisplayAs for JoinThreadExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinThreadExec")
    }
}

impl ExecutionPlan for JoinThreadExec {
    fn name(&self) -> &str {
        "JoinThreadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.join]
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
            (Some(join), true) => Ok(Arc::new(Self { join })),
            _ => internal_err!("a thread of a join has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.join.execute(partition, context)?;
        let schema = rows.schema();
        let rows = stream::once(async move {
            match is_watched() {
                true => Ok(rows.boxed()),
                false => on_thread(rows).map(StreamExt::boxed),
            }
        });
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
            _ => internal_err!("a thread of a join has one input"),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}

/// Runs a stream on a thread of its own and returns what it makes.
///
/// # Errors
/// 53200 if there can be no thread.
fn on_thread(
    mut rows: SendableRecordBatchStream,
) -> Result<impl Stream<Item = Result<RecordBatch>> + Send> {
    let progress = Arc::<Progress>::default();
    let caller = CancelOnDrop::new(&progress);
    let (sender, receiver) = mpsc::channel(WAITING_BATCHES);
    let runtime = Handle::current();
    let work = async move {
        let all = async {
            while let Some(batch) = rows.next().await {
                // Nobody may be waiting any more.
                if sender.send(Some(batch)).await.is_err() {
                    return;
                }
            }
            let _ = sender.send(None).await;
        };
        tokio::select! {
            biased;
            () = sender.closed() => {}
            () = all => {}
        }
    };
    let thread = thread::Builder::new().name("nacre-join".into()).stack_size(STATEMENT_STACK_BYTES);
    let spawned = thread.spawn(move || {
        watch_on_this_thread(progress);
        runtime.block_on(work);
    });
    spawned.map_err(|error| {
        let message = format!("cannot start a thread that joins: {error}");
        external(Error::new(ErrorKind::OutOfMemory, message))
    })?;
    // The state is gone behind the end of the rows.
    Ok(stream::unfold(Some((receiver, caller)), |state| async move {
        let (mut receiver, caller) = state?;
        match receiver.recv().await {
            Some(Some(Ok(batch))) => Some((Ok(batch), Some((receiver, caller)))),
            Some(Some(Err(error))) => Some((Err(error), None)),
            Some(None) => None,
            None => Some((internal_err!("a join ended without an end of its rows"), None)),
        }
    }))
}

/// The condition of a join; fails once nobody waits for the rows.
#[derive(Debug)]
struct CancellableCondition(Arc<dyn PhysicalExpr>);

impl PartialEq for CancellableCondition {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for CancellableCondition {}

impl Hash for CancellableCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for CancellableCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PhysicalExpr for CancellableCondition {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        check_cancelled()?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(condition), true) => Ok(Arc::new(Self(condition))),
            _ => internal_err!("a condition of a join is one expression"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
