//! Order, equality and hashes: of values, not of the digits that they show.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use num_bigint::BigInt;

use super::arithmetic::{rescaled_big, rescaled_small};
use super::{ExactNumeric, FiniteParts, NumericClass};

impl Ord for ExactNumeric {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.class(), other.class()) {
            (NumericClass::Finite(one), NumericClass::Finite(other)) => compare_finite(one, other),
            (one, other) => rank(one).cmp(&rank(other)),
        }
    }
}

/// Returns the place of a class in the order: NaN is the greatest value.
fn rank(class: NumericClass<'_>) -> i8 {
    match class {
        NumericClass::NotANumber => 2,
        NumericClass::Infinity(sign) => sign,
        NumericClass::Finite(_) => 0,
    }
}

fn compare_finite(one: FiniteParts<'_>, other: FiniteParts<'_>) -> Ordering {
    let by_sign = one.signum().cmp(&other.signum());
    if by_sign != Ordering::Equal || one.is_zero() {
        return by_sign;
    }
    let scale = one.scale().max(other.scale());
    if let (FiniteParts::Small(left, left_scale), FiniteParts::Small(right, right_scale)) =
        (one, other)
    {
        let left = rescaled_small(left, left_scale, scale);
        let right = rescaled_small(right, right_scale, scale);
        if let (Some(left), Some(right)) = (left, right) {
            return left.cmp(&right);
        }
    }
    rescaled_big(one, scale).cmp(&rescaled_big(other, scale))
}

impl PartialOrd for ExactNumeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ExactNumeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactNumeric {}

impl Hash for ExactNumeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.class() {
            NumericClass::Finite(FiniteParts::Small(unscaled, scale)) => {
                let (unscaled, scale) = stripped_small(unscaled, scale);
                (unscaled, scale).hash(state);
            }
            NumericClass::Finite(FiniteParts::Big(unscaled, scale)) => {
                match stripped_big(unscaled.clone(), scale) {
                    (unscaled, scale) if let Ok(small) = i128::try_from(&unscaled) => {
                        (small, scale).hash(state);
                    }
                    stripped => stripped.hash(state),
                }
            }
            class => rank(class).hash(state),
        }
    }
}

/// Drops zeros at the end of the fraction.
pub(super) fn stripped_small(mut unscaled: i128, mut scale: u16) -> (i128, u16) {
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    (unscaled, scale)
}

fn stripped_big(mut unscaled: BigInt, mut scale: u16) -> (BigInt, u16) {
    let ten = BigInt::from(10);
    while scale > 0 {
        let quotient = &unscaled / &ten;
        if &quotient * &ten != unscaled {
            break;
        }
        unscaled = quotient;
        scale -= 1;
    }
    (unscaled, scale)
}
