//! Runs a plan.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use nacre_column::ColumnBuffer;
use nacre_store::{Store, TableSchema};

use super::compute::result_type;
use super::find::{Found, each};
use super::operand::Inputs;
use super::plan::{Action, Current, Find, Item, Plan, Returning, Scalar};
use crate::dml::{self, Cell, Rows, Step, Write};
use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;
use crate::rules::{Checks, DefaultValues, Drawn};
use crate::scan::buffer_array;
use crate::statement_io::Outcome;
use crate::transaction::Turn;

/// How long a statement waits here for transactions that are in its way. For longer it does so on
/// the general way, where it can be cancelled.
const PATIENCE: Duration = Duration::from_millis(50);

/// The longest of the waits, in case the end of a transaction was missed.
const WAIT_MAX: Duration = Duration::from_millis(2);

impl Plan {
    /// Runs the plan in a turn that is sound; `None` if the statement has to go the general way,
    /// and then nothing was changed. A commit that waits for a disk does so on another thread.
    ///
    /// # Errors
    /// 25006; those of writing rows.
    pub(super) async fn run(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        inputs: Inputs<'_>,
    ) -> Result<Option<Outcome>> {
        let applied = match self.begin(store, planner, turn, inputs)? {
            None => return Ok(None),
            Some(Begun::Answered(outcome)) => return Ok(Some(outcome)),
            Some(Begun::Changing { step, outcome }) => {
                let applied = match turn.is_in_block() || !store.commits_wait() {
                    true => dml::apply_now(planner, turn, &[step]),
                    false => dml::apply(planner, turn, vec![step], Arc::default()).await,
                };
                applied.map(|()| outcome)
            }
        };
        or_again(applied, turn)
    }

    /// As [`Plan::run`], on a thread that may wait: also for a transaction that is in the way under
    /// READ COMMITTED, for a short time.
    pub(super) fn run_now(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        inputs: Inputs<'_>,
    ) -> Result<Option<Outcome>> {
        let mut patience = None;
        loop {
            let applied = match self.begin(store, planner, turn, inputs)? {
                None => return Ok(None),
                Some(Begun::Answered(outcome)) => return Ok(Some(outcome)),
                Some(Begun::Changing { step, outcome }) => {
                    dml::apply_now(planner, turn, &[step]).map(|()| outcome)
                }
            };
            let outcome = or_again(applied, turn)?;
            if outcome.is_some() {
                return Ok(outcome);
            }
            let (until, watch) = patience
                .get_or_insert_with(|| (Instant::now() + PATIENCE, store.watch_transactions()));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            watch.wait(left.min(WAIT_MAX));
        }
    }

    /// Reads what there is to read; `None` if the statement has to go the general way.
    fn begin(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        inputs: Inputs<'_>,
    ) -> Result<Option<Begun>> {
        // The snapshot comes before the look at the name: a change in between is noticed.
        let moment = turn.moment(self.action.verb().is_some())?;
        let Some(current) = self.subject.current_at(store, moment.snapshot()) else {
            return Ok(None);
        };
        self.require(store, planner, &current)?;
        if let Some(verb) = self.action.verb() {
            turn.require_writable(verb)?;
        }
        if let (Action::Select { find, items, limit }, Some(output)) = (&self.action, &self.output)
        {
            let limit = match limit {
                None => Some(usize::MAX),
                Some(limit) => limit.count(inputs),
            };
            let Some(limit) = limit else { return Ok(None) };
            let found = self.find(find, turn, &current, inputs, limit)?;
            let batch = found
                .and_then(|found| arrays(items, output, &found.columns(), found.ids.len(), inputs));
            let answer = batch.map(|arrays| answer(output, arrays, None)).transpose();
            return answer.map(|answer| answer.map(Begun::Answered));
        }
        let Some(change) = self.change(turn, &current, inputs)? else { return Ok(None) };
        let Change { write, rows, returned } = change;
        let tag = || Outcome::command(self.tag(rows.len()), None);
        let outcome = returned.unwrap_or_else(tag);
        Ok(Some(Begun::Changing { step: Step { table: current.table, write, rows }, outcome }))
    }

    /// Checks that whoever runs it may, unless that is known.
    fn require(&self, store: &Store, planner: &Planner, current: &Current) -> Result<()> {
        let acting = planner.acting();
        // ORDERING: nothing else is read by whoever sees the stamp.
        if acting.is_superuser || self.allowed.load(Ordering::Relaxed) == acting.stamp {
            return Ok(());
        }
        acting.require_table(store, &current.table, self.action.rights())?;
        // ORDERING: as above.
        self.allowed.store(acting.stamp, Ordering::Relaxed);
        Ok(())
    }

    fn tag(&self, rows: usize) -> String {
        dml::tag(self.action.verb().unwrap_or_default(), rows)
    }

    /// Computes what is to be written; `None` if the statement has to go the general way.
    fn change(
        &self,
        turn: &mut Turn,
        current: &Current,
        inputs: Inputs<'_>,
    ) -> Result<Option<Change>> {
        let schema = self.subject.schema();
        let (found, rows, write, checks, returning) = match &self.action {
            Action::Select { .. } => return Ok(None),
            Action::Update { find, assignments, checks, returning } => {
                let Some(found) = self.find(find, turn, current, inputs, usize::MAX)? else {
                    return Ok(None);
                };
                let columns: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
                let rows = updated(schema, columns.clone(), assignments, &found, inputs);
                (Some(found), rows, Write::Update(columns), checks.as_ref(), returning)
            }
            Action::Delete { find, returning } => {
                let Some(found) = self.find(find, turn, current, inputs, usize::MAX)? else {
                    return Ok(None);
                };
                let rows = updated(schema, Vec::new(), &[], &found, inputs);
                (Some(found), rows, Write::Delete, None, returning)
            }
            Action::Insert { rows, defaults, checks, returning } => {
                // Values are drawn only for rows that are not for the general way.
                let made = match inserted(schema, rows, None, inputs) {
                    Some(made) if defaults.is_empty() => Some(made),
                    Some(_) => inserted(schema, rows, Some(draw(rows, defaults)?), inputs),
                    None => None,
                };
                (None, made, Write::Insert, checks.as_ref(), returning)
            }
        };
        let Some(rows) = rows else { return Ok(None) };
        if matches!(write, Write::Insert) {
            // Defaults may have drawn values: the general way would draw others.
            rows.check_nulls(schema)?;
            checks.map_or(Ok(()), |checks| rows.check_by(checks, schema))?;
        } else if rows.check_nulls(schema).is_err()
            || !checks.is_none_or(|checks| self.passes(checks, found.as_ref(), &rows))
        {
            // The general way shows the whole row.
            return Ok(None);
        }
        let returned = match returning.as_ref().zip(self.output.as_ref()) {
            None => None,
            Some((returning, output)) => {
                let arrays = returned(returning, output, found.as_ref(), &rows, inputs);
                let Some(arrays) = arrays else { return Ok(None) };
                Some(answer(output, arrays, Some(self.tag(rows.len())))?)
            }
        };
        Ok(Some(Change { write, rows, returned }))
    }

    /// Whether no constraint forbids a row as it is written; all columns of the table were read.
    fn passes(&self, checks: &Checks, found: Option<&Found>, rows: &Rows) -> bool {
        if rows.len() == 0 {
            return true;
        }
        let all: Vec<usize> = (0..self.subject.schema().columns.len()).collect();
        let columns =
            rows.single_batch().and_then(|written| of_rows(&all, found, rows.columns(), written));
        columns.is_some_and(|columns| matches!(checks.first_failure(&columns), Ok(None)))
    }

    fn find(
        &self,
        find: &Find,
        turn: &mut Turn,
        current: &Current,
        inputs: Inputs<'_>,
        limit: usize,
    ) -> Result<Option<Found>> {
        let mut hold = turn.lend()?;
        let schema = self.subject.schema();
        let found = find.rows(hold.transaction(), current, schema, inputs, limit);
        turn.restore(hold);
        Ok(found)
    }
}

/// How far a plan has come.
enum Begun {
    Answered(Outcome),
    /// What is to be written, and what is answered then.
    Changing {
        step: Step,
        outcome: Outcome,
    },
}

/// Has a statement that came too late begun again, on the general way, where its transaction takes
/// a new snapshot for each one.
fn or_again(applied: Result<Outcome>, turn: &mut Turn) -> Result<Option<Outcome>> {
    match applied {
        Err(error)
            if error.kind() == ErrorKind::SerializationFailure && turn.is_read_committed()
                || error.is_definition_change() && !turn.is_in_block() =>
        {
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// What a statement is to write, and what it answers then unless it is a tag.
struct Change {
    write: Write,
    rows: Rows,
    returned: Option<Outcome>,
}

/// Computes the columns of RETURNING: of the rows that were found, with what they are assigned.
fn returned(
    returning: &Returning,
    output: &SchemaRef,
    found: Option<&Found>,
    rows: &Rows,
    inputs: Inputs<'_>,
) -> Option<Vec<ArrayRef>> {
    let empty: Vec<ColumnBuffer>;
    let written: &[ColumnBuffer] = match rows.len() {
        0 => {
            empty = Vec::new();
            &empty
        }
        _ => rows.single_batch()?,
    };
    let columns = of_rows(&returning.columns, found, rows.columns(), written)?;
    arrays(&returning.items, output, &columns, rows.len(), inputs)
}

/// Returns columns of rows as they are written: what is `assigned`, else what was found, whose
/// columns these are in the same order.
fn of_rows<'a>(
    columns: &[usize],
    found: Option<&'a Found>,
    assigned: &[usize],
    written: &'a [ColumnBuffer],
) -> Option<Vec<&'a ColumnBuffer>> {
    let column = |(place, column): (usize, &usize)| {
        let assigned = assigned.iter().position(|written| written == column);
        let assigned = assigned.and_then(|place| written.get(place));
        assigned.or_else(|| found?.buffers.get(place))
    };
    columns.iter().enumerate().map(column).collect()
}

/// Computes the output columns.
fn arrays(
    items: &[Item],
    output: &SchemaRef,
    columns: &[&ColumnBuffer],
    rows: usize,
    inputs: Inputs<'_>,
) -> Option<Vec<ArrayRef>> {
    let array = |(item, field): (&Item, &FieldRef)| match item {
        Item::Column(place) => buffer_array(columns.get(*place)?).ok(),
        Item::Computed(compute) => {
            let mut buffer = ColumnBuffer::new(result_type(field.data_type())?);
            each(columns, rows, |_, row| compute.of_row(row, inputs)?.push_to(&mut buffer))?;
            buffer_array(&buffer).ok()
        }
    };
    items.iter().zip(output.fields()).map(array).collect()
}

fn answer(output: &SchemaRef, arrays: Vec<ArrayRef>, tag: Option<String>) -> Result<Outcome> {
    let batch = RecordBatch::try_new(Arc::clone(output), arrays).map_err(DataFusionError::from)?;
    let batches = (batch.num_rows() > 0).then_some(Ok(batch));
    let rows = RecordBatchStreamAdapter::new(Arc::clone(output), stream::iter(batches));
    Ok(Outcome::Rows { schema: Arc::clone(output), stream: Box::pin(rows), tag })
}

/// Computes the new values of rows.
fn updated(
    schema: &TableSchema,
    columns: Vec<usize>,
    assignments: &[(usize, Scalar)],
    found: &Found,
    inputs: Inputs<'_>,
) -> Option<Rows> {
    if found.ids.is_empty() {
        // A constant that its column cannot take is an error of a statement without rows, too.
        for (column, scalar) in assignments {
            if let Scalar::Given(operand) = scalar {
                let mut buffer = ColumnBuffer::new(schema.columns[*column].column_type);
                operand.push_to(inputs, &mut buffer)?;
            }
        }
    }
    let mut rows = Rows::new(columns);
    each(&found.columns(), found.ids.len(), |number, row| {
        let push = |place: usize, _: &_, buffer: &mut ColumnBuffer| {
            let (_, scalar) = assignments.get(place).ok_or_else(unusual)?;
            match scalar {
                Scalar::Fixed(cell) => cell.push_literal(buffer),
                Scalar::Given(operand) => operand.push_to(inputs, buffer).ok_or_else(unusual),
                Scalar::Now => {
                    inputs.now.push_to(buffer);
                    Ok(())
                }
                Scalar::Computed(compute) => {
                    let number = compute.of_row(row, inputs);
                    number.and_then(|number| number.push_to(buffer)).ok_or_else(unusual)
                }
                Scalar::Default => Err(unusual()),
            }
        };
        rows.push(schema, Some(*found.ids.get(number)?), push).ok()
    })?;
    Some(rows)
}

/// Evaluates the defaults of new rows.
fn draw(lists: &[Vec<Scalar>], defaults: &DefaultValues) -> Result<Drawn> {
    let is_asked = |list: &&Vec<Scalar>, column| matches!(list.get(column), Some(Scalar::Default));
    defaults.draw(|column| lists.iter().filter(|list| is_asked(list, column)).count())
}

/// Makes new rows, with nulls for defaults unless they were `drawn`.
fn inserted(
    schema: &TableSchema,
    lists: &[Vec<Scalar>],
    mut drawn: Option<Drawn>,
    inputs: Inputs<'_>,
) -> Option<Rows> {
    let mut rows = Rows::new((0..schema.columns.len()).collect());
    for list in lists {
        let push = |place: usize, column: &_, buffer: &mut ColumnBuffer| match list.get(place) {
            Some(Scalar::Fixed(cell)) => cell.push_literal(buffer),
            Some(Scalar::Given(operand)) => operand.push_to(inputs, buffer).ok_or_else(unusual),
            Some(Scalar::Now) => {
                inputs.now.push_to(buffer);
                Ok(())
            }
            Some(Scalar::Default) => match &mut drawn {
                Some(drawn) => Cell::Default(place).push(None, drawn, column, buffer),
                None => Cell::Null.push_literal(buffer),
            },
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
