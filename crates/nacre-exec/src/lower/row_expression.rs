//! Expressions that are evaluated on one row of SQL values.
//!
//! Values are computed as PostgreSQL computes them, digit by digit, at about a microsecond for each
//! operator, by the kernels of `nacre-functions`: for constants, and for the few rows above groups
//! (`late`), never for those of a table.

use std::cmp::Ordering;
use std::sync::Arc;

use nacre_functions::catalog::{FunctionEntry, OperatorEntry, find_function};
use nacre_functions::kernels::{KernelContext, cast_never_fails, compare_values, has_text};
use nacre_plan::algebra::{CastStep, ColumnId, ScalarExpression, ScalarKind, TruthValue};
use nacre_types::catalog::CastContext;
use nacre_types::{
    CastPath, ExactNumeric, SqlType, SqlValue, ValueError, ValueSettings, cast_value,
    find_cast_path,
};

use super::form::ValueForm;
use super::row_call::RowCall;
use super::session::session_settings;
use crate::value::{ScalarValue, ValueClass};

/// An expression over the inputs of a row, which are counted from 0.
#[derive(Debug)]
pub(super) enum RowExpression {
    Input {
        number: usize,
        form: ValueForm,
        sql_type: SqlType,
    },
    /// A sum of that scale, which shows as many digits behind the point as an input says.
    Sum {
        sum: usize,
        scale: u16,
        shown: Option<usize>,
    },
    /// A sum, divided by a count as `avg` does; null of no values.
    Average {
        sum: Box<Self>,
        count: usize,
    },
    /// A variance or its square root of a sum of that scale, a count, and the sum of squares.
    Deviation {
        scale: u16,
        is_sample: bool,
        is_root: bool,
    },
    /// A value over inputs of its own, which are these of the row.
    Nested {
        value: Arc<Self>,
        inputs: Vec<usize>,
    },
    Constant(SqlValue),
    /// A function or an operator.
    Call {
        call: RowCall,
        arguments: Vec<Self>,
    },
    Cast {
        operand: Box<Self>,
        source: SqlType,
        target: SqlType,
        context: CastContext,
        settings: Arc<ValueSettings>,
        may_fail: bool,
    },
    Junction {
        operands: Vec<Self>,
        is_and: bool,
    },
    Not(Box<Self>),
    IsNull(Box<Self>),
    IsTruth {
        operand: Box<Self>,
        value: TruthValue,
    },
    IsDistinct {
        equality: RowCall,
        operands: Vec<Self>,
    },
    Quantified {
        test: RowCall,
        operand: Box<Self>,
        elements: Vec<Self>,
        is_all: bool,
    },
    Case {
        /// Conditions and results.
        arms: Vec<(Self, Self)>,
        otherwise: Option<Box<Self>>,
    },
    Coalesce(Vec<Self>),
    Extreme {
        arguments: Vec<Self>,
        is_greatest: bool,
        sql_type: SqlType,
    },
    NullIf {
        equality: RowCall,
        operands: Vec<Self>,
    },
}

/// Gives the physical value of an input.
pub(super) type RowInputs<'i> = dyn Fn(usize) -> ScalarValue + 'i;

/// Makes what reads a column; `None` if that cannot be read.
pub(super) type ColumnReader<'r> = dyn FnMut(ColumnId, SqlType) -> Option<RowExpression> + 'r;

impl RowExpression {
    /// Makes the expression; `None` if a part of it is not computed here.
    pub(super) fn compile(
        expression: &ScalarExpression,
        read: &mut ColumnReader<'_>,
    ) -> Option<Self> {
        let sql_type = expression.sql_type;
        Some(match &expression.kind {
            ScalarKind::Column(column) => return read(*column, sql_type),
            ScalarKind::Constant(value) => Self::Constant(value.0.clone()),
            ScalarKind::Operator { operator, operands } => {
                let function = find_function(operator.function)?;
                return compile_call(function, operands, sql_type, read);
            }
            ScalarKind::Function { function, arguments } => {
                return compile_call(function, arguments, sql_type, read);
            }
            ScalarKind::Cast { operand, method } => {
                let (source, target) = (operand.sql_type, sql_type);
                let operand = compile_box(operand, read)?;
                compile_cast(operand, source, target, *method)?
            }
            ScalarKind::And(operands) | ScalarKind::Or(operands) => Self::Junction {
                operands: compile_all(operands, read)?,
                is_and: matches!(expression.kind, ScalarKind::And(_)),
            },
            ScalarKind::Not(operand) => Self::Not(compile_box(operand, read)?),
            ScalarKind::IsNull(operand) => Self::IsNull(compile_box(operand, read)?),
            ScalarKind::IsTruth { operand, value } => {
                Self::IsTruth { operand: compile_box(operand, read)?, value: *value }
            }
            ScalarKind::IsDistinct { operator, operands } => {
                let equality = test_call(operator, operands)?;
                Self::IsDistinct { equality, operands: compile_all(operands, read)? }
            }
            ScalarKind::NullIf { operator, operands } => {
                let equality = test_call(operator, operands)?;
                Self::NullIf { equality, operands: compile_all(operands, read)? }
            }
            ScalarKind::Quantified { operator, operand, elements, is_all } => {
                let first = elements.first()?;
                let test = test_call(operator, &[(**operand).clone(), first.clone()])?;
                Self::Quantified {
                    test,
                    operand: compile_box(operand, read)?,
                    elements: compile_all(elements, read)?,
                    is_all: *is_all,
                }
            }
            ScalarKind::Case { arms, otherwise } => {
                let arms = arms.iter().map(|arm| {
                    let condition = Self::compile(&arm.condition, read)?;
                    Some((condition, Self::compile(&arm.result, read)?))
                });
                let arms = arms.collect::<Option<Vec<_>>>()?;
                let otherwise = match otherwise {
                    Some(otherwise) => Some(compile_box(otherwise, read)?),
                    None => None,
                };
                Self::Case { arms, otherwise }
            }
            ScalarKind::Coalesce(arguments) => Self::Coalesce(compile_all(arguments, read)?),
            ScalarKind::Extreme { arguments, is_greatest } => {
                let arguments = compile_all(arguments, read)?;
                Self::Extreme { arguments, is_greatest: *is_greatest, sql_type }
            }
            _ => return None,
        })
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Input { .. } | Self::Sum { .. } | Self::Deviation { .. } | Self::Constant(_) => {
                Vec::new()
            }
            Self::Average { sum, .. } => vec![sum],
            Self::Nested { value, .. } => vec![value],
            Self::Call { arguments: all, .. }
            | Self::Junction { operands: all, .. }
            | Self::IsDistinct { operands: all, .. }
            | Self::NullIf { operands: all, .. }
            | Self::Coalesce(all)
            | Self::Extreme { arguments: all, .. } => all.iter().collect(),
            Self::Cast { operand, .. }
            | Self::Not(operand)
            | Self::IsNull(operand)
            | Self::IsTruth { operand, .. } => vec![operand],
            Self::Quantified { operand, elements, .. } => {
                std::iter::once(&**operand).chain(elements).collect()
            }
            Self::Case { arms, otherwise } => {
                let arms = arms.iter().flat_map(|(condition, result)| [condition, result]);
                arms.chain(otherwise.as_deref()).collect()
            }
        }
    }

    fn has_inputs(&self) -> bool {
        match self {
            Self::Input { .. } | Self::Sum { .. } | Self::Deviation { .. } => true,
            Self::Average { .. } | Self::Nested { .. } => true,
            _ => self.children().into_iter().any(Self::has_inputs),
        }
    }

    /// Returns how many nodes there are, which bounds time and stack of an evaluation.
    pub(super) fn count(&self) -> usize {
        1 + self.children().into_iter().map(Self::count).sum::<usize>()
    }

    /// Whether a value may raise an error, given the values of nested expressions and constants
    /// that do not. That a numeric has 131,072 digits is left out.
    pub(super) fn may_fail(&self) -> bool {
        let is_computed = matches!(self, Self::Nested { .. });
        !is_computed && (self.is_fallible() || self.children().into_iter().any(Self::may_fail))
    }

    /// As [`Self::may_fail`], the values that it is made of included.
    pub(super) fn may_fail_anywhere(&self) -> bool {
        self.is_fallible() || self.children().into_iter().any(Self::may_fail_anywhere)
    }

    /// Whether the last step may fail.
    fn is_fallible(&self) -> bool {
        match self {
            _ if !self.has_inputs() => false,
            Self::Call { call, .. }
            | Self::IsDistinct { equality: call, .. }
            | Self::NullIf { equality: call, .. }
            | Self::Quantified { test: call, .. } => call.may_fail(),
            Self::Cast { may_fail, .. } => *may_fail,
            _ => false,
        }
    }

    /// Computes the value for a row.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn evaluate(&self, inputs: &RowInputs<'_>) -> Result<SqlValue, ValueError> {
        match self {
            Self::Input { number, form, sql_type } => {
                let value = form.decode(inputs(*number), *sql_type);
                value.map_err(|error| ValueError::internal(error.to_string()))
            }
            Self::Sum { sum, scale, shown } => shown_sum(inputs(*sum), *scale, shown.map(inputs)),
            Self::Deviation { scale, is_sample, is_root } => {
                let values = [inputs(0), inputs(1), inputs(2)];
                deviation(values, *scale, *is_sample, *is_root)
            }
            Self::Average { sum, count } => average(&sum.evaluate(inputs)?, inputs(*count)),
            Self::Nested { value, inputs: own } => value.evaluate(&|number| inputs(own[number])),
            Self::Constant(value) => Ok(value.clone()),
            Self::Call { call, arguments } => call.apply(&evaluate_all(arguments, inputs)?),
            Self::Cast { operand, source, target, context, settings, .. } => {
                cast_value(operand.evaluate(inputs)?, *source, *target, *context, settings)
            }
            Self::Junction { operands, is_and } => junction(operands, *is_and, inputs),
            Self::Not(operand) => {
                Ok(truth_value(truth(&operand.evaluate(inputs)?)?.map(|truth| !truth)))
            }
            Self::IsNull(operand) => Ok(SqlValue::Boolean(operand.evaluate(inputs)?.is_null())),
            Self::IsTruth { operand, value } => {
                let wanted = match value {
                    TruthValue::True => Some(true),
                    TruthValue::False => Some(false),
                    TruthValue::Unknown => None,
                };
                Ok(SqlValue::Boolean(truth(&operand.evaluate(inputs)?)? == wanted))
            }
            Self::IsDistinct { equality, operands } => {
                let values = evaluate_all(operands, inputs)?;
                let nulls = values.iter().filter(|value| value.is_null()).count();
                Ok(SqlValue::Boolean(match nulls {
                    0 => truth(&equality.apply(&values)?)? != Some(true),
                    nulls => nulls == 1,
                }))
            }
            Self::Quantified { test, operand, elements, is_all } => {
                let operand = operand.evaluate(inputs)?;
                let mut result = Some(*is_all);
                for element in elements {
                    let values = [operand.clone(), element.evaluate(inputs)?];
                    match truth(&test.apply(&values)?)? {
                        Some(holds) if holds != *is_all => return Ok(SqlValue::Boolean(holds)),
                        Some(_) => {}
                        None => result = None,
                    }
                }
                Ok(truth_value(result))
            }
            Self::Case { .. } | Self::Coalesce(_) | Self::Extreme { .. } | Self::NullIf { .. } => {
                self.choose(inputs)
            }
        }
    }

    /// Computes an expression that is one of its operands.
    fn choose(&self, inputs: &RowInputs<'_>) -> Result<SqlValue, ValueError> {
        match self {
            Self::Case { arms, otherwise } => {
                for (condition, result) in arms {
                    if truth(&condition.evaluate(inputs)?)? == Some(true) {
                        return result.evaluate(inputs);
                    }
                }
                otherwise.as_ref().map_or(Ok(SqlValue::Null), |last| last.evaluate(inputs))
            }
            Self::Coalesce(arguments) => {
                for argument in arguments {
                    let value = argument.evaluate(inputs)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(SqlValue::Null)
            }
            Self::Extreme { arguments, is_greatest, sql_type } => {
                let settings = ValueSettings::default();
                let types = [*sql_type, *sql_type];
                let context = KernelContext {
                    argument_types: &types,
                    result_type: *sql_type,
                    settings: &settings,
                };
                let wanted = if *is_greatest { Ordering::Greater } else { Ordering::Less };
                let mut extreme = SqlValue::Null;
                for argument in arguments {
                    let value = argument.evaluate(inputs)?;
                    let is_better = !value.is_null()
                        && (extreme.is_null()
                            || compare_values(&value, &extreme, &context)? == wanted);
                    if is_better {
                        extreme = value;
                    }
                }
                Ok(extreme)
            }
            Self::NullIf { equality, operands } => {
                let mut values = evaluate_all(operands, inputs)?;
                if truth(&equality.apply(&values)?)? == Some(true) || values.is_empty() {
                    return Ok(SqlValue::Null);
                }
                Ok(values.swap_remove(0))
            }
            _ => Err(ValueError::internal("no choice")),
        }
    }
}

fn compile_all(
    expressions: &[ScalarExpression],
    read: &mut ColumnReader<'_>,
) -> Option<Vec<RowExpression>> {
    expressions.iter().map(|one| RowExpression::compile(one, read)).collect()
}

fn compile_box(
    expression: &ScalarExpression,
    read: &mut ColumnReader<'_>,
) -> Option<Box<RowExpression>> {
    RowExpression::compile(expression, read).map(Box::new)
}

/// Makes a call of a function; its arguments without inputs are computed at once.
fn compile_call(
    function: &'static FunctionEntry,
    arguments: &[ScalarExpression],
    result_type: SqlType,
    read: &mut ColumnReader<'_>,
) -> Option<RowExpression> {
    let types = arguments.iter().map(|argument| argument.sql_type).collect();
    let arguments = compile_all(arguments, read)?.into_iter().map(folded).collect::<Vec<_>>();
    let constants = arguments.iter().map(|argument| match argument {
        RowExpression::Constant(value) => Some(value),
        _ => None,
    });
    let constants: Vec<Option<&SqlValue>> = constants.collect();
    let call = RowCall::of_function(function, types, result_type, &constants)?;
    Some(RowExpression::Call { call, arguments })
}

/// Returns the value of what has no inputs, unless it fails.
fn folded(expression: RowExpression) -> RowExpression {
    if expression.has_inputs() {
        return expression;
    }
    let nothing = |_| ScalarValue::Null(ValueClass::Bool);
    expression.evaluate(&nothing).map_or(expression, RowExpression::Constant)
}

/// Makes the call of an operator that tests two values.
fn test_call(operator: &'static OperatorEntry, operands: &[ScalarExpression]) -> Option<RowCall> {
    let types = operands.iter().map(|operand| operand.sql_type).collect();
    let unknown = vec![None; operands.len()];
    RowCall::of_operator(operator, types, SqlType::BOOLEAN, &unknown)
}

fn compile_cast(
    operand: Box<RowExpression>,
    source: SqlType,
    target: SqlType,
    method: CastStep,
) -> Option<RowExpression> {
    let (target, context) = match method {
        CastStep::Type(_) => (target.without_modifier(), CastContext::Explicit),
        CastStep::Modifier { is_explicit: true } => (target, CastContext::Explicit),
        CastStep::Modifier { is_explicit: false } => (target, CastContext::Implicit),
    };
    if !has_text(source) || !has_text(target) {
        return None;
    }
    let path = find_cast_path(source, target, context)?;
    let is_type = matches!(method, CastStep::Type(_));
    let is_same = is_type && path == CastPath::Binary && source.oid() == target.oid();
    let is_total = is_same || is_type && cast_never_fails(source.oid(), target.oid());
    let settings = session_settings();
    Some(RowExpression::Cast { operand, source, target, context, settings, may_fail: !is_total })
}

fn evaluate_all(
    expressions: &[RowExpression],
    inputs: &RowInputs<'_>,
) -> Result<Vec<SqlValue>, ValueError> {
    expressions.iter().map(|one| one.evaluate(inputs)).collect()
}

/// Computes AND or OR from left to right, up to the operand that decides.
fn junction(
    operands: &[RowExpression],
    is_and: bool,
    inputs: &RowInputs<'_>,
) -> Result<SqlValue, ValueError> {
    let mut result = Some(is_and);
    for operand in operands {
        match truth(&operand.evaluate(inputs)?)? {
            Some(value) if value != is_and => return Ok(SqlValue::Boolean(value)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(truth_value(result))
}

fn truth(value: &SqlValue) -> Result<Option<bool>, ValueError> {
    match value {
        SqlValue::Null => Ok(None),
        SqlValue::Boolean(value) => Ok(Some(*value)),
        _ => Err(ValueError::internal("a condition is no truth value")),
    }
}

fn truth_value(value: Option<bool>) -> SqlValue {
    value.map_or(SqlValue::Null, SqlValue::Boolean)
}

/// Makes a numeric of a whole number, without digits that it does not show, which are zeros.
fn shown_sum(
    sum: ScalarValue,
    scale: u16,
    shown: Option<ScalarValue>,
) -> Result<SqlValue, ValueError> {
    let sum = match sum {
        ScalarValue::Null(_) => return Ok(SqlValue::Null),
        ScalarValue::Int(sum) => ExactNumeric::from_scaled(sum, scale)?,
        _ => return Err(ValueError::internal("a sum of what is no number")),
    };
    match shown {
        None => Ok(SqlValue::Numeric(sum)),
        // A scale is at most 38.
        Some(ScalarValue::Int(shown)) => Ok(SqlValue::Numeric(sum.truncate(shown as i32)?)),
        Some(_) => Err(ValueError::internal("a sum that shows no number of digits")),
    }
}

/// Divides as PostgreSQL's `avg` does; null of no values.
fn average(sum: &SqlValue, count: ScalarValue) -> Result<SqlValue, ValueError> {
    match (sum, count) {
        (SqlValue::Null, _) | (_, ScalarValue::Int(0)) => Ok(SqlValue::Null),
        (SqlValue::Numeric(sum), ScalarValue::Int(count)) => {
            Ok(SqlValue::Numeric(sum.divide(&ExactNumeric::from(count))?))
        }
        _ => Err(ValueError::internal("an average of what is no number")),
    }
}

/// Computes variance or standard deviation of a sum of that scale, a count, and a sum of squares;
/// null of too few values.
fn deviation(
    [sum, count, squares]: [ScalarValue; 3],
    scale: u16,
    is_sample: bool,
    is_root: bool,
) -> Result<SqlValue, ValueError> {
    let ScalarValue::Int(count) = count else { return Ok(SqlValue::Null) };
    if count <= i128::from(is_sample) {
        return Ok(SqlValue::Null);
    }
    let (ScalarValue::Int(sum), ScalarValue::Int(squares)) = (sum, squares) else {
        return Err(ValueError::internal("a variance of what is no number"));
    };
    let sum = ExactNumeric::from_scaled(sum, scale)?;
    let squares = ExactNumeric::from_scaled(squares, 2 * scale)?;
    let divisor = ExactNumeric::from(if is_sample { count - 1 } else { count });
    let count = ExactNumeric::from(count);
    let above = count.multiply(&squares)?.subtract(&sum.multiply(&sum)?)?;
    if above.is_zero() {
        return Ok(SqlValue::Numeric(ExactNumeric::ZERO));
    }
    let variance = above.divide(&count.multiply(&divisor)?)?;
    match variance.scale().filter(|_| is_root) {
        Some(scale) => Ok(SqlValue::Numeric(variance.square_root(scale)?)),
        None => Ok(SqlValue::Numeric(variance)),
    }
}
