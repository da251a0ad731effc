//! The index of a primary key: a hash table with linear probing, from a key to its row.
//!
//! A key hashes to itself, which keeps rows of neighbouring keys near each other.

/// A slot that is empty; no key of TPC-H is negative.
const EMPTY: i64 = -1;

/// Slots for each key, at least.
const SLOTS_PER_KEY: usize = 2;

/// Where the rows of keys are.
#[derive(Debug)]
pub(crate) struct PrimaryKeyIndex {
    keys: Vec<i64>,
    rows: Vec<u32>,
}

impl PrimaryKeyIndex {
    /// Bytes of a slot.
    pub(super) const SLOT_BYTES: u64 = 12;

    /// Makes the index of keys that are all different and not negative; the first is in row 0.
    pub(super) fn new(keys: impl ExactSizeIterator<Item = i64>) -> Self {
        let slots = (keys.len() * SLOTS_PER_KEY).next_power_of_two();
        let mut index = Self { keys: vec![EMPTY; slots], rows: vec![0; slots] };
        let mask = slots - 1;
        for (row, key) in (0..).zip(keys) {
            let mut slot = key as usize & mask;
            while index.keys[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            index.keys[slot] = key;
            index.rows[slot] = row;
        }
        index
    }

    /// Returns the row of a key, if it is there.
    #[inline]
    pub(super) fn row(&self, key: i64) -> Option<usize> {
        let mask = self.keys.len() - 1;
        let mut slot = key as usize & mask;
        // A half of the slots is empty, so that the loop ends.
        loop {
            let found = self.keys[slot];
            if found == key {
                return Some(self.rows[slot] as usize);
            }
            if found == EMPTY {
                return None;
            }
            slot = (slot + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_also_where_they_collide() {
        let keys = [1_i64, 17, 33, 2, 64, 128, 0];
        let index = PrimaryKeyIndex::new(keys.iter().copied());
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(index.row(*key), Some(row));
        }
        assert_eq!(index.row(3), None);
        assert_eq!(PrimaryKeyIndex::new([].into_iter()).row(5), None);
    }
}
