//! How many bytes were written to which domain, for what and why.
//!
//! Persistent memory endures a limited number of writes, so what is written is counted where it is
//! written. Counts are of this process: they begin at 0 when a database is opened.
//!
//! # Concurrency
//! Any thread may add; a lock is taken per block, not per row.
//!
//! # Source
//! [Zarubin22 3.3, 4.2] compression lowers the wear of the medium.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Why bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WearCause {
    /// Rows that are new.
    Load,
    /// A replica that was lost is written again.
    Repair,
    /// The policy asks for another format or place.
    Conversion,
    /// The record of what exists.
    Manifest,
}

impl fmt::Display for WearCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Load => "load",
            Self::Repair => "repair",
            Self::Conversion => "conversion",
            Self::Manifest => "manifest",
        })
    }
}

/// Bytes written by domain, owner and cause; `K` names the owner, such as a column.
#[derive(Debug)]
pub struct Wear<K> {
    bytes: Mutex<BTreeMap<(String, K, WearCause), u64>>,
}

impl<K: Ord> Default for Wear<K> {
    fn default() -> Self {
        Self { bytes: Mutex::default() }
    }
}

impl<K: Ord + Clone> Wear<K> {
    /// Counts `bytes` more.
    pub fn add(&self, domain: &str, owner: K, cause: WearCause, bytes: u64) {
        let mut counts = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((domain.to_owned(), owner, cause)).or_default() += bytes;
    }

    /// Returns domain, owner, cause and bytes of all that was written.
    pub fn counts(&self) -> Vec<(String, K, WearCause, u64)> {
        let counts = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |((domain, owner, cause), bytes): (&(String, K, WearCause), &u64)| {
            (domain.clone(), owner.clone(), *cause, *bytes)
        };
        counts.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_add_up_by_domain_owner_and_cause() {
        let wear = Wear::default();
        wear.add("main", "a", WearCause::Load, 3);
        wear.add("main", "a", WearCause::Load, 4);
        wear.add("main", "a", WearCause::Repair, 1);
        wear.add("fast", "a", WearCause::Load, 2);
        let counts = wear.counts();
        assert_eq!(counts.len(), 3);
        assert!(counts.contains(&("main".into(), "a", WearCause::Load, 7)));
        assert!(counts.contains(&("fast".into(), "a", WearCause::Load, 2)));
    }
}
