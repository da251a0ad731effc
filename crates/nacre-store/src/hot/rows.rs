//! The rows of a hot chunk, as whoever holds its latch sees them.
//!
//! Retrieval of a row's version: it is as it stands, and exists unless it is marked deleted; each
//! change from the newest on that the snapshot does not see is undone. The first one that it sees
//! ends the walk, since all before it are seen too.
//!
//! # Invariants
//! 1. All columns have `len` rows. A row's place is never used for another one: a row that is
//!    deleted, or whose insert was rolled back, stays as a hole. If all are holes, columns may be
//!    empty (`is_hollow`).
//! # Source
//! [Muehlbauer16 2.2.2, 2.2.6]

use std::ops::Range;

use nacre_column::{CHUNK_ROWS, ColumnType};

use crate::error::Result;
use crate::hot::column::{HotColumn, Image};
use crate::hot::versions::{EntryId, VersionEntry, VersionKind, Versions};
use crate::id::CommitTs;
use crate::mvcc::{Snapshot, Stamps};
use crate::value::ValueRef;

/// Version heads that are compared with zero at once.
const HEADS_AT_ONCE: usize = 16;

/// Columns, holes and versions.
#[derive(Debug)]
pub(crate) struct HotRows {
    columns: Vec<HotColumn>,
    len: usize,
    /// A set bit means that the row does not exist now; empty if all do.
    deleted: Vec<u64>,
    pub(crate) versions: Versions,
    /// Counts what changed rows, so that whoever copied them knows whether the copy is good.
    writes: u64,
    /// Set when the rows were frozen: nothing changes any more.
    is_sealed: bool,
    /// Whether the values were given back, since there was no row left; `columns` are empty then.
    is_hollow: bool,
}

/// One version of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowView<'a> {
    rows: &'a HotRows,
    row: usize,
    /// Changes from here on are undone.
    head: EntryId,
    /// Except this one and those before it.
    stop: EntryId,
}

impl<'a> RowView<'a> {
    /// Returns the value of a column.
    #[inline]
    pub(crate) fn value(&self, column: usize) -> ValueRef<'a> {
        let column_values = &self.rows.columns[column];
        match self.head == self.stop {
            true => column_values.get(self.row),
            false => self.old_value(column),
        }
    }

    fn old_value(&self, column: usize) -> ValueRef<'a> {
        let (mut at, mut oldest) = (self.head, None);
        while at != self.stop {
            let entry = self.rows.versions.entry(at);
            if entry.kind == VersionKind::Update && usize::from(entry.column) == column {
                oldest = Some(entry.image());
            }
            at = entry.next;
        }
        let values = &self.rows.columns[column];
        oldest.map_or_else(|| values.get(self.row), |image| values.value_of(image))
    }
}

impl HotRows {
    pub(crate) fn new(types: &[ColumnType], range_rows: usize) -> Self {
        let columns = types.iter().copied().map(HotColumn::new).collect();
        let (deleted, versions) = (Vec::new(), Versions::new(range_rows));
        Self { columns, len: 0, deleted, versions, writes: 0, is_sealed: false, is_hollow: false }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn column(&self, column: usize) -> &HotColumn {
        &self.columns[column]
    }

    /// Returns a number that grows with every change of a row.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Whether there are values, but no row that somebody may see.
    pub(super) fn is_all_holes(&self) -> bool {
        // Most chunks that are asked for have their first row.
        !self.is_hollow && self.versions.is_empty() && (0..self.len).all(|row| self.is_deleted(row))
    }

    /// Gives back the memory of values that nobody reads any more: there is no row, and no more
    /// are appended.
    pub(super) fn hollow_out(&mut self) {
        self.writes += 1;
        self.is_hollow = true;
        self.columns.iter_mut().for_each(HotColumn::clear);
        self.versions.trim();
    }

    /// Gives all places values again, for a replay that has rows for some of them.
    fn fill_in(&mut self) -> Result<()> {
        for column in &mut self.columns {
            (0..self.len).try_for_each(|hole| column.push(hole, ValueRef::Null))?;
        }
        self.is_hollow = false;
        Ok(())
    }

    /// Whether the values were given back.
    #[cfg(test)]
    pub(crate) fn is_hollow(&self) -> bool {
        self.is_hollow
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    pub(crate) fn set_sealed(&mut self, is_sealed: bool) {
        self.is_sealed = is_sealed;
    }

    /// Whether a row of these values may be appended.
    pub(crate) fn has_room(&self, values: &[ValueRef<'_>]) -> bool {
        let fits = |(column, value): (&HotColumn, &ValueRef<'_>)| column.has_room(*value);
        self.len < CHUNK_ROWS && self.columns.iter().zip(values).all(fits)
    }

    /// Appends a row, visible to everybody, and returns where.
    ///
    /// # Errors
    /// A value of another class than its column; the row is then a hole.
    pub(crate) fn append(&mut self, values: &[ValueRef<'_>]) -> Result<usize> {
        self.writes += 1;
        let row = self.len;
        self.len += 1;
        let mut outcome = Ok(());
        for (column, value) in self.columns.iter_mut().zip(values) {
            if let Err(error) = column.push(row, *value) {
                column.push(row, ValueRef::Null)?;
                outcome = Err(error);
            }
        }
        if outcome.is_err() {
            self.set_deleted(row, true);
        }
        outcome.map(|()| row)
    }

    /// Gives a place its row, visible to everybody; places before it that have none are holes.
    ///
    /// # Errors
    /// A value of another class than its column; the row is then a hole.
    pub(crate) fn put(&mut self, row: usize, values: &[ValueRef<'_>]) -> Result<()> {
        self.writes += 1;
        if self.is_hollow {
            self.fill_in()?;
        }
        while self.len < row {
            let hole = self.len;
            for column in &mut self.columns {
                column.push(hole, ValueRef::Null)?;
            }
            self.len += 1;
            self.set_deleted(hole, true);
        }
        if row == self.len {
            return self.append(values).map(|_| ());
        }
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.set(row, *value)?;
        }
        self.set_deleted(row, false);
        Ok(())
    }

    /// Changes a row for everybody; returns whether there is one with room for the changes.
    ///
    /// # Errors
    /// A value of another class than its column.
    pub(crate) fn replace(
        &mut self,
        row: usize,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<bool> {
        if !self.exists(row) || !self.can_hold(changes) {
            return Ok(false);
        }
        self.writes += 1;
        for (column, value) in changes {
            self.columns[*column].set(row, *value)?;
        }
        Ok(true)
    }

    /// Deletes a row for everybody; returns whether there was one.
    pub(crate) fn remove(&mut self, row: usize) -> bool {
        let exists = self.exists(row);
        if exists {
            self.set_deleted(row, true);
        }
        exists
    }

    pub(crate) fn exists(&self, row: usize) -> bool {
        row < self.len && !self.is_deleted(row)
    }

    /// Whether all of a row's changes can be made in place.
    pub(crate) fn can_hold(&self, changes: &[(usize, ValueRef<'_>)]) -> bool {
        changes.iter().all(|(column, value)| self.columns[*column].can_hold(*value))
    }

    /// Changes a column of a row and keeps what it was.
    pub(crate) fn change(
        &mut self,
        row: usize,
        stamp: u32,
        (column, value): (usize, ValueRef<'_>),
    ) -> Result<()> {
        self.writes += 1;
        let image = self.columns[column].image(row);
        self.columns[column].set(row, value)?;
        self.versions.push(row, stamp, VersionKind::Update, column as u16, image);
        Ok(())
    }

    /// Changes columns of a row without a version.
    pub(crate) fn overwrite(
        &mut self,
        row: usize,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<()> {
        self.writes += 1;
        changes.iter().try_for_each(|(column, value)| self.columns[*column].set(row, *value))
    }

    /// Makes a row that was deleted without a version exist again.
    pub(super) fn revive(&mut self, row: usize) {
        self.set_deleted(row, false);
    }

    /// Puts a column of a row back to what it was, without a version.
    pub(super) fn put_back(&mut self, row: usize, column: usize, image: Image) {
        self.writes += 1;
        self.columns[column].restore(row, image);
    }

    /// Deletes a row without a version.
    pub(crate) fn erase(&mut self, row: usize) {
        self.set_deleted(row, true);
    }

    /// Takes the newest change of a row back.
    pub(crate) fn undo(&mut self, row: usize) {
        self.writes += 1;
        let Some(entry) = self.versions.pop(row) else {
            return;
        };
        match entry.kind {
            VersionKind::Insert => self.set_deleted(row, true),
            VersionKind::Delete => self.set_deleted(row, false),
            VersionKind::Update => {
                self.columns[usize::from(entry.column)].restore(row, entry.image());
            }
        }
    }

    /// Notes an insert or a delete.
    pub(crate) fn mark(&mut self, row: usize, stamp: u32, kind: VersionKind) {
        self.versions.push(row, stamp, kind, 0, Image::default());
        if kind == VersionKind::Delete {
            self.set_deleted(row, true);
        }
    }

    #[inline]
    pub(crate) fn is_deleted(&self, row: usize) -> bool {
        self.deleted.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Whether a row exists in some version.
    pub(crate) fn may_be_seen(&self, row: usize) -> bool {
        !self.is_deleted(row) || self.versions.head(row) != 0
    }

    fn set_deleted(&mut self, row: usize, is_deleted: bool) {
        self.writes += 1;
        let word = row / 64;
        if word >= self.deleted.len() {
            self.deleted.resize(word + 1, 0);
        }
        match is_deleted {
            true => self.deleted[word] |= 1 << (row % 64),
            false => self.deleted[word] &= !(1 << (row % 64)),
        }
    }

    /// Returns the version of a row that a snapshot sees, if it sees any.
    #[inline]
    pub(crate) fn view(
        &self,
        row: usize,
        snapshot: Snapshot,
        stamps: &Stamps,
    ) -> Option<RowView<'_>> {
        let head = self.versions.head(row);
        let mut exists = row < self.len && !self.is_deleted(row);
        let mut at = head;
        while at != 0 {
            let entry = self.versions.entry(at);
            if snapshot.sees(stamps.get(entry.stamp)) {
                break;
            }
            match entry.kind {
                VersionKind::Insert => return None,
                VersionKind::Delete => exists = true,
                VersionKind::Update => {}
            }
            at = entry.next;
        }
        exists.then_some(RowView { rows: self, row, head, stop: at })
    }

    /// Drops versions from the middle of a row's chain that no snapshot can tell from their
    /// elders: an update of a column goes if an older one of the same column is there and no active
    /// snapshot lies between the two. What `now` does not see is left alone.
    pub(crate) fn prune(
        &mut self,
        row: usize,
        starts: &[CommitTs],
        now: CommitTs,
        stamps: &Stamps,
    ) {
        let updates: Vec<(u16, u64)> = {
            let mut updates = Vec::new();
            let mut at = self.versions.head(row);
            while at != 0 {
                let entry = self.versions.entry(at);
                if entry.kind == VersionKind::Update {
                    updates.push((entry.column, stamps.get(entry.stamp)));
                }
                at = entry.next;
            }
            updates
        };
        let mut rest = updates.as_slice();
        self.versions.retain(row, |entry| {
            if entry.kind != VersionKind::Update {
                return true;
            }
            let Some((&(column, stamp), older)) = rest.split_first() else {
                return true;
            };
            rest = older;
            let Some((_, elder)) = older.iter().find(|(other, _)| *other == column) else {
                return true;
            };
            let is_between = |start: &CommitTs| (*elder..stamp).contains(&start.0);
            stamp > now.0 || starts.iter().any(is_between)
        });
    }

    /// Returns the changes of a row that may still have to be undone, newest first.
    pub(crate) fn changes(&self, row: usize) -> impl Iterator<Item = &VersionEntry> {
        let mut at = self.versions.head(row);
        std::iter::from_fn(move || {
            let entry = (at != 0).then(|| self.versions.entry(at))?;
            at = entry.next;
            Some(entry)
        })
    }

    /// Calls `on_run` for runs of rows that everybody sees as they stand, and `on_row` for the
    /// other ones that the snapshot sees, in row order.
    #[inline]
    pub(crate) fn visit(
        &self,
        rows: Range<usize>,
        snapshot: Snapshot,
        stamps: &Stamps,
        mut on_run: impl FnMut(Range<usize>),
        mut on_row: impl FnMut(usize, RowView<'_>),
    ) {
        let rows = rows.start.min(self.len)..rows.end.min(self.len);
        let mut run = rows.start;
        if !self.versions.is_empty() {
            for range in self.versions.positions.ranges(&rows) {
                self.visit_range(range, &rows, |row| {
                    self.live_runs(run..row, &mut on_run);
                    run = row + 1;
                    if let Some(view) = self.view(row, snapshot, stamps) {
                        on_row(row, view);
                    }
                });
            }
        }
        self.live_runs(run..rows.end, &mut on_run);
    }

    /// Calls `on_versioned` for the versioned rows of a range, and corrects what is known of them
    /// if all of it is visited.
    #[inline]
    fn visit_range(&self, range: usize, rows: &Range<usize>, mut on_versioned: impl FnMut(usize)) {
        let known = self.versions.positions.get(range);
        if known.is_empty() {
            return;
        }
        let some = known.start.max(rows.start)..known.end.min(rows.end);
        let is_whole = some == known;
        let heads = self.versions.heads();
        let (mut first, mut end) = (known.end, known.start);
        let mut row = some.start;
        while row < some.end {
            if row + HEADS_AT_ONCE <= some.end
                && heads[row..row + HEADS_AT_ONCE].iter().fold(0, |all, head| all | head) == 0
            {
                row += HEADS_AT_ONCE;
                continue;
            }
            let stop = (row + HEADS_AT_ONCE).min(some.end);
            for (row, head) in (row..stop).zip(&heads[row..stop]) {
                if *head != 0 {
                    first = first.min(row);
                    end = row + 1;
                    on_versioned(row);
                }
            }
            row = stop;
        }
        if is_whole && (first, end) != (known.start, known.end) {
            self.versions.positions.correct(range, first..end);
        }
    }

    /// Calls `on_run` for the runs of rows that are no holes.
    #[inline]
    fn live_runs(&self, rows: Range<usize>, on_run: &mut impl FnMut(Range<usize>)) {
        if rows.is_empty() {
            return;
        }
        if self.deleted.is_empty() {
            return on_run(rows);
        }
        let mut run = rows.start;
        let mut row = rows.start;
        while row < rows.end {
            let word = self.deleted.get(row / 64).copied().unwrap_or(0) >> (row % 64);
            if word == 0 {
                row = (row / 64 + 1) * 64;
                continue;
            }
            row += word.trailing_zeros() as usize;
            if row >= rows.end {
                break;
            }
            if run < row {
                on_run(run..row);
            }
            row += 1;
            run = row;
        }
        if run < rows.end {
            on_run(run..rows.end);
        }
    }
}
