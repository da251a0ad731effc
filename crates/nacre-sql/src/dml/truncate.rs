//! TRUNCATE: tables get empty ones in their places, however many rows they have.
//!
//! The store does it ([`nacre_store::Transaction::truncate_tables`]); here are the tables that a
//! statement means, who may empty them, and the sequences that begin anew.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    CascadeOption, Ident, ObjectName, Truncate, TruncateIdentityOption,
};
use nacre_store::{Store, Table};

use super::statement::refuse;
use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::planner::Planner;
use crate::privileges::TRUNCATE;
use crate::relations::table_to_change;
use crate::restarts::RestartBackoff;
use crate::sequences::restart_sequences;
use crate::transaction::Turn;

/// Empties the tables of a statement; commits if it is its own transaction. `planner` and `turn`
/// are of a transaction that defines something.
///
/// Under READ COMMITTED the statement begins anew while another transaction is in its way, for
/// about a second.
///
/// # Errors
/// 42P01, 42501; 0A000 for tables that others refer to; 40001.
pub(crate) async fn truncate(
    planner: &Planner,
    turn: &mut Turn,
    statement: &Truncate,
) -> Result<String> {
    let refusals = [
        (statement.partitions.is_some(), "TRUNCATE ... PARTITION"),
        (statement.on_cluster.is_some(), "TRUNCATE ... ON CLUSTER"),
        (statement.if_exists, "TRUNCATE IF EXISTS"),
    ];
    refuse(&refusals)?;
    let mut restarts = RestartBackoff::default();
    loop {
        let done = attempt(planner, turn, statement).await;
        let is_conflict =
            done.as_ref().is_err_and(|error| error.kind() == ErrorKind::SerializationFailure);
        if !is_conflict || !turn.is_read_committed() || !restarts.wait().await {
            return done.map(|()| "TRUNCATE TABLE".to_owned());
        }
    }
}

async fn attempt(planner: &Planner, turn: &mut Turn, statement: &Truncate) -> Result<()> {
    turn.begin_defining()?;
    // Under READ COMMITTED a statement has a snapshot of its own.
    turn.moment(true)?;
    let (store, acting) = (planner.store(), planner.acting());
    let tables = truncated_tables(&turn.names(store)?, statement)?;
    for table in &tables {
        acting.require_table(store, table, TRUNCATE)?;
    }
    require_unreferred(store, &tables)?;
    if statement.identity == Some(TruncateIdentityOption::Restart) {
        restart_sequences(store, acting, &tables)?;
    }
    let mut hold = turn.lend()?;
    let work = move || {
        let emptied = hold.transaction().truncate_tables(&tables).map_err(from_store);
        let done = emptied.and_then(|()| hold.commit_own());
        (hold, done)
    };
    let (hold, done) = blocking("TRUNCATE", work).await?;
    turn.restore(hold);
    done
}

/// Returns the tables that a statement empties, each once: its list and, with CASCADE, all tables
/// whose rows refer to them.
fn truncated_tables(store: &Store, statement: &Truncate) -> Result<Vec<Arc<Table>>> {
    let mut tables: Vec<Arc<Table>> = Vec::with_capacity(statement.table_names.len());
    let mut names: VecDeque<ObjectName> =
        statement.table_names.iter().map(|target| target.name.clone()).collect();
    while let Some(name) = names.pop_front() {
        let table = table_to_change(store, &name, "TRUNCATE")?;
        if tables.iter().any(|known| Arc::ptr_eq(known, &table)) {
            continue;
        }
        if statement.cascade == Some(CascadeOption::Cascade) {
            for child in store.referring_tables(&table) {
                names.push_back(ObjectName::from(Ident::with_quote('"', &child.schema().name)));
            }
        }
        tables.push(table);
    }
    Ok(tables)
}

/// Refuses tables that rows of other tables refer to, unless these go, too.
fn require_unreferred(store: &Store, tables: &[Arc<Table>]) -> Result<()> {
    for table in tables {
        let mut others = store.referring_tables(table).into_iter();
        let is_known = |child: &Arc<Table>| tables.iter().any(|one| one.id() == child.id());
        if let Some(child) = others.find(|child| !is_known(child)) {
            let (name, child) = (table.schema().name.clone(), child.schema().name.clone());
            let message = "cannot truncate a table referenced in a foreign key constraint";
            let detail = format!("Table \"{child}\" references \"{name}\".");
            let hint = format!("Truncate table \"{child}\" at the same time.");
            let error = Error::new(ErrorKind::NotSupported, message);
            return Err(error.with_detail(detail).with_hint(hint));
        }
    }
    Ok(())
}
