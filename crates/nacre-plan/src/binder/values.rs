//! VALUES: rows that are written out, and TABLE.
//!
//! ```text
//! values (1, 'a'), (2.5, null)    columns column1 numeric, column2 text
//! ```

use nacre_syntax::{
    DistinctClause, ExpressionNode, FromItem, FromKind, QueryExpression, RelationName, SelectCore,
    SourceRange, SqlName, TargetItem,
};
use nacre_types::{SqlType, SqlValue};

use super::expressions::ExpressionPlace;
use super::ordering::{BoundSortItem, SelectOrder};
use super::scope::{Scope, ScopeColumn};
use super::select::BoundTarget;
use super::subqueries::BoundQuery;
use super::subquery_joins::has_subquery;
use super::{Binder, COLUMNS_MAX, OUTPUTS_MAX};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    BoundSortKey, ColumnId, ColumnSource, ComputedColumn, ConstantValue, QueryColumn,
    RelationalOperator, ScalarExpression, ScalarKind, SetInput, SetVariant,
};
use crate::error::BindError;
use crate::properties::query_never_fails;

/// What its rows are called as a table, which only ORDER BY can name.
const TABLE_NAME: &str = "*VALUES*";

/// Rows that may have subqueries: each is an input of a plan.
const JOINED_ROWS_MAX: usize = 200;

/// Which of rows that are written out are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowNeed {
    All,
    /// Rows that are left out may not fail.
    Some,
}

impl Binder<'_> {
    /// Binds VALUES with its ORDER BY and LIMIT.
    pub(super) fn bind_values(
        &mut self,
        rows: &[Vec<ExpressionNode>],
        query: &QueryExpression,
    ) -> Result<BoundQuery, BindError> {
        let nothing = Scope { out_of_reach: self.out_of_reach.clone(), ..Scope::default() };
        let place = ExpressionPlace::new(&nothing, "VALUES");
        let width = rows.first().map_or(0, Vec::len);
        let mut values: Vec<Vec<ScalarExpression>> = vec![Vec::new(); width];
        for row in rows {
            let bound = self.bind_all(row, place)?;
            let start = row.first().map_or(query.range, |first| first.range);
            if bound.len() != width {
                let message = "VALUES lists must all be the same length";
                return Err(BindError::new("42601", message, start));
            }
            if width > OUTPUTS_MAX {
                let message = format!("target lists can have at most {OUTPUTS_MAX} entries");
                return Err(BindError::new("54011", message, start));
            }
            values.iter_mut().zip(bound).for_each(|(column, value)| column.push(value));
        }
        let (mut columns, mut unified, mut scope) = (Vec::new(), Vec::new(), Vec::new());
        for (index, values) in values.into_iter().enumerate() {
            let range = values.first().map_or(query.range, |first| first.range);
            let (values, sql_type) = self.unify(values, "VALUES")?;
            let name = format!("column{}", index + 1);
            let column = self.add_query_column(&name, sql_type, range)?;
            let value = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
            columns.push(column);
            unified.push(values.into_iter());
            scope.push(ScopeColumn { name: name.into(), value });
        }
        let row = |_: &Vec<ExpressionNode>| unified.iter_mut().filter_map(Iterator::next).collect();
        let mut rows: Vec<Vec<ScalarExpression>> = rows.iter().map(row).collect();
        if let [row] = &mut rows[..] {
            // Constants of a single row are such in the query around it.
            row.iter_mut().for_each(|value| self.fold(value));
        }
        let root = if rows.iter().flatten().any(has_subquery) {
            self.join_rows(columns, rows, query.range, RowNeed::Some)?
        } else {
            RelationalOperator::Values { columns, rows }
        };
        let name = SqlName { text: TABLE_NAME.to_owned(), range: query.range };
        self.finish_columns(root, Scope::of_table(&name, scope), query)
    }

    /// Makes each row a query of its own. Rows of several inputs come in any order: they are
    /// sorted by their numbers, for which all are computed.
    pub(super) fn join_rows(
        &mut self,
        columns: Vec<ColumnId>,
        rows: Vec<Vec<ScalarExpression>>,
        range: SourceRange,
        need: RowNeed,
    ) -> Result<RelationalOperator, BindError> {
        if rows.len() > JOINED_ROWS_MAX {
            let what = "this many rows of VALUES with subqueries";
            return Err(BindError::not_supported(what, range));
        }
        let mut inputs = Vec::with_capacity(rows.len());
        let has_order = rows.len() > 1;
        for (number, mut row) in (0_i64..).zip(rows) {
            let root = RelationalOperator::SingleRow;
            let root = self.join_subqueries(root, row.iter_mut().collect())?;
            let (mut own, mut computed) = (Vec::with_capacity(row.len()), Vec::new());
            for value in row {
                let column = self.add_query_column("column", value.sql_type, range)?;
                own.push(column);
                computed.push(ComputedColumn { column, value });
            }
            if has_order {
                let column = self.add_query_column("number", SqlType::BIGINT, range)?;
                own.push(column);
                let kind = ScalarKind::Constant(ConstantValue(SqlValue::BigInt(number)));
                let value = ScalarExpression::new(kind, SqlType::BIGINT, range);
                computed.push(ComputedColumn { column, value });
            }
            let operator = with_computed(root, computed);
            if has_order && need == RowNeed::Some && !query_never_fails(&operator) {
                let what = "several rows of VALUES with subqueries that may fail";
                return Err(BindError::not_supported(what, range));
            }
            inputs.push(SetInput { operator, columns: own });
        }
        let (variant, mut columns) = (SetVariant::UnionAll, columns);
        if !has_order {
            return Ok(RelationalOperator::SetOperation { variant, columns, inputs });
        }
        let number = self.add_query_column("number", SqlType::BIGINT, range)?;
        columns.push(number);
        let rows = RelationalOperator::SetOperation { variant, columns, inputs };
        Ok(sorted_by_number(rows, number, range))
    }

    /// Binds `TABLE name`, which is `SELECT * FROM name`.
    pub(super) fn bind_table_query(
        &mut self,
        relation: &RelationName,
        query: &QueryExpression,
    ) -> Result<BoundQuery, BindError> {
        let range = relation.name.range;
        let kind = FromKind::Relation { relation: relation.clone(), sample: None };
        let core = SelectCore {
            targets: vec![TargetItem::Star(range)],
            from: vec![FromItem { kind, alias: None, range }],
            ..plain_core(query.range)
        };
        self.bind_select(&core, query)
    }

    /// Adds ORDER BY and LIMIT to a query whose outputs are all columns of a scope.
    fn finish_columns(
        &mut self,
        root: RelationalOperator,
        scope: Scope,
        query: &QueryExpression,
    ) -> Result<BoundQuery, BindError> {
        let target = |column: &ScopeColumn| BoundTarget {
            name: column.name.to_string(),
            value: column.value.clone(),
        };
        let mut targets: Vec<BoundTarget> = scope.columns.iter().map(target).collect();
        let order = self.bind_order_by(&query.order_by, &mut targets, &scope)?;
        if let Some(value) =
            order.iter().filter_map(BoundSortItem::hidden).find(|one| is_bound_late(one))
        {
            let what = "this ORDER BY of VALUES";
            return Err(BindError::not_supported(what, value.range));
        }
        let order = SelectOrder { items: order, first_keys: 0 };
        self.finish_select(&plain_core(query.range), query, root, targets, order, &scope)
    }

    /// Makes the error of a query whose tables and operators have too many columns.
    pub(super) fn too_many_columns(&self, range: SourceRange) -> BindError {
        let what = format!("a query can have at most {COLUMNS_MAX} columns in all its tables");
        BindError::too_large(what, range)
    }

    /// Adds a column that an operator makes.
    pub(super) fn add_query_column(
        &mut self,
        name: &str,
        sql_type: SqlType,
        range: SourceRange,
    ) -> Result<ColumnId, BindError> {
        if self.columns.len() >= COLUMNS_MAX {
            return Err(self.too_many_columns(range));
        }
        let (name, source) = (name.into(), ColumnSource::Computed);
        Ok(self.columns.add(QueryColumn { name, sql_type, is_nullable: true, source }))
    }
}

/// Sorts rows by the column with their numbers.
pub(super) fn sorted_by_number(
    rows: RelationalOperator,
    number: ColumnId,
    range: SourceRange,
) -> RelationalOperator {
    let value = ScalarExpression::new(ScalarKind::Column(number), SqlType::BIGINT, range);
    let key = BoundSortKey { value, is_descending: false, nulls_first: false };
    RelationalOperator::Sort { input: Box::new(rows), keys: vec![key] }
}

/// Whether an expression has a part that only a SELECT can collect.
fn is_bound_late(expression: &ScalarExpression) -> bool {
    expression.any(&|one| {
        matches!(
            one.kind,
            ScalarKind::Aggregate(_)
                | ScalarKind::Grouping(_)
                | ScalarKind::Subquery(_)
                | ScalarKind::Window { .. }
        )
    })
}

/// Returns a SELECT of nothing.
pub(super) fn plain_core(range: SourceRange) -> SelectCore {
    SelectCore {
        distinct: DistinctClause::All,
        targets: Vec::new(),
        into: None,
        from: Vec::new(),
        condition: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
        range,
    }
}
