//! Nacre's pool sets as contestants: the column store and the hybrid tree of `nacre-pmem`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nacre_pmem::structure::{COLUMN_HEADER_BYTES, ColumnStore, HybridTree};
use nacre_pmem::{Domain, LargePages, PoolSet, PoolSetOptions, Settings};

use super::contestant::Contestant;
use super::measure::Work;
use super::options::{AccessPattern, PageSize, Variant};
use crate::error::{Error, Result};

/// Bytes of a value of the column store.
const VALUE_BYTES: u64 = 4;

/// Where the pools of a contestant lie and how they are mapped.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) directory: &'a Path,
    pub(super) name: &'a str,
    pub(super) pool_bytes: u64,
    pub(super) replicas: usize,
    pub(super) pages: PageSize,
}

/// How the column store is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnUpdate {
    /// One after the other, each durable when its call returns.
    Single,
    /// The same, each in a transaction.
    Transaction,
    /// So many at a time, durable when the call for all returns.
    Batch(usize),
}

/// The column store.
pub(super) struct NacreColumn {
    set: PoolSet,
    store: ColumnStore,
    update: ColumnUpdate,
    files: Vec<PathBuf>,
}

/// The hybrid tree.
pub(super) struct NacreKeyValue {
    tree: HybridTree,
    keys: u64,
    range: (u64, u64),
    files: Vec<PathBuf>,
}

impl Place<'_> {
    /// Creates the pool set.
    fn create_set(&self) -> Result<PoolSet> {
        let action = || format!("create pools in {}", self.directory.display());
        let mut settings = Settings::from_env().map_err(Error::pmem(action()))?;
        settings.large_pages = Some(match self.pages {
            PageSize::Large => LargePages::Auto,
            PageSize::Small => LargePages::Off,
        });
        let domain = Domain::create_with("bench", self.directory, &settings)
            .map_err(Error::pmem(action()))?;
        let members = vec![domain; self.replicas + 1];
        let options = PoolSetOptions::new(self.pool_bytes);
        PoolSet::create(self.name, &members, &options).map_err(Error::pmem(action()))
    }

    fn files(&self) -> Vec<PathBuf> {
        let file = |index| self.directory.join(format!("{}.{index}", self.name));
        (0..=self.replicas).map(file).collect()
    }
}

/// Returns what a set takes for an update.
fn chosen(
    set: &PoolSet,
    access: AccessPattern,
    is_transactional: bool,
    update_bytes: usize,
) -> Option<Variant> {
    let is_sequential = access == AccessPattern::Sequential;
    set.mechanism_in_use(is_sequential, is_transactional, update_bytes).map(Variant::Static)
}

impl NacreColumn {
    /// Creates the column store over the whole data area.
    pub(super) fn create(place: Place<'_>, update: ColumnUpdate) -> Result<Self> {
        let mut set = place.create_set()?;
        let bytes = (set.end_offset() - set.data_offset() - COLUMN_HEADER_BYTES) & !0xffff;
        let store = ColumnStore::create(&mut set, bytes / VALUE_BYTES)
            .map_err(Error::pmem("create a column store"))?;
        Ok(Self { set, store, update, files: place.files() })
    }

    /// Changes how it is updated.
    pub(super) fn set_update(&mut self, update: ColumnUpdate) {
        self.update = update;
    }
}

impl Contestant for NacreColumn {
    fn places(&self, update_bytes: usize) -> u64 {
        self.store.rows() * VALUE_BYTES / update_bytes as u64
    }

    fn select(&mut self, variant: Variant) -> Result<()> {
        let chosen = self.set.set_mechanism(variant.mechanism());
        chosen.map_err(Error::pmem(format_args!("choose {}", variant.name())))
    }

    fn chosen(&self, access: AccessPattern, update_bytes: usize) -> Option<Variant> {
        let is_transactional = self.update == ColumnUpdate::Transaction;
        chosen(&self.set, access, is_transactional, update_bytes)
    }

    fn slice(&mut self, work: &mut Work, budget: Duration) -> Result<f64> {
        let rows = work.update_bytes() as u64 / VALUE_BYTES;
        let Self { set, store, update, .. } = self;
        match *update {
            ColumnUpdate::Single => work.run(budget, |place, value| {
                store.update(set, place * rows, value).map_err(Error::pmem("update"))
            }),
            ColumnUpdate::Transaction => work.run(budget, |place, value| {
                store.update_tx(set, place * rows, value).map_err(Error::pmem("update"))
            }),
            ColumnUpdate::Batch(batch) => work.run_batches(budget, batch, |updates| {
                updates.iter_mut().for_each(|(place, _)| *place *= rows);
                store.update_batch(set, updates).map_err(Error::pmem("update"))
            }),
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        vec![(self.set.data_offset(), self.set.end_offset() - self.set.data_offset())]
    }
}

impl NacreKeyValue {
    /// Creates a tree with the keys `0..keys` and values of `value_bytes` zeros.
    pub(super) fn create(place: Place<'_>, keys: u64, value_bytes: usize) -> Result<Self> {
        let set = place.create_set()?;
        let range = (set.data_offset(), set.end_offset() - set.data_offset());
        let tree = HybridTree::create(set).map_err(Error::pmem("create a hybrid tree"))?;
        let value = vec![0; value_bytes];
        for key in 0..keys {
            tree.insert(&key.to_be_bytes(), &value).map_err(Error::pmem("insert"))?;
        }
        Ok(Self { tree, keys, range, files: place.files() })
    }
}

impl Contestant for NacreKeyValue {
    fn places(&self, _update_bytes: usize) -> u64 {
        self.keys
    }

    fn select(&mut self, variant: Variant) -> Result<()> {
        let chosen = self.tree.with_set(|set| set.set_mechanism(variant.mechanism()));
        chosen.map_err(Error::pmem(format_args!("choose {}", variant.name())))
    }

    fn chosen(&self, access: AccessPattern, update_bytes: usize) -> Option<Variant> {
        self.tree.with_set(|set| chosen(set, access, false, update_bytes))
    }

    fn slice(&mut self, work: &mut Work, budget: Duration) -> Result<f64> {
        let tree = &self.tree;
        work.run(budget, |place, value| {
            tree.update(&place.to_be_bytes(), value).map(drop).map_err(Error::pmem("update"))
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        vec![self.range]
    }
}
