//! Random queries have the same rows before and after they are optimized.
//!
//! A query that raises no error as it is written raises none optimized: divisions by zero that
//! other conditions guard stay guarded. The error of a value that is computed once may come
//! nevertheless: a condition on it moves to its columns, as in PostgreSQL, where such a value is
//! asked for by the first row of a scan, whether that has partners or not.

use std::collections::BTreeMap;

use nacre_plan::algebra::RelationalOperator;
use nacre_plan::optimizer::optimize;

use super::catalog::TestTables;
use super::evaluator::{TableRows, answer, has_failing_value};
use super::printer::text;
use super::random_queries::{QueryWriter, RandomSequence, random_tables};

/// Each takes about 2 ms in a debug build; `NACRE_TEST_CASES` says how many.
const CASES: u64 = 4_000;

#[test]
fn optimized_queries_have_the_same_rows() {
    let dependent = compare(|random| QueryWriter::new(random).query());
    assert_eq!(dependent, 0);
}

#[test]
fn queries_within_expressions_have_the_same_rows() {
    let dependent = compare(|random| QueryWriter::new(random).with_queries(3).query());
    // Domains that would take too many operators, and nulls among rows that LIMIT chooses.
    assert!(dependent < 30, "{dependent} are left dependent");
}

#[test]
fn lateral_queries_have_the_same_rows() {
    let dependent = compare(|random| QueryWriter::new(random).with_lateral().query());
    // Domains that would take too many operators, and outer joins within LATERAL ones.
    assert!(dependent < 300, "{dependent} are left dependent");
}

#[test]
fn queries_that_are_computed_once_have_the_same_rows() {
    let dependent = compare(|random| QueryWriter::new(random).with_common().query());
    assert_eq!(dependent, 0);
}

/// Whether a join of a plan has a right side that sees the left one.
fn is_dependent(operator: &RelationalOperator) -> bool {
    !operator.free_columns().is_empty() || operator.inputs().any(is_dependent)
}

/// Returns how many plans have a dependent join after they are optimized.
fn compare(write: impl Fn(&mut RandomSequence) -> String) -> usize {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("NACRE_TEST_SEED").unwrap_or(1);
    let cases = number("NACRE_TEST_CASES").unwrap_or(CASES);
    let (mut compared, mut changed, mut with_rows, mut dependent, mut asked) = (0, 0, 0, 0, 0);
    let mut refused = BTreeMap::<String, usize>::new();
    for case in seed..seed + cases {
        let mut random = RandomSequence::new(case);
        let (tables, rows) = random_tables(&mut random);
        let sql = write(&mut random);
        // Names may be ambiguous.
        let plan = match tables.bind(&sql) {
            Ok(plan) => plan,
            Err(error) => {
                *refused.entry(error).or_default() += 1;
                continue;
            }
        };
        let Ok(expected) = answer(&plan, &rows) else { continue };
        let optimized = optimize(plan.clone(), &tables);
        assert_eq!(plan.outputs, optimized.outputs);
        // It is refused where it is lowered.
        if is_dependent(&optimized.root) {
            dependent += 1;
            continue;
        }
        let found = answer(&optimized, &rows);
        if found.is_err() && has_failing_value() {
            asked += 1;
            continue;
        }
        assert!(
            found.as_ref() == Ok(&expected),
            "NACRE_TEST_SEED={case}\n{sql}\nwritten   {}\noptimized {}\nrows {rows:?}\n\
             expected {expected:?}\nfound    {found:?}",
            text(&plan),
            text(&optimized),
        );
        compared += 1;
        changed += usize::from(plan.root != optimized.root);
        with_rows += usize::from(!expected.is_empty());
    }
    println!(
        "{compared} compared, {changed} changed, {with_rows} with rows, {dependent} dependent, \
         {asked} ask for a value that fails; refused {refused:?}"
    );
    if cases >= CASES {
        assert!(compared * 4 > cases as usize);
        assert!(changed * 2 > compared && with_rows * 5 > compared);
        assert!(asked * 200 < compared, "{asked} ask for a value that fails");
    }
    dependent
}

#[test]
fn lists_of_tables_have_the_same_plan_in_any_order() {
    for seed in 1..400 {
        let mut random = RandomSequence::new(seed);
        let (tables, _) = random_tables(&mut random);
        let count = 2 + random.below(4);
        let (mut from, conditions) = QueryWriter::new(&mut random).list(count);
        let mut expected: Option<(String, String)> = None;
        for _ in 0..4 {
            let sql = format!("select 1 from {} where {conditions}", from.join(", "));
            let found = text(&tables.optimized(&sql));
            let (first, expected) = expected.get_or_insert((sql.clone(), found.clone()));
            assert_eq!(found, *expected, "seed {seed}\n{first}\n{sql}");
            random.shuffle(&mut from);
        }
    }
}

#[test]
fn greedy_orders_have_the_same_rows() {
    // More leaves than are ordered exactly. Most tables have one row, so that loops end.
    let count = 70;
    let mut answers = 0;
    for seed in 1..12 {
        let mut random = RandomSequence::new(seed);
        let (mut tables, mut rows) = (TestTables::default(), TableRows::new());
        let (mut list, mut joins, mut conditions) = (String::new(), String::new(), Vec::new());
        for index in 0..count {
            let name = format!("t{index}");
            tables.add(&name, "k integer; x integer; y integer", 0, random.below(1_000) as u64);
            let mut stored = vec![vec![Some(1); 3]];
            if index % 9 == 0 {
                stored.push((0..3).map(|_| Some(random.below(2) as i64)).collect());
            }
            rows.insert(name.clone(), stored);
            let columns = ["k", "x", "y"];
            let (one, other) = (columns[random.below(3)], columns[random.below(3)]);
            let condition = match index {
                0 => {
                    list = name.clone();
                    joins = name;
                    continue;
                }
                // Joins by no equality.
                35 => "t35.x <= t7.y".to_owned(),
                51 => "1 = 1".to_owned(),
                _ => format!("{name}.{one} = t{}.{other}", random.below(index)),
            };
            list = format!("{name}, {list}");
            joins = format!("{joins} join {name} on {condition}");
            conditions.push(condition);
        }
        let written = tables.bind(&format!("select t0.x, t0.y from {joins}")).unwrap();
        let expected = answer(&written, &rows).unwrap();
        let conditions = conditions.join(" and ");
        for from in [joins, format!("{list} where {conditions}")] {
            let sql = format!("select t0.x, t0.y from {from}");
            assert_eq!(answer(&tables.optimized(&sql), &rows), Ok(expected.clone()), "{seed}");
        }
        answers += expected.len();
    }
    assert!(answers > 11);
}
