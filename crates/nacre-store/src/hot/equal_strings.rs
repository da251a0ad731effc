//! Equality of the strings of a hot column with constants.
//!
//! A string of another length is not equal: the array of places tells it, which lies in order in
//! memory, so that the heap is looked at for few rows only. Lengths of all restrictions go first,
//! as bits of rows; then bytes are compared.
//!
//! # Source
//! [Muehlbauer16 section 7.3] uncompressed chunks offer the scan the same interface as compressed
//! ones. Differs: these have no dictionary whose codes could be compared.

use std::ops::Range;

use nacre_column::{CompareOp, Constant, Restriction};

use crate::hot::column::HotColumn;

/// Lengths that have a bit of their own; all others share the last bit.
const LAST_BIT: u32 = u64::BITS - 1;

/// The strings that a restriction keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualStrings<'r> {
    constants: &'r [Constant],
    /// A bit for each length of a constant.
    lens: u64,
}

fn len_bit(len: u32) -> u64 {
    1 << len.min(LAST_BIT)
}

impl<'r> EqualStrings<'r> {
    /// Returns the strings that `restriction` keeps if it is an equality or a set. Constants of
    /// other classes are equal to no string.
    pub(super) fn of(restriction: &'r Restriction) -> Option<Self> {
        let constants = match restriction {
            Restriction::Compare { op: CompareOp::Eq, value } => std::slice::from_ref(value),
            Restriction::InSet(values) => values.as_slice(),
            _ => return None,
        };
        let lens = strings(constants).fold(0, |lens, string| {
            let len = u32::try_from(string.len()).unwrap_or(u32::MAX);
            lens | len_bit(len)
        });
        Some(Self { constants, lens })
    }

    /// Writes a bit for each of some rows over `bits`, set if its string has the length of a
    /// constant.
    pub(super) fn select_lens(&self, column: &HotColumn, rows: Range<usize>, bits: &mut Vec<u64>) {
        let places = column.string_places().get(rows).unwrap_or_default();
        bits.clear();
        bits.extend(places.chunks(u64::BITS as usize).map(|places| {
            let bit = |len: u32| self.lens >> len.min(LAST_BIT) & 1;
            let lens = places.iter().enumerate();
            lens.fold(0, |word, (at, (_, len))| word | bit(*len) << at)
        }));
    }

    /// Leaves out positions, counted from `start`, whose strings are null or equal to no constant.
    pub(super) fn keep_equal(&self, column: &HotColumn, start: usize, positions: &mut Vec<u16>) {
        positions.retain(|position| {
            let row = start + usize::from(*position);
            column.string(row).is_some_and(|value| strings(self.constants).any(|one| one == value))
        });
    }
}

fn strings(constants: &[Constant]) -> impl Iterator<Item = &[u8]> {
    constants.iter().filter_map(|constant| match constant {
        Constant::Bytes(bytes) => Some(bytes.as_slice()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use nacre_column::{ColumnType, kernel};
    use proptest::prelude::*;

    use super::*;
    use crate::value::ValueRef;

    /// Few letters and lengths, so that there are equal strings and equal lengths; some beyond the
    /// last bit.
    fn any_string() -> impl Strategy<Value = Vec<u8>> {
        let long = (60_usize..70, any::<bool>()).prop_map(|(len, is_first)| {
            let letter = if is_first { b'a' } else { b'b' };
            vec![letter; len]
        });
        let short = proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b')], 0..4);
        prop_oneof![3 => short, 1 => long]
    }

    fn any_restriction() -> impl Strategy<Value = Restriction> {
        let constant = prop_oneof![
            9 => any_string().prop_map(Constant::Bytes),
            1 => Just(Constant::Int(0)),
        ];
        let equal =
            constant.clone().prop_map(|value| Restriction::Compare { op: CompareOp::Eq, value });
        let set = proptest::collection::vec(constant, 0..5).prop_map(Restriction::InSet);
        prop_oneof![equal, set]
    }

    fn any_value() -> impl Strategy<Value = Option<Vec<u8>>> {
        proptest::option::weighted(0.8, any_string())
    }

    proptest! {
        #[test]
        fn strings_are_kept_that_match_as_values(
            values in proptest::collection::vec(any_value(), 1..99),
            restriction in any_restriction(),
            start in 0_usize..50,
        ) {
            let mut column = HotColumn::new(ColumnType::Varchar { max_chars: None });
            let value = |row: usize| values[row].as_deref().map_or(ValueRef::Null, ValueRef::Bytes);
            (0..values.len()).for_each(|row| column.push(row, value(row)).unwrap());
            let start = start.min(values.len());
            let rows = start..values.len();
            let equal = EqualStrings::of(&restriction).unwrap();
            let (mut bits, mut positions) = (vec![7], Vec::new());
            equal.select_lens(&column, rows.clone(), &mut bits);
            kernel::positions(&bits, &mut positions);
            equal.keep_equal(&column, start, &mut positions);
            let wanted = rows.filter(|row| value(*row).matches(&restriction));
            prop_assert_eq!(positions, wanted.map(|row| (row - start) as u16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn other_restrictions_are_no_equalities() {
        let value = Constant::Bytes(b"a".to_vec());
        let below = Restriction::Compare { op: CompareOp::Lt, value };
        assert!(EqualStrings::of(&below).is_none());
        assert!(EqualStrings::of(&Restriction::IsNull).is_none());
    }
}
