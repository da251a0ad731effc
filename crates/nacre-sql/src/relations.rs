//! What the names of tables, views and sequences stand for, and who depends on whom.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, ObjectName, Query, Statement, Visit, Visitor,
};
use nacre_store::{Error as StoreError, Store, Table, TableRules};

use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::notices::Notices;
use crate::user_views::parse_view;

/// Returns the table that a statement is to change.
///
/// # Errors
/// 42P01; 55000 for a view; 40001 through a handle of [`Store::at`].
pub(crate) fn table_to_change(store: &Store, name: &ObjectName, verb: &str) -> Result<Arc<Table>> {
    let name = table_name(name)?;
    if store.view(&name).is_some() {
        let verb = verb.to_lowercase();
        let preposition = match verb.as_str() {
            "insert" => " into",
            "delete" => " from",
            "copy" => " to",
            _ => "",
        };
        let message = format!("cannot {verb}{preposition} view \"{name}\"");
        return Err(Error::new(ErrorKind::InvalidStatement, message)
            .with_code("55000")
            .with_detail("Views are not updatable.")
            .with_hint("Change the tables that the view reads."));
    }
    match store.table(&name) {
        Err(StoreError::UnknownTable { .. }) if store.sequence(&name).is_ok() => {
            let message = format!("cannot change sequence \"{name}\"");
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"))
        }
        found => found.map_err(from_store),
    }
}

/// Refuses the name of a table, view, sequence or index that is there.
///
/// # Errors
/// 42P07.
pub(crate) fn require_free(store: &Store, name: &str) -> Result<()> {
    let is_taken =
        store.table(name).is_ok() || store.view(name).is_some() || store.sequence(name).is_ok();
    let is_taken = is_taken || store.find_index(name).is_some();
    match is_taken {
        true => Err(from_store(nacre_store::Error::TableExists { table: name.to_owned() })),
        false => Ok(()),
    }
}

/// Whether a statement with IF [NOT] EXISTS failed because another session created or dropped the
/// object after the check.
pub(crate) fn is_raced(store: &Store, statement: &Statement, error: &Error) -> bool {
    let is_taken = |name: &ObjectName| {
        error.kind() == ErrorKind::DuplicateObject
            && table_name(name).is_ok_and(|name| require_free(store, &name).is_err())
    };
    match statement {
        Statement::Drop { if_exists: true, .. } => error.kind() == ErrorKind::UndefinedObject,
        Statement::CreateTable(create) => create.if_not_exists && is_taken(&create.name),
        Statement::CreateIndex(create) => {
            create.if_not_exists && create.name.as_ref().is_some_and(is_taken)
        }
        _ => false,
    }
}

/// Returns what `find` finds of the objects that a DROP names, with their names; `kind` is what
/// these are called.
///
/// # Errors
/// 42P01, for an index 42704, if one is not there, unless it may be so; those of `find`.
pub(crate) fn to_drop<T>(
    notices: &Notices,
    names: &[ObjectName],
    (kind, if_exists): (&str, bool),
    find: impl Fn(&str) -> Result<Option<T>>,
) -> Result<Vec<(String, T)>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let name = table_name(name)?;
        match find(&name)? {
            Some(one) => found.push((name, one)),
            None if if_exists => notices.missing(format_args!("{kind} \"{name}\"")),
            None => {
                let message = format!("{kind} \"{name}\" does not exist");
                return Err(match kind {
                    "index" => Error::new(ErrorKind::UndefinedObject, message),
                    _ => Error::undefined_table(message),
                });
            }
        }
    }
    Ok(found)
}

/// Returns the error for an object of another kind than a DROP is for.
pub(crate) fn wrong_kind(name: &str, wanted: &str, is: &str) -> Error {
    let message = format!("\"{name}\" is not {wanted}");
    Error::new(ErrorKind::InvalidStatement, message)
        .with_code("42809")
        .with_hint(format!("Use DROP {} to remove a {is}.", is.to_uppercase()))
}

/// Returns the tables and columns whose defaults draw from a sequence.
pub(crate) fn dependent_defaults(store: &Store, sequence: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for table in store.tables() {
        let (schema, rules) = (table.schema(), table.rules());
        for (column, default) in &rules.defaults {
            let draws = default.sequence.as_deref() == Some(sequence)
                || default.text == format!("nextval('{sequence}')");
            if let Some(column) = schema.columns.get(*column).filter(|_| draws) {
                found.push((schema.name.clone(), column.name.clone()));
            }
        }
    }
    found
}

/// Returns the sequences that go with a table.
pub(crate) fn own_sequences(rules: &TableRules) -> Vec<String> {
    rules.defaults.values().filter_map(|default| default.sequence.clone()).collect()
}

/// Returns the views that read a table or view, not through others.
pub(crate) fn dependent_views(store: &Store, name: &str) -> Vec<String> {
    let reads = |view: &Arc<nacre_store::ViewDef>| {
        parse_view(view).is_ok_and(|query| relations_of(&query).contains(name))
    };
    store.views().iter().filter(|view| reads(view)).map(|view| view.name.clone()).collect()
}

/// Returns the views that read any of `names`, through others too, those that are read last.
pub(crate) fn all_dependent_views(store: &Store, names: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut next = names.to_vec();
    while let Some(name) = next.pop() {
        for view in dependent_views(store, &name) {
            if !found.contains(&view) && !names.contains(&view) {
                found.push(view.clone());
                next.push(view);
            }
        }
    }
    found.reverse();
    found
}

/// Returns the names of the tables and views that a query reads.
pub(crate) fn relations_of(query: &Query) -> BTreeSet<String> {
    struct Relations(BTreeSet<String>);
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            let last = relation.0.last().and_then(|part| part.as_ident());
            self.0.extend(last.map(fold));
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(BTreeSet::new());
    let _ = query.visit(&mut relations);
    relations.0
}

/// Returns the error for something that others depend on.
pub(crate) fn depends(kind: &str, name: &str, detail: String) -> Error {
    let message = format!("cannot drop {kind} {name} because other objects depend on it");
    Error::new(ErrorKind::InvalidStatement, message)
        .with_code("2BP01")
        .with_detail(detail)
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// Returns what a join pairs rows by; `None` for the kinds that have nothing of it.
pub(crate) fn join_constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => Some(constraint),
        _ => None,
    }
}
