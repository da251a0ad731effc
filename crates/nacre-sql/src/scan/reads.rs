//! What a query read from mapped pools, and whether all of it was there to the end.
//!
//! Scans hand on values where they lie in a pool ([`super::array`]), so a page can be lost after
//! the scan has let go of it, while a join still holds it. So every query notes the blocks that it
//! opens, and the stream of its results asks after every batch, and at the end, whether they lost
//! a page. If so the query fails with an error that names the block; other queries are not
//! affected.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::Stream;
use nacre_store::BlockHandle;

use super::array::external;

/// The blocks that one query opened.
#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// One block of every pool.
    pools: Vec<BlockHandle>,
    blocks: Vec<BlockHandle>,
}

impl Reads {
    /// Notes that the query reads a block.
    pub(super) fn note(&self, block: &BlockHandle) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Scans go through a pool block by block, so the last one is the likely one.
        if !noted.pools.iter().rev().any(|pool| pool.same_mapping(block)) {
            noted.pools.push(block.note());
        }
        noted.blocks.push(block.note());
    }

    /// Returns an error if a block that was read lost a page. At the end of a query files are
    /// looked at too, for changes that no signal tells.
    fn check(&self, is_end: bool) -> Result<()> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_end {
            // What a file lost is noted; whether it concerns a block is asked next.
            noted.pools.iter().for_each(|pool| drop(pool.check_file()));
        }
        if !noted.pools.iter().any(BlockHandle::is_faulted) {
            return Ok(());
        }
        noted.blocks.iter().try_for_each(BlockHandle::check).map_err(external)
    }
}

/// The results of a query that noted what it reads.
struct CheckedStream {
    inner: SendableRecordBatchStream,
    reads: Arc<Reads>,
    is_finished: bool,
}

/// Checks after every batch of `stream` what was read for it.
pub(crate) fn checked(
    stream: SendableRecordBatchStream,
    reads: Arc<Reads>,
) -> SendableRecordBatchStream {
    Box::pin(CheckedStream { inner: stream, reads, is_finished: false })
}

impl CheckedStream {
    /// Decides what comes out for what the plan gave. Lost bytes explain every other failure, also
    /// a kernel's panic over offsets that became zeros under its hands.
    fn judge(
        &self,
        next: std::result::Result<Option<Result<RecordBatch>>, Box<dyn Any + Send>>,
    ) -> Option<Result<RecordBatch>> {
        let is_batch = matches!(next, Ok(Some(Ok(_))));
        match (self.reads.check(!is_batch), next) {
            (Err(error), _) => Some(Err(error)),
            (Ok(()), Ok(next)) => next,
            (Ok(()), Err(panic)) => resume_unwind(panic),
        }
    }
}

impl Stream for CheckedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_finished {
            return Poll::Ready(None);
        }
        let polled = catch_unwind(AssertUnwindSafe(|| self.inner.as_mut().poll_next(context)));
        let next = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(next)) => self.judge(Ok(next)),
            Err(panic) => self.judge(Err(panic)),
        };
        self.is_finished = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }
}

impl RecordBatchStream for CheckedStream {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}
