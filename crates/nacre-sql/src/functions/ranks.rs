//! `row_number`, `rank`, `dense_rank` and `ntile` as PostgreSQL has them: whole numbers with a
//! sign. The planner's own have none, and what is computed with them would be no whole number.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowFunctionSimplification, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

/// The functions, and what they return.
const RANKS: [(&str, DataType); 4] = [
    ("row_number", DataType::Int64),
    ("rank", DataType::Int64),
    ("dense_rank", DataType::Int64),
    ("ntile", DataType::Int32),
];

/// A function of the planner whose results get another type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rank {
    planned: Arc<WindowUDF>,
    returned: DataType,
}

/// Makes the functions out of those that a state has.
pub(crate) fn ranks(state: &SessionState) -> Vec<Arc<WindowUDF>> {
    let made = RANKS.into_iter().filter_map(|(name, returned)| {
        let planned = Arc::clone(state.window_functions().get(name)?);
        Some(Arc::new(WindowUDF::new_from_impl(Rank { planned, returned })))
    });
    made.collect()
}

impl WindowUDFImpl for Rank {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        self.planned.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.planned.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let planned = self.planned.partition_evaluator_factory(args)?;
        Ok(Box::new(Evaluator { planned, returned: self.returned.clone() }))
    }

    fn simplify(&self) -> Option<WindowFunctionSimplification> {
        self.planned.simplify()
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let planned = self.planned.field(args)?;
        Ok(Arc::new(Field::new(planned.name(), self.returned.clone(), planned.is_nullable())))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.planned.sort_options()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.planned.coerce_types(types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        // None of them is the same from the other end.
        ReversedUDWF::NotSupported
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.planned.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct Evaluator {
    planned: Box<dyn PartitionEvaluator>,
    returned: DataType,
}

impl PartitionEvaluator for Evaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.planned.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.planned.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.planned.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(cast(&self.planned.evaluate_all(values, rows)?, &self.returned)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.planned.evaluate(values, range)?.cast_to(&self.returned)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        Ok(cast(&self.planned.evaluate_all_with_rank(rows, ranks)?, &self.returned)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.planned.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.planned.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.planned.include_rank()
    }
}
