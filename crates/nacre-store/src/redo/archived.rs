//! The log outside of its pool sets: segments as plain files, and pool sets made of them again.
//!
//! An archived segment is its header and then the groups as they lie in the segment. It has no
//! state and is appended to: groups prove themselves, so a cut or torn end is where it ends, and
//! the next segment says where it should have.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Archived segment".

use std::ops::ControlFlow;

use nacre_pmem::Domain;

use super::group::Group;
use super::replay::visit_groups;
use super::segment::{
    BadHeader, SEGMENT_HEADER_BYTES, STATE_OFFSET, Segment, State, check_header, segment_header,
};
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn};
use crate::manifest::DatabaseId;

/// Bytes of groups that are copied at a time: commits wait for as long as that takes.
const PIECE_BYTES: usize = 1 << 20;

/// Whole groups of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// That of the segment.
    pub(crate) number: u64,
    /// Position of the first group of the segment.
    pub(crate) first: Lsn,
    /// Position of the first of these groups.
    pub(crate) start: Lsn,
    pub(crate) groups: &'a [u8],
}

/// Hands on some groups from `from` on; returns the position behind them.
pub(super) fn copy_piece(
    segment: &Segment,
    from: Lsn,
    to: Lsn,
    put: &mut dyn FnMut(Piece<'_>) -> Result<()>,
) -> Result<Lsn> {
    let (number, first) = (segment.number, segment.first);
    let (mut groups, mut at) = (Vec::new(), from);
    // It ends with the group that fills the piece.
    let to = to.min(Lsn(from.0 + PIECE_BYTES as u64));
    let _ = visit_groups(segment, from, to, &mut |group, bytes| {
        groups.extend_from_slice(bytes);
        at = group.end();
        Ok(ControlFlow::Continue(()))
    })?;
    if at == from {
        let reason = format!("byte {} of the redo log is not in segment {number}", from.0);
        return Err(Error::Internal { reason });
    }
    put(Piece { number, first, start: from, groups: &groups })?;
    Ok(at)
}

/// Returns what an archived segment begins with.
pub(crate) fn archived_header(database: DatabaseId, number: u64, first: Lsn) -> Vec<u8> {
    segment_header(database, number, first)
}

/// Where a group of an archived segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArchivedGroup {
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    pub(crate) commit: CommitTs,
    pub(crate) time: u64,
}

/// An archived segment that was read.
#[derive(Debug)]
pub(crate) struct Archived {
    pub(crate) first: Lsn,
    /// Position behind the last whole group.
    pub(crate) end: Lsn,
    bytes: Vec<u8>,
}

impl Archived {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// The header is not that of segment `number` of the database.
    pub(crate) fn read(
        bytes: Vec<u8>,
        database: DatabaseId,
        number: u64,
    ) -> std::result::Result<Self, String> {
        let first = check_header(&bytes, database, number).map_err(|bad| match bad {
            BadHeader::Damaged(reason) => reason,
            BadHeader::Version(version) => format!("its layout version is {version}"),
        })?;
        let mut archived = Self { first, end: first, bytes };
        let end = archived.groups().last().map_or(first, |group| group.end);
        archived.end = end;
        Ok(archived)
    }

    /// Returns the groups from the first on, as long as they are whole.
    pub(crate) fn groups(&self) -> impl Iterator<Item = ArchivedGroup> + '_ {
        let mut lsn = self.first;
        std::iter::from_fn(move || {
            let group = Group::parse(self.from(lsn), lsn).ok()?;
            let start = lsn;
            lsn = group.end();
            let (commit, time) = (group.start.commit, group.start.time);
            Some(ArchivedGroup { start, end: lsn, commit, time })
        })
    }

    /// Returns the bytes of the groups from a position on, of the file's end too.
    fn from(&self, lsn: Lsn) -> &[u8] {
        self.bytes.get(Self::file_offset(self.first, lsn) as usize..).unwrap_or_default()
    }

    /// Returns the bytes between two positions.
    pub(crate) fn between(&self, start: Lsn, end: Lsn) -> &[u8] {
        self.from(start).get(..(end.0.saturating_sub(start.0)) as usize).unwrap_or_default()
    }

    /// Returns where a position lies in the file.
    pub(crate) fn file_offset(first: Lsn, lsn: Lsn) -> u64 {
        STATE_OFFSET + (lsn.0 - first.0)
    }
}

/// Makes segment `number` of a log in `domain` of an archived one, up to `end`; it is the last one
/// if `is_last` says so.
///
/// # Errors
/// No space, I/O.
pub(crate) fn write_segment(
    domain: &Domain,
    database: DatabaseId,
    number: u64,
    archived: &Archived,
    end: Lsn,
    is_last: bool,
) -> Result<()> {
    let groups = archived.between(archived.first, end);
    let bytes = groups.len() as u64 + SEGMENT_HEADER_BYTES;
    let domains = std::slice::from_ref(domain);
    let mut notes = Vec::new();
    let mut segment =
        Segment::create(number, archived.first, database, domains, bytes, &mut notes)?;
    // Whole lines of the cache: where a piece ends does not matter, nobody reads before the state.
    for piece in groups.chunks(PIECE_BYTES) {
        segment.append(piece)?;
    }
    segment.publish(if is_last { State::Closed(end) } else { State::Sealed(end) })?;
    Ok(segment.set.close()?)
}
