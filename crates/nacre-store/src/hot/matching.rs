//! Rows of a hot chunk that match conditions: what a scan wants of it.
//!
//! Under one hold of the latch, conditions are evaluated first: on the arrays by the kernels of
//! frozen plain blocks for runs of rows that everybody sees as they stand, on single values for
//! rows with versions. Strings come behind numbers; equalities look at their lengths first. Only
//! the wanted columns of the rows that match are copied.
//!
//! # Source
//! [Muehlbauer16 section 7.3] uncompressed chunks offer the scan the same interface as compressed
//! ones.

use std::ops::Range;

use nacre_column::{ColumnBuffer, Flavour, Restriction, kernel};

use crate::hot::chunk::HotChunkRef;
use crate::hot::column::HotColumn;
use crate::hot::equal_strings::EqualStrings;
use crate::hot::rows::HotRows;
use crate::value::ValueRef;

/// A condition on one column.
#[derive(Clone, Copy)]
pub enum HotCondition<'a> {
    Restriction(&'a Restriction),
    /// On strings that are not null.
    Predicate(&'a dyn Fn(&[u8]) -> bool),
    /// Says of the values of several rows, a bit for each, which are wanted at all. Others are left
    /// out where that costs little: not among rows with versions, and not in short runs.
    Hint(&'a WantedValues<'a>),
}

/// Returns a bit for each of some values.
type WantedValues<'a> = dyn Fn(&ColumnBuffer) -> Vec<u64> + 'a;

/// Rows of a run of which a hint is asked: for fewer, it costs about what it saves.
const HINTED_ROWS_MIN: usize = 64;

impl std::fmt::Debug for HotCondition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Restriction(restriction) => write!(f, "{restriction}"),
            Self::Predicate(_) => f.write_str("predicate"),
            Self::Hint(_) => f.write_str("hint"),
        }
    }
}

impl HotCondition<'_> {
    fn holds(&self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Restriction(restriction), value) => value.matches(restriction),
            (Self::Predicate(predicate), ValueRef::Bytes(value)) => predicate(value),
            (Self::Predicate(_), _) => false,
            (Self::Hint(_), _) => true,
        }
    }
}

/// What is read together.
struct Matching<'m> {
    latched: &'m HotRows,
    /// Restrictions on numbers.
    numbers: Vec<(usize, &'m Restriction)>,
    /// Equalities of strings.
    equalities: Vec<(usize, EqualStrings<'m>)>,
    /// Other conditions on strings.
    strings: Vec<(usize, HotCondition<'m>)>,
    hints: Vec<(usize, &'m WantedValues<'m>)>,
    columns: &'m [usize],
    flavour: Flavour,
    buffers: &'m mut [ColumnBuffer],
    offsets: &'m mut Vec<u16>,
    bits: Vec<u64>,
    left: Vec<u64>,
    positions: Vec<u16>,
}

impl<'m> Matching<'m> {
    /// Sorts conditions by how they are evaluated.
    fn add_conditions(&mut self, conditions: &'m [(usize, HotCondition<'m>)]) {
        for (column, condition) in conditions {
            let (column, has_strings) = (*column, self.latched.column(*column).has_strings());
            match condition {
                HotCondition::Hint(wanted) => self.hints.push((column, *wanted)),
                HotCondition::Restriction(restriction) if !has_strings => {
                    self.numbers.push((column, restriction));
                }
                HotCondition::Restriction(restriction)
                    if let Some(equal) = EqualStrings::of(restriction) =>
                {
                    self.equalities.push((column, equal));
                }
                _ => self.strings.push((column, *condition)),
            }
        }
    }

    fn run(&mut self, run: Range<usize>) {
        self.left.clear();
        for (column, restriction) in &self.numbers {
            let column = self.latched.column(*column);
            let Some(numbers) = column.slice(run.clone()) else { continue };
            kernel::select_values(self.flavour, numbers, restriction, &mut self.bits);
            column.select_nulls(run.clone(), restriction, &mut self.bits);
            leave_bits(&mut self.left, &mut self.bits);
        }
        for (column, equal) in &self.equalities {
            equal.select_lens(self.latched.column(*column), run.clone(), &mut self.bits);
            leave_bits(&mut self.left, &mut self.bits);
        }
        if self.left.is_empty() {
            self.positions.clear();
            self.positions.extend((0..run.len()).map(|at| at as u16));
        } else {
            kernel::positions(&self.left, &mut self.positions);
        }
        self.test_strings(run.start);
        let start = run.start;
        self.ask_hints(start);
        if self.positions.len() == run.len() {
            self.offsets.extend(run.clone().map(|row| row as u16));
            for (buffer, column) in self.buffers.iter_mut().zip(self.columns) {
                self.latched.column(*column).copy_to(run.clone(), buffer);
            }
            return;
        }
        self.offsets.extend(self.positions.iter().map(|at| (start + usize::from(*at)) as u16));
        for (buffer, column) in self.buffers.iter_mut().zip(self.columns) {
            self.latched.column(*column).gather_to(start, &self.positions, buffer);
        }
    }

    /// Leaves out positions, counted from `start`, whose strings do not match: they cost more than
    /// numbers, so these went first.
    fn test_strings(&mut self, start: usize) {
        for (column, equal) in &self.equalities {
            equal.keep_equal(self.latched.column(*column), start, &mut self.positions);
        }
        for (column, condition) in &self.strings {
            let column = self.latched.column(*column);
            let holds = |at: &u16| condition.holds(column.get(start + usize::from(*at)));
            self.positions.retain(holds);
        }
    }

    /// Leaves out positions, counted from `start`, that hints do not want.
    fn ask_hints(&mut self, start: usize) {
        for (column, wanted) in &self.hints {
            if self.positions.len() < HINTED_ROWS_MIN {
                return;
            }
            let column = self.latched.column(*column);
            let mut values = ColumnBuffer::new(column.column_type());
            column.gather_to(start, &self.positions, &mut values);
            let wanted = wanted(&values);
            let mut at = 0;
            self.positions.retain(|_| {
                at += 1;
                wanted[(at - 1) / 64] >> ((at - 1) % 64) & 1 == 1
            });
        }
    }
}

/// Leaves what both have; no words stand for all rows.
fn leave_bits(left: &mut Vec<u64>, bits: &mut Vec<u64>) {
    if left.is_empty() {
        std::mem::swap(left, bits);
    } else {
        left.iter_mut().zip(bits).for_each(|(left, bits)| *left &= *bits);
    }
}

impl HotChunkRef {
    /// Returns `columns` of those of the `rows` that the snapshot sees and that satisfy all
    /// `conditions`, each on the column with it, and which rows these are. The latch is held for
    /// all of them: ask for a vector at a time. Predicates and hints must not use the store.
    ///
    /// # Panics
    /// If the table has no such column, or a hint has fewer bits than it was given values.
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
            let mut matching = Matching {
                latched,
                numbers: Vec::new(),
                equalities: Vec::new(),
                strings: Vec::new(),
                hints: Vec::new(),
                columns,
                flavour,
                buffers: &mut buffers,
                offsets: &mut offsets,
                bits: Vec::new(),
                left: Vec::new(),
                positions: Vec::new(),
            };
            matching.add_conditions(conditions);
            let matching = std::cell::RefCell::new(matching);
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
    /// Sets or clears the bits of rows that are null, as a restriction wants them.
    fn select_nulls(&self, rows: Range<usize>, restriction: &Restriction, bits: &mut [u64]) {
        if !self.has_nulls() {
            return;
        }
        let is_null_wanted = matches!(restriction, Restriction::IsNull);
        for (at, row) in rows.enumerate() {
            if self.is_null(row) {
                let bit = 1 << (at % 64);
                let word = &mut bits[at / 64];
                *word = if is_null_wanted { *word | bit } else { *word & !bit };
            }
        }
    }
}
