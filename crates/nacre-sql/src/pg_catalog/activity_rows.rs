//! The rows of `pg_stat_activity` and its relatives. What nothing counts is null in them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cells::{Cell, Row};
use super::fixed::DATABASE;
use super::objects::{Kind, Objects};
use nacre_store::Store;

use crate::activity::{Activities, Activity};
use crate::names::{CATALOG, SCHEMA};
use crate::settings::Settings;
use crate::transaction::TransactionStatus;

/// Returns the rows of `pg_stat_activity`.
pub(super) fn sessions(activities: &Activities, settings: &Settings, store: &Store) -> Vec<Row> {
    activities.all().iter().map(|one| session(one, settings, store)).collect()
}

fn session(activity: &Activity, settings: &Settings, store: &Store) -> Row {
    let participant = &activity.participant;
    let mut row: Row = vec![
        ("datid", DATABASE.into()),
        ("datname", CATALOG.into()),
        ("pid", participant.process_id.into()),
        ("usesysid", store.role(&participant.user).map(|role| role.oid).into()),
        ("usename", participant.user.as_str().into()),
    ];
    // As PostgreSQL: what others do is their own.
    if !settings.may_see(&participant.user) {
        row.push(("query", "<insufficient privilege>".into()));
        return row;
    }
    let moment = activity.moment();
    let state = match (moment.is_active, moment.status) {
        (true, _) => "active",
        (false, TransactionStatus::Idle) => "idle",
        (false, TransactionStatus::Open) => "idle in transaction",
        (false, TransactionStatus::Failed) => "idle in transaction (aborted)",
    };
    let waits = (!moment.is_active).then_some(("Client", "ClientRead"));
    row.extend([
        ("application_name", moment.application.into()),
        (
            "client_addr",
            participant.address.map(|address| address.ip().to_canonical().to_string()).into(),
        ),
        ("client_port", participant.address.map(|address| i64::from(address.port())).into()),
        ("backend_start", time(activity.started)),
        ("xact_start", moment.transaction_start.map_or(Cell::Null, time)),
        ("query_start", moment.query_start.map_or(Cell::Null, time)),
        ("state_change", time(moment.changed)),
        ("wait_event_type", waits.map(|(kind, _)| kind).into()),
        ("wait_event", waits.map(|(_, event)| event).into()),
        ("state", state.into()),
        ("query", moment.query.into()),
        ("backend_type", "client backend".into()),
    ]);
    row
}

/// Returns a moment as a cell: microseconds.
fn time(of: SystemTime) -> Cell {
    let since = of.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    Cell::Int(i64::try_from(since).unwrap_or(i64::MAX))
}

/// Returns the rows of `pg_stat_ssl`.
pub(super) fn encryption(activities: &Activities) -> Vec<Row> {
    let row = |one: &Arc<Activity>| {
        vec![
            ("pid", one.participant.process_id.into()),
            ("ssl", one.participant.is_encrypted.into()),
        ]
    };
    activities.all().iter().map(row).collect()
}

/// Returns the rows of `pg_stat_gssapi`.
pub(super) fn gssapi(activities: &Activities) -> Vec<Row> {
    let row = |one: &Arc<Activity>| {
        vec![
            ("pid", one.participant.process_id.into()),
            ("gss_authenticated", false.into()),
            ("encrypted", false.into()),
        ]
    };
    activities.all().iter().map(row).collect()
}

/// Returns the rows of `pg_stat_database`.
pub(super) fn databases(activities: &Activities) -> Vec<Row> {
    vec![vec![
        ("datid", DATABASE.into()),
        ("datname", CATALOG.into()),
        ("numbackends", activities.all().len().into()),
    ]]
}

/// Returns the rows of `pg_stat_all_tables` and `pg_stat_user_tables`.
pub(super) fn tables(objects: &Objects) -> Vec<Row> {
    let row = |relation: &super::objects::Relation| {
        let Kind::Table(table) = &relation.is else { return None };
        Some(vec![
            ("relid", relation.oid.into()),
            ("schemaname", SCHEMA.into()),
            ("relname", relation.name.as_str().into()),
            ("n_live_tup", Cell::from(table.committed().rows() as usize)),
        ])
    };
    objects.relations.iter().filter_map(row).collect()
}
