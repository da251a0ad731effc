//! Queries within queries: in FROM, and by names that WITH gives.
//!
//! A query of WITH is bound where it is written, so that its errors come there. It is computed
//! once ([`super::sharing`]), or bound once more for each further reference: each has columns of
//! its own.

use std::rc::Rc;

use nacre_syntax::{
    CommonTable, FromItem, QueryBody, QueryExpression, SourceRange, SqlName, Statement, TableAlias,
    WithClause,
};

use super::Binder;
use super::recursion::OpenRecursion;
use super::scope::{Scope, ScopeColumn, require_columns};
use super::sharing::SharedQuery;
use crate::algebra::{OutputColumn, RelationalOperator, ScalarExpression, ScalarKind};
use crate::control;
use crate::error::BindError;
use crate::properties::{has_open_order, never_fails};

/// Queries that one may be made of, with those of WITH as often as they are read: names that are
/// read twice, by others that are read twice, double with each level.
const QUERIES_MAX: usize = 2_000;

/// Deepest nesting of queries: each level takes some kilobytes of stack.
const QUERY_DEPTH_MAX: usize = 32;

/// A query's operator and outputs.
pub(super) type BoundQuery = (RelationalOperator, Vec<OutputColumn>);

/// A name that WITH gives to a query.
#[derive(Clone, Debug)]
pub(super) struct WithQuery {
    table: Rc<CommonTable>,
    /// Until the first reference takes it.
    bound: Option<BoundQuery>,
    /// Whether two references might have other rows or values.
    may_differ: bool,
    /// How many queries around its definition it sees the columns of.
    outer_count: usize,
    /// How it is read if it is computed once.
    shared: Option<SharedQuery>,
}

impl WithQuery {
    /// Says how it is read.
    pub(super) fn set_shared(&mut self, shared: SharedQuery) {
        self.shared = Some(shared);
    }
}

impl Binder<'_> {
    /// Binds a query with all that stands before and behind it.
    pub(super) fn bind_query(&mut self, query: &QueryExpression) -> Result<BoundQuery, BindError> {
        self.query_count += 1;
        if control::is_stopped() {
            return Err(BindError::stopped(query.range));
        }
        if self.query_count > QUERIES_MAX {
            let what = format!("a query can be made of at most {QUERIES_MAX} queries");
            return Err(BindError::too_large(what, query.range));
        }
        if self.query_depth == QUERY_DEPTH_MAX {
            return Err(BindError::not_supported("queries nested this deep", query.range));
        }
        self.query_depth += 1;
        let outer = self.common.len();
        let bound = self.bind_whole_query(query);
        self.common.truncate(outer);
        self.query_depth -= 1;
        bound
    }

    fn bind_whole_query(&mut self, query: &QueryExpression) -> Result<BoundQuery, BindError> {
        if let QueryBody::Nested(inner) = &query.body {
            return self.bind_whole_query(&merged_query(inner, query)?);
        }
        let is_set_operand = std::mem::take(&mut self.is_set_operand);
        if let Some(with) = &query.with {
            self.bind_with(with)?;
        }
        if let Some(lock) = query.locks.first() {
            return Err(BindError::not_supported("FOR UPDATE", lock.range));
        }
        match &query.body {
            QueryBody::Select(core) => {
                self.is_set_operand = is_set_operand;
                self.bind_select(core, query)
            }
            QueryBody::Values(rows) => self.bind_values(rows, query),
            QueryBody::Table(relation) => self.bind_table_query(relation, query),
            QueryBody::SetOperation { first, links } => {
                self.bind_set_operation(first, links, query)
            }
            // Merged above.
            QueryBody::Nested(inner) => self.bind_query(inner),
        }
    }

    /// Binds the queries of WITH; each sees those before it.
    pub(super) fn bind_with(&mut self, with: &WithClause) -> Result<(), BindError> {
        let outer = self.common.len();
        let later_count = self.later_names.len();
        for (index, table) in with.items.iter().enumerate() {
            let same = |own: &WithQuery| own.table.name.text == table.name.text;
            if self.common[outer..].iter().any(same) {
                let name = &table.name.text;
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(BindError::new("42712", message, table.name.range));
            }
            if table.search.is_some() || table.cycle.is_some() {
                return Err(BindError::not_supported("SEARCH and CYCLE", table.name.range));
            }
            self.later_names.truncate(later_count);
            if with.is_recursive {
                let later = with.items[index + 1..].iter().map(|table| table.name.text.clone());
                self.later_names.extend(later);
            }
            self.bind_with_item(table, with.is_recursive)?;
        }
        self.later_names.truncate(later_count);
        Ok(())
    }

    fn bind_with_item(&mut self, table: &CommonTable, is_recursive: bool) -> Result<(), BindError> {
        let outer_count = self.outer_scopes.len();
        let rc = Rc::new(table.clone());
        let own =
            WithQuery { table: rc, bound: None, may_differ: false, outer_count, shared: None };
        let query = common_query(table)?;
        let bound = if is_recursive {
            let query = match &query.body {
                QueryBody::Nested(inner) => &merged_query(inner, query)?,
                _ => query,
            };
            self.common.push(own.clone());
            let place = self.common.len() - 1;
            let bound = self.bind_recursive(table, query);
            self.common.truncate(place);
            match bound? {
                (_, Some(shared)) => {
                    self.common.push(WithQuery { shared: Some(shared), ..own });
                    return Ok(());
                }
                (bound, None) => bound,
            }
        } else {
            self.bind_query(query)?
        };
        let names = &table.columns;
        require_columns("WITH query", &table.name, bound.1.len(), names, table.name.range)?;
        let may_differ =
            bound.0.any_expression(&ScalarExpression::is_volatile_call) || has_open_order(&bound.0);
        let place = self.with_place(table);
        self.uses.note_query(place, table, &bound.0, may_differ);
        let shared = self.share_query(table, &bound);
        let bound = shared.is_none().then_some(bound);
        self.common.push(WithQuery { bound, may_differ, shared, ..own });
        Ok(())
    }

    /// Whether a name is that of a query of WITH.
    pub(super) fn is_common_query(&self, name: &str) -> bool {
        self.common.iter().any(|own| own.table.name.text == name)
    }

    /// Binds a reference to a query of WITH, if a name is that of one.
    pub(super) fn bind_common_query(
        &mut self,
        name: &SqlName,
        alias: Option<&TableAlias>,
        range: SourceRange,
    ) -> Result<Option<(RelationalOperator, Scope)>, BindError> {
        let found = self.common.iter().rposition(|own| own.table.name.text == name.text);
        if self.later_names.contains(&name.text) {
            let what = "queries of WITH RECURSIVE that read later ones";
            return Err(BindError::not_supported(what, range));
        }
        let Some(place) = found else { return Ok(None) };
        let is_working = self.note_recursion(place, &name.text, range)?;
        let table = Rc::clone(&self.common[place].table);
        let with_place = self.with_place(&table);
        self.uses.note_reference(with_place, range);
        let bound = match (self.common[place].bound.take(), self.common[place].shared.clone()) {
            (_, Some(shared)) => self.read_shared(&shared, range)?,
            (Some(bound), None) => bound,
            (None, None) => self.bind_again(place, range)?,
        };
        if !has_with(common_query(&table)?) {
            self.note_constants(&bound.0);
        }
        let alias_name = alias.and_then(|alias| alias.name.as_ref());
        let own = alias_name.unwrap_or(name);
        let renamed = alias.map_or(&[][..], |alias| &alias.columns);
        require_columns("table", own, bound.1.len(), renamed, range)?;
        let names = [renamed, &table.columns];
        let (root, mut scope) = as_table(bound, own, &names, range);
        scope.tables.iter_mut().for_each(|table| table.is_working = is_working);
        if alias_name.is_some() {
            scope.tables.iter_mut().for_each(|table| table.hidden_name = Some(name.text.clone()));
        }
        Ok(Some((root, scope)))
    }

    /// Binds a query of WITH once more.
    fn bind_again(&mut self, place: usize, range: SourceRange) -> Result<BoundQuery, BindError> {
        if self.common[place].may_differ {
            let what = "row numbers, LIMIT or random values of WITH that are read twice";
            self.unshared.get_or_insert(BindError::not_supported(what, range));
        }
        let table = Rc::clone(&self.common[place].table);
        // Its names resolve in the scope of its definition.
        let inner_scopes = self.outer_scopes.split_off(self.common[place].outer_count);
        let later = self.common.split_off(place);
        let (recursions, hidden) =
            std::mem::take(&mut self.recursions).into_iter().partition(|one| one.place < place);
        self.recursions = recursions;
        let hidden: Vec<OpenRecursion> = hidden;
        let bound = self.bind_query(common_query(&table)?);
        self.recursions.extend(hidden);
        self.common.extend(later);
        self.outer_scopes.extend(inner_scopes);
        bound
    }

    /// Binds a query in FROM.
    pub(super) fn bind_derived_table(
        &mut self,
        query: &QueryExpression,
        item: &FromItem,
        out_of_reach: &[String],
    ) -> Result<(RelationalOperator, Scope), BindError> {
        let alias = item.alias.as_ref();
        let Some(name) = alias.and_then(|alias| alias.name.as_ref()) else {
            let message = "subquery in FROM must have an alias";
            return Err(BindError::new("42601", message, item.range)
                .with_hint("For example, FROM (SELECT ...) [AS] foo."));
        };
        let outer = std::mem::replace(&mut self.out_of_reach, out_of_reach.to_vec());
        let bound = self.bind_query(query)?;
        self.out_of_reach = outer;
        if !has_with(query) {
            self.note_constants(&bound.0);
        } else if has_late_columns(&bound.0) {
            let what = "columns that may fail of queries in FROM with a WITH of their own";
            return Err(BindError::not_supported(what, item.range));
        }
        let renamed = alias.map_or(&[][..], |alias| &alias.columns);
        require_columns("table", name, bound.1.len(), renamed, item.range)?;
        Ok(as_table(bound, name, &[renamed], item.range))
    }
}

fn has_with(query: &QueryExpression) -> bool {
    let is_inner = match &query.body {
        QueryBody::Nested(inner) => has_with(inner),
        _ => false,
    };
    query.with.is_some() || is_inner
}

/// Whether a query in FROM has columns that would be computed above the joins around it, which
/// PostgreSQL does not do if it has a WITH.
fn has_late_columns(operator: &RelationalOperator) -> bool {
    match operator {
        RelationalOperator::Compute { input, columns } => {
            columns.iter().any(|one| !never_fails(&one.value)) || has_late_columns(input)
        }
        RelationalOperator::Filter { input, .. } => has_late_columns(input),
        RelationalOperator::Join { left, right, .. } => {
            has_late_columns(left) || has_late_columns(right)
        }
        _ => false,
    }
}

/// Returns the query in parentheses with what stands around them, which PostgreSQL takes for its
/// own: `(select a from t limit 3) order by a` sorts before it leaves out.
///
/// # Errors
/// 42601 if a clause stands inside, too.
fn merged_query(
    inner: &QueryExpression,
    outer: &QueryExpression,
) -> Result<QueryExpression, BindError> {
    let multiple = |clause: &str, range: SourceRange| {
        BindError::new("42601", format!("multiple {clause} clauses not allowed"), range)
    };
    let mut merged = inner.clone();
    merged.range = outer.range;
    if let Some(item) = outer.order_by.first() {
        if !inner.order_by.is_empty() {
            return Err(multiple("ORDER BY", item.value.range));
        }
        merged.order_by.clone_from(&outer.order_by);
    }
    merged.locks.extend(outer.locks.iter().cloned());
    if let Some(offset) = &outer.offset {
        if inner.offset.is_some() {
            return Err(multiple("OFFSET", offset.range));
        }
        merged.offset = Some(offset.clone());
    }
    if let Some(limit) = &outer.limit {
        if inner.limit.is_some() {
            return Err(multiple("LIMIT", outer.range));
        }
        merged.limit = Some(limit.clone());
    }
    if let Some(with) = &outer.with {
        if inner.with.is_some() {
            return Err(multiple("WITH", with.range));
        }
        merged.with = Some(with.clone());
    }
    Ok(merged)
}

fn common_query(table: &CommonTable) -> Result<&QueryExpression, BindError> {
    match &*table.statement {
        Statement::Query(query) => Ok(query),
        _ => Err(BindError::not_supported("WITH of what is no query", table.name.range)),
    }
}

/// Makes a query's outputs visible as a table; the first of `names` that has one for a column names
/// it.
pub(super) fn as_table(
    (root, outputs): BoundQuery,
    name: &SqlName,
    names: &[&[SqlName]],
    range: SourceRange,
) -> (RelationalOperator, Scope) {
    let column = |(position, output): (usize, OutputColumn)| {
        let renamed = names.iter().find_map(|names| names.get(position));
        let value = ScalarKind::Column(output.column);
        ScopeColumn {
            name: renamed.map_or(output.name, |name| name.text.clone()).into(),
            value: ScalarExpression::new(value, output.sql_type, range),
        }
    };
    let columns = outputs.into_iter().enumerate().map(column).collect();
    (root, Scope::of_table(name, columns))
}
