//! Words of transaction control that the parser does not know.

use datafusion::sql::sqlparser::tokenizer::Token;

use crate::words::{Edited, Words};

/// Returns `ABORT` as `ROLLBACK`, and a statement that begins a transaction without `[NOT]
/// DEFERRABLE`: here no transaction waits for a snapshot, and no other is in its way. `None` for
/// statements without such words.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let words = Words::of(sql)?;
    let mut edited = Edited::new(sql);
    if words.is(0, "abort") {
        edited.replace(words.bytes(0, 0), "ROLLBACK")?;
        return edited.finish();
    }
    if !["begin", "start", "set"].iter().any(|word| words.is(0, word)) {
        return None;
    }
    let is_comma = |at: usize| words.token(at) == Some(&Token::Comma);
    for at in (1..words.count()).filter(|at| words.is(*at, "deferrable")) {
        let mut first = if words.is(at - 1, "not") { at - 1 } else { at };
        let mut last = at;
        if is_comma(first - 1) {
            first -= 1;
        } else if is_comma(last + 1) {
            last += 1;
        }
        // What follows stays in its place.
        let bytes = words.bytes(first, last);
        edited.replace(bytes.clone(), &" ".repeat(bytes.len()))?;
    }
    edited.finish()
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
