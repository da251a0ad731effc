//! Runs the steps of a program on a batch.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use nacre_simd::Flavour;

use super::arithmetic::{self, IntSide};
use super::{cast, choose, compare, logic};
use crate::control::QueryControl;
use crate::counters::{OperatorCounters, OperatorTime};
use crate::error::{ExecError, ExecResult};
use crate::expression::{CallRoom, ForeignCall, ForeignFunction};
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::{BranchRule, IntOperand, SlotId, StepProgram, SubOperator};
use crate::value::{ScalarValue, VectorType};
use crate::vector::{BitVector, ColumnVector, VectorBatch, VectorValues};

/// Steps between two looks at whether the query is to end: each takes microseconds, but a program
/// may have a hundred thousand of them.
const STEPS_BETWEEN_CHECKS: usize = 256;

/// The rows of a batch that may raise errors.
pub(super) struct ActiveRows<'b> {
    pub(super) rows: usize,
    pub(super) bits: Option<&'b BitVector>,
}

impl ActiveRows<'_> {
    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits.is_none_or(|bits| bits.get(row))
    }
}

/// Runs a program; keeps the memory of its vectors from batch to batch.
#[derive(Debug)]
pub(crate) struct StepInterpreter {
    flavour: Flavour,
    /// Active rows of the branches that are open, the innermost last.
    branches: Vec<BitVector>,
    /// Memory of slots that no step reads any more, by type.
    spare: HashMap<VectorType, Vec<VectorValues>>,
    /// Of the strings that functions make.
    memory: MemoryReservation,
    control: Arc<QueryControl>,
}

impl StepInterpreter {
    pub(crate) fn new(
        flavour: Flavour,
        budget: &Arc<MemoryBudget>,
        control: &Arc<QueryControl>,
    ) -> Self {
        let (memory, control) = (budget.reservation("expression"), Arc::clone(control));
        Self { flavour, branches: Vec::new(), spare: HashMap::new(), memory, control }
    }

    /// Makes a batch for a program.
    pub(crate) fn batch(program: &StepProgram) -> VectorBatch {
        let column = |slot: &crate::pipeline::SlotInfo| {
            let mut column = ColumnVector::new(slot.vector_type);
            column.dictionary.clone_from(&slot.dictionary);
            column
        };
        let columns = program.slots.iter().map(column).collect();
        VectorBatch { columns, rows: 0, selection: None }
    }

    /// Runs all steps; stops as soon as no row is left.
    ///
    /// # Errors
    /// Those of expressions, for rows that reach them.
    pub(crate) fn run(
        &mut self,
        program: &StepProgram,
        counters: &[OperatorCounters],
        batch: &mut VectorBatch,
    ) -> ExecResult<()> {
        self.branches.clear();
        let mut time: Option<OperatorTime> = None;
        let mut last_uses = program.last_uses.iter().peekable();
        for (index, (step, counters)) in program.steps.iter().zip(counters).enumerate() {
            if index % STEPS_BETWEEN_CHECKS == STEPS_BETWEEN_CHECKS - 1 {
                self.control.check()?;
            }
            let (rows, start) = (batch.selected_rows(), Instant::now());
            if rows == 0 {
                return Ok(());
            }
            if let SubOperator::BeginOperator { counters } = step {
                match &time {
                    Some(time) => time.pass_to(counters),
                    None => time = Some(OperatorTime::begin(counters)),
                }
                continue;
            }
            self.step(step, batch)?;
            while let Some((_, slot)) = last_uses.next_if(|(last, _)| *last == index) {
                self.free(&mut batch.columns[*slot]);
            }
            counters.add(rows, batch.selected_rows(), start.elapsed());
        }
        Ok(())
    }

    /// Takes the memory of a slot for those of later steps.
    fn free(&mut self, column: &mut ColumnVector) {
        let vector_type = column.values.vector_type();
        let empty = VectorValues::new(vector_type);
        let mut values = std::mem::replace(&mut column.values, empty);
        values.clear();
        column.validity = None;
        self.spare.entry(vector_type).or_default().push(values);
    }

    fn step(&mut self, step: &SubOperator, batch: &mut VectorBatch) -> ExecResult<()> {
        match step {
            SubOperator::Filter { predicate, live } => {
                let bits = logic::true_bits(&batch.columns[*predicate])?;
                batch.narrow(bits, live);
                Ok(())
            }
            SubOperator::EnterBranch { condition, rule } => {
                let condition = &batch.columns[*condition];
                let mut bits = match rule {
                    BranchRule::True => logic::true_bits(condition)?,
                    BranchRule::NotTrue => logic::not(&logic::true_bits(condition)?),
                    BranchRule::NotFalse => logic::not(&logic::false_bits(condition)?),
                };
                if let Some(outer) = self.branches.last().or(batch.selected_bits()) {
                    bits.and_with(outer);
                }
                self.branches.push(bits);
                Ok(())
            }
            SubOperator::LeaveBranch => {
                self.branches.pop();
                Ok(())
            }
            SubOperator::CountRows { counters } => {
                counters.add_rows(batch.selected_rows());
                Ok(())
            }
            _ => self.compute(step, batch),
        }
    }

    /// Runs a step that writes a slot.
    fn compute(&mut self, step: &SubOperator, batch: &mut VectorBatch) -> ExecResult<()> {
        let output = step.output().ok_or_else(|| ExecError::internal("a step without output"))?;
        let mut out = std::mem::take(&mut batch.columns[output]);
        if !self.spare.is_empty()
            && out.values.is_empty()
            && let Some(spare) = self.spare.get_mut(&out.values.vector_type())
        {
            out.values = spare.pop().unwrap_or(out.values);
        }
        let active =
            ActiveRows { rows: batch.rows, bits: self.branches.last().or(batch.selected_bits()) };
        let outcome = match step {
            SubOperator::Foreign { function, arguments, .. } => {
                let room = CallRoom::new(&mut self.memory, &batch.columns, &self.control);
                call(function, arguments, (&batch.columns, &active), room, &mut out)
                    .map_err(|error| named_error(error, function))
            }
            _ => compute(self.flavour, step, &batch.columns, &active, &mut out),
        };
        debug_assert!(outcome.is_err() || out.values.len() == batch.rows, "{}", step.name());
        batch.columns[output] = out;
        outcome
    }
}

/// Names the function in the error of memory that it needs.
#[cold]
fn named_error(error: ExecError, function: &ForeignFunction) -> ExecError {
    match error {
        ExecError::OutOfMemory { setting, bytes, bytes_max, .. } => {
            let operator = format!("expression of {function:?}").into();
            ExecError::OutOfMemory { operator, setting, bytes, bytes_max }
        }
        error => error,
    }
}

fn call<'c>(
    function: &ForeignFunction,
    arguments: &[SlotId],
    (columns, active): (&'c [ColumnVector], &'c ActiveRows<'c>),
    room: CallRoom<'c>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let arguments = arguments.iter().map(|slot| &columns[*slot]).collect();
    out.clear();
    let (rows, active_bits) = (active.rows, active.bits);
    let call = ForeignCall { arguments, rows, active: active_bits, room };
    function.call(&call, out)?;
    let is_whole =
        out.values.len() == rows && out.validity.as_ref().is_none_or(|bits| bits.len() == rows);
    is_whole
        .then_some(())
        .ok_or_else(|| ExecError::internal(format!("function {function:?} answers other rows")))
}

/// Runs a step that writes a slot.
fn compute(
    flavour: Flavour,
    step: &SubOperator,
    columns: &[ColumnVector],
    active: &ActiveRows<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    match step {
        SubOperator::Fill { value, .. } => {
            fill(value, active.rows, out);
            Ok(())
        }
        SubOperator::IsNull { input, .. } => {
            let validity = columns[*input].validity.as_ref();
            let bits = validity.map_or_else(|| BitVector::filled(active.rows, false), logic::not);
            (out.values, out.validity) = (VectorValues::Bool(bits), None);
            Ok(())
        }
        SubOperator::And { left, right, .. } => {
            logic::combine(&columns[*left], &columns[*right], true, out)
        }
        SubOperator::Or { left, right, .. } => {
            logic::combine(&columns[*left], &columns[*right], false, out)
        }
        SubOperator::Choose { condition, then, otherwise, .. } => {
            let bits = logic::true_bits(&columns[*condition])?;
            choose::choose(&bits, &columns[*then], &columns[*otherwise], out)
        }
        _ => {
            compute_values(flavour, step, columns, active, out)?;
            out.validity = joint_validity(columns, &step.inputs());
            Ok(())
        }
    }
}

/// Runs a step whose result is null where an input is.
fn compute_values(
    flavour: Flavour,
    step: &SubOperator,
    columns: &[ColumnVector],
    active: &ActiveRows<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let side = |operand: &IntOperand| match operand {
        IntOperand::Slot(slot) => IntSide::Vector(&columns[*slot]),
        IntOperand::Constant(value) => IntSide::Constant(*value),
    };
    let values = &mut out.values;
    match step {
        SubOperator::CastInt { input, limit, .. } => {
            if let Some(limit) = limit {
                cast::check_limit(&columns[*input], *limit, active)?;
            }
            cast::int_width(flavour, &columns[*input].values, values)
        }
        SubOperator::IntArithmetic { op, left, right, limit: None, .. } => {
            arithmetic::proven(flavour, *op, side(left), side(right), values)
        }
        SubOperator::IntArithmetic { op, left, right, limit: Some(limit), .. } => {
            arithmetic::checked(*op, side(left), side(right), *limit, active, values)
        }
        SubOperator::FloatArithmetic { op, left, right, .. } => {
            arithmetic::floats(flavour, *op, &columns[*left], &columns[*right], active, values)
        }
        SubOperator::CompareInt { op, left, right, .. } => {
            compare::ints(flavour, *op, &columns[*left], side(right), bits_of(values)?)
        }
        SubOperator::Compare { op, left, right, .. } => {
            compare::others(*op, &columns[*left], &columns[*right], bits_of(values)?)
        }
        SubOperator::StringTest { input, predicate, .. } => {
            compare::strings(predicate, &columns[*input], bits_of(values)?)
        }
        SubOperator::Not { input, .. } => {
            *values = VectorValues::Bool(logic::not(logic::truth(&columns[*input])?));
            Ok(())
        }
        SubOperator::RoundDiv { input, divisor, limit, .. } => {
            cast::round_div_all(&columns[*input], *divisor, *limit, active, values)
        }
        SubOperator::IntToFloat { input, divisor, .. } => {
            cast::int_to_float(flavour, &columns[*input].values, *divisor, values)
        }
        SubOperator::CastFloat { input, .. } => {
            cast::float_width(flavour, &columns[*input], active, values)
        }
        SubOperator::CodeToBytes { input, .. } => cast::codes_to_bytes(&columns[*input], values),
        SubOperator::ExtractYear { input, .. } => {
            cast::years(flavour, &columns[*input].values, values)
        }
        _ => Err(ExecError::internal(format!("{} computes no values", step.name()))),
    }
}

/// Returns which rows have no null input.
fn joint_validity(columns: &[ColumnVector], inputs: &[SlotId]) -> Option<BitVector> {
    let mut validities = inputs.iter().filter_map(|slot| columns[*slot].validity.as_ref());
    let mut all = validities.next()?.clone();
    validities.for_each(|bits| all.and_with(bits));
    Some(all)
}

fn bits_of(values: &mut VectorValues) -> ExecResult<&mut BitVector> {
    match values {
        VectorValues::Bool(bits) => Ok(bits),
        _ => Err(ExecError::internal("a comparison into other values")),
    }
}

fn fill(value: &ScalarValue, rows: usize, out: &mut ColumnVector) {
    // Constants of the same program: what is there already is right.
    let is_null = matches!(value, ScalarValue::Null(_));
    out.validity = is_null.then(|| BitVector::filled(rows, false));
    if out.values.len() == rows && !is_null {
        return;
    }
    match (&mut out.values, value) {
        (VectorValues::Bool(bits), value) => {
            *bits = BitVector::filled(rows, matches!(value, ScalarValue::Bool(true)));
        }
        (VectorValues::Float32(out), ScalarValue::Float32(value)) => {
            out.clear();
            out.resize(rows, *value);
        }
        (VectorValues::Float64(out), ScalarValue::Float64(value)) => {
            out.clear();
            out.resize(rows, *value);
        }
        (VectorValues::Bytes(out), ScalarValue::Bytes(value)) => {
            out.clear();
            (0..rows).for_each(|_| out.push(value));
        }
        (out, ScalarValue::Int(value)) => {
            out.clear();
            (0..rows).for_each(|_| out.push_int(*value));
        }
        (out, _) => {
            out.clear();
            (0..rows).for_each(|_| out.push_default());
        }
    }
}
