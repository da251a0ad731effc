//! Creating and opening a pool set, with recovery after a crash.
//!
//! Recovery: the marked regions of all good members are joined into one map, which each member
//! gets durably; what differs is settled by the majority, or by the first good member of two; what
//! the transaction log has committed is stored in all; the epoch is raised; the marked regions are
//! made durable, since who stored there may not have lived to do so; the map is cleared. Each step
//! may be repeated.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicUsize;

use crate::domain::{Access, Domain};
use crate::error::{Error, ErrorKind, Result};
use crate::flush::CACHE_LINE_BYTES;
use crate::lock::FileLock;
use crate::pool::Pool;
use crate::set::damage::Damage;
use crate::set::engine;
use crate::set::header::{
    DATA_OFFSET, Header, INTENT_BYTES, INTENT_OFFSET, NAME_BYTES_MAX, ROWS_MAX, Row, Uuid,
};
use crate::set::inspect::Verdict;
use crate::set::intent::{IntentMap, region_bytes};
use crate::set::member::{Member, MemberCondition};
use crate::set::options::PoolSetOptions;
use crate::set::placement::Placement;
use crate::set::pool_set::{Identity, PoolSet};
use crate::set::survey::{self, Candidate, Truth, member_name};
use crate::space::{FileRange, subtract_ranges};
use crate::transaction_log::{self, Log};

/// Number of a good member, and its ranges without data.
pub(crate) type Holes = (u32, Vec<FileRange>);

/// What was found under the name of a set.
pub(crate) struct Found {
    pub(crate) set: PoolSet,
    pub(crate) holes: Vec<Holes>,
    /// Files that belong to no member, locked.
    pub(crate) leftovers: Vec<Candidate>,
}

/// Most members that a set is created with.
pub(crate) const MEMBERS_MAX: usize = 8;
/// Bytes compared at once.
pub(crate) const COMPARE_BYTES: u64 = 4096;

impl PoolSet {
    /// Creates a pool set with one member in each of `domains`; the first is the master. Several
    /// members may lie in one domain.
    ///
    /// A creation that was cut off before it returned is recognised by its files and replaced.
    ///
    /// # Errors
    /// As for [`Domain::create_pool`], and `Unsupported` for no domain or more than 8,
    /// `InvalidName` for no name; no file stays.
    pub fn create(name: &str, domains: &[Domain], options: &PoolSetOptions) -> Result<PoolSet> {
        let object = format!("pool set {name}");
        if domains.is_empty() || domains.len() > MEMBERS_MAX {
            return Err(Error::new(
                ErrorKind::Unsupported,
                object,
                format!("{} members were asked for", domains.len()),
                "give 1 to 8 domains",
            ));
        }
        check_set_name(name)?;
        let options =
            &PoolSetOptions { log_bytes: whole_slots(options.log_bytes), ..options.clone() };
        let total = options.data_bytes.checked_add(options.log_bytes);
        let Some(file_bytes) = total.and_then(|bytes| bytes.checked_add(DATA_OFFSET)) else {
            return Err(Error::new(
                ErrorKind::NoSpace,
                object,
                format!("{} + {} bytes", options.data_bytes, options.log_bytes),
                "ask for less",
            ));
        };
        make_room(name, domains)?;
        let mut set = PoolSet {
            name: name.to_string(),
            access: Access::ReadWrite,
            members: Vec::new(),
            serving: AtomicUsize::new(0),
            identity: Identity {
                set: uuid(&object)?,
                name: header_name(name, options)?,
                sequence: 0,
                epoch: 0,
                epoch_number: 0,
                base_epoch: 0,
                data_bytes: options.data_bytes,
                log_bytes: options.log_bytes,
                region_bytes: region_bytes(file_bytes),
            },
            intents: IntentMap::new(region_bytes(file_bytes)),
            is_raised: false,
            is_unclean: false,
            log: Log::default(),
            is_abandoned: false,
            large_pages: options.large_pages,
            end_offset: file_bytes,
            scrubbed_to: 0,
            engine: None,
            report: engine::report(domains),
            forced: None,
            damage: Damage::default(),
        };
        let result = set.create_members(domains, options);
        if result.is_err() {
            set.is_abandoned = true;
            for member in set.members.drain(..) {
                if let Some(domain) = &member.domain {
                    // The first error is the one to report.
                    let _ = domain.remove_pool(&member.file_name);
                }
            }
        }
        result.map(|()| set)
    }

    fn create_members(&mut self, domains: &[Domain], options: &PoolSetOptions) -> Result<()> {
        for (index, domain) in domains.iter().enumerate() {
            let node = options.numa_nodes.get(index).copied().flatten();
            let member = self.create_member(domain, index as u32, node)?;
            self.members.push(member);
        }
        if self.create_epoch()? {
            return Ok(());
        }
        Err(match self.members.iter().find_map(|member| member.problem.as_ref()) {
            Some((kind, problem)) => {
                Error::new(*kind, self.object(), problem.as_str(), "choose other domains")
            }
            None => self.no_replica("its headers could not be written"),
        })
    }

    /// Creates and locks the file of a member; it holds zeros.
    pub(crate) fn create_member(
        &self,
        domain: &Domain,
        index: u32,
        node: Option<u32>,
    ) -> Result<Member> {
        let file_name = member_name(&self.name, index);
        let uuid = uuid(&self.object())?;
        let pool = domain.create_pool_on(&file_name, self.end_offset, node, self.large_pages)?;
        let lock = match lock_own(domain, &file_name, &pool) {
            Ok(lock) => lock,
            Err(error) => {
                // Who holds the lock, or has the name now, decides about the file.
                if !matches!(error.kind(), ErrorKind::Locked { .. } | ErrorKind::AlreadyExists) {
                    let _ = domain.remove_pool(&file_name);
                }
                return Err(error);
            }
        };
        Ok(Member {
            uuid,
            index,
            good_epoch: 0,
            domain: Some(domain.clone()),
            file_name,
            lock: Some(lock),
            pool: Some(pool),
            condition: MemberCondition::Good,
            problem: None,
            slot: 1,
            rebuilt_to: 0,
            replaces: None,
            placement: Placement { wanted: node, actual: domain.numa_node() },
        })
    }

    /// Opens a pool set whose members lie in `domains`, in any order, several in one if need be.
    /// Missing, stale and damaged members do not stop it: [`PoolSet::member_states`] names them.
    ///
    /// # Errors
    /// `NotFound`; `Locked` if someone else has it open for writing (or, to write, at all);
    /// `Foreign` for a file that is no member, members of different sets, or a copy of a member;
    /// `TooNew`; `Corrupt` or `NoReplica` if no member is good or two were written separately;
    /// `ReadOnly` for a read-only domain; and as for [`Domain::open_pool`].
    pub fn open(name: &str, domains: &[Domain], access: Access) -> Result<PoolSet> {
        PoolSet::open_inspected(name, domains, access, |_| Ok::<_, Error>(Verdict::default()))
    }

    /// Finds and maps the members; nothing is changed yet.
    pub(crate) fn find(name: &str, domains: &[Domain], access: Access) -> Result<Found> {
        let candidates = survey::find(name, domains, access)?;
        let truth = survey::judge(name, &candidates)?;
        let holes: Vec<Holes> = truth
            .good
            .iter()
            .map(|&good| (candidates[good].index, candidates[good].holes.clone()))
            .collect();
        let (mut set, others) = assemble(name, domains, access, candidates, &truth)?;
        let leftovers =
            others.into_iter().filter(|other| other.is_leftover_of(&set.identity.set)).collect();
        set.is_unclean = set.load_intents()?;
        Ok(Found { set, holes, leftovers })
    }

    /// Makes a set that was found ready for use; `has_truth` says that the serving member is to be
    /// followed whatever the others say.
    pub(crate) fn begin(&mut self, holes: &[Holes], has_truth: bool) -> Result<()> {
        if self.access == Access::ReadOnly {
            // Marks allow stores, and there are none.
            self.intents.clear();
            return Ok(());
        }
        let is_unclean = std::mem::take(&mut self.is_unclean);
        self.recover(is_unclean, holes, has_truth)
    }

    /// Joins the maps of all good members; whether anything is marked.
    fn load_intents(&mut self) -> Result<bool> {
        for member in self.members.iter().filter(|member| member.is_good()) {
            self.intents.join(member.mapped()?.read(INTENT_OFFSET, INTENT_BYTES)?);
        }
        Ok(!self.intents.is_empty())
    }

    /// Makes the good members equal and consistent.
    fn recover(&mut self, is_unclean: bool, holes: &[Holes], has_truth: bool) -> Result<()> {
        self.fill_holes(holes, has_truth)?;
        if is_unclean {
            // A region that only some members have marked is marked in all before it is changed.
            self.write_all_intents()?;
            self.refresh();
        }
        if is_unclean {
            let ranges = self.intents.ranges(self.data_offset(), self.end_offset);
            match has_truth {
                true => self.equalise_from(None, &ranges)?,
                false => self.equalise_by_majority(&ranges)?,
            }
        }
        transaction_log::recover(self, is_unclean)?;
        if is_unclean {
            // Last, so that recovery may use the log of any member.
            self.equalise_from(None, &self.intents.ranges(DATA_OFFSET, self.data_offset()))?;
            self.raise_epoch()?;
            // What was equal already may have been so in caches only.
            self.persist_ranges(&self.intents.ranges(DATA_OFFSET, self.end_offset))?;
            self.clear_intents()?;
        }
        self.intents.clear();
        self.refresh();
        Ok(())
    }

    /// Copies data that was punched out of a member from another member; before all else, since the
    /// other one may fail next. A member to be followed keeps its bytes where members may differ.
    fn fill_holes(&mut self, holes: &[Holes], has_truth: bool) -> Result<()> {
        let ends = [(0, DATA_OFFSET), (self.end_offset, u64::MAX)];
        let marked = self.intents.ranges(DATA_OFFSET, self.end_offset);
        for (index, ranges) in holes {
            let target = self.position(*index)?;
            let mut missing = subtract_ranges(ranges, &ends);
            if has_truth && target == self.serving_position() {
                missing = subtract_ranges(&missing, &marked);
            }
            self.fill_missing(target, missing, holes)?;
        }
        Ok(())
    }

    /// Takes the parts of `missing` from members that have data there.
    fn fill_missing(
        &mut self,
        target: usize,
        mut missing: Vec<FileRange>,
        holes: &[Holes],
    ) -> Result<()> {
        let index = self.members[target].index;
        let others = || holes.iter().filter(|(other, _)| *other != index);
        for (other, holes) in others() {
            let source = self.position(*other)?;
            let there = subtract_ranges(&missing, holes);
            let are_good = self.members[source].is_good() && self.members[target].is_good();
            if !there.is_empty() && are_good && self.copy_from(source, target, &there)? {
                missing = subtract_ranges(&missing, &there);
            }
        }
        let is_elsewhere = others().any(|(_, holes)| !subtract_ranges(&missing, holes).is_empty());
        match self.members[target].is_good() && is_elsewhere {
            true => Err(self.no_replica("the members that had what another one lacks lost it")),
            false => Ok(()),
        }
    }
}

/// Refuses a name that no file with a number behind it can have.
fn check_set_name(name: &str) -> Result<()> {
    match name.is_empty() {
        false => Ok(()),
        true => Err(Error::new(
            ErrorKind::InvalidName,
            "pool set",
            "its name is empty",
            "give it a name: its files get a number behind it",
        )),
    }
}

/// Returns the bytes of a log of two slots of whole lines, at least as many as were asked for.
fn whole_slots(log_bytes: u64) -> u64 {
    let slots = 2 * CACHE_LINE_BYTES as u64;
    log_bytes.checked_next_multiple_of(slots).unwrap_or(log_bytes)
}

fn uuid(object: &str) -> Result<Uuid> {
    Uuid::random().map_err(|error| Error::os(object, "cannot draw its uuid", error))
}

/// Returns the name for the headers.
fn header_name(name: &str, options: &PoolSetOptions) -> Result<String> {
    let name = options.name.as_deref().unwrap_or(name);
    if name.len() > NAME_BYTES_MAX {
        let problem = format!("the name has {} bytes", name.len());
        let remedy = "choose a name of at most 256 bytes";
        return Err(Error::new(
            ErrorKind::InvalidName,
            format!("pool set {name}"),
            problem,
            remedy,
        ));
    }
    Ok(name.to_string())
}

/// Locks the file of a pool that was just created, unless somebody took it for a leftover and has
/// put another in its place.
fn lock_own(domain: &Domain, file_name: &str, pool: &Pool) -> Result<FileLock> {
    let object = domain.object(file_name);
    let file = domain.open_file(file_name, Access::ReadWrite)?;
    let lock = FileLock::take(file, true, &object)?;
    let identity = |file: &File| file.metadata().map(|found| (found.dev(), found.ino())).ok();
    match pool.file.as_deref().and_then(identity) == identity(lock.file()) {
        true => Ok(lock),
        false => Err(Error::new(
            ErrorKind::AlreadyExists,
            object,
            "another one creates it at this moment",
            "open the set when that is done, or use another name",
        )),
    }
}

/// Makes room for a set: what a creation that was cut off left behind is removed.
fn make_room(name: &str, domains: &[Domain]) -> Result<()> {
    let existing = refuse_existing(name, domains);
    match &existing {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        _ => return existing,
    }
    // Whatever else is found there, it exists.
    let Ok(candidates) = survey::find(name, domains, Access::ReadWrite) else {
        return existing;
    };
    if !survey::is_unfinished(&candidates) {
        return existing;
    }
    for candidate in &candidates {
        // The lock is held until all are gone, so that nobody else is using them.
        candidate.domain.remove_pool(&candidate.file_name)?;
    }
    refuse_existing(name, domains)
}

fn refuse_existing(name: &str, domains: &[Domain]) -> Result<()> {
    for domain in domains {
        domain.check_writable()?;
        for index in 0..ROWS_MAX as u32 {
            let file_name = member_name(name, index);
            if domain.exists(&file_name)? {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    domain.object(&file_name),
                    "it exists",
                    "open the set, use another name, or remove the file",
                ));
            }
        }
    }
    Ok(())
}

/// Builds the set from what was found, and returns what belongs to no member too: mapped are the
/// good members.
fn assemble(
    name: &str,
    domains: &[Domain],
    access: Access,
    mut candidates: Vec<Candidate>,
    truth: &Truth,
) -> Result<(PoolSet, Vec<Candidate>)> {
    let mut headers: Vec<&Header> = vec![&truth.header];
    headers
        .extend(truth.good.iter().filter_map(|&good| Some(&candidates[good].header.as_ref()?.0)));
    // A crash while the set grew leaves both sizes; nothing was stored behind the smaller one.
    let largest = headers.iter().max_by_key(|header| header.data_bytes).copied();
    let sizes = largest.unwrap_or(&truth.header).clone();
    let serving_uuid = candidates[truth.good[0]].header.as_ref().map(|(header, _)| header.member);
    let good: Vec<Uuid> = truth
        .good
        .iter()
        .filter_map(|&good| Some(candidates[good].header.as_ref()?.0.member))
        .collect();
    let mut members: Vec<Member> = Vec::new();
    for row in &truth.header.rows {
        let mut member = missing_member(name, row);
        if let Some(found) = position_of(&candidates, row) {
            let is_good = good.contains(&row.uuid);
            fill_member(&mut member, candidates.swap_remove(found), access, is_good, &sizes);
        }
        members.push(member);
    }
    suggest_domains(&mut members, domains);
    let serving = members
        .iter()
        .position(|member| Some(member.uuid) == serving_uuid && member.is_good())
        .unwrap_or(0);
    let header = &truth.header;
    let mut set = PoolSet {
        name: name.to_string(),
        access,
        members,
        serving: AtomicUsize::new(serving),
        identity: Identity {
            set: header.set,
            name: header.name.clone().unwrap_or_else(|| name.to_string()),
            sequence: truth.sequence_max,
            epoch: truth.epoch_max,
            epoch_number: header.epoch_number,
            base_epoch: truth.base_epoch,
            data_bytes: sizes.data_bytes,
            log_bytes: sizes.log_bytes,
            region_bytes: sizes.region_bytes,
        },
        intents: IntentMap::new(sizes.region_bytes),
        is_raised: false,
        is_unclean: false,
        log: Log::default(),
        is_abandoned: false,
        large_pages: true,
        end_offset: sizes.file_bytes(),
        scrubbed_to: 0,
        engine: None,
        report: engine::report(domains),
        forced: None,
        damage: Damage::default(),
    };
    set.choose_serving()?;
    Ok((set, candidates))
}

/// Returns the candidate that a row means: by uuid, else the one of its number without a header. (A
/// crash can leave such a file beside the member that got its number later.)
fn position_of(candidates: &[Candidate], row: &Row) -> Option<usize> {
    let is_meant = |candidate: &Candidate| {
        candidate.header.as_ref().is_some_and(|(header, _)| header.member == row.uuid)
    };
    let may_be = |candidate: &Candidate| candidate.header.is_none() && candidate.index == row.index;
    candidates.iter().position(is_meant).or_else(|| candidates.iter().position(may_be))
}

/// Returns a member of which only the row in the table is known.
fn missing_member(name: &str, row: &Row) -> Member {
    Member {
        uuid: row.uuid,
        index: row.index,
        good_epoch: row.good_epoch,
        domain: None,
        file_name: member_name(name, row.index),
        lock: None,
        pool: None,
        condition: MemberCondition::Missing,
        problem: None,
        slot: 0,
        rebuilt_to: 0,
        replaces: row.replaces,
        placement: Placement { wanted: row.node, actual: None },
    }
}

fn fill_member(
    member: &mut Member,
    candidate: Candidate,
    access: Access,
    is_good: bool,
    sizes: &Header,
) {
    let Candidate { domain, file_name, lock, header, problem, .. } = candidate;
    member.slot = header.as_ref().map_or(0, |(_, slot)| *slot);
    member.lock = lock;
    member.placement.actual = domain.numa_node();
    member.condition = MemberCondition::Stale;
    if is_good {
        member.condition = MemberCondition::Good;
        let mapped = domain
            .open_file(&file_name, access)
            .and_then(|file| domain.map_file(&file_name, file, access))
            .and_then(|pool| pool.read(0, sizes.file_bytes()).map(|_| ()).map(|()| pool));
        match mapped {
            Ok(pool) => member.pool = Some(pool),
            Err(error) => member.fail(&error),
        }
    }
    if let Some(problem) = problem {
        member.fail(&problem);
    }
    member.domain = Some(domain);
}

/// Gives a missing member a domain to be rebuilt in: one that has no member, if there is one left
/// for each.
fn suggest_domains(members: &mut [Member], domains: &[Domain]) {
    let names: Vec<String> = members.iter().map(|member| member.file_name.clone()).collect();
    let mut free: Vec<&Domain> = domains
        .iter()
        .filter(|domain| !names.iter().any(|name| domain.exists(name).unwrap_or(true)))
        .collect();
    let missing = members.iter_mut().filter(|member| member.condition == MemberCondition::Missing);
    for member in missing {
        if !free.is_empty() {
            member.domain = Some(free.remove(0).clone());
        }
    }
}
