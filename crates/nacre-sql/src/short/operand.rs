//! Literals and parameters, brought into the types of columns.
//!
//! A conversion that is not plain gives `None`: the general way knows what to do with it.

use std::sync::OnceLock;

use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value as SqlValue};
use nacre_column::{ColumnBuffer, ColumnType, Constant};
use nacre_ingest::parse::parse_decimal;
use nacre_store::{Value, ValueRef};

use super::text::{Literal, LiteralKind};
use crate::dml::{push_digits, push_syntax};
use crate::settings::Settings;

const MICROS_A_DAY: i64 = 86_400_000_000;

/// A value that a statement is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A literal that was taken out of the text, by its place there.
    Taken { index: usize, kind: LiteralKind, is_negative: bool },
    /// A number that stayed in the text.
    Written { literal: Literal<'static>, is_negative: bool },
    /// A parameter; the first one is 0.
    Parameter(usize),
}

/// What a statement is run with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) literals: &'a [Literal<'a>],
    /// In the form of their types.
    pub(crate) parameters: &'a [Value],
    pub(crate) now: &'a Now<'a>,
}

/// The time at which the transaction of a statement began, which is looked at when it is asked for
/// first.
#[derive(Debug)]
pub(crate) struct Now<'a> {
    settings: &'a Settings,
    micros: OnceLock<i64>,
}

impl<'a> Now<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Self { settings, micros: OnceLock::new() }
    }

    /// Appends the time to the buffer of a column of timestamps, or the date to one of dates.
    pub(super) fn push_to(&self, buffer: &mut ColumnBuffer) {
        let micros = *self.micros.get_or_init(|| self.settings.transaction_began());
        match buffer.column_type() {
            ColumnType::Date => buffer.push_int(micros.div_euclid(MICROS_A_DAY)),
            _ => buffer.push_int(micros),
        }
    }
}

/// Whether an expression is the time or date of the statement, as the planner has it, for a column
/// of that type.
pub(super) fn is_now(expr: &Expr, target: ColumnType) -> bool {
    let Expr::Function(function) = expr else { return false };
    let names: &[&str] = match target {
        ColumnType::Timestamp | ColumnType::TimestampTz => &["now", "current_timestamp"],
        ColumnType::Date => &["current_date"],
        _ => return false,
    };
    let is_bare = |name: &str| {
        // `now()` has parentheses, the others have none.
        let written = function.to_string().to_ascii_lowercase();
        written == name || written.strip_suffix("()") == Some(name)
    };
    names.iter().any(|name| is_bare(name))
}

impl Operand {
    /// Reads an expression that is one.
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Nested(inner) => Self::of(inner),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr)? {
                Self::Taken { index, kind, is_negative: false } if kind != LiteralKind::Text => {
                    Some(Self::Taken { index, kind, is_negative: true })
                }
                Self::Written { literal, is_negative: false } => {
                    Some(Self::Written { literal, is_negative: true })
                }
                _ => None,
            },
            Expr::Value(value) => match &value.value {
                SqlValue::Placeholder(name) => Self::named(name),
                SqlValue::Number(digits, false) => {
                    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
                    let kind = match digits.split_once('.') {
                        None if is_plain(digits) && digits.len() <= 18 => LiteralKind::Integer,
                        Some((whole, rest))
                            if is_plain(whole) && is_plain(rest) && digits.len() <= 18 =>
                        {
                            LiteralKind::Decimal
                        }
                        _ => return None,
                    };
                    let literal = Literal { kind, text: digits.clone().into() };
                    Some(Self::Written { literal, is_negative: false })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix('$')?;
        let kind = match name.as_bytes().first()? {
            b'i' => LiteralKind::Integer,
            b'd' => LiteralKind::Decimal,
            b's' => LiteralKind::Text,
            _ => return Some(Self::Parameter(name.parse::<usize>().ok()?.checked_sub(1)?)),
        };
        Some(Self::Taken { index: name[1..].parse().ok()?, kind, is_negative: false })
    }

    /// Returns what kind of literal it is; `None` for a parameter.
    pub(super) fn kind(&self) -> Option<LiteralKind> {
        match self {
            Self::Taken { kind, .. } => Some(*kind),
            Self::Written { literal, .. } => Some(literal.kind),
            Self::Parameter(_) => None,
        }
    }

    fn literal<'a>(&'a self, inputs: Inputs<'a>) -> Option<(LiteralKind, &'a str, bool)> {
        match self {
            Self::Taken { index, kind, is_negative } => {
                Some((*kind, inputs.literals.get(*index)?.text.as_ref(), *is_negative))
            }
            Self::Written { literal, is_negative } => {
                Some((literal.kind, literal.text.as_ref(), *is_negative))
            }
            Self::Parameter(_) => None,
        }
    }

    /// Returns the value to compare a column of that type with; it is one of the type.
    pub(super) fn comparable(&self, target: ColumnType, inputs: Inputs<'_>) -> Option<Value> {
        if let Self::Parameter(index) = self {
            let value = inputs.parameters.get(*index)?;
            return match value {
                Value::Null => None,
                Value::Int(_) => in_range(value.clone(), target),
                Value::Bytes(text) => is_plain_text(text, target).then(|| value.clone()),
                Value::Int128(_) => Some(value.clone()),
                Value::Float32(_) | Value::Float64(_) => None,
            };
        }
        let (kind, text, is_negative) = self.literal(inputs)?;
        match (kind, target) {
            (
                LiteralKind::Integer,
                ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt,
            ) => {
                let value: i64 = text.parse().ok()?;
                in_range(Value::Int(if is_negative { -value } else { value }), target)
            }
            (
                LiteralKind::Integer | LiteralKind::Decimal,
                ColumnType::Decimal { precision, scale },
            ) => {
                let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
                if fraction.len() > usize::from(scale) {
                    return None;
                }
                let value = parse_decimal(text.as_bytes(), precision, scale).ok()?;
                let value = if is_negative { -value } else { value };
                match ColumnBuffer::new(target).column_type().physical() {
                    nacre_column::Physical::Int128 => Some(Value::Int128(value)),
                    _ => Some(Value::Int(i64::try_from(value).ok()?)),
                }
            }
            (LiteralKind::Text, ColumnType::Varchar { .. } | ColumnType::Char { .. }) => {
                let bytes = text.as_bytes();
                is_plain_text(bytes, target).then(|| Value::Bytes(bytes.to_vec()))
            }
            (LiteralKind::Text, ColumnType::Date) if is_plain_date(text) => {
                let mut buffer = ColumnBuffer::new(target);
                push_syntax(text, &mut buffer).ok()?;
                Some(ValueRef::of(&buffer, 0).to_value())
            }
            _ => None,
        }
    }

    /// Appends the value to the buffer of a column that it is assigned to.
    pub(super) fn push_to(&self, inputs: Inputs<'_>, buffer: &mut ColumnBuffer) -> Option<()> {
        let target = buffer.column_type();
        if let Self::Parameter(index) = self {
            let value = inputs.parameters.get(*index)?;
            match value {
                Value::Int(_) => drop(in_range(value.clone(), target)?),
                Value::Bytes(text) if !is_plain_text(text, target) => return None,
                _ => {}
            }
            value.as_ref().push_to(buffer);
            return Some(());
        }
        let (kind, text, is_negative) = self.literal(inputs)?;
        match kind {
            LiteralKind::Text => push_syntax(text, buffer).ok(),
            _ if !is_number(target) => None,
            _ if is_negative => push_digits(&format!("-{text}"), buffer).ok(),
            _ => push_digits(text, buffer).ok(),
        }
    }

    /// Returns a number as digits without a point, and how many of them are behind it; `None` if
    /// it is none, or has more than 18 digits.
    pub(super) fn unscaled(&self, inputs: Inputs<'_>) -> Option<(i128, u8)> {
        let (kind, text, is_negative) = self.literal(inputs)?;
        if kind == LiteralKind::Text {
            return None;
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        let value: i128 = if digits.is_empty() { return None } else { digits.parse().ok()? };
        Some((if is_negative { -value } else { value }, fraction.len() as u8))
    }

    /// Returns a number as the double nearest to it.
    pub(super) fn double(&self, inputs: Inputs<'_>) -> Option<f64> {
        let (kind, text, is_negative) = self.literal(inputs)?;
        if kind == LiteralKind::Text {
            return None;
        }
        let value: f64 = text.parse().ok()?;
        Some(if is_negative { -value } else { value })
    }

    /// Returns a count of rows.
    pub(super) fn count(&self, inputs: Inputs<'_>) -> Option<usize> {
        match self {
            Self::Parameter(index) => match inputs.parameters.get(*index)? {
                Value::Int(count) => usize::try_from(*count).ok(),
                _ => None,
            },
            _ => match self.literal(inputs)? {
                (LiteralKind::Integer, text, false) => text.parse().ok(),
                _ => None,
            },
        }
    }
}

/// Returns a value as the constant of a restriction.
pub(super) fn constant(value: &Value) -> Option<Constant> {
    Some(match value {
        Value::Int(value) => Constant::Int((*value).into()),
        Value::Int128(value) => Constant::Int(*value),
        Value::Bytes(value) => Constant::Bytes(value.clone()),
        Value::Null | Value::Float32(_) | Value::Float64(_) => return None,
    })
}

pub(super) fn is_number(target: ColumnType) -> bool {
    is_whole(target)
        || matches!(target, ColumnType::Decimal { .. } | ColumnType::Real | ColumnType::Double)
}

pub(super) fn is_whole(target: ColumnType) -> bool {
    matches!(target, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt)
}

fn in_range(value: Value, target: ColumnType) -> Option<Value> {
    match (&value, target.int_range()) {
        (Value::Int(number), Some((min, max))) if (min..=max).contains(&i128::from(*number)) => {
            Some(value)
        }
        _ => None,
    }
}

/// Whether a text compares as it is with a column: short enough and without blanks to cut off.
fn is_plain_text(text: &[u8], target: ColumnType) -> bool {
    let chars_max = match target {
        ColumnType::Bytea => return true,
        ColumnType::Varchar { max_chars: None } => u32::MAX,
        ColumnType::Varchar { max_chars: Some(max) } => max,
        ColumnType::Char { chars } => chars,
        _ => return false,
    };
    let has_zero = text.contains(&0);
    let has_blanks = matches!(target, ColumnType::Char { .. }) && text.last() == Some(&b' ');
    // No text has more characters than bytes.
    !has_zero && !has_blanks && text.len() <= chars_max as usize
}

/// Whether a date is written as `2026-11-22`, which all readers understand alike.
fn is_plain_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
