//! The rows of `pg_locks`: advisory locks. Nothing else is locked: readers take snapshots, and the
//! first of two writers of a row wins.

use std::time::UNIX_EPOCH;

use super::cells::{Cell, Row};
use super::fixed::DATABASE;
use crate::advisory_locks::{AdvisoryLocks, LockEntry, LockKey};

/// Returns the rows of `pg_locks`.
pub(super) fn locks(locks: &AdvisoryLocks) -> Vec<Row> {
    locks.entries().iter().map(lock).collect()
}

fn lock(entry: &LockEntry) -> Row {
    // As PostgreSQL cuts a key into two numbers without sign, and tells the two kinds apart.
    let (class, object, kind) = match entry.key {
        LockKey::Number(number) => ((number >> 32) as u32, number as u32, 1),
        LockKey::Pair(first, second) => (first as u32, second as u32, 2),
    };
    let wait_start = entry.wait_start.and_then(|start| start.duration_since(UNIX_EPOCH).ok());
    let microseconds = |since: std::time::Duration| i64::try_from(since.as_micros()).ok();
    vec![
        ("locktype", "advisory".into()),
        ("database", DATABASE.into()),
        ("classid", class.into()),
        ("objid", object.into()),
        ("objsubid", Cell::Int(kind)),
        ("virtualtransaction", format!("{}/0", entry.process_id).into()),
        ("pid", entry.process_id.into()),
        ("mode", entry.mode.name().into()),
        ("granted", entry.is_granted.into()),
        ("fastpath", false.into()),
        ("waitstart", wait_start.and_then(microseconds).map_or(Cell::Null, Cell::Int)),
    ]
}
