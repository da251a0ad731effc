//! Transaction log: several locations of a pool set updated as one.
//!
//! [`PoolSet::transaction`](crate::PoolSet::transaction) runs a body that changes bytes through a
//! [`Transaction`]. All of it takes effect, in every healthy member, or nothing does, at one fence
//! a transaction whatever the number of writes and members; a second one in front of it if more
//! than a few fresh bytes were stored.
//!
//! # Protocol
//! 1. `write` collects the new bytes in a volatile image of a *record*; nothing is stored, so a
//!    body that fails or panics leaves no trace. `read` lays them over a copy of what is there.
//!    `write_new` (bytes that nothing refers to yet) is stored at once if it is large, and
//!    **fenced** before the record.
//! 2. Commit seals the record (sequence number, checksum), stores it as one piece into the log slot
//!    of that number, in every member, and **fences**. The transaction is acknowledged.
//! 3. The new bytes are stored in place and flushed. Nobody waits for that: the fence of the next
//!    record does, and only then the slot of this one is used again, by the record after the next.
//! 4. So two records at most are *live*: would be stored in place again after a crash. Whoever
//!    stores where one of them wrote, and not by a record, first retires them durably (*settles*):
//!    a fence for what is in place, a word into each slot, a fence. Stores elsewhere pass by; after
//!    32 of them the records are settled as well.
//! 5. A single write of an aligned word of 4 or 8 bytes is atomic by itself, so it needs no record:
//!    it is stored at commit, after a fence if there are bytes of `write_new`, and **fenced** once.
//!    If a live record speaks of that word, it gets a record of its own.
//! 6. A set that is closed settles first, so that its next opening stores nothing.
//!
//! A fence waits for what its own thread flushed. If the set moved to another thread, that stores
//! in place once more what the newest record wrote.
//!
//! # Recovery
//! The newest whole record in the log of any good member counts. If it is retired nothing is to be
//! done, else the log is made durable, since it may be what a killed process stored and did not
//! fence, and the one before it, if it is live, and the newest are stored in place in every member,
//! in this order; **fence**. Only then the logs are made equal and both records are retired. A
//! crash on the way leaves the records, and storing them again changes nothing. All members get the
//! same bytes, so it does not matter which of them had which part in place before.
//!
//! # Why one fence suffices
//! | crash | slot of `s` | `s` in place | outcome |
//! |---|---|---|---|
//! | before the fence of `s` | torn or whole | old | `s - 1` stored again, and `s` if it is whole |
//! | after it | whole in all | any mixture | `s - 1` and `s` stored again |
//! | after the fence of `s + 1` | whole in all | new | `s` and `s + 1` stored again |
//! | record of `s + 2` on its way | torn | new | `s + 1` stored again, and `s + 2` if it is whole |
//!
//! What `s - 1` wrote is stored again before `s`, though `s` may be in place: the bytes that both
//! wrote are those of `s` in the end. The odds that a torn record looks whole are 2^-64; what tears
//! it may be bytes of an earlier record of the same slot, so the checksum is no CRC: see `check`.
//!
//! # Damage
//! A slot that does not parse is a record that was cut off before its fence. All members are asked,
//! so a damaged slot matters only where it is damaged in each of them: both slots damaged are
//! `Corrupt`. Damage to the newest slot of the only member looks like a record that never was:
//! that is not found out.
//!
//! # Layout
//! The log lies between [`DATA_OFFSET`](crate::set::DATA_OFFSET) and the data area: two slots of
//! half its size (a multiple of 64). Slot `s % 2` holds record `s`; words are little-endian.
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 8 | checksum | of what follows; if retired, of the sequence alone |
//! | 8 | 8 | sequence | of the record, from 1; 0: never used |
//! | 16 | 4 | bytes | of the entries |
//! | 20 | 4 | zero | |
//! | 24 | 8 | entry: offset | of the range |
//! | 32 | 4 | entry: bytes | of the range |
//! | 36 | 4 | entry: zero | |
//! | 40 | n | entry: new bytes | filled up to a multiple of 8 |
//!
//! More entries follow. A transaction that writes up to 24 bytes touches one line of the log.
//!
//! # Differs
//! From PMDK (`libpmemobj` ulog, [Zarubin22 3.1]): there old bytes are logged, each snapshot is
//! fenced before its range may be stored, then the ranges are fenced, the log is invalidated and
//! fenced again, and each step is repeated for each replica. Here new bytes are logged, and all
//! members share one fence. The price: a read of one's own write is a copy, new bytes are copied
//! once more in DRAM, a set that was opened read-only after a crash may lack what was committed
//! last, and a plain store where a transaction just wrote pays to settle. The papers measure
//! transactions (CS TX) but leave PMDK's protocol as it is. Decision 0006 says what was tried.
mod check;
mod layout;
mod log;
mod media;
mod read;
mod recover;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use log::{Log, leave, settle};
pub(crate) use recover::recover;
pub use transaction::Transaction;
