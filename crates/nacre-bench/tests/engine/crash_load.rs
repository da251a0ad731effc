//! Loads that are killed: no acknowledged load is lost, no part of one is ever visible.
//!
//! Each round starts a process that loads the same file again and again into one table and says
//! after each load that it is committed. It is killed (SIGKILL) at a random moment between its
//! start and a few loads later. Then the database is opened and must hold a whole number of
//! loads: at least those acknowledged so far, at most one more. A database goes through
//! [`ROUNDS_PER_DATABASE`] rounds; no file of a killed load may stay in it.
//!
//! `NACRE_TEST_ROUNDS` sets the number of rounds (20), `NACRE_TEST_SEED` repeats a run's moments.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nacre_bench::process::{Child, LINE_PREFIX};
use nacre_bench::workload::{Cell, compare};
use nacre_bench::{Engine, Error};

/// More than one chunk of 65,536 rows, and the last one not full.
const ROWS: u64 = 70_000;

const ROUNDS: u64 = 20;

/// Then a new one is made, so that checking a database does not outgrow killing its loads.
const ROUNDS_PER_DATABASE: u64 = 20;

/// The kill comes before this many loads' time is over.
const LOADS_PER_ROUND: u32 = 3;

/// Replicas of a column unless a policy says otherwise; each is a file of the load.
const REPLICAS: u64 = 2;

const CHILD_DIRECTORY: &str = "NACRE_TEST_CHILD_DIRECTORY";
const CHILD_CSV: &str = "NACRE_TEST_CHILD_CSV";

const CREATE: &str = "CREATE TABLE t (id bigint NOT NULL, amount decimal(15,2) NOT NULL, \
                      day date, note varchar(40))";

/// SplitMix64: random enough for moments, and repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn write_csv(path: &Path) {
    let mut csv = String::from("id,amount,day,note\n");
    for id in 0..ROWS {
        let (cents, day) = (id * 7_919 % 100_000, id % 28 + 1);
        let note = if id % 5 == 0 { String::new() } else { format!("note {}", id * id % 977) };
        writeln!(csv, "{id},{}.{:02},2024-02-{day:02},{note}", cents / 100, cents % 100).unwrap();
    }
    std::fs::write(path, csv).unwrap();
}

/// Not a test by itself: the process that is killed. Does nothing unless a test started it.
#[test]
fn child_loads_until_it_is_killed() {
    let (Some(directory), Some(csv)) =
        (std::env::var_os(CHILD_DIRECTORY), std::env::var_os(CHILD_CSV))
    else {
        return;
    };
    let tell = |text: &str| {
        // The line break ends what the test harness may have begun to write.
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "\n{LINE_PREFIX}{text}\n").and_then(|()| stdout.flush()).unwrap();
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let engine = Engine::open(Path::new(&directory), Some(2)).await.unwrap();
        tell("open");
        loop {
            let loaded = engine.load("t", Path::new(&csv), Arc::default()).await.unwrap();
            assert_eq!(loaded.rows, ROWS);
            tell("committed");
        }
    });
}

fn start_child(directory: &Path, csv: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash_load::child_loads_until_it_is_killed", "--nocapture"]);
    command.env(CHILD_DIRECTORY, directory).env(CHILD_CSV, csv);
    Child::start_command(command).unwrap()
}

/// Kills a loading process after `moment` and returns how many loads it had acknowledged.
async fn load_and_kill(directory: &Path, csv: &Path, moment: Duration) -> u64 {
    let mut child = start_child(directory, csv);
    tokio::time::sleep(moment).await;
    let lines = child.kill().await.unwrap();
    lines.iter().filter(|line| line.text == "committed").count() as u64
}

/// Returns how many whole loads the table holds; panics if it holds anything else.
async fn whole_loads(engine: &Engine, round: &str) -> u64 {
    let counts = "SELECT count(*), count(day), count(note), sum(id), sum(amount) FROM t";
    let once = "SELECT min(loads), max(loads), count(*) FROM \
                (SELECT id, count(*) AS loads FROM t GROUP BY id) AS by_id";
    let counts = engine.query(counts).await.unwrap();
    let Cell::Number { unscaled: rows, scale: 0, .. } = counts.rows[0][0] else {
        panic!("no count")
    };
    let rows = u64::try_from(rows).unwrap();
    assert_eq!(rows % ROWS, 0, "{round}: {rows} rows are not a whole number of loads");
    let loads = rows / ROWS;
    if loads == 0 {
        return 0;
    }

    let cents: u64 = (0..ROWS).map(|id| id * 7_919 % 100_000).sum();
    let notes = ROWS - ROWS.div_ceil(5);
    let expected = [
        Cell::number((loads * ROWS).into(), 0),
        Cell::number((loads * ROWS).into(), 0),
        Cell::number((loads * notes).into(), 0),
        Cell::number((loads * (ROWS * (ROWS - 1) / 2)).into(), 0),
        Cell::number((loads * cents).into(), 2),
    ];
    let mut reference = counts.clone();
    reference.rows = vec![expected.to_vec()];
    assert_eq!(compare(&counts, &reference, &[]), Ok(()), "{round}");
    let once = engine.line(once).await.unwrap();
    assert_eq!(once, format!("{loads} {loads} {ROWS}"), "{round}: a row is missing or twice there");
    loads
}

/// Time from the start of a loading process to its first commit, and from there to the next.
async fn measure(csv: &Path) -> (Duration, Duration) {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    create(&database).await;
    let mut child = start_child(&database, csv);
    let mut committed = Vec::new();
    while committed.len() < 2 {
        let line = child.line().await.unwrap();
        if line.text == "committed" {
            committed.push(line.at);
        }
    }
    (committed[0] - child.started(), committed[1] - committed[0])
}

fn remove_if_there(database: &Path) {
    if database.exists() {
        std::fs::remove_dir_all(database).unwrap();
    }
}

fn file_count(database: &Path) -> u64 {
    std::fs::read_dir(database).unwrap().count() as u64
}

async fn create(database: &Path) {
    let engine = Engine::open(database, Some(2)).await.unwrap();
    engine.query(CREATE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_loads_lose_no_commit_and_show_no_part() {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number_from_environment("NACRE_TEST_SEED").unwrap_or_else(clock);
    let rounds = number_from_environment("NACRE_TEST_ROUNDS").unwrap_or(ROUNDS);
    println!("NACRE_TEST_SEED={seed} NACRE_TEST_ROUNDS={rounds}");
    let mut random = Random(seed);

    let directory = tempfile::tempdir().unwrap();
    let (csv, database) = (directory.path().join("t.csv"), directory.path().join("database"));
    write_csv(&csv);
    let (first, next) = measure(&csv).await;
    let span = first + next * LOADS_PER_ROUND;

    let (mut loads, mut loads_in_all, mut acknowledged_in_all, mut files_when_empty) = (0, 0, 0, 0);
    for round in 1..=rounds {
        if (round - 1) % ROUNDS_PER_DATABASE == 0 {
            loads = 0;
            remove_if_there(&database);
            create(&database).await;
            files_when_empty = file_count(&database);
        }
        let moment = Duration::from_micros(random.below(span.as_micros() as u64));
        let acknowledged = load_and_kill(&database, &csv, moment).await;
        let name = format!("seed {seed}, round {round}, killed after {moment:?}");
        let engine = Engine::open(&database, Some(2)).await.unwrap();
        let now = whole_loads(&engine, &name).await;
        let range = loads + acknowledged..=loads + acknowledged + 1;
        assert!(range.contains(&now), "{name}: {now} loads, expected {range:?}");
        let files = files_when_empty + now * REPLICAS;
        assert_eq!(file_count(&database), files, "{name}: a file for each replica of a load");
        loads_in_all += now - loads;
        acknowledged_in_all += acknowledged;
        loads = now;
    }
    println!("{rounds} kills, {loads_in_all} loads committed, {acknowledged_in_all} acknowledged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_load_leaves_the_table_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (good, bad) = (directory.path().join("good.csv"), directory.path().join("bad.csv"));
    let database = directory.path().join("database");
    write_csv(&good);
    let mut text = std::fs::read_to_string(&good).unwrap();
    text.push_str("not a number,1.00,2024-01-01,x\n");
    std::fs::write(&bad, text).unwrap();
    create(&database).await;

    let engine = Engine::open(&database, Some(2)).await.unwrap();
    engine.load("t", &good, Arc::default()).await.unwrap();
    let files = file_count(&database);
    let error = engine.load("t", &bad, Arc::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Nacre { .. }), "{error}");
    assert_eq!(whole_loads(&engine, "after the failed load").await, 1);
    assert_eq!(file_count(&database), files);
    drop(engine);
    let engine = Engine::open(&database, Some(2)).await.unwrap();
    assert_eq!(whole_loads(&engine, "after reopening").await, 1);
}
