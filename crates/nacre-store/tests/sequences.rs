//! Sequences across restarts and kills: no value is given twice.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `NACRE_TEST_ROUNDS` | 6 | kills of a process that draws values |
//! | `NACRE_TEST_CHILD` | | the database that this process, a child, is to draw from |

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use nacre_store::{SequenceDef, Store};
use support::open;

/// A child that nobody kills ends by itself.
const CHILD_VALUES: usize = 20_000;

fn def(name: &str) -> SequenceDef {
    let name = name.to_owned();
    SequenceDef { name, start: 1, increment: 1, min: 1, max: i64::MAX, cycles: false }
}

fn draw(store: &Store, name: &str) -> i64 {
    store.sequence(name).unwrap().next(store).unwrap()
}

#[test]
fn sequences_survive_a_restart_without_a_gap_after_few_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    store.create_sequence(def("s")).unwrap();
    let down = SequenceDef { start: -5, increment: -3, min: -100, max: 0, ..def("down") };
    store.create_sequence(down.clone()).unwrap();
    assert_eq!(draw(&store, "s"), 1);
    drop(store);
    let store = open(&path);
    assert_eq!(draw(&store, "s"), 2);
    assert_eq!(draw(&store, "down"), -5);
    assert_eq!(store.sequence("down").unwrap().def(), &down);
    store.sequence("s").unwrap().set(&store, 40, true).unwrap();
    drop(store);
    let store = open(&path);
    assert_eq!((draw(&store, "s"), draw(&store, "down")), (41, -8));
    store.drop_sequence("s").unwrap();
    drop(store);
    let store = open(&path);
    assert!(store.sequence("s").is_err());
    let names: Vec<_> = store.sequences().unwrap().iter().map(|s| s.def().name.clone()).collect();
    assert_eq!(names, ["down"]);
}

/// Draws values in two threads and tells each one; run as a child only.
#[test]
fn child_draws_values() {
    let Ok(path) = std::env::var("NACRE_TEST_CHILD") else { return };
    let store = open(Path::new(&path));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..CHILD_VALUES / 2 {
                    let value = draw(&store, "s");
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "value {value}").and_then(|()| out.flush()).unwrap();
                }
            });
        }
    });
}

#[test]
fn no_value_is_given_twice_however_often_the_process_is_killed() {
    let rounds = std::env::var("NACRE_TEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    store.create_sequence(def("s")).unwrap();
    drop(store);
    let mut given = BTreeSet::new();
    for round in 0..rounds.unwrap_or(6_usize) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_draws_values", "--nocapture"])
            .env("NACRE_TEST_CHILD", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Killed behind, at, and before the end of a reservation.
        let wanted = 1 + round * 37;
        let mut told = 0;
        let mut take = |line: std::io::Result<String>| {
            // The last line may be cut.
            let value = line.ok()?.rsplit_once("value ")?.1.parse::<i64>().ok()?;
            assert!(given.insert(value), "round {round}: {value} was given twice");
            Some(())
        };
        while told < wanted
            && let Some(line) = lines.next()
        {
            told += usize::from(take(line).is_some());
        }
        child.kill().unwrap();
        // What it told before it was killed counts, too.
        lines.for_each(|line| {
            take(line);
        });
        child.wait().unwrap();
        assert!(told >= wanted, "round {round}: the child told {told} values");
    }
    let store = open(&path);
    assert!(given.insert(draw(&store, "s")));
}
