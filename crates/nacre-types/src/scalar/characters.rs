//! Strings: lengths of types, names, the one-byte type, UTF-8 of clients.

use crate::error::ValueError;

/// Bytes of a name at most.
const NAME_BYTES_MAX: usize = 63;

/// How a text that is longer than its type is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthRule {
    /// Only blanks may be cut, as in an assignment.
    CutBlanks,
    /// Anything is cut, as in an explicit cast.
    Cut,
}

/// Cuts a text to a number of characters.
///
/// # Errors
/// 22001 if more than blanks would be cut and may not.
pub(crate) fn cut_to_length(
    mut text: String,
    length: Option<usize>,
    rule: LengthRule,
    type_name: &str,
) -> Result<String, ValueError> {
    let Some(length) = length.filter(|length| text.len() > *length) else { return Ok(text) };
    let Some((end, _)) = text.char_indices().nth(length) else { return Ok(text) };
    if rule == LengthRule::CutBlanks && text[end..].bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {type_name}({length})");
        return Err(ValueError::too_long(message));
    }
    text.truncate(end);
    Ok(text)
}

/// Makes a text exactly as long as `char(length)`.
///
/// # Errors
/// As for [`cut_to_length`].
pub(crate) fn pad_to_length(
    text: String,
    length: Option<usize>,
    rule: LengthRule,
) -> Result<String, ValueError> {
    let mut text = cut_to_length(text, length, rule, "character")?;
    if let Some(length) = length {
        let missing = length.saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n(' ', missing));
    }
    Ok(text)
}

/// Cuts a name to 63 bytes, between characters.
pub(crate) fn cut_name(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(NAME_BYTES_MAX));
    text
}

/// Reads the one-byte type: a backslash and three octal digits, or the first byte.
pub(crate) fn parse_char(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', first @ b'0'..=b'7', second @ b'0'..=b'7', third @ b'0'..=b'7'] => {
            // The ninth bit is lost.
            ((first - b'0') & 3) << 6 | (second - b'0') << 3 | (third - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

/// Appends the one-byte type; the zero byte is an empty text.
pub(crate) fn write_char(byte: u8, out: &mut String) {
    match byte {
        0 => {}
        0x80.. => out.push_str(&format!("\\{byte:03o}")),
        byte => out.push(char::from(byte)),
    }
}

/// Checks bytes that a client sent as text.
///
/// # Errors
/// 22021 for bytes that are not UTF-8, and for the zero byte.
pub(crate) fn text_of_bytes(bytes: &[u8]) -> Result<&str, ValueError> {
    let refuse = |bytes: &[u8]| {
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let shown = shown.join(" ");
        let message = format!("invalid byte sequence for encoding \"UTF8\": {shown}");
        ValueError::invalid_encoding(message)
    };
    let (text, end) = match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text), bytes.len()),
        Err(error) => (None, error.valid_up_to()),
    };
    if let Some(zero) = bytes[..end].iter().position(|byte| *byte == 0) {
        return Err(refuse(&bytes[zero..=zero]));
    }
    text.ok_or_else(|| {
        // As many bytes as the first one announces.
        let announced = match bytes[end] {
            0xf0..=0xf7 => 4,
            0xe0..=0xef => 3,
            0xc0..=0xdf => 2,
            _ => 1,
        };
        refuse(&bytes[end..bytes.len().min(end + announced)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_are_cut_without_a_cast() {
        let cut = |text: &str, rule| cut_to_length(text.into(), Some(2), rule, "character varying");
        assert_eq!(cut("ab  ", LengthRule::CutBlanks).unwrap(), "ab");
        assert_eq!(cut("\u{e4}\u{f6}\u{fc}", LengthRule::Cut).unwrap(), "\u{e4}\u{f6}");
        let error = cut("abc", LengthRule::CutBlanks).unwrap_err();
        assert_eq!(error.message(), "value too long for type character varying(2)");
        assert_eq!(pad_to_length("a".into(), Some(3), LengthRule::Cut).unwrap(), "a  ");
        assert_eq!(cut_name("x".repeat(70)).len(), 63);
    }

    #[test]
    fn bytes_that_are_not_text_are_named() {
        assert_eq!(text_of_bytes(b"abc"), Ok("abc"));
        let message = |bytes: &[u8]| text_of_bytes(bytes).unwrap_err().message().to_owned();
        assert_eq!(message(&[b'a', 0xff]), "invalid byte sequence for encoding \"UTF8\": 0xff");
        assert_eq!(
            message(&[0xc3, b'a']),
            "invalid byte sequence for encoding \"UTF8\": 0xc3 0x61"
        );
        assert_eq!(message(&[0]), "invalid byte sequence for encoding \"UTF8\": 0x00");
    }

    #[test]
    fn one_byte_type_reads_octal_digits() {
        let mut out = String::new();
        for byte in [parse_char("\\101"), parse_char("xyz"), parse_char("\u{e9}"), parse_char("")] {
            write_char(byte, &mut out);
        }
        assert_eq!(out, "Ax\\303");
    }
}
