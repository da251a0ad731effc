//! The runs of a hybrid index, as readers see them.
//!
//! A load of the table is in one of three places: in the list of those that are searched, in one
//! run, or it has its entries in DRAM, which is so if it was frozen since the database was opened.
//! Such a load has a run too, for the next opening, and that run does not stand for it now.
//!
//! # Invariants
//! 1. No load is in two of the three places, and they change under the latch of the index: whoever
//!    reads all at once misses nothing. A load that has entries in DRAM keeps them, and one that is
//!    searched or in a run gets none: walks that began before go on as they began.
//! 2. A run that is damaged is taken out by whoever finds that, and its loads are searched; what
//!    was found in it does not count.

use std::sync::Arc;

use nacre_pmem::structure::KeyBounds;

use super::run::{Run, RunCursor, RunDamage, RunId};
use super::searched::{SearchedLoad, SearchedLoads};
use super::table_index::Latched;
use super::{Direction, IndexKind, TableIndex};
use crate::id::{RowId, RowPlace};
use crate::manifest::LoadId;
use crate::stored_load::StoredLoad;

/// A run, and the loads that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct LiveRun {
    pub(super) run: Arc<Run>,
    /// Ascending by their ids.
    pub(super) loads: Vec<Arc<StoredLoad>>,
}

/// All runs of an index.
pub(crate) type Runs = Arc<Vec<LiveRun>>;

impl LiveRun {
    /// Whether the run stands for a load.
    pub(super) fn has(&self, load: LoadId) -> bool {
        self.loads.binary_search_by_key(&load, |load| load.id()).is_ok()
    }

    /// Whether a row is of a load that the run stands for.
    pub(super) fn has_row(&self, row: RowId) -> bool {
        match row.place() {
            RowPlace::Frozen { load, .. } => self.has(load),
            RowPlace::Hot { .. } => false,
        }
    }

    /// Returns the entries of loads that the run stands for.
    pub(super) fn entries(&self) -> u64 {
        let loads = self.run.record().loads.iter();
        loads.filter(|(load, _)| self.has(*load)).map(|(_, entries)| entries).sum()
    }

    fn add(&mut self, load: &Arc<StoredLoad>) {
        let at = self.loads.partition_point(|other| other.id() < load.id());
        self.loads.insert(at, Arc::clone(load));
    }
}

impl Latched {
    /// Has the run that covers a load stand for it; `false` if there is none.
    pub(super) fn take_into_run(&mut self, load: &Arc<StoredLoad>) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let mut runs = Arc::make_mut(&mut self.runs).iter_mut();
        let covering = runs.find(|run| run.run.record().covers(load.id()));
        covering.map(|run| run.add(load)).is_some()
    }
}

impl TableIndex {
    /// Whether maintenance is to write runs.
    pub(super) fn is_hybrid(&self) -> bool {
        self.definition().kind == IndexKind::Hybrid
    }

    /// Begins with the runs that the manifest has, as far as their files are there and their keys
    /// made as those of the index.
    pub(super) fn set_runs(&self, runs: Vec<Run>) {
        let shape = self.key().shape();
        let is_usable = |run: &Run| run.record().shape == shape && run.is_in_place();
        let (usable, lost): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(is_usable);
        let mut latched = self.write_lists();
        latched.lost = lost.iter().map(|run| run.record().run).collect();
        let live = |run| LiveRun { run: Arc::new(run), loads: Vec::new() };
        latched.runs = Arc::new(usable.into_iter().map(live).collect());
    }

    /// Returns all runs, and the ids of those that are lost.
    pub(super) fn all_runs(&self) -> (Runs, Vec<RunId>) {
        let latched = self.read_lists();
        (Arc::clone(&latched.runs), latched.lost.clone())
    }

    /// Puts a run, which the manifest has, in the place of others, if there are any.
    pub(super) fn change_runs(&self, added: Option<&Arc<Run>>, removed: &[RunId]) {
        let mut guard = self.write_lists();
        let latched = &mut *guard;
        let runs = Arc::make_mut(&mut latched.runs);
        let is_gone = |run: &LiveRun| removed.contains(&run.run.record().run);
        let (gone, mut now): (Vec<LiveRun>, Vec<LiveRun>) = runs.drain(..).partition(is_gone);
        let searched = Arc::make_mut(&mut latched.searched);
        let mut orphans: Vec<Arc<StoredLoad>> =
            gone.iter().flat_map(|run| run.loads.iter().cloned()).collect();
        if let Some(run) = added {
            let covers = |load: LoadId| run.record().covers(load);
            let of_run = |one: &Arc<SearchedLoad>| covers(one.id());
            let was_searched = searched.extract_if(.., |one| of_run(one));
            let mut loads: Vec<Arc<StoredLoad>> =
                was_searched.map(|one| Arc::clone(one.load())).collect();
            loads.extend(orphans.extract_if(.., |load| covers(load.id())));
            loads.sort_by_key(|load| load.id());
            now.push(LiveRun { run: Arc::clone(run), loads });
        }
        searched.extend(orphans.iter().map(SearchedLoad::new));
        *runs = now;
        latched.lost.retain(|lost| !removed.contains(lost));
        drop(guard);
        gone.iter().for_each(|run| run.run.doom());
    }

    /// Takes a run out that is damaged: its loads are searched from now on.
    pub(super) fn lose_run(&self, run: &Run) {
        let id = run.record().run;
        let mut guard = self.write_lists();
        let latched = &mut *guard;
        let Some(at) = latched.runs.iter().position(|live| live.run.record().run == id) else {
            return;
        };
        let gone = Arc::make_mut(&mut latched.runs).remove(at);
        latched.lost.push(id);
        let searched = Arc::make_mut(&mut latched.searched);
        searched.extend(gone.loads.iter().map(SearchedLoad::new));
    }

    /// Notes that a load is none of the table any more.
    pub(crate) fn forget_load(&self, load: LoadId) {
        self.remove_searched(load);
        let mut latched = self.write_lists();
        if latched.runs.iter().any(|run| run.has(load)) {
            let runs = Arc::make_mut(&mut latched.runs);
            runs.iter_mut().for_each(|run| run.loads.retain(|other| other.id() != load));
        }
    }

    /// Forgets all loads, and has the files of the runs go.
    pub(crate) fn forget_loads(&self) {
        self.set_searched(&[]);
        self.forget_runs();
    }

    /// Has the files of the runs go with their last readers: nobody uses the index any more.
    pub(super) fn forget_runs(&self) {
        let gone = std::mem::take(&mut self.write_lists().runs);
        gone.iter().for_each(|run| run.run.doom());
    }

    /// Adds the rows of `key` in runs; `false` if one of these is lost, and it is to be begun
    /// again.
    pub(super) fn add_rows_in(&self, runs: &Runs, key: &[u8], rows: &mut Vec<RowId>) -> bool {
        runs.iter().all(|live| {
            let found = live.run.rows_of(key, |row| live.has_row(row), rows);
            self.is_good(live, found)
        })
    }

    /// As [`TableIndex::add_rows_in`], of all keys within `bounds`.
    pub(super) fn add_rows_within(
        &self,
        runs: &Runs,
        bounds: KeyBounds<'_>,
        rows: &mut Vec<RowId>,
    ) -> bool {
        runs.iter().all(|live| {
            let found = add_within(live, bounds, rows);
            self.is_good(live, found)
        })
    }

    fn is_good(&self, live: &LiveRun, found: Result<(), RunDamage>) -> bool {
        if found.is_err() {
            self.lose_run(&live.run);
        }
        found.is_ok()
    }

    /// Replaces `rows` by the rows of `key`, visible or not, those in runs included, and returns
    /// the loads that have to be searched besides, if there are any.
    pub(super) fn rows_in_runs_too(
        &self,
        key: &[u8],
        rows: &mut Vec<RowId>,
    ) -> Option<SearchedLoads> {
        loop {
            rows.clear();
            let latched = self.read();
            let runs = Arc::clone(&latched.runs);
            let searched = (!latched.searched.is_empty()).then(|| Arc::clone(&latched.searched));
            // Some entries of a load may have been made before a run stood for it.
            let is_twice = |row: &RowId| runs.iter().any(|run| run.has_row(*row));
            rows.extend(latched.entries.get(key).filter(|row| !is_twice(row)));
            drop(latched);
            // Each turn returns or takes one run out.
            if self.add_rows_in(&runs, key, rows) {
                return searched;
            }
        }
    }
}

/// Adds the rows of the entries of a run within `bounds`, of loads that it stands for.
fn add_within(
    live: &LiveRun,
    bounds: KeyBounds<'_>,
    rows: &mut Vec<RowId>,
) -> Result<(), RunDamage> {
    let mut cursor = RunCursor::new(&live.run, bounds, Direction::Ascending)?;
    while let Some((_, row)) = cursor.peek()? {
        rows.extend(Some(row).filter(|row| live.has_row(*row)));
        cursor.advance();
    }
    Ok(())
}
