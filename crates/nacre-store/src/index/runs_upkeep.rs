//! Writes the runs of hybrid indexes.
//!
//! 1. Loads that no run covers get one: all that are there, up to about a million rows or one load.
//! 2. Runs all of whose loads are gone go; of those that lost half of their entries, and of
//!    [`JOINED_AT_ONCE`] of about the same size, one is made, so that a search looks into few.
//! 3. Runs that are lost leave the manifest with the next change.
//!
//! # Invariants
//! 1. A run is published only if its index and all its loads are still there.
//! 2. Nothing depends on it: what is not covered is searched, and gets entries in DRAM
//!    (`searched.rs`).
//! # Concurrency
//! The caller holds the maintenance lock.

use std::sync::Arc;

use nacre_column::replicated::WearCause;

use super::TableIndex;
use super::run::{
    Joined, LOADS_MAX, Run, RunId, RunOwner, RunRecord, Workshop, build, join, run_file_name,
};
use super::runs::LiveRun;
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::maintenance::Progress;
use crate::manifest::{LoadId, Record};
use crate::store::{MAIN_DOMAIN, Store};
use crate::stored_load::StoredLoad;
use crate::table::Table;

/// Rows of loads that get a run together.
const ROWS_AT_ONCE: u64 = 1 << 20;

/// Runs of about one size of which one is made.
const JOINED_AT_ONCE: usize = 4;

/// Entries of a run that is large enough: to make a larger one would take maintenance too long.
const ENTRIES_MAX: u64 = 32 << 20;

/// What is to be done for an index.
#[derive(Debug)]
enum Plan {
    Cover(Vec<Arc<StoredLoad>>),
    Join(Vec<Arc<Run>>),
    /// To take out what no reader needs, and what is lost.
    Drop(Vec<RunId>),
}

impl Store {
    /// Writes a run for an index that needs one, if there is one.
    ///
    /// # Errors
    /// That of a damaged block; no space, I/O: the next call tries again.
    pub(crate) fn run_step(&self) -> Result<Progress> {
        let Some((table, index, plan)) = self.next_plan() else {
            return Ok(Progress::default());
        };
        let entries = self.carry_out(&table, &index, plan)?;
        let bytes = entries * size_of::<RowId>() as u64;
        Ok(Progress { done_bytes: bytes, total_bytes: bytes.max(1) })
    }

    /// Whether [`Store::run_step`] has something to do.
    pub(crate) fn is_run_due(&self) -> bool {
        self.next_plan().is_some()
    }

    /// Writes runs for the loads of a table that have none, unless maintenance is at work: then
    /// that does it. So it does if this fails, and knows why.
    pub(crate) fn cover_loads(&self, table: &Arc<Table>) {
        if !table.table_indexes().has_hybrid() {
            return;
        }
        if let Ok(_turn) = self.maintenance_lock().try_lock() {
            self.cover_listed(table);
        }
        self.wake();
    }

    /// As [`Store::cover_loads`]; the caller holds the maintenance lock.
    pub(crate) fn cover_listed(&self, table: &Arc<Table>) {
        for index in table.indexes() {
            while self.may_have_runs(table)
                && let Some(loads) = index.uncovered(table)
            {
                if !matches!(self.carry_out(table, &index, Plan::Cover(loads)), Ok(1..)) {
                    return;
                }
            }
        }
    }

    /// Whether records of runs are for everybody: a volatile database has no next opening, and what
    /// nobody sees yet is not in the manifest.
    fn may_have_runs(&self, table: &Arc<Table>) -> bool {
        let is_it = |listed: &Arc<Table>| Arc::ptr_eq(listed, table);
        self.is_durable() && !self.is_closing() && self.listed_tables().iter().any(is_it)
    }

    fn next_plan(&self) -> Option<(Arc<Table>, Arc<TableIndex>, Plan)> {
        if !self.is_durable() || self.is_closing() {
            return None;
        }
        self.listed_tables().into_iter().find_map(|table| {
            let planned = |index: Arc<TableIndex>| index.plan(&table).map(|plan| (index, plan));
            let (index, plan) = table.indexes().into_iter().find_map(planned)?;
            Some((table, index, plan))
        })
    }

    /// Returns how many entries were written; 1 at least if something was changed.
    fn carry_out(&self, table: &Arc<Table>, index: &Arc<TableIndex>, plan: Plan) -> Result<u64> {
        let Some(there) = self.domain(MAIN_DOMAIN) else {
            return Ok(0);
        };
        let workshop = Workshop {
            owner: RunOwner { database: self.database(), table: table.id() },
            domain: there,
            domains: self.all_domains(),
            take_id: &|| self.take_run_id(),
            goes_on: &|| !self.is_closing() && !table.is_dropped(),
            lot_entries: Workshop::LOT_ENTRIES,
        };
        let (columns, shape) = (index.key(), index.key().shape());
        let (record, removed) = match plan {
            Plan::Drop(removed) => (None, removed),
            Plan::Cover(loads) => match build(&workshop, table, (columns, shape), &loads)? {
                Some(record) => (Some(record), Vec::new()),
                None => return Ok(0),
            },
            Plan::Join(runs) => {
                let ids = runs.iter().map(|run| run.record().run).collect();
                match join(&workshop, table, &runs, &loads_of(table, &runs), shape)? {
                    Joined::Whole(record) => (Some(record), ids),
                    Joined::Ended => return Ok(0),
                    Joined::Damaged(at) => {
                        runs.get(at).iter().for_each(|run| index.lose_run(run));
                        return Ok(1);
                    }
                }
            }
        };
        let entries = record.as_ref().map_or(1, |record| record.entries().max(1));
        let is_published = self.publish_run(table, index, record, removed)?;
        Ok(if is_published { entries } else { 0 })
    }

    /// Records a run, which is durable, and which others it replaces, and has readers use it. One
    /// whose index or loads are gone meanwhile goes: then it returns `false`.
    fn publish_run(
        &self,
        table: &Arc<Table>,
        index: &Arc<TableIndex>,
        record: Option<RunRecord>,
        mut removed: Vec<RunId>,
    ) -> Result<bool> {
        let (_, lost) = index.all_runs();
        removed.extend(&lost);
        let owner = RunOwner { database: self.database(), table: table.id() };
        let bytes = record.as_ref().map_or(0, |record| record.pool_bytes);
        let run = record.map(|record| Arc::new(Run::new(owner, record, self.all_domains())));
        // Until it is published its file is for nobody.
        run.iter().for_each(|run| run.doom());
        let check = || {
            let loads = table.loads();
            let is_there = |id: LoadId| loads.iter().any(|load| load.id() == id);
            let covered = run.iter().flat_map(|run| &run.record().loads);
            let is_listed = self.may_have_runs(table)
                && table.indexes().iter().any(|listed| Arc::ptr_eq(listed, index));
            if table.is_dropped() || !is_listed || !covered.clone().all(|(id, _)| is_there(*id)) {
                let reason = format!("index \"{}\" changed", index.definition().name);
                let table = table.schema().name.clone();
                return Err(Error::SerializationConflict { table, reason });
            }
            Ok(vec![Record::IndexRuns {
                table: table.id(),
                index: index.definition().name.clone(),
                added: run.as_ref().map(|run| run.record().clone()),
                removed: removed.clone(),
            }])
        };
        let published = self.record(check, || {
            run.iter().for_each(|run| run.keep());
            index.change_runs(run.as_ref(), &removed);
            self.remove_runs(&lost);
        });
        match published {
            Ok(()) => {
                self.count_wear(MAIN_DOMAIN, Some((table, None)), WearCause::Load, bytes);
                Ok(true)
            }
            // The next step sees what there is.
            Err(Error::SerializationConflict { .. }) => Ok(false),
            // The record may be there after the next opening: then the file is to be there too.
            Err(error) => {
                if self.is_in_doubt() {
                    run.iter().for_each(|run| run.keep());
                }
                Err(error)
            }
        }
    }
}

impl Store {
    /// Removes what is left of the files of runs that are lost.
    fn remove_runs(&self, runs: &[RunId]) {
        if let Some(domain) = self.domain(MAIN_DOMAIN) {
            for run in runs {
                // A file that stays is removed when the database is next opened for writing.
                let _ = domain.remove_pool(&run_file_name(*run));
            }
        }
    }
}

/// Returns the loads of some runs that the table still has, ascending.
fn loads_of(table: &Table, runs: &[Arc<Run>]) -> Vec<LoadId> {
    let covered = |load: &LoadId| runs.iter().any(|run| run.record().covers(*load));
    let mut loads: Vec<LoadId> = table.loads().iter().map(|load| load.id()).collect();
    loads.retain(covered);
    loads.sort_unstable();
    loads
}

impl TableIndex {
    /// Returns some loads without a run, if there are any.
    fn uncovered(&self, table: &Table) -> Option<Vec<Arc<StoredLoad>>> {
        if !self.is_hybrid() || table.is_dropped() {
            return None;
        }
        let (runs, _) = self.all_runs();
        let mut rows = 0;
        let mut uncovered: Vec<Arc<StoredLoad>> = Vec::new();
        for load in table.loads().iter() {
            let is_covered = runs.iter().any(|live| live.run.record().covers(load.id()));
            if is_covered || !has_ids(load) {
                continue;
            }
            rows += load.rows();
            if !uncovered.is_empty() && rows > ROWS_AT_ONCE || uncovered.len() == LOADS_MAX {
                break;
            }
            uncovered.push(Arc::clone(load));
        }
        (!uncovered.is_empty()).then_some(uncovered)
    }

    /// Returns what maintenance is to do next.
    fn plan(&self, table: &Table) -> Option<Plan> {
        if let Some(loads) = self.uncovered(table) {
            return Some(Plan::Cover(loads));
        }
        if !self.is_hybrid() {
            return None;
        }
        let (loads, (runs, lost)) = (table.loads(), self.all_runs());
        let there = |live: &LiveRun| -> u64 {
            let counts = live.run.record().loads.iter();
            let is_there = |id: LoadId| loads.iter().any(|load| load.id() == id);
            counts.filter(|(id, _)| is_there(*id)).map(|(_, entries)| *entries + 1).sum()
        };
        let mut sizes: Vec<(u64, &LiveRun)> = runs.iter().map(|live| (there(live), live)).collect();
        let is_empty = |(left, _): &&(u64, &LiveRun)| *left == 0;
        let gone: Vec<RunId> = sizes.iter().filter(is_empty).map(|(_, live)| id_of(live)).collect();
        if !gone.is_empty() || !lost.is_empty() {
            return Some(Plan::Drop(gone));
        }
        sizes.sort_by_key(|(left, _)| *left);
        let is_half = |(left, live): &&(u64, &LiveRun)| *left * 2 < live.run.record().entries();
        if let Some((_, live)) = sizes.iter().find(is_half) {
            return Some(Plan::Join(vec![Arc::clone(&live.run)]));
        }
        joined(&sizes).map(Plan::Join)
    }
}

fn id_of(live: &LiveRun) -> RunId {
    live.run.record().run
}

/// Whether all rows of a load have ids.
fn has_ids(load: &StoredLoad) -> bool {
    let last = load.chunk_count().checked_sub(1);
    last.is_some_and(|last| RowId::frozen(load.id(), last, 0).is_some())
}

/// Returns runs of about one size, if there are enough; `sizes` ascend.
fn joined(sizes: &[(u64, &LiveRun)]) -> Option<Vec<Arc<Run>>> {
    let is_same = |lot: &&[(u64, &LiveRun)]| {
        let loads: usize = lot.iter().map(|(_, live)| live.run.record().loads.len()).sum();
        let (smallest, largest) = (lot[0].0, lot[JOINED_AT_ONCE - 1].0);
        largest <= (smallest * 4).max(64 << 10) && largest <= ENTRIES_MAX && loads <= LOADS_MAX
    };
    let lot = sizes.windows(JOINED_AT_ONCE).find(is_same)?;
    Some(lot.iter().map(|(_, live)| Arc::clone(&live.run)).collect())
}
