//! The rows of a query, which is run again if what it read turns out to have changed.
//!
//! 1. The first rows are held back, up to [`HELD_BYTES_MAX`]. Most answers are smaller.
//! 2. At the end the blocks that were read are looked at ([`super::reads`]). If one changed while
//!    it was read, its replica has been reported by then; the rows are dropped and the query runs
//!    again, over the same loads, and looks at every vector: that run's rows are right.
//! 3. An answer too large to be held is handed on as it comes. If it turns out at the end that
//!    something changed, the query fails and says so: rows that are out cannot be taken back.
//!
//! This concerns files that other programs change under a query. Pages that are lost, and bytes
//! that were wrong before they were read, are noticed before a row is made of them.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::{StreamExt, stream};

use super::array::external;
use super::reads::Reads;

/// Rows of this size are held back until the query has ended.
const HELD_BYTES_MAX: usize = 16 << 20;

/// A query and the state of its answer.
struct Answer {
    state: SessionState,
    plan: LogicalPlan,
    run: Run,
    phase: Phase,
}

/// One run of the query.
struct Run {
    batches: SendableRecordBatchStream,
    reads: Arc<Reads>,
}

enum Phase {
    /// Rows that nobody has seen yet.
    Held { batches: Vec<RecordBatch>, bytes: usize },
    /// What was held comes out, then what comes.
    Streaming(VecDeque<RecordBatch>),
    /// What is left comes out.
    Ended(VecDeque<RecordBatch>),
}

/// Starts the query `plan`.
///
/// # Errors
/// Those of the planner.
pub(crate) async fn answer(
    state: SessionState,
    plan: LogicalPlan,
) -> Result<SendableRecordBatchStream> {
    let run = Run::start(&state, &plan, Reads::default()).await?;
    let schema: SchemaRef = run.batches.schema();
    let phase = Phase::Held { batches: Vec::new(), bytes: 0 };
    let answer = Answer { state, plan, run, phase };
    let batches = stream::unfold(Some(answer), |answer| async move {
        let mut answer = answer?;
        match answer.next().await {
            Ok(batch) => batch.map(|batch| (Ok(batch), Some(answer))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

/// Runs a plan to its end for what it counts; nobody sees its rows.
///
/// # Errors
/// Those of running it.
pub(crate) async fn run_to_end(state: &SessionState, plan: Arc<dyn ExecutionPlan>) -> Result<()> {
    let mut run = Run::of(state, plan, Reads::default())?;
    while let Some(batch) = run.batches.next().await {
        batch?;
    }
    Ok(())
}

impl Run {
    async fn start(state: &SessionState, plan: &LogicalPlan, reads: Reads) -> Result<Self> {
        let plan = state.create_physical_plan(plan).await?;
        Self::of(state, plan, reads)
    }

    fn of(state: &SessionState, plan: Arc<dyn ExecutionPlan>, reads: Reads) -> Result<Self> {
        let reads = Arc::new(reads);
        let task = TaskContext::from(state);
        let config = task.session_config().clone().with_extension(Arc::clone(&reads));
        let task = Arc::new(task.with_session_config(config));
        Ok(Self { batches: execute_stream(plan, task)?, reads })
    }
}

impl Answer {
    /// Returns the next batch, `None` at the end.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match &mut self.phase {
                Phase::Ended(batches) => return Ok(batches.pop_front()),
                Phase::Streaming(batches) => {
                    if let Some(batch) = batches.pop_front() {
                        return Ok(Some(batch));
                    }
                    let next = self.run.batches.next().await.transpose();
                    if let Ok(Some(batch)) = next {
                        return Ok(Some(batch));
                    }
                    // Bytes that changed explain every other failure.
                    self.run.reads.look_back().map_err(external)?;
                    return next;
                }
                Phase::Held { batches, bytes } => {
                    let next = self.run.batches.next().await.transpose();
                    if let Ok(Some(batch)) = next {
                        *bytes += batch.get_array_memory_size();
                        batches.push(batch);
                        if *bytes > HELD_BYTES_MAX {
                            self.phase = Phase::Streaming(std::mem::take(batches).into());
                        }
                        continue;
                    }
                    let held = std::mem::take(batches);
                    self.conclude(held, next.err()).await?;
                }
            }
        }
    }

    /// Hands out what the first run held at its end, or runs the query again, carefully.
    async fn conclude(
        &mut self,
        held: Vec<RecordBatch>,
        error: Option<DataFusionError>,
    ) -> Result<()> {
        self.phase = match (self.run.reads.look_back(), error) {
            (Ok(()), None) => Phase::Ended(held.into()),
            (Ok(()), Some(error)) => return Err(error),
            (Err(_), _) => {
                self.run = Run::start(&self.state, &self.plan, Reads::careful()).await?;
                Phase::Streaming(VecDeque::new())
            }
        };
        Ok(())
    }
}
