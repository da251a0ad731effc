//! `string_agg`, whose values have at most [`VALUE_BYTES_MAX`] bytes, and which asks for memory
//! before it copies them.

use std::hash::{Hash, Hasher};
use std::mem::size_of_val;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};

use super::bounded::lengths_of;
use super::value_blocks::{VALUE_BYTES_MAX, too_long};
use crate::from_datafusion::external;

/// Results that are shorter need not ask.
const RESULT_BYTES_FREE: usize = 1 << 20;

#[derive(Clone, Debug)]
struct BoundedStringAgg {
    planned: Arc<AggregateUDF>,
    pool: Arc<dyn MemoryPool>,
}

/// Makes the aggregate, which takes memory from `pool`.
pub(crate) fn bounded_aggregate(pool: &Arc<dyn MemoryPool>) -> Arc<AggregateUDF> {
    let (planned, pool) = (string_agg_udaf(), Arc::clone(pool));
    Arc::new(AggregateUDF::new_from_impl(BoundedStringAgg { planned, pool }))
}

impl PartialEq for BoundedStringAgg {
    fn eq(&self, other: &Self) -> bool {
        self.planned == other.planned
    }
}

impl Eq for BoundedStringAgg {}

impl Hash for BoundedStringAgg {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.planned.hash(state);
    }
}

impl AggregateUDFImpl for BoundedStringAgg {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        self.planned.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.inner().return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.planned.inner().state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        // How many texts are the same is not known before.
        let limit = if args.is_distinct { u64::MAX } else { VALUE_BYTES_MAX };
        let planned = self.planned.inner().accumulator(args)?;
        let pool = Arc::clone(&self.pool);
        Ok(Box::new(OneText { planned, bytes: 0, limit, pool }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.planned.inner().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let planned = self.planned.inner().create_groups_accumulator(args)?;
        let (pool, limit) = (Arc::clone(&self.pool), VALUE_BYTES_MAX);
        Ok(Box::new(ManyTexts { planned, bytes: Vec::new(), limit, pool }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Reversed(Arc::new(AggregateUDF::new_from_impl(self.clone())))
    }
}

/// Calls `make`, which copies `bytes` of texts.
fn reserved<T>(
    pool: &Arc<dyn MemoryPool>,
    bytes: usize,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let reservation = MemoryConsumer::new("string_agg").register(pool);
    if bytes > RESULT_BYTES_FREE {
        reservation.try_grow(bytes)?;
    }
    make()
}

/// Returns the lengths of texts with what separates them; of other states nothing is known.
fn row_lengths(values: &[ArrayRef]) -> Result<Vec<u64>> {
    let mut sums = vec![0; values.first().map_or(0, Array::len)];
    for array in values.iter().filter(|array| !matches!(array.data_type(), DataType::List(_))) {
        for (sum, length) in sums.iter_mut().zip(lengths_of(array, false)?) {
            *sum += length;
        }
    }
    Ok(sums)
}

/// Whether a row has a text.
fn has_text(values: &[ArrayRef], row: usize) -> bool {
    values.first().is_some_and(|array| array.is_valid(row))
}

/// The text of all rows.
#[derive(Debug)]
struct OneText {
    planned: Box<dyn Accumulator>,
    bytes: u64,
    limit: u64,
    pool: Arc<dyn MemoryPool>,
}

impl OneText {
    fn count(&mut self, values: &[ArrayRef]) -> Result<()> {
        let lengths = row_lengths(values)?.into_iter().enumerate();
        let found = lengths.filter(|(row, _)| has_text(values, *row));
        self.bytes = found.fold(self.bytes, |sum, (_, length)| sum.saturating_add(length));
        if self.bytes > self.limit { Err(external(too_long())) } else { Ok(()) }
    }
}

impl Accumulator for OneText {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(values)?;
        self.planned.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (bytes, planned) = (self.planned.size(), &mut self.planned);
        reserved(&self.pool, bytes, || planned.evaluate())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.planned.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (bytes, planned) = (self.planned.size(), &mut self.planned);
        reserved(&self.pool, bytes, || planned.state())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.count(states)?;
        self.planned.merge_batch(states)
    }
}

/// The texts of groups of rows.
struct ManyTexts {
    planned: Box<dyn GroupsAccumulator>,
    /// Of each group.
    bytes: Vec<u64>,
    limit: u64,
    pool: Arc<dyn MemoryPool>,
}

impl ManyTexts {
    fn count(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.bytes.resize(count, 0);
        let is_kept =
            |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        for (row, length) in row_lengths(values)?.into_iter().enumerate() {
            let Some(bytes) = groups.get(row).and_then(|group| self.bytes.get_mut(*group)) else {
                continue;
            };
            if has_text(values, row) && is_kept(row) {
                *bytes = bytes.saturating_add(length);
                if *bytes > self.limit {
                    return Err(external(too_long()));
                }
            }
        }
        Ok(())
    }

    /// Forgets the groups that are emitted.
    fn forget(&mut self, emitted: EmitTo) {
        match emitted {
            EmitTo::All => self.bytes.clear(),
            EmitTo::First(count) => drop(self.bytes.drain(..count.min(self.bytes.len()))),
        }
    }
}

impl GroupsAccumulator for ManyTexts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.count(values, groups, filter, count)?;
        self.planned.update_batch(values, groups, filter, count)
    }

    fn evaluate(&mut self, emitted: EmitTo) -> Result<ArrayRef> {
        self.forget(emitted);
        let (bytes, planned) = (self.planned.size(), &mut self.planned);
        reserved(&self.pool, bytes, || planned.evaluate(emitted))
    }

    fn state(&mut self, emitted: EmitTo) -> Result<Vec<ArrayRef>> {
        self.forget(emitted);
        let (bytes, planned) = (self.planned.size(), &mut self.planned);
        reserved(&self.pool, bytes, || planned.state(emitted))
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.count(states, groups, None, count)?;
        self.planned.merge_batch(states, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.planned.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.planned.size() + self.bytes.capacity() * size_of::<u64>()
    }
}
