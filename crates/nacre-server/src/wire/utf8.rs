//! Texts of clients.

use std::fmt;

/// Most bytes that are shown of what is no text.
const SHOWN_BYTES_MAX: usize = 8;

/// Bytes that are no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidUtf8 {
    /// The first that are wrong.
    bytes: Vec<u8>,
}

impl fmt::Display for InvalidUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid byte sequence for encoding \"UTF8\":")?;
        self.bytes.iter().try_for_each(|byte| write!(f, " 0x{byte:02x}"))
    }
}

/// Reads a text, which has no zeros.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, InvalidUtf8> {
    let found = match std::str::from_utf8(bytes) {
        Ok(text) => match text.bytes().position(|byte| byte == 0) {
            None => return Ok(text),
            Some(place) => place,
        },
        Err(error) => error.valid_up_to(),
    };
    let rest = &bytes[found..];
    // As many as the first byte says that the character has.
    let length = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let length = length.min(rest.len()).min(SHOWN_BYTES_MAX);
    Err(InvalidUtf8 { bytes: rest[..length].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_bytes_are_shown_as_postgresql_shows_them() {
        let shown = |bytes| text(bytes).unwrap_err().to_string();
        let message = |bytes| format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
        assert_eq!(shown(b"ab\xff"), message("0xff"));
        assert_eq!(shown(b"\xe4 b"), message("0xe4 0x20 0x62"));
        assert_eq!(shown(b"\xc3"), message("0xc3"));
        assert_eq!(shown(b"a\0"), message("0x00"));
        assert_eq!(text("\u{fc}".as_bytes()), Ok("\u{fc}"));
    }
}
