//! Who there is: one role, which owns everything and may do all.

use super::cells::Row;

/// Number and name of the role.
pub(super) const OWNER: (u32, &str) = (10, "nacre");

/// Returns the rows of `pg_authid` and `pg_roles`.
pub(super) fn rows() -> Vec<Row> {
    vec![vec![
        ("oid", OWNER.0.into()),
        ("rolname", OWNER.1.into()),
        ("rolsuper", true.into()),
        ("rolinherit", true.into()),
        ("rolcreaterole", true.into()),
        ("rolcreatedb", true.into()),
        ("rolcanlogin", true.into()),
        ("rolreplication", true.into()),
        ("rolconnlimit", (-1).into()),
        ("rolbypassrls", true.into()),
    ]]
}

/// Returns the rows of `pg_user` and `pg_shadow`.
pub(super) fn users() -> Vec<Row> {
    vec![vec![
        ("usename", OWNER.1.into()),
        ("usesysid", OWNER.0.into()),
        ("usecreatedb", true.into()),
        ("usesuper", true.into()),
        ("userepl", true.into()),
        ("usebypassrls", true.into()),
    ]]
}

/// Returns the name of a role as `pg_get_userbyid` gives it.
pub(super) fn name_of(oid: i64) -> String {
    match oid == i64::from(OWNER.0) {
        true => OWNER.1.to_owned(),
        false => format!("unknown (OID={oid})"),
    }
}

/// Whether the role of the session may do something with what is there.
pub(super) fn may() -> bool {
    true
}
