//! Scrubbing: reads all members piece by piece and repairs what only a minority has otherwise.
//!
//! 0. What readers found damaged in one member and whole in another is repaired.
//! 1. A file that is shorter than its header says, a lost page, or a header that does not agree
//!    with its checksum takes the member out: it is damaged and can be rebuilt.
//! 2. What a file has no data of was never written or punched out. Where the others have bytes that
//!    are not zero it is a lost range.
//! 3. The bytes of the good members are compared. With three or more the majority is right and the
//!    minority is repaired. With two, or a tie, a hole is wrong; else nobody knows: an error.

use std::os::unix::fs::FileExt;

use crate::error::{Error, ErrorKind, Result};
use crate::set::header::{self, DATA_OFFSET, SLOT_BYTES};
use crate::set::member::Member;
use crate::set::open::COMPARE_BYTES;
use crate::set::pool_set::PoolSet;
use crate::set::survey;
use crate::space::FileRange;

/// What a step of scrubbing found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Everything before this offset has been looked at since the first step.
    pub done_bytes: u64,
    /// Bytes of a member in all.
    pub total_bytes: u64,
    /// Whether the next step begins anew.
    pub is_done: bool,
    /// Numbers of members that were found damaged, and can be rebuilt.
    pub damaged: Vec<u32>,
    /// Ranges that were repaired: number of the member, offset, bytes.
    pub repaired: Vec<(u32, u64, u64)>,
}

impl PoolSet {
    /// Looks at the next `max_bytes` bytes of all good members.
    ///
    /// # Errors
    /// `Corrupt` naming range and members if two versions of a range are equally likely: nothing
    /// is changed, and the next step goes on behind it; [`PoolSet::distrust`] decides. `ReadOnly`;
    /// `NoReplica` if no good member is left.
    pub fn scrub_step(&mut self, max_bytes: u64) -> Result<ScrubReport> {
        self.check_writable()?;
        self.drain()?;
        self.choose_serving()?;
        let mut report = ScrubReport { total_bytes: self.end_offset, ..ScrubReport::default() };
        let damaged = self.repair_damaged()?;
        report
            .repaired
            .extend(damaged.iter().map(|found| (found.index, found.offset, found.bytes)));
        let failed: Vec<(usize, Error)> = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.is_good())
            .filter_map(|(position, member)| Some((position, check_member(member).err()?)))
            .collect();
        report.damaged = failed.iter().map(|&(position, _)| self.members[position].index).collect();
        self.drop_failed(failed)?;
        self.mend_headers(&mut report)?;
        let from = self.scrubbed_to.max(DATA_OFFSET);
        let to = from.saturating_add(max_bytes.max(1)).min(self.end_offset);
        let holes = find_holes(&self.members);
        let mut offset = from;
        while offset < to {
            let bytes = (COMPARE_BYTES - offset % COMPARE_BYTES).min(to - offset);
            self.scrubbed_to = offset + bytes;
            self.compare(offset, bytes, &holes, &mut report)?;
            offset += bytes;
        }
        report.done_bytes = to;
        report.is_done = to == self.end_offset;
        if report.is_done {
            self.scrubbed_to = 0;
        }
        self.drain()?;
        Ok(report)
    }

    /// Writes the headers again if a slot of a good member holds none: the other one still counts.
    fn mend_headers(&mut self, report: &mut ScrubReport) -> Result<()> {
        let mut damaged = Vec::new();
        let is_readable = |member: &&Member| member.is_good() && member.lock.is_some();
        for member in self.members.iter().filter(is_readable) {
            let slots = header::damaged_slots(&read_slots(member)?);
            damaged.extend(slots.iter().map(|slot| (member.index, *slot)));
        }
        let bytes = SLOT_BYTES as u64;
        let ranges = damaged.iter().map(|&(index, slot)| (index, slot as u64 * bytes, bytes));
        report.repaired.extend(ranges);
        match (damaged.is_empty(), self.is_raised) {
            (true, _) => Ok(()),
            (false, true) => self.settle_headers(),
            (false, false) => self.raise_epoch(),
        }
    }

    fn compare(
        &mut self,
        offset: u64,
        bytes: u64,
        holes: &Holes,
        report: &mut ScrubReport,
    ) -> Result<()> {
        let good: Vec<usize> =
            (0..self.members.len()).filter(|&position| self.members[position].is_good()).collect();
        let mut versions: Vec<(&[u8], Vec<usize>)> = Vec::new();
        for &position in &good {
            let found = self.members[position].mapped()?.read(offset, bytes)?;
            match versions.iter_mut().find(|(version, _)| *version == found) {
                Some((_, holders)) => holders.push(position),
                None => versions.push((found, vec![position])),
            }
        }
        if versions.len() < 2 {
            return Ok(());
        }
        let covers = |&(from, to): &FileRange| from <= offset && offset + bytes <= to;
        let is_hole = |version: &(&[u8], Vec<usize>)| {
            version.0.iter().all(|&byte| byte == 0)
                && version.1.iter().all(|&holder| holes[holder].iter().any(covers))
        };
        let mut candidates: Vec<&(&[u8], Vec<usize>)> =
            versions.iter().filter(|version| !is_hole(version)).collect();
        candidates.sort_by_key(|(_, holders)| std::cmp::Reverse(holders.len()));
        let right = match candidates[..] {
            [only] => only,
            [first, second, ..] if first.1.len() > second.1.len() => first,
            _ => return Err(self.undecided(offset, bytes, &versions)),
        };
        let (truth, holders) = (right.0.to_vec(), right.1.clone());
        for position in good.into_iter().filter(|position| !holders.contains(position)) {
            let member = &mut self.members[position];
            report.repaired.push((member.index, offset, bytes));
            let pool = member.mapped_mut()?;
            pool.write(offset, &truth)?;
            pool.flush(offset, bytes)?;
        }
        Ok(())
    }

    fn undecided(&self, offset: u64, bytes: u64, versions: &[(&[u8], Vec<usize>)]) -> Error {
        let objects: Vec<String> = versions
            .iter()
            .flat_map(|(_, holders)| holders)
            .map(|&holder| self.members[holder].object())
            .collect();
        Error::new(
            ErrorKind::Corrupt,
            self.object(),
            format!("{bytes} bytes at offset {offset} differ between {}", objects.join(" and ")),
            "distrust the one whose content is wrong, then rebuild it",
        )
    }
}

/// Checks header, size and lost pages of a member.
fn check_member(member: &Member) -> Result<()> {
    if member.lock.is_none() || member.pool.is_none() {
        return Ok(());
    }
    let object = member.object();
    member.check_file()?;
    match header::decode(&read_slots(member)?) {
        Ok((header, _)) if header.member == member.uuid => Ok(()),
        Ok((header, _)) => Err(Error::new(
            ErrorKind::Corrupt,
            object,
            format!("its header is that of member {}, not {}", header.member, member.uuid),
            "rebuild it from another replica",
        )),
        Err(found) => Err(found.error(&object)),
    }
}

/// Returns the bytes of both headers of a member, read from its file.
fn read_slots(member: &Member) -> Result<Vec<u8>> {
    let mut slots = vec![0; 2 * SLOT_BYTES];
    if let Some(lock) = &member.lock {
        let read = lock.file().read_exact_at(&mut slots, 0);
        read.map_err(|error| Error::os(member.object(), "cannot read its header", error))?;
    }
    Ok(slots)
}

/// The holes of each member, in the order of the members.
type Holes = Vec<Vec<FileRange>>;

/// Returns the holes of all good members. Reading a hole through a mapping can fill it, so they
/// are looked for first.
fn find_holes(members: &[Member]) -> Holes {
    let holes_of = |member: &Member| match &member.lock {
        Some(lock) if member.is_good() => survey::holes(lock.file()),
        _ => Vec::new(),
    };
    members.iter().map(holes_of).collect()
}
