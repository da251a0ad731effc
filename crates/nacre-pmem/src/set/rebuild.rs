//! Rebuilding of stale, damaged and missing members in steps, while the others serve.
//!
//! 1. The member gets a file of the right size, and a header of this epoch whose table calls it
//!    rebuilding; from now on it gets every store.
//! 2. Each step copies the next bytes that differ from the serving member.
//! 3. At the end its bytes and its intent map are durable, and the table calls it good.
//!
//! A crash at any point leaves a member that the table does not call good: it is begun again.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::domain::{Access, Domain};
use crate::error::{Error, ErrorKind, Result};
use crate::set::header::{DATA_OFFSET, INTENT_BYTES, INTENT_OFFSET};
use crate::set::member::{Member, MemberCondition};
use crate::set::pool_set::PoolSet;

/// How far rebuilding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildProgress {
    /// Number of the member that the step worked on.
    pub index: Option<u32>,
    /// Bytes of it that are as in the serving member.
    pub done_bytes: u64,
    /// Bytes of it in all.
    pub total_bytes: u64,
    /// Whether nothing is left that can be rebuilt.
    pub is_done: bool,
}

impl PoolSet {
    /// Rebuilds at most `max_bytes` bytes of the first member that needs it. Call it until it is
    /// done; stores and reads may come between. A missing member is rebuilt where one of the given
    /// domains has no member, else it stays missing: see [`PoolSet::move_replica`].
    ///
    /// # Errors
    /// `ReadOnly`; `NoReplica` if there is nothing to copy from; `NoSpace` and as for
    /// [`Domain::create_pool`] if the member cannot be made: it stays as it is, and the set works.
    pub fn rebuild_step(&mut self, max_bytes: u64) -> Result<RebuildProgress> {
        self.check_writable()?;
        if self.members.iter().all(|member| !self.can_rebuild(member)) {
            return Ok(self.progress(None));
        }
        self.choose_serving()?;
        let position = match self.next_to_rebuild() {
            Some(position) => position,
            None => return Ok(self.progress(None)),
        };
        let done = self.rebuild_position(position, max_bytes)?;
        Ok(self.progress(Some(done)))
    }

    /// Rebuilds the member with the number `index` to its end; one that is missing is made in
    /// `domain`. A good one stays as it is.
    ///
    /// # Errors
    /// As for [`PoolSet::rebuild_step`]; `NoReplica` if there is no such member.
    pub fn rebuild_in(&mut self, index: u32, domain: &Domain) -> Result<()> {
        self.check_writable()?;
        self.choose_serving()?;
        let position = self.position(index)?;
        if self.members[position].condition == MemberCondition::Missing {
            self.members[position].domain = Some(domain.clone());
        }
        if !self.members[position].is_good() {
            self.rebuild_position(position, u64::MAX)?;
        }
        Ok(())
    }

    /// Rebuilds at most `max_bytes` bytes of a member; returns its number and how far it is.
    fn rebuild_position(&mut self, position: usize, max_bytes: u64) -> Result<(u32, u64)> {
        self.drop_lost()?;
        if self.members[position].condition != MemberCondition::Rebuilding {
            self.begin_rebuild(position)?;
        }
        let member = &self.members[position];
        let (from, index) = (member.rebuilt_to.max(DATA_OFFSET), member.index);
        let to = from.saturating_add(max_bytes.max(1)).min(self.end_offset);
        if let Err(error) = self.copy_to(position, &[(from, to)]) {
            self.drop_failed(vec![(position, Error::again(&error))])?;
            return Err(error);
        }
        self.members[position].rebuilt_to = to;
        if to == self.end_offset {
            self.finish_rebuild(position)?;
        }
        Ok((index, to))
    }

    fn next_to_rebuild(&self) -> Option<usize> {
        let begun = |member: &Member| member.condition == MemberCondition::Rebuilding;
        let position = self.members.iter().position(begun);
        position.or_else(|| self.members.iter().position(|member| self.can_rebuild(member)))
    }

    /// Whether a member needs to be rebuilt and there is a place for it.
    fn can_rebuild(&self, member: &Member) -> bool {
        !member.is_good() && member.domain.is_some()
    }

    fn progress(&self, worked_on: Option<(u32, u64)>) -> RebuildProgress {
        RebuildProgress {
            index: worked_on.map(|(index, _)| index),
            done_bytes: worked_on.map_or(self.end_offset, |(_, bytes)| bytes),
            total_bytes: self.end_offset,
            is_done: self.members.iter().all(|member| !self.can_rebuild(member)),
        }
    }

    /// Makes a member live.
    fn begin_rebuild(&mut self, position: usize) -> Result<()> {
        if !self.is_raised {
            // The others must have left it behind before it can follow them.
            self.raise_epoch()?;
        }
        let Some(domain) = self.members[position].domain.clone() else {
            return Err(self.no_replica("it has no domain to be rebuilt in"));
        };
        match self.members[position].condition {
            MemberCondition::Stale => self.reopen_stale(position, &domain)?,
            _ => self.recreate(position, &domain)?,
        }
        let member = &mut self.members[position];
        member.condition = MemberCondition::Rebuilding;
        member.rebuilt_to = 0;
        member.problem = None;
        self.settle_headers()?;
        match self.members[position].condition {
            MemberCondition::Rebuilding => Ok(()),
            _ => Err(self.problem_of(position)),
        }
    }

    /// Maps the file of a stale member and gives it the size of the others.
    fn reopen_stale(&mut self, position: usize, domain: &Domain) -> Result<()> {
        let end_offset = self.end_offset;
        let member = &mut self.members[position];
        let file = domain.open_file(&member.file_name, Access::ReadWrite)?;
        let mut pool = domain.map_file(&member.file_name, file, Access::ReadWrite)?;
        pool.grow(end_offset)?;
        member.pool = Some(pool);
        Ok(())
    }

    /// Replaces the file of a damaged or missing member by a new one.
    fn recreate(&mut self, position: usize, domain: &Domain) -> Result<()> {
        let (index, node) = {
            let member = &mut self.members[position];
            // The mapping goes first: it may lie on what is lost.
            member.pool = None;
            (member.index, member.placement.wanted)
        };
        let file_name = self.members[position].file_name.clone();
        match domain.remove_pool(&file_name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let made = self.create_member(domain, index, node)?;
        let replaces = self.members[position].replaces;
        self.members[position] = Member { replaces, condition: MemberCondition::Damaged, ..made };
        Ok(())
    }

    /// Makes a member good whose bytes are those of the serving one.
    fn finish_rebuild(&mut self, position: usize) -> Result<()> {
        let map = self.intents.bytes();
        let written = self.members[position].mapped_mut().and_then(|pool| {
            pool.write(INTENT_OFFSET, &map)?;
            // PERSIST: every byte of the member and its intent map are durable before the table
            // calls it good.
            pool.persist(INTENT_OFFSET, INTENT_BYTES)
        });
        if let Err(error) = written {
            self.drop_failed(vec![(position, Error::again(&error))])?;
            return Err(error);
        }
        let epoch = self.identity.epoch;
        let member = &mut self.members[position];
        member.condition = MemberCondition::Good;
        member.good_epoch = epoch;
        self.settle_headers()?;
        if !self.members[position].is_good() {
            return Err(self.problem_of(position));
        }
        match self.members[position].replaces.take() {
            Some(old) => self.remove_replaced(old),
            None => Ok(()),
        }
    }

    pub(crate) fn problem_of(&self, position: usize) -> Error {
        let member = &self.members[position];
        match &member.problem {
            Some((kind, problem)) => Error::new(*kind, member.object(), problem.as_str(), ""),
            None => self.no_replica("a member failed"),
        }
    }
}

/// Rebuilds every member that can be on a thread of its own, which holds the lock for a step of
/// `step_bytes` bytes only.
///
/// # Errors
/// The thread's result is that of [`PoolSet::rebuild_step`]; `OutOfMemory` if there is no thread.
pub fn spawn_rebuild(set: Arc<Mutex<PoolSet>>, step_bytes: u64) -> Result<JoinHandle<Result<()>>> {
    let run = move || {
        loop {
            let step = {
                let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
                set.rebuild_step(step_bytes)
            };
            if step?.is_done {
                return Ok(());
            }
            // A mutex may be taken again by who just let it go; this lets the others have it.
            std::thread::yield_now();
        }
    };
    std::thread::Builder::new()
        .name("nacre-rebuild".to_string())
        .spawn(run)
        .map_err(|error| Error::os("pool set", "cannot start a thread to rebuild it", error))
}
