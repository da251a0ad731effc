//! Runs a plan.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use nacre_column::ColumnBuffer;
use nacre_store::{Store, TableSchema};

use super::compute::{Compute, result_type};
use super::find::Found;
use super::operand::Inputs;
use super::plan::{Action, Current, Find, Item, Plan, Scalar};
use super::recognise::is_plain;
use crate::dml::{self, Rows, Step, Write};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::buffer_array;
use crate::session::Outcome;
use crate::transaction::Turn;

impl Plan {
    /// Runs the plan in a turn that is sound; `None` if the statement has to go the general way,
    /// and then nothing was changed.
    ///
    /// # Errors
    /// 25006; those of writing rows.
    pub(super) async fn run(
        &self,
        store: &Store,
        turn: &mut Turn,
        inputs: Inputs<'_>,
    ) -> Result<Option<Outcome>> {
        let Some(current) = self.subject.current(store) else { return Ok(None) };
        let schema = self.subject.schema();
        if let Some(verb) = self.action.verb() {
            turn.require_writable(verb)?;
            // Rules may have come since the plan was made.
            if !is_plain(&current.table) {
                return Ok(None);
            }
        }
        let (rows, write) = match &self.action {
            Action::Select { find, items, limit, schema: output } => {
                let limit = match limit {
                    None => usize::MAX,
                    Some(limit) => match limit.count(inputs) {
                        Some(limit) => limit,
                        None => return Ok(None),
                    },
                };
                let found = self.find(find, turn, &current, inputs, limit)?;
                let arrays = found.and_then(|found| arrays(items, output, &found, inputs));
                return arrays.map(|arrays| answer(output, arrays)).transpose();
            }
            Action::Update { find, assignments } => {
                let Some(found) = self.find(find, turn, &current, inputs, usize::MAX)? else {
                    return Ok(None);
                };
                let columns: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
                let write = Write::Update(columns.clone());
                (updated(schema, columns, assignments, &found, inputs), write)
            }
            Action::Delete { find } => {
                let Some(found) = self.find(find, turn, &current, inputs, usize::MAX)? else {
                    return Ok(None);
                };
                (updated(schema, Vec::new(), &[], &found, inputs), Write::Delete)
            }
            Action::Insert { rows } => {
                turn.moment(true)?;
                (inserted(schema, rows, inputs), Write::Insert)
            }
        };
        let Some(rows) = rows.filter(|rows| rows.check_nulls(schema).is_ok()) else {
            return Ok(None);
        };
        let tag = dml::tag(self.action.verb().unwrap_or_default(), rows.len());
        let steps = vec![Step { table: current.table, write, rows }];
        let applied = match turn.is_in_block() || !store.commits_wait() {
            true => dml::apply_now(turn, &steps),
            false => dml::apply(turn, steps, Arc::default()).await,
        };
        match applied {
            // There it is begun again with a new snapshot.
            Err(error)
                if error.kind() == ErrorKind::SerializationFailure && turn.is_read_committed() =>
            {
                return Ok(None);
            }
            applied => applied?,
        }
        Ok(Some(Outcome::Command { tag, warning: None }))
    }

    fn find(
        &self,
        find: &Find,
        turn: &mut Turn,
        current: &Current,
        inputs: Inputs<'_>,
        limit: usize,
    ) -> Result<Option<Found>> {
        turn.moment(self.action.verb().is_some())?;
        let mut hold = turn.lend()?;
        let schema = self.subject.schema();
        let found = find.rows(hold.transaction(), current, schema, inputs, limit);
        turn.restore(hold);
        Ok(found)
    }
}

/// Computes the output columns.
fn arrays(
    items: &[Item],
    output: &SchemaRef,
    found: &Found,
    inputs: Inputs<'_>,
) -> Option<Vec<ArrayRef>> {
    let array = |(item, field): (&Item, &FieldRef)| match item {
        Item::Column(place) => buffer_array(found.buffers.get(*place)?).ok(),
        Item::Computed(compute) => {
            let mut buffer = ColumnBuffer::new(result_type(field.data_type())?);
            computed(compute, found, inputs, &mut buffer)?;
            buffer_array(&buffer).ok()
        }
    };
    items.iter().zip(output.fields()).map(array).collect()
}

fn computed(
    compute: &Compute,
    found: &Found,
    inputs: Inputs<'_>,
    buffer: &mut ColumnBuffer,
) -> Option<()> {
    found.each(|_, row| compute.of_row(row, inputs)?.push_to(buffer))
}

fn answer(output: &SchemaRef, arrays: Vec<ArrayRef>) -> Result<Outcome> {
    let batch = RecordBatch::try_new(Arc::clone(output), arrays).map_err(DataFusionError::from)?;
    let batches = (batch.num_rows() > 0).then_some(Ok(batch));
    let rows = RecordBatchStreamAdapter::new(Arc::clone(output), stream::iter(batches));
    Ok(Outcome::Rows { schema: Arc::clone(output), stream: Box::pin(rows) })
}

/// Computes the new values of rows.
fn updated(
    schema: &TableSchema,
    columns: Vec<usize>,
    assignments: &[(usize, Scalar)],
    found: &Found,
    inputs: Inputs<'_>,
) -> Option<Rows> {
    let mut rows = Rows::new(columns);
    found.each(|id, row| {
        let push = |place: usize, _: &_, buffer: &mut ColumnBuffer| {
            let (_, scalar) = assignments.get(place).ok_or_else(unusual)?;
            match scalar {
                Scalar::Fixed(cell) => cell.push_literal(buffer),
                Scalar::Given(operand) => operand.push_to(inputs, buffer).ok_or_else(unusual),
                Scalar::Computed(compute) => {
                    let number = compute.of_row(row, inputs);
                    number.and_then(|number| number.push_to(buffer)).ok_or_else(unusual)
                }
            }
        };
        rows.push(schema, Some(id), push).ok()
    })?;
    Some(rows)
}

/// Makes new rows.
fn inserted(schema: &TableSchema, lists: &[Vec<Scalar>], inputs: Inputs<'_>) -> Option<Rows> {
    let mut rows = Rows::new((0..schema.columns.len()).collect());
    for list in lists {
        let push = |place: usize, _: &_, buffer: &mut ColumnBuffer| match list.get(place) {
            Some(Scalar::Fixed(cell)) => cell.push_literal(buffer),
            Some(Scalar::Given(operand)) => operand.push_to(inputs, buffer).ok_or_else(unusual),
            Some(Scalar::Computed(_)) | None => Err(unusual()),
        };
        rows.push(schema, None, push).ok()?;
    }
    Some(rows)
}

/// The error of a value that is for the general way; nobody gets to see it.
fn unusual() -> Error {
    Error::new(ErrorKind::Internal, "internal error: a short statement with an unusual value")
}
