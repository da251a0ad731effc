//! Takes a text apart into tokens by PostgreSQL's rules.
//!
//! 1. [`read_tokens`] goes once over the bytes; white space and comments (which nest) are left out.
//! 2. A token is its kind and range; values of names and strings are decoded where they are taken,
//!    by [`literals`], save for those with escapes, which may be wrong and are decoded at once.
//! 3. The first error ends the list with [`TokenKind::Invalid`], so that an error of the grammar
//!    before it is found first.
//!
//! # Invariants
//! The list ends in `End` or `Invalid`; ranges ascend and do not overlap.

pub(crate) mod literals;
mod numbers;
mod operators;
mod scanner;
mod strings;
mod tokens;

pub(crate) use scanner::read_tokens;
pub(crate) use tokens::{Token, TokenKind, TokenList};
