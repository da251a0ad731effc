//! Tables with a primary key under transactions: who may insert a key when, and what lookups see.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::thread;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::index::Direction;
use nacre_store::{
    ColumnDef, Error, ErrorKind, IsolationLevel, OpenOptions, RowId, Store, Table, TableSchema,
    Transaction, ValueRef,
};

/// Columns: the key in two parts, and a value.
fn table(store: &Store) -> Arc<Table> {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![
            column("v", ColumnType::BigInt),
            column("a", ColumnType::Integer),
            column("b", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![1, 2]),
        primary_key_name: "t_pkey".into(),
        replicas: "auto".parse().ok(),
    };
    store.create_table(schema).unwrap()
}

fn volatile() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store);
    (store, table)
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn text(key: i64) -> String {
    format!("k{:02}", key % 7)
}

fn insert(tx: &mut Transaction, table: &Arc<Table>, key: i64, value: i64) -> Result<RowId, Error> {
    let text = text(key);
    let row = [ValueRef::Int(value), ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())];
    tx.insert(table, &row)
}

/// Returns the row of a key and its value, and checks that there is but one.
fn find(tx: &mut Transaction, table: &Arc<Table>, key: i64) -> Option<(RowId, i64)> {
    let index = table.index("t_pkey").unwrap();
    let text = text(key);
    let key = [ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())];
    let mut found = Vec::new();
    let on_row = |row: RowId, values: &[ValueRef<'_>]| match values {
        [ValueRef::Int(value)] => found.push((row, *value)),
        other => panic!("{other:?}"),
    };
    tx.lookup(table, &index, &key, &[0], on_row).unwrap();
    assert!(found.len() <= 1, "{found:?}");
    found.pop()
}

/// Returns keys and values of a range of first key columns by the index.
fn range(
    tx: &mut Transaction,
    table: &Arc<Table>,
    bounds: (Bound<i64>, Bound<i64>),
    direction: Direction,
) -> Vec<(i64, i64)> {
    let index = table.index("t_pkey").unwrap();
    let (low, high) =
        (bounds.0.map(|key| [ValueRef::Int(key)]), bounds.1.map(|key| [ValueRef::Int(key)]));
    let bounds = (low.as_ref().map(|key| &key[..]), high.as_ref().map(|key| &key[..]));
    let mut found = Vec::new();
    tx.range(table, &index, bounds, direction, &[1, 0], |_, values| {
        match values {
            [ValueRef::Int(key), ValueRef::Int(value)] => found.push((*key, *value)),
            other => panic!("{other:?}"),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// Returns keys and values of all rows, without the index.
fn scan(tx: &mut Transaction, table: &Arc<Table>) -> BTreeMap<i64, i64> {
    let mut found = BTreeMap::new();
    tx.scan(table, &[], &[1, 0], |_, values| match values {
        [ValueRef::Int(key), ValueRef::Int(value)] => {
            assert_eq!(found.insert(*key, *value), None, "key {key} is there twice");
        }
        other => panic!("{other:?}"),
    })
    .unwrap();
    found
}

fn load(store: &Store, table: &Arc<Table>, keys: &[i64]) -> Result<u64, Error> {
    let mut columns: Vec<ColumnBuffer> =
        (0..3).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
    for &key in keys {
        columns[0].push_int(-key);
        columns[1].push_int(key);
        columns[2].push_bytes(text(key).as_bytes());
    }
    let load = store.begin_load(table)?;
    load.append_chunk(0, &columns)?;
    load.commit()
}

fn commit_insert(store: &Store, table: &Arc<Table>, key: i64, value: i64) {
    let mut tx = begin(store);
    insert(&mut tx, table, key, value).unwrap();
    tx.commit().unwrap();
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// A table with key 1, in a hot chunk or in a frozen one.
fn bases() -> [(Store, Arc<Table>); 2] {
    let (hot, frozen) = (volatile(), volatile());
    commit_insert(&hot.0, &hot.1, 1, -1);
    load(&frozen.0, &frozen.1, &[1]).unwrap();
    [hot, frozen]
}

#[test]
fn visible_key_is_a_duplicate_and_the_error_names_it() {
    for (store, table) in bases() {
        let mut tx = begin(&store);
        let Error::DuplicateKey(duplicate) = insert(&mut tx, &table, 1, 5).unwrap_err() else {
            panic!();
        };
        assert_eq!((duplicate.table.as_str(), duplicate.constraint.as_str()), ("t", "t_pkey"));
        assert_eq!((duplicate.columns.as_str(), duplicate.key.as_str()), ("a, b", "1, k01"));
        assert_eq!(duplicate.loaded_at, None);
        // The transaction can go on.
        insert(&mut tx, &table, 2, 5).unwrap();
        assert_eq!(kind(insert(&mut tx, &table, 2, 6)), ErrorKind::DuplicateKey);
        assert_eq!(scan(&mut tx, &table), BTreeMap::from([(1, -1), (2, 5)]));
        tx.commit().unwrap();
        assert_eq!(find(&mut begin(&store), &table, 2).unwrap().1, 5);
    }
}

#[test]
fn key_committed_since_the_snapshot_is_a_duplicate() {
    let (store, table) = volatile();
    let mut old = begin(&store);
    commit_insert(&store, &table, 1, 1);
    assert_eq!(find(&mut old, &table, 1), None);
    assert_eq!(kind(insert(&mut old, &table, 1, 2)), ErrorKind::DuplicateKey);
    load(&store, &table, &[2]).unwrap();
    assert_eq!(kind(insert(&mut old, &table, 2, 2)), ErrorKind::DuplicateKey);
    assert_eq!(scan(&mut old, &table), BTreeMap::new());
}

#[test]
fn uncommitted_insert_is_a_conflict_until_it_ends() {
    let (store, table) = volatile();
    let (mut one, mut two) = (begin(&store), begin(&store));
    insert(&mut one, &table, 1, 1).unwrap();
    let error = insert(&mut two, &table, 1, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SerializationConflict);
    assert!(error.to_string().contains("t_pkey") || format!("{error:?}").contains("t_pkey"));
    assert_eq!(find(&mut two, &table, 1), None);
    one.rollback();
    insert(&mut two, &table, 1, 2).unwrap();
    two.commit().unwrap();
    assert_eq!(find(&mut begin(&store), &table, 1).unwrap().1, 2);
}

#[test]
fn key_deleted_before_the_snapshot_is_free() {
    for (store, table) in bases() {
        let mut reader = begin(&store);
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, 1).unwrap();
        tx.delete(&table, row).unwrap();
        assert_eq!(find(&mut tx, &table, 1), None);
        tx.commit().unwrap();
        commit_insert(&store, &table, 1, 7);
        assert_eq!(find(&mut reader, &table, 1).unwrap().1, -1);
        assert_eq!(find(&mut begin(&store), &table, 1).unwrap().1, 7);
    }
}

#[test]
fn key_deleted_since_the_snapshot_is_a_conflict() {
    for (store, table) in bases() {
        let mut old = begin(&store);
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, 1).unwrap();
        tx.delete(&table, row).unwrap();
        assert_eq!(kind(insert(&mut old, &table, 1, 2)), ErrorKind::SerializationConflict);
        tx.commit().unwrap();
        assert_eq!(kind(insert(&mut old, &table, 1, 2)), ErrorKind::SerializationConflict);
        old.rollback();
        commit_insert(&store, &table, 1, 3);
    }
}

#[test]
fn own_delete_frees_the_key_and_rollback_takes_it_back() {
    for (store, table) in bases() {
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, 1).unwrap();
        tx.delete(&table, row).unwrap();
        let savepoint = tx.savepoint();
        insert(&mut tx, &table, 1, 5).unwrap();
        assert_eq!(find(&mut tx, &table, 1).unwrap().1, 5);
        tx.rollback_to(savepoint);
        assert_eq!(find(&mut tx, &table, 1), None);
        insert(&mut tx, &table, 1, 6).unwrap();
        assert_eq!(find(&mut tx, &table, 1).unwrap().1, 6);
        tx.rollback();
        assert_eq!(find(&mut begin(&store), &table, 1).unwrap().1, -1);
        assert_eq!(kind(insert(&mut begin(&store), &table, 1, 2)), ErrorKind::DuplicateKey);
    }
}

#[test]
fn update_of_a_key_moves_the_row_and_others_stay_in_place() {
    for (store, table) in bases() {
        let mut old = begin(&store);
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, 1).unwrap();
        let value =
            tx.update(&table, row, &[(0, ValueRef::Int(8)), (1, ValueRef::Int(1))]).unwrap();
        assert!(!row.is_hot() || value == row, "the key is the same");
        let moved = tx
            .update(&table, value, &[(1, ValueRef::Int(8)), (2, ValueRef::Bytes(b"k01"))])
            .unwrap();
        assert_ne!(moved, value);
        assert_eq!((find(&mut tx, &table, 1), find(&mut tx, &table, 8)), (None, Some((moved, 8))));
        tx.commit().unwrap();
        assert_eq!(find(&mut old, &table, 1).unwrap().1, -1);
        assert_eq!(find(&mut old, &table, 8), None);
        commit_insert(&store, &table, 1, 4);
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, 1).unwrap();
        assert_eq!(kind(tx.update(&table, row, &[(1, ValueRef::Int(8))])), ErrorKind::DuplicateKey);
        // Nothing of the refused update is left.
        assert_eq!(scan(&mut tx, &table), BTreeMap::from([(1, 4), (8, 8)]));
    }
}

#[test]
fn load_and_inserts_check_each_other() {
    let (store, table) = volatile();
    commit_insert(&store, &table, 1, 1);
    let Error::DuplicateKey(duplicate) = load(&store, &table, &[0, 1, 2]).unwrap_err() else {
        panic!();
    };
    assert_eq!((duplicate.key.as_str(), duplicate.loaded_at), ("1, k01", Some((0, 1))));
    let mut tx = begin(&store);
    insert(&mut tx, &table, 3, 3).unwrap();
    assert_eq!(kind(load(&store, &table, &[3])), ErrorKind::SerializationConflict);
    tx.rollback();
    assert_eq!(load(&store, &table, &[3]).unwrap(), 1);
    // A deleted row does not keep a load from having its key.
    let mut tx = begin(&store);
    for key in [1, 3] {
        let (row, _) = find(&mut tx, &table, key).unwrap();
        tx.delete(&table, row).unwrap();
    }
    assert_eq!(kind(load(&store, &table, &[1])), ErrorKind::SerializationConflict);
    tx.commit().unwrap();
    assert_eq!(load(&store, &table, &[1, 3]).unwrap(), 2);
    assert_eq!(scan(&mut begin(&store), &table), BTreeMap::from([(1, -1), (3, -3)]));
    assert_eq!(find(&mut begin(&store), &table, 3).unwrap().1, -3);
}

#[test]
fn entries_go_when_nobody_sees_their_rows() {
    let (store, table) = volatile();
    let index = table.index("t_pkey").unwrap();
    for key in 0..100 {
        commit_insert(&store, &table, key, 0);
    }
    let reader = begin(&store);
    for key in 0..50 {
        let mut tx = begin(&store);
        let (row, _) = find(&mut tx, &table, key).unwrap();
        tx.delete(&table, row).unwrap();
        tx.commit().unwrap();
    }
    let mut tx = begin(&store);
    insert(&mut tx, &table, 1_000, 0).unwrap();
    tx.rollback();
    assert_eq!(index.entries(), 100);
    reader.commit().unwrap();
    assert_eq!(index.entries(), 50);
    assert!(index.bytes() > 0);
    assert_eq!(kind(table.index("other")), ErrorKind::UnknownIndex);
}

#[test]
fn lookups_that_make_no_sense_are_refused() {
    let (store, table) = volatile();
    let index = table.index("t_pkey").unwrap();
    let mut tx = begin(&store);
    let mut lookup = |key: &[ValueRef<'_>]| tx.lookup(&table, &index, key, &[0], |_, _| {});
    let text = ValueRef::Bytes(b"x");
    assert_eq!(kind(lookup(&[ValueRef::Int(1), text, text])), ErrorKind::InvalidDefinition);
    assert_eq!(kind(lookup(&[text])), ErrorKind::InvalidValue);
    assert_eq!(kind(lookup(&[ValueRef::Int(1 << 40)])), ErrorKind::InvalidValue);
    lookup(&[]).unwrap();
}

/// A small generator, so that a failure can be repeated by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27) % end
    }
}

/// Compares the index with a scan, both ways and for a part.
fn assert_index_is_right(tx: &mut Transaction, table: &Arc<Table>, random: &mut Random) {
    let rows = scan(tx, table);
    let all: Vec<(i64, i64)> = rows.iter().map(|(&key, &value)| (key, value)).collect();
    assert_eq!(range(tx, table, (Bound::Unbounded, Bound::Unbounded), Direction::Ascending), all);
    let (low, high) = (random.below(40) as i64, random.below(40) as i64);
    let some = |inside: &dyn Fn(i64) -> bool| {
        all.iter().rev().filter(|row| inside(row.0)).copied().collect::<Vec<_>>()
    };
    assert_eq!(
        range(tx, table, (Bound::Included(low), Bound::Excluded(high)), Direction::Descending),
        some(&|key| low <= key && key < high)
    );
    assert_eq!(
        range(tx, table, (Bound::Excluded(low), Bound::Included(high)), Direction::Descending),
        some(&|key| low < key && key <= high)
    );
    for key in [low, high] {
        assert_eq!(find(tx, table, key).map(|found| found.1), rows.get(&key).copied());
    }
}

/// Deletes or updates the row of a key, if there is one.
fn change(tx: &mut Transaction, table: &Arc<Table>, random: &mut Random, key: i64, step: i64) {
    let Some((row, _)) = find(tx, table, key) else {
        return;
    };
    let other = random.below(40) as i64;
    let text = text(other);
    let result = match random.below(3) {
        0 => tx.delete(table, row),
        1 => tx.update(table, row, &[(0, ValueRef::Int(step))]).map(|_| ()),
        _ => {
            let text = ValueRef::Bytes(text.as_bytes());
            tx.update(table, row, &[(1, ValueRef::Int(other)), (2, text)]).map(|_| ())
        }
    };
    if let Err(error) = result {
        let kinds = [ErrorKind::SerializationConflict, ErrorKind::DuplicateKey];
        assert!(kinds.contains(&error.kind()), "{error}");
    }
}

/// Several transactions at once do random things; whatever they see by the index they see without.
fn random_history(seed: u64) {
    let (store, table) = volatile();
    let mut random = Random(seed);
    let has_upkeep = seed.is_multiple_of(2);
    load(&store, &table, &(0..20).map(|key| key * 2).collect::<Vec<_>>()).unwrap();
    let mut open: Vec<Transaction> = Vec::new();
    for step in 0..150 {
        if open.len() < 4 && random.below(3) == 0 || open.is_empty() {
            open.push(begin(&store));
        }
        let at = random.below(open.len() as u64) as usize;
        let key = random.below(40) as i64;
        let tx = &mut open[at];
        match random.below(10) {
            0..4 => {
                let was_visible = find(tx, &table, key).is_some();
                let is_committed = find(&mut begin(&store), &table, key).is_some();
                match insert(tx, &table, key, step) {
                    Ok(_) => assert!(!was_visible, "seed {seed} step {step}"),
                    Err(Error::DuplicateKey(_)) => {
                        assert!(was_visible || is_committed, "seed {seed} step {step}");
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::SerializationConflict),
                }
            }
            4..7 => change(tx, &table, &mut random, key, step),
            7 => {
                let savepoint = tx.savepoint();
                let before = scan(tx, &table);
                let _ = insert(tx, &table, key, step);
                tx.rollback_to(savepoint);
                assert_eq!(scan(tx, &table), before, "seed {seed} step {step}");
            }
            8 => open.swap_remove(at).rollback(),
            _ => {
                open.swap_remove(at).commit().unwrap();
            }
        }
        for tx in &mut open {
            assert_index_is_right(tx, &table, &mut random);
        }
        // The load gets entries, after enough lookups.
        if has_upkeep && step % 10 == 9 {
            store.maintain_step().unwrap();
        }
    }
    open.clear();
    let mut last = begin(&store);
    assert_index_is_right(&mut last, &table, &mut random);
    last.commit().unwrap();
    let hot: usize = table
        .snapshot_at(&begin(&store).snapshot())
        .hot_chunks()
        .iter()
        .map(|chunk| chunk.count())
        .sum();
    let entries = table.index("t_pkey").unwrap().entries();
    let frozen = if has_upkeep { 20 } else { 0 };
    assert!((hot..=hot + frozen).contains(&entries), "seed {seed}: {entries} of {hot} hot rows");
}

#[test]
fn index_and_scan_agree_in_random_histories() {
    for seed in 0..12 {
        random_history(seed);
    }
}

#[test]
fn threads_never_get_a_key_in_twice() {
    let (store, table) = volatile();
    load(&store, &table, &(0..10).collect::<Vec<_>>()).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (store, table) = (store.clone(), Arc::clone(&table));
            thread::spawn(move || {
                let mut random = Random(number);
                let mut balance = 0;
                for round in 0..400 {
                    let mut tx = begin(&store);
                    let key = random.below(25) as i64;
                    let change = match find(&mut tx, &table, key) {
                        Some((row, _)) => tx.delete(&table, row).map(|()| -1),
                        None => insert(&mut tx, &table, key, round).map(|_| 1),
                    };
                    match change {
                        Ok(change) => {
                            tx.commit().unwrap();
                            balance += change;
                        }
                        Err(error) => {
                            let kinds = [ErrorKind::SerializationConflict, ErrorKind::DuplicateKey];
                            assert!(kinds.contains(&error.kind()), "{error}");
                        }
                    }
                }
                balance
            })
        })
        .collect();
    let balance: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let mut last = begin(&store);
    let rows = scan(&mut last, &table);
    assert_eq!(rows.len() as i64, 10 + balance);
    assert_index_is_right(&mut last, &table, &mut Random(1));
    let keys: BTreeSet<i64> =
        (0..25).filter(|&key| find(&mut last, &table, key).is_some()).collect();
    assert!(keys.iter().eq(rows.keys()));
}

#[test]
fn keys_that_were_looked_for_are_validated() {
    type Look = fn(&mut Transaction, &Arc<Table>, i64) -> bool;
    // With each way to look the next key that does not matter to it: ranges of keys are logged by
    // one column, both ends included.
    let looks: [(Look, i64); 2] = [
        (|tx, table, key| find(tx, table, key).is_some(), 7),
        (
            |tx, table, key| {
                let bounds = (Bound::Included(key), Bound::Excluded(key + 1));
                !range(tx, table, bounds, Direction::Ascending).is_empty()
            },
            8,
        ),
    ];
    for (look, beside) in looks {
        for (own, other, is_conflict) in [(5, 6, true), (5, beside, false)] {
            let (store, table) = volatile();
            let begin = || store.begin(IsolationLevel::Serializable);
            let (mut one, mut two) = (begin(), begin());
            assert!(!look(&mut one, &table, 6) && !look(&mut two, &table, 5));
            insert(&mut one, &table, own, 0).unwrap();
            insert(&mut two, &table, other, 0).unwrap();
            two.commit().unwrap();
            let outcome = one.commit().map_err(|error| error.kind());
            match is_conflict {
                true => assert_eq!(outcome, Err(ErrorKind::SerializationConflict)),
                false => assert!(outcome.is_ok(), "{outcome:?}"),
            }
        }
    }
}

#[test]
fn walk_that_was_ended_has_read_up_to_its_last_row_only() {
    let all = (Bound::Unbounded, Bound::Unbounded);
    for (direction, read, unread) in
        [(Direction::Ascending, [4, 9], [11, 30]), (Direction::Descending, [31, 21], [19, 4])]
    {
        let others = read.map(|key| (key, true)).into_iter().chain(unread.map(|key| (key, false)));
        for (other, is_conflict) in others {
            let (store, table) = volatile();
            [10, 20].into_iter().for_each(|key| commit_insert(&store, &table, key, 0));
            let index = table.index("t_pkey").unwrap();
            let mut one = store.begin(IsolationLevel::Serializable);
            let mut rows = 0;
            one.range(&table, &index, all, direction, &[0], |_, _| {
                rows += 1;
                ControlFlow::Break(())
            })
            .unwrap();
            assert_eq!(rows, 1);
            insert(&mut one, &table, 50, 0).unwrap();
            commit_insert(&store, &table, other, 0);
            assert_eq!(one.commit().is_err(), is_conflict, "{direction:?}, key {other}");
        }
    }
}

#[test]
fn index_is_there_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path().to_path_buf());
    let open = || Store::open(OpenOptions { directory: path.clone(), ..OpenOptions::default() });
    {
        let store = open().unwrap();
        let table = table(&store);
        load(&store, &table, &[1, 2]).unwrap();
        let mut tx = begin(&store);
        for key in 3..7 {
            insert(&mut tx, &table, key, key).unwrap();
        }
        let (row, _) = find(&mut tx, &table, 5).unwrap();
        tx.delete(&table, row).unwrap();
        assert_eq!(kind(insert(&mut tx, &table, 1, 0)), ErrorKind::DuplicateKey);
        tx.commit().unwrap();
    }
    let store = open().unwrap();
    let table = store.table("t").unwrap();
    assert_eq!(table.index("t_pkey").unwrap().entries(), 3);
    let mut tx = begin(&store);
    assert_index_is_right(&mut tx, &table, &mut Random(3));
    assert_eq!(kind(insert(&mut tx, &table, 1, 0)), ErrorKind::DuplicateKey);
    assert_eq!(kind(insert(&mut tx, &table, 4, 0)), ErrorKind::DuplicateKey);
    insert(&mut tx, &table, 5, 5).unwrap();
    tx.commit().unwrap();
    assert_eq!(kind(load(&store, &table, &[6])), ErrorKind::DuplicateKey);
}
