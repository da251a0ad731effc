//! The sub-operators of a pipeline.
//!
//! | sub-operator | reads | writes |
//! |---|---|---|
//! | `Filter` | a truth value | the selection |
//! | `Fill` | | a constant for each row |
//! | `CastInt` .. `Foreign` | one or two slots | one slot |
//! | `EnterBranch`, `LeaveBranch` | a truth value | which rows may raise errors |
//! | `BeginOperator` | | whose time passes: that of a measured operator |
//! | `CountRows` | | the counts of a measured operator |
//!
//! # Invariants
//! 1. A slot is written once, before it is read.
//! 2. Whole numbers that are combined have the width of the result.
//! 3. A sub-operator with a limit checks it for active rows that are not null; without one, the
//!    bounds of its inputs have proved it.

use std::collections::BTreeSet;
use std::sync::Arc;

use nacre_column::CompareOp;

use crate::counters::{NodeCounters, OperatorCounters, OperatorReport};
use crate::expression::{ArithmeticOp, ForeignFunction};
use crate::scan::StringPredicate;
use crate::value::{IntBounds, IntLimit, ScalarValue, ValueClass, VectorType};
use crate::vector::{ColumnVector, QueryDictionary};

/// A column of the pipeline's batches.
pub(crate) type SlotId = usize;

/// What is known of a slot.
#[derive(Clone, Debug)]
pub(crate) struct SlotInfo {
    pub(crate) vector_type: VectorType,
    /// Of whole numbers.
    pub(crate) bounds: Option<IntBounds>,
    pub(crate) is_nullable: bool,
    /// Of codes.
    pub(crate) dictionary: Option<Arc<QueryDictionary>>,
}

impl SlotInfo {
    /// Makes an empty column of the slot's type and dictionary.
    pub(crate) fn empty_column(&self) -> ColumnVector {
        let mut column = ColumnVector::new(self.vector_type);
        column.dictionary.clone_from(&self.dictionary);
        column
    }
}

/// A side of arithmetic on whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntOperand {
    Slot(SlotId),
    Constant(i128),
}

/// For which rows a branch is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchRule {
    True,
    /// False or null.
    NotTrue,
    /// True or null.
    NotFalse,
}

/// One step; see the module's table.
#[derive(Clone, Debug)]
pub(crate) enum SubOperator {
    Filter {
        predicate: SlotId,
        /// Slots that are read later.
        live: Vec<SlotId>,
    },
    Fill {
        value: ScalarValue,
        output: SlotId,
    },
    /// To the width of the output.
    CastInt {
        input: SlotId,
        output: SlotId,
        limit: Option<IntLimit>,
    },
    IntArithmetic {
        op: ArithmeticOp,
        left: IntOperand,
        right: IntOperand,
        output: SlotId,
        limit: Option<IntLimit>,
    },
    FloatArithmetic {
        op: ArithmeticOp,
        left: SlotId,
        right: SlotId,
        output: SlotId,
    },
    /// Of whole numbers of one width.
    CompareInt {
        op: CompareOp,
        left: SlotId,
        right: IntOperand,
        output: SlotId,
    },
    /// Of truth values, floats or strings.
    Compare {
        op: CompareOp,
        left: SlotId,
        right: SlotId,
        output: SlotId,
    },
    And {
        left: SlotId,
        right: SlotId,
        output: SlotId,
    },
    Or {
        left: SlotId,
        right: SlotId,
        output: SlotId,
    },
    Not {
        input: SlotId,
        output: SlotId,
    },
    /// Codes of a dictionary are tested once each.
    StringTest {
        input: SlotId,
        predicate: StringPredicate,
        output: SlotId,
    },
    IsNull {
        input: SlotId,
        output: SlotId,
    },
    /// `then` where the condition is true, else `otherwise`; both of the output's type.
    Choose {
        condition: SlotId,
        then: SlotId,
        otherwise: SlotId,
        output: SlotId,
    },
    /// Divides by a power of ten, rounding half away from zero.
    RoundDiv {
        input: SlotId,
        divisor: i128,
        output: SlotId,
        limit: Option<IntLimit>,
    },
    IntToFloat {
        input: SlotId,
        divisor: f64,
        output: SlotId,
    },
    CastFloat {
        input: SlotId,
        output: SlotId,
    },
    CodeToBytes {
        input: SlotId,
        output: SlotId,
    },
    ExtractYear {
        input: SlotId,
        output: SlotId,
    },
    Foreign {
        function: ForeignFunction,
        arguments: Vec<SlotId>,
        output: SlotId,
    },
    EnterBranch {
        condition: SlotId,
        rule: BranchRule,
    },
    LeaveBranch,
    BeginOperator {
        counters: Arc<NodeCounters>,
    },
    CountRows {
        counters: Arc<NodeCounters>,
    },
}

/// The sub-operators of a pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepProgram {
    pub(crate) slots: Vec<SlotInfo>,
    pub(crate) steps: Vec<SubOperator>,
    /// In the order of steps: the slots of a long program whose memory is free after a step.
    pub(crate) last_uses: Vec<(usize, SlotId)>,
}

/// Slots from which on memory is used again within a batch: they take up to 16 KiB each, and a
/// condition may have a hundred thousand.
const REUSED_SLOTS_MIN: usize = 1_000;

impl SubOperator {
    /// Returns the name for reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Filter { .. } => "filter",
            Self::Fill { .. } => "fill",
            Self::CastInt { .. } => "cast_int",
            Self::IntArithmetic { .. } => "int_arithmetic",
            Self::FloatArithmetic { .. } => "float_arithmetic",
            Self::CompareInt { .. } => "compare_int",
            Self::Compare { .. } => "compare",
            Self::And { .. } => "and",
            Self::Or { .. } => "or",
            Self::Not { .. } => "not",
            Self::StringTest { .. } => "string_test",
            Self::IsNull { .. } => "is_null",
            Self::Choose { .. } => "choose",
            Self::RoundDiv { .. } => "round_div",
            Self::IntToFloat { .. } => "int_to_float",
            Self::CastFloat { .. } => "cast_float",
            Self::CodeToBytes { .. } => "code_to_bytes",
            Self::ExtractYear { .. } => "extract_year",
            Self::Foreign { .. } => "foreign",
            Self::EnterBranch { .. } => "enter_branch",
            Self::LeaveBranch => "leave_branch",
            Self::BeginOperator { .. } => "begin_operator",
            Self::CountRows { .. } => "count_rows",
        }
    }

    /// Returns the slot that is written.
    pub(crate) fn output(&self) -> Option<SlotId> {
        match self {
            Self::Filter { .. }
            | Self::EnterBranch { .. }
            | Self::LeaveBranch
            | Self::BeginOperator { .. }
            | Self::CountRows { .. } => None,
            Self::Fill { output, .. }
            | Self::CastInt { output, .. }
            | Self::IntArithmetic { output, .. }
            | Self::FloatArithmetic { output, .. }
            | Self::CompareInt { output, .. }
            | Self::Compare { output, .. }
            | Self::And { output, .. }
            | Self::Or { output, .. }
            | Self::Not { output, .. }
            | Self::StringTest { output, .. }
            | Self::IsNull { output, .. }
            | Self::Choose { output, .. }
            | Self::RoundDiv { output, .. }
            | Self::IntToFloat { output, .. }
            | Self::CastFloat { output, .. }
            | Self::CodeToBytes { output, .. }
            | Self::ExtractYear { output, .. }
            | Self::Foreign { output, .. } => Some(*output),
        }
    }

    /// Returns the slots that are read.
    pub(crate) fn inputs(&self) -> Vec<SlotId> {
        let operand = |operand: &IntOperand| match operand {
            IntOperand::Slot(slot) => Some(*slot),
            IntOperand::Constant(_) => None,
        };
        match self {
            Self::Filter { predicate, .. } => vec![*predicate],
            Self::Fill { .. }
            | Self::LeaveBranch
            | Self::BeginOperator { .. }
            | Self::CountRows { .. } => Vec::new(),
            Self::IntArithmetic { left, right, .. } => {
                operand(left).into_iter().chain(operand(right)).collect()
            }
            Self::CompareInt { left, right, .. } => {
                [*left].into_iter().chain(operand(right)).collect()
            }
            Self::FloatArithmetic { left, right, .. }
            | Self::Compare { left, right, .. }
            | Self::And { left, right, .. }
            | Self::Or { left, right, .. } => vec![*left, *right],
            Self::CastInt { input, .. }
            | Self::Not { input, .. }
            | Self::StringTest { input, .. }
            | Self::IsNull { input, .. }
            | Self::RoundDiv { input, .. }
            | Self::IntToFloat { input, .. }
            | Self::CastFloat { input, .. }
            | Self::CodeToBytes { input, .. }
            | Self::ExtractYear { input, .. } => vec![*input],
            Self::Choose { condition, then, otherwise, .. } => vec![*condition, *then, *otherwise],
            Self::Foreign { arguments, .. } => arguments.clone(),
            Self::EnterBranch { condition, .. } => vec![*condition],
        }
    }
}

impl StepProgram {
    /// Makes the counters of all steps.
    pub(crate) fn counters(&self) -> Vec<OperatorCounters> {
        self.steps.iter().map(|_| OperatorCounters::default()).collect()
    }

    /// Returns what the steps counted that compute something.
    pub(crate) fn reports(
        &self,
        counters: &[OperatorCounters],
    ) -> impl Iterator<Item = OperatorReport> {
        let steps = self.steps.iter().zip(counters);
        let measures = |step: &SubOperator| {
            matches!(step, SubOperator::BeginOperator { .. } | SubOperator::CountRows { .. })
        };
        let steps = steps.filter(move |(step, _)| !measures(step));
        steps.map(|(step, counters)| counters.report(step.name()))
    }

    /// Whether a step may raise an error.
    pub(crate) fn may_fail(&self) -> bool {
        self.steps.iter().any(|step| match step {
            SubOperator::CastInt { limit, .. }
            | SubOperator::IntArithmetic { limit, .. }
            | SubOperator::RoundDiv { limit, .. } => limit.is_some(),
            SubOperator::FloatArithmetic { .. }
            | SubOperator::CastFloat { .. }
            | SubOperator::Foreign { .. } => true,
            _ => false,
        })
    }

    /// Tells each filter which slots are read after it and hold something by then; `outputs` are
    /// read by the sink. Returns the slots of the source that are read.
    pub(crate) fn note_live(&mut self, outputs: &[SlotId]) -> Vec<SlotId> {
        let mut live: BTreeSet<SlotId> = outputs.iter().copied().collect();
        let reused = self.reused_slots();
        let is_reused = |slot: SlotId| reused.get(slot) == Some(&true);
        self.last_uses.clear();
        for (index, step) in self.steps.iter_mut().enumerate().rev() {
            if let SubOperator::Filter { live: known, .. } = step {
                *known = live.iter().copied().collect();
            }
            if let Some(output) = step.output()
                && !live.remove(&output)
                && is_reused(output)
            {
                self.last_uses.push((index, output));
            }
            for input in step.inputs() {
                if live.insert(input) && is_reused(input) {
                    self.last_uses.push((index, input));
                }
            }
        }
        self.last_uses.reverse();
        live.into_iter().collect()
    }

    /// Returns for each slot of a long program whether later steps reuse its memory: slots that
    /// steps write, except strings. Empty for short programs.
    fn reused_slots(&self) -> Vec<bool> {
        if self.slots.len() < REUSED_SLOTS_MIN {
            return Vec::new();
        }
        let mut reused = vec![false; self.slots.len()];
        for output in self.steps.iter().filter_map(SubOperator::output) {
            reused[output] = self.slots[output].vector_type.class() != ValueClass::Bytes;
        }
        reused
    }
}
