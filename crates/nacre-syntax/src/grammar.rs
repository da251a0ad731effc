//! From tokens to the tree: a recursive descent without going back.
//!
//! 1. [`StatementParser`] walks over the tokens; what a production is, is decided by the next two
//!    or three of them, so parsing is linear and stops at the token where PostgreSQL's does.
//! 2. Operators are parsed by precedence; chains of one precedence in a loop.
//! 3. Nesting is bounded by the cursor ([`cursor`]).
//!
//! # Invariants
//! Open levels plus the height of the tree parsed within them never exceed
//! [`cursor::DEPTH_MAX`].

pub(crate) mod cursor;
mod definitions;
mod expressions;
mod modifications;
mod names;
mod queries;
mod sessions;
mod statements;
mod type_names;

use cursor::StatementParser;

use crate::error::SyntaxError;
use crate::tree::{ExpressionNode, Statement, TypeName};

/// Parses statements, which semicolons part; empty ones are left out.
///
/// # Errors
/// The first error of the text.
pub fn parse_script(text: &str) -> Result<Vec<Statement>, SyntaxError> {
    StatementParser::new(text).parse_script()
}

/// Parses a text that is one statement; `None` if there is nothing but blanks and comments.
///
/// # Errors
/// The first error of the text; `Grammar` if there is more than one statement.
pub fn parse_statement(text: &str) -> Result<Option<Statement>, SyntaxError> {
    let mut statements = parse_script(text)?;
    if statements.len() > 1 {
        return Err(StatementParser::several_statements());
    }
    Ok(statements.pop())
}

/// Parses a text that is one expression, as definitions keep them.
///
/// # Errors
/// The first error of the text.
pub fn parse_expression(text: &str) -> Result<ExpressionNode, SyntaxError> {
    let mut parser = StatementParser::new(text);
    let expression = parser.parse_expression()?;
    parser.expect_end()?;
    Ok(expression)
}

/// Parses a text that is the name of a type.
///
/// # Errors
/// The first error of the text.
pub fn parse_type_name(text: &str) -> Result<TypeName, SyntaxError> {
    let mut parser = StatementParser::new(text);
    let type_name = parser.parse_type_name()?;
    parser.expect_end()?;
    Ok(type_name)
}

#[cfg(test)]
mod tests;
