//! What lies in the domains under the name of a set, and which of it is the truth.
//!
//! 1. Every file `NAME.<index>` is opened and locked, and its header read. A file of another set or
//!    of a newer version, and two copies of one member are errors: which one is meant is for the
//!    user to say. A truncated or damaged file is a damaged member.
//! 2. The highest epoch counts. Members of one epoch that was raised in two separate openings are
//!    an error, and so is a member that went on alone. A member of an epoch that is only being
//!    raised has acknowledged nothing in it, so members of the epochs from `base` on are as good.
//! 3. Of the headers that count, the one with the highest sequence has the member table that
//!    counts: its good rows are the good members.
//! 4. A file without magic in the place of a good member is an error. Elsewhere it is what a crash
//!    left of the first header of a new member: damaged if the table has its number, else ignored.
//!    What belongs to no row and does not call itself a good member is a leftover, which opening
//!    for writing removes.
//! 5. If every header says that the set is being created, or there is none and the files hold
//!    nothing, creation was cut off: an error of its own, since nothing was acknowledged.

use std::os::unix::fs::{FileExt, MetadataExt};

use crate::domain::{Access, Domain};
use crate::error::{Error, ErrorKind, Result};
use crate::lock::FileLock;
use crate::set::header::{
    self, Header, Phase, ROWS_MAX, Row, SLOT_BYTES, Standing, Unreadable, Uuid,
};
use crate::space::{self, FileRange};

/// Bytes read at once of a file without a header.
const PIECE_BYTES: usize = 1 << 20;

/// A file that may be a member.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) domain: Domain,
    pub(crate) file_name: String,
    pub(crate) index: u32,
    pub(crate) lock: Option<FileLock>,
    /// Header and its slot.
    pub(crate) header: Option<(Header, usize)>,
    /// Why it cannot be used.
    pub(crate) problem: Option<Error>,
    /// Whether no header was ever written whole, and nothing else.
    pub(crate) is_unwritten: bool,
    /// Ranges that hold no data: never written, or punched out. Only the other members tell which.
    pub(crate) holes: Vec<FileRange>,
}

impl Candidate {
    /// Whether it is what was left of a member that was added or removed, if no table names it: it
    /// holds nothing, or its own header does not call it a good member of the set.
    pub(crate) fn is_leftover_of(&self, set: &Uuid) -> bool {
        let is_good = |row: &Row| row.standing == Standing::Good;
        match &self.header {
            Some((header, _)) => {
                header.set == *set && !header.row(header.member).is_some_and(is_good)
            }
            None => self.is_unwritten && self.lock.is_some(),
        }
    }
}

/// Returns the file name of a member.
pub(crate) fn member_name(name: &str, index: u32) -> String {
    format!("{name}.{index}")
}

/// Opens and locks everything that has the name of a member.
pub(crate) fn find(name: &str, domains: &[Domain], access: Access) -> Result<Vec<Candidate>> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut seen = Vec::new();
    for domain in domains {
        if access == Access::ReadWrite {
            domain.check_writable()?;
        }
        let files = domain.list_pools()?;
        for index in 0..ROWS_MAX as u32 {
            let file_name = member_name(name, index);
            if !files.contains(&file_name) {
                continue;
            }
            let file = domain.open_file(&file_name, access);
            if let Ok(file) = &file
                && let Ok(metadata) = file.metadata()
            {
                let identity = (metadata.dev(), metadata.ino());
                if seen.contains(&identity) {
                    // The same directory was given twice.
                    continue;
                }
                seen.push(identity);
            }
            candidates.push(examine(name, domain, index, file, access)?);
        }
    }
    check_mixture(name, &candidates)?;
    Ok(candidates)
}

fn examine(
    name: &str,
    domain: &Domain,
    index: u32,
    file: Result<std::fs::File>,
    access: Access,
) -> Result<Candidate> {
    let file_name = member_name(name, index);
    let object = domain.object(&file_name);
    let mut candidate = Candidate {
        domain: domain.clone(),
        file_name,
        index,
        lock: None,
        header: None,
        problem: None,
        is_unwritten: false,
        holes: Vec::new(),
    };
    let file = match file {
        Ok(file) => file,
        Err(error) => {
            candidate.problem = Some(error);
            return Ok(candidate);
        }
    };
    let lock = FileLock::take(file, access == Access::ReadWrite, &object)?;
    let read = read_header(&lock).and_then(|(bytes, found)| {
        let may_be_unwritten = matches!(found, Err(Unreadable::Blank | Unreadable::Torn));
        candidate.is_unwritten = may_be_unwritten && holds_nothing(&lock, bytes)?;
        Ok((bytes, found))
    });
    candidate.lock = Some(lock);
    let (bytes, found) = match read {
        Ok(read) => read,
        Err(error) => {
            candidate.problem = Some(Error::os(&object, "cannot read", error));
            return Ok(candidate);
        }
    };
    match found {
        Err(error @ Unreadable::TooNew(_)) => return Err(error.error(&object)),
        Err(error) => candidate.problem = Some(error.error(&object)),
        Ok((header, slot)) => {
            check_name(name, index, &header, &object)?;
            if header.file_bytes() > bytes {
                candidate.problem = Some(Error::new(
                    ErrorKind::OutOfRange,
                    &object,
                    format!("it is truncated: {bytes} of {} bytes", header.file_bytes()),
                    "rebuild it from another replica, or restore it from a copy",
                ));
            }
            let lock = candidate.lock.as_ref();
            candidate.holes = lock.map(|lock| holes(lock.file())).unwrap_or_default();
            candidate.header = Some((header, slot));
        }
    }
    Ok(candidate)
}

/// Refuses a file that has the name of another member or of another set.
fn check_name(name: &str, index: u32, header: &Header, object: &str) -> Result<()> {
    let known = header.name.as_deref().unwrap_or(name);
    if known == name && header.index == index {
        return Ok(());
    }
    let (problem, remedy) = match known == name {
        true => {
            let problem = format!("it is member {} of its set, by its header", header.index);
            (problem, "give it back its name")
        }
        false => {
            let number = header.index;
            let problem = format!("it is member {number} of the pool set {known}, by its header");
            (problem, "give it back its name, or open the set by the name that it has")
        }
    };
    Err(Error::new(ErrorKind::Foreign, object, problem, remedy))
}

type Found = (u64, std::result::Result<(Header, usize), Unreadable>);

/// Returns size and header of a file, read without mapping it.
fn read_header(lock: &FileLock) -> std::io::Result<Found> {
    let metadata = lock.file().metadata()?;
    let mut slots = vec![0; (2 * SLOT_BYTES as u64).min(metadata.len()) as usize];
    lock.file().read_exact_at(&mut slots, 0)?;
    Ok((metadata.len(), header::decode(&slots)))
}

/// Whether there are only zeros behind the headers of a file of `bytes` bytes.
fn holds_nothing(lock: &FileLock, bytes: u64) -> std::io::Result<bool> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset = 2 * SLOT_BYTES as u64;
    while offset < bytes {
        let length = PIECE_BYTES.min((bytes - offset) as usize);
        lock.file().read_exact_at(&mut piece[..length], offset)?;
        if piece[..length].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        offset += length as u64;
    }
    Ok(true)
}

/// Returns the ranges of a file that hold no data, as far as the file system tells.
pub(crate) fn holes(file: &std::fs::File) -> Vec<FileRange> {
    let found = file.metadata().and_then(|metadata| space::find_holes(file, metadata.len()));
    found.unwrap_or_default()
}

/// Returns how many bytes a member lacks that another good one has.
fn missing_bytes(candidates: &[Candidate], good: &[usize], position: usize) -> u64 {
    let others = good.iter().filter(|&&other| other != position);
    let missing = others.map(|&other| {
        space::subtract_ranges(&candidates[position].holes, &candidates[other].holes)
            .iter()
            .map(|(from, to)| to - from)
            .sum()
    });
    missing.max().unwrap_or(0)
}

/// Refuses members of different sets, and two copies of one member.
fn check_mixture(name: &str, candidates: &[Candidate]) -> Result<()> {
    let known: Vec<(&Candidate, &Header)> = candidates
        .iter()
        .filter_map(|candidate| Some((candidate, &candidate.header.as_ref()?.0)))
        .collect();
    for (number, (candidate, header)) in known.iter().enumerate() {
        for (other, other_header) in &known[..number] {
            let object = candidate.domain.object(&candidate.file_name);
            let other = other.domain.object(&other.file_name);
            if header.set != other_header.set {
                return Err(Error::new(
                    ErrorKind::Foreign,
                    object,
                    format!(
                        "two sets have the name {name}: it belongs to that of uuid {}, and {other} \
                         to that of uuid {}",
                        header.set, other_header.set
                    ),
                    "take the one away that is not meant",
                ));
            }
            if header.member == other_header.member {
                return Err(Error::new(
                    ErrorKind::Foreign,
                    object,
                    format!("it is the same member as {other} (uuid {})", header.member),
                    "take the copy away",
                ));
            }
        }
    }
    Ok(())
}

/// The header whose table counts, and which candidates are good.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) header: Header,
    /// Positions of the good candidates, best truth first.
    pub(crate) good: Vec<usize>,
    /// Lowest epoch of a good one.
    pub(crate) base_epoch: u64,
    pub(crate) epoch_max: u64,
    pub(crate) sequence_max: u64,
}

/// Decides which candidates are good.
pub(crate) fn judge(name: &str, candidates: &[Candidate]) -> Result<Truth> {
    let known: Vec<(usize, &Header)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(position, candidate)| Some((position, &candidate.header.as_ref()?.0)))
        .collect();
    if is_unfinished(candidates) {
        return Err(unfinished(name, candidates));
    }
    let Some(epoch) = known.iter().map(|(_, header)| header.epoch).max() else {
        check_foreign(candidates, None)?;
        return Err(none_found(name, candidates));
    };
    let newest: Vec<&Header> =
        known.iter().map(|(_, header)| *header).filter(|header| header.epoch == epoch).collect();
    let settled: Vec<&&Header> =
        newest.iter().filter(|header| header.phase == Phase::Settled).collect();
    if let Some(other) =
        settled.iter().find(|header| header.epoch_number != settled[0].epoch_number)
    {
        return Err(diverged(name, candidates, settled[0], other));
    }
    let number = settled.first().map(|header| header.epoch_number);
    let counts = |header: &Header| match number {
        Some(number) => header.epoch == epoch && header.epoch_number == number,
        None => header.epoch == epoch,
    };
    let Some(table) =
        newest.iter().filter(|header| counts(header)).max_by_key(|header| header.sequence)
    else {
        return Err(none_found(name, candidates));
    };
    check_foreign(candidates, Some(table))?;
    check_divergence(name, candidates, &known, table)?;
    let is_good = |position: usize, header: &Header| {
        let row_is_good =
            table.row(header.member).is_some_and(|row| row.standing == Standing::Good);
        let is_recent = counts(header) || (number.is_none() && header.epoch >= table.base_epoch);
        row_is_good && is_recent && candidates[position].problem.is_none()
    };
    let mut good: Vec<usize> = known
        .iter()
        .filter(|(position, header)| is_good(*position, header))
        .map(|(position, _)| *position)
        .collect();
    if good.is_empty() {
        return Err(no_good_one(name, candidates));
    }
    // A member with all its bytes is a better truth than one with a punched page.
    let all = good.clone();
    good.sort_by_cached_key(|&position| {
        (missing_bytes(candidates, &all, position), candidates[position].index)
    });
    let epochs = good.iter().filter_map(|&position| candidates[position].header.as_ref());
    let base_epoch = epochs.map(|(header, _)| header.epoch).min().unwrap_or(epoch);
    let sequence_max = known.iter().map(|(_, header)| header.sequence).max().unwrap_or(0);
    let header = (*table).clone();
    Ok(Truth { header, good, base_epoch, epoch_max: epoch, sequence_max })
}

/// Refuses a foreign file where the table expects a good member, which is found nowhere else; or
/// any, if there is no table.
fn check_foreign(candidates: &[Candidate], table: Option<&Header>) -> Result<()> {
    let is_found = |row: &Row| {
        let mut headers = candidates.iter().filter_map(|candidate| candidate.header.as_ref());
        headers.any(|(header, _)| header.member == row.uuid)
    };
    for candidate in candidates.iter().filter(|candidate| candidate.header.is_none()) {
        let expects = |row: &Row| {
            row.index == candidate.index && row.standing == Standing::Good && !is_found(row)
        };
        if let Some(problem) = &candidate.problem
            && problem.kind() == ErrorKind::Foreign
            && table.is_none_or(|table| table.rows.iter().any(expects))
        {
            return Err(Error::again(problem));
        }
    }
    Ok(())
}

/// Refuses a member that acknowledged stores after the others had left it behind.
fn check_divergence(
    name: &str,
    candidates: &[Candidate],
    known: &[(usize, &Header)],
    table: &Header,
) -> Result<()> {
    for (_, header) in known {
        let Some(row) = table.row(header.member) else {
            continue;
        };
        let is_ahead = header.epoch > row.good_epoch && header.phase == Phase::Settled;
        let claims_good =
            header.row(header.member).is_some_and(|own| own.standing == Standing::Good);
        if row.standing == Standing::Stale && is_ahead && claims_good {
            return Err(diverged(name, candidates, table, header));
        }
    }
    Ok(())
}

fn diverged(name: &str, candidates: &[Candidate], one: &Header, other: &Header) -> Error {
    let path = |header: &Header| {
        candidates
            .iter()
            .find(|candidate| {
                candidate.header.as_ref().is_some_and(|(found, _)| found.member == header.member)
            })
            .map_or_else(String::new, |found| found.domain.object(&found.file_name))
    };
    Error::new(
        ErrorKind::Corrupt,
        format_args!("pool set {name}"),
        format!(
            "{} (epoch {}) and {} (epoch {}) were written separately",
            path(one),
            one.epoch,
            path(other),
            other.epoch
        ),
        "take the one away whose changes shall be lost",
    )
}

/// Whether creation was cut off: no member got further, so nothing was acknowledged.
pub(crate) fn is_unfinished(candidates: &[Candidate]) -> bool {
    let is_creating = |candidate: &Candidate| match &candidate.header {
        Some((header, _)) => header.phase == Phase::Creating,
        None => candidate.is_unwritten,
    };
    !candidates.is_empty() && candidates.iter().all(is_creating)
}

fn unfinished(name: &str, candidates: &[Candidate]) -> Error {
    let files: Vec<String> =
        candidates.iter().map(|candidate| candidate.domain.object(&candidate.file_name)).collect();
    Error::new(
        ErrorKind::Unfinished,
        format_args!("pool set {name}"),
        format!("its creation did not end, so it holds nothing ({})", files.join("; ")),
        "create it again, which replaces these files, or remove them",
    )
}

/// Returns the error when no file has a readable header.
fn none_found(name: &str, candidates: &[Candidate]) -> Error {
    if candidates.is_empty() {
        return Error::new(
            ErrorKind::NotFound,
            format_args!("pool set {name}"),
            "no member is in the given domains",
            "check the name and the domains; what was lost has to come from a copy",
        );
    }
    // A member that exists but cannot be opened says more than that the set is damaged.
    let kind = match candidates {
        [Candidate { problem: Some(error), .. }] => error.kind(),
        _ => ErrorKind::Corrupt,
    };
    Error::new(
        kind,
        format_args!("pool set {name}"),
        format!("no member has a readable header ({})", list(candidates)),
        "restore a member from a copy",
    )
}

fn no_good_one(name: &str, candidates: &[Candidate]) -> Error {
    let kind = match candidates {
        [Candidate { problem: Some(error), .. }] => error.kind(),
        _ => ErrorKind::NoReplica,
    };
    Error::new(
        kind,
        format_args!("pool set {name}"),
        format!("no member is good ({})", list(candidates)),
        "give the domains of all members, or restore a member from a copy",
    )
}

/// Returns what was found at each path.
fn list(candidates: &[Candidate]) -> String {
    let texts: Vec<String> = candidates
        .iter()
        .map(|candidate| match (&candidate.problem, &candidate.header) {
            (Some(problem), _) => problem.to_string(),
            (None, Some((header, _))) => {
                let object = candidate.domain.object(&candidate.file_name);
                format!("{object}: stale, epoch {}", header.epoch)
            }
            (None, None) => candidate.domain.object(&candidate.file_name),
        })
        .collect();
    texts.join("; ")
}
