//! UUIDs: 32 hexadecimal digits, with hyphens behind any four of them, perhaps in braces.

use crate::error::ValueError;

/// Reads a UUID.
pub(crate) fn parse_uuid(text: &str) -> Result<[u8; 16], ValueError> {
    read_digits(text).ok_or_else(|| ValueError::syntax_of("uuid", text))
}

fn read_digits(text: &str) -> Option<[u8; 16]> {
    let mut rest = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}')?,
        None => text,
    }
    .as_bytes();
    let mut uuid = [0; 16];
    for (index, byte) in uuid.iter_mut().enumerate() {
        let (pair, behind) = rest.split_first_chunk::<2>()?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        // Of four bits each.
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        rest = behind;
        if index % 2 == 1 && index < 15 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
    }
    rest.is_empty().then_some(uuid)
}

/// Appends a UUID in its usual form.
pub(crate) fn write_uuid(uuid: &[u8; 16], out: &mut String) {
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_braces_are_optional() {
        let expected = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for text in [
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        ] {
            let mut shown = String::new();
            write_uuid(&parse_uuid(text).unwrap(), &mut shown);
            assert_eq!(shown, expected);
        }
        for text in
            ["", "a0", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11-"]
        {
            assert_eq!(parse_uuid(text).unwrap_err().sql_state(), "22P02", "{text}");
        }
    }
}
