//! EXISTS, IN and the like as one value of all rows of a query, where these cannot be looked at one
//! after the other.
//!
//! ```text
//! exists (q)       case when bool_or(true) then true else false end of q
//! x in (q)         case when bool_or(x = y) then true when bool_or(x = y is null) then null
//!                  else false end of q
//! ```
//!
//! # Invariants
//! 1. An error of any row is one of the test. PostgreSQL stops at the row that decides, which
//!    depends on the order of rows in its plan.

use nacre_functions::catalog::functions_named;
use nacre_syntax::SourceRange;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::called_queries::require_values_of_rows;
use super::subquery_joins::{SubqueryJoins, constant, fallible_query};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    AggregateColumn, BoundAggregate, BoundSubquery, CaseArm, ComputedColumn, RelationalOperator,
    ScalarExpression, ScalarKind, SubqueryForm, TruthValue,
};
use crate::error::BindError;

impl Binder<'_> {
    /// Computes a test of all rows of a query, where an expression asks for it.
    ///
    /// # Errors
    /// 0A000 for a volatile query, which PostgreSQL runs up to the row that decides.
    pub(super) fn test_all_rows(
        &mut self,
        subquery: BoundSubquery,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let BoundSubquery { form, root } = subquery;
        let boolean = |kind| ScalarExpression::new(kind, SqlType::BOOLEAN, range);
        let test = match form {
            SubqueryForm::Any(test) => Some(test),
            SubqueryForm::Exists | SubqueryForm::Scalar(_) => None,
        };
        test.iter().try_for_each(|test| require_values_of_rows(test, range))?;
        let is_volatile = |one: &ScalarExpression| one.is_volatile_call();
        if root.any_expression(&is_volatile) || test.iter().any(ScalarExpression::is_volatile) {
            return Err(fallible_query(range));
        }
        let truth = SqlValue::Boolean(true);
        let mut tests = vec![test.clone().unwrap_or_else(|| constant(truth.clone(), range))];
        tests.extend(test.map(|test| {
            let (operand, value) = (Box::new(test), TruthValue::Unknown);
            boolean(ScalarKind::IsTruth { operand, value })
        }));
        let (mut aggregates, mut arms) = (Vec::new(), Vec::new());
        for (test, result) in tests.into_iter().zip([truth, SqlValue::Null]) {
            let aggregate = self.any_is_true(test, range)?;
            let condition = boolean(ScalarKind::Column(aggregate.column));
            arms.push(CaseArm { condition, result: constant(result, range) });
            aggregates.push(aggregate);
        }
        let (input, keys) = (Box::new(root), Vec::new());
        let tested = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: true };
        let otherwise = Some(Box::new(constant(SqlValue::Boolean(false), range)));
        let value = boolean(ScalarKind::Case { arms, otherwise });
        let column = self.add_query_column("value", SqlType::BOOLEAN, range)?;
        let root = with_computed(tested, vec![ComputedColumn { column, value }]);
        self.join_scalar(root, column, is_guarded, joins, range)
    }

    /// Returns the aggregate that is true if a condition is true for a row.
    fn any_is_true(
        &mut self,
        condition: ScalarExpression,
        range: SourceRange,
    ) -> Result<AggregateColumn, BindError> {
        let function = functions_named("bool_or").find(|one| one.arguments == [TypeOid::BOOL]);
        let call = BoundAggregate {
            function: function.ok_or_else(|| fallible_query(range))?,
            arguments: vec![condition],
            is_distinct: false,
            order_by: Vec::new(),
            filter: None,
            result: SqlType::BOOLEAN,
        };
        let column = self.add_query_column(call.function.name, SqlType::BOOLEAN, range)?;
        Ok(AggregateColumn { column, call })
    }
}
