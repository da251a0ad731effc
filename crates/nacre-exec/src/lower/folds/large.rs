//! Folds of groups that do not fit in memory: their rows come from files, in order.
//!
//! What stands for the rows is their value, which no rows begin as: the length of a row is less.
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | `0xffff_ffff` |
//! | 1 | whether the value is not null |
//! | 1, 4, 8, 16 or any | a truth value, a float, a whole number, a string |

use std::sync::Arc;

use super::{FoldPlan, FoldedRows, NULL_LENGTH, PackedRow, bounds_of_type, take_row};
use crate::error::{ExecError, ExecResult};
use crate::plan::{CollectedFold, CollectedRow, CollectedState};
use crate::value::{ScalarValue, ValueClass, VectorType};
use crate::vector::ColumnVector;

/// A fold of collected rows.
pub(super) struct LargeFold(Arc<FoldPlan>);

/// A group under way.
struct LargeGroup {
    rows: FoldedRows,
    /// Of the row before, if rows of equal keys are one.
    last_key: Option<Vec<u8>>,
    count: usize,
    bytes: usize,
}

impl LargeFold {
    pub(super) fn new(plan: &Arc<FoldPlan>) -> Self {
        Self(Arc::clone(plan))
    }
}

impl CollectedFold for LargeFold {
    fn name(&self) -> &str {
        self.0.name
    }

    fn is_sorted(&self) -> bool {
        self.0.is_sorted
    }

    fn take_row<'b>(&self, rows: &mut &'b [u8]) -> ExecResult<CollectedRow<'b>> {
        let all = *rows;
        let row = take_row(rows)?;
        let bytes = &all[..all.len() - rows.len()];
        Ok(CollectedRow { bytes, key: row.key, counts: self.0.takes(row)? })
    }

    fn start(&self, counted: u64) -> Box<dyn CollectedState> {
        let mut rows = FoldedRows::start(&self.0);
        rows.state.expect(counted);
        Box::new(LargeGroup { rows, last_key: None, count: 0, bytes: 0 })
    }
}

impl CollectedState for LargeGroup {
    fn add(&mut self, mut row: &[u8]) -> ExecResult<()> {
        let bytes = row.len();
        let row: PackedRow<'_> = take_row(&mut row)?;
        if self.rows.plan.is_distinct {
            if self.last_key.as_deref() == Some(row.key) {
                return Ok(());
            }
            let last = self.last_key.get_or_insert_default();
            last.clear();
            last.extend_from_slice(row.key);
        }
        self.count += 1;
        self.bytes += bytes;
        self.rows.add_row(row)
    }

    fn bytes(&self) -> usize {
        self.rows.plan.kept_bytes(self.count, self.bytes)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> ExecResult<()> {
        let FoldPlan { form, context, .. } = &*self.rows.plan;
        let bounds = bounds_of_type(context.result_type);
        let mut value = ColumnVector::new(VectorType::of_class(form.class(), bounds));
        self.rows.append_last(&mut value)?;
        put_value(&value, out);
        Ok(())
    }
}

/// Appends the only value of a column.
fn put_value(column: &ColumnVector, out: &mut Vec<u8>) {
    out.extend_from_slice(&NULL_LENGTH.to_be_bytes());
    let value = column.scalar(0);
    out.push(u8::from(!matches!(value, ScalarValue::Null(_))));
    match value {
        ScalarValue::Null(_) => {}
        ScalarValue::Bool(value) => out.push(value.into()),
        ScalarValue::Int(value) => out.extend_from_slice(&value.to_be_bytes()),
        ScalarValue::Float32(value) => out.extend_from_slice(&value.to_be_bytes()),
        ScalarValue::Float64(value) => out.extend_from_slice(&value.to_be_bytes()),
        ScalarValue::Bytes(value) => out.extend_from_slice(&value),
    }
}

/// Returns the value that stands for rows; `None` of rows.
///
/// # Errors
/// [`ExecError::Internal`] for a value of another class.
pub(super) fn folded_value(bytes: &[u8], class: ValueClass) -> ExecResult<Option<ScalarValue>> {
    let Some(rest) = bytes.strip_prefix(&NULL_LENGTH.to_be_bytes()) else { return Ok(None) };
    let malformed = || ExecError::internal("a value of another class stands for rows");
    let (has_value, value) = rest.split_first().ok_or_else(malformed)?;
    if *has_value == 0 {
        return Ok(Some(ScalarValue::Null(class)));
    }
    let value = match class {
        ValueClass::Bool => value.first().map(|value| ScalarValue::Bool(*value == 1)),
        ValueClass::Int => {
            value.try_into().ok().map(|value| ScalarValue::Int(i128::from_be_bytes(value)))
        }
        ValueClass::Float32 => {
            value.try_into().ok().map(|value| ScalarValue::Float32(f32::from_be_bytes(value)))
        }
        ValueClass::Float64 => {
            value.try_into().ok().map(|value| ScalarValue::Float64(f64::from_be_bytes(value)))
        }
        ValueClass::Bytes => Some(ScalarValue::Bytes(value.to_vec())),
    };
    value.map(Some).ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::IntBounds;

    #[test]
    fn values_that_stand_for_rows_come_back() {
        let values = [
            ScalarValue::Bool(true),
            ScalarValue::Int(-1 << 90),
            ScalarValue::Float32(-0.5),
            ScalarValue::Float64(1e300),
            ScalarValue::Bytes(Vec::new()),
            ScalarValue::Bytes(vec![0, 255, 3]),
        ];
        for value in values {
            let class = value.class();
            for value in [value, ScalarValue::Null(class)] {
                let vector_type = VectorType::of_class(class, IntBounds::I128);
                let mut column = ColumnVector::new(vector_type);
                column.push_scalar(&value).unwrap();
                let mut bytes = Vec::new();
                put_value(&column, &mut bytes);
                assert_eq!(folded_value(&bytes, class).unwrap(), Some(value));
            }
        }
        // A row of no key and no values.
        assert_eq!(folded_value(&[0, 0, 0, 4, 0, 0, 0, 0], ValueClass::Int).unwrap(), None);
        assert_eq!(folded_value(&[], ValueClass::Bytes).unwrap(), None);
    }
}
