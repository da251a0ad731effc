//! What runs transactions.

use super::record::{Cells, Filter, Mask};

/// An isolation level, under its SQL name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

pub(crate) const LEVELS: [Level; 3] =
    [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

/// The transaction has to be rolled back and may be tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict(pub(crate) String);

pub(crate) trait Engine: Sync {
    type Client<'a>: Client
    where
        Self: 'a;

    fn begin(&self, level: Level) -> Self::Client<'_>;

    /// Loads rows in bulk and returns when that was committed; `None` if the engine cannot. Nobody
    /// else may commit meanwhile.
    fn load(&self, _rows: &[Cells]) -> Option<u64> {
        None
    }
}

/// A transaction that runs. What is not ended is rolled back.
pub(crate) trait Client {
    /// Returns the moment whose state the last statement read.
    fn snapshot(&self) -> u64;

    /// Returns the rows that satisfy `filter`; cells outside of `columns` are 0, but for the id.
    fn read(&mut self, filter: &Filter, columns: Mask) -> Result<Vec<Cells>, Conflict>;

    fn insert(&mut self, cells: &Cells) -> Result<(), Conflict>;

    /// Changes a row that this transaction has read; false if it is gone.
    fn update(&mut self, id: i64, changes: &[(usize, i64)]) -> Result<bool, Conflict>;

    /// Deletes a row that this transaction has read; false if it is gone.
    fn delete(&mut self, id: i64) -> Result<bool, Conflict>;

    /// Returns the commit's timestamp if anything was written.
    fn commit(self) -> Result<Option<u64>, Conflict>;

    fn rollback(self);
}
