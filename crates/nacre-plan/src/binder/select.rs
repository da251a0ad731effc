//! SELECT, clause by clause.

use std::collections::HashSet;

use nacre_syntax::SourceRange;
use nacre_syntax::{
    DistinctClause, ExpressionKind, GroupItem, IndirectionStep, QueryExpression, RowLimit,
    SelectCore, TargetItem,
};
use nacre_types::catalog::CastContext;
use nacre_types::{SqlType, SqlValue};

use super::aggregation::Aggregation;
use super::expressions::ExpressionPlace;
use super::grouping::BoundGrouping;
use super::labels::output_name;
use super::ordering::{BoundSortItem, SelectOrder, SortValue};
use super::proofs::{counts_rows, is_row_count};
use super::scope::{Scope, ScopeColumn};
use super::subquery_joins::{has_subquery, may_find_more};
use super::windows::{BoundWindow, WrittenWindow};
use super::{Binder, OUTPUTS_MAX};
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    BoundSortKey, ColumnId, ColumnSource, ComputedColumn, ConstantValue, OutputColumn, QueryColumn,
    RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::error::BindError;
use crate::folding::ConstantColumns;

/// An item of the SELECT list.
#[derive(Clone, Debug)]
pub(super) struct BoundTarget {
    pub(super) name: String,
    pub(super) value: ScalarExpression,
}

impl Binder<'_> {
    /// Binds a SELECT with its ORDER BY and LIMIT.
    pub(super) fn bind_select(
        &mut self,
        core: &SelectCore,
        query: &QueryExpression,
    ) -> Result<(RelationalOperator, Vec<OutputColumn>), BindError> {
        let own = core.windows.iter().map(WrittenWindow::of_clause).collect();
        let outer = std::mem::replace(&mut self.windows, own);
        let has_limit = query.limit.is_some() || query.offset.is_some();
        let outer_limit = std::mem::replace(&mut self.has_limit, has_limit);
        self.outer_aggregates.push(Vec::new());
        // PostgreSQL keeps what a query in FROM computes apart from grouping sets.
        let is_plain = |item: &GroupItem| matches!(item, GroupItem::Value(_));
        let has_sets = core.group_by.iter().any(|clause| !clause.items.iter().all(is_plain));
        self.constants.push((!has_sets).then(ConstantColumns::new));
        let bound = self.bind_clauses(core, query);
        self.constants.pop();
        self.outer_aggregates.pop();
        (self.windows, self.has_limit) = (outer, outer_limit);
        bound
    }

    fn bind_clauses(
        &mut self,
        core: &SelectCore,
        query: &QueryExpression,
    ) -> Result<(RelationalOperator, Vec<OutputColumn>), BindError> {
        if core.into.is_some() {
            return Err(BindError::not_supported("INTO", core.range));
        }
        let keeps_literals =
            std::mem::take(&mut self.is_set_operand) && core.distinct == DistinctClause::All;
        let (mut root, scope) = self.bind_from(&core.from)?;
        let mut targets = self.bind_targets(&core.targets, &scope)?;
        if let Some(condition) = &core.condition {
            root = self.bind_row_condition(root, &scope, condition)?;
            self.leave_out_unread_query(&mut root, &scope);
        }
        let having = match &core.having {
            Some(having) => {
                let place = ExpressionPlace::new(&scope, "HAVING").with_aggregates();
                let having = self.bind(having, place)?;
                Some(self.coerce_to_boolean(having, "HAVING")?)
            }
            None => None,
        };
        let mut order = self.bind_order_by(&query.order_by, &mut targets, &scope)?;
        let groups = match &core.group_by {
            Some(clause) => self.bind_group_by(clause, &mut targets, &scope)?,
            None => BoundGrouping::default(),
        };
        let first_keys = self.bind_distinct_on(&core.distinct, &mut targets, &mut order, &scope)?;
        for target in targets.iter_mut().filter(|_| !keeps_literals) {
            target.value = self.settle(target.value.clone())?;
        }
        let mut windows = self.bind_windows(&scope)?;
        let hidden = order.iter().filter_map(BoundSortItem::hidden);
        let values = targets.iter().map(|target| &target.value).chain(hidden).chain(&having);
        require_no_recursive_aggregates(&scope, values)?;
        let inner = self.outer_aggregates.last_mut().map(std::mem::take).unwrap_or_default();
        let aggregation = Aggregation::new((groups, having), inner, &scope);
        let hidden = order.iter().filter_map(BoundSortItem::hidden);
        let others = hidden.chain(windows.iter().flat_map(BoundWindow::expressions));
        let is_grouped =
            aggregation.is_needed(targets.iter().map(|target| &target.value).chain(others));
        let is_merged = !is_grouped && windows.is_empty();
        if is_grouped {
            let values = targets.iter_mut().map(|target| &mut target.value);
            let values = values.chain(order.iter_mut().filter_map(BoundSortItem::hidden_mut));
            let values = values.chain(windows.iter_mut().flat_map(BoundWindow::expressions_mut));
            root = self.group_rows(root, aggregation, values)?;
        }
        let values = targets.iter_mut().map(|target| &mut target.value);
        let values = values.chain(order.iter_mut().filter_map(BoundSortItem::hidden_mut));
        let values = values.chain(windows.iter_mut().flat_map(BoundWindow::expressions_mut));
        root = self.join_subqueries(root, values.collect())?;
        let values = targets.iter_mut().map(|target| &mut target.value);
        let values = values.chain(order.iter_mut().filter_map(BoundSortItem::hidden_mut));
        root = self.place_windows(windows, values, root);
        // IN and the like whose operands are window functions.
        let values = targets.iter_mut().map(|target| &mut target.value);
        let values = values.chain(order.iter_mut().filter_map(BoundSortItem::hidden_mut));
        root = self.join_subqueries(root, values.collect())?;
        root = self.expand_outputs((core, query), root, &mut targets, &mut order)?;
        let order = SelectOrder { items: order, first_keys };
        let bound = self.finish_select(core, query, root, targets, order, &scope)?;
        if !is_merged {
            self.unmerged_columns.extend(bound.1.iter().map(|output| output.column));
        }
        Ok(bound)
    }

    /// Groups rows, and has expressions name the results.
    fn group_rows<'e>(
        &mut self,
        root: RelationalOperator,
        mut aggregation: Aggregation<'_>,
        mut values: impl Iterator<Item = &'e mut ScalarExpression>,
    ) -> Result<RelationalOperator, BindError> {
        values.try_for_each(|value| aggregation.collect(value, self))?;
        aggregation.finish(root, self)
    }

    /// Computes the outputs, and adds DISTINCT, ORDER BY and LIMIT.
    pub(super) fn finish_select(
        &mut self,
        core: &SelectCore,
        query: &QueryExpression,
        root: RelationalOperator,
        targets: Vec<BoundTarget>,
        order: SelectOrder,
        scope: &Scope,
    ) -> Result<(RelationalOperator, Vec<OutputColumn>), BindError> {
        let mut computed = Vec::new();
        let mut outputs = Vec::with_capacity(targets.len());
        for BoundTarget { name, value } in targets {
            let sql_type = value.sql_type;
            let column = self.column_of(&name, value, &mut computed);
            outputs.push(OutputColumn { name, column, sql_type });
        }
        let mut keys = Vec::with_capacity(order.items.len());
        let mut hidden = None;
        for item in order.items {
            let (column, sql_type, range) = match item.value {
                SortValue::Target(index) => {
                    let output = &outputs[index];
                    (output.column, output.sql_type, item.range)
                }
                SortValue::Hidden(value) => {
                    let (sql_type, range) = (value.sql_type, value.range);
                    hidden.get_or_insert(range);
                    (self.key_of("order", *value, &mut computed), sql_type, range)
                }
            };
            let value = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
            let (is_descending, nulls_first) = (item.is_descending, item.nulls_first);
            keys.push(BoundSortKey { value, is_descending, nulls_first });
        }
        let mut root = with_computed(root, computed);
        match &core.distinct {
            DistinctClause::All => {}
            DistinctClause::Distinct => {
                if let Some(range) = hidden {
                    let message =
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                    return Err(BindError::new("42P10", message, range));
                }
                for output in &outputs {
                    super::ordering::require_operator("=", output.sql_type, core.range)?;
                }
                let keys = outputs.iter().map(|output| output.column).collect();
                let (input, aggregates) = (Box::new(root), Vec::new());
                root = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: false };
            }
            DistinctClause::On(_) if matches!(query.limit, Some(RowLimit::WithTies(_))) => {
                return Err(BindError::not_supported("DISTINCT ON with WITH TIES", core.range));
            }
            DistinctClause::On(_) => {
                root = self.keep_first_rows(root, &keys, order.first_keys, core.range)?;
            }
        }
        root = self.keep_ties(root, &keys, query)?;
        if !keys.is_empty() {
            root = RelationalOperator::Sort { input: Box::new(root), keys };
        }
        let root = self.bind_limit(query, root, scope)?;
        Ok((root, outputs))
    }

    /// Returns the column that has an expression's value; one that is to be computed is added.
    /// Each volatile one has values of its own.
    pub(super) fn column_of(
        &mut self,
        name: &str,
        value: ScalarExpression,
        computed: &mut Vec<ComputedColumn>,
    ) -> ColumnId {
        if value.is_volatile() {
            let column = self.add_computed(name, &value);
            computed.push(ComputedColumn { column, value });
            return column;
        }
        self.key_of(name, value, computed)
    }

    /// As [`Self::column_of`], of a sort key: it reuses the output of the same expression, also a
    /// volatile one.
    pub(super) fn key_of(
        &mut self,
        name: &str,
        value: ScalarExpression,
        computed: &mut Vec<ComputedColumn>,
    ) -> ColumnId {
        if let ScalarKind::Column(column) = value.kind
            && !self.is_outer_column(column)
        {
            return column;
        }
        let same = computed.iter().find(|one| one.value == value);
        if let Some(same) = same {
            return same.column;
        }
        let column = self.add_computed(name, &value);
        computed.push(ComputedColumn { column, value });
        column
    }

    /// Adds a column for an expression.
    pub(super) fn add_computed(&mut self, name: &str, value: &ScalarExpression) -> ColumnId {
        self.columns.add(QueryColumn {
            name: name.into(),
            sql_type: value.sql_type,
            is_nullable: !is_row_count(value),
            source: if counts_rows(value) {
                ColumnSource::RowCount
            } else {
                ColumnSource::Computed
            },
        })
    }

    fn bind_targets(
        &mut self,
        items: &[TargetItem],
        scope: &Scope,
    ) -> Result<Vec<BoundTarget>, BindError> {
        let place = ExpressionPlace::new(scope, "SELECT").with_aggregates().with_windows();
        self.bind_target_items(items, place.with_sets())
    }

    /// Binds a list of outputs.
    pub(super) fn bind_target_items(
        &mut self,
        items: &[TargetItem],
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<BoundTarget>, BindError> {
        let (scope, mut targets) = (place.scope, Vec::new());
        for item in items {
            match item {
                TargetItem::Star(range) => {
                    if scope.tables.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(BindError::new("42601", message, *range));
                    }
                    add_all(&scope.columns, *range, &mut targets);
                }
                TargetItem::Value { value, label } => {
                    if let ExpressionKind::Column(path) = &value.kind
                        && let Some((IndirectionStep::AllFields(range), qualifier)) =
                            path.steps.split_last()
                    {
                        if !qualifier.is_empty() {
                            return Err(BindError::not_supported("names of three parts", *range));
                        }
                        let table = scope.table(std::slice::from_ref(&path.name), value.range)?;
                        add_all(&table.columns, *range, &mut targets);
                        continue;
                    }
                    let name = label.as_ref().map(|label| label.text.clone());
                    let name = name.unwrap_or_else(|| output_name(value));
                    targets.push(BoundTarget { name, value: self.bind(value, place)? });
                }
            }
        }
        if targets.len() > OUTPUTS_MAX {
            let range = items.first().map_or_else(SourceRange::default, |item| match item {
                TargetItem::Star(range) => *range,
                TargetItem::Value { value, .. } => value.range,
            });
            let message = format!("target lists can have at most {OUTPUTS_MAX} entries");
            return Err(BindError::new("54011", message, range));
        }
        Ok(targets)
    }

    fn bind_limit(
        &mut self,
        query: &QueryExpression,
        root: RelationalOperator,
        scope: &Scope,
    ) -> Result<RelationalOperator, BindError> {
        let mut bound = |node, clause: &'static str| -> Result<ScalarExpression, BindError> {
            let value = self.bind(node, ExpressionPlace::new(scope, clause))?;
            let (source, range) = (value.sql_type, value.range);
            let mut columns = HashSet::new();
            value.collect_columns(&mut columns);
            let has_column = columns.iter().any(|column| scope.has_column(*column));
            let coerced = self.coerce(value, SqlType::BIGINT, CastContext::Assignment, range);
            let coerced = coerced.map_err(|error| match error.sql_state {
                "42846" => {
                    let message =
                        format!("argument of {clause} must be type bigint, not type {source}");
                    BindError::new("42804", message, range)
                }
                _ => error,
            })?;
            if has_column {
                let message = format!("argument of {clause} must not contain variables");
                return Err(BindError::new("42P10", message, range));
            }
            if !columns.is_empty() {
                let what = "a LIMIT or OFFSET with columns of an outer query";
                return Err(BindError::not_supported(what, range));
            }
            if has_subquery(&coerced) { self.limit_of_query(coerced) } else { Ok(coerced) }
        };
        let offset = query.offset.as_ref().map(|node| bound(node, "OFFSET")).transpose()?;
        let count = match &query.limit {
            None | Some(RowLimit::All) => None,
            Some(RowLimit::Rows(Some(node))) => Some(bound(node, "LIMIT")?),
            Some(RowLimit::Rows(None)) => Some(one_row(query.range)),
            // Conditions have left out what is behind.
            Some(RowLimit::WithTies(_)) => None,
        };
        if count.is_none() && offset.is_none() {
            return Ok(root);
        }
        if may_find_more(&root) {
            let what = "LIMIT above subqueries that may have several rows";
            return Err(BindError::not_supported(what, query.range));
        }
        Ok(RelationalOperator::Limit { input: Box::new(root), count, offset })
    }
}

/// Refuses aggregates of the rows that a recursive query has made last.
fn require_no_recursive_aggregates<'e>(
    scope: &Scope,
    values: impl Iterator<Item = &'e ScalarExpression>,
) -> Result<(), BindError> {
    if !scope.tables.iter().any(|table| table.is_working) {
        return Ok(());
    }
    let is_aggregate = |one: &ScalarExpression| matches!(one.kind, ScalarKind::Aggregate(_));
    let mut values = values.filter(|value| value.any(&is_aggregate));
    values.next().map_or(Ok(()), |value| {
        let message = "aggregate functions are not allowed in a recursive query's recursive term";
        Err(BindError::new("42P19", message, value.range))
    })
}

/// Returns how many rows FETCH FIRST ROW wants.
fn one_row(range: SourceRange) -> ScalarExpression {
    let kind = ScalarKind::Constant(ConstantValue(SqlValue::BigInt(1)));
    ScalarExpression::new(kind, SqlType::BIGINT, range)
}

/// Adds all columns to the SELECT list.
fn add_all(columns: &[ScopeColumn], range: SourceRange, targets: &mut Vec<BoundTarget>) {
    let target = |column: &ScopeColumn| BoundTarget {
        name: column.name.to_string(),
        value: column.expression(range),
    };
    targets.extend(columns.iter().map(target));
}
