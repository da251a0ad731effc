//! Waits for statements, and for reasons to give them up: a cancel request, a timeout, the end of
//! the server, a client that is gone.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures::FutureExt;
use nacre_sql::{Error, ErrorKind, Progress, Result, Underway};
use tokio::task::unconstrained;

use super::copy::CopySink;
use super::serving::{Connection, End, Failure};
use super::thread_wait::sleep_until;
use crate::sessions::Interrupt;

/// Bytes that a client may send ahead while a statement runs.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// What a statement of the client needs beside its future.
#[derive(Default)]
pub(super) struct Work {
    pub(super) progress: Arc<Progress>,
    /// Rows of COPY TO STDOUT, which are sent while it runs.
    pub(super) sink: Option<CopySink>,
    /// When the statement has to be over.
    pub(super) deadline: Option<Instant>,
}

impl Work {
    fn has_rows(&self) -> bool {
        self.sink.as_ref().is_some_and(CopySink::has_rows)
    }
}

/// Why a statement was given up.
pub(super) enum Reason {
    Interrupt(Interrupt),
    Timeout,
    Gone,
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Interrupt(interrupt) => interrupted(interrupt),
            Reason::Timeout => cancelled("statement timeout").into(),
            Reason::Gone => Self::Connection(End::Closed),
        }
    }
}

/// Ends at a moment; never without one.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Connection {
    /// Runs a statement's future to its end, or gives it up for a good reason. One that changes
    /// something at that moment is waited for: only its end says what was done.
    pub(super) async fn finish<T>(
        &mut self,
        statement: impl Future<Output = Result<T>>,
    ) -> std::result::Result<T, Failure> {
        let deadline = self.deadline;
        self.finish_work(statement, Work { deadline, ..Work::default() }).await
    }

    /// As [`Connection::finish`].
    pub(super) async fn finish_work<T>(
        &mut self,
        statement: impl Future<Output = Result<T>>,
        work: Work,
    ) -> std::result::Result<T, Failure> {
        let underway = Underway::default();
        let session = Arc::clone(&self.session);
        let statement = guarded(statement, move || session.fail_block());
        let mut statement = pin!(underway.watch(statement));
        // What it does at once on several threads is for the workers, not for this one.
        let workers = self.shared.workers.clone();
        let mut statement = poll_fn(|context| {
            let _entered = workers.enter();
            statement.as_mut().poll(context)
        });
        // Short statements end here, before anybody is asked to wake us.
        let mut done = (&mut statement).now_or_never();
        let reason = loop {
            let given_up = self.hand_on(&work).await?;
            match (done.take(), given_up) {
                (Some(done), None) => return done.map_err(Failure::Statement),
                (Some(_), Some(reason)) => return Err(reason.into()),
                (None, Some(reason)) => break reason,
                (None, None) => {}
            }
            // Nothing is computed while rows wait for a client that is slow.
            let step = poll_fn(|context| match statement.poll_unpin(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if work.has_rows() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            tokio::select! {
                biased;
                step = step => done = step,
                // The statement may have used up what a task may do at a time.
                reason = unconstrained(self.reason(&work)) => if let Some(reason) = reason? {
                    break reason;
                }
            }
        };
        work.progress.cancel();
        let done = poll_fn(|context| match statement.poll_unpin(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if underway.is_working() => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        });
        match (done.await, reason) {
            (_, reason @ (Reason::Gone | Reason::Interrupt(Interrupt::Stop))) => Err(reason.into()),
            (Some(Ok(done)), _) => Ok(done),
            (Some(Err(error)), _) if error.kind() != ErrorKind::Cancelled => Err(error.into()),
            (_, reason) => Err(reason.into()),
        }
    }

    /// Sends the rows that the statement has made, unless there is a reason to give it up.
    async fn hand_on(&mut self, work: &Work) -> std::result::Result<Option<Reason>, End> {
        let Some(sink) = work.sink.as_ref().filter(|sink| sink.has_rows()) else {
            return Ok(None);
        };
        sink.hand_to(&mut self.out);
        self.send_before(work.deadline).await
    }

    /// Sends what was gathered, unless there is a reason to give the statement up meanwhile.
    pub(super) async fn send_before(
        &mut self,
        deadline: Option<Instant>,
    ) -> std::result::Result<Option<Reason>, End> {
        let Self { stream, registered, out, .. } = self;
        tokio::select! {
            biased;
            asked = registered.signals.interrupt() => Ok(Some(Reason::Interrupt(asked))),
            sent = out.send(stream) => sent.map(|()| None).map_err(End::from),
            () = passed(deadline) => Ok(Some(Reason::Timeout)),
        }
    }

    /// Waits for a reason to give a statement up, and reads ahead meanwhile; `None` asks to look
    /// again.
    async fn reason(&mut self, work: &Work) -> std::result::Result<Option<Reason>, End> {
        let Self { frames, stream, registered, .. } = self;
        let has_room = frames.len() < AHEAD_BYTES_MAX;
        tokio::select! {
            biased;
            interrupt = registered.signals.interrupt() => Ok(Some(Reason::Interrupt(interrupt))),
            read = frames.fill(stream), if has_room => Ok(match read {
                Ok(0) | Err(_) => Some(Reason::Gone),
                Ok(_) => None,
            }),
            () = passed(work.deadline) => Ok(Some(Reason::Timeout)),
        }
    }
}

/// Makes an error of a panic, which is a bug, so that the session goes on; what the statement did
/// is rolled back with it. `failed` notes that it failed.
async fn guarded<T>(
    statement: impl Future<Output = Result<T>>,
    failed: impl FnOnce(),
) -> Result<T> {
    // What the statement held is dropped with it, and others see only what was committed.
    match AssertUnwindSafe(statement).catch_unwind().await {
        Ok(done) => done,
        Err(panic) => {
            failed();
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let message = format!("internal error: {}", text.unwrap_or("a statement panicked"));
            Err(Error::new(ErrorKind::Internal, message)
                .with_hint("This is a bug in Nacre. Please report it with the statement."))
        }
    }
}

/// Returns what becomes of a statement that is interrupted while nothing is done.
pub(super) fn interrupted(interrupt: Interrupt) -> Failure {
    match interrupt {
        Interrupt::Stop => Failure::Connection(End::shutdown()),
        Interrupt::Cancel => cancelled("user request").into(),
    }
}

fn cancelled(why: &str) -> Error {
    Error::new(ErrorKind::Cancelled, format!("canceling statement due to {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_statement() {
        let mut is_failed = false;
        let statement = async {
            let columns: [u8; 0] = [];
            Ok(columns[std::hint::black_box(3)])
        };
        let error = guarded(statement, || is_failed = true).await.unwrap_err();
        assert_eq!(error.sqlstate(), "XX000");
        assert!(error.message().contains("index out of bounds"), "{}", error.message());
        assert!(is_failed);
    }

    #[tokio::test]
    async fn an_error_stays_what_it_is() {
        let failing = async { Err::<(), _>(Error::new(ErrorKind::Syntax, "no")) };
        let error = guarded(failing, || panic!("it did not panic")).await.unwrap_err();
        assert_eq!(error.message(), "no");
    }
}
