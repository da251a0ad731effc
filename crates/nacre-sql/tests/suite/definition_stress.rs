//! Clients that move amounts between rows while another one changes the tables' definitions: no
//! amount is lost, and no transaction commits of which a half changed nothing.
//!
//! A normal run makes each change once at each isolation level. `NACRE_STRESS_SECONDS` is the time
//! for each level instead, `NACRE_STRESS_LEVEL` the only level.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nacre_sql::Error;

use crate::support::{Answer, Connection};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const CLIENTS: usize = 4;

const ACCOUNTS: usize = 16;

/// Within it four clients have committed something.
const COMMIT_WAIT: Duration = Duration::from_secs(120);

const START: [&str; 4] = [
    "create table one (id integer primary key, bal integer)",
    "create table two (id integer primary key, bal integer)",
    "create table moved (id integer primary key, one integer references one, two integer \
     references two, amount integer)",
    "create table log (id integer)",
];

/// What the client that alters does, in turn. A name that was exchanged twice is the old one.
const ALTERATIONS: [&[&str]; 13] = [
    &["alter table one add column z integer default 5"],
    &["alter table two alter column bal type bigint"],
    &[
        "alter table one drop constraint if exists c",
        "alter table one add constraint c check (bal > -1000000)",
    ],
    &[
        "alter table one rename to x",
        "alter table two rename to one",
        "alter table x rename to two",
    ],
    &[
        "begin",
        "alter table one drop column if exists z",
        "alter table moved add column y text",
        "commit",
    ],
    &["alter table moved drop column if exists y"],
    &["drop table log", "create table log (id integer)"],
    &["begin", "alter table two alter column bal set not null", "rollback"],
    &["begin", "drop table log", "create table log (id integer)", "commit"],
    &["alter table two alter column bal drop not null"],
    &["alter table one drop column if exists z"],
    &["alter table two drop column if exists z"],
    &[
        "alter table one alter column bal type integer",
        "alter table two alter column bal type integer",
    ],
];

/// What a client did.
#[derive(Default)]
struct Tally {
    commits: AtomicU64,
    conflicts: AtomicU64,
    alterations: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream of numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        // The generator of Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Checks that an error is expected: a conflict, or a missing name while names are exchanged.
fn require_conflict(error: &Error, sql: &str) {
    let is_between_names = error.sqlstate() == "42P01";
    assert!(error.sqlstate() == "40001" || is_between_names, "{sql}: {error:?}");
}

/// Returns an UPDATE of one row, in one of the ways in which a statement may run.
fn update(table: &str, id: usize, by: i64, way: usize) -> String {
    match way {
        0 => format!("update {table} set bal = bal + {by} where id = {id}"),
        1 => format!("update {table} set bal = bal + {by} where id = (select {id})"),
        2 => format!("execute {table}_{} ({id}, {by})", if by < 0 { "from" } else { "to" }),
        3 => format!(
            "merge into {table} using (select {id} as id) s on {table}.id = s.id \
             when matched then update set bal = bal + {by}"
        ),
        4 => format!(
            "insert into {table} (id, bal) values ({id}, 0) \
             on conflict (id) do update set bal = {table}.bal + {by}"
        ),
        _ => format!(
            "update {table} set bal = {table}.bal + {by} from (select {id} as id) s \
             where s.id = {table}.id"
        ),
    }
}

fn prepare(client: &Connection) {
    for table in ["one", "two"] {
        for name in ["from", "to"] {
            client.ok(&format!(
                "prepare {table}_{name} (integer, integer) as \
                 update {table} set bal = bal + $2 where id = $1"
            ));
        }
    }
}

/// Moves an amount, and notes it in a row that refers to both accounts.
fn transfer(
    client: &Connection,
    numbers: &mut Numbers,
    level: &str,
    number: usize,
) -> Result<(), (Error, String)> {
    let amount = 1 + numbers.below(9) as i64;
    let (first, second) = (1 + numbers.below(ACCOUNTS), 1 + numbers.below(ACCOUNTS));
    let mut statements = vec![
        update("one", first, -amount, numbers.below(6)),
        update("two", second, amount, numbers.below(6)),
        format!(
            "insert into moved (id, one, two, amount) \
             values ({number}, {first}, {second}, {amount})"
        ),
    ];
    if numbers.below(4) == 0 {
        statements.push("select count(*), sum(bal) from one".into());
    }
    if numbers.below(4) == 0 {
        statements.push(format!("insert into log values ({number})"));
    }
    client.ok(&format!("begin isolation level {level}"));
    for sql in statements {
        let answer = client.run(&sql).map_err(|error| (error, sql.clone()))?;
        if let Answer::Tag(tag) = answer {
            assert!(tag.ends_with('1'), "{level}, {sql}: {tag}");
        }
        if let Answer::Rows(_, rows) =
            client.run("select count(*) from two").map_err(|error| (error, sql.clone()))?
        {
            assert_eq!(rows, [[ACCOUNTS.to_string()]], "{level}, {sql}");
        }
    }
    client.run("commit").map(|_| ()).map_err(|error| (error, "commit".into()))
}

fn work(client: &Connection, level: &str, seed: usize, tally: &Tally, is_over: &AtomicBool) {
    let mut numbers = Numbers(seed as u64);
    prepare(client);
    for round in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        match transfer(client, &mut numbers, level, round * CLIENTS + seed) {
            Ok(()) => Tally::count(&tally.commits),
            Err((error, sql)) => {
                require_conflict(&error, &sql);
                Tally::count(&tally.conflicts);
                drop(client.run("rollback"));
            }
        }
    }
}

/// Waits until a transaction commits: at the higher levels all that are open fail with each step.
fn await_commit(tally: &Tally) {
    let (before, begun) = (tally.commits.load(Ordering::Relaxed), Instant::now());
    while tally.commits.load(Ordering::Relaxed) == before {
        assert!(begun.elapsed() < COMMIT_WAIT, "no transaction commits");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Alters tables in turn, once or until a moment. A statement outside of a block that is refused is
/// tried again, so that names do not stay exchanged by half.
fn alter(client: &Connection, tally: &Tally, until: Option<Instant>) {
    let rounds = if until.is_some() { usize::MAX } else { ALTERATIONS.len() };
    for step in ALTERATIONS.iter().cycle().take(rounds) {
        if until.is_some_and(|until| Instant::now() > until) {
            return;
        }
        await_commit(tally);
        let is_block = step[0] == "begin";
        let mut left = step.iter();
        let mut next = left.next();
        while let Some(sql) = next {
            match client.run(sql) {
                Ok(_) => {
                    Tally::count(&tally.alterations);
                    next = left.next();
                }
                Err(error) => {
                    assert_eq!(error.sqlstate(), "40001", "{sql}: {error:?}");
                    Tally::count(&tally.refused);
                    if is_block {
                        break;
                    }
                }
            }
        }
        if is_block {
            drop(client.run("rollback"));
        }
    }
}

fn sum(db: &Connection) -> i64 {
    let sum = "select sum(bal) from (select bal from one union all select bal from two) as sides";
    db.rows(sum)[0].parse().unwrap()
}

fn stress(level: &str, duration: Option<Duration>) {
    let db = Connection::open(None);
    START.iter().for_each(|sql| drop(db.ok(sql)));
    for table in ["one", "two"] {
        let rows = format!("select n, 1000 from generate_series(1, {ACCOUNTS}) as g (n)");
        db.ok(&format!("insert into {table} {rows}"));
    }
    let (tally, is_over, begun) = (Tally::default(), AtomicBool::new(false), Instant::now());
    let before = sum(&db);
    thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let (client, tally, is_over) = (db.another(), &tally, &is_over);
            scope.spawn(move || work(&client, level, seed, tally, is_over));
        }
        let until = duration.map(|duration| Instant::now() + duration);
        let altered = catch_unwind(AssertUnwindSafe(|| alter(&db.another(), &tally, until)));
        is_over.store(true, Ordering::Relaxed);
        altered.unwrap_or_else(|panic| resume_unwind(panic));
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let commits = count(&tally.commits);
    println!(
        "{level}: {commits} transactions committed, {} failed with a conflict, {} statements of \
         definitions, {} refused, in {:.1} s",
        count(&tally.conflicts),
        count(&tally.alterations),
        count(&tally.refused),
        begun.elapsed().as_secs_f64(),
    );
    assert_eq!(sum(&db), before, "{level}");
    assert_eq!(db.rows("select count(*) from moved"), [commits.to_string()], "{level}");
    assert!(commits > 0 && count(&tally.alterations) > 0, "{level}");
}

#[test]
fn sums_hold_while_definitions_change() {
    let seconds = std::env::var("NACRE_STRESS_SECONDS").ok();
    let duration = seconds.map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let only = std::env::var("NACRE_STRESS_LEVEL").ok();
    for level in LEVELS.iter().filter(|level| only.as_deref().is_none_or(|only| only == **level)) {
        stress(level, duration);
    }
}
