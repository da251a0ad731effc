//! Patterns of SIMILAR TO as regular expressions, as PostgreSQL's `similar_to_escape` makes them.
//!
//! `x SIMILAR TO 'a%|_b'` is `x ~ '(?s)^(?:a.*|.b)$'`: `%` and `_` stand for any characters, other
//! than SQL's characters lose what they mean in regular expressions, and the whole text has to
//! match.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Volatility;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan};

use super::scalar::Definition;
use super::synonyms::call;
use crate::error::{Error, ErrorKind, Result};
use crate::types::is_text;

/// What makes regular expressions of patterns.
const SIMILAR_PATTERN: &str = "nacre_similar_pattern";

/// Returns the comparison by a regular expression that SIMILAR TO stands for.
pub(crate) fn similar(
    value: Expr,
    pattern: Expr,
    escape: Option<&ValueWithSpan>,
    negated: bool,
) -> Expr {
    let regex = match (&pattern, escape) {
        (Expr::Value(literal), None) => match &literal.value {
            Value::SingleQuotedString(text) => regex_of(text, Some('\\')).ok(),
            _ => None,
        },
        _ => None,
    };
    let regex = match (regex, escape) {
        (Some(regex), _) => Expr::Value(Value::SingleQuotedString(regex).into()),
        (None, None) => call(SIMILAR_PATTERN, vec![pattern]),
        (None, Some(escape)) => call(SIMILAR_PATTERN, vec![pattern, Expr::Value(escape.clone())]),
    };
    let op = if negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    let (left, right) = (Box::new(value), Box::new(regex));
    Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))
}

pub(super) fn functions() -> [Definition; 1] {
    [Definition {
        name: SIMILAR_PATTERN,
        takes: |types| {
            let are_texts = types.iter().all(|one| is_text(one) || one == &DataType::Null);
            (matches!(types.len(), 1 | 2) && are_texts)
                .then(|| vec![DataType::Utf8View; types.len()])
        },
        returns: |_, _| DataType::Utf8View,
        volatility: Volatility::Immutable,
        body: |args, rows, _| {
            let patterns = args[0].as_string_view();
            let escapes = args.get(1).map(|escapes| escapes.as_string_view());
            let mut made = StringViewBuilder::with_capacity(rows);
            for (row, pattern) in patterns.iter().enumerate() {
                // Null, `''` for none, or one character; a backslash unless it is given.
                let escape = match escapes {
                    None => Some("\\"),
                    Some(escapes) => escapes.is_valid(row).then(|| escapes.value(row)),
                };
                made.append_option(match (pattern, escape) {
                    (Some(pattern), Some(escape)) => Some(regex_of(pattern, one_of(escape)?)?),
                    _ => None,
                });
            }
            let made: ArrayRef = Arc::new(made.finish());
            Ok(made)
        },
    }]
}

/// Returns the escape character; `None` if there is to be none.
fn one_of(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (one, None) => Ok(one),
        _ => Err(Error::new(ErrorKind::InvalidData, "invalid escape string")
            .with_code("22025")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Returns the regular expression for a pattern.
///
/// # Errors
/// 2200C for more than two parts between escaped double quotes.
fn regex_of(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut regex = String::with_capacity(pattern.len() + 12);
    regex.push_str("(?s)^(?:");
    let mut chars = pattern.chars().peekable();
    let mut separators = 0;
    while let Some(one) = chars.next() {
        match one {
            one if Some(one) == escape => match chars.next() {
                // It parts what SUBSTRING returns from what is around it.
                Some('"') if separators == 2 => {
                    let message = "SQL regular expression may not contain more than two \
                                   escape-double-quote separators";
                    return Err(Error::new(ErrorKind::InvalidData, message).with_code("2200C"));
                }
                Some('"') => {
                    separators += 1;
                    regex.push_str(")(?:");
                }
                Some(next) => escaped(next, &mut regex),
                None => {}
            },
            '[' => class(&mut chars, escape, &mut regex),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '(' => regex.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                regex.push('\\');
                regex.push(one);
            }
            one => regex.push(one),
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

/// Writes an escaped character: letters and digits keep their meaning, as in `\d`.
fn escaped(one: char, regex: &mut String) {
    // `\<` and `\>` are the ends of words.
    if one.is_ascii() && !matches!(one, '<' | '>') {
        regex.push('\\');
    }
    regex.push(one);
}

/// Writes the rest of a class such as `[^a-z]`, whose characters all stand for themselves.
fn class(chars: &mut Peekable<Chars<'_>>, escape: Option<char>, regex: &mut String) {
    regex.push('[');
    if Some('^') != escape && chars.next_if_eq(&'^').is_some() {
        regex.push('^');
    }
    if Some(']') != escape && chars.next_if_eq(&']').is_some() {
        regex.push_str("\\]");
    }
    while let Some(one) = chars.next() {
        match one {
            one if Some(one) == escape => {
                if let Some(next) = chars.next() {
                    escaped(next, regex);
                }
            }
            ']' => {
                regex.push(']');
                return;
            }
            // A class of characters with a name, `[:alpha:]`.
            '[' if chars.peek() == Some(&':') => {
                regex.push('[');
                for part in chars.by_ref() {
                    regex.push(part);
                    if part == ']' {
                        break;
                    }
                }
            }
            // The planner's expressions have classes in classes, and differences of classes.
            '[' | '\\' | '&' | '~' => {
                regex.push('\\');
                regex.push(one);
            }
            one => regex.push(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_regular_expressions() {
        for (pattern, expected) in [
            ("a%", "a.*"),
            ("(a|b)_", "(?:a|b)."),
            ("a.c^$", "a\\.c\\^\\$"),
            ("a+b*c?d{2,3}", "a+b*c?d{2,3}"),
            ("\\%\\_\\d\\<", "\\%\\_\\d<"),
            ("[a-c_%]x", "[a-c_%]x"),
            ("[]_][^]%]", "[\\]_][^\\]%]"),
            ("[[:digit:]%]_", "[[:digit:]%]."),
            ("[[&]", "[\\[\\&]"),
            ("\u{e4}%", "\u{e4}.*"),
            ("a\\\"b\\\"c", "a)(?:b)(?:c"),
            ("", ""),
        ] {
            let made = regex_of(pattern, Some('\\')).unwrap();
            assert_eq!(made, format!("(?s)^(?:{expected})$"), "{pattern}");
        }
    }

    #[test]
    fn escape_character_is_the_one_that_is_given() {
        assert_eq!(regex_of("a#%\\", Some('#')).unwrap(), "(?s)^(?:a\\%\\\\)$");
        assert_eq!(regex_of("a#\\_", None).unwrap(), "(?s)^(?:a#\\\\.)$");
        assert_eq!(one_of("").unwrap(), None);
        assert_eq!(one_of("xy").unwrap_err().sqlstate(), "22025");
        assert_eq!(regex_of("#\"a#\"b#\"", Some('#')).unwrap_err().sqlstate(), "2200C");
    }
}
