//! `min` and `max` of floats, for which NaN is greater than all numbers. The planner's own forget
//! in a group what came before a NaN, and start from the greatest finite number.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_datafusion_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature, StatisticsArgs,
};

use super::folds::{FoldAccumulator, FoldGroups, FoldStep};

/// A function of the planner, with accumulators of ours for floats.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatExtreme {
    planned: Arc<AggregateUDF>,
    step: ExtremeStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ExtremeStep {
    Least,
    Greatest,
}

/// Wraps the functions that a state has registered.
pub(crate) fn extremes(state: &SessionState) -> Vec<Arc<AggregateUDF>> {
    let made = [("min", ExtremeStep::Least), ("max", ExtremeStep::Greatest)];
    let made = made.into_iter().filter_map(|(name, step)| {
        let planned = Arc::clone(state.aggregate_functions().get(name)?);
        Some(Arc::new(AggregateUDF::new_from_impl(FloatExtreme { planned, step })))
    });
    made.collect()
}

impl AggregateUDFImpl for FloatExtreme {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        self.planned.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let returned = args.return_type().clone();
        match returned {
            DataType::Float32 => {
                Ok(Box::new(FoldAccumulator::<Float32Type, _>::new(self.step, returned)))
            }
            DataType::Float64 => {
                Ok(Box::new(FoldAccumulator::<Float64Type, _>::new(self.step, returned)))
            }
            _ => self.planned.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.planned.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.planned.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let returned = args.return_type().clone();
        match returned {
            DataType::Float32 => {
                Ok(Box::new(FoldGroups::<Float32Type, _>::new(self.step, returned)))
            }
            DataType::Float64 => {
                Ok(Box::new(FoldGroups::<Float64Type, _>::new(self.step, returned)))
            }
            _ => self.planned.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.planned.create_sliding_accumulator(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.planned.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.planned.is_descending()
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.planned.value_from_stats(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.planned.inner().set_monotonicity(data_type)
    }
}

/// Implements the steps for a type of floats.
macro_rules! float_steps {
    ($arrow:ty, $native:ty) => {
        impl FoldStep<$arrow> for ExtremeStep {
            fn initial(self) -> $native {
                match self {
                    Self::Least => <$native>::NAN,
                    Self::Greatest => <$native>::NEG_INFINITY,
                }
            }

            fn fold(self, state: &mut $native, value: $native) -> bool {
                let is_better = match self {
                    Self::Least => value < *state || state.is_nan(),
                    Self::Greatest => value > *state || value.is_nan(),
                };
                if is_better {
                    *state = value;
                }
                false
            }

            fn fits(self, _: $native) -> bool {
                true
            }

            fn misfit(self) -> DataFusionError {
                internal_datafusion_err!("an extreme is one of its values")
            }
        }
    };
}

float_steps!(Float32Type, f32);
float_steps!(Float64Type, f64);

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
    use datafusion::logical_expr::EmitTo;

    use super::*;

    #[test]
    fn nan_is_greater_than_all_numbers_wherever_it_stands() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let cases: [(&[f64], f64, f64); 6] = [
            (&[1.0, nan, 2.0], 1.0, nan),
            (&[nan, 1.0], 1.0, nan),
            (&[2.0, -nan, 1.0], 1.0, nan),
            (&[nan, -nan], nan, nan),
            (&[-inf, -inf], -inf, -inf),
            (&[inf], inf, inf),
        ];
        for (values, least, greatest) in cases {
            for (step, wanted) in [(ExtremeStep::Least, least), (ExtremeStep::Greatest, greatest)] {
                let column: [ArrayRef; 1] = [Arc::new(Float64Array::from(values.to_vec()))];
                let groups = vec![0; values.len()];
                let mut fold = FoldGroups::<Float64Type, _>::new(step, DataType::Float64);
                fold.update_batch(&column, &groups, None, 1).unwrap();
                let found = fold.evaluate(EmitTo::All).unwrap();
                let found = found.as_primitive::<Float64Type>().value(0);
                let is_same = found == wanted || (found.is_nan() && wanted.is_nan());
                assert!(is_same, "{step:?} of {values:?}: {found}");
            }
        }
    }
}
