//! Threads that get in each other's way.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::error::ErrorKind;

const ACCOUNTS: usize = 16;
const THREADS: usize = 4;
const TRANSFERS: usize = 400;

/// A generator of Marsaglia's, to vary who meets whom.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

#[test]
fn money_is_neither_made_nor_lost() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let rows: Vec<RowId> = (0..ACCOUNTS).map(|_| insert(&mut tx, &table, 100)).collect();
    tx.commit().unwrap();
    let (is_over, rows, table) = (AtomicBool::new(false), &rows, &table);
    let transfer = |state: &mut u64| -> crate::Result<()> {
        let (from, to) = (rows[next(state) % ACCOUNTS], rows[next(state) % ACCOUNTS]);
        let mut tx = begin(&store);
        let taken = number(&mut tx, table, from).unwrap();
        set(&mut tx, table, from, taken - 1)?;
        if next(state).is_multiple_of(8) {
            tx.rollback();
            return Ok(());
        }
        let given = number(&mut tx, table, to).unwrap();
        set(&mut tx, table, to, given + 1)?;
        tx.commit().map(|_| ())
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let transfer = &transfer;
                scope.spawn(move || {
                    let mut state = 0x9e37_79b9_7f4a_7c15 ^ thread as u64;
                    for _ in 0..TRANSFERS {
                        if let Err(error) = transfer(&mut state) {
                            assert_eq!(error.kind(), ErrorKind::SerializationConflict);
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let mut reader = begin(&store);
                let scanned: i64 = all(&mut reader, table)
                    .iter()
                    .map(|(_, values)| match values[0] {
                        Value::Int(number) => number,
                        _ => 0,
                    })
                    .sum();
                let single: i64 =
                    rows.iter().filter_map(|row| number(&mut reader, table, *row)).sum();
                assert_eq!((scanned, single), (1_600, 1_600));
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_clean(&store);
}

#[test]
fn rows_that_many_insert_get_a_place_each() {
    let (store, table) = database();
    std::thread::scope(|scope| {
        for thread in 0..THREADS as i64 {
            let (store, table) = (&store, &table);
            scope.spawn(move || {
                for number in 0..200 {
                    let mut tx = begin(store);
                    (0..10).for_each(|at| {
                        insert(&mut tx, table, (thread * 200 + number) * 10 + at);
                    });
                    tx.commit().unwrap();
                }
            });
        }
    });
    let mut numbers: Vec<i64> = all(&mut begin(&store), &table)
        .into_iter()
        .map(|(_, values)| match values[0] {
            Value::Int(number) => number,
            _ => -1,
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..THREADS as i64 * 2_000).collect::<Vec<_>>());
    assert_clean(&store);
}
