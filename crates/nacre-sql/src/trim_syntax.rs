//! TRIM without the characters to take away, as the standard writes it and the parser does not
//! read it.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::words::{Edited, Words};

/// Returns `trim(trailing from x)` as `rtrim(x)` and the like, as PostgreSQL calls them too; what
/// follows stays in its place. `None` for statements without such calls.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let words = Words::of(sql)?;
    let mut edited = Edited::new(sql);
    for at in 0..words.count() {
        if words.keyword(at) != Keyword::TRIM || words.token(at + 1) != Some(&Token::LParen) {
            continue;
        }
        let (begin, from) = match words.keyword(at + 2) {
            Keyword::LEADING => ("ltrim(", at + 3),
            Keyword::TRAILING => ("rtrim(", at + 3),
            Keyword::BOTH => ("btrim(", at + 3),
            _ => ("btrim(", at + 2),
        };
        if words.keyword(from) != Keyword::FROM {
            continue;
        }
        let bytes = words.bytes(at, from);
        // `trim(from` is longer than any of the three.
        let rest = sql.get(bytes.clone())?.chars().skip(begin.len());
        let rest = rest.map(|one| if one == '\n' { one } else { ' ' });
        edited.replace(bytes, &begin.chars().chain(rest).collect::<String>())?;
    }
    edited.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_characters_become_those_of_functions() {
        for (sql, expected) in [
            ("select trim(from x)", Some("select btrim(    x)")),
            ("select TRIM (BOTH\n FROM x), 1", Some("select btrim(    \n      x), 1")),
            (
                "select trim(leading from trim(trailing from 'x'))",
                Some("select ltrim(            rtrim(             'x'))"),
            ),
            ("select trim(both from 'x', 'y')", Some("select btrim(         'x', 'y')")),
            ("select trim(trailing 'a' from x), 'trim(from x)'", None),
            ("select trim(x) from t", None),
        ] {
            assert_eq!(readable(sql).as_deref(), expected, "{sql}");
        }
    }
}
