//! The operators over a snapshot of a column, each one query of one thread.

use nacre_column::replicated::{AccessHint, BlockGuard, Snapshot};
use nacre_column::{
    Block, BlockError, CHUNK_ROWS, CompareOp, Constant, Flavour, Restriction, VECTOR_ROWS, kernel,
};

use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::workload::Random;

/// Positions that a projection groups by block before it fetches values.
const BATCH_POSITIONS: usize = 1 << 20;

/// A projection has one position for so many values.
const VALUES_PER_POSITION: u64 = 10;

/// An operator and its arguments.
#[derive(Clone, Debug)]
pub(super) enum Operator {
    /// Sum of all values.
    Aggregate,
    /// Positions of the values below a bound, about so many percent.
    Select { percent: u64, restriction: Restriction },
    /// Values at random positions, unsorted.
    Project { positions: Vec<u32> },
}

impl Operator {
    /// Returns all operators for a data set of `values` values.
    pub(super) fn all(set: DataSet, values: u64) -> Vec<Self> {
        let below = |percent: u64| {
            let limit = match set {
                DataSet::Mostly8 => (256 * percent).div_ceil(100),
                _ => (percent << 32) / 100,
            };
            let value = Constant::Int(i128::from(limit));
            let restriction = Restriction::Compare { op: CompareOp::Lt, value };
            Self::Select { percent, restriction }
        };
        let mut random = Random::of_row(200, values);
        let count = (values / VALUES_PER_POSITION).max(1);
        let positions = (0..count).map(|_| random.below(values) as u32).collect();
        vec![Self::Aggregate, below(1), below(10), Self::Project { positions }]
    }

    /// Returns the name in tables and ids.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Aggregate => "aggregate".to_owned(),
            Self::Select { percent, .. } => format!("select-{percent}"),
            Self::Project { .. } => "project".to_owned(),
        }
    }

    /// Runs the operator over all blocks and returns a number that depends on its answer.
    pub(super) fn run(&self, snapshot: &Snapshot, flavour: Flavour) -> Result<i128> {
        match self {
            Self::Aggregate => aggregate(snapshot, flavour),
            Self::Select { restriction, .. } => select(snapshot, flavour, restriction),
            Self::Project { positions } => project(snapshot, flavour, positions),
        }
    }
}

fn aggregate(snapshot: &Snapshot, flavour: Flavour) -> Result<i128> {
    let mut sum = 0;
    for number in 0..snapshot.blocks() {
        sum += with_block(snapshot, number, AccessHint::Sequential, |block| {
            Ok(kernel::sum(block, flavour, 0..block.rows())?.unwrap_or_default())
        })?;
    }
    Ok(sum)
}

fn select(snapshot: &Snapshot, flavour: Flavour, restriction: &Restriction) -> Result<i128> {
    let mut selection = Vec::with_capacity(VECTOR_ROWS);
    let mut matches = 0;
    for number in 0..snapshot.blocks() {
        matches += with_block(snapshot, number, AccessHint::Sequential, |block| {
            let mut count = 0;
            for start in (0..block.rows()).step_by(VECTOR_ROWS) {
                let rows = start..block.rows().min(start + VECTOR_ROWS);
                kernel::select(block, flavour, restriction, rows, &mut selection)?;
                count += selection.len() as i128;
            }
            Ok(count)
        })?;
    }
    Ok(matches)
}

/// Fetches values in batches: positions of a batch are grouped by block (a counting sort), then
/// each block is read once for a batch.
fn project(snapshot: &Snapshot, flavour: Flavour, positions: &[u32]) -> Result<i128> {
    let mut rows = vec![0_u16; BATCH_POSITIONS.min(positions.len())];
    let mut ends = vec![0_usize; snapshot.blocks()];
    let mut values: Vec<i64> = Vec::with_capacity(CHUNK_ROWS);
    let mut sum = 0;
    for batch in positions.chunks(BATCH_POSITIONS) {
        group(batch, &mut ends, &mut rows);
        let mut start = 0;
        for (number, &end) in ends.iter().enumerate() {
            let group = &rows[start..end];
            start = end;
            if group.is_empty() {
                continue;
            }
            sum += with_block(snapshot, number, AccessHint::Random, |block| {
                values.clear();
                kernel::project(block, flavour, 0..block.rows(), group, &mut values)?;
                Ok(values.iter().map(|value| i128::from(*value)).sum::<i128>())
            })?;
        }
    }
    Ok(sum)
}

/// Sorts positions by block: rows `ends[n - 1]..ends[n]` are those of block `n`.
fn group(positions: &[u32], ends: &mut [usize], rows: &mut [u16]) {
    ends.fill(0);
    for position in positions {
        ends[*position as usize / CHUNK_ROWS] += 1;
    }
    let mut next = 0;
    for end in ends.iter_mut() {
        next += std::mem::replace(end, next);
    }
    for position in positions {
        let end = &mut ends[*position as usize / CHUNK_ROWS];
        rows[*end] = (*position as usize % CHUNK_ROWS) as u16;
        *end += 1;
    }
}

/// Hands a good replica of a block to `work`; reads another one if it was lost meanwhile.
fn with_block<T>(
    snapshot: &Snapshot,
    number: usize,
    hint: AccessHint,
    mut work: impl FnMut(&Block<'_>) -> std::result::Result<T, BlockError>,
) -> Result<T> {
    loop {
        // Each round that does not end marks a replica as lost: `read` fails in the end.
        let guard: BlockGuard =
            snapshot.read(number, hint).map_err(Error::replicated("read a block"))?;
        let block = guard.block().map_err(Error::column("a block"))?;
        let result = work(&block).map_err(Error::column(block.format()))?;
        if guard.is_good() {
            return Ok(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_grouped_by_block() {
        let positions = [65_536, 1, 3 * 65_536 + 7, 65_540, 0];
        let (mut ends, mut rows) = (vec![9; 4], vec![0; 5]);
        group(&positions, &mut ends, &mut rows);
        assert_eq!(ends, [2, 4, 4, 5]);
        assert_eq!(rows, [1, 0, 0, 4, 7]);
    }
}
