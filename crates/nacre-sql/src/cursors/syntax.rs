//! The syntax of DECLARE, FETCH, MOVE and CLOSE.

use datafusion::sql::sqlparser::ast::{Query, SetExpr};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::position::{ALL, Direction};
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::names::fold;
use crate::own_syntax;
use crate::plain_forms::plain;

/// A statement about cursors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CursorStatement {
    Declare(Declaration, Box<Query>),
    Fetch {
        name: String,
        direction: Direction,
        /// MOVE tells how many rows there are instead of the rows.
        is_move: bool,
    },
    /// `None` is ALL.
    Close(Option<String>),
}

/// What DECLARE says of a cursor, besides its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    /// Whether FETCH may go back; that is said by NO SCROLL.
    pub(crate) may_go_back: bool,
    pub(crate) is_held: bool,
}

type Parsed<T> = std::result::Result<T, ParserError>;

/// Returns the statement about cursors that `sql` is.
///
/// # Errors
/// `Syntax` with the place; 42P11 for options that exclude each other; `not supported`.
pub(crate) fn parse_cursor(sql: &str) -> Result<Option<CursorStatement>> {
    let syntax = |error: ParserError| from_parser(&error);
    if let Some(mut parser) = own_syntax::begin(sql, &["declare"])? {
        return declare(&mut parser).map_err(syntax)?.map(Some);
    }
    for (word, is_move) in [("fetch", false), ("move", true)] {
        if let Some(mut parser) = own_syntax::begin(sql, &[word])? {
            let (direction, name) = fetch(&mut parser).map_err(syntax)?;
            return Ok(Some(CursorStatement::Fetch { name, direction, is_move }));
        }
    }
    let Some(mut parser) = own_syntax::begin(sql, &["close"])? else { return Ok(None) };
    let name = match parser.parse_keyword(Keyword::ALL) {
        true => None,
        false => Some(fold(&parser.parse_identifier().map_err(syntax)?)),
    };
    own_syntax::end(&mut parser).map_err(syntax)?;
    Ok(Some(CursorStatement::Close(name)))
}

/// Takes a word without quotes if it is `expected`.
fn takes(parser: &mut Parser<'_>, expected: &str) -> bool {
    let is_it = match parser.peek_token().token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected)
        }
        _ => false,
    };
    if is_it {
        parser.advance_token();
    }
    is_it
}

/// The outer error is one of syntax, the inner one of meaning.
fn declare(parser: &mut Parser<'_>) -> Parsed<Result<CursorStatement>> {
    let name = fold(&parser.parse_identifier()?);
    let (mut is_binary, mut scroll, mut sensitivity) = (false, None, None);
    let mut conflict = None;
    let mut exclude = |old: Option<bool>, new: bool, what: &'static str| {
        if old.is_some_and(|old| old != new) {
            conflict = Some(what);
        }
        Some(new)
    };
    loop {
        if takes(parser, "binary") {
            is_binary = true;
        } else if takes(parser, "insensitive") {
            sensitivity = exclude(sensitivity, true, "INSENSITIVE and ASENSITIVE");
        } else if takes(parser, "asensitive") {
            sensitivity = exclude(sensitivity, false, "INSENSITIVE and ASENSITIVE");
        } else if takes(parser, "scroll") {
            scroll = exclude(scroll, true, "SCROLL and NO SCROLL");
        } else if takes(parser, "no") {
            if !takes(parser, "scroll") {
                return parser.expected("SCROLL", parser.peek_token());
            }
            scroll = exclude(scroll, false, "SCROLL and NO SCROLL");
        } else {
            break;
        }
    }
    parser.expect_keyword(Keyword::CURSOR)?;
    let is_held = match parser.parse_one_of_keywords(&[Keyword::WITH, Keyword::WITHOUT]) {
        None => false,
        Some(keyword) => {
            parser.expect_keyword(Keyword::HOLD)?;
            keyword == Keyword::WITH
        }
    };
    parser.expect_keyword(Keyword::FOR)?;
    let begin = parser.peek_token();
    let mut query = parser.parse_query()?;
    plain(query.as_mut());
    if matches!(
        *query.body,
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
    ) {
        return parser.expected("a query", begin);
    }
    own_syntax::end(parser)?;
    if let Some(what) = conflict {
        let message = format!("cannot specify both {what}");
        return Ok(Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P11")));
    }
    if is_binary {
        return Ok(Err(Error::not_supported("BINARY cursors")));
    }
    let declaration = Declaration { name, may_go_back: scroll != Some(false), is_held };
    Ok(Ok(CursorStatement::Declare(declaration, query)))
}

/// Reads what follows FETCH or MOVE: the direction and the name.
fn fetch(parser: &mut Parser<'_>) -> Parsed<(Direction, String)> {
    // A direction is a name, too, if nothing follows.
    let is_alone = matches!(parser.peek_nth_token(1).token, Token::EOF | Token::SemiColon);
    let direction = if is_alone { Direction::Forward(1) } else { direction(parser)? };
    let _ = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    let name = fold(&parser.parse_identifier()?);
    own_syntax::end(parser)?;
    Ok((direction, name))
}

fn direction(parser: &mut Parser<'_>) -> Parsed<Direction> {
    if takes(parser, "next") {
        return Ok(Direction::Forward(1));
    }
    if takes(parser, "prior") {
        return Ok(Direction::Forward(-1));
    }
    if takes(parser, "first") {
        return Ok(Direction::Absolute(1));
    }
    if takes(parser, "last") {
        return Ok(Direction::Absolute(-1));
    }
    if takes(parser, "absolute") {
        return required(parser).map(Direction::Absolute);
    }
    if takes(parser, "relative") {
        return required(parser).map(Direction::Relative);
    }
    if takes(parser, "forward") {
        return Ok(Direction::Forward(number(parser)?.unwrap_or(1)));
    }
    if takes(parser, "backward") {
        let rows = number(parser)?.unwrap_or(1);
        return Ok(Direction::Forward(rows.saturating_neg()));
    }
    Ok(Direction::Forward(number(parser)?.unwrap_or(1)))
}

fn required(parser: &mut Parser<'_>) -> Parsed<i64> {
    match number(parser)? {
        Some(number) if number != ALL => Ok(number),
        _ => parser.expected("a number", parser.peek_token()),
    }
}

/// Takes a number or ALL, if there is one.
fn number(parser: &mut Parser<'_>) -> Parsed<Option<i64>> {
    if parser.parse_keyword(Keyword::ALL) {
        return Ok(Some(ALL));
    }
    let is_negative = parser.consume_token(&Token::Minus);
    let has_sign = is_negative || parser.consume_token(&Token::Plus);
    let token = parser.peek_token();
    let Token::Number(digits, _) = &token.token else {
        return if has_sign { parser.expected("a number", token) } else { Ok(None) };
    };
    // As PostgreSQL: rows are counted with 32 bits.
    let Some(number) = digits.parse::<i64>().ok().filter(|number| *number <= i64::from(i32::MAX))
    else {
        return parser.expected("a number of 32 bits", token);
    };
    parser.advance_token();
    Ok(Some(if is_negative { -number } else { number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(sql: &str) -> (Direction, String) {
        match parse_cursor(sql).unwrap() {
            Some(CursorStatement::Fetch { name, direction, .. }) => (direction, name),
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn directions_have_many_forms() {
        use Direction::{Absolute, Forward, Relative};
        for (sql, expected) in [
            ("FETCH c", Forward(1)),
            ("FETCH FROM c", Forward(1)),
            ("fetch next in c;", Forward(1)),
            ("FETCH c;", Forward(1)),
            ("FETCH PRIOR c", Forward(-1)),
            ("FETCH FIRST FROM c", Absolute(1)),
            ("FETCH LAST c", Absolute(-1)),
            ("FETCH ABSOLUTE -2 FROM c", Absolute(-2)),
            ("FETCH RELATIVE 0 c", Relative(0)),
            ("FETCH 10 FROM c", Forward(10)),
            ("FETCH -3 c", Forward(-3)),
            ("FETCH ALL c", Forward(ALL)),
            ("FETCH FORWARD c", Forward(1)),
            ("FETCH FORWARD 5 IN c", Forward(5)),
            ("MOVE FORWARD ALL FROM c", Forward(ALL)),
            ("MOVE BACKWARD 2 c", Forward(-2)),
            ("FETCH BACKWARD ALL c", Forward(-ALL)),
            ("FETCH BACKWARD FROM c", Forward(-1)),
        ] {
            assert_eq!(fetched(sql), (expected, "c".to_owned()), "{sql}");
        }
        assert_eq!(fetched("FETCH next"), (Forward(1), "next".to_owned()));
    }

    #[test]
    fn declarations_say_what_the_cursor_can() {
        let declared = |sql| match parse_cursor(sql).unwrap() {
            Some(CursorStatement::Declare(declaration, _)) => declaration,
            other => panic!("{other:?}"),
        };
        let cursor = declared("DECLARE \"C 1\" CURSOR FOR SELECT 1");
        assert_eq!(
            (cursor.name.as_str(), cursor.may_go_back, cursor.is_held),
            ("C 1", true, false)
        );
        let cursor = declared("declare c insensitive no scroll cursor with hold for values (1);");
        assert_eq!((cursor.may_go_back, cursor.is_held), (false, true));
        assert!(!declared("declare c cursor without hold for table t").is_held);
    }

    #[test]
    fn malformed_statements_are_refused() {
        for (sql, code) in [
            ("DECLARE c FOR SELECT 1", "42601"),
            ("DECLARE c CURSOR FOR DELETE FROM t", "42601"),
            ("DECLARE c SCROLL NO SCROLL CURSOR FOR SELECT 1", "42P11"),
            ("DECLARE c BINARY CURSOR FOR SELECT 1", "0A000"),
            ("FETCH", "42601"),
            ("FETCH ABSOLUTE c", "42601"),
            ("FETCH 99999999999 c", "42601"),
            ("CLOSE", "42601"),
            ("CLOSE a b", "42601"),
        ] {
            assert_eq!(parse_cursor(sql).unwrap_err().sqlstate(), code, "{sql}");
        }
        assert_eq!(parse_cursor("CLOSE ALL").unwrap(), Some(CursorStatement::Close(None)));
    }
}
