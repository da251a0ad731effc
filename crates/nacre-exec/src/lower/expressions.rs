//! From bound expressions to nodes of an [`ExpressionGraph`].
//!
//! Numerics are exact here because all values of an expression have one scale that is known before
//! it runs: a column has its type's, sums and differences have the greater one of both sides,
//! products the sum. Where PostgreSQL's scale depends on which branch a row takes, values have the
//! greatest one, and a second node has the scale that a row shows; sums of such values show the
//! greatest one of their rows. Where it depends on values, as of quotients, the expression is
//! refused. A result of more than 38 digits, which
//! PostgreSQL's numeric has room for, is an error of execution (22003 "numeric out of range").

use nacre_column::CompareOp;
use nacre_functions::catalog::{FunctionEntry, OperatorEntry};
use nacre_plan::algebra::{CaseArm, CastStep, ScalarExpression, ScalarKind, TruthValue};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, TypeKind};

use super::columns::{ColumnPlaces, RoundedValue};
use super::error::{LoweringError, LoweringResult};
use super::fold::fold_constant;
use super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::late::{LateValue, RowResult, plain_form};
use super::like::{LikePattern, like_operator};
use super::operators::{OperatorMeaning, integer_limit, operator_meaning};
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::value::{IntLimit, ScalarValue, ValueClass};

/// Deepest nesting of nodes: below the 500 that the executor resolves.
const LEVELS_MAX: usize = 450;

/// `extract(field from date)`.
const EXTRACT_FROM_DATE: u32 = 6199;

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
    /// Whether rows are few, so that expressions may be evaluated one by one.
    has_few_rows: bool,
    levels: usize,
}

/// An expression that is a node, or one that is evaluated where it is wanted.
pub(super) enum LoweredOrLate {
    Lowered(LoweredExpression),
    Late(LateValue),
}

impl LoweredExpression {
    fn new(id: ExpressionId, form: ValueForm) -> Self {
        Self { id, form, shown_scale: None, is_null_constant: false }
    }
}

impl<'c> ExpressionLowering<'c> {
    pub(super) fn new(columns: &'c ColumnPlaces) -> Self {
        let graph = ExpressionGraph::default();
        Self { graph, may_fail: false, columns, has_few_rows: false, levels: 0 }
    }

    /// Says whether expressions that vectors do not compute may be evaluated row by row.
    pub(super) fn with_rows(self, has_few_rows: bool) -> Self {
        Self { has_few_rows, ..self }
    }

    /// Adds an expression.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for what the executor has not with the same meaning.
    pub(super) fn lower(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let levels = graph_levels(&expression.kind);
        self.levels += levels;
        if self.levels > LEVELS_MAX {
            return Err(LoweringError::not_supported("expressions that are nested this deeply"));
        }
        let lowered = match fold_constant(expression)? {
            Some(value) => self.constant(&value, expression.sql_type),
            None => self.lower_kind(expression),
        };
        self.levels -= levels;
        lowered
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

    /// Adds a condition; of few rows any that is evaluated by rows.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(super) fn condition_or_rows(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<ExpressionId> {
        match self.lower_or_late(expression)? {
            LoweredOrLate::Lowered(lowered) if lowered.form == ValueForm::Boolean => Ok(lowered.id),
            _ => Err(LoweringError::contradiction("a condition is no truth value")),
        }
    }

    /// Adds an expression; of few rows any that is evaluated by rows.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(super) fn lower_or_late(
        &mut self,
        expression: &ScalarExpression,
    ) -> LoweringResult<LoweredOrLate> {
        let (may_fail, levels) = (self.may_fail, self.levels);
        let error = match self.lower(expression) {
            Ok(lowered) if lowered.shown_scale.is_none() => {
                return Ok(LoweredOrLate::Lowered(lowered));
            }
            Ok(_) => mixed_scales(),
            Err(error) => error,
        };
        (self.may_fail, self.levels) = (may_fail, levels);
        if !self.has_few_rows || !matches!(error, LoweringError::NotSupported { .. }) {
            return Err(error);
        }
        let late = LateValue::compile(expression, self.columns).ok_or_else(|| error.clone())?;
        let Some(form) = plain_form(expression.sql_type) else {
            let is_numeric = expression.sql_type.oid() == TypeOid::NUMERIC;
            return if is_numeric { Ok(LoweredOrLate::Late(late)) } else { Err(error) };
        };
        self.may_fail = true;
        let id = late.node(&mut self.graph, RowResult::Plain(form))?;
        Ok(LoweredOrLate::Lowered(LoweredExpression::new(id, form)))
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
                let (index, form) = self.columns.plain(*column)?;
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
                let input = self.lower(operand)?.id;
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

    /// Adds arithmetic on numerics, which fails if a result may have more digits than there are.
    fn decimal_arithmetic(
        &mut self,
        op: ArithmeticOp,
        sides: [ExpressionId; 2],
        scale: u16,
        digits: u16,
    ) -> LoweringResult<LoweredExpression> {
        self.may_fail |= digits > DECIMAL_DIGITS_MAX;
        let ([left, right], limit) = (sides, IntLimit::NUMERIC);
        let form = ValueForm::Numeric { scale, digits: digits.min(DECIMAL_DIGITS_MAX) };
        self.of_form(ExpressionNode::IntArithmetic { op, left, right, limit }, form)
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
            if self.columns.is_late(right) {
                return self.compare_late(op, left, right);
            }
            if self.columns.is_late(left) {
                return self.compare_late(op.flipped(), right, left);
            }
        }
        let Some(meaning) = operator_meaning(operator.oid) else {
            let right = SqlType::new(operator.right);
            let left = operator.left.map(|left| format!("{} ", SqlType::new(left)));
            let (left, name) = (left.unwrap_or_default(), operator.name);
            return Err(LoweringError::not_supported(format!("operator {left}{name} {right}")));
        };
        let mut lowered = Vec::with_capacity(operands.len());
        for operand in operands {
            lowered.push(self.lower(operand)?);
        }
        match (meaning, &lowered[..]) {
            (OperatorMeaning::Compare(op), &[left, right]) => self.compare(op, left, right),
            (OperatorMeaning::IntegerArithmetic(op), &[left, right]) => {
                let limit = integer_limit(operator.result).ok_or_else(|| {
                    LoweringError::contradiction(format!("operator {}", operator.oid))
                })?;
                self.arithmetic(op, left.id, right.id, limit, ValueForm::Integer)
            }
            (OperatorMeaning::NumericArithmetic(op), &[left, right]) => {
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

    fn numeric_arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: LoweredExpression,
        right: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        let (left_scale, left_digits) = numeric_parts(left)?;
        let (right_scale, right_digits) = numeric_parts(right)?;
        if op == ArithmeticOp::Multiply {
            let scale = left_scale + right_scale;
            if scale > DECIMAL_DIGITS_MAX {
                return Err(LoweringError::not_supported("numerics of more than 38 digits"));
            }
            let digits = left_digits + right_digits;
            return self.decimal_arithmetic(op, [left.id, right.id], scale, digits);
        }
        let scale = left_scale.max(right_scale);
        let whole =
            left_digits.saturating_sub(left_scale).max(right_digits.saturating_sub(right_scale));
        let sides = [self.rescaled(left, scale)?, self.rescaled(right, scale)?];
        self.decimal_arithmetic(op, sides, scale, whole + 1 + scale)
    }

    /// Returns the scale that a sum or product of two numerics shows, if it depends on the row.
    fn shown_scale(
        &mut self,
        op: ArithmeticOp,
        left: LoweredExpression,
        right: LoweredExpression,
    ) -> LoweringResult<Option<ExpressionId>> {
        if left.shown_scale.is_none() && right.shown_scale.is_none() {
            return Ok(None);
        }
        let (left, right) = (self.scale_of(left)?, self.scale_of(right)?);
        if op == ArithmeticOp::Multiply {
            let node = (ArithmeticOp::Add, left, right, IntLimit::NUMERIC);
            return Ok(Some(self.graph.arithmetic(node.0, node.1, node.2, node.3)?));
        }
        let condition = self.graph.compare(CompareOp::Ge, left, right)?;
        let node = ExpressionNode::Case { condition, then: left, otherwise: right };
        Ok(Some(self.graph.add(node)?))
    }

    /// Returns the scale that a numeric shows.
    fn scale_of(&mut self, value: LoweredExpression) -> LoweringResult<ExpressionId> {
        match value.shown_scale {
            Some(scale) => Ok(scale),
            None => Ok(self.graph.int(numeric_parts(value)?.0.into())?),
        }
    }

    /// Returns a numeric with more digits behind the point.
    fn rescaled(&mut self, value: LoweredExpression, scale: u16) -> LoweringResult<ExpressionId> {
        let (own, digits) = numeric_parts(value)?;
        let more = scale.saturating_sub(own);
        if more == 0 {
            return Ok(value.id);
        }
        let power = 10_i128.checked_pow(more.into());
        match self.graph.node(value.id) {
            ExpressionNode::Constant(ScalarValue::Int(unscaled)) => {
                let scaled = power.and_then(|power| unscaled.checked_mul(power));
                let scaled = scaled.filter(|scaled| {
                    let bounds = IntLimit::NUMERIC.bounds;
                    (bounds.min()..=bounds.max()).contains(scaled)
                });
                let scaled = scaled.ok_or_else(|| {
                    LoweringError::not_supported("numerics of more than 38 digits")
                })?;
                Ok(self.graph.int(scaled)?)
            }
            ExpressionNode::Constant(_) => Ok(value.id),
            _ => {
                self.may_fail |= digits + more > DECIMAL_DIGITS_MAX;
                // Scales are at most 38.
                let node = ExpressionNode::Rescale {
                    input: value.id,
                    digits: more as i8,
                    limit: IntLimit::NUMERIC,
                };
                Ok(self.graph.add(node)?)
            }
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
            (Form::Numeric { .. }, Form::Numeric { .. }) => {
                let scale = common_scale(left, right)?.ok_or_else(|| {
                    LoweringError::not_supported("comparisons of numerics of more than 38 digits")
                })?;
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
            (one, other) if one == other => (left.id, right.id),
            _ => return Err(LoweringError::contradiction("a comparison of different types")),
        };
        self.boolean(ExpressionNode::Compare { op, left, right })
    }

    /// Compares a decimal with the neighbours of a late value.
    fn compare_late(
        &mut self,
        op: CompareOp,
        value: &ScalarExpression,
        late: &ScalarExpression,
    ) -> LoweringResult<LoweredExpression> {
        let value = self.lower(value)?;
        let (scale, digits) = numeric_parts(value)?;
        let fits = |one: &&RoundedValue| {
            one.scale >= scale && digits + one.scale - scale <= DECIMAL_DIGITS_MAX
        };
        let known = self.columns.rounded().iter().filter(|one| one.kind == late.kind);
        let rounded = known.filter(fits).min_by_key(|one| one.scale).ok_or_else(|| {
            LoweringError::not_supported("comparisons with this average or quotient")
        })?;
        let may_fail = self.may_fail;
        let left = self.rescaled(value, rounded.scale)?;
        // It has the digits, so this does not.
        self.may_fail = may_fail;
        let floor = self.graph.column(rounded.floor, ValueClass::Int)?;
        let ceiling = self.graph.column(rounded.ceiling, ValueClass::Int)?;
        let right = match op {
            CompareOp::Lt | CompareOp::Ge => ceiling,
            _ => floor,
        };
        if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return self.boolean(ExpressionNode::Compare { op, left, right });
        }
        // Null if either side is, and true for no decimal if the value lies between two.
        let is_floor = self.graph.compare(CompareOp::Eq, left, floor)?;
        let is_ceiling = self.graph.compare(CompareOp::Eq, left, ceiling)?;
        let equal = self.graph.add(ExpressionNode::And { left: is_floor, right: is_ceiling })?;
        if op == CompareOp::Eq {
            return Ok(LoweredExpression::new(equal, ValueForm::Boolean));
        }
        self.boolean(ExpressionNode::Not { input: equal })
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
        let unknown = || LoweringError::not_supported(format!("function {}", function.name));
        let (EXTRACT_FROM_DATE, [field, date]) = (function.oid, arguments) else {
            return Err(unknown());
        };
        match fold_constant(field)? {
            Some(SqlValue::Text(field)) if field.eq_ignore_ascii_case("year") => {}
            _ => return Err(unknown()),
        }
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

    /// Gives numerics a precision and scale that all of them fit.
    fn numeric_modifier(
        &mut self,
        value: LoweredExpression,
        target: SqlType,
        unknown: &dyn Fn() -> LoweringError,
    ) -> LoweringResult<LoweredExpression> {
        let (
            ValueForm::Numeric { scale: own, digits },
            TypeKind::Numeric(Some((precision, scale))),
        ) = (value.form, target.kind())
        else {
            return Err(unknown());
        };
        let (Ok(precision), Ok(scale)) = (u16::try_from(precision), u16::try_from(scale)) else {
            return Err(unknown());
        };
        let whole = digits.saturating_sub(own);
        let fits = own <= scale && whole + scale <= precision && precision <= DECIMAL_DIGITS_MAX;
        if !fits {
            return Err(unknown());
        }
        let id = self.rescaled(value, scale)?;
        let form = ValueForm::Numeric { scale, digits: precision };
        let is_null_constant = value.is_null_constant;
        Ok(LoweredExpression { is_null_constant, ..LoweredExpression::new(id, form) })
    }

    fn conditions(
        &mut self,
        operands: &[ScalarExpression],
        is_and: bool,
    ) -> LoweringResult<LoweredExpression> {
        let mut ids = Vec::with_capacity(operands.len());
        for operand in operands {
            ids.push(self.condition(operand)?);
        }
        self.combine(&ids, is_and)
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
        let sides = [self.lower(left)?, self.lower(right)?];
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
        let operand = self.lower(operand)?;
        let mut ids = Vec::with_capacity(elements.len());
        for element in elements {
            let element = self.lower(element)?;
            ids.push(self.compare(op, operand, element)?.id);
        }
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
            let result = self.lower(argument)?;
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
        let form = common_form(then, otherwise)?;
        let (mut ids, mut shown_scale) = ([then.id, otherwise.id], None);
        if let ValueForm::Numeric { scale, .. } = form {
            for (id, side) in ids.iter_mut().zip([then, otherwise]) {
                *id = self.rescaled(side, scale)?;
            }
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
        let [then_id, otherwise_id] = ids;
        let node = ExpressionNode::Case { condition, then: then_id, otherwise: otherwise_id };
        let is_null_constant = then.is_null_constant && otherwise.is_null_constant;
        Ok(LoweredExpression { id: self.graph.add(node)?, form, shown_scale, is_null_constant })
    }

    fn shows_one_scale(
        &self,
        one: LoweredExpression,
        other: LoweredExpression,
    ) -> LoweringResult<bool> {
        let scales = (numeric_parts(one)?.0, numeric_parts(other)?.0);
        let is_fixed = one.shown_scale.is_none() && other.shown_scale.is_none();
        Ok(is_fixed && scales.0 == scales.1)
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

/// The error for numerics whose scale depends on the row, where none of the plan's forms has it.
pub(super) fn mixed_scales() -> LoweringError {
    LoweringError::not_supported("a choice of numerics of different scales")
}

fn numeric_parts(value: LoweredExpression) -> LoweringResult<(u16, u16)> {
    match value.form {
        ValueForm::Numeric { scale, digits } => Ok((scale, digits.max(scale))),
        _ => Err(LoweringError::contradiction("arithmetic on what is no numeric")),
    }
}

/// Brings a value of each side of a join to one representation, in which equal values are
/// equal; `None` if there is none that every value has.
///
/// # Errors
/// None for values that an equality is of.
pub(super) fn equal_forms(
    (left, own): (&mut ExpressionLowering<'_>, LoweredExpression),
    (right, other): (&mut ExpressionLowering<'_>, LoweredExpression),
) -> LoweringResult<Option<(ExpressionId, ExpressionId)>> {
    use ValueForm as Form;
    Ok(match (own.form, other.form) {
        (Form::Numeric { .. }, Form::Numeric { .. }) => {
            let Some(scale) = common_scale(own, other)? else { return Ok(None) };
            let could_fail = (left.may_fail, right.may_fail);
            let keys = (left.rescaled(own, scale)?, right.rescaled(other, scale)?);
            // They have the digits, so these do not.
            (left.may_fail, right.may_fail) = could_fail;
            Some(keys)
        }
        (Form::Real, Form::Double) => Some((left.widened(own)?, other.id)),
        (Form::Double, Form::Real) => Some((own.id, right.widened(other)?)),
        (Form::Padded { .. }, Form::Padded { .. }) => Some((own.id, other.id)),
        (one, other_form) if one == other_form => Some((own.id, other.id)),
        _ => None,
    })
}

/// Returns the greater scale of two numerics; `None` if one has values that PostgreSQL compares
/// and that have too many digits in it.
fn common_scale(left: LoweredExpression, right: LoweredExpression) -> LoweringResult<Option<u16>> {
    let (left_scale, left_digits) = numeric_parts(left)?;
    let (right_scale, right_digits) = numeric_parts(right)?;
    let scale = left_scale.max(right_scale);
    let needed = (left_digits + scale - left_scale).max(right_digits + scale - right_scale);
    Ok((needed <= DECIMAL_DIGITS_MAX).then_some(scale))
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
            let scale = scale.max(other_scale);
            Ok(Form::Numeric { scale, digits: (whole + scale).min(DECIMAL_DIGITS_MAX) })
        }
        (Form::Padded { .. }, Form::Padded { .. }) if one.form != other.form => {
            Err(LoweringError::not_supported("a choice of characters of different lengths"))
        }
        (form, other) if form == other && form != (Form::Padded { chars: None }) => Ok(form),
        (Form::Padded { .. }, _) => {
            Err(LoweringError::not_supported("a choice of characters of unknown lengths"))
        }
        _ => Err(LoweringError::contradiction("a choice of values of different types")),
    }
}

/// Returns the form of values that are one or the other and are handed on as they are.
///
/// # Errors
/// [`LoweringError::NotSupported`] for numerics of different scales.
pub(super) fn same_form(
    one: LoweredExpression,
    other: LoweredExpression,
) -> LoweringResult<ValueForm> {
    let scale = |own: LoweredExpression| match own.form {
        ValueForm::Numeric { scale, .. } if !own.is_null_constant => Some(scale),
        _ => None,
    };
    match (scale(one), scale(other)) {
        (Some(own), Some(other)) if own != other => {
            Err(LoweringError::not_supported("numerics of different scales in one column"))
        }
        _ => common_form(one, other),
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
