//! Calls in the redo log: how recovery runs them again.
//!
//! Up to the first call recovery only puts rows where they were. A procedure reads, so from there
//! on what it can read has to be right at each commit:
//!
//! 1. Indexes have the entries of all hot rows, and later records keep them.
//! 2. A freeze that is not older than the checkpoint, and whose chunks the log does not name
//!    afterwards, counts from the commit on that it has: till then rows are in the hot chunks and
//!    the load is in no table, then it is the other way round. So rows have the ids that they had.
//! 3. A call is a transaction that begins at the commit before its own. It puts rows where its
//!    record says, and commits if it made the changes that the record has the checksum of.

use std::sync::Arc;

use super::trace::CallTrace;
use crate::error::{Error, ErrorKind, Result};
use crate::id::{CommitTs, RowId, RowPlace};
use crate::index::{TableIndex, add_entries, add_hot_rows, keys_in, remove_entries};
use crate::manifest::FrozenRecord;
use crate::mvcc::IsolationLevel;
use crate::redo::CallEffects;
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::ValueRef;

/// Rows whose entries are taken out of indexes at a time.
const DROPPED_ROWS: usize = 1_024;

/// Tables that procedures can read while they are recovered.
#[derive(Debug)]
pub(crate) struct Live {
    /// Freezes that are still to come, the last one first.
    freezes: Vec<Freeze>,
}

#[derive(Debug)]
struct Freeze {
    as_of: CommitTs,
    table: Arc<Table>,
    chunks: Vec<u64>,
    /// `None` if no row was left.
    load: Option<Arc<StoredLoad>>,
}

impl Live {
    /// Makes tables readable as they are before a commit. `freezes` are those that count and may
    /// be younger, each with its table.
    ///
    /// # Errors
    /// [`Error::Internal`] if an index is full.
    pub(crate) fn begin<'a>(
        tables: impl Iterator<Item = &'a Arc<Table>>,
        freezes: impl Iterator<Item = (&'a FrozenRecord, &'a Arc<Table>)>,
        commit: CommitTs,
    ) -> Result<Self> {
        let freeze = |(record, table): (&FrozenRecord, &Arc<Table>)| Freeze {
            as_of: record.as_of,
            table: Arc::clone(table),
            chunks: record.chunks.clone(),
            load: table.remove_load(record.load.load),
        };
        let mut freezes: Vec<Freeze> = freezes.map(freeze).collect();
        freezes.sort_by_key(|freeze| std::cmp::Reverse(freeze.as_of));
        let mut live = Self { freezes };
        live.advance(commit);
        for table in tables {
            add_hot_rows(table)?;
        }
        Ok(live)
    }

    /// Lets freezes count that have all commits before one.
    pub(crate) fn advance(&mut self, commit: CommitTs) {
        while let Some(freeze) = self.freezes.pop_if(|freeze| freeze.as_of < commit) {
            freeze.switch();
        }
    }

    /// Lets all freezes count.
    pub(crate) fn finish(mut self) {
        while let Some(freeze) = self.freezes.pop() {
            freeze.switch();
        }
    }

    /// Adds the entries of a row that is new in a hot chunk.
    ///
    /// # Errors
    /// [`Error::Internal`] if an index is full.
    pub(crate) fn add(table: &Table, row: RowId) -> Result<()> {
        let indexes = table.table_indexes().hold();
        add_entries(&indexes, &entries_of(table, &indexes, row))
    }

    /// Takes the entries of a row out that is about to be deleted; those of a frozen one do no
    /// harm.
    pub(crate) fn remove(table: &Table, row: RowId) {
        let indexes = table.table_indexes().hold();
        remove_entries(&indexes, &entries_of(table, &indexes, row));
    }
}

/// The entries of a hot row, for each of some indexes of its table; none if there is no such row.
fn entries_of(
    table: &Table,
    indexes: &[Arc<TableIndex>],
    row: RowId,
) -> Vec<Vec<(Vec<u8>, RowId)>> {
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Vec::new();
    };
    let entries = table.hot().with(chunk, |chunk| {
        chunk.with(|rows| {
            let is_there = usize::from(offset) < rows.len() && !rows.is_deleted(offset.into());
            let some: &[u16] = if is_there { &[offset] } else { &[] };
            keys_in(indexes, rows, (chunk.id(), some))
        })
    });
    entries.unwrap_or_default()
}

impl Freeze {
    /// Puts the load in the place of its chunks.
    fn switch(self) {
        let Self { table, chunks, load, .. } = self;
        for chunk in chunks.iter().filter_map(|chunk| table.hot().get(*chunk)) {
            let indexes = table.table_indexes().hold();
            let rows = chunk.with(|rows| rows.len());
            for start in (0..rows).step_by(DROPPED_ROWS) {
                let there = start..(start + DROPPED_ROWS).min(rows);
                let entries = chunk.with(|rows| {
                    let there = there.filter(|row| !rows.is_deleted(*row));
                    let some: Vec<u16> = there.map(|row| row as u16).collect();
                    keys_in(&indexes, rows, (chunk.id(), &some))
                });
                remove_entries(&indexes, &entries);
            }
        }
        table.hot().remove(&chunks);
        if let Some(load) = load {
            table.add_load(load);
        }
    }
}

/// Runs a procedure again whose call is the record of a commit; all before that are there.
///
/// # Errors
/// [`Error::UnknownProcedure`], [`Error::ProcedureChanged`]; that of a damaged block.
pub(crate) fn replay_call(
    store: &Store,
    commit: CommitTs,
    (procedure, arguments): (&str, &[ValueRef<'_>]),
    effects: CallEffects<'_>,
) -> Result<()> {
    let name = || procedure.to_owned();
    let registered = store
        .procedures()
        .get(procedure)
        .ok_or_else(|| Error::UnknownProcedure { procedure: name(), commit: Some(commit) })?;
    let changed = |reason| Error::ProcedureChanged { procedure: name(), commit, reason };
    let explained = |error: Error| match error.kind() {
        ErrorKind::ProcedureChanged | ErrorKind::Damaged | ErrorKind::Io | ErrorKind::NoSpace => {
            error
        }
        _ => changed(format!("it fails: {error}")),
    };
    store.all_transactions().resume(CommitTs(commit.0.saturating_sub(1)));
    // Nobody writes meanwhile, so nothing that it reads needs to be noted.
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    transaction.trace_call(CallTrace::replay(procedure, commit, effects));
    (registered.run)(&mut transaction, arguments).map_err(explained)?;
    match transaction.commit().map_err(explained)? {
        done if done == commit => {
            store.calls().note_replayed(commit);
            Ok(())
        }
        _ => Err(changed("it changes nothing".into())),
    }
}
