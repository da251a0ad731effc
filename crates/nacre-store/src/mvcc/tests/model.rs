//! Interleaved transactions against a naive store that keeps every version of every row.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::mvcc::Savepoint;

const CLIENTS: usize = 4;

/// The values of a row, or that it does not exist.
type State = Option<(i64, Option<String>)>;

#[derive(Clone, Debug)]
enum Step {
    Begin(IsolationLevel),
    Insert(i64),
    Update { row: usize, number: Option<i64>, text: Option<String> },
    Delete(usize),
    Read(usize),
    Scan,
    Refresh,
    Savepoint,
    RollbackTo,
    Commit,
    Rollback,
}

fn step() -> impl Strategy<Value = Step> {
    let level = prop_oneof![
        Just(IsolationLevel::Serializable),
        Just(IsolationLevel::RepeatableRead),
        Just(IsolationLevel::ReadCommitted),
    ];
    prop_oneof![
        3 => level.prop_map(Step::Begin),
        2 => (0..100_i64).prop_map(Step::Insert),
        6 => (0..12_usize, prop::option::of(0..100_i64), prop::option::of("[a-c]{0,3}"))
            .prop_map(|(row, number, text)| Step::Update { row, number, text }),
        2 => (0..12_usize).prop_map(Step::Delete),
        4 => (0..12_usize).prop_map(Step::Read),
        2 => Just(Step::Scan),
        1 => Just(Step::Refresh),
        1 => Just(Step::Savepoint),
        1 => Just(Step::RollbackTo),
        3 => Just(Step::Commit),
        1 => Just(Step::Rollback),
    ]
}

/// One row with all it ever was.
#[derive(Debug, Default)]
struct ModelRow {
    committed: Vec<(usize, State)>,
    dirty: Option<(usize, State)>,
}

impl ModelRow {
    fn seen_by(&self, client: usize, start: usize) -> State {
        match &self.dirty {
            Some((owner, state)) if *owner == client => state.clone(),
            _ => {
                let seen = self.committed.iter().rev().find(|(ts, _)| *ts <= start);
                seen.and_then(|(_, state)| state.clone())
            }
        }
    }

    /// What must come of a write.
    fn verdict(&self, client: usize, start: usize) -> Result<(), ErrorKind> {
        let is_foreign = self.dirty.as_ref().is_some_and(|(owner, _)| *owner != client);
        let is_newer = self.committed.last().is_some_and(|(ts, _)| *ts > start);
        match () {
            () if is_foreign || is_newer => Err(ErrorKind::SerializationConflict),
            () if self.seen_by(client, start).is_none() => Err(ErrorKind::UnknownRow),
            () => Ok(()),
        }
    }
}

/// What dirty rows of one client were.
type Dirty = BTreeMap<RowId, State>;

struct Client {
    tx: Transaction,
    start: usize,
    savepoint: Option<(Savepoint, Dirty)>,
}

struct World {
    store: Store,
    table: Arc<Table>,
    rows: BTreeMap<RowId, ModelRow>,
    clients: Vec<Option<Client>>,
    now: usize,
}

impl World {
    fn new() -> Self {
        let (store, table) = database();
        load(&store, &table, 0..4);
        let rows = all(&mut begin(&store), &table)
            .into_iter()
            .map(|(row, _)| row)
            .zip(0..)
            .map(|(row, number)| {
                (row, ModelRow { committed: vec![(0, Some((number, None)))], dirty: None })
            })
            .collect();
        let clients = (0..CLIENTS).map(|_| None).collect();
        Self { store, table, rows, clients, now: 0 }
    }

    fn row(&self, number: usize) -> RowId {
        let rows: Vec<&RowId> = self.rows.keys().collect();
        *rows[number % rows.len()]
    }

    fn dirty_of(&self, client: usize) -> Dirty {
        let own = |row: &ModelRow| match &row.dirty {
            Some((owner, state)) if *owner == client => Some(state.clone()),
            _ => None,
        };
        self.rows.iter().filter_map(|(id, row)| Some((*id, own(row)?))).collect()
    }

    fn set_dirty(&mut self, client: usize, dirty: Dirty) {
        for row in self.rows.values_mut() {
            if row.dirty.as_ref().is_some_and(|(owner, _)| *owner == client) {
                row.dirty = None;
            }
        }
        for (id, state) in dirty {
            self.rows.get_mut(&id).unwrap().dirty = Some((client, state));
        }
    }

    fn run(&mut self, client: usize, step: &Step) {
        if let Step::Begin(level) = step {
            let tx = self.store.begin(*level);
            self.set_dirty(client, Dirty::new());
            // Who was there is rolled back by being dropped.
            self.clients[client] = Some(Client { tx, start: self.now, savepoint: None });
            return;
        }
        let Some(mut running) = self.clients[client].take() else {
            return;
        };
        match step {
            Step::Commit => return self.commit(client, running),
            Step::Rollback => {
                running.tx.rollback();
                return self.set_dirty(client, Dirty::new());
            }
            Step::Insert(number) => {
                let row = insert(&mut running.tx, &self.table, *number);
                let state = Some((*number, Some(format!("text {number}"))));
                let dirty = Some((client, state));
                let old = self.rows.insert(row, ModelRow { committed: Vec::new(), dirty });
                assert!(old.is_none(), "{row} is given twice");
            }
            Step::Update { row, number, text } => {
                self.update(client, &mut running, self.row(*row), (*number, text.clone()));
            }
            Step::Delete(row) => {
                let id = self.row(*row);
                let outcome = running.tx.delete(&self.table, id).map_err(|error| error.kind());
                let row = self.rows.get_mut(&id).unwrap();
                assert_eq!(outcome, row.verdict(client, running.start));
                if outcome.is_ok() {
                    row.dirty = Some((client, None));
                }
            }
            Step::Read(row) => {
                let id = self.row(*row);
                let read = running.tx.read(&self.table, id, &[0, 1], state_of).unwrap();
                assert_eq!(read.flatten(), self.rows[&id].seen_by(client, running.start), "{id}");
            }
            Step::Scan => self.scan(client, &mut running),
            Step::Refresh => {
                running.tx.refresh();
                if running.tx.level() == IsolationLevel::ReadCommitted {
                    running.start = self.now;
                }
            }
            Step::Savepoint => {
                running.savepoint = Some((running.tx.savepoint(), self.dirty_of(client)));
            }
            Step::RollbackTo => {
                if let Some((savepoint, dirty)) = running.savepoint.clone() {
                    running.tx.rollback_to(savepoint);
                    self.set_dirty(client, dirty);
                }
            }
            Step::Begin(_) => {}
        }
        self.clients[client] = Some(running);
    }

    fn update(
        &mut self,
        client: usize,
        running: &mut Client,
        id: RowId,
        (number, text): (Option<i64>, Option<String>),
    ) {
        let mut changes = Vec::new();
        changes.extend(number.map(|number| (0, ValueRef::Int(number))));
        changes.push((1, text.as_ref().map_or(ValueRef::Null, |t| ValueRef::Bytes(t.as_bytes()))));
        let outcome = running.tx.update(&self.table, id, &changes);
        let row = self.rows.get_mut(&id).unwrap();
        let verdict = row.verdict(client, running.start);
        assert_eq!(outcome.as_ref().map(|_| ()).map_err(|error| error.kind()), verdict);
        let Ok(new) = outcome else {
            return;
        };
        let before = row.seen_by(client, running.start).unwrap();
        let after = Some((number.unwrap_or(before.0), text));
        if new == id {
            row.dirty = Some((client, after));
        } else {
            assert!(!id.is_hot());
            row.dirty = Some((client, None));
            let dirty = Some((client, after));
            self.rows.insert(new, ModelRow { committed: Vec::new(), dirty });
        }
    }

    fn scan(&self, client: usize, running: &mut Client) {
        let mut scanned = Vec::new();
        let keep = |row: RowId, values: &[ValueRef<'_>]| scanned.push((row, state_of(values)));
        running.tx.scan(&self.table, &[], &[0, 1], keep).unwrap();
        let expected: Vec<(RowId, State)> = self
            .rows
            .iter()
            .map(|(id, row)| (*id, row.seen_by(client, running.start)))
            .filter(|(_, state)| state.is_some())
            .collect();
        assert_eq!(scanned, expected);
        assert_eq!(running.tx.table_snapshot(&self.table).rows(), expected.len() as u64);
    }

    fn commit(&mut self, client: usize, running: Client) {
        let dirty = self.dirty_of(client);
        let level = running.tx.level();
        match running.tx.commit() {
            Ok(_) => {
                if !dirty.is_empty() {
                    self.now += 1;
                }
                self.set_dirty(client, Dirty::new());
                for (id, state) in dirty {
                    self.rows.get_mut(&id).unwrap().committed.push((self.now, state));
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::SerializationConflict);
                assert_eq!(level, IsolationLevel::Serializable);
                self.set_dirty(client, Dirty::new());
            }
        }
    }
}

fn state_of(values: &[ValueRef<'_>]) -> State {
    match values {
        [ValueRef::Int(number), ValueRef::Null] => Some((*number, None)),
        [ValueRef::Int(number), ValueRef::Bytes(text)] => {
            Some((*number, Some(String::from_utf8(text.to_vec()).unwrap())))
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 500, ..Default::default() })]

    #[test]
    fn interleaved_transactions_behave_as_the_model(
        steps in prop::collection::vec((0..CLIENTS, step()), 1..120)
    ) {
        let mut world = World::new();
        for (client, step) in &steps {
            world.run(*client, step);
        }
        world.clients.clear();
        assert_clean(&world.store);
    }
}
