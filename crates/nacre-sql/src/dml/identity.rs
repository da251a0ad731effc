//! Identity columns in statements that change rows, and OVERRIDING.

use std::borrow::Cow;

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Ident, Insert, SetExpr, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};
use nacre_store::{Identity, Table};

use crate::error::{Error, ErrorKind, Position, Result, offset_of};

const CLAUSE: &str = "overriding";

/// What an INSERT says about identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// Values that are given count, also where the column is always generated.
    System,
    /// Values that are given for identity columns do not count.
    User,
}

impl Overriding {
    /// Returns the mark in a parsed INSERT. It is where the parser puts columns of another dialect,
    /// which has no such clause.
    fn mark(self) -> Vec<Ident> {
        let word = if self == Self::System { "system" } else { "user" };
        vec![Ident::new(CLAUSE), Ident::new(word)]
    }

    /// Finds the mark.
    pub(super) fn of(after_columns: &[Ident]) -> Option<Self> {
        [Self::System, Self::User].into_iter().find(|one| after_columns == one.mark())
    }
}

/// Reads a statement by `parse`, and the clause OVERRIDING, which the parser does not know.
///
/// # Errors
/// Those of `parse`.
pub(crate) fn parse_overriding<E>(
    sql: &str,
    parse: impl FnOnce(&str) -> std::result::Result<ParsedStatement, E>,
) -> std::result::Result<ParsedStatement, E> {
    let (rest, overriding) = take_overriding(sql);
    let mut parsed = parse(&rest)?;
    if let (Some(overriding), Some(insert)) = (overriding, insert_of_parsed(&mut parsed)) {
        insert.after_columns = overriding.mark();
    }
    Ok(parsed)
}

/// Returns the INSERT of a statement, which may be explained or prepared.
fn insert_of_parsed(parsed: &mut ParsedStatement) -> Option<&mut Insert> {
    match parsed {
        ParsedStatement::Statement(inner) => insert_of(inner),
        ParsedStatement::Explain(explain) => insert_of_parsed(&mut explain.statement),
        _ => None,
    }
}

fn insert_of(statement: &mut Statement) -> Option<&mut Insert> {
    match statement {
        Statement::Insert(insert) => Some(insert),
        Statement::Prepare { statement, .. } => insert_of(statement),
        Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Insert(inner) => insert_of(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Takes `OVERRIDING { SYSTEM | USER } VALUE` out of a statement. Blanks take its place, so that
/// all other text stays where it is.
fn take_overriding(sql: &str) -> (Cow<'_, str>, Option<Overriding>) {
    let is_there = sql
        .as_bytes()
        .windows(CLAUSE.len())
        .any(|part| part.eq_ignore_ascii_case(CLAUSE.as_bytes()));
    if !is_there {
        return (Cow::Borrowed(sql), None);
    }
    // A text that is not even tokens is refused by the parser.
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().unwrap_or_default();
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is_insert = words.iter().any(|token| is_word(token, "insert"));
    for clause in words.windows(3).filter(|_| is_insert) {
        if !is_word(clause[0], CLAUSE) || !is_word(clause[2], "value") {
            continue;
        }
        let overriding = match (is_word(clause[1], "system"), is_word(clause[1], "user")) {
            (true, _) => Overriding::System,
            (_, true) => Overriding::User,
            _ => continue,
        };
        let offset = |line: u64, column: u64| {
            offset_of(sql, Position { line: line as usize, column: column as usize })
        };
        let begin = offset(clause[0].span.start.line, clause[0].span.start.column);
        let end = offset(clause[2].span.end.line, clause[2].span.end.column);
        if let (Some(before), Some(after)) = (sql.get(..begin), sql.get(end..)) {
            let blanks = " ".repeat(end - begin);
            return (Cow::Owned(format!("{before}{blanks}{after}")), Some(overriding));
        }
    }
    (Cow::Borrowed(sql), None)
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(Word { value, quote_style: None, .. })
        if value.eq_ignore_ascii_case(wanted))
}

/// Returns what kind of identity column it is, if it is one.
fn identity_of(table: &Table, column: usize) -> Option<Identity> {
    table.rules().defaults.get(&column)?.identity
}

/// Tells whether a value that an INSERT gives counts.
///
/// # Errors
/// 428C9 if it must not give one.
pub(super) fn takes_value(
    table: &Table,
    column: usize,
    overriding: Option<Overriding>,
) -> Result<bool> {
    match (identity_of(table, column), overriding) {
        (None, _) | (Some(_), Some(Overriding::System)) => Ok(true),
        (Some(_), Some(Overriding::User)) => Ok(false),
        (Some(Identity::ByDefault), None) => Ok(true),
        (Some(Identity::Always), None) => {
            let name = &table.schema().columns[column].name;
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            Err(Error::new(ErrorKind::InvalidStatement, message)
                .with_code("428C9")
                .with_detail(format!(
                    "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
                ))
                .with_hint("Use OVERRIDING SYSTEM VALUE to override."))
        }
    }
}

/// Refuses a value other than DEFAULT that an UPDATE gives.
///
/// # Errors
/// 428C9.
pub(super) fn require_default(table: &Table, column: usize) -> Result<()> {
    if identity_of(table, column) != Some(Identity::Always) {
        return Ok(());
    }
    let name = &table.schema().columns[column].name;
    let message = format!("column \"{name}\" can only be updated to DEFAULT");
    Err(Error::new(ErrorKind::InvalidStatement, message).with_code("428C9").with_detail(format!(
        "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clause_is_taken_out_and_nothing_else_moves() {
        let sql = "insert into t (a)\n  Overriding  System\nvalue values (1) -- \u{fc}";
        let (rest, overriding) = take_overriding(sql);
        assert_eq!(overriding, Some(Overriding::System));
        assert_eq!(rest.len(), sql.len());
        assert_eq!(rest.find("values"), sql.find("values"));
        assert!(!rest.to_lowercase().contains(CLAUSE));
        for sql in ["select 'overriding user value'", "insert into t select \"overriding\" from u"]
        {
            assert_eq!(take_overriding(sql), (Cow::Borrowed(sql), None), "{sql}");
        }
    }
}
