//! What the manifest is told, and when others see what it was told.

use std::sync::Arc;

use nacre_column::replicated::WearCause;

use super::handle::{Define, MAIN_DOMAIN, ManifestState, Store};
use super::named_tables::NamedTables;
use crate::domains::DRAM_DOMAIN;
use crate::drafts::Definitions;
use crate::error::Result;
use crate::id::{CommitTs, Moment};
use crate::manifest::{FrozenRecord, LoadId, LoadRecord, PartRecord, PartsChange, Record};
use crate::members::MAIN_COPIES;
use crate::mvcc::{Change, GoneTable, NOBODY};
use crate::part::Part;
use crate::redo::RedoLog;
use crate::stored_load::StoredLoad;
use crate::table::Table;

impl Store {
    /// Publishes a durable load. The caller holds the table's commit lock.
    pub(crate) fn publish_load(
        &self,
        table: &Arc<Table>,
        load: &Arc<StoredLoad>,
        record: &LoadRecord,
    ) -> Result<()> {
        let mut state = self.manifest();
        table.require_open(CommitTs(u64::MAX))?;
        let mut recorded = record.clone();
        recorded.parts.retain(|part| part.domain != DRAM_DOMAIN);
        self.append(&mut state, &Record::Load(recorded))?;
        let order = |ts| {
            // That of a table of a transaction is seen by its snapshot, which is older.
            load.set_visible_from(if table.is_draft() { CommitTs::default() } else { ts });
            table.add_load(Arc::clone(load));
            // Whoever made the table may have read it, and is not in its own way.
            let change = match table.is_draft() {
                true => Change::Nothing,
                false => Change::Load(Arc::clone(table)),
            };
            Ok((NOBODY, change, None))
        };
        self.shared.transactions.commit(None, order, |()| Ok(())).map(|_| ())
    }

    /// Publishes a change of the named tables by a commit, which `change` gets; `gone` are the
    /// dropped and replaced tables. The caller holds the manifest, after the record.
    pub(crate) fn publish_tables(
        &self,
        gone: &[Arc<Table>],
        change: impl FnOnce(&mut NamedTables, CommitTs),
    ) {
        let order = |commit| {
            // PERSIST: this commit makes all before it visible, so they are durable before; a log
            // that fails refuses these itself.
            let _ = self.flush_redo();
            gone.iter().for_each(|table| table.mark_dropped());
            self.change_tables(commit, change);
            let gone = gone.iter().map(|table| GoneTable::of(table)).collect();
            Ok((NOBODY, Change::Gone(gone), None::<()>))
        };
        // `order` never fails, and there is nothing to settle.
        let _ = self.all_transactions().commit(None, order, Ok);
    }

    /// Publishes durable rows of hot chunks as a load, and calls `switch`, which makes the chunks
    /// one in memory unless somebody has written to them since; returns whether it did. The caller
    /// holds the table's commit lock.
    pub(crate) fn publish_frozen(
        &self,
        table: &Arc<Table>,
        record: &FrozenRecord,
        switch: impl FnOnce() -> bool,
    ) -> Result<bool> {
        let mut state = self.manifest();
        table.require_undropped()?;
        let mut recorded = record.clone();
        recorded.load.parts.retain(|part| part.domain != DRAM_DOMAIN);
        self.append(&mut state, &Record::Frozen(recorded))?;
        let is_done = switch();
        if !is_done {
            state.withdrawn.push(record.clone());
        }
        Ok(is_done)
    }

    /// Records which published loads of hot chunks do not count. Until that is done the log says
    /// so, by the changes that the chunks had since.
    pub(crate) fn record_withdrawn(&self) -> Result<()> {
        let mut state = self.manifest();
        while let Some(record) = state.withdrawn.last() {
            let (load, table) = (record.load.load, record.load.table);
            let load = LoadRecord { load, table, rows: 0, chunk_count: 0, parts: Vec::new() };
            let (chunks, as_of) = (Vec::new(), record.as_of);
            let withdrawal = FrozenRecord { load, chunks, as_of };
            self.append(&mut state, &Record::Frozen(withdrawal))?;
            if let Some(record) = state.withdrawn.pop() {
                self.remove_parts(record.load.load, &record.load.parts);
            }
        }
        Ok(())
    }

    /// Records that the log before a segment is not needed, and removes what of it is in the
    /// archive, if there is to be one.
    pub(crate) fn truncate_redo(&self, log: &RedoLog, as_of: CommitTs, oldest: u64) -> Result<()> {
        // A checkpoint after a freeze that does not count is to come after that is recorded.
        self.record_withdrawn()?;
        // What cannot be archived stays; why is noted.
        let _ = self.archive_step();
        let oldest = self.oldest_unarchived(log).map_or(oldest, |kept| kept.min(oldest));
        let mut state = self.manifest();
        self.append(&mut state, &Record::Checkpoint { as_of, oldest })?;
        self.calls().note_checkpoint(as_of);
        drop(state);
        log.truncate(oldest)
    }

    /// Returns all records of the manifest.
    pub(crate) fn manifest_records(&self) -> Result<Vec<Record>> {
        self.manifest().manifest.records()
    }

    /// Returns a moment, and how many records the manifest had then.
    pub(crate) fn archive_point(&self) -> (Moment, u64) {
        let state = self.manifest();
        (self.moment(), state.manifest.record_count())
    }

    /// Records where the database is archived from now on; `switch` is called meanwhile.
    pub(crate) fn record_archive(&self, record: Record, switch: impl FnOnce()) -> Result<()> {
        self.record(|| Ok(vec![record]), switch)
    }

    /// Publishes another set of parts, that are durable, for a load; returns whether its table is
    /// still there. Volatile parts are not for the manifest.
    pub(crate) fn publish_parts(
        &self,
        table: &Arc<Table>,
        load: &StoredLoad,
        change: &PartsChange,
    ) -> Result<bool> {
        let mut state = self.manifest();
        if table.is_dropped() {
            return Ok(false);
        }
        let mut recorded = change.clone();
        recorded.added.retain(|part| part.domain != DRAM_DOMAIN);
        recorded.removed.retain(|number| load.is_recorded(*number));
        if !recorded.added.is_empty() || !recorded.removed.is_empty() {
            let record = Record::PartsChanged { load: load.id(), change: recorded };
            self.append(&mut state, &record)?;
        }
        load.change_parts(&change.added, &change.removed);
        Ok(true)
    }

    /// Records what `check` returns, all of it or nothing, and then runs `publish`; nobody changes
    /// what exists meanwhile.
    ///
    /// # Errors
    /// Those of `check`; no space, I/O.
    pub(crate) fn record_with<T>(
        &self,
        check: impl FnOnce() -> Result<(Vec<Record>, T)>,
        publish: impl FnOnce(T),
    ) -> Result<()> {
        let mut state = self.manifest();
        let (records, checked) = check()?;
        self.append_all(&mut state, &records)?;
        publish(checked);
        Ok(())
    }

    /// Compares what a transaction has defined with what there is, and has `commit` record it with
    /// its rows, if there are any. Nobody else changes what exists meanwhile.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`]; those of `commit`; no space, I/O.
    pub(crate) fn record_in_commit(
        &self,
        definitions: &Definitions,
        commit: impl FnOnce(Define<'_>) -> Result<CommitTs>,
    ) -> Result<CommitTs> {
        let mut state = self.manifest();
        let mut records = definitions.records(self)?;
        let next_table = state.next_table;
        let ts = commit(&mut |commit, has_rows| {
            if has_rows {
                records.push(Record::DefinitionsCommitted { commit, next_table });
            }
            if !records.is_empty() {
                self.append_all(&mut state, &records)?;
            }
            let gone = definitions.gone();
            definitions.show(self, &gone, commit);
            Ok(gone.iter().map(|table| GoneTable::of(table)).collect())
        })?;
        definitions.finish();
        drop(state);
        // New indexes may be to get runs.
        self.wake();
        Ok(ts)
    }

    /// Calls `with` behind all loads that are being published.
    pub(crate) fn behind_loads<T>(&self, with: impl FnOnce() -> T) -> T {
        let _state = self.manifest();
        with()
    }

    /// As [`Store::record_with`], if `check` has nothing to hand to `publish`.
    pub(crate) fn record(
        &self,
        check: impl FnOnce() -> Result<Vec<Record>>,
        publish: impl FnOnce(),
    ) -> Result<()> {
        self.record_with(|| check().map(|records| (records, ())), |()| publish())
    }

    pub(super) fn append(&self, state: &mut ManifestState, record: &Record) -> Result<()> {
        self.append_all(state, std::slice::from_ref(record))
    }

    /// Appends to the manifest and counts what it costs its domains.
    pub(super) fn append_all(&self, state: &mut ManifestState, records: &[Record]) -> Result<()> {
        self.require_fence(records, state.next_table)?;
        let bytes = match self.shared.keeper.is_on() {
            true => {
                let moment = [Record::Moment(self.moment())];
                let bytes = state.manifest.append_all(&[&moment, records].concat())?;
                self.shared.keeper.hurry();
                self.shared.waker.wake();
                bytes
            }
            false => state.manifest.append_all(records)?,
        };
        for domain in self.shared.domains.reachable() {
            let copies = if domain.name() == MAIN_DOMAIN { u64::from(MAIN_COPIES) } else { 1 };
            self.count_wear(domain.name(), None, WearCause::Manifest, bytes * copies);
        }
        Ok(())
    }

    /// Removes files of parts that nobody sees.
    pub(crate) fn remove_parts(&self, load: LoadId, parts: &[PartRecord]) {
        for part in parts {
            if let Ok(there) = self.shared.domains.get(&part.domain) {
                // A file that stays is removed when the database is next opened for writing.
                let name = Part::file_name(load, part.number, part.layout);
                let _ = there.domain.remove_pool(&name);
            }
        }
    }

    /// Records that a further domain is none any more. The caller holds the maintenance lock.
    pub(crate) fn record_forgotten(&self, name: &str) -> Result<()> {
        let mut state = self.manifest();
        // Policies change under the manifest's lock only.
        self.check_unnamed(name)?;
        self.append(&mut state, &Record::Domain { name: name.to_owned(), path: String::new() })?;
        let are_others_here = self.missing_domains().iter().all(|missing| missing == name);
        state.manifest.forget(name, are_others_here);
        drop(state);
        self.shared.domains.forget(name);
        Ok(())
    }

    /// Rebuilds the manifest's replicas that are missing or damaged.
    pub(crate) fn repair_manifest(&self) {
        let domains = self.domains();
        let Some((main, further)) = domains.split_first() else {
            return;
        };
        let are_all_here = self.missing_domains().is_empty();
        self.manifest().manifest.repair(main, further, are_all_here);
    }

    /// Rebuilds the redo log's replicas that are missing or damaged.
    pub(crate) fn repair_redo(&self) {
        if let Some(log) = self.shared.redo.get() {
            log.repair(&self.domains(), self.missing_domains().is_empty());
        }
    }

    /// Compares the redo log's replicas and returns what is wrong; what can be is mended at once.
    pub(crate) fn scrub_redo(&self) -> Vec<String> {
        let problems = self.shared.redo.get().map(RedoLog::scrub).unwrap_or_default();
        if !problems.is_empty() {
            self.repair_redo();
        }
        problems
    }

    /// Compares the manifest's replicas and returns what is wrong; what can be is mended at once.
    pub(crate) fn scrub_manifest(&self) -> Vec<String> {
        if self.shared.is_read_only {
            // All replicas were compared when it was opened.
            return Vec::new();
        }
        let problems = self.manifest().manifest.scrub();
        if !problems.is_empty() {
            self.repair_manifest();
        }
        problems
    }

    /// Tells whether the last change may or may not be there after a restart.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.manifest().manifest.is_in_doubt()
    }

    /// Has `fault` called before the next records are published.
    #[cfg(test)]
    pub(crate) fn inject_before_publish(&self, fault: crate::manifest::Injection) {
        self.manifest().manifest.before_publish = Some(fault);
    }
}
