//! Values above groups that vectors cannot hold with PostgreSQL's digits.
//!
//! The scale of a quotient of numerics depends on both values, so neither a quotient nor an average
//! has a form ([`ValueForm`]): vectors hold decimals of a scale that is known before. Such a value
//! stays an expression over columns that vectors do hold, sums and counts, as long as it can:
//!
//! 1. The answer's reader evaluates it, with all of PostgreSQL's digits ([`LateValue::value`]).
//!    Operators in between hand on its inputs alone.
//! 2. What other than a numeric comes of it, above all the truth of a condition, has a form: a node
//!    of the plan evaluates the expression row by row ([`RowResult::Plain`]).
//! 3. Sorts and equalities among such values take a string of bytes that has their order
//!    ([`RowResult::Ordered`]); no digit is lost, and 1.0 is 1.00.
//! 4. A join compares it with a decimal `x` of scale `s`, which is `u / 10^s`, as its neighbours
//!    in that scale, two whole numbers ([`RowResult::Rounded`]).
//!
//! ```text
//! x < v   u < ceil(v * 10^s)      x <= v   u <= floor(v * 10^s)      x = v   u = both of them
//! ```
//!
//! Neighbours are computed once for each row above groups; the many rows of the other side compare
//! whole numbers. What has too many digits lies beyond all decimals, and so do its neighbours.
//!
//! # Invariants
//! 1. Nothing is evaluated row by row but rows above groups ([`LoweredRelation::is_grouped`]) and
//!    those of the answer.
//! 2. Of inputs that are all null, such a value is null where an outer join may make them so.
//! # Differences from PostgreSQL
//! 1. An error in a value that only the answer has is raised when its row is read: not for rows
//!    that LIMIT or a join leaves out.
//!
//! [`LoweredRelation::is_grouped`]: super::columns::LoweredRelation

use std::sync::Arc;

use nacre_plan::algebra::ScalarExpression;
use nacre_types::{ExactNumeric, SqlType, SqlValue, TypeKind, ValueError};

use super::columns::{ColumnPlace, ColumnPlaces};
use super::error::{LoweringError, LoweringResult};
use super::fold::fold_constant;
use super::form::ValueForm;
use super::row_expression::RowExpression;
use crate::error::{ExecError, ExecResult};
use crate::expression::{
    ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::value::{IntBounds, ScalarValue, ValueClass};
use crate::vector::{ColumnVector, VectorValues};

/// Most nodes of an expression: each takes up to a kilobyte of stack, and a microsecond.
const NODES_MAX: usize = 500;

/// One more than any decimal of 38 digits.
const BEYOND: i128 = 10_i128.pow(38);

/// An expression over columns of an operator.
#[derive(Clone, Debug)]
pub(super) struct LateValue {
    expression: Arc<RowExpression>,
    /// By number of the input.
    inputs: Vec<LateInput>,
    pub(super) sql_type: SqlType,
}

/// A column that the operator hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateInput {
    pub(super) index: usize,
    pub(super) class: ValueClass,
}

/// How a plan holds the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowResult {
    /// In a form that has its type.
    Plain(ValueForm),
    /// A numeric as bytes in the order of numerics, equal for equal ones.
    Ordered,
    /// The next whole number above or below that many times ten times a numeric.
    Rounded { scale: u16, is_up: bool },
}

impl LateValue {
    /// Makes a sum of that scale, of whose digits the column `shown` says how many are shown.
    pub(super) fn sum(sum: usize, scale: u16, shown: Option<usize>) -> Self {
        let shown_input = shown.map(|_| 1);
        let expression = RowExpression::Sum { sum: 0, scale, shown: shown_input };
        Self::of_aggregates(expression, &[Some(sum), shown])
    }

    /// Makes an average of such a sum and a count.
    pub(super) fn average(sum: usize, count: usize, scale: u16, shown: Option<usize>) -> Self {
        let sum_value = RowExpression::Sum { sum: 0, scale, shown: shown.map(|_| 2) };
        let expression = RowExpression::Average { sum: Box::new(sum_value), count: 1 };
        Self::of_aggregates(expression, &[Some(sum), Some(count), shown])
    }

    /// Makes a variance or its square root of a sum of that scale, a count, and the sum of squares.
    pub(super) fn deviation(
        columns: [usize; 3],
        scale: u16,
        is_sample: bool,
        is_root: bool,
    ) -> Self {
        let expression = RowExpression::Deviation { scale, is_sample, is_root };
        Self::of_aggregates(expression, &columns.map(Some))
    }

    fn of_aggregates(expression: RowExpression, columns: &[Option<usize>]) -> Self {
        let input = |index| LateInput { index, class: ValueClass::Int };
        let inputs = columns.iter().flatten().copied().map(input).collect();
        Self { expression: Arc::new(expression), inputs, sql_type: SqlType::NUMERIC }
    }

    /// Makes the value of an expression; `None` if a part of it is not evaluated by rows, or is a
    /// constant that fails, which is an error even of no rows.
    pub(super) fn compile(expression: &ScalarExpression, columns: &ColumnPlaces) -> Option<Self> {
        if has_failing_constant(expression) {
            return None;
        }
        let mut inputs: Vec<LateInput> = Vec::new();
        let mut read = |column, sql_type| {
            Some(match columns.get(column).ok()? {
                ColumnPlace::Plain { index, form } => {
                    let input = LateInput { index, class: form.class() };
                    RowExpression::Input { number: number_of(&mut inputs, input), form, sql_type }
                }
                ColumnPlace::Late(inner) => {
                    let own = inner.inputs.iter();
                    let own = own.map(|input| number_of(&mut inputs, *input)).collect();
                    RowExpression::Nested { value: inner.expression, inputs: own }
                }
            })
        };
        let row = RowExpression::compile(expression, &mut read)?;
        if row.count() > NODES_MAX {
            return None;
        }
        Some(Self { expression: Arc::new(row), inputs, sql_type: expression.sql_type })
    }

    /// Returns the columns that it is computed of.
    pub(super) fn inputs(&self) -> &[LateInput] {
        &self.inputs
    }

    /// Returns the same value of columns that lie elsewhere.
    pub(super) fn moved(
        &self,
        mut place: impl FnMut(LateInput) -> LoweringResult<usize>,
    ) -> LoweringResult<Self> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            inputs.push(LateInput { index: place(*input)?, class: input.class });
        }
        Ok(Self { inputs, ..self.clone() })
    }

    /// Whether it may raise an error, given late values that it is made of.
    pub(super) fn may_fail(&self) -> bool {
        self.expression.may_fail()
    }

    /// As [`Self::may_fail`], the late values that it is made of included.
    pub(super) fn may_fail_anywhere(&self) -> bool {
        self.expression.may_fail_anywhere()
    }

    /// Whether it is null if all of its inputs are.
    pub(super) fn is_null_of_nulls(&self) -> bool {
        let null = |number: usize| ScalarValue::Null(self.inputs[number].class);
        matches!(self.expression.evaluate(&null), Ok(SqlValue::Null))
    }

    /// Computes the value of a row, whose columns `scalar` gives.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn value(&self, scalar: &dyn Fn(usize) -> ScalarValue) -> ExecResult<SqlValue> {
        let value = self.expression.evaluate(&|number| scalar(self.inputs[number].index));
        value.map_err(row_error)
    }

    /// Adds a node that computes the value row by row.
    ///
    /// # Errors
    /// [`LoweringError::Contradiction`] for a result that is not of the type.
    pub(super) fn node(
        &self,
        graph: &mut ExpressionGraph,
        result: RowResult,
    ) -> LoweringResult<ExpressionId> {
        let mut arguments = Vec::with_capacity(self.inputs.len());
        for LateInput { index, class } in &self.inputs {
            arguments.push(graph.column(*index, *class)?);
        }
        let is_numeric = matches!(self.sql_type.kind(), TypeKind::Numeric(_));
        if is_numeric == matches!(result, RowResult::Plain(_)) {
            return Err(LoweringError::contradiction("a result of another type"));
        }
        let (class, bounds) = match result {
            RowResult::Plain(form) => (form.class(), plain_bounds(self.sql_type)),
            RowResult::Ordered => (ValueClass::Bytes, IntBounds::I128),
            RowResult::Rounded { .. } => (ValueClass::Int, IntBounds::new(-BEYOND, BEYOND)),
        };
        let (expression, sql_type) = (Arc::clone(&self.expression), self.sql_type);
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
            evaluate_rows(&expression, sql_type, result, call, out)
        };
        let function = ForeignFunction::new("row by row", kernel, class, bounds, true);
        Ok(graph.add(ExpressionNode::Foreign { function, arguments })?)
    }
}

fn has_failing_constant(expression: &ScalarExpression) -> bool {
    match fold_constant(expression) {
        Ok(Some(_)) => false,
        Ok(None) => expression.children().into_iter().any(has_failing_constant),
        Err(_) => true,
    }
}

fn number_of(inputs: &mut Vec<LateInput>, input: LateInput) -> usize {
    let known = inputs.iter().position(|own| *own == input);
    known.unwrap_or_else(|| {
        inputs.push(input);
        inputs.len() - 1
    })
}

/// Returns the form in which vectors hold values of a type; `None` if there is none that fits all.
pub(super) fn plain_form(sql_type: SqlType) -> Option<ValueForm> {
    match sql_type.kind() {
        // A numeric's scale, and how many blanks a string has, depend on the value.
        TypeKind::Numeric(_) | TypeKind::Bpchar(_) => None,
        _ => ValueForm::of_null(sql_type),
    }
}

fn plain_bounds(sql_type: SqlType) -> IntBounds {
    match sql_type.kind() {
        TypeKind::SmallInt => IntBounds::I16,
        TypeKind::Integer | TypeKind::Date => IntBounds::I32,
        _ => IntBounds::I64,
    }
}

fn evaluate_rows(
    expression: &RowExpression,
    sql_type: SqlType,
    result: RowResult,
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    for row in 0..call.rows {
        if call.active.is_some_and(|active| !active.get(row)) {
            out.values.push_default();
            continue;
        }
        let value = expression.evaluate(&|number| call.arguments[number].scalar(row));
        let scalar = match value.map_err(row_error)? {
            SqlValue::Null => None,
            value => Some(result.encode(&value, sql_type)?),
        };
        match (scalar, &mut out.values) {
            (Some(ScalarValue::Bool(value)), VectorValues::Bool(bits)) => bits.push(value),
            (Some(ScalarValue::Int(value)), values) => values.push_int(value),
            (Some(ScalarValue::Float32(value)), VectorValues::Float32(all)) => all.push(value),
            (Some(ScalarValue::Float64(value)), VectorValues::Float64(all)) => all.push(value),
            (Some(ScalarValue::Bytes(value)), VectorValues::Bytes(all)) => all.push(&value),
            (None, values) => {
                values.push_default();
                out.mark_last_null();
            }
            _ => return Err(ExecError::internal("a value of another class")),
        }
    }
    out.fill_validity();
    Ok(())
}

impl RowResult {
    fn encode(self, value: &SqlValue, sql_type: SqlType) -> ExecResult<ScalarValue> {
        let unknown = || ExecError::internal(format!("a value is no {sql_type}"));
        match (self, value) {
            (Self::Plain(_), value) => {
                let constant = ValueForm::of_constant(value, sql_type);
                constant.map(|(scalar, _)| scalar).ok_or_else(unknown)
            }
            (Self::Ordered, SqlValue::Numeric(value)) => {
                Ok(ScalarValue::Bytes(ordered_bytes(value)))
            }
            (Self::Rounded { scale, is_up }, SqlValue::Numeric(value)) => {
                Ok(ScalarValue::Int(rounded(value, scale, is_up).map_err(row_error)?))
            }
            _ => Err(unknown()),
        }
    }
}

/// Returns the next whole number above or below `value * 10^scale`, at most [`BEYOND`]. Infinity
/// and NaN are greater than all numbers.
fn rounded(value: &ExactNumeric, scale: u16, is_up: bool) -> Result<i128, ValueError> {
    let beyond = |is_negative: bool| if is_negative { -BEYOND } else { BEYOND };
    if !value.is_finite() {
        return Ok(beyond(value.signum() == Some(-1)));
    }
    let scaled = value.multiply(&ExactNumeric::power_of_ten(scale.into())?)?;
    let whole = if is_up { scaled.ceil()? } else { scaled.floor()? };
    let unscaled = whole.to_unscaled(0).filter(|one| (-BEYOND..=BEYOND).contains(one));
    Ok(unscaled.unwrap_or_else(|| beyond(whole.signum() == Some(-1))))
}

/// Returns bytes in the order of numerics: what kind of value it is, and of a number other than
/// zero the place of its first digit and its digits; all of these inverted below zero, behind them
/// a byte that is greater than any digit.
///
/// ```text
/// 0.05 0.050   3  2^31 - 1  "5"          -0.05  1  !(2^31 - 1)  !"5"  255
/// 123.4        3  2^31 + 3  "1234"
/// ```
fn ordered_bytes(value: &ExactNumeric) -> Vec<u8> {
    const PLACES: u32 = 1 << 31;
    let is_negative = value.signum() == Some(-1);
    match (value.is_nan(), value.is_infinite()) {
        (true, _) => return vec![5],
        (_, true) => return vec![if is_negative { 0 } else { 4 }],
        _ if value.is_zero() => return vec![2],
        _ => {}
    }
    let text = value.abs().to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.trim_start_matches('0');
    let digits = format!("{whole}{rest}");
    let digits = digits.trim_end_matches('0');
    let significant = digits.trim_start_matches('0');
    // At most 131,072 digits before the point and 16,383 behind it.
    let zeros = (digits.len() - significant.len()) as u32;
    let place = PLACES + whole.len() as u32 - zeros;
    let mut bytes = vec![if is_negative { 1 } else { 3 }];
    bytes.extend_from_slice(&place.to_be_bytes());
    bytes.extend_from_slice(significant.as_bytes());
    if is_negative {
        bytes[1..].iter_mut().for_each(|byte| *byte = !*byte);
        bytes.push(u8::MAX);
    }
    bytes
}

/// Makes the error of an evaluation.
fn row_error(error: ValueError) -> ExecError {
    let message = error.text().message.clone();
    match error {
        ValueError::DivisionByZero(_) => ExecError::DivisionByZero,
        ValueError::Internal(_) => ExecError::internal(message),
        _ => {
            let mut sqlstate = *b"XX000";
            sqlstate.copy_from_slice(error.sql_state().as_bytes());
            ExecError::Function { sqlstate, message }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(text: &str) -> ExactNumeric {
        ExactNumeric::parse(text, None).unwrap()
    }

    #[test]
    fn bytes_have_the_order_of_numerics() {
        let ascending = [
            "-Infinity",
            "-1e40",
            "-123.45",
            "-123.4",
            "-100",
            "-99.999",
            "-0.05",
            "-0.0499",
            "-1e-30",
            "0",
            "1e-30",
            "0.049",
            "0.05",
            "0.051",
            "0.5",
            "1",
            "1.5",
            "9",
            "10",
            "10.01",
            "99",
            "100",
            "1e40",
            "Infinity",
            "NaN",
        ];
        for (one, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                let bytes = |text: &str| ordered_bytes(&numeric(text));
                assert_eq!(bytes(left).cmp(&bytes(right)), one.cmp(&other), "{left}, {right}");
            }
        }
        for (one, other) in [("1.0", "1.0000"), ("0.0", "0"), ("-100", "-100.00"), ("0.10", "0.1")]
        {
            assert_eq!(ordered_bytes(&numeric(one)), ordered_bytes(&numeric(other)));
        }
    }

    #[test]
    fn neighbours_compare_as_the_value_does() {
        let values = ["-2.01", "-2", "-1.995", "0", "0.004999999999999999999999", "2.5", "1e30"];
        for text in values {
            let value = numeric(text);
            let up = rounded(&value, 2, true).unwrap();
            let down = rounded(&value, 2, false).unwrap();
            for unscaled in -300..300_i128 {
                let decimal = ExactNumeric::from_scaled(unscaled, 2).unwrap();
                assert_eq!(unscaled < up, decimal < value, "{decimal} < {text}");
                assert_eq!(unscaled <= down, decimal <= value, "{decimal} <= {text}");
                assert_eq!(up == down && unscaled == up, decimal == value, "{decimal} = {text}");
            }
        }
        let far = |text: &str| [false, true].map(|up| rounded(&numeric(text), 2, up).unwrap());
        assert_eq!(far("1e37"), [BEYOND; 2]);
        assert_eq!(far("-1e50"), [-BEYOND; 2]);
        assert_eq!(far("NaN"), [BEYOND; 2]);
    }
}
