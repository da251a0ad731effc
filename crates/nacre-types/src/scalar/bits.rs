//! Strings of bits.

use crate::error::ValueError;

/// A value of type `bit` or `bit varying`.
///
/// Ordered bit by bit, a prefix before what continues it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitString {
    bits: Vec<bool>,
}

/// The length that a type asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitLength {
    Any,
    /// Of `bit(n)`.
    Exactly(usize),
    /// Of `bit varying(n)`.
    AtMost(usize),
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

    /// Reads binary digits, perhaps behind `b`, or hexadecimal ones behind `x`; their count is
    /// checked first.
    ///
    /// # Errors
    /// 22P02 for another character, else as `length` says.
    pub fn parse(text: &str, length: BitLength) -> Result<Self, ValueError> {
        let (digits, is_hexadecimal) = match text.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, true),
            None => (text.strip_prefix(['b', 'B']).unwrap_or(text), false),
        };
        length.check(digits.len() * if is_hexadecimal { 4 } else { 1 })?;
        let mut bits = Vec::with_capacity(digits.len());
        for one in digits.chars() {
            match one {
                one if is_hexadecimal => {
                    let digit = one.to_digit(16).ok_or_else(|| not_a_digit(one, "hexadecimal"))?;
                    bits.extend((0..4).rev().map(|shift| digit >> shift & 1 == 1));
                }
                '0' => bits.push(false),
                '1' => bits.push(true),
                one => return Err(not_a_digit(one, "binary")),
            }
        }
        Ok(Self { bits })
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

    /// Checks the length; an explicit cast cuts, and fills `bit(n)` with zeros.
    ///
    /// # Errors
    /// 22026 and 22001 as `length` says.
    pub fn with_length(mut self, length: BitLength, is_explicit: bool) -> Result<Self, ValueError> {
        match length {
            _ if !is_explicit => length.check(self.bits.len())?,
            BitLength::Any => {}
            BitLength::Exactly(length) => self.bits.resize(length, false),
            BitLength::AtMost(length) => self.bits.truncate(length),
        }
        Ok(self)
    }

    /// Appends the digits.
    pub fn write(&self, out: &mut String) {
        out.extend(self.bits.iter().map(|bit| if *bit { '1' } else { '0' }));
    }
}

impl BitLength {
    fn check(self, count: usize) -> Result<(), ValueError> {
        match self {
            Self::Exactly(length) if length != count => Err(ValueError::length_mismatch(format!(
                "bit string length {count} does not match type bit({length})"
            ))),
            Self::AtMost(length) if count > length => Err(ValueError::too_long(format!(
                "bit string too long for type bit varying({length})"
            ))),
            _ => Ok(()),
        }
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
        let parse = |text| BitString::parse(text, BitLength::Any);
        let bits = parse("xA5").unwrap();
        assert_eq!(bits, parse("b10100101").unwrap());
        assert_eq!(bits.to_bytes(), [0xa5]);
        assert_eq!(BitString::from_bytes(&[0xa5], 3), parse("101").unwrap());
        assert!(parse("10").unwrap() < parse("101").unwrap());
        assert_eq!(parse("12").unwrap_err().message(), "\"2\" is not a valid binary digit");
        let mismatch = bits.with_length(BitLength::Exactly(3), false).unwrap_err();
        assert_eq!(mismatch.sql_state(), "22026");
        let too_long = BitString::parse("10x", BitLength::AtMost(2)).unwrap_err();
        assert_eq!(too_long.message(), "bit string too long for type bit varying(2)");
    }
}
