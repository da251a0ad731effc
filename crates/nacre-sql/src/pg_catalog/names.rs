//! Names as texts have them: `public."Odd.name"`.

use crate::error::{Error, ErrorKind, Result};

/// Takes a name apart at its points, as PostgreSQL reads a text of `regclass`: blanks around parts
/// do not count, letters outside of quotes are folded, two quotes within quotes are one.
///
/// ```text
/// pg_class           pg_class
/// public . "A.b"     public, A.b
/// 'v;""x'            an error
/// ```
///
/// # Errors
/// 42602 for an invalid name.
pub(super) fn qualified_name(text: &str) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(inside) => quoted_part(inside)?,
            None => plain_part(rest)?,
        };
        parts.push(part);
        rest = behind.trim_start();
        if rest.is_empty() {
            return Ok(parts);
        }
        rest = rest.strip_prefix('.').ok_or_else(invalid_name)?.trim_start();
    }
}

fn quoted_part(inside: &str) -> Result<(String, &str)> {
    let mut part = String::new();
    let mut letters = inside.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != '"' {
            part.push(letter);
        } else if letters.next_if(|(_, next)| *next == '"').is_some() {
            part.push('"');
        } else if part.is_empty() {
            break;
        } else {
            return Ok((part, &inside[at + 1..]));
        }
    }
    Err(invalid_name())
}

fn plain_part(text: &str) -> Result<(String, &str)> {
    let ends = |letter: char| letter == '.' || letter.is_ascii_whitespace();
    let (part, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    if part.is_empty() { Err(invalid_name()) } else { Ok((part.to_lowercase(), rest)) }
}

pub(super) fn invalid_name() -> Error {
    Error::new(ErrorKind::InvalidData, "invalid name syntax").with_code("42602")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_postgresql_does() {
        let parts = |text| qualified_name(text).map_err(|error| error.message().to_owned());
        let some = |parts: &[&str]| Ok(parts.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(parts(" Pg_Class "), some(&["pg_class"]));
        assert_eq!(parts("public . \"A.b\""), some(&["public", "A.b"]));
        assert_eq!(parts("\"v;\"\"x\""), some(&["v;\"x"]));
        for wrong in ["", " ", "a.", ".a", "a b", "\"\"", "\"a", "a..b"] {
            assert_eq!(parts(wrong), Err("invalid name syntax".to_owned()), "{wrong:?}");
        }
    }
}
