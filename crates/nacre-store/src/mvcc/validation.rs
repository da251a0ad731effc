//! Validation: could all reads of a transaction have been made at its commit?
//!
//! The rows that others have written since its start are checked against what it has read: as they
//! were at that start, which versions are kept for as long as the transaction is active, and as
//! each commit left them. Both are taken under one latch, so it does not matter that versions in
//! between may be dropped meanwhile.
//!
//! Compaction moves rows without changing them (`freeze/compact.rs`): what was read is as it was,
//! so that is no conflict. A write to such a row afterwards is one if the row as it was before the
//! move belongs to what was read. The commit that moved it tells where that is; it can be read,
//! since its load stays as long as a snapshot sees the row there. The row cannot be moved again:
//! the hot chunk is not frozen while it holds versions.
//!
//! # Invariants
//! 1. A conflict is never missed; one may be found where there is none, since predicates are coarse
//!    at their edges.
//! # Source
//! [Muehlbauer16 2.2.3] precision locking. Differs: the before-image is that of the start and not
//! that of the commit before, so a column that was changed back is none that changed; a bulk load
//! conflicts with any read of its table, its rows are not looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hot::{HotChunk, RowView};
use crate::id::{CommitTs, RowId};
use crate::manifest::{LoadId, TableId};
use crate::mvcc::transactions::{Change, Committed};
use crate::mvcc::undo::{GoneTable, Touched, TouchedChunk};
use crate::mvcc::{NOBODY, Snapshot};
use crate::predicate_log::{PredicateLog, PredicateTree, RowChange, RowImage, ValidationLevel};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// By table; `None` if nothing was read of it.
type Trees<'a> = BTreeMap<TableId, Option<PredicateTree<'a>>>;

/// Commits since the start that moved rows, by the hot chunk that they moved them into, with the
/// first row of each in it. Rows are appended, so the first rows ascend.
type Moves = BTreeMap<*const HotChunk, Vec<(u16, Arc<Committed>)>>;

/// What a transaction has read, ready to be compared with what others wrote.
pub(crate) struct Validator<'a> {
    log: &'a PredicateLog,
    /// The transaction's start.
    start: CommitTs,
    level: ValidationLevel,
    /// Built for the tables that others wrote.
    trees: Trees<'a>,
    moves: Moves,
}

impl<'a> Validator<'a> {
    pub(crate) fn new(log: &'a mut PredicateLog, start: CommitTs, level: ValidationLevel) -> Self {
        log.unfold();
        Self { log, start, level, trees: BTreeMap::new(), moves: Moves::new() }
    }

    /// Checks what another transaction committed meanwhile; they come in the order of commits.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] naming the table, what was read and the row that was
    /// written; that of a damaged block.
    pub(crate) fn check(&mut self, committed: &Arc<Committed>) -> Result<()> {
        let writes = match &committed.change {
            Change::Writes(writes) if writes.undo.are_moves() => {
                for (chunk, first) in writes.undo.moved_into() {
                    let moves = self.moves.entry(Arc::as_ptr(chunk)).or_default();
                    moves.push((first, Arc::clone(committed)));
                }
                return Ok(());
            }
            Change::Writes(writes) => {
                self.check_gone(&writes.gone)?;
                writes
            }
            Change::Load(table) => return self.check_load(table),
            Change::Gone(tables) => return self.check_gone(tables),
            Change::Nothing => return Ok(()),
        };
        for (touched, row) in writes.undo.rows() {
            let (table, start, level) = (&touched.table, self.start, self.level);
            let Some(tree) = tree_of(&mut self.trees, self.log, table.id()) else {
                continue;
            };
            let (found, row) = match &touched.chunk {
                TouchedChunk::Hot(chunk) => {
                    let id = RowId::hot(chunk.id(), row);
                    let before = Snapshot { start, tx: NOBODY };
                    let after = Snapshot { start: committed.ts, tx: committed.tx };
                    let found = check_hot(tree, level, (chunk, id), (before, after));
                    let found = match (found, moved_from(&self.moves, chunk, row)) {
                        (None, Some(from)) => check_frozen(tree, level, table, from)?,
                        (found, _) => found,
                    };
                    (found, Some(id))
                }
                TouchedChunk::Frozen { load, index, .. } => {
                    let found = check_frozen(tree, level, table, (*load, *index, row))?;
                    (found, RowId::frozen(*load, *index, row))
                }
            };
            if let Some(predicate) = found {
                let read = tree.describe(predicate, &table.schema());
                let row = row.map_or_else(String::new, |row| format!(" at {row}"));
                return Err(conflict(
                    table,
                    format!(
                        "a transaction that committed since changed the row{row}, which belongs to \
                         what this one read ({read})"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn check_load(&mut self, table: &Arc<Table>) -> Result<()> {
        match self.has_read(table.id()) {
            true => Err(conflict(table, "rows were loaded since this transaction read it".into())),
            false => Ok(()),
        }
    }

    /// Refuses reads of dropped and replaced tables: writes to their successors have other ids.
    fn check_gone(&self, tables: &[GoneTable]) -> Result<()> {
        if let Some(table) = tables.iter().find(|table| self.has_read(table.id)) {
            let reason = "its definition changed since this transaction read it".into();
            return Err(Error::SerializationConflict { table: table.name.clone(), reason });
        }
        Ok(())
    }

    fn has_read(&self, table: TableId) -> bool {
        self.log.unfolded(table).is_some_and(|log| !log.is_empty())
    }
}

/// Returns the predicates of a table as a tree, if there are any.
fn tree_of<'a, 't>(
    trees: &'t mut Trees<'a>,
    log: &'a PredicateLog,
    table: TableId,
) -> Option<&'t PredicateTree<'a>> {
    let build = || log.unfolded(table).filter(|log| !log.is_empty()).map(|log| log.tree());
    trees.entry(table).or_insert_with(build).as_ref()
}

/// Returns where a row was before one of some commits moved it, if one did.
fn moved_from(moves: &Moves, chunk: &Arc<HotChunk>, row: u16) -> Option<(LoadId, u32, u16)> {
    let moves = moves.get(&Arc::as_ptr(chunk))?;
    let last = moves.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
    match &moves[last].1.change {
        Change::Writes(writes) => match writes.undo.moved_from(chunk, row)? {
            (Touched { chunk: TouchedChunk::Frozen { load, index, .. }, .. }, row) => {
                Some((*load, *index, row))
            }
            _ => None,
        },
        Change::Load(_) | Change::Gone(_) | Change::Nothing => None,
    }
}

fn check_hot(
    tree: &PredicateTree<'_>,
    level: ValidationLevel,
    (chunk, id): (&HotChunk, RowId),
    (before, after): (Snapshot, Snapshot),
) -> Option<usize> {
    let row = usize::from(id.offset());
    chunk.with(|rows| {
        let image = |view| HotImage { row: id, view };
        let before = rows.view(row, before, chunk.stamps()).map(image);
        let after = rows.view(row, after, chunk.stamps()).map(image);
        match (&before, &after) {
            (None, None) => None,
            (None, Some(after)) => tree.conflict(RowChange::Insert(after), level),
            (Some(before), None) => tree.conflict(RowChange::Delete(before), level),
            (Some(before), Some(after)) => {
                let is_changed =
                    |column: &usize| !is_same(before.value(*column), after.value(*column));
                let changed = &tree.touched().iter().filter(is_changed).collect();
                tree.conflict(RowChange::Update { before, after, changed }, level)
            }
        }
    })
}

/// Tells whether nobody can tell one value from the other; zeros of both signs are two.
fn is_same(left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
    match (left, right) {
        (ValueRef::Float32(left), ValueRef::Float32(right)) => left.to_bits() == right.to_bits(),
        (ValueRef::Float64(left), ValueRef::Float64(right)) => left.to_bits() == right.to_bits(),
        _ => left == right,
    }
}

fn check_frozen(
    tree: &PredicateTree<'_>,
    level: ValidationLevel,
    table: &Arc<Table>,
    (load, index, row): (LoadId, u32, u16),
) -> Result<Option<usize>> {
    let everything = Snapshot { start: CommitTs(u64::MAX), tx: NOBODY };
    let (Some(chunk), Some(id)) =
        (table.frozen_chunk(load, index, &everything)?, RowId::frozen(load, index, row))
    else {
        return Ok(None);
    };
    let columns = table.definition().columns.len();
    let mut before = FrozenImage { row: id, values: vec![Value::Null; columns] };
    // Predicates ask for no others.
    for column in tree.touched().iter().filter(|column| *column < columns) {
        before.values[column] = chunk.value(column, row.into())?;
    }
    let found = tree.conflict(RowChange::Delete(&before), level);
    // Who read the row before it was frozen knows it by the id that it had.
    Ok(match (found, table.forwards().origin(id)) {
        (None, Some(origin)) => {
            before.row = origin;
            tree.conflict(RowChange::Delete(&before), level)
        }
        _ => found,
    })
}

fn conflict(table: &Table, reason: String) -> Error {
    Error::SerializationConflict { table: table.schema().name.clone(), reason }
}

struct HotImage<'a> {
    row: RowId,
    view: RowView<'a>,
}

impl RowImage for HotImage<'_> {
    fn row(&self) -> RowId {
        self.row
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.view.value(column)
    }
}

struct FrozenImage {
    row: RowId,
    values: Vec<Value>,
}

impl RowImage for FrozenImage {
    fn row(&self) -> RowId {
        self.row
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.values[column].as_ref()
    }
}
