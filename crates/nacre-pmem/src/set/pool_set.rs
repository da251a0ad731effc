//! A pool set that is open: one writer, any number of readers between its calls.

use crate::domain::{Access, Domain};
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::undo::{self, Log};

/// Where the data area of every member begins; what lies before belongs to this crate.
pub const DATA_OFFSET: u64 = 64 << 10;

/// How a pool set is created.
#[derive(Clone, Debug)]
pub struct PoolSetOptions {
    /// Bytes of the data area.
    pub data_bytes: u64,
    /// Bytes of the undo log, in front of the data area; bounds a transaction.
    pub undo_bytes: u64,
}

impl PoolSetOptions {
    /// Options for a data area of `data_bytes` bytes and an undo log of a sixteenth of that, 64 KiB
    /// at least and 4 MiB at most.
    pub fn new(data_bytes: u64) -> PoolSetOptions {
        PoolSetOptions { data_bytes, undo_bytes: (data_bytes / 16).clamp(64 << 10, 4 << 20) }
    }
}

/// A master pool and its replicas.
#[derive(Debug)]
pub struct PoolSet {
    members: Vec<Pool>,
    undo_bytes: u64,
    /// Volatile state of the undo log.
    pub(crate) undo: Log,
}

impl PoolSet {
    /// Creates a pool set with one member in each of `domains`; the first is the master.
    ///
    /// # Errors
    /// As for [`Domain::create_pool`]; no file stays.
    pub fn create(name: &str, domains: &[Domain], options: &PoolSetOptions) -> Result<PoolSet> {
        let bytes = DATA_OFFSET + options.undo_bytes + options.data_bytes;
        let mut members = Vec::new();
        for (index, domain) in domains.iter().enumerate() {
            members.push(domain.create_pool(&format!("{name}.{index}"), bytes)?);
        }
        Ok(PoolSet { members, undo_bytes: options.undo_bytes, undo: Log::default() })
    }

    /// Opens a pool set whose members lie in `domains`, in any order.
    ///
    /// # Errors
    /// As for [`Domain::open_pool`].
    pub fn open(name: &str, domains: &[Domain], access: Access) -> Result<PoolSet> {
        let mut members = Vec::new();
        for (index, domain) in domains.iter().enumerate() {
            members.push(domain.open_pool(&format!("{name}.{index}"), access)?);
        }
        let mut set = PoolSet { members, undo_bytes: 64 << 10, undo: Log::default() };
        undo::recover(&mut set)?;
        Ok(set)
    }

    /// Returns the offset of the first byte of the data area.
    pub fn data_offset(&self) -> u64 {
        DATA_OFFSET + self.undo_bytes
    }

    /// Returns the offset behind the last byte of the data area.
    pub fn end_offset(&self) -> u64 {
        self.members[0].bytes()
    }

    /// Whether the set was opened for writing.
    pub fn is_writable(&self) -> bool {
        self.members[0].is_writable()
    }

    /// Returns how many members' undo logs recovery may read.
    pub(crate) fn log_count(&self) -> usize {
        self.members.len()
    }

    /// Returns a range of one member's undo log.
    pub(crate) fn read_log(&self, member: usize, offset: u64, bytes: u64) -> Result<&[u8]> {
        self.members[member].read(offset, bytes)
    }

    /// Returns a range as the serving member has it.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn read(&self, offset: u64, bytes: u64) -> Result<&[u8]> {
        self.members[0].read(offset, bytes)
    }

    /// Loads an aligned word.
    ///
    /// # Errors
    /// `OutOfRange`, `NotAligned`.
    pub fn load_u64(&self, offset: u64) -> Result<u64> {
        self.members[0].load_u64(offset)
    }

    /// Stores `source` in every member and starts its write-back. Durable after
    /// [`PoolSet::drain`].
    ///
    /// # Errors
    /// `OutOfRange`, `ReadOnly`; nothing is written.
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        if offset < self.data_offset() {
            return Err(Error::new(ErrorKind::OutOfRange, "pool set", "header", ""));
        }
        if self.undo.is_unsettled() {
            undo::settle(self)?;
        }
        self.store(offset, source)
    }

    /// Stores without settling, also in the undo log: only for `undo`, which checked the range.
    pub(crate) fn store(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        for member in &mut self.members {
            member.write(offset, source)?;
            member.flush(offset, source.len() as u64)?;
        }
        Ok(())
    }

    /// Waits until everything written is durable in every healthy member.
    ///
    /// # Errors
    /// `NoReplica` if no healthy member is left, `Io`.
    pub fn drain(&mut self) -> Result<()> {
        self.members.iter().try_for_each(Pool::drain)
    }

    /// Stores `source` in every member and returns when it is durable in all.
    ///
    /// # Errors
    /// As for [`PoolSet::write`] and [`PoolSet::drain`].
    pub fn update(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.write(offset, source)?;
        self.drain()
    }

    /// Stores the aligned word in every member by one 8-byte store each, after all that was written
    /// before is durable, and returns when it is durable in all.
    ///
    /// # Errors
    /// As for [`PoolSet::update`], `NotAligned`.
    pub fn publish_u64(&mut self, offset: u64, value: u64) -> Result<()> {
        if self.undo.is_unsettled() {
            undo::settle(self)?;
        }
        self.drain()?;
        for member in &mut self.members {
            member.publish_u64(offset, value)?;
        }
        Ok(())
    }
}
