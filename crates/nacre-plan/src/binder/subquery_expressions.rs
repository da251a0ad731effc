//! Queries within expressions: EXISTS, scalar ones, IN, ANY and ALL.
//!
//! A query sees the columns of those around it. IN is `= ANY`, and `op ALL` is no row for which the
//! comparison is not true: `NOT (NOT op) ANY`.

use nacre_syntax::{
    ExpressionKind, ExpressionNode, QuantifiedOperator, QuantifiedTest, QueryExpression,
    SourceRange, ValueQuantifier,
};
use nacre_types::SqlType;

use super::Binder;
use super::expressions::ExpressionPlace;
use super::recursion::RecursionBlock;
use super::scope::{OuterScope, Scope};
use super::subqueries::BoundQuery;
use crate::algebra::{
    AggregateColumn, BoundSubquery, ColumnId, OutputColumn, ScalarExpression, ScalarKind,
    SubqueryForm,
};
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn bind_exists(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let (root, _) = self.bind_inner_query(query, place)?;
        self.note_unread_names(&root);
        Ok(subquery(SubqueryForm::Exists, root, SqlType::BOOLEAN, range))
    }

    pub(super) fn bind_scalar_subquery(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let (root, outputs) = self.bind_inner_query(query, place)?;
        let [output] = &outputs[..] else {
            let message = "subquery must return only one column";
            return Err(BindError::new("42601", message, range));
        };
        Ok(subquery(SubqueryForm::Scalar(output.column), root, output.sql_type, range))
    }

    /// Binds a query of one row once for each of its outputs, which are values.
    ///
    /// # Errors
    /// Those of the query; 0A000 if it is volatile.
    pub(super) fn bind_query_by_outputs(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<ScalarExpression>, BindError> {
        let first = self.bind_inner_query(query, place)?;
        self.bind_other_outputs(query, place, first)
    }

    /// As [`Self::bind_query_by_outputs`], of a query that was bound for the first of them.
    pub(super) fn bind_other_outputs(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
        first: BoundQuery,
    ) -> Result<Vec<ScalarExpression>, BindError> {
        let (count, mut first) = (first.1.len(), Some(first));
        let is_volatile =
            |(root, _): &BoundQuery| root.any_expression(&ScalarExpression::is_volatile);
        if first.as_ref().is_some_and(is_volatile) {
            let what = "rows of volatile queries as values";
            return Err(BindError::not_supported(what, query.range));
        }
        let mut values = Vec::with_capacity(count);
        for index in 0..count {
            let (root, outputs) = match first.take() {
                Some(first) => first,
                None => self.bind_inner_query(query, place)?,
            };
            let OutputColumn { column, sql_type, .. } = outputs[index];
            values.push(subquery(SubqueryForm::Scalar(column), root, sql_type, query.range));
        }
        Ok(values)
    }

    /// Binds `operand IN (query)`; the operand may be a row.
    pub(super) fn bind_in_query(
        &mut self,
        operand: &ExpressionNode,
        query: &QueryExpression,
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let any = self.bind_any(operand, "=", false, query, place, range)?;
        Ok(if is_negated { negated(any) } else { any })
    }

    /// Binds `operand operator ANY (query)`, or ALL.
    pub(super) fn bind_quantified_query(
        &mut self,
        test: &QuantifiedTest,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let ExpressionKind::Subquery(query) = &test.source.kind else {
            return self.bind_quantified_array(test, place, range);
        };
        let QuantifiedOperator::Operator(operator) = &test.operator else {
            return Err(BindError::not_supported("LIKE ANY", range));
        };
        let symbol = self.symbol(operator)?.to_owned();
        let is_all = test.quantifier == ValueQuantifier::All;
        let any = self.bind_any(&test.operand, &symbol, is_all, query, place, range)?;
        Ok(if is_all { negated(any) } else { any })
    }

    /// Binds whether a comparison is true, or not true, for a row.
    fn bind_any(
        &mut self,
        operand: &ExpressionNode,
        symbol: &str,
        is_opposite: bool,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let operands = match &operand.kind {
            ExpressionKind::Row { items, .. } => {
                items.iter().map(|item| self.bind(item, place)).collect::<Result<_, _>>()?
            }
            _ => vec![self.bind(operand, place)?],
        };
        let (root, outputs) = self.bind_inner_query(query, place)?;
        if outputs.len() != operands.len() {
            let word = if outputs.len() > operands.len() { "many" } else { "few" };
            return Err(BindError::new("42601", format!("subquery has too {word} columns"), range));
        }
        if operands.len() > 1 && symbol != "=" {
            return Err(BindError::not_supported("other comparisons of rows than =", range));
        }
        let mut tests = Vec::with_capacity(operands.len());
        for (operand, OutputColumn { column, sql_type, .. }) in operands.into_iter().zip(&outputs) {
            let own = ScalarExpression::new(ScalarKind::Column(*column), *sql_type, range);
            let test = self.apply_operator(symbol, vec![operand, own], range)?;
            if test.sql_type != SqlType::BOOLEAN {
                let message = format!(
                    "row comparison operator must yield type boolean, not type {}",
                    test.sql_type
                );
                return Err(BindError::new("42804", message, range));
            }
            tests.push(test);
        }
        let mut test = match (tests.len(), tests.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                tests.extend(last);
                ScalarExpression::new(ScalarKind::And(tests), SqlType::BOOLEAN, range)
            }
        };
        if is_opposite {
            test = negated(test);
        }
        Ok(subquery(SubqueryForm::Any(test), root, SqlType::BOOLEAN, range))
    }

    /// Whether a column is one of a query around the present one: the same for all rows.
    pub(super) fn is_outer_column(&self, column: ColumnId) -> bool {
        let is_aggregate = |one: &AggregateColumn| one.column == column;
        self.outer_scopes.iter().any(|outer| outer.scope.has_column(column))
            || self.outer_aggregates.iter().flatten().any(is_aggregate)
    }

    /// Has the query that is bound next see the columns of `scope`.
    pub(super) fn push_outer_scope(
        &mut self,
        scope: &Scope,
        clause: &'static str,
        allows_aggregates: bool,
    ) {
        let (scope, select_count) = (scope.clone(), self.outer_aggregates.len());
        self.outer_scopes.push(OuterScope { scope, clause, allows_aggregates, select_count });
    }

    /// Binds a query that sees the columns of `place`.
    pub(super) fn bind_inner_query(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
    ) -> Result<BoundQuery, BindError> {
        self.push_outer_scope(place.scope, place.clause, place.allows_aggregates);
        let out_of_reach = std::mem::take(&mut self.out_of_reach);
        let block = Some(RecursionBlock::Subquery);
        let bound = self.blocking(block, |binder| binder.bind_query(query));
        self.out_of_reach = out_of_reach;
        self.outer_scopes.pop();
        bound
    }
}

pub(super) fn subquery(
    form: SubqueryForm,
    root: crate::algebra::RelationalOperator,
    sql_type: SqlType,
    range: SourceRange,
) -> ScalarExpression {
    let kind = ScalarKind::Subquery(Box::new(BoundSubquery { form, root }));
    ScalarExpression::new(kind, sql_type, range)
}

fn negated(expression: ScalarExpression) -> ScalarExpression {
    let range = expression.range;
    ScalarExpression::new(ScalarKind::Not(Box::new(expression)), SqlType::BOOLEAN, range)
}
