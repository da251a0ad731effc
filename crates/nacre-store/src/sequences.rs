//! Sequences: numbers that are given once.
//!
//! All of them lie in one table, [`SEQUENCES_TABLE`], a row each, which is changed by transactions
//! of its own: so they are durable, frozen and recovered like any other row. A row says which
//! values are reserved; those are given from memory until they run out. One value is reserved
//! first, then twice as many each time up to [`RESERVED_MAX`], so that a short session leaves no
//! gap and a long one seldom commits.
//!
//! # Invariants
//! 1. A value is given after its reservation is durable, so no value is given twice, whatever
//!    happens to the process; what was reserved and not given is a gap.
//! 2. Giving a value is not part of a transaction: it is not taken back when one is rolled back.
//! # Concurrency
//! Everything here may be used from any thread. A sequence is latched while it gives a value, the
//! map of them while it is read or changed; no caller holds a latch of the store.
//! # See
//! `tests/sequences.rs`: kills between reservation and use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nacre_column::ColumnType;

use crate::access::{AccessChange, BOOTSTRAP_ROLE_OID, ObjectAccess, Securable};
use crate::error::{Error, ErrorKind, Result};
use crate::id::RowId;
use crate::mvcc::{IsolationLevel, Snapshot, Transaction};
use crate::schema::{ColumnDef, TableSchema, check_name};
use crate::store::Store;
use crate::table::Table;
use crate::value::ValueRef;

/// Name of the table that holds the sequences.
pub const SEQUENCES_TABLE: &str = "nacre_sequences";

/// Values that are reserved at a time in the long run; as many as PostgreSQL logs ahead.
const RESERVED_MAX: u32 = 32;

/// Attempts to write a sequence's row: only freezing may be in the way, and that soon ends.
const ATTEMPTS_MAX: usize = 100;

/// Column of the table with the last value that is reserved.
const VALUE: usize = 6;
/// Column that says whether that value was reserved, or is the next one.
const IS_CALLED: usize = 7;
const COLUMNS: [(&str, ColumnType); 8] = [
    ("name", ColumnType::Varchar { max_chars: None }),
    ("start", ColumnType::BigInt),
    ("increment", ColumnType::BigInt),
    ("min", ColumnType::BigInt),
    ("max", ColumnType::BigInt),
    ("cycles", ColumnType::Boolean),
    ("value", ColumnType::BigInt),
    ("is_called", ColumnType::Boolean),
];

/// The definition of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    pub name: String,
    pub start: i64,
    /// Not 0.
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    /// Whether it begins again at the other end.
    pub cycles: bool,
}

/// A sequence of an open database.
#[derive(Debug)]
pub struct Sequence {
    def: SequenceDef,
    state: Mutex<State>,
    /// What it goes on from, and how far that had come, if it is an altered one of a transaction.
    origin: Option<(Arc<Sequence>, State)>,
}

/// How far a sequence has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The last value that was given, or the next one.
    value: i64,
    is_called: bool,
    /// Values that are reserved and were not given.
    left: u32,
    /// Values that the next reservation takes.
    batch: u32,
    is_dropped: bool,
    /// Whether the transaction that created it has not committed: values are not reserved then, its
    /// commit writes how far it has come.
    is_draft: bool,
}

/// The sequences of a store, read when somebody first asks for one.
#[derive(Debug, Default)]
pub(crate) struct Sequences(Mutex<Option<BTreeMap<String, Arc<Sequence>>>>);

impl SequenceDef {
    fn validate(&self) -> std::result::Result<(), String> {
        check_name("sequence", &self.name)?;
        let Self { start, increment, min, max, .. } = *self;
        if increment == 0 || min >= max || !(min..=max).contains(&start) {
            return Err(format!(
                "sequence {:?}: steps of {increment} from {start} within {min} to {max}",
                self.name
            ));
        }
        Ok(())
    }

    /// Returns the value after `value`; `None` if it was the last one.
    fn after(&self, value: i64) -> Option<i64> {
        let next = value.checked_add(self.increment);
        match next.filter(|next| (self.min..=self.max).contains(next)) {
            Some(next) => Some(next),
            None if self.cycles => Some(if self.increment > 0 { self.min } else { self.max }),
            None => None,
        }
    }
}

impl State {
    fn new(value: i64, is_called: bool) -> Self {
        Self { value, is_called, left: 0, batch: 1, is_dropped: false, is_draft: false }
    }

    /// Has the sequence give nothing more.
    pub(crate) fn drop_sequence(&mut self) {
        self.is_dropped = true;
    }

    /// Notes that the row of the sequence is committed.
    pub(crate) fn settle(&mut self) {
        self.is_draft = false;
    }

    /// Moves on by one value; `None` if there is none.
    fn step(self, def: &SequenceDef) -> Option<Self> {
        let value = if self.is_called { def.after(self.value)? } else { self.value };
        Some(Self { value, is_called: true, ..self })
    }
}

impl Sequence {
    /// Makes one that nobody has drawn from.
    fn new(def: SequenceDef, is_draft: bool) -> Self {
        let state = Mutex::new(State { is_draft, ..State::new(def.start, false) });
        Self { def, state, origin: None }
    }

    /// Makes one for a transaction that goes on where another one is now.
    fn going_on(def: SequenceDef, before: &Arc<Self>) -> Self {
        let held = *before.hold();
        let state = State { is_draft: true, ..State::new(held.value, held.is_called) };
        let origin = match held.is_draft {
            true => before.origin.clone(),
            false => Some((Arc::clone(before), held)),
        };
        Self { def, state: Mutex::new(state), origin }
    }

    /// Whether another one, which was replaced and is in state `now`, gave values since this one
    /// went on from it.
    pub(crate) fn missed(&self, other: &Arc<Self>, now: &State) -> bool {
        self.origin.as_ref().is_some_and(|(origin, at)| Arc::ptr_eq(origin, other) && at != now)
    }

    /// Returns the last value that was given, or, if the second part is false, the next one.
    pub fn position(&self) -> (i64, bool) {
        let state = self.hold();
        (state.value, state.is_called)
    }

    /// Keeps others from drawing values.
    pub(crate) fn hold(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the definition.
    pub fn def(&self) -> &SequenceDef {
        &self.def
    }

    /// Gives the next value.
    ///
    /// # Errors
    /// [`Error::SequenceExhausted`], [`Error::UnknownTable`] if it was dropped,
    /// [`Error::ReadOnly`], no space, I/O.
    pub fn next(&self, store: &Store) -> Result<i64> {
        let mut state = self.hold();
        self.require_present(&state)?;
        let next = state.step(&self.def).ok_or_else(|| self.exhausted())?;
        if state.is_draft {
            *state = next;
            return Ok(next.value);
        }
        if state.left > 0 {
            *state = State { left: state.left - 1, ..next };
            return Ok(next.value);
        }
        let (mut last, mut count) = (next, 1);
        while count < state.batch {
            let Some(further) = last.step(&self.def) else { break };
            (last, count) = (further, count + 1);
        }
        write_row(store, &self.def.name, last.value, true)?;
        let batch = (state.batch * 2).min(RESERVED_MAX);
        *state = State { left: count - 1, batch, ..next };
        Ok(next.value)
    }

    /// Sets the last value that was given, or, if it is not `is_called`, the next one.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if it is out of bounds; and as for [`Sequence::next`].
    pub fn set(&self, store: &Store, value: i64, is_called: bool) -> Result<()> {
        let SequenceDef { name, min, max, .. } = &self.def;
        if !(*min..=*max).contains(&value) {
            let reason = format!(
                "setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})"
            );
            return Err(Error::InvalidDefinition { reason });
        }
        let mut state = self.hold();
        self.require_present(&state)?;
        let is_draft = state.is_draft;
        if !is_draft {
            write_row(store, name, value, is_called)?;
        }
        *state = State { is_draft, ..State::new(value, is_called) };
        Ok(())
    }

    fn require_present(&self, state: &State) -> Result<()> {
        match state.is_dropped {
            true => Err(Error::UnknownTable { table: self.def.name.clone() }),
            false => Ok(()),
        }
    }

    fn exhausted(&self) -> Error {
        let SequenceDef { name, increment, min, max, .. } = &self.def;
        let (bound, value) = if *increment > 0 { ("maximum", max) } else { ("minimum", min) };
        let reason = format!("nextval: reached {bound} value of sequence \"{name}\" ({value})");
        Error::SequenceExhausted(reason)
    }
}

impl Store {
    /// Returns the sequence called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; that of a damaged block.
    pub fn sequence(&self, name: &str) -> Result<Arc<Sequence>> {
        let found = match self.definitions().and_then(|definitions| definitions.sequence(name)) {
            Some(found) => found,
            None => self.with_sequences(|all| Ok(all.get(name).cloned()))?,
        };
        found.ok_or_else(|| Error::UnknownTable { table: name.to_owned() })
    }

    /// Returns all sequences in name order.
    ///
    /// # Errors
    /// That of a damaged block.
    pub fn sequences(&self) -> Result<Vec<Arc<Sequence>>> {
        let mut all = self.with_sequences(|all| Ok(all.clone()))?;
        if let Some(definitions) = self.definitions() {
            definitions.change_sequences(&mut all);
        }
        Ok(all.into_values().collect())
    }

    /// Creates a sequence.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidDefinition`], [`Error::ReadOnly`], no space, I/O.
    pub fn create_sequence(&self, def: SequenceDef) -> Result<()> {
        self.require_writable()?;
        def.validate().map_err(|reason| Error::InvalidDefinition { reason })?;
        if let Some((tx, _)) = self.draft() {
            self.check_new_name(&def.name)?;
            if self.sequence(&def.name).is_ok() {
                return Err(Error::TableExists { table: def.name });
            }
            self.draft_ownership(tx, Securable::Sequence(def.name.clone()));
            self.draft_sequence(tx, Sequence::new(def, true));
            return Ok(());
        }
        self.with_sequences(|all| {
            self.check_new_name(&def.name)?;
            if all.contains_key(&def.name) {
                return Err(Error::TableExists { table: def.name.clone() });
            }
            // Before its row: a sequence is never that of somebody who did not make it.
            self.own_sequence(&def.name, self.creator())?;
            let sequence = Sequence::new(def, false);
            let mut transaction = self.begin(IsolationLevel::RepeatableRead);
            insert_row(self, &mut transaction, &sequence)?;
            transaction.commit()?;
            all.insert(sequence.def.name.clone(), Arc::new(sequence));
            Ok(())
        })
    }

    /// Puts a sequence with another definition in the place of the one with its name, in the
    /// transaction at work: it begins anew at a value, or goes on. If values are given meanwhile
    /// that it does not know of, the transaction does not commit.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::InvalidDefinition`], also if the value is out of bounds;
    /// [`Error::Internal`] if no transaction is at work; [`Error::ReadOnly`].
    pub fn replace_sequence(&self, def: SequenceDef, restart: Option<i64>) -> Result<()> {
        self.require_writable()?;
        let Some((tx, _)) = self.draft() else {
            let reason = "a sequence is altered in no transaction".into();
            return Err(Error::Internal { reason });
        };
        let before = self.sequence(&def.name)?;
        let sequence = match restart {
            Some(value) => {
                let sequence = Sequence::new(def, true);
                *sequence.hold() = State { is_draft: true, ..State::new(value, false) };
                sequence
            }
            None => Sequence::going_on(def, &before),
        };
        let SequenceDef { name, min, max, .. } = sequence.def();
        let (value, _) = sequence.position();
        let valid = sequence.def.validate().and_then(|()| match (*min..=*max).contains(&value) {
            true => Ok(()),
            false => Err(format!("sequence {name:?} at {value}, which is not in {min} to {max}")),
        });
        valid.map_err(|reason| Error::InvalidDefinition { reason })?;
        self.draft_drop_sequence(tx, &before);
        self.draft_sequence(tx, sequence);
        Ok(())
    }

    /// Drops the sequence called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::ReadOnly`], no space, I/O.
    pub fn drop_sequence(&self, name: &str) -> Result<()> {
        self.require_writable()?;
        if let Some((tx, _)) = self.draft() {
            self.draft_drop_sequence(tx, &self.sequence(name)?);
            self.draft_forget(tx, Securable::Sequence(name.to_owned()));
            return Ok(());
        }
        self.with_sequences(|all| {
            let unknown = || Error::UnknownTable { table: name.to_owned() };
            let sequence = all.get(name).ok_or_else(unknown)?;
            let mut state = sequence.hold();
            in_row(self, name, |transaction, table, row| transaction.delete(table, row))?;
            state.is_dropped = true;
            drop(state);
            all.remove(name);
            self.own_sequence(name, BOOTSTRAP_ROLE_OID)
        })
    }

    /// Says who owns a sequence, of which nothing is granted then.
    fn own_sequence(&self, name: &str, owner: u32) -> Result<()> {
        let (object, access) =
            (Securable::Sequence(name.to_owned()), ObjectAccess::owned_by(owner));
        match *self.access().object(&object) == access {
            true => Ok(()),
            false => self.change_access(&[AccessChange::Object(object, access)]),
        }
    }

    /// Calls `with` with the sequences, which are read if nobody did yet.
    pub(crate) fn with_sequences<T>(
        &self,
        with: impl FnOnce(&mut BTreeMap<String, Arc<Sequence>>) -> Result<T>,
    ) -> Result<T> {
        let mut all = self.all_sequences().0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_none() {
            *all = Some(read(self)?);
        }
        with(all.get_or_insert_default())
    }
}

fn table_schema() -> TableSchema {
    let column = |(name, column_type): (&str, ColumnType)| ColumnDef {
        name: name.to_owned(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: SEQUENCES_TABLE.into(),
        columns: COLUMNS.into_iter().map(column).collect(),
        primary_key: Some(vec![0]),
        primary_key_name: format!("{SEQUENCES_TABLE}_pkey"),
        replicas: None,
    }
}

/// Reads the table; there is none before the first sequence.
fn read(store: &Store) -> Result<BTreeMap<String, Arc<Sequence>>> {
    let mut all = BTreeMap::new();
    let Ok(table) = store.table(SEQUENCES_TABLE) else {
        return Ok(all);
    };
    let columns: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let mut is_whole = true;
    transaction.scan(&table, &[], &columns, |_, values| match sequence_of(values) {
        Some(sequence) => {
            all.insert(sequence.def.name.clone(), Arc::new(sequence));
        }
        None => is_whole = false,
    })?;
    match is_whole {
        true => Ok(all),
        false => Err(Error::Damaged {
            object: format!("table \"{SEQUENCES_TABLE}\""),
            reason: "a row is no sequence".into(),
            missing: Vec::new(),
        }),
    }
}

fn sequence_of(values: &[ValueRef<'_>]) -> Option<Sequence> {
    let ValueRef::Bytes(name) = *values.first()? else { return None };
    let int = |column: usize| match values.get(column) {
        Some(ValueRef::Int(value)) => Some(*value),
        _ => None,
    };
    let def = SequenceDef {
        name: String::from_utf8(name.to_vec()).ok()?,
        start: int(1)?,
        increment: int(2)?,
        min: int(3)?,
        max: int(4)?,
        cycles: int(5)? != 0,
    };
    def.validate().ok()?;
    let state = Mutex::new(State::new(int(VALUE)?, int(IS_CALLED)? != 0));
    Some(Sequence { def, state, origin: None })
}

/// Writes the row of a new sequence; the table comes into being with the first one.
pub(crate) fn insert_row(
    store: &Store,
    transaction: &mut Transaction,
    sequence: &Sequence,
) -> Result<()> {
    let table = match store.table(SEQUENCES_TABLE) {
        Ok(table) => table,
        Err(_) => {
            // It is not owned by who happens to make the first sequence.
            let creator = store.creator();
            store.set_creator(BOOTSTRAP_ROLE_OID);
            let created = store.create_table(table_schema());
            store.set_creator(creator);
            created?
        }
    };
    let (def, state) = (&sequence.def, *sequence.hold());
    let values = [
        ValueRef::Bytes(def.name.as_bytes()),
        ValueRef::Int(def.start),
        ValueRef::Int(def.increment),
        ValueRef::Int(def.min),
        ValueRef::Int(def.max),
        ValueRef::Int(def.cycles.into()),
        ValueRef::Int(state.value),
        ValueRef::Int(state.is_called.into()),
    ];
    transaction.insert(&table, &values).map(|_| ())
}

/// Deletes the row of a sequence that nobody draws from meanwhile, as it is now.
pub(crate) fn delete_row(
    store: &Store,
    transaction: &mut Transaction,
    def: &SequenceDef,
) -> Result<()> {
    let table = store.table(SEQUENCES_TABLE)?;
    let mut reader = store.begin(IsolationLevel::RepeatableRead);
    let row = row_of(&mut reader, &table, &def.name)?;
    let snapshot = Snapshot { tx: transaction.snapshot().tx, ..reader.snapshot() };
    transaction.delete_row_at(&table, row, snapshot)
}

/// Writes how far a sequence is reserved; durable when it returns.
fn write_row(store: &Store, name: &str, value: i64, is_called: bool) -> Result<()> {
    let changes = [(VALUE, ValueRef::Int(value)), (IS_CALLED, ValueRef::Int(is_called.into()))];
    in_row(store, name, |transaction, table, row| {
        transaction.update(table, row, &changes).map(|_| ())
    })
}

/// Changes the row of a sequence in a transaction of its own.
fn in_row(
    store: &Store,
    name: &str,
    change: impl Fn(&mut Transaction, &Arc<Table>, RowId) -> Result<()>,
) -> Result<()> {
    let table = store.table(SEQUENCES_TABLE)?;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        let row = row_of(&mut transaction, &table, name)?;
        let done =
            change(&mut transaction, &table, row).and_then(|()| transaction.commit().map(|_| ()));
        match done {
            Err(error)
                if error.kind() == ErrorKind::SerializationConflict && attempts < ATTEMPTS_MAX =>
            {
                std::thread::yield_now();
            }
            done => return done,
        }
    }
}

/// Returns the row of a sequence.
fn row_of(transaction: &mut Transaction, table: &Arc<Table>, name: &str) -> Result<RowId> {
    let unknown = || Error::UnknownTable { table: name.to_owned() };
    let indexes = table.indexes();
    let index = indexes.first().ok_or_else(unknown)?;
    let (key, mut found) = ([ValueRef::Bytes(name.as_bytes())], None);
    transaction.lookup(table, index, &key, &[], |row, _| found = Some(row))?;
    found.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenOptions;

    fn def(name: &str) -> SequenceDef {
        let name = name.to_owned();
        SequenceDef { name, start: 1, increment: 1, min: 1, max: i64::MAX, cycles: false }
    }

    #[test]
    fn values_are_given_in_order_up_to_the_bound() {
        let store = Store::open(OpenOptions::default()).unwrap();
        store.create_sequence(SequenceDef { max: 70, ..def("s") }).unwrap();
        let sequence = store.sequence("s").unwrap();
        for expected in 1..=70 {
            assert_eq!(sequence.next(&store).unwrap(), expected);
        }
        let error = sequence.next(&store).unwrap_err();
        let message = "nextval: reached maximum value of sequence \"s\" (70)";
        assert_eq!(error.to_string(), message);
        sequence.set(&store, 7, false).unwrap();
        assert_eq!(sequence.next(&store).unwrap(), 7);
        sequence.set(&store, 7, true).unwrap();
        assert_eq!(sequence.next(&store).unwrap(), 8);
        assert!(sequence.set(&store, 71, true).is_err());
    }

    #[test]
    fn cycles_begin_at_the_other_end() {
        let store = Store::open(OpenOptions::default()).unwrap();
        let (start, increment, min, max) = (2, -2, -3, 4);
        let def = SequenceDef { start, increment, min, max, cycles: true, ..def("s") };
        store.create_sequence(def).unwrap();
        let sequence = store.sequence("s").unwrap();
        let values: Vec<i64> = (0..8).map(|_| sequence.next(&store).unwrap()).collect();
        assert_eq!(values, [2, 0, -2, 4, 2, 0, -2, 4]);
    }

    #[test]
    fn threads_never_get_the_same_value() {
        let store = Store::open(OpenOptions::default()).unwrap();
        store.create_sequence(def("s")).unwrap();
        let draw = || {
            let sequence = store.sequence("s").unwrap();
            (0..500).map(|_| sequence.next(&store).unwrap()).collect::<Vec<i64>>()
        };
        let mut values: Vec<i64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        values.sort_unstable();
        assert_eq!(values, (1..=2_000).collect::<Vec<i64>>());
    }

    #[test]
    fn dropped_sequence_gives_nothing_more() {
        let store = Store::open(OpenOptions::default()).unwrap();
        store.create_sequence(def("s")).unwrap();
        assert!(matches!(store.create_sequence(def("s")), Err(Error::TableExists { .. })));
        let sequence = store.sequence("s").unwrap();
        store.drop_sequence("s").unwrap();
        assert!(matches!(sequence.next(&store), Err(Error::UnknownTable { .. })));
        assert!(store.drop_sequence("s").is_err());
        store.create_sequence(def("s")).unwrap();
        assert_eq!(store.sequence("s").unwrap().next(&store).unwrap(), 1);
    }
}
