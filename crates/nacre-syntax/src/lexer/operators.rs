//! Operators: the longest run of their characters, with two exceptions.
//!
//! - A comment ends the run.
//! - `+` and `-` end an operator only if it has one of [`ALLOWS_SIGNS`]: `a=-1` is `a = -1`.

use super::scanner::TokenScanner;
use super::tokens::TokenKind;
use crate::error::SyntaxError;

/// Bytes that a name of an operator may have, as for any name.
const OPERATOR_BYTES_MAX: usize = 63;

const ALLOWS_SIGNS: &[u8] = b"~!@#^&|`?%";

pub(super) fn is_operator_byte(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

/// Reads an operator of at least one byte.
pub(super) fn read_operator(scanner: &mut TokenScanner<'_>) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    let mut bytes = 0;
    while scanner.peek(bytes).is_some_and(is_operator_byte) {
        let comment = matches!(
            (scanner.peek(bytes), scanner.peek(bytes + 1)),
            (Some(b'/'), Some(b'*')) | (Some(b'-'), Some(b'-'))
        );
        if comment {
            break;
        }
        bytes += 1;
    }
    let run = scanner.bytes.get(start..start + bytes).unwrap_or(&[]);
    if !run.iter().any(|byte| ALLOWS_SIGNS.contains(byte)) {
        while bytes > 1 && matches!(run.get(bytes - 1), Some(b'+' | b'-')) {
            bytes -= 1;
        }
    }
    scanner.next = start + bytes;
    let run = run.get(..bytes).unwrap_or(run);
    if bytes > OPERATOR_BYTES_MAX {
        return Err(scanner.error_from(start, "operator too long"));
    }
    Ok(operator_kind(run))
}

fn operator_kind(run: &[u8]) -> TokenKind {
    match run {
        b"+" => TokenKind::Plus,
        b"-" => TokenKind::Minus,
        b"*" => TokenKind::Star,
        b"/" => TokenKind::Slash,
        b"%" => TokenKind::Percent,
        b"^" => TokenKind::Caret,
        b"<" => TokenKind::Less,
        b">" => TokenKind::Greater,
        b"=" => TokenKind::Equals,
        b"<=" => TokenKind::LessEquals,
        b">=" => TokenKind::GreaterEquals,
        b"<>" | b"!=" => TokenKind::NotEquals,
        b"=>" => TokenKind::EqualsGreater,
        _ => TokenKind::Operator,
    }
}

#[cfg(test)]
mod tests {
    use crate::lexer::read_tokens;

    fn pieces(text: &str) -> Vec<&str> {
        let list = read_tokens(text);
        list.tokens
            .iter()
            .map(|token| token.range.slice(text))
            .filter(|one| !one.is_empty())
            .collect()
    }

    #[test]
    fn signs_end_an_operator_only_with_certain_characters() {
        assert_eq!(pieces("a=-1"), ["a", "=", "-", "1"]);
        assert_eq!(pieces("a@-1"), ["a", "@-", "1"]);
        assert_eq!(pieces("a<=-+1"), ["a", "<=", "-", "+", "1"]);
        assert_eq!(pieces("a*-/b"), ["a", "*-/", "b"]);
    }

    #[test]
    fn comments_end_an_operator() {
        assert_eq!(pieces("a+/*b*/c"), ["a", "+", "c"]);
        assert_eq!(pieces("a|--b\nc"), ["a", "|", "c"]);
        assert_eq!(pieces("a<->b"), ["a", "<->", "b"]);
    }

    #[test]
    fn operators_are_no_longer_than_names() {
        assert!(read_tokens(&"@".repeat(63)).error.is_none());
        let message = read_tokens(&"@".repeat(64)).error.unwrap().to_string();
        assert!(message.starts_with("operator too long at or near"), "{message}");
    }
}
