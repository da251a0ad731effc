//! Select on values in memory, as hot chunks have them: which match a restriction.
//!
//! ```text
//! values       10 12 17 12
//! restriction  between 11 and 12       bits 0b1010
//! ```

use nacre_simd::{Flavour, Lane, Register, Simd};

use super::numbers::{Numbers, plain_range};
use super::select::{Matcher, append_where, clear_tail};
use crate::{CompareOp, Constant, Restriction, compare_floats};

/// Values of one column where they lie.
#[derive(Clone, Copy, Debug)]
pub enum ValueSlice<'a> {
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Int128(&'a [i128]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
}

impl ValueSlice<'_> {
    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Int8(values) => values.len(),
            Self::Int16(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Int128(values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Float64(values) => values.len(),
        }
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Tells which of `values`, none of them null, match: bit `i % 64` of word `i / 64` for value `i`.
/// A constant of another class matches nothing.
pub fn select_values(
    flavour: Flavour,
    values: ValueSlice<'_>,
    restriction: &Restriction,
    bits: &mut Vec<u64>,
) {
    bits.clear();
    match values {
        ValueSlice::Int8(values) => signed(flavour, Signed(values, 0x80_u8), restriction, bits),
        ValueSlice::Int16(values) => {
            signed(flavour, Signed(values, 1_u16 << 15), restriction, bits)
        }
        ValueSlice::Int32(values) => {
            signed(flavour, Signed(values, 1_u32 << 31), restriction, bits)
        }
        ValueSlice::Int64(values) => {
            signed(flavour, Signed(values, 1_u64 << 63), restriction, bits)
        }
        ValueSlice::Int128(values) => append_where(values.len(), bits, |at| {
            holds(restriction, |constant| match constant {
                Constant::Int(constant) => Some(values[at].cmp(constant)),
                _ => None,
            })
        }),
        ValueSlice::Float32(values) => {
            floats(values.len(), |at| values[at].into(), restriction, bits)
        }
        ValueSlice::Float64(values) => floats(values.len(), |at| values[at], restriction, bits),
    }
    clear_tail(bits, values.len());
}

fn floats(
    count: usize,
    value: impl Fn(usize) -> f64,
    restriction: &Restriction,
    bits: &mut Vec<u64>,
) {
    append_where(count, bits, |at| {
        holds(restriction, |constant| match constant {
            Constant::Float(constant) => Some(compare_floats(value(at), *constant)),
            _ => None,
        })
    });
}

/// Tells whether a value that is not null matches, given how it is ordered to a constant.
fn holds(
    restriction: &Restriction,
    order: impl Fn(&Constant) -> Option<std::cmp::Ordering>,
) -> bool {
    let compare = |op: CompareOp, constant| order(constant).is_some_and(|order| op.holds(order));
    match restriction {
        Restriction::Compare { op, value } => compare(*op, value),
        Restriction::Between { low, high } => {
            compare(CompareOp::Ge, low) && compare(CompareOp::Le, high)
        }
        Restriction::InSet(values) => values.iter().any(|value| compare(CompareOp::Eq, value)),
        Restriction::IsNull => false,
        Restriction::IsNotNull => true,
    }
}

/// Signed numbers, made unsigned in the same order by flipping their top bit.
#[derive(Clone, Copy)]
struct Signed<'a, T, U>(&'a [T], U);

impl<T: Lane, U: Lane> Numbers for Signed<'_, T, U> {
    type Lane = U;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        self.0[at].to_bits() ^ self.1.to_bits()
    }

    #[inline(always)]
    fn read<S: Simd>(&self, simd: S, at: usize) -> Register<S, U> {
        simd.load_front(&self.0[at..]).cast::<U>() ^ simd.splat(self.1)
    }
}

fn signed<T: Lane, U: Lane>(
    flavour: Flavour,
    values: Signed<'_, T, U>,
    restriction: &Restriction,
    bits: &mut Vec<u64>,
) {
    let (mut base, key_max) = plain_range(size_of::<T>());
    if size_of::<T>() == 1 {
        base = i8::MIN.into();
    }
    let int = |constant: &Constant| match constant {
        Constant::Int(value) => Some(*value),
        _ => None,
    };
    let matcher = match restriction {
        Restriction::Compare { op, value } => {
            int(value).map(|value| Matcher::compare(*op, value, base, key_max))
        }
        Restriction::Between { low, high } => {
            int(low).zip(int(high)).map(|range| Matcher::range(range, true, base, key_max))
        }
        Restriction::InSet(set) => {
            let keys = set.iter().filter_map(int).filter_map(|value| value.checked_sub(base));
            let keys = keys.filter_map(|key| u64::try_from(key).ok());
            Some(Matcher::set(keys.filter(|key| *key <= key_max).collect()))
        }
        Restriction::IsNull => Some(Matcher::Nothing),
        Restriction::IsNotNull => Some(Matcher::Everything),
    };
    matcher.unwrap_or(Matcher::Nothing).append(flavour, values, bits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_and_flavour_gives_the_same_answer() {
        let values: Vec<i64> = (0..300).map(|at| (at * 37 % 251) - 120).collect();
        let narrow8: Vec<i8> = values.iter().map(|value| (value / 2) as i8).collect();
        let halved: Vec<i64> = values.iter().map(|value| value / 2).collect();
        let restrictions = [
            Restriction::Compare { op: CompareOp::Ne, value: Constant::Int(3) },
            Restriction::Compare { op: CompareOp::Lt, value: Constant::Int(-200) },
            Restriction::Compare { op: CompareOp::Gt, value: Constant::Int(i128::MIN) },
            Restriction::Between { low: Constant::Int(-5), high: Constant::Int(40) },
            Restriction::InSet(vec![Constant::Int(7), Constant::Int(-60), Constant::Int(1 << 80)]),
            Restriction::IsNotNull,
        ];
        let word = |values: &[i64], restriction: &Restriction| {
            let mut bits = vec![0_u64; values.len().div_ceil(64)];
            for (at, value) in values.iter().enumerate() {
                let order = |constant: &Constant| match constant {
                    Constant::Int(constant) => Some(i128::from(*value).cmp(constant)),
                    _ => None,
                };
                bits[at / 64] |= u64::from(holds(restriction, order)) << (at % 64);
            }
            bits
        };
        for flavour in Flavour::available() {
            for restriction in &restrictions {
                let mut bits = Vec::new();
                let mut check = |slice, values: &[i64]| {
                    select_values(flavour, slice, restriction, &mut bits);
                    assert_eq!(bits, word(values, restriction), "{flavour} {restriction}");
                };
                let narrow16: Vec<i16> = values.iter().map(|value| *value as i16).collect();
                let narrow32: Vec<i32> = values.iter().map(|value| *value as i32).collect();
                let wide: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
                check(ValueSlice::Int8(&narrow8), &halved);
                check(ValueSlice::Int16(&narrow16), &values);
                check(ValueSlice::Int32(&narrow32), &values);
                check(ValueSlice::Int64(&values), &values);
                check(ValueSlice::Int128(&wide), &values);
            }
        }
    }
}
