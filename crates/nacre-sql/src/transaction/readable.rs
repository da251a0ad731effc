//! Words of transaction control that the parser does not know.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Position, offset_of};

/// Returns `ABORT` as `ROLLBACK`, and a statement that begins a transaction without `[NOT]
/// DEFERRABLE`: here no transaction waits for a snapshot, and no other is in its way. `None` for
/// statements without such words.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().ok()?;
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is_word = |at: Option<usize>, name: &str| match at.and_then(|at| words.get(at)) {
        Some(TokenWithSpan { token: Token::Word(word), .. }) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name)
        }
        _ => false,
    };
    let is_comma = |at: Option<usize>| {
        at.and_then(|at| words.get(at)).is_some_and(|one| one.token == Token::Comma)
    };
    let offset = |at: Location| {
        offset_of(sql, Position { line: at.line as usize, column: at.column as usize })
    };
    if is_word(Some(0), "abort") {
        let behind = offset(words.first()?.span.end);
        return Some(format!("ROLLBACK{}", sql.get(behind..)?));
    }
    if !["begin", "start", "set"].iter().any(|word| is_word(Some(0), word)) {
        return None;
    }
    let mut text = sql.to_owned();
    let mut is_changed = false;
    for at in 1..words.len() {
        if !is_word(Some(at), "deferrable") {
            continue;
        }
        let mut first = if is_word(at.checked_sub(1), "not") { at - 1 } else { at };
        let mut last = at;
        if is_comma(first.checked_sub(1)) {
            first -= 1;
        } else if is_comma(Some(last + 1)) {
            last += 1;
        }
        let (from, to) = (offset(words[first].span.start), offset(words[last].span.end));
        // What follows stays in its place.
        text.get(from..to)?;
        text.replace_range(from..to, &" ".repeat(to - from));
        is_changed = true;
    }
    is_changed.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_the_parser_does_not_know_are_replaced() {
        for (sql, expected) in [
            ("ABORT", Some("ROLLBACK")),
            ("abort work and no chain", Some("ROLLBACK work and no chain")),
            ("BEGIN DEFERRABLE", Some("BEGIN           ")),
            ("begin read only, not deferrable;", Some("begin read only                ;")),
            ("begin deferrable, read only", Some("begin             read only")),
            ("BEGIN READ ONLY", None),
            ("select deferrable", None),
        ] {
            assert_eq!(readable(sql).as_deref(), expected, "{sql}");
        }
    }
}
