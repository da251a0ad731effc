//! Who there is, and who is a member of whom.

use datafusion::arrow::array::TimestampMicrosecondArray;
use nacre_store::{AccessState, BOOTSTRAP_ROLE_OID, RoleDef};
use std::sync::Arc;

use super::cells::{Cell, Row};
use crate::types::UTC;

/// The role that what nobody made belongs to.
pub(super) const OWNER: (u32, &str) = (BOOTSTRAP_ROLE_OID, nacre_store::BOOTSTRAP_ROLE);

/// Returns the rows of `pg_authid`, or of `pg_roles`, where passwords are not shown.
pub(super) fn rows(state: &AccessState, shows_passwords: bool) -> Vec<Row> {
    let row = |role: &Arc<RoleDef>| {
        vec![
            ("oid", role.oid.into()),
            ("rolname", role.name.as_str().into()),
            ("rolsuper", role.is_superuser.into()),
            ("rolinherit", role.inherits.into()),
            ("rolcreaterole", role.can_create_role.into()),
            ("rolcreatedb", role.can_create_db.into()),
            ("rolcanlogin", role.can_login.into()),
            ("rolreplication", (role.oid == OWNER.0).into()),
            ("rolconnlimit", role.connection_limit.map_or(-1, i64::from).into()),
            ("rolpassword", password(role, shows_passwords)),
            ("rolvaliduntil", until(role)),
            ("rolbypassrls", (role.oid == OWNER.0).into()),
        ]
    };
    state.roles().map(row).collect()
}

/// Returns the rows of `pg_shadow`, or of `pg_user`, where passwords are not shown.
pub(super) fn users(state: &AccessState, shows_passwords: bool) -> Vec<Row> {
    let row = |role: &Arc<RoleDef>| {
        vec![
            ("usename", role.name.as_str().into()),
            ("usesysid", role.oid.into()),
            ("usecreatedb", role.can_create_db.into()),
            ("usesuper", role.is_superuser.into()),
            ("userepl", (role.oid == OWNER.0).into()),
            ("usebypassrls", (role.oid == OWNER.0).into()),
            ("passwd", password(role, shows_passwords)),
            ("valuntil", until(role)),
        ]
    };
    state.roles().filter(|role| role.can_login).map(row).collect()
}

/// Returns the rows of `pg_group`.
pub(super) fn groups(state: &AccessState) -> Vec<Row> {
    let row = |group: &Arc<RoleDef>| {
        let is_in = |role: &&Arc<RoleDef>| role.member_of.iter().any(|one| one.role == group.oid);
        let members: Vec<u32> = state.roles().filter(is_in).map(|role| role.oid).collect();
        vec![
            ("groname", group.name.as_str().into()),
            ("grosysid", group.oid.into()),
            ("grolist", members.into()),
        ]
    };
    state.roles().filter(|role| !role.can_login).map(row).collect()
}

/// Returns the rows of `pg_auth_members`.
pub(super) fn members(state: &AccessState) -> Vec<Row> {
    let rows = state.roles().flat_map(|member| {
        member.member_of.iter().map(|membership| {
            vec![
                ("roleid", membership.role.into()),
                ("member", member.oid.into()),
                ("grantor", OWNER.0.into()),
                ("admin_option", membership.is_admin.into()),
            ]
        })
    });
    rows.collect()
}

fn password(role: &RoleDef, is_shown: bool) -> Cell {
    match is_shown {
        true => role.verifier.as_deref().into(),
        false => "********".into(),
    }
}

/// Returns when the password of a role ends.
fn until(role: &RoleDef) -> Cell {
    let Some(until) = role.valid_until else { return Cell::Null };
    let array: datafusion::arrow::array::ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![until]).with_timezone(UTC));
    Cell::of(&array, 0).unwrap_or_default()
}

/// Returns the name of a role as `pg_get_userbyid` gives it.
pub(super) fn name_of(state: &AccessState, oid: i64) -> String {
    match find(state, oid) {
        Some(role) => role.name.clone(),
        None => format!("unknown (OID={oid})"),
    }
}

/// Returns the role of a number.
pub(super) fn find(state: &AccessState, oid: i64) -> Option<&Arc<RoleDef>> {
    u32::try_from(oid).ok().and_then(|oid| state.role(oid))
}
