//! Letting go of a further memory domain.
//!
//! 1. Refused while a policy names it, or it has the only good replica of a block: every other
//!    replica of what it has is verified.
//! 2. The parts in it are given up, so that maintenance puts their replicas elsewhere.
//! 3. A record takes its name out of the database, and its manifest replica goes.

use std::sync::PoisonError;

use super::rebuild::Job;
use super::scrub::verify;
use crate::domains::DRAM_DOMAIN;
use crate::error::{Error, Result};
use crate::manifest::PartsChange;
use crate::part::BlockState;
use crate::store::{MAIN_DOMAIN, Store};

impl Store {
    /// Forgets a further memory domain, there or not; [`Store::repair`] restores what the policies
    /// say with those that remain.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if there is no such domain, policies name it, or it has the
    /// only good replica of a block; [`Error::ReadOnly`], no space, I/O.
    pub fn forget_domain(&self, name: &str) -> Result<()> {
        self.require_writable()?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        if name == MAIN_DOMAIN || !self.all_domains().is_known(name) {
            return Err(refusal(name, "the database has no further memory domain of that name"));
        }
        self.check_unnamed(name)?;
        let jobs = self.jobs();
        for job in &jobs {
            check_elsewhere(job, name)?;
        }
        for job in &jobs {
            let removed = parts_in(job, name);
            if !removed.is_empty() {
                let change = PartsChange { added: Vec::new(), removed };
                self.publish_parts(&job.table, &job.load, &change)?;
                job.load.set_needs_care(true);
            }
        }
        self.record_forgotten(name)
    }

    /// Refuses if policies name a domain, and lists them.
    pub(crate) fn check_unnamed(&self, name: &str) -> Result<()> {
        let tables = self.listed_tables().into_iter().map(|table| table.schema());
        let naming: Vec<String> = tables
            .filter(|schema| schema.named_domains().contains(&name))
            .map(|schema| format!("\"{}\"", schema.name))
            .collect();
        match naming.is_empty() {
            true => Ok(()),
            false => {
                let tables = naming.join(", ");
                Err(refusal(name, &format!("replica policies name it, of these tables: {tables}")))
            }
        }
    }
}

fn refusal(name: &str, reason: &str) -> Error {
    let reason = format!("memory domain \"{name}\" cannot be forgotten: {reason}");
    Error::InvalidDefinition { reason }
}

/// Returns the numbers of the parts of a load in a domain.
fn parts_in(job: &Job, name: &str) -> Vec<u32> {
    let parts = job.load.parts();
    let here = parts.iter().map(|part| part.record()).filter(|record| record.domain == name);
    here.map(|record| record.number).collect()
}

/// Refuses if a block of a load has no good replica outside of a domain where it has one.
fn check_elsewhere(job: &Job, name: &str) -> Result<()> {
    if parts_in(job, name).is_empty() {
        return Ok(());
    }
    let open = job.load.open()?;
    for chunk in 0..open.chunks.len() {
        for column in 0..job.table.schema().columns.len() {
            let is_good = open.places(chunk, column).iter().any(|place| {
                let (part, slot) = (&open.parts[place.part as usize], place.slot as usize);
                if part.domain == name || part.domain == DRAM_DOMAIN {
                    return false;
                }
                verify(job, part, slot);
                part.slots[slot].state() != BlockState::Lost
            });
            if !is_good {
                let block = job.table.names().object(column, job.first_chunk + chunk as u64);
                return Err(refusal(
                    name,
                    &format!("it may have the only good replica of {block}"),
                ));
            }
        }
    }
    Ok(())
}
