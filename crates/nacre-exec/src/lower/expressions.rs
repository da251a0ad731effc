//! From bound expressions to nodes of an [`ExpressionGraph`].
//!
//! Numerics are exact here because all values of an expression have one scale that is known before
//! it runs: a column has its type's, sums and differences have the greater one of both sides,
//! products the sum. Where PostgreSQL's scale depends on which branch a row takes, values have the
//! greatest one, and a second node has the scale that a row shows; sums of such values show the
//! greatest one of their rows. A result of more than 38 digits, which PostgreSQL's numeric has room
//! for, is an error of execution (22003 "numeric out of range"), but not above groups.
//!
//! Numerics whose scale depends on values, as of quotients, and results of what is declared with
//! nearly 38 digits, are [`ValueForm::Exact`]; nodes of their own compute them
//! ([`super::exact_arithmetic`]). What no vector node computes is computed row by row
//! ([`super::row_nodes`]).

mod chains;
mod numerics;
mod row_tests;

use nacre_column::CompareOp;
use nacre_functions::catalog::{FunctionEntry, OperatorEntry};
use nacre_plan::algebra::{
    CaseArm, CastStep, ColumnId, OnceReference, ScalarExpression, ScalarKind, TruthValue,
};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use chains::ChainedOperand;
use numerics::{call_may_fail, common_scale, is_exact_arithmetic, numeric_parts};
pub(super) use row_tests::condition_runs;

use super::called::{KnownCall, find_call};
use super::columns::{ColumnPlace, ColumnPlaces};
use super::date_field::{EXTRACT_FROM_DATE, WholeField};
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::{decimal_node, key_node, packed_key_node, rounded_node};
use super::fold::fold_constant;
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::like::{LikePattern, like_operator};
use super::once::{KnownOnce, ask_for, several_rows};
use super::operators::{OperatorMeaning, integer_limit, operator_meaning};
use super::row_nodes::{ROW_NODES_MAX, RowNode, add_row_node, row_nodes_min};
use super::substring::TextPart;
use super::text_length::TextLength;
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::scan::StringPredicate;
use crate::value::{IntLimit, RoundedTo, ScalarValue, ValueClass};

/// Deepest nesting of nodes: below the 500 that the executor resolves.
const LEVELS_MAX: usize = 450;

/// Microseconds of a day.
pub(super) const DAY_MICROS: i128 = 86_400_000_000;

/// An expression and what its values stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoweredExpression {
    pub(super) id: ExpressionId,
    pub(super) form: ValueForm,
    /// The digits that a numeric shows behind the point, if some rows have fewer than the form.
    pub(super) shown_scale: Option<ExpressionId>,
    is_null_constant: bool,
}

/// The expressions of one operator.
#[derive(Debug)]
pub(super) struct ExpressionLowering<'c> {
    pub(super) graph: ExpressionGraph,
    /// Whether an expression may raise an error for a row.
    pub(super) may_fail: bool,
    columns: &'c ColumnPlaces,
    /// Whether numerics that may have more than 38 digits are computed row by row.
    is_grouped: bool,
    /// Whether errors of values that are computed once do not count.
    allows_once: bool,
    levels: usize,
    /// The operand of a chain that was lowered last, while the expression above it is lowered.
    chained: Option<ChainedOperand>,
}

impl LoweredExpression {
    fn new(id: ExpressionId, form: ValueForm) -> Self {
        Self { id, form, shown_scale: None, is_null_constant: false }
    }
}

impl<'c> ExpressionLowering<'c> {
    pub(super) fn new(columns: &'c ColumnPlaces) -> Self {
        let graph = ExpressionGraph::default();
        let (is_grouped, allows_once) = (false, false);
        Self { graph, may_fail: false, columns, is_grouped, allows_once, levels: 0, chained: None }
    }

    /// Says whether rows are those of groups: few, so that numerics of more than 38 digits do not
    /// fail.
    pub(super) fn above_groups(self, is_grouped: bool) -> Self {
        Self { is_grouped, ..self }
    }

    /// Says that errors of values that are computed once do not count: they come with the first row
    /// or never.
    pub(super) fn allowing_once(self) -> Self {
        Self { allows_once: true, ..self }
    }

    /// Adds an expression.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for what the executor has not with the same meaning.
    pub(super) fn lower(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        LoweringError::check_stopped()?;
        if let Some(lowered) = self.lowered_before(expression) {
            return lowered;
        }
        if let Some(value) = fold_constant(expression)? {
            return self.constant(&value, expression.sql_type);
        }
        self.lower_chain(expression);
        let lowered = self.lower_or_by_rows(expression);
        self.chained = None;
        lowered
    }

    /// Adds an expression that constants do not decide; if vectors do not compute it, row by row.
    fn lower_or_by_rows(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let (levels, may_fail) = (self.levels, self.may_fail);
        self.levels += graph_levels(&expression.kind);
        let lowered = if self.levels > LEVELS_MAX {
            Err(LoweringError::not_supported("expressions that are nested this deeply"))
        } else {
            self.lower_kind(expression)
        };
        self.levels = levels;
        let error = match lowered {
            Err(error @ LoweringError::NotSupported { .. })
                if !matches!(expression.kind, ScalarKind::Call { .. }) =>
            {
                error
            }
            lowered => return lowered,
        };
        self.may_fail = may_fail;
        if row_nodes_min(expression) > ROW_NODES_MAX {
            return Err(error);
        }
        let mut calls = Vec::new();
        let mut plain = expression.clone();
        self.take_calls(&mut plain, false, &mut calls)?;
        let row = add_row_node(&mut self.graph, &plain, self.columns, &calls)?;
        let RowNode { id, form, may_fail } = row.ok_or(error)?;
        self.may_fail |= may_fail;
        Ok(LoweredExpression::new(id, form))
    }

    /// Puts columns in the place of calls of queries, which are computed as inputs; those that are
    /// asked for by some rows only stay.
    fn take_calls(
        &mut self,
        expression: &mut ScalarExpression,
        is_guarded: bool,
        calls: &mut Vec<(ColumnId, LoweredExpression)>,
    ) -> LoweringResult<()> {
        if is_guarded {
            return Ok(());
        }
        if let ScalarKind::Call { .. } = expression.kind {
            let lowered = self.lower_column(expression)?;
            // Identities count from the other end.
            let column = ColumnId(u32::MAX - calls.len() as u32);
            calls.push((column, lowered));
            expression.kind = ScalarKind::Column(column);
            return Ok(());
        }
        let guards = expression.is_guard();
        for (index, child) in expression.children_mut().enumerate() {
            self.take_calls(child, guards && index > 0, calls)?;
        }
        Ok(())
    }

    /// Adds an expression whose values are handed on as they are shown.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(super) fn lower_column(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let lowered = self.lower(expression)?;
        if lowered.shown_scale.is_some() { self.exact(lowered) } else { Ok(lowered) }
    }

    /// Adds an expression whose errors are raised for all rows that reach it.
    fn lower_checked(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let lowered = self.lower(expression)?;
        self.checked(lowered)
    }

    /// Adds a condition.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(super) fn condition(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<ExpressionId> {
        let lowered = self.lower(expression)?;
        if lowered.form == ValueForm::Boolean {
            return Ok(lowered.id);
        }
        Err(LoweringError::contradiction("a condition is no truth value"))
    }

    /// Adds a value that is null where a condition is not true, and not computed there.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(super) fn where_true(
        &mut self,
        condition: ExpressionId,
        value: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        let null = ExpressionNode::Constant(ScalarValue::Null(value.form.class()));
        let otherwise = self.graph.add(null)?;
        let node = ExpressionNode::Case { condition, then: value.id, otherwise };
        Ok(LoweredExpression { id: self.graph.add(node)?, ..value })
    }

    fn lower_kind(&mut self, expression: &ScalarExpression) -> LoweringResult<LoweredExpression> {
        match &expression.kind {
            ScalarKind::Column(column) => {
                let ColumnPlace { index, form } = self.columns.get(*column)?;
                let id = self.graph.column(index, form.class())?;
                Ok(LoweredExpression::new(id, form))
            }
            ScalarKind::Operator { operator, operands } => self.operator(operator, operands),
            ScalarKind::Function { function, arguments } => self.function(function, arguments),
            ScalarKind::Cast { operand, method } => {
                self.cast(operand, expression.sql_type, *method)
            }
            ScalarKind::And(operands) => self.conditions(operands, true),
            ScalarKind::Or(operands) => self.conditions(operands, false),
            ScalarKind::Not(operand) => {
                let input = self.condition(operand)?;
                self.boolean(ExpressionNode::Not { input })
            }
            ScalarKind::IsNull(operand) => {
                let input = self.lower_checked(operand)?.id;
                self.boolean(ExpressionNode::IsNull { input })
            }
            ScalarKind::IsTruth { operand, value } => self.is_truth(operand, *value),
            ScalarKind::IsDistinct { operator, operands } => self.is_distinct(operator, operands),
            ScalarKind::Quantified { operator, operand, elements, is_all } => {
                self.quantified(operator, operand, elements, *is_all)
            }
            ScalarKind::Case { arms, otherwise } => {
                self.case(arms, otherwise.as_deref(), expression.sql_type)
            }
            ScalarKind::Coalesce(arguments) => self.coalesce(arguments),
            ScalarKind::NullIf { operator, operands } => {
                self.null_if(operator, operands, expression.sql_type)
            }
            ScalarKind::Extreme { .. } => Err(LoweringError::not_supported("GREATEST and LEAST")),
            ScalarKind::Proven(inner) => {
                let could_fail = self.may_fail;
                let lowered = self.lower(inner)?;
                self.may_fail = could_fail;
                Ok(lowered)
            }
            ScalarKind::Once(reference) => self.once(*reference),
            ScalarKind::Call { index, arguments, may_fail } => {
                self.call(*index, arguments, *may_fail)
            }
            ScalarKind::OnlyValue { value, count } => self.only_value(value, count),
            ScalarKind::Parameter(_) => Err(LoweringError::not_supported("parameters")),
            ScalarKind::Constant(_)
            | ScalarKind::UnknownLiteral(_)
            | ScalarKind::Aggregate(_)
            | ScalarKind::Window { .. }
            | ScalarKind::Subquery(_)
            | ScalarKind::Grouping(_) => {
                Err(LoweringError::contradiction("an expression that is not bound"))
            }
        }
    }

    /// Adds a value that is computed once: its error is one of all rows.
    fn once(&mut self, reference: OnceReference) -> LoweringResult<LoweredExpression> {
        let KnownOnce { form, function, .. } = ask_for(reference)?;
        self.may_fail |= !self.allows_once;
        self.of_form(ExpressionNode::Foreign { function, arguments: Vec::new() }, form)
    }

    /// Adds the call of a query, whose arguments have the forms that it wants.
    fn call(
        &mut self,
        index: usize,
        arguments: &[ScalarExpression],
        may_fail: bool,
    ) -> LoweringResult<LoweredExpression> {
        let KnownCall { arguments: forms, form, function, .. } = find_call(index)?;
        let mut ids = Vec::with_capacity(arguments.len());
        for (argument, wanted) in arguments.iter().zip(forms) {
            let lowered = self.lower_checked(argument)?;
            ids.push(match (lowered.form, wanted) {
                (ValueForm::Numeric { scale, .. }, ValueForm::Exact { .. }) => {
                    decimal_node(&mut self.graph, lowered.id, scale, lowered.shown_scale)?
                }
                (ValueForm::Exact { .. }, ValueForm::Exact { .. }) => lowered.id,
                (own, wanted) if own == wanted => lowered.id,
                _ => return Err(LoweringError::not_supported("arguments of this type")),
            });
        }
        self.may_fail |= may_fail;
        self.of_form(ExpressionNode::Foreign { function, arguments: ids }, form)
    }

    /// Adds a value of so many rows: several are an error.
    fn only_value(
        &mut self,
        value: &ScalarExpression,
        count: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let (value, count) = (self.lower(value)?, self.lower(count)?);
        let one = self.graph.int(1)?;
        let condition = self.graph.compare(CompareOp::Gt, count.id, one)?;
        let (function, arguments) = (several_rows(value.form), Vec::new());
        let then = self.graph.add(ExpressionNode::Foreign { function, arguments })?;
        let node = ExpressionNode::Case { condition, then, otherwise: value.id };
        self.may_fail = true;
        Ok(LoweredExpression { id: self.graph.add(node)?, ..value })
    }

    fn constant(
        &mut self,
        value: &SqlValue,
        sql_type: SqlType,
    ) -> LoweringResult<LoweredExpression> {
        let (scalar, form) = ValueForm::of_constant(value, sql_type).ok_or_else(|| {
            LoweringError::not_supported(format!("this constant of type {sql_type}"))
        })?;
        let id = self.graph.add(ExpressionNode::Constant(scalar))?;
        let is_null_constant = value.is_null();
        Ok(LoweredExpression { is_null_constant, ..LoweredExpression::new(id, form) })
    }

    fn of_form(
        &mut self,
        node: ExpressionNode,
        form: ValueForm,
    ) -> LoweringResult<LoweredExpression> {
        let id = self.graph.add(node)?;
        Ok(LoweredExpression::new(id, form))
    }

    fn boolean(&mut self, node: ExpressionNode) -> LoweringResult<LoweredExpression> {
        self.of_form(node, ValueForm::Boolean)
    }

    fn bool_constant(&mut self, value: bool) -> LoweringResult<ExpressionId> {
        Ok(self.graph.add(ExpressionNode::Constant(ScalarValue::Bool(value)))?)
    }

    fn integer_arithmetic(
        &mut self,
        op: ArithmeticOp,
        operator: &OperatorEntry,
        [left, right]: [ExpressionId; 2],
    ) -> LoweringResult<LoweredExpression> {
        let limit = integer_limit(operator.result)
            .ok_or_else(|| LoweringError::contradiction(format!("operator {}", operator.oid)))?;
        let node = ExpressionNode::IntArithmetic { op, left, right, limit };
        self.of_form(node, ValueForm::Integer)
    }

    /// Adds what may fail.
    fn arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: ExpressionId,
        right: ExpressionId,
        limit: IntLimit,
        form: ValueForm,
    ) -> LoweringResult<LoweredExpression> {
        self.may_fail = true;
        self.of_form(ExpressionNode::IntArithmetic { op, left, right, limit }, form)
    }

    fn operator(
        &mut self,
        operator: &'static OperatorEntry,
        operands: &[ScalarExpression],
    ) -> LoweringResult<LoweredExpression> {
        if let (Some(is_wanted), [value, pattern]) = (like_operator(operator.oid), operands)
            && let Some(SqlValue::Text(text)) = fold_constant(pattern)?
            && let Some(pattern) = LikePattern::parse(&text)
        {
            let value = self.lower(value)?;
            let predicate = pattern.predicate(&text, value.form, is_wanted).ok_or_else(|| {
                LoweringError::not_supported("LIKE of characters of unknown lengths")
            })?;
            return self.boolean(ExpressionNode::StringTest { input: value.id, predicate });
        }
        if let (Some(OperatorMeaning::Compare(op)), [left, right]) =
            (operator_meaning(operator.oid), operands)
        {
            for (op, value, exact) in [(op, left, right), (op.flipped(), right, left)] {
                if let Some(compared) = self.compare_with_columns(op, value, exact)? {
                    return Ok(compared);
                }
            }
        }
        let Some(meaning) = operator_meaning(operator.oid) else {
            let right = SqlType::new(operator.right);
            let left = operator.left.map(|left| format!("{} ", SqlType::new(left)));
            let (left, name) = (left.unwrap_or_default(), operator.name);
            return Err(LoweringError::not_supported(format!("operator {left}{name} {right}")));
        };
        let failed_before = std::mem::take(&mut self.may_fail);
        let lowered: LoweringResult<Vec<_>> = operands.iter().map(|one| self.lower(one)).collect();
        let operand_may_fail = self.may_fail;
        self.may_fail |= failed_before;
        match (meaning, &lowered?[..]) {
            (OperatorMeaning::Compare(op), &[left, right]) => self.compare(op, left, right),
            (OperatorMeaning::IntegerArithmetic(op), &[left, right]) => {
                let is_quotient = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
                self.may_fail |= !is_quotient || call_may_fail(operator.function, operands)?;
                self.integer_arithmetic(op, operator, [left.id, right.id])
            }
            (OperatorMeaning::NumericArithmetic(op), &[left, right]) => {
                let is_wide = !operand_may_fail && (self.is_wide(left) || self.is_wide(right));
                if is_wide || is_exact_arithmetic(op, left, right) {
                    let may_fail = call_may_fail(operator.function, operands)?;
                    return self.exact_arithmetic(op, [left, right], may_fail, operand_may_fail);
                }
                let shown_scale = self.shown_scale(op, left, right)?;
                let result = self.numeric_arithmetic(op, left, right)?;
                Ok(LoweredExpression { shown_scale, ..result })
            }
            (OperatorMeaning::Negate, &[operand]) => {
                let (zero, op) = (self.graph.int(0)?, ArithmeticOp::Subtract);
                let Some(limit) = integer_limit(operator.result) else {
                    let (scale, digits) = numeric_parts(operand)?;
                    let negated = self.decimal_arithmetic(op, [zero, operand.id], scale, digits)?;
                    return Ok(LoweredExpression { shown_scale: operand.shown_scale, ..negated });
                };
                self.arithmetic(op, zero, operand.id, limit, operand.form)
            }
            (OperatorMeaning::Identity, &[operand]) => Ok(operand),
            (OperatorMeaning::DateDifference, &[left, right]) => {
                let (op, limit) = (ArithmeticOp::Subtract, IntLimit::INTEGER);
                self.arithmetic(op, left.id, right.id, limit, ValueForm::Integer)
            }
            _ => Err(LoweringError::contradiction(format!("operands of {}", operator.oid))),
        }
    }

    fn compare(
        &mut self,
        op: CompareOp,
        left: LoweredExpression,
        right: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        use ValueForm as Form;
        let (left, right) = match (left.form, right.form) {
            (Form::Exact { .. }, _) | (_, Form::Exact { .. }) => {
                return self.compare_exact(op, left, right);
            }
            (Form::Numeric { .. }, Form::Numeric { .. }) => {
                let Some(scale) = common_scale(left, right)? else {
                    let (left, right) = (self.exact(left)?, self.exact(right)?);
                    return self.compare_exact(op, left, right);
                };
                let could_fail = self.may_fail;
                let sides = (self.rescaled(left, scale)?, self.rescaled(right, scale)?);
                // They have the digits, so these do not.
                self.may_fail = could_fail;
                sides
            }
            (Form::Real, Form::Double) => (self.widened(left)?, right.id),
            (Form::Double, Form::Real) => (left.id, self.widened(right)?),
            (Form::Date, Form::Timestamp) => return self.compare_days(op, left, right),
            (Form::Timestamp, Form::Date) => return self.compare_days(op.flipped(), right, left),
            (Form::Padded { .. }, Form::Padded { .. }) => (left.id, right.id),
            (Form::Packed { .. }, _) | (_, Form::Packed { .. }) => {
                let own = packed_key_node(&mut self.graph, left.id, left.form)?;
                (own, packed_key_node(&mut self.graph, right.id, right.form)?)
            }
            (one, other) if one == other => (left.id, right.id),
            _ => return Err(LoweringError::contradiction("a comparison of different types")),
        };
        self.boolean(ExpressionNode::Compare { op, left, right })
    }

    fn widened(&mut self, value: LoweredExpression) -> LoweringResult<ExpressionId> {
        let node = ExpressionNode::CastFloat { input: value.id, target: ValueClass::Float64 };
        Ok(self.graph.add(node)?)
    }

    /// Compares a date with a constant timestamp, as days.
    fn compare_days(
        &mut self,
        op: CompareOp,
        date: LoweredExpression,
        timestamp: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        let unknown = || LoweringError::not_supported("comparisons of dates with timestamps");
        let ExpressionNode::Constant(ScalarValue::Int(micros)) = self.graph.node(timestamp.id)
        else {
            return Err(unknown());
        };
        let (op, days) = compare_to_days(op, *micros).ok_or_else(unknown)?;
        let right = self.graph.int(days)?;
        self.boolean(ExpressionNode::Compare { op, left: date.id, right })
    }

    fn function(
        &mut self,
        function: &'static FunctionEntry,
        arguments: &[ScalarExpression],
    ) -> LoweringResult<LoweredExpression> {
        if let (Some(part), [text, ..]) = (TextPart::of_call(function, arguments)?, arguments) {
            let input = self.lower(text)?.id;
            let (function, arguments) = (part.function(), vec![input]);
            return self.of_form(ExpressionNode::Foreign { function, arguments }, ValueForm::Text);
        }
        let unknown = || LoweringError::not_supported(format!("function {}", function.name));
        if let (Some(length), [text]) = (TextLength::of_function(function), arguments) {
            let text = self.lower(text)?;
            if text.form != ValueForm::Text {
                return Err(unknown());
            }
            let (function, arguments) = (length.function(), vec![text.id]);
            let node = ExpressionNode::Foreign { function, arguments };
            return self.of_form(node, ValueForm::Integer);
        }
        let [field, moment] = arguments else { return Err(unknown()) };
        let Some(field) = fold_constant(field)? else { return Err(unknown()) };
        if let (EXTRACT_FROM_DATE, SqlValue::Text(name)) = (function.oid, &field)
            && name.eq_ignore_ascii_case("year")
        {
            return self.year(moment);
        }
        let field = WholeField::of_call(function, &field).ok_or_else(unknown)?;
        let (function, arguments) = (field.function(), vec![self.lower(moment)?.id]);
        let node = ExpressionNode::Foreign { function, arguments };
        self.of_form(node, ValueForm::Numeric { scale: 0, digits: 10 })
    }

    /// Lowers the year of a date, which vectors compute.
    fn year(&mut self, date: &ScalarExpression) -> LoweringResult<LoweredExpression> {
        let input = self.lower(date)?.id;
        let year = self.graph.add(ExpressionNode::ExtractYear { input })?;
        // The year before 1 is -1 in SQL, and 0 in the executor's calendar.
        let (zero, one) = (self.graph.int(0)?, self.graph.int(1)?);
        let condition = self.graph.compare(CompareOp::Gt, year, zero)?;
        let (op, limit) = (ArithmeticOp::Subtract, IntLimit::NUMERIC);
        let before = self.graph.arithmetic(op, year, one, limit)?;
        let node = ExpressionNode::Case { condition, then: year, otherwise: before };
        // A null is not above zero, and the year before null is null.
        self.of_form(node, ValueForm::Numeric { scale: 0, digits: 10 })
    }

    fn cast(
        &mut self,
        operand: &ScalarExpression,
        target: SqlType,
        method: CastStep,
    ) -> LoweringResult<LoweredExpression> {
        let source = operand.sql_type;
        let unknown = || LoweringError::not_supported(format!("casts from {source} to {target}"));
        let value = self.lower(operand)?;
        if let CastStep::Modifier { .. } = method {
            return self.numeric_modifier(value, target, &unknown);
        }
        let (from, to) = (source.oid(), target.oid());
        if from == to {
            return Ok(value);
        }
        match (value.form, to) {
            (ValueForm::Text, TypeOid::TEXT | TypeOid::VARCHAR) => Ok(value),
            // Without the blanks at its end, as it is stored.
            (ValueForm::Padded { .. }, TypeOid::TEXT | TypeOid::VARCHAR) => {
                Ok(LoweredExpression { form: ValueForm::Text, ..value })
            }
            (ValueForm::Integer, TypeOid::INT2 | TypeOid::INT4 | TypeOid::INT8) => {
                let (Some(own), Some(limit)) = (integer_limit(from), integer_limit(to)) else {
                    return Err(unknown());
                };
                if limit.bounds.contains(own.bounds) {
                    return Ok(value);
                }
                self.may_fail = true;
                let node = ExpressionNode::CastInt { input: value.id, limit };
                self.of_form(node, ValueForm::Integer)
            }
            (ValueForm::Integer, TypeOid::NUMERIC) => {
                let digits = match from {
                    TypeOid::INT2 => 5,
                    TypeOid::INT4 => 10,
                    TypeOid::INT8 => 19,
                    _ => return Err(unknown()),
                };
                Ok(LoweredExpression { form: ValueForm::Numeric { scale: 0, digits }, ..value })
            }
            (ValueForm::Numeric { scale, .. }, TypeOid::INT2 | TypeOid::INT4 | TypeOid::INT8) => {
                let limit = integer_limit(to).ok_or_else(unknown)?;
                self.may_fail = true;
                // Scales are at most 38.
                let digits = -(scale as i8);
                let node = ExpressionNode::Rescale { input: value.id, digits, limit };
                self.of_form(node, ValueForm::Integer)
            }
            (ValueForm::Integer, TypeOid::FLOAT8) => {
                let target = ValueClass::Float64;
                let node = ExpressionNode::IntToFloat { input: value.id, scale: 0, target };
                self.of_form(node, ValueForm::Double)
            }
            (ValueForm::Real, TypeOid::FLOAT8) => {
                let id = self.widened(value)?;
                Ok(LoweredExpression::new(id, ValueForm::Double))
            }
            _ => Err(unknown()),
        }
    }

    fn conditions(
        &mut self,
        operands: &[ScalarExpression],
        is_and: bool,
    ) -> LoweringResult<LoweredExpression> {
        let could_fail = self.may_fail;
        let mut ids = Vec::with_capacity(operands.len());
        for run in condition_runs(operands, is_and)? {
            if let Some(tests) = self.run_of_tests(&run, is_and)? {
                ids.extend(tests);
                continue;
            }
            for operand in &operands[run.range] {
                match fold_constant(operand)? {
                    // PostgreSQL evaluates nothing beside a constant that decides.
                    Some(SqlValue::Boolean(value)) if value != is_and => {
                        self.may_fail = could_fail;
                        let id = self.bool_constant(value)?;
                        return Ok(LoweredExpression::new(id, ValueForm::Boolean));
                    }
                    _ => ids.push(self.condition(operand)?),
                }
            }
        }
        let ids = self.with_string_lists(ids, is_and)?;
        self.combine(&ids, is_and)
    }

    /// Puts comparisons of a string with constants, which follow each other, into one: `s = 'a' or
    /// s = 'b'` is `s in ('a', 'b')`.
    fn with_string_lists(
        &mut self,
        ids: Vec<ExpressionId>,
        is_and: bool,
    ) -> LoweringResult<Vec<ExpressionId>> {
        let wanted = if is_and { CompareOp::Ne } else { CompareOp::Eq };
        let mut lists: Vec<(ExpressionId, Vec<ExpressionId>, Vec<Vec<u8>>)> = Vec::new();
        for id in ids {
            let test = match self.graph.node(id) {
                ExpressionNode::Compare { op, left, right } if *op == wanted => {
                    match self.graph.node(*right) {
                        ExpressionNode::Constant(ScalarValue::Bytes(value)) => {
                            Some((*left, value.to_vec()))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            let (input, values) = match test {
                Some((input, value)) => (input, vec![value]),
                None => (id, Vec::new()),
            };
            match lists.last_mut() {
                Some((last, own, all)) if *last == input && !values.is_empty() => {
                    own.push(id);
                    all.extend(values);
                }
                _ => lists.push((input, vec![id], values)),
            }
        }
        let mut merged = Vec::with_capacity(lists.len());
        for (input, own, values) in lists {
            if own.len() == 1 {
                merged.extend(own);
            } else {
                let predicate = StringPredicate::one_of(values, is_and);
                merged.push(self.graph.add(ExpressionNode::StringTest { input, predicate })?);
            }
        }
        Ok(merged)
    }

    /// Makes a balanced tree, which is evaluated from left to right, too.
    fn combine(&mut self, ids: &[ExpressionId], is_and: bool) -> LoweringResult<LoweredExpression> {
        match ids {
            [] => {
                let id = self.bool_constant(is_and)?;
                Ok(LoweredExpression::new(id, ValueForm::Boolean))
            }
            [id] => Ok(LoweredExpression::new(*id, ValueForm::Boolean)),
            _ => {
                let (left, right) = ids.split_at(ids.len() / 2);
                let left = self.combine(left, is_and)?.id;
                let right = self.combine(right, is_and)?.id;
                self.boolean(if is_and {
                    ExpressionNode::And { left, right }
                } else {
                    ExpressionNode::Or { left, right }
                })
            }
        }
    }

    fn is_truth(
        &mut self,
        operand: &ScalarExpression,
        value: TruthValue,
    ) -> LoweringResult<LoweredExpression> {
        let input = self.condition(operand)?;
        let condition = match value {
            TruthValue::Unknown => return self.boolean(ExpressionNode::IsNull { input }),
            TruthValue::True => input,
            TruthValue::False => self.graph.add(ExpressionNode::Not { input })?,
        };
        let (then, otherwise) = (self.bool_constant(true)?, self.bool_constant(false)?);
        self.boolean(ExpressionNode::Case { condition, then, otherwise })
    }

    fn is_distinct(
        &mut self,
        operator: &'static OperatorEntry,
        operands: &[ScalarExpression],
    ) -> LoweringResult<LoweredExpression> {
        let [left, right] = operands else {
            return Err(LoweringError::contradiction("IS DISTINCT FROM without two sides"));
        };
        let (equal, [left, right]) = self.equality(operator, [left, right])?;
        let (left, right) = (left.id, right.id);
        let left_null = self.graph.add(ExpressionNode::IsNull { input: left })?;
        let right_null = self.graph.add(ExpressionNode::IsNull { input: right })?;
        let one_null = ExpressionNode::Or { left: left_null, right: right_null };
        let both_null = ExpressionNode::And { left: left_null, right: right_null };
        let condition = self.graph.add(one_null)?;
        let both_null = self.graph.add(both_null)?;
        let then = self.graph.add(ExpressionNode::Not { input: both_null })?;
        let otherwise = self.graph.add(ExpressionNode::Not { input: equal })?;
        self.boolean(ExpressionNode::Case { condition, then, otherwise })
    }

    /// Lowers both sides once, and whether they are equal by the operator.
    fn equality(
        &mut self,
        operator: &'static OperatorEntry,
        [left, right]: [&ScalarExpression; 2],
    ) -> LoweringResult<(ExpressionId, [LoweredExpression; 2])> {
        let Some(OperatorMeaning::Compare(op)) = operator_meaning(operator.oid) else {
            let name = operator.name;
            return Err(LoweringError::not_supported(format!("{name} between these types")));
        };
        let sides = [self.lower_checked(left)?, self.lower_checked(right)?];
        let equal = self.compare(op, sides[0], sides[1])?.id;
        Ok((equal, sides))
    }

    fn quantified(
        &mut self,
        operator: &'static OperatorEntry,
        operand: &ScalarExpression,
        elements: &[ScalarExpression],
        is_all: bool,
    ) -> LoweringResult<LoweredExpression> {
        let Some(OperatorMeaning::Compare(op)) = operator_meaning(operator.oid) else {
            return Err(LoweringError::not_supported(format!("{} with a list", operator.name)));
        };
        let operand = self.lower_checked(operand)?;
        if let Some(id) = self.in_constants(operator, operand, elements, is_all)? {
            return Ok(LoweredExpression::new(id, ValueForm::Boolean));
        }
        let mut ids = Vec::with_capacity(elements.len());
        for element in elements {
            let element = self.lower(element)?;
            ids.push(self.compare(op, operand, element)?.id);
        }
        let ids = self.with_string_lists(ids, is_all)?;
        self.combine(&ids, is_all)
    }

    fn case(
        &mut self,
        arms: &[CaseArm],
        otherwise: Option<&ScalarExpression>,
        sql_type: SqlType,
    ) -> LoweringResult<LoweredExpression> {
        let mut conditions = Vec::with_capacity(arms.len());
        let mut results = Vec::with_capacity(arms.len() + 1);
        for arm in arms {
            conditions.push(self.condition(&arm.condition)?);
            results.push(self.lower(&arm.result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.lower(otherwise)?,
            None => self.constant(&SqlValue::Null, sql_type)?,
        });
        self.choose(&conditions, &results)
    }

    fn coalesce(&mut self, arguments: &[ScalarExpression]) -> LoweringResult<LoweredExpression> {
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for argument in arguments {
            let result = self.lower_checked(argument)?;
            let is_null = self.graph.add(ExpressionNode::IsNull { input: result.id })?;
            conditions.push(self.graph.add(ExpressionNode::Not { input: is_null })?);
            results.push(result);
        }
        // The last argument is the result if all others are null.
        conditions.pop();
        self.choose(&conditions, &results)
    }

    fn null_if(
        &mut self,
        operator: &'static OperatorEntry,
        operands: &[ScalarExpression],
        sql_type: SqlType,
    ) -> LoweringResult<LoweredExpression> {
        let [first, second] = operands else {
            return Err(LoweringError::contradiction("NULLIF without two arguments"));
        };
        let (equal, [first, _]) = self.equality(operator, [first, second])?;
        let null = self.constant(&SqlValue::Null, sql_type)?;
        self.choose(&[equal], &[null, first])
    }

    /// Chooses the first result whose condition is true, or the last, of which there is one more.
    fn choose(
        &mut self,
        conditions: &[ExpressionId],
        results: &[LoweredExpression],
    ) -> LoweringResult<LoweredExpression> {
        let Some((last, before)) = results.split_last() else {
            return Err(LoweringError::contradiction("a choice of nothing"));
        };
        let mut chosen = *last;
        for (condition, result) in conditions.iter().zip(before).rev() {
            chosen = self.choose_one(*condition, *result, chosen)?;
        }
        Ok(chosen)
    }

    fn choose_one(
        &mut self,
        condition: ExpressionId,
        then: LoweredExpression,
        otherwise: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        let ([then_id, otherwise_id], form) = self.in_chosen_form(then, otherwise)?;
        let mut shown_scale = None;
        if let ValueForm::Numeric { .. } = form {
            shown_scale = match (then.is_null_constant, otherwise.is_null_constant) {
                (true, _) => otherwise.shown_scale,
                (_, true) => then.shown_scale,
                _ if self.shows_one_scale(then, otherwise)? => None,
                _ => {
                    let (then, otherwise) = (self.scale_of(then)?, self.scale_of(otherwise)?);
                    let node = ExpressionNode::Case { condition, then, otherwise };
                    Some(self.graph.add(node)?)
                }
            };
        }
        let node = ExpressionNode::Case { condition, then: then_id, otherwise: otherwise_id };
        let is_null_constant = then.is_null_constant && otherwise.is_null_constant;
        Ok(LoweredExpression { id: self.graph.add(node)?, form, shown_scale, is_null_constant })
    }
}

/// Returns comparison and day that keep the same dates as a timestamp; `None` if none does.
pub(super) fn compare_to_days(op: CompareOp, micros: i128) -> Option<(CompareOp, i128)> {
    let (day, rest) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    Some(match (op, rest) {
        (op, 0) => (op, day),
        // A midnight before the moment is one up to its day's.
        (CompareOp::Lt | CompareOp::Le, _) => (CompareOp::Le, day),
        (CompareOp::Gt | CompareOp::Ge, _) => (CompareOp::Gt, day),
        (CompareOp::Eq | CompareOp::Ne, _) => return None,
    })
}

/// Brings a value of each side of a join to one representation, in which equal values are equal,
/// and one without an equal may be null; `None` if there is none.
///
/// # Errors
/// None for values that an equality is of.
pub(super) fn equal_forms(
    (left, own): (&mut ExpressionLowering<'_>, LoweredExpression),
    (right, other): (&mut ExpressionLowering<'_>, LoweredExpression),
) -> LoweringResult<Option<(ExpressionId, ExpressionId)>> {
    use ValueForm as Form;
    left.may_fail |= own.form.may_fail();
    right.may_fail |= other.form.may_fail();
    Ok(match (own.form, other.form) {
        (Form::Exact { .. }, Form::Numeric { scale, .. }) => {
            Some((rounded_node(&mut left.graph, own.id, scale, RoundedTo::Same)?, other.id))
        }
        (Form::Numeric { scale, .. }, Form::Exact { .. }) => {
            Some((own.id, rounded_node(&mut right.graph, other.id, scale, RoundedTo::Same)?))
        }
        (Form::Exact { .. }, Form::Exact { .. }) => {
            Some((key_node(&mut left.graph, own.id)?, key_node(&mut right.graph, other.id)?))
        }
        (Form::Numeric { .. }, Form::Numeric { .. }) => {
            let Some(scale) = common_scale(own, other)? else {
                let (own, other) = (left.exact(own)?.id, right.exact(other)?.id);
                let own = key_node(&mut left.graph, own)?;
                return Ok(Some((own, key_node(&mut right.graph, other)?)));
            };
            let could_fail = (left.may_fail, right.may_fail);
            let keys = (left.rescaled(own, scale)?, right.rescaled(other, scale)?);
            // They have the digits, so these do not.
            (left.may_fail, right.may_fail) = could_fail;
            Some(keys)
        }
        (Form::Real, Form::Double) => Some((left.widened(own)?, other.id)),
        (Form::Double, Form::Real) => Some((own.id, right.widened(other)?)),
        (Form::Padded { .. }, Form::Padded { .. }) => Some((own.id, other.id)),
        (Form::Packed { .. }, Form::Packed { .. } | Form::Padded { .. })
        | (Form::Padded { .. }, Form::Packed { .. }) => {
            let key = packed_key_node(&mut left.graph, own.id, own.form)?;
            Some((key, packed_key_node(&mut right.graph, other.id, other.form)?))
        }
        (one, other_form) if one == other_form => Some((own.id, other.id)),
        _ => None,
    })
}

/// Returns the form of values that are one or the other.
fn common_form(one: LoweredExpression, other: LoweredExpression) -> LoweringResult<ValueForm> {
    use ValueForm as Form;
    match (one.form, other.form) {
        (form, _) if other.is_null_constant => Ok(form),
        (_, form) if one.is_null_constant => Ok(form),
        (Form::Numeric { .. }, Form::Numeric { .. }) => {
            let (scale, digits) = numeric_parts(one)?;
            let (other_scale, other_digits) = numeric_parts(other)?;
            let whole = (digits - scale).max(other_digits - other_scale);
            let common = scale.max(other_scale);
            let digits = whole + common;
            if digits > DECIMAL_DIGITS_MAX && scale != other_scale {
                return Ok(Form::Exact { may_fail: false });
            }
            Ok(Form::Numeric { scale: common, digits: digits.min(DECIMAL_DIGITS_MAX) })
        }
        (Form::Exact { .. } | Form::Numeric { .. }, Form::Exact { .. } | Form::Numeric { .. }) => {
            Ok(Form::Exact { may_fail: one.form.may_fail() || other.form.may_fail() })
        }
        (form, other) if form == other && form != (Form::Padded { chars: None }) => Ok(form),
        (Form::Padded { chars: None }, Form::Padded { chars: None }) => {
            Err(LoweringError::not_supported("a choice of characters of unknown lengths"))
        }
        (Form::Padded { .. } | Form::Packed { .. }, Form::Padded { .. } | Form::Packed { .. }) => {
            Ok(Form::Packed { has_keys: true })
        }
        _ => Err(LoweringError::contradiction("a choice of values of different types")),
    }
}

/// Bounds the nodes that an expression puts above those of its operands.
fn graph_levels(kind: &ScalarKind) -> usize {
    let tree = |count: usize| count.max(1).ilog2() as usize + 1;
    match kind {
        ScalarKind::And(all) | ScalarKind::Or(all) => tree(all.len()),
        ScalarKind::Quantified { elements, .. } => 3 + tree(elements.len()),
        ScalarKind::Case { arms, .. } => 2 + arms.len(),
        ScalarKind::Coalesce(all) => 3 + all.len(),
        ScalarKind::IsDistinct { .. } | ScalarKind::NullIf { .. } => 6,
        ScalarKind::Function { .. } => 4,
        _ => 2,
    }
}
