//! Which index serves the conditions of a statement?
//!
//! An index serves columns that are compared for equality as far as they are the first ones of its
//! key; an ordered one serves the next column too, if that lies in a range.

use std::sync::Arc;

use super::{IndexKind, TableIndex};
use crate::table::Table;

/// An index and how far it serves.
#[derive(Clone, Debug)]
pub struct IndexChoice {
    pub index: Arc<TableIndex>,
    /// The first so many columns of the key are compared for equality.
    pub equal_columns: usize,
    /// Whether the column after these lies in a range.
    pub has_range: bool,
}

impl IndexChoice {
    /// Whether all columns of a unique key are given: at most one row has it, unless one of its
    /// columns is null or the snapshot is older than the index.
    pub fn is_unique(&self) -> bool {
        let definition = self.index.definition();
        definition.is_unique && self.equal_columns == definition.columns.len()
    }
}

impl Table {
    /// Returns the index that serves best where the columns of `equal` are compared for equality
    /// and those of `ranges` lie in ranges, or `None` if no index serves any of them.
    ///
    /// Better is a unique key that is given whole, then more columns compared for equality, then a
    /// range behind them, then fewer columns without a use, then the index that is older.
    ///
    /// ```text
    /// indexes (a), unique (a, b), (c, d):  equal [a, b] -> (a, b), 2 columns
    ///                                      equal [c], ranges [d] -> (c, d), 1 column and a range
    ///                                      equal [d] -> none
    /// ```
    pub fn choose_index(&self, equal: &[usize], ranges: &[usize]) -> Option<IndexChoice> {
        let choices = self.table_indexes().all().into_iter();
        let choices = choices.filter_map(|index| choice(index, equal, ranges));
        let rank = |choice: &IndexChoice| {
            let unused = choice.index.definition().columns.len() - choice.equal_columns;
            (choice.is_unique(), choice.equal_columns, choice.has_range, usize::MAX - unused)
        };
        // Of several that are equal `max_by_key` returns the last one.
        choices.rev().max_by_key(rank)
    }
}

fn choice(index: Arc<TableIndex>, equal: &[usize], ranges: &[usize]) -> Option<IndexChoice> {
    let definition = index.definition();
    let columns = &definition.columns;
    let equal_columns = columns.iter().take_while(|column| equal.contains(column)).count();
    let next = columns.get(equal_columns);
    let serves = match definition.kind {
        IndexKind::Hash => equal_columns == columns.len(),
        IndexKind::Art | IndexKind::Hybrid => {
            equal_columns > 0 || next.is_some_and(|next| ranges.contains(next))
        }
    };
    let has_range =
        definition.kind != IndexKind::Hash && next.is_some_and(|next| ranges.contains(next));
    serves.then_some(IndexChoice { index, equal_columns, has_range })
}
