//! Finds what is wrong with a text, and where: by the grammar, or, where neither parser nor planner
//! told the place of what an error names, by the name.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use nacre_syntax::{SyntaxErrorKind, parse_script};

use crate::error::{Error, ErrorKind, Position, position_of};

/// Longest text that is read again once it is refused.
const REFUSED_TEXT_BYTES_MAX: usize = 4 << 20;

/// Returns the error of PostgreSQL's grammar; `None` for a text that it takes.
pub(crate) fn grammar_error(sql: &str) -> Option<Error> {
    if sql.len() > REFUSED_TEXT_BYTES_MAX {
        return None;
    }
    let refused = parse_script(sql).err()?;
    let kind = match refused.kind() {
        SyntaxErrorKind::Grammar => ErrorKind::Syntax,
        SyntaxErrorKind::Escape | SyntaxErrorKind::Character | SyntaxErrorKind::Parameter => {
            ErrorKind::InvalidData
        }
        SyntaxErrorKind::Window | SyntaxErrorKind::ReservedName => ErrorKind::InvalidStatement,
        _ => return None,
    };
    let position = position_of(sql, refused.range().start as usize);
    let error = Error::new(kind, refused.message()).with_code(refused.sqlstate());
    Some(error.with_position(Some(position)))
}

/// Returns where `sql` first has what an error says does not exist.
pub(crate) fn place_of(error: &Error, sql: &str) -> Option<Position> {
    let name = named(error)?;
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().ok()?;
    let parts: Vec<&str> = name.split('.').collect();
    let is_at = |at: usize| {
        parts.iter().enumerate().all(|(number, part)| {
            let token = |place: usize| tokens.get(at + place).map(|found| &found.token);
            token(2 * number).is_some_and(|found| is_named(found, part))
                && (number == 0 || token(2 * number - 1) == Some(&Token::Period))
        })
    };
    let TokenWithSpan { span, .. } = &tokens[(0..tokens.len()).find(|at| is_at(*at))?];
    Some(Position { line: span.start.line as usize, column: span.start.column as usize })
}

/// Returns the name in the message of an error about one.
fn named(error: &Error) -> Option<&str> {
    let before = match error.sqlstate() {
        "42P01" => "relation ",
        "42703" => "column ",
        "42883" => "function ",
        "42P02" => "there is no parameter ",
        _ => return None,
    };
    let rest = error.message().strip_prefix(before)?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| name),
        None => rest.split([' ', '(']).next(),
    }
}

fn is_named(token: &Token, name: &str) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase() == name,
        Token::Word(word) => word.value == name,
        Token::Placeholder(found) => found == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(error: Error, sql: &str) -> Option<usize> {
        place_of(&error, sql).map(|place| place.column)
    }

    #[test]
    fn name_is_found_as_it_is_written() {
        let missing = || Error::undefined_table("relation \"t\" does not exist");
        assert_eq!(column(missing(), "update T set a = 't'"), Some(8));
        assert_eq!(column(missing(), "delete from \"t\""), Some(13));
        assert_eq!(column(missing(), "select 't' -- t"), None);
        let of_table = || Error::undefined_column("column t.b does not exist");
        assert_eq!(column(of_table(), "select b, t.a, t.b from t"), Some(16));
    }
}
