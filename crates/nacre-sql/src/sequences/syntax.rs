//! CREATE and ALTER SEQUENCE, and the options of identity columns, as PostgreSQL writes them: the
//! options come in any order. The parser of the front end knows one order, and no ALTER SEQUENCE.

use datafusion::sql::sqlparser::ast::{DataType, Expr, ObjectName, SequenceOptions};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::own_syntax;
use crate::words::{Edited, Words};

type Parsed<T> = std::result::Result<T, ParserError>;

/// CREATE or ALTER SEQUENCE.
#[derive(Debug)]
pub(crate) struct SequenceStatement {
    pub(crate) is_new: bool,
    /// Of IF NOT EXISTS, or IF EXISTS.
    pub(crate) has_if: bool,
    pub(crate) name: ObjectName,
    pub(crate) data_type: Option<DataType>,
    pub(crate) options: Vec<SequenceOptions>,
    /// RESTART, and the value that it may name.
    pub(crate) restart: Option<Option<Expr>>,
}

/// Parses `sql` if it is one of these statements.
///
/// # Errors
/// `Syntax` with the place, or `NotSupported`.
pub(crate) fn parse_sequence(sql: &str) -> Result<Option<SequenceStatement>> {
    let (mut parser, is_new) = match own_syntax::begin(sql, &["create", "sequence"])? {
        Some(parser) => (parser, true),
        None => match own_syntax::begin(sql, &["alter", "sequence"])? {
            Some(parser) => (parser, false),
            None => return Ok(None),
        },
    };
    statement(&mut parser, is_new).map_err(|error| from_parser(&error))?.map(Some)
}

/// The outer error is one of syntax, the inner one of meaning.
fn statement(parser: &mut Parser<'_>, is_new: bool) -> Parsed<Result<SequenceStatement>> {
    let has_if = match is_new {
        true => parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]),
        false => parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]),
    };
    let name = parser.parse_object_name(false)?;
    let (data_type, options, restart) = (None, Vec::new(), None);
    let mut read = SequenceStatement { is_new, has_if, name, data_type, options, restart };
    let mut refused = None;
    let mut count = 0;
    while !matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
        if let Some(error) = read.option(parser)? {
            refused.get_or_insert(error);
        }
        count += 1;
    }
    if count == 0 && !is_new {
        return parser.expected("an option of a sequence", parser.peek_token());
    }
    own_syntax::end(parser)?;
    Ok(refused.map_or(Ok(read), Err))
}

/// Where the parser wants the options of an identity column.
const OPTION_ORDER: [Keyword; 6] = [
    Keyword::INCREMENT,
    Keyword::MINVALUE,
    Keyword::MAXVALUE,
    Keyword::START,
    Keyword::CACHE,
    Keyword::CYCLE,
];

/// Puts the options of identity columns into the order that the parser knows; `None` if they are.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let words = Words::of(sql)?;
    let mut edited = Edited::new(sql);
    let is_open = |at: &usize| {
        words.keyword(at - 1) == Keyword::IDENTITY && words.token(*at) == Some(&Token::LParen)
    };
    for first in (1..words.count()).filter(is_open).map(|at| at + 1) {
        let end = (first..words.count()).find(|at| words.token(*at) == Some(&Token::RParen))?;
        let rank = |at: usize| OPTION_ORDER.iter().position(|one| *one == words.keyword(at));
        // NO belongs to what follows it.
        let is_start = |at: usize| match words.keyword(at) {
            Keyword::NO => at + 1 < end && rank(at + 1).is_some(),
            _ => rank(at).is_some() && (at == first || words.keyword(at - 1) != Keyword::NO),
        };
        let starts: Vec<usize> = (first..end).filter(|at| is_start(*at)).collect();
        let ends = starts.iter().skip(1).copied().chain([end]);
        let mut options: Vec<(usize, usize)> = starts.iter().copied().zip(ends).collect();
        options.sort_by_key(|(start, _)| rank(*start).or_else(|| rank(start + 1)));
        if starts.first() != Some(&first) || options.iter().map(|(start, _)| start).eq(&starts) {
            continue;
        }
        let mut ordered = String::new();
        for (start, end) in options {
            ordered.extend([sql.get(words.bytes(start, end - 1))?, " "]);
        }
        edited.replace(words.bytes(first, end - 1), &ordered)?;
    }
    edited.finish()
}

impl SequenceStatement {
    /// Takes an option; returns an error if it makes no sense.
    fn option(&mut self, parser: &mut Parser<'_>) -> Parsed<Option<Error>> {
        let is_negated = parser.parse_keyword(Keyword::NO);
        let token = parser.next_token();
        let word = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            _ => String::new(),
        };
        let option = match (word.as_str(), is_negated) {
            ("as", false) => {
                let data_type = parser.parse_data_type()?;
                return Ok(self.data_type.replace(data_type).map(|_| redundant()));
            }
            ("increment", false) => {
                let has_by = parser.parse_keyword(Keyword::BY);
                SequenceOptions::IncrementBy(parser.parse_number()?, has_by)
            }
            ("minvalue", true) => SequenceOptions::MinValue(None),
            ("minvalue", false) => SequenceOptions::MinValue(Some(parser.parse_number()?)),
            ("maxvalue", true) => SequenceOptions::MaxValue(None),
            ("maxvalue", false) => SequenceOptions::MaxValue(Some(parser.parse_number()?)),
            ("start", false) => {
                let has_with = parser.parse_keyword(Keyword::WITH);
                SequenceOptions::StartWith(parser.parse_number()?, has_with)
            }
            ("cache", false) => SequenceOptions::Cache(parser.parse_number()?),
            ("cycle", is_off) => SequenceOptions::Cycle(is_off),
            ("restart", false) if !self.is_new => {
                let has_with = parser.parse_keyword(Keyword::WITH);
                let has_value = has_with
                    || matches!(
                        parser.peek_token().token,
                        Token::Number(..) | Token::Minus | Token::Plus
                    );
                let value = if has_value { Some(parser.parse_number()?) } else { None };
                return Ok(self.restart.replace(value).map(|_| redundant()));
            }
            ("owned", false) => {
                parser.expect_keyword(Keyword::BY)?;
                let owner = parser.parse_object_name(false)?;
                let is_none = owner.to_string().eq_ignore_ascii_case("none");
                return Ok((!is_none).then(|| Error::not_supported("OWNED BY")));
            }
            ("owner" | "rename" | "set", false) if !self.is_new => {
                while !matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
                    parser.next_token();
                }
                let what = format_args!("ALTER SEQUENCE ... {}", word.to_uppercase());
                return Ok(Some(Error::not_supported(what)));
            }
            _ => return parser.expected("an option of a sequence", token),
        };
        let kind = std::mem::discriminant(&option);
        let is_there = self.options.iter().any(|other| std::mem::discriminant(other) == kind);
        self.options.push(option);
        Ok(is_there.then(redundant))
    }
}

fn redundant() -> Error {
    Error::new(ErrorKind::Syntax, "conflicting or redundant options")
}
