//! Functions with side effects: sequences and advisory locks. Functions that wait for a lock are
//! missing, since workers never block.

use super::cells::Cell;
use super::functions::{Call, FunctionBody};
use crate::advisory_locks::{LockKey, LockMode, LockScope};
use crate::error::{Error, ErrorKind, Result};
use crate::session_functions::unlock;

/// The functions, by name.
pub(super) const FUNCTIONS: [(&str, FunctionBody); 11] = [
    ("nextval", |call, args| {
        let name = sequence(call, &args[0])?;
        call.sequences().next(&name).map(Cell::from)
    }),
    ("currval", |call, args| {
        let name = sequence(call, &args[0])?;
        call.sequences().current(&name).map(Cell::from)
    }),
    ("setval", |call, args| {
        let name = sequence(call, &args[0])?;
        let is_called = args.get(2) != Some(&Cell::Bool(false));
        let value = args[1].int().unwrap_or_default();
        call.sequences().set(&name, value, is_called).map(Cell::from)
    }),
    ("lastval", |call, _| call.sequences().last().map(Cell::from)),
    ("pg_try_advisory_lock", |call, args| {
        try_lock(call, args, LockMode::Exclusive, LockScope::Session)
    }),
    ("pg_try_advisory_lock_shared", |call, args| {
        try_lock(call, args, LockMode::Shared, LockScope::Session)
    }),
    ("pg_try_advisory_xact_lock", |call, args| {
        try_lock(call, args, LockMode::Exclusive, LockScope::Transaction)
    }),
    ("pg_try_advisory_xact_lock_shared", |call, args| {
        try_lock(call, args, LockMode::Shared, LockScope::Transaction)
    }),
    ("pg_advisory_unlock", |call, args| Ok(release(call, args, LockMode::Exclusive))),
    ("pg_advisory_unlock_shared", |call, args| Ok(release(call, args, LockMode::Shared))),
    ("pg_advisory_unlock_all", |call, _| {
        call.locks().unlock_all();
        Ok("".into())
    }),
];

/// Returns the name of a sequence, which its number tells.
fn sequence(call: &Call<'_>, number: &Cell) -> Result<String> {
    let oid = number.int().unwrap_or_default();
    call.objects().relation(oid).map(|relation| relation.name.clone()).ok_or_else(|| {
        Error::new(ErrorKind::UndefinedObject, format!("could not open relation with OID {oid}"))
            .with_code("42P01")
    })
}

fn key_of(args: &[Cell]) -> LockKey {
    let number = |cell: &Cell| cell.int().unwrap_or_default();
    match args {
        // Both are of the type integer.
        [first, second] => LockKey::Pair(number(first) as i32, number(second) as i32),
        _ => LockKey::Number(args.first().map_or(0, number)),
    }
}

fn try_lock(call: &Call<'_>, args: &[Cell], mode: LockMode, scope: LockScope) -> Result<Cell> {
    call.locks().try_lock(key_of(args), mode, scope).map(Cell::from)
}

fn release(call: &Call<'_>, args: &[Cell], mode: LockMode) -> Cell {
    unlock(call.locks(), call.settings(), key_of(args), mode).into()
}
