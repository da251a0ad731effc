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
use super::super::fold::{first_operand, fold_constant, is_null_call};
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

    /// Returns the operand that was lowered last, which depends on rows.
    pub(super) fn open_operand(&self) -> Option<*const ScalarExpression> {
        self.chained.as_ref().map(|known| known.expression)
    }

    /// Lowers the operands of a long chain, up to that of the expression itself.
    ///
    /// # Errors
    /// Those of constants that fail.
    pub(super) fn lower_chain(&mut self, expression: &ScalarExpression) -> LoweringResult<()> {
        let mut operands = Vec::new();
        let mut outer = expression;
        while let Some(operand) = first_operand(outer) {
            if self.open_operand() == Some(std::ptr::from_ref(operand)) {
                break;
            }
            operands.push(operand);
            outer = operand;
        }
        if operands.len() < CHAIN_MIN {
            return Ok(());
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
            if is_null_call(operand, self.open_operand())? {
                self.chained = None;
                continue;
            }
            self.may_fail = false;
            let lowered = self.lower_or_by_rows(operand);
            let expression = std::ptr::from_ref(operand);
            self.chained = Some(ChainedOperand { expression, lowered, may_fail: self.may_fail });
        }
        self.may_fail = may_fail;
        Ok(())
    }
}
