//! Expressions that are evaluated on one row of SQL values.
//!
//! Values are computed as PostgreSQL computes them, digit by digit, at about a microsecond for each
//! operator, by the kernels of `nacre-functions`: for constants, and for rows where vectors do not
//! compute them (`row_nodes`).

use std::sync::Arc;

use nacre_functions::catalog::{FunctionEntry, OperatorEntry, find_function};
use nacre_functions::kernels::{cast_never_fails, extreme_of, has_text};
use nacre_plan::algebra::{CastStep, ColumnId, ScalarExpression, ScalarKind, TruthValue};
use nacre_types::catalog::CastContext;
use nacre_types::{
    CastPath, SqlType, SqlValue, ValueError, ValueSettings, cast_value, find_cast_path,
};

use super::form::ValueForm;
use super::once::{KnownOnce, ask_for};
use super::row_call::RowCall;
use super::session::session_settings;
use crate::error::ExecError;
use crate::value::{OnceValue, ScalarValue, ValueClass};

/// An expression over the inputs of a row, which are counted from 0.
#[derive(Debug)]
pub(super) enum RowExpression {
    Input {
        number: usize,
        form: ValueForm,
        sql_type: SqlType,
    },
    Constant(SqlValue),
    /// What a query has, once.
    Once {
        value: Arc<OnceValue>,
        form: ValueForm,
        sql_type: SqlType,
    },
    /// A value of so many rows.
    OnlyValue {
        value: Box<Self>,
        count: Box<Self>,
    },
    /// A function or an operator.
    Call {
        call: RowCall,
        arguments: Vec<Self>,
        /// As [`Self::has_inputs`], known before it is asked for at each level of a chain.
        has_inputs: bool,
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
            ScalarKind::Proven(inner) => return Self::compile(inner, read),
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
            _ => return compile_query_value(expression, read),
        })
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Input { .. } | Self::Constant(_) | Self::Once { .. } => Vec::new(),
            Self::OnlyValue { value, count } => vec![value, count],
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

    /// Whether a value is not known before the query runs.
    pub(super) fn has_inputs(&self) -> bool {
        match self {
            Self::Input { .. } | Self::Once { .. } => true,
            Self::Call { has_inputs, .. } => *has_inputs,
            _ => self.children().into_iter().any(Self::has_inputs),
        }
    }

    /// Whether a value may be another one for the same inputs.
    pub(super) fn is_volatile(&self) -> bool {
        let is_own = matches!(self, Self::Call { call, .. } if call.is_volatile());
        is_own || self.children().into_iter().any(Self::is_volatile)
    }

    /// Returns how many nodes there are, which bounds time and stack of an evaluation.
    pub(super) fn count(&self) -> usize {
        1 + self.children().into_iter().map(Self::count).sum::<usize>()
    }

    /// Whether a value may raise an error, given constants that do not. That a numeric has 131,072
    /// digits is left out.
    pub(super) fn may_fail(&self) -> bool {
        self.is_fallible() || self.children().into_iter().any(Self::may_fail)
    }

    /// Whether the last step may fail.
    fn is_fallible(&self) -> bool {
        match self {
            _ if !self.has_inputs() => false,
            Self::Input { form, .. } => form.may_fail(),
            Self::Call { call, .. }
            | Self::IsDistinct { equality: call, .. }
            | Self::NullIf { equality: call, .. }
            | Self::Quantified { test: call, .. } => call.may_fail(),
            Self::Cast { may_fail, .. } => *may_fail,
            Self::Once { .. } | Self::OnlyValue { .. } => true,
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
                form.decode(inputs(*number), *sql_type).map_err(value_error)
            }
            Self::Constant(value) => Ok(value.clone()),
            Self::Once { value, form, sql_type } => {
                let value = value.value().and_then(|value| form.decode(value, *sql_type));
                value.map_err(value_error)
            }
            Self::OnlyValue { value, count } => match count.evaluate(inputs)? {
                SqlValue::BigInt(count) if count > 1 => Err(value_error(ExecError::MoreThanOneRow)),
                _ => value.evaluate(inputs),
            },
            Self::Call { call, arguments, .. } => call.apply(&evaluate_all(arguments, inputs)?),
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
                extreme_of(evaluate_all(arguments, inputs)?, *is_greatest, *sql_type)
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

/// Makes the value of a query.
fn compile_query_value(
    expression: &ScalarExpression,
    read: &mut ColumnReader<'_>,
) -> Option<RowExpression> {
    let sql_type = expression.sql_type;
    match &expression.kind {
        ScalarKind::Once(reference) => {
            let KnownOnce { value, form, .. } = ask_for(*reference).ok()?;
            Some(RowExpression::Once { value, form, sql_type })
        }
        ScalarKind::OnlyValue { value, count } => {
            let (value, count) = (compile_box(value, read)?, compile_box(count, read)?);
            Some(RowExpression::OnlyValue { value, count })
        }
        _ => None,
    }
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
    let has_inputs = call.is_volatile() || arguments.iter().any(RowExpression::has_inputs);
    Some(RowExpression::Call { call, arguments, has_inputs })
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

/// Makes the error of an input that stands for one.
fn value_error(error: ExecError) -> ValueError {
    let message = error.to_string();
    let known = match error {
        ExecError::DivisionByZero => return ValueError::division_by_zero(message),
        ExecError::MoreThanOneRow => return ValueError::cardinality_violation(message),
        ExecError::NumericOutOfRange { .. } => return ValueError::out_of_range(message),
        ExecError::Function { sqlstate, message } => ValueError::of_sql_state(sqlstate, message),
        _ => None,
    };
    known.unwrap_or_else(|| ValueError::internal(message))
}
