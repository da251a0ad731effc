//! What the transactions of a workload do with the engine.

use std::borrow::BorrowMut;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nacre_store::index::{Direction, ValueBounds};
use nacre_store::{
    Error, ErrorKind, IsolationLevel, Result, RowId, SingleVersion, Store, Table, Transaction,
    ValidationLevel, ValueRef,
};

use crate::oltp::table::Indexed;

/// One transaction of a workload.
pub(crate) trait Work {
    /// Hands on the rows of a key.
    fn lookup(
        &mut self,
        table: &Indexed,
        key: &[ValueRef<'_>],
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()>;

    /// Hands on the rows of a range of keys in their order, until `on_row` breaks.
    fn range(
        &mut self,
        table: &Indexed,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()>;

    fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<()>;

    fn update(
        &mut self,
        table: &Indexed,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<()>;

    fn delete(&mut self, table: &Indexed, row: RowId) -> Result<()>;

    /// Lets others go on, if several transactions run at once.
    fn step(&self) -> Step;
}

/// Waits for the others' steps, or for nothing.
pub(crate) struct Step {
    is_due: bool,
}

impl Step {
    const NONE: Self = Self { is_due: false };
    const ONE: Self = Self { is_due: true };
}

impl Future for Step {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::take(&mut self.is_due) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

/// What runs transactions.
pub(crate) trait System {
    type Work: Work;

    fn begin(&mut self) -> Self::Work;

    fn commit(&mut self, work: Self::Work) -> Result<()>;

    fn rollback(&mut self, work: Self::Work) -> Result<()>;
}

/// Transactions of the engine.
#[derive(Clone, Debug)]
pub(crate) struct MultiVersion {
    pub(crate) store: Store,
    pub(crate) level: IsolationLevel,
    pub(crate) validation: ValidationLevel,
    /// Whether a step lets others go on.
    pub(crate) is_interleaved: bool,
}

impl MultiVersion {
    pub(crate) fn new(store: &Store, level: IsolationLevel) -> Self {
        let validation = ValidationLevel::default();
        Self { store: store.clone(), level, validation, is_interleaved: false }
    }
}

/// A transaction of the engine, own or borrowed.
#[derive(Debug)]
pub(crate) struct Versioned<T = Transaction> {
    transaction: T,
    is_interleaved: bool,
}

impl<'a> Versioned<&'a mut Transaction> {
    /// Makes the work of a transaction that somebody else ends, and that nothing overlaps.
    pub(crate) fn alone(transaction: &'a mut Transaction) -> Self {
        Self { transaction, is_interleaved: false }
    }
}

impl System for MultiVersion {
    type Work = Versioned;

    fn begin(&mut self) -> Versioned {
        let mut transaction = self.store.begin(self.level);
        transaction.set_validation_level(self.validation);
        Versioned { transaction, is_interleaved: self.is_interleaved }
    }

    fn commit(&mut self, work: Self::Work) -> Result<()> {
        work.transaction.commit().map(drop)
    }

    fn rollback(&mut self, work: Self::Work) -> Result<()> {
        work.transaction.rollback();
        Ok(())
    }
}

impl<T: BorrowMut<Transaction>> Work for Versioned<T> {
    fn lookup(
        &mut self,
        table: &Indexed,
        key: &[ValueRef<'_>],
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()> {
        self.transaction.borrow_mut().lookup(&table.table, &table.index, key, columns, on_row)
    }

    fn range(
        &mut self,
        table: &Indexed,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.transaction.borrow_mut().range(
            &table.table,
            &table.index,
            bounds,
            direction,
            columns,
            on_row,
        )
    }

    fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<()> {
        self.transaction.borrow_mut().insert(table, values).map(drop)
    }

    fn update(
        &mut self,
        table: &Indexed,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<()> {
        self.transaction.borrow_mut().update(&table.table, row, changes).map(drop)
    }

    fn delete(&mut self, table: &Indexed, row: RowId) -> Result<()> {
        self.transaction.borrow_mut().delete(&table.table, row)
    }

    #[inline]
    fn step(&self) -> Step {
        if self.is_interleaved { Step::ONE } else { Step::NONE }
    }
}

/// Transactions without concurrency control.
#[derive(Debug, Default)]
pub(crate) struct OneVersion(SingleVersion);

impl System for OneVersion {
    type Work = SingleVersion;

    fn begin(&mut self) -> SingleVersion {
        std::mem::take(&mut self.0)
    }

    fn commit(&mut self, mut work: SingleVersion) -> Result<()> {
        work.commit();
        self.0 = work;
        Ok(())
    }

    fn rollback(&mut self, mut work: SingleVersion) -> Result<()> {
        work.rollback()?;
        self.0 = work;
        Ok(())
    }
}

impl Work for SingleVersion {
    fn lookup(
        &mut self,
        table: &Indexed,
        key: &[ValueRef<'_>],
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()> {
        SingleVersion::lookup(self, &table.table, &table.index, key, columns, on_row)
    }

    fn range(
        &mut self,
        table: &Indexed,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (table, index) = (&table.table, &table.index);
        SingleVersion::range(self, table, index, bounds, direction, columns, on_row)
    }

    fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<()> {
        SingleVersion::insert(self, table, values).map(drop)
    }

    fn update(
        &mut self,
        table: &Indexed,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<()> {
        SingleVersion::update(self, &table.table, row, changes)
    }

    fn delete(&mut self, table: &Indexed, row: RowId) -> Result<()> {
        SingleVersion::delete(self, &table.table, row)
    }

    #[inline]
    fn step(&self) -> Step {
        Step::NONE
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    /// As the workload wants it.
    RolledBack,
    /// Another transaction was in the way.
    Conflict,
}

/// Tells a conflict with another transaction from other errors.
pub(crate) fn is_conflict(error: &Error) -> bool {
    error.kind() == ErrorKind::SerializationConflict
}

/// Ends a transaction whose body says whether to keep the changes.
pub(crate) fn end<S: System>(system: &mut S, work: S::Work, body: Result<bool>) -> Result<Outcome> {
    let ended = match body {
        Ok(true) => system.commit(work).map(|()| Outcome::Committed),
        Ok(false) => system.rollback(work).map(|()| Outcome::RolledBack),
        Err(error) => {
            system.rollback(work)?;
            Err(error)
        }
    };
    match ended {
        Err(error) if is_conflict(&error) => Ok(Outcome::Conflict),
        ended => ended,
    }
}

/// Runs a body that never waits: that of a transaction which has the engine for itself.
///
/// # Errors
/// Those of the body; [`Error::Internal`] if it waits after all.
pub(crate) fn finish<T>(body: impl Future<Output = Result<T>>) -> Result<T> {
    let body = std::pin::pin!(body);
    match body.poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::Internal { reason: "a lone transaction waits".into() }),
    }
}
