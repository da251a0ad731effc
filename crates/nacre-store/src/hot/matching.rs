//! Rows of a hot chunk that match conditions: what a scan wants of it.
//!
//! Under one hold of the latch, conditions are evaluated first: on the arrays by the kernels of
//! frozen plain blocks for runs of rows that everybody sees as they stand, on single values for
//! rows with versions. Only the wanted columns of the rows that match are copied.
//!
//! # Source
//! [Muehlbauer16 section 7.3] uncompressed chunks offer the scan the same interface as compressed
//! ones.

use std::ops::Range;

use nacre_column::{ColumnBuffer, Flavour, Restriction, kernel};

use crate::hot::chunk::HotChunkRef;
use crate::hot::column::HotColumn;
use crate::hot::rows::HotRows;
use crate::value::ValueRef;

/// A condition on one column.
#[derive(Clone, Copy)]
pub enum HotCondition<'a> {
    Restriction(&'a Restriction),
    /// On strings that are not null.
    Predicate(&'a dyn Fn(&[u8]) -> bool),
}

impl std::fmt::Debug for HotCondition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Restriction(restriction) => write!(f, "{restriction}"),
            Self::Predicate(_) => f.write_str("predicate"),
        }
    }
}

impl HotCondition<'_> {
    fn holds(&self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Restriction(restriction), value) => value.matches(restriction),
            (Self::Predicate(predicate), ValueRef::Bytes(value)) => predicate(value),
            (Self::Predicate(_), _) => false,
        }
    }
}

/// What is read together.
struct Matching<'m> {
    latched: &'m HotRows,
    conditions: &'m [(usize, HotCondition<'m>)],
    columns: &'m [usize],
    flavour: Flavour,
    buffers: &'m mut [ColumnBuffer],
    offsets: &'m mut Vec<u16>,
    bits: Vec<u64>,
    left: Vec<u64>,
    positions: Vec<u16>,
}

impl Matching<'_> {
    fn run(&mut self, run: Range<usize>) {
        self.left.clear();
        for (column, condition) in self.conditions {
            let column = self.latched.column(*column);
            column.select(run.clone(), *condition, self.flavour, &mut self.bits);
            if self.left.is_empty() {
                std::mem::swap(&mut self.left, &mut self.bits);
            } else {
                self.left.iter_mut().zip(&self.bits).for_each(|(left, bits)| *left &= bits);
            }
        }
        if self.conditions.is_empty() {
            self.offsets.extend(run.clone().map(|row| row as u16));
            for (buffer, column) in self.buffers.iter_mut().zip(self.columns) {
                self.latched.column(*column).copy_to(run.clone(), buffer);
            }
            return;
        }
        kernel::positions(&self.left, &mut self.positions);
        if self.positions.is_empty() {
            return;
        }
        let start = run.start;
        self.offsets.extend(self.positions.iter().map(|at| (start + usize::from(*at)) as u16));
        for (buffer, column) in self.buffers.iter_mut().zip(self.columns) {
            self.latched.column(*column).gather_to(start, &self.positions, buffer);
        }
    }
}

impl HotChunkRef {
    /// Returns `columns` of those of the `rows` that the snapshot sees and that satisfy all
    /// `conditions`, each on the column with it, and which rows these are. The latch is held for
    /// all of them: ask for a vector at a time. Predicates must not use the store.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn read_matching(
        &self,
        rows: Range<usize>,
        conditions: &[(usize, HotCondition<'_>)],
        columns: &[usize],
        flavour: Flavour,
    ) -> (Vec<ColumnBuffer>, Vec<u16>) {
        let rows = rows.start.min(self.rows())..rows.end.min(self.rows());
        let mut offsets = Vec::new();
        let types = self.chunk().types();
        let mut buffers: Vec<ColumnBuffer> =
            columns.iter().map(|&column| ColumnBuffer::new(types[column])).collect();
        self.chunk().with(|latched| {
            let matching = std::cell::RefCell::new(Matching {
                latched,
                conditions,
                columns,
                flavour,
                buffers: &mut buffers,
                offsets: &mut offsets,
                bits: Vec::new(),
                left: Vec::new(),
                positions: Vec::new(),
            });
            let on_run = |run: Range<usize>| matching.borrow_mut().run(run);
            latched.visit(rows, self.snapshot(), self.chunk().stamps(), on_run, |row, view| {
                if conditions.iter().all(|(column, condition)| condition.holds(view.value(*column)))
                {
                    let matching = &mut *matching.borrow_mut();
                    matching.offsets.push(row as u16);
                    for (buffer, column) in matching.buffers.iter_mut().zip(columns) {
                        view.value(*column).push_to(buffer);
                    }
                }
            });
        });
        (buffers, offsets)
    }
}

impl HotColumn {
    /// Tells which of the rows match, all of them as they stand.
    fn select(
        &self,
        rows: Range<usize>,
        condition: HotCondition<'_>,
        flavour: Flavour,
        bits: &mut Vec<u64>,
    ) {
        let numbers = self.slice(rows.clone());
        if let (HotCondition::Restriction(restriction), Some(numbers)) = (condition, numbers) {
            let is_null_wanted = matches!(restriction, Restriction::IsNull);
            kernel::select_values(flavour, numbers, restriction, bits);
            if self.has_nulls() {
                for (at, row) in rows.enumerate() {
                    if self.is_null(row) {
                        let bit = 1 << (at % 64);
                        let word = &mut bits[at / 64];
                        *word = if is_null_wanted { *word | bit } else { *word & !bit };
                    }
                }
            }
            return;
        }
        bits.clear();
        bits.resize(rows.len().div_ceil(64), 0);
        for (at, row) in rows.enumerate() {
            bits[at / 64] |= u64::from(condition.holds(self.get(row))) << (at % 64);
        }
    }
}
