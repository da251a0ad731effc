//! Relations whose rows are in memory when a query is planned: rows that a statement changes, with
//! the values of other tables that they were joined to.

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_plan::algebra::{ColumnId, ScalarExpression, ScannedColumn};
use nacre_plan::definition::RelationDefinition;
use nacre_store::ValueRef;
use nacre_types::{SqlType, SqlValue};

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation};
use super::constant_rows::{constant_column, constant_rows, constant_value, in_form};
use super::error::{LoweringError, LoweringResult};
use super::form::{ValueForm, column_sql_type};
use crate::plan::ConstantColumn;
use crate::value::{ScalarValue, ValueClass};

/// The rows of a relation.
#[derive(Clone, Debug)]
pub struct GivenRows {
    count: usize,
    /// Those of its definition.
    columns: Vec<GivenColumn>,
}

/// A column of given rows.
#[derive(Clone, Debug)]
pub enum GivenColumn {
    /// Values of a stored type.
    Stored(StoredColumnValues),
    /// Values of any type, one a row.
    Values(Vec<SqlValue>),
    /// No query reads it.
    Unread,
}

/// Values of a column of a table, one a row.
#[derive(Clone, Debug)]
pub struct StoredColumnValues {
    column_type: ColumnType,
    values: Arc<[ScalarValue]>,
}

impl GivenRows {
    /// Makes `count` rows of columns, which have a value for each.
    pub fn new(count: usize, columns: Vec<GivenColumn>) -> Self {
        Self { count, columns }
    }

    pub fn row_count(&self) -> usize {
        self.count
    }
}

impl StoredColumnValues {
    /// Collects the values of a column of type `column_type`.
    pub fn of<'v>(column_type: ColumnType, values: impl Iterator<Item = ValueRef<'v>>) -> Self {
        let class = column_sql_type(column_type)
            .ok()
            .and_then(|sql_type| ValueForm::of_column(column_type, sql_type).map(ValueForm::class));
        let class = class.unwrap_or(ValueClass::Bytes);
        let values = values.map(|value| scalar_of(value, class)).collect();
        Self { column_type, values }
    }
}

fn scalar_of(value: ValueRef<'_>, class: ValueClass) -> ScalarValue {
    match value {
        ValueRef::Null => ScalarValue::Null(class),
        ValueRef::Int(value) if class == ValueClass::Bool => ScalarValue::Bool(value != 0),
        ValueRef::Int(value) => ScalarValue::Int(value.into()),
        ValueRef::Int128(value) => ScalarValue::Int(value),
        ValueRef::Float32(value) => ScalarValue::Float32(value),
        ValueRef::Float64(value) => ScalarValue::Float64(value),
        ValueRef::Bytes(value) => ScalarValue::Bytes(value.to_vec()),
    }
}

/// Lowers given rows, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for values of one column that have no common form.
pub(super) fn lower_given_rows(
    given: &GivenRows,
    relation: &RelationDefinition,
    scanned: &[ScannedColumn],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let (mut constants, mut places) = (Vec::new(), ColumnPlaces::default());
    for ScannedColumn { position, column } in scanned {
        if !needed.contains(column) {
            continue;
        }
        if let (true, Some(oid)) = (*position == relation.table_oid_position(), relation.table_oid)
        {
            let values = GivenColumn::Values(vec![SqlValue::Oid(oid); given.count]);
            let (constant, form) = lower_given_column(&values, SqlType::OID)?;
            places.add(*column, ColumnPlace { index: constants.len(), form });
            constants.push(constant);
            continue;
        }
        let definition = relation.columns.get(*position).zip(given.columns.get(*position));
        let Some((definition, values)) = definition else {
            let name = &relation.name;
            return Err(LoweringError::contradiction(format!("{name} has no column {position}")));
        };
        let (constant, form) = lower_given_column(values, definition.sql_type)?;
        if constant.values.len() < given.count {
            return Err(LoweringError::contradiction("fewer values than given rows"));
        }
        places.add(*column, ColumnPlace { index: constants.len(), form });
        constants.push(constant);
    }
    let rows = constant_rows(constants, given.count, places);
    Ok(if given.count == 0 { rows.emptied() } else { rows })
}

fn lower_given_column(
    column: &GivenColumn,
    sql_type: SqlType,
) -> LoweringResult<(ConstantColumn, ValueForm)> {
    let constant = |value: SqlValue| {
        let expression = ScalarExpression::constant(value, sql_type, Default::default());
        let (value, form) = constant_value(&expression)?;
        if !matches!(form, ValueForm::Numeric { .. }) {
            return Ok((value, form));
        }
        // Others of the column may have another scale.
        let exact = ValueForm::Exact { may_fail: false };
        Ok((in_form(value, form, exact)?, exact))
    };
    match column {
        GivenColumn::Stored(StoredColumnValues { column_type, values }) => {
            let form = ValueForm::of_column(*column_type, sql_type).ok_or_else(|| {
                LoweringError::not_supported(format!("columns of type {sql_type} here"))
            })?;
            Ok((ConstantColumn { class: form.class(), values: Arc::clone(values) }, form))
        }
        GivenColumn::Values(values) if values.is_empty() => {
            constant_column(std::iter::once(constant(SqlValue::Null)))
        }
        GivenColumn::Values(values) => constant_column(values.iter().cloned().map(constant)),
        GivenColumn::Unread => Err(LoweringError::contradiction("an unread column is read")),
    }
}
