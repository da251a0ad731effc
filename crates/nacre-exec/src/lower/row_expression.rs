//! Expressions that are evaluated on one row of SQL values.
//!
//! Values are computed as PostgreSQL computes them, digit by digit, at about a microsecond for each
//! operator: for constants, and for rows where vectors do not compute them (`row_nodes`).

use std::cmp::Ordering;

use nacre_functions::catalog::OperatorEntry;
use nacre_plan::algebra::{CastStep, ColumnId, ScalarExpression, ScalarKind, TruthValue};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings, cast_value};

use super::form::ValueForm;
use super::operators::integer_limit;
use super::row_operators::{
    RowFunction, apply_operator, compare_values, fails_of_zero_only, is_row_operator,
    operator_may_fail,
};
use crate::error::ExecError;
use crate::value::{ScalarValue, ValueClass};

/// Types among which casts depend on no setting of the session.
const CAST_GROUPS: [&[TypeOid]; 4] = [
    &[
        TypeOid::INT2,
        TypeOid::INT4,
        TypeOid::INT8,
        TypeOid::NUMERIC,
        TypeOid::FLOAT4,
        TypeOid::FLOAT8,
    ],
    &[TypeOid::TEXT, TypeOid::VARCHAR, TypeOid::BPCHAR],
    &[TypeOid::DATE, TypeOid::TIMESTAMP],
    &[TypeOid::BOOL],
];

/// An expression over the inputs of a row, which are counted from 0.
#[derive(Debug)]
pub(super) enum RowExpression {
    Input {
        number: usize,
        form: ValueForm,
        sql_type: SqlType,
    },
    Constant(SqlValue),
    Operator {
        operator: &'static OperatorEntry,
        operands: Vec<Self>,
    },
    Function {
        function: RowFunction,
        arguments: Vec<Self>,
    },
    Cast {
        operand: Box<Self>,
        source: SqlType,
        target: SqlType,
        context: CastContext,
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
        operator: &'static OperatorEntry,
        operands: Vec<Self>,
    },
    Quantified {
        operator: &'static OperatorEntry,
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
    },
    NullIf {
        operator: &'static OperatorEntry,
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
            ScalarKind::Operator { operator, operands } if is_row_operator(operator) => {
                Self::Operator { operator, operands: compile_all(operands, read)? }
            }
            ScalarKind::Function { function, arguments } => {
                let function = RowFunction::of_oid(function.oid)?;
                Self::Function { function, arguments: compile_all(arguments, read)? }
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
            ScalarKind::IsDistinct { operator, operands } if is_row_operator(operator) => {
                Self::IsDistinct { operator, operands: compile_all(operands, read)? }
            }
            ScalarKind::NullIf { operator, operands } if is_row_operator(operator) => {
                Self::NullIf { operator, operands: compile_all(operands, read)? }
            }
            ScalarKind::Quantified { operator, operand, elements, is_all }
                if is_row_operator(operator) =>
            {
                Self::Quantified {
                    operator,
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
                Self::Extreme { arguments, is_greatest: *is_greatest }
            }
            _ => return None,
        })
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::Input { .. } | Self::Constant(_) => Vec::new(),
            Self::Operator { operands: all, .. }
            | Self::Function { arguments: all, .. }
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
            Self::Input { .. } => true,
            _ => self.children().into_iter().any(Self::has_inputs),
        }
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
            Self::Operator { operator, operands } => {
                let is_safe = fails_of_zero_only(operator)
                    && operands.get(1).is_some_and(Self::is_constant_but_zero);
                operator_may_fail(operator) && !is_safe
            }
            Self::Cast { source, target, .. } => {
                integer_limit(source.oid()).is_none() || target.oid() != TypeOid::NUMERIC
            }
            Self::Function { .. } => true,
            _ => false,
        }
    }

    fn is_constant_but_zero(&self) -> bool {
        let value = || self.evaluate(&|_| ScalarValue::Null(ValueClass::Bool));
        !self.has_inputs() && matches!(value(), Ok(SqlValue::Numeric(value)) if !value.is_zero())
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
            Self::Operator { operator, operands } => {
                apply_operator(operator, &evaluate_all(operands, inputs)?)
            }
            Self::Function { function, arguments } => {
                function.apply(&evaluate_all(arguments, inputs)?)
            }
            Self::Cast { operand, source, target, context } => {
                let settings = ValueSettings::default();
                cast_value(operand.evaluate(inputs)?, *source, *target, *context, &settings)
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
            Self::IsDistinct { operator, operands } => {
                let values = evaluate_all(operands, inputs)?;
                let nulls = values.iter().filter(|value| value.is_null()).count();
                Ok(SqlValue::Boolean(match nulls {
                    0 => truth(&apply_operator(operator, &values)?)? != Some(true),
                    nulls => nulls == 1,
                }))
            }
            Self::Quantified { operator, operand, elements, is_all } => {
                let operand = operand.evaluate(inputs)?;
                let mut result = Some(*is_all);
                for element in elements {
                    let values = [operand.clone(), element.evaluate(inputs)?];
                    match truth(&apply_operator(operator, &values)?)? {
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
            Self::Extreme { arguments, is_greatest } => {
                let wanted = if *is_greatest { Ordering::Greater } else { Ordering::Less };
                let mut extreme = SqlValue::Null;
                for argument in arguments {
                    let value = argument.evaluate(inputs)?;
                    let is_better = !value.is_null()
                        && (extreme.is_null() || compare_values(&value, &extreme)? == wanted);
                    if is_better {
                        extreme = value;
                    }
                }
                Ok(extreme)
            }
            Self::NullIf { operator, operands } => {
                let mut values = evaluate_all(operands, inputs)?;
                if truth(&apply_operator(operator, &values)?)? == Some(true) || values.is_empty() {
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

fn compile_cast(
    operand: Box<RowExpression>,
    source: SqlType,
    target: SqlType,
    method: CastStep,
) -> Option<RowExpression> {
    let is_among =
        |group: &&[TypeOid]| group.contains(&source.oid()) && group.contains(&target.oid());
    if !CAST_GROUPS.iter().any(is_among) {
        return None;
    }
    let (target, context) = match method {
        CastStep::Type(_) => (target.without_modifier(), CastContext::Explicit),
        CastStep::Modifier { is_explicit: true } => (target, CastContext::Explicit),
        CastStep::Modifier { is_explicit: false } => (target, CastContext::Implicit),
    };
    Some(RowExpression::Cast { operand, source, target, context })
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
        ExecError::Function { sqlstate, message } => str::from_utf8(&sqlstate)
            .ok()
            .and_then(|sqlstate| ValueError::of_sql_state(sqlstate, message)),
        _ => None,
    };
    known.unwrap_or_else(|| ValueError::internal(message))
}
