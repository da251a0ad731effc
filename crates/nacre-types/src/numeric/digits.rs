//! Powers of ten and counts of digits.

use num_bigint::{BigInt, BigUint};

/// Powers of ten that fit an `i128`: 10^0 to 10^38.
const POWERS: [i128; 39] = {
    let mut powers = [1_i128; 39];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Returns 10^exponent if it fits.
pub(super) fn power_small(exponent: u32) -> Option<i128> {
    POWERS.get(exponent as usize).copied()
}

/// Returns 10^exponent.
pub(super) fn power_big(exponent: u32) -> BigInt {
    match power_small(exponent) {
        Some(small) => BigInt::from(small),
        None => BigInt::from(BigUint::from(10_u8).pow(exponent)),
    }
}

/// Returns the decimal digits of a number; 0 has none.
pub(super) fn count_small(value: i128) -> usize {
    let magnitude = value.unsigned_abs();
    // 1233 / 4096 is a little less than log10(2), so that the estimate is right or one short; a
    // logarithm of 128 bits divides.
    let bits = (u128::BITS - magnitude.leading_zeros()) as usize;
    let estimate = (bits * 1_233) >> 12;
    estimate + usize::from(magnitude > 0 && magnitude >= POWERS[estimate].unsigned_abs())
}

/// Divides; two numbers of 64 bits without a call of the library's division of 128 bits.
#[inline]
pub(super) fn divide_magnitudes(value: u128, divisor: u128) -> u128 {
    match (u64::try_from(value), u64::try_from(divisor)) {
        (Ok(value), Ok(divisor)) => (value / divisor).into(),
        _ => value / divisor,
    }
}

/// Returns the decimal digits of a number; 0 has none.
pub(super) fn count_big(value: &BigInt) -> usize {
    if let Ok(small) = i128::try_from(value) {
        return count_small(small);
    }
    // log10(2) = 0.30102999566...; the estimate is one short at most.
    let bits = u128::from(value.bits());
    let estimate = ((bits - 1) * 30_102_999_566 / 100_000_000_000) as u32;
    match value.magnitude() < power_big(estimate).magnitude() {
        true => estimate as usize,
        false if value.magnitude() < power_big(estimate + 1).magnitude() => estimate as usize + 1,
        false => estimate as usize + 2,
    }
}

/// Divides and rounds a half away from zero; `divisor` is positive.
pub(super) fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let (magnitude, divisor) = (value.unsigned_abs(), divisor.unsigned_abs());
    let quotient = divide_magnitudes(magnitude, divisor);
    // Not by `%`, which divides again.
    let rest = magnitude - quotient * divisor;
    let quotient = (quotient + u128::from(rest >= divisor - rest)) as i128;
    if value < 0 { quotient.wrapping_neg() } else { quotient }
}

/// Returns `value * unit / divisor`, rounded as by [`divide_rounded`], for a product that may have
/// more than 128 bits; `None` if a part of it does not fit. `unit` is positive.
///
/// The quotient is multiplied by `unit`, then the rest, which is less than the divisor.
pub(super) fn divide_product_rounded(value: i128, unit: i128, divisor: i128) -> Option<i128> {
    let (magnitude, divisor) = (value.unsigned_abs(), divisor.unsigned_abs());
    let quotient = divide_magnitudes(magnitude, divisor);
    let rest = i128::try_from(magnitude - quotient * divisor).ok()?;
    let whole = i128::try_from(quotient).ok()?.checked_mul(unit)?;
    let behind = divide_rounded(rest.checked_mul(unit)?, i128::try_from(divisor).ok()?);
    let quotient = whole.checked_add(behind)?;
    Some(if value < 0 { -quotient } else { quotient })
}

/// As [`divide_rounded`].
pub(super) fn divide_rounded_big(value: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = value / divisor;
    let rest = value - &quotient * divisor;
    match rest.magnitude() * 2_u8 >= *divisor.magnitude() {
        true if value.sign() == num_bigint::Sign::Minus => quotient - 1,
        true => quotient + 1,
        false => quotient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_at_powers_of_ten() {
        for exponent in [1, 18, 38, 39, 40, 77, 1_000, 9_999] {
            let power = power_big(exponent);
            assert_eq!(count_big(&power), exponent as usize + 1);
            assert_eq!(count_big(&(power - 1)), exponent as usize);
        }
        assert_eq!(count_small(i128::MIN), 39);
        assert_eq!(count_small(0), 0);
        for bit in 0..127 {
            for value in
                [1_i128 << bit, (1_i128 << bit) - 1, POWERS[bit % 39], POWERS[bit % 39] - 1]
            {
                let digits = if value == 0 { 0 } else { value.to_string().len() };
                assert_eq!(count_small(value), digits, "{value}");
                assert_eq!(count_small(-value), digits, "-{value}");
            }
        }
    }

    #[test]
    fn halves_round_away_from_zero() {
        for (value, expected) in [(14, 1), (15, 2), (-14, -1), (-15, -2), (0, 0)] {
            assert_eq!(divide_rounded(value, 10), expected);
            let big = divide_rounded_big(&BigInt::from(value), &BigInt::from(10));
            assert_eq!(big, BigInt::from(expected));
        }
    }
}
