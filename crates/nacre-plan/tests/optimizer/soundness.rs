//! Random queries have the same rows before and after they are optimized.
//!
//! A query that raises no error as it is written raises none optimized: divisions by zero that
//! other conditions guard stay guarded.

use nacre_plan::optimizer::optimize;

use super::evaluator::answer;
use super::printer::text;
use super::random_queries::{QueryWriter, RandomSequence, random_tables};

/// Each takes about 2 ms in a debug build; `NACRE_TEST_CASES` says how many.
const CASES: u64 = 4_000;

#[test]
fn optimized_queries_have_the_same_rows() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("NACRE_TEST_SEED").unwrap_or(1);
    let cases = number("NACRE_TEST_CASES").unwrap_or(CASES);
    let (mut compared, mut changed, mut with_rows) = (0, 0, 0);
    for case in seed..seed + cases {
        let mut random = RandomSequence::new(case);
        let (tables, rows) = random_tables(&mut random);
        let sql = QueryWriter::new(&mut random).query();
        // Names may be ambiguous.
        let Ok(plan) = tables.bind(&sql) else { continue };
        let Ok(expected) = answer(&plan, &rows) else { continue };
        let optimized = optimize(plan.clone(), &tables);
        assert_eq!(plan.outputs, optimized.outputs);
        let found = answer(&optimized, &rows);
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
    println!("{compared} compared, {changed} changed, {with_rows} with rows");
    if cases >= CASES {
        assert!(compared * 2 > cases as usize);
        assert!(changed * 2 > compared && with_rows * 5 > compared);
    }
}
