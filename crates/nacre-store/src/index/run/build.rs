//! Makes a run of the rows of loads.
//!
//! Entries are collected and sorted in DRAM as long as they are few; of many, sorted lots become
//! files of their own, which nobody publishes, and then one run.

use std::collections::BTreeMap;
use std::sync::Arc;

use nacre_column::ColumnBuffer;
use nacre_pmem::Domain;

use super::file::Run;
use super::merge::{Merged, merge};
use super::record::{RunId, RunOwner, RunRecord};
use super::writer::RunWriter;
use crate::chunk::Chunk;
use crate::domains::Domains;
use crate::error::{Error, Result};
use crate::hot::FrozenDeletes;
use crate::id::{RowId, RowPlace};
use crate::key::KeyColumns;
use crate::manifest::LoadId;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::ValueRef;

/// Entries that are sorted in DRAM, and bytes of their keys: some 100 MiB.
const LOT_ENTRIES: usize = 2 << 20;
const LOT_KEY_BYTES: usize = 64 << 20;

/// Where a run is to be, and how long it goes on.
pub(crate) struct Workshop<'a> {
    pub(crate) owner: RunOwner,
    pub(crate) domain: Domain,
    pub(crate) domains: &'a Arc<Domains>,
    /// Returns an id that no run has had.
    pub(crate) take_id: &'a dyn Fn() -> RunId,
    pub(crate) goes_on: &'a dyn Fn() -> bool,
    /// Entries of a lot; fewer in tests.
    pub(crate) lot_entries: usize,
}

impl Workshop<'_> {
    pub(crate) const LOT_ENTRIES: usize = LOT_ENTRIES;
}

/// Entries to be sorted.
#[derive(Debug, Default)]
struct Lot {
    keys: Vec<u8>,
    /// Where a key begins and ends.
    entries: Vec<(usize, usize, RowId)>,
}

impl Lot {
    fn write(&mut self, out: &mut RunWriter) -> Result<()> {
        let keys = &self.keys;
        self.entries
            .sort_unstable_by(|a, b| keys[a.0..a.1].cmp(&keys[b.0..b.1]).then(a.2.cmp(&b.2)));
        for &(start, end, row) in &self.entries {
            out.push(&keys[start..end], row)?;
        }
        self.keys.clear();
        self.entries.clear();
        Ok(())
    }
}

/// Writes a run with the entries of all rows of `loads` that are not deleted for everybody; `None`
/// if it was not to go on.
///
/// # Errors
/// That of a damaged block; no space, I/O.
pub(crate) fn build(
    workshop: &Workshop<'_>,
    table: &Arc<Table>,
    (columns, shape): (&KeyColumns, u32),
    loads: &[Arc<StoredLoad>],
) -> Result<Option<RunRecord>> {
    let Workshop { owner, domain, domains, take_id, goes_on, lot_entries } = workshop;
    let ids = || loads.iter().map(|load| load.id());
    let mut lots: Vec<Run> = Vec::new();
    let mut lot = Lot::default();
    for load in loads {
        let open = load.open()?;
        for number in 0..open.chunks.len() {
            if !goes_on() {
                return Ok(None);
            }
            let chunk = Chunk::new(table, load, &open, number, number as u64);
            add_chunk(table, columns, &chunk, &mut lot)?;
            if lot.entries.len() >= *lot_entries || lot.keys.len() >= LOT_KEY_BYTES {
                let mut writer = RunWriter::create(domain, *owner, take_id(), [])?;
                lot.write(&mut writer)?;
                let run = Run::new(*owner, writer.finish(shape)?, domains);
                // Nobody else knows it: it goes when this ends.
                run.doom();
                lots.push(run);
            }
        }
    }
    let mut writer = RunWriter::create(domain, *owner, take_id(), ids())?;
    if lots.is_empty() {
        lot.write(&mut writer)?;
        return writer.finish(shape).map(Some);
    }
    let mut last = RunWriter::create(domain, *owner, take_id(), [])?;
    lot.write(&mut last)?;
    let last = Run::new(*owner, last.finish(shape)?, domains);
    last.doom();
    lots.push(last);
    let sources: Vec<&Run> = lots.iter().collect();
    match merge(&sources, &mut writer, |_| true, goes_on)? {
        Merged::Whole => writer.finish(shape).map(Some),
        Merged::Ended => Ok(None),
        Merged::Damaged(_, damage) => Err(Error::Internal {
            reason: format!("a part of an index that was just written is lost: {}", damage.0),
        }),
    }
}

/// Collects the entries of a chunk.
fn add_chunk(table: &Arc<Table>, columns: &KeyColumns, chunk: &Chunk, lot: &mut Lot) -> Result<()> {
    let buffers: Vec<ColumnBuffer> =
        columns.columns().map(|column| chunk.decode(column)).collect::<Result<_>>()?;
    let deletes = table.deletes_of(chunk.load_id(), chunk.index() as u32);
    for row in 0..chunk.rows() {
        let row = row as u16;
        if deletes.as_ref().is_some_and(|deletes| deletes.is_gone(row)) {
            continue;
        }
        let id = chunk.row_id(row).ok_or_else(|| Error::Internal {
            reason: format!("row {row} of chunk {} has no id", chunk.number()),
        })?;
        let start = lot.keys.len();
        let values = buffers.iter().map(|buffer| ValueRef::of(buffer, row.into()));
        columns.encode(values, &mut lot.keys);
        lot.entries.push((start, lot.keys.len(), id));
    }
    Ok(())
}

/// Makes one run of several, without entries of rows that are deleted for everybody and of loads
/// other than `loads`.
///
/// # Errors
/// No space, I/O.
pub(crate) fn join(
    workshop: &Workshop<'_>,
    table: &Table,
    sources: &[Arc<Run>],
    loads: &[LoadId],
    shape: u32,
) -> Result<Joined> {
    let deletes: BTreeMap<(LoadId, u32), Arc<FrozenDeletes>> =
        table.all_deletes().into_iter().collect();
    let mut last: Option<(u64, bool, Option<&Arc<FrozenDeletes>>)> = None;
    let is_wanted = |row: RowId| {
        let RowPlace::Frozen { load, chunk, offset } = row.place() else {
            return false;
        };
        let (_, is_there, deletes) = match last {
            Some(known) if known.0 == row.chunk_bits() => known,
            _ => {
                let is_there = loads.binary_search(&load).is_ok();
                *last.insert((row.chunk_bits(), is_there, deletes.get(&(load, chunk))))
            }
        };
        is_there && !deletes.is_some_and(|deletes| deletes.is_gone(offset))
    };
    let Workshop { owner, domain, take_id, goes_on, .. } = workshop;
    let mut writer = RunWriter::create(domain, *owner, take_id(), loads.iter().copied())?;
    let sources: Vec<&Run> = sources.iter().map(|run| &**run).collect();
    Ok(match merge(&sources, &mut writer, is_wanted, goes_on)? {
        Merged::Whole => Joined::Whole(writer.finish(shape)?),
        Merged::Ended => Joined::Ended,
        Merged::Damaged(at, _) => Joined::Damaged(at),
    })
}

/// How [`join`] ended.
#[derive(Debug)]
pub(crate) enum Joined {
    Whole(RunRecord),
    Ended,
    /// The source of that number is damaged.
    Damaged(usize),
}
