//! Where the row of an OID is, without a search: planning asks for the same few rows many times.
//!
//! # Invariants
//! OIDs of a table are unique and few: its rows have indexes below 65,535, and the catalogs' OIDs
//! end below 16,384, so that an index has at most 32 KiB.
//! # Source
//! PostgreSQL 15, `access/transam.h`: objects that users create have OIDs from 16,384 on.

/// Rows by OID.
#[derive(Debug)]
pub struct OidIndex {
    /// By OID the number of its row, counted from 1; 0 for none.
    numbers: Vec<u16>,
}

impl OidIndex {
    /// Makes the index of rows with these OIDs.
    pub fn new(oids: impl Iterator<Item = u32>) -> Self {
        let mut numbers = Vec::new();
        for (number, oid) in (1..).zip(oids) {
            let place = oid as usize;
            if numbers.len() <= place {
                numbers.resize(place + 1, 0);
            }
            numbers[place] = number;
        }
        Self { numbers }
    }

    /// Returns the index of the row with an OID.
    pub fn find(&self, oid: u32) -> Option<usize> {
        let number = self.numbers.get(oid as usize)?;
        usize::from(*number).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_oids_alone() {
        let index = OidIndex::new([7, 3, 9].into_iter());
        let found = [3, 7, 9, 0, 8, 10].map(|oid| index.find(oid));
        assert_eq!(found, [Some(1), Some(0), Some(2), None, None, None]);
    }
}
