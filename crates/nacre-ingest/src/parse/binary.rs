//! Binary strings, in hex or escape form.

use super::{ValueResult, invalid_syntax, is_space};
use crate::error::{ErrorKind, ValueError, shown};

/// Parses `\x0aff` or text with `\\` and `\ooo` escapes.
///
/// # Errors
/// `InvalidText`, `InvalidParameter`.
pub fn parse_bytea(text: &[u8]) -> ValueResult<Vec<u8>> {
    match text {
        [b'\\', b'x', hex @ ..] => parse_hex(hex),
        _ => parse_escaped(text),
    }
}

/// Takes pairs of hex digits, blanks between pairs.
fn parse_hex(text: &[u8]) -> ValueResult<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        if is_space(*first) {
            rest = tail;
            continue;
        }
        let high = hex_digit(rest)?;
        if tail.is_empty() {
            return Err(ValueError::new(
                ErrorKind::InvalidParameter,
                "invalid hexadecimal data: odd number of digits".to_owned(),
            ));
        }
        let low = hex_digit(tail)?;
        out.push(high << 4 | low);
        rest = &tail[1..];
    }
    Ok(out)
}

/// Reads the digit at the front of `rest`.
fn hex_digit(rest: &[u8]) -> ValueResult<u8> {
    let digit = rest.first().and_then(|byte| char::from(*byte).to_digit(16));
    digit.map(|digit| digit as u8).ok_or_else(|| {
        let first = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        let bytes = first.map_or(1, char::len_utf8).min(rest.len());
        ValueError::new(
            ErrorKind::InvalidParameter,
            format!("invalid hexadecimal digit: \"{}\"", shown(&rest[..bytes])),
        )
    })
}

fn parse_escaped(text: &[u8]) -> ValueResult<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        (rest, _) = match rest {
            [b'\\', b'\\', tail @ ..] => (tail, out.push(b'\\')),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                (tail, out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')))
            }
            [b'\\', ..] => return Err(invalid_syntax("bytea", text)),
            _ => (tail, out.push(*first)),
        };
    }
    Ok(out)
}
