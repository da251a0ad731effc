//! Byte strings: the hexadecimal form and the older one with escapes.

use crate::error::ValueError;

/// How byte strings are written: `bytea_output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteaOutput {
    /// `\x0102`.
    #[default]
    Hex,
    /// `\001\002`.
    Escape,
}

/// Reads a byte string in either form.
pub(crate) fn parse_bytea(text: &str) -> Result<Vec<u8>, ValueError> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escapes(text),
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>, ValueError> {
    let digit = |one: char| match one.to_digit(16) {
        // Of four bits.
        Some(digit) => Ok(digit as u8),
        None => {
            let message = format!("invalid hexadecimal digit: \"{one}\"");
            Err(ValueError::invalid_parameter(message))
        }
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut chars = text.chars();
    while let Some(first) = chars.next() {
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(first)?;
        let Some(second) = chars.next() else {
            let message = "invalid hexadecimal data: odd number of digits";
            return Err(ValueError::invalid_parameter(message));
        };
        bytes.push(high << 4 | digit(second)?);
    }
    Ok(bytes)
}

fn parse_escapes(text: &str) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', first @ b'0'..=b'3', second @ b'0'..=b'7', third @ b'0'..=b'7', rest @ ..] => {
                bytes.push((first - b'0') << 6 | (second - b'0') << 3 | (third - b'0'));
                rest
            }
            [b'\\', ..] => {
                return Err(ValueError::invalid_text("invalid input syntax for type bytea"));
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// Appends a byte string.
pub(crate) fn write_bytea(bytes: &[u8], output: ByteaOutput, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match output {
        ByteaOutput::Hex => {
            out.push_str("\\x");
            for byte in bytes {
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
        ByteaOutput::Escape => {
            for byte in bytes {
                match byte {
                    b'\\' => out.push_str("\\\\"),
                    0x20..=0x7e => out.push(char::from(*byte)),
                    byte => out.push_str(&format!("\\{byte:03o}")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_written() {
        let bytes = parse_bytea("a\\\\\\001\\377").unwrap();
        assert_eq!(bytes, [b'a', b'\\', 1, 255]);
        let mut text = String::new();
        write_bytea(&bytes, ByteaOutput::Hex, &mut text);
        assert_eq!(text, "\\x615c01ff");
        assert_eq!(parse_bytea("\\x61 5C 01ff").unwrap(), bytes);
        text.clear();
        write_bytea(&bytes, ByteaOutput::Escape, &mut text);
        assert_eq!(text, "a\\\\\\001\\377");
    }

    #[test]
    fn malformed_bytes_are_refused() {
        let message = |text| parse_bytea(text).unwrap_err().message().to_owned();
        assert_eq!(message("\\xg1"), "invalid hexadecimal digit: \"g\"");
        assert_eq!(message("\\x1"), "invalid hexadecimal data: odd number of digits");
        assert_eq!(message("a\\9"), "invalid input syntax for type bytea");
    }
}
