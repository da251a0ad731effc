//! Items of ORDER BY and GROUP BY: by output, by position, by expression.

use nacre_functions::resolution::resolve_operator;
use nacre_syntax::SourceRange;
use nacre_syntax::{
    ExpressionKind, ExpressionNode, LiteralValue, OperatorName, SortDirection, SortItem, SqlName,
};
use nacre_types::SqlType;

use super::Binder;
use super::expressions::ExpressionPlace;
use super::scope::Scope;
use super::select::BoundTarget;
use crate::algebra::ScalarExpression;
use crate::error::BindError;

/// An item of ORDER BY.
#[derive(Clone, Debug)]
pub(super) struct BoundSortItem {
    pub(super) value: SortValue,
    pub(super) range: SourceRange,
    pub(super) is_descending: bool,
    pub(super) nulls_first: bool,
}

/// The items of ORDER BY, behind the keys of DISTINCT ON.
#[derive(Debug)]
pub(super) struct SelectOrder {
    pub(super) items: Vec<BoundSortItem>,
    /// How many of them are keys of DISTINCT ON.
    pub(super) first_keys: usize,
}

/// What an item of ORDER BY or GROUP BY is.
#[derive(Clone, Debug)]
pub(super) enum SortValue {
    /// The item of the SELECT list at this position.
    Target(usize),
    /// An expression that is not in the SELECT list.
    Hidden(Box<ScalarExpression>),
}

impl BoundSortItem {
    pub(super) fn hidden(&self) -> Option<&ScalarExpression> {
        match &self.value {
            SortValue::Hidden(value) => Some(value),
            SortValue::Target(_) => None,
        }
    }

    pub(super) fn hidden_mut(&mut self) -> Option<&mut ScalarExpression> {
        match &mut self.value {
            SortValue::Hidden(value) => Some(value),
            SortValue::Target(_) => None,
        }
    }
}

impl Binder<'_> {
    pub(super) fn bind_order_by(
        &mut self,
        items: &[SortItem],
        targets: &mut [BoundTarget],
        scope: &Scope,
    ) -> Result<Vec<BoundSortItem>, BindError> {
        let place = ExpressionPlace::new(scope, "ORDER BY").with_aggregates().with_windows();
        let place = place.with_sets();
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            let is_descending = is_descending(item)?;
            let value = self.bind_sort_value(&item.value, targets, place)?;
            let value = self.settle_item(value, targets, "<")?;
            let nulls_first = item.nulls_first.unwrap_or(is_descending);
            bound.push(BoundSortItem {
                value,
                range: item.value.range,
                is_descending,
                nulls_first,
            });
        }
        Ok(bound)
    }

    /// Binds an item: the name of an output, else as [`Self::bind_item`].
    pub(super) fn bind_sort_value(
        &mut self,
        node: &ExpressionNode,
        targets: &[BoundTarget],
        place: ExpressionPlace<'_>,
    ) -> Result<SortValue, BindError> {
        let named = bare_name(node).map(|name| find_label(name, targets, place.clause));
        match named.transpose()?.flatten() {
            Some(index) => Ok(SortValue::Target(index)),
            None => self.bind_item(node, targets, place),
        }
    }

    /// Binds an item that is no name of an output: a position, or an expression.
    pub(super) fn bind_item(
        &mut self,
        node: &ExpressionNode,
        targets: &[BoundTarget],
        place: ExpressionPlace<'_>,
    ) -> Result<SortValue, BindError> {
        if let ExpressionKind::Literal(literal) = &node.kind {
            return position(literal, node.range, targets.len(), place.clause);
        }
        let value = self.bind(node, place)?;
        let same = targets.iter().position(|target| target.value == value);
        Ok(same.map_or_else(|| SortValue::Hidden(Box::new(value)), SortValue::Target))
    }

    /// Gives literals a type, and checks that there is an order or equality of the type.
    pub(super) fn settle_item(
        &mut self,
        value: SortValue,
        targets: &mut [BoundTarget],
        symbol: &str,
    ) -> Result<SortValue, BindError> {
        let (settled, sql_type, range) = match value {
            SortValue::Target(index) => {
                let target = self.settle(targets[index].value.clone())?;
                let (sql_type, range) = (target.sql_type, target.range);
                targets[index].value = target;
                (SortValue::Target(index), sql_type, range)
            }
            SortValue::Hidden(value) => {
                let value = self.settle(*value)?;
                let (sql_type, range) = (value.sql_type, value.range);
                (SortValue::Hidden(Box::new(value)), sql_type, range)
            }
        };
        require_operator(symbol, sql_type, range)?;
        Ok(settled)
    }
}

/// Whether an item of ORDER BY is DESC.
pub(super) fn is_descending(item: &SortItem) -> Result<bool, BindError> {
    match &item.direction {
        SortDirection::Unspecified | SortDirection::Ascending => Ok(false),
        SortDirection::Descending => Ok(true),
        SortDirection::Using(operator) => using_descends(operator),
    }
}

/// Whether the operator of USING sorts downwards.
fn using_descends(operator: &OperatorName) -> Result<bool, BindError> {
    let is_builtin = operator.schema.iter().all(|schema| schema.text == "pg_catalog");
    match operator.symbol.as_str() {
        "<" if is_builtin => Ok(false),
        ">" if is_builtin => Ok(true),
        _ => Err(BindError::not_supported("this operator of ORDER BY USING", operator.range)),
    }
}

/// Refuses a type that has no order (`<`) or no equality (`=`).
pub(super) fn require_operator(
    symbol: &str,
    sql_type: SqlType,
    range: SourceRange,
) -> Result<(), BindError> {
    if resolve_operator(symbol, &[sql_type.oid(), sql_type.oid()]).is_ok() {
        return Ok(());
    }
    let word = if symbol == "<" { "ordering" } else { "equality" };
    let name = sql_type.plain_name();
    let message = format!("could not identify an {word} operator for type {name}");
    Err(BindError::new("42883", message, range))
}

pub(super) fn bare_name(node: &ExpressionNode) -> Option<&SqlName> {
    match &node.kind {
        ExpressionKind::Column(path) if path.steps.is_empty() => Some(&path.name),
        _ => None,
    }
}

/// Returns the position of the output of that name.
pub(super) fn find_label(
    name: &SqlName,
    targets: &[BoundTarget],
    clause: &str,
) -> Result<Option<usize>, BindError> {
    let mut found = targets.iter().enumerate().filter(|(_, target)| target.name == name.text);
    let Some((index, first)) = found.next() else {
        return Ok(None);
    };
    if found.any(|(_, other)| other.value != first.value) {
        let message = format!("{clause} \"{}\" is ambiguous", name.text);
        return Err(BindError::new("42702", message, name.range));
    }
    Ok(Some(index))
}

/// Returns the item of the SELECT list at a position that is counted from 1.
fn position(
    literal: &LiteralValue,
    range: SourceRange,
    count: usize,
    clause: &str,
) -> Result<SortValue, BindError> {
    let LiteralValue::Integer(number) = literal else {
        let message = format!("non-integer constant in {clause}");
        return Err(BindError::new("42601", message, range));
    };
    match usize::try_from(*number) {
        Ok(index) if (1..=count).contains(&index) => Ok(SortValue::Target(index - 1)),
        _ => {
            let message = format!("{clause} position {number} is not in select list");
            Err(BindError::new("42P10", message, range))
        }
    }
}
