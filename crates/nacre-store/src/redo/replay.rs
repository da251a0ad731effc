//! Replay: the records of a segment, one group after the other.
//!
//! A group is copied out of a member and checked in the copy, so that a page that is lost meanwhile
//! is noticed, and the group is taken from another member. Memory is that of the largest group,
//! twice if it is compressed.

use std::ops::ControlFlow;

use nacre_pmem::MemberCondition;

use super::group::{GROUP_HEADER_BYTES, Group, GroupProblem};
use super::record::{RedoReader, RedoRecord};
use super::segment::{Segment, lost};
use super::survey::rest;
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn};

/// A group whose records are read.
pub(crate) struct GroupRecords<'a> {
    pub(crate) commit: CommitTs,
    /// Where it begins.
    pub(crate) start: Lsn,
    /// Where it ends.
    pub(crate) end: Lsn,
    segment: u64,
    records: &'a [u8],
    reader: RedoReader<'a>,
    /// Where the record begins that was returned last.
    last: usize,
}

impl GroupRecords<'_> {
    /// Returns the next record.
    ///
    /// # Errors
    /// [`Error::RedoDamaged`].
    pub(crate) fn next_record(&mut self) -> Result<Option<RedoRecord<'_>>> {
        let (segment, start) = (self.segment, self.start);
        self.last = self.read_bytes();
        self.reader.next_record().map_err(|problem| damaged(segment, start, &problem))
    }

    /// Returns the bytes of the record that was returned last.
    pub(crate) fn last_bytes(&self) -> &[u8] {
        &self.records[self.last..self.read_bytes()]
    }

    fn read_bytes(&self) -> usize {
        self.records.len() - self.reader.rest.remaining()
    }
}

/// Calls `visit` with the groups of a segment from a position on, until it breaks off.
pub(super) fn visit_records(
    segment: &Segment,
    from: Lsn,
    visit: &mut dyn FnMut(GroupRecords<'_>) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let (number, mut scratch) = (segment.number, Vec::new());
    visit_groups(segment, from.max(segment.first), segment.end, &mut |group, _| {
        let (commit, start) = (group.start.commit, group.start.lsn);
        let records =
            group.records(&mut scratch).map_err(|problem| damaged(number, start, &problem))?;
        let (reader, end) = (RedoReader::new(records), group.end());
        visit(GroupRecords { commit, start, end, segment: number, records, reader, last: 0 })
    })
}

/// What is done with a group and its bytes, before the next one or instead of it.
type Visit<'v> = &'v mut dyn FnMut(&Group<'_>, &[u8]) -> Result<ControlFlow<()>>;

/// Calls `visit` with each whole group of a segment between two positions, and with its bytes,
/// until it breaks off.
pub(super) fn visit_groups(
    segment: &Segment,
    from: Lsn,
    to: Lsn,
    visit: Visit<'_>,
) -> Result<ControlFlow<()>> {
    let set = &segment.set;
    let (start, bytes) = (set.data_offset(), set.end_offset() - set.data_offset());
    let mut areas = Vec::new();
    for (index, condition) in set.member_conditions() {
        if condition == MemberCondition::Good {
            areas.push(set.read_member(index, start, bytes)?);
        }
    }
    let (number, mut copy, mut lsn) = (segment.number, Vec::new(), from);
    while lsn < to {
        let mut problem = GroupProblem::Nothing;
        let is_copied = areas.iter().any(|area| {
            copy_group(rest(area, segment.first, lsn), &mut copy);
            Group::parse(&copy, lsn).inspect_err(|found| problem = *found).is_ok()
        });
        if !is_copied {
            return Err(damaged(number, lsn, &problem));
        }
        let group = Group::parse(&copy, lsn).map_err(|problem| damaged(number, lsn, &problem))?;
        if visit(&group, &copy)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        lsn = group.end();
    }
    Ok(ControlFlow::Continue(()))
}

fn damaged(segment: u64, lsn: Lsn, reason: &dyn std::fmt::Display) -> Error {
    lost(segment, format!("group at byte {} of the log: {reason}", lsn.0))
}

/// Copies as many bytes as the group at the front of `bytes` says that it has.
fn copy_group(bytes: &[u8], copy: &mut Vec<u8>) {
    let header = &bytes[..GROUP_HEADER_BYTES.min(bytes.len())];
    let claimed = Group::claimed_bytes(header).min(bytes.len() as u64) as usize;
    copy.clear();
    copy.extend_from_slice(&bytes[..claimed]);
}
