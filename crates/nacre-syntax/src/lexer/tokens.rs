//! What a text consists of.

use crate::error::SyntaxError;
use crate::keywords::SqlKeyword;
use crate::range::SourceRange;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum TokenKind {
    /// The end of the text.
    End,
    /// The place of the lexer's error.
    Invalid,
    Keyword(SqlKeyword),
    /// A plain name; keywords have a kind of their own.
    Name,
    /// `"name"`
    QuotedName,
    /// `U&"name"`, with its UESCAPE.
    UnicodeName,
    /// `'text'`, also in several lines.
    String,
    /// `E'text'` and `U&'text'`: decoded by the lexer.
    DecodedString,
    /// `$tag$text$tag$`
    DollarString,
    /// `B'0101'`
    BitString,
    /// `X'1F'`
    HexString,
    /// Digits that fit into 32 bits.
    Integer,
    /// Any other number.
    Decimal,
    /// `$1`
    Parameter,
    /// An operator that has no kind of its own.
    Operator,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Less,
    Greater,
    Equals,
    LessEquals,
    GreaterEquals,
    /// `<>` and `!=`
    NotEquals,
    TypeCast,
    ColonEquals,
    EqualsGreater,
    DotDot,
    Comma,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Dot,
    Semicolon,
    Colon,
    /// A character that no token begins with.
    Other,
}

impl From<SqlKeyword> for TokenKind {
    fn from(keyword: SqlKeyword) -> Self {
        Self::Keyword(keyword)
    }
}

/// One token of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// Where it is, quotes included.
    pub(crate) range: SourceRange,
}

/// All tokens of a text.
#[derive(Debug, Default)]
pub(crate) struct TokenList {
    pub(crate) tokens: Vec<Token>,
    /// Values of decoded tokens by the start of the token, ascending.
    pub(super) decoded: Vec<(u32, Box<str>)>,
    pub(crate) error: Option<SyntaxError>,
}

impl TokenList {
    /// Returns the value of a decoded token.
    pub(crate) fn decoded_value(&self, token: Token) -> &str {
        let found = self.decoded.binary_search_by_key(&token.range.start, |(start, _)| *start);
        found.ok().and_then(|index| self.decoded.get(index)).map_or("", |(_, value)| value)
    }
}
