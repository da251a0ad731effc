//! Whether the role that a session acts as may do what it is about to.
//!
//! # Invariants
//! 1. A superuser passes every check without a look at grants.
//! 2. A role that is not there any more passes none, not even what everybody may do.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use nacre_store::{AccessState, ObjectAccess, Securable, Store, Table};

use super::rights::{CREATE, Kind, REFERENCES, Rights, SELECT, USAGE, inherits, owns, rights_of};
use crate::error::{Error, ErrorKind, Result};
use crate::names::{CATALOG, SCHEMA};
use crate::relations::relations_of;
use crate::user_views::parse_view;

/// The role that a session acts as, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acting {
    pub(crate) oid: u32,
    pub(crate) is_superuser: bool,
    /// Another number whenever the role may do something else than before, or is another one.
    pub(crate) stamp: u64,
}

impl Acting {
    pub(crate) fn new(state: &AccessState, oid: u32) -> Self {
        static STAMPS: AtomicU64 = AtomicU64::new(1);
        let is_superuser = state.role(oid).is_some_and(|role| role.is_superuser);
        // ORDERING: only that numbers differ matters.
        Self { oid, is_superuser, stamp: STAMPS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Checks that a table may be used in ways that are all `wanted`.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_table(self, store: &Store, table: &Table, wanted: Rights) -> Result<()> {
        if self.is_superuser {
            return Ok(());
        }
        let state = store.access();
        self.require_schema(&state, USAGE)?;
        let object = Securable::Table(table.id());
        self.require(&state, &object, &table.schema().name, wanted)
    }

    /// Checks that a table or view may be read; a view reads as its owner. What is none of users'
    /// is for everybody.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_read(self, store: &Store, name: &str) -> Result<()> {
        if self.is_superuser {
            return Ok(());
        }
        let state = store.access();
        self.read(store, &state, name, &mut BTreeSet::new())
    }

    fn read(
        self,
        store: &Store,
        state: &AccessState,
        name: &str,
        seen: &mut BTreeSet<(u32, String)>,
    ) -> Result<()> {
        if self.is_superuser || !seen.insert((self.oid, name.to_owned())) {
            return Ok(());
        }
        let Some(object) = relation_named(store, name) else { return Ok(()) };
        self.require_schema(state, USAGE)?;
        self.require(state, &object, name, SELECT)?;
        if let Some(view) = store.view(name).filter(|_| matches!(object, Securable::View(_))) {
            let owner = Self::new(state, state.object(&object).owner);
            let query = parse_view(&view)?;
            relations_of(&query).iter().try_for_each(|one| owner.read(store, state, one, seen))?;
        }
        Ok(())
    }

    /// Checks that a sequence may be used in one of the ways that are `any_of`.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_sequence(self, store: &Store, name: &str, any_of: Rights) -> Result<()> {
        if self.is_superuser {
            return Ok(());
        }
        let state = store.access();
        let access = state.object(&Securable::Sequence(name.to_owned()));
        match rights_of(&state, self.oid, Kind::Sequence, access) & any_of {
            0 => Err(denied(Kind::Sequence, name)),
            _ => Ok(()),
        }
    }

    /// Checks that a table may be referred to by foreign keys.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_reference(self, store: &Store, name: &str) -> Result<()> {
        match store.table(name) {
            Ok(table) => self.require_table(store, &table, REFERENCES),
            // Who is to make it, or to say that it is not there, comes later.
            Err(_) => Ok(()),
        }
    }

    /// Checks that what is called `name` may be altered and dropped; what is not there may.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_owner(self, store: &Store, name: &str) -> Result<()> {
        if self.is_superuser {
            return Ok(());
        }
        let state = store.access();
        let (object, noun) = match object_named(store, name) {
            Some(object) => {
                let noun = Kind::of(&object).noun();
                (object, noun)
            }
            None => match store.find_index(name) {
                Some((table, _)) => (Securable::Table(table.id()), "index"),
                None => return Ok(()),
            },
        };
        match owns(&state, self.oid, state.object(&object)) {
            true => Ok(()),
            false => Err(insufficient(format!("must be owner of {noun} {name}"))),
        }
    }

    /// Checks that tables, views and sequences may be made.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_create(self, store: &Store) -> Result<()> {
        match self.is_superuser {
            true => Ok(()),
            false => self.require_schema(&store.access(), CREATE),
        }
    }

    /// Checks that the role is a superuser; `message` is what it is told otherwise.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn require_superuser(self, message: &str) -> Result<()> {
        if self.is_superuser { Ok(()) } else { Err(insufficient(message)) }
    }

    /// Takes the rows and keys out of an error of a constraint unless the role may read the tables
    /// that it names.
    pub(crate) fn conceal(self, store: &Store, error: Error) -> Error {
        let is_of_constraint = error.sqlstate().starts_with("23");
        if self.is_superuser || !is_of_constraint || error.detail().is_none() {
            return error;
        }
        let names = error.message().split('"').skip(1).step_by(2);
        let tables = names.filter_map(|name| {
            store.table(name).ok().or_else(|| store.find_index(name).map(|(table, _)| table))
        });
        let may_read: Vec<bool> =
            tables.map(|table| self.require_table(store, &table, SELECT).is_ok()).collect();
        match may_read.is_empty() || may_read.contains(&false) {
            true => error.without_detail(),
            false => error,
        }
    }

    /// Whether the role may do what another one may.
    pub(crate) fn is_as_good_as(self, state: &AccessState, role: u32) -> bool {
        self.is_superuser || inherits(state, self.oid, role)
    }

    fn require_schema(self, state: &AccessState, wanted: Rights) -> Result<()> {
        self.require(state, &Securable::Schema, SCHEMA, wanted)
    }

    fn require(
        self,
        state: &AccessState,
        object: &Securable,
        name: &str,
        wanted: Rights,
    ) -> Result<()> {
        let kind = Kind::of(object);
        let access: &ObjectAccess = state.object(object);
        match rights_of(state, self.oid, kind, access) & wanted == wanted {
            true => Ok(()),
            false => Err(denied(kind, name)),
        }
    }
}

/// Returns the table or view of a name.
fn relation_named(store: &Store, name: &str) -> Option<Securable> {
    match store.table(name) {
        Ok(table) => Some(Securable::Table(table.id())),
        Err(_) => store.view(name).map(|view| Securable::View(view.name.clone())),
    }
}

/// Returns the table, view or sequence of a name.
pub(crate) fn object_named(store: &Store, name: &str) -> Option<Securable> {
    relation_named(store, name).or_else(|| {
        store.sequence(name).ok().map(|sequence| Securable::Sequence(sequence.def().name.clone()))
    })
}

/// Returns the name of an object; `None` of one that is not there.
pub(super) fn name_of(store: &Store, object: &Securable) -> Option<String> {
    Some(match object {
        Securable::Table(id) => {
            let tables = store.tables();
            tables.iter().find(|table| table.id() == *id)?.schema().name.clone()
        }
        Securable::View(name) | Securable::Sequence(name) => name.clone(),
        Securable::Schema => SCHEMA.to_owned(),
        Securable::Database => CATALOG.to_owned(),
    })
}

pub(crate) fn denied(kind: Kind, name: &str) -> Error {
    insufficient(format!("permission denied for {} {name}", kind.noun()))
}

/// Returns the error for what somebody may not do.
pub(crate) fn insufficient(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NotPermitted, message)
}
