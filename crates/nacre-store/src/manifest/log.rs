//! The manifest's log: one mapped pool per replica, appended to and published together.
//!
//! An append (1) writes the record behind the published end in every replica, (2) makes it
//! durable in every replica, (3) publishes it in each by one 8-byte store. A crash before (3)
//! leaves bytes that nobody reads; a crash between two publishes leaves one replica a record
//! ahead, which opening evens out.
//!
//! # Invariants
//! 1. Everything a record names is durable before the record is appended.
//! 2. Bytes below the published end never change.
//! 3. Sequence numbers are 1, 2, 3, ... without gaps.
//! # Durability
//! `append` returns once the record is published durably in every healthy replica.
//! # Concurrency
//! One writer: `append` takes `&mut self`; the store holds the manifest behind a mutex.

use nacre_pmem::{Access, Pool};

use super::record::Record;
use super::replica::{self, Place, Replica};
use crate::error::{Error, Result};

/// Bytes before the first record.
pub(crate) const HEADER_BYTES: u64 = 128;

/// Where the published end lies.
pub(crate) const PUBLISHED_OFFSET: u64 = 64;

/// First size of a replica, enough for about 500 loads; it doubles when full.
const INITIAL_BYTES: u64 = 64 << 10;

/// Identifies a database; every pool of it carries the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseId(pub(crate) [u8; 16]);

impl std::fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An open manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    database: DatabaseId,
    created_micros: u64,
    replicas: Vec<(Place, Pool)>,
    end_offset: u64,
    next_sequence: u64,
    /// Set when publishing failed in every replica; `replicas` is empty then.
    is_in_doubt: bool,
}

/// What opening found: the manifest, its records in order, and what was repaired or is missing.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) manifest: Manifest,
    pub(crate) records: Vec<Record>,
    pub(crate) notes: Vec<String>,
}

impl Manifest {
    /// Creates an empty manifest in all `places`.
    pub(crate) fn create(
        database: DatabaseId,
        created_micros: u64,
        places: &[Place],
    ) -> Result<Self> {
        let log = [];
        let replicas = places
            .iter()
            .map(|place| {
                let pool = replica::create(place, database, created_micros, &log, INITIAL_BYTES)?;
                Ok((place.clone(), pool))
            })
            .collect::<Result<Vec<_>>>()?;
        let end_offset = HEADER_BYTES;
        Ok(Self {
            database,
            created_micros,
            replicas,
            end_offset,
            next_sequence: 1,
            is_in_doubt: false,
        })
    }

    /// Opens the replicas at `places` and rebuilds those that are missing, behind or damaged.
    ///
    /// With `access` read-only nothing is rebuilt, only noted.
    ///
    /// # Errors
    /// [`Error::ManifestDamaged`] if no replica is whole or two whole ones contradict each other.
    /// Published bytes that are gone are never skipped: that would lose a committed change
    /// without a word.
    pub(crate) fn open(places: &[Place], access: Access) -> Result<Opened> {
        let mut whole: Vec<Replica> = Vec::new();
        let mut broken: Vec<(Place, String)> = Vec::new();
        for place in places {
            match replica::read(place, access) {
                Ok(replica) => whole.push(replica),
                Err(error @ Error::UnsupportedVersion { .. }) => return Err(error),
                Err(error) => broken.push((place.clone(), error.to_string())),
            }
        }
        // The first of the longest replicas: the order of places breaks ties.
        whole.sort_by_key(|replica| std::cmp::Reverse(replica.end_offset));
        let mut whole = whole.into_iter();
        let Some(best) = whole.next() else {
            let reasons = broken.into_iter().map(|(_, reason)| reason).collect();
            return Err(Error::ManifestDamaged { reasons });
        };
        let log = best.log()?.to_vec();
        let mut level = Vec::new();
        for replica in whole {
            if replica.database != best.database || !log.starts_with(replica.log()?) {
                let reason = format!("{} and {} contradict each other", replica.place, best.place);
                return Err(Error::ManifestDamaged { reasons: vec![reason] });
            }
            if replica.end_offset == best.end_offset {
                level.push((replica.place, replica.pool));
            } else {
                let reason = format!("{} is behind by a crash", replica.place);
                broken.push((replica.place, reason));
            }
        }
        let mut manifest = Self {
            database: best.database,
            created_micros: best.created_micros,
            end_offset: best.end_offset,
            next_sequence: best.records.len() as u64 + 1,
            replicas: vec![(best.place, best.pool)],
            is_in_doubt: false,
        };
        manifest.replicas.append(&mut level);
        let records = best.records;
        let notes = broken
            .into_iter()
            .map(|(place, reason)| manifest.rebuild(place, &reason, &log, access))
            .collect();
        Ok(Opened { manifest, records, notes })
    }

    /// Returns the id of the database.
    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    /// Adds a replica at `place`.
    pub(crate) fn add_replica(&mut self, place: Place) -> Result<()> {
        let (_, source) = &self.replicas[0];
        let log = source.read(HEADER_BYTES, self.end_offset - HEADER_BYTES)?.to_vec();
        let bytes = source.bytes();
        let pool = replica::create(&place, self.database, self.created_micros, &log, bytes)?;
        self.replicas.push((place, pool));
        Ok(())
    }

    /// Appends `record` and publishes it; everything it names must be durable.
    ///
    /// # Errors
    /// No space or an I/O failure before the record is published: nothing has changed. If
    /// publishing itself fails in every replica, the record may or may not be there after a
    /// restart; [`Manifest::is_in_doubt`] tells, and no further record is taken.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        if self.is_in_doubt {
            let reason = "an earlier write to it failed; open the database again".into();
            return Err(Error::ManifestDamaged { reasons: vec![reason] });
        }
        let bytes = record.to_bytes(self.next_sequence);
        let end_offset = self.end_offset + bytes.len() as u64;
        for (_, pool) in &mut self.replicas {
            while pool.bytes() < end_offset {
                pool.grow(pool.bytes().saturating_mul(2).max(INITIAL_BYTES))?;
            }
        }
        for (_, pool) in &mut self.replicas {
            pool.write(self.end_offset, &bytes)?;
            // PERSIST: the record is durable in this replica before any replica publishes it.
            pool.persist(self.end_offset, bytes.len() as u64)?;
        }
        let mut failure = None;
        self.replicas.retain_mut(|(_, pool)| {
            // PERSIST: the record is durable in all replicas (loop above); this 8-byte store
            // makes it reachable.
            match pool.publish_u64(PUBLISHED_OFFSET, end_offset) {
                Ok(()) => true,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        });
        // One replica that has the record is enough: opening evens out the others.
        if let (true, Some(error)) = (self.replicas.is_empty(), failure) {
            self.is_in_doubt = true;
            return Err(error.into());
        }
        self.end_offset = end_offset;
        self.next_sequence += 1;
        Ok(())
    }

    /// Tells whether the last record may or may not have been published.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Writes the replica at `place` anew from `log`; returns what to tell the user.
    fn rebuild(&mut self, place: Place, reason: &str, log: &[u8], access: Access) -> String {
        if access == Access::ReadOnly {
            return format!("manifest replica not used: {reason}");
        }
        let bytes = self.replicas[0].1.bytes();
        match replica::create(&place, self.database, self.created_micros, log, bytes) {
            Ok(pool) => {
                self.replicas.push((place, pool));
                format!("manifest replica rebuilt from another one: {reason}")
            }
            Err(error) => format!("manifest replica could not be rebuilt: {reason}; {error}"),
        }
    }
}
