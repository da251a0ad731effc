//! Expressions evaluated row by row, as SQL means them.

use nacre_column::compare_floats;

use super::TestInput;
use crate::error::ExecErrorKind;
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode, year_of};
use crate::value::{IntLimit, ScalarValue, ValueClass};

pub(super) type Evaluated = Result<ScalarValue, ExecErrorKind>;

/// Evaluates an expression for one row.
pub(super) fn evaluate(
    graph: &ExpressionGraph,
    id: ExpressionId,
    input: &TestInput,
    row: usize,
) -> Evaluated {
    use ExpressionNode as Node;
    let of = |id: &ExpressionId| evaluate(graph, *id, input, row);
    let null = ScalarValue::Null(graph.class(id));
    let is_null = |value: &ScalarValue| matches!(value, ScalarValue::Null(_));
    macro_rules! value {
        ($id:expr) => {{
            let value = of($id)?;
            if is_null(&value) {
                return Ok(null);
            }
            value
        }};
    }
    Ok(match graph.node(id) {
        Node::Column { index, .. } => input.columns[*index].scalar(row),
        Node::Constant(value) => value.clone(),
        Node::IntArithmetic { op, left, right, limit } => {
            // Both sides are evaluated before nulls are looked at.
            return int_arithmetic(*op, of(left)?, of(right)?, *limit);
        }
        Node::FloatArithmetic { op, left, right } => {
            return float_arithmetic(*op, of(left)?, of(right)?, null);
        }
        Node::Compare { op, left, right } => {
            let (left, right) = (of(left)?, of(right)?);
            if is_null(&left) || is_null(&right) {
                return Ok(null);
            }
            ScalarValue::Bool(op.holds(order(&left, &right)))
        }
        Node::And { left, right } => return logic(of(left)?, || of(right), false),
        Node::Or { left, right } => return logic(of(left)?, || of(right), true),
        Node::Not { input } => match value!(input) {
            ScalarValue::Bool(value) => ScalarValue::Bool(!value),
            other => panic!("NOT of {other:?}"),
        },
        Node::StringTest { input, predicate } => match value!(input) {
            ScalarValue::Bytes(value) => ScalarValue::Bool((predicate.test())(&value)),
            other => panic!("a test of {other:?}"),
        },
        Node::IsNull { input } => ScalarValue::Bool(is_null(&of(input)?)),
        Node::Case { condition, then, otherwise } => match of(condition)? {
            ScalarValue::Bool(true) => of(then)?,
            _ => of(otherwise)?,
        },
        Node::CastInt { input, .. }
        | Node::Rescale { input, .. }
        | Node::IntToFloat { input, .. }
        | Node::CastFloat { input, .. }
        | Node::ExtractYear { input } => return convert(graph.node(id), value!(input)),
        Node::Foreign { arguments, .. } => match int(&value!(&arguments[0])) {
            13 => return Err(ExecErrorKind::Function),
            value => ScalarValue::Int(value * 2),
        },
    })
}

fn int_arithmetic(
    op: ArithmeticOp,
    left: ScalarValue,
    right: ScalarValue,
    limit: IntLimit,
) -> Evaluated {
    let (ScalarValue::Int(left), ScalarValue::Int(right)) = (left, right) else {
        return Ok(ScalarValue::Null(ValueClass::Int));
    };
    let exact = match op {
        ArithmeticOp::Add => left.checked_add(right),
        ArithmeticOp::Subtract => left.checked_sub(right),
        ArithmeticOp::Multiply => left.checked_mul(right),
        _ if right == 0 => return Err(ExecErrorKind::DivisionByZero),
        ArithmeticOp::Divide => left.checked_div(right),
        ArithmeticOp::Remainder => Some(left.wrapping_rem(right)),
    };
    within(exact, limit)
}

/// AND, or OR: what decides alone ends it before the right side is looked at.
fn logic(left: ScalarValue, right: impl FnOnce() -> Evaluated, decisive: bool) -> Evaluated {
    let decisive = ScalarValue::Bool(decisive);
    if left == decisive {
        return Ok(decisive);
    }
    let right = right()?;
    let is_null = |value: &ScalarValue| matches!(value, ScalarValue::Null(_));
    let has_null = is_null(&left) || is_null(&right);
    Ok(if right != decisive && has_null { ScalarValue::Null(ValueClass::Bool) } else { right })
}

/// A conversion of a value that is not null.
fn convert(node: &ExpressionNode, value: ScalarValue) -> Evaluated {
    use ExpressionNode as Node;
    Ok(match node {
        Node::CastInt { limit, .. } => within(Some(int(&value)), *limit)?,
        Node::Rescale { digits, limit, .. } => {
            let value = int(&value);
            let power = 10_i128.pow(u32::from(digits.unsigned_abs()));
            if *digits >= 0 {
                within(value.checked_mul(power), *limit)?
            } else {
                let sign = value.signum();
                let rounded = (value.abs() + power / 2) / power * sign;
                within(Some(rounded), *limit)?
            }
        }
        Node::IntToFloat { scale, target, .. } => {
            let value = int(&value);
            let double = value as f64 / 10_f64.powi(i32::from(*scale));
            match target {
                ValueClass::Float32 if *scale == 0 => ScalarValue::Float32(value as f32),
                ValueClass::Float32 => ScalarValue::Float32(double as f32),
                _ => ScalarValue::Float64(double),
            }
        }
        Node::CastFloat { .. } => match value {
            ScalarValue::Float32(value) => ScalarValue::Float64(value.into()),
            ScalarValue::Float64(value) => {
                let narrow = value as f32;
                if narrow.is_infinite() && value.is_finite() {
                    return Err(ExecErrorKind::NumericOutOfRange);
                }
                ScalarValue::Float32(narrow)
            }
            other => panic!("a cast of {other:?}"),
        },
        Node::ExtractYear { .. } => ScalarValue::Int(year_of(int(&value) as i32).into()),
        other => panic!("{other:?} is no conversion"),
    })
}

fn int(value: &ScalarValue) -> i128 {
    match value {
        ScalarValue::Int(value) => *value,
        other => panic!("{other:?} is no whole number"),
    }
}

fn within(value: Option<i128>, limit: IntLimit) -> Evaluated {
    let bounds = limit.bounds;
    let value = value.filter(|value| (bounds.min()..=bounds.max()).contains(value));
    value.map(ScalarValue::Int).ok_or(ExecErrorKind::NumericOutOfRange)
}

fn order(left: &ScalarValue, right: &ScalarValue) -> std::cmp::Ordering {
    match (left, right) {
        (ScalarValue::Bool(left), ScalarValue::Bool(right)) => left.cmp(right),
        (ScalarValue::Int(left), ScalarValue::Int(right)) => left.cmp(right),
        (ScalarValue::Float32(left), ScalarValue::Float32(right)) => {
            compare_floats((*left).into(), (*right).into())
        }
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => compare_floats(*left, *right),
        (ScalarValue::Bytes(left), ScalarValue::Bytes(right)) => left.cmp(right),
        _ => panic!("{left:?} and {right:?} have no order"),
    }
}

fn float_arithmetic(
    op: ArithmeticOp,
    left: ScalarValue,
    right: ScalarValue,
    null: ScalarValue,
) -> Evaluated {
    macro_rules! compute {
        ($left:expr, $right:expr, $make:path) => {{
            let (left, right) = ($left, $right);
            if op == ArithmeticOp::Divide && right == 0.0 && !left.is_nan() {
                return Err(ExecErrorKind::DivisionByZero);
            }
            let result = match op {
                ArithmeticOp::Add => left + right,
                ArithmeticOp::Subtract => left - right,
                ArithmeticOp::Multiply => left * right,
                _ => left / right,
            };
            if result.is_infinite() && !left.is_infinite() && !right.is_infinite() {
                return Err(ExecErrorKind::NumericOutOfRange);
            }
            Ok($make(result))
        }};
    }
    match (left, right) {
        (ScalarValue::Float32(left), ScalarValue::Float32(right)) => {
            compute!(left, right, ScalarValue::Float32)
        }
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => {
            compute!(left, right, ScalarValue::Float64)
        }
        _ => Ok(null),
    }
}
