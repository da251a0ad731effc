//! ALTER ... OWNER TO, and REASSIGN OWNED.

use nacre_store::{AccessChange, AccessState, Grant, ObjectAccess, RoleDef, Securable, Store};

use super::check::{Acting, insufficient};
use super::grants::relation;
use super::rights::{CREATE, Kind, is_member, owns, rights_of};
use super::statement::{Owned, OwnerStatement, Who};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::{CATALOG, SCHEMA};
use crate::relations::own_sequences;
use crate::settings::Settings;

/// Runs ALTER ... OWNER TO.
pub(super) fn run(
    store: &Store,
    settings: &Settings,
    statement: &OwnerStatement,
) -> Result<Option<String>> {
    let (state, acting) = (store.access(), settings.acting());
    let (object, name) = match &statement.object {
        Owned::Table(name) | Owned::View(name) | Owned::Sequence(name) => {
            match relation(store, name) {
                Err(error) if statement.if_exists && error.sqlstate() == "42P01" => {
                    return Ok(None);
                }
                found => found?,
            }
        }
        Owned::Schema => (Securable::Schema, SCHEMA.to_owned()),
        Owned::Database => (Securable::Database, CATALOG.to_owned()),
    };
    require_kind(&statement.object, &object, &name)?;
    let to = statement.to.find(&state, settings)?;
    if state.object(&object).owner == to.oid {
        return Ok(None);
    }
    require_free_to_give(&state, acting, (&object, &name), to)?;
    require_no_column(store, &object)?;
    let mut changes = vec![given(&state, object.clone(), to.oid)];
    if let Securable::Table(id) = &object {
        let tables = store.tables();
        let table = tables.iter().find(|table| table.id() == *id);
        let sequences = table.map(|table| own_sequences(&table.rules())).unwrap_or_default();
        let sequences = sequences.into_iter().map(Securable::Sequence);
        changes.extend(sequences.map(|sequence| given(&state, sequence, to.oid)));
    }
    store.change_access(&changes).map_err(from_store)?;
    Ok(None)
}

/// Runs REASSIGN OWNED.
pub(super) fn reassign(store: &Store, settings: &Settings, from: &[Who], to: &Who) -> Result<()> {
    let (state, acting) = (store.access(), settings.acting());
    let to = to.find(&state, settings)?;
    let mut owners = Vec::with_capacity(from.len());
    for who in from {
        let owner = who.find(&state, settings)?;
        if !acting.is_as_good_as(&state, owner.oid) || !acting.is_as_good_as(&state, to.oid) {
            return Err(insufficient("permission denied to reassign objects"));
        }
        if owner.oid == nacre_store::BOOTSTRAP_ROLE_OID {
            let message = format!(
                "cannot reassign ownership of objects owned by role {} because they are required \
                 by the database system",
                owner.name
            );
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("2BP01"));
        }
        owners.push(owner.oid);
    }
    let theirs = state.objects().filter(|(_, access)| owners.contains(&access.owner));
    let changes: Vec<AccessChange> =
        theirs.map(|(object, _)| given(&state, object.clone(), to.oid)).collect();
    store.change_access(&changes).map_err(from_store)
}

/// Refuses the wrong word for an object; ALTER TABLE is for all relations.
fn require_kind(said: &Owned, object: &Securable, name: &str) -> Result<()> {
    let wanted = match (said, Kind::of(object)) {
        (Owned::View(_), Kind::Table | Kind::Sequence) => "a view",
        (Owned::Sequence(_), Kind::Table | Kind::View) => "a sequence",
        _ => return Ok(()),
    };
    let message = format!("\"{name}\" is not {wanted}");
    Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"))
}

/// Refuses a sequence that goes with a column: it has the owner of the table.
fn require_no_column(store: &Store, object: &Securable) -> Result<()> {
    let Securable::Sequence(name) = object else { return Ok(()) };
    for table in store.tables() {
        if own_sequences(&table.rules()).contains(name) {
            let message = format!("cannot change owner of sequence \"{name}\"");
            let table = &table.schema().name;
            let detail = format!("Sequence \"{name}\" is linked to table \"{table}\".");
            return Err(Error::new(ErrorKind::NotSupported, message).with_detail(detail));
        }
    }
    Ok(())
}

fn require_free_to_give(
    state: &AccessState,
    acting: Acting,
    (object, name): (&Securable, &str),
    to: &RoleDef,
) -> Result<()> {
    if acting.is_superuser {
        return Ok(());
    }
    let kind = Kind::of(object);
    if !owns(state, acting.oid, state.object(object)) {
        return Err(insufficient(format!("must be owner of {} {name}", kind.noun())));
    }
    if !is_member(state, acting.oid, to.oid) {
        return Err(insufficient(format!("must be member of role \"{}\"", to.name)));
    }
    let schema = state.object(&Securable::Schema);
    match rights_of(state, to.oid, Kind::Schema, schema) & CREATE {
        0 => Err(insufficient(format!("permission denied for schema {SCHEMA}"))),
        _ => Ok(()),
    }
}

/// Returns the change that gives an object to a role; what the old owner was granted, and had
/// granted, becomes the new one's.
fn given(state: &AccessState, object: Securable, to: u32) -> AccessChange {
    let access = state.object(&object);
    let moved = |role: u32| if role == access.owner { to } else { role };
    let grants = access.grants.as_ref().map(|grants| {
        let mut all: Vec<Grant> = Vec::with_capacity(grants.len());
        for grant in grants {
            let (grantee, grantor) = (moved(grant.grantee), moved(grant.grantor));
            match all.iter_mut().find(|one| (one.grantee, one.grantor) == (grantee, grantor)) {
                Some(known) => {
                    known.privileges |= grant.privileges;
                    known.grantable |= grant.grantable;
                }
                None => all.push(Grant { grantee, grantor, ..*grant }),
            }
        }
        all
    });
    AccessChange::Object(object, ObjectAccess { owner: to, grants })
}
