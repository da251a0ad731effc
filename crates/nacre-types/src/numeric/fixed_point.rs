//! Logarithms and exponentials in binary fixed point.
//!
//! A number is `value / 2^bits`. Each step drops less than one unit, so that a result is off by
//! about as many units as it has steps: some thousands at most. [`GUARD_BITS`] are far more than
//! that, and the digits that are shown are rounded once, at the end.

use num_bigint::{BigInt, Sign};

use super::digits::power_big;

/// Bits behind those that the wanted digits need.
const GUARD_BITS: u32 = 64;

/// A count of bits behind the binary point.
#[derive(Clone, Copy)]
struct BinaryScale(u32);

impl BinaryScale {
    /// Returns enough bits for `digits` decimal ones behind the point.
    fn of_digits(digits: u32) -> Self {
        // log2(10) = 3.3219...
        Self(digits * 10 / 3 + GUARD_BITS)
    }

    fn one(self) -> BigInt {
        BigInt::from(1) << self.0
    }

    fn multiply(self, one: &BigInt, other: &BigInt) -> BigInt {
        (one * other) >> self.0
    }

    /// Returns the inverse hyperbolic tangent of `1 / divisor`.
    fn area_tangent_of_inverse(self, divisor: u32) -> BigInt {
        let mut power = self.one() / divisor;
        let mut sum = power.clone();
        let mut index = 1_u32;
        while power.sign() != Sign::NoSign {
            power /= divisor * divisor;
            index += 2;
            sum += &power / index;
        }
        sum
    }

    /// Returns the inverse hyperbolic tangent of a number from 0 to 1/2.
    fn area_tangent(self, value: BigInt) -> BigInt {
        let square = self.multiply(&value, &value);
        let mut sum = value.clone();
        let mut power = value;
        let mut index = 1_u32;
        while power.sign() != Sign::NoSign {
            power = self.multiply(&power, &square);
            index += 2;
            sum += &power / index;
        }
        sum
    }

    /// Returns ln(2), by the identity
    /// `2 = (27/25)^9 * (4802/4800)^-1 * (8750/8748)^4`, whose factors have quick series.
    fn logarithm_of_two(self) -> BigInt {
        self.area_tangent_of_inverse(26) * 18 - self.area_tangent_of_inverse(4_801) * 2
            + self.area_tangent_of_inverse(8_749) * 8
    }

    /// Returns ln(value / unit) of two positive numbers.
    fn logarithm(self, value: &BigInt, unit: &BigInt) -> BigInt {
        let mut exponent = value.bits() as i64 - unit.bits() as i64;
        // Between 1/2 and 2, then between 2/3 and 4/3.
        let shift = i64::from(self.0) - exponent;
        let mut mantissa = match shift {
            0.. => (value << shift) / unit,
            ..0 => value / (unit << shift.unsigned_abs()),
        };
        let one = self.one();
        if &mantissa * 3 > &one * 4 {
            exponent += 1;
            mantissa >>= 1;
        } else if &mantissa * 3 < &one * 2 {
            exponent -= 1;
            mantissa <<= 1;
        }
        let is_below_one = mantissa < one;
        let difference = if is_below_one { &one - &mantissa } else { &mantissa - &one };
        let half = self.area_tangent((difference << self.0) / (mantissa + one));
        let of_mantissa = if is_below_one { half * -2 } else { half * 2 };
        self.logarithm_of_two() * exponent + of_mantissa
    }

    /// Returns e^value as a number from 1 to 2 and the power of two that it is multiplied by.
    fn exponential(self, value: &BigInt) -> (BigInt, i64) {
        let of_two = self.logarithm_of_two();
        let mut exponent = value / &of_two;
        let mut rest = value - &exponent * &of_two;
        if rest.sign() == Sign::Minus {
            exponent -= 1;
            rest += &of_two;
        }
        // Of a number that is halved the series is short; as many squares undo that.
        let halvings = self.0.isqrt() / 2;
        let inner = Self(self.0 + 2 * halvings);
        let rest = rest << halvings;
        let mut sum = inner.one();
        let mut term = inner.one();
        let mut index = 1_u32;
        while term.sign() != Sign::NoSign {
            term = inner.multiply(&term, &rest) / index;
            sum += &term;
            index += 1;
        }
        for _ in 0..halvings {
            sum = inner.multiply(&sum, &sum);
        }
        (sum >> (2 * halvings), i64::try_from(exponent).unwrap_or(i64::MIN))
    }
}

/// Returns ln(unscaled / 10^scale) of a positive number times 10^shown, rounded.
pub(super) fn decimal_logarithm(unscaled: &BigInt, scale: u32, shown: u32) -> BigInt {
    let bits = BinaryScale::of_digits(shown);
    let logarithm = bits.logarithm(unscaled, &power_big(scale));
    shifted_rounded(logarithm * power_big(shown), i64::from(bits.0))
}

/// Returns e^(unscaled / 10^scale) times 10^shown, rounded; `significant` is at least the count of
/// digits that the result has.
pub(super) fn decimal_exponential(
    unscaled: &BigInt,
    scale: u32,
    shown: u32,
    significant: u32,
) -> BigInt {
    let bits = BinaryScale::of_digits(significant);
    let value = (unscaled << bits.0) / power_big(scale);
    let (mantissa, exponent) = bits.exponential(&value);
    shifted_rounded(mantissa * power_big(shown), i64::from(bits.0) - exponent)
}

/// Divides by 2^shift and rounds a half away from zero.
fn shifted_rounded(value: BigInt, shift: i64) -> BigInt {
    if shift <= 0 {
        return value << shift.unsigned_abs();
    }
    let magnitude = BigInt::from(value.magnitude().clone());
    let rounded = (magnitude + (BigInt::from(1) << (shift - 1))) >> shift;
    if value.sign() == Sign::Minus { -rounded } else { rounded }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn constants_have_their_digits() {
        let two = decimal_logarithm(&2.into(), 0, 50).to_string();
        assert_eq!(two, "69314718055994530941723212145817656807550013436026");
        let ten = decimal_logarithm(&10.into(), 0, 30).to_string();
        assert_eq!(ten, "2302585092994045684017991454684");
        let e = decimal_exponential(&1.into(), 0, 50, 51).to_string();
        assert_eq!(e, "271828182845904523536028747135266249775724709369996");
        assert_eq!(decimal_exponential(&0.into(), 3, 2, 3), 100.into());
        assert_eq!(decimal_logarithm(&1.into(), 0, 20), 0.into());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn results_are_those_of_more_digits(
            value in -2_000_000_i64..2_000_000, scale in 0_u32..9, shown in 0_u32..60,
        ) {
            let value = BigInt::from(value);
            let digits = shown + 30;
            let unit = power_big(digits - shown);
            if value.sign() == Sign::Plus {
                let more = decimal_logarithm(&value, scale, digits);
                let wanted = super::super::digits::divide_rounded_big(&more, &unit);
                prop_assert_eq!(decimal_logarithm(&value, scale, shown), wanted);
            }
            // Up to e^200.
            let scale = scale.max(4);
            let more = decimal_exponential(&value, scale, digits, digits + 90);
            let wanted = super::super::digits::divide_rounded_big(&more, &unit);
            prop_assert_eq!(decimal_exponential(&value, scale, shown, shown + 90), wanted);
        }
    }
}
