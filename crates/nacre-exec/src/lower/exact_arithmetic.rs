//! Arithmetic on numerics of any scale, vector by vector.
//!
//! Each operand is read as it lies in its vector, decimals of one scale as whole numbers, and the
//! result is written as bytes: no SQL value is made. Digits are PostgreSQL's, since
//! [`ExactNumeric`] computes them; numbers that fit 128 bits take no memory there.
//!
//! ```text
//! decimal(7,2) 25.00, constant 2      Divide     12.5000000000000000
//! ```
//!
//! # Invariants
//! 1. Errors become values that stand for them, as those of expressions that are evaluated row by
//!    row; of two operands that stand for errors the left one's is the result's.
//! 2. An operand that stands for an error wins over a null, which PostgreSQL sees later.

use nacre_types::{ExactNumeric, ValueError};

use super::error::LoweringResult;
use super::exact_nodes::{each_active_row, push_bytes, shown_decimal};
use super::row_nodes::CallLooks;
use crate::error::ExecResult;
use crate::expression::{
    ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::value::{IntBounds, ValueClass, decode_exact, encode_exact, encode_failure};
use crate::vector::{ColumnVector, DictionaryReader};

/// An operand before it is known which argument of the call it is.
#[derive(Clone, Debug)]
pub(super) enum NumericSource {
    Constant(ExactNumeric),
    /// Of that scale; `shown` has the digits that each shows, if these are not all.
    Decimal {
        value: ExpressionId,
        scale: u16,
        shown: Option<ExpressionId>,
    },
    Exact(ExpressionId),
}

/// An operand, by arguments of the call.
#[derive(Debug)]
enum NumericOperand {
    Constant(ExactNumeric),
    Decimal { value: usize, scale: u16, shown: Option<usize> },
    Exact(usize),
}

/// Adds the sum, difference, product, quotient or remainder of two numerics.
pub(super) fn arithmetic_node(
    graph: &mut ExpressionGraph,
    op: ArithmeticOp,
    sources: [NumericSource; 2],
) -> LoweringResult<ExpressionId> {
    let mut arguments = Vec::new();
    let operands = sources.map(|source| source.operand(&mut arguments));
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        compute_rows(op, &operands, call, out)
    };
    let name = match op {
        ArithmeticOp::Add => "sum of numerics",
        ArithmeticOp::Subtract => "difference of numerics",
        ArithmeticOp::Multiply => "product of numerics",
        ArithmeticOp::Divide => "quotient of numerics",
        ArithmeticOp::Remainder => "remainder of numerics",
    };
    let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
    let function = ForeignFunction::new(name, kernel, class, bounds, true);
    Ok(graph.add(ExpressionNode::Foreign { function, arguments })?)
}

impl NumericSource {
    fn operand(self, arguments: &mut Vec<ExpressionId>) -> NumericOperand {
        let mut argument = |id| {
            arguments.push(id);
            arguments.len() - 1
        };
        match self {
            Self::Constant(value) => NumericOperand::Constant(value),
            Self::Decimal { value, scale, shown } => {
                let value = argument(value);
                NumericOperand::Decimal { value, scale, shown: shown.map(argument) }
            }
            Self::Exact(value) => NumericOperand::Exact(argument(value)),
        }
    }
}

impl NumericOperand {
    /// Returns the value of a row; `None` is null.
    ///
    /// # Errors
    /// `Ok(Err(_))` is what a value stands for.
    fn value(
        &self,
        call: &ForeignCall<'_>,
        readers: &[Option<DictionaryReader<'_>>],
        row: usize,
    ) -> ExecResult<Result<Option<ExactNumeric>, ValueError>> {
        Ok(match self {
            Self::Constant(value) => Ok(Some(value.clone())),
            Self::Decimal { value, .. } | Self::Exact(value)
                if call.arguments[*value].is_null(row) =>
            {
                Ok(None)
            }
            Self::Decimal { value, scale, shown } => {
                let (unscaled, scale) = shown_decimal(call, (*value, *shown), row, *scale)?;
                ExactNumeric::from_scaled(unscaled, scale).map(Some)
            }
            Self::Exact(value) => {
                let reader = readers[*value].as_ref();
                call.arguments[*value].with_bytes(row, reader, decode_exact).map(Some)
            }
        })
    }
}

fn compute_rows(
    op: ArithmeticOp,
    [left, right]: &[NumericOperand; 2],
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let readers: Vec<_> = call.arguments.iter().map(|one| one.dictionary_reader()).collect();
    let (mut bytes, mut looks) = (Vec::new(), CallLooks::default());
    each_active_row(call, out, |row, values| {
        looks.look(call, row, values)?;
        let left = left.value(call, &readers, row)?;
        let result = match left {
            Ok(left) => right.value(call, &readers, row)?.and_then(|right| {
                let operands = left.zip(right);
                operands.map(|(left, right)| compute(op, &left, &right)).transpose()
            }),
            Err(error) => Err(error),
        };
        bytes.clear();
        match result {
            Ok(None) => return Ok(false),
            Ok(Some(value)) => encode_exact(&value, &mut bytes),
            Err(error) => encode_failure(&error, &mut bytes),
        }
        push_bytes(values, &bytes)
    })
}

fn compute(
    op: ArithmeticOp,
    left: &ExactNumeric,
    right: &ExactNumeric,
) -> Result<ExactNumeric, ValueError> {
    match op {
        ArithmeticOp::Add => left.add(right),
        ArithmeticOp::Subtract => left.subtract(right),
        ArithmeticOp::Multiply => left.multiply(right),
        ArithmeticOp::Divide => left.divide(right),
        ArithmeticOp::Remainder => left.remainder(right),
    }
}
