//! Versions go as soon as nobody needs them, and scans find those that are left.

use proptest::prelude::*;

use super::*;

#[test]
fn nothing_is_left_when_no_transaction_is() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let rows: Vec<RowId> = (0..3_000).map(|number| insert(&mut tx, &table, number)).collect();
    tx.commit().unwrap();
    assert_clean(&store);
    let reader = begin(&store);
    for round in 0..5 {
        let mut tx = begin(&store);
        for row in rows.iter().skip(round).step_by(5) {
            set(&mut tx, &table, *row, round as i64).unwrap();
        }
        tx.commit().unwrap();
    }
    assert!(store.version_count() > 2_000);
    drop(reader);
    assert_clean(&store);
}

#[test]
fn chunks_that_were_filled_in_vain_give_back_their_memory() {
    const ROWS: i64 = 2 * nacre_column::CHUNK_ROWS as i64 + 10;
    let (store, table) = database();
    let mut tx = begin(&store);
    let kept = insert(&mut tx, &table, -1);
    tx.commit().unwrap();
    for round in 0..2 {
        let mut tx = begin(&store);
        for number in 0..ROWS {
            insert(&mut tx, &table, number);
        }
        match round {
            0 => tx.rollback(),
            _ => {
                let savepoint = tx.savepoint();
                for number in 0..ROWS {
                    insert(&mut tx, &table, number);
                }
                tx.rollback_to(savepoint);
                drop(tx);
            }
        }
    }
    let chunks = table.hot().all();
    let hollow: Vec<bool> =
        chunks.iter().map(|chunk| chunk.with(|rows| rows.is_hollow())).collect();
    // The first has a row, the last gets more.
    let (last, others) = hollow.split_last().unwrap();
    assert!(!last && !others[0] && others[1..].iter().all(|is_hollow| *is_hollow), "{hollow:?}");
    let mut tx = begin(&store);
    insert(&mut tx, &table, ROWS);
    assert_eq!(number(&mut tx, &table, kept), Some(-1));
    let gone = RowId::hot(chunks[1].id(), 7);
    assert_eq!(tx.read(&table, gone, &[0, 1], |_| ()).unwrap(), None);
    assert!(set(&mut tx, &table, gone, 1).is_err());
    assert_eq!(all(&mut tx, &table).len(), 2);
    tx.commit().unwrap();
    // A replay may have rows for such places.
    let values = [ValueRef::Int(5), ValueRef::Bytes(b"five")];
    chunks[1].change(|rows| rows.put(9, &values)).unwrap();
    assert_eq!(number(&mut begin(&store), &table, RowId::hot(chunks[1].id(), 9)), Some(5));
    assert_eq!(all(&mut begin(&store), &table).len(), 3);
    assert_clean(&store);
}

#[test]
fn long_reader_does_not_make_chains_grow() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 0);
    tx.commit().unwrap();
    let mut readers = Vec::new();
    for number in 1..=300 {
        if number % 100 == 1 {
            readers.push((begin(&store), number - 1));
        }
        let mut tx = begin(&store);
        set(&mut tx, &table, row, number).unwrap();
        tx.update(&table, row, &[(1, ValueRef::Null)]).unwrap();
        tx.commit().unwrap();
    }
    assert!(store.version_count() <= 10, "{}", store.version_count());
    for (reader, expected) in &mut readers {
        assert_eq!(number(reader, &table, row), Some(*expected));
    }
    drop(readers);
    assert_clean(&store);
}

#[test]
fn versions_that_the_oldest_sees_go_although_it_is_active() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, 0);
    tx.commit().unwrap();
    let first = begin(&store);
    for number in 1..=10 {
        let mut tx = begin(&store);
        set(&mut tx, &table, row, number).unwrap();
        tx.commit().unwrap();
    }
    let mut second = begin(&store);
    for number in 11..=15 {
        let mut tx = begin(&store);
        set(&mut tx, &table, row, number).unwrap();
        tx.commit().unwrap();
    }
    drop(first);
    assert!(store.version_count() <= 2, "{}", store.version_count());
    assert_eq!(number(&mut second, &table, row), Some(10));
    drop(second);
    assert_clean(&store);
}

#[test]
fn rows_fill_one_chunk_after_the_other() {
    let (store, table) = database();
    let mut tx = begin(&store);
    let rows: Vec<RowId> = (0..70_000)
        .map(|number| tx.insert(&table, &[ValueRef::Int(number), ValueRef::Null]).unwrap())
        .collect();
    tx.commit().unwrap();
    let mut tx = begin(&store);
    assert_eq!(tx.table_snapshot(&table).hot_chunks().len(), 2);
    assert_eq!(tx.table_snapshot(&table).rows(), 70_000);
    assert_eq!(rows[65_536], RowId::hot(1, 0));
    assert_eq!(number(&mut tx, &table, rows[65_536]), Some(65_536));
    let sums = tx.table_snapshot(&table);
    let sum: i64 = sums.hot_chunks().iter().map(|chunk| chunk.sum_i64(0)).sum();
    assert_eq!(sum, (0..70_000).sum());
    assert_clean_after(tx, &store);
}

fn assert_clean_after(tx: Transaction, store: &Store) {
    tx.rollback();
    assert_clean(store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]

    /// Scans of ranges, which use and correct the positions of versions, against single rows.
    #[test]
    fn scan_of_any_range_sees_what_single_reads_see(
        steps in prop::collection::vec((0..5_000_usize, 0..8_u8), 1..300),
        ranges in prop::collection::vec((0..5_000_usize, 0..5_000_usize), 1..6)
    ) {
        let (store, table) = database();
        let mut tx = begin(&store);
        let rows: Vec<RowId> = (0..5_000)
            .map(|number| tx.insert(&table, &[ValueRef::Int(number), ValueRef::Null]).unwrap())
            .collect();
        tx.commit().unwrap();
        let mut readers = vec![begin(&store)];
        let mut writer = begin(&store);
        for (row, action) in steps {
            match action {
                0 => {
                    let _ = writer.delete(&table, rows[row]);
                }
                1 => {
                    writer.commit().unwrap();
                    writer = begin(&store);
                }
                2 => {
                    writer.rollback();
                    writer = begin(&store);
                }
                3 if readers.len() < 4 => readers.push(begin(&store)),
                4 if readers.len() > 1 => drop(readers.remove(0)),
                _ => {
                    let _ = set(&mut writer, &table, rows[row], -1 - row as i64);
                }
            }
        }
        readers.push(writer);
        for reader in &mut readers {
            let single: Vec<(u16, i64)> = rows
                .iter()
                .filter_map(|row| Some((row.offset(), number(reader, &table, *row)?)))
                .collect();
            let snapshot = reader.table_snapshot(&table);
            let chunk = &snapshot.hot_chunks()[0];
            prop_assert_eq!(snapshot.rows(), single.len() as u64);
            prop_assert_eq!(chunk.sum_i64(0), single.iter().map(|(_, number)| number).sum::<i64>());
            for (start, end) in &ranges {
                let range = *start.min(end)..*start.max(end);
                let (columns, offsets) = chunk.read(range.clone(), &[0]);
                let read: Vec<(u16, i64)> = offsets
                    .iter()
                    .enumerate()
                    .map(|(at, offset)| match ValueRef::of(&columns[0], at) {
                        ValueRef::Int(number) => (*offset, number),
                        other => panic!("{other:?}"),
                    })
                    .collect();
                let expected: Vec<(u16, i64)> = single
                    .iter()
                    .filter(|(offset, _)| range.contains(&usize::from(*offset)))
                    .copied()
                    .collect();
                prop_assert_eq!(read, expected);
            }
        }
        drop(readers);
        assert_clean(&store);
    }
}
