//! Looks up the rows of a short statement.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use nacre_column::{ColumnBuffer, Restriction};
use nacre_store::index::{Direction, TableIndex};
use nacre_store::{RowId, TableSchema, Transaction, Value, ValueRef};

use super::operand::{Inputs, Operand, constant};
use super::plan::{Condition, Current, Find, KeyRest, Test};

/// Rows that a short statement looks at; one that wants more is better off with a scan.
const ROWS_MAX: usize = 4_096;

/// The rows that were found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) ids: Vec<RowId>,
    /// The columns that [`Find`] names.
    pub(super) buffers: Vec<ColumnBuffer>,
}

impl Found {
    /// Returns the columns.
    pub(super) fn columns(&self) -> Vec<&ColumnBuffer> {
        self.buffers.iter().collect()
    }
}

/// Passes each of some rows to `with`, with its number, until that gives nothing.
pub(super) fn each(
    columns: &[&ColumnBuffer],
    rows: usize,
    mut with: impl FnMut(usize, &[ValueRef<'_>]) -> Option<()>,
) -> Option<()> {
    let mut values = Vec::with_capacity(columns.len());
    for row in 0..rows {
        values.clear();
        values.extend(columns.iter().map(|column| ValueRef::of(column, row)));
        with(row, &values)?;
    }
    Some(())
}

/// A range of keys.
type KeyRange = (Bound<Vec<Value>>, Bound<Vec<Value>>);

/// What has to hold of the column at a place.
type Filter = (usize, Restriction);

impl Find {
    /// Finds at most `limit` rows, in the order of the key; `None` if this is for the general way.
    pub(super) fn rows(
        &self,
        transaction: &mut Transaction,
        Current { table, indexes }: &Current,
        schema: &TableSchema,
        inputs: Inputs<'_>,
        limit: usize,
    ) -> Option<Found> {
        let index = indexes.get(self.index)?;
        let filters = self.filters(schema, inputs)?;
        let ranges = self.ranges(index, schema, inputs)?;
        let buffer = |&column: &usize| ColumnBuffer::new(schema.columns[column].column_type);
        let buffers = self.columns.iter().map(buffer).collect();
        let mut found = Found { ids: Vec::new(), buffers };
        let mut looked_at = 0;
        for (low, high) in &ranges {
            if found.ids.len() >= limit {
                break;
            }
            let (low, high) = (bound_refs(low), bound_refs(high));
            let bounds = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
            let on_row = |id: RowId, values: &[ValueRef<'_>]| {
                looked_at += 1;
                if filters.iter().all(|(place, filter)| values[*place].matches(filter)) {
                    found.ids.push(id);
                    let pairs = values.iter().zip(&mut found.buffers);
                    pairs.for_each(|(value, buffer)| value.push_to(buffer));
                }
                match found.ids.len() >= limit || looked_at > ROWS_MAX {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            let columns = &self.columns;
            transaction.range(table, index, bounds, self.direction, columns, on_row).ok()?;
            if looked_at > ROWS_MAX {
                return None;
            }
        }
        Some(found)
    }

    fn filters(&self, schema: &TableSchema, inputs: Inputs<'_>) -> Option<Vec<Filter>> {
        let filter = |condition: &Condition| {
            let place = self.columns.iter().position(|&column| column == condition.column)?;
            let column_type = schema.columns[condition.column].column_type;
            let value = |operand: &Operand| constant(&operand.comparable(column_type, inputs)?);
            let restriction = match &condition.test {
                Test::Compare(op, operand) => {
                    Restriction::Compare { op: *op, value: value(operand)? }
                }
                Test::Between(low, high) => {
                    Restriction::Between { low: value(low)?, high: value(high)? }
                }
                Test::OneOf(list) => {
                    Restriction::InSet(list.iter().map(value).collect::<Option<_>>()?)
                }
                Test::IsNull => Restriction::IsNull,
                Test::IsNotNull => Restriction::IsNotNull,
            };
            Some((place, restriction))
        };
        self.conditions.iter().map(filter).collect()
    }

    /// Returns the ranges of keys to look at, in the order of the statement.
    fn ranges(
        &self,
        index: &TableIndex,
        schema: &TableSchema,
        inputs: Inputs<'_>,
    ) -> Option<Vec<KeyRange>> {
        let columns = &index.definition().columns;
        let value = |place: usize, operand: &Operand| {
            operand.comparable(schema.columns[*columns.get(place)?].column_type, inputs)
        };
        let prefix: Vec<Value> = self
            .prefix
            .iter()
            .enumerate()
            .map(|(place, operand)| value(place, operand))
            .collect::<Option<_>>()?;
        let with = |last: Value| {
            let mut key = prefix.clone();
            key.push(last);
            key
        };
        let (low, high) = match &self.rest {
            KeyRest::OneOf(list) => {
                let mut values: Vec<Value> = list
                    .iter()
                    .map(|operand| value(prefix.len(), operand))
                    .collect::<Option<_>>()?;
                values.sort_by(compare);
                values.dedup();
                if self.direction == Direction::Descending {
                    values.reverse();
                }
                let point = |last| {
                    let key = with(last);
                    (Bound::Included(key.clone()), Bound::Included(key))
                };
                return Some(values.into_iter().map(point).collect());
            }
            KeyRest::Within(low, high) => (low, high),
        };
        let bound = |bound: &Bound<Operand>| {
            Some(match bound {
                Bound::Included(operand) => Bound::Included(with(value(prefix.len(), operand)?)),
                Bound::Excluded(operand) => Bound::Excluded(with(value(prefix.len(), operand)?)),
                Bound::Unbounded if prefix.is_empty() => Bound::Unbounded,
                Bound::Unbounded => Bound::Included(prefix.clone()),
            })
        };
        Some(vec![(bound(low)?, bound(high)?)])
    }
}

fn bound_refs(bound: &Bound<Vec<Value>>) -> Bound<Vec<ValueRef<'_>>> {
    bound.as_ref().map(|values| values.iter().map(Value::as_ref).collect())
}

/// Orders values of one column.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int128(a), Value::Int128(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
