//! Top-k: the first rows of an order are the same whether the scan below leaves out rows that come
//! too late, and columns that are fetched at the end, or not; and less is read.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nacre_column::{CompareOp, Constant, Restriction, compare_floats};
use nacre_exec::dispatch::QueryOptions;
use nacre_exec::plan::{ColumnPredicate, JoinNode, PairingKind, PhysicalPlan, PlanNode, SortKey};
use nacre_exec::value::ScalarValue;
use nacre_exec::{ExecErrorKind, StringPredicate};
use nacre_store::{IsolationLevel, TableSnapshot};
use support::joins::{ALL, Scalars, join, keys, node, store};
use support::statements::TestDatabase;
use support::tops::{mixed_table, run_reported, sort_key, top, top_facts};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, SMALL, SeededRandom, TEXT, WIDE, key, pool, rows_of, run, scan,
    table,
};

fn compare_scalars(left: &ScalarValue, right: &ScalarValue) -> Ordering {
    use ScalarValue as V;
    match (left, right) {
        (V::Bool(left), V::Bool(right)) => left.cmp(right),
        (V::Int(left), V::Int(right)) => left.cmp(right),
        (V::Float64(left), V::Float64(right)) => compare_floats(*left, *right),
        (V::Bytes(left), V::Bytes(right)) => left.cmp(right),
        other => panic!("{other:?}"),
    }
}

fn compare_rows(left: &Scalars, right: &Scalars, keys: &[SortKey]) -> Ordering {
    let order = keys.iter().map(|key| {
        let (left, right) = (&left[key.column], &right[key.column]);
        let is_null = |value: &ScalarValue| matches!(value, ScalarValue::Null(_));
        match (is_null(left), is_null(right)) {
            (true, true) => Ordering::Equal,
            (false, false) if key.is_descending => compare_scalars(right, left),
            (false, false) => compare_scalars(left, right),
            (is_left_null, _) if is_left_null == key.is_nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    });
    order.fold(Ordering::Equal, Ordering::then)
}

/// Checks that rows are the first ones of an order, of which equal ones may be any.
fn assert_first(found: &[Scalars], all: &[Scalars], keys: &[SortKey], range: (usize, usize)) {
    let mut sorted = all.to_vec();
    sorted.sort_by(|left, right| compare_rows(left, right, keys));
    let wanted: Vec<_> = sorted.iter().skip(range.0).take(range.1).collect();
    assert_eq!(found.len(), wanted.len(), "{keys:?} {range:?}");
    let by_id: HashMap<i128, &Scalars> = all.iter().map(|row| (id_of(row), row)).collect();
    let mut ids: HashSet<i128> = HashSet::new();
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(compare_rows(found, wanted, keys).is_eq(), "{keys:?} {range:?}: {found:?}");
        assert_eq!(key(found), key(by_id[&id_of(found)]), "the row is one of the table's");
        assert!(ids.insert(id_of(found)), "each row once");
    }
}

fn id_of(row: &Scalars) -> i128 {
    let ScalarValue::Int(id) = row[ID] else { panic!("{row:?}") };
    id
}

fn random_keys(random: &mut SeededRandom) -> Vec<SortKey> {
    let mut keys: Vec<SortKey> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let column = ALL[random.below(8) as usize];
        if keys.iter().all(|key| key.column != column) {
            keys.push(sort_key(column, random.below(2) == 1, random.below(2) == 1));
        }
    }
    keys
}

#[test]
fn first_rows_are_those_of_the_whole_order() {
    let store = store();
    let (table, rows) = mixed_table(&store, "t", 5);
    let reader = store.begin(IsolationLevel::RepeatableRead);
    let snapshot = reader.table_snapshot(&table);
    let pools = [pool(1), pool(4)];
    let mut random = SeededRandom(3);
    for _ in 0..60 {
        let keys = random_keys(&mut random);
        let offset = [0, 0, 3, 900][random.below(4) as usize];
        let limit = [1, 2, 10, 1_000, 5_000][random.below(5) as usize];
        let filtered = restricted(&snapshot, &mut random, &rows);
        for pool in &pools {
            let plan = top(filtered.0.clone(), &keys, offset, limit);
            let found = run(pool, plan).unwrap();
            assert_first(&found, &filtered.1, &keys, (offset as usize, limit as usize));
        }
    }
}

/// A scan with or without predicates, and the rows that it keeps.
fn restricted(
    snapshot: &TableSnapshot,
    random: &mut SeededRandom,
    rows: &[Scalars],
) -> (PlanNode, Vec<Scalars>) {
    let bytes = |row: &Scalars, column: usize| match &row[column] {
        ScalarValue::Bytes(value) => value.clone(),
        _ => Vec::new(),
    };
    let (predicates, kept): (Vec<_>, Vec<_>) = match random.below(3) {
        0 => (Vec::new(), rows.to_vec()),
        1 => {
            let test = |value: &[u8]| value.ends_with(b"7");
            let like = ColumnPredicate::strings(TEXT, StringPredicate::new("like '%7'", test));
            let kept = rows.iter().filter(|row| bytes(row, TEXT).ends_with(b"7"));
            (vec![like], kept.cloned().collect())
        }
        _ => {
            let test = |value: &[u8]| value.ends_with(b"L") || value.ends_with(b"s");
            let like = ColumnPredicate::strings(MODE, StringPredicate::new("like", test));
            let value = Constant::Bytes(b"the text of row 12".to_vec());
            let above = Restriction::Compare { op: CompareOp::Gt, value };
            let kept = rows.iter().filter(|row| {
                let (mode, text) = (bytes(row, MODE), bytes(row, TEXT));
                test(&mode) && text.as_slice() > b"the text of row 12".as_slice()
            });
            (vec![like, ColumnPredicate::restriction(TEXT, above)], kept.cloned().collect())
        }
    };
    (scan(snapshot, &ALL, predicates), kept)
}

#[test]
fn chunks_that_come_too_late_are_not_read() {
    let store = store();
    let chunks: Vec<_> = (0..12).map(|at| at * 2_000..(at + 1) * 2_000).collect();
    let table = table(&store, "t", &chunks, 5);
    for (is_descending, first) in [(false, 0), (true, 23_999)] {
        let input = scan(&table.snapshot(), &[TEXT, ID, MONEY], Vec::new());
        let plan = top(input, &[sort_key(1, is_descending, false)], 2, 3);
        let (rows, report) = run_reported(&pool(1), plan.clone());
        let ids: Vec<_> = rows.iter().map(|row| format!("{:?}", row[1])).collect();
        let wanted = [2, 3, 4].map(|at| if is_descending { first - at } else { first + at });
        assert_eq!(ids, wanted.map(|id| format!("{:?}", ScalarValue::Int(id))));
        // One chunk has the first five rows; ids of one, and three columns of these rows.
        assert_eq!(report.scans[0].rows_read, 2_000);
        let blocks: u64 = report.scans[0].blocks.iter().map(|blocks| blocks.count).sum();
        assert_eq!(blocks, 1 + 2);
        let (rows, _) = run_reported(&pool(4), plan);
        assert_eq!(rows.len(), 3);
    }
}

#[test]
fn rows_that_come_too_late_are_left_out_before_other_predicates_decide() {
    let store = store();
    let table = table(&store, "t", &[0..30_000], 5);
    let calls = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let test = move |value: &[u8]| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        value.ends_with(b"7")
    };
    let like = ColumnPredicate::strings(TEXT, StringPredicate::new("like '%7'", test));
    let input = scan(&table.snapshot(), &[ID, TEXT], vec![like]);
    let (rows, report) = run_reported(&pool(1), top(input, &[sort_key(0, false, false)], 0, 4));
    assert_eq!(rows.len(), 4);
    let calls = calls.load(std::sync::atomic::Ordering::Relaxed);
    assert!(calls < 9_000, "{calls} of 30,000 strings were looked at");
    assert_eq!(report.scans[0].rows_read, 30_000);
}

#[test]
fn joins_have_the_same_first_rows_with_and_without_filters() {
    let store = store();
    let probe = table(&store, "probe", &[0..3_000, 3_000..9_000], 1);
    let build = table(&store, "build", &[2_000..2_900, 5_000..5_100], 2);
    let pools = [pool(1), pool(4)];
    let kinds = support::joins::KINDS.into_iter().filter(|kind| *kind != PairingKind::Single);
    for kind in kinds.filter(|kind| kind.has_probe_columns()) {
        let joined: JoinNode = join(
            kind,
            scan(&probe.snapshot(), &[ID, SMALL, TEXT], Vec::new()),
            scan(&build.snapshot(), &[ID], Vec::new()),
            keys(&[0]),
        );
        for first in [sort_key(1, false, false), sort_key(1, true, true), sort_key(0, false, true)]
        {
            // Equal in all, rows are the same but for columns that are not looked at.
            let mut order = vec![first, sort_key(0, false, false)];
            if kind.has_build_columns() {
                order.push(sort_key(3, false, false));
            }
            order.dedup_by_key(|key| key.column);
            let plan = || top(node(joined.clone()), &order, 0, 20);
            for pool in &pools {
                let of = |filters_keys: bool| {
                    let options = QueryOptions { filters_keys, ..QueryOptions::default() };
                    let plan = PhysicalPlan { root: plan() };
                    let mut stream = pool.execute(plan, options).unwrap();
                    let rows = rows_of(&stream.collect_batches().unwrap());
                    rows.iter().map(|row| key(row)).collect::<Vec<_>>()
                };
                assert_eq!(of(true), of(false), "{kind:?} {order:?}");
            }
        }
    }
}

#[test]
fn fetched_columns_are_paid_for() {
    let store = store();
    let table = table(&store, "t", &[0..20_000], 5);
    let input = scan(&table.snapshot(), &[ID, TEXT, MODE, WIDE, FLOAT, FLAG], Vec::new());
    let plan = top(input, &[sort_key(0, true, false)], 0, 1_000);
    let pool = pool(1);
    let run = |memory_bytes_max: u64| {
        let options = QueryOptions { memory_bytes_max, ..QueryOptions::default() };
        let mut stream = pool.execute(PhysicalPlan { root: plan.clone() }, options)?;
        stream.collect_batches()
    };
    assert_eq!(run(4 << 20).unwrap().iter().map(|batch| batch.rows).sum::<usize>(), 1_000);
    // Enough for ids and places, but not for strings.
    let error = run(100 << 10).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{error}");
    assert!(error.to_string().contains("top"), "{error}");
}

#[test]
fn explain_names_the_filter_and_what_is_fetched() {
    let (database, _) = TestDatabase::of_rows(400, 300, 100);
    for (sql, filter, fetched) in [
        ("select * from t order by a limit 3", "a", "id, k, n, s, c, d, o, f"),
        ("select s from t where s like '%a%' order by d desc, k limit 3", "d", "s"),
        ("select a + 1, s from t order by a limit 3", "a", "s"),
        ("select s, a from t where a % 2 = 0 order by k limit 3 offset 2", "k", "s"),
        ("select s from t order by s limit 3", "s", ""),
        ("select a from t order by k limit 3", "k", ""),
        ("select a, s from t order by a + k limit 3", "", "s"),
        ("select x.a, x.s from t x join t y on x.id = y.id order by x.a limit 3", "a", "s"),
        ("select x.a, y.s from t x join t y on x.id = y.id order by x.a limit 3", "a", "s"),
        ("select x.a, y.d, y.n from t x join t y on x.id = y.id order by 1 limit 3", "a", ""),
        (
            "select y.d, y.n, y.f, x.a from t x, t y where x.id = y.id order by 4 limit 3",
            "a",
            "d, n, f",
        ),
        ("select x.a, x.s, y.c from t x join t y on x.s = y.s order by x.a limit 3", "a", "c"),
        ("select x.a, x.s, y.c from t x, t y where x.s < y.s order by x.a limit 3", "a", "c"),
        (
            "select y.a, x.s, y.s from t x left join t y on x.id = y.k order by 1 limit 3",
            "",
            "s, s",
        ),
        ("select a, count(*) from t group by a order by a limit 3", "", ""),
        ("select a, s from (select * from t limit 50) x order by a limit 3", "", ""),
        ("select a, s from t order by a limit 2000", "a", ""),
    ] {
        let settings = nacre_types::ValueSettings::default();
        let query = nacre_exec::lower::lower_query(&database.bind(sql), &database, &settings);
        let mut facts = Vec::new();
        if !filter.is_empty() {
            facts.push(("top-k filter", filter.to_owned()));
        }
        if !fetched.is_empty() {
            facts.push(("fetched", fetched.to_owned()));
        }
        assert_eq!(top_facts(&query.unwrap().plan.root.describe()), facts, "{sql}");
    }
}

#[test]
fn statements_have_the_first_rows_of_their_order() {
    let (database, _) = TestDatabase::of_rows(900, 700, 100);
    for (columns, condition, order) in [
        ("id, a, k, n, s, c, d, o, f", "true", "a, id"),
        ("s, id, c", "s like '%a%'", "d desc nulls last, id desc"),
        ("a + 1, s, f", "a % 2 = 0", "f, s, id"),
        ("n, o, c", "k > 2", "n desc, id"),
        ("*", "s <> ''", "s, id desc"),
        ("k, s", "o", "c desc, d nulls first, id"),
        ("d, a", "id > 850", "o desc, id"),
    ] {
        let all = format!("select {columns} from t where {condition} order by {order}");
        let rows = database.ordered_rows(&all);
        for (limit, offset) in [(1, 0), (7, 0), (5, 3), (100, 90)] {
            let found = database.ordered_rows(&format!("{all} limit {limit} offset {offset}"));
            let wanted: Vec<_> = rows.iter().skip(offset).take(limit).cloned().collect();
            assert_eq!(found, wanted, "{all} limit {limit} offset {offset}");
        }
    }
}

#[test]
fn rows_that_may_raise_errors_are_not_left_out() {
    let (database, _) = TestDatabase::of_rows(400, 300, 100);
    // The last row is the one that fails.
    let sql = "select id, s from t where 10 / (id - 399) < 5 order by id limit 3";
    let error = database.run(sql).unwrap_err();
    assert!(error.contains("division by zero"), "{error}");
}
