//! Goes through the loads and does what they need.
//!
//! # Concurrency
//! One unit of maintenance runs at a time; loads, readers and definitions go on meanwhile.

use std::ops::ControlFlow;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tracing::info;

use super::needs::{Needs, is_unbuilt};
use super::rebuild::{Done, Job, rebuild};
use super::report::{LostReplica, Progress, RepairReport};
use crate::error::{Error, Result};
use crate::store::Store;

impl Store {
    /// Does one unit of background work, if there is any: fills indexes after a restart, freezes
    /// chunks that are full and cold, truncates the redo log when it has grown
    /// (`OpenOptions::checkpoint_bytes`), writes the files of hybrid indexes, adds frozen rows that
    /// are looked for often to other ones, rebuilds lost replicas and those in DRAM, converts
    /// replicas to what the policies say, and moves rows of loads with few rows left, so that these
    /// can go. Safe beside readers and loads. A domain that is there again is used again; one that
    /// was replaced by an empty one only by [`Store::repair`].
    ///
    /// # Errors
    /// No space, I/O, if nothing else is left to do: what could be done was done, and nothing is
    /// half changed. The next call begins behind the load that failed.
    pub fn maintain_step(&self) -> Result<Progress> {
        self.require_writable()?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        self.look_for_domains(false);
        self.flush_redo()?;
        let mut failure = None;
        for step in [Self::fill_step, Self::freeze_step, Self::run_step, Self::index_step] {
            match step(self) {
                Ok(progress) if progress.is_idle() => {}
                Ok(progress) => return Ok(progress),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        if let Err(error) = self.archive_if_due() {
            failure.get_or_insert(error);
        }
        let mut jobs = self.jobs();
        // After a failure the next call begins behind it.
        let from = self.next_job(0) % jobs.len().max(1);
        jobs.rotate_left(from);
        let mut failed = 0;
        let mut progress = Progress::default();
        for (number, job) in jobs.into_iter().enumerate() {
            // ORDERING: pairs with the release stores of whoever finds a reason; what they found is
            // seen below.
            if !job.load.needs_care().swap(false, Ordering::AcqRel) {
                continue;
            }
            if self.is_closing() {
                job.load.set_needs_care(true);
                break;
            }
            let (total_bytes, done) = self.care_for(&job, self.running_loads().have_priority())?;
            if let Some(error) = done.failure {
                failure.get_or_insert(error);
                failed = number + 1;
            } else if done.bytes > 0 || done.has_more {
                let total_bytes = total_bytes.max(1);
                progress = Progress { done_bytes: done.bytes, total_bytes };
                break;
            }
        }
        self.next_job(failed);
        if progress.is_idle() {
            match self.compact_step() {
                Ok(compacted) => progress = compacted,
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        match failure.filter(|_| progress.is_idle()) {
            Some(error) => Err(error),
            None => Ok(progress),
        }
    }

    /// Whether [`Store::maintain_step`] may have something to do.
    pub fn has_work(&self) -> bool {
        // ORDERING: pairs with the release stores of whoever finds a reason.
        let mut jobs = self.jobs().into_iter();
        self.has_unflushed_commits()
            || self.is_fill_due()
            || self.is_freeze_due()
            || self.is_run_due()
            || self.is_index_due()
            || self.is_archive_due()
            || self.is_compaction_due()
            || jobs.any(|job| job.load.needs_care().load(Ordering::Acquire))
    }

    /// Brings everything to the state that the policies ask for: takes in domains that are there
    /// again, also empty ones in the place of lost ones, rebuilds the manifest's replicas and all
    /// lost or missing blocks, and converts what is not as the policies say. `progress` is called
    /// after every unit and may break it off.
    ///
    /// # Errors
    /// [`crate::Error::ReadOnly`], and those of the manifest; what was repaired before stays
    /// repaired. A load that fails, such as for want of space, does not keep others from being
    /// repaired: why is in the report.
    pub fn repair(
        &self,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        self.require_writable()?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        self.look_for_domains(true);
        self.repair_manifest();
        self.repair_redo();
        let mut report = RepairReport::default();
        let mut state = Progress::default();
        let jobs = self.jobs();
        for job in &jobs {
            if let Ok(open) = job.load.open() {
                let needs = Needs::of(&job.table, &job.load, &open, self.all_domains());
                state.total_bytes += needs.possible().map(|need| need.bytes).sum::<u64>();
            }
        }
        for job in &jobs {
            loop {
                let (_, done) = self.care_for(job, false)?;
                report.blocks += done.blocks;
                report.bytes += done.bytes;
                state.done_bytes += done.bytes;
                state.total_bytes = state.total_bytes.max(state.done_bytes);
                // What another domain takes goes on.
                let has_moved = done.failure.is_none() || done.blocks > 0;
                let goes_on = done.has_more && has_moved && !self.is_closing();
                if let Some(error) = done.failure {
                    report.note_failure(&job.table.names().table(), error);
                }
                if progress(&state).is_break() {
                    return Ok(report);
                }
                if !goes_on {
                    break;
                }
            }
            report.lost.extend(self.losses(job));
        }
        Ok(report)
    }

    /// Meets some needs of a load; returns about how many bytes it needed and what was done.
    /// Conversions are left to a later call if `conversions_wait`.
    fn care_for(&self, job: &Job, conversions_wait: bool) -> Result<(u64, Done)> {
        let Ok(open) = job.load.open() else {
            // No part tells what the load is: `losses` reports it.
            return Ok((0, Done::default()));
        };
        let mut needs = Needs::of(&job.table, &job.load, &open, self.all_domains());
        if conversions_wait && needs.leave_conversions() {
            job.load.set_needs_care(true);
        }
        let bytes = needs.possible().map(|need| need.bytes).sum();
        let done = rebuild(self, job, &open, &needs);
        match &done {
            Ok(Done { blocks, bytes, failure: None, .. }) if *blocks > 0 => {
                let (table, blocks, bytes) = (job.table.names().table(), *blocks, *bytes);
                info!(table, blocks, bytes, "wrote replicas that the policies ask for");
            }
            _ => {}
        }
        // What is left is tried again; a block without a source is not, until something changes.
        if !matches!(&done, Ok(done) if !done.has_more && done.failure.is_none()) {
            job.load.set_needs_care(true);
        }
        Ok((bytes, done?))
    }

    /// Returns what a load still lacks, but for what is to be converted or built in DRAM.
    pub(super) fn losses(&self, job: &Job) -> Vec<LostReplica> {
        let open = match job.load.open() {
            Ok(open) => open,
            Err(error) => {
                let table = job.table.names().table();
                let (object, reason) = (format!("table \"{table}\""), error.to_string());
                let domain = match error {
                    Error::LoadDamaged { missing, .. } => missing.into_iter().next(),
                    _ => None,
                };
                let (table, replica, has_source) = (Some(table), None, false);
                return vec![LostReplica { table, object, replica, domain, reason, has_source }];
            }
        };
        let needs = Needs::of(&job.table, &job.load, &open, self.all_domains());
        let is_loss = |need: &&super::needs::Need| {
            need.cause == nacre_column::replicated::WearCause::Repair && !is_unbuilt(need, &needs)
        };
        let lost = needs.needs.iter().filter(is_loss).map(|need| {
            let number = job.first_chunk + need.chunk as u64;
            let domain = &needs.targets[need.column][usize::from(need.replica)].domain;
            LostReplica {
                table: Some(job.table.names().table()),
                object: job.table.names().object(need.column, number),
                replica: Some(need.replica),
                domain: Some(domain.clone()),
                reason: need.reason.clone(),
                has_source: open.has_good(need.chunk, need.column),
            }
        });
        lost.collect()
    }

    /// Returns all loads of all tables.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for table in self.listed_tables() {
            let mut first_chunk = 0;
            for load in table.loads().iter() {
                let (table, load) = (table.clone(), load.clone());
                let chunks = u64::from(load.chunk_count());
                jobs.push(Job { table, load, first_chunk });
                first_chunk += chunks;
            }
        }
        jobs
    }
}
