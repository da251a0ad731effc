//! Scans: what comes out is what the snapshot has and the predicates keep, whatever the formats,
//! flavours and workers.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use nacre_column::{CompareOp, Constant, Flavour, Restriction};
use nacre_exec::StringPredicate;
use nacre_exec::plan::{ColumnPredicate, PlanNode};
use nacre_exec::value::ScalarValue;
use nacre_store::{IsolationLevel, OpenOptions, Store, Value};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, Row, SMALL, SeededRandom, TEXT, WIDE, insert, pool, pool_with,
    row, run, scalar, scan, schema, sorted, table,
};

fn store() -> Store {
    Store::open(OpenOptions::default()).unwrap()
}

fn restrict(column: usize, op: CompareOp, value: Constant) -> ColumnPredicate {
    ColumnPredicate::restriction(column, Restriction::Compare { op, value })
}

fn holds(row: &Row, predicate: &ColumnPredicate) -> bool {
    match &predicate.predicate {
        nacre_exec::ScanPredicate::Restriction(restriction) => {
            row[predicate.column].as_ref().matches(restriction)
        }
        nacre_exec::ScanPredicate::Strings(_) => match &row[predicate.column] {
            Value::Bytes(value) => value.ends_with(b"L") || value.ends_with(b"7"),
            _ => false,
        },
    }
}

fn ends_with_l_or_7(column: usize) -> ColumnPredicate {
    let test = |value: &[u8]| value.ends_with(b"L") || value.ends_with(b"7");
    ColumnPredicate::strings(column, StringPredicate::new("like '%L'", test))
}

const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];

fn expected(rows: &[Row], predicates: &[ColumnPredicate]) -> Vec<String> {
    let kept = rows.iter().filter(|row| predicates.iter().all(|one| holds(row, one)));
    let scalars = |row: &Row| ALL.iter().map(|at| scalar(&row[*at], *at)).collect();
    sorted(kept.map(scalars).collect())
}

/// Predicates from which a test picks.
fn predicates(random: &mut SeededRandom) -> Vec<ColumnPredicate> {
    let bytes = |text: &str| Constant::Bytes(text.as_bytes().to_vec());
    let all = [
        restrict(SMALL, CompareOp::Ge, Constant::Int(0)),
        restrict(SMALL, CompareOp::Lt, Constant::Int(20)),
        restrict(SMALL, CompareOp::Eq, Constant::Int(3)),
        restrict(SMALL, CompareOp::Ne, Constant::Int(3)),
        restrict(MONEY, CompareOp::Gt, Constant::Int(1_400_000)),
        restrict(MONEY, CompareOp::Le, Constant::Int(1_490_000)),
        restrict(WIDE, CompareOp::Gt, Constant::Int(1 << 69)),
        restrict(FLOAT, CompareOp::Ge, Constant::Float(1.0)),
        restrict(FLAG, CompareOp::Eq, Constant::Int(1)),
        restrict(MODE, CompareOp::Lt, bytes("SHIP")),
        restrict(TEXT, CompareOp::Gt, bytes("the text of row 3")),
        restrict(ID, CompareOp::Lt, Constant::Int(9_000)),
        ColumnPredicate::restriction(MODE, Restriction::IsNull),
        ColumnPredicate::restriction(MONEY, Restriction::IsNotNull),
        ColumnPredicate::restriction(
            MODE,
            Restriction::InSet(vec![bytes("AIR"), bytes("a mode of more than 12 bytes")]),
        ),
        ends_with_l_or_7(MODE),
        ends_with_l_or_7(TEXT),
    ];
    (0..random.below(4)).map(|_| all[random.below(all.len() as u64) as usize].clone()).collect()
}

#[test]
fn frozen_rows_come_out_as_predicates_keep_them_in_every_flavour_and_with_any_workers() {
    let store = store();
    let chunks = [0..20_000, 20_000..20_100, 20_100..29_000];
    let table = table(&store, "t", &chunks, 5);
    let rows: Vec<Row> = (0..29_000).map(|id| row(id, 5)).collect();
    let mut random = SeededRandom(11);
    let pools: Vec<_> = Flavour::available()
        .into_iter()
        .map(|flavour| pool_with(2, flavour))
        .chain([pool(1), pool(4)])
        .collect();
    for round in 0..24 {
        let predicates = predicates(&mut random);
        let wanted = expected(&rows, &predicates);
        for pool in &pools[round % 2..] {
            let found = run(pool, scan(&table.snapshot(), &ALL, predicates.clone())).unwrap();
            assert!(sorted(found) == wanted, "{predicates:?}");
        }
    }
}

#[test]
fn hot_rows_come_out_as_the_snapshot_sees_them() {
    let store = store();
    let table = table(&store, "t", &[0..3_000], 5);
    let mut rows: Vec<Row> = (0..9_000).map(|id| row(id, 5)).collect();
    let ids = insert(&store, &table, &rows[3_000..]);
    let mut random = SeededRandom(3);
    let reader = store.begin(IsolationLevel::RepeatableRead);
    let before = rows.clone();
    let snapshot_before = reader.table_snapshot(&table);
    // Updates and deletes that the first snapshot does not see, some of them not committed.
    let mut writer = store.begin(IsolationLevel::RepeatableRead);
    for at in (0..ids.len()).filter(|at| at % 5 == 0) {
        let new = row(3_000 + at as i64, 77);
        let money = (MONEY, new[MONEY].as_ref());
        writer.update(&table, ids[at], &[money, (TEXT, new[TEXT].as_ref())]).unwrap();
        rows[3_000 + at][MONEY] = new[MONEY].clone();
        rows[3_000 + at][TEXT] = new[TEXT].clone();
    }
    let mut gone = Vec::new();
    for at in (0..ids.len()).filter(|at| at % 7 == 3) {
        writer.delete(&table, ids[at]).unwrap();
        gone.push(3_000 + at);
    }
    for id in (0..3_000_u16).filter(|id| id % 11 == 0) {
        let chunk = table.snapshot().chunks().unwrap().remove(0);
        writer.delete(&table, chunk.row_id(id).unwrap()).unwrap();
        gone.push(id.into());
    }
    let pools = [pool(1), pool(2)];
    let check = |snapshot: &nacre_store::TableSnapshot, rows: &[Row], random: &mut SeededRandom| {
        for _ in 0..8 {
            let predicates = predicates(random);
            for pool in &pools {
                let found = run(pool, scan(snapshot, &ALL, predicates.clone())).unwrap();
                assert!(sorted(found) == expected(rows, &predicates), "{predicates:?}");
            }
        }
    };
    check(&snapshot_before, &before, &mut random);
    let own = writer.table_snapshot(&table);
    let left: Vec<Row> =
        (0..rows.len()).filter(|at| !gone.contains(at)).map(|at| rows[at].clone()).collect();
    check(&own, &left, &mut random);
    writer.commit().unwrap();
    check(&snapshot_before, &before, &mut random);
    let later = store.begin(IsolationLevel::RepeatableRead);
    check(&later.table_snapshot(&table), &left, &mut random);
}

#[test]
fn snapshot_is_stable_while_others_update() {
    let store = store();
    let table = store.create_table(schema("t")).unwrap();
    let rows: Vec<Row> = (0..12_000).map(|id| row(id, 5)).collect();
    let ids = insert(&store, &table, &rows);
    let is_done = AtomicBool::new(false);
    let wanted = expected(&rows, &[]);
    std::thread::scope(|scope| {
        let reader = store.begin(IsolationLevel::RepeatableRead);
        let snapshot = reader.table_snapshot(&table);
        scope.spawn(|| {
            let mut random = SeededRandom(1);
            while !is_done.load(Ordering::Relaxed) {
                let mut writer = store.begin(IsolationLevel::RepeatableRead);
                for _ in 0..50 {
                    let at = random.below(ids.len() as u64) as usize;
                    let money = Value::Int(random.below(1 << 40) as i64 % 10_i64.pow(14));
                    writer.update(&table, ids[at], &[(MONEY, money.as_ref())]).unwrap();
                }
                writer.commit().unwrap();
            }
        });
        let pool = pool(2);
        for _ in 0..20 {
            let found = run(&pool, scan(&snapshot, &ALL, Vec::new())).unwrap();
            assert!(sorted(found) == wanted);
        }
        is_done.store(true, Ordering::Relaxed);
        drop(reader);
    });
}

#[test]
fn chunks_that_cannot_match_are_not_read() {
    let store = store();
    let chunks: Vec<_> = (0..10).map(|at| at * 1_000..(at + 1) * 1_000).collect();
    let table = table(&store, "t", &chunks, 5);
    let predicates = vec![
        restrict(ID, CompareOp::Ge, Constant::Int(2_500)),
        restrict(ID, CompareOp::Lt, Constant::Int(4_500)),
    ];
    let pool = pool(2);
    let plan = nacre_exec::plan::PhysicalPlan { root: scan(&table.snapshot(), &[ID], predicates) };
    let mut stream = pool.execute(plan, Default::default()).unwrap();
    let rows: usize = stream.collect_batches().unwrap().iter().map(|batch| batch.rows).sum();
    assert_eq!(rows, 2_000);
    let report = stream.report();
    assert_eq!((report.scans[0].chunks, report.scans[0].chunks_pruned), (10, 7));
    assert_eq!(report.scans[0].rows_read, 3_000);
    let blocks: u64 = report.scans[0].blocks.iter().map(|blocks| blocks.count).sum();
    assert_eq!(blocks, 3, "{:?}", report.scans[0]);
}

#[test]
fn tables_without_rows_have_none() {
    let store = store();
    let table = store.create_table(schema("t")).unwrap();
    let pool = pool(2);
    assert!(run(&pool, scan(&table.snapshot(), &ALL, Vec::new())).unwrap().is_empty());
    let impossible = vec![
        restrict(ID, CompareOp::Gt, Constant::Int(5)),
        restrict(ID, CompareOp::Lt, Constant::Int(3)),
    ];
    let full = support::table(&store, "u", &[0..100], 1);
    assert!(run(&pool, scan(&full.snapshot(), &ALL, impossible)).unwrap().is_empty());
    let rows: Vec<Vec<ScalarValue>> = run(&pool, scan(&full.snapshot(), &[], Vec::new())).unwrap();
    assert_eq!(rows.len(), 100, "rows without columns are counted");
    let _: PlanNode = scan(&full.snapshot(), &[ID], Vec::new());
}
