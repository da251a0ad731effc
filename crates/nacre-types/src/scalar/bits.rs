//! Strings of bits.

use crate::error::ValueError;

/// A value of type `bit` or `bit varying`.
///
/// Ordered bit by bit, a prefix before what continues it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitString {
    bits: Vec<bool>,
}

impl BitString {
    /// Makes a string of bits.
    pub fn new(bits: Vec<bool>) -> Self {
        Self { bits }
    }

    /// Returns the bits, the first one first.
    pub fn bits(&self) -> &[bool] {
        &self.bits
    }

    /// Reads binary digits, perhaps behind `b`, or hexadecimal ones behind `x`.
    ///
    /// # Errors
    /// 22P02 for another character.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        if let Some(digits) = text.strip_prefix(['x', 'X']) {
            let mut bits = Vec::with_capacity(digits.len() * 4);
            for one in digits.chars() {
                let digit = one.to_digit(16).ok_or_else(|| not_a_digit(one, "hexadecimal"))?;
                bits.extend((0..4).rev().map(|shift| digit >> shift & 1 == 1));
            }
            return Ok(Self { bits });
        }
        let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
        let bit = |one: char| match one {
            '0' => Ok(false),
            '1' => Ok(true),
            one => Err(not_a_digit(one, "binary")),
        };
        Ok(Self { bits: digits.chars().map(bit).collect::<Result<_, _>>()? })
    }

    /// Returns the bits as bytes, the first bit highest, zeros at the end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter()
                .enumerate()
                .fold(0, |byte, (index, bit)| byte | u8::from(*bit) << (7 - index))
        };
        self.bits.chunks(8).map(byte).collect()
    }

    /// Makes a string of the first bits of bytes; missing ones are zero.
    pub fn from_bytes(bytes: &[u8], count: usize) -> Self {
        let all =
            bytes.iter().flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1 == 1));
        let mut bits: Vec<bool> = all.take(count).collect();
        bits.resize(count, false);
        Self { bits }
    }

    /// Checks the length of `bit(n)`; an explicit cast cuts or fills with zeros.
    ///
    /// # Errors
    /// 22026 for another length.
    pub fn with_length(mut self, length: usize, is_explicit: bool) -> Result<Self, ValueError> {
        if is_explicit {
            self.bits.resize(length, false);
        } else if self.bits.len() != length {
            let own = self.bits.len();
            let message = format!("bit string length {own} does not match type bit({length})");
            return Err(ValueError::length_mismatch(message));
        }
        Ok(self)
    }

    /// Checks the length of `bit varying(n)`; an explicit cast cuts.
    ///
    /// # Errors
    /// 22001 for more bits.
    pub fn with_length_max(mut self, length: usize, is_explicit: bool) -> Result<Self, ValueError> {
        if self.bits.len() > length && !is_explicit {
            let message = format!("bit string too long for type bit varying({length})");
            return Err(ValueError::too_long(message));
        }
        self.bits.truncate(length);
        Ok(self)
    }

    /// Appends the digits.
    pub fn write(&self, out: &mut String) {
        out.extend(self.bits.iter().map(|bit| if *bit { '1' } else { '0' }));
    }
}

fn not_a_digit(one: char, kind: &str) -> ValueError {
    ValueError::invalid_text(format!("\"{one}\" is not a valid {kind} digit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_bits_and_bytes() {
        let bits = BitString::parse("xA5").unwrap();
        assert_eq!(bits, BitString::parse("b10100101").unwrap());
        assert_eq!(bits.to_bytes(), [0xa5]);
        assert_eq!(BitString::from_bytes(&[0xa5], 3), BitString::parse("101").unwrap());
        assert!(BitString::parse("10").unwrap() < BitString::parse("101").unwrap());
        assert_eq!(
            BitString::parse("12").unwrap_err().message(),
            "\"2\" is not a valid binary digit"
        );
        assert_eq!(bits.with_length(3, false).unwrap_err().sql_state(), "22026");
    }
}
