//! From expressions to sub-operators: bounds, widths, checks and branches are decided here.
//!
//! 1. Each node gets a slot. Its bounds follow from those of its inputs by interval arithmetic; the
//!    narrowest width that holds them is its type, and inputs are cast to it.
//! 2. If the bounds lie within the limit of the SQL type, nothing is checked.
//! 3. Sides of AND, OR and CASE that may fail are put between `EnterBranch` and `LeaveBranch`. A
//!    slot that was written there is not found again outside, since rows that did not reach it hold
//!    nothing there.

use std::collections::HashMap;
use std::sync::Arc;

use nacre_column::CompareOp;

use super::program::{BranchRule, IntOperand, SlotId, SlotInfo, StepProgram, SubOperator};
use crate::counters::NodeCounters;
use crate::error::{ExecError, ExecResult};
use crate::expression::{
    ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode, ForeignFunction, year_of,
};
use crate::scan::StringPredicate;
use crate::value::{IntBounds, IntLimit, IntWidth, ScalarValue, ValueClass, VectorType};

/// Deepest nesting of expressions, but for first inputs: each level takes up to 2 KiB of stack.
/// Long chains of AND and OR come as balanced trees.
const DEPTH_MAX: usize = 500;

/// Makes the program of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct ProgramBuilder {
    pub(crate) program: StepProgram,
}

/// What is known while the expressions of one operator are resolved.
struct ResolveScope<'g> {
    graph: &'g ExpressionGraph,
    /// Slots of the operator's input columns.
    columns: &'g [SlotId],
    /// By branch: slots of nodes, those of the operator first.
    known: Vec<HashMap<ExpressionId, SlotId>>,
    depth: usize,
}

impl ResolveScope<'_> {
    fn find(&self, id: ExpressionId) -> Option<SlotId> {
        self.known.iter().rev().find_map(|known| known.get(&id)).copied()
    }
}

impl ProgramBuilder {
    /// Adds a slot.
    pub(crate) fn slot(&mut self, info: SlotInfo) -> SlotId {
        self.program.slots.push(info);
        self.program.slots.len() - 1
    }

    /// Resolves expressions over the slots `columns`; returns the slots of their values.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if an expression names no column or is nested too deeply.
    pub(crate) fn resolve_all(
        &mut self,
        graph: &ExpressionGraph,
        columns: &[SlotId],
        ids: &[ExpressionId],
    ) -> ExecResult<Vec<SlotId>> {
        let mut scope = ResolveScope { graph, columns, known: vec![HashMap::new()], depth: 0 };
        ids.iter().map(|id| self.resolve(&mut scope, *id)).collect()
    }

    /// Resolves predicates and filters by each in turn.
    ///
    /// # Errors
    /// As [`ProgramBuilder::resolve_all`].
    pub(crate) fn filter_all(
        &mut self,
        graph: &ExpressionGraph,
        columns: &[SlotId],
        ids: &[ExpressionId],
    ) -> ExecResult<()> {
        let mut scope = ResolveScope { graph, columns, known: vec![HashMap::new()], depth: 0 };
        for id in ids {
            let predicate = self.resolve(&mut scope, *id)?;
            self.program.steps.push(SubOperator::Filter { predicate, live: Vec::new() });
        }
        Ok(())
    }

    /// Has the time that passes from here on be that of a measured operator.
    pub(crate) fn begin_operator(&mut self, counters: &Arc<NodeCounters>) {
        self.program.steps.push(SubOperator::BeginOperator { counters: Arc::clone(counters) });
    }

    /// Counts the rows that come so far.
    pub(crate) fn count_rows(&mut self, counters: &Arc<NodeCounters>) {
        self.program.steps.push(SubOperator::CountRows { counters: Arc::clone(counters) });
    }

    /// Returns a slot with the value of `slot` in the type of another pipeline's slot, which has
    /// values of the same class.
    pub(crate) fn cast_to(&mut self, slot: SlotId, vector_type: VectorType) -> SlotId {
        match vector_type {
            VectorType::Int(width) => self.cast(slot, width),
            VectorType::Bytes => self.as_bytes(slot),
            _ => slot,
        }
    }

    fn info(&self, slot: SlotId) -> &SlotInfo {
        &self.program.slots[slot]
    }

    fn bounds(&self, slot: SlotId) -> IntBounds {
        self.info(slot).bounds.unwrap_or(IntBounds::I128)
    }

    fn width(&self, slot: SlotId) -> IntWidth {
        match self.info(slot).vector_type {
            VectorType::Int(width) => width,
            _ => IntWidth::I128,
        }
    }

    /// Resolves an expression, from the innermost of its first inputs on: these are resolved first
    /// anyway, and a chain of them may be longer than expressions may be nested.
    fn resolve(&mut self, scope: &mut ResolveScope<'_>, id: ExpressionId) -> ExecResult<SlotId> {
        if let Some(slot) = scope.find(id) {
            return Ok(slot);
        }
        let mut chain = Vec::new();
        let mut first = scope.graph.node(id).first_input();
        while let Some(input) = first
            && !matches!(scope.graph.node(input), ExpressionNode::Constant(_))
            && scope.find(input).is_none()
        {
            chain.push(input);
            first = scope.graph.node(input).first_input();
        }
        for input in chain.into_iter().rev() {
            self.resolve_nested(scope, input)?;
        }
        self.resolve_nested(scope, id)
    }

    fn resolve_nested(
        &mut self,
        scope: &mut ResolveScope<'_>,
        id: ExpressionId,
    ) -> ExecResult<SlotId> {
        scope.depth += 1;
        if scope.depth > DEPTH_MAX {
            return Err(ExecError::internal(format!("an expression is nested {DEPTH_MAX} deep")));
        }
        let slot = self.resolve_new(scope, id)?;
        scope.depth -= 1;
        if let Some(known) = scope.known.last_mut() {
            known.insert(id, slot);
        }
        Ok(slot)
    }

    fn resolve_new(
        &mut self,
        scope: &mut ResolveScope<'_>,
        id: ExpressionId,
    ) -> ExecResult<SlotId> {
        use ExpressionNode as Node;
        let graph = scope.graph;
        match graph.node(id) {
            Node::Column { index, .. } => {
                scope.columns.get(*index).copied().ok_or_else(|| {
                    ExecError::internal(format!("an expression names column {index}"))
                })
            }
            Node::Constant(value) => Ok(self.fill(value)),
            Node::IntArithmetic { op, left, right, limit } => {
                self.int_arithmetic(scope, *op, *left, *right, *limit)
            }
            Node::FloatArithmetic { op, left, right } => {
                let (left, right) = (self.resolve(scope, *left)?, self.resolve(scope, *right)?);
                let output = self.like(left, &[left, right]);
                self.push(SubOperator::FloatArithmetic { op: *op, left, right, output }, output)
            }
            Node::Compare { op, left, right } => self.compare(scope, *op, *left, *right),
            Node::And { left, right } => {
                let left = self.resolve(scope, *left)?;
                let right = self.branch(scope, left, BranchRule::NotFalse, *right)?;
                let output = self.truth(&[left, right]);
                self.push(SubOperator::And { left, right, output }, output)
            }
            Node::Or { left, right } => {
                let left = self.resolve(scope, *left)?;
                let right = self.branch(scope, left, BranchRule::NotTrue, *right)?;
                let output = self.truth(&[left, right]);
                self.push(SubOperator::Or { left, right, output }, output)
            }
            Node::Not { input } => {
                let input = self.resolve(scope, *input)?;
                let output = self.truth(&[input]);
                self.push(SubOperator::Not { input, output }, output)
            }
            Node::StringTest { input, predicate } => {
                let input = self.resolve(scope, *input)?;
                let output = self.truth(&[input]);
                let predicate = predicate.clone();
                self.push(SubOperator::StringTest { input, predicate, output }, output)
            }
            Node::IsNull { input } => {
                let input = self.resolve(scope, *input)?;
                let output = self.truth(&[]);
                self.push(SubOperator::IsNull { input, output }, output)
            }
            Node::Case { condition, then, otherwise } => {
                let condition = self.resolve(scope, *condition)?;
                let then = self.branch(scope, condition, BranchRule::True, *then)?;
                let otherwise = self.branch(scope, condition, BranchRule::NotTrue, *otherwise)?;
                self.choose(condition, then, otherwise)
            }
            Node::CastInt { .. }
            | Node::Rescale { .. }
            | Node::IntToFloat { .. }
            | Node::CastFloat { .. }
            | Node::ExtractYear { .. } => self.convert(scope, graph.node(id)),
            Node::Foreign { function, arguments } => self.foreign(scope, function, arguments),
        }
    }

    /// Resolves a conversion of one value to another type.
    fn convert(
        &mut self,
        scope: &mut ResolveScope<'_>,
        node: &ExpressionNode,
    ) -> ExecResult<SlotId> {
        use ExpressionNode as Node;
        match node {
            Node::CastInt { input, limit } => {
                let input = self.resolve(scope, *input)?;
                if limit.bounds.contains(self.bounds(input)) {
                    return Ok(input);
                }
                let output = self.int(self.bounds(input).clamp_to(limit.bounds), &[input]);
                let limit = Some(*limit);
                self.push(SubOperator::CastInt { input, output, limit }, output)
            }
            Node::Rescale { input, digits, limit } => self.rescale(scope, *input, *digits, *limit),
            Node::IntToFloat { input, scale, target } => {
                let input = self.resolve(scope, *input)?;
                let output = self.float(*target, input);
                let divisor = 10_f64.powi(i32::from(*scale));
                self.push(SubOperator::IntToFloat { input, divisor, output }, output)
            }
            Node::CastFloat { input, target } => {
                let input = self.resolve(scope, *input)?;
                if self.info(input).vector_type.class() == *target {
                    return Ok(input);
                }
                let output = self.float(*target, input);
                self.push(SubOperator::CastFloat { input, output }, output)
            }
            Node::ExtractYear { input } => {
                let input = self.resolve(scope, *input)?;
                let days = self.bounds(input).clamp_to(IntBounds::I32);
                let year = |day: i128| i128::from(year_of(day as i32));
                let bounds = IntBounds::new(year(days.min()), year(days.max()));
                let output = self.int(bounds, &[input]);
                self.push(SubOperator::ExtractYear { input, output }, output)
            }
            other => Err(ExecError::internal(format!("no conversion: {other:?}"))),
        }
    }

    fn foreign(
        &mut self,
        scope: &mut ResolveScope<'_>,
        function: &ForeignFunction,
        arguments: &[ExpressionId],
    ) -> ExecResult<SlotId> {
        let arguments = arguments
            .iter()
            .map(|argument| self.resolve(scope, *argument))
            .collect::<ExecResult<Vec<_>>>()?;
        let bounds = function.bounds();
        let vector_type = VectorType::of_class(function.result(), bounds);
        let is_nullable = function.is_nullable();
        let bounds = (function.result() == ValueClass::Int).then_some(bounds);
        let output = self.slot(SlotInfo { vector_type, bounds, is_nullable, dictionary: None });
        let function = function.clone();
        self.push(SubOperator::Foreign { function, arguments, output }, output)
    }

    fn push(&mut self, step: SubOperator, output: SlotId) -> ExecResult<SlotId> {
        self.program.steps.push(step);
        Ok(output)
    }

    fn is_nullable(&self, inputs: &[SlotId]) -> bool {
        inputs.iter().any(|slot| self.info(*slot).is_nullable)
    }

    fn like(&mut self, model: SlotId, inputs: &[SlotId]) -> SlotId {
        let info = SlotInfo { is_nullable: self.is_nullable(inputs), ..self.info(model).clone() };
        self.slot(info)
    }

    fn truth(&mut self, inputs: &[SlotId]) -> SlotId {
        let is_nullable = self.is_nullable(inputs);
        self.slot(SlotInfo {
            vector_type: VectorType::Bool,
            bounds: None,
            is_nullable,
            dictionary: None,
        })
    }

    fn int(&mut self, bounds: IntBounds, inputs: &[SlotId]) -> SlotId {
        let is_nullable = self.is_nullable(inputs);
        let vector_type = VectorType::Int(bounds.width());
        self.slot(SlotInfo { vector_type, bounds: Some(bounds), is_nullable, dictionary: None })
    }

    fn float(&mut self, target: ValueClass, input: SlotId) -> SlotId {
        let is_nullable = self.is_nullable(&[input]);
        let vector_type = VectorType::of_class(target, IntBounds::I128);
        self.slot(SlotInfo { vector_type, bounds: None, is_nullable, dictionary: None })
    }

    fn fill(&mut self, value: &ScalarValue) -> SlotId {
        let bounds = match value {
            ScalarValue::Int(value) => IntBounds::of(*value),
            _ => IntBounds::of(0),
        };
        let output = self.slot(SlotInfo {
            vector_type: VectorType::of_class(value.class(), bounds),
            bounds: (value.class() == ValueClass::Int).then_some(bounds),
            is_nullable: matches!(value, ScalarValue::Null(_)),
            dictionary: None,
        });
        self.program.steps.push(SubOperator::Fill { value: value.clone(), output });
        output
    }

    /// Returns the constant that a node is.
    fn constant(graph: &ExpressionGraph, id: ExpressionId) -> Option<i128> {
        match graph.node(id) {
            ExpressionNode::Constant(ScalarValue::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// Resolves `id` where rows of a branch alone may raise errors.
    fn branch(
        &mut self,
        scope: &mut ResolveScope<'_>,
        condition: SlotId,
        rule: BranchRule,
        id: ExpressionId,
    ) -> ExecResult<SlotId> {
        let start = self.program.steps.len();
        scope.known.push(HashMap::new());
        let slot = self.resolve(scope, id)?;
        let inner = scope.known.pop().unwrap_or_default();
        if self.program.steps[start..].iter().any(SubOperator::may_fail) {
            let enter = SubOperator::EnterBranch { condition, rule };
            self.program.steps.insert(start, enter);
            self.program.steps.push(SubOperator::LeaveBranch);
        } else if let Some(known) = scope.known.last_mut() {
            // Nothing fails, so all rows are computed: found again outside, too.
            known.extend(inner);
        }
        Ok(slot)
    }

    /// Returns a slot with the value of `slot` in a width; `slot` itself if it has that.
    fn cast(&mut self, slot: SlotId, width: IntWidth) -> SlotId {
        if self.width(slot) == width {
            return slot;
        }
        let info = SlotInfo { vector_type: VectorType::Int(width), ..self.info(slot).clone() };
        let output = self.slot(info);
        self.program.steps.push(SubOperator::CastInt { input: slot, output, limit: None });
        output
    }

    /// Resolves a side of arithmetic; returns its bounds, too.
    fn operand(
        &mut self,
        scope: &mut ResolveScope<'_>,
        id: ExpressionId,
    ) -> ExecResult<(IntOperand, IntBounds)> {
        if let Some(value) = Self::constant(scope.graph, id) {
            return Ok((IntOperand::Constant(value), IntBounds::of(value)));
        }
        let slot = self.resolve(scope, id)?;
        Ok((IntOperand::Slot(slot), self.bounds(slot)))
    }

    fn int_arithmetic(
        &mut self,
        scope: &mut ResolveScope<'_>,
        op: ArithmeticOp,
        left: ExpressionId,
        right: ExpressionId,
        limit: IntLimit,
    ) -> ExecResult<SlotId> {
        let (mut left, left_bounds) = self.operand(scope, left)?;
        let (mut right, right_bounds) = self.operand(scope, right)?;
        if let (IntOperand::Constant(value), IntOperand::Constant(_)) = (left, right) {
            left = IntOperand::Slot(self.fill(&ScalarValue::Int(value)));
        }
        let bounds = match op {
            ArithmeticOp::Add => left_bounds.plus(right_bounds),
            ArithmeticOp::Subtract => left_bounds.minus(right_bounds),
            ArithmeticOp::Multiply => left_bounds.times(right_bounds),
            ArithmeticOp::Divide | ArithmeticOp::Remainder => {
                let most = left_bounds.min().unsigned_abs().max(left_bounds.max().unsigned_abs());
                i128::try_from(most).ok().map(|most| IntBounds::new(-most, most))
            }
        };
        let is_ring = !matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
        let is_proven = is_ring && bounds.is_some_and(|bounds| limit.bounds.contains(bounds));
        let bounds = bounds.unwrap_or(IntBounds::I128).clamp_to(limit.bounds);
        let inputs: Vec<SlotId> = [left, right].iter().filter_map(IntOperand::slot).collect();
        let output = self.int(bounds, &inputs);
        if is_proven {
            // Sums and products wrap: what is cut off of inputs does not matter to a result that
            // fits the width.
            for side in [&mut left, &mut right] {
                if let IntOperand::Slot(slot) = side {
                    *slot = self.cast(*slot, bounds.width());
                }
            }
        }
        let limit = (!is_proven).then_some(limit);
        self.push(SubOperator::IntArithmetic { op, left, right, output, limit }, output)
    }

    fn compare(
        &mut self,
        scope: &mut ResolveScope<'_>,
        op: CompareOp,
        left: ExpressionId,
        right: ExpressionId,
    ) -> ExecResult<SlotId> {
        let graph = scope.graph;
        let constants = [left, right].map(|id| graph.node(id));
        if let [_, ExpressionNode::Constant(ScalarValue::Bytes(value))] = constants {
            return self.compare_string(scope, op, left, value);
        }
        if let [ExpressionNode::Constant(ScalarValue::Bytes(value)), _] = constants {
            return self.compare_string(scope, op.flipped(), right, value);
        }
        if graph.class(left) != ValueClass::Int {
            let (left, right) = (self.resolve(scope, left)?, self.resolve(scope, right)?);
            let output = self.truth(&[left, right]);
            return self.push(SubOperator::Compare { op, left, right, output }, output);
        }
        let (op, left, right) = match Self::constant(scope.graph, left) {
            Some(_) => (op.flipped(), right, left),
            None => (op, left, right),
        };
        let slot = self.resolve(scope, left)?;
        let (right, right_bounds) = self.operand(scope, right)?;
        let width = self.width(slot).max(right_bounds.width());
        let left = self.cast(slot, width);
        let right = match right {
            IntOperand::Slot(slot) => IntOperand::Slot(self.cast(slot, width)),
            constant @ IntOperand::Constant(_) => constant,
        };
        let inputs: Vec<SlotId> = [left].into_iter().chain(right.slot()).collect();
        let output = self.truth(&inputs);
        self.push(SubOperator::CompareInt { op, left, right, output }, output)
    }

    /// Compares strings with a constant: those of a dictionary once each.
    fn compare_string(
        &mut self,
        scope: &mut ResolveScope<'_>,
        op: CompareOp,
        input: ExpressionId,
        value: &[u8],
    ) -> ExecResult<SlotId> {
        let input = self.resolve(scope, input)?;
        let output = self.truth(&[input]);
        let value = value.to_vec();
        let predicate = match op {
            CompareOp::Eq | CompareOp::Ne => {
                StringPredicate::one_of(vec![value], op == CompareOp::Ne)
            }
            _ => StringPredicate::new(format!("{op:?}"), move |own| op.holds(own.cmp(&value))),
        };
        self.push(SubOperator::StringTest { input, predicate, output }, output)
    }

    fn choose(
        &mut self,
        condition: SlotId,
        mut then: SlotId,
        mut otherwise: SlotId,
    ) -> ExecResult<SlotId> {
        let inputs = [then, otherwise];
        let output = match (self.info(then).vector_type, self.info(otherwise).vector_type) {
            (VectorType::Int(_), _) => {
                let output = self.int(self.bounds(then).union(self.bounds(otherwise)), &inputs);
                let width = self.width(output);
                then = self.cast(then, width);
                otherwise = self.cast(otherwise, width);
                output
            }
            (VectorType::Code | VectorType::Bytes, _) => {
                then = self.as_bytes(then);
                otherwise = self.as_bytes(otherwise);
                self.like(then, &inputs)
            }
            _ => self.like(then, &inputs),
        };
        self.push(SubOperator::Choose { condition, then, otherwise, output }, output)
    }

    fn as_bytes(&mut self, slot: SlotId) -> SlotId {
        if self.info(slot).vector_type != VectorType::Code {
            return slot;
        }
        let is_nullable = self.is_nullable(&[slot]);
        let vector_type = VectorType::Bytes;
        let output =
            self.slot(SlotInfo { vector_type, bounds: None, is_nullable, dictionary: None });
        self.program.steps.push(SubOperator::CodeToBytes { input: slot, output });
        output
    }

    fn rescale(
        &mut self,
        scope: &mut ResolveScope<'_>,
        input: ExpressionId,
        digits: i8,
        limit: IntLimit,
    ) -> ExecResult<SlotId> {
        let input = self.resolve(scope, input)?;
        let power = 10_i128.checked_pow(u32::from(digits.unsigned_abs()));
        let power = power.ok_or_else(|| ExecError::internal(format!("{digits} more digits")))?;
        let bounds = self.bounds(input);
        if digits >= 0 {
            let exact = bounds.times(IntBounds::of(power));
            let is_proven = exact.is_some_and(|exact| limit.bounds.contains(exact));
            let bounds = exact.unwrap_or(IntBounds::I128).clamp_to(limit.bounds);
            let output = self.int(bounds, &[input]);
            let left = if is_proven { self.cast(input, bounds.width()) } else { input };
            return self.push(
                SubOperator::IntArithmetic {
                    op: ArithmeticOp::Multiply,
                    left: IntOperand::Slot(left),
                    right: IntOperand::Constant(power),
                    output,
                    limit: (!is_proven).then_some(limit),
                },
                output,
            );
        }
        let rounded = IntBounds::new(bounds.min() / power - 1, bounds.max() / power + 1);
        let is_proven = limit.bounds.contains(rounded);
        let output = self.int(rounded.clamp_to(limit.bounds), &[input]);
        let limit = (!is_proven).then_some(limit);
        self.push(SubOperator::RoundDiv { input, divisor: power, output, limit }, output)
    }
}

impl IntOperand {
    pub(crate) fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Slot(slot) => Some(*slot),
            Self::Constant(_) => None,
        }
    }
}

impl SubOperator {
    /// Whether it may raise an error for a row.
    fn may_fail(&self) -> bool {
        match self {
            Self::CastInt { limit, .. }
            | Self::IntArithmetic { limit, .. }
            | Self::RoundDiv { limit, .. } => limit.is_some(),
            Self::FloatArithmetic { .. } | Self::CastFloat { .. } | Self::Foreign { .. } => true,
            _ => false,
        }
    }
}
