//! What names, strings and escapes stand for.

use super::strings::{continuation_of, dollar_tag};
use crate::error::SyntaxErrorKind;

/// Bytes of a name; longer ones are cut off at the end of a character.
const NAME_BYTES_MAX: usize = 63;

/// An escape that is wrong.
pub(super) struct EscapeError {
    pub(super) kind: SyntaxErrorKind,
    pub(super) message: &'static str,
    /// Bytes before it in the piece of a string.
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

/// Folds a name that is not quoted to lower case.
pub(crate) fn fold_name(name: &str) -> String {
    // Only ASCII letters: whether others have a lower case depends on PostgreSQL's locale.
    truncated(name).to_ascii_lowercase()
}

/// Returns the value of `"name"`.
pub(crate) fn quoted_name(token: &str) -> String {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    truncated(&inner.replace("\"\"", "\"")).to_owned()
}

/// Cuts a name off where names end.
pub(crate) fn truncated(name: &str) -> &str {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let mut end = NAME_BYTES_MAX;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or(name)
}

/// Returns the value of `'text'`, of which `token` has all lines.
pub(crate) fn string_value(token: &str) -> String {
    let pieces = string_pieces(token, 0, token.len(), false);
    pieces.into_iter().map(|(_, piece)| piece.replace("''", "'")).collect()
}

/// Returns the value of `$tag$text$tag$`.
pub(crate) fn dollar_value(token: &str) -> &str {
    let tag = dollar_tag(token.as_bytes()).unwrap_or(0);
    token.get(tag..token.len().saturating_sub(tag)).unwrap_or("")
}

/// Returns what stands between the quotes of a string and of what continues it, with offsets in
/// `text`; the string begins with the quote at `start` and ends before `end`.
pub(super) fn string_pieces(
    text: &str,
    start: usize,
    end: usize,
    has_escapes: bool,
) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes().get(..end).unwrap_or(&[]);
    let mut pieces = Vec::with_capacity(1);
    let mut open = Some(start);
    while let Some(quote) = open {
        let mut next = quote + 1;
        loop {
            match (bytes.get(next), bytes.get(next + 1)) {
                (None, _) => break,
                (Some(b'\''), Some(b'\'')) => next += 2,
                (Some(b'\''), _) => break,
                (Some(b'\\'), _) if has_escapes => next += 2,
                _ => next += 1,
            }
        }
        pieces.push((quote + 1, text.get(quote + 1..next).unwrap_or("")));
        open = continuation_of(bytes, next + 1);
    }
    pieces
}

/// Appends the value of a piece of `E'...'`.
pub(super) fn decode_escapes(piece: &str, value: &mut String) -> Result<(), EscapeError> {
    let mut bytes: Vec<u8> = Vec::with_capacity(piece.len());
    let mut surrogate: Option<u32> = None;
    let mut next = 0;
    let source = piece.as_bytes();
    let fail = |kind, message, offset, bytes| EscapeError { kind, message, offset, bytes };
    while let Some(byte) = source.get(next).copied() {
        let start = next;
        if surrogate.is_some()
            && !matches!((byte, source.get(next + 1)), (b'\\', Some(b'u' | b'U')))
        {
            return Err(fail(SyntaxErrorKind::Grammar, BAD_SURROGATE, start, 1));
        }
        match (byte, source.get(next + 1).copied()) {
            (b'\'', _) => {
                bytes.push(b'\'');
                next += 2;
            }
            (b'\\', Some(digit @ b'0'..=b'7')) => {
                let (code, length) = digits_of(source, next + 1, 8, 3);
                let _ = digit;
                bytes.push(code as u8);
                next += 1 + length;
            }
            (b'\\', Some(b'x')) if source.get(next + 2).is_some_and(u8::is_ascii_hexdigit) => {
                let (code, length) = digits_of(source, next + 2, 16, 2);
                bytes.push(code as u8);
                next += 2 + length;
            }
            (b'\\', Some(letter @ (b'u' | b'U'))) => {
                let wanted = if letter == b'u' { 4 } else { 8 };
                let (code, length) = digits_of(source, next + 2, 16, wanted);
                if length != wanted {
                    return Err(fail(SyntaxErrorKind::Escape, BAD_ESCAPE, start, 2 + length));
                }
                next += 2 + length;
                let character = join_surrogates(code, &mut surrogate).map_err(|message| {
                    fail(SyntaxErrorKind::Grammar, message, start, 2 + length)
                })?;
                let mut buffer = [0; 4];
                bytes.extend(
                    character.map(|one| one.encode_utf8(&mut buffer).as_bytes()).unwrap_or(&[]),
                );
            }
            (b'\\', Some(letter)) => {
                bytes.push(escaped_byte(letter));
                next += 2;
            }
            _ => {
                bytes.push(byte);
                next += 1;
            }
        }
    }
    if surrogate.is_some() {
        return Err(fail(SyntaxErrorKind::Grammar, BAD_SURROGATE, next, 1));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => {
            value.push_str(&text);
            Ok(())
        }
        _ => Err(fail(SyntaxErrorKind::Character, BAD_CHARACTER, 0, piece.len())),
    }
}

const BAD_ESCAPE: &str = "invalid Unicode escape";

const BAD_VALUE: &str = "invalid Unicode escape value";

const BAD_SURROGATE: &str = "invalid Unicode surrogate pair";

const BAD_CHARACTER: &str = "invalid byte sequence for encoding \"UTF8\"";

fn escaped_byte(letter: u8) -> u8 {
    match letter {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        other => other,
    }
}

/// Reads up to `count` digits; returns their value and how many there are.
fn digits_of(source: &[u8], start: usize, radix: u32, count: usize) -> (u32, usize) {
    let mut code = 0_u32;
    let mut length = 0;
    while length < count {
        let digit = source.get(start + length).and_then(|byte| char::from(*byte).to_digit(radix));
        let Some(digit) = digit else { break };
        code = code.wrapping_mul(radix).wrapping_add(digit);
        length += 1;
    }
    (code, length)
}

/// Takes a code; two halves of a pair become one character.
fn join_surrogates(code: u32, surrogate: &mut Option<u32>) -> Result<Option<char>, &'static str> {
    match (surrogate.take(), code) {
        (None, 0xd800..=0xdbff) => {
            *surrogate = Some(code);
            Ok(None)
        }
        (Some(high), 0xdc00..=0xdfff) => {
            let joined = 0x1_0000 + ((high & 0x3ff) << 10) + (code & 0x3ff);
            char::from_u32(joined).map(Some).ok_or(BAD_SURROGATE)
        }
        (None, 0xdc00..=0xdfff) | (Some(_), _) => Err(BAD_SURROGATE),
        (None, 0) => Err(BAD_VALUE),
        (None, _) => char::from_u32(code).map(Some).ok_or(BAD_VALUE),
    }
}

/// Appends the value of a piece of `U&'...'` or `U&"..."`; doubled quotes and escapes are one.
pub(super) fn decode_unicode(
    piece: &str,
    escape: char,
    quote: char,
    value: &mut String,
) -> Result<(), EscapeError> {
    let mut rest = piece;
    let mut surrogate = None;
    let fail = |kind, message, rest: &str, bytes| EscapeError {
        kind,
        message,
        offset: piece.len() - rest.len(),
        bytes,
    };
    while let Some(first) = rest.chars().next() {
        let behind = rest.get(first.len_utf8()..).unwrap_or("");
        if first != escape || behind.starts_with(escape) {
            if surrogate.is_some() {
                return Err(fail(SyntaxErrorKind::Grammar, BAD_SURROGATE, rest, 1));
            }
            value.push(first);
            let is_doubled = first == escape || (first == quote && behind.starts_with(quote));
            rest = if is_doubled { behind.get(first.len_utf8()..).unwrap_or("") } else { behind };
            continue;
        }
        let (wanted, mark) = if behind.starts_with('+') { (6, 1) } else { (4, 0) };
        let (code, length) = digits_of(behind.as_bytes(), mark, 16, wanted);
        if length != wanted {
            return Err(fail(SyntaxErrorKind::Grammar, BAD_ESCAPE, rest, 1));
        }
        let character = join_surrogates(code, &mut surrogate)
            .map_err(|message| fail(SyntaxErrorKind::Grammar, message, rest, 1))?;
        value.extend(character);
        rest = behind.get(mark + wanted..).unwrap_or("");
    }
    if surrogate.is_some() {
        return Err(fail(SyntaxErrorKind::Grammar, BAD_SURROGATE, rest, 1));
    }
    Ok(())
}
