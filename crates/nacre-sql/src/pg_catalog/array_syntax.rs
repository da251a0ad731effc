//! Casts to arrays as statements write them.

use datafusion::sql::sqlparser::ast::{
    CharacterLength, DataType as SqlType, ExactNumberInfo, Expr, Value,
};
use nacre_column::DECIMAL_PRECISION_MAX;

use super::rewrite::{call, parts_of, take, text, type_name};
use super::typed::array_function;
use crate::error::{Error, Result};
use crate::types::{element_type, pg_type};

/// Types of elements that are kept as texts.
const AS_TEXTS: [&str; 16] = [
    "aclitem",
    "cid",
    "character_data",
    "citext",
    "jsonb",
    "pg_node_tree",
    "regclass",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "sql_identifier",
    "xml",
    "yes_or_no",
];

/// Refuses a cast to arrays of which there are none.
///
/// # Errors
/// 0A000.
pub(crate) fn check_cast(expr: &Expr) -> Result<()> {
    match expr {
        Expr::Cast { data_type, .. } => match innermost(data_type) {
            Some(element) => target(element).map(|_| ()),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Returns the call that a cast to an array stands for; `None` for other casts.
pub(super) fn cast(expr: &mut Expr, data_type: &SqlType) -> Option<Expr> {
    // Others are refused before.
    let (function, modifiers) = target(innermost(data_type)?).ok()?;
    let known = parts_of(expr).map(|(name, args)| (name, args.len()));
    let value = match known {
        // `ARRAY[]`, which has no type of its own.
        Some((name, 0)) if name == "nacre_array" => text("{}"),
        // It is one already.
        Some((name, 1)) if name == function && modifiers.is_empty() => return Some(take(expr)),
        _ => take(expr),
    };
    let number = |value: u64| Expr::Value(Value::Number(value.to_string(), false).into());
    let args = std::iter::once(value).chain(modifiers.into_iter().map(number));
    Some(call(function, args.collect()))
}

/// Whether a function makes arrays of integers that those of another are, too.
pub(super) fn is_widened(one: &str, other: &str) -> bool {
    let width = |name: &str| match name {
        "nacre_int2_array" => Some(2),
        "nacre_int4_array" => Some(4),
        "nacre_int8_array" => Some(8),
        _ => None,
    };
    matches!((width(one), width(other)), (Some(one), Some(other)) if one <= other)
}

/// Returns the type of the elements of arrays of any number of dimensions.
fn innermost(data_type: &SqlType) -> Option<&SqlType> {
    let mut element = element_type(data_type)?;
    while let Some(inner) = element_type(element) {
        element = inner;
    }
    Some(element)
}

/// Returns the function that makes arrays of a type, and the modifiers of the type.
fn target(element: &SqlType) -> Result<(&'static str, Vec<u64>)> {
    use SqlType::{
        Char, CharVarying, Character, CharacterVarying, Dec, Decimal, Numeric, Timestamp, Varchar,
    };
    let refused = || {
        let name = element.to_string().to_lowercase();
        Error::not_supported(format_args!("arrays of {name}"))
    };
    let modifiers = match element {
        Numeric(info) | Decimal(info) | Dec(info) => digits(info).ok_or_else(refused)?,
        Varchar(Some(length)) | CharacterVarying(Some(length)) | CharVarying(Some(length)) => {
            chars(length).into_iter().collect()
        }
        Char(length) | Character(length) => {
            vec![length.as_ref().map_or(Some(1), chars).unwrap_or(1)]
        }
        Timestamp(Some(digits), _) if *digits != 6 => return Err(refused()),
        _ => Vec::new(),
    };
    if let Some(function) = pg_type(element).and_then(array_function) {
        return Ok((function, modifiers));
    }
    let is_as_text = match element {
        SqlType::JSONB => true,
        other => type_name(other).is_some_and(|name| AS_TEXTS.contains(&name.as_str())),
    };
    if is_as_text { Ok(("nacre_text_array", modifiers)) } else { Err(refused()) }
}

/// Returns precision and scale, if the type has them; `None` if it has more than there are.
fn digits(info: &ExactNumberInfo) -> Option<Vec<u64>> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Some(Vec::new()),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => {
            (precision, u64::try_from(scale).ok()?)
        }
    };
    let is_there = (1..=u64::from(DECIMAL_PRECISION_MAX)).contains(&precision);
    (is_there && scale <= precision).then(|| vec![precision, scale])
}

fn chars(length: &CharacterLength) -> Option<u64> {
    match length {
        CharacterLength::IntegerLength { length, .. } => Some(*length),
        CharacterLength::Max => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::CastKind;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn made(sql: &str) -> String {
        let parser = Parser::new(&PostgreSqlDialect {});
        let mut parsed = parser.try_with_sql(sql).unwrap().parse_expr().unwrap();
        if let Err(error) = check_cast(&parsed) {
            return error.message().to_owned();
        }
        let Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, .. } = &mut parsed else {
            panic!("{sql} is no cast");
        };
        cast(expr, data_type).unwrap().to_string()
    }

    #[test]
    fn casts_to_arrays_are_calls() {
        for (sql, expected) in [
            ("x::int[]", "nacre_int4_array(x)"),
            ("x::int[][]", "nacre_int4_array(x)"),
            ("x::numeric[]", "nacre_numeric_array(x)"),
            ("x::numeric(8,2)[]", "nacre_numeric_array(x, 8, 2)"),
            ("x::numeric(8)[]", "nacre_numeric_array(x, 8, 0)"),
            ("x::varchar(3)[]", "nacre_varchar_array(x, 3)"),
            ("x::char[]", "nacre_bpchar_array(x, 1)"),
            ("x::aclitem[]", "nacre_text_array(x)"),
            ("nacre_array()::int[]", "nacre_int4_array('{}')"),
            ("nacre_int4_array(x)::int[]", "nacre_int4_array(x)"),
            ("nacre_int2_array(x)::int[]", "nacre_int4_array(nacre_int2_array(x))"),
            ("x::bytea[]", "not supported: arrays of bytea"),
            ("x::numeric(50,2)[]", "not supported: arrays of numeric(50,2)"),
            ("x::timestamp(3)[]", "not supported: arrays of timestamp(3)"),
        ] {
            assert_eq!(made(sql), expected, "{sql}");
        }
    }
}
