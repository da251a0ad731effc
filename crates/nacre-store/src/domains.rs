//! The memory domains of a database: those it knows, and those that are there now.
//!
//! A further domain may be missing when the database is opened, disappear later, and come back or
//! be replaced by an empty one: the database goes on with what remains, and [`Domains::refresh`]
//! looks again. Besides those with a name in the manifest there is one in DRAM, for replicas that
//! are rebuilt after a restart.
//!
//! # Invariants
//! 1. A name that is known stays known while the database is open, unless the user forgets it.
//! # Concurrency
//! All calls may come from any thread.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, PoisonError, RwLock};

use nacre_column::Place;
use nacre_column::{FormatChoice, ReplicaPolicy};
use nacre_pmem::{Access, Domain};

use crate::manifest::DatabaseId;
use crate::places::{Identity, LiveParts, Places, identity_of};
use crate::store::MAIN_DOMAIN;

/// Name of the domain that is plain DRAM, and of the place that a policy means by it.
pub(crate) const DRAM_DOMAIN: &str = "dram";

/// How many readers a domain has, alone in its cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Readers(pub(crate) AtomicU32);

/// Where one replica is to be, and in which format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) domain: String,
    pub(crate) format: FormatChoice,
}

/// All domains of one database.
#[derive(Debug)]
pub(crate) struct Domains {
    access: Access,
    known: RwLock<BTreeMap<String, Known>>,
    dram: Reachable,
}

/// A domain that is there.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    pub(crate) domain: Domain,
    pub(crate) readers: Arc<Readers>,
}

#[derive(Debug)]
struct Known {
    /// Path that the manifest has, and the database's own directory in it; `None` for the main
    /// domain, which is locked while the database is open.
    place: Option<(PathBuf, PathBuf)>,
    state: Result<(Reachable, Option<Identity>), String>,
}

/// What looking again found.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Domains that are there again, maybe empty.
    pub(crate) returned: Vec<Domain>,
    /// What to tell the user.
    pub(crate) notes: Vec<String>,
}

impl Domains {
    /// Begins with the main domain.
    pub(crate) fn new(main: Domain) -> Self {
        let access = main.access();
        let reachable = Reachable { domain: main, readers: Arc::default() };
        let main = Known { place: None, state: Ok((reachable, None)) };
        let dram = Reachable { domain: Domain::dram(DRAM_DOMAIN), readers: Arc::default() };
        Self { access, known: RwLock::new([(MAIN_DOMAIN.to_owned(), main)].into()), dram }
    }

    /// Adds a further domain: it lies in `directory` of `path` and was opened, or could not be.
    pub(crate) fn add(
        &self,
        name: &str,
        path: &Path,
        directory: &Path,
        opened: Result<Domain, String>,
    ) {
        let place = Some((path.to_path_buf(), directory.to_path_buf()));
        let state = opened
            .map(|domain| (Reachable { domain, readers: Arc::default() }, identity_of(directory)));
        self.write().insert(name.to_owned(), Known { place, state });
    }

    /// Takes a further domain out.
    pub(crate) fn forget(&self, name: &str) {
        self.write().remove(name);
    }

    /// Returns the domain called `name` if it is there, or why not.
    pub(crate) fn get(&self, name: &str) -> Result<Reachable, String> {
        if name == DRAM_DOMAIN {
            return Ok(self.dram.clone());
        }
        match self.read().get(name) {
            Some(Known { state: Ok((reachable, _)), .. }) => Ok(reachable.clone()),
            Some(Known { state: Err(problem), .. }) => Err(problem.clone()),
            None => Err(format!("memory domain \"{name}\" is not known")),
        }
    }

    /// Whether a domain of that name belongs to the database, there or not.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// Returns the domains that are there, `main` first.
    pub(crate) fn reachable(&self) -> Vec<Domain> {
        let known = self.read();
        let get = |name: &String| known[name].state.as_ref().ok().map(|(r, _)| r.domain.clone());
        ordered(&known).iter().filter_map(get).collect()
    }

    /// Returns the names of further domains that are not there.
    pub(crate) fn missing(&self) -> Vec<String> {
        let known = self.read();
        let missing = known.iter().filter(|(_, known)| known.state.is_err());
        missing.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the path of a further domain, there or not.
    pub(crate) fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.read().get(name)?.place.as_ref().map(|(path, _)| path.clone())
    }

    /// Says for each replica of a policy where it is to be. A replica that may be anywhere goes
    /// where no other one is, as long as there are domains; missing ones count, since they are
    /// expected back.
    pub(crate) fn targets(&self, policy: &ReplicaPolicy) -> Vec<Target> {
        let order = ordered(&self.read());
        let replicas = policy.replicas();
        let mut taken: Vec<&str> = replicas
            .iter()
            .filter_map(|replica| match &replica.place {
                Place::Domain(name) => Some(name.as_str()),
                Place::Any | Place::Dram => None,
            })
            .collect();
        let mut targets = Vec::with_capacity(replicas.len());
        for (number, replica) in replicas.iter().enumerate() {
            let domain = match &replica.place {
                Place::Dram => DRAM_DOMAIN,
                Place::Domain(name) => name,
                Place::Any => {
                    let from = |step: usize| order[(number + step) % order.len()].as_str();
                    let free = (0..order.len()).map(from).find(|name| !taken.contains(name));
                    let name = free.unwrap_or_else(|| from(0));
                    taken.push(name);
                    name
                }
            };
            targets.push(Target { domain: domain.to_owned(), format: replica.format });
        }
        targets
    }

    /// Looks whether missing domains are there again and others have gone. With `replaces` a path
    /// that is an empty directory counts as a domain that was replaced. From a domain that is there
    /// again leftovers are removed before anybody uses it; `live` says what counts.
    pub(crate) fn refresh(
        &self,
        replaces: bool,
        database: DatabaseId,
        live: impl Fn() -> LiveParts,
    ) -> Changes {
        let mut changes = Changes::default();
        let further: Vec<(String, PathBuf, PathBuf, Option<Option<Identity>>)> = self
            .read()
            .iter()
            .filter_map(|(name, known)| {
                let (path, directory) = known.place.clone()?;
                let identity = known.state.as_ref().ok().map(|(_, identity)| *identity);
                Some((name.clone(), path, directory, identity))
            })
            .collect();
        for (name, path, directory, identity) in &further {
            let (is_known_here, found) = (identity.is_some(), identity_of(directory));
            if identity.is_some_and(|identity| identity == found) {
                continue;
            }
            let opened = match self.access {
                Access::ReadWrite
                    if replaces && !directory.exists() && is_empty_directory(path) =>
                {
                    Domain::create(name, directory)
                }
                access => Domain::open(name, directory, access),
            };
            let paths = further.iter().map(|(name, path, ..)| (name, path));
            let admitted = opened.map_err(|error| error.to_string()).and_then(|domain| {
                self.admit(&domain, paths, database, &live())?;
                Ok(domain)
            });
            let state = match admitted {
                Ok(domain) => {
                    changes.notes.push(format!("memory domain \"{name}\" is there again"));
                    changes.returned.push(domain.clone());
                    let reachable = Reachable { domain, readers: Arc::default() };
                    Ok((reachable, identity_of(directory)))
                }
                Err(problem) => {
                    if is_known_here {
                        changes
                            .notes
                            .push(format!("memory domain \"{name}\" is missing: {problem}"));
                    }
                    Err(problem)
                }
            };
            if let Some(known) = self.write().get_mut(name) {
                known.state = state;
            }
        }
        changes
    }

    /// Refuses a domain whose directory is that of another one, and removes its leftovers.
    fn admit<'a>(
        &self,
        domain: &Domain,
        paths: impl Iterator<Item = (&'a String, &'a PathBuf)>,
        database: DatabaseId,
        live: &LiveParts,
    ) -> Result<(), String> {
        let reachable = self.reachable();
        let main = reachable.first().and_then(Domain::path);
        let places = Places::new(main, paths, database);
        let others: Vec<String> = reachable.iter().map(|domain| domain.name().to_owned()).collect();
        if let Some(problem) = places.problem(domain.name(), &others, live) {
            return Err(problem);
        }
        if self.access == Access::ReadWrite {
            // What stays is removed when the database is next opened for writing.
            let _ = live.remove_leftovers(domain);
        }
        Ok(())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns all names, `main` first.
fn ordered(known: &BTreeMap<String, Known>) -> Vec<String> {
    let further = known.keys().filter(|name| *name != MAIN_DOMAIN).cloned();
    std::iter::once(MAIN_DOMAIN.to_owned()).chain(further).collect()
}

/// Whether `path` is a directory with nothing in it but what other databases keep there, as a new
/// device has.
pub(crate) fn is_empty_directory(path: &Path) -> bool {
    let is_of_others =
        |name: &OsStr| name == "lost+found" || name.to_string_lossy().starts_with("nacre-");
    fs::read_dir(path)
        .is_ok_and(|entries| entries.flatten().all(|entry| is_of_others(&entry.file_name())))
}
