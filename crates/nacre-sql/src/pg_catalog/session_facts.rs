//! Functions that ask a session who and where it is, and of its settings.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cells::Cell;
use super::functions::{Call, FunctionBody};
use super::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::activity::Request;
use crate::error::{Error, ErrorKind, Result};
use crate::names::{SCHEMA, SYSTEM_SCHEMA};
use crate::session_functions::require_signal_right;
use crate::settings::{Settings, unknown};

/// Schemas that names in `search_path` may mean.
const SCHEMAS: [&str; 4] = [SCHEMA, PG_CATALOG, INFORMATION_SCHEMA, SYSTEM_SCHEMA];

/// The functions, by name.
pub(super) const FUNCTIONS: [(&str, FunctionBody); 17] = [
    ("current_database", |call, _| Ok(call.settings().info().database.as_str().into())),
    ("current_user", |call, _| role(call.settings(), false).map(Cell::from)),
    ("session_user", |call, _| role(call.settings(), true).map(Cell::from)),
    ("current_schema", |call, _| Ok(schemas(call.settings(), false).into_iter().next().into())),
    ("current_schemas", |call, args| {
        Ok(schemas(call.settings(), args[0] == Cell::Bool(true)).into())
    }),
    ("pg_backend_pid", |call, _| Ok(call.settings().info().process_id.into())),
    ("pg_is_in_recovery", |_, _| Ok(false.into())),
    ("pg_is_wal_replay_paused", |_, _| Ok(false.into())),
    ("pg_postmaster_start_time", |call, _| Ok(moment(call.opened()))),
    ("pg_conf_load_time", |call, _| Ok(moment(call.opened()))),
    ("inet_client_addr", |call, _| Ok(address(call.settings().info().client))),
    ("inet_client_port", |call, _| Ok(port(call.settings().info().client))),
    ("inet_server_addr", |call, _| Ok(address(call.settings().info().server))),
    ("inet_server_port", |call, _| Ok(port(call.settings().info().server))),
    ("current_setting", current_setting),
    ("set_config", set_config),
    ("pg_cancel_backend", |call, args| signal(call, args, Request::Cancel)),
];

/// Returns the name of the role that the session acts as, or that it is of.
///
/// # Errors
/// 42704 if the role was dropped.
pub(crate) fn role(settings: &Settings, is_of_session: bool) -> Result<String> {
    settings.role_name(is_of_session).ok_or_else(|| {
        let message = "the role of the session does not exist any more";
        Error::new(ErrorKind::UndefinedObject, message)
    })
}

fn address(of: Option<SocketAddr>) -> Cell {
    of.map(|address| address.ip().to_canonical().to_string()).into()
}

fn port(of: Option<SocketAddr>) -> Cell {
    of.map(|address| i64::from(address.port())).into()
}

/// Returns microseconds since 1970.
fn moment(of: SystemTime) -> Cell {
    let since = of.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).ok().into()
}

/// Returns the schemas of `search_path` that there are; `pg_catalog`, which is searched first
/// unless it is named, only `with_implicit`.
pub(crate) fn schemas(settings: &Settings, with_implicit: bool) -> Vec<String> {
    let user = &settings.info().user;
    let listed = settings.search_path();
    let named = listed.iter().map(|name| if name == "$user" { user } else { name });
    let mut found: Vec<String> = Vec::new();
    for name in named.filter(|name| SCHEMAS.contains(&name.as_str())) {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    if with_implicit && !found.iter().any(|name| name == PG_CATALOG) {
        found.insert(0, PG_CATALOG.to_owned());
    }
    found
}

fn current_setting(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let name = args[0].text().unwrap_or_default();
    match (call.settings().shown(name), args.get(1)) {
        (Some(value), _) => Ok(value.into()),
        (None, Some(Cell::Bool(true))) => Ok(Cell::Null),
        (None, _) => Err(unknown(name)),
    }
}

fn set_config(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let Some(name) = args[0].text() else {
        let message = "SET requires parameter name";
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22004"));
    };
    let is_local = args.get(2) == Some(&Cell::Bool(true));
    call.settings().set(name, args[1].text(), is_local).map(Cell::from)
}

/// Asks something of another session; returns whether there is one of that number.
fn signal(call: &Call<'_>, args: &[Cell], request: Request) -> Result<Cell> {
    let number = args[0].int().and_then(|number| i32::try_from(number).ok());
    let found = number.and_then(|number| call.activities().find(number));
    if let Some(activity) = &found {
        require_signal_right(call.settings(), activity, request)?;
        activity.ask(request);
    }
    Ok(found.is_some().into())
}
