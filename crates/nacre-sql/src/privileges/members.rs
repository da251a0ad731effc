//! GRANT and REVOKE of roles.

use nacre_store::{AccessChange, AccessState, Membership, RoleDef, Store};

use super::check::{Acting, insufficient};
use super::rights::{administers, is_real_member};
use super::roles::may_create_roles;
use super::statement::{Members, Who};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::settings::Settings;

/// Makes a role a member of another one, or its membership one with the right to make others
/// members.
pub(super) fn join(member: &mut RoleDef, role: u32, is_admin: bool) {
    match member.member_of.iter_mut().find(|one| one.role == role) {
        Some(known) => known.is_admin |= is_admin,
        None => member.member_of.push(Membership { role, is_admin }),
    }
}

/// Checks that somebody may make others members of a role.
///
/// # Errors
/// 42501.
pub(super) fn require_admin(state: &AccessState, acting: Acting, role: &RoleDef) -> Result<()> {
    if role.is_superuser {
        return acting.require_superuser("must be superuser to alter superusers");
    }
    match may_create_roles(state, acting) || administers(state, acting.oid, role.oid) {
        true => Ok(()),
        false => Err(insufficient(format!("must have admin option on role \"{}\"", role.name))),
    }
}

/// Runs the statement; returns a warning if there was nothing to revoke.
pub(super) fn run(
    store: &Store,
    settings: &Settings,
    statement: &Members,
) -> Result<Option<String>> {
    let acting = settings.acting();
    let mut warning = None;
    for role in &statement.roles {
        let state = store.access();
        let role = role.find(&state, settings)?;
        require_admin(&state, acting, role)?;
        for who in &statement.members {
            // What was changed before counts.
            let state = store.access();
            let mut member = found(who, &state, settings)?;
            match statement.is_grant {
                true => {
                    require_no_circle(&state, role, &member)?;
                    join(&mut member, role.oid, statement.admin);
                }
                false => {
                    let known = member.member_of.iter_mut().find(|one| one.role == role.oid);
                    match (known, statement.admin) {
                        (None, _) => {
                            warning = Some(format!(
                                "role \"{}\" is not a member of role \"{}\"",
                                member.name, role.name
                            ));
                        }
                        (Some(known), true) => known.is_admin = false,
                        (Some(_), false) => {
                            member.member_of.retain(|one| one.role != role.oid);
                        }
                    }
                }
            }
            store.change_access(&[AccessChange::Role(member)]).map_err(from_store)?;
        }
    }
    Ok(warning)
}

fn found(who: &Who, state: &AccessState, settings: &Settings) -> Result<RoleDef> {
    who.find(state, settings).cloned()
}

fn require_no_circle(state: &AccessState, role: &RoleDef, member: &RoleDef) -> Result<()> {
    match is_real_member(state, role.oid, member.oid) {
        false => Ok(()),
        true => {
            let message = format!("role \"{}\" is a member of role \"{}\"", role.name, member.name);
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("0LP01"))
        }
    }
}
