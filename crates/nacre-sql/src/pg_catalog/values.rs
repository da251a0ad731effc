//! Cells of the catalogs as values of SQL types, and back.

use nacre_types::datetime::SqlTimestamp;
use nacre_types::{SqlArray, SqlType, SqlValue, TypeKind, ValueSettings};

use super::cells::Cell;

/// Returns the SQL type of a type name in the lists of columns; `text` for unknown names.
pub(super) fn column_type(type_name: &str) -> SqlType {
    nacre_types::catalog::find_type_named(type_name)
        .map_or(SqlType::TEXT, |entry| SqlType::new(entry.oid))
}

/// Returns what a column has where its row says nothing: 0 and false if it `has_zeros`.
pub(super) fn value_unsaid(sql_type: SqlType, has_zeros: bool) -> SqlValue {
    let cell = match sql_type.kind() {
        TypeKind::Boolean => Cell::Bool(false),
        TypeKind::SmallInt
        | TypeKind::Integer
        | TypeKind::BigInt
        | TypeKind::Real
        | TypeKind::Double
        | TypeKind::Oid(_)
        | TypeKind::TransactionId(_) => Cell::Int(0),
        _ => Cell::Null,
    };
    if has_zeros { value_of(&cell, sql_type) } else { SqlValue::Null }
}

/// Returns a cell as a value of a type; null if it is none.
pub(super) fn value_of(cell: &Cell, sql_type: SqlType) -> SqlValue {
    match cell {
        Cell::Null => SqlValue::Null,
        Cell::Bool(value) if sql_type == SqlType::BOOLEAN => SqlValue::Boolean(*value),
        Cell::Int(value) => value_of_int(*value, sql_type),
        Cell::Float(value) => match sql_type.kind() {
            TypeKind::Real => SqlValue::Real(*value as f32),
            _ => SqlValue::Double(*value),
        },
        Cell::List(cells) => value_of_list(cells, sql_type),
        Cell::Bool(_) | Cell::Text(_) => value_of_text(&cell.shown().unwrap_or_default(), sql_type),
    }
}

fn value_of_int(value: i64, sql_type: SqlType) -> SqlValue {
    let known = match sql_type.kind() {
        TypeKind::SmallInt => i16::try_from(value).ok().map(SqlValue::SmallInt),
        TypeKind::Integer => i32::try_from(value).ok().map(SqlValue::Integer),
        TypeKind::BigInt => Some(SqlValue::BigInt(value)),
        TypeKind::Real => Some(SqlValue::Real(value as f32)),
        TypeKind::Double => Some(SqlValue::Double(value as f64)),
        TypeKind::Oid(_) | TypeKind::TransactionId(_) => {
            u32::try_from(value).ok().map(SqlValue::Oid)
        }
        TypeKind::TimestampTz(_) => {
            SqlTimestamp::from_unix_micros(value).ok().map(SqlValue::TimestampTz)
        }
        _ => return value_of_text(&value.to_string(), sql_type),
    };
    known.unwrap_or(SqlValue::Null)
}

fn value_of_list(cells: &[Cell], sql_type: SqlType) -> SqlValue {
    // Values of a column that has those of any array.
    let Some(element) = sql_type.element() else {
        let shown = Cell::List(cells.to_vec()).shown();
        return shown.map_or(SqlValue::Null, SqlValue::Text);
    };
    let values = cells.iter().map(|cell| value_of(cell, element)).collect();
    SqlValue::Array(Box::new(match sql_type.is_vector() {
        true => SqlArray::vector_of(element, values),
        false => SqlArray::from_elements(element, values),
    }))
}

fn value_of_text(text: &str, sql_type: SqlType) -> SqlValue {
    match sql_type.kind() {
        TypeKind::CatalogText(_) => SqlValue::Text(text.to_owned()),
        // Rows may name a function by its number alone.
        _ => SqlValue::parse(text, sql_type, &ValueSettings::default()).unwrap_or(SqlValue::Null),
    }
}

/// Returns a value as a cell.
pub(super) fn cell_of(value: &SqlValue, sql_type: SqlType) -> Cell {
    match value {
        SqlValue::Null => Cell::Null,
        SqlValue::Boolean(value) => (*value).into(),
        SqlValue::SmallInt(value) => i64::from(*value).into(),
        SqlValue::Integer(value) => (*value).into(),
        SqlValue::BigInt(value) => (*value).into(),
        SqlValue::Oid(value) => (*value).into(),
        SqlValue::Real(value) => Cell::Float((*value).into()),
        SqlValue::Double(value) => Cell::Float(*value),
        SqlValue::Text(text) => text.as_str().into(),
        SqlValue::Array(array) => {
            let element = array.element_type();
            Cell::List(array.elements().iter().map(|one| cell_of(one, element)).collect())
        }
        other => other.to_text(sql_type, &ValueSettings::default()).into(),
    }
}
