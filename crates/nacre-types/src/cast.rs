//! Casts of values.
//!
//! 1. [`find_cast_path`] says how two types convert, and whether they do in a context: by a row of
//!    `pg_cast`, element by element, or through text.
//! 2. [`cast_value`] goes the path and applies the modifier of the target; an explicit cast cuts
//!    texts that are too long.
//!
//! # See
//! [`crate::types::catalog`] for the rows of `pg_cast`.

mod convert;
mod datetimes;
mod numbers;
#[cfg(test)]
mod tests;

use crate::error::ValueError;
use crate::types::catalog::{CastContext, CastMethod, TypeOid, find_cast};
use crate::types::sql_type::{SqlType, TypeKind};
use crate::types::type_name::format_type;
use crate::value::{SqlValue, ValueSettings, apply_modifier};

use convert::{convert, value_of_text};

/// How values of one type become values of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastPath {
    /// The types are the same, or their values are.
    Binary,
    /// By the function of that name.
    Function(&'static str),
    /// By writing text and reading it.
    InputOutput,
    /// Each element of an array.
    ArrayElements,
}

/// Category of types whose values are texts.
const STRING_CATEGORY: char = 'S';

/// Returns how a type converts to another in a context; `None` if it does not.
pub fn find_cast_path(source: SqlType, target: SqlType, context: CastContext) -> Option<CastPath> {
    if source.oid() == target.oid() {
        return Some(CastPath::Binary);
    }
    if source.oid() == TypeOid::UNKNOWN {
        return Some(CastPath::InputOutput);
    }
    if let Some(cast) = find_cast(source.oid(), target.oid()) {
        return (context >= cast.context).then_some(match cast.method {
            CastMethod::Function(name) => CastPath::Function(name),
            CastMethod::InputOutput => CastPath::InputOutput,
            CastMethod::Binary => CastPath::Binary,
        });
    }
    if let (Some(source), Some(target)) = (source.element(), target.element())
        && find_cast_path(source, target, context).is_some()
    {
        return Some(CastPath::ArrayElements);
    }
    let is_to_string = target.category() == STRING_CATEGORY && context >= CastContext::Assignment;
    let is_from_string = source.category() == STRING_CATEGORY && context >= CastContext::Explicit;
    (is_to_string || is_from_string).then_some(CastPath::InputOutput)
}

/// Converts a value of `source` to `target`.
///
/// # Errors
/// 42846 if the types do not convert in that context; else those of the target, as for
/// [`SqlValue::parse`].
pub fn cast_value(
    value: SqlValue,
    source: SqlType,
    target: SqlType,
    context: CastContext,
    settings: &ValueSettings,
) -> Result<SqlValue, ValueError> {
    let Some(path) = find_cast_path(source, target, context) else {
        let (source, target) = (format_type(source.oid(), None), format_type(target.oid(), None));
        let message = format!("cannot cast type {source} to {target}");
        return Err(ValueError::cannot_coerce(message));
    };
    if value.is_null() {
        return Ok(SqlValue::Null);
    }
    let is_explicit = context == CastContext::Explicit;
    let converted = match (path, value) {
        (CastPath::ArrayElements, SqlValue::Array(array)) => {
            let (Some(source), Some(target)) = (source.element(), target.element()) else {
                return Err(ValueError::internal("array type without an element"));
            };
            let map = |element| cast_value(element, source, target, context, settings);
            return Ok(SqlValue::Array(Box::new(array.map_elements(target, map)?)));
        }
        // The fields of an interval's type say what a bare number in a literal is.
        (CastPath::InputOutput, SqlValue::Text(text))
            if source == SqlType::UNKNOWN && matches!(target.kind(), TypeKind::Interval(..)) =>
        {
            SqlValue::parse(&text, target, settings)?
        }
        (CastPath::InputOutput, value) => {
            let mut text = String::new();
            value.write_text(source, settings, &mut text);
            value_of_text(text, target, settings)?
        }
        (CastPath::Binary, value) if source.oid() == target.oid() => value,
        (_, value) => convert(value, source, target, settings)?,
    };
    apply_modifier(converted, target, is_explicit)
}
