//! GRANT and REVOKE of privileges.
//!
//! Who grants is the owner, if the role may do what the owner may; else a role that it may act for
//! and that has grant options. What was granted on goes when the grant option that it came from
//! does.

use datafusion::sql::sqlparser::ast::ObjectName;
use nacre_store::{
    AccessChange, AccessState, Grant, ObjectAccess, PUBLIC_ROLE, SEQUENCES_TABLE, Securable, Store,
};

use super::check::{Acting, denied, object_named};
use super::rights::{Kind, Rights, USAGE, WORDS, grants_of, inherits, owns, rights_of};
use super::statement::{GrantStatement, On};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::{CATALOG, SCHEMA, table_name};
use crate::settings::Settings;

/// Runs the statement; returns a warning if it did less than it says.
pub(super) fn run(
    store: &Store,
    settings: &Settings,
    statement: &GrantStatement,
) -> Result<Option<String>> {
    let (state, acting) = (store.access(), settings.acting());
    if let Some(by) = &statement.granted_by
        && by.find(&state, settings)?.oid != acting.oid
    {
        let message = "grantor must be current user";
        return Err(Error::new(ErrorKind::NotSupported, message));
    }
    let mut grantees = Vec::with_capacity(statement.grantees.len());
    for who in &statement.grantees {
        let grantee = who.find_or_public(&state, settings)?;
        if grantee == PUBLIC_ROLE && statement.option && statement.is_grant {
            let message = "grant options can only be granted to roles";
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("0LP01"));
        }
        grantees.push(grantee);
    }
    let (mut changes, mut warning) = (Vec::new(), None);
    for (object, name) in objects(store, &statement.on)? {
        let kind = Kind::of(&object);
        let wanted = wanted(statement, kind)?;
        let mut access = state.object(&object).clone();
        let granting = Granting { state: &state, acting, kind, name: &name };
        warning = granting.change(&mut access, statement, wanted, &grantees)?.or(warning);
        changes.push(AccessChange::Object(object, access));
    }
    store.change_access(&changes).map_err(from_store)?;
    Ok(warning)
}

/// Returns the privileges that a statement is about.
fn wanted(statement: &GrantStatement, kind: Kind) -> Result<Rights> {
    let Some(rights) = statement.rights else { return Ok(kind.all()) };
    let other = WORDS.iter().find(|(right, ..)| rights & right & !kind.all() != 0);
    match other {
        None => Ok(rights),
        Some((.., word)) => {
            let kind = match kind {
                Kind::Table | Kind::View if rights & !(kind.all() | USAGE) == 0 => "table",
                Kind::Table | Kind::View => "relation",
                other => other.noun(),
            };
            let message = format!("invalid privilege type {word} for {kind}");
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("0LP01"))
        }
    }
}

/// Returns the objects that a statement names, with their names.
fn objects(store: &Store, on: &On) -> Result<Vec<(Securable, String)>> {
    Ok(match on {
        On::Relations(names) => {
            names.iter().map(|name| relation(store, name)).collect::<Result<_>>()?
        }
        On::Sequences(names) => {
            names.iter().map(|name| sequence(store, name)).collect::<Result<_>>()?
        }
        On::AllTables => {
            let tables = store.tables();
            let tables = tables.iter().map(|table| (table.id(), table.schema().name.clone()));
            let tables = tables.filter(|(_, name)| name != SEQUENCES_TABLE);
            let views = store.views();
            let views = views.iter().map(|view| view.name.clone());
            tables
                .map(|(id, name)| (Securable::Table(id), name))
                .chain(views.map(|name| (Securable::View(name.clone()), name)))
                .collect()
        }
        On::AllSequences => {
            let sequences = store.sequences().map_err(from_store)?;
            let names = sequences.iter().map(|sequence| sequence.def().name.clone());
            names.map(|name| (Securable::Sequence(name.clone()), name)).collect()
        }
        On::Schemas => vec![(Securable::Schema, SCHEMA.to_owned())],
        On::Databases => vec![(Securable::Database, CATALOG.to_owned())],
    })
}

pub(super) fn relation(store: &Store, name: &ObjectName) -> Result<(Securable, String)> {
    let name = table_name(name)?;
    match object_named(store, &name) {
        Some(object) => Ok((object, name)),
        None if store.find_index(&name).is_some() => {
            let message = format!("\"{name}\" is an index");
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"))
        }
        None => Err(Error::undefined_table(format!("relation \"{name}\" does not exist"))),
    }
}

fn sequence(store: &Store, name: &ObjectName) -> Result<(Securable, String)> {
    match relation(store, name)? {
        found @ (Securable::Sequence(_), _) => Ok(found),
        (_, name) => {
            let message = format!("\"{name}\" is not a sequence");
            Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"))
        }
    }
}

/// What is granted or revoked by whom.
struct Granting<'a> {
    state: &'a AccessState,
    acting: Acting,
    kind: Kind,
    name: &'a str,
}

impl Granting<'_> {
    /// Changes the grants of an object.
    fn change(
        &self,
        access: &mut ObjectAccess,
        statement: &GrantStatement,
        wanted: Rights,
        grantees: &[u32],
    ) -> Result<Option<String>> {
        let (grantor, may) = self.grantor(access, wanted);
        let rights = wanted & may;
        if rights == 0 {
            let has = rights_of(self.state, self.acting.oid, self.kind, access);
            if has == 0 {
                return Err(denied(self.kind, self.name));
            }
        }
        let verb = if statement.is_grant { "granted" } else { "revoked" };
        let could = if statement.is_grant { "were" } else { "could be" };
        let warning = match (rights == 0, rights == wanted || statement.rights.is_none()) {
            (true, _) => Some(format!("no privileges {could} {verb} for \"{}\"", self.name)),
            (false, false) => {
                Some(format!("not all privileges {could} {verb} for \"{}\"", self.name))
            }
            (false, true) => None,
        };
        let mut grants = grants_of(self.kind, access);
        for &grantee in grantees {
            match statement.is_grant {
                true => {
                    if statement.option {
                        require_no_circle(&grants, access.owner, (grantee, grantor), rights)?;
                    }
                    add(&mut grants, (grantee, grantor), rights, statement.option);
                }
                false => {
                    self.revoke(&mut grants, access.owner, (grantee, grantor), rights, statement)?;
                }
            }
        }
        access.grants = Some(grants);
        Ok(warning)
    }

    /// Returns who it is that grants, and what that role may.
    fn grantor(&self, access: &ObjectAccess, wanted: Rights) -> (u32, Rights) {
        if owns(self.state, self.acting.oid, access) {
            return (access.owner, self.kind.all());
        }
        let own = (self.acting.oid, grants_of_one(self.kind, access, self.acting.oid));
        let grants = grants_of(self.kind, access);
        let others = grants.iter().map(|grant| grant.grantee).filter(|grantee| {
            *grantee != PUBLIC_ROLE && inherits(self.state, self.acting.oid, *grantee)
        });
        let others = others.map(|one| (one, grants_of_one(self.kind, access, one)));
        let best = |one: (u32, Rights), other: (u32, Rights)| {
            let count = |(_, rights): (u32, Rights)| (rights & wanted).count_ones();
            if count(other) > count(one) { other } else { one }
        };
        others.fold(own, best)
    }

    fn revoke(
        &self,
        grants: &mut Vec<Grant>,
        owner: u32,
        (grantee, grantor): (u32, u32),
        rights: Rights,
        statement: &GrantStatement,
    ) -> Result<()> {
        let known = grants.iter_mut().find(|one| (one.grantee, one.grantor) == (grantee, grantor));
        let Some(known) = known else { return Ok(()) };
        known.grantable &= !rights;
        if !statement.option {
            known.privileges &= !rights;
        }
        grants.retain(|one| one.privileges != 0);
        while drop_orphans(grants, owner, self.kind) {
            if !statement.cascades {
                let message = "dependent privileges exist";
                return Err(Error::new(ErrorKind::InvalidStatement, message)
                    .with_code("2BP01")
                    .with_hint("Use CASCADE to revoke them too."));
            }
        }
        Ok(())
    }
}

/// Takes what somebody granted who may not grant it any more out of a grant; returns whether there
/// was one.
pub(super) fn drop_orphans(grants: &mut Vec<Grant>, owner: u32, kind: Kind) -> bool {
    let may = |role: u32| match role == owner {
        true => kind.all(),
        false => option_of(grants, role),
    };
    let lost = |one: &Grant| one.privileges & !may(one.grantor);
    let Some((place, lost)) = grants.iter().map(lost).enumerate().find(|(_, lost)| *lost != 0)
    else {
        return false;
    };
    if let Some(orphan) = grants.get_mut(place) {
        orphan.privileges &= !lost;
        orphan.grantable &= !lost;
    }
    grants.retain(|one| one.privileges != 0);
    true
}

/// Adds to the grants.
fn add(grants: &mut Vec<Grant>, (grantee, grantor): (u32, u32), rights: Rights, option: bool) {
    if rights == 0 {
        return;
    }
    let grantable = if option { rights } else { 0 };
    match grants.iter_mut().find(|one| (one.grantee, one.grantor) == (grantee, grantor)) {
        Some(known) => {
            known.privileges |= rights;
            known.grantable |= grantable;
        }
        None => grants.push(Grant { grantee, grantor, privileges: rights, grantable }),
    }
}

/// Refuses a grant option for whom the grantor has it from: it would outlive all others.
fn require_no_circle(
    grants: &[Grant],
    owner: u32,
    (grantee, grantor): (u32, u32),
    rights: Rights,
) -> Result<()> {
    let (mut from, mut place) = (vec![grantor], 0);
    while let Some(&role) = from.get(place).filter(|_| grantee != owner) {
        place += 1;
        if role == grantee {
            let message = "grant options cannot be granted back to your own grantor";
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("0LP01"));
        }
        let givers = grants.iter().filter(|one| one.grantee == role && one.grantable & rights != 0);
        let givers: Vec<u32> =
            givers.map(|one| one.grantor).filter(|giver| !from.contains(giver)).collect();
        from.extend(givers);
    }
    Ok(())
}

/// Returns what a role itself was granted with grant option.
fn option_of(grants: &[Grant], role: u32) -> Rights {
    let of_role = grants.iter().filter(|grant| grant.grantee == role);
    of_role.fold(0, |rights, grant| rights | grant.grantable)
}

fn grants_of_one(kind: Kind, access: &ObjectAccess, role: u32) -> Rights {
    option_of(&grants_of(kind, access), role)
}
