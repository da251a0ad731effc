//! Which directory belongs to which domain.
//!
//! Paths are named by people, who swap and repeat them, and links and mounts change between two
//! openings. So no two domains share a directory, a directory with the parts of one domain is not
//! taken for another, and what the manifest names anywhere is never removed as a leftover. Part
//! numbers count up within a load, whatever the domain: the name of a part's file tells whose it
//! is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nacre_pmem::Domain;

use crate::error::Result;
use crate::manifest::{DatabaseId, LoadId, PartRecord};
use crate::part::Part;
use crate::store::MAIN_DOMAIN;

/// Tells a directory from another one that took its name.
pub(crate) type Identity = (u64, u64);

/// The files of all parts that count, by domain.
#[derive(Debug, Default)]
pub(crate) struct LiveParts(BTreeMap<String, BTreeSet<String>>);

impl LiveParts {
    pub(crate) fn add(&mut self, load: LoadId, part: &PartRecord) {
        let files = self.0.entry(part.domain.clone()).or_default();
        files.insert(Part::file_name(load, part.number, part.layout));
    }

    /// Whether the file of a part counts in some domain.
    pub(crate) fn contains(&self, file_name: &str) -> bool {
        self.0.values().any(|files| files.contains(file_name))
    }

    /// Removes the files of parts that count in no domain: they were cut off before they were
    /// published, or were replaced.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn remove_leftovers(&self, domain: &Domain) -> Result<()> {
        for file in domain.list_pools()? {
            if Part::is_file_name(&file) && !self.contains(&file) {
                domain.remove_pool(&file)?;
            }
        }
        Ok(())
    }

    /// Whether a directory has a part of a domain.
    fn are_in(&self, domain: &str, directory: &Path) -> bool {
        let files = self.0.get(domain).into_iter().flatten();
        files.into_iter().any(|file| directory.join(file).exists())
    }
}

/// Where the domains lie, by name.
#[derive(Debug, Default)]
pub(crate) struct Places(BTreeMap<String, Place>);

#[derive(Debug)]
struct Place {
    /// As the user names it.
    path: PathBuf,
    /// The database's own.
    directory: PathBuf,
}

impl Places {
    /// `main` is the directory of the main domain, if it has one; `further` the paths of others.
    pub(crate) fn new<'a>(
        main: Option<&Path>,
        further: impl IntoIterator<Item = (&'a String, &'a PathBuf)>,
        database: DatabaseId,
    ) -> Self {
        let place = |(name, path): (&String, &PathBuf)| {
            let place = Place { path: path.clone(), directory: directory_of(path, database) };
            (name.clone(), place)
        };
        let mut places: BTreeMap<String, Place> = further.into_iter().map(place).collect();
        if let Some(main) = main {
            let place = Place { path: main.to_path_buf(), directory: main.to_path_buf() };
            places.insert(MAIN_DOMAIN.to_owned(), place);
        }
        Self(places)
    }

    /// Says why the place of `name` cannot be its own: one of `others` lies there, or it holds
    /// parts of another domain, which does not have them itself, and none of its own.
    pub(crate) fn problem<'a>(
        &self,
        name: &str,
        others: impl IntoIterator<Item = &'a String>,
        live: &LiveParts,
    ) -> Option<String> {
        let place = self.0.get(name)?;
        let path = place.path.display();
        if let Some(other) = self.sharer(name, others) {
            return Some(format!(
                "{other} lies in {path} already, and each needs a directory of its own"
            ));
        }
        if live.are_in(name, &place.directory) {
            return None;
        }
        let is_owner = |(other, own): &(&String, &Place)| {
            *other != name
                && live.are_in(other, &place.directory)
                && !live.are_in(other, &own.directory)
        };
        let (owner, _) = self.0.iter().find(is_owner)?;
        let mut text = format!("{path} holds the replicas of {}", title(owner));
        if let Some(own) = self.0.values().find(|place| live.are_in(name, &place.directory)) {
            text.push_str(&format!(", those of {} are in {}", title(name), own.path.display()));
        }
        Some(text)
    }

    /// Returns the first of `others` that lies in the directory of `name`.
    fn sharer<'a>(
        &self,
        name: &str,
        others: impl IntoIterator<Item = &'a String>,
    ) -> Option<String> {
        let place = self.0.get(name)?;
        let shares = |other: &&String| {
            let other_place = self.0.get(*other).filter(|_| *other != name);
            other_place.is_some_and(|other| is_same(&place.directory, &other.directory))
        };
        others.into_iter().find(shares).map(|other| title(other))
    }
}

/// Returns how messages name a domain.
fn title(domain: &str) -> String {
    match domain {
        MAIN_DOMAIN => "the database itself".to_owned(),
        name => format!("memory domain \"{name}\""),
    }
}

/// Returns a database's own directory in the path of a domain, which databases may share.
pub(crate) fn directory_of(path: &Path, database: DatabaseId) -> PathBuf {
    path.join(format!("nacre-{database}"))
}

/// Whether two paths lead to one directory, through links too, or would if they were made.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = identity_of(one);
    identity.is_some() && identity == identity_of(other) || resolved(one) == resolved(other)
}

pub(crate) fn identity_of(directory: &Path) -> Option<Identity> {
    fs::metadata(directory).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Resolves the links in that part of a path that is there.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let canonical = path.ancestors().find_map(|ancestor| {
        let rest = path.strip_prefix(ancestor).ok()?;
        // Joining an empty rest would end the path with a slash.
        let base = fs::canonicalize(ancestor).ok()?;
        Some(if rest.as_os_str().is_empty() { base } else { base.join(rest) })
    });
    canonical.unwrap_or(path)
}
