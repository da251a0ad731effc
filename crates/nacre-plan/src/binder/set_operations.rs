//! UNION, INTERSECT and EXCEPT.
//!
//! Columns of two operands get their common type by pairs, from the left; a literal without a type
//! takes that of the other side. What follows each other and is of the same types becomes one
//! operator:
//!
//! ```text
//! a union all b union all c    SetOperation UnionAll [a, b, c]
//! a union b union c            Aggregate [all columns] <- SetOperation UnionAll [a, b, c]
//! a except all b               SetOperation ExceptAll [a, b]
//! ```

use nacre_syntax::{
    QueryBody, QueryExpression, SelectCore, SetLink, SetOperator, SetQuantifier, SourceRange,
    TargetItem,
};
use nacre_types::catalog::TypeOid;

use super::Binder;
use super::ordering::{BoundSortItem, SelectOrder, require_operator};
use super::recursion::block_of_operands;
use super::scope::{Scope, ScopeColumn};
use super::select::BoundTarget;
use super::subqueries::BoundQuery;
use super::values::plain_core;
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    ColumnId, OutputColumn, RelationalOperator, ScalarExpression, ScalarKind, SetInput, SetVariant,
};
use crate::error::BindError;

/// Set operations above each other: later passes recurse over them.
const SET_OPERATIONS_MAX: usize = 200;

/// An operand, and what its columns are: a column of the operator, or a literal without a type.
pub(super) struct SetOperand {
    pub(super) root: RelationalOperator,
    pub(super) names: Vec<String>,
    pub(super) values: Vec<ScalarExpression>,
}

impl Binder<'_> {
    /// Binds set operations with the ORDER BY and LIMIT behind them.
    pub(super) fn bind_set_operation(
        &mut self,
        first: &QueryBody,
        links: &[SetLink],
        query: &QueryExpression,
    ) -> Result<BoundQuery, BindError> {
        let operand = self.bind_set_links(first, links, query.range)?;
        self.finish_set_operation(operand, query)
    }

    /// Adds ORDER BY and LIMIT to set operations.
    pub(super) fn finish_set_operation(
        &mut self,
        SetOperand { root, names, values }: SetOperand,
        query: &QueryExpression,
    ) -> Result<BoundQuery, BindError> {
        let columns = names.iter().cloned().zip(values.iter().cloned());
        let columns = columns.map(|(name, value)| ScopeColumn { name: name.into(), value });
        let scope = Scope { columns: columns.collect(), ..Scope::default() };
        let targets = names.into_iter().zip(values);
        let mut targets: Vec<_> =
            targets.map(|(name, value)| BoundTarget { name, value }).collect();
        let order = self.bind_order_by(&query.order_by, &mut targets, &scope)?;
        if let Some(value) = order.iter().find_map(BoundSortItem::hidden) {
            let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
            let detail = "Only result column names can be used, not expressions or functions.";
            let hint = "Add the expression/function to every SELECT, or move the UNION into a \
                        FROM clause.";
            let error = BindError::new("0A000", message, value.range);
            return Err(error.with_detail(detail).with_hint(hint));
        }
        // LIMIT sees no columns.
        let nothing = Scope { out_of_reach: self.out_of_reach.clone(), ..Scope::default() };
        let order = SelectOrder { items: order, first_keys: 0 };
        self.finish_select(&plain_core(query.range), query, root, targets, order, &nothing)
    }

    pub(super) fn bind_set_links(
        &mut self,
        first: &QueryBody,
        links: &[SetLink],
        range: SourceRange,
    ) -> Result<SetOperand, BindError> {
        let block = block_of_operands(None, links);
        let mut left = self.blocking(block, |binder| binder.bind_set_operand(first, range))?;
        for (place, link) in links.iter().enumerate() {
            let block = block_of_operands(Some(link), &links[place + 1..]);
            let right =
                self.blocking(block, |binder| binder.bind_set_operand(&link.operand, link.range))?;
            left = self.combine(left, right, link)?;
        }
        Ok(left)
    }

    pub(super) fn bind_set_operand(
        &mut self,
        body: &QueryBody,
        range: SourceRange,
    ) -> Result<SetOperand, BindError> {
        let query = match body {
            QueryBody::SetOperation { first, links } => {
                return self.bind_set_links(first, links, range);
            }
            QueryBody::Nested(query) => query,
            _ => &Box::new(bare_query(body, range)),
        };
        self.bind_untyped_query(query)
    }

    /// Binds a query whose literals keep their lack of a type.
    pub(super) fn bind_untyped_query(
        &mut self,
        query: &QueryExpression,
    ) -> Result<SetOperand, BindError> {
        self.is_set_operand = true;
        let (mut root, outputs) = self.bind_query(query)?;
        let ranges = match &query.body {
            QueryBody::Select(core) => output_ranges(core),
            QueryBody::Values(rows) => rows.iter().flatten().map(|value| value.range).collect(),
            _ => Vec::new(),
        };
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (position, OutputColumn { name, column, sql_type }) in outputs.iter().enumerate() {
            let range = ranges.get(position).copied().unwrap_or(query.range);
            let value = ScalarExpression::new(ScalarKind::Column(*column), *sql_type, range);
            let is_literal = sql_type.oid() == TypeOid::UNKNOWN;
            let literal = if is_literal { computed_value(&root, *column) } else { None };
            names.push(name.clone());
            values.push(literal.cloned().unwrap_or(value));
        }
        let is_literal = |output: &&OutputColumn| output.sql_type.oid() == TypeOid::UNKNOWN;
        let literals = outputs.iter().filter(is_literal).map(|output| output.column);
        remove_computed(&mut root, &literals.collect::<Vec<_>>());
        Ok(SetOperand { root, names, values })
    }

    /// Binds one operation.
    pub(super) fn combine(
        &mut self,
        left: SetOperand,
        right: SetOperand,
        link: &SetLink,
    ) -> Result<SetOperand, BindError> {
        let word = match link.operator {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        };
        if left.values.len() != right.values.len() {
            let message = format!("each {word} query must have the same number of columns");
            let range = right.values.first().map_or(link.range, |first| first.range);
            return Err(BindError::new("42601", message, range));
        }
        let is_all = link.quantifier == SetQuantifier::All;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let (mut left_values, mut right_values) = (Vec::new(), Vec::new());
        let names = left.names;
        for ((name, one), other) in names.iter().zip(left.values).zip(right.values) {
            let range = one.range;
            let (both, sql_type) = self.unify(vec![one, other], word)?;
            if link.operator != SetOperator::Union || !is_all {
                require_operator("=", sql_type, range)?;
            }
            let column = self.add_query_column(name, sql_type, range)?;
            columns.push(column);
            values.push(ScalarExpression::new(ScalarKind::Column(column), sql_type, range));
            let mut both = both.into_iter();
            left_values.extend(both.next());
            right_values.extend(both.next());
        }
        let left = self.set_input(left.root, &names, left_values);
        let right = self.set_input(right.root, &names, right_values);
        let root = self.set_operation(link, is_all, [left, right], columns)?;
        Ok(SetOperand { root, names, values })
    }

    /// Has an operand make values of the common types.
    pub(super) fn set_input(
        &mut self,
        root: RelationalOperator,
        names: &[String],
        values: Vec<ScalarExpression>,
    ) -> SetInput {
        let mut computed = Vec::new();
        let columns = names.iter().zip(values);
        let columns = columns.map(|(name, value)| self.column_of(name, value, &mut computed));
        let columns = columns.collect();
        SetInput { operator: with_computed(root, computed), columns }
    }

    fn set_operation(
        &mut self,
        link: &SetLink,
        is_all: bool,
        [left, right]: [SetInput; 2],
        columns: Vec<ColumnId>,
    ) -> Result<RelationalOperator, BindError> {
        let is_union = link.operator == SetOperator::Union;
        let mut inputs = if is_union { union_inputs(left, !is_all) } else { vec![left] };
        if inputs.len() == 1 {
            self.set_operation_count += 1;
            if self.set_operation_count > SET_OPERATIONS_MAX {
                let what = format!(
                    "a query can have at most {SET_OPERATIONS_MAX} set operations in a row"
                );
                return Err(BindError::too_large(what, link.range));
            }
        }
        inputs.push(right);
        let variant = match (link.operator, is_all) {
            (SetOperator::Union, _) => SetVariant::UnionAll,
            (SetOperator::Intersect, false) => SetVariant::Intersect,
            (SetOperator::Intersect, true) => SetVariant::IntersectAll,
            (SetOperator::Except, false) => SetVariant::Except,
            (SetOperator::Except, true) => SetVariant::ExceptAll,
        };
        let keys = columns.clone();
        let operation = RelationalOperator::SetOperation { variant, columns, inputs };
        if !is_union || is_all {
            return Ok(operation);
        }
        let (input, aggregates) = (Box::new(operation), Vec::new());
        Ok(RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: false })
    }
}

/// Returns the inputs of a UNION that the left side of another one is, or that side itself. If
/// equal rows of the outer one are to be one, those of the inner one need not be.
fn union_inputs(left: SetInput, is_distinct: bool) -> Vec<SetInput> {
    let all = |operator: &RelationalOperator| {
        matches!(operator, RelationalOperator::SetOperation {
            variant: SetVariant::UnionAll, columns, ..
        } if *columns == left.columns)
    };
    let operation = match left.operator {
        RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: false }
            if is_distinct && aggregates.is_empty() && keys == left.columns && all(&input) =>
        {
            *input
        }
        other if all(&other) => other,
        other => return vec![SetInput { operator: other, ..left }],
    };
    match operation {
        RelationalOperator::SetOperation { inputs, .. } => inputs,
        other => vec![SetInput { operator: other, ..left }],
    }
}

/// Returns a query of a body alone.
fn bare_query(body: &QueryBody, range: SourceRange) -> QueryExpression {
    QueryExpression {
        with: None,
        body: body.clone(),
        order_by: Vec::new(),
        limit: None,
        offset: None,
        locks: Vec::new(),
        range,
    }
}

/// Returns where the outputs of a SELECT are written, of those before the first `*`.
fn output_ranges(core: &SelectCore) -> Vec<SourceRange> {
    let ranges = core.targets.iter().map_while(|item| match item {
        TargetItem::Star(_) => None,
        TargetItem::Value { value, .. } => Some(value.range),
    });
    ranges.collect()
}

/// Returns what a column is computed by.
fn computed_value(operator: &RelationalOperator, column: ColumnId) -> Option<&ScalarExpression> {
    if let RelationalOperator::Compute { columns, .. } = operator
        && let Some(found) = columns.iter().find(|one| one.column == column)
    {
        return Some(&found.value);
    }
    operator.inputs().find_map(|input| computed_value(input, column))
}

/// Takes computed columns away.
fn remove_computed(operator: &mut RelationalOperator, removed: &[ColumnId]) {
    if removed.is_empty() {
        return;
    }
    if let RelationalOperator::Compute { columns, input } = operator
        && columns.iter().any(|one| removed.contains(&one.column))
    {
        columns.retain(|one| !removed.contains(&one.column));
        if columns.is_empty() {
            *operator = std::mem::replace(&mut **input, RelationalOperator::SingleRow);
        }
        return;
    }
    operator.inputs_mut().for_each(|input| remove_computed(input, removed));
}
