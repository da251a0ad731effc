//! DISTINCT ON and FETCH FIRST ... WITH TIES: conditions on row numbers and ranks.
//!
//! ```text
//! select distinct on (a) ... order by a, b    row_number() over (partition by a order by b) <= 1
//! order by a offset 2 fetch first 3 rows with ties                  rank() over (order by a) <= 5
//! ```

use nacre_functions::catalog::{FunctionEntry, functions_named};
use nacre_syntax::{
    DistinctClause, ExpressionKind, ExpressionNode, LiteralValue, QueryExpression, RowLimit,
    SourceRange,
};
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::ordering::{BoundSortItem, SortValue};
use super::scope::Scope;
use super::select::BoundTarget;
use crate::algebra::{
    BoundSortKey, BoundWindowCall, BoundWindowFrame, ColumnId, ConstantValue, RelationalOperator,
    ScalarExpression, ScalarKind, WindowColumn,
};
use crate::error::BindError;

impl Binder<'_> {
    /// Binds the keys of DISTINCT ON. They are the first ones of `order` afterwards, where those
    /// that ORDER BY lacks are added; returns how many there are.
    ///
    /// # Errors
    /// 42P10 if ORDER BY has other expressions before one of the keys.
    pub(super) fn bind_distinct_on(
        &mut self,
        clause: &DistinctClause,
        targets: &mut [BoundTarget],
        order: &mut Vec<BoundSortItem>,
        scope: &Scope,
    ) -> Result<usize, BindError> {
        let DistinctClause::On(nodes) = clause else { return Ok(0) };
        let place = ExpressionPlace::new(scope, "DISTINCT ON").with_aggregates().with_windows();
        let mut keys: Vec<(SortValue, SourceRange)> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = self.bind_sort_value(node, targets, place)?;
            let value = self.settle_item(value, targets, "=")?;
            if !keys.iter().any(|(key, _)| value_of(key, targets) == value_of(&value, targets)) {
                keys.push((value, node.range));
            }
        }
        let is_key = |item: &&BoundSortItem| {
            let value = value_of(&item.value, targets);
            keys.iter().any(|(key, _)| value_of(key, targets) == value)
        };
        let first = order.iter().take_while(is_key).count();
        let is_ordered = |key: &SortValue, order: &[BoundSortItem]| {
            let value = value_of(key, targets);
            order.iter().any(|item| value_of(&item.value, targets) == value)
        };
        let late = keys.iter().find(|(key, _)| !is_ordered(key, &order[..first]));
        if let Some((_, range)) = late.filter(|_| first < order.len()) {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            return Err(BindError::new("42P10", message, *range));
        }
        // Both may say one thing twice.
        let mut count = first;
        for (value, range) in keys {
            if !is_ordered(&value, order) {
                let (is_descending, nulls_first) = (false, false);
                order.push(BoundSortItem { value, range, is_descending, nulls_first });
                count += 1;
            }
        }
        Ok(count)
    }

    /// Keeps the first row, by the other keys, of those that are equal in the first `count` keys.
    pub(super) fn keep_first_rows(
        &mut self,
        input: RelationalOperator,
        keys: &[BoundSortKey],
        count: usize,
        range: SourceRange,
    ) -> Result<RelationalOperator, BindError> {
        let column = |key: &BoundSortKey| match key.value.kind {
            ScalarKind::Column(column) => Some(column),
            _ => None,
        };
        let (partition, order) = keys.split_at(count);
        let partition = partition.iter().filter_map(column).collect();
        self.keep_numbered(input, "row_number", partition, order.to_vec(), 1, range)
    }

    /// Keeps the rows that FETCH FIRST ... WITH TIES wants, and those before them.
    ///
    /// # Errors
    /// 42601 without ORDER BY; `not supported` for numbers that are no constants.
    pub(super) fn keep_ties(
        &mut self,
        input: RelationalOperator,
        keys: &[BoundSortKey],
        query: &QueryExpression,
    ) -> Result<RelationalOperator, BindError> {
        let Some(RowLimit::WithTies(count)) = &query.limit else { return Ok(input) };
        if keys.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(BindError::new("42601", message, query.range));
        }
        let count = count.as_deref().map_or(Some(1), whole_number);
        let offset = query.offset.as_ref().map_or(Some(0), whole_number);
        let (Some(count @ 1..), Some(offset)) = (count, offset) else {
            let what = "WITH TIES of a number that is no constant above 0";
            return Err(BindError::not_supported(what, query.range));
        };
        let last = i64::from(count) + i64::from(offset);
        self.keep_numbered(input, "rank", Vec::new(), keys.to_vec(), last, query.range)
    }

    /// Numbers rows; returns the column of the numbers, too.
    pub(super) fn with_row_numbers(
        &mut self,
        input: RelationalOperator,
        range: SourceRange,
    ) -> Result<(RelationalOperator, ColumnId), BindError> {
        let column = self.add_query_column("row_number", SqlType::BIGINT, range)?;
        let window = (Vec::new(), Vec::new());
        Ok((numbered(input, "row_number", column, window, range)?, column))
    }

    /// Keeps the rows for which a window function without arguments is at most `last`.
    fn keep_numbered(
        &mut self,
        input: RelationalOperator,
        name: &str,
        partition: Vec<ColumnId>,
        order: Vec<BoundSortKey>,
        last: i64,
        range: SourceRange,
    ) -> Result<RelationalOperator, BindError> {
        let constant = |kind| ScalarExpression::new(kind, SqlType::BIGINT, range);
        let wanted = constant(ScalarKind::Constant(ConstantValue(SqlValue::BigInt(last))));
        let column = self.add_computed(name, &wanted);
        let input = numbered(input, name, column, (partition, order), range)?;
        let own = constant(ScalarKind::Column(column));
        let condition = self.apply_operator("<=", vec![own, wanted], range)?;
        Ok(RelationalOperator::Filter { input: Box::new(input), condition })
    }
}

/// Adds the column of a window function without arguments.
fn numbered(
    input: RelationalOperator,
    name: &str,
    column: ColumnId,
    (partition, order): (Vec<ColumnId>, Vec<BoundSortKey>),
    range: SourceRange,
) -> Result<RelationalOperator, BindError> {
    let Some(function) = functions_named(name).find(|entry| entry.arguments.is_empty()) else {
        return Err(BindError::not_supported(name, range));
    };
    let (call, frame) = (numbering_call(function), BoundWindowFrame::default_frame());
    let functions = vec![WindowColumn { column, call, frame }];
    Ok(RelationalOperator::Window { input: Box::new(input), partition, order, functions })
}

fn numbering_call(function: &'static FunctionEntry) -> BoundWindowCall {
    BoundWindowCall { function, arguments: Vec::new(), filter: None, result: SqlType::BIGINT }
}

pub(super) fn value_of<'v>(
    value: &'v SortValue,
    targets: &'v [BoundTarget],
) -> &'v ScalarExpression {
    match value {
        SortValue::Target(index) => &targets[*index].value,
        SortValue::Hidden(value) => value,
    }
}

fn whole_number(node: &ExpressionNode) -> Option<u32> {
    match node.kind {
        ExpressionKind::Literal(LiteralValue::Integer(number)) => u32::try_from(number).ok(),
        _ => None,
    }
}
