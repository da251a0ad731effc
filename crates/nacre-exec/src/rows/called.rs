//! Calls of queries for the rows of a vector.

use crate::error::{ExecError, ExecResult};
use crate::expression::ForeignCall;
use crate::plan::{CalledQuery, RecursionColumn};
use crate::value::{IntWidth, ScalarValue, ValueClass, VectorType};
use crate::vector::{ColumnVector, ResultBatch};

/// Computes the values of a query whose arguments are `parameters` for the active rows of a call.
///
/// # Errors
/// Those of the query.
pub(crate) fn call_query(
    query: &CalledQuery,
    parameters: &[RecursionColumn],
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let is_active = |row: &usize| call.active.is_none_or(|active| active.get(*row));
    let rows: Vec<usize> = (0..call.rows).filter(is_active).collect();
    let mut values: Vec<Option<ScalarValue>> = vec![None; call.rows];
    if !rows.is_empty() {
        call.room.check()?;
        let mut numbers = ColumnVector::new(VectorType::Int(IntWidth::I64));
        rows.iter().for_each(|row| numbers.values.push_int(*row as i128));
        let mut columns = vec![numbers];
        for (argument, parameter) in call.arguments.iter().zip(parameters) {
            let vector_type = VectorType::of_class(parameter.class, parameter.bounds);
            let mut column = ColumnVector::new(vector_type);
            for row in &rows {
                column.push_scalar(&argument.scalar(*row))?;
            }
            column.fill_validity();
            columns.push(column);
        }
        for batch in query.run(ResultBatch { columns, rows: rows.len() })? {
            put_values(&batch, &mut values)?;
        }
    }
    let null = ScalarValue::Null(ValueClass::Bool);
    for value in &values {
        out.push_scalar(value.as_ref().unwrap_or(&null))?;
    }
    out.fill_validity();
    call.room.ask(out.bytes())
}

/// Puts each value of a batch to the row that its number says.
fn put_values(batch: &ResultBatch, values: &mut [Option<ScalarValue>]) -> ExecResult<()> {
    let [numbers, results] = &batch.columns[..] else {
        return Err(ExecError::internal("a called query has other columns"));
    };
    for row in 0..batch.rows {
        let place = match numbers.scalar(row) {
            ScalarValue::Int(number) => usize::try_from(number).ok(),
            _ => None,
        };
        let place = place.and_then(|place| values.get_mut(place));
        let missing = || ExecError::internal("a called query has a row of none of its arguments");
        *place.ok_or_else(missing)? = Some(results.scalar(row));
    }
    Ok(())
}
