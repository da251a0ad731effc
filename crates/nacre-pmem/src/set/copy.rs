//! Copying between members, which never takes zeros of a lost page for bytes.
//!
//! Reading a lost page gives zeros and a note, and the page that a cut goes through gives zeros
//! without one. So a source is asked before its bytes are stored anywhere, and again at the end of
//! a range; one that lost anything leaves the set, and another good member becomes the source.

use std::os::unix::fs::MetadataExt;

use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::set::member::Member;
use crate::set::open::COMPARE_BYTES;
use crate::set::pool_set::PoolSet;

/// Bytes of which recovery takes all from one member.
const LINE_BYTES: usize = 64;

/// How copying ended, unless the target failed.
enum Copied {
    All,
    /// The source lost bytes; nothing of them was stored.
    SourceLost(Error),
}

impl PoolSet {
    /// Takes the good members out that lost pages, whose file became shorter, or was removed. Two
    /// system calls for each member, so it is not part of an update.
    ///
    /// # Errors
    /// `NoReplica` if no good member is left.
    pub fn drop_lost(&mut self) -> Result<()> {
        let lost = |(position, member): (usize, &Member)| {
            member.is_good().then(|| member.check_file().err()).flatten().map(|e| (position, e))
        };
        let failed = self.members.iter().enumerate().filter_map(lost).collect();
        self.drop_failed(failed)
    }

    /// Copies what differs from good members to the one at `target`, and makes all of it durable
    /// there: its bytes may be those of a process that was killed.
    pub(crate) fn copy_to(&mut self, target: usize, ranges: &[(u64, u64)]) -> Result<()> {
        loop {
            self.drop_lost()?;
            if !self.members[target].is_live() {
                return Err(self.problem_of(target));
            }
            let source = self.serving_position();
            match copy_ranges(&mut self.members, source, target, ranges)? {
                Copied::All => return persist(self.members[target].mapped()?, ranges),
                Copied::SourceLost(error) => self.drop_failed(vec![(source, error)])?,
            }
        }
    }

    /// Makes the bytes of the ranges durable in all live members, whoever stored them; members that
    /// fail are left behind.
    pub(crate) fn persist_ranges(&mut self, ranges: &[(u64, u64)]) -> Result<()> {
        let persist = |member: &Member| persist(member.mapped()?, ranges);
        let live = self.members.iter().enumerate().filter(|(_, member)| member.is_live());
        let failed = live.filter_map(|(position, member)| Some((position, persist(member).err()?)));
        let failed = failed.collect();
        self.drop_failed(failed)
    }

    /// Copies what differs from the member at `source` to that at `target`; whichever fails leaves
    /// the set. Whether the source had all.
    pub(crate) fn copy_from(
        &mut self,
        source: usize,
        target: usize,
        ranges: &[(u64, u64)],
    ) -> Result<bool> {
        let (position, error) = match copy_ranges(&mut self.members, source, target, ranges) {
            Ok(Copied::All) => return Ok(true),
            Ok(Copied::SourceLost(error)) => (source, error),
            Err(error) => (target, error),
        };
        self.drop_failed(vec![(position, error)])?;
        Ok(false)
    }

    /// Copies what differs in the ranges to all good members, durably: from the serving one, or
    /// the member that `source` names.
    pub(crate) fn equalise_from(
        &mut self,
        source: Option<usize>,
        ranges: &[(u64, u64)],
    ) -> Result<()> {
        self.drop_lost()?;
        let mut source = source.unwrap_or_else(|| self.serving_position());
        let mut position = 0;
        let mut failed = Vec::new();
        while position < self.members.len() {
            if position == source || !self.members[position].is_good() {
                position += 1;
                continue;
            }
            match copy_ranges(&mut self.members, source, position, ranges) {
                Ok(Copied::All) => {}
                Ok(Copied::SourceLost(error)) => {
                    self.drop_failed(vec![(source, error)])?;
                    // Any good member will do, if all follow it.
                    source = self.serving_position();
                    position = 0;
                    continue;
                }
                Err(error) => failed.push((position, error)),
            }
            position += 1;
        }
        self.drop_failed(failed)
    }

    /// Makes the good members equal in the ranges: by the majority of each line if there are
    /// three, else by the serving one. What was acknowledged is in all of them but those whose
    /// bytes are damaged; of anything else one version is as good as another.
    pub(crate) fn equalise_by_majority(&mut self, ranges: &[(u64, u64)]) -> Result<()> {
        self.drop_lost()?;
        for &(from, to) in ranges {
            let mut offset = from;
            while offset < to {
                let bytes = (COMPARE_BYTES - offset % COMPARE_BYTES).min(to - offset);
                while let Some(truth) = self.majority(offset, bytes)? {
                    // Zeros of a lost page have no vote.
                    let before = self.copy_count();
                    self.drop_lost()?;
                    if self.copy_count() == before {
                        self.settle_piece(offset, &truth)?;
                        break;
                    }
                }
                offset += bytes;
            }
        }
        self.drain()?;
        self.equalise_from(None, ranges)
    }

    /// Returns what a range should be if good members differ there and there are three.
    fn majority(&self, offset: u64, bytes: u64) -> Result<Option<Vec<u8>>> {
        let good = self.good_members();
        let versions = good
            .iter()
            .map(|&index| self.read_member(index, offset, bytes))
            .collect::<Result<Vec<&[u8]>>>()?;
        if versions.len() < 3 || versions.iter().all(|version| *version == versions[0]) {
            return Ok(None);
        }
        let mut truth = versions[0].to_vec();
        for (number, line) in truth.chunks_mut(LINE_BYTES).enumerate() {
            let start = number * LINE_BYTES;
            let found = |version: &usize| &versions[*version][start..start + line.len()];
            let votes =
                |version: &usize| (0..good.len()).filter(|o| found(o) == found(version)).count();
            // The serving member is the first, and counts if there is no majority.
            let best = (0..good.len()).rev().max_by_key(votes).unwrap_or(0);
            line.copy_from_slice(&versions[best][start..start + line.len()]);
        }
        Ok(Some(truth))
    }

    fn settle_piece(&mut self, offset: u64, truth: &[u8]) -> Result<()> {
        let bytes = truth.len() as u64;
        for member in self.members.iter_mut().filter(|member| member.is_good()) {
            let pool = member.mapped_mut()?;
            if pool.read(offset, bytes)? != truth {
                pool.write(offset, truth)?;
                pool.flush(offset, bytes)?;
            }
        }
        Ok(())
    }
}

impl Member {
    /// Whether the mapping is whole and its file still there and long enough.
    pub(crate) fn check_file(&self) -> Result<()> {
        self.mapped()?.check_file()?;
        // Memory files have no name to lose.
        let has_name = self.domain.as_ref().is_some_and(|domain| domain.path().is_some());
        if has_name
            && let Some(lock) = &self.lock
            && lock.file().metadata().is_ok_and(|metadata| metadata.nlink() == 0)
        {
            return Err(Error::new(
                ErrorKind::Lost,
                self.object(),
                "its file was removed",
                "rebuild it from another replica",
            ));
        }
        Ok(())
    }
}

/// Makes ranges durable.
fn persist(pool: &Pool, ranges: &[(u64, u64)]) -> Result<()> {
    for &(from, to) in ranges {
        pool.flush(from, to - from)?;
    }
    // PERSIST: all of them are durable, also what an earlier process stored and did not flush.
    pool.drain()
}

/// Copies what differs from one member to another, durably.
fn copy_ranges(
    members: &mut [Member],
    from_position: usize,
    to_position: usize,
    ranges: &[(u64, u64)],
) -> Result<Copied> {
    let [source, target] = members
        .get_disjoint_mut([from_position, to_position])
        .map_err(|_| Error::new(ErrorKind::NoReplica, "pool set", "no two members", ""))?;
    let mut piece = [0; COMPARE_BYTES as usize];
    for &(from, to) in ranges {
        let mut offset = from;
        while offset < to {
            let bytes = (COMPARE_BYTES - offset % COMPARE_BYTES).min(to - offset);
            let piece = &mut piece[..bytes as usize];
            piece.copy_from_slice(source.mapped()?.read(offset, bytes)?);
            if target.mapped()?.read(offset, bytes)? != piece {
                if let Err(error) = source.check_file() {
                    return Ok(Copied::SourceLost(error));
                }
                let pool = target.mapped_mut()?;
                pool.write(offset, piece)?;
                pool.flush(offset, bytes)?;
            }
            offset += bytes;
        }
    }
    // What was equal may have been zeros in both.
    if let Err(error) = source.check_file() {
        return Ok(Copied::SourceLost(error));
    }
    target.mapped()?.drain()?;
    Ok(Copied::All)
}
