//! What a condition can come to when columns are known to be null.
//!
//! ```text
//! b.x = 1 or b.y > a.z      with all columns of b null: null, so the condition refuses such rows
//! b.x is null or a.z = 1    true or false or null
//! ```

use nacre_functions::catalog::find_function;
use nacre_types::SqlValue;

use crate::algebra::{ColumnId, ScalarExpression, ScalarKind, TruthValue};

/// The values that an expression can have. An expression of another type than boolean counts as
/// true and false if it can have a value other than null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PossibleOutcomes {
    pub(super) can_be_true: bool,
    pub(super) can_be_false: bool,
    pub(super) can_be_null: bool,
}

impl PossibleOutcomes {
    const ANY: Self = Self { can_be_true: true, can_be_false: true, can_be_null: true };
    const NULL: Self = Self { can_be_true: false, can_be_false: false, can_be_null: true };

    fn of_truth(value: bool) -> Self {
        Self { can_be_true: value, can_be_false: !value, can_be_null: false }
    }

    fn negated(self) -> Self {
        Self { can_be_true: self.can_be_false, can_be_false: self.can_be_true, ..self }
    }

    fn and(self, other: Self) -> Self {
        let is_true_or_null = |one: Self| one.can_be_true || one.can_be_null;
        Self {
            can_be_true: self.can_be_true && other.can_be_true,
            can_be_false: self.can_be_false || other.can_be_false,
            can_be_null: (self.can_be_null && is_true_or_null(other))
                || (other.can_be_null && is_true_or_null(self)),
        }
    }

    fn is_only_null(self) -> bool {
        self == Self::NULL
    }
}

/// Returns what an expression can come to if the columns that `is_null` names are null.
pub(super) fn possible_outcomes(
    expression: &ScalarExpression,
    is_null: &dyn Fn(ColumnId) -> bool,
) -> PossibleOutcomes {
    let of = |one: &ScalarExpression| possible_outcomes(one, is_null);
    let any_is_null = |all: &[ScalarExpression]| all.iter().any(|one| of(one).is_only_null());
    let null_if = |is_so: bool| {
        if is_so { PossibleOutcomes::NULL } else { PossibleOutcomes::ANY }
    };
    match &expression.kind {
        ScalarKind::Column(column) => null_if(is_null(*column)),
        ScalarKind::Constant(value) => match value.0 {
            SqlValue::Null => PossibleOutcomes::NULL,
            SqlValue::Boolean(value) => PossibleOutcomes::of_truth(value),
            _ => PossibleOutcomes { can_be_null: false, ..PossibleOutcomes::ANY },
        },
        ScalarKind::And(operands) => {
            operands.iter().fold(PossibleOutcomes::of_truth(true), |all, one| all.and(of(one)))
        }
        ScalarKind::Or(operands) => {
            let none = PossibleOutcomes::of_truth(true);
            operands.iter().fold(none, |all, one| all.and(of(one).negated())).negated()
        }
        ScalarKind::Not(operand) => of(operand).negated(),
        ScalarKind::IsNull(operand) => {
            let operand = of(operand);
            PossibleOutcomes {
                can_be_true: operand.can_be_null,
                can_be_false: operand.can_be_true || operand.can_be_false,
                can_be_null: false,
            }
        }
        ScalarKind::IsTruth { operand, value } => {
            let PossibleOutcomes { can_be_true, can_be_false, can_be_null } = of(operand);
            let (is_so, is_other) = match value {
                TruthValue::True => (can_be_true, can_be_false || can_be_null),
                TruthValue::False => (can_be_false, can_be_true || can_be_null),
                TruthValue::Unknown => (can_be_null, can_be_true || can_be_false),
            };
            PossibleOutcomes { can_be_true: is_so, can_be_false: is_other, can_be_null: false }
        }
        ScalarKind::Operator { operator, operands } => {
            null_if(is_strict(operator.function) && any_is_null(operands))
        }
        ScalarKind::Function { function, arguments } => {
            null_if(function.is_strict && any_is_null(arguments))
        }
        ScalarKind::Cast { operand, .. } => null_if(of(operand).is_only_null()),
        ScalarKind::Quantified { operator, operand, elements, .. } => {
            let is_compared = is_strict(operator.function) && !elements.is_empty();
            null_if(is_compared && of(operand).is_only_null())
        }
        ScalarKind::NullIf { operands, .. } => {
            null_if(operands.first().is_some_and(|first| of(first).is_only_null()))
        }
        ScalarKind::Coalesce(arguments) | ScalarKind::Extreme { arguments, .. } => {
            null_if(arguments.iter().all(|one| of(one).is_only_null()))
        }
        ScalarKind::Proven(inner) => of(inner),
        _ => PossibleOutcomes::ANY,
    }
}

/// Whether an expression has one of some columns, and is nothing but calls that are null for a null
/// argument: what PostgreSQL computes above a join that fills these columns up with nulls.
pub(super) fn is_strict_about(
    expression: &ScalarExpression,
    is_wanted: &dyn Fn(ColumnId) -> bool,
) -> bool {
    let is_other = |one: &ScalarExpression| match &one.kind {
        ScalarKind::Column(_) | ScalarKind::Constant(_) | ScalarKind::Cast { .. } => false,
        ScalarKind::Operator { operator, .. } => !is_strict(operator.function),
        ScalarKind::Function { function, .. } => !function.is_strict,
        _ => true,
    };
    let is_column = |one: &ScalarExpression| match one.kind {
        ScalarKind::Column(column) => is_wanted(column),
        _ => false,
    };
    expression.any(&is_column) && !expression.any(&is_other)
}

fn is_strict(function: u32) -> bool {
    find_function(function).is_some_and(|function| function.is_strict)
}
