//! Workers and the queries that they run.
//!
//! 1. A [`WorkerPool`] makes its threads once. Each takes a morsel of the query that had least of
//!    the workers' time so far, runs it to its end and takes the next: a query has as many workers
//!    as are free, and more or fewer of them from morsel to morsel.
//! 2. The last worker of a pipeline ends it and begins the next one; no worker waits for another.
//! 3. While other queries wait, a worker puts a morsel aside after some milliseconds, and goes on
//!    with it when its query has the least time again: a query of one long morsel, as the rows of a
//!    sort or a recursion are, holds up no other. The end of a pipeline is not divided.
//! 4. Rows go to a [`ResultStream`] by way of a channel that is bounded in bytes. If it is full the
//!    morsel is put aside, and its worker takes one of another query.
//! 5. Cancel flag and deadline are looked at before each vector. A panic ends its query only.
//!
//! # Source
//! [Muehlbauer16 section 6.4] a dispatcher that assigns pipeline jobs at run time, elastic degree
//! of parallelism, workers made at start and pinned. Differs: fairness by virtual time; a morsel
//! is a chunk of at most 65,536 rows.

mod pool;
mod query;
mod stream;
mod worker;

pub use pool::{WorkerPool, WorkerPoolOptions};
pub use stream::{QueryOptions, QueryReport, ResultStream};
