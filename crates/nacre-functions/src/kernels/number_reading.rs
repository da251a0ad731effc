//! `to_number`: reads a text by a pattern of `to_char`.
//!
//! A place of the pattern takes a character, or none where the text has something else: texts that
//! do not fit their pattern are read in odd ways, which are PostgreSQL's.

use nacre_types::{ExactNumeric, SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::text;
use super::number_format::{NumberPart, NumberPattern, parse_pattern};
use super::registry::KernelRow;

/// Digits behind the point that PostgreSQL gives powers of ten below one, by which `V` divides.
const POWER_SCALE: usize = 16;

pub(super) const KERNELS: &[KernelRow] = &[(
    "to_number(text,text)",
    ScalarKernel::partial(|values, _| {
        let (text, pattern) = (text(values, 0)?, text(values, 1)?);
        if pattern.is_empty() {
            return Ok(SqlValue::Null);
        }
        read_number(text, &parse_pattern(pattern)?).map(SqlValue::Numeric)
    }),
)];

/// What was read of a text so far.
struct NumberReader<'n> {
    pattern: &'n NumberPattern,
    text: &'n [u8],
    /// The next character.
    at: usize,
    /// `-`, `+`, or a blank for none.
    sign: u8,
    digits: String,
    before: usize,
    behind: usize,
    has_point: bool,
}

/// Reads a number.
///
/// # Errors
/// 22P02 without digits, 22003 for more digits than the pattern has, 0A000 for what is written
/// only.
fn read_number(text: &str, pattern: &NumberPattern) -> Result<ExactNumeric, ValueError> {
    if pattern.roman.is_some() {
        return Err(ValueError::feature_refused("\"RN\" not supported for input"));
    }
    if pattern.is_scientific {
        return Err(ValueError::feature_refused("\"EEEE\" not supported for input"));
    }
    let text = text.as_bytes();
    let mut reader = NumberReader {
        pattern,
        text,
        at: 0,
        sign: b' ',
        digits: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    for part in &pattern.parts {
        if reader.peek().is_none() {
            break;
        }
        reader.take_part(*part);
    }
    reader.value()
}

impl NumberReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Goes past a character.
    fn skip_letter(&mut self) {
        self.at += 1;
        while self.peek().is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.at += 1;
        }
    }

    /// Goes past characters that are no part of a number.
    fn skip_letters(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek() {
                None | Some(b'0'..=b'9' | b'.' | b',' | b'+' | b'-') => return,
                Some(_) => self.skip_letter(),
            }
        }
    }

    fn take_part(&mut self, part: NumberPart) {
        match part {
            NumberPart::Nine | NumberPart::Zero => {
                self.take_digit(true);
                self.at += 1;
            }
            NumberPart::Point => {
                self.take_digit(false);
                self.at += 1;
            }
            NumberPart::Comma => {
                if !self.pattern.is_filled && self.peek() == Some(b',') {
                    self.at += 1;
                }
            }
            NumberPart::Currency => self.skip_letters(1),
            NumberPart::Ordinal { .. } => {
                if !self.pattern.has_point {
                    self.skip_letters(2);
                }
            }
            NumberPart::Minus => self.take_sign(b"-"),
            NumberPart::Plus => self.take_sign(b"+"),
            NumberPart::EitherSign => self.take_sign(b"-+"),
            NumberPart::Sign => {}
            NumberPart::Text(_) => self.skip_letter(),
        }
    }

    /// Takes one of some signs; goes past anything else that is no part of a number.
    fn take_sign(&mut self, signs: &[u8]) {
        match self.peek().filter(|sign| signs.contains(sign)) {
            Some(sign) => {
                self.sign = sign;
                self.at += 1;
            }
            None => self.skip_letters(1),
        }
    }

    /// Takes a digit or a point, with a sign before it or behind it. What is taken last is left
    /// for the caller to go past.
    fn take_digit(&mut self, is_digit: bool) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        let has_digits = self.before + self.behind > 0;
        let has_anchor = self.pattern.anchor.is_some();
        if self.sign == b' ' && is_digit && !has_digits {
            self.take_sign_before();
        }
        let mut is_read = false;
        match self.peek() {
            None => return,
            Some(digit @ b'0'..=b'9') => {
                if self.has_point && self.behind == self.pattern.behind {
                    return;
                }
                self.digits.push(char::from(digit));
                if self.has_point {
                    self.behind += 1
                } else {
                    self.before += 1
                }
                is_read = true;
            }
            Some(b'.') if self.pattern.has_point && !self.has_point => {
                self.digits.push('.');
                self.has_point = true;
                is_read = true;
            }
            Some(_) => {}
        }
        if self.sign != b' ' || self.before + self.behind == 0 {
            return;
        }
        if has_anchor && is_read {
            // The sign `S` stands right behind the last digit.
            if let Some(sign @ (b'-' | b'+')) = self.text.get(self.at + 1).copied() {
                self.at += 1;
                self.sign = sign;
            }
        } else if !is_read
            && !has_anchor
            && (self.pattern.has_plus || self.pattern.has_minus)
            && let Some(sign @ (b'-' | b'+')) = self.peek()
        {
            self.sign = sign;
        }
    }

    fn take_sign_before(&mut self) {
        match self.peek() {
            Some(b'<') if self.pattern.in_brackets => self.sign = b'-',
            Some(sign @ (b'-' | b'+')) => self.sign = sign,
            _ => return,
        }
        self.at += 1;
    }

    fn value(mut self) -> Result<ExactNumeric, ValueError> {
        if self.digits.ends_with('.') {
            self.digits.pop();
        }
        let text = format!("{}{}", char::from(self.sign), self.digits);
        let value = ExactNumeric::parse(&text, None)?;
        let whole = self.digits.split('.').next().unwrap_or_default().trim_start_matches('0');
        let places = self.pattern.before + self.pattern.multiplied;
        if whole.len() > places {
            let (precision, scale) = (places + self.behind, self.behind);
            let detail = format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value \
                 less than 10^{places}."
            );
            return Err(ValueError::out_of_range("numeric field overflow").with_detail(detail));
        }
        if !self.pattern.is_multiplied {
            return Ok(value);
        }
        let zeros = POWER_SCALE.checked_sub(self.pattern.multiplied);
        let power = zeros.map_or(0, |zeros| 10_i128.pow(zeros as u32));
        value.multiply(&ExactNumeric::from_scaled(power, POWER_SCALE as u16)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, pattern: &str) -> Result<String, &'static str> {
        let pattern = parse_pattern(pattern).map_err(|error| error.sql_state())?;
        let value = read_number(text, &pattern);
        value.map(|value| value.to_string()).map_err(|error| error.sql_state())
    }

    #[test]
    fn numbers_are_read_as_postgresql_does() {
        for (text, pattern, expected) in [
            ("  42 ", "0.99", "22003"),
            ("5.01-", "9.9", "5.0"),
            ("$1.5", "MI99", "1"),
            ("-0", "S99", "0"),
            ("1st", "FM9,999", "1"),
            ("", "99MI", "22P02"),
            ("12", "RN", "0A000"),
            ("-12", "99V99", "-0.1200000000000000"),
            ("-12", "999", "-12"),
            ("12,454.8-", ".99", "22003"),
            ("1st", "9PRS", "42601"),
            ("1e5", "99S", "1"),
            ("5.01-", "FM9.99MI", "-5.01"),
            ("1 2 3", "S9.9", "22003"),
            ("00012", "\"x\"99", "0"),
            ("1,234.50", "99V99", "1.2300000000000000"),
            ("  42 ", "L9.9", "22003"),
            (".5", ".99", "0.5"),
            ("1e5", "9.99", "22003"),
            ("+7", "99 9", "7"),
            ("1234", "9PRS", "42601"),
            ("00012", "RN", "0A000"),
            ("1.234", "99 9", "13"),
            ("12+", "99V9", "1.2000000000000000"),
            ("12,454.8-", "99G999D9S", "-12454.8"),
            ("12", "99V9", "1.2000000000000000"),
            ("<5>", "9PR", "-5"),
        ] {
            assert_eq!(
                read(text, pattern).unwrap_or_else(str::to_owned),
                expected,
                "{text} {pattern}"
            );
        }
    }
}
