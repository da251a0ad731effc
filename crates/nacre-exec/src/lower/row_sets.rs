//! Tests whether rows are among constant ones: one look-up instead of a comparison with each.
//!
//! ```text
//! (a, b) in ((1, 2), (3, null))
//!     a = 1, b = 2        true
//!     a = 3, b = 5        null
//!     a = 1, b = null     null
//!     a = 2, b = null     false
//! ```
//!
//! # Invariants
//! 1. A value is equal to a constant by their operator if and only if their [`SetKeyPart`]s are
//!    equal.
//! 2. Rows of constants are indexed by the columns that decide: those where neither the constant
//!    nor the value that is looked up is null.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use nacre_column::CompareOp;
use nacre_types::SqlValue;

use super::exact_nodes::each_active_row;
use super::expressions::compare_to_days;
use super::form::ValueForm;
use crate::error::{ExecError, ExecResult};
use crate::expression::{ForeignCall, ForeignFunction};
use crate::value::{
    IntBounds, RoundedTo, ScalarValue, ValueClass, encode_exact, exact_key, packed_key, round_exact,
};
use crate::vector::{ColumnVector, DictionaryReader, VectorValues};

/// Fewest rows of a set: a look-up takes as long as about so many comparisons of whole numbers.
pub(super) const SET_ROWS_MIN: usize = 100;

/// Most columns of a set. Rows are indexed for each combination of nulls that is looked up.
pub(super) const SET_COLUMNS_MAX: usize = 6;

/// Most combinations of columns that are null, or equal to no value, in constant rows.
const SET_GROUPS_MAX: usize = 16;

/// An index slot without a row.
const NO_ROW: u32 = u32::MAX;

/// The key of a value in a column: two keys are equal if the values are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SetKeyPart {
    Int(i128),
    Bytes(Vec<u8>),
    Null,
    /// Of a constant that no value is equal to.
    Unequal,
}

/// Columns of a set, a bit each.
type ColumnMask = u8;

/// Constant rows, all of one width.
#[derive(Debug)]
pub(super) struct ConstantRowSet {
    width: usize,
    /// Of all rows, one after the other.
    parts: Vec<SetKeyPart>,
    groups: Vec<RowGroup>,
    hashing: RandomState,
    /// By the columns that are null in the row that is looked up: an index for each group.
    with_nulls: RwLock<HashMap<ColumnMask, Arc<Vec<RowIndex>>>>,
}

/// Rows with the same kinds of constants.
#[derive(Debug)]
struct RowGroup {
    null_columns: ColumnMask,
    unequal_columns: ColumnMask,
    rows: Vec<u32>,
    index: RowIndex,
}

/// Rows by their values in some columns: a hash table of row numbers that is half empty.
#[derive(Debug, Default)]
struct RowIndex {
    columns: ColumnMask,
    slots: Vec<u32>,
}

fn has_column(columns: ColumnMask, column: usize) -> bool {
    columns >> column & 1 == 1
}

/// Returns the columns of a row whose part is so.
fn columns_where(row: &[SetKeyPart], is_wanted: impl Fn(&SetKeyPart) -> bool) -> ColumnMask {
    let bits = row.iter().enumerate().map(|(column, part)| u8::from(is_wanted(part)) << column);
    bits.fold(0, |all, bit| all | bit)
}

impl RowIndex {
    /// Indexes rows by some columns. Of rows that are equal in these, one is kept.
    fn new(set: &ConstantRowSet, columns: ColumnMask, rows: &[u32]) -> Self {
        let len = (rows.len() * 2).next_power_of_two();
        let mut index = Self { columns, slots: vec![NO_ROW; len] };
        for row in rows {
            let slot = index.slot(set, set.row(*row));
            index.slots[slot] = *row;
        }
        index
    }

    /// Returns the slot of a row that is equal in the columns, or the empty one where it belongs.
    fn slot(&self, set: &ConstantRowSet, row: &[SetKeyPart]) -> usize {
        let columns = || (0..set.width).filter(|column| has_column(self.columns, *column));
        let mut hash = 0_u64;
        for column in columns() {
            hash = hash.rotate_left(23) ^ set.hashing.hash_one(&row[column]);
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let known = self.slots[slot];
            if known == NO_ROW || columns().all(|at| set.row(known)[at] == row[at]) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn contains(&self, set: &ConstantRowSet, row: &[SetKeyPart]) -> bool {
        self.slots[self.slot(set, row)] != NO_ROW
    }
}

impl ConstantRowSet {
    /// Makes a set of rows, whose parts come one after the other; `None` if it would need too many
    /// indexes.
    pub(super) fn new(width: usize, parts: Vec<SetKeyPart>) -> Option<Self> {
        if !(1..=SET_COLUMNS_MAX).contains(&width) || parts.len() >= NO_ROW as usize {
            return None;
        }
        let mut kinds: Vec<(ColumnMask, ColumnMask)> = Vec::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for (number, row) in parts.chunks_exact(width).enumerate() {
            let nulls = columns_where(row, |part| *part == SetKeyPart::Null);
            let unequal = columns_where(row, |part| *part == SetKeyPart::Unequal);
            let known = kinds.iter().position(|kind| *kind == (nulls, unequal));
            let group = known.unwrap_or_else(|| {
                kinds.push((nulls, unequal));
                rows.push(Vec::new());
                kinds.len() - 1
            });
            rows[group].push(number as u32);
        }
        if kinds.len() > SET_GROUPS_MAX {
            return None;
        }
        let (hashing, with_nulls) = (RandomState::new(), RwLock::default());
        let mut set = Self { width, parts, groups: Vec::new(), hashing, with_nulls };
        let mut groups = Vec::with_capacity(kinds.len());
        for ((null_columns, unequal_columns), rows) in kinds.into_iter().zip(rows) {
            let index = set.index(null_columns, unequal_columns, 0, &rows);
            groups.push(RowGroup { null_columns, unequal_columns, rows, index });
        }
        set.groups = groups;
        Some(set)
    }

    fn row(&self, number: u32) -> &[SetKeyPart] {
        &self.parts[number as usize * self.width..][..self.width]
    }

    /// Indexes the rows of a group for looking up rows with nulls in some columns; none of them if
    /// they have a constant there that no value is equal to.
    fn index(
        &self,
        null_columns: ColumnMask,
        unequal_columns: ColumnMask,
        looked_up: ColumnMask,
        rows: &[u32],
    ) -> RowIndex {
        let all = u8::MAX >> (8 - self.width);
        let rows = if unequal_columns & !looked_up == 0 { rows } else { &[] };
        RowIndex::new(self, all & !(null_columns | looked_up), rows)
    }

    fn indexes_with_nulls(&self, nulls: ColumnMask) -> Arc<Vec<RowIndex>> {
        let known = self.with_nulls.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(indexes) = known.get(&nulls) {
            return Arc::clone(indexes);
        }
        drop(known);
        let mut known = self.with_nulls.write().unwrap_or_else(PoisonError::into_inner);
        let indexes = known.entry(nulls).or_insert_with(|| {
            let of_group = |group: &RowGroup| {
                self.index(group.null_columns, group.unequal_columns, nulls, &group.rows)
            };
            Arc::new(self.groups.iter().map(of_group).collect())
        });
        Arc::clone(indexes)
    }

    /// Returns whether a row is equal to one of the set; `None` if nulls leave it open.
    fn find(&self, row: &[SetKeyPart]) -> Option<bool> {
        let nulls = columns_where(row, |part| *part == SetKeyPart::Null);
        if nulls != 0 {
            let indexes = self.indexes_with_nulls(nulls);
            let is_open = indexes.iter().any(|index| index.contains(self, row));
            return (!is_open).then_some(false);
        }
        let mut is_open = false;
        for group in &self.groups {
            if group.index.contains(self, row) {
                if group.null_columns == 0 {
                    return Some(true);
                }
                is_open = true;
            }
        }
        (!is_open).then_some(false)
    }

    /// Returns the function of vectors, one for each column: whether a row is in the set, or is not
    /// if `is_negated`.
    pub(super) fn function(self, is_negated: bool) -> ForeignFunction {
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
            let readers: Vec<_> =
                call.arguments.iter().map(|column| column.dictionary_reader()).collect();
            let mut parts = vec![SetKeyPart::Null; self.width];
            each_active_row(call, out, |row, values| {
                for ((part, column), reader) in parts.iter_mut().zip(&call.arguments).zip(&readers)
                {
                    read_part(column, reader.as_ref(), row, part)?;
                }
                let (Some(is_found), VectorValues::Bool(bits)) = (self.find(&parts), values) else {
                    return Ok(false);
                };
                bits.push(is_found != is_negated);
                Ok(true)
            })
        };
        let name = if is_negated { "not in set" } else { "in set" };
        ForeignFunction::new(name, kernel, ValueClass::Bool, IntBounds::of(0), true)
    }
}

/// Returns the key of a float: `-0` and `0` have one, and so have all NaNs.
fn float_part(value: f64) -> SetKeyPart {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    SetKeyPart::Int(canonical.to_bits().into())
}

/// Reads a value of a vector into `part`, whose memory is used again.
fn read_part(
    column: &ColumnVector,
    reader: Option<&DictionaryReader<'_>>,
    row: usize,
    part: &mut SetKeyPart,
) -> ExecResult<()> {
    if column.is_null(row) {
        *part = SetKeyPart::Null;
        return Ok(());
    }
    *part = match &column.values {
        VectorValues::Bool(bits) => SetKeyPart::Int(bits.get(row).into()),
        VectorValues::Float32(values) => float_part(values[row].into()),
        VectorValues::Float64(values) => float_part(values[row]),
        VectorValues::Code(_) | VectorValues::Bytes(_) => {
            let mut bytes = match std::mem::replace(part, SetKeyPart::Null) {
                SetKeyPart::Bytes(bytes) => bytes,
                _ => Vec::new(),
            };
            bytes.clear();
            column.with_bytes(row, reader, |value| bytes.extend_from_slice(value));
            SetKeyPart::Bytes(bytes)
        }
        values => {
            let value = values.int(row);
            SetKeyPart::Int(value.ok_or_else(|| ExecError::internal("no value of a set"))?)
        }
    };
    Ok(())
}

/// Returns the part of a constant that is compared with values of a form; `None` if it is unknown
/// here which values are equal to it.
pub(super) fn constant_part(
    left: ValueForm,
    value: &SqlValue,
    (scalar, form): (ScalarValue, ValueForm),
) -> Option<SetKeyPart> {
    use ValueForm as Form;
    Some(match (left, form, scalar) {
        (Form::Numeric { scale, .. }, Form::Numeric { .. } | Form::Exact { .. }, _) => {
            decimal_part(value, scale)?
        }
        (Form::Exact { .. }, Form::Numeric { .. } | Form::Exact { .. }, _) => {
            let SqlValue::Numeric(value) = value else { return None };
            let mut bytes = Vec::new();
            encode_exact(value, &mut bytes);
            SetKeyPart::Bytes(exact_key(&bytes).ok()?.to_vec())
        }
        (Form::Real | Form::Double, Form::Real, ScalarValue::Float32(value)) => {
            float_part(value.into())
        }
        (Form::Real | Form::Double, Form::Double, ScalarValue::Float64(value)) => float_part(value),
        (Form::Date, Form::Timestamp, ScalarValue::Int(micros)) => {
            let day = compare_to_days(CompareOp::Eq, micros);
            day.map_or(SetKeyPart::Unequal, |(_, day)| SetKeyPart::Int(day))
        }
        (Form::Packed { has_keys: true }, Form::Packed { .. }, ScalarValue::Bytes(bytes)) => {
            SetKeyPart::Bytes(packed_key(&bytes).ok()?.to_vec())
        }
        (Form::Padded { .. }, Form::Padded { .. }, ScalarValue::Bytes(bytes)) => {
            SetKeyPart::Bytes(bytes)
        }
        (own, other, ScalarValue::Bytes(bytes))
            if own == other && matches!(own, Form::Text | Form::Bytea) =>
        {
            SetKeyPart::Bytes(bytes)
        }
        (own, other, ScalarValue::Int(value)) if own == other => SetKeyPart::Int(value),
        (Form::Boolean, Form::Boolean, ScalarValue::Bool(value)) => SetKeyPart::Int(value.into()),
        _ => return None,
    })
}

/// Returns the part of a numeric that decimals of a scale are compared with.
fn decimal_part(value: &SqlValue, scale: u16) -> Option<SetKeyPart> {
    let SqlValue::Numeric(value) = value else { return None };
    if let Some(unscaled) = value.to_unscaled(scale) {
        return Some(SetKeyPart::Int(unscaled));
    }
    let mut bytes = Vec::new();
    encode_exact(value, &mut bytes);
    let rounded = round_exact(&bytes, scale, RoundedTo::Same).ok()?;
    Some(rounded.map_or(SetKeyPart::Unequal, SetKeyPart::Int))
}
