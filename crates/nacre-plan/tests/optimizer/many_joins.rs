//! Queries of hundreds of joins in many shapes: planned in time, to the same plan in any order of
//! FROM, and stopped soon.

use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use nacre_plan::control::{PlanningStopped, until_stopped};

use super::catalog::TestTables;
use super::limits::{assert_within, processor_time, tables};
use super::printer::text;
use super::random_queries::RandomSequence;

/// Shapes of inner joins, by the condition that joins a table with others.
const SHAPES: [&str; 7] = ["chain", "star", "one key", "less", "star of less", "sums", "three"];

/// Returns the condition that joins a table with others in a shape.
fn condition(shape: &str, index: usize) -> String {
    let (before, half) = (index - 1, index / 2);
    match shape {
        "chain" => format!("t{index}.k = t{before}.x"),
        "star" => format!("t{index}.k = t0.x"),
        "one key" => format!("t{index}.k = t0.k"),
        "less" => format!("t{index}.k < t{before}.x"),
        "star of less" => format!("t{index}.k < t0.x"),
        "sums" => format!("t{index}.k + t{index}.y = t{before}.x + t{before}.y"),
        _ => format!("t{index}.k = t{before}.x + t{half}.y"),
    }
}

/// Returns a query of joins, the one of a table by the word that `word` has for it.
fn joined(shape: &str, count: usize, word: &dyn Fn(usize) -> &'static str) -> String {
    let mut sql = "select 1 from t0".to_owned();
    for index in 1..count {
        let _ = write!(sql, " {} t{index} on {}", word(index), condition(shape, index));
    }
    sql
}

/// Returns a query over a list of tables in that order.
fn listed(shape: &str, order: &[usize]) -> String {
    let list: Vec<String> = order.iter().map(|index| format!("t{index}")).collect();
    let all: Vec<String> = (1..order.len()).map(|index| condition(shape, index)).collect();
    format!("select 1 from {} where {}", list.join(", "), all.join(" and "))
}

/// Runs `test` with a stack for plans of hundreds of levels.
fn with_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(64 << 20).spawn(test).unwrap().join().unwrap();
}

fn planning_time(tables: &TestTables, sql: &str) -> Duration {
    let started = processor_time();
    let plan = tables.optimized(sql);
    let took = processor_time() - started;
    drop(plan);
    took
}

#[test]
fn five_hundred_joins_of_any_shape_are_planned() {
    with_stack(|| {
        let (tables, order) = (tables(500), (0..500).collect::<Vec<_>>());
        for shape in SHAPES {
            for sql in [joined(shape, 500, &|_| "join"), listed(shape, &order)] {
                println!("{shape}");
                assert_within(planning_time(&tables, &sql), 250);
            }
        }
        let list: Vec<String> = order.iter().map(|index| format!("t{index}")).collect();
        let sql = format!("select 1 from {}", list.join(", "));
        assert_within(planning_time(&tables, &sql), 250);
    });
}

#[test]
fn five_hundred_joins_with_outer_ones_among_them_are_planned() {
    with_stack(|| {
        let tables = tables(500);
        for shape in ["chain", "star", "less"] {
            for every in [2, 3, 50] {
                let word =
                    |index: usize| if index.is_multiple_of(every) { "left join" } else { "join" };
                let sql = joined(shape, 500, &word);
                println!("{shape} {every}");
                assert_within(planning_time(&tables, &sql), 250);
            }
        }
        let word = |index: usize| if index.is_multiple_of(50) { "full join" } else { "join" };
        assert_within(planning_time(&tables, &joined("chain", 500, &word)), 250);
    });
}

#[test]
fn many_cliques_are_planned_in_time() {
    let (parts, leaves) = (40, 11);
    let mut conditions = Vec::new();
    for part in 0..parts {
        let first = part * leaves;
        for one in 0..leaves {
            for other in 0..one {
                let (one, other) = (first + one, first + other);
                conditions.push(format!("t{one}.k + {other} = t{other}.x + {one}"));
            }
        }
    }
    let list: Vec<String> = (0..parts * leaves).map(|index| format!("t{index}")).collect();
    let sql = format!("select 1 from {} where {}", list.join(", "), conditions.join(" and "));
    with_stack(move || assert_within(planning_time(&tables(parts * leaves), &sql), 1_000));
}

#[test]
fn joins_have_the_same_plan_in_any_order_of_from() {
    with_stack(|| {
        let tables = tables(100);
        let mut random = RandomSequence::new(7);
        for shape in SHAPES {
            let mut order: Vec<usize> = (0..100).collect();
            let expected = text(&tables.optimized(&listed(shape, &order)));
            for _ in 0..3 {
                random.shuffle(&mut order);
                assert_eq!(text(&tables.optimized(&listed(shape, &order))), expected, "{shape}");
            }
        }
    });
}

/// Plans a query until it is asked so many times; returns what came of it, how often it was asked,
/// and the time since it was told to end.
fn plan_until(
    tables: &TestTables,
    sql: &str,
    asked_max: usize,
) -> (Result<(), PlanningStopped>, usize, Duration) {
    let asked = Rc::new(Cell::new(0));
    let told = Rc::new(Cell::new(Duration::MAX));
    let (count, time) = (Rc::clone(&asked), Rc::clone(&told));
    let should_stop = move || {
        count.set(count.get() + 1);
        if count.get() == asked_max {
            time.set(processor_time());
        }
        count.get() >= asked_max
    };
    let planned = until_stopped(should_stop, || {
        if let Ok(plan) = tables.bind(sql) {
            drop(nacre_plan::optimizer::optimize(plan, tables));
        }
    });
    (planned, asked.get(), processor_time().saturating_sub(told.get()))
}

#[test]
fn planning_ends_soon_wherever_it_is_stopped() {
    with_stack(|| {
        let (tables, order) = (tables(300), (0..300).collect::<Vec<_>>());
        let many = (0..8_000).map(|index| format!("x > {index}")).collect::<Vec<_>>();
        let conditions = format!("select k from t0 where {}", many.join(" and "));
        let left = joined("chain", 300, &|_| "left join");
        for sql in [listed("sums", &order), listed("less", &order), left, conditions] {
            let (planned, asked, _) = plan_until(&tables, &sql, usize::MAX);
            assert_eq!(planned, Ok(()));
            assert!(asked > 20, "asked {asked} times");
            let mut slowest = Duration::ZERO;
            for point in 0..20 {
                let asked_max = 1 + point * (asked - 1) / 20;
                let (planned, asked, took) = plan_until(&tables, &sql, asked_max);
                assert_eq!((planned, asked), (Err(PlanningStopped), asked_max));
                slowest = slowest.max(took);
            }
            assert_within(slowest, 20);
        }
    });
}

#[test]
fn wide_tables_are_planned() {
    let columns: String = (0..90).map(|index| format!("; c{index} integer")).collect();
    let mut tables = TestTables::default();
    for index in 0..500 {
        let columns = format!("k integer; x integer; y integer{columns}");
        tables.add(&format!("t{index}"), &columns, 1, 1_000);
    }
    with_stack(move || {
        for word in ["join", "left join"] {
            let sql = joined("chain", 500, &|_| word);
            println!("{word}");
            assert_within(planning_time(&tables, &sql), 1_000);
        }
    });
}
