//! Puts the values of parameters in their places.

use nacre_types::SqlValue;

use super::{ConstantValue, QueryPlan, RelationalOperator, ScalarExpression, ScalarKind};

impl QueryPlan {
    /// Returns the plan of an execution: parameters are constants of their types.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn with_values(mut self, values: &[SqlValue]) -> Self {
        if !self.parameters.is_empty() {
            fill_operator(&mut self.root, values);
            self.parameters.clear();
        }
        self
    }
}

fn fill_operator(operator: &mut RelationalOperator, values: &[SqlValue]) {
    operator.expressions_mut().into_iter().for_each(|one| fill_expression(one, values));
    operator.inputs_mut().into_iter().for_each(|input| fill_operator(input, values));
}

fn fill_expression(expression: &mut ScalarExpression, values: &[SqlValue]) {
    if let ScalarKind::Parameter(number) = expression.kind {
        let value = values[number as usize - 1].clone();
        expression.kind = ScalarKind::Constant(ConstantValue(value));
    }
    expression.children_mut().into_iter().for_each(|one| fill_expression(one, values));
}
