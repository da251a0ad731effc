//! Verifies every byte of every replica.
//!
//! # Source
//! Scrubbing finds latent damage before a second one makes it a loss; the papers leave it open.

use std::ops::ControlFlow;

use super::rebuild::Job;
use super::report::{LostReplica, Progress, ScrubReport};
use crate::error::Result;
use crate::part::{BlockState, MappedPart};
use crate::store::Store;

impl Store {
    /// Verifies the checksums of all replicas of all blocks, also of those that were verified
    /// before, and of the manifest's replicas. What is bad is not read again and left to repair;
    /// readers and loads go on meanwhile. `progress` is called after every block and may break
    /// it off.
    ///
    /// # Errors
    /// None so far; what is damaged is in the report.
    pub fn scrub(
        &self,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<ScrubReport> {
        let mut report = ScrubReport::default();
        let jobs = self.jobs();
        let total_bytes = jobs.iter().map(|job| job.load.pool_bytes()).sum();
        let mut state = Progress { done_bytes: 0, total_bytes };
        for (object, problems) in
            [("manifest", self.scrub_manifest()), ("redo log", self.scrub_redo())]
        {
            report.lost.extend(problems.into_iter().map(|reason| LostReplica {
                table: None,
                object: object.into(),
                replica: None,
                domain: None,
                reason,
                has_source: true,
            }));
        }
        for job in &jobs {
            let Ok(open) = job.load.open() else {
                report.lost.extend(self.losses(job));
                continue;
            };
            for part in &open.parts {
                for slot in 0..part.slots.len() {
                    verify(job, part, slot);
                    let bytes = part.slots[slot].entry.bytes;
                    report.blocks += 1;
                    report.bytes += bytes;
                    state.done_bytes = (state.done_bytes + bytes).min(total_bytes);
                    if progress(&state).is_break() {
                        return Ok(report);
                    }
                }
            }
            let losses = self.losses(job);
            if !losses.is_empty() {
                job.load.set_needs_care(true);
                job.table.wake();
            }
            report.lost.extend(losses);
        }
        Ok(report)
    }
}

/// Verifies one block and notes it if it is lost.
pub(super) fn verify(job: &Job, part: &MappedPart, slot: usize) {
    let block = &part.slots[slot];
    if block.state() == BlockState::Lost {
        return;
    }
    let entry = &block.entry;
    let column_type = job.table.column_type(usize::from(entry.column));
    let rows = part.rows_of(slot);
    let verified = part.verify(slot, column_type, rows);
    // A checksum over lost bytes says nothing about those on media.
    let range = part.pool().check_range(entry.offset, entry.bytes);
    match (range, verified) {
        (Err(error), _) => part.mark_lost(slot, error.to_string()),
        (Ok(()), Err(reason)) => part.mark_lost(slot, reason),
        (Ok(()), Ok(())) => {}
    }
}
