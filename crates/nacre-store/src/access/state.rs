//! All roles, owners and grants at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::object::{ObjectAccess, Securable};
use super::role::{BOOTSTRAP_ROLE_OID, RoleDef};
use crate::manifest::TableId;

/// The number of the first role that somebody makes.
const FIRST_ROLE: u32 = 16_384;

/// Roles by number, and what is known of objects.
#[derive(Clone, Debug)]
pub struct AccessState {
    roles: BTreeMap<u32, Arc<RoleDef>>,
    /// Without those that are the default.
    objects: BTreeMap<Securable, Arc<ObjectAccess>>,
    /// Above the numbers of all roles that there ever were.
    next_role: u32,
}

impl Default for AccessState {
    fn default() -> Self {
        let roles = BTreeMap::from([(BOOTSTRAP_ROLE_OID, Arc::new(RoleDef::bootstrap()))]);
        Self { roles, objects: BTreeMap::new(), next_role: FIRST_ROLE }
    }
}

impl AccessState {
    /// Returns the role of a number.
    pub fn role(&self, oid: u32) -> Option<&Arc<RoleDef>> {
        self.roles.get(&oid)
    }

    /// Returns the role of a name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<RoleDef>> {
        self.roles.values().find(|role| role.name == name)
    }

    /// Returns all roles in the order of their numbers.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<RoleDef>> {
        self.roles.values()
    }

    /// Returns who owns an object and what it grants.
    pub fn object(&self, object: &Securable) -> &ObjectAccess {
        static DEFAULT: ObjectAccess = ObjectAccess::DEFAULT;
        self.objects.get(object).map_or(&DEFAULT, |access| access)
    }

    /// Returns all objects of which something is recorded.
    pub fn objects(&self) -> impl Iterator<Item = (&Securable, &ObjectAccess)> {
        self.objects.iter().map(|(object, access)| (object, access.as_ref()))
    }

    /// Returns a number that no role has had.
    pub fn next_role(&self) -> u32 {
        self.next_role
    }

    /// Adds a role, or replaces the one with its number, or takes it away.
    pub(crate) fn set_role(&mut self, oid: u32, role: Option<Arc<RoleDef>>) {
        self.next_role = self.next_role.max(oid.saturating_add(1));
        match role {
            Some(role) => self.roles.insert(oid, role),
            None => self.roles.remove(&oid),
        };
    }

    /// Says of an object who owns it and what it grants; returns whether that is new.
    pub(crate) fn set_object(&mut self, object: &Securable, access: Arc<ObjectAccess>) -> bool {
        if *access == ObjectAccess::DEFAULT {
            return self.objects.remove(object).is_some();
        }
        let before = self.objects.insert(object.clone(), Arc::clone(&access));
        before.is_none_or(|before| before != access)
    }

    /// Forgets an object; returns whether anything was known of it.
    pub(crate) fn forget(&mut self, object: &Securable) -> bool {
        self.objects.remove(object).is_some()
    }

    /// Has a table take the place of another one.
    pub(crate) fn replace_table(&mut self, old: TableId, new: TableId) -> bool {
        let access = self.objects.remove(&Securable::Table(old));
        let is_known = access.is_some();
        self.objects.extend(access.map(|access| (Securable::Table(new), access)));
        is_known
    }

    /// Checks that names differ, that what is there may be, and that all roles that are named are
    /// there.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        let mut names = BTreeMap::new();
        for role in self.roles.values() {
            role.validate()?;
            if names.insert(&role.name, role.oid).is_some() {
                return Err(format!("role \"{}\" already exists", role.name));
            }
            if role.member_of.iter().any(|one| !self.roles.contains_key(&one.role)) {
                return Err(format!("role \"{}\" is a member of none", role.name));
            }
        }
        if !self.roles.contains_key(&BOOTSTRAP_ROLE_OID) {
            return Err("the bootstrap superuser is always there".to_owned());
        }
        for access in self.objects.values() {
            access.validate()?;
            if access.roles().any(|role| !self.roles.contains_key(&role)) {
                return Err("a role that owns or is granted something is not there".to_owned());
            }
        }
        Ok(())
    }
}
