//! Chains: operators whose first operand is such an operator, hundreds of times.
//!
//! ```text
//! id * 1 + id * 2 + id * 3 + ..      ((id * 1 + id * 2) + id * 3) + ..
//! FULL JOIN USING of many tables     coalesce(coalesce(a.id, b.id), c.id) ..
//! ```
//!
//! The operands are lowered from the innermost one on, so that neither the stack nor the nesting
//! that is allowed is a bound of their number, and none is looked at again.

use nacre_plan::algebra::ScalarExpression;

use super::super::error::LoweringResult;
use super::super::fold::{first_operand, fold_constant};
use super::{ExpressionLowering, LoweredExpression};

/// Fewest operands of a chain.
const CHAIN_MIN: usize = 16;

/// A lowered operand, which the expression above it asks for next.
#[derive(Clone, Debug)]
pub(super) struct ChainedOperand {
    /// Which it is; never read.
    expression: *const ScalarExpression,
    lowered: LoweringResult<LoweredExpression>,
    may_fail: bool,
}

impl ExpressionLowering<'_> {
    /// Returns what an operand of a chain is, if it was lowered last.
    pub(super) fn lowered_before(
        &mut self,
        expression: &ScalarExpression,
    ) -> Option<LoweringResult<LoweredExpression>> {
        let known = self.chained.as_ref()?;
        if known.expression != std::ptr::from_ref(expression) {
            return None;
        }
        self.may_fail |= known.may_fail;
        Some(known.lowered.clone())
    }

    fn was_lowered(&self, operand: &ScalarExpression) -> bool {
        let last = self.chained.as_ref().map(|known| known.expression);
        last == Some(std::ptr::from_ref(operand))
    }

    /// Lowers the operands of a long chain, up to that of the expression itself.
    pub(super) fn lower_chain(&mut self, expression: &ScalarExpression) {
        let mut operands = Vec::new();
        let mut outer = expression;
        while let Some(operand) = first_operand(outer) {
            if self.was_lowered(operand) {
                break;
            }
            operands.push(operand);
            outer = operand;
        }
        if operands.len() < CHAIN_MIN {
            return;
        }
        // What constants decide is lowered where it is asked for.
        for (count, operand) in operands.iter().enumerate() {
            if matches!(fold_constant(operand), Ok(None)) {
                continue;
            }
            operands.truncate(count);
            break;
        }
        let may_fail = self.may_fail;
        for operand in operands.into_iter().rev() {
            self.may_fail = false;
            let lowered = self.lower_or_by_rows(operand);
            let expression = std::ptr::from_ref(operand);
            self.chained = Some(ChainedOperand { expression, lowered, may_fail: self.may_fail });
        }
        self.may_fail = may_fail;
    }
}
