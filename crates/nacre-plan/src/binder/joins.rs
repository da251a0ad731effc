//! FROM: lists of tables, and joins.
//!
//! A join makes visible what both sides do. USING and NATURAL merge columns of one name: the merged
//! one comes first, and its own name without a table means it. What is LATERAL sees the items
//! before it ([`super::lateral`]).

use nacre_syntax::SourceRange;
use nacre_syntax::{FromItem, FromKind, JoinCondition, JoinKind, JoinLink, SqlName, TableAlias};
use nacre_types::SqlType;

use super::Binder;
use super::expressions::ExpressionPlace;
use super::lateral::{FromPlace, require_independent, require_lateral};
use super::recursion::{RecursionBlock, block_of_joins};
use super::scope::{Scope, ScopeColumn, ScopeTable, require_columns};
use super::subquery_joins::has_subquery;
use crate::algebra::{JoinVariant, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;
use crate::error::BindError;

/// A part of FROM: what it reads and what it makes visible.
pub(super) type BoundFrom = (RelationalOperator, Scope);

impl Binder<'_> {
    /// Binds FROM: returns what it reads and what it makes visible.
    pub(super) fn bind_from(&mut self, from: &[FromItem]) -> Result<BoundFrom, BindError> {
        let hidden = self.out_of_reach.clone();
        let mut bound: Option<BoundFrom> = None;
        for item in from {
            let before = bound.as_ref().map(|(_, scope)| scope);
            let next = self.bind_item_of_from(item, &FromPlace::of_item(before, &hidden))?;
            bound = Some(match bound {
                None => next,
                Some((left, scope)) => {
                    require_lateral(&next.0, None, item.range)?;
                    cross_join((left, scope), next, item.range)?
                }
            });
        }
        let (root, mut scope) = bound.unwrap_or((RelationalOperator::SingleRow, Scope::default()));
        scope.out_of_reach.extend(hidden);
        Ok((root, scope))
    }

    fn bind_item_of_from(
        &mut self,
        item: &FromItem,
        place: &FromPlace<'_>,
    ) -> Result<BoundFrom, BindError> {
        if control::is_stopped() {
            return Err(BindError::stopped(item.range));
        }
        match &item.kind {
            FromKind::Relation { relation, sample } => {
                let (root, scope) = self.bind_table(relation, item.alias.as_ref(), item.range)?;
                match sample {
                    Some(sample) => {
                        let root = self.bind_sample(root, &relation.name, sample, item.range)?;
                        Ok((root, scope))
                    }
                    None => Ok((root, scope)),
                }
            }
            FromKind::Subquery { query, is_lateral: false } => {
                self.bind_derived_table(query, item, &place.out_of_reach())
            }
            FromKind::Subquery { query, is_lateral: true } => {
                self.bind_lateral_table(query, item, &place.before())
            }
            FromKind::Joins { first, links } => {
                let block = block_of_joins(None, links);
                let mut bound =
                    self.blocking(block, |binder| binder.bind_item_of_from(first, place))?;
                if !links.is_empty() {
                    bound.1.out_of_reach = place.out_of_reach();
                }
                for (index, link) in links.iter().enumerate() {
                    let block = block_of_joins(Some(link.kind), &links[index + 1..]);
                    bound = self.bind_join(bound, link, place, block)?;
                }
                match &item.alias {
                    Some(alias) => Ok((bound.0, under_alias(bound.1, alias, item.range)?)),
                    None => Ok(bound),
                }
            }
            FromKind::Functions { .. } => self.bind_table_function(item, &place.before()),
        }
    }

    fn bind_join(
        &mut self,
        (left, left_scope): BoundFrom,
        link: &JoinLink,
        place: &FromPlace<'_>,
        block: Option<RecursionBlock>,
    ) -> Result<BoundFrom, BindError> {
        let (right, right_scope) = self.blocking(block, |binder| {
            binder.bind_item_of_from(&link.right, &place.behind(&left_scope))
        })?;
        let variant = variant_of(link.kind);
        if variant.keeps_right() {
            require_independent(&right, &left_scope, link.right.range)?;
        }
        let names: Vec<SqlName> = match &link.condition {
            JoinCondition::Using(names, _) => names.clone(),
            JoinCondition::Natural => common_names(&left_scope, &right_scope, link.range),
            JoinCondition::Always | JoinCondition::On(_) => Vec::new(),
        };
        let (mut pairs, mut merged) = (Vec::new(), Vec::new());
        for (index, name) in names.iter().enumerate() {
            require_once(&names[..index], name)?;
            let own = column_of_side(&left_scope, name, "left")?;
            let other = column_of_side(&right_scope, name, "right")?;
            pairs.push((vec![own.clone(), other.clone()], name.range));
            let value = self.merge(variant, own, other)?;
            merged.push(ScopeColumn { name: name.text.as_str().into(), value });
        }
        // That columns have no common type is said before they cannot be compared.
        let equal = |(pair, range)| self.apply_operator("=", pair, range);
        let equalities = pairs.into_iter().map(equal).collect::<Result<Vec<_>, _>>()?;
        if variant.keeps_right() {
            self.make_nullable(&left_scope);
        }
        if variant.keeps_left() {
            self.make_nullable(&right_scope);
        }
        let mut scope = side_by_side(left_scope, right_scope, link.right.range)?;
        let condition = match &link.condition {
            JoinCondition::On(condition) => {
                let place = ExpressionPlace::new(&scope, "JOIN conditions");
                let condition = self.bind(condition, place)?;
                Some(self.coerce_to_boolean(condition, "JOIN/ON")?)
            }
            _ => all_of(equalities, link.range),
        };
        let is_merged = |column: &ScopeColumn| names.iter().any(|name| *name.text == *column.name);
        if !names.is_empty() {
            scope.columns.retain(|column| !is_merged(column));
        }
        if let JoinCondition::Using(_, Some(alias)) = &link.condition {
            let merged = Scope::of_table(alias, merged.clone());
            let columns = std::mem::take(&mut scope.columns);
            scope = Scope { columns, ..side_by_side(scope, merged, alias.range)? };
        }
        scope.columns.splice(0..0, merged);
        let condition = self.fold_join_condition(variant, condition, [&left, &right]);
        require_lateral(&right, condition.as_ref(), link.right.range)?;
        let joined = match condition {
            Some(condition) if has_subquery(&condition) && variant == JoinVariant::Inner => {
                self.filter_rows(join(variant, left, right, None), condition)?
            }
            Some(mut condition) if has_subquery(&condition) => {
                let [left, right] = self.join_queries_of_on([left, right], &mut condition)?;
                join(variant, left, right, Some(condition))
            }
            condition => join(variant, left, right, condition),
        };
        Ok((joined, scope))
    }

    /// Returns what a merged column is: the column of the side that is always there, or the first
    /// of both that is not null.
    fn merge(
        &mut self,
        variant: JoinVariant,
        left: ScalarExpression,
        right: ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        let range = left.range;
        let is_as_it_was = |own: &ScalarExpression| matches!(own.kind, ScalarKind::Column(_));
        let (mut both, common) = self.unify(vec![left, right], "JOIN/USING")?;
        let (Some(right), Some(left)) = (both.pop(), both.pop()) else {
            return Err(BindError::not_supported("this form of USING", range));
        };
        Ok(match variant {
            JoinVariant::Right => right,
            JoinVariant::Full => {
                ScalarExpression::new(ScalarKind::Coalesce(vec![left, right]), common, range)
            }
            JoinVariant::Inner if !is_as_it_was(&left) && is_as_it_was(&right) => right,
            _ => left,
        })
    }

    /// Notes that the columns of a side may be null now.
    pub(super) fn make_nullable(&mut self, scope: &Scope) {
        let columns = scope.tables.iter().flat_map(|table| &table.columns);
        for id in columns.chain(&scope.columns).filter_map(ScopeColumn::id) {
            self.columns.make_nullable(id);
        }
    }
}

/// Refuses a name that USING has twice.
fn require_once(before: &[SqlName], name: &SqlName) -> Result<(), BindError> {
    if before.iter().all(|other| other.text != name.text) {
        return Ok(());
    }
    let message = format!("column name \"{}\" appears more than once in USING clause", name.text);
    Err(BindError::new("42701", message, name.range))
}

fn variant_of(kind: JoinKind) -> JoinVariant {
    match kind {
        JoinKind::Inner | JoinKind::Cross => JoinVariant::Inner,
        JoinKind::Left => JoinVariant::Left,
        JoinKind::Right => JoinVariant::Right,
        JoinKind::Full => JoinVariant::Full,
    }
}

pub(super) fn join(
    variant: JoinVariant,
    left: RelationalOperator,
    right: RelationalOperator,
    condition: Option<ScalarExpression>,
) -> RelationalOperator {
    RelationalOperator::Join { variant, left: Box::new(left), right: Box::new(right), condition }
}

/// Returns all pairs of rows of two parts of FROM.
///
/// # Errors
/// 42712 if tables of both have one name.
pub(super) fn cross_join(
    (left, left_scope): BoundFrom,
    (right, right_scope): BoundFrom,
    range: SourceRange,
) -> Result<BoundFrom, BindError> {
    let scope = side_by_side(left_scope, right_scope, range)?;
    Ok((join(JoinVariant::Inner, left, right, None), scope))
}

/// Returns the condition that all are true.
fn all_of(mut conditions: Vec<ScalarExpression>, range: SourceRange) -> Option<ScalarExpression> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(ScalarExpression::new(ScalarKind::And(conditions), SqlType::BOOLEAN, range)),
    }
}

/// Returns what two parts of FROM make visible together.
///
/// # Errors
/// 42712 if tables of both have one name.
pub(super) fn side_by_side(
    mut left: Scope,
    right: Scope,
    range: SourceRange,
) -> Result<Scope, BindError> {
    for table in &right.tables {
        let is_same = |other: &ScopeTable| {
            // Tables of one name in two schemas are told apart by these, unless one has an alias.
            let has_schemas = other.schema.is_some() && table.schema.is_some();
            other.name == table.name && (!has_schemas || other.schema == table.schema)
        };
        if left.tables.iter().any(is_same) {
            let message = format!("table name \"{}\" specified more than once", table.name);
            return Err(BindError::new("42712", message, range));
        }
    }
    left.tables.extend(right.tables);
    left.columns.extend(right.columns);
    Ok(left)
}

/// Has a join be one table: what it is made of cannot be named any more.
fn under_alias(scope: Scope, alias: &TableAlias, range: SourceRange) -> Result<Scope, BindError> {
    let Some(name) = &alias.name else {
        return Err(BindError::not_supported("this form of an alias", range));
    };
    require_columns("join expression", name, scope.columns.len(), &alias.columns, range)?;
    let mut columns = scope.columns;
    for (column, renamed) in columns.iter_mut().zip(&alias.columns) {
        column.name = renamed.text.as_str().into();
    }
    let is_working = scope.tables.iter().any(|table| table.is_working);
    let inner = scope.tables.into_iter().map(|table| table.name);
    let out_of_reach = scope.out_of_reach.into_iter().chain(inner).collect();
    let mut joined = Scope { out_of_reach, ..Scope::of_table(name, columns) };
    joined.tables.iter_mut().for_each(|table| table.is_working = is_working);
    Ok(joined)
}

/// Returns the names of columns that both sides have, in the order of the left one.
fn common_names(left: &Scope, right: &Scope, range: SourceRange) -> Vec<SqlName> {
    let is_common =
        |column: &&ScopeColumn| right.columns.iter().any(|other| other.name == column.name);
    let common = left.columns.iter().filter(is_common);
    common.map(|column| SqlName { text: column.name.to_string(), range }).collect()
}

/// Returns the column of that name of a side of a join.
fn column_of_side(
    scope: &Scope,
    name: &SqlName,
    side: &str,
) -> Result<ScalarExpression, BindError> {
    let mut found = scope.columns.iter().filter(|column| *column.name == *name.text);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column.expression(name.range)),
        (Some(_), Some(_)) => {
            let message = format!(
                "common column name \"{}\" appears more than once in {side} table",
                name.text
            );
            Err(BindError::new("42702", message, name.range))
        }
        (None, _) => {
            let message = format!(
                "column \"{}\" specified in USING clause does not exist in {side} table",
                name.text
            );
            Err(BindError::new("42703", message, name.range))
        }
    }
}
