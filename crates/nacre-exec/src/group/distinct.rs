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

    /// Gives the memory of an empty table back.
    pub(super) fn release(&mut self) {
        self.table = GroupTable::default();
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

/// The distinct values of a partition while they are added to the states of an aggregate.
#[derive(Debug)]
pub(super) struct DistinctMerge<'p> {
    groups: &'p GroupPlan,
    aggregate: &'p GroupAggregate,
    plan: &'p GroupPlan,
    set: GroupTable,
    words: Vec<u64>,
}

impl<'p> DistinctMerge<'p> {
    /// Begins with no values; `plan` is that of the set of `aggregate`.
    pub(super) fn new(
        groups: &'p GroupPlan,
        aggregate: &'p GroupAggregate,
        plan: &'p GroupPlan,
    ) -> Self {
        Self { groups, aggregate, plan, set: GroupTable::default(), words: Vec::new() }
    }

    /// Adds the rows of a page that are new to the states of their groups in `table`. Now and then
    /// `look` is told the bytes of the set.
    ///
    /// # Errors
    /// Those of `look`.
    pub(super) fn add_page(
        &mut self,
        page: &RowPage,
        table: &mut GroupTable,
        mut look: impl FnMut(usize) -> ExecResult<()>,
    ) -> ExecResult<()> {
        for (at, row) in page.rows(self.plan).enumerate() {
            if at % ROWS_BETWEEN_LOOKS == 0 {
                look(self.set.bytes())?;
            }
            let before = self.set.len();
            self.set.find_or_add_row(self.plan, row, &page.heap);
            if self.set.len() > before {
                self.add_value(row, &page.heap, table);
            }
        }
        look(self.set.bytes())
    }

    /// Adds a value to the state of its group.
    fn add_value(&mut self, row: &[u64], heap: &[u8], table: &mut GroupTable) {
        let Self { groups, aggregate, plan, words, .. } = self;
        group_words(groups, plan, row, words);
        let found = table.find(groups, words, |table, group| {
            groups.compared().iter().zip(&plan.keys).all(|(key, own)| {
                let (Some(known), Some(offset)) = (key.offset_word, own.offset_word) else {
                    return true;
                };
                let len = super::keys::string_len(row[own.word]);
                let (known, offset) =
                    (table.row(groups, group)[known] as usize, row[offset] as usize);
                len <= INLINE_BYTES_MAX
                    || table.heap[known..known + len] == heap[offset..offset + len]
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
