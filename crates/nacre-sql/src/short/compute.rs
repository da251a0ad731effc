//! Arithmetic on the numbers of a row.
//!
//! Types are those of the planner: whole numbers compute in the wider of two widths (literals have
//! 64 bits), where a decimal takes part exactly, where a double does in doubles. Where the
//! planner's arithmetic would wrap around, fail or lose digits there is no result here, and the
//! statement goes the general way.

use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use nacre_column::{ColumnBuffer, ColumnType, Physical};
use nacre_store::ValueRef;

use super::operand::{Inputs, Operand, is_whole};
use super::text::LiteralKind;

/// Numbers with more digits than this are left to the general way: all that decimals hold, less one
/// for a carry.
const EXACT_MAX: i128 = 10_i128.pow(37);

/// What kind of number an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Of that many bits.
    Whole(u8),
    Decimal,
    Double,
}

/// An expression over the columns that a statement reads.
#[derive(Debug)]
pub(super) struct Compute {
    node: Node,
    class: Class,
}

#[derive(Debug)]
enum Node {
    /// The place of a column, and the digits behind the point of its values.
    Column(usize, u8),
    Number(Operand),
    /// A parameter, and the digits behind the point of its type.
    Parameter(usize, u8),
    Negated(Box<Compute>),
    Binary(BinaryOperator, Box<Compute>, Box<Compute>),
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Null,
    Whole(i64),
    /// Digits without the point, and how many of them are behind it.
    Exact(i128, u8),
    Double(f64),
}

impl Compute {
    /// Reads an expression; `column` tells the place and type of the column that a part of it
    /// names, `types` are those of the parameters.
    pub(super) fn of(
        expr: &Expr,
        types: &[Option<ColumnType>],
        column: &mut dyn FnMut(&Expr) -> Option<(usize, ColumnType)>,
    ) -> Option<Self> {
        if let Some(operand) = Operand::of(expr) {
            if let Operand::Parameter(index) = operand {
                let (class, scale) = class_of(types.get(index).copied().flatten()?)?;
                return Some(Self { node: Node::Parameter(index, scale), class });
            }
            let class = match operand.kind()? {
                LiteralKind::Integer => Class::Whole(64),
                LiteralKind::Decimal => Class::Decimal,
                LiteralKind::Text => return None,
            };
            return Some(Self { node: Node::Number(operand), class });
        }
        match expr {
            Expr::Nested(inner) => Self::of(inner, types, column),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                let inner = Self::of(expr, types, column)?;
                let class = inner.class;
                Some(Self { node: Node::Negated(Box::new(inner)), class })
            }
            Expr::BinaryOp { left, op, right } => {
                Self::binary(op, Self::of(left, types, column)?, Self::of(right, types, column)?)
            }
            _ => {
                let (place, column_type) = column(expr)?;
                let (class, scale) = class_of(column_type)?;
                Some(Self { node: Node::Column(place, scale), class })
            }
        }
    }

    fn binary(op: &BinaryOperator, left: Self, right: Self) -> Option<Self> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        let class = match (left.class, right.class) {
            (Class::Whole(a), Class::Whole(b)) => Class::Whole(a.max(b)),
            (Class::Double, _) | (_, Class::Double) => Class::Double,
            _ => Class::Decimal,
        };
        let is_known = match (class, op) {
            (Class::Whole(_), Plus | Minus | Multiply | Divide | Modulo) => true,
            (Class::Double, Plus | Minus | Multiply) => {
                left.has_exact_double() && right.has_exact_double()
            }
            (Class::Decimal, Plus | Minus) => true,
            // The product of two decimals has more digits behind the point than either.
            (Class::Decimal, Multiply) => {
                left.class != Class::Decimal || right.class != Class::Decimal
            }
            _ => false,
        };
        let node = Node::Binary(op.clone(), Box::new(left), Box::new(right));
        is_known.then_some(Self { node, class })
    }

    /// Whether it is the same double here and in the planner's arithmetic.
    fn has_exact_double(&self) -> bool {
        self.class != Class::Decimal || matches!(self.node, Node::Number(_))
    }

    /// Whether the planner gives the result this type.
    pub(super) fn has_type(&self, data_type: &DataType) -> bool {
        match self.class {
            Class::Whole(16) => *data_type == DataType::Int16,
            Class::Whole(32) => *data_type == DataType::Int32,
            Class::Whole(_) => *data_type == DataType::Int64,
            Class::Decimal => matches!(data_type, DataType::Decimal128(_, scale) if *scale >= 0),
            Class::Double => *data_type == DataType::Float64,
        }
    }

    /// Whether results can be assigned to a column of that type without being rounded.
    pub(super) fn fits(&self, target: ColumnType) -> bool {
        match self.class {
            Class::Whole(_) => {
                is_whole(target)
                    || matches!(target, ColumnType::Decimal { .. } | ColumnType::Double)
            }
            Class::Decimal => matches!(target, ColumnType::Decimal { .. }),
            Class::Double => target == ColumnType::Double,
        }
    }

    /// Computes the result for a row; `None` if only the general way can tell.
    pub(super) fn of_row(&self, row: &[ValueRef<'_>], inputs: Inputs<'_>) -> Option<Number> {
        match &self.node {
            Node::Column(place, scale) => column_number(*row.get(*place)?, self.class, *scale),
            Node::Parameter(index, scale) => {
                column_number(inputs.parameters.get(*index)?.as_ref(), self.class, *scale)
            }
            Node::Number(operand) => {
                let (unscaled, scale) = operand.unscaled(inputs)?;
                match self.class {
                    Class::Whole(_) => i64::try_from(unscaled).ok().map(Number::Whole),
                    _ => Some(Number::Exact(unscaled, scale)),
                }
            }
            Node::Negated(inner) => match inner.of_row(row, inputs)? {
                Number::Null => Some(Number::Null),
                Number::Whole(value) => self.checked(value.checked_neg(), inputs),
                Number::Exact(value, scale) => Some(Number::Exact(-value, scale)),
                Number::Double(value) => Some(Number::Double(-value)),
            },
            Node::Binary(op, left, right) => {
                let (a, b) = (left.of_row(row, inputs)?, right.of_row(row, inputs)?);
                if a == Number::Null || b == Number::Null {
                    return Some(Number::Null);
                }
                match self.class {
                    Class::Whole(_) => self.whole(op, a, b, inputs),
                    Class::Decimal => exact(op, a, b),
                    Class::Double => {
                        let a = left.double(a, inputs)?;
                        let b = right.double(b, inputs)?;
                        Some(Number::Double(match op {
                            BinaryOperator::Plus => a + b,
                            BinaryOperator::Minus => a - b,
                            BinaryOperator::Multiply => a * b,
                            _ => return None,
                        }))
                    }
                }
            }
        }
    }

    /// Returns a result of this expression as a double.
    fn double(&self, number: Number, inputs: Inputs<'_>) -> Option<f64> {
        match (&self.node, number) {
            (_, Number::Double(value)) => Some(value),
            (_, Number::Whole(value)) => Some(value as f64),
            (Node::Number(operand), _) => operand.double(inputs),
            _ => None,
        }
    }

    fn whole(
        &self,
        op: &BinaryOperator,
        a: Number,
        b: Number,
        inputs: Inputs<'_>,
    ) -> Option<Number> {
        let (Number::Whole(a), Number::Whole(b)) = (a, b) else { return None };
        let value = match op {
            BinaryOperator::Plus => a.checked_add(b),
            BinaryOperator::Minus => a.checked_sub(b),
            BinaryOperator::Multiply => a.checked_mul(b),
            BinaryOperator::Divide => a.checked_div(b),
            BinaryOperator::Modulo => a.checked_rem(b),
            _ => None,
        };
        self.checked(value, inputs)
    }

    /// Returns a whole number if it is one of the width it is computed in.
    fn checked(&self, value: Option<i64>, inputs: Inputs<'_>) -> Option<Number> {
        let value = value?;
        let is_within = match self.class {
            Class::Whole(16) => i16::try_from(value).is_ok(),
            Class::Whole(32) => i32::try_from(value).is_ok(),
            _ => i32::try_from(value).is_ok() || !self.is_of_integers(inputs),
        };
        is_within.then_some(Number::Whole(value))
    }

    /// Whether no part of it is wider than `integer` in PostgreSQL, where literals are as wide as
    /// they have to be.
    fn is_of_integers(&self, inputs: Inputs<'_>) -> bool {
        match &self.node {
            Node::Column(..) | Node::Parameter(..) => {
                matches!(self.class, Class::Whole(16 | 32))
            }
            Node::Number(operand) => {
                let value = operand.unscaled(inputs);
                value.is_some_and(|(value, _)| i32::try_from(value).is_ok())
            }
            Node::Negated(inner) => inner.is_of_integers(inputs),
            Node::Binary(_, left, right) => {
                left.is_of_integers(inputs) && right.is_of_integers(inputs)
            }
        }
    }
}

impl Number {
    /// Appends the number to a column that [`Compute::fits`] or has the type of the result.
    pub(super) fn push_to(self, buffer: &mut ColumnBuffer) -> Option<()> {
        let target = buffer.column_type();
        match (self, target) {
            (Self::Null, _) => buffer.push_null(),
            (Self::Whole(value), ColumnType::Decimal { .. }) => {
                return Self::Exact(value.into(), 0).push_to(buffer);
            }
            (Self::Whole(value), ColumnType::Double) => buffer.push_float64(value as f64),
            (Self::Whole(value), _) => {
                let (min, max) = target.int_range()?;
                if !(min..=max).contains(&i128::from(value)) {
                    return None;
                }
                buffer.push_int(value);
            }
            (Self::Exact(value, found), ColumnType::Decimal { scale, .. }) => {
                let value = rescaled(value, found, scale)?;
                let (min, max) = target.int_range()?;
                match target.physical() {
                    _ if !(min..=max).contains(&value) => return None,
                    Physical::Int64 => buffer.push_int(i64::try_from(value).ok()?),
                    _ => buffer.push_int128(value),
                }
            }
            (Self::Double(value), ColumnType::Double) if !value.is_nan() => {
                buffer.push_float64(value);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Returns the class of a column's numbers, and how many of their digits are behind the point.
fn class_of(column_type: ColumnType) -> Option<(Class, u8)> {
    Some(match column_type {
        ColumnType::SmallInt => (Class::Whole(16), 0),
        ColumnType::Integer => (Class::Whole(32), 0),
        ColumnType::BigInt => (Class::Whole(64), 0),
        ColumnType::Decimal { scale, .. } => (Class::Decimal, scale),
        ColumnType::Double => (Class::Double, 0),
        _ => return None,
    })
}

fn column_number(value: ValueRef<'_>, class: Class, scale: u8) -> Option<Number> {
    Some(match (value, class) {
        (ValueRef::Null, _) => Number::Null,
        (ValueRef::Int(value), Class::Whole(_)) => Number::Whole(value),
        (ValueRef::Int(value), Class::Decimal) => Number::Exact(value.into(), scale),
        (ValueRef::Int128(value), Class::Decimal) => Number::Exact(value, scale),
        (ValueRef::Float64(value), Class::Double) => Number::Double(value),
        _ => return None,
    })
}

fn exact(op: &BinaryOperator, a: Number, b: Number) -> Option<Number> {
    let parts = |number| match number {
        Number::Whole(value) => Some((i128::from(value), 0)),
        Number::Exact(value, scale) => Some((value, scale)),
        _ => None,
    };
    let ((a, a_scale), (b, b_scale)) = (parts(a)?, parts(b)?);
    let (value, scale) = match op {
        BinaryOperator::Multiply => (a.checked_mul(b)?, a_scale + b_scale),
        _ => {
            let scale = a_scale.max(b_scale);
            let (a, b) = (rescaled(a, a_scale, scale)?, rescaled(b, b_scale, scale)?);
            let value = match op {
                BinaryOperator::Plus => a.checked_add(b)?,
                BinaryOperator::Minus => a.checked_sub(b)?,
                _ => return None,
            };
            (value, scale)
        }
    };
    (value.abs() < EXACT_MAX).then_some(Number::Exact(value, scale))
}

/// Gives a number more digits behind the point.
fn rescaled(value: i128, from: u8, to: u8) -> Option<i128> {
    let factor = 10_i128.checked_pow(u32::from(to.checked_sub(from)?))?;
    value.checked_mul(factor)
}

/// Returns the column type for results of an Arrow type that [`Compute::has_type`].
pub(super) fn result_type(data_type: &DataType) -> Option<ColumnType> {
    Some(match data_type {
        DataType::Int16 => ColumnType::SmallInt,
        DataType::Int32 => ColumnType::Integer,
        DataType::Int64 => ColumnType::BigInt,
        DataType::Float64 => ColumnType::Double,
        DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            ColumnType::Decimal { precision: *precision, scale }
        }
        _ => return None,
    })
}
