//! CREATE, ALTER and DROP ROLE.

use nacre_access::Password;
use nacre_ingest::parse::parse_timestamp;
use nacre_store::{AccessChange, AccessState, BOOTSTRAP_ROLE_OID, Membership, RoleDef, Store};

use super::check::{Acting, insufficient, name_of};
use super::members;
use super::rights::Kind;
use super::statement::Who;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::settings::Settings;

/// What CREATE and ALTER ROLE say; `None` is what is not said.
#[derive(Default)]
pub(crate) struct RoleOptions {
    pub(super) is_superuser: Option<bool>,
    pub(super) can_create_db: Option<bool>,
    pub(super) can_create_role: Option<bool>,
    pub(super) inherits: Option<bool>,
    pub(super) can_login: Option<bool>,
    pub(super) connection_limit: Option<Option<u32>>,
    pub(super) valid_until: Option<Option<i64>>,
    /// The text of a verifier; a password in clear does not get here.
    pub(super) verifier: Option<Option<String>>,
    /// Roles that the new one becomes a member of.
    pub(super) member_of: Vec<Who>,
    /// Roles that become members of the new one.
    pub(super) members: Vec<Who>,
    pub(super) admins: Vec<Who>,
}

/// Makes of a password what it is checked by; none of an empty one.
///
/// # Errors
/// `not supported` for an MD5 hash.
pub(super) fn verifier(password: &str) -> Result<Option<String>> {
    match Password::new(password) {
        Ok(Password::None) => Ok(None),
        Ok(Password::Verifier(verifier)) => Ok(Some(verifier.to_string())),
        Err(error) => Err(Error::new(ErrorKind::NotSupported, error.to_string())),
    }
}

/// Reads when a password ends.
///
/// # Errors
/// 22007 and the like; `not supported` for a time in another zone than UTC.
pub(super) fn valid_until(text: &str) -> Result<Option<i64>> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("infinity") {
        return Ok(None);
    }
    let upper = text.to_ascii_uppercase();
    let zones = ["+00:00", "+00", "-00", "UTC", "GMT", "Z"];
    let cut = zones.iter().find_map(|zone| upper.strip_suffix(zone)).map_or(text.len(), str::len);
    let time = text.get(..cut).unwrap_or(text).trim();
    let has_zone = time.get(10..).is_some_and(|rest| rest.contains(['+', '-']));
    if has_zone {
        return Err(Error::not_supported(format_args!("VALID UNTIL \"{text}\""))
            .with_hint("Give the time in UTC."));
    }
    let read = parse_timestamp(time.as_bytes());
    read.map(Some).map_err(|_| {
        let message = format!("invalid input syntax for type timestamp with time zone: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22007")
    })
}

impl RoleOptions {
    /// Whether nothing but the password is said.
    fn is_password_only(&self) -> bool {
        let flags = [
            self.is_superuser,
            self.can_create_db,
            self.can_create_role,
            self.inherits,
            self.can_login,
        ];
        flags.iter().all(Option::is_none)
            && self.connection_limit.is_none()
            && self.valid_until.is_none()
    }

    fn apply(&self, role: &mut RoleDef) {
        role.is_superuser = self.is_superuser.unwrap_or(role.is_superuser);
        role.can_create_db = self.can_create_db.unwrap_or(role.can_create_db);
        role.can_create_role = self.can_create_role.unwrap_or(role.can_create_role);
        role.inherits = self.inherits.unwrap_or(role.inherits);
        role.can_login = self.can_login.unwrap_or(role.can_login);
        role.connection_limit = self.connection_limit.unwrap_or(role.connection_limit);
        role.valid_until = self.valid_until.unwrap_or(role.valid_until);
        if let Some(verifier) = &self.verifier {
            role.verifier.clone_from(verifier);
        }
    }
}

/// Whether a role may create others, and alter and drop those that are no superusers.
pub(super) fn may_create_roles(state: &AccessState, acting: Acting) -> bool {
    acting.is_superuser || state.role(acting.oid).is_some_and(|role| role.can_create_role)
}

/// Runs CREATE ROLE.
pub(super) fn create(
    store: &Store,
    settings: &Settings,
    name: &Who,
    options: &RoleOptions,
) -> Result<()> {
    let (state, acting) = (store.access(), settings.acting());
    if options.is_superuser == Some(true) {
        acting.require_superuser("must be superuser to create superusers")?;
    }
    if !may_create_roles(&state, acting) {
        return Err(insufficient("permission denied to create role"));
    }
    let name = name.new_name()?;
    require_free(&state, name)?;
    let mut role = RoleDef {
        oid: state.next_role(),
        name: name.to_owned(),
        is_superuser: false,
        can_login: false,
        can_create_db: false,
        can_create_role: false,
        inherits: true,
        connection_limit: None,
        valid_until: None,
        verifier: None,
        member_of: Vec::new(),
    };
    options.apply(&mut role);
    let mut changes = Vec::new();
    for parent in &options.member_of {
        let parent = parent.find(&state, settings)?;
        members::require_admin(&state, acting, parent)?;
        role.member_of.push(Membership { role: parent.oid, is_admin: false });
    }
    let (own, is_plain, is_admin) = (role.oid, |who| (who, false), |who| (who, true));
    let members = options.members.iter().map(is_plain).chain(options.admins.iter().map(is_admin));
    changes.push(AccessChange::Role(role));
    for (member, is_admin) in members {
        let mut member = member.find(&state, settings)?.clone();
        members::join(&mut member, own, is_admin);
        changes.push(AccessChange::Role(member));
    }
    store.change_access(&changes).map_err(from_store)
}

/// Runs ALTER ROLE.
pub(super) fn alter(
    store: &Store,
    settings: &Settings,
    who: &Who,
    options: &RoleOptions,
) -> Result<()> {
    let (state, acting) = (store.access(), settings.acting());
    let mut role = who.find(&state, settings)?.clone();
    if role.is_superuser || options.is_superuser.is_some() {
        acting.require_superuser(
            "must be superuser to alter superuser roles or change superuser attribute",
        )?;
    } else if !(may_create_roles(&state, acting)
        || options.is_password_only() && role.oid == acting.oid)
    {
        return Err(insufficient("permission denied"));
    }
    if role.oid == BOOTSTRAP_ROLE_OID && options.is_superuser == Some(false) {
        return Err(Error::not_supported(format_args!("NOSUPERUSER of role \"{}\"", role.name)));
    }
    options.apply(&mut role);
    store.change_access(&[AccessChange::Role(role)]).map_err(from_store)
}

/// Runs ALTER ROLE ... RENAME TO.
pub(super) fn rename(store: &Store, settings: &Settings, who: &Who, to: &Who) -> Result<()> {
    let (state, acting) = (store.access(), settings.acting());
    let mut role = who.find(&state, settings)?.clone();
    if role.oid == settings.session_role() {
        return Err(Error::new(ErrorKind::NotSupported, "session user cannot be renamed"));
    }
    if role.oid == acting.oid {
        return Err(Error::new(ErrorKind::NotSupported, "current user cannot be renamed"));
    }
    let name = to.new_name()?;
    require_free(&state, name)?;
    if role.is_superuser {
        acting.require_superuser("must be superuser to rename superusers")?;
    } else if !may_create_roles(&state, acting) {
        return Err(insufficient("permission denied to rename role"));
    }
    if role.oid == BOOTSTRAP_ROLE_OID {
        return Err(Error::not_supported(format_args!("renaming role \"{}\"", role.name)));
    }
    role.name = name.to_owned();
    store.change_access(&[AccessChange::Role(role)]).map_err(from_store)
}

fn require_free(state: &AccessState, name: &str) -> Result<()> {
    match state.role_named(name) {
        None => Ok(()),
        Some(_) => {
            let message = format!("role \"{name}\" already exists");
            Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42710"))
        }
    }
}

/// Runs DROP ROLE: all that are named go, or none.
pub(super) fn drop_all(
    store: &Store,
    settings: &Settings,
    roles: &[Who],
    if_exists: bool,
) -> Result<()> {
    let (state, acting) = (store.access(), settings.acting());
    if !may_create_roles(&state, acting) {
        return Err(insufficient("permission denied to drop role"));
    }
    let mut gone = Vec::with_capacity(roles.len());
    for who in roles {
        let Who::Named(_) = who else {
            let message = "cannot use special role specifier in DROP ROLE";
            return Err(Error::invalid_parameter(message));
        };
        let role = match who.find(&state, settings) {
            Err(_) if if_exists => {
                if let Who::Named(name) = who {
                    settings.notices().missing(format_args!("role \"{name}\""));
                }
                continue;
            }
            found => found?,
        };
        let in_use = |which: &str| {
            let message = format!("{which} user cannot be dropped");
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("55006"))
        };
        if role.oid == acting.oid {
            return in_use("current");
        }
        if role.oid == settings.session_role() || role.oid == settings.login_role() {
            return in_use("session");
        }
        if role.is_superuser {
            acting.require_superuser("must be superuser to drop superusers")?;
        }
        require_unneeded(store, &state, role)?;
        gone.push(role.oid);
    }
    let mut changes: Vec<AccessChange> = Vec::new();
    for member in state.roles().filter(|role| !gone.contains(&role.oid)) {
        let mut member = RoleDef::clone(member);
        let before = member.member_of.len();
        member.member_of.retain(|one| !gone.contains(&one.role));
        if member.member_of.len() != before {
            changes.push(AccessChange::Role(member));
        }
    }
    changes.extend(gone.into_iter().map(AccessChange::RoleDropped));
    store.change_access(&changes).map_err(from_store)
}

/// Refuses a role that owns something, or is granted something.
fn require_unneeded(store: &Store, state: &AccessState, role: &RoleDef) -> Result<()> {
    let name = &role.name;
    let mut details = Vec::new();
    if role.oid == BOOTSTRAP_ROLE_OID {
        let message =
            format!("cannot drop role {name} because it is required by the database system");
        return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("2BP01"));
    }
    for (object, access) in state.objects() {
        let Some(name) = name_of(store, object) else { continue };
        let shown = format!("{} {name}", Kind::of(object).noun());
        if access.owner == role.oid {
            details.push(format!("owner of {shown}"));
        } else if access.roles().any(|one| one == role.oid) {
            details.push(format!("privileges for {shown}"));
        }
    }
    match details.is_empty() {
        true => Ok(()),
        false => {
            let message =
                format!("role \"{name}\" cannot be dropped because some objects depend on it");
            Err(Error::new(ErrorKind::InvalidStatement, message)
                .with_code("2BP01")
                .with_detail(details.join("\n")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_ends_at_a_time_of_utc() {
        let day = 86_400_000_000;
        for (text, until) in [
            ("infinity", None),
            ("1970-01-02", Some(day)),
            ("1970-01-02 00:00:01+00", Some(day + 1_000_000)),
            ("1970-01-02T00:00:00Z", Some(day)),
            ("1970-01-02 00:00 UTC", Some(day)),
        ] {
            assert_eq!(valid_until(text).unwrap(), until, "{text}");
        }
        assert_eq!(valid_until("1970-01-02 00:00:00+02").unwrap_err().sqlstate(), "0A000");
        assert_eq!(valid_until("soon").unwrap_err().sqlstate(), "22007");
    }

    #[test]
    fn no_password_in_clear_is_kept() {
        let kept = verifier("s3cret").unwrap().unwrap();
        assert!(kept.starts_with("SCRAM-SHA-256$") && !kept.contains("s3cret"));
        assert_eq!(verifier("").unwrap(), None);
    }
}
