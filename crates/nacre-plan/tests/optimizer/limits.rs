//! Large queries are planned in time and in little stack.

use std::fmt::Write;
use std::time::Duration;

use nacre_plan::algebra::{RelationalOperator, ScalarExpression, ScalarKind, TruthValue};
use nacre_types::SqlType;

use super::catalog::TestTables;
use super::printer::cross_products;

/// Returns the time that this thread was run: other processes have no influence on it.
pub(crate) fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Tables `t0` and so on.
pub(crate) fn tables(count: usize) -> TestTables {
    let mut tables = TestTables::default();
    for index in 0..count {
        let rows = 10 + (index as u64 * 7_919) % 1_000_003;
        tables.add(&format!("t{index}"), "k integer; x integer; y integer", 1, rows);
    }
    tables
}

fn from_list(count: usize) -> String {
    (0..count).map(|index| format!("t{index}")).collect::<Vec<_>>().join(", ")
}

/// Optimizes a query in a thread of that many bytes of stack, and returns how long it took.
fn optimize_in(tables: TestTables, sql: String, stack: usize) -> Duration {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        let plan = tables.bind(&sql).unwrap();
        let thread = std::thread::Builder::new().stack_size(stack).spawn(move || {
            let started = processor_time();
            let plan = nacre_plan::optimizer::optimize(plan, &tables);
            let took = processor_time() - started;
            assert_eq!(cross_products(&plan.root), 0);
            (took, plan)
        });
        thread.unwrap().join().unwrap().0
    });
    thread.unwrap().join().unwrap()
}

/// The limit is one of an optimized build; others are ten times as slow and more.
pub(crate) fn assert_within(took: Duration, limit_ms: u64) {
    println!("{took:?}");
    let factor = if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(took < Duration::from_millis(limit_ms * factor), "{took:?}");
}

#[test]
fn five_hundred_joins_are_ordered() {
    let count = 500;
    for next_to in [1, 40] {
        let mut conditions = Vec::new();
        for index in next_to..count {
            conditions.push(format!("t{index}.k = t{}.x", index - next_to));
            conditions.push(format!("t{index}.y > {index}"));
        }
        for index in 1..next_to {
            conditions.push(format!("t{index}.x = t0.x"));
        }
        let sql = format!("select 1 from {} where {}", from_list(count), conditions.join(" and "));
        assert_within(optimize_in(tables(count), sql, 16 << 20), 250);
    }
}

#[test]
fn five_hundred_columns_may_be_equal() {
    let count = 500;
    let conditions: Vec<String> =
        (1..count).map(|index| format!("t{}.k = t{index}.k", index - 1)).collect();
    let sql = format!("select 1 from {} where {}", from_list(count), conditions.join(" and "));
    assert_within(optimize_in(tables(count), sql, 16 << 20), 250);
}

#[test]
fn five_hundred_outer_joins_are_planned() {
    let count = 500;
    let mut sql = "select 1 from t0".to_owned();
    for index in 1..count {
        let _ = write!(sql, " left join t{index} on t{index}.k = t{}.x", index - 1);
    }
    assert_within(optimize_in(tables(count), sql, 16 << 20), 250);
}

#[test]
fn a_clique_of_twelve_is_ordered_in_time() {
    for count in [11, 12] {
        let mut conditions = Vec::new();
        for one in 0..count {
            for other in 0..one {
                let columns = ["k", "x", "y"];
                let (first, second) = (columns[one % 3], columns[other % 3]);
                conditions.push(format!("t{one}.{first} + 0 = t{other}.{second}"));
                conditions.push(format!("t{one}.{first} = t{other}.{second}"));
            }
        }
        let sql = format!("select 1 from {} where {}", from_list(count), conditions.join(" and "));
        assert_within(optimize_in(tables(count), sql, 8 << 20), 50);
    }
}

/// Returns a condition as deep as the binder lets one be.
fn deepened(condition: &ScalarExpression) -> ScalarExpression {
    let boolean = |kind| ScalarExpression::new(kind, SqlType::BOOLEAN, condition.range);
    let mut deep = condition.clone();
    for level in 0..330 {
        let both = vec![condition.clone(), deep];
        deep = match level % 2 {
            0 => boolean(ScalarKind::Or(both)),
            _ => boolean(ScalarKind::And(both)),
        };
        deep = boolean(ScalarKind::Not(Box::new(deep)));
        let operand = Box::new(deep);
        deep = boolean(ScalarKind::IsTruth { operand, value: TruthValue::False });
    }
    deep
}

#[test]
fn deep_conditions_need_little_stack() {
    for kind in ["join", "left join", "full join"] {
        let tables = tables(2);
        let sql = format!("select * from t0 {kind} t1 on t0.k = t1.k where t1.x = 1 or t0.x = 1");
        let mut plan = tables.bind(&sql).unwrap();
        let RelationalOperator::Filter { condition, .. } = &mut plan.root else {
            panic!("{:?}", plan.root);
        };
        *condition = deepened(condition);
        let thread = std::thread::Builder::new().stack_size(3 << 20).spawn(move || {
            let started = processor_time();
            let plan = nacre_plan::optimizer::optimize(plan, &tables);
            (processor_time() - started, plan)
        });
        let (took, _) = thread.unwrap().join().unwrap();
        assert_within(took, 50);
    }
}

#[test]
fn hundreds_of_set_operations_are_planned() {
    let operand = |index: usize| format!("select k from t{index} where x > {index}");
    for word in ["union all", "union", "except", "intersect all"] {
        let operands: Vec<String> = (0..200).map(operand).collect();
        let chain = operands.join(&format!(" {word} "));
        let sql = format!("select s.k from ({chain}) s join t0 on s.k = t0.k where s.k < 7");
        assert_within(optimize_in(tables(200), sql, 4 << 20), 100);
    }
    // One above the other, no more than later passes recurse over.
    let operands: Vec<String> = (0..202).map(operand).collect();
    let error = tables(202).bind(&operands.join(" except ")).unwrap_err();
    assert_eq!(error, "a query can have at most 200 set operations in a row");
    assert!(tables(202).bind(&operands.join(" union ")).is_ok());
}

#[test]
fn thousands_of_literal_rows_are_planned() {
    let rows: Vec<String> = (0..20_000).map(|row| format!("({row}, 'x{row}', 1.5)")).collect();
    let values = rows.join(", ");
    let sql = format!("select 1 from (values {values}) v (k, s, n) join t0 on v.k = t0.k");
    assert_within(optimize_in(tables(1), sql, 2 << 20), 100);
}

#[test]
fn copies_of_queries_and_conditions_are_bounded() {
    let mut tables = TestTables::default();
    tables.add("t", "k integer; x integer; y integer", 0, 1_000);
    // Each level looks for nulls in copies of the ones below.
    let mut inner = "select x from t".to_owned();
    for _ in 0..30 {
        inner = format!("select x from t where x not in ({inner})");
    }
    assert_eq!(
        tables.bind(&inner).unwrap_err(),
        "a query can have at most 50000 columns in all its tables"
    );
    // Each level doubles a condition that is looked at below it.
    let mut with = "with q0 as (select k from t)".to_owned();
    for level in 1..60 {
        let below = level - 1;
        with += &format!(", q{level} as (select coalesce(k, k) as k from q{below})");
    }
    tables
        .optimized(&format!("{with} select 1 from q59 left join t on t.k = q59.k where q59.k > 1"));
}

#[test]
fn rows_among_rows_within_each_other_are_refused_before_they_are_too_many() {
    let (open, close) = ("((".repeat(60), ", 1) in ((2, 3), (4, 5)))::int".repeat(60));
    let error = tables(1).bind(&format!("select {open}x{close} from t0")).unwrap_err();
    assert!(error.contains("stack depth limit exceeded"), "{error}");
    let rows = (0..6_000).map(|row| format!("({row}, 1)")).collect::<Vec<_>>().join(", ");
    tables(1).bind(&format!("select k from t0 where (x, y) in ({rows})")).unwrap();
}

#[test]
fn queries_of_with_that_double_are_computed_once() {
    let next = |level: usize| {
        let below = level - 1;
        format!(", q{level} as (select x.k from q{below} x join q{below} y on x.k = y.k)")
    };
    let levels: String = (1..=14).map(next).collect();
    let sql = format!("with q0 as (select k from t0){levels} select count(*) from q14");
    assert!(tables(1).bind(&sql).is_ok());
}
