//! Random queries have the same rows before and after they are optimized.
//!
//! A query that raises no error as it is written raises none optimized: divisions by zero that
//! other conditions guard stay guarded.

use nacre_plan::optimizer::optimize;

use super::evaluator::answer;
use super::printer::text;
use super::random_queries::{QueryWriter, RandomSequence, random_tables};

const CASES: u64 = 6_000;

#[test]
fn optimized_queries_have_the_same_rows() {
    let seed: u64 = match std::env::var("NACRE_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => 1,
    };
    let (mut compared, mut changed, mut with_rows) = (0, 0, 0);
    for case in seed..seed + CASES {
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
    assert!(compared * 2 > CASES as usize && changed * 2 > compared && with_rows * 5 > compared);
}
