//! Conditions of a join beside its keys, evaluated on vectors of pairs.
//!
//! The slots of the program are the columns of the probe side, those of the build side, and the
//! number of each pair, which tells the pairs that are left though the batch was compacted.

use nacre_column::VECTOR_ROWS;

use crate::counters::OperatorCounters;
use crate::error::{ExecError, ExecResult};
use crate::expression::{ExpressionGraph, ExpressionId};
use crate::interpret::StepInterpreter;
use crate::pipeline::{ProgramBuilder, SlotId, SlotInfo, StepProgram};
use crate::value::{IntBounds, VectorType};
use crate::vector::{VectorBatch, VectorValues};

/// The program of a join's conditions.
#[derive(Debug)]
pub(super) struct PairProgram {
    pub(super) program: StepProgram,
    /// The columns that it reads: those of the probe side, then those of the build side.
    pub(super) inputs: Vec<SlotId>,
    /// The slot of the pairs' numbers.
    number: SlotId,
    counters: Vec<OperatorCounters>,
}

impl PairProgram {
    /// Makes the program of predicates over the columns of both sides.
    ///
    /// # Errors
    /// Those of resolving expressions.
    pub(super) fn new(
        graph: &ExpressionGraph,
        predicates: &[ExpressionId],
        probe: &[SlotInfo],
        build: &[SlotInfo],
    ) -> ExecResult<Self> {
        let mut builder = ProgramBuilder::default();
        let columns: Vec<SlotId> =
            probe.iter().chain(build).map(|info| builder.slot(info.clone())).collect();
        let bounds = IntBounds::new(0, VECTOR_ROWS as i128 - 1);
        let number = builder.slot(SlotInfo {
            vector_type: VectorType::Int(bounds.width()),
            bounds: Some(bounds),
            is_nullable: false,
            dictionary: None,
        });
        builder.filter_all(graph, &columns, predicates)?;
        let mut program = builder.program;
        program.note_live(&[number]);
        let mut inputs: Vec<SlotId> = program.steps.iter().flat_map(|step| step.inputs()).collect();
        inputs.retain(|slot| *slot < columns.len());
        inputs.sort_unstable();
        inputs.dedup();
        let counters = program.counters();
        Ok(Self { program, inputs, number, counters })
    }

    /// Whether a column is read.
    pub(super) fn reads(&self, column: SlotId) -> bool {
        self.inputs.binary_search(&column).is_ok()
    }

    /// Leaves the pairs for which the predicates are true: puts their numbers into `kept`. `batch`
    /// holds the columns `inputs` of `pairs` pairs.
    ///
    /// # Errors
    /// Those of the expressions.
    pub(super) fn select(
        &self,
        interpreter: &mut StepInterpreter,
        batch: &mut VectorBatch,
        pairs: usize,
        kept: &mut Vec<u16>,
    ) -> ExecResult<()> {
        kept.clear();
        (batch.rows, batch.selection) = (pairs, None);
        let VectorValues::Int16(numbers) = &mut batch.columns[self.number].values else {
            return Err(ExecError::internal("pairs are numbered in 16 bits"));
        };
        numbers.clear();
        numbers.extend(0..pairs as i16);
        interpreter.run(&self.program, &self.counters, batch)?;
        let VectorValues::Int16(numbers) = &batch.columns[self.number].values else {
            return Err(ExecError::internal("pairs are numbered in 16 bits"));
        };
        match batch.selected_bits() {
            Some(bits) => bits.for_each_one(|row| kept.push(numbers[row] as u16)),
            None => kept.extend(numbers.iter().take(batch.rows).map(|number| *number as u16)),
        }
        Ok(())
    }
}
