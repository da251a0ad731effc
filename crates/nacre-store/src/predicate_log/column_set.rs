//! Sets of columns of a table.

/// Columns of a table, by index. Sets within the first 64 columns take no memory of their own.
#[derive(Clone, Debug, Default)]
pub struct ColumnSet {
    first: u64,
    rest: Vec<u64>,
}

impl ColumnSet {
    /// Returns the set of the first `count` columns.
    pub fn all(count: usize) -> Self {
        (0..count).collect()
    }

    /// Adds a column.
    #[inline]
    pub fn insert(&mut self, column: usize) {
        let bit = 1 << (column % 64);
        if column < 64 {
            self.first |= bit;
            return;
        }
        let word = column / 64 - 1;
        if self.rest.len() <= word {
            self.rest.resize(word + 1, 0);
        }
        self.rest[word] |= bit;
    }

    /// Tells whether the column is in the set.
    #[inline]
    pub fn contains(&self, column: usize) -> bool {
        let word = match column / 64 {
            0 => self.first,
            index => self.rest.get(index - 1).copied().unwrap_or(0),
        };
        word >> (column % 64) & 1 == 1
    }

    /// Adds all columns of `other`.
    #[inline]
    pub fn extend_from(&mut self, other: &Self) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (word, more) in self.rest.iter_mut().zip(&other.rest) {
            *word |= more;
        }
    }

    /// Tells whether a column is in both sets.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.first & other.first != 0
            || self.rest.iter().zip(&other.rest).any(|(word, other)| word & other != 0)
    }

    /// Returns the columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let words = [self.first].into_iter().chain(self.rest.iter().copied());
        words.enumerate().flat_map(|(index, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
        })
    }

    /// Returns the words beyond the first, which take memory.
    pub(super) fn words(&self) -> usize {
        self.rest.len()
    }
}

impl PartialEq for ColumnSet {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for ColumnSet {}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut set = Self::default();
        columns.into_iter().for_each(|column| set.insert(column));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_holds_what_was_inserted() {
        let columns = [0, 5, 63, 64, 130, 1_599];
        let set: ColumnSet = columns.into_iter().collect();
        assert!(set.iter().eq(columns));
        assert!((0..1_700).all(|column| set.contains(column) == columns.contains(&column)));
    }

    #[test]
    fn sets_meet_in_common_columns_only() {
        let set = |columns: &[usize]| columns.iter().copied().collect::<ColumnSet>();
        assert!(set(&[1, 70]).intersects(&set(&[70])));
        assert!(!set(&[1, 70]).intersects(&set(&[2, 71, 700])));
        let mut both = set(&[1]);
        both.extend_from(&set(&[200]));
        assert_eq!(both, set(&[1, 200]));
        assert_eq!(ColumnSet::all(65), (0..65).collect());
    }
}
