//! The parser's place among the tokens, and how deep it is.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::SqlKeyword;
use crate::lexer::{Token, TokenKind, TokenList, read_tokens};
use crate::range::SourceRange;

/// What parsing a production gives.
pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// Levels that a tree may have: the deepest path through the grammar then stays below 2 MiB of
/// stack, also in builds that are not optimised (`nesting_is_refused_before_the_stack_ends`).
pub(crate) const DEPTH_MAX: u32 = 400;

/// Walks over the tokens of a text.
pub(super) struct StatementParser<'a> {
    pub(super) text: &'a str,
    list: TokenList,
    next: usize,
    /// Levels that are open.
    depth: u32,
    /// Levels of the highest tree that was parsed within the innermost open level.
    height: u32,
    /// Tokens `start..end` are opening parentheses, and `end` is none.
    paren_run: (usize, usize),
}

impl<'a> StatementParser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let list = read_tokens(text);
        Self { text, list, next: 0, depth: 0, height: 0, paren_run: (0, 0) }
    }

    /// The error of a text that should be one statement and is several.
    pub(super) fn several_statements() -> SyntaxError {
        SyntaxError::new(
            SyntaxErrorKind::Grammar,
            "cannot insert multiple commands into a prepared statement",
            SourceRange::default(),
        )
    }

    /// Returns the token so many ahead; behind the last one it is the last one.
    pub(super) fn token(&self, ahead: usize) -> Token {
        let tokens = &self.list.tokens;
        match tokens.get(self.next + ahead).or(tokens.last()) {
            Some(token) => *token,
            None => Token { kind: TokenKind::End, range: SourceRange::default() },
        }
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.token(0).kind
    }

    pub(super) fn peek_at(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    /// Returns the next token if it is a keyword.
    pub(super) fn keyword(&self) -> Option<SqlKeyword> {
        match self.peek() {
            TokenKind::Keyword(keyword) => Some(keyword),
            _ => None,
        }
    }

    pub(super) fn at(&self, kind: impl Into<TokenKind>) -> bool {
        self.peek() == kind.into()
    }

    pub(super) fn at_ahead(&self, ahead: usize, kind: impl Into<TokenKind>) -> bool {
        self.peek_at(ahead) == kind.into()
    }

    /// Whether the next tokens are these keywords.
    pub(super) fn at_words(&self, words: &[SqlKeyword]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.at_ahead(ahead, *word))
    }

    /// Goes on by one token and returns it.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token(0);
        if !matches!(token.kind, TokenKind::End | TokenKind::Invalid) {
            self.next += 1;
        }
        token
    }

    /// Goes on if the next token is of the kind.
    pub(super) fn take(&mut self, kind: impl Into<TokenKind>) -> bool {
        let is_there = self.at(kind);
        if is_there {
            self.advance();
        }
        is_there
    }

    /// Goes on if the next tokens are these keywords.
    pub(super) fn take_words(&mut self, words: &[SqlKeyword]) -> bool {
        let is_there = self.at_words(words);
        if is_there {
            self.next += words.len();
        }
        is_there
    }

    pub(super) fn expect(&mut self, kind: impl Into<TokenKind>) -> Parsed<SourceRange> {
        if self.at(kind) { Ok(self.advance().range) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_words(&mut self, words: &[SqlKeyword]) -> Parsed<()> {
        words.iter().try_for_each(|word| self.expect(*word).map(|_| ()))
    }

    pub(super) fn expect_end(&mut self) -> Parsed<()> {
        self.expect(TokenKind::End).map(|_| ())
    }

    /// The error of a token that cannot stand where it does.
    pub(super) fn unexpected(&self) -> SyntaxError {
        self.unexpected_at(0)
    }

    /// The error of a token that is further ahead.
    pub(super) fn unexpected_at(&self, ahead: usize) -> SyntaxError {
        let token = self.token(ahead);
        match (&self.list.error, token.kind) {
            (Some(error), TokenKind::Invalid) => error.clone(),
            _ => SyntaxError::near("syntax error", token.range, self.text),
        }
    }

    /// Returns the text of a token.
    pub(super) fn text_of(&self, token: Token) -> &'a str {
        token.range.slice(self.text)
    }

    /// Returns the value of a token that the lexer has decoded.
    pub(super) fn decoded_value(&self, token: Token) -> String {
        self.list.decoded_value(token).to_owned()
    }

    /// Returns the range of the next token.
    pub(super) fn range(&self) -> SourceRange {
        self.token(0).range
    }

    /// Returns the range from `start` to the last token that was taken.
    pub(super) fn range_from(&self, start: SourceRange) -> SourceRange {
        let last = self.next.checked_sub(1).and_then(|index| self.list.tokens.get(index));
        last.map_or(start, |token| start.to(token.range))
    }

    /// Parses a level of the tree.
    ///
    /// # Errors
    /// `Depth` past the bound; those of `parse`.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            return Err(SyntaxError::too_deep(self.range()));
        }
        self.depth += 1;
        let before = std::mem::replace(&mut self.height, 0);
        let result = parse(self);
        self.depth -= 1;
        self.height = before.max(self.height + 1);
        result
    }

    /// Counts a level that is put around a parsed tree.
    ///
    /// # Errors
    /// `Depth` past the bound.
    pub(super) fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.depth + self.height > DEPTH_MAX {
            return Err(SyntaxError::too_deep(self.range()));
        }
        Ok(())
    }

    /// Returns how many opening parentheses come next. Runs are
    /// looked through once.
    pub(super) fn paren_run(&mut self) -> usize {
        let (start, end) = self.paren_run;
        if !(start <= self.next && self.next < end) {
            let mut ahead = 0;
            while self.at_ahead(ahead, TokenKind::LeftParen) {
                ahead += 1;
            }
            self.paren_run = (self.next, self.next + ahead);
        }
        self.paren_run.1 - self.next
    }

    /// Parses `item, item, ...`, at least one.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Parses `(item, item, ...)`, at least one.
    pub(super) fn paren_list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(TokenKind::LeftParen)?;
        let items = self.list(item)?;
        self.expect(TokenKind::RightParen)?;
        Ok(items)
    }

    /// Parses `(item, item, ...)` if there is an opening parenthesis.
    pub(super) fn optional_paren_list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        if self.at(TokenKind::LeftParen) { self.paren_list(item) } else { Ok(Vec::new()) }
    }
}
