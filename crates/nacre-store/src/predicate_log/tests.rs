//! Logged predicates against direct evaluation of what was read.

use std::ops::Bound;

use nacre_column::{ColumnType, CompareOp, Constant, Physical, Restriction};
use proptest::collection::vec;
use proptest::prelude::*;

use super::log::Limits;
use super::*;
use crate::id::RowId;
use crate::manifest::TableId;
use crate::schema::{ColumnDef, TableSchema};
use crate::value::{Value, ValueRef};

const TYPES: [ColumnType; 6] = [
    ColumnType::BigInt,
    ColumnType::Integer,
    ColumnType::Double,
    ColumnType::Varchar { max_chars: None },
    ColumnType::Decimal { precision: 38, scale: 0 },
    ColumnType::Real,
];

/// Columns whose summaries are exact for every value that the tests make.
const EXACT: [usize; 4] = [0, 1, 2, 5];

const WIDE: Limits = Limits { predicates: 10_000, words: 1_000_000 };

fn schema() -> TableSchema {
    let column = |index: usize| ColumnDef {
        name: format!("c{index}"),
        column_type: TYPES[index],
        is_nullable: true,
        replicas: None,
    };
    TableSchema {
        name: "t".into(),
        columns: (0..TYPES.len()).map(column).collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

#[derive(Clone, Debug)]
struct Row {
    id: u64,
    values: Vec<Value>,
}

impl RowImage for Row {
    fn row(&self) -> RowId {
        RowId(self.id)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.values[column].as_ref()
    }
}

/// What was read, to be evaluated directly.
#[derive(Clone, Debug)]
struct Access {
    restrictions: Vec<(usize, Restriction)>,
    row: Option<u64>,
    read: Vec<usize>,
}

impl Access {
    fn predicate(&self, schema: &TableSchema) -> Predicate {
        let read = Predicate::new(self.read.iter().copied().collect());
        let read = match self.row {
            Some(row) => read.with_row(RowId(row)),
            None => read,
        };
        self.restrictions.iter().fold(read, |predicate, (column, restriction)| {
            predicate.with(schema, *column, restriction)
        })
    }

    fn is_satisfied(&self, row: &Row) -> bool {
        self.row.is_none_or(|id| id == row.id)
            && self
                .restrictions
                .iter()
                .all(|(column, restriction)| row.value(*column).matches(restriction))
    }

    fn is_touched(&self, changed: &[usize]) -> bool {
        let tested = self.restrictions.iter().map(|restriction| restriction.0);
        self.read.iter().copied().chain(tested).any(|column| changed.contains(&column))
    }
}

/// A few values of every class, so that rows and predicates meet; the last ones are at the ends.
fn ints() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -4_i64..5, 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn floats() -> impl Strategy<Value = f64> {
    let all = [-1.5, -0.0, 0.0, 0.1, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    prop::sample::select(all.to_vec())
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let all = ["", "a", "b", "a\0", "abcdefg", "abcdefgh", "abcdefgi", "abcdefg\0", "long string"];
    prop::sample::select(all.to_vec()).prop_map(|text| text.as_bytes().to_vec())
}

fn wide_ints() -> impl Strategy<Value = i128> {
    let beyond = i128::from(i64::MAX);
    let ends = [beyond, beyond + 1, beyond + 2, -beyond - 1, -beyond - 2, -beyond];
    prop_oneof![3 => -2_i128..3, 2 => prop::sample::select(ends.to_vec())]
}

fn value(column: usize) -> BoxedStrategy<Value> {
    let of_class = match TYPES[column].physical() {
        Physical::Int64 => ints().prop_map(Value::Int).boxed(),
        Physical::Int128 => wide_ints().prop_map(Value::Int128).boxed(),
        Physical::Float32 => floats().prop_map(|value| Value::Float32(value as f32)).boxed(),
        Physical::Float64 => floats().prop_map(Value::Float64).boxed(),
        Physical::Bytes => texts().prop_map(Value::Bytes).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 6 => of_class].boxed()
}

fn row() -> impl Strategy<Value = Row> {
    let values = (0..TYPES.len()).map(value).collect::<Vec<_>>();
    (0_u64..6, values).prop_map(|(id, values)| Row { id, values })
}

fn constant(column: usize) -> BoxedStrategy<Constant> {
    match TYPES[column].physical() {
        Physical::Int64 | Physical::Int128 => wide_ints().prop_map(Constant::Int).boxed(),
        Physical::Float32 | Physical::Float64 => floats().prop_map(Constant::Float).boxed(),
        Physical::Bytes => texts().prop_map(Constant::Bytes).boxed(),
    }
}

fn restriction(column: usize) -> impl Strategy<Value = (usize, Restriction)> {
    let ops =
        [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
    let compare = (prop::sample::select(ops.to_vec()), constant(column));
    let between = (constant(column), constant(column));
    let restriction = prop_oneof![
        6 => compare.prop_map(|(op, value)| Restriction::Compare { op, value }),
        2 => between.prop_map(|(low, high)| Restriction::Between { low, high }),
        2 => vec(constant(column), 0..4).prop_map(Restriction::InSet),
        1 => Just(Restriction::IsNull),
        1 => Just(Restriction::IsNotNull),
    ];
    restriction.prop_map(move |restriction| (column, restriction))
}

fn access(columns: &'static [usize]) -> impl Strategy<Value = Access> {
    let restricted = prop::sample::select(columns.to_vec()).prop_flat_map(restriction);
    let row = prop_oneof![4 => Just(None), 1 => (0_u64..6).prop_map(Some)];
    let read = vec(prop::sample::select(columns.to_vec()), 0..2);
    (vec(restricted, 0..4), row, read).prop_map(|(restrictions, row, read)| Access {
        restrictions,
        row,
        read,
    })
}

fn logged(accesses: &[Access], limits: Limits) -> TableLog {
    let mut log = TableLog::new(limits);
    accesses.iter().for_each(|access| log.log(access.predicate(&schema())));
    log
}

/// Compares one log with direct evaluation of every kind of change.
fn check(accesses: &[Access], rows: &[Row], limits: Limits, is_exact: bool) {
    let log = logged(accesses, limits);
    let tree = log.tree();
    let agree = |found: Option<usize>, expected: bool, what: &str| {
        let found = found.is_some();
        assert!(found || !expected, "{what}: missed by {log:?}");
        assert!(!found || expected || !is_exact, "{what}: needless in {log:?}");
    };
    for row in rows {
        let expected = accesses.iter().any(|access| access.is_satisfied(row));
        for level in [ValidationLevel::Record, ValidationLevel::Attribute] {
            let what = format!("{row:?}");
            agree(tree.conflict(RowChange::Insert(row), level), expected, &what);
            agree(tree.conflict(RowChange::Delete(row), level), expected, &what);
        }
    }
    for pair in rows.windows(2) {
        let before = &pair[0];
        let mut after = Row { id: before.id, ..pair[1].clone() };
        // Some columns stay as they were.
        (0..TYPES.len())
            .filter(|column| !(before.id as usize + column).is_multiple_of(3))
            .for_each(|column| after.values[column] = before.values[column].clone());
        let changed: Vec<usize> =
            (0..TYPES.len()).filter(|&c| before.values[c] != after.values[c]).collect();
        let set: ColumnSet = changed.iter().copied().collect();
        let change = RowChange::Update { before, after: &after, changed: &set };
        let meets = |access: &&Access| access.is_satisfied(before) || access.is_satisfied(&after);
        let at_record = accesses.iter().any(|access| meets(&access));
        let at_attribute = accesses.iter().filter(meets).any(|access| access.is_touched(&changed));
        let what = format!("{before:?} to {after:?}");
        agree(tree.conflict(change, ValidationLevel::Record), at_record, &what);
        agree(tree.conflict(change, ValidationLevel::Attribute), at_attribute, &what);
    }
}

fn config(cases: u32) -> ProptestConfig {
    let cases = if std::env::var_os("NACRE_TEST_FULL").is_some() { 20_000 } else { cases };
    ProptestConfig { cases, max_shrink_iters: 2_000, failure_persistence: None, ..<_>::default() }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn no_conflict_is_missed(
        accesses in vec(access(&[0, 1, 2, 3, 4, 5]), 0..12),
        rows in vec(row(), 1..24),
    ) {
        check(&accesses, &rows, WIDE, false);
    }

    #[test]
    fn exact_columns_have_no_needless_conflict(
        accesses in vec(access(&EXACT), 0..12),
        rows in vec(row(), 1..24),
    ) {
        check(&accesses, &rows, WIDE, true);
    }

    #[test]
    fn no_conflict_is_missed_by_merged_predicates(
        accesses in vec(access(&[0, 1, 2, 3, 4, 5]), 1..40),
        rows in vec(row(), 1..12),
        predicates in 1_usize..8,
        words in 1_usize..200,
    ) {
        let limits = Limits { predicates, words };
        check(&accesses, &rows, limits, false);
        assert!(logged(&accesses, limits).len() <= predicates);
    }

    #[test]
    fn key_ranges_hold_all_their_keys(
        keys in vec((ints(), ints()), 1..12),
        low in vec(ints(), 0..3),
        high in vec(ints(), 0..3),
        is_open in any::<(bool, bool)>(),
    ) {
        let refs = |key: &[i64]| key.iter().map(|&value| ValueRef::Int(value)).collect::<Vec<_>>();
        let (low_refs, high_refs) = (refs(&low), refs(&high));
        let bound = |key: &[i64], is_open: bool| match (key.len(), is_open) {
            (0, _) => 0,
            (2, true) => 2,
            _ => 1,
        };
        let bounds = [(&low, &low_refs, is_open.0), (&high, &high_refs, is_open.1)];
        let [low_bound, high_bound] = bounds.map(|(key, refs, is_open)| match bound(key, is_open) {
            0 => Bound::Unbounded,
            1 => Bound::Included(refs.as_slice()),
            _ => Bound::Excluded(refs.as_slice()),
        });
        let mut log = TableLog::new(WIDE);
        log.log(Predicate::default().with_keys(&[0, 1], low_bound, high_bound));
        for &(first, second) in &keys {
            let mut values = vec![Value::Null; TYPES.len()];
            values[0] = Value::Int(first);
            values[1] = Value::Int(second);
            let row = Row { id: 0, values };
            let key = [first, second];
            let is_end = |end: &[i64], is_open: bool| is_open && key[..] == *end;
            let is_above = key[..low.len()] >= low[..] && !is_end(&low, is_open.0);
            let is_below = key[..high.len()] <= high[..] && !is_end(&high, is_open.1);
            let found = log.tree().conflict(RowChange::Insert(&row), ValidationLevel::Record);
            assert!(found.is_some() || !(is_above && is_below), "{key:?} in {log:?}");
            let is_prefix = low.is_empty() || high.is_empty() || low[0] == high[0];
            if is_prefix && low.len() == high.len() && low.len() != 1 {
                assert_eq!(found.is_some(), is_above && is_below, "{key:?} in {log:?}");
            }
        }
    }
}

fn row_of(values: &[i64]) -> Row {
    let filled = (0..TYPES.len())
        .map(|column| values.get(column).map_or(Value::Null, |&value| Value::Int(value)));
    Row { id: 0, values: filled.collect() }
}

fn conflicts(log: &mut PredicateLog, values: &[i64]) -> bool {
    let tree = log.table(TableId(1)).unwrap().tree();
    tree.conflict(RowChange::Insert(&row_of(values)), ValidationLevel::Attribute).is_some()
}

/// TPC-C's delivery reads the oldest order of a district while others append new ones: the paper's
/// remaining false positives.
#[test]
fn minimum_is_not_changed_by_what_is_above_it() {
    let mut log = PredicateLog::default();
    let district = || Predicate::default().with_value(0, ValueRef::Int(3));
    log.log(TableId(1), district().with_min(1, ValueRef::Int(100)));
    assert!(!conflicts(&mut log, &[3, 101]));
    assert!(!conflicts(&mut log, &[4, 99]));
    assert!(conflicts(&mut log, &[3, 99]));
    assert!(conflicts(&mut log, &[3, 100]), "the smallest itself may be deleted");
    log.clear();
    log.log(TableId(1), district().with_max(1, ValueRef::Null));
    assert!(conflicts(&mut log, &[3, 7]), "there was no value, now there is one");
    assert!(!conflicts(&mut log, &[3]), "null is not a greatest value");
}

#[test]
fn many_lookups_become_ranges_near_the_keys() {
    let mut log = PredicateLog::default();
    for key in 0..100_000 {
        // Two dense stretches far from each other.
        let key = key % 2 * 1_000_000_000 + key / 2;
        log.log_key(TableId(1), &[0], &[ValueRef::Int(key)], &[]);
    }
    let table = log.table(TableId(1)).unwrap();
    assert!(table.len() <= PREDICATES_MAX);
    for key in [0, 777, 49_999, 1_000_000_000, 1_000_049_999] {
        assert!(conflicts(&mut log, &[key]), "{key}");
    }
    for key in [-1, 60_000, 500_000_000, 999_999_999, 1_000_050_000] {
        assert!(!conflicts(&mut log, &[key]), "{key}");
    }
}

/// Lookups are kept as words until somebody asks for predicates.
#[test]
fn lookups_of_all_kinds_conflict_as_predicates_do() {
    let mut log = PredicateLog::default();
    let text = |text: &'static str| ValueRef::Bytes(text.as_bytes());
    let (one, two, null) = (ValueRef::Int(1), ValueRef::Int(2), ValueRef::Null);
    let lookups: [(&[usize], &[ValueRef<'_>], &[usize]); 8] = [
        (&[0, 1], &[one, two], &[3]),
        (&[0, 1], &[one, two], &[3]),
        (&[0, 1], &[one, two], &[4, 200]),
        (&[0, 1], &[one, null], &[3]),
        (&[1], &[one], &[]),
        // The words of a shorter key are the end of those of the longer one before it.
        (&[2, 0, 1], &[text(""), one, two], &[]),
        (&[0, 1], &[one, two], &[5]),
        (&[2], &[text("longer than a summary")], &[]),
    ];
    for (columns, key, read) in lookups {
        log.log_key(TableId(1), columns, key, read);
    }
    assert_eq!(log.table(TableId(1)).unwrap().len(), 7);
    let conflicts = |log: &mut PredicateLog, values: [ValueRef<'_>; 3]| {
        let values = values.map(ValueRef::to_value).to_vec();
        let row = Row { id: 0, values: values.into_iter().chain(vec![Value::Null; 9]).collect() };
        let tree = log.table(TableId(1)).unwrap().tree();
        tree.conflict(RowChange::Insert(&row), ValidationLevel::Record).is_some()
    };
    for hit in [
        [one, two, null],
        [one, null, null],
        [two, one, null],
        [two, two, text("longer than a summary")],
    ] {
        assert!(conflicts(&mut log, hit), "{hit:?}");
    }
    for miss in [[two, two, text("")], [two, null, null], [null, two, text("longer")]] {
        assert!(!conflicts(&mut log, miss), "{miss:?}");
    }
    log.clear();
    assert!(log.is_empty());
}

#[test]
fn merged_keys_keep_their_first_columns_apart() {
    let mut log = PredicateLog::default();
    for key in 0..20_000 {
        let key = [ValueRef::Int(key % 10), ValueRef::Int(key)];
        log.log_key(TableId(1), &[0, 1], &key, &[]);
    }
    assert!(conflicts(&mut log, &[7, 777]));
    assert!(!conflicts(&mut log, &[10, 777]));
    assert!(!conflicts(&mut log, &[7, 30_000]));
}

#[test]
fn predicates_of_many_kinds_cost_no_more_memory() {
    let columns = 400;
    let mut log = TableLog::new(Limits { predicates: 64, words: 4_096 });
    for round in 0_usize..3_000 {
        let read: ColumnSet = [round % columns].into_iter().collect();
        let one = Predicate::new(read).with_value(round * 7 % columns, ValueRef::Int(round as i64));
        log.log(one.with_value(round * 13 % columns, ValueRef::Null));
    }
    assert!(log.len() <= 64);
    struct Anything;
    impl RowImage for Anything {
        fn row(&self) -> RowId {
            RowId(0)
        }
        fn value(&self, _: usize) -> ValueRef<'_> {
            ValueRef::Null
        }
    }
    let (before, changed) = (&Anything, [399].into_iter().collect());
    let change = RowChange::Update { before, after: &Anything, changed: &changed };
    assert!(log.tree().conflict(change, ValidationLevel::Attribute).is_some());
}

#[test]
fn repeated_access_is_one_predicate() {
    let mut log = PredicateLog::default();
    for column in [1, 2, 1, 2] {
        let read = [column].into_iter().collect();
        log.log_row(TableId(1), RowId(4), &read);
    }
    let table = log.table(TableId(1)).unwrap();
    assert_eq!(table.len(), 1);
    assert_eq!(table.tree().describe(0, &schema()), "the row at load 0, chunk 0, row 4");
    log.clear();
    assert!(log.is_empty() && log.table(TableId(1)).is_none());
}
