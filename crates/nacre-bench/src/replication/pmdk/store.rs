//! The two structures over `libpmemobj` as contestants, and the environment that they need.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::pool::{Object, PmdkPool};
use super::tree::PmdkTree;
use crate::error::{Error, Result};
use crate::replication::contestant::Contestant;
use crate::replication::measure::Work;
use crate::replication::nacre::Place;
use crate::replication::options::{AccessPattern, Variant};

/// Makes the library flush mappings on any file system by instructions.
const FORCE_VARIABLE: &str = "PMEM_IS_PMEM_FORCE";

/// Bytes that the library keeps for itself: its headers, lanes and a chunk's rounding.
const RESERVED_BYTES: u64 = 16 << 20;

/// An array of integers in the root object.
pub(in crate::replication) struct PmdkColumn {
    pool: PmdkPool,
    values: Object,
    is_transactional: bool,
}

/// The tree of [`PmdkTree`].
pub(in crate::replication) struct PmdkKeyValue {
    tree: PmdkTree,
    keys: u64,
}

/// Starts this program again with the library's variables set; returns at once if they are.
///
/// # Errors
/// If the program cannot be started again.
pub(in crate::replication) fn prepare(flushes_with_clwb: bool) -> Result<()> {
    if std::env::var_os(FORCE_VARIABLE).is_some() {
        return Ok(());
    }
    let io = |source| Error::Io { action: "start our own program again".into(), source };
    let program = std::env::current_exe().map_err(io)?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(FORCE_VARIABLE, "1");
    if !flushes_with_clwb {
        command.env("PMEM_NO_CLWB", "1");
    }
    Err(io(command.exec()))
}

impl PmdkColumn {
    /// Creates the array in the root object.
    pub(in crate::replication) fn create(place: Place<'_>, is_transactional: bool) -> Result<Self> {
        let mut pool = PmdkPool::create(place)?;
        // Fits: pools are mapped, so they are smaller than the address space.
        let bytes = place.pool_bytes.saturating_sub(RESERVED_BYTES) as usize & !0xffff;
        let values = pool.root(bytes)?;
        Ok(Self { pool, values, is_transactional })
    }
}

impl Contestant for PmdkColumn {
    fn places(&self, update_bytes: usize) -> u64 {
        (self.values.bytes() / update_bytes) as u64
    }

    fn select(&mut self, _variant: Variant) -> Result<()> {
        Ok(())
    }

    fn chosen(&self, _access: AccessPattern, _update_bytes: usize) -> Option<Variant> {
        None
    }

    fn slice(&mut self, work: &mut Work, budget: Duration) -> Result<f64> {
        let bytes = work.update_bytes();
        let Self { pool, values, .. } = self;
        if self.is_transactional {
            work.run(budget, |place, value| {
                pool.transaction(|transaction| {
                    transaction.update(values, place as usize * bytes, value)
                })
            })
        } else {
            work.run(budget, |place, value| {
                pool.update(values, place as usize * bytes, value);
                Ok(())
            })
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.pool.parts().to_vec()
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        vec![(self.values.offset(), self.values.bytes() as u64)]
    }
}

impl PmdkKeyValue {
    /// Creates a tree with the keys `0..keys` and values of `value_bytes` zeros.
    pub(in crate::replication) fn create(
        place: Place<'_>,
        keys: u64,
        value_bytes: usize,
    ) -> Result<Self> {
        let mut tree = PmdkTree::create(place)?;
        let value = vec![0; value_bytes];
        for key in 0..keys {
            tree.insert(&key.to_be_bytes(), &value)?;
        }
        Ok(Self { tree, keys })
    }
}

impl Contestant for PmdkKeyValue {
    fn places(&self, _update_bytes: usize) -> u64 {
        self.keys
    }

    fn select(&mut self, _variant: Variant) -> Result<()> {
        Ok(())
    }

    fn chosen(&self, _access: AccessPattern, _update_bytes: usize) -> Option<Variant> {
        None
    }

    fn slice(&mut self, work: &mut Work, budget: Duration) -> Result<f64> {
        let tree = &mut self.tree;
        work.run(budget, |place, value| tree.update(&place.to_be_bytes(), value))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.tree.parts().to_vec()
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        self.tree.objects().map(|(offset, bytes)| (offset, bytes as u64)).collect()
    }
}
