//! Conditions without columns, which PostgreSQL decides once, before the first row.
//!
//! ```text
//! where a > 1 and 1 = 0      no rows, and nothing below is read
//! where a > 1 and 1 = 1      a > 1
//! ```

use std::sync::Arc;

use nacre_plan::algebra::ScalarExpression;
use nacre_simd::Flavour;

use super::columns::{ColumnPlaces, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::expressions::ExpressionLowering;
use super::fold::check_constants;
use super::once::has_once;
use crate::error::ExecResult;
use crate::expression::{ExpressionGraph, ExpressionId};
use crate::interpret::StepInterpreter;
use crate::memory::MemoryBudget;
use crate::pipeline::ProgramBuilder;
use crate::value::ScalarValue;

/// Most bytes of a constant: longer ones are computed by the other engine, at execution.
pub(super) const CONSTANT_BYTES_MAX: u64 = 1 << 20;

/// Returns the conditions that have columns, are volatile or ask for a value that is computed once;
/// `None` if another one is not true.
///
/// # Errors
/// Those of conditions without columns; if there are no rows, of other constants, too.
pub(super) fn without_constants<'e>(
    conditions: &[&'e ScalarExpression],
) -> LoweringResult<Option<Vec<&'e ScalarExpression>>> {
    let mut kept = Vec::with_capacity(conditions.len());
    let mut has_rows = true;
    for condition in conditions {
        LoweringError::check_stopped()?;
        let mut columns = Vec::new();
        collect_columns(condition, &mut columns);
        if !columns.is_empty() || condition.is_volatile() || has_once(condition) {
            kept.push(*condition);
        } else {
            match decide(condition)? {
                ScalarValue::Bool(true) => {}
                // It computes no constants behind this one.
                ScalarValue::Bool(false) => {
                    has_rows = false;
                    break;
                }
                _ => has_rows = false,
            }
        }
    }
    if has_rows {
        return Ok(Some(kept));
    }
    kept.into_iter().try_for_each(check_constants)?;
    Ok(None)
}

/// Computes a condition without columns.
fn decide(condition: &ScalarExpression) -> LoweringResult<ScalarValue> {
    let columns = ColumnPlaces::default();
    let mut expressions = ExpressionLowering::new(&columns);
    let id = expressions.condition(condition)?;
    evaluate_constant(&expressions.graph, id)
}

/// Evaluates an expression for a row without columns.
///
/// # Errors
/// [`LoweringError::NotSupported`] if it fails.
pub(super) fn evaluate_constant(
    graph: &ExpressionGraph,
    id: ExpressionId,
) -> LoweringResult<ScalarValue> {
    run_constant(graph, id)
        .map_err(|error| LoweringError::not_supported(format!("a constant that fails ({error})")))
}

fn run_constant(graph: &ExpressionGraph, id: ExpressionId) -> ExecResult<ScalarValue> {
    let mut builder = ProgramBuilder::default();
    let slots = builder.resolve_all(graph, &[], &[id])?;
    let program = builder.program;
    let counters = program.counters();
    let mut batch = StepInterpreter::batch(&program);
    batch.rows = 1;
    let budget = MemoryBudget::new("constants", CONSTANT_BYTES_MAX);
    let mut interpreter = StepInterpreter::new(Flavour::active(), &budget, &Arc::default());
    interpreter.run(&program, &counters, &mut batch)?;
    Ok(batch.columns[slots[0]].scalar(0))
}
