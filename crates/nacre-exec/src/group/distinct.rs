//! Sets of distinct values: tables of their own, keyed by group and value.
//!
//! Rows carry the hash of the group's keys in their last word, so that they are partitioned as the
//! groups are, and counted where these are merged.

use super::keys::{KeyWords, hash_words};
use super::layout::{GroupAggregate, GroupKey, GroupPlan, HASH_WORDS, StateKind};
use super::merge::ROWS_BETWEEN_LOOKS;
use super::partition::{PARTITIONS, RowPage, flush};
use super::state::{add_sum, wide};
use super::table::GroupTable;
use super::update::for_each_row;
use crate::error::ExecResult;
use crate::value::{IntWidth, VectorType};
use crate::vector::{BitVector, INLINE_BYTES_MAX, VectorBatch};

/// The set of one aggregate, of one worker.
#[derive(Debug)]
pub(super) struct DistinctSet {
    table: GroupTable,
    keys: KeyWords,
    pub(super) pages: Vec<RowPage>,
    scratch: Vec<u64>,
}

impl DistinctSet {
    pub(super) fn new() -> Self {
        let pages = (0..PARTITIONS).map(|_| RowPage::default()).collect();
        let (table, keys) = (GroupTable::default(), KeyWords::default());
        Self { table, keys, pages, scratch: Vec::new() }
    }

    /// Adds the values of active rows.
    pub(super) fn add(
        &mut self,
        groups: &GroupPlan,
        plan: &GroupPlan,
        batch: &VectorBatch,
        active: Option<&BitVector>,
        rows_max: usize,
    ) {
        if self.table.len() > rows_max {
            self.flush(plan);
        }
        let Self { table, keys, scratch, .. } = self;
        keys.fill(plan, batch);
        for_each_row(batch.rows, active, |row| {
            let found = table.find_or_add(plan, keys, row, batch) as usize;
            let last = (found + 1) * plan.row_words - 1;
            group_words(groups, plan, keys.row(row), scratch);
            table.rows[last] = scratch[0];
        });
    }

    /// Empties the table into the partitions.
    pub(super) fn flush(&mut self, plan: &GroupPlan) {
        flush(plan, &mut self.table, plan.row_words - 1, &mut self.pages);
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.pages.iter().map(RowPage::bytes).sum::<usize>()
    }
}

/// Puts the words of a group's keys, as the groups' table has them, into `out`.
fn group_words(groups: &GroupPlan, plan: &GroupPlan, row: &[u64], out: &mut Vec<u64>) {
    out.clear();
    out.push(0);
    out.extend_from_slice(&row[HASH_WORDS..groups.null_word]);
    let keys = groups.compared_keys;
    for word in 0..keys.div_ceil(64) {
        let kept = u64::MAX.unbounded_shr((64 * (word + 1)).saturating_sub(keys) as u32);
        out.push(row[plan.null_word + word] & kept);
    }
    out[0] = hash_words(&out[HASH_WORDS..]);
}

/// Returns the value of a key of whole numbers.
fn whole_number(key: &GroupKey, row: &[u64]) -> i128 {
    match key.info.vector_type {
        VectorType::Int(IntWidth::I128) => wide(&row[key.word..]),
        _ => (row[key.word] as i64).into(),
    }
}

/// Adds the distinct values of a partition, whose rows several workers collected, to the state of
/// an aggregate. Now and then `look` is told the bytes of the set.
///
/// # Errors
/// Those of `look`.
pub(super) fn add_distinct<'p>(
    (groups, aggregate): (&GroupPlan, &GroupAggregate),
    plan: &GroupPlan,
    pages: impl Iterator<Item = &'p RowPage>,
    table: &mut GroupTable,
    mut look: impl FnMut(usize) -> ExecResult<()>,
) -> ExecResult<()> {
    let mut set = GroupTable::default();
    let mut words = Vec::new();
    for page in pages {
        for (at, row) in page.rows.chunks_exact(plan.row_words).enumerate() {
            if at % ROWS_BETWEEN_LOOKS == 0 {
                look(set.bytes())?;
            }
            let before = set.len();
            set.find_or_add_row(plan, row, &page.heap);
            if set.len() == before {
                continue;
            }
            group_words(groups, plan, row, &mut words);
            let found = table.find(groups, &words, |table, group| {
                groups.compared().iter().zip(&plan.keys).all(|(key, own)| {
                    let (Some(known), Some(offset)) = (key.offset_word, own.offset_word) else {
                        return true;
                    };
                    let len = super::keys::string_len(row[own.word]);
                    let (known, offset) =
                        (table.row(groups, group)[known] as usize, row[offset] as usize);
                    len <= INLINE_BYTES_MAX
                        || table.heap[known..known + len] == page.heap[offset..offset + len]
                })
            });
            if let Ok(group) = found {
                let start = group as usize * groups.row_words + aggregate.word;
                let state = &mut table.rows[start..start + aggregate.kind.words()];
                match (aggregate.kind, plan.keys.last()) {
                    (StateKind::DistinctSum(_), Some(key)) => {
                        add_sum(StateKind::SumWide, state, whole_number(key, row), 1);
                    }
                    _ => state[0] += 1,
                }
            }
        }
    }
    look(set.bytes())
}
