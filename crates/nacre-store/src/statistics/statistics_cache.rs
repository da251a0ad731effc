//! Merged statistics of the loads of a table, and what ANALYZE found beside them.
//!
//! # Concurrency
//! The lock is held to look and to replace, never while loads are opened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::column_summary::ColumnSummary;
use super::table_statistics::ColumnEstimates;
use crate::manifest::LoadId;
use crate::stored_load::StoredLoad;

/// The loads of a table.
type LoadList = Vec<Arc<StoredLoad>>;

/// What ANALYZE found, for each column; `None` for those that it was not asked about.
pub(super) type AnalyzedColumns = Arc<[Option<ColumnSummary>]>;

/// What the last ANALYZE found where blocks have no statistics.
#[derive(Debug, Default)]
pub(super) struct AnalyzedChunks {
    /// By the ids of hot chunks.
    pub(super) hot: BTreeMap<u64, AnalyzedColumns>,
    pub(super) loads: BTreeMap<LoadId, AnalyzedColumns>,
}

/// A column of all loads, and what is estimated if there is no hot chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedColumn {
    pub(super) summary: ColumnSummary,
    pub(super) estimates: ColumnEstimates,
}

/// Statistics of a table that are in memory.
#[derive(Debug, Default)]
pub(crate) struct StatisticsCache(Mutex<CacheState>);

#[derive(Debug, Default)]
struct CacheState {
    analyzed: Arc<AnalyzedChunks>,
    merged: Option<MergedLoads>,
}

/// Summaries of all columns of a list of loads.
#[derive(Clone, Debug)]
struct MergedLoads {
    /// Weak, so that files of loads that are gone are removed; while it is there no other list
    /// has its address.
    loads: Weak<LoadList>,
    ids: Vec<LoadId>,
    columns: Arc<[MergedColumn]>,
}

impl StatisticsCache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn analyzed(&self) -> Arc<AnalyzedChunks> {
        Arc::clone(&self.state().analyzed)
    }

    /// Replaces what ANALYZE found; the loads are merged again when they are asked for.
    pub(super) fn set_analyzed(&self, analyzed: AnalyzedChunks) {
        *self.state() = CacheState { analyzed: Arc::new(analyzed), merged: None };
    }

    /// Returns all columns of the loads, without those of loads that cannot be opened, which are
    /// errors when they are read. To loads that were merged before, only new ones are added. Unless
    /// the list is the current one of the table, those of more loads will do.
    pub(super) fn merged(
        &self,
        loads: &Arc<LoadList>,
        columns: usize,
        is_current: bool,
    ) -> Arc<[MergedColumn]> {
        let (known, analyzed) = {
            let state = self.state();
            (state.merged.clone(), Arc::clone(&state.analyzed))
        };
        if let Some(known) = &known
            && Weak::as_ptr(&known.loads) == Arc::as_ptr(loads)
        {
            return Arc::clone(&known.columns);
        }
        let ids: Vec<LoadId> = loads.iter().map(|load| load.id()).collect();
        let known = match known {
            Some(known) if !is_current && known.ids.starts_with(&ids) => return known.columns,
            known => known.filter(|known| ids.starts_with(&known.ids)),
        };
        let mut summaries: Vec<ColumnSummary> = match &known {
            Some(known) => known.columns.iter().map(|column| column.summary.clone()).collect(),
            None => vec![ColumnSummary::default(); columns],
        };
        let new = &loads[known.as_ref().map_or(0, |known| known.ids.len())..];
        let is_whole = add_loads(&mut summaries, new, &analyzed);
        let merge = |mut summary: ColumnSummary| {
            summary.compact_points();
            let estimates = ColumnEstimates::of(&summary, 0);
            MergedColumn { summary, estimates }
        };
        let columns: Arc<[MergedColumn]> = summaries.into_iter().map(merge).collect();
        let mut state = self.state();
        if is_current && is_whole && Arc::ptr_eq(&state.analyzed, &analyzed) {
            let (loads, columns) = (Arc::downgrade(loads), Arc::clone(&columns));
            state.merged = Some(MergedLoads { loads, ids, columns });
        }
        drop(state);
        columns
    }
}

/// Adds loads; false if one of them cannot be opened.
fn add_loads(
    summaries: &mut [ColumnSummary],
    loads: &[Arc<StoredLoad>],
    analyzed: &AnalyzedChunks,
) -> bool {
    let mut is_whole = true;
    for load in loads {
        let Ok(open) = load.mapped() else {
            is_whole = false;
            continue;
        };
        let analyzed = analyzed.loads.get(&load.id());
        let analyzed = |column: usize| analyzed.and_then(|columns| columns[column].as_ref());
        for chunk in &open.chunks {
            let statistics = chunk.block_statistics();
            for (column, own) in statistics.iter().enumerate() {
                if analyzed(column).is_none() {
                    summaries[column].add_block(&chunk.smas[column], own.as_ref());
                }
            }
        }
        for (column, summary) in summaries.iter_mut().enumerate() {
            if let Some(found) = analyzed(column) {
                summary.merge(found);
            }
        }
    }
    is_whole
}
