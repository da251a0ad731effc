//! TRIM without the characters to take away, as the standard writes it and the parser does not
//! read it.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Position, offset_of};

/// Returns `trim(trailing from x)` as `rtrim(x)` and the like, as PostgreSQL calls them too; what
/// follows stays in its place. `None` for statements without such calls.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().ok()?;
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let keyword = |at: usize| match words.get(at).map(|word| &word.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let offset = |at: Location| {
        offset_of(sql, Position { line: at.line as usize, column: at.column as usize })
    };
    let (mut text, mut copied) = (String::with_capacity(sql.len()), 0);
    for (at, word) in words.iter().enumerate() {
        let is_call = words.get(at + 1).is_some_and(|next| next.token == Token::LParen);
        if keyword(at) != Some(Keyword::TRIM) || !is_call {
            continue;
        }
        let (begin, from) = match keyword(at + 2) {
            Some(Keyword::LEADING) => ("ltrim(", at + 3),
            Some(Keyword::TRAILING) => ("rtrim(", at + 3),
            Some(Keyword::BOTH) => ("btrim(", at + 3),
            _ => ("btrim(", at + 2),
        };
        if keyword(from) != Some(Keyword::FROM) {
            continue;
        }
        let (start, end) = (offset(word.span.start), offset(words[from].span.end));
        text.extend([sql.get(copied..start)?, begin]);
        // `trim(from` is longer than any of the three.
        let rest = sql.get(start..end)?.chars().skip(begin.len());
        text.extend(rest.map(|one| if one == '\n' { one } else { ' ' }));
        copied = end;
    }
    if copied == 0 {
        return None;
    }
    text.push_str(sql.get(copied..)?);
    Some(text)
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
