//! `substring` of texts by constant places, computed vector by vector.

use nacre_functions::catalog::FunctionEntry;
use nacre_plan::algebra::ScalarExpression;
use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::error::LoweringResult;
use super::fold::fold_constant;
use crate::error::{ExecError, ExecResult};
use crate::expression::{ForeignCall, ForeignFunction};
use crate::value::{IntBounds, ValueClass};
use crate::vector::{ColumnVector, VectorValues};

/// The characters of a text that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPart {
    skipped: usize,
    count: usize,
}

impl TextPart {
    /// Returns the part that a call of `substring` or `substr` of a text wants; `None` of other
    /// calls, of places that are no constants, and of negative lengths.
    ///
    /// # Errors
    /// Those of constants.
    pub(super) fn of_call(
        function: &FunctionEntry,
        arguments: &[ScalarExpression],
    ) -> LoweringResult<Option<Self>> {
        let is_part = matches!(function.name, "substring" | "substr");
        let [TypeOid::TEXT, places @ ..] = &function.arguments[..] else { return Ok(None) };
        if !is_part || places.iter().any(|place| *place != TypeOid::INT4) {
            return Ok(None);
        }
        let mut numbers = Vec::with_capacity(places.len());
        for argument in arguments.iter().skip(1) {
            match fold_constant(argument)? {
                Some(SqlValue::Integer(number)) => numbers.push(i64::from(number)),
                _ => return Ok(None),
            }
        }
        Ok(match numbers[..] {
            [start] => Some(Self::between(start, i64::MAX)),
            [start, length] if length >= 0 => Some(Self::between(start, start + length)),
            _ => None,
        })
    }

    /// Makes a part from a place, which counts from 1, up to another one.
    fn between(start: i64, end: i64) -> Self {
        let first = start.max(1);
        let number = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
        Self { skipped: number(first - 1), count: number((end - first).max(0)) }
    }

    /// Returns the part of a text in UTF-8.
    fn of(self, text: &[u8]) -> &[u8] {
        let Self { skipped, count } = self;
        let end = skipped.saturating_add(count).min(text.len());
        if text[..end].is_ascii() {
            return &text[skipped.min(end)..end];
        }
        let is_first = |(at, byte): (usize, &u8)| (*byte & 0xc0 != 0x80).then_some(at);
        let mut starts = text.iter().enumerate().filter_map(is_first);
        let start = starts.nth(skipped).unwrap_or(text.len());
        let end = match count.checked_sub(1) {
            Some(more) => starts.nth(more).unwrap_or(text.len()),
            None => start,
        };
        &text[start..end]
    }

    /// Returns the function of vectors.
    pub(super) fn function(self) -> ForeignFunction {
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| self.fill(call, out);
        let (class, bounds) = (ValueClass::Bytes, IntBounds::I64);
        ForeignFunction::new("substring", kernel, class, bounds, true)
    }

    fn fill(self, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
        let ([column], VectorValues::Bytes(parts)) = (&call.arguments[..], &mut out.values) else {
            return Err(ExecError::internal("a part of what is no text"));
        };
        let reader = column.dictionary_reader();
        for row in 0..call.rows {
            if column.is_null(row) {
                parts.push(b"");
            } else {
                column.with_bytes(row, reader.as_ref(), |text| parts.push(self.of(text)));
            }
        }
        out.validity.clone_from(&column.validity);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_in_characters() {
        let part = |text: &'static str, start, end| {
            str::from_utf8(TextPart::between(start, end).of(text.as_bytes())).unwrap()
        };
        assert_eq!(part("13-405", 1, 3), "13");
        assert_eq!(part("abc", 2, i64::MAX), "bc");
        assert_eq!((part("abc", -1, 2), part("abc", 0, 0), part("abc", 9, 12)), ("a", "", ""));
        assert_eq!(part("\u{e4}\u{20ac}b", 2, 3), "\u{20ac}");
        assert_eq!(part("a\u{20ac}b", 2, i64::MAX), "\u{20ac}b");
        assert_eq!(part("ab\u{20ac}", 3, 3), "");
        assert_eq!(part("\u{20ac}", 2, 9), "");
        assert_eq!(part("", 1, 4), "");
    }
}
