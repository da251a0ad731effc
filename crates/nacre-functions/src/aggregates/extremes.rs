//! `min` and `max` of any type that has an order: of equal values the last.

use std::cmp::Ordering;
use std::sync::Arc;

use nacre_types::{SqlValue, ValueError};

use super::{AggregateContext, AggregateKernel, AggregateState, argument};
use crate::kernels::compare_values;

pub(super) const MIN: AggregateKernel =
    AggregateKernel::of_values(|context| ExtremeState::start(context, Ordering::Greater));
pub(super) const MAX: AggregateKernel =
    AggregateKernel::of_values(|context| ExtremeState::start(context, Ordering::Less));

struct ExtremeState {
    context: Arc<AggregateContext>,
    value: SqlValue,
    /// How a value compares with one before that stays.
    worse: Ordering,
}

impl ExtremeState {
    fn start(context: &Arc<AggregateContext>, worse: Ordering) -> Box<dyn AggregateState> {
        Box::new(Self { context: Arc::clone(context), value: SqlValue::Null, worse })
    }
}

impl AggregateState for ExtremeState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        let value = argument(row, 0)?;
        let context = self.context.kernel_context();
        if self.value.is_null() || compare_values(value, &self.value, &context)? != self.worse {
            self.value = value.clone();
        }
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(self.value.clone())
    }
}
