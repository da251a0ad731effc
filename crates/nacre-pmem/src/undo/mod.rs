//! Undo log: several locations of a pool set updated as one.
//!
//! [`PoolSet::transaction`](crate::PoolSet::transaction) runs a body that changes bytes through a
//! [`Transaction`]. All of it takes effect, in every healthy member, or nothing does, at two fences
//! a transaction whatever the number of writes and members; one if it writes one word.
//!
//! # Protocol
//! 1. `write` snapshots the old bytes into a volatile image of the log and keeps the new bytes in a
//!    volatile buffer. `write_new` (bytes that nothing refers to yet) is stored at once, unlogged.
//! 2. Commit seals the image (sequence number, checksum), stores it as one piece into the log slot
//!    of that sequence number, in every member, and **fences**. Old and fresh bytes are durable.
//! 3. The new bytes are stored in place and flushed, then the *commit word*: one 8-byte store that
//!    is a checksum over the new bytes of all ranges. **Fence.** Acknowledged.
//! 4. Nothing retires the log: the next transaction takes the other slot. A store outside of
//!    transactions may change the ranges, so it first retires the slot durably (*settles*); that
//!    is one more fence at the first such store after a transaction.
//! 5. `read` of a range that the transaction wrote applies first: the image so far is sealed as a
//!    segment, fenced, and the new bytes are stored. Later writes make the next segment.
//! 6. A body that fails or panics leaves no trace if nothing was applied. Otherwise the old bytes
//!    are stored in reverse order, fenced, and the slot is retired.
//!
//! 7. A single write of an aligned word of 4 or 8 bytes is atomic by itself, so it needs no log: it
//!    is stored at commit, after a fence if there are bytes of `write_new`, and **fenced** once.
//!    Members that differ after a crash are made equal before the log is looked at. If the slot of
//!    the transaction before speaks of that word, it is settled first.
//!
//! # Recovery
//! The slot of the higher sequence number counts. Retired: nothing to do. Its commit word is the
//! checksum of the bytes in place: committed. Else its entries are stored back in reverse order,
//! and it is retired. Before the first transaction or store after that, a retired slot of the next
//! number is written to the *other* slot, so that no sequence number is ever used twice (what a
//! torn attempt left behind cannot extend a later log). A crash inside recovery finds the same slot
//! again. Opening a pool set that was closed stores nothing.
//!
//! # Why two fences suffice
//! | crash | slot `s` | bytes in place | outcome |
//! |---|---|---|---|
//! | before fence 1 | torn or whole | old | `s - 1` counts and matches, or old bytes are stored |
//! | between | whole | any mixture | all new and the commit word there: committed; else old |
//! | after fence 2 | whole | new | committed, until a store settles or `s + 1` passes fence 1 |
//!
//! The commit word may become durable before the bytes it speaks of; the checksum finds that out,
//! which is what saves the fence between them. It recognises every difference of a single write of
//! up to 8 bytes; else the odds of a wrong verdict are 2^-64 for each crash between the fences, and
//! 2^-32 for a torn log to look whole. It is no CRC on purpose: see `check`.
//!
//! # Damage
//! A slot that does not parse is an attempt that was cut off before fence 1, unless the other slot
//! is itself unfinished: a transaction begins when the one before is final, so that is `Corrupt`.
//! All members are asked, so a damaged slot matters only where it is damaged in each of them.
//! Damage to the newest slot of the only member, by the same crash that cut it off before its
//! second fence, looks like an attempt that never began; that is not found out.
//!
//! # Layout
//! The log lies between [`DATA_OFFSET`](crate::set::DATA_OFFSET) and the data area: two slots of
//! half its size (a multiple of 64). Slot `s % 2` holds transaction `s`; words are little-endian.
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 8 | commit word | checksum of the new bytes; 0: open; first segment only |
//! | 8 | 4 | checksum | of sequence, position, length and entries |
//! | 12 | 4 | bytes | of the entries of this segment |
//! | 16 | 8 | sequence | of the transaction, from 1; 0: never used |
//! | 24 | 8 | entry: offset | of the range |
//! | 32 | 4 | entry: bytes | of the range |
//! | 36 | 4 | entry: zero | |
//! | 40 | n | entry: old bytes | filled up to a multiple of 8 |
//!
//! More entries follow, then more segments. A transaction that writes up to 24 bytes touches one
//! line of the log. The commit word of a retired slot is a checksum of the sequence number alone.
//!
//! # Differs
//! From PMDK (`libpmemobj` ulog, [Zarubin22 3.1]): there each snapshot is fenced before its range
//! may be stored, then the ranges are fenced, the log is invalidated and fenced again, and each
//! step is repeated for each replica. Here snapshots are collected, in-place stores wait for the
//! commit, the checksum over the new bytes replaces the fence in front of the commit record, and
//! all members share the fences. The price: a read of one's own write costs a fence, bytes are
//! copied once more in DRAM, and a plain store after a transaction pays to settle. The papers
//! measure transactions (CS TX) but leave PMDK's protocol as it is.
mod check;
mod layout;
mod log;
mod media;
mod read;
mod recover;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use log::{Log, settle};
pub(crate) use recover::{committed_in, recover};
pub use transaction::Transaction;
