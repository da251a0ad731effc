//! `sum` of whole numbers and decimals, which is refused where it does not fit its type. The
//! planner's own wraps around.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, FieldRef, Int64Type, i256,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
};

use super::folds::{FoldAccumulator, FoldGroups, FoldStep};
use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;

/// The planner's function, with accumulators of ours for whole numbers and decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum(Arc<AggregateUDF>);

/// Wraps the function that a state has registered.
pub(crate) fn checked_sum(state: &SessionState) -> Option<Arc<AggregateUDF>> {
    let planned = Arc::clone(state.aggregate_functions().get("sum")?);
    Some(Arc::new(AggregateUDF::new_from_impl(CheckedSum(planned))))
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let returned = args.return_type().clone();
        match (&returned, args.is_distinct) {
            (DataType::Int64, false) => {
                Ok(Box::new(FoldAccumulator::<Int64Type, _>::new(WholeSum, returned)))
            }
            (DataType::Decimal128(precision, _), false) => {
                let step = DecimalSum { precision: *precision };
                Ok(Box::new(FoldAccumulator::<Decimal128Type, _>::new(step, returned)))
            }
            (DataType::Int64, true) => {
                Ok(Box::new(DistinctSum::<Int64Type>::new(self.0.accumulator(args)?, returned)))
            }
            (DataType::Decimal128(..), true) => Ok(Box::new(DistinctSum::<Decimal128Type>::new(
                self.0.accumulator(args)?,
                returned,
            ))),
            _ => self.0.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let returned = args.return_type().clone();
        match &returned {
            DataType::Int64 => Ok(Box::new(FoldGroups::<Int64Type, _>::new(WholeSum, returned))),
            DataType::Decimal128(precision, _) => {
                let step = DecimalSum { precision: *precision };
                Ok(Box::new(FoldGroups::<Decimal128Type, _>::new(step, returned)))
            }
            _ => self.0.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let returned = args.return_type().clone();
        match (&returned, args.is_distinct) {
            (DataType::Int64, false) => Ok(Box::new(SlidingSum::<Int64Type>::new(returned))),
            (DataType::Decimal128(..), false) => {
                Ok(Box::new(SlidingSum::<Decimal128Type>::new(returned)))
            }
            _ => self.0.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Of smallint, integer and bigint.
#[derive(Clone, Copy, Debug)]
struct WholeSum;

impl FoldStep<Int64Type> for WholeSum {
    fn initial(self) -> i64 {
        0
    }

    fn fold(self, state: &mut i64, value: i64) -> bool {
        let (sum, is_beyond) = state.overflowing_add(value);
        *state = sum;
        is_beyond
    }

    fn fits(self, _: i64) -> bool {
        true
    }

    fn misfit(self) -> DataFusionError {
        out_of_range(&DataType::Int64)
    }
}

#[derive(Clone, Copy, Debug)]
struct DecimalSum {
    precision: u8,
}

impl FoldStep<Decimal128Type> for DecimalSum {
    fn initial(self) -> i128 {
        0
    }

    fn fold(self, state: &mut i128, value: i128) -> bool {
        let (sum, is_beyond) = state.overflowing_add(value);
        *state = sum;
        is_beyond
    }

    fn fits(self, result: i128) -> bool {
        // 38 digits fit into 128 bits.
        result.unsigned_abs() < 10_u128.pow(self.precision.min(DECIMAL128_MAX_PRECISION).into())
    }

    fn misfit(self) -> DataFusionError {
        out_of_range(&DataType::Decimal128(self.precision, 0))
    }
}

/// Says that a sum does not fit its type.
fn out_of_range(data_type: &DataType) -> DataFusionError {
    let error = match data_type {
        DataType::Int64 => Error::new(ErrorKind::InvalidData, "bigint out of range")
            .with_hint("The sum of a bigint is a bigint. Sum up the value cast to numeric(38,0)."),
        _ => Error::new(ErrorKind::InvalidData, "numeric field overflow")
            .with_hint("A sum has at most 38 digits. Sum up the value cast to double precision."),
    };
    external(error.with_code("22003"))
}

/// A type whose values and sums are whole numbers of limited size.
trait SummedType: ArrowPrimitiveType {
    fn widen(value: Self::Native) -> i256;

    /// Returns a sum as a value of a type, if it is one.
    fn narrow(sum: i256, data_type: &DataType) -> Option<Self::Native>;
}

impl SummedType for Int64Type {
    fn widen(value: i64) -> i256 {
        i256::from_i128(value.into())
    }

    fn narrow(sum: i256, _: &DataType) -> Option<i64> {
        i64::try_from(sum.to_i128()?).ok()
    }
}

impl SummedType for Decimal128Type {
    fn widen(value: i128) -> i256 {
        i256::from_i128(value)
    }

    fn narrow(sum: i256, data_type: &DataType) -> Option<i128> {
        let DataType::Decimal128(precision, _) = data_type else { return None };
        let step = DecimalSum { precision: *precision };
        sum.to_i128().filter(|sum| step.fits(*sum))
    }
}

/// Sums up the values that are not null. It cannot overflow: values have 128 bits, and 2^127 rows
/// fit into the other bits.
fn wide_sum<T: SummedType>(values: &ArrayRef) -> i256 {
    let values = values.as_primitive::<T>().iter().flatten();
    values.fold(i256::ZERO, |sum, value| sum.wrapping_add(T::widen(value)))
}

fn narrowed<T: SummedType>(sum: Option<i256>, returned: &DataType) -> Result<ScalarValue> {
    let narrow = |sum| T::narrow(sum, returned).ok_or_else(|| out_of_range(returned));
    ScalarValue::new_primitive::<T>(sum.map(narrow).transpose()?, returned)
}

/// The sum of a window whose start moves: what leaves it is subtracted.
struct SlidingSum<T> {
    sum: i256,
    rows: usize,
    returned: DataType,
    summed: std::marker::PhantomData<fn() -> T>,
}

impl<T: SummedType> SlidingSum<T> {
    fn new(returned: DataType) -> Self {
        Self { sum: i256::ZERO, rows: 0, returned, summed: std::marker::PhantomData }
    }
}

impl<T> fmt::Debug for SlidingSum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlidingSum({})", self.returned)
    }
}

impl<T: SummedType> Accumulator for SlidingSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum = self.sum.wrapping_add(wide_sum::<T>(&values[0]));
        self.rows += values[0].len() - values[0].null_count();
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum = self.sum.wrapping_sub(wide_sum::<T>(&values[0]));
        self.rows -= values[0].len() - values[0].null_count();
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        narrowed::<T>((self.rows > 0).then_some(self.sum), &self.returned)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// The sum of different values, which the planner's accumulator gathers.
struct DistinctSum<T> {
    gathered: Box<dyn Accumulator>,
    returned: DataType,
    summed: std::marker::PhantomData<fn() -> T>,
}

impl<T: SummedType> DistinctSum<T> {
    fn new(gathered: Box<dyn Accumulator>, returned: DataType) -> Self {
        Self { gathered, returned, summed: std::marker::PhantomData }
    }
}

impl<T> fmt::Debug for DistinctSum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistinctSum({})", self.returned)
    }
}

impl<T: SummedType> Accumulator for DistinctSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.gathered.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = None;
        for state in self.gathered.state()? {
            let ScalarValue::List(list) = state else { continue };
            let values = list.values();
            if values.len() > values.null_count() {
                sum = Some(wide_sum::<T>(values));
            }
        }
        narrowed::<T>(sum, &self.returned)
    }

    fn size(&self) -> usize {
        self.gathered.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.gathered.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.gathered.merge_batch(states)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int64Array;

    use super::*;

    #[test]
    fn windows_that_move_have_exact_sums() {
        let mut sum = SlidingSum::<Int64Type>::new(DataType::Int64);
        let of =
            |values: Vec<Option<i64>>| -> [ArrayRef; 1] { [Arc::new(Int64Array::from(values))] };
        sum.update_batch(&of(vec![Some(i64::MAX), None, Some(2)])).unwrap();
        assert!(sum.evaluate().is_err());
        sum.update_batch(&of(vec![Some(-3)])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Int64(Some(i64::MAX - 1)));
        sum.retract_batch(&of(vec![Some(i64::MAX), None, Some(2), Some(-3)])).unwrap();
        assert_eq!(sum.evaluate().unwrap(), ScalarValue::Int64(None));
    }

    #[test]
    fn sums_of_decimals_have_the_digits_of_their_type() {
        let step = DecimalSum { precision: 38 };
        let most = 10_i128.pow(38) - 1;
        assert!(step.fits(most) && step.fits(-most));
        assert!(!step.fits(most + 1) && !step.fits(-most - 1) && !step.fits(i128::MIN));
        let mut state = most;
        assert!(!step.fold(&mut state, 5));
        assert!(step.fold(&mut state, most));
    }
}
