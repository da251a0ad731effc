//! Queries that are computed once, and what reads them.

use nacre_types::SqlType;

use super::{ColumnId, RelationalOperator};

/// A query of WITH whose rows are computed once and kept for all that read them.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonQuery {
    pub name: String,
    /// It may read the common queries before it.
    pub root: RelationalOperator,
    /// Columns of `root`; one may come twice.
    pub outputs: Vec<ColumnId>,
    /// Types of the outputs.
    pub types: Vec<SqlType>,
    pub form: CommonForm,
}

/// How a common query is computed and read.
#[derive(Clone, Debug, PartialEq)]
pub enum CommonForm {
    /// Its rows are kept.
    Rows,
    /// It is one value, of [`super::ScalarKind::Once`].
    Value,
    /// It is a value for each row of arguments of these types, of [`super::ScalarKind::Call`]. It
    /// reads these by its own reference, behind the number of each row, and has that number and
    /// the value.
    Call(Vec<SqlType>),
    /// Further rows are made of those of `root`.
    Recursion(RecursiveTerm),
}

impl CommonForm {
    /// Returns the recursive side, if there is one.
    pub fn term(&self) -> Option<&RecursiveTerm> {
        match self {
            Self::Recursion(term) => Some(term),
            Self::Rows | Self::Value | Self::Call(_) => None,
        }
    }

    /// As [`Self::term`], to be changed.
    pub fn term_mut(&mut self) -> Option<&mut RecursiveTerm> {
        match self {
            Self::Recursion(term) => Some(term),
            Self::Rows | Self::Value | Self::Call(_) => None,
        }
    }
}

/// The recursive side of a query of WITH RECURSIVE. It reads its own query by its reference: the
/// rows that it made the last time, at first those of the other side; until there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct RecursiveTerm {
    pub root: RelationalOperator,
    /// Columns of `root`, of the types that the query's have.
    pub outputs: Vec<ColumnId>,
    /// UNION: rows that came before are left out.
    pub is_distinct: bool,
}

/// What a plan knows of a common query where it reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonReference {
    /// Its place in [`super::QueryPlan::common`].
    pub index: usize,
    /// Whether computing it may fail.
    pub may_fail: bool,
    /// Whether PostgreSQL computes all of its rows before the first is read.
    pub is_whole: bool,
    /// Whether it has one row, never more or less.
    pub has_one_row: bool,
    /// Positions of outputs that no two rows have the same values of.
    pub key: Option<Vec<usize>>,
    /// How many rows are expected; `None` before the optimizer has said so.
    pub rows_expected: Option<f64>,
}
