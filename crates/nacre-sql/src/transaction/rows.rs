//! The rows of a query, tied to the transaction that it reads in.
//!
//! Rows are computed while they are taken. A query that is its own transaction keeps its snapshot
//! until its last row is out. In a block the next statement may write, commit or move the
//! snapshot: rows that were not taken by then are not handed out any more, as those of an open
//! cursor of PostgreSQL are not past its transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::{Stream, StreamExt};
use nacre_store::Transaction;

use super::session::Signals;
use super::turn::Turn;
use crate::advisory_locks::TransactionLocks;
use crate::error::Error;

/// What the rows depend on.
enum Tie {
    /// A transaction of their own; `None` once they are all out.
    Own(Option<Box<(Option<Transaction>, TransactionLocks)>>),
    /// A turn of a block.
    Block { signals: Arc<Signals>, turn: u64 },
    /// The block went on without them.
    Cut,
}

struct TiedRows {
    rows: SendableRecordBatchStream,
    tie: Tie,
}

/// Ties the rows of a query to the transaction of `turn`, and ends the turn.
///
/// # Errors
/// None but those of a turn that was lent.
pub(crate) fn tie(
    mut turn: Turn,
    rows: SendableRecordBatchStream,
) -> crate::error::Result<SendableRecordBatchStream> {
    let tie = match turn.signals() {
        Some(signals) => Tie::Block { signals: Arc::clone(signals), turn: signals.turn() },
        None => {
            let core = turn.core()?;
            let locks = core.locks.clone();
            Tie::Own(Some(Box::new((core.transaction.take(), locks))))
        }
    };
    turn.done(false);
    Ok(Box::pin(TiedRows { rows, tie }))
}

impl Stream for TiedRows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if matches!(self.tie, Tie::Cut) {
            return Poll::Ready(None);
        }
        let polled = self.rows.poll_next_unpin(context);
        match &mut self.tie {
            Tie::Cut => {}
            Tie::Own(transaction) => {
                if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
                    *transaction = None;
                }
            }
            // Whatever was computed before the look is of the right state.
            Tie::Block { signals, turn } if signals.turn() != *turn => {
                let error = Error::transaction_state(
                    "24000",
                    "the rows were not read before the next statement of the transaction",
                );
                let error = error.with_hint("Read all rows first, or use another session.");
                self.tie = Tie::Cut;
                return Poll::Ready(Some(Err(DataFusionError::External(Box::new(error)))));
            }
            Tie::Block { signals, .. } => {
                if matches!(polled, Poll::Ready(Some(Err(_)))) {
                    signals.set_failed(true);
                }
            }
        }
        polled
    }
}

impl RecordBatchStream for TiedRows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
