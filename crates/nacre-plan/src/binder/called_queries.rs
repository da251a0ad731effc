//! Queries that are run for the rows for which an expression asks for their value, not joined to
//! them: they may fail, and PostgreSQL runs them for no other rows.
//!
//! ```text
//! select case when a > 0 then (select 1 / u.b from u where u.k = t.k) end from t
//! call of [number, value] <- Single join (rows of arguments [number, k], u where u.b = k)
//! ```
//!
//! Each call gets a vector of rows, whose arguments are those columns of the row that the query
//! has. So are queries about both sides of an outer join, which are asked for pairs.

use std::collections::HashSet;

use nacre_syntax::SourceRange;
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::pair_queries::PairQuery;
use super::subquery_joins::{SubqueryJoins, constant, fallible_query, unordered};
use crate::algebra::conjuncts::{conjunction, with_computed};
use crate::algebra::{
    BoundSubquery, CaseArm, ColumnId, ColumnRenaming, ColumnSource, CommonForm, CommonQuery,
    CommonReference, ComputedColumn, ConstantValue, JoinVariant, OutputColumn, QueryColumn,
    RelationalOperator, ScalarExpression, ScalarKind, ScannedColumn, SubqueryForm,
};
use crate::error::BindError;
use crate::properties::{
    aggregate_never_fails, has_one_row_at_most, never_fails, own_query_never_fails,
    query_never_fails,
};

/// Rows of arguments, as a query that is called reads them.
struct ArgumentRows {
    scan: RelationalOperator,
    /// The column of the number of a row.
    number: ColumnId,
    /// Columns of the query around it, and those that stand for them.
    renaming: ColumnRenaming,
    arguments: Vec<ScalarExpression>,
}

/// Refuses a test of what an operator around the query computes.
///
/// # Errors
/// 0A000.
pub(super) fn require_values_of_rows(
    test: &ScalarExpression,
    range: SourceRange,
) -> Result<(), BindError> {
    if test.any(&is_computed_above) {
        let what = "values of windows, groups and queries compared with queries that may fail";
        return Err(BindError::not_supported(what, range));
    }
    Ok(())
}

/// Whether an expression stands for what an operator around the query computes.
fn is_computed_above(expression: &ScalarExpression) -> bool {
    matches!(
        expression.kind,
        ScalarKind::Window { .. }
            | ScalarKind::Aggregate(_)
            | ScalarKind::Grouping(_)
            | ScalarKind::Subquery(_)
    )
}

impl Binder<'_> {
    /// Has a query be run where an expression asks for its value.
    ///
    /// # Errors
    /// 0A000 for one that PostgreSQL may end before it fails.
    pub(super) fn call_query(
        &mut self,
        subquery: BoundSubquery,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let BoundSubquery { mut form, mut root } = subquery;
        if let SubqueryForm::Any(test) = &form {
            require_values_of_rows(test, range)?;
        }
        let may_fail = !query_never_fails(&root)
            || match &form {
                SubqueryForm::Scalar(_) => !has_one_row_at_most(&root),
                SubqueryForm::Any(test) => !never_fails(test),
                SubqueryForm::Exists => false,
            };
        let mut outer = root.free_columns();
        if let SubqueryForm::Any(test) = &form {
            let mut made = HashSet::new();
            root.collect_made_columns(&mut made);
            let mut used = HashSet::new();
            test.collect_columns(&mut used);
            outer.extend(used.difference(&made));
        }
        let ArgumentRows { scan, number, renaming, arguments } =
            self.argument_rows(outer, range)?;
        root.rename(&renaming);
        if let SubqueryForm::Any(test) = &mut form {
            test.rename(&renaming);
        }
        let mut joins = SubqueryJoins::new(scan);
        let (kind, sql_type) = match &form {
            SubqueryForm::Scalar(column) => {
                let sql_type = self.columns.get(*column).map(|column| column.sql_type);
                let is_single = !has_one_row_at_most(&root);
                let variant = if is_single { JoinVariant::Single } else { JoinVariant::Left };
                self.columns.make_nullable(*column);
                // Its columns are computed for all of its rows.
                let (input, keys) = (Box::new(unordered(root)), Vec::new());
                joins.join(variant, RelationalOperator::Sort { input, keys }, None);
                (ScalarKind::Column(*column), sql_type.unwrap_or(SqlType::TEXT))
            }
            SubqueryForm::Exists | SubqueryForm::Any(_) => {
                (self.join_test(form, root, &mut joins, range)?, SqlType::BOOLEAN)
            }
        };
        let column = self.add_query_column("value", sql_type, range)?;
        let value = ScalarExpression::new(kind, sql_type, range);
        let root = with_computed(joins.into_root(), vec![ComputedColumn { column, value }]);
        let index = self.common_queries.len();
        self.common_queries.push(CommonQuery {
            name: "subquery".to_owned(),
            root,
            outputs: vec![number, column],
            types: vec![SqlType::BIGINT, sql_type],
            form: CommonForm::Call(arguments.iter().map(|argument| argument.sql_type).collect()),
        });
        Ok(ScalarKind::Call { index, arguments, may_fail })
    }

    /// Makes rows of arguments: a number, and the columns of the query around.
    fn argument_rows(
        &mut self,
        outer: HashSet<ColumnId>,
        range: SourceRange,
    ) -> Result<ArgumentRows, BindError> {
        let mut outer: Vec<ColumnId> = outer.into_iter().collect();
        outer.sort_unstable();
        let number = self.add_query_column("row", SqlType::BIGINT, range)?;
        let mut columns = vec![ScannedColumn { position: 0, column: number }];
        let (mut renaming, mut arguments) = (ColumnRenaming::new(), Vec::new());
        for (position, own) in (1..).zip(outer) {
            let unknown = || BindError::not_supported("subqueries about these columns", range);
            let definition = self.columns.get(own).cloned().ok_or_else(unknown)?;
            let sql_type = definition.sql_type;
            let (is_nullable, source) = (true, ColumnSource::Computed);
            let column = self.columns.add(QueryColumn { is_nullable, source, ..definition });
            columns.push(ScannedColumn { position, column });
            renaming.insert(own, column);
            arguments.push(ScalarExpression::new(ScalarKind::Column(own), sql_type, range));
        }
        let query = CommonReference {
            index: self.common_queries.len(),
            may_fail: false,
            is_whole: true,
            has_one_row: false,
            key: Some(vec![0]),
            rows_expected: None,
        };
        let scan = RelationalOperator::CommonScan { query, columns };
        Ok(ArgumentRows { scan, number, renaming, arguments })
    }

    /// Returns whether a query that may fail has a row. One without columns of others is computed
    /// once, up to its first row.
    ///
    /// # Errors
    /// 0A000 for one whose rows after the first one may fail.
    pub(super) fn exists_where_asked(
        &mut self,
        root: RelationalOperator,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let is_alone = root.free_columns().is_empty();
        let subquery = BoundSubquery { form: SubqueryForm::Exists, root };
        if own_query_never_fails(&subquery.root) {
            return self.call_query(subquery, range);
        }
        if !is_alone {
            return self.test_pairs(subquery, is_guarded, joins, range);
        }
        if groups_may_fail(&subquery.root) {
            return self.test_all_rows(subquery, is_guarded, joins, range);
        }
        self.exists_once(subquery.root, range)
    }

    /// Computes once whether a query has a row.
    fn exists_once(
        &mut self,
        root: RelationalOperator,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let one = ScalarKind::Constant(ConstantValue(SqlValue::BigInt(1)));
        let count = Some(ScalarExpression::new(one, SqlType::BIGINT, range));
        let first = RelationalOperator::Limit { input: Box::new(root), count, offset: None };
        let column = self.add_query_column("exists", SqlType::BOOLEAN, range)?;
        let value = constant(SqlValue::Boolean(true), range);
        let root = with_computed(first, vec![ComputedColumn { column, value }]);
        let once = self.compute_once(root, column);
        let once = ScalarExpression::new(once, SqlType::BOOLEAN, range);
        let otherwise = constant(SqlValue::Boolean(false), range);
        Ok(ScalarKind::Coalesce(vec![once, otherwise]))
    }

    /// Returns whether a test is true for a row of a query that may fail, or by a test that may.
    /// The rows of one without columns of others are computed once, as PostgreSQL does for its hash
    /// table.
    ///
    /// # Errors
    /// 0A000 for others, whose rows after the one that decides may fail.
    pub(super) fn any_where_asked(
        &mut self,
        subquery: BoundSubquery,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let BoundSubquery { form, mut root } = subquery;
        let SubqueryForm::Any(mut test) = form else { return Err(fallible_query(range)) };
        if !own_query_never_fails(&root) && root.free_columns().is_empty() && has_equalities(&test)
        {
            (root, test) = self.share_rows(root, test, range)?;
        }
        let is_called = never_fails(&test) && own_query_never_fails(&root);
        let subquery = BoundSubquery { form: SubqueryForm::Any(test), root };
        if is_called {
            return self.call_query(subquery, range);
        }
        self.test_pairs(subquery, is_guarded, joins, range)
    }

    /// Has a query that may fail be decided by pairs of a row and its rows, one after the other:
    /// for all rows, or where it is asked for.
    pub(super) fn test_pairs(
        &mut self,
        subquery: BoundSubquery,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let test = match &subquery.form {
            SubqueryForm::Any(test) => Some(test.clone()),
            SubqueryForm::Exists | SubqueryForm::Scalar(_) => None,
        };
        let opened = PairQuery::of(subquery.root.clone(), test);
        let Some(mut query) = opened else {
            return self.test_all_rows(subquery, is_guarded, joins, range);
        };
        if query.is_hashed() {
            if query.has_fallible_inner_key() || !own_query_never_fails(&query.root) {
                return self.look_into_rows(&query, is_guarded, joins, range);
            }
            self.guard_keys(&mut query)?;
        }
        // The query around this one may be run for fewer rows.
        let is_guarded =
            is_guarded || self.query_depth > 1 || self.has_limit || !query.has_safe_rows();
        let BoundSubquery { form, root } = query.into_subquery();
        if is_guarded {
            return self.call_query(BoundSubquery { form, root }, range);
        }
        self.join_test(form, root, joins, range)
    }

    /// Has the rows of a query be computed once, and a test of each where an expression asks.
    pub(super) fn test_shared_rows(
        &mut self,
        rows: RelationalOperator,
        test: ScalarExpression,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let (root, test) = self.share_rows(rows, test, range)?;
        let subquery = BoundSubquery { form: SubqueryForm::Any(test), root };
        self.any_where_asked(subquery, is_guarded, joins, range)
    }

    /// Has the rows of a query and their keys be computed once, as PostgreSQL does for its hash
    /// table, and be looked into where an expression asks.
    fn look_into_rows(
        &mut self,
        query: &PairQuery,
        is_guarded: bool,
        joins: &mut SubqueryJoins,
        range: SourceRange,
    ) -> Result<ScalarKind, BindError> {
        let (mut tests, mut computed) = (query.pair_tests(), Vec::new());
        for key in query.inner_keys(&mut tests) {
            let (sql_type, range) = (key.sql_type, key.range);
            let column = self.add_query_column("key", sql_type, range)?;
            let own = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
            computed.push(ComputedColumn { column, value: std::mem::replace(key, own) });
        }
        let rows = with_computed(query.own_rows(), computed);
        let test = conjunction(tests).ok_or_else(|| fallible_query(range))?;
        let found = self.test_shared_rows(rows, test, is_guarded, joins, range)?;
        if query.test.is_some() {
            return Ok(found);
        }
        // EXISTS is never null.
        let found = ScalarExpression::new(found, SqlType::BOOLEAN, range);
        Ok(ScalarKind::Coalesce(vec![found, constant(SqlValue::Boolean(false), range)]))
    }

    /// Has what may fail of keys about rows outside be computed only if the query has a row, as
    /// PostgreSQL does: those without partners have null for a key. Not of rows that may fail.
    pub(super) fn guard_keys(&mut self, query: &mut PairQuery) -> Result<(), BindError> {
        if !own_query_never_fails(&query.root) || query.fallible_outer_keys().is_empty() {
            return Ok(());
        }
        let rows = query.own_rows();
        let (copy, _) = rows.with_new_columns(&mut self.columns);
        let range = query.fallible_outer_keys()[0].range;
        let exists = self.exists_once(copy, range)?;
        for key in query.fallible_outer_keys() {
            let (sql_type, range) = (key.sql_type, key.range);
            let condition = ScalarExpression::new(exists.clone(), SqlType::BOOLEAN, range);
            let arms = vec![CaseArm { condition, result: key.clone() }];
            let kind = ScalarKind::Case { arms, otherwise: None };
            *key = ScalarExpression::new(kind, sql_type, range);
        }
        Ok(())
    }

    /// Computes what may fail of keys about rows outside as columns of all these, as PostgreSQL
    /// does to look into its hash table.
    pub(super) fn compute_keys(
        &mut self,
        query: &mut PairQuery,
        joins: &mut SubqueryJoins,
    ) -> Result<(), BindError> {
        if !query.is_hashed() {
            return Ok(());
        }
        let mut computed = Vec::new();
        for key in query.fallible_outer_keys() {
            let (sql_type, range) = (key.sql_type, key.range);
            let column = self.add_query_column("key", sql_type, range)?;
            let own = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
            computed.push(ComputedColumn { column, value: std::mem::replace(key, own) });
        }
        if !computed.is_empty() {
            joins.compute(computed);
        }
        Ok(())
    }

    /// Has the rows of a query be computed once; returns what reads them, and the test of these.
    fn share_rows(
        &mut self,
        root: RelationalOperator,
        mut test: ScalarExpression,
        range: SourceRange,
    ) -> Result<(RelationalOperator, ScalarExpression), BindError> {
        let mut made = HashSet::new();
        root.collect_made_columns(&mut made);
        let mut used = HashSet::new();
        test.collect_columns(&mut used);
        let mut own: Vec<ColumnId> = used.intersection(&made).copied().collect();
        own.sort_unstable();
        let (mut columns, mut outputs) = (Vec::new(), Vec::new());
        let mut renaming = ColumnRenaming::new();
        for (position, output) in own.into_iter().enumerate() {
            let unknown = || BindError::not_supported("subqueries about these columns", range);
            let definition = self.columns.get(output).cloned().ok_or_else(unknown)?;
            let (name, sql_type) = (definition.name.clone(), definition.sql_type);
            let column = self.columns.add(definition);
            columns.push(ScannedColumn { position, column });
            outputs.push(OutputColumn { name: name.to_string(), column: output, sql_type });
            renaming.insert(output, column);
        }
        let query = CommonReference {
            index: self.common_queries.len(),
            may_fail: true,
            is_whole: true,
            has_one_row: false,
            key: None,
            rows_expected: None,
        };
        self.common_queries.push(CommonQuery {
            name: "subquery".to_owned(),
            root,
            outputs: outputs.iter().map(|output| output.column).collect(),
            types: outputs.iter().map(|output| output.sql_type).collect(),
            form: CommonForm::Rows,
        });
        test.rename(&renaming);
        Ok((RelationalOperator::CommonScan { query, columns }, test))
    }
}

/// Whether a test is that columns are equal.
fn has_equalities(test: &ScalarExpression) -> bool {
    match &test.kind {
        ScalarKind::Operator { operator, .. } => operator.name == "=",
        ScalarKind::And(tests) => tests.iter().all(has_equalities),
        _ => false,
    }
}

/// Whether the aggregates of a query may fail, which PostgreSQL computes though only rows are asked
/// for.
fn groups_may_fail(root: &RelationalOperator) -> bool {
    match root {
        RelationalOperator::Filter { input, .. }
        | RelationalOperator::Compute { input, .. }
        | RelationalOperator::Limit { input, .. } => groups_may_fail(input),
        RelationalOperator::Aggregate { aggregates, .. }
        | RelationalOperator::GroupingSets { aggregates, .. } => {
            !aggregates.iter().all(|one| aggregate_never_fails(&one.call))
        }
        _ => false,
    }
}
