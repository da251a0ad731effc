//! `length` and `octet_length` of texts, computed vector by vector.

use nacre_functions::catalog::FunctionEntry;

use crate::error::{ExecError, ExecResult};
use crate::expression::{ForeignCall, ForeignFunction};
use crate::value::{IntBounds, ValueClass};
use crate::vector::{ColumnVector, VectorValues};

/// What of a text is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextLength {
    Characters,
    Bytes,
}

impl TextLength {
    /// Returns what a function of a text counts; `None` of other functions.
    pub(super) fn of_function(function: &FunctionEntry) -> Option<Self> {
        /// `length(text)`, `character_length(text)`, `char_length(text)`.
        const CHARACTERS: [u32; 3] = [1317, 1369, 1381];
        /// `octet_length(text)`.
        const BYTES: u32 = 1374;
        match function.oid {
            oid if CHARACTERS.contains(&oid) => Some(Self::Characters),
            BYTES => Some(Self::Bytes),
            _ => None,
        }
    }

    /// Returns the function of vectors.
    pub(super) fn function(self) -> ForeignFunction {
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| self.fill(call, out);
        ForeignFunction::new("length", kernel, ValueClass::Int, IntBounds::I32, true)
    }

    fn fill(self, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
        let ([column], VectorValues::Int32(lengths)) = (&call.arguments[..], &mut out.values)
        else {
            return Err(ExecError::internal("the length of what is no text"));
        };
        let reader = column.dictionary_reader();
        lengths.reserve(call.rows);
        for row in 0..call.rows {
            let mut length = 0;
            if !column.is_null(row) {
                column.with_bytes(row, reader.as_ref(), |text| length = self.of(text));
            }
            // A text has less than 2 GiB.
            lengths.push(length as i32);
        }
        out.validity.clone_from(&column.validity);
        Ok(())
    }

    fn of(self, text: &[u8]) -> usize {
        match self {
            // Each has one byte that does not go on with another one.
            Self::Characters => text.iter().filter(|byte| **byte & 0xc0 != 0x80).count(),
            Self::Bytes => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_bytes_are_counted() {
        let lengths = |text: &str| {
            let both = [TextLength::Characters, TextLength::Bytes];
            both.map(|length| length.of(text.as_bytes()))
        };
        assert_eq!(lengths(""), [0, 0]);
        assert_eq!(lengths("13-405"), [6, 6]);
        assert_eq!(lengths("\u{e4}\u{20ac}b\u{1f980}"), [4, 10]);
    }
}
