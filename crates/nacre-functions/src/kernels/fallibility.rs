//! When calls raise errors, also by what their constants say.
//!
//! The optimizer and the executor both ask here, so that they agree.

use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, TypeKind};

use super::{KernelFallibility, regular, scalar_kernel};
use crate::catalog::find_function;

/// Names of functions that are LIKE, ILIKE or an opposite of them.
const PATTERN_TESTS: [&str; 8] = [
    "textlike",
    "textnlike",
    "texticlike",
    "texticnlike",
    "bpcharlike",
    "bpcharnlike",
    "namelike",
    "namenlike",
];

/// Names of functions that are tests by regular expressions.
const REGULAR_TESTS: [&str; 4] = ["textregexeq", "textregexne", "texticregexeq", "texticregexne"];

/// Names of functions that are the quotient or the remainder of whole numbers.
const QUOTIENTS: [&str; 9] = [
    "int2div", "int24div", "int28div", "int4div", "int42div", "int48div", "int8div", "int82div",
    "int84div",
];
const REMAINDERS: [&str; 4] = ["int2mod", "int4mod", "int8mod", "mod"];

/// Fields that `extract` has of dates and timestamps.
const DATE_FIELDS: [&str; 12] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "dow",
    "doy",
    "isodow",
    "isoyear",
    "decade",
    "century",
    "millennium",
];

/// Casts by a function that have a value for every one of the source.
const WIDENING_CASTS: [(TypeOid, TypeOid); 18] = [
    (TypeOid::TEXT, TypeOid::NAME),
    (TypeOid::VARCHAR, TypeOid::NAME),
    (TypeOid::INT2, TypeOid::INT4),
    (TypeOid::INT2, TypeOid::INT8),
    (TypeOid::INT2, TypeOid::NUMERIC),
    (TypeOid::INT2, TypeOid::FLOAT4),
    (TypeOid::INT2, TypeOid::FLOAT8),
    (TypeOid::INT4, TypeOid::INT8),
    (TypeOid::INT4, TypeOid::NUMERIC),
    (TypeOid::INT4, TypeOid::FLOAT4),
    (TypeOid::INT4, TypeOid::FLOAT8),
    (TypeOid::INT8, TypeOid::NUMERIC),
    (TypeOid::INT8, TypeOid::FLOAT4),
    (TypeOid::INT8, TypeOid::FLOAT8),
    (TypeOid::FLOAT4, TypeOid::FLOAT8),
    (TypeOid::BPCHAR, TypeOid::TEXT),
    (TypeOid::BPCHAR, TypeOid::VARCHAR),
    (TypeOid::BOOL, TypeOid::TEXT),
];

/// When a call of the function with that OID raises an error; `constants` are the arguments that
/// are constants, `None` for others. [`KernelFallibility::ByValue`] of a function that is not here.
pub fn call_fallibility(oid: u32, constants: &[Option<&SqlValue>]) -> KernelFallibility {
    let Some(kernel) = scalar_kernel(oid) else { return KernelFallibility::ByValue };
    if kernel.fallibility == KernelFallibility::ByValue && is_settled(oid, constants) {
        return KernelFallibility::Never;
    }
    kernel.fallibility
}

/// Whether constants say that a call raises no error for any further arguments.
fn is_settled(oid: u32, constants: &[Option<&SqlValue>]) -> bool {
    let Some(function) = find_function(oid) else { return false };
    let text = |index: usize| match constants.get(index) {
        Some(Some(SqlValue::Text(text))) => Some(text.as_str()),
        _ => None,
    };
    let is_divisor = |index: usize| match constants.get(index) {
        Some(Some(SqlValue::Numeric(value))) => !value.is_zero(),
        _ => false,
    };
    let whole = |index: usize| match constants.get(index) {
        Some(Some(SqlValue::SmallInt(value))) => Some(i64::from(*value)),
        Some(Some(SqlValue::Integer(value))) => Some(i64::from(*value)),
        Some(Some(SqlValue::BigInt(value))) => Some(*value),
        _ => None,
    };
    match function.name {
        name if PATTERN_TESTS.contains(&name) => text(1).is_some_and(|pattern| {
            // An escape at the end is an error.
            pattern.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0
        }),
        name if REGULAR_TESTS.contains(&name) => {
            let is_caseless = name.starts_with("texticregex");
            text(1).is_some_and(|pattern| regular::always_tests(pattern, is_caseless))
        }
        "extract" => {
            let moments = [TypeOid::DATE, TypeOid::TIMESTAMP, TypeOid::TIMESTAMPTZ];
            text(0).is_some_and(|field| DATE_FIELDS.contains(&field))
                && function.arguments.get(1).is_some_and(|own| moments.contains(own))
        }
        "numeric_div" | "numeric_mod" | "mod" | "div" if is_divisor(1) => true,
        // The least number has no opposite.
        name if QUOTIENTS.contains(&name) => whole(1).is_some_and(|one| one != 0 && one != -1),
        name if REMAINDERS.contains(&name) => whole(1).is_some_and(|one| one != 0),
        // A negative length is an error.
        "substring" | "substr" => {
            matches!(constants.get(2), Some(Some(SqlValue::Integer(length))) if *length >= 0)
        }
        _ => false,
    }
}

/// Whether a cast by a function, or by texts, has a value for every one of the source.
pub fn cast_never_fails(source: TypeOid, target: TypeOid) -> bool {
    let is_text = matches!(target, TypeOid::TEXT | TypeOid::VARCHAR);
    WIDENING_CASTS.contains(&(source, target))
        || is_text && has_text(SqlType::new(source))
        || is_number_of_object(source) && is_number_of_object(target)
}

/// Whether values are numbers of objects, or become such with the same bits.
fn is_number_of_object(oid: TypeOid) -> bool {
    oid == TypeOid::INT4 || matches!(SqlType::new(oid).kind(), TypeKind::Oid(_))
}

/// Whether values of a type are here, and so their texts.
pub fn has_text(sql_type: SqlType) -> bool {
    match sql_type.kind() {
        TypeKind::Jsonb | TypeKind::Other(_) | TypeKind::Record | TypeKind::Unknown => false,
        TypeKind::Array(element) => has_text(element),
        _ => true,
    }
}
