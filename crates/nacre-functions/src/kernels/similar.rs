//! SIMILAR TO: SQL's regular expressions as PostgreSQL's.
//!
//! ```text
//! 'a%|_b'      ^(?:a.*|.b)$
//! 'a#"b#"c'    ^(?:a){1,1}?(b){1,1}(?:c)$    what `substring` takes is between the quotes
//! ```

use nacre_types::ValueError;

use super::ScalarKernel;
use super::arguments::{text, text_value};
use super::patterns::escape_character;
use super::registry::KernelRow;
use super::regular::first_group;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "similar_to_escape(text)",
        ScalarKernel::partial(|values, _| text_value(regular_of(text(values, 0)?, Some('\\'))?)),
    ),
    (
        "similar_to_escape(text,text)",
        ScalarKernel::partial(|values, _| {
            let escape = escape_character(text(values, 1)?)?;
            text_value(regular_of(text(values, 0)?, escape)?)
        }),
    ),
    (
        "substring(text,text,text)",
        ScalarKernel::partial(|values, _| {
            let escape = escape_character(text(values, 2)?)?;
            first_group(text(values, 0)?, &regular_of(text(values, 1)?, escape)?)
        }),
    ),
];

/// Makes the regular expression that a pattern stands for.
///
/// # Errors
/// 2200C for more than two escaped quotes.
fn regular_of(pattern: &str, escape: Option<char>) -> Result<String, ValueError> {
    let mut out = String::from("^(?:");
    let (mut is_escaped, mut is_class, mut quotes) = (false, false, 0);
    for letter in pattern.chars() {
        if is_escaped && letter == '"' && !is_class {
            out.push_str(match quotes {
                // Of the part before as little as can be, of the one between as much.
                0 => "){1,1}?(",
                1 => "){1,1}(?:",
                _ => return Err(many_quotes()),
            });
            quotes += 1;
            is_escaped = false;
        } else if is_escaped {
            out.extend(['\\', letter]);
            is_escaped = false;
        } else if Some(letter) == escape {
            is_escaped = true;
        } else if is_class {
            if letter == '\\' {
                out.push('\\');
            }
            out.push(letter);
            is_class = letter != ']';
        } else {
            is_class = letter == '[';
            match letter {
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => out.extend(['\\', letter]),
                letter => out.push(letter),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

fn many_quotes() -> ValueError {
    let message =
        "SQL regular expression may not contain more than two escape-double-quote separators";
    ValueError::escape_octet(message)
}

#[cfg(test)]
mod tests {
    use nacre_types::SqlValue;

    use super::*;

    #[test]
    fn patterns_become_regular_expressions() {
        for (pattern, expected) in [
            ("a%|_b", "^(?:a.*|.b)$"),
            ("a.(b)[%_\\]]", "^(?:a\\.(?:b)[%_\\\\]])$"),
            ("a#\"b#\"c##", "^(?:a){1,1}?(b){1,1}(?:c\\#)$"),
            ("[#\"]#d", "^(?:[\\\"]\\d)$"),
        ] {
            let escape = if pattern.contains('#') { Some('#') } else { None };
            assert_eq!(regular_of(pattern, escape).unwrap(), expected, "{pattern}");
        }
        let error = regular_of("#\"#\"#\"", Some('#')).unwrap_err();
        assert_eq!(error.sql_state(), "2200C");
    }

    #[test]
    fn parts_between_quotes_are_taken() {
        let part =
            |text, pattern| first_group(text, &regular_of(pattern, Some('#')).unwrap()).unwrap();
        assert_eq!(part("abcdefg", "a#\"(b_d)#\"%"), SqlValue::Text("bcd".to_owned()));
        assert_eq!(part("abcdefg", "%#\"_d_#\"%"), SqlValue::Text("cde".to_owned()));
        assert_eq!(part("abab", "%#\"b%#\""), SqlValue::Text("bab".to_owned()));
        assert_eq!(part("abcdefg", "#\"(b_d)#\"%"), SqlValue::Null);
    }
}
