//! The manifest's log: records behind one another in the data area of a pool set.
//!
//! An append (1) writes the record behind the published end and makes it durable in every member,
//! (2) publishes it in each by one 8-byte store. A crash before (2) leaves bytes that nobody reads;
//! a crash between two publishes leaves one member a record ahead, which opening evens out.
//!
//! # Invariants
//! 1. Everything a record names is durable before the record is appended.
//! 2. Bytes below the published end never change.
//! 3. Sequence numbers are 1, 2, 3, ... without gaps.
//! # Durability
//! `append` returns once the record is published durably in every good member of the pool set.
//! # Concurrency
//! One writer: `append` takes `&mut self`; the store holds the manifest behind a mutex.

use nacre_pmem::{Access, Domain, PoolSet, PoolSetOptions};

use super::header::{
    HEADER_BYTES, PUBLISHED_OFFSET, VERSION, VERSION_OFFSET, header_bytes, newest_version_word,
};
use super::open::remove_unfinished;
use super::record::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::members::{self, MAIN_COPIES, allocate_some};

/// Name of the pool set: its files are `manifest.0`, `manifest.1`, ...
pub(super) const SET_NAME: &str = "manifest";

/// Name of the pool set until its header is written.
pub(super) const UNFINISHED_SET_NAME: &str = "manifest.new";

/// First size of the data area, enough for about 400 loads; it doubles when full, or grows by less
/// on a full device.
const INITIAL_BYTES: u64 = 64 << 10;

/// Room that is left for records by which space is freed: about 50 tables can be dropped or emptied
/// and checkpoints completed on a full device.
const RESERVE_BYTES: u64 = 16 << 10;

/// Steps in which the data area grows at least.
const STEP_BYTES: u64 = 4 << 10;

/// Identifies a database; every pool of it carries the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseId(pub(crate) [u8; 16]);

impl DatabaseId {
    /// Makes an id of bytes, for tools that make files without a database.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An open manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(super) database: DatabaseId,
    pub(super) version: u32,
    pub(super) set: PoolSet,
    pub(super) end_offset: u64,
    pub(super) next_sequence: u64,
    /// Set when publishing failed in every member.
    pub(super) is_in_doubt: bool,
    /// What was repaired, what could not be, and what failed since.
    pub(super) notes: Vec<String>,
    /// Further domains without a member, because a foreign file has its name.
    pub(super) excluded: Vec<String>,
    /// Called between writing a record and publishing it, to inject faults.
    #[cfg(test)]
    pub(crate) before_publish: Option<super::tests::Injection>,
}

impl Manifest {
    /// Creates an empty manifest in `main`. It gets its name when it is whole, so that a crash
    /// leaves nothing, or a manifest.
    pub(crate) fn create(
        database: DatabaseId,
        created_micros: u64,
        main: &Domain,
    ) -> Result<Manifest> {
        remove_unfinished(main)?;
        let domains = [main.clone(), main.clone()];
        let name = Some(SET_NAME.to_string());
        let options = PoolSetOptions { log_bytes: 0, name, ..PoolSetOptions::new(INITIAL_BYTES) };
        let mut set = PoolSet::create(UNFINISHED_SET_NAME, &domains, &options)?;
        let start = set.data_offset();
        set.write(start, &header_bytes(database, created_micros))?;
        let end_offset = start + HEADER_BYTES;
        set.update(start + PUBLISHED_OFFSET, &end_offset.to_le_bytes())?;
        // PERSIST: the members are whole and durable before the renames below make them reachable;
        // one that has its name is enough.
        set.close()?;
        for index in 0..MAIN_COPIES {
            let unfinished = format!("{UNFINISHED_SET_NAME}.{index}");
            main.rename_pool(&unfinished, &format!("{SET_NAME}.{index}"))?;
        }
        let nowhere_else = |_: DatabaseId, _: &[Record]| Ok(Vec::new());
        let domains = std::slice::from_ref(main);
        Manifest::open(domains, Access::ReadWrite, nowhere_else)
    }

    /// Returns the id of the database.
    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    /// Returns how many records there are.
    pub(crate) fn record_count(&self) -> u64 {
        self.next_sequence - 1
    }

    /// Returns what to tell the user.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Tells whether the last record may or may not have been published.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Appends one record, see [`Manifest::append_all`].
    pub(crate) fn append(&mut self, record: &Record) -> Result<u64> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Appends `records`, publishes them together and returns their bytes; what they name must be
    /// durable. A member that fails is left behind and noted; one good member is enough.
    ///
    /// # Errors
    /// No space or an I/O failure before the records are published: nothing has changed. If
    /// publishing itself fails in every member, the records may or may not be there after a
    /// restart; [`Manifest::is_in_doubt`] tells, and no further record is taken.
    pub(crate) fn append_all(&mut self, records: &[Record]) -> Result<u64> {
        if self.is_in_doubt {
            let reason = "an earlier write to it failed; open the database again".into();
            return Err(Error::ManifestDamaged { reasons: vec![reason] });
        }
        if records.iter().any(|record| record.version() > self.version) {
            self.upgrade()?;
        }
        let copies = self.set.copy_count();
        let numbered = (self.next_sequence..).zip(records);
        let bytes: Vec<u8> = numbered.flat_map(|(number, one)| one.to_bytes(number)).collect();
        let end_offset = self.end_offset + bytes.len() as u64;
        self.make_room(end_offset, records)?;
        // PERSIST: the records are durable in all good members before any publishes them.
        self.set.update(self.end_offset, &bytes)?;
        #[cfg(test)]
        if let Some(inject) = &mut self.before_publish {
            (inject.0)();
        }
        let published = self.set.data_offset() + PUBLISHED_OFFSET;
        // PERSIST: the records are durable (above); this 8-byte store makes them reachable.
        if let Err(error) = self.set.publish_u64(published, end_offset) {
            self.is_in_doubt = true;
            return Err(error.into());
        }
        // A mapping outlives its file: a record in removed files would be gone with the process.
        if let Err(error) = self.set.drop_lost() {
            self.is_in_doubt = true;
            return Err(error.into());
        }
        self.end_offset = end_offset;
        self.next_sequence += records.len() as u64;
        if self.set.copy_count() < copies {
            self.note_failures();
        }
        Ok(bytes.len() as u64)
    }

    /// Makes room for records up to an offset and, behind them, for those by which space is freed.
    fn make_room(&mut self, end_offset: u64, records: &[Record]) -> Result<()> {
        let least = end_offset + RESERVE_BYTES;
        if self.set.end_offset() >= least {
            return Ok(());
        }
        let start = self.set.data_offset();
        let now = self.set.end_offset() - start;
        let least = (least - start).next_multiple_of(STEP_BYTES);
        let wanted = now.saturating_mul(2).max(INITIAL_BYTES);
        let set = &mut self.set;
        let grow = |growth| Ok(set.grow(now + growth)?);
        match allocate_some((wanted - now, least.saturating_sub(now)), grow) {
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                let is_freed = records.iter().any(Record::frees_space);
                match is_freed && self.set.end_offset() >= end_offset {
                    true => Ok(()),
                    false => Err(error),
                }
            }
            grown => grown,
        }
    }

    /// Makes the manifest one of the newest version, which older programs refuse by name. One store
    /// changes version and checksum, so a crash leaves either version.
    fn upgrade(&mut self) -> Result<()> {
        let start = self.set.data_offset();
        let header = self.set.read(start, HEADER_BYTES)?;
        let Some(word) = newest_version_word(header) else {
            return Err(Error::Internal { reason: "a manifest has no header".into() });
        };
        // PERSIST: nothing is reached through this word; records of the new kinds come after it.
        self.set.publish_u64(start + VERSION_OFFSET, word)?;
        self.version = VERSION;
        Ok(())
    }

    /// Compares all members byte by byte and returns what is wrong; the pool set repairs what it
    /// can, [`Manifest::repair`] rebuilds the members that are left out.
    pub(crate) fn scrub(&mut self) -> Vec<String> {
        members::scrub(&mut self.set)
    }

    /// Notes which members do not follow any more.
    #[cold]
    fn note_failures(&mut self) {
        for note in members::left_behind(&self.set, SET_NAME) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}
