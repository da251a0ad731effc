//! Privileges as sets of bits, with PostgreSQL's letters and words.

use nacre_store::{AccessState, Grant, ObjectAccess, PUBLIC_ROLE, Securable};

/// A set of privileges, as a grant has it.
pub(crate) type Rights = u16;

pub(crate) const INSERT: Rights = 1;
pub(crate) const SELECT: Rights = 2;
pub(crate) const UPDATE: Rights = 4;
pub(crate) const DELETE: Rights = 8;
pub(crate) const TRUNCATE: Rights = 16;
pub(crate) const REFERENCES: Rights = 32;
pub(crate) const TRIGGER: Rights = 64;
pub(crate) const USAGE: Rights = 256;
pub(crate) const CREATE: Rights = 512;
pub(crate) const TEMPORARY: Rights = 1024;
pub(crate) const CONNECT: Rights = 2048;

/// All of them, in the order in which PostgreSQL writes their letters.
pub(crate) const WORDS: [(Rights, char, &str); 11] = [
    (INSERT, 'a', "INSERT"),
    (SELECT, 'r', "SELECT"),
    (UPDATE, 'w', "UPDATE"),
    (DELETE, 'd', "DELETE"),
    (TRUNCATE, 'D', "TRUNCATE"),
    (REFERENCES, 'x', "REFERENCES"),
    (TRIGGER, 't', "TRIGGER"),
    (USAGE, 'U', "USAGE"),
    (CREATE, 'C', "CREATE"),
    (TEMPORARY, 'T', "TEMPORARY"),
    (CONNECT, 'c', "CONNECT"),
];

/// Kinds of what privileges are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    View,
    Sequence,
    Schema,
    Database,
}

impl Kind {
    pub(crate) fn of(object: &Securable) -> Self {
        match object {
            Securable::Table(_) => Self::Table,
            Securable::View(_) => Self::View,
            Securable::Sequence(_) => Self::Sequence,
            Securable::Schema => Self::Schema,
            Securable::Database => Self::Database,
        }
    }

    /// Returns all that there are of this kind.
    pub(crate) fn all(self) -> Rights {
        match self {
            Self::Table | Self::View => {
                INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER
            }
            Self::Sequence => SELECT | UPDATE | USAGE,
            Self::Schema => USAGE | CREATE,
            Self::Database => CREATE | TEMPORARY | CONNECT,
        }
    }

    /// Returns those that everybody has as long as nobody said anything.
    pub(crate) fn of_public(self) -> Rights {
        match self {
            Self::Table | Self::View | Self::Sequence => 0,
            Self::Schema => USAGE,
            Self::Database => TEMPORARY | CONNECT,
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Database => "database",
        }
    }
}

/// Returns the grants of an object, those included that hold as long as nobody said anything.
pub(crate) fn grants_of(kind: Kind, access: &ObjectAccess) -> Vec<Grant> {
    match &access.grants {
        Some(grants) => grants.clone(),
        None => default_grants(kind, access.owner),
    }
}

/// Returns the grants of an object of which nothing was granted or revoked yet.
pub(crate) fn default_grants(kind: Kind, owner: u32) -> Vec<Grant> {
    let grant = |grantee, privileges| Grant { grantee, grantor: owner, privileges, grantable: 0 };
    let (owners, everybodys) = (grant(owner, kind.all()), grant(PUBLIC_ROLE, kind.of_public()));
    match kind {
        Kind::Table | Kind::View | Kind::Sequence => vec![owners],
        Kind::Schema => vec![owners, everybodys],
        Kind::Database => vec![everybodys, owners],
    }
}

/// Returns what a role may do with an object.
pub(crate) fn rights_of(
    state: &AccessState,
    role: u32,
    kind: Kind,
    access: &ObjectAccess,
) -> Rights {
    match state.role(role) {
        None => 0,
        Some(role) if role.is_superuser => kind.all(),
        Some(_) => {
            let grants = grants_of(kind, access);
            let reaches = |grantee| grantee == PUBLIC_ROLE || inherits(state, role, grantee);
            let of_role = grants.iter().filter(|grant| reaches(grant.grantee));
            of_role.fold(0, |rights, grant| rights | grant.privileges)
        }
    }
}

/// Returns what a role may let others do with an object.
pub(crate) fn grantable_by(
    state: &AccessState,
    role: u32,
    kind: Kind,
    access: &ObjectAccess,
) -> Rights {
    if owns(state, role, access) {
        return kind.all();
    }
    let grants = grants_of(kind, access);
    let of_role = grants.iter().filter(|grant| inherits(state, role, grant.grantee));
    of_role.fold(0, |rights, grant| rights | grant.grantable)
}

/// Whether a role may do what the owner of an object may.
pub(crate) fn owns(state: &AccessState, role: u32, access: &ObjectAccess) -> bool {
    inherits(state, role, access.owner)
}

/// Whether a role has what another one was granted: it is that role, or a member of it by ways
/// that inherit, or a superuser.
pub(crate) fn inherits(state: &AccessState, member: u32, role: u32) -> bool {
    state.role(member).is_some_and(|def| def.is_superuser) || reaches(state, member, role, true)
}

/// Whether a role is another one or a member of it, whether that inherits or not; a superuser is
/// everybody.
pub(crate) fn is_member(state: &AccessState, member: u32, role: u32) -> bool {
    state.role(member).is_some_and(|def| def.is_superuser) || reaches(state, member, role, false)
}

/// As [`is_member`], but superusers are nobody else.
pub(crate) fn is_real_member(state: &AccessState, member: u32, role: u32) -> bool {
    reaches(state, member, role, false)
}

/// Whether a role may make others members of another one.
pub(crate) fn administers(state: &AccessState, member: u32, role: u32) -> bool {
    let is_admin = |def: &nacre_store::RoleDef| {
        let mut admins = def.member_of.iter().filter(|one| one.role == role && one.is_admin);
        admins.next().is_some()
    };
    let mut admins = state.roles().filter(|def| is_admin(def));
    state.role(member).is_some_and(|def| def.is_superuser)
        || admins.any(|def| reaches(state, member, def.oid, false))
}

/// Follows memberships; with `inheriting` those only of roles that inherit.
fn reaches(state: &AccessState, member: u32, role: u32, inheriting: bool) -> bool {
    let (mut seen, mut place) = (vec![member], 0);
    while let Some(def) = seen.get(place).map(|oid| state.role(*oid)) {
        place += 1;
        let Some(def) = def else { continue };
        if def.oid == role {
            return true;
        }
        if inheriting && !def.inherits {
            continue;
        }
        let further = def.member_of.iter().map(|one| one.role);
        let further: Vec<u32> = further.filter(|oid| !seen.contains(oid)).collect();
        seen.extend(further);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_store::{AccessChange, Membership, OpenOptions, RoleDef, Store};

    /// 20 is a member of 21, which does not inherit, 21 one of 22, and 22 one of 10.
    fn chain() -> std::sync::Arc<AccessState> {
        let store = Store::open(OpenOptions::default()).unwrap();
        let role = |oid: u32, of: u32, inherits: bool| {
            let member_of = vec![Membership { role: of, is_admin: oid == 21 }];
            let (name, is_superuser) = (format!("r{oid}"), false);
            let bootstrap = RoleDef::bootstrap();
            AccessChange::Role(RoleDef {
                oid,
                name,
                is_superuser,
                inherits,
                member_of,
                ..bootstrap
            })
        };
        store
            .change_access(&[role(20, 21, true), role(21, 22, false), role(22, 10, true)])
            .unwrap();
        store.access()
    }

    #[test]
    fn memberships_are_followed_as_far_as_roles_inherit() {
        let state = chain();
        for (member, role, inherited, of) in [
            (20, 20, true, true),
            (20, 21, true, true),
            (20, 22, false, true),
            (21, 22, false, true),
            (22, 10, true, true),
            (22, 21, false, false),
            (10, 20, true, true),
            (99, 20, false, false),
        ] {
            assert_eq!(inherits(&state, member, role), inherited, "{member} {role}");
            assert_eq!(is_member(&state, member, role), of, "{member} {role}");
        }
        assert!(administers(&state, 20, 22) && administers(&state, 21, 22));
        assert!(!administers(&state, 22, 22) && !administers(&state, 20, 21));
        assert!(!is_real_member(&state, 10, 20));
    }

    #[test]
    fn everybody_may_use_the_schema_and_make_nothing_in_it() {
        let state = chain();
        let rights = |kind| rights_of(&state, 20, kind, &ObjectAccess::DEFAULT);
        assert_eq!(rights(Kind::Schema), USAGE);
        assert_eq!(rights(Kind::Table), 0);
        assert_eq!(rights_of(&state, 99, Kind::Schema, &ObjectAccess::DEFAULT), 0);
        assert_eq!(rights_of(&state, 10, Kind::Sequence, &ObjectAccess::DEFAULT), 0x106);
        let own = ObjectAccess::owned_by(21);
        assert_eq!(rights_of(&state, 20, Kind::View, &own), 0x7f);
        assert_eq!(grantable_by(&state, 20, Kind::View, &own), 0x7f);
        assert_eq!(grantable_by(&state, 22, Kind::View, &own), 0);
    }
}
