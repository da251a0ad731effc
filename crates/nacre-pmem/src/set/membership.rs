//! Members that come, go and move while the set is open.
//!
//! To add is to enter a row that says rebuilding, and to rebuild. To remove is to raise the epoch
//! with a row that does not say good, to tell the member so too, to write headers without the row,
//! and then to remove the file. To move is to add with a note of what is replaced, which is removed
//! once the new member is good. A crash between leaves the set as before, or with a member to
//! rebuild, or with a file that no table names and that does not call itself good: whoever opens
//! the set for writing next removes that. One that calls itself good stays: it was used alone.

use crate::domain::{Access, Domain};
use crate::error::{Error, ErrorKind, Result};
use crate::set::header::{Phase, ROWS_MAX};
use crate::set::member::{Member, MemberCondition};
use crate::set::open::MEMBERS_MAX;
use crate::set::pool_set::PoolSet;
use crate::set::survey::member_name;

impl PoolSet {
    /// Adds a member in `domain` and returns its number; it gets every store from now on and is
    /// good once [`PoolSet::rebuild_step`] is done.
    ///
    /// # Errors
    /// `Unsupported` beyond 8 members, `ReadOnly`, `NoReplica`, and as for
    /// [`Domain::create_pool`]; the set is as before.
    pub fn add_replica(&mut self, domain: &Domain) -> Result<u32> {
        if self.members.len() >= MEMBERS_MAX {
            return Err(self.too_many());
        }
        self.enter(domain, None)
    }

    /// Moves the member with the number `index` to `domain` and returns its new number. The old
    /// one stays until the new one is good, then it and its file are removed. Works for a missing
    /// member too.
    ///
    /// # Errors
    /// As for [`PoolSet::add_replica`]; `NoReplica` if there is no such member.
    pub fn move_replica(&mut self, index: u32, domain: &Domain) -> Result<u32> {
        self.position(index)?;
        if self.members.iter().any(|member| member.replaces == Some(index)) {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                self.object(),
                format!("member {index} is being moved already"),
                "rebuild the set until that is done",
            ));
        }
        self.enter(domain, Some(index))
    }

    /// Removes the member with the number `index` and its file. If it is the master another good
    /// member becomes it.
    ///
    /// # Errors
    /// `NoReplica` if there is no such member or no other good one, `ReadOnly`; the set is as
    /// before. As for [`Domain::remove_pool`] if the file stays, although the set no longer has it.
    pub fn remove_replica(&mut self, index: u32) -> Result<()> {
        self.check_writable()?;
        // What lost its bytes is no reason to let go of another member.
        self.drop_lost()?;
        let position = self.position(index)?;
        let is_other = |other: &Member| other.index != index && other.is_good();
        if !self.members.iter().any(is_other) {
            return Err(self.no_replica(&format!("member {index} is the last good one")));
        }
        // What moves to replace it is an ordinary new member from now on.
        for member in self.members.iter_mut().filter(|member| member.replaces == Some(index)) {
            member.replaces = None;
        }
        let is_missing = self.members[position].condition == MemberCondition::Missing;
        if !is_missing {
            self.dismiss(position)?;
        }
        let serving = self.members[self.serving_position()].index;
        let removed = self.members.remove(position);
        let serving = self.members.iter().position(|member| member.index == serving);
        self.serve(serving.unwrap_or(usize::MAX));
        self.refresh();
        match self.is_raised {
            true => self.settle_headers()?,
            false => self.raise_epoch()?,
        }
        let Member { domain, file_name, pool, lock, .. } = removed;
        drop(pool);
        let result = match domain {
            Some(domain) if !is_missing => domain.remove_pool(&file_name),
            _ => Ok(()),
        };
        drop(lock);
        result
    }

    /// Makes the others know that a member is not good, and then itself, as far as it can be
    /// written: its file is a leftover then whenever no table names it any more.
    fn dismiss(&mut self, position: usize) -> Result<()> {
        let member = &mut self.members[position];
        member.condition = MemberCondition::Stale;
        member.problem = None;
        self.raise_epoch()?;
        let header = self.header(Phase::Settled);
        let member = &mut self.members[position];
        if member.pool.is_none()
            && let Some(domain) = &member.domain
        {
            let file = domain.open_file(&member.file_name, Access::ReadWrite);
            let map = |file| domain.map_file(&member.file_name, file, Access::ReadWrite);
            member.pool = file.and_then(map).ok();
        }
        let _ = member.write_header(&header);
        Ok(())
    }

    /// Removes what a member that just became good replaces.
    pub(crate) fn remove_replaced(&mut self, index: u32) -> Result<()> {
        match self.position(index) {
            Ok(_) => self.remove_replica(index),
            Err(_) => Ok(()),
        }
    }

    fn enter(&mut self, domain: &Domain, replaces: Option<u32>) -> Result<u32> {
        self.check_writable()?;
        if self.members.len() >= ROWS_MAX {
            return Err(self.too_many());
        }
        self.choose_serving()?;
        self.drop_lost()?;
        let mut index = 0;
        while self.members.iter().any(|member| member.index == index)
            || domain.exists(&member_name(&self.name, index))?
        {
            index += 1;
        }
        if index >= ROWS_MAX as u32 {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                self.object(),
                format!("no number below {ROWS_MAX} is free in {}", domain.object(&self.name)),
                "take the files away that have its name and belong to no member",
            ));
        }
        let node = replaces
            .and_then(|old| self.position(old).ok())
            .and_then(|old| self.members[old].placement.wanted);
        let mut member = self.create_member(domain, index, node)?;
        member.condition = MemberCondition::Rebuilding;
        member.replaces = replaces;
        self.members.push(member);
        let result = match self.is_raised {
            true => self.settle_headers(),
            false => self.raise_epoch(),
        };
        let position = self.position(index)?;
        if result.is_ok() && self.members[position].is_live() {
            return Ok(index);
        }
        let problem = self.problem_of(position);
        let member = self.members.remove(position);
        self.refresh();
        let _ = domain.remove_pool(&member.file_name);
        Err(problem)
    }

    fn too_many(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            self.object(),
            format!("it has {} members", self.members.len()),
            "remove one first: a set has 8 members, and as many that are on the move",
        )
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(Error::new(
                ErrorKind::ReadOnly,
                self.object(),
                "it was opened read-only",
                "open it for writing",
            )),
        }
    }
}
