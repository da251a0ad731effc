//! Replay: the records of a segment, one group after the other.
//!
//! A group is copied out of a member and checked in the copy, so that a page that is lost meanwhile
//! is noticed, and the group is taken from another member. Memory is that of the largest group,
//! twice if it is compressed.

use nacre_pmem::MemberCondition;

use super::group::{GROUP_HEADER_BYTES, Group, GroupProblem};
use super::record::{RedoProblem, RedoReader, RedoRecord};
use super::segment::{Segment, lost};
use super::survey::rest;
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn};

/// Calls `apply` with every record of a segment.
pub(super) fn replay(
    segment: &Segment,
    apply: &mut dyn FnMut(CommitTs, RedoRecord<'_>) -> Result<()>,
) -> Result<()> {
    let mut scratch = Vec::new();
    visit_groups(segment, segment.first, segment.end, &mut |group, _| {
        let at = |reason: &dyn std::fmt::Display| damaged(segment, group.start.lsn, reason);
        let records = group.records(&mut scratch).map_err(|problem| at(&problem))?;
        let mut reader = RedoReader::new(records);
        let unreadable = |problem: RedoProblem| at(&problem);
        while let Some(record) = reader.next_record().map_err(unreadable)? {
            apply(group.start.commit, record)?;
        }
        Ok(())
    })
}

/// Calls `visit` with each whole group of a segment between two positions, and with its bytes.
pub(super) fn visit_groups(
    segment: &Segment,
    from: Lsn,
    to: Lsn,
    visit: &mut dyn FnMut(&Group<'_>, &[u8]) -> Result<()>,
) -> Result<()> {
    let set = &segment.set;
    let (start, bytes) = (set.data_offset(), set.end_offset() - set.data_offset());
    let mut areas = Vec::new();
    for (index, condition) in set.member_conditions() {
        if condition == MemberCondition::Good {
            areas.push(set.read_member(index, start, bytes)?);
        }
    }
    let (mut copy, mut lsn) = (Vec::new(), from);
    while lsn < to {
        let mut problem = GroupProblem::Nothing;
        let is_copied = areas.iter().any(|area| {
            copy_group(rest(area, segment.first, lsn), &mut copy);
            Group::parse(&copy, lsn).inspect_err(|found| problem = *found).is_ok()
        });
        if !is_copied {
            return Err(damaged(segment, lsn, &problem));
        }
        let group = Group::parse(&copy, lsn).map_err(|problem| damaged(segment, lsn, &problem))?;
        visit(&group, &copy)?;
        lsn = group.end();
    }
    Ok(())
}

fn damaged(segment: &Segment, lsn: Lsn, reason: &dyn std::fmt::Display) -> Error {
    lost(segment.number, format!("group at byte {} of the log: {reason}", lsn.0))
}

/// Copies as many bytes as the group at the front of `bytes` says that it has.
fn copy_group(bytes: &[u8], copy: &mut Vec<u8>) {
    let header = &bytes[..GROUP_HEADER_BYTES.min(bytes.len())];
    let claimed = Group::claimed_bytes(header).min(bytes.len() as u64) as usize;
    copy.clear();
    copy.extend_from_slice(&bytes[..claimed]);
}
