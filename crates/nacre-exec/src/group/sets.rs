//! Grouping sets: each has groups of its own, and all of them take the batches of one pipeline.
//!
//! ```text
//! keys (a, b), sets (a) and (), sum       a     b     sum  set
//! a 1 b 2 x 10                            1     null  10   0
//! a 3 b 4 x 20                            3     null  20   0
//!                                         null  null  30   1
//! ```

use std::sync::Arc;

use super::layout::GroupPlan;
use super::sink::GroupSink;
use super::source::GroupSource;
use crate::counters::SpillReport;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSink, PipelineSource, SinkRoom, SlotInfo, SourceRun};
use crate::value::{IntBounds, VectorType};
use crate::vector::{BitVector, ColumnVector, VectorBatch};

/// The groups of all sets.
#[derive(Debug)]
pub(crate) struct GroupingSetsSink {
    sets: Vec<Arc<GroupSink>>,
}

/// All groups, those of the first set first.
#[derive(Debug)]
pub(crate) struct GroupingSetsSource {
    sets: Vec<GroupSetSource>,
}

/// The groups of one set.
#[derive(Debug)]
struct GroupSetSource {
    groups: GroupSource,
    layout: Arc<GroupSetLayout>,
}

/// Where the columns of a set's groups go.
#[derive(Debug)]
struct GroupSetLayout {
    /// By index of a key of the set: its index among all keys.
    keys: Vec<usize>,
    /// What all rows have: keys, aggregates, the index of the set.
    columns: Vec<SlotInfo>,
    key_count: usize,
    set_index: usize,
    aggregate_count: usize,
}

#[derive(Debug)]
struct GroupSetRun {
    run: Box<dyn SourceRun>,
    layout: Arc<GroupSetLayout>,
    /// The groups as the set has them.
    own: VectorBatch,
}

impl GroupingSetsSink {
    /// Makes the sink of sets that have a sink each.
    pub(crate) fn new(sets: Vec<Arc<GroupSink>>) -> Self {
        Self { sets }
    }
}

impl PipelineSink for GroupingSetsSink {
    fn name(&self) -> &'static str {
        "grouping sets"
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        for set in &self.sets {
            set.consume(worker, batch)?;
        }
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        self.sets.iter().try_for_each(|set| set.finish())
    }

    fn bytes(&self) -> usize {
        self.sets.iter().map(|set| set.bytes()).sum()
    }

    fn spilled(&self) -> SpillReport {
        let reports = self.sets.iter().map(|set| set.spilled());
        reports.fold(SpillReport::default(), SpillReport::plus)
    }
}

/// Returns what is known of the output columns of sets of `keys`, which all have these aggregates.
pub(crate) fn grouping_columns(
    keys: &[SlotInfo],
    plan: &GroupPlan,
    set_count: usize,
) -> Vec<SlotInfo> {
    let nullable = |info: &SlotInfo| SlotInfo { is_nullable: true, ..info.clone() };
    let bounds = IntBounds::new(0, set_count as i128);
    let set = SlotInfo {
        vector_type: VectorType::Int(bounds.width()),
        bounds: Some(bounds),
        is_nullable: false,
        dictionary: None,
    };
    let aggregates = plan.outputs().into_iter().skip(plan.keys.len());
    keys.iter().map(nullable).chain(aggregates).chain([set]).collect()
}

impl GroupingSetsSource {
    /// Makes the source of sets that were collected into a sink each; `columns` are those of
    /// [`grouping_columns`].
    pub(crate) fn new(
        sinks: &[Arc<GroupSink>],
        sets: &[Vec<usize>],
        columns: &[SlotInfo],
        key_count: usize,
    ) -> Self {
        let source = |(set_index, (sink, keys)): (usize, (&Arc<GroupSink>, &Vec<usize>))| {
            let layout = GroupSetLayout {
                keys: keys.clone(),
                columns: columns.to_vec(),
                key_count,
                set_index,
                aggregate_count: columns.len() - key_count - 1,
            };
            GroupSetSource { groups: GroupSource::new(sink), layout: Arc::new(layout) }
        };
        Self { sets: sinks.iter().zip(sets).enumerate().map(source).collect() }
    }
}

impl PipelineSource for GroupingSetsSource {
    fn name(&self) -> &'static str {
        "groups of sets"
    }

    fn morsel_count(&self) -> usize {
        self.sets.iter().map(|set| set.groups.morsel_count()).sum()
    }

    fn open(&self, mut morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        for GroupSetSource { groups, layout } in &self.sets {
            let own = groups.morsel_count();
            if morsel >= own {
                morsel -= own;
                continue;
            }
            let columns = layout.own_columns().map(|info| ColumnVector::new(info.vector_type));
            let own = VectorBatch { columns: columns.collect(), rows: 0, selection: None };
            let (run, layout) = (groups.open(morsel)?, Arc::clone(layout));
            return Ok(Box::new(GroupSetRun { run, layout, own }));
        }
        Err(crate::error::ExecError::internal(format!("no morsel {morsel} of grouping sets")))
    }
}

impl GroupSetLayout {
    /// Returns what the set's groups have: its keys, then aggregates.
    fn own_columns(&self) -> impl Iterator<Item = &SlotInfo> {
        let aggregates = &self.columns[self.key_count..self.key_count + self.aggregate_count];
        self.keys.iter().map(|key| &self.columns[*key]).chain(aggregates)
    }
}

impl SourceRun for GroupSetRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Self { run, layout, own } = self;
        let has_rows = run.next(own)?;
        (batch.rows, batch.selection) = (own.rows, None);
        let columns = batch.columns.iter_mut().zip(&layout.columns).enumerate();
        for (index, (column, info)) in columns {
            let place = match index.checked_sub(layout.key_count) {
                None => layout.keys.iter().position(|key| *key == index),
                Some(aggregate) if aggregate < layout.aggregate_count => {
                    Some(layout.keys.len() + aggregate)
                }
                Some(_) => {
                    *column = ColumnVector::new(info.vector_type);
                    (0..own.rows).for_each(|_| column.values.push_int(layout.set_index as i128));
                    continue;
                }
            };
            match place {
                Some(place) => std::mem::swap(column, &mut own.columns[place]),
                None => *column = nulls(info, own.rows),
            }
        }
        Ok(has_rows)
    }
}

/// Returns a column of nulls.
fn nulls(info: &SlotInfo, rows: usize) -> ColumnVector {
    let mut column = info.empty_column();
    (0..rows).for_each(|_| column.values.push_default());
    column.validity = Some(BitVector::filled(rows, false));
    column
}
