//! Finding a whole manifest, and making the other members like it.
//!
//! 1. The pool set is mapped; before it recovers anything, every good member's header and records
//!    are checked ([`inspect`]), so that a damaged member is never copied over a whole one.
//! 2. The records name the further domains. If there are some, the set is opened again with these,
//!    and inspected again.
//! 3. What is missing, stale or damaged is rebuilt ([`Manifest::repair`]); a further domain that
//!    has no member gets one. When all is well nothing is written.
//!
//! A file in a further domain that has the name of a member and is none does not keep the others
//! from being opened: that domain has no member until the file is taken away.
//!
//! Published bytes that are gone are never skipped: that would lose a committed change without a
//! word.

use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, Verdict};

use super::header::{self, Content, HEADER_BYTES, Unusable, VERSION, read_content};
use super::log::{DatabaseId, Manifest, SET_NAME, UNFINISHED_SET_NAME};
use super::record::Record;
use crate::error::{Error, Result};
use crate::members::{self, MAIN_COPIES, member_index, name_of};

/// Why the set is not opened with these domains.
enum Stop {
    /// These are needed too.
    Domains(Vec<Domain>),
    Failed(Error),
}

impl From<nacre_pmem::Error> for Stop {
    fn from(error: nacre_pmem::Error) -> Self {
        Self::Failed(from_pool_set(error))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Manifest {
    /// Opens the manifest whose members lie in `domains` and in those that `learn` derives from
    /// its records; the first is the main one. With `access` read-only nothing is changed, only
    /// noted; else [`Manifest::repair`] comes next.
    ///
    /// # Errors
    /// [`Error::ManifestDamaged`] if no member is whole or two whole ones contradict each other;
    /// [`Error::UnsupportedVersion`]; those of `learn`.
    pub(crate) fn open(
        domains: &[Domain],
        access: Access,
        mut learn: impl FnMut(DatabaseId, &[Record]) -> Result<Vec<Domain>>,
    ) -> Result<Manifest> {
        let mut domains = domains.to_vec();
        let (mut notes, mut excluded) = (Vec::new(), Vec::<String>::new());
        loop {
            let mut found = None;
            let result = PoolSet::open_inspected(SET_NAME, &domains, access, |set| {
                let (content, verdict) = inspect(set)?;
                let mut more = learn(content.database, &content.records)?;
                more.retain(|domain| {
                    let is_it = |have: &Domain| have.name() == domain.name();
                    !domains.iter().any(is_it) && !excluded.iter().any(|name| name == domain.name())
                });
                if !more.is_empty() {
                    return Err(Stop::Domains(more));
                }
                found = Some(content);
                Ok(verdict)
            });
            let set = match result {
                Ok(set) => set,
                Err(Stop::Domains(mut more)) => {
                    domains.append(&mut more);
                    continue;
                }
                Err(Stop::Failed(error)) => {
                    if let Some(position) = first_foreign(&domains, &error) {
                        let name = domains.remove(position).name().to_owned();
                        notes.push(format!(
                            "memory domain \"{name}\" has no manifest replica: {error}"
                        ));
                        excluded.push(name);
                        continue;
                    }
                    return Err(old_layout(&domains[0]).unwrap_or(error));
                }
            };
            let Some(Content { database, version, end_offset, records }) = found else {
                return Err(Error::Internal { reason: "a manifest was not inspected".into() });
            };
            return Ok(Manifest {
                database,
                version,
                set,
                end_offset,
                next_sequence: records.len() as u64 + 1,
                is_in_doubt: false,
                notes,
                excluded,
                #[cfg(test)]
                before_publish: None,
            });
        }
    }

    /// Rebuilds members that are missing, stale or damaged, and gives each of `further` a member;
    /// `are_all_here` says that no further domain is absent. Notes what it did, and what it could
    /// not do: the others serve.
    pub(crate) fn repair(&mut self, main: &Domain, further: &[Domain], are_all_here: bool) {
        let is_usable = |domain: &&Domain| !self.excluded.iter().any(|name| name == domain.name());
        let further: Vec<Domain> = further.iter().filter(is_usable).cloned().collect();
        let are_all_here = are_all_here && self.excluded.is_empty();
        let notes = members::repair(&mut self.set, SET_NAME, main, &further, are_all_here);
        self.notes.extend(notes);
    }

    /// Returns all records.
    pub(crate) fn records(&self) -> Result<Vec<Record>> {
        inspect(&self.set).map(|(content, _)| content.records)
    }

    /// Removes the member in a further domain that is forgotten; `are_others_here` says that no
    /// other one is absent, so that one that is missing was there. Notes what it could not do.
    pub(crate) fn forget(&mut self, domain: &str, are_others_here: bool) {
        let notes = members::forget(&mut self.set, SET_NAME, domain, are_others_here);
        self.notes.extend(notes);
        self.excluded.retain(|name| name != domain);
    }

    /// Notes which members cannot be used, for a database that is opened read-only.
    pub(crate) fn note_unusable(&mut self, are_all_here: bool) {
        let are_all_here = are_all_here && self.excluded.is_empty();
        self.notes.extend(members::unusable(&self.set, SET_NAME, are_all_here));
    }
}

/// Returns the first further domain with a file that is no member of the set but has the name of
/// one, if that is what opening failed for and the main domain is not like that.
fn first_foreign(domains: &[Domain], error: &Error) -> Option<usize> {
    let is_foreign = |error: &Error| match error {
        Error::Pmem(error) => error.kind() == ErrorKind::Foreign,
        _ => false,
    };
    if !is_foreign(error) {
        return None;
    }
    let opens = |domains: &[Domain]| -> std::result::Result<PoolSet, Stop> {
        PoolSet::open_inspected(SET_NAME, domains, Access::ReadOnly, |set| {
            Ok(inspect(set).map(|(_, verdict)| verdict)?)
        })
    };
    let main = std::slice::from_ref(domains.first()?);
    opens(main).ok()?;
    (1..domains.len()).find(|&position| {
        let both = [domains[0].clone(), domains[position].clone()];
        matches!(opens(&both), Err(Stop::Failed(error)) if is_foreign(&error))
    })
}

/// Checks all good members; returns what the best holds and what is to be done about the others.
///
/// The best is the first of those with the most records. One that is behind without a crash having
/// been in the way is damaged.
fn inspect(set: &PoolSet) -> Result<(Content, Verdict)> {
    let (start, bytes) = (set.data_offset(), set.end_offset() - set.data_offset());
    let mut whole: Vec<(u32, Content)> = Vec::new();
    let mut damaged: Vec<(u32, String)> = Vec::new();
    for (index, condition) in set.member_conditions() {
        if condition != MemberCondition::Good {
            continue;
        }
        let area = set.read_member(index, start, bytes)?;
        if let Some((first, content)) = whole.first() {
            let published = content.end_offset - start;
            if area[..published as usize] == *set.read_member(*first, start, published)? {
                continue;
            }
        }
        match set.check_member(index).map(|()| read_content(area, start)) {
            Ok(Ok(content)) => whole.push((index, content)),
            Ok(Err(Unusable::Damaged(reason))) => damaged.push((index, reason)),
            Ok(Err(Unusable::Version(found))) => {
                let object = name_of(set, index);
                return Err(Error::UnsupportedVersion { object, found, supported: VERSION });
            }
            Err(error) => damaged.push((index, error.to_string())),
        }
    }
    let best = whole.iter().rev().max_by_key(|(_, content)| content.end_offset).cloned();
    let Some((truth, content)) = best else {
        let reason = |(index, reason)| format!("{}: {reason}", name_of(set, index));
        let reasons = damaged.into_iter().map(reason).collect();
        return Err(Error::ManifestDamaged { reasons });
    };
    for (index, other) in &whole {
        let log = |index: u32| {
            let bytes = other.end_offset - start - HEADER_BYTES;
            set.read_member(index, start + HEADER_BYTES, bytes)
        };
        if other.database != content.database || log(*index)? != log(truth)? {
            let (one, other) = (name_of(set, *index), name_of(set, truth));
            let reason = format!("{one} and {other} contradict each other");
            return Err(Error::ManifestDamaged { reasons: vec![reason] });
        }
        if other.end_offset < content.end_offset && !set.is_unclean() {
            let (have, all) = (other.records.len(), content.records.len());
            damaged.push((*index, format!("it holds {have} of {all} records")));
        }
    }
    Ok((content, Verdict { truth: Some(truth), damaged }))
}

/// Says in the manifest's words that no member of a pool set can be used.
fn from_pool_set(error: nacre_pmem::Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::NoReplica | ErrorKind::OutOfRange | ErrorKind::Lost => {
            Error::ManifestDamaged { reasons: vec![error.to_string()] }
        }
        // It got its name when it was whole, so what is empty now was not.
        ErrorKind::Unfinished => {
            let reason = |index| format!("{SET_NAME}.{index} holds nothing");
            Error::ManifestDamaged { reasons: (0..MAIN_COPIES).map(reason).collect() }
        }
        _ => error.into(),
    }
}

/// Returns the error for a manifest of the first version, which was no pool set.
fn old_layout(main: &Domain) -> Option<Error> {
    (0..MAIN_COPIES).find_map(|index| {
        let file_name = format!("{SET_NAME}.{index}");
        let pool = main.open_pool(&file_name, Access::ReadOnly).ok()?;
        let found = header::version_of(pool.read(0, 12).ok()?)?;
        let object = match main.path() {
            Some(path) => path.join(file_name).display().to_string(),
            None => file_name,
        };
        Some(Error::UnsupportedVersion { object, found, supported: VERSION })
    })
}

/// Whether a file is a member of a manifest.
pub(crate) fn is_member_file(file_name: &str) -> bool {
    member_index(SET_NAME, file_name).is_some()
}

/// Whether a file was left over when a database was created and that was cut off.
pub(crate) fn is_unfinished_file(file_name: &str) -> bool {
    member_index(UNFINISHED_SET_NAME, file_name).is_some()
}

/// Removes what is left of a creation that was cut off.
pub(crate) fn remove_unfinished(main: &Domain) -> Result<()> {
    for name in main.list_pools()?.iter().filter(|name| is_unfinished_file(name)) {
        main.remove_pool(name)?;
    }
    Ok(())
}
