//! Rules of a table: DEFAULT expressions and CHECK constraints.
//!
//! [`definition`] reads them from CREATE and ALTER TABLE, [`expressions`] compiles their text,
//! [`defaults`] and [`checks`] evaluate them over the rows that a statement is about to write,
//! [`chunks`] over the chunks of a COPY, and [`actions`] over the rows that foreign keys change.
//!
//! # Invariants
//! 1. A rule is kept as the text that the user wrote, and compiled once for each statement.
//! 2. Rows reach the store only after they passed: it keeps rules and does not know what they say.
//!    Those that it changes itself it has checked before the statement ends.

mod actions;
mod checks;
mod chunks;
mod defaults;
mod definition;
mod expressions;

pub(crate) use actions::ActionRules;
pub(crate) use checks::{Checks, failing_row};
pub(crate) use chunks::CopyRules;
pub(crate) use defaults::{DefaultValues, Drawn};
pub(crate) use definition::RulesBuilder;
pub(crate) use expressions::parse;
