//! Writes a run: entries in their order, then the inner nodes, level by level.
//!
//! # Durability
//! Everything is durable when [`RunWriter::finish`] returns; the record that names the run comes
//! after. A writer that is dropped before leaves nothing, one that is killed a file that the next
//! open removes.

use std::collections::BTreeMap;

use nacre_pmem::{Domain, PoolAppender};

use super::page::{PAGE_ALIGN, PAGE_BYTES_MAX, PageBuilder, PageRef, common_bytes};
use super::record::{self, RunId, RunOwner, RunRecord};
use crate::error::{Error, Result};
use crate::id::{RowId, RowPlace};
use crate::manifest::LoadId;

/// Longest key: a page has room for two of them.
const KEY_BYTES_MAX: usize = PAGE_BYTES_MAX / 4;

/// A run that is being written.
#[derive(Debug)]
pub(super) struct RunWriter {
    run: RunId,
    domain: Domain,
    appender: PoolAppender,
    leaf: PageBuilder,
    /// The separator before the leaf in the making.
    separator: Box<[u8]>,
    /// The last key of the leaf before it.
    before: Vec<u8>,
    pages: Vec<(Box<[u8]>, PageRef)>,
    loads: BTreeMap<LoadId, u64>,
    /// The load of the last entry, with those of its entries that are not counted yet.
    uncounted: (LoadId, u64),
}

impl RunWriter {
    /// Begins a run; `loads` are those that it is to cover, also if they have no row left.
    ///
    /// # Errors
    /// No space, I/O.
    pub(super) fn create(
        domain: &Domain,
        owner: RunOwner,
        run: RunId,
        loads: impl IntoIterator<Item = LoadId>,
    ) -> Result<Self> {
        let appender = domain.append_pool(&record::file_name(run))?;
        appender.append(&record::header(owner, run), PAGE_ALIGN)?;
        Ok(Self {
            run,
            domain: domain.clone(),
            appender,
            leaf: PageBuilder::new(0),
            separator: Box::default(),
            before: Vec::new(),
            pages: Vec::new(),
            loads: loads.into_iter().map(|load| (load, 0)).collect(),
            uncounted: (LoadId(0), 0),
        })
    }

    /// Adds an entry of a frozen row, which comes after all before it.
    ///
    /// # Errors
    /// No space, I/O; [`Error::Internal`] for keys that are too long.
    pub(super) fn push(&mut self, key: &[u8], row: RowId) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            let reason = format!("an index key of {} bytes", key.len());
            return Err(Error::Internal { reason });
        }
        if self.leaf.is_full_for(key) {
            self.end_leaf()?;
            let common = common_bytes(&self.before, key);
            self.separator = key[..key.len().min(common + 1)].into();
        }
        self.leaf.push_row(key, row);
        if let RowPlace::Frozen { load, .. } = row.place() {
            if self.uncounted.0 != load {
                self.count();
                self.uncounted = (load, 0);
            }
            self.uncounted.1 += 1;
        }
        Ok(())
    }

    fn count(&mut self) {
        let (load, entries) = self.uncounted;
        if entries > 0 {
            *self.loads.entry(load).or_default() += entries;
        }
    }

    fn end_leaf(&mut self) -> Result<()> {
        self.before.clear();
        self.before.extend_from_slice(self.leaf.last_key());
        let number = self.pages.len() as u64;
        let bytes = self.leaf.take(self.run.0, number);
        let page = append(&self.appender, &bytes, number)?;
        self.pages.push((std::mem::take(&mut self.separator), page));
        Ok(())
    }

    /// Writes the inner nodes, makes everything durable and returns how the manifest names the
    /// run.
    ///
    /// # Errors
    /// No space, I/O; the file is removed.
    pub(super) fn finish(mut self, shape: u32) -> Result<RunRecord> {
        // Without entries there is one leaf, which is empty.
        self.end_leaf()?;
        self.count();
        let leaf_count = self.pages.len() as u64;
        let (mut pages, mut inner_count, mut height) = (self.pages, 0, 0_u16);
        while pages.len() > 1 {
            height += 1;
            pages = stack(&self.appender, self.run, (height, &mut inner_count), &pages)?;
        }
        let root = pages.first().map(|(_, page)| *page).unwrap_or_default();
        // PERSIST: all pages are durable when `finish` returns; the manifest record that the caller
        // appends makes them reachable.
        let pool_bytes = self.appender.finish()?;
        // A file outlives its directory while it is open: one that was deleted meanwhile keeps
        // nothing.
        self.domain.pool_bytes(&record::file_name(self.run))?;
        let loads = self.loads.into_iter().collect();
        let run = self.run;
        Ok(RunRecord { run, shape, loads, pool_bytes, leaf_count, inner_count, height, root })
    }
}

/// Writes the nodes above some pages and returns them.
fn stack(
    appender: &PoolAppender,
    run: RunId,
    (level, inner_count): (u16, &mut u64),
    below: &[(Box<[u8]>, PageRef)],
) -> Result<Vec<(Box<[u8]>, PageRef)>> {
    let mut above = Vec::new();
    let mut node = PageBuilder::new(level);
    let mut first: &[u8] = &[];
    let mut end = |node: &mut PageBuilder, first: &[u8]| {
        let bytes = node.take(run.0, *inner_count);
        let page = append(appender, &bytes, *inner_count)?;
        *inner_count += 1;
        above.push((first.into(), page));
        Ok::<_, Error>(())
    };
    for (separator, page) in below {
        if node.is_full_for(separator) {
            end(&mut node, first)?;
        }
        if node.count() == 0 {
            first = separator;
        }
        node.push_child(separator, *page);
    }
    end(&mut node, first)?;
    Ok(above)
}

fn append(appender: &PoolAppender, bytes: &[u8], number: u64) -> Result<PageRef> {
    let offset = appender.append(bytes, PAGE_ALIGN)?;
    Ok(PageRef { offset, bytes: bytes.len() as u32, number })
}
