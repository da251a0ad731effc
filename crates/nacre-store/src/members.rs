//! What the manifest and the redo log do alike with the members of their pool sets.
//!
//! Each has [`MAIN_COPIES`] members in the main domain and one in each further one. A member that
//! is missing, stale or damaged is left out until it is rebuilt from the others; a further domain
//! that has none gets one.

use nacre_pmem::{Domain, MemberCondition, MemberState, PoolSet};

use crate::error::{ErrorKind, Result};

/// Members in the main domain.
pub(crate) const MAIN_COPIES: u32 = 2;

/// Bytes that a step of scrubbing compares.
const SCRUB_STEP_BYTES: u64 = 1 << 20;

/// Allocates `wanted` bytes or, without space for them, only `least`: on a device that is nearly
/// full the rest is left to others.
///
/// # Errors
/// Those of `allocate`.
pub(crate) fn allocate_some<T>(
    (wanted, least): (u64, u64),
    mut allocate: impl FnMut(u64) -> Result<T>,
) -> Result<T> {
    match allocate(wanted.max(least)) {
        Err(error) if error.kind() == ErrorKind::NoSpace && least < wanted => allocate(least),
        done => done,
    }
}

/// Rebuilds members that are missing, stale or damaged, and gives each of `further` a member;
/// `are_all_here` says that no further domain is absent. Returns what it did and what it could not
/// do, in words about `what`: the other members serve.
pub(crate) fn repair(
    set: &mut PoolSet,
    what: &str,
    main: &Domain,
    further: &[Domain],
    are_all_here: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, condition) in set.member_conditions() {
        let mut place = main;
        if condition == MemberCondition::Good {
            continue;
        }
        if condition == MemberCondition::Missing && index >= MAIN_COPIES {
            // One that is missing while a domain is absent lies there.
            let without = |domain: &&Domain| !set.has_member_in(domain.name());
            match further.iter().find(without).filter(|_| are_all_here) {
                Some(domain) => place = domain,
                None => continue,
            }
        }
        let reason = problem_of(set, index);
        notes.push(match set.rebuild_in(index, place) {
            Ok(()) => format!("{what} replica rebuilt from another one: {reason}"),
            Err(error) => {
                format!("{what} replica could not be rebuilt: {reason}; {error}")
            }
        });
    }
    for domain in further {
        if set.has_member_in(domain.name()) {
            continue;
        }
        let added = set.add_replica(domain);
        if let Err(error) = added.and_then(|index| set.rebuild_in(index, domain)) {
            let name = domain.name();
            notes.push(format!("memory domain \"{name}\" has no {what} replica: {error}"));
        }
    }
    notes
}

/// Removes the member in a further domain, or if it is absent and no other one is, the one that is
/// missing. Returns what could not be done: the member stays, or its file.
pub(crate) fn forget(
    set: &mut PoolSet,
    what: &str,
    domain: &str,
    are_others_here: bool,
) -> Vec<String> {
    let is_its = |state: &MemberState| match state.condition {
        MemberCondition::Missing => {
            are_others_here && state.index >= MAIN_COPIES && !set.has_member_in(domain)
        }
        _ => state.domain.as_deref() == Some(domain),
    };
    let indexes: Vec<u32> =
        set.member_states().iter().filter(|state| is_its(state)).map(|state| state.index).collect();
    let mut notes = Vec::new();
    for index in indexes {
        if let Err(error) = set.remove_replica(index) {
            notes.push(format!("{what} replica of memory domain \"{domain}\" stays: {error}"));
        }
    }
    notes
}

/// Says which members cannot be used, for a database that is opened read-only.
pub(crate) fn unusable(set: &PoolSet, what: &str, are_all_here: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, condition) in set.member_conditions() {
        let is_elsewhere =
            condition == MemberCondition::Missing && index >= MAIN_COPIES && !are_all_here;
        if condition != MemberCondition::Good && !is_elsewhere {
            let reason = problem_of(set, index);
            notes.push(format!("{what} replica not used: {reason}"));
        }
    }
    notes
}

/// Says which members do not follow any more.
#[cold]
pub(crate) fn left_behind(set: &PoolSet, what: &str) -> Vec<String> {
    let problems = set.member_states().into_iter().filter_map(|state| state.problem);
    problems
        .map(|problem| format!("{what} replica left behind until the next opening: {problem}"))
        .collect()
}

/// Compares all members byte by byte and returns what is wrong; the pool set repairs what it can,
/// [`repair`] rebuilds the members that are left out.
pub(crate) fn scrub(set: &mut PoolSet) -> Vec<String> {
    let mut problems = Vec::new();
    // A step makes progress also if it fails, so this many see all bytes once.
    for _ in 0..=set.end_offset() / SCRUB_STEP_BYTES {
        match set.scrub_step(SCRUB_STEP_BYTES) {
            Ok(report) => {
                let damaged = report.damaged.iter();
                problems.extend(damaged.map(|index| format!("replica {index} is damaged")));
                problems.extend(report.repaired.iter().map(|(index, offset, bytes)| {
                    format!("replica {index}: {bytes} bytes at {offset} were wrong")
                }));
                if report.is_done {
                    break;
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    problems
}

/// Returns how messages name a member: by its path if it is known.
pub(crate) fn name_of(set: &PoolSet, index: u32) -> String {
    let state = set.member_states().into_iter().find(|state| state.index == index);
    match state.and_then(|state| state.path) {
        Some(path) => path.display().to_string(),
        None => format!("{}.{index}", set.name()),
    }
}

fn problem_of(set: &PoolSet, index: u32) -> String {
    let name = name_of(set, index);
    match set.member_states().into_iter().find(|state| state.index == index) {
        Some(MemberState { problem: Some(problem), .. }) => problem,
        Some(MemberState { condition: MemberCondition::Missing, .. }) => {
            format!("{name} is missing")
        }
        _ => format!("{name} missed changes"),
    }
}

/// Returns the number of the member if `file_name` is that of a member of a set.
pub(crate) fn member_index(set_name: &str, file_name: &str) -> Option<u32> {
    let index = file_name.strip_prefix(set_name)?.strip_prefix('.')?;
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| index.parse().ok()).flatten()
}
