//! Where strings, quoted names and parameters end, and whether their escapes are right.

use super::literals::{EscapeError, decode_escapes, decode_unicode, string_pieces};
use super::scanner::{TokenScanner, continues_name, is_blank, starts_name};
use super::tokens::TokenKind;
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::SqlKeyword;
use crate::range::SourceRange;

const UNTERMINATED_STRING: &str = "unterminated quoted string";

const UNTERMINATED_NAME: &str = "unterminated quoted identifier";

/// Reads `'...'` behind a prefix of `prefix` bytes, with what continues it on further lines.
pub(super) fn read_string(
    scanner: &mut TokenScanner<'_>,
    prefix: usize,
) -> Result<TokenKind, SyntaxError> {
    skip_string(scanner, prefix, false, UNTERMINATED_STRING)?;
    Ok(TokenKind::String)
}

/// Reads `B'...'` or `X'...'`.
pub(super) fn read_bits(
    scanner: &mut TokenScanner<'_>,
    kind: TokenKind,
) -> Result<TokenKind, SyntaxError> {
    let message = if kind == TokenKind::BitString {
        "unterminated bit string literal"
    } else {
        "unterminated hexadecimal string literal"
    };
    skip_string(scanner, 1, false, message)?;
    Ok(kind)
}

/// Reads `E'...'`.
pub(super) fn read_escape_string(scanner: &mut TokenScanner<'_>) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    skip_string(scanner, 1, true, UNTERMINATED_STRING)?;
    let mut value = String::new();
    for (offset, piece) in string_pieces(scanner.text, start + 1, scanner.next, true) {
        decode_escapes(piece, &mut value).map_err(|error| escape_error(scanner, error, offset))?;
    }
    scanner.list.decoded.push((start as u32, value.into()));
    Ok(TokenKind::DecodedString)
}

/// Reads `"..."` behind a prefix of `prefix` bytes.
pub(super) fn read_quoted_name(
    scanner: &mut TokenScanner<'_>,
    prefix: usize,
) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    scanner.next += prefix;
    skip_quoted(scanner, start, b'"', false, UNTERMINATED_NAME)?;
    if scanner.next - start == prefix + 2 {
        return Err(scanner.error_from(start, "zero-length delimited identifier"));
    }
    Ok(TokenKind::QuotedName)
}

/// Skips `'...'` and its continuations: white space with a new line, and another string.
fn skip_string(
    scanner: &mut TokenScanner<'_>,
    prefix: usize,
    has_escapes: bool,
    message: &str,
) -> Result<(), SyntaxError> {
    let start = scanner.next;
    scanner.next += prefix;
    skip_quoted(scanner, start, b'\'', has_escapes, message)?;
    while let Some(quote) = continuation(scanner) {
        scanner.next = quote;
        skip_quoted(scanner, start, b'\'', has_escapes, message)?;
    }
    Ok(())
}

/// Skips from an opening quote behind the closing one; a doubled one is part of the text.
fn skip_quoted(
    scanner: &mut TokenScanner<'_>,
    start: usize,
    quote: u8,
    has_escapes: bool,
    message: &str,
) -> Result<(), SyntaxError> {
    scanner.next += 1;
    loop {
        match scanner.peek(0) {
            Some(byte) if byte == quote => {
                scanner.next += 1;
                if scanner.peek(0) != Some(quote) {
                    return Ok(());
                }
                scanner.next += 1;
            }
            Some(b'\\') if has_escapes => scanner.next += 2,
            Some(_) => scanner.next += 1,
            None => {
                scanner.next = scanner.bytes.len();
                return Err(scanner.error_from(start, message));
            }
        }
    }
}

/// Returns where a string that ended here goes on.
fn continuation(scanner: &TokenScanner<'_>) -> Option<usize> {
    continuation_of(scanner.bytes, scanner.next)
}

/// Returns the opening quote of the next piece of a string, of which one ended before `next`.
pub(super) fn continuation_of(bytes: &[u8], mut next: usize) -> Option<usize> {
    let mut has_line = false;
    loop {
        match (bytes.get(next)?, bytes.get(next + 1)) {
            (b'\'', _) => return has_line.then_some(next),
            (b'-', Some(b'-')) => {
                let rest = bytes.get(next..)?;
                next += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
            }
            (byte, _) if is_blank(*byte) => {
                has_line |= matches!(byte, b'\n' | b'\r');
                next += 1;
            }
            _ => return None,
        }
    }
}

/// Reads `U&'...'` or `U&"..."`, with the UESCAPE behind it.
pub(super) fn read_unicode(scanner: &mut TokenScanner<'_>) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    let is_name = scanner.peek(2) == Some(b'"');
    if is_name {
        read_quoted_name(scanner, 2)?;
    } else {
        read_string(scanner, 2)?;
    }
    let end = scanner.next;
    let escape = read_uescape(scanner)?;
    let mut value = String::new();
    let pieces = if is_name {
        vec![(start + 3, scanner.text.get(start + 3..end - 1).unwrap_or(""))]
    } else {
        string_pieces(scanner.text, start + 2, end, false)
    };
    let quote = if is_name { '"' } else { '\'' };
    for (offset, piece) in pieces {
        decode_unicode(piece, escape, quote, &mut value).map_err(|error| {
            let start = (offset + error.offset) as u32;
            let range = SourceRange { start, end: start + 1 };
            SyntaxError::new(error.kind, error.message, range)
        })?;
    }
    scanner.list.decoded.push((start as u32, value.into()));
    Ok(if is_name { TokenKind::UnicodeName } else { TokenKind::DecodedString })
}

/// Reads `UESCAPE 'c'` if it is there; the escape is a backslash otherwise.
fn read_uescape(scanner: &mut TokenScanner<'_>) -> Result<char, SyntaxError> {
    let end = scanner.next;
    let mut ahead = TokenScanner {
        text: scanner.text,
        bytes: scanner.bytes,
        next: end,
        list: Default::default(),
    };
    ahead.skip_blanks()?;
    let word = ahead.next;
    ahead.skip_name();
    let is_uescape = scanner
        .text
        .get(word..ahead.next)
        .is_some_and(|text| text.eq_ignore_ascii_case(SqlKeyword::Uescape.word()));
    if !is_uescape {
        return Ok('\\');
    }
    ahead.skip_blanks()?;
    let literal = ahead.next;
    if ahead.peek(0) != Some(b'\'') {
        ahead.skip_name();
        if ahead.next == literal && ahead.peek(0).is_some() {
            ahead.next += 1;
        }
        return Err(
            ahead.error_from(literal, "UESCAPE must be followed by a simple string literal")
        );
    }
    read_string(&mut ahead, 0)?;
    let range = ahead.range_from(literal);
    let pieces = string_pieces(scanner.text, range.start as usize, range.end as usize, false);
    let value: String = pieces.into_iter().map(|(_, piece)| piece.replace("''", "'")).collect();
    let mut characters = value.chars();
    match (characters.next(), characters.next()) {
        (Some(escape), None) if may_escape(escape) => {
            scanner.next = ahead.next;
            Ok(escape)
        }
        _ => Err(SyntaxError::near("invalid Unicode escape character", range, scanner.text)),
    }
}

fn may_escape(escape: char) -> bool {
    let is_taken = escape.is_ascii_hexdigit() || matches!(escape, '+' | '\'' | '"');
    let is_space = escape.is_ascii() && is_blank(escape as u8);
    !(is_taken || is_space)
}

fn escape_error(scanner: &TokenScanner<'_>, error: EscapeError, offset: usize) -> SyntaxError {
    let start = offset + error.offset;
    let end = (start + error.bytes).min(scanner.bytes.len());
    let range = SourceRange { start: start as u32, end: end as u32 };
    match error.kind {
        SyntaxErrorKind::Grammar => SyntaxError::near(error.message, range, scanner.text),
        kind => SyntaxError::new(kind, error.message, range),
    }
}

/// Reads `$1`, `$tag$...$tag$`, or a dollar that begins nothing.
pub(super) fn read_dollar(scanner: &mut TokenScanner<'_>) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    if scanner.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
        scanner.next += 1;
        while scanner.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            scanner.next += 1;
        }
        if scanner.peek(0).is_some_and(starts_name) {
            scanner.skip_name();
            return Err(scanner.error_from(start, "trailing junk after parameter"));
        }
        return Ok(TokenKind::Parameter);
    }
    let Some(tag_bytes) = dollar_tag(scanner.bytes.get(start..).unwrap_or(&[])) else {
        scanner.next += 1;
        return Ok(TokenKind::Other);
    };
    let body = start + tag_bytes;
    let tag = scanner.text.get(start..body).unwrap_or("$$");
    match scanner.text.get(body..).and_then(|rest| rest.find(tag)) {
        Some(bytes) => {
            scanner.next = body + bytes + tag_bytes;
            Ok(TokenKind::DollarString)
        }
        None => {
            scanner.next = scanner.bytes.len();
            Err(scanner.error_from(start, "unterminated dollar-quoted string"))
        }
    }
}

/// Returns how many bytes the opening `$tag$` has.
pub(super) fn dollar_tag(bytes: &[u8]) -> Option<usize> {
    let mut length = 1;
    if bytes.get(1).copied().is_some_and(starts_name) {
        while bytes.get(length).is_some_and(|byte| *byte != b'$' && continues_name(*byte)) {
            length += 1;
        }
    }
    (bytes.get(length) == Some(&b'$')).then_some(length + 1)
}

#[cfg(test)]
mod tests;
