//! Random clients: point, range and predicate reads, updates of single columns, inserts, deletes,
//! rows that move from one predicate to another, and long readers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

use super::engine::{Client, Conflict, Engine, Level};
use super::random::Random;
use super::record::{
    A, B, COLUMNS, Cells, Filter, GROUP, History, ID, KEY, Mask, Op, Outcome, Read, TAG,
    Transaction, Write, mask,
};

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) clients: usize,
    /// Transactions of each client.
    pub(crate) transactions: usize,
    /// Rows at the start, and keys.
    pub(crate) keys: usize,
    pub(crate) level: Level,
    /// Whether the rows at the start, and some later, come by bulk loads.
    pub(crate) has_loads: bool,
}

const GROUPS: usize = 4;
const TAGS: usize = 10;

/// What all clients of a run share.
pub(crate) struct Shared {
    clock: AtomicU64,
    values: AtomicI64,
    /// The ids of all rows that anybody wanted to insert.
    ids: Mutex<Vec<i64>>,
}

impl Default for Shared {
    fn default() -> Self {
        let (clock, values) = (AtomicU64::new(1), AtomicI64::new(1_000));
        Self { clock, values, ids: Mutex::default() }
    }
}

impl Shared {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn value(&self) -> i64 {
        self.values.fetch_add(1, Ordering::SeqCst)
    }
}

/// A transaction that runs and is recorded.
pub(crate) struct Recorded<'s, C> {
    client: C,
    shared: &'s Shared,
    record: Transaction,
}

impl<'s, C: Client> Recorded<'s, C> {
    pub(crate) fn begin<'e, E>(
        engine: &'e E,
        shared: &'s Shared,
        level: Level,
        name: String,
    ) -> Self
    where
        E: Engine<Client<'e> = C>,
    {
        let began = shared.now();
        let client = engine.begin(level);
        let snapshot = client.snapshot();
        let (ops, outcome) = (Vec::new(), Outcome::Aborted);
        let record = Transaction { name, began, ended: began, snapshot, ops, outcome };
        Self { client, shared, record }
    }

    pub(crate) fn read(&mut self, filter: Filter, columns: Mask) -> Result<Vec<Cells>, Conflict> {
        let rows = self.client.read(&filter, columns)?;
        let snapshot = self.client.snapshot();
        self.record.ops.push(Op::Read(Read { filter, columns, snapshot, rows: rows.clone() }));
        Ok(rows)
    }

    pub(crate) fn insert(&mut self, cells: Cells) -> Result<(), Conflict> {
        self.client.insert(&cells)?;
        self.wrote(cells[ID], Some(cells), None);
        Ok(())
    }

    pub(crate) fn update(&mut self, id: i64, changes: &[(usize, i64)]) -> Result<bool, Conflict> {
        let is_there = self.client.update(id, changes)?;
        if is_there {
            let mut after = [0; COLUMNS];
            changes.iter().for_each(|&(column, value)| after[column] = value);
            let changed = changes.iter().fold(0, |mask, change| mask | 1 << change.0);
            self.wrote(id, Some(after), Some(changed));
        }
        Ok(is_there)
    }

    pub(crate) fn delete(&mut self, id: i64) -> Result<bool, Conflict> {
        let is_there = self.client.delete(id)?;
        if is_there {
            self.wrote(id, None, Some(Mask::MAX));
        }
        Ok(is_there)
    }

    fn wrote(&mut self, id: i64, after: Option<Cells>, changed: Option<Mask>) {
        let snapshot = self.client.snapshot();
        self.record.ops.push(Op::Write(Write { id, snapshot, after, changed }));
    }

    /// Ends the transaction; a conflict that a statement met before means rollback.
    pub(crate) fn end(self, is_commit: bool) -> (Transaction, Result<Option<u64>, Conflict>) {
        let Self { client, shared, mut record } = self;
        let result = match is_commit {
            true => client.commit(),
            false => {
                client.rollback();
                Err(Conflict("rolled back".to_owned()))
            }
        };
        if let Ok(commit) = &result {
            record.outcome = Outcome::Committed(*commit);
        }
        record.ended = shared.now();
        (record, result)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Read(Filter, Mask),
    /// Reads any row by its id, if the engine can by where it lies.
    ReadById(Mask),
    /// Gives new values to columns of one of the rows found last.
    Update(Vec<usize>),
    /// Moves one of the rows found last into another group, or gives it another tag.
    Move(usize),
    Delete,
    Insert,
    /// Inserts a row with the key if the last read found none.
    InsertIfAbsent(i64),
}

/// A client's transaction with what is left to do.
struct Running<'s, C> {
    recorded: Recorded<'s, C>,
    steps: std::vec::IntoIter<Step>,
    found: Vec<Cells>,
    is_to_roll_back: bool,
}

impl<C: Client> Running<'_, C> {
    /// Does the next step; false if there is none left.
    fn step(&mut self, random: &mut Random, shape: Shape) -> Result<bool, Conflict> {
        let Some(step) = self.steps.next() else {
            return Ok(false);
        };
        let shared = self.recorded.shared;
        let row = match self.found.len() {
            0 => None,
            count => Some(self.found[random.below(count)][ID]),
        };
        match (step, row) {
            (Step::Read(filter, columns), _) => self.found = self.recorded.read(filter, columns)?,
            (Step::ReadById(columns), _) => {
                let ids = shared.ids.lock().unwrap();
                let id = ids[random.below(ids.len())];
                drop(ids);
                self.found = self.recorded.read(Filter::equal(ID, id), columns)?;
            }
            (Step::Update(columns), Some(row)) => {
                let changes: Vec<(usize, i64)> =
                    columns.into_iter().map(|column| (column, shared.value())).collect();
                self.recorded.update(row, &changes)?;
            }
            (Step::Move(column), Some(row)) => {
                let bound = if column == TAG { TAGS } else { GROUPS };
                self.recorded.update(row, &[(column, random.below(bound) as i64)])?;
            }
            (Step::Delete, Some(row)) => {
                self.recorded.delete(row)?;
                self.found.clear();
            }
            (Step::Insert, _) => {
                let key = random.below(shape.keys) as i64;
                self.recorded.insert(new_row(shared, random, key))?;
            }
            (Step::InsertIfAbsent(key), None) => {
                self.recorded.insert(new_row(shared, random, key))?;
            }
            _ => {}
        }
        Ok(true)
    }
}

fn new_row(shared: &Shared, random: &mut Random, key: i64) -> Cells {
    let group = random.below(GROUPS) as i64;
    let id = shared.value();
    shared.ids.lock().unwrap().push(id);
    [id, key, group, random.below(TAGS) as i64, shared.value(), shared.value()]
}

fn filter(random: &mut Random, shape: Shape) -> Filter {
    let key = random.below(shape.keys) as i64;
    let group = random.below(GROUPS) as i64;
    match random.below(8) {
        0..3 => Filter::equal(KEY, key),
        3 => Filter::between(KEY, key, key + random.below(4) as i64),
        4 => Filter::equal(GROUP, group),
        5 => Filter(vec![(GROUP, group, group), (KEY, 0, key)]),
        6 => Filter::equal(TAG, random.below(TAGS) as i64),
        _ if random.once_in(3) => Filter::default(),
        _ => Filter::between(TAG, 2, 2 + random.below(6) as i64),
    }
}

fn columns(random: &mut Random) -> Mask {
    [mask(&[A]), mask(&[B]), mask(&[A, B]), 0][random.below(4)]
}

fn plan(random: &mut Random, shape: Shape) -> Vec<Step> {
    let read = |random: &mut Random| Step::Read(filter(random, shape), columns(random));
    let key = random.below(shape.keys) as i64;
    let column = [A, B][random.below(2)];
    match random.below(11) {
        // Transfer.
        0 | 1 => vec![
            Step::Read(Filter::equal(KEY, key), mask(&[column])),
            Step::Update(vec![column]),
            Step::Read(Filter::equal(KEY, random.below(shape.keys) as i64), mask(&[column])),
            Step::Update(vec![column]),
        ],
        // Looks at several rows and changes one: write skew.
        2 | 3 => vec![read(random), read(random), Step::Update(vec![column])],
        4 => vec![read(random), Step::Update(vec![A, B]), read(random), Step::Insert],
        5 => vec![
            Step::Read(Filter::equal(KEY, key), mask(&[A])),
            Step::InsertIfAbsent(key),
            read(random),
        ],
        6 => vec![read(random), Step::Delete, read(random)],
        7 => vec![read(random), Step::Move([GROUP, TAG][random.below(2)]), read(random)],
        8 => vec![
            Step::ReadById(mask(&[column])),
            read(random),
            Step::Update(vec![column]),
            Step::ReadById(0),
        ],
        // Long readers, some of which write in the end.
        9 => (0..6 + random.below(10)).map(|_| read(random)).collect(),
        _ => {
            let mut steps: Vec<Step> = (0..3 + random.below(6)).map(|_| read(random)).collect();
            steps.push([Step::Update(vec![column]), Step::Insert][random.below(2)].clone());
            steps
        }
    }
}

fn start<'e, 's, E: Engine>(
    engine: &'e E,
    shared: &'s Shared,
    name: String,
    random: &mut Random,
    shape: Shape,
) -> Running<'s, E::Client<'e>> {
    Running {
        recorded: Recorded::begin(engine, shared, shape.level, name),
        steps: plan(random, shape).into_iter(),
        found: Vec::new(),
        is_to_roll_back: random.once_in(12),
    }
}

/// Makes a row for each key.
fn fill<E: Engine>(engine: &E, shared: &Shared, random: &mut Random, shape: Shape) -> Transaction {
    let rows: Vec<Cells> = (0..shape.keys).map(|key| new_row(shared, random, key as i64)).collect();
    if let Some(loaded) = load(engine, shared, &rows, shape) {
        return loaded;
    }
    let mut first = Recorded::begin(engine, shared, shape.level, "fill".to_owned());
    for row in rows {
        first.insert(row).expect("nobody else is there");
    }
    let (record, result) = first.end(true);
    result.expect("nobody else is there");
    record
}

/// Loads rows in bulk, if that is part of the run and the engine can.
fn load<E: Engine>(
    engine: &E,
    shared: &Shared,
    rows: &[Cells],
    shape: Shape,
) -> Option<Transaction> {
    if !shape.has_loads {
        return None;
    }
    let began = shared.now();
    let commit = engine.load(rows)?;
    let insert = |cells: &Cells| {
        Op::Write(Write { id: cells[ID], snapshot: commit - 1, after: Some(*cells), changed: None })
    };
    Some(Transaction {
        name: format!("load{commit}"),
        began,
        ended: shared.now(),
        snapshot: commit - 1,
        ops: rows.iter().map(insert).collect(),
        outcome: Outcome::Committed(Some(commit)),
    })
}

/// Runs all clients on this thread; what happens depends on nothing but the seed.
pub(crate) fn interleave<E: Engine>(engine: &E, seed: u64, shape: Shape) -> History {
    let (shared, mut random) = (Shared::default(), Random::new(seed));
    let mut history = History { transactions: vec![fill(engine, &shared, &mut random, shape)] };
    let mut left = vec![shape.transactions; shape.clients];
    let mut running: Vec<Option<Running<'_, E::Client<'_>>>> = Vec::new();
    running.resize_with(shape.clients, || None);
    while left.iter().any(|&left| left > 0) {
        if shape.has_loads && random.once_in(60) {
            let key = random.below(shape.keys) as i64;
            let rows = [new_row(&shared, &mut random, key), new_row(&shared, &mut random, key)];
            history.transactions.extend(load(engine, &shared, &rows, shape));
        }
        let client = random.below(shape.clients);
        if left[client] == 0 {
            continue;
        }
        let mut now = running[client].take().unwrap_or_else(|| {
            let name = format!("T{client}.{}", left[client]);
            start(engine, &shared, name, &mut random, shape)
        });
        let step = now.step(&mut random, shape);
        if step == Ok(true) {
            running[client] = Some(now);
            continue;
        }
        let is_commit = step.is_ok() && !now.is_to_roll_back;
        history.transactions.push(now.recorded.end(is_commit).0);
        left[client] -= 1;
    }
    history
}

/// Runs each client on a thread of its own.
pub(crate) fn run<E: Engine>(engine: &E, seed: u64, shape: Shape) -> History {
    let (shared, mut random) = (Shared::default(), Random::new(seed));
    let mut history = History { transactions: vec![fill(engine, &shared, &mut random, shape)] };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..shape.clients)
            .map(|client| {
                let (shared, random) = (&shared, Random::new(random.next()));
                scope.spawn(move || run_client(engine, shared, client, random, shape))
            })
            .collect();
        for client in clients {
            history.transactions.extend(client.join().expect("the client ended"));
        }
    });
    history
}

fn run_client<E: Engine>(
    engine: &E,
    shared: &Shared,
    client: usize,
    mut random: Random,
    shape: Shape,
) -> Vec<Transaction> {
    let mut done = Vec::new();
    for number in 0..shape.transactions {
        let name = format!("T{client}.{number}");
        let mut now = start(engine, shared, name, &mut random, shape);
        let mut step = Ok(true);
        while step == Ok(true) {
            step = now.step(&mut random, shape);
            if random.once_in(3) {
                thread::yield_now();
            }
        }
        let is_commit = step.is_ok() && !now.is_to_roll_back;
        done.push(now.recorded.end(is_commit).0);
    }
    done
}
