//! A member of an open pool set: its file, its mapping, and what is known about it.

use std::path::PathBuf;

use crate::domain::Domain;
use crate::error::{Error, ErrorKind, Result};
use crate::granularity::DomainKind;
use crate::lock::FileLock;
use crate::pool::Pool;
use crate::set::header::{Header, Row, SLOT_BYTES, Standing, Uuid};
use crate::set::placement::{self, Placement};

/// How far the bytes of a member can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberCondition {
    /// Holds everything that was acknowledged; can serve reads.
    Good,
    /// Gets every store, and the bytes from before it began piece by piece.
    Rebuilding,
    /// Holds an older state: rebuild it.
    Stale,
    /// Truncated, failing, or with a damaged header: rebuild it.
    Damaged,
    /// No file of its name is in the domains that were given.
    Missing,
}

/// What is known about a member, for reports.
#[derive(Clone, Debug)]
pub struct MemberState {
    /// The number in the file's name.
    pub index: u32,
    /// Name of the domain, if the member was found or can be rebuilt in one.
    pub domain: Option<String>,
    /// Kind of the domain.
    pub kind: Option<DomainKind>,
    /// Path of the file, unless it is missing or in DRAM.
    pub path: Option<PathBuf>,
    /// How far its bytes can be trusted.
    pub condition: MemberCondition,
    /// Whether reads are served from it.
    pub is_serving: bool,
    /// Which NUMA node it was to lie on, and which it does.
    pub placement: Placement,
    /// Bytes of the mapping's pages: 2 MiB if any page of it is large.
    pub page_bytes: u64,
    /// What is wrong with it.
    pub problem: Option<String>,
}

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) uuid: Uuid,
    pub(crate) index: u32,
    pub(crate) good_epoch: u64,
    pub(crate) domain: Option<Domain>,
    pub(crate) file_name: String,
    /// Held as long as the member belongs to the open set.
    pub(crate) lock: Option<FileLock>,
    pub(crate) pool: Option<Pool>,
    pub(crate) condition: MemberCondition,
    /// What is wrong with it.
    pub(crate) problem: Option<(ErrorKind, String)>,
    /// Slot of the current header.
    pub(crate) slot: usize,
    /// While rebuilding: everything before this offset is as in the serving member.
    pub(crate) rebuilt_to: u64,
    /// Index of the member that this one replaces once it is good.
    pub(crate) replaces: Option<u32>,
    pub(crate) placement: Placement,
}

impl Member {
    /// Whether it gets stores.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.condition, MemberCondition::Good | MemberCondition::Rebuilding)
    }

    /// Whether it can serve.
    pub(crate) fn is_good(&self) -> bool {
        self.condition == MemberCondition::Good
    }

    /// Returns its row in the member table.
    pub(crate) fn row(&self) -> Row {
        Row {
            uuid: self.uuid,
            good_epoch: self.good_epoch,
            index: self.index,
            standing: match self.condition {
                MemberCondition::Good => Standing::Good,
                MemberCondition::Rebuilding => Standing::Rebuilding,
                _ => Standing::Stale,
            },
            replaces: self.replaces,
            node: self.placement.wanted,
        }
    }

    /// Returns how messages name it.
    pub(crate) fn object(&self) -> String {
        match &self.domain {
            Some(domain) => domain.object(&self.file_name),
            None => format!("pool {}", self.file_name),
        }
    }

    /// Returns the mapping of a live member.
    pub(crate) fn mapped(&self) -> Result<&Pool> {
        self.pool.as_ref().ok_or_else(|| self.unmapped())
    }

    /// Returns the mapping of a live member for writing.
    pub(crate) fn mapped_mut(&mut self) -> Result<&mut Pool> {
        match self.pool {
            Some(ref mut pool) => Ok(pool),
            None => Err(Error::new(ErrorKind::NoReplica, &self.file_name, "it is not mapped", "")),
        }
    }

    fn unmapped(&self) -> Error {
        Error::new(ErrorKind::NoReplica, self.object(), "it is not mapped", "rebuild it")
    }

    /// Writes `header` into the other slot, durably.
    pub(crate) fn write_header(&mut self, header: &Header) -> Result<()> {
        let header = Header { member: self.uuid, index: self.index, ..header.clone() };
        let slot = 1 - self.slot;
        let offset = (slot * SLOT_BYTES) as u64;
        let pool = self.mapped_mut()?;
        pool.write(offset, &header.encode())?;
        // PERSIST: the new header is durable, and counts from here on; a crash before leaves the
        // other slot.
        pool.persist(offset, SLOT_BYTES as u64)?;
        self.slot = slot;
        Ok(())
    }

    /// Notes that it failed; the caller raises the epoch of the others.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.condition = MemberCondition::Damaged;
        self.problem = Some((error.kind(), error.to_string()));
    }

    /// Returns the NUMA node of its memory, if it is known.
    fn node(&self) -> Option<u32> {
        let header = self.pool.as_ref().and_then(|pool| placement::node_of(pool.base()));
        header.or(self.placement.actual)
    }

    /// Returns what is known about it.
    pub(crate) fn state(&self, is_serving: bool) -> MemberState {
        let path = self.domain.as_ref().and_then(Domain::path);
        let is_there = self.condition != MemberCondition::Missing;
        let large = self.pool.as_ref().map_or(0, Pool::large_page_bytes);
        MemberState {
            index: self.index,
            domain: self.domain.as_ref().map(|domain| domain.name().to_string()),
            kind: self.domain.as_ref().map(Domain::kind),
            path: path.filter(|_| is_there).map(|path| path.join(&self.file_name)),
            condition: self.condition,
            is_serving,
            placement: Placement { actual: self.node(), ..self.placement },
            page_bytes: if large > 0 { 2 << 20 } else { rustix::param::page_size() as u64 },
            problem: self.problem.as_ref().map(|(_, text)| text.clone()),
        }
    }
}
