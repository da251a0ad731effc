//! Epochs: how the live members know, durably, who among them is good.
//!
//! Raising writes a header with the next epoch into every live member: as raising, then as settled
//! into both slots. Nothing is acknowledged before the second round ends, so after a crash between
//! the rounds those that were not reached are as good as those that were. A set that is closed
//! raises it once more, so that an older copy of a member's file is known for one. Creating a set
//! does the same with a first round that says so: a set of which no member got further never
//! acknowledged anything.

use crate::domain::Access;
use crate::error::{Error, Result};
use crate::set::header::{Header, INTENT_OFFSET, Phase, Uuid};
use crate::set::member::Member;
use crate::set::pool_set::PoolSet;

impl PoolSet {
    /// Takes members that failed out of the set, and makes the others know, durably.
    #[inline]
    pub(crate) fn drop_failed(&mut self, failed: Vec<(usize, Error)>) -> Result<()> {
        match failed.is_empty() {
            true => Ok(()),
            false => self.drop_members(failed),
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_members(&mut self, failed: Vec<(usize, Error)>) -> Result<()> {
        for (position, error) in &failed {
            self.members[*position].fail(error);
        }
        self.choose_serving()?;
        if self.access == Access::ReadOnly {
            return Ok(());
        }
        self.raise_epoch()?;
        // The others know; the member itself is told as well, if it still can be written.
        let header = self.header(Phase::Settled);
        for (position, _) in failed {
            let _ = self.members[position].write_header(&header);
        }
        Ok(())
    }

    /// Raises the epoch of every live member in two rounds, so that a crash between them makes
    /// nobody stale; members that fail meanwhile are left behind.
    pub(crate) fn raise_epoch(&mut self) -> Result<()> {
        if !self.is_raised {
            self.persist_headers();
        }
        loop {
            self.choose_serving()?;
            self.begin_epoch()?;
            if self.write_headers(Phase::Raising) && self.write_settled() {
                self.end_epoch();
                return Ok(());
            }
        }
    }

    /// Makes the headers durable that were found: a process that was killed may have stored them
    /// and not lived to do so, and the next header replaces the other slot. Members that fail are
    /// taken out.
    fn persist_headers(&mut self) {
        for member in self.members.iter_mut().filter(|member| member.is_live()) {
            // PERSIST: the current header is on the medium before the other slot is stored to.
            let persisted = member.mapped().and_then(|pool| pool.persist(0, INTENT_OFFSET));
            if let Err(error) = persisted {
                member.fail(&error);
            }
        }
    }

    /// Makes the first epoch of a set that is being created; whether all members followed.
    pub(crate) fn create_epoch(&mut self) -> Result<bool> {
        self.begin_epoch()?;
        let is_created = self.write_headers(Phase::Creating) && self.write_settled();
        if is_created {
            self.end_epoch();
        }
        Ok(is_created)
    }

    fn begin_epoch(&mut self) -> Result<()> {
        self.identity.epoch += 1;
        self.identity.epoch_number = Uuid::random()
            .map_err(|error| Error::os(self.object(), "cannot draw a number", error))?
            .number();
        let epoch = self.identity.epoch;
        for member in self.members.iter_mut().filter(|member| member.is_good()) {
            member.good_epoch = epoch;
        }
        Ok(())
    }

    fn end_epoch(&mut self) {
        self.identity.base_epoch = self.identity.epoch;
        self.is_raised = true;
    }

    /// Writes headers into both slots of every live member.
    fn write_settled(&mut self) -> bool {
        self.write_headers(Phase::Settled) && self.write_headers(Phase::Settled)
    }

    /// Writes headers into every live member, durably; members that fail are taken out.
    #[must_use]
    fn write_headers(&mut self, phase: Phase) -> bool {
        self.identity.sequence += 1;
        let header = self.header(phase);
        let mut are_written = true;
        for member in self.members.iter_mut().filter(|member| member.is_live()) {
            if let Err(error) = member.write_header(&header) {
                member.fail(&error);
                are_written = false;
            }
        }
        self.refresh();
        are_written
    }

    /// Writes headers into both slots of every live member, durably; a member that failed is left
    /// behind in a lower epoch.
    pub(crate) fn settle_headers(&mut self) -> Result<()> {
        match self.write_settled() {
            true => Ok(()),
            false => self.raise_epoch(),
        }
    }

    pub(crate) fn header(&self, phase: Phase) -> Header {
        let identity = &self.identity;
        Header {
            phase,
            sequence: identity.sequence,
            set: identity.set,
            member: identity.set,
            epoch: identity.epoch,
            epoch_number: identity.epoch_number,
            base_epoch: identity.base_epoch,
            data_bytes: identity.data_bytes,
            log_bytes: identity.log_bytes,
            region_bytes: identity.region_bytes,
            index: 0,
            rows: self.members.iter().map(Member::row).collect(),
            name: Some(identity.name.clone()),
        }
    }
}
