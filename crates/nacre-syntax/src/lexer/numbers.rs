//! Numbers: `1`, `1.5`, `.5`, `1.`, `1e-3`. A name right behind one is an error.

use super::scanner::{TokenScanner, starts_name};
use super::tokens::TokenKind;
use crate::error::SyntaxError;

/// Reads a number, of which the first byte is a digit, or a dot before one.
pub(super) fn read_number(scanner: &mut TokenScanner<'_>) -> Result<TokenKind, SyntaxError> {
    let start = scanner.next;
    skip_digits(scanner);
    let mut is_integer = true;
    // `1..2` is a range, not two numbers.
    if scanner.peek(0) == Some(b'.') && scanner.peek(1) != Some(b'.') {
        is_integer = false;
        scanner.next += 1;
        skip_digits(scanner);
    }
    if matches!(scanner.peek(0), Some(b'e' | b'E')) {
        let has_sign = matches!(scanner.peek(1), Some(b'+' | b'-'));
        let digits = 1 + usize::from(has_sign);
        if scanner.peek(digits).is_some_and(|byte| byte.is_ascii_digit()) {
            is_integer = false;
            scanner.next += digits;
            skip_digits(scanner);
        } else if has_sign {
            scanner.next += digits;
            return Err(scanner.error_from(start, TRAILING_JUNK));
        }
    }
    if scanner.peek(0).is_some_and(starts_name) {
        scanner.skip_name();
        return Err(scanner.error_from(start, TRAILING_JUNK));
    }
    let fits =
        || scanner.text.get(start..scanner.next).is_some_and(|text| text.parse::<i32>().is_ok());
    Ok(if is_integer && fits() { TokenKind::Integer } else { TokenKind::Decimal })
}

const TRAILING_JUNK: &str = "trailing junk after numeric literal";

fn skip_digits(scanner: &mut TokenScanner<'_>) {
    while scanner.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
        scanner.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::lexer::{TokenKind, read_tokens};

    #[test]
    fn numbers_are_integers_as_far_as_32_bits_go() {
        for (text, expected) in [
            ("0", TokenKind::Integer),
            ("2147483647", TokenKind::Integer),
            ("2147483648", TokenKind::Decimal),
            ("1.", TokenKind::Decimal),
            (".5", TokenKind::Decimal),
            ("1e5", TokenKind::Decimal),
            ("1.5E-3", TokenKind::Decimal),
        ] {
            let list = read_tokens(text);
            assert_eq!(list.tokens[0].kind, expected, "{text}");
            assert_eq!(list.tokens[1].kind, TokenKind::End, "{text}");
        }
    }

    #[test]
    fn names_do_not_stand_right_behind_numbers() {
        for text in ["123abc", "0x0o", "0.a", "0.0e1a", "0.0e+", "0.0e", "1_2_3", "$1a"] {
            let error = read_tokens(text).error.unwrap();
            let message = error.to_string();
            assert!(message.starts_with("trailing junk after"), "{text}: {message}");
            assert!(message.ends_with(&format!("at or near \"{text}\"")), "{text}: {message}");
        }
    }

    #[test]
    fn two_dots_end_a_number() {
        let list = read_tokens("1..2");
        let kinds: Vec<_> = list.tokens.iter().map(|token| token.kind).collect();
        let expected = [TokenKind::Integer, TokenKind::DotDot, TokenKind::Integer, TokenKind::End];
        assert_eq!(kinds[..2], expected[..2]);
    }
}
