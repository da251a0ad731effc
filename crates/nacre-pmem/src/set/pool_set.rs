//! A pool set that is open: one writer, any number of readers between its calls.
//!
//! The path of an update is a bounds check, a test of the intent map, and the stores; everything
//! else is out of line.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::domain::Access;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::replicate::Mechanism;
use crate::set::damage::Damage;
use crate::set::engine::{Engine, NEAR_BYTES_MAX};
use crate::set::header::{DATA_OFFSET, INTENT_BYTES, INTENT_OFFSET, Uuid};
use crate::set::intent::IntentMap;
use crate::set::member::{Member, MemberCondition, MemberState};
use crate::switch::SwitchReport;
use crate::transaction_log::{self, Log};

/// A master pool and its replicas.
#[derive(Debug)]
pub struct PoolSet {
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) members: Vec<Member>,
    /// Position in `members` of the one that serves reads. Written by whoever finds that it
    /// failed, read by every read; any good member will do, so its order carries nothing.
    pub(crate) serving: AtomicUsize,
    pub(crate) identity: Identity,
    /// Empty until the first store, so that this takes the slow path.
    pub(crate) intents: IntentMap,
    /// Whether this opener raised the epoch.
    pub(crate) is_raised: bool,
    /// Whether regions may differ because the set was not closed and may not be repaired.
    pub(crate) is_unclean: bool,
    /// Whether the end shall look like a crash.
    pub(crate) is_abandoned: bool,
    /// Whether members that are made get large pages where the domain has them.
    pub(crate) large_pages: bool,
    /// Offset behind the last byte; that of every live member.
    pub(crate) end_offset: u64,
    /// Volatile state of the transaction log.
    pub(crate) log: Log,
    /// How far scrubbing is.
    pub(crate) scrubbed_to: u64,
    /// The quick way to all live members, if there is one.
    pub(crate) engine: Option<Engine>,
    /// By which tree mechanisms are chosen.
    pub(crate) report: SwitchReport,
    /// The mechanism that was asked for.
    pub(crate) forced: Option<Mechanism>,
    /// What readers found damaged.
    pub(crate) damage: Damage,
}

/// What all current headers have in common.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) set: Uuid,
    /// The name that the headers give the set.
    pub(crate) name: String,
    pub(crate) sequence: u64,
    pub(crate) epoch: u64,
    pub(crate) epoch_number: u64,
    pub(crate) base_epoch: u64,
    pub(crate) data_bytes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) region_bytes: u64,
}

impl PoolSet {
    /// Returns the name of the set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the offset of the first byte of the data area.
    pub fn data_offset(&self) -> u64 {
        DATA_OFFSET + self.identity.log_bytes
    }

    /// Returns the offset behind the last byte of the data area.
    pub fn end_offset(&self) -> u64 {
        self.end_offset
    }

    /// Returns the number of members that get every store, the serving one included.
    pub fn copy_count(&self) -> usize {
        self.members.iter().filter(|member| member.is_live()).count()
    }

    /// Returns the number of members that get every store beside the serving one.
    pub fn replica_count(&self) -> usize {
        self.copy_count().saturating_sub(1)
    }

    /// Whether the set was opened read-only after a crash: what the newest transactions wrote may
    /// not be in place, or in part. Open it for writing to repair it.
    pub fn is_unclean(&self) -> bool {
        self.is_unclean
    }

    /// Returns what is known about each member.
    pub fn member_states(&self) -> Vec<MemberState> {
        let serving = self.serving_position();
        let state = |(position, member): (usize, &Member)| member.state(position == serving);
        self.members.iter().enumerate().map(state).collect()
    }

    /// Whether the set was opened for writing.
    pub fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Returns whether every member is as it was when it was last good.
    ///
    /// # Errors
    /// `Lost` naming file and offset of the first that lost bytes and was not rebuilt since.
    pub fn check(&self) -> Result<()> {
        for member in &self.members {
            if let Some((ErrorKind::Lost, problem)) = &member.problem {
                let remedy = "rebuild it from another replica";
                return Err(Error::new(ErrorKind::Lost, self.object(), problem.as_str(), remedy));
            }
            if member.is_live() {
                member.check_file()?;
            }
        }
        Ok(())
    }

    /// Returns a range as the member with the number `index` in its file name has it, for callers
    /// with checksums of their own.
    ///
    /// # Errors
    /// `OutOfRange`; `NoReplica` if there is no good member of that number.
    pub fn read_member(&self, index: u32, offset: u64, bytes: u64) -> Result<&[u8]> {
        self.check_range(offset, bytes)?;
        let position = self.position(index)?;
        match self.members[position].is_good() {
            true => self.members[position].mapped()?.read(offset, bytes),
            false => Err(self.no_replica(&format!("member {index} is not good"))),
        }
    }

    /// Stores `source` in every member and starts its write-back. Durable after
    /// [`PoolSet::drain`] on the same thread.
    ///
    /// # Errors
    /// `OutOfRange`, `ReadOnly`, `NoReplica`; nothing is written.
    #[inline]
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.leave_transactions(offset, source.len())?;
        self.prepare(offset, source.len() as u64)?;
        self.store(offset, source)
    }

    /// Waits until everything that this thread wrote is durable in every live member. What another
    /// thread wrote by [`PoolSet::write`] or [`PoolSet::write_near`] is not waited for: a fence is
    /// its own thread's, so drain before the set is handed on. A member that fails leaves the good
    /// ones, durably, before this returns.
    ///
    /// # Errors
    /// `NoReplica` if no good member is left.
    #[inline]
    pub fn drain(&mut self) -> Result<()> {
        match &self.engine {
            Some(engine) if engine.drain() => Ok(()),
            _ => self.drain_each(),
        }
    }

    /// Stores `source` in every member and returns when it is durable in all.
    ///
    /// # Errors
    /// As for [`PoolSet::write`] and [`PoolSet::drain`].
    #[inline]
    pub fn update(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.leave_transactions(offset, source.len())?;
        self.prepare(offset, source.len() as u64)?;
        let Some(engine) = &mut self.engine else {
            return self.update_each(offset, source);
        };
        // SAFETY: `prepare` checked the range, and `end_offset` is in every live member; `source`
        // lies in none, since `&mut self` excludes borrows of them.
        let routines = unsafe { engine.write(offset, source, false) };
        // PERSIST: the update is durable in every live member.
        (routines.drain)();
        match engine.are_sound() {
            true => Ok(()),
            false => self.drain_each(),
        }
    }

    /// As [`PoolSet::write`], but for what is read back soon: up to 256 bytes stay in the cache.
    ///
    /// # Errors
    /// As for [`PoolSet::write`].
    #[inline]
    pub fn write_near(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.leave_transactions(offset, source.len())?;
        self.prepare(offset, source.len() as u64)?;
        self.store_near(offset, source)
    }

    /// As [`PoolSet::update`], but for what is read back soon: up to 256 bytes stay in the cache.
    ///
    /// # Errors
    /// As for [`PoolSet::update`].
    #[inline]
    pub fn update_near(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.leave_transactions(offset, source.len())?;
        self.prepare(offset, source.len() as u64)?;
        self.store_near(offset, source)?;
        self.drain()
    }

    /// Stores every source at its offset in every member, in order, and returns when all are
    /// durable in all. After a crash any part of them may be there.
    ///
    /// # Errors
    /// As for [`PoolSet::update`]; if a range is wrong nothing is written.
    #[inline]
    pub fn update_batch(&mut self, updates: &[(u64, &[u8])]) -> Result<()> {
        self.update_all(updates.len(), |index| updates[index])
    }

    /// As [`PoolSet::update_batch`], for the `count` updates that `update` returns.
    ///
    /// # Errors
    /// As for [`PoolSet::update_batch`].
    #[inline]
    pub(crate) fn update_all<'a>(
        &mut self,
        count: usize,
        update: impl Fn(usize) -> (u64, &'a [u8]),
    ) -> Result<()> {
        for index in 0..count {
            let (offset, source) = update(index);
            self.leave_transactions(offset, source.len())?;
            self.prepare(offset, source.len() as u64)?;
        }
        match &self.engine {
            // SAFETY: as in `update`, for each update.
            Some(engine) => unsafe { engine.write_all(count, update) },
            None => {
                for index in 0..count {
                    let (offset, source) = update(index);
                    self.store_each(offset, source)?;
                }
            }
        }
        self.drain()
    }

    /// Stores the aligned word in every member by one 8-byte store each, after all that was written
    /// before is durable, and returns when it is durable in all: two fences for all members.
    ///
    /// # Errors
    /// As for [`PoolSet::update`], `NotAligned`.
    #[inline]
    pub fn publish_u64(&mut self, offset: u64, value: u64) -> Result<()> {
        // A wrong offset is refused before anything is stored.
        self.check_range(offset, 8)?;
        self.serving_pool()?.load_u64(offset)?;
        self.leave_transactions(offset, 8)?;
        self.prepare(offset, 8)?;
        self.prefetch_near(offset, 8);
        // PERSIST: what the word makes reachable is durable in every member.
        self.drain()?;
        if !self.stores_words_whole() {
            return self.publish_each(offset, value);
        }
        self.store_near(offset, &value.to_le_bytes())?;
        // PERSIST: the word is durable in every member.
        self.drain()
    }

    /// Publishes in one live member after the other.
    #[cold]
    #[inline(never)]
    fn publish_each(&mut self, offset: u64, value: u64) -> Result<()> {
        let mut failed = Vec::new();
        for (position, member) in self.members.iter_mut().enumerate() {
            if let Some(pool) = member.pool.as_mut().filter(|_| is_live(member.condition))
                && let Err(error) = pool.publish_u64(offset, value)
            {
                failed.push((position, error));
            }
        }
        self.drop_failed(failed)
    }

    /// Takes a member whose bytes its user found damaged out of the good ones; durably if the set
    /// is writable, which can then rebuild it.
    ///
    /// # Errors
    /// `NoReplica` if there is no such member or no other good one; nothing is changed.
    pub fn distrust(&mut self, index: u32, reason: &str) -> Result<()> {
        let position = self.position(index)?;
        let others = (0..self.members.len()).filter(|&other| other != position);
        if !others.into_iter().any(|other| self.members[other].is_good()) {
            return Err(self.no_replica(&format!("member {index} is the last good one")));
        }
        let object = self.members[position].object();
        let remedy = "rebuild it from another replica";
        self.drop_failed(vec![(position, Error::new(ErrorKind::Corrupt, object, reason, remedy))])
    }

    /// Ends the use of the set: everything is durable and marked as closed.
    ///
    /// # Errors
    /// As for [`PoolSet::drain`], `NoReplica`, `Io`: the next open compares the members again.
    pub fn close(mut self) -> Result<()> {
        if self.access == Access::ReadWrite {
            self.choose_serving()?;
            self.drop_lost()?;
        }
        self.finish()
    }

    /// Ends the use of the set as a crash of the process would, for tests.
    #[doc(hidden)]
    pub fn abandon(mut self) {
        self.is_abandoned = true;
    }

    fn finish(&mut self) -> Result<()> {
        // A half-done commit is for the next open, which compares the members.
        self.is_abandoned |= self.log.is_broken();
        if self.access == Access::ReadOnly || !self.is_raised || self.is_abandoned {
            return Ok(());
        }
        self.is_abandoned = true;
        match self.log.is_live() {
            true => transaction_log::settle(self)?,
            false => self.drain()?,
        }
        // A copy that was taken of a member's file before now is older, durably, and says so.
        self.raise_epoch()?;
        self.clear_intents()
    }

    /// Checks the range and makes its intent durable.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, offset: u64, bytes: u64) -> Result<()> {
        self.check_range(offset, bytes)?;
        match self.intents.is_marked(offset, bytes) {
            true => Ok(()),
            false => self.mark(offset, bytes),
        }
    }

    /// Keeps stores that are not part of a transaction out of the log, and settles that if they
    /// meet what it speaks of.
    #[inline(always)]
    fn leave_transactions(&mut self, offset: u64, bytes: usize) -> Result<()> {
        match offset < self.data_offset() || self.log.is_in_the_way() {
            true => transaction_log::leave(self, offset, bytes),
            false => Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        let is_inside =
            offset >= DATA_OFFSET && offset <= self.end_offset && bytes <= self.end_offset - offset;
        match is_inside {
            true => Ok(()),
            false => Err(self.out_of_range(offset, bytes)),
        }
    }

    /// Stores in each live member and starts write-back; [`PoolSet::prepare`] took the range.
    #[inline(always)]
    pub(crate) fn store(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        match &mut self.engine {
            Some(engine) => {
                // SAFETY: as in `update`; the caller prepared the range.
                let _ = unsafe { engine.write(offset, source, false) };
                Ok(())
            }
            None => self.store_each(offset, source),
        }
    }

    /// As [`PoolSet::store`], for what is read back soon.
    #[inline(always)]
    pub(crate) fn store_near(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        match &self.engine {
            Some(engine) if source.len() <= NEAR_BYTES_MAX => {
                // SAFETY: as in `update`; the caller prepared the range.
                let _ = unsafe { engine.write_near(offset, source) };
                Ok(())
            }
            _ => self.store(offset, source),
        }
    }

    /// Whether a store of an aligned word of 4 or 8 bytes is one instruction in each member.
    #[inline(always)]
    pub(crate) fn stores_words_whole(&self) -> bool {
        self.engine.as_ref().is_some_and(Engine::stores_words_whole)
    }

    /// As [`PoolSet::store`], for the stores of a transaction: into the data area or the log.
    #[inline(always)]
    pub(crate) fn store_in_transaction(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        let is_log = offset < self.data_offset();
        match &mut self.engine {
            // SAFETY: as in `update`; the caller prepared the range.
            Some(engine) => unsafe {
                let _ = match is_log {
                    true => engine.write_log(offset, source),
                    false => engine.write(offset, source, true),
                };
                Ok(())
            },
            None => self.store_each(offset, source),
        }
    }

    #[cold]
    #[inline(never)]
    fn update_each(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.store_each(offset, source)?;
        self.drain_each()
    }

    /// Stores in one live member after the other and starts write-back.
    #[inline(never)]
    fn store_each(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        for member in self.members.iter_mut().filter(|member| member.is_live()) {
            let pool = member.mapped_mut()?;
            pool.write(offset, source)?;
            pool.flush(offset, source.len() as u64)?;
        }
        Ok(())
    }

    /// Waits for each live member, and takes those out that failed.
    #[cold]
    #[inline(never)]
    fn drain_each(&mut self) -> Result<()> {
        let mut failed = Vec::new();
        for (position, member) in self.members.iter().enumerate() {
            if member.is_live()
                && self.access == Access::ReadWrite
                && let Err(error) = member.mapped().and_then(Pool::drain)
            {
                failed.push((position, error));
            }
        }
        self.drop_failed(failed)
    }

    /// Makes the intent to store into a range durable in every live member.
    #[cold]
    #[inline(never)]
    fn mark(&mut self, offset: u64, bytes: u64) -> Result<()> {
        self.check_writable()?;
        if !self.members.iter().any(Member::is_good) {
            return Err(self.no_replica("no good member is left"));
        }
        if bytes == 0 {
            return Ok(());
        }
        if !self.is_raised {
            self.raise_epoch()?;
        }
        let words = self.intents.mark(offset, bytes);
        let result = self.write_intents(&words);
        if result.is_err() {
            // Nothing is acknowledged any more, so the next store comes here again.
            self.intents.clear();
        }
        result
    }

    /// Writes words of the intent map into every live member, durably.
    pub(crate) fn write_intents(&mut self, words: &[usize]) -> Result<()> {
        let mut failed = Vec::new();
        for (position, member) in self.members.iter_mut().enumerate() {
            if !is_live(member.condition) {
                continue;
            }
            let result = member.mapped_mut().and_then(|pool| {
                for &word in words {
                    let offset = INTENT_OFFSET + 8 * word as u64;
                    pool.write(offset, &self.intents.word(word).to_le_bytes())?;
                    pool.flush(offset, 8)?;
                }
                // PERSIST: the regions are marked in this member before anything is stored there.
                pool.drain()
            });
            if let Err(error) = result {
                failed.push((position, error));
            }
        }
        self.drop_failed(failed)
    }

    /// Writes the whole intent map into every live member, durably.
    pub(crate) fn write_all_intents(&mut self) -> Result<()> {
        let map = self.intents.bytes();
        let mut failed = Vec::new();
        for (position, member) in self.members.iter_mut().enumerate() {
            if !is_live(member.condition) {
                continue;
            }
            let result = member.mapped_mut().and_then(|pool| {
                pool.write(INTENT_OFFSET, &map)?;
                // PERSIST: as above; or, if it is cleared, the members were made equal and durable
                // before.
                pool.persist(INTENT_OFFSET, INTENT_BYTES)
            });
            if let Err(error) = result {
                failed.push((position, error));
            }
        }
        self.drop_failed(failed)
    }

    /// Notes that all members are equal and durable.
    pub(crate) fn clear_intents(&mut self) -> Result<()> {
        self.intents.clear();
        self.write_all_intents()
    }

    /// Returns the position of the serving member.
    #[inline(always)]
    pub(crate) fn serving_position(&self) -> usize {
        // ORDERING: Relaxed, every value it ever has is the position of a mapped member.
        self.serving.load(Ordering::Relaxed)
    }

    /// Returns the mapping that serves reads: another one as soon as it lost a page.
    #[inline(always)]
    pub(crate) fn serving_pool(&self) -> Result<&Pool> {
        match self.members.get(self.serving_position()).and_then(|member| member.pool.as_ref()) {
            Some(pool) if !pool.is_faulted() => Ok(pool),
            _ => self.other_pool(),
        }
    }

    /// Lets a good member serve that lost nothing; else the one that serves goes on.
    #[cold]
    #[inline(never)]
    fn other_pool(&self) -> Result<&Pool> {
        for (position, member) in self.members.iter().enumerate() {
            if let Some(pool) = &member.pool
                && member.is_good()
                && !pool.is_faulted()
            {
                self.serve(position);
                return Ok(pool);
            }
        }
        match self.members.get(self.serving_position()) {
            Some(Member { pool: Some(pool), .. }) => Ok(pool),
            _ => Err(self.no_replica("no good member is left")),
        }
    }

    /// Lets another member serve.
    pub(crate) fn serve(&self, position: usize) {
        // ORDERING: Relaxed, as in `serving_position`.
        self.serving.store(position, Ordering::Relaxed);
    }

    /// Keeps the serving member if it is good, else takes the first good one.
    pub(crate) fn choose_serving(&mut self) -> Result<()> {
        let serving = self.serving_position();
        if self.members.get(serving).is_some_and(Member::is_good) {
            return Ok(());
        }
        let Some(good) = self.members.iter().position(Member::is_good) else {
            // Every later store takes the slow path, which reports it.
            self.intents.clear();
            return Err(self.no_replica("no good member is left"));
        };
        self.serve(good);
        Ok(())
    }

    /// Returns the numbers of the good members, the serving one first.
    pub(crate) fn good_members(&self) -> Vec<u32> {
        let serving = self.serving_position();
        let good = |position: &usize| self.members.get(*position).is_some_and(Member::is_good);
        let others = (0..self.members.len()).filter(|&position| position != serving);
        let order = std::iter::once(serving).chain(others).filter(good);
        order.map(|position| self.members[position].index).collect()
    }

    /// Returns the position of the member with the number `index`.
    pub(crate) fn position(&self, index: u32) -> Result<usize> {
        self.members
            .iter()
            .position(|member| member.index == index)
            .ok_or_else(|| self.no_replica(&format!("it has no member {index}")))
    }

    pub(crate) fn object(&self) -> String {
        format!("pool set {}", self.name)
    }

    /// Returns the error for want of good members, with what is known about each.
    #[cold]
    #[inline(never)]
    pub(crate) fn no_replica(&self, problem: &str) -> Error {
        let known: Vec<String> = self
            .members
            .iter()
            .map(|member| match &member.problem {
                Some((_, problem)) => problem.clone(),
                None => format!("{}: {:?}", member.object(), member.condition),
            })
            .collect();
        Error::new(
            ErrorKind::NoReplica,
            self.object(),
            format!("{problem} ({})", known.join("; ")),
            "restore a member from a copy, or give the domains of all members",
        )
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_range(&self, offset: u64, bytes: u64) -> Error {
        let end = self.end_offset;
        let problem = match bytes {
            0 => format!("offset {offset} lies outside of its bytes {DATA_OFFSET} .. {end}"),
            _ => format!(
                "needs {bytes} bytes at offset {offset}, but its bytes are {DATA_OFFSET} .. {end}"
            ),
        };
        Error::new(ErrorKind::OutOfRange, self.object(), problem, "")
    }
}

impl Drop for PoolSet {
    fn drop(&mut self) {
        // Who wants to know calls `close`; the next open compares the members otherwise.
        let _ = self.finish();
    }
}

fn is_live(condition: MemberCondition) -> bool {
    matches!(condition, MemberCondition::Good | MemberCondition::Rebuilding)
}
