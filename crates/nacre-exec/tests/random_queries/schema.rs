//! Random tables and their rows.

use std::fmt::Write;

use nacre_column::ColumnType;
use nacre_store::Value;

use super::support::SeededRandom;

/// The types of expressions here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Small,
    Integer,
    Big,
    Numeric,
    Real,
    Double,
    Boolean,
    Text,
    Char,
    Date,
    Stamp,
}

impl ValueType {
    pub(crate) const ALL: [Self; 11] = [
        Self::Integer,
        Self::Small,
        Self::Big,
        Self::Numeric,
        Self::Real,
        Self::Double,
        Self::Boolean,
        Self::Text,
        Self::Char,
        Self::Date,
        Self::Stamp,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Small => "smallint",
            Self::Integer => "integer",
            Self::Big => "bigint",
            Self::Numeric => "numeric",
            Self::Real => "real",
            Self::Double => "float8",
            Self::Boolean => "boolean",
            Self::Text => "text",
            Self::Char => "char(3)",
            Self::Date => "date",
            Self::Stamp => "timestamp",
        }
    }

    /// Returns a short constant.
    pub(crate) fn simple(self) -> &'static str {
        match self {
            Self::Small => "1::smallint",
            Self::Integer => "1",
            Self::Big => "1::bigint",
            Self::Numeric => "1.0",
            Self::Real => "1::real",
            Self::Double => "1::float8",
            Self::Boolean => "true",
            Self::Text => "'a'::text",
            Self::Char => "'a'::char(3)",
            Self::Date => "date '2024-01-31'",
            Self::Stamp => "timestamp '2024-01-31'",
        }
    }

    /// Whether values are numbers.
    pub(crate) fn is_number(self) -> bool {
        matches!(
            self,
            Self::Small | Self::Integer | Self::Big | Self::Numeric | Self::Real | Self::Double
        )
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct RandomColumn {
    pub(crate) name: &'static str,
    pub(crate) column_type: ColumnType,
    pub(crate) value_type: ValueType,
    pub(crate) is_nullable: bool,
    /// How many different values there are, about; a few extreme ones beside them.
    pub(crate) spread: u64,
}

/// A table and the rows that it gets.
#[derive(Clone, Debug)]
pub(crate) struct RandomTable {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<RandomColumn>,
    /// Whether the first column is the primary key.
    pub(crate) has_key: bool,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) frozen_rows: usize,
}

const TABLES: [&str; 6] = ["t", "u", "v", "w", "empty", "single"];

/// Values of a column of a small table.
const SPREAD_MIN: u64 = 9;

const TEXTS: [&str; 9] =
    ["", "a", "ab", "a_b", "A%b", "b ", "12", "\u{e4}pfel", "a text of more than 12 bytes"];

fn column(name: &'static str, column_type: ColumnType) -> RandomColumn {
    let value_type = match column_type {
        ColumnType::SmallInt => ValueType::Small,
        ColumnType::Integer => ValueType::Integer,
        ColumnType::BigInt => ValueType::Big,
        ColumnType::Decimal { .. } => ValueType::Numeric,
        ColumnType::Real => ValueType::Real,
        ColumnType::Double => ValueType::Double,
        ColumnType::Boolean => ValueType::Boolean,
        ColumnType::Char { .. } => ValueType::Char,
        ColumnType::Date => ValueType::Date,
        ColumnType::Timestamp => ValueType::Stamp,
        _ => ValueType::Text,
    };
    RandomColumn { name, column_type, value_type, is_nullable: true, spread: SPREAD_MIN }
}

/// Returns the columns that tables choose from; equal names are common to tables.
fn candidates(random: &mut SeededRandom) -> Vec<RandomColumn> {
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    let whole = [ColumnType::SmallInt, ColumnType::Integer, ColumnType::BigInt];
    let mut any_whole = || whole[random.below(3) as usize];
    vec![
        column("i", any_whole()),
        column("j", any_whole()),
        column("i", ColumnType::Integer),
        column("k", ColumnType::BigInt),
        column("n", decimal(10, 2)),
        column("m", decimal(3, 1)),
        column("l", decimal(38, 0)),
        column("p", decimal(30, 6)),
        column("x", ColumnType::Varchar { max_chars: None }),
        column("y", ColumnType::Varchar { max_chars: Some(30) }),
        column("c", ColumnType::Char { chars: 30 }),
        column("d", ColumnType::Date),
        column("s", ColumnType::Timestamp),
        column("o", ColumnType::Boolean),
        column("r", ColumnType::Real),
        column("f", ColumnType::Double),
    ]
}

/// Makes tables; if they are to be large, two of them have so many rows that queries may spill.
pub(crate) fn random_tables(is_large: bool, random: &mut SeededRandom) -> Vec<RandomTable> {
    let tables = TABLES.iter().enumerate();
    tables.map(|(index, name)| random_table(name, is_large && index < 2, random)).collect()
}

fn random_table(name: &'static str, is_large: bool, random: &mut SeededRandom) -> RandomTable {
    let has_key = random.below(4) > 0;
    let mut columns = vec![column("id", ColumnType::Integer), column("e", ColumnType::Integer)];
    columns[0].is_nullable = !has_key;
    let more = 2 + random.below(4) as usize;
    while columns.len() < 2 + more {
        let mut all = candidates(random);
        let one = all.swap_remove(random.below(all.len() as u64) as usize);
        if columns.iter().all(|other| other.name != one.name) {
            columns.push(one);
        }
    }
    let count = match name {
        "empty" => 0,
        "single" => 1,
        _ if is_large => 1_000 + random.below(1_000),
        _ => 3 + random.below(28),
    };
    if is_large {
        for column in &mut columns {
            column.spread = [SPREAD_MIN, 300, 2_000][random.below(3) as usize];
        }
    }
    let frozen_rows = random.below(count + 1) as usize;
    let rows = (0..count)
        .map(|id| {
            let mut row: Vec<_> = columns.iter().map(|one| random_value(one, random)).collect();
            row[0] =
                Value::Int(if has_key { id as i64 } else { random.below(6 + count / 5) as i64 });
            row
        })
        .collect();
    RandomTable { name, columns, has_key, rows, frozen_rows }
}

/// Returns a value: few ones are met often, some are extreme.
pub(crate) fn random_value(column: &RandomColumn, random: &mut SeededRandom) -> Value {
    if column.is_nullable && random.below(6) == 0 {
        return Value::Null;
    }
    let is_extreme = random.below(24) == 0;
    let small = random.below(column.spread) as i64 - 2;
    let extreme = |low: i64, high: i64, random: &mut SeededRandom| {
        Value::Int(if random.below(2) == 0 { low } else { high })
    };
    match column.column_type {
        ColumnType::SmallInt if is_extreme => extreme(i16::MIN.into(), i16::MAX.into(), random),
        ColumnType::Integer if is_extreme => extreme(i32::MIN.into(), i32::MAX.into(), random),
        ColumnType::BigInt if is_extreme => extreme(i64::MIN, i64::MAX, random),
        ColumnType::Decimal { precision, scale } => {
            let unit = 10_i128.pow(scale.into());
            let most = 10_i128.pow(precision.into()) - 1;
            let value = match random.below(3) {
                _ if is_extreme => {
                    if random.below(2) == 0 {
                        -most
                    } else {
                        most
                    }
                }
                0 => i128::from(random.below(900)) - 100,
                _ => (i128::from(small) * unit).clamp(-most, most),
            };
            if precision > 18 { Value::Int128(value) } else { Value::Int(value as i64) }
        }
        ColumnType::Real => Value::Float32(random_float(small, is_extreme, random) as f32),
        ColumnType::Double => Value::Float64(random_float(small, is_extreme, random)),
        ColumnType::Boolean => Value::Int(random.below(2) as i64),
        ColumnType::Date => Value::Int(19_780 + small * if is_extreme { 2_000 } else { 1 }),
        ColumnType::Timestamp => {
            let days = 19_780 + small * if is_extreme { 2_000 } else { 1 };
            let seconds = if random.below(2) == 0 { 0 } else { random.below(86_400) as i64 };
            Value::Int((days * 86_400 + seconds) * 1_000_000 + i64::from(is_extreme))
        }
        ColumnType::Varchar { .. } | ColumnType::Char { .. } => {
            let text = TEXTS[random.below(TEXTS.len() as u64) as usize];
            let is_padded = matches!(column.column_type, ColumnType::Char { .. });
            let text = if is_padded { text.trim_end_matches(' ') } else { text };
            let text = if column.spread > SPREAD_MIN && text.len() < 12 {
                format!("{text} {small}")
            } else {
                text.to_owned()
            };
            Value::Bytes(text.into_bytes())
        }
        _ => Value::Int(small),
    }
}

fn random_float(small: i64, is_extreme: bool, random: &mut SeededRandom) -> f64 {
    let extremes = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e15, -0.0];
    if is_extreme || random.below(8) == 0 {
        return extremes[random.below(6) as usize];
    }
    small as f64 / if random.below(2) == 0 { 4.0 } else { 1.0 }
}

/// Writes a stored value as PostgreSQL reads it.
pub(crate) fn literal(value: &Value, column_type: ColumnType) -> String {
    let scaled = |unscaled: i128, scale: u8| format!("'{unscaled}e-{scale}'");
    match (value, column_type) {
        (Value::Null, _) => "null".to_owned(),
        (Value::Int(one), ColumnType::Decimal { scale, .. }) => scaled((*one).into(), scale),
        (Value::Int128(one), ColumnType::Decimal { scale, .. }) => scaled(*one, scale),
        (Value::Int(days), ColumnType::Date) => format!("date '1970-01-01' + ({days})"),
        (Value::Int(micros), ColumnType::Timestamp) => {
            format!("timestamp '1970-01-01' + interval '{micros} microseconds'")
        }
        (Value::Int(one), _) => format!("'{one}'"),
        (Value::Int128(one), _) => format!("'{one}'"),
        (Value::Float32(one), _) => format!("'{one}'"),
        (Value::Float64(one), _) => format!("'{one}'"),
        (Value::Bytes(bytes), _) => format!("'{}'", String::from_utf8_lossy(bytes)),
    }
}

/// Writes statements that make a table with rows.
pub(crate) fn definition(table: &RandomTable, rows: &[Vec<Value>]) -> String {
    let mut text = format!("create table {} (", table.name);
    for (index, column) in table.columns.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{} {}", column.name, type_text(column.column_type));
    }
    let _ = write!(text, "{});", if table.has_key { ", primary key (id)" } else { "" });
    for row in rows {
        let literals: Vec<_> =
            row.iter().zip(&table.columns).map(|(one, of)| literal(one, of.column_type)).collect();
        let _ = write!(text, "\ninsert into {} values ({});", table.name, literals.join(", "));
    }
    text
}

fn type_text(column_type: ColumnType) -> String {
    match column_type {
        ColumnType::SmallInt => "smallint".to_owned(),
        ColumnType::Integer => "integer".to_owned(),
        ColumnType::BigInt => "bigint".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        ColumnType::Real => "real".to_owned(),
        ColumnType::Double => "float8".to_owned(),
        ColumnType::Boolean => "boolean".to_owned(),
        ColumnType::Char { chars } => format!("char({chars})"),
        ColumnType::Varchar { max_chars: Some(chars) } => format!("varchar({chars})"),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Timestamp => "timestamp".to_owned(),
        _ => "text".to_owned(),
    }
}
