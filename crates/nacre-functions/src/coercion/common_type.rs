//! The one type of several expressions: branches of `UNION`, `CASE`, `VALUES`, elements of arrays.

use std::fmt;

use nacre_types::catalog::{CastContext, TypeOid};

use super::pathway::{can_coerce, category, is_preferred};

/// Two types that have none in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonTypeError {
    /// The type that those before agree on.
    pub first: TypeOid,
    pub second: TypeOid,
    /// Which of the expressions has the second type; 0-based.
    pub index: usize,
}

impl fmt::Display for CommonTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "types {} and {} cannot be matched", self.first.0, self.second.0)
    }
}

impl std::error::Error for CommonTypeError {}

/// Returns the type that expressions of these types take on, of which there is at least one.
///
/// ```text
/// integer, unknown, bigint     bigint
/// unknown, unknown             text
/// integer, numeric, real       real, because floats are the preferred kind of number
/// integer, text                an error
/// ```
///
/// # Errors
/// Types of different categories.
/// # Source
/// PostgreSQL 15 documentation, 10.5.
pub fn common_type(types: &[TypeOid]) -> Result<TypeOid, CommonTypeError> {
    let Some((&first, rest)) = types.split_first() else {
        return Ok(TypeOid::TEXT);
    };
    if first != TypeOid::UNKNOWN && rest.iter().all(|next| *next == first) {
        return Ok(first);
    }
    let mut chosen = first;
    for (index, &next) in (1..).zip(rest) {
        if next == TypeOid::UNKNOWN || next == chosen {
            continue;
        }
        if chosen == TypeOid::UNKNOWN {
            chosen = next;
        } else if category(next) != category(chosen) {
            return Err(CommonTypeError { first: chosen, second: next, index });
        } else if !is_preferred(category(chosen), chosen)
            && can_coerce(next, chosen, CastContext::Implicit)
            && !can_coerce(chosen, next, CastContext::Implicit)
        {
            chosen = next;
        }
    }
    Ok(if chosen == TypeOid::UNKNOWN { TypeOid::TEXT } else { chosen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_types_are_those_of_postgresql() {
        let (int4, int8, numeric) = (TypeOid::INT4, TypeOid::INT8, TypeOid::NUMERIC);
        let (real, text, unknown) = (TypeOid::FLOAT4, TypeOid::TEXT, TypeOid::UNKNOWN);
        assert_eq!(common_type(&[int4, unknown, int8]), Ok(int8));
        assert_eq!(common_type(&[unknown, unknown]), Ok(text));
        assert_eq!(common_type(&[int4, numeric, real]), Ok(real));
        assert_eq!(common_type(&[unknown, int4]), Ok(int4));
        let error = CommonTypeError { first: int4, second: text, index: 1 };
        assert_eq!(common_type(&[int4, text]), Err(error));
    }
}
