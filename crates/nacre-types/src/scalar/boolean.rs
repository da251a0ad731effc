//! Booleans: any prefix of `true`, `false`, `yes`, `no` that is clear, `on`, `off`, `1`, `0`.

use crate::error::ValueError;
use crate::input_text::trim_spaces;

/// Reads a boolean.
pub(crate) fn parse_boolean(text: &str) -> Result<bool, ValueError> {
    let word = trim_spaces(text).to_ascii_lowercase();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        Ok(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(ValueError::syntax_of("boolean", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_prefixes_are_accepted() {
        for text in ["t", "TRUE", " yes ", "on", "1"] {
            assert_eq!(parse_boolean(text), Ok(true), "{text}");
        }
        for text in ["f", "fal", "n", "of", "0"] {
            assert_eq!(parse_boolean(text), Ok(false), "{text}");
        }
        for text in ["", "o", "2", "truex"] {
            assert_eq!(parse_boolean(text).unwrap_err().sql_state(), "22P02", "{text}");
        }
    }
}
