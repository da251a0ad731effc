//! DROP OWNED: what roles own goes, and what they were granted.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectType};
use nacre_store::{
    AccessChange, BOOTSTRAP_ROLE_OID, ObjectAccess, SEQUENCES_TABLE, Securable, Store,
};

use super::check::{insufficient, name_of};
use super::grants::drop_orphans;
use super::rights::{Kind, owns};
use super::statement::Who;
use crate::ddl::drop_tables;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::notices::Notices;
use crate::relations::own_sequences;
use crate::sequences::drop_sequences;
use crate::settings::Settings;
use crate::user_views::drop_views;

/// Runs the statement, in the transaction at work; returns a warning if somebody else would have to
/// revoke what the roles were granted. The database stays whose it is.
pub(super) fn run(
    store: &Store,
    settings: &Settings,
    roles: &[Who],
    cascades: bool,
) -> Result<Option<String>> {
    let (state, acting) = (store.access(), settings.acting());
    let mut owners = Vec::with_capacity(roles.len());
    for who in roles {
        let role = who.find(&state, settings)?;
        if !acting.is_as_good_as(&state, role.oid) {
            return Err(insufficient("permission denied to drop objects"));
        }
        if role.oid == BOOTSTRAP_ROLE_OID {
            let message = format!(
                "cannot drop objects owned by role {} because they are required by the database \
                 system",
                role.name
            );
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("2BP01"));
        }
        owners.push(role.oid);
    }
    if owners.contains(&state.object(&Securable::Schema).owner) {
        return Err(Error::not_supported("DROP OWNED by the owner of the schema")
            .with_hint("Use ALTER SCHEMA public OWNER TO another role first."));
    }
    drop_objects(store, settings.notices(), &owners, cascades)?;
    let state = store.access();
    let (mut changes, mut warning) = (Vec::new(), None);
    for (object, access) in state.objects() {
        let Some(left) = without(Kind::of(object), access, &owners) else { continue };
        match owns(&state, acting.oid, access) {
            true => changes.push(AccessChange::Object(object.clone(), left)),
            false => {
                let name = name_of(store, object).unwrap_or_default();
                warning = Some(format!("no privileges could be revoked for \"{name}\""));
            }
        }
    }
    store.change_access(&changes).map_err(from_store)?;
    Ok(warning)
}

/// Drops the views, tables and sequences that roles own.
fn drop_objects(store: &Store, notices: &Notices, owners: &[u32], cascades: bool) -> Result<()> {
    let state = store.access();
    let is_theirs = |object: &Securable| owners.contains(&state.object(object).owner);
    let name = |name: &str| ObjectName::from(vec![Ident::with_quote('"', name)]);
    let all = store.views();
    let views = all.iter().map(|view| &view.name);
    let views = views.filter(|name| is_theirs(&Securable::View((*name).clone())));
    let views: Vec<ObjectName> = views.map(|view| name(view)).collect();
    let how = (false, cascades);
    drop_views(store, notices, &views, how)?;
    let all = store.tables();
    let tables = all.iter().filter(|table| is_theirs(&Securable::Table(table.id())));
    let tables = tables.filter(|table| table.schema().name != SEQUENCES_TABLE);
    let tables: Vec<ObjectName> = tables.map(|table| name(&table.schema().name)).collect();
    // Those that go with a table are whose it is.
    let linked: Vec<String> = all.iter().flat_map(|table| own_sequences(&table.rules())).collect();
    drop_tables(store, notices, &ObjectType::Table, &tables, how)?;
    let all = store.sequences().map_err(from_store)?;
    let sequences = all.iter().map(|sequence| sequence.def().name.clone());
    let sequences = sequences.filter(|name| !linked.contains(name));
    let sequences = sequences.filter(|name| is_theirs(&Securable::Sequence(name.clone())));
    let sequences: Vec<ObjectName> = sequences.map(|sequence| name(&sequence)).collect();
    drop_sequences(store, notices, &sequences, how).map(drop)
}

/// Returns what an object grants without roles that do not own it; `None` if that is the same.
fn without(kind: Kind, access: &ObjectAccess, roles: &[u32]) -> Option<ObjectAccess> {
    let is_gone = |role: u32| role != access.owner && roles.contains(&role);
    let mut grants = access.grants.clone()?;
    let before = grants.len();
    grants.retain(|grant| !is_gone(grant.grantee) && !is_gone(grant.grantor));
    if grants.len() == before {
        return None;
    }
    while drop_orphans(&mut grants, access.owner, kind) {}
    Some(ObjectAccess { owner: access.owner, grants: Some(grants) })
}
