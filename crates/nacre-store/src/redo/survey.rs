//! Finding the groups of a segment when it is opened, and which members to follow.
//!
//! 1. The groups are walked from the first; each is taken from a member that has it whole. Where
//!    none has one, the log ends.
//! 2. A group further on that was written when more than that was durable, or a state that says so,
//!    proves that acknowledged groups are gone: an error, never a shorter log.
//! 3. A member that has all groups is the truth. One that lacks some that were durable is damaged;
//!    one that lacks the last ones only was cut off by a crash, and the pool set levels it.
//! 4. If no member has all groups, what each lacks is stored in it from another one. A crash at
//!    that moment, on top of damage in two members, may lose what was damaged.
//! 5. What a crash left behind the end is overwritten by zeros.
//!
//! The last groups before a crash are not told from such that were never whole if all members lost
//! them: nothing was written after them.

use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, Verdict};

use super::group::{GROUP_ALIGN, Group, GroupProblem};
use super::segment::{
    BadHeader, SEGMENT_HEADER_BYTES, SEGMENT_VERSION, STATE_OFFSET, Segment, State, check_header,
    lost, set_name,
};
use crate::error::{Error, Result};
use crate::id::{CommitTs, Lsn};
use crate::manifest::DatabaseId;
use crate::members::name_of;

/// What was found in a segment.
pub(super) struct Opened {
    pub(super) segment: Segment,
    /// That of the last group, if there is one.
    pub(super) last_commit: Option<CommitTs>,
    /// The time of the last group, 0 if there is none.
    pub(super) last_time: u64,
    pub(super) notes: Vec<String>,
}

/// The data area of a member whose header is right.
struct Area<'a> {
    index: u32,
    bytes: &'a [u8],
}

/// A group that a member does not have.
struct Gap {
    index: u32,
    lsn: Lsn,
    problem: GroupProblem,
}

/// The groups of all members together.
struct Walk {
    end: Lsn,
    last_commit: Option<CommitTs>,
    last_time: u64,
    /// Proven by a group to have been durable.
    durable: Lsn,
    gaps: Vec<Gap>,
}

/// What to do with a segment.
struct Survey {
    first: Lsn,
    walk: Walk,
    state: State,
    verdict: Verdict,
    /// Bytes that members lack, for when no member has all.
    patches: Vec<(Lsn, Vec<u8>)>,
    /// How many of them a crash alone does not explain.
    damaged_count: usize,
}

impl Segment {
    /// Opens segment `number`, which must begin at `first` if that is known.
    ///
    /// # Errors
    /// [`Error::RedoDamaged`], [`Error::UnsupportedVersion`]; those of the domains.
    pub(super) fn open(
        number: u64,
        first: Option<Lsn>,
        database: DatabaseId,
        domains: &[Domain],
        access: Access,
    ) -> Result<Opened> {
        let mut found = None;
        let opened = PoolSet::open_inspected(&set_name(number), domains, access, |set| {
            let survey = survey(set, number, first, database)?;
            let verdict = survey.verdict.clone();
            found = Some(survey);
            Ok::<_, Error>(verdict)
        });
        let set = opened.map_err(|error| from_pool_set(number, error))?;
        let Some(Survey { first, walk, state, patches, damaged_count, .. }) = found else {
            return Err(Error::Internal { reason: "a segment was not inspected".into() });
        };
        let mut segment = Segment { number, first, end: walk.end, state, set };
        let mut notes = Vec::new();
        if access == Access::ReadWrite {
            for (lsn, bytes) in &patches {
                segment.set.update(segment.offset_of(*lsn), bytes)?;
            }
            if damaged_count > 0 {
                notes
                    .push(format!("redo log: {damaged_count} groups repaired from other replicas"));
            }
            if state == State::Open {
                segment.clear_rest()?;
            }
            let offset = segment.set.data_offset() + STATE_OFFSET;
            if segment.set.load_u64(offset)? != state.to_word() {
                // A crash came between the members, and the truth was one that had the other state.
                segment.publish(state)?;
            }
        }
        let Walk { last_commit, last_time, .. } = walk;
        Ok(Opened { segment, last_commit, last_time, notes })
    }
}

/// Looks at all good members.
fn survey(
    set: &PoolSet,
    number: u64,
    expected: Option<Lsn>,
    database: DatabaseId,
) -> Result<Survey> {
    let (start, bytes) = (set.data_offset(), set.end_offset() - set.data_offset());
    let (mut areas, mut damaged): (Vec<Area<'_>>, Vec<(u32, String)>) = Default::default();
    let mut first = None;
    for (index, condition) in set.member_conditions() {
        if condition != MemberCondition::Good {
            continue;
        }
        let area = set.read_member(index, start, bytes)?;
        match check_header(area, database, number) {
            Ok(lsn) if expected.is_none_or(|expected| expected == lsn) => {
                first = first.or(Some(lsn));
                areas.push(Area { index, bytes: area });
            }
            Ok(lsn) => damaged.push((index, format!("it begins at byte {} of the log", lsn.0))),
            Err(BadHeader::Damaged(reason)) => damaged.push((index, reason)),
            Err(BadHeader::Version(found)) => {
                let object = name_of(set, index);
                return Err(Error::UnsupportedVersion {
                    object,
                    found,
                    supported: SEGMENT_VERSION,
                });
            }
        }
    }
    let Some(first) = first else {
        let reason =
            |(index, reason): &(u32, String)| format!("{}: {reason}", name_of(set, *index));
        let reasons: Vec<String> = damaged.iter().map(reason).collect();
        return Err(lost(number, format!("no replica is whole ({})", reasons.join("; "))));
    };
    let walk = walk(&areas, first);
    let state = state_of(&areas, walk.end)
        .map_err(|end| lost(number, describe_loss(set, &walk, Some(end), None)))?;
    if state == State::Open
        && let Some(survivor) = survivor(&areas, first, walk.end)
    {
        return Err(lost(number, describe_loss(set, &walk, None, Some(survivor))));
    }
    let is_unclean = set.is_unclean();
    let (verdict, patches) = judge(&areas, first, &walk, is_unclean, damaged);
    let is_damage = |(lsn, _): &&(Lsn, Vec<u8>)| !is_unclean || *lsn < walk.durable;
    let damaged_count = patches.iter().filter(is_damage).count();
    Ok(Survey { first, walk, state, verdict, patches, damaged_count })
}

/// Reads group after group, each from any member that has it.
fn walk(areas: &[Area<'_>], first: Lsn) -> Walk {
    let (last_commit, last_time) = (None, 0);
    let mut walk = Walk { end: first, last_commit, last_time, durable: first, gaps: Vec::new() };
    loop {
        let mut gaps = Vec::new();
        let mut found = None;
        for area in areas {
            match Group::parse(rest(area.bytes, first, walk.end), walk.end) {
                Ok(group) => found = Some(group),
                Err(problem) => gaps.push(Gap { index: area.index, lsn: walk.end, problem }),
            }
        }
        let Some(group) = found else {
            return walk;
        };
        walk.gaps.append(&mut gaps);
        walk.end = group.end();
        walk.last_commit = Some(group.start.commit);
        walk.last_time = group.start.time;
        walk.durable = walk.durable.max(group.start.durable);
    }
}

/// Returns what a data area has from position `lsn` on.
pub(super) fn rest(area: &[u8], first: Lsn, lsn: Lsn) -> &[u8] {
    area.get((SEGMENT_HEADER_BYTES + lsn.0 - first.0) as usize..).unwrap_or_default()
}

/// Returns the state of a segment that ends at `end`, or where it should end.
fn state_of(areas: &[Area<'_>], end: Lsn) -> std::result::Result<State, Lsn> {
    let mut state = State::Open;
    for area in areas {
        let word = area.bytes.get(STATE_OFFSET as usize..).unwrap_or_default();
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        match State::from_word(word) {
            Some(State::Closed(found) | State::Sealed(found)) if found > end => return Err(found),
            Some(State::Sealed(found)) if found == end => state = State::Sealed(end),
            Some(State::Closed(found)) if found == end && state == State::Open => {
                state = State::Closed(end);
            }
            _ => {}
        }
    }
    Ok(state)
}

/// Finds the first group behind `end` that was written when more than that was durable.
fn survivor(areas: &[Area<'_>], first: Lsn, end: Lsn) -> Option<(Lsn, CommitTs)> {
    let of = |area: &Area<'_>| {
        let bytes = rest(area.bytes, first, end);
        let steps = (0..bytes.len()).step_by(GROUP_ALIGN as usize).skip(1);
        let mut groups = steps
            .filter_map(|step| Group::parse(&bytes[step..], Lsn(end.0 + step as u64)).ok())
            .filter(|group| group.start.durable > end);
        groups.next().map(|group| (group.start.lsn, group.start.commit))
    };
    areas.iter().filter_map(of).min()
}

/// Says which groups are lost.
fn describe_loss(
    set: &PoolSet,
    walk: &Walk,
    end: Option<Lsn>,
    survivor: Option<(Lsn, CommitTs)>,
) -> String {
    let from = walk.end.0;
    let after = match walk.last_commit {
        Some(commit) => format!("after that at {}", commit.0),
        None => "from its first on".to_owned(),
    };
    let (to, before) = match survivor {
        Some((lsn, commit)) => (Some(lsn.0), format!(" and before that at {}", commit.0)),
        None => (end.map(|end| end.0), String::new()),
    };
    let to = to.map_or_else(String::new, |to| format!(" to {to}"));
    let members = set.member_conditions();
    let names: Vec<String> = members.iter().map(|(index, _)| name_of(set, *index)).collect();
    format!(
        "bytes {from}{to} of the log are damaged in every replica ({}): the commits \
         {after}{before} are lost",
        names.join(", ")
    )
}

/// Says which member to follow, which are damaged, and what to store if none has all.
fn judge(
    areas: &[Area<'_>],
    first: Lsn,
    walk: &Walk,
    is_unclean: bool,
    mut damaged: Vec<(u32, String)>,
) -> (Verdict, Vec<(Lsn, Vec<u8>)>) {
    let first_gap = |index: u32| walk.gaps.iter().find(|gap| gap.index == index);
    if let Some(truth) = areas.iter().find(|area| first_gap(area.index).is_none()) {
        for area in areas {
            let Some(gap) = first_gap(area.index) else {
                continue;
            };
            if !is_unclean || gap.lsn < walk.durable {
                let reason = format!("group at byte {} of the log: {}", gap.lsn.0, gap.problem);
                damaged.push((area.index, reason));
            }
        }
        return (Verdict { truth: Some(truth.index), damaged }, Vec::new());
    }
    let longest = areas.iter().max_by_key(|area| first_gap(area.index).map(|gap| gap.lsn));
    let mut lsns: Vec<Lsn> = walk.gaps.iter().map(|gap| gap.lsn).collect();
    lsns.dedup();
    let mut patches = Vec::new();
    for lsn in lsns {
        let whole = areas.iter().find_map(|area| {
            let bytes = rest(area.bytes, first, lsn);
            let group = Group::parse(bytes, lsn).ok()?;
            bytes.get(..(group.end().0 - lsn.0) as usize)
        });
        patches.extend(whole.map(|bytes| (lsn, bytes.to_vec())));
    }
    (Verdict { truth: longest.map(|area| area.index), damaged }, patches)
}

/// Says in the log's words that no member of a pool set can be used.
fn from_pool_set(number: u64, error: Error) -> Error {
    let Error::Pmem(error) = error else {
        return error;
    };
    match error.kind() {
        ErrorKind::Corrupt
        | ErrorKind::NoReplica
        | ErrorKind::OutOfRange
        | ErrorKind::Lost
        | ErrorKind::NotFound
        | ErrorKind::Unfinished => lost(number, error),
        _ => Error::Pmem(error),
    }
}
