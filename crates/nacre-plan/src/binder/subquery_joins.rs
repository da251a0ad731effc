//! Joins queries within expressions to the rows that the expressions are evaluated for.
//!
//! ```text
//! where exists (q)              semi join          where not exists (q)      anti join
//! where x in (q)                semi join, x = y   where x not in (q)        anti joins, see below
//! (q) elsewhere                 left join if it has one row at most, else single join
//! exists (q), x in (q) elsewhere                   mark join
//! ```
//!
//! `x in (q)` is null, not false, if x or a row of q is null. Where that matters q is joined once
//! more for rows whose test is null; where both are never null it does not.
//!
//! A scalar query without columns of others that may fail, or have several rows, is no join but a
//! common query, whose value or error an expression asks for. One with such columns that may have
//! several rows is joined with their number where PostgreSQL may evaluate it for fewer rows:
//!
//! ```text
//! case when a > 0 then (q) end     left join (min(x), count(*) of q), x if the count is 1 at most
//! ```
//!
//! # Queries that may fail
//! PostgreSQL makes a join as those of FROM of EXISTS and NOT EXISTS about rows outside, and of IN
//! about none, that are whole conditions of WHERE: so is it here, above all other conditions. Else
//! it runs the query for each row that asks, until a row of it decides. A mark join does the same
//! if all rows ask, and what may fail are conditions on pairs ([`super::pair_queries`]).
//!
//! # Invariants
//! 1. No other query that may fail is joined, since joins may run it for rows that PostgreSQL would
//!    not: it is called ([`super::called_queries`]), or refused.
//! 2. Conditions that may fail are decided for no pair behind the one that decides a row, and of a
//!    query without rows for none at all.
//! 3. A second row of a scalar query is an error for rows that reach it alone.

use std::collections::HashSet;

use nacre_functions::catalog::{FunctionEntry, functions_named};
use nacre_functions::kernels::subscript_form;
use nacre_syntax::SourceRange;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::pair_queries::{PairQuery, ask_for_parts};
use super::windows::find_window;
use super::{Binder, COLUMNS_MAX};
use crate::algebra::conjuncts::{
    conjunction, has_columns, split_conjunction, with_computed, with_filter,
};
use crate::algebra::{
    AggregateColumn, BoundAggregate, BoundSubquery, CaseArm, ColumnId, ColumnSource, CommonForm,
    CommonQuery, ComputedColumn, ConstantValue, JoinVariant, OnceReference, QueryColumn,
    RelationalOperator, ScalarExpression, ScalarKind, SubqueryForm, TruthValue,
};
use crate::error::BindError;
use crate::properties::{
    constant_count, fails_at_once, has_exactly_one_row, has_fixed_count, has_one_row_at_most,
    has_open_order, never_fails, own_query_never_fails, query_never_fails,
};

/// OID of the pseudo-type `anynonarray`.
const ANY_NON_ARRAY: u32 = 2776;

/// A semi or anti join with a query that may fail.
struct LateReducer {
    variant: JoinVariant,
    query: PairQuery,
}

/// Rows that expressions are evaluated for, with what their queries have been joined to.
pub(super) struct SubqueryJoins {
    root: RelationalOperator,
    /// Queries joined, and the column or expression that stands for each.
    known: Vec<(BoundSubquery, ScalarKind)>,
}

impl Binder<'_> {
    /// Joins the queries within `expressions` to the rows of `root`, and has the expressions name
    /// the columns of these joins. IN and the like stay as they are if a window function is an
    /// operand: they are joined once it is computed.
    ///
    /// # Errors
    /// 0A000 for a query that may fail.
    pub(super) fn join_subqueries(
        &mut self,
        root: RelationalOperator,
        expressions: Vec<&mut ScalarExpression>,
    ) -> Result<RelationalOperator, BindError> {
        let mut joins = SubqueryJoins::new(root);
        for expression in expressions {
            self.fold(expression);
            ask_for_parts(expression);
            self.join_within(expression, false, &mut joins)?;
        }
        Ok(joins.root)
    }

    /// Keeps the rows for which a condition is true that may have queries.
    ///
    /// # Errors
    /// 0A000 for a query that may fail.
    pub(super) fn filter_rows(
        &mut self,
        root: RelationalOperator,
        mut condition: ScalarExpression,
    ) -> Result<RelationalOperator, BindError> {
        self.fold_condition(&mut condition);
        if !has_subquery(&condition) {
            return Ok(RelationalOperator::Filter { input: Box::new(root), condition });
        }
        ask_for_parts(&mut condition);
        let mut conjuncts = Vec::new();
        split_conjunction(condition, &mut conjuncts);
        let (others, plain): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(has_subquery);
        let mut joins = SubqueryJoins::new(with_filter(root, plain));
        let (first, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_gate);
        let others = if first.len() > 1 && first.iter().any(asks_fallible_query) {
            let gate = self.gate_of(first)?;
            joins.join(JoinVariant::Semi, gate, None);
            others
        } else {
            first.into_iter().chain(others).collect()
        };
        let (mut rest, mut reducers) = (Vec::new(), Vec::new());
        for conjunct in others {
            match LateReducer::of(&conjunct) {
                Some(reducer) => reducers.push(reducer),
                None => rest.extend(self.reduce_rows(conjunct, &mut joins)?),
            }
        }
        for (index, conjunct) in rest.iter_mut().enumerate() {
            self.join_within(conjunct, index > 0, &mut joins)?;
        }
        let is_of_rows = |one: &ScalarExpression| has_columns(one) || one.is_volatile();
        let (rest, gates): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_of_rows);
        if !gates.is_empty() {
            // PostgreSQL decides them before the first row, also if there is none.
            let gate = with_filter(RelationalOperator::SingleRow, gates);
            joins.join(JoinVariant::Semi, gate, None);
        }
        let mut joins = SubqueryJoins::new(with_filter(joins.root, rest));
        for LateReducer { variant, mut query } in reducers {
            if variant == JoinVariant::Anti {
                self.guard_keys(&mut query)?;
            }
            let condition = query.condition();
            joins.join(variant, query.root, condition);
        }
        Ok(joins.root)
    }

    /// Returns a query of one row if all of the conditions are true, else of none. They have no
    /// columns of rows; one that may fail is computed if those in front of it are true.
    fn gate_of(
        &mut self,
        conditions: Vec<ScalarExpression>,
    ) -> Result<RelationalOperator, BindError> {
        let mut joins = SubqueryJoins::new(RelationalOperator::SingleRow);
        let (mut first, mut gates) = (Vec::new(), Vec::new());
        for mut condition in conditions {
            let may_fail = asks_fallible_query(&condition);
            self.join_within(&mut condition, true, &mut joins)?;
            if may_fail {
                gates.push(behind(condition, conjunction(first.clone())));
            } else {
                first.push(condition);
            }
        }
        Ok(with_filter(joins.root, first.into_iter().chain(gates).collect()))
    }

    /// Joins a query that is a whole condition, or its opposite; returns other conditions.
    fn reduce_rows(
        &mut self,
        conjunct: ScalarExpression,
        joins: &mut SubqueryJoins,
    ) -> Result<Option<ScalarExpression>, BindError> {
        let (is_negated, subquery) = match &conjunct.kind {
            ScalarKind::Subquery(subquery) => (false, subquery),
            ScalarKind::Not(inner) => match &inner.kind {
                ScalarKind::Subquery(subquery) => (true, subquery),
                _ => return Ok(Some(conjunct)),
            },
            _ => return Ok(Some(conjunct)),
        };
        let mut subquery = (**subquery).clone();
        let variant = if is_negated { JoinVariant::Anti } else { JoinVariant::Semi };
        match &mut subquery.form {
            SubqueryForm::Scalar(_) => return Ok(Some(conjunct)),
            SubqueryForm::Exists => {
                let root = without_outputs(subquery.root);
                // A join as those of FROM, which read what is computed once, too.
                if !own_query_never_fails(&root) {
                    return Ok(Some(conjunct));
                }
                joins.join(variant, root, None);
            }
            SubqueryForm::Any(test) => {
                let root = unordered(subquery.root);
                let is_possible = match is_negated {
                    true => query_never_fails(&root) && !self.has_nulls_of_open_order(&root, test),
                    false => own_query_never_fails(&root),
                };
                if !is_possible || !never_fails(test) && !has_subquery(test) {
                    return Ok(Some(conjunct));
                }
                self.join_within(test, false, joins)?;
                if !never_fails(test) {
                    return Ok(Some(conjunct));
                }
                let query = PairQuery { root, conditions: Vec::new(), test: Some(test.clone()) };
                if is_negated {
                    for (root, test) in self.unknown_tests(&query)? {
                        joins.join(JoinVariant::Anti, root, test);
                    }
                }
                joins.join(variant, query.root, query.test);
            }
        }
        Ok(None)
    }

    /// Joins the queries of an expression. `is_guarded` if it is not evaluated for all rows.
    fn join_within(
        &mut self,
        expression: &mut ScalarExpression,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
    ) -> Result<(), BindError> {
        if !has_subquery(expression) {
            return Ok(());
        }
        let guards = expression.is_guard();
        for (index, child) in expression.children_mut().enumerate() {
            self.join_within(child, is_guarded || (guards && index > 0), joins)?;
        }
        let ScalarKind::Subquery(subquery) = &expression.kind else { return Ok(()) };
        if expression.children().any(|test| find_window(test).is_some()) {
            return Ok(());
        }
        let known = joins.known.iter().find(|(known, _)| *known == **subquery);
        expression.kind = match known {
            Some((_, kind)) => kind.clone(),
            None => {
                let subquery = (**subquery).clone();
                let kind = self.join_one(&subquery, is_guarded, expression.range, joins)?;
                joins.known.push((subquery, kind.clone()));
                kind
            }
        };
        Ok(())
    }

    /// Joins a query, and returns what it comes to.
    fn join_one(
        &mut self,
        subquery: &BoundSubquery,
        is_guarded: bool,
        range: SourceRange,
        joins: &mut SubqueryJoins,
    ) -> Result<ScalarKind, BindError> {
        match &subquery.form {
            SubqueryForm::Exists => {
                let root = without_outputs(subquery.root.clone());
                if !query_never_fails(&root) {
                    return self.exists_where_asked(root, is_guarded, joins, range);
                }
                self.join_test(SubqueryForm::Exists, root, joins, range)
            }
            SubqueryForm::Scalar(column) => {
                let root = unordered(subquery.root.clone());
                self.join_scalar(root, *column, is_guarded, joins, range)
            }
            SubqueryForm::Any(test) => {
                let (root, test) = (unordered(subquery.root.clone()), test.clone());
                let form = SubqueryForm::Any(test.clone());
                if self.has_nulls_of_open_order(&root, &test) {
                    if root.free_columns().is_empty() {
                        return self.test_shared_rows(root, test, is_guarded, joins, range);
                    }
                    let subquery = BoundSubquery { form, root };
                    return self.test_all_rows(subquery, is_guarded, joins, range);
                }
                if !never_fails(&test) || !query_never_fails(&root) {
                    let subquery = BoundSubquery { form, root };
                    return self.any_where_asked(subquery, is_guarded, joins, range);
                }
                self.join_test(form, root, joins, range)
            }
        }
    }

    /// Joins whether a query has a row, or one for which a test is true; returns that.
    ///
    /// # Errors
    /// 0A000 for a query that may fail otherwise than in conditions on pairs.
    pub(super) fn join_test(
        &mut self,
        form: SubqueryForm,
        root: RelationalOperator,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let (root, test) = match form {
            SubqueryForm::Exists | SubqueryForm::Scalar(_) => (without_outputs(root), None),
            SubqueryForm::Any(test) => (root, Some(test)),
        };
        let may_fail = !own_query_never_fails(&root) || !test.iter().all(never_fails);
        let mut query = PairQuery { root, conditions: Vec::new(), test };
        if may_fail {
            let opened = PairQuery::of(query.root, query.test);
            query = opened.ok_or_else(|| fallible_query(range))?;
            self.compute_keys(&mut query, joins)?;
        }
        let unknown = self.unknown_tests(&query)?;
        let condition = query.condition();
        let is_true = self.mark(query.root, condition, joins);
        let mut arms = vec![arm(is_true, SqlValue::Boolean(true), range)];
        for (root, mut test) in unknown {
            if may_fail {
                // All pairs of the other rows have been looked at.
                let others = negated(column_of(is_true, range));
                test = conjunction([others].into_iter().chain(test).collect());
            }
            let is_unknown = self.mark(root, test, joins);
            arms.push(arm(is_unknown, SqlValue::Null, range));
        }
        if arms.len() == 1 {
            return Ok(ScalarKind::Column(is_true));
        }
        let otherwise = Some(Box::new(constant(SqlValue::Boolean(false), range)));
        Ok(ScalarKind::Case { arms, otherwise })
    }

    /// Joins a query that is a value, and returns that.
    pub(super) fn join_scalar(
        &mut self,
        root: RelationalOperator,
        column: ColumnId,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let is_free = root.free_columns().is_empty();
        let (never_fails, has_one_row) = (query_never_fails(&root), has_one_row_at_most(&root));
        // Constants that fail do so where the value is read: PostgreSQL plans no others.
        let is_plain = never_fails && has_one_row && !root.any_expression(&fails_at_once);
        if is_free && !is_plain {
            return Ok(self.compute_once(root, column));
        }
        if !never_fails {
            let form = SubqueryForm::Scalar(column);
            return self.call_query(BoundSubquery { form, root }, range);
        }
        let variant = if has_exactly_one_row(&root) && is_free {
            JoinVariant::Inner
        } else if has_one_row {
            JoinVariant::Left
        } else if self.query_depth > 1 || is_guarded || self.has_limit {
            // PostgreSQL evaluates it for fewer rows: a guard, the query around this one or LIMIT
            // leave some out.
            return self.join_counted(root, column, joins, range);
        } else {
            JoinVariant::Single
        };
        self.columns.make_nullable(column);
        joins.join(variant, root, None);
        Ok(ScalarKind::Column(column))
    }

    /// Returns the number of rows that an expression with queries says: it is computed once.
    ///
    /// # Errors
    /// As [`Self::join_subqueries`].
    pub(super) fn limit_of_query(
        &mut self,
        mut value: ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        let (sql_type, range) = (value.sql_type, value.range);
        let root = self.join_subqueries(RelationalOperator::SingleRow, vec![&mut value])?;
        let column = self.add_query_column("limit", sql_type, range)?;
        let root = with_computed(root, vec![ComputedColumn { column, value }]);
        Ok(ScalarExpression::new(self.compute_once(root, column), sql_type, range))
    }

    /// Has a query without columns of others be computed once, so that it fails, or is found to
    /// have several rows, where an expression asks for its value.
    pub(super) fn compute_once(
        &mut self,
        root: RelationalOperator,
        column: ColumnId,
    ) -> ScalarKind {
        let index = self.common_queries.len();
        let sql_type = self.columns.get(column).map_or(SqlType::TEXT, |column| column.sql_type);
        self.common_queries.push(CommonQuery {
            name: "subquery".to_owned(),
            root,
            outputs: vec![column],
            types: vec![sql_type],
            form: CommonForm::Value,
        });
        ScalarKind::Once(OnceReference { index })
    }

    /// Joins a value and the number of rows that it is of.
    fn join_counted(
        &mut self,
        root: RelationalOperator,
        column: ColumnId,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let sql_type = self.columns.get(column).map_or(SqlType::TEXT, |column| column.sql_type);
        let unknown = || BindError::not_supported("subqueries of this type with rows", range);
        let count = functions_named("count").find(|entry| entry.arguments.is_empty());
        let count = count.ok_or_else(unknown)?;
        // Of types without an order an array has the value.
        let least = least_function(sql_type);
        let (of_rows, result) = match (least, sql_type.without_modifier().array()) {
            (Some(least), _) => (least, sql_type),
            (None, Some(array)) => (gathering_function().ok_or_else(unknown)?, array),
            (None, None) => return Err(unknown()),
        };
        let own = |kind, sql_type| ScalarExpression::new(kind, sql_type, range);
        let argument = own(ScalarKind::Column(column), sql_type);
        let mut aggregates = Vec::with_capacity(2);
        let calls = [(of_rows, vec![argument], result), (count, Vec::new(), SqlType::BIGINT)];
        for (function, arguments, result) in calls {
            let column = self.add_query_column(function.name, result, range)?;
            let (order_by, filter) = (Vec::new(), None);
            let call = BoundAggregate {
                function,
                arguments,
                is_distinct: false,
                order_by,
                filter,
                result,
            };
            aggregates.push(AggregateColumn { column, call });
        }
        let [value, count] = [0, 1].map(|place: usize| {
            let AggregateColumn { column, call } = &aggregates[place];
            Box::new(own(ScalarKind::Column(*column), call.result))
        });
        let (input, keys) = (Box::new(root), Vec::new());
        let counted = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: true };
        joins.join(JoinVariant::Left, counted, None);
        let only = ScalarKind::OnlyValue { value, count };
        if least.is_some() {
            return Ok(only);
        }
        let first = ScalarKind::Constant(ConstantValue(SqlValue::Integer(1)));
        let arguments = vec![own(only, result), own(first, SqlType::INTEGER)];
        let function = subscript_form().ok_or_else(unknown)?;
        Ok(ScalarKind::Function { function, arguments })
    }

    /// Joins the queries of the condition of an outer join to the side that they are about: each
    /// adds columns to rows of it.
    ///
    /// # Errors
    /// 0A000 for a query about both sides, and as [`Self::join_subqueries`].
    pub(super) fn join_queries_of_on(
        &mut self,
        sides: [RelationalOperator; 2],
        condition: &mut ScalarExpression,
    ) -> Result<[RelationalOperator; 2], BindError> {
        let made = sides.each_ref().map(|side| {
            let mut made = HashSet::new();
            side.collect_made_columns(&mut made);
            made
        });
        let mut joins = sides.map(SubqueryJoins::new);
        self.join_to_sides(condition, &made, &mut joins)?;
        Ok(joins.map(|side| side.root))
    }

    fn join_to_sides(
        &mut self,
        expression: &mut ScalarExpression,
        made: &[HashSet<ColumnId>; 2],
        joins: &mut [SubqueryJoins; 2],
    ) -> Result<(), BindError> {
        if !matches!(expression.kind, ScalarKind::Subquery(_)) {
            let mut children = expression.children_mut();
            return children.try_for_each(|child| self.join_to_sides(child, made, joins));
        }
        let mut used = HashSet::new();
        expression.collect_columns(&mut used);
        let side = match made.each_ref().map(|own| !used.is_disjoint(own)) {
            [true, true] => return self.ask_for_pairs(expression),
            [true, false] => &mut joins[0],
            [false, _] => &mut joins[1],
        };
        self.join_within(expression, true, side)
    }

    /// Has a query about both sides of a join be run where its condition asks for it.
    fn ask_for_pairs(&mut self, expression: &mut ScalarExpression) -> Result<(), BindError> {
        let ScalarKind::Subquery(subquery) = &expression.kind else { return Ok(()) };
        let (subquery, range) = ((**subquery).clone(), expression.range);
        let is_possible = match &subquery.form {
            SubqueryForm::Scalar(_) => true,
            SubqueryForm::Exists => own_query_never_fails(&subquery.root),
            SubqueryForm::Any(test) => never_fails(test) && own_query_never_fails(&subquery.root),
        };
        expression.kind = if is_possible {
            self.call_query(subquery, range)?
        } else {
            let mut none = SubqueryJoins::new(RelationalOperator::SingleRow);
            self.test_pairs(subquery, true, &mut none, range)?
        };
        Ok(())
    }

    /// Joins whether a query has a row for which a condition is true; returns the column.
    fn mark(
        &mut self,
        root: RelationalOperator,
        condition: Option<ScalarExpression>,
        joins: &mut SubqueryJoins,
    ) -> ColumnId {
        let column = self.columns.add(QueryColumn {
            name: "exists".into(),
            sql_type: SqlType::BOOLEAN,
            is_nullable: false,
            source: ColumnSource::Computed,
        });
        joins.join(JoinVariant::Mark(column), root, condition);
        column
    }

    /// Returns copies of a query with conditions, one of which is true for a row if the test is
    /// null for a row; none if it never is.
    fn unknown_tests(
        &mut self,
        query: &PairQuery,
    ) -> Result<Vec<(RelationalOperator, Option<ScalarExpression>)>, BindError> {
        let Some(test) = &query.test else { return Ok(Vec::new()) };
        let tests = self.null_tests(test);
        let mut copies = Vec::with_capacity(tests.len());
        for test in tests {
            let range = test.range;
            // Copies of queries that are made of copies.
            if self.columns.len() > COLUMNS_MAX {
                return Err(self.too_many_columns(range));
            }
            let (copy, renaming) = query.root.with_new_columns(&mut self.columns);
            let mut conditions = query.conditions.clone();
            conditions.push(test);
            conditions.iter_mut().for_each(|condition| condition.rename(&renaming));
            copies.push((copy, conjunction(conditions)));
        }
        Ok(copies)
    }

    /// Returns conditions, one of which is true where a test is null.
    fn null_tests(&self, test: &ScalarExpression) -> Vec<ScalarExpression> {
        match &test.kind {
            // `x = y` is null if x or y is; each alone is a condition on one side of the join.
            ScalarKind::Operator { operands, .. } => {
                let nullable = operands.iter().filter(|operand| self.may_be_null(operand));
                nullable.map(|operand| is_null(operand.clone())).collect()
            }
            _ if self.may_be_null(test) => vec![is_unknown(test.clone())],
            _ => Vec::new(),
        }
    }

    /// Whether a test may be null for rows that LIMIT or row numbers choose: a copy of their query,
    /// in which nulls are looked for, may have others.
    fn has_nulls_of_open_order(&self, root: &RelationalOperator, test: &ScalarExpression) -> bool {
        if !has_open_order(root) {
            return false;
        }
        let query = PairQuery { root: root.clone(), conditions: Vec::new(), test: None };
        let has_others = !has_fixed_count(root);
        self.null_tests(test).iter().any(|one| has_others || !query.is_outer(one))
    }

    /// Whether an expression of comparisons may be null.
    fn may_be_null(&self, expression: &ScalarExpression) -> bool {
        match &expression.kind {
            ScalarKind::Column(column) => {
                self.columns.get(*column).is_none_or(|column| column.is_nullable)
            }
            ScalarKind::Constant(value) => matches!(value.0, SqlValue::Null),
            ScalarKind::Cast { .. }
            | ScalarKind::Operator { .. }
            | ScalarKind::And(_)
            | ScalarKind::Not(_) => expression.children().any(|child| self.may_be_null(child)),
            _ => true,
        }
    }
}

impl LateReducer {
    /// Returns the join that PostgreSQL makes of a condition with a query that may fail.
    fn of(conjunct: &ScalarExpression) -> Option<Self> {
        let (variant, subquery) = match &conjunct.kind {
            ScalarKind::Subquery(subquery) => (JoinVariant::Semi, subquery),
            ScalarKind::Not(inner) => match &inner.kind {
                ScalarKind::Subquery(subquery) => (JoinVariant::Anti, subquery),
                _ => return None,
            },
            _ => return None,
        };
        let is_about_outer = !subquery.root.free_columns().is_empty();
        match &subquery.form {
            SubqueryForm::Exists if is_about_outer => {
                let root = without_outputs(subquery.root.clone());
                if own_query_never_fails(&root) {
                    return None;
                }
                let query = PairQuery::of(root, None).filter(PairQuery::is_join)?;
                Some(Self { variant, query })
            }
            SubqueryForm::Any(test) if !is_about_outer && variant == JoinVariant::Semi => {
                let root = unordered(subquery.root.clone());
                if never_fails(test) || has_subquery(test) || !own_query_never_fails(&root) {
                    return None;
                }
                let query = PairQuery { root, conditions: Vec::new(), test: Some(test.clone()) };
                Some(Self { variant, query })
            }
            _ => None,
        }
    }
}

impl SubqueryJoins {
    pub(super) fn new(root: RelationalOperator) -> Self {
        Self { root, known: Vec::new() }
    }

    pub(super) fn into_root(self) -> RelationalOperator {
        self.root
    }

    /// Computes columns of all rows.
    pub(super) fn compute(&mut self, columns: Vec<ComputedColumn>) {
        let input = std::mem::replace(&mut self.root, RelationalOperator::SingleRow);
        let (input, keys) = (Box::new(with_computed(input, columns)), Vec::new());
        self.root = RelationalOperator::Sort { input, keys };
    }

    pub(super) fn join(
        &mut self,
        variant: JoinVariant,
        right: RelationalOperator,
        condition: Option<ScalarExpression>,
    ) {
        let left = std::mem::replace(&mut self.root, RelationalOperator::SingleRow);
        if left == RelationalOperator::SingleRow
            && variant == JoinVariant::Inner
            && condition.is_none()
        {
            self.root = right;
            return;
        }
        let (left, right) = (Box::new(left), Box::new(right));
        self.root = RelationalOperator::Join { variant, left, right, condition };
    }
}

/// Whether a join may find that a query in an expression has several rows.
pub(super) fn may_find_more(operator: &RelationalOperator) -> bool {
    matches!(operator, RelationalOperator::Join { variant: JoinVariant::Single, .. })
        || operator.inputs().any(may_find_more)
}

/// Whether a query is within an expression.
pub(super) fn has_subquery(expression: &ScalarExpression) -> bool {
    expression.any(&|one| matches!(one.kind, ScalarKind::Subquery(_)))
}

/// Whether a condition is the same for all rows.
fn is_gate(condition: &ScalarExpression) -> bool {
    fn collect_made(expression: &ScalarExpression, into: &mut HashSet<ColumnId>) {
        if let ScalarKind::Subquery(subquery) = &expression.kind {
            subquery.root.collect_made_columns(into);
        }
        expression.children().for_each(|child| collect_made(child, into));
    }
    let (mut used, mut made) = (HashSet::new(), HashSet::new());
    condition.collect_columns(&mut used);
    collect_made(condition, &mut made);
    used.is_subset(&made) && !condition.is_volatile()
}

/// Returns a condition that is computed where another one is true.
pub(super) fn behind(
    condition: ScalarExpression,
    first: Option<ScalarExpression>,
) -> ScalarExpression {
    let Some(first) = first else { return condition };
    let (sql_type, range) = (condition.sql_type, condition.range);
    let arms = vec![CaseArm { condition: first, result: condition }];
    ScalarExpression::new(ScalarKind::Case { arms, otherwise: None }, sql_type, range)
}

/// Whether a query within an expression may fail, or have several rows where one is its value.
fn asks_fallible_query(expression: &ScalarExpression) -> bool {
    expression.any(&|one| match &one.kind {
        ScalarKind::Subquery(subquery) => {
            let may_fail = match &subquery.form {
                SubqueryForm::Exists => false,
                SubqueryForm::Scalar(_) => !has_one_row_at_most(&subquery.root),
                SubqueryForm::Any(test) => !never_fails(test),
            };
            may_fail || !query_never_fails(&subquery.root)
        }
        _ => false,
    })
}

/// Returns the aggregate that makes an array of values that are none themselves.
fn gathering_function() -> Option<&'static FunctionEntry> {
    functions_named("array_agg").find(|entry| entry.arguments == [TypeOid(ANY_NON_ARRAY)])
}

/// Returns the aggregate that has the only value of a type.
fn least_function(sql_type: SqlType) -> Option<&'static FunctionEntry> {
    let (name, oid) = match sql_type.oid() {
        TypeOid::BOOL => ("bool_and", TypeOid::BOOL),
        TypeOid::VARCHAR => ("min", TypeOid::TEXT),
        _ if sql_type.element().is_some() => ("min", TypeOid::ANYARRAY),
        oid => ("min", oid),
    };
    functions_named(name).find(|entry| entry.arguments == [oid])
}

pub(super) fn fallible_query(range: SourceRange) -> BindError {
    BindError::not_supported("subqueries in expressions that may fail", range)
}

/// Returns a query of which nothing but whether it has rows is wanted.
pub(super) fn without_outputs(root: RelationalOperator) -> RelationalOperator {
    match root {
        RelationalOperator::Sort { input, .. } | RelationalOperator::Compute { input, .. } => {
            without_outputs(*input)
        }
        // DISTINCT.
        RelationalOperator::Aggregate { input, aggregates, is_scalar: false, .. }
            if aggregates.is_empty() =>
        {
            without_outputs(*input)
        }
        RelationalOperator::Limit { input, count: Some(count), offset: None }
            if constant_count(&count).is_some_and(|count| count > 0) =>
        {
            without_outputs(*input)
        }
        other => other,
    }
}

/// Returns a query whose rows may come in any order.
pub(super) fn unordered(root: RelationalOperator) -> RelationalOperator {
    match root {
        RelationalOperator::Sort { input, .. } => unordered(*input),
        other => other,
    }
}

/// Returns a boolean constant.
pub(super) fn constant(value: SqlValue, range: SourceRange) -> ScalarExpression {
    ScalarExpression::constant(value, SqlType::BOOLEAN, range)
}

fn column_of(column: ColumnId, range: SourceRange) -> ScalarExpression {
    ScalarExpression::new(ScalarKind::Column(column), SqlType::BOOLEAN, range)
}

fn arm(condition: ColumnId, result: SqlValue, range: SourceRange) -> CaseArm {
    CaseArm { condition: column_of(condition, range), result: constant(result, range) }
}

fn negated(operand: ScalarExpression) -> ScalarExpression {
    let range = operand.range;
    ScalarExpression::new(ScalarKind::Not(Box::new(operand)), SqlType::BOOLEAN, range)
}

fn is_null(operand: ScalarExpression) -> ScalarExpression {
    let range = operand.range;
    ScalarExpression::new(ScalarKind::IsNull(Box::new(operand)), SqlType::BOOLEAN, range)
}

fn is_unknown(operand: ScalarExpression) -> ScalarExpression {
    let range = operand.range;
    let kind = ScalarKind::IsTruth { operand: Box::new(operand), value: TruthValue::Unknown };
    ScalarExpression::new(kind, SqlType::BOOLEAN, range)
}
