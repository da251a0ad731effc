//! SQL text and its tree: PostgreSQL 15's grammar and Nacre's own statements.
//!
//! [`parse_script`] makes [`Statement`]s of a text; [`to_sql`] makes a text of a statement again.
//!
//! | module | what lives there |
//! |---|---|
//! | `range`, `error` | places in the text, and errors |
//! | `keywords` | the words of the grammar and where they may be names |
//! | `lexer` | tokens, and the values of literals |
//! | `tree` | what a text says |
//! | `grammar` | from tokens to the tree |
//! | `printer` | from the tree to text |
//!
//! # Invariants
//! 1. Nothing is known of what names mean: no catalog, no types, no functions.
//! 2. A text is read once, and no token twice: parsing is linear.
//! 3. Errors have PostgreSQL's words and place; what PostgreSQL 15 refuses is refused, with the
//!    exceptions of `Statement::Other` and of our own statements.
//! 4. Trees have a bounded height, so that passes over them may recurse.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod grammar;
mod keywords;
mod lexer;
mod printer;
mod range;
mod tree;

pub use error::{SyntaxError, SyntaxErrorKind};
pub use grammar::{parse_expression, parse_script, parse_statement, parse_type_name};
pub use keywords::{KeywordCategory, SqlKeyword};
pub use printer::to_sql;
pub use range::SourceRange;
pub use tree::*;
