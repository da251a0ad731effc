//! Expressions of numerics: decimals of one scale, and numerics of any ([`ValueForm::Exact`]).

use nacre_column::CompareOp;
use nacre_functions::kernels::{KernelFallibility, call_fallibility};
use nacre_plan::algebra::ScalarExpression;
use nacre_types::{ExactNumeric, SqlType, SqlValue, TypeKind};

use super::super::error::{LoweringError, LoweringResult};
use super::super::exact_arithmetic::{NumericSource, arithmetic_node};
use super::super::exact_nodes::{checked_node, decimal_node, key_node, packed_node, rounded_node};
use super::super::fold::fold_constant;
use super::super::form::{DECIMAL_DIGITS_MAX, ValueForm};
use super::{ExpressionLowering, LoweredExpression, common_form};
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::value::{IntLimit, RoundedTo, ScalarValue, ValueClass, decode_exact};

/// Digits from which on sums and arithmetic on values that are no arithmetic themselves are those
/// of numerics of any digits. Sums of decimals of up to 15 digits, which have 34, are below:
/// arithmetic on these stays that of whole numbers.
const WIDE_DIGITS_MIN: u16 = 35;

impl ExpressionLowering<'_> {
    /// Whether values are declared with so many digits that few of them may have a sum or product
    /// beyond [`DECIMAL_DIGITS_MAX`].
    pub(in crate::lower) fn is_wide(&self, value: LoweredExpression) -> bool {
        let is_arithmetic =
            matches!(self.graph.node(value.id), ExpressionNode::IntArithmetic { .. });
        let has_digits = |digits: u16| digits >= WIDE_DIGITS_MIN && !is_arithmetic;
        matches!(value.form, ValueForm::Numeric { digits, .. } if has_digits(digits))
    }

    /// Adds the same values; those that stand for errors raise them.
    pub(in crate::lower) fn checked(
        &mut self,
        value: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        if !value.form.may_fail() {
            return Ok(value);
        }
        self.may_fail = true;
        let id = checked_node(&mut self.graph, value.id)?;
        Ok(LoweredExpression { id, form: ValueForm::Exact { may_fail: false }, ..value })
    }

    /// Adds the same numerics, as such of any scale.
    pub(in crate::lower) fn exact(
        &mut self,
        value: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        let ValueForm::Numeric { scale, .. } = value.form else { return Ok(value) };
        let id = decimal_node(&mut self.graph, value.id, scale, value.shown_scale)?;
        let form = ValueForm::Exact { may_fail: false };
        Ok(LoweredExpression { id, form, shown_scale: None, ..value })
    }

    /// Brings two values to the form of a column that has both.
    ///
    /// # Errors
    /// As for results of CASE.
    pub(in crate::lower) fn in_one_column(
        &mut self,
        one: LoweredExpression,
        other: LoweredExpression,
    ) -> LoweringResult<([ExpressionId; 2], ValueForm)> {
        let scale = |own: LoweredExpression| match own.form {
            ValueForm::Numeric { scale, .. } if !own.is_null_constant => Some(scale),
            _ => None,
        };
        let (one, other) = match (scale(one), scale(other)) {
            (Some(own), Some(other_scale)) if own != other_scale => {
                (self.exact(one)?, self.exact(other)?)
            }
            _ => (one, other),
        };
        self.in_chosen_form(one, other)
    }

    /// As [`Self::in_one_column`]; numerics may get more digits than they show.
    pub(super) fn in_chosen_form(
        &mut self,
        one: LoweredExpression,
        other: LoweredExpression,
    ) -> LoweringResult<([ExpressionId; 2], ValueForm)> {
        let form = common_form(one, other)?;
        let mut ids = [one.id, other.id];
        for (id, side) in ids.iter_mut().zip([one, other]) {
            match form {
                ValueForm::Numeric { scale, .. } => *id = self.rescaled(side, scale)?,
                ValueForm::Exact { .. } => *id = self.exact(side)?.id,
                ValueForm::Packed { .. } => *id = packed_node(&mut self.graph, *id, side.form)?,
                _ => {}
            }
        }
        Ok((ids, form))
    }

    /// Adds arithmetic on numerics, which fails if a result may have more digits than there are.
    pub(super) fn decimal_arithmetic(
        &mut self,
        op: ArithmeticOp,
        sides: [ExpressionId; 2],
        scale: u16,
        digits: u16,
    ) -> LoweringResult<LoweredExpression> {
        if digits > DECIMAL_DIGITS_MAX && self.is_grouped {
            return Err(LoweringError::not_supported("numerics of more than 38 digits"));
        }
        self.may_fail |= digits > DECIMAL_DIGITS_MAX;
        let ([left, right], limit) = (sides, IntLimit::NUMERIC);
        let form = ValueForm::Numeric { scale, digits: digits.min(DECIMAL_DIGITS_MAX) };
        self.of_form(ExpressionNode::IntArithmetic { op, left, right, limit }, form)
    }

    pub(super) fn numeric_arithmetic(
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

    /// Adds arithmetic on numerics whose result is of any scale; `may_fail` if it may raise an
    /// error for finite numbers.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] if an operand raises errors where it is computed: one that
    /// is evaluated row by row raises them where the result is looked at.
    pub(super) fn exact_arithmetic(
        &mut self,
        op: ArithmeticOp,
        operands: [LoweredExpression; 2],
        may_fail: bool,
        operand_may_fail: bool,
    ) -> LoweringResult<LoweredExpression> {
        if operand_may_fail {
            return Err(LoweringError::not_supported("arithmetic on numerics that may fail"));
        }
        let may_fail = may_fail || operands.iter().any(|one| one.form.may_fail());
        let [left, right] = operands.map(|one| self.numeric_source(one));
        let id = arithmetic_node(&mut self.graph, op, [left?, right?])?;
        Ok(LoweredExpression::new(id, ValueForm::Exact { may_fail }))
    }

    fn numeric_source(&self, value: LoweredExpression) -> LoweringResult<NumericSource> {
        let malformed = |_| LoweringError::contradiction("a constant that is no numeric");
        Ok(match (value.form, self.graph.node(value.id)) {
            (
                ValueForm::Numeric { scale, .. },
                ExpressionNode::Constant(ScalarValue::Int(unscaled)),
            ) if value.shown_scale.is_none() => {
                let constant = ExactNumeric::from_scaled(*unscaled, scale);
                NumericSource::Constant(constant.map_err(malformed)?)
            }
            (ValueForm::Exact { .. }, ExpressionNode::Constant(ScalarValue::Bytes(bytes))) => {
                NumericSource::Constant(decode_exact(bytes).map_err(malformed)?)
            }
            (ValueForm::Numeric { scale, .. }, _) => {
                NumericSource::Decimal { value: value.id, scale, shown: value.shown_scale }
            }
            (ValueForm::Exact { .. }, _) => NumericSource::Exact(value.id),
            _ => return Err(LoweringError::contradiction("arithmetic on what is no numeric")),
        })
    }

    /// Returns the scale that a sum or product of two numerics shows, if it depends on the row.
    pub(super) fn shown_scale(
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
    pub(super) fn scale_of(&mut self, value: LoweredExpression) -> LoweringResult<ExpressionId> {
        match value.shown_scale {
            Some(scale) => Ok(scale),
            None => Ok(self.graph.int(numeric_parts(value)?.0.into())?),
        }
    }

    /// Returns a numeric with more digits behind the point.
    pub(super) fn rescaled(
        &mut self,
        value: LoweredExpression,
        scale: u16,
    ) -> LoweringResult<ExpressionId> {
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

    /// Compares numerics, of which at least one is of any scale: decimals with what that is rounded
    /// to, so that the side of many rows has whole numbers.
    ///
    /// ```text
    /// x < v   u < ceil(v * 10^s)      x <= v   u <= floor(v * 10^s)      x = v   u = both of them
    /// ```
    pub(super) fn compare_exact(
        &mut self,
        op: CompareOp,
        left: LoweredExpression,
        right: LoweredExpression,
    ) -> LoweringResult<LoweredExpression> {
        self.may_fail |= left.form.may_fail() || right.form.may_fail();
        let is_decimal = |graph: &ExpressionGraph, value: LoweredExpression| {
            let is_constant = matches!(graph.node(value.id), ExpressionNode::Constant(_));
            !is_constant && matches!(value.form, ValueForm::Numeric { .. })
        };
        let (op, value, exact) = if is_decimal(&self.graph, left) {
            (op, left, right)
        } else if is_decimal(&self.graph, right) {
            (op.flipped(), right, left)
        } else {
            let (left, right) = (self.exact(left)?.id, self.exact(right)?.id);
            let left = key_node(&mut self.graph, left)?;
            let right = key_node(&mut self.graph, right)?;
            return self.boolean(ExpressionNode::Compare { op, left, right });
        };
        let (scale, _) = numeric_parts(value)?;
        let [mut floor, mut ceiling] = [exact.id; 2];
        if !matches!(op, CompareOp::Lt | CompareOp::Ge) {
            floor = rounded_node(&mut self.graph, exact.id, scale, RoundedTo::Floor)?;
        }
        if !matches!(op, CompareOp::Le | CompareOp::Gt) {
            ceiling = rounded_node(&mut self.graph, exact.id, scale, RoundedTo::Ceiling)?;
        }
        self.compare_rounded(op, value.id, [floor, ceiling])
    }

    /// Compares a decimal with what a numeric is rounded to in its scale.
    pub(super) fn compare_rounded(
        &mut self,
        op: CompareOp,
        left: ExpressionId,
        [floor, ceiling]: [ExpressionId; 2],
    ) -> LoweringResult<LoweredExpression> {
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

    /// Compares a decimal with a numeric that the input has rounded; `None` if it has not.
    pub(super) fn compare_with_columns(
        &mut self,
        op: CompareOp,
        value: &ScalarExpression,
        exact: &ScalarExpression,
    ) -> LoweringResult<Option<LoweredExpression>> {
        if self.columns.rounded().iter().all(|one| one.kind != exact.kind) {
            return Ok(None);
        }
        let value = self.lower(value)?;
        let ValueForm::Numeric { scale, .. } = value.form else { return Ok(None) };
        let mut known = self.columns.rounded().iter();
        let known = known.find(|one| one.kind == exact.kind && one.scale == scale);
        let Some(rounded) = known else { return Ok(None) };
        let floor = self.graph.column(rounded.floor, ValueClass::Int)?;
        let ceiling = self.graph.column(rounded.ceiling, ValueClass::Int)?;
        self.compare_rounded(op, value.id, [floor, ceiling]).map(Some)
    }

    /// Gives numerics a precision and scale that all of them fit.
    pub(super) fn numeric_modifier(
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

    pub(super) fn shows_one_scale(
        &self,
        one: LoweredExpression,
        other: LoweredExpression,
    ) -> LoweringResult<bool> {
        let scales = (numeric_parts(one)?.0, numeric_parts(other)?.0);
        let is_fixed = one.shown_scale.is_none() && other.shown_scale.is_none();
        Ok(is_fixed && scales.0 == scales.1)
    }
}

/// Whether the result of arithmetic on numerics has no scale that is known before.
pub(super) fn is_exact_arithmetic(
    op: ArithmeticOp,
    left: LoweredExpression,
    right: LoweredExpression,
) -> bool {
    let is_quotient = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
    is_quotient || [left, right].iter().any(|one| matches!(one.form, ValueForm::Exact { .. }))
}

/// Whether a function may raise an error for operands that raise none. That a numeric has 131,072
/// digits is left out.
pub(super) fn call_may_fail(function: u32, operands: &[ScalarExpression]) -> LoweringResult<bool> {
    let mut constants = Vec::with_capacity(operands.len());
    for operand in operands {
        constants.push(fold_constant(operand)?);
    }
    let constants: Vec<Option<&SqlValue>> = constants.iter().map(Option::as_ref).collect();
    Ok(call_fallibility(function, &constants) == KernelFallibility::ByValue)
}

pub(super) fn numeric_parts(value: LoweredExpression) -> LoweringResult<(u16, u16)> {
    match value.form {
        ValueForm::Numeric { scale, digits } => Ok((scale, digits.max(scale))),
        ValueForm::Exact { .. } => Err(LoweringError::not_supported("numerics of any scale")),
        _ => Err(LoweringError::contradiction("arithmetic on what is no numeric")),
    }
}

/// Returns the greater scale of two numerics; `None` if one has values that PostgreSQL compares
/// and that have too many digits in it.
pub(super) fn common_scale(
    left: LoweredExpression,
    right: LoweredExpression,
) -> LoweringResult<Option<u16>> {
    let (left_scale, left_digits) = numeric_parts(left)?;
    let (right_scale, right_digits) = numeric_parts(right)?;
    let scale = left_scale.max(right_scale);
    let needed = (left_digits + scale - left_scale).max(right_digits + scale - right_scale);
    Ok((needed <= DECIMAL_DIGITS_MAX).then_some(scale))
}
