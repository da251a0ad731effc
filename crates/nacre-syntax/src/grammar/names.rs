//! Names, strings and numbers.

use super::cursor::{Parsed, StatementParser};
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::{KeywordCategory, SqlKeyword};
use crate::lexer::literals::{dollar_value, fold_name, quoted_name, string_value, truncated};
use crate::lexer::{Token, TokenKind};
use crate::range::SourceRange;
use crate::tree::{ObjectName, OperatorName, RoleName, SqlName};

/// Where a name stands, which says what keywords it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamePlace {
    /// Columns, tables and most objects.
    Column,
    /// Types and functions.
    TypeOrFunction,
    /// Behind a dot or AS: any word.
    Label,
    /// A label without AS.
    BareLabel,
    /// Roles, cursors' directions and the like: words that are not reserved.
    Unreserved,
}

impl NamePlace {
    fn takes(self, keyword: SqlKeyword) -> bool {
        match self {
            Self::Column => keyword.is_column_name(),
            Self::TypeOrFunction => keyword.is_type_or_function(),
            Self::Label => true,
            Self::BareLabel => keyword.is_bare_label(),
            Self::Unreserved => keyword.category() != KeywordCategory::Reserved,
        }
    }
}

impl StatementParser<'_> {
    /// Whether the token so many ahead may be a name.
    pub(super) fn is_name_ahead(&self, ahead: usize, place: NamePlace) -> bool {
        match self.peek_at(ahead) {
            TokenKind::Name | TokenKind::QuotedName | TokenKind::UnicodeName => true,
            TokenKind::Keyword(keyword) => place.takes(keyword),
            _ => false,
        }
    }

    pub(super) fn is_name(&self, place: NamePlace) -> bool {
        self.is_name_ahead(0, place)
    }

    pub(super) fn expect_name(&mut self, place: NamePlace) -> Parsed<SqlName> {
        if !self.is_name(place) {
            return Err(self.unexpected());
        }
        Ok(self.take_name())
    }

    /// Takes the next token, which is a name, as it is.
    pub(super) fn take_name(&mut self) -> SqlName {
        let token = self.advance();
        let text = match token.kind {
            TokenKind::QuotedName => quoted_name(self.text_of(token)),
            TokenKind::UnicodeName => truncated(&self.decoded_value(token)).to_owned(),
            _ => fold_name(self.text_of(token)),
        };
        SqlName { text, range: token.range }
    }

    pub(super) fn column_name(&mut self) -> Parsed<SqlName> {
        self.expect_name(NamePlace::Column)
    }

    pub(super) fn optional_name(&mut self, place: NamePlace) -> Option<SqlName> {
        self.is_name(place).then(|| self.take_name())
    }

    /// Parses `name.name...` of an object.
    pub(super) fn object_name(&mut self) -> Parsed<ObjectName> {
        let first = self.column_name()?;
        self.object_name_from(first)
    }

    /// Parses what follows the first name of an object.
    pub(super) fn object_name_from(&mut self, first: SqlName) -> Parsed<ObjectName> {
        let start = first.range;
        let mut parts = vec![first];
        while self.take(TokenKind::Dot) {
            parts.push(self.expect_name(NamePlace::Label)?);
        }
        Ok(ObjectName { parts, range: self.range_from(start) })
    }

    /// Whether the next token is the plain name `word`, which no keyword is.
    pub(super) fn at_word(&self, word: &str) -> bool {
        let token = self.token(0);
        token.kind == TokenKind::Name && self.text_of(token).eq_ignore_ascii_case(word)
    }

    pub(super) fn at_string(&self) -> bool {
        is_string(self.peek())
    }

    /// Parses a string and returns its value.
    pub(super) fn expect_string(&mut self) -> Parsed<String> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(self.string_of(token))
    }

    fn string_of(&self, token: Token) -> String {
        match token.kind {
            TokenKind::DecodedString => self.decoded_value(token),
            TokenKind::DollarString => dollar_value(self.text_of(token)).to_owned(),
            _ => string_value(self.text_of(token)),
        }
    }

    /// Parses digits that fit into 32 bits.
    pub(super) fn expect_integer(&mut self) -> Parsed<i32> {
        if !self.at(TokenKind::Integer) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        // The lexer has tried it.
        Ok(self.text_of(token).parse().unwrap_or(i32::MAX))
    }

    /// Parses an integer with a sign.
    pub(super) fn expect_signed_integer(&mut self) -> Parsed<i32> {
        let is_negative = self.at(TokenKind::Minus);
        if is_negative || self.at(TokenKind::Plus) {
            self.advance();
        }
        let value = self.expect_integer()?;
        Ok(if is_negative { -value } else { value })
    }

    /// Whether a number with or without a sign comes next.
    pub(super) fn at_signed_number(&self) -> bool {
        let is_signed = matches!(self.peek(), TokenKind::Plus | TokenKind::Minus);
        let number = self.peek_at(usize::from(is_signed));
        is_signed || matches!(number, TokenKind::Integer | TokenKind::Decimal)
    }

    /// Parses a number with a sign, and keeps its digits.
    pub(super) fn expect_signed_number(&mut self) -> Parsed<String> {
        let mut digits = String::new();
        if self.take(TokenKind::Minus) {
            digits.push('-');
        } else {
            self.take(TokenKind::Plus);
        }
        if !matches!(self.peek(), TokenKind::Integer | TokenKind::Decimal) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        digits.push_str(self.text_of(token));
        Ok(digits)
    }

    /// Parses a role's name, or one of the words that stand for one.
    pub(super) fn role_name(&mut self) -> Parsed<RoleName> {
        let range = self.range();
        let role = match self.keyword() {
            Some(SqlKeyword::CurrentUser) => RoleName::CurrentUser(range),
            Some(SqlKeyword::CurrentRole) => RoleName::CurrentRole(range),
            Some(SqlKeyword::SessionUser) => RoleName::SessionUser(range),
            _ if self.is_name(NamePlace::Unreserved) => {
                let name = self.take_name();
                return match name.text.as_str() {
                    "public" => Ok(RoleName::Public(range)),
                    "none" => Err(reserved_role(&name.text, range)),
                    _ => Ok(RoleName::Named(name)),
                };
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(role)
    }

    pub(super) fn role_list(&mut self) -> Parsed<Vec<RoleName>> {
        self.list(Self::role_name)
    }

    pub(super) fn name_list(&mut self) -> Parsed<Vec<SqlName>> {
        self.list(Self::column_name)
    }

    pub(super) fn optional_columns(&mut self) -> Parsed<Vec<SqlName>> {
        self.optional_paren_list(Self::column_name)
    }

    pub(super) fn object_list(&mut self) -> Parsed<Vec<ObjectName>> {
        self.list(Self::object_name)
    }

    /// Whether an operator comes next; of `OPERATOR` the parenthesis has to follow.
    pub(super) fn at_operator(&self) -> bool {
        is_operator(self.peek())
            || (self.at(SqlKeyword::Operator) && self.at_ahead(1, TokenKind::LeftParen))
    }

    /// Takes an operator, with OPERATOR(...) if it is written so.
    pub(super) fn expect_operator(&mut self) -> Parsed<OperatorName> {
        let start = self.range();
        if !self.take(SqlKeyword::Operator) {
            let symbol = self.expect_symbol()?;
            return Ok(OperatorName { schema: Vec::new(), symbol, range: start });
        }
        self.expect(TokenKind::LeftParen)?;
        let mut schema = Vec::new();
        while !is_operator(self.peek()) {
            schema.push(self.column_name()?);
            self.expect(TokenKind::Dot)?;
        }
        let symbol = self.expect_symbol()?;
        self.expect(TokenKind::RightParen)?;
        Ok(OperatorName { schema, symbol, range: self.range_from(start) })
    }

    fn expect_symbol(&mut self) -> Parsed<String> {
        if !is_operator(self.peek()) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        let is_inequality = token.kind == TokenKind::NotEquals;
        Ok(if is_inequality { "<>" } else { self.text_of(token) }.to_owned())
    }
}

pub(super) fn reserved_role(name: &str, range: SourceRange) -> SyntaxError {
    let message = format!("role name \"{name}\" is reserved");
    SyntaxError::new(SyntaxErrorKind::ReservedName, message, range)
}

pub(super) fn is_string(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::String | TokenKind::DecodedString | TokenKind::DollarString)
}

fn is_operator(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Operator
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::Slash
            | TokenKind::Percent
            | TokenKind::Caret
            | TokenKind::Less
            | TokenKind::Greater
            | TokenKind::Equals
            | TokenKind::LessEquals
            | TokenKind::GreaterEquals
            | TokenKind::NotEquals
    )
}
