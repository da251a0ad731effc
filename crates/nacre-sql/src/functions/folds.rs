//! Accumulators of aggregates whose state is one value of the type that they return.
//!
//! Each has a [`FoldStep`] that takes one more value in. It says whether the result fits its type,
//! so that a sum is refused and does not wrap around.

use std::fmt;
use std::mem::size_of;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use datafusion::arrow::array::{BooleanBufferBuilder, PrimitiveArray};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::prep_null_mask_filter;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// How an aggregate takes its values in.
pub(super) trait FoldStep<T: ArrowPrimitiveType>: Copy + Send + Sync + 'static {
    /// The state before the first value.
    fn initial(self) -> T::Native;

    /// Takes a value in; returns whether the result does not fit.
    fn fold(self, state: &mut T::Native, value: T::Native) -> bool;

    /// Whether a result is one of its type, as far as [`FoldStep::fold`] does not tell.
    fn fits(self, result: T::Native) -> bool;

    /// Returns the error for a result that does not fit.
    fn misfit(self) -> DataFusionError;
}

/// One value for all rows.
pub(super) struct FoldAccumulator<T: ArrowPrimitiveType, S> {
    step: S,
    state: T::Native,
    has_values: bool,
    returned: DataType,
}

impl<T: ArrowPrimitiveType, S: FoldStep<T>> FoldAccumulator<T, S> {
    pub(super) fn new(step: S, returned: DataType) -> Self {
        Self { step, state: step.initial(), has_values: false, returned }
    }

    fn value(&self) -> Result<ScalarValue> {
        ScalarValue::new_primitive::<T>(self.has_values.then_some(self.state), &self.returned)
    }
}

impl<T: ArrowPrimitiveType, S> fmt::Debug for FoldAccumulator<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FoldAccumulator({})", self.returned)
    }
}

impl<T: ArrowPrimitiveType, S: FoldStep<T>> Accumulator for FoldAccumulator<T, S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        let (step, mut state, mut is_misfit) = (self.step, self.state, false);
        match values.nulls() {
            Some(nulls) if nulls.null_count() > 0 => {
                let valid = nulls.valid_indices();
                valid.for_each(|row| is_misfit |= step.fold(&mut state, values.value(row)));
            }
            _ => {
                values.values().iter().for_each(|value| is_misfit |= step.fold(&mut state, *value))
            }
        }
        self.state = state;
        self.has_values |= values.null_count() < values.len();
        if is_misfit { Err(step.misfit()) } else { Ok(()) }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.has_values && !self.step.fits(self.state) {
            return Err(self.step.misfit());
        }
        self.value()
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// One value for each group.
pub(super) struct FoldGroups<T: ArrowPrimitiveType, S> {
    step: S,
    states: Vec<T::Native>,
    /// Which groups have had a value; `None` while all have.
    valued: Option<BooleanBufferBuilder>,
    returned: DataType,
}

impl<T: ArrowPrimitiveType, S: FoldStep<T>> FoldGroups<T, S> {
    pub(super) fn new(step: S, returned: DataType) -> Self {
        Self { step, states: Vec::new(), valued: None, returned }
    }

    /// Removes the states that are emitted and returns them.
    fn take(&mut self, emit_to: EmitTo) -> PrimitiveArray<T> {
        let states = emit_to.take_needed(&mut self.states);
        let nulls = self.valued.take().map(|mut valued| {
            let all = valued.finish();
            let taken = all.slice(0, states.len());
            if states.len() < all.len() {
                let mut kept = BooleanBufferBuilder::new(all.len() - states.len());
                kept.append_buffer(&all.slice(states.len(), all.len() - states.len()));
                self.valued = Some(kept);
            }
            NullBuffer::new(taken)
        });
        PrimitiveArray::<T>::new(states.into(), nulls).with_data_type(self.returned.clone())
    }
}

impl<T: ArrowPrimitiveType, S: FoldStep<T>> GroupsAccumulator for FoldGroups<T, S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        let (step, known) = (self.step, self.states.len());
        self.states.resize(group_count, step.initial());
        let states = &mut self.states;
        let mut is_misfit = false;
        let taken = taken_rows(values, filter);
        if taken.is_none() && self.valued.is_none() {
            // Each group that is new here has a row here.
            for (group, value) in groups.iter().zip(values.values()) {
                is_misfit |= step.fold(&mut states[*group], *value);
            }
        } else {
            let valued = self.valued.get_or_insert_with(|| {
                let mut valued = BooleanBufferBuilder::new(group_count);
                valued.append_n(known, true);
                valued
            });
            valued.append_n(group_count - valued.len(), false);
            let mut fold = |row: usize| {
                is_misfit |= step.fold(&mut states[groups[row]], values.value(row));
                valued.set_bit(groups[row], true);
            };
            match taken {
                Some(taken) => taken.set_indices().for_each(fold),
                None => (0..values.len()).for_each(&mut fold),
            }
        }
        if is_misfit { Err(step.misfit()) } else { Ok(()) }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let results = self.take(emit_to);
        if results.iter().flatten().any(|result| !self.step.fits(result)) {
            return Err(self.step.misfit());
        }
        Ok(Arc::new(results))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(self.take(emit_to))])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        group_count: usize,
    ) -> Result<()> {
        self.update_batch(states, groups, None, group_count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>();
        let nulls = taken_rows(values, filter).map(NullBuffer::new);
        let states = PrimitiveArray::<T>::new(values.values().clone(), nulls);
        Ok(vec![Arc::new(states.with_data_type(self.returned.clone()))])
    }

    fn size(&self) -> usize {
        let valued = self.valued.as_ref().map_or(0, |valued| valued.capacity() / 8);
        self.states.capacity() * size_of::<T::Native>() + valued
    }
}

/// Returns the rows that are not null and pass a filter; `None` for all rows.
fn taken_rows<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    filter: Option<&BooleanArray>,
) -> Option<BooleanBuffer> {
    let valid = values.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.inner());
    let passed = filter.map(|filter| match filter.null_count() {
        0 => filter.values().clone(),
        _ => prep_null_mask_filter(filter).values().clone(),
    });
    match (valid, passed) {
        (Some(valid), Some(passed)) => Some(valid & &passed),
        (valid, passed) => passed.or_else(|| valid.cloned()),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::Int64Type;
    use datafusion::common::exec_datafusion_err;

    use super::*;

    #[derive(Clone, Copy)]
    struct SumButThirteen;

    impl FoldStep<Int64Type> for SumButThirteen {
        fn initial(self) -> i64 {
            0
        }

        fn fold(self, state: &mut i64, value: i64) -> bool {
            let (sum, is_beyond) = state.overflowing_add(value);
            *state = sum;
            is_beyond
        }

        fn fits(self, result: i64) -> bool {
            result != 13
        }

        fn misfit(self) -> DataFusionError {
            exec_datafusion_err!("misfit")
        }
    }

    fn groups() -> FoldGroups<Int64Type, SumButThirteen> {
        FoldGroups::new(SumButThirteen, DataType::Int64)
    }

    fn column(values: impl IntoIterator<Item = Option<i64>>) -> [ArrayRef; 1] {
        [Arc::new(values.into_iter().collect::<Int64Array>())]
    }

    fn emitted(array: &ArrayRef) -> Vec<Option<i64>> {
        array.as_primitive::<Int64Type>().iter().collect()
    }

    #[test]
    fn groups_without_values_are_null_whenever_nulls_begin() {
        let mut sums = groups();
        let all = column([1, 2, 3].map(Some));
        sums.update_batch(&all, &[0, 1, 0], None, 2).unwrap();
        sums.update_batch(&column([None, Some(5)]), &[2, 3], None, 4).unwrap();
        let filter = BooleanArray::from(vec![Some(true), Some(false), None]);
        sums.update_batch(&all, &[1, 4, 5], Some(&filter), 6).unwrap();
        sums.update_batch(&all, &[6, 6, 5], None, 7).unwrap();
        let first = sums.evaluate(EmitTo::First(3)).unwrap();
        assert_eq!(emitted(&first), [Some(4), Some(3), None]);
        sums.update_batch(&column([Some(10)]), &[1], None, 4).unwrap();
        let rest = sums.evaluate(EmitTo::All).unwrap();
        assert_eq!(emitted(&rest), [Some(5), Some(10), Some(3), Some(3)]);
    }

    #[test]
    fn states_of_parts_become_one() {
        let mut sums = groups();
        let filter = BooleanArray::from(vec![true, true, false]);
        let states = sums.convert_to_state(&column([Some(1), None, Some(3)]), Some(&filter));
        let states = states.unwrap();
        assert_eq!(emitted(&states[0]), [Some(1), None, None]);
        sums.merge_batch(&states, &[0, 1, 0], 2).unwrap();
        assert_eq!(emitted(&sums.state(EmitTo::All).unwrap()[0]), [Some(1), None]);
        let mut sum =
            FoldAccumulator::<Int64Type, SumButThirteen>::new(SumButThirteen, DataType::Int64);
        sum.merge_batch(&column([None, None])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Int64(None));
        sum.update_batch(&column([Some(3), None, Some(4)])).unwrap();
        assert_eq!(sum.state().unwrap(), [ScalarValue::Int64(Some(7))]);
    }

    #[test]
    fn results_that_do_not_fit_are_refused() {
        let beyond = column([Some(i64::MAX), Some(1)]);
        assert!(groups().update_batch(&beyond, &[0, 0], None, 1).is_err());
        assert!(groups().update_batch(&beyond, &[0, 1], None, 2).is_ok());
        let new =
            || FoldAccumulator::<Int64Type, SumButThirteen>::new(SumButThirteen, DataType::Int64);
        assert!(new().update_batch(&beyond).is_err());
        let mut sums = groups();
        sums.update_batch(&column([Some(13)]), &[0], None, 1).unwrap();
        assert!(sums.evaluate(EmitTo::All).is_err());
        let mut sum = new();
        sum.update_batch(&column([Some(13)])).unwrap();
        assert_eq!(sum.state().unwrap(), [ScalarValue::Int64(Some(13))]);
        assert!(sum.evaluate().is_err());
    }
}
