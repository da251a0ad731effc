//! Whether looking groups up pays before they are merged.
//!
//! A worker's table that is emptied with about as many groups as it had rows has done nothing but
//! miss the caches: the rows might as well go to their partitions one by one, where all groups of
//! a part are near each other.
//!
//! ```text
//! 20,000 rows of 18,000 groups       the next 300,000 rows become groups of their own
//! 90,000 rows of 18,000 groups       rows are looked up
//! ```

/// Rows for each group from which looking up pays.
const ROWS_PER_GROUP_MIN: u64 = 2;

/// Tables of rows that are not looked up before it is tried again: trying one in 17 costs about 6 %
/// of always trying.
const REST_TABLES: u64 = 16;

/// How many rows the groups of a table had.
#[derive(Debug, Default)]
pub(super) struct GroupReduction {
    /// Since the table was empty.
    rows: u64,
    /// Rows that need not be looked up.
    rest: u64,
}

impl GroupReduction {
    /// Notes rows that were looked up.
    pub(super) fn note_rows(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// Notes that a full table with so many groups was emptied.
    pub(super) fn note_full(&mut self, groups: usize) {
        let groups = groups as u64;
        if self.rest == 0 && self.rows < groups * ROWS_PER_GROUP_MIN {
            self.rest = groups * REST_TABLES;
        }
        self.rows = 0;
    }

    /// Whether the next rows need not be looked up; counts them.
    pub(super) fn is_resting(&mut self, rows: usize) -> bool {
        let is_resting = self.rest > 0;
        self.rest = self.rest.saturating_sub(rows as u64);
        is_resting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_do_not_reduce_rest_for_sixteen_tables() {
        let mut reduction = GroupReduction::default();
        assert!(!reduction.is_resting(100));
        reduction.note_rows(190);
        reduction.note_full(100);
        assert_eq!((0..100).take_while(|_| reduction.is_resting(100)).count(), 16);
        reduction.note_rows(200);
        reduction.note_full(100);
        assert!(!reduction.is_resting(100));
    }
}
