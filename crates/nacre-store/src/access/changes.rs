//! How roles, owners and grants become others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::object::{ObjectAccess, Securable};
use super::role::RoleDef;
use super::state::AccessState;
use crate::error::{Error, Result};
use crate::id::TxId;
use crate::manifest::Record;
use crate::store::Store;

/// One thing that becomes another.
#[derive(Clone, Debug)]
pub enum AccessChange {
    /// A role is new, or another one than before.
    Role(RoleDef),
    RoleDropped(u32),
    Object(Securable, ObjectAccess),
}

/// What was, and what is to be.
#[derive(Clone, Debug)]
struct Changed<T> {
    before: T,
    now: T,
}

/// What a transaction changed, for it alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessChanges {
    roles: BTreeMap<u32, Changed<Option<Arc<RoleDef>>>>,
    objects: BTreeMap<Securable, Changed<Arc<ObjectAccess>>>,
}

impl AccessChange {
    fn apply(&self, state: &mut AccessState) {
        match self {
            Self::Role(role) => state.set_role(role.oid, Some(Arc::new(role.clone()))),
            Self::RoleDropped(oid) => state.set_role(*oid, None),
            Self::Object(object, access) => {
                state.set_object(object, Arc::new(access.clone()));
            }
        }
    }

    fn record(&self) -> Record {
        match self.clone() {
            Self::Role(role) => Record::RoleDefined(role),
            Self::RoleDropped(oid) => Record::RoleDropped { oid },
            Self::Object(object, access) => Record::AccessChanged { object, access },
        }
    }
}

impl AccessChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.objects.is_empty()
    }

    /// Notes a change; `before` is what everybody has.
    fn note(&mut self, before: &AccessState, change: &AccessChange) {
        match change {
            AccessChange::Role(role) => {
                self.note_role(before, role.oid, Some(Arc::new(role.clone())));
            }
            AccessChange::RoleDropped(oid) => self.note_role(before, *oid, None),
            AccessChange::Object(object, access) => {
                let now = Arc::new(access.clone());
                let changed = self.objects.entry(object.clone()).or_insert_with(|| {
                    let before = Arc::new(before.object(object).clone());
                    Changed { before, now: Arc::clone(&now) }
                });
                changed.now = now;
            }
        }
    }

    fn note_role(&mut self, before: &AccessState, oid: u32, now: Option<Arc<RoleDef>>) {
        let changed = self.roles.entry(oid).or_insert_with(|| {
            let before = before.role(oid).cloned();
            Changed { before, now: None }
        });
        changed.now = now;
    }

    /// Makes the changes.
    fn apply(&self, state: &mut AccessState) {
        for (oid, role) in &self.roles {
            state.set_role(*oid, role.now.clone());
        }
        for (object, access) in &self.objects {
            state.set_object(object, Arc::clone(&access.now));
        }
    }

    /// Returns what is to be recorded. The caller holds the manifest.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if others changed the same meanwhile.
    pub(crate) fn records(&self, store: &Store) -> Result<Vec<Record>> {
        let conflict = |what: String| {
            let reason = "another transaction changed roles or privileges".to_owned();
            Error::SerializationConflict { table: what, reason }
        };
        let mut state = AccessState::clone(&store.access());
        let mut records = Vec::new();
        for (oid, role) in &self.roles {
            if state.role(*oid) != role.before.as_ref() {
                let named = role.now.as_ref().or(role.before.as_ref());
                return Err(conflict(named.map_or_else(String::new, |role| role.name.clone())));
            }
            match &role.now {
                Some(role) => records.push(Record::RoleDefined(RoleDef::clone(role))),
                None => records.push(Record::RoleDropped { oid: *oid }),
            }
        }
        for (object, access) in &self.objects {
            if state.object(object) != access.before.as_ref() {
                return Err(conflict(format!("{object:?}")));
            }
            let access = ObjectAccess::clone(&access.now);
            records.push(Record::AccessChanged { object: object.clone(), access });
        }
        self.apply(&mut state);
        state.validate().map_err(conflict)?;
        Ok(records)
    }

    /// Lets everybody have what is changed.
    pub(crate) fn show(&self, store: &Store) {
        if !self.is_empty() {
            store.with_access(|state| {
                self.apply(state);
                true
            });
        }
    }
}

impl Store {
    /// Returns the role called `name`.
    pub fn role(&self, name: &str) -> Option<Arc<RoleDef>> {
        self.access().role_named(name).cloned()
    }

    /// Returns all roles in the order of their numbers.
    pub fn roles(&self) -> Vec<Arc<RoleDef>> {
        self.access().roles().cloned().collect()
    }

    /// Returns all roles, owners and grants.
    pub fn access(&self) -> Arc<AccessState> {
        let all = self.listed_access();
        match self.definitions().filter(|some| !some.access.is_empty()) {
            None => all,
            Some(definitions) => {
                let mut state = AccessState::clone(&all);
                definitions.access.apply(&mut state);
                Arc::new(state)
            }
        }
    }

    /// Makes changes, all or none; in a transaction that defines, with it.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`], [`Error::ReadOnly`], no space, I/O.
    pub fn change_access(&self, changes: &[AccessChange]) -> Result<()> {
        self.require_writable()?;
        let changed = |state: &AccessState| -> Result<AccessState> {
            let mut state = state.clone();
            changes.iter().for_each(|change| change.apply(&mut state));
            state.validate().map_err(|reason| Error::InvalidDefinition { reason })?;
            Ok(state)
        };
        if let Some((tx, _)) = self.draft() {
            changed(&self.access())?;
            changes.iter().for_each(|change| self.draft_access(tx, change));
            return Ok(());
        }
        let check = || {
            let state = changed(&self.listed_access())?;
            Ok((changes.iter().map(AccessChange::record).collect(), state))
        };
        self.record_with(check, |state| {
            self.with_access(|all| {
                *all = state;
                true
            });
        })
    }

    /// Adds a role, or replaces the one with its number.
    ///
    /// # Errors
    /// As for [`Store::change_access`].
    pub fn define_role(&self, role: RoleDef) -> Result<()> {
        self.change_access(&[AccessChange::Role(role)])
    }

    /// Notes a change in the draft of `tx`.
    pub(crate) fn draft_access(&self, tx: TxId, change: &AccessChange) {
        let before = self.listed_access();
        self.change_draft(tx, |draft| draft.access.note(&before, change));
        self.bump_access();
    }

    /// Returns what is to be said of something new: nothing if the bootstrap superuser owns it.
    pub(crate) fn ownership(&self, object: Securable) -> Option<AccessChange> {
        let access = ObjectAccess::owned_by(self.creator());
        (access != ObjectAccess::DEFAULT).then_some(AccessChange::Object(object, access))
    }

    /// Adds what is to be said of something new to the records of its creation.
    pub(crate) fn record_ownership(&self, object: Securable, records: &mut Vec<Record>) {
        records.extend(self.ownership(object).map(|change| change.record()));
    }

    /// Lets everybody know who owns something new that was recorded.
    pub(crate) fn show_ownership(&self, object: Securable) {
        if let Some(change) = self.ownership(object) {
            self.with_access(|state| {
                change.apply(state);
                true
            });
        }
    }

    /// Says who owns something new of the draft of `tx`, and that nothing is granted of it.
    pub(crate) fn draft_ownership(&self, tx: TxId, object: Securable) {
        let access = ObjectAccess::owned_by(self.creator());
        if *self.access().object(&object) != access {
            self.draft_access(tx, &AccessChange::Object(object, access));
        }
    }

    /// Forgets what was said of an object that the draft of `tx` drops.
    pub(crate) fn draft_forget(&self, tx: TxId, object: Securable) {
        if *self.access().object(&object) != ObjectAccess::DEFAULT {
            self.draft_access(tx, &AccessChange::Object(object, ObjectAccess::DEFAULT));
        }
    }

    /// Forgets what was said of an object that is gone.
    pub(crate) fn forget_access(&self, object: &Securable) {
        self.with_access(|state| state.forget(object));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BOOTSTRAP_ROLE, BOOTSTRAP_ROLE_OID, Grant, Membership};
    use super::*;
    use crate::mvcc::IsolationLevel;
    use crate::schema::TableSchema;
    use crate::sequences::{SEQUENCES_TABLE, SequenceDef};
    use crate::store::OpenOptions;
    use crate::views::ViewDef;

    fn role(oid: u32, name: &str) -> RoleDef {
        RoleDef {
            oid,
            name: name.into(),
            is_superuser: false,
            verifier: Some("SCRAM-SHA-256$1:s$a:b".into()),
            member_of: vec![Membership { role: BOOTSTRAP_ROLE_OID, is_admin: true }],
            ..RoleDef::bootstrap()
        }
    }

    fn open(directory: &tempfile::TempDir) -> Store {
        let directory = Some(directory.path().join("db"));
        Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap()
    }

    fn schema(name: &str) -> TableSchema {
        TableSchema {
            name: name.into(),
            columns: vec![crate::schema::ColumnDef {
                name: "a".into(),
                column_type: nacre_column::ColumnType::Integer,
                is_nullable: true,
                replicas: None,
            }],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        }
    }

    fn view(name: &str) -> ViewDef {
        ViewDef { name: name.into(), text: "SELECT 1".into(), columns: Vec::new() }
    }

    fn sequence(name: &str) -> SequenceDef {
        let (start, increment, min, max, cycles) = (1, 1, 1, 9, false);
        SequenceDef { name: name.into(), start, increment, min, max, cycles }
    }

    fn granting(owner: u32) -> ObjectAccess {
        let grant = Grant { grantee: 20, grantor: owner, privileges: 1, grantable: 0 };
        ObjectAccess { owner, grants: Some(vec![grant]) }
    }

    #[test]
    fn roles_survive_a_restart_and_a_drop_does() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(&directory);
        assert_eq!(store.roles(), [Arc::new(RoleDef::bootstrap())]);
        let nacre = RoleDef { verifier: Some("x".into()), ..RoleDef::bootstrap() };
        store.define_role(nacre.clone()).unwrap();
        store.define_role(role(20, "r")).unwrap();
        store.define_role(role(20, "s")).unwrap();
        store.define_role(role(20_000, "t")).unwrap();
        assert!(store.define_role(role(21, "s")).is_err(), "the name is taken");
        store.change_access(&[AccessChange::RoleDropped(20_000)]).unwrap();
        drop(store);
        let store = open(&directory);
        assert_eq!(store.roles(), [Arc::new(nacre), Arc::new(role(20, "s"))]);
        assert_eq!(store.access().next_role(), 20_001, "a number is given once");
    }

    #[test]
    fn bootstrap_role_stays_what_it_is() {
        let store = Store::open(OpenOptions::default()).unwrap();
        let weak = RoleDef { is_superuser: false, ..RoleDef::bootstrap() };
        assert!(store.define_role(weak).is_err());
        assert!(store.define_role(role(BOOTSTRAP_ROLE_OID, "other")).is_err());
        assert!(store.define_role(role(20, BOOTSTRAP_ROLE)).is_err());
        assert!(store.change_access(&[AccessChange::RoleDropped(BOOTSTRAP_ROLE_OID)]).is_err());
        assert!(!format!("{:?}", role(20, "r")).contains("SCRAM"));
    }

    #[test]
    fn what_owns_or_is_granted_something_is_not_dropped() {
        let store = Store::open(OpenOptions::default()).unwrap();
        store.define_role(role(20, "r")).unwrap();
        let grants = AccessChange::Object(Securable::Schema, granting(BOOTSTRAP_ROLE_OID));
        store.change_access(&[grants]).unwrap();
        assert!(store.change_access(&[AccessChange::RoleDropped(20)]).is_err());
        let both = [
            AccessChange::Object(Securable::Schema, ObjectAccess::DEFAULT),
            AccessChange::RoleDropped(20),
        ];
        let version = store.access_version();
        store.change_access(&both).unwrap();
        assert_ne!(store.access_version(), version);
    }

    #[test]
    fn what_is_made_is_its_makers_and_goes_with_its_access() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(&directory).for_session();
        store.define_role(role(20, "r")).unwrap();
        store.set_creator(20);
        let make = |store: &Store| {
            store.create_table(schema("t")).unwrap();
            store.define_view(view("v")).unwrap();
            store.create_sequence(sequence("s")).unwrap();
        };
        let objects = |store: &Store| {
            let table = Securable::Table(store.table("t").unwrap().id());
            [table, Securable::View("v".into()), Securable::Sequence("s".into())]
        };
        make(&store);
        for object in objects(&store) {
            assert_eq!(*store.access().object(&object), ObjectAccess::owned_by(20));
            store.change_access(&[AccessChange::Object(object, granting(20))]).unwrap();
        }
        let sequences = Securable::Table(store.table(SEQUENCES_TABLE).unwrap().id());
        assert_eq!(*store.access().object(&sequences), ObjectAccess::DEFAULT);
        drop(store);
        let store = open(&directory).for_session();
        let all = objects(&store);
        assert!(all.iter().all(|object| *store.access().object(object) == granting(20)));
        store.drop_table("t").unwrap();
        store.drop_view("v").unwrap();
        store.drop_sequence("s").unwrap();
        make(&store);
        let is_default =
            |store: &Store, object| *store.access().object(object) == ObjectAccess::DEFAULT;
        let all = [all, objects(&store)].concat();
        assert!(all.iter().all(|object| is_default(&store, object)));
        drop(store);
        let store = open(&directory);
        assert!(all.iter().all(|object| is_default(&store, object)));
    }

    #[test]
    fn transaction_that_defines_has_access_of_its_own_until_it_commits() {
        let directory = tempfile::tempdir().unwrap();
        let everybody = open(&directory);
        everybody.define_role(role(20, "r")).unwrap();
        let store = everybody.for_session();
        store.set_creator(20);
        let names = || everybody.roles().iter().map(|role| role.name.clone()).collect::<Vec<_>>();
        for commits in [false, true] {
            let mut tx = store.begin(IsolationLevel::Serializable);
            tx.define().unwrap();
            store.define_role(role(21, "u")).unwrap();
            store.define_view(view("v")).unwrap();
            let object = Securable::View("v".into());
            assert_eq!(store.access().object(&object).owner, 20);
            assert!(store.role("u").is_some());
            assert_eq!(names(), ["nacre", "r"]);
            assert_eq!(*everybody.access().object(&object), ObjectAccess::DEFAULT);
            match commits {
                true => drop(tx.commit().unwrap()),
                false => tx.rollback(),
            }
        }
        drop(store);
        assert_eq!(names(), ["nacre", "r", "u"]);
        drop(everybody);
        let store = open(&directory);
        assert_eq!(store.access().object(&Securable::View("v".into())).owner, 20);
        assert!(store.role("u").is_some());
    }

    #[test]
    fn of_two_transactions_that_change_the_same_one_fails() {
        let everybody = Store::open(OpenOptions::default()).unwrap();
        everybody.define_role(role(20, "r")).unwrap();
        let change = AccessChange::Object(Securable::Schema, granting(BOOTSTRAP_ROLE_OID));
        let begin = || {
            let store = everybody.for_session();
            let mut tx = store.begin(IsolationLevel::Serializable);
            tx.define().unwrap();
            (store, tx)
        };
        let ((one, first), (other, second), (third, drops)) = (begin(), begin(), begin());
        one.change_access(std::slice::from_ref(&change)).unwrap();
        other.change_access(&[change]).unwrap();
        third.change_access(&[AccessChange::RoleDropped(20)]).unwrap();
        first.commit().unwrap();
        assert!(second.commit().is_err());
        assert!(drops.commit().is_err(), "it was granted something meanwhile");
    }
}
