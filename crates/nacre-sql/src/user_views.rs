//! The users' views: CREATE and DROP VIEW, and what the planner puts in their place.
//!
//! A view is kept as the text of its query. A statement that names views has them planned first,
//! those that others read before these, and the plans stand where the names are.
//!
//! # Invariants
//! 1. A view's columns are those that it had when it was created, in number, names and order.
//! 2. What a view reads is there as long as the view: it is dropped with it or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::catalog::TableProvider;
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    CreateTableOptions, CreateView, ObjectName, Query, Statement,
};
use nacre_store::{Store, ViewColumn, ViewDef};

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::{from_datafusion, from_parser};
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::notices::Notices;
use crate::parsing::statement_parser;
use crate::planner::Planner;
use crate::planning_cost::PlanningCost;
use crate::relations::{
    all_dependent_views, dependent_views, depends, relations_of, require_free, to_drop, wrong_kind,
};
use crate::transaction::Moment;
use crate::{columns, planning, rewrite, support};

/// The views that a statement reads, planned, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedViews(Arc<RwLock<Planned>>);

#[derive(Debug, Default)]
struct Planned {
    views: BTreeMap<String, Arc<dyn TableProvider>>,
    /// Whether names that are looked up are those of views' queries.
    is_inside: bool,
}

impl PlannedViews {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.read().views.get(name).cloned()
    }

    /// Whether names that are looked up now are those of a view's query: who names the view is
    /// asked for what its owner may read.
    pub(crate) fn is_inside(&self) -> bool {
        self.read().is_inside
    }

    /// Says that names that are looked up are those of a view's query.
    pub(crate) fn set_inside(&self, is_inside: bool) {
        self.write().is_inside = is_inside;
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Planned> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Planned> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans the views among `names`, and those that they read. `state` finds views here.
    ///
    /// # Errors
    /// Those of the planner, if what a view uses is there no more.
    pub(crate) async fn plan(
        &self,
        store: &Store,
        state: &SessionState,
        names: BTreeSet<String>,
    ) -> Result<()> {
        let mut ordered = Vec::new();
        in_order(store, &names, &mut BTreeSet::new(), &mut ordered);
        self.set_inside(true);
        for view in ordered {
            let plan = plan_query(state, parse_view(&view)?).await?;
            let plan = with_columns(plan.0, &view)?;
            let table = Arc::new(ViewTable::new(plan, Some(view.text.clone())));
            self.write().views.insert(view.name.clone(), table);
        }
        self.set_inside(false);
        Ok(())
    }
}

/// Collects the views among `names`, each after those that it reads.
fn in_order(
    store: &Store,
    names: &BTreeSet<String>,
    seen: &mut BTreeSet<String>,
    ordered: &mut Vec<Arc<ViewDef>>,
) {
    for name in names {
        let Some(view) = store.view(name) else { continue };
        // A text that is not read any more fails where it is planned.
        let read = parse_view(&view).map(|query| relations_of(&query)).unwrap_or_default();
        if seen.insert(name.clone()) {
            in_order(store, &read, seen, ordered);
            ordered.push(view);
        }
    }
}

/// Parses the query of a view.
///
/// # Errors
/// `Syntax`.
pub(crate) fn parse_view(view: &ViewDef) -> Result<Query> {
    let parsed = statement_parser(&view.text).and_then(|mut parser| parser.parse_query());
    parsed.map(|query| *query).map_err(|error| from_parser(&error))
}

/// Plans a query, and returns the names that its columns are to be shown by.
async fn plan_query(state: &SessionState, query: Query) -> Result<(LogicalPlan, Vec<String>)> {
    PlanningCost::of_syntax(state, &query).require_bounded()?;
    let mut statement = ParsedStatement::Statement(Box::new(Statement::Query(Box::new(query))));
    support::check(&statement)?;
    let names = columns::names(&mut statement);
    rewrite::rewrite(state, &mut statement)?;
    let plan = state.statement_to_plan(statement).await.map_err(from_datafusion)?;
    support::check_plan(&plan)?;
    let schema = Arc::clone(plan.schema().inner());
    let schema =
        names.map_or_else(|| Arc::clone(&schema), |names| columns::renamed(&schema, &names));
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    Ok((plan, names))
}

/// Gives a plan the columns of a view.
fn with_columns(plan: LogicalPlan, view: &ViewDef) -> Result<LogicalPlan> {
    let outputs = plan.schema().columns();
    let is_same = outputs.len() == view.columns.len();
    let mut exprs = Vec::with_capacity(view.columns.len());
    for (place, column) in view.columns.iter().enumerate() {
        // The query may have got columns since, if it asks for all of a table.
        let mut named = outputs.iter().filter(|output| output.name == column.source);
        let output = match (is_same, named.next(), named.next()) {
            (true, ..) => outputs.get(place),
            (false, Some(output), None) => Some(output),
            _ => None,
        };
        let output = output.ok_or_else(|| {
            let (name, view) = (&column.name, &view.name);
            let message = format!("column \"{name}\" of view \"{view}\" is not there any more");
            Error::undefined_column(message).with_hint("Create the view again.")
        })?;
        exprs.push(Expr::Column(output.clone()).alias(column.name.as_str()));
    }
    Ok(LogicalPlanBuilder::from(plan).project(exprs)?.build()?)
}

/// Runs `CREATE VIEW`; returns the command tag.
///
/// # Errors
/// Those of the query; 42P07, 42701, 42P16, `not supported`.
pub(crate) async fn create_view(
    store: &Store,
    planner: &Planner,
    moment: &Arc<Moment>,
    statement: &CreateView,
) -> Result<String> {
    reject_unsupported(statement)?;
    let name = table_name(&statement.name)?;
    let old = store.view(&name).filter(|_| statement.or_replace);
    if old.is_none() {
        require_free(store, &name)?;
    }
    let query = statement.query.as_ref();
    let read = relations_of(query);
    let own = std::slice::from_ref(&name);
    if read.contains(&name) || all_dependent_views(store, own).iter().any(|v| read.contains(v)) {
        let message = format!("infinite recursion detected in the query of view \"{name}\"");
        return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P17"));
    }
    let (own_planner, own_moment, query_to_plan) =
        (planner.clone(), Arc::clone(moment), query.clone());
    let planned = planning::aside(true, async move {
        let state = own_planner.state_with_views(&own_moment, read).await?;
        plan_query(&state, query_to_plan).await
    });
    let (plan, mut names) = planned.await?;
    if statement.columns.len() > names.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    for (name, given) in names.iter_mut().zip(&statement.columns) {
        *name = fold(&given.name);
    }
    let columns: Vec<ViewColumn> = names
        .into_iter()
        .zip(plan.schema().fields())
        .map(|(name, field)| ViewColumn { name, source: field.name().clone() })
        .collect();
    check_columns(&columns, old.as_deref())?;
    let def = ViewDef { name, text: query.to_string(), columns };
    store.define_view(def).map_err(from_store)?;
    Ok("CREATE VIEW".into())
}

/// Refuses columns with the same name, and, where a view is replaced, columns that it has lost.
fn check_columns(columns: &[ViewColumn], old: Option<&ViewDef>) -> Result<()> {
    for (place, column) in columns.iter().enumerate() {
        if columns[..place].iter().any(|other| other.name == column.name) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42701"));
        }
    }
    let old = old.map_or(&[][..], |old| old.columns.as_slice());
    let message = match old.iter().zip(columns).find(|(old, new)| old.name != new.name) {
        Some((old, new)) => {
            format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name)
        }
        None if old.len() > columns.len() => "cannot drop columns from view".to_owned(),
        None => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P16"))
}

fn reject_unsupported(statement: &CreateView) -> Result<()> {
    let has_options = !matches!(statement.options, CreateTableOptions::None);
    let has_types = statement.columns.iter().any(|c| c.data_type.is_some() || c.options.is_some());
    let refusals = [
        (statement.or_alter, "CREATE OR ALTER VIEW"),
        (statement.materialized, "CREATE MATERIALIZED VIEW"),
        (statement.temporary, "CREATE TEMPORARY VIEW"),
        (statement.if_not_exists, "CREATE VIEW IF NOT EXISTS"),
        (statement.with_no_schema_binding, "WITH NO SCHEMA BINDING"),
        (has_options || statement.secure, "options of views"),
        (statement.to.is_some() || statement.params.is_some(), "options of views"),
        (statement.comment.is_some() || statement.copy_grants, "options of views"),
        (!statement.cluster_by.is_empty(), "CLUSTER BY"),
        (has_types, "types of a view's columns"),
    ];
    match refusals.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Error::not_supported(what)),
        None => Ok(()),
    }
}

/// Runs `DROP VIEW`: all that are named go, or none.
///
/// # Errors
/// 42P01; 42809 for a table; 2BP01 if other views read one.
pub(crate) fn drop_views(
    store: &Store,
    notices: &Notices,
    names: &[ObjectName],
    (if_exists, cascades): (bool, bool),
) -> Result<String> {
    let find = |name: &str| match store.view(name) {
        Some(_) => Ok(Some(())),
        None if store.table(name).is_ok() => Err(wrong_kind(name, "a view", "table")),
        None => Ok(None),
    };
    let present: Vec<String> = to_drop(notices, names, ("view", if_exists), find)?
        .into_iter()
        .map(|(name, ())| name)
        .collect();
    let readers = drop_readers(store, "view", &present, cascades)?;
    notices.cascaded(&readers.iter().map(|view| format!("view {view}")).collect::<Vec<_>>());
    for name in present {
        store.drop_view(&name).map_err(from_store)?;
    }
    Ok("DROP VIEW".into())
}

/// Drops the views that read what is about to be dropped, and returns their names.
///
/// # Errors
/// 2BP01 unless it `cascades`.
pub(crate) fn drop_readers(
    store: &Store,
    kind: &str,
    names: &[String],
    cascades: bool,
) -> Result<Vec<String>> {
    let readers = all_dependent_views(store, names);
    if !cascades && !readers.is_empty() {
        for name in names {
            let direct = dependent_views(store, name);
            if let Some(view) = direct.into_iter().find(|view| !names.contains(view)) {
                return Err(depends(kind, name, format!("view {view} depends on {kind} {name}")));
            }
        }
    }
    for view in &readers {
        store.drop_view(view).map_err(from_store)?;
    }
    Ok(readers)
}
