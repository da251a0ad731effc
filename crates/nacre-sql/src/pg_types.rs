//! PostgreSQL's types by number: what clients are told of columns, and what they declare of
//! parameters.
//!
//! A column of a result has the type that [`PgType::of_field`] gives it: the one that the field's
//! metadata names under [`TYPE_KEY`], as the catalogs do for types that Nacre does not store, or
//! else the one that stands for its Arrow type. Answers of Nacre's own engine name any type of
//! PostgreSQL there, such as `_int4` for arrays: their values are texts.

use datafusion::arrow::datatypes::{DataType, Field};
use nacre_column::ColumnType;
use nacre_types::catalog::find_type_named;

use crate::types::{is_bytes, is_text};

/// Key of a field's metadata under which the name of its type stands, such as `oid` or `name`.
pub const TYPE_KEY: &str = "nacre.type";

/// Key of a field's metadata under which its [`ColumnOrigin`] stands.
const ORIGIN_KEY: &str = "nacre.origin";

/// Which column of a table a column of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// Number of the table in `pg_class`; 0 for what is computed.
    pub table: u32,
    /// Number of the column in `pg_attribute`; 0 for what is computed.
    pub column: i16,
    /// Modifier of the type, as in `pg_attribute`; -1 if it has none.
    pub modifier: i32,
}

impl ColumnOrigin {
    /// That of what is computed.
    pub const NONE: Self = Self { table: 0, column: 0, modifier: -1 };

    /// Returns the origin of a column of a result.
    pub fn of_field(field: &Field) -> Self {
        let noted = field.metadata().get(ORIGIN_KEY);
        noted.and_then(|noted| Self::read(noted)).unwrap_or(Self::NONE)
    }

    fn read(noted: &str) -> Option<Self> {
        let mut parts = noted.split(' ');
        let table = parts.next()?.parse().ok()?;
        let column = parts.next()?.parse().ok()?;
        let modifier = parts.next()?.parse().ok()?;
        Some(Self { table, column, modifier })
    }

    /// Notes it in a field.
    pub(crate) fn noted_in(self, mut field: Field) -> Field {
        let Self { table, column, modifier } = self;
        let noted = format!("{table} {column} {modifier}");
        field.metadata_mut().insert(ORIGIN_KEY.to_owned(), noted);
        field
    }
}

/// A type of PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgType {
    pub oid: u32,
    /// The name in `pg_type`.
    pub name: &'static str,
    /// Bytes of a value; -1 if they differ.
    pub size: i16,
    /// Number of the type of arrays of it; 0 if there is none.
    pub array_oid: u32,
}

const fn pg(oid: u32, name: &'static str, size: i16, array_oid: u32) -> PgType {
    PgType { oid, name, size, array_oid }
}

/// All types that clients may meet, arrays of them aside.
pub const PG_TYPES: [PgType; 31] = [
    pg(16, "bool", 1, 1000),
    pg(17, "bytea", -1, 1001),
    pg(18, "char", 1, 1002),
    pg(19, "name", 64, 1003),
    pg(20, "int8", 8, 1016),
    pg(21, "int2", 2, 1005),
    pg(22, "int2vector", -1, 1006),
    pg(23, "int4", 4, 1007),
    pg(24, "regproc", 4, 1008),
    pg(25, "text", -1, 1009),
    pg(26, "oid", 4, 1028),
    pg(28, "xid", 4, 1011),
    pg(30, "oidvector", -1, 1013),
    pg(114, "json", -1, 199),
    pg(194, "pg_node_tree", -1, 0),
    pg(700, "float4", 4, 1021),
    pg(701, "float8", 8, 1022),
    pg(705, "unknown", -2, 0),
    pg(1033, "aclitem", 12, 1034),
    pg(1042, "bpchar", -1, 1014),
    pg(1043, "varchar", -1, 1015),
    pg(1082, "date", 4, 1182),
    pg(1083, "time", 8, 1183),
    pg(1114, "timestamp", 8, 1115),
    pg(1184, "timestamptz", 8, 1185),
    pg(1186, "interval", 16, 1187),
    pg(1700, "numeric", -1, 1231),
    pg(2205, "regclass", 4, 2210),
    pg(2206, "regtype", 4, 2211),
    pg(2249, "record", -1, 2287),
    pg(2950, "uuid", 16, 2951),
];

impl PgType {
    /// Returns the type of that name in `pg_type`.
    pub fn named(name: &str) -> Option<PgType> {
        PG_TYPES.into_iter().find(|one| one.name == name)
    }

    /// Returns the type of that name in PostgreSQL's catalog, arrays among them.
    pub(crate) fn in_catalog(name: &str) -> Option<PgType> {
        let entry = find_type_named(name)?;
        let array_oid = entry.array.map_or(0, |oid| oid.0);
        Some(PgType { oid: entry.oid.0, name: entry.name, size: entry.length, array_oid })
    }

    /// Returns the type of that number.
    pub fn with_oid(oid: u32) -> Option<PgType> {
        PG_TYPES.into_iter().find(|one| one.oid == oid)
    }

    /// Returns the type of the elements of the type of arrays of that number.
    pub fn with_array_oid(oid: u32) -> Option<PgType> {
        PG_TYPES.into_iter().find(|one| one.array_oid == oid && oid != 0)
    }

    /// Returns the type of a column of a result, or of its elements if it has lists, with the
    /// number that clients are told.
    pub fn of_field(field: &Field) -> (PgType, u32) {
        let named = field.metadata().get(TYPE_KEY);
        let named = named.and_then(|name| Self::named(name).or_else(|| Self::in_catalog(name)));
        if let Some(named) = named {
            return match field.data_type() {
                DataType::List(_) if !named.name.ends_with("vector") => (named, named.array_oid),
                _ => (named, named.oid),
            };
        }
        match field.data_type() {
            DataType::List(element) | DataType::LargeList(element) => {
                let (element, _) = Self::of_field(element);
                (element, element.array_oid)
            }
            data_type => {
                let found = Self::of_arrow(data_type);
                (found, found.oid)
            }
        }
    }

    /// Returns the type that stands for an Arrow type; what has none is shown as text.
    pub fn of_arrow(data_type: &DataType) -> PgType {
        let name = match data_type {
            DataType::Boolean => "bool",
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => "int2",
            DataType::UInt16 | DataType::Int32 => "int4",
            DataType::UInt32 | DataType::Int64 => "int8",
            DataType::UInt64 => "numeric",
            data_type if data_type.is_decimal() => "numeric",
            DataType::Float32 => "float4",
            DataType::Float64 => "float8",
            DataType::Date32 => "date",
            DataType::Timestamp(_, None) => "timestamp",
            DataType::Timestamp(_, Some(_)) => "timestamptz",
            DataType::Interval(_) | DataType::Duration(_) => "interval",
            DataType::Time32(_) | DataType::Time64(_) => "time",
            data_type if is_bytes(data_type) => "bytea",
            data_type if is_text(data_type) => "text",
            _ => "text",
        };
        Self::named(name).unwrap_or(pg(25, "text", -1, 1009))
    }

    /// Returns the type of a table's column and its modifier, -1 if it has none.
    pub fn of_column(column_type: ColumnType) -> (PgType, i32) {
        let (name, modifier) = match column_type {
            ColumnType::Boolean => ("bool", -1),
            ColumnType::SmallInt => ("int2", -1),
            ColumnType::Integer => ("int4", -1),
            ColumnType::BigInt => ("int8", -1),
            ColumnType::Decimal { precision, scale } => {
                ("numeric", ((i32::from(precision) << 16) | i32::from(scale)) + 4)
            }
            ColumnType::Real => ("float4", -1),
            ColumnType::Double => ("float8", -1),
            ColumnType::Date => ("date", -1),
            ColumnType::Timestamp => ("timestamp", -1),
            ColumnType::TimestampTz => ("timestamptz", -1),
            ColumnType::Varchar { max_chars: None } => ("text", -1),
            ColumnType::Varchar { max_chars: Some(chars) } => {
                ("varchar", i32::try_from(chars).map_or(-1, |chars| chars + 4))
            }
            ColumnType::Char { chars } => {
                ("bpchar", i32::try_from(chars).map_or(-1, |chars| chars + 4))
            }
            ColumnType::Bytea => ("bytea", -1),
        };
        (Self::named(name).unwrap_or(pg(25, "text", -1, 1009)), modifier)
    }

    /// Returns the type of column that takes values of this type as a parameter; `None` if there
    /// is none, in which case the statement tells.
    pub fn parameter(self) -> Option<ColumnType> {
        Some(match self.name {
            "bool" => ColumnType::Boolean,
            "int2" => ColumnType::SmallInt,
            "int4" => ColumnType::Integer,
            "int8" | "oid" | "regclass" | "regtype" | "regproc" | "xid" => ColumnType::BigInt,
            "float4" => ColumnType::Real,
            "float8" => ColumnType::Double,
            "date" => ColumnType::Date,
            "timestamp" => ColumnType::Timestamp,
            "timestamptz" => ColumnType::TimestampTz,
            "bytea" => ColumnType::Bytea,
            "text" | "varchar" | "bpchar" | "name" | "char" | "json" | "uuid" => {
                ColumnType::Varchar { max_chars: None }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn modifiers_are_those_of_postgresql() {
        let of = |column_type| {
            let (found, modifier) = PgType::of_column(column_type);
            (found.name, modifier)
        };
        assert_eq!(of(ColumnType::Decimal { precision: 15, scale: 2 }), ("numeric", 983_046));
        assert_eq!(of(ColumnType::Varchar { max_chars: Some(10) }), ("varchar", 14));
        assert_eq!(of(ColumnType::Char { chars: 3 }), ("bpchar", 7));
        assert_eq!(of(ColumnType::Varchar { max_chars: None }), ("text", -1));
    }

    #[test]
    fn origins_stand_in_metadata() {
        let field = Field::new("a", DataType::Utf8, true);
        assert_eq!(ColumnOrigin::of_field(&field), ColumnOrigin::NONE);
        let origin = ColumnOrigin { table: 16_400, column: 2, modifier: -1 };
        assert_eq!(ColumnOrigin::of_field(&origin.noted_in(field)), origin);
    }

    #[test]
    fn metadata_names_a_type_that_arrow_does_not_have() {
        let field = Field::new("relname", DataType::Utf8, false)
            .with_metadata([(TYPE_KEY.to_owned(), "name".to_owned())].into());
        assert_eq!(PgType::of_field(&field).1, 19);
        let field = Field::new("ids", DataType::Utf8View, true)
            .with_metadata([(TYPE_KEY.to_owned(), "_int4".to_owned())].into());
        assert_eq!((PgType::of_field(&field).0.name, PgType::of_field(&field).1), ("_int4", 1007));
        let element = Arc::new(Field::new("item", DataType::Int32, true));
        assert_eq!(PgType::of_field(&Field::new("a", DataType::List(element), true)).1, 1007);
        assert_eq!(PgType::of_field(&Field::new("n", DataType::Null, true)).0.name, "text");
    }
}
