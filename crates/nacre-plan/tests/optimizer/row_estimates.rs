//! What is said of the rows of each operator of an optimized plan.

use nacre_plan::algebra::{JoinVariant, RelationalOperator};
use nacre_plan::optimizer::RowEstimates;

use super::tpch::tpch_tables;

/// Returns the estimates of all joins of a query, from the top down.
fn join_rows(sql: &str) -> Vec<(JoinVariant, f64)> {
    let tables = tpch_tables();
    let plan = tables.optimized(sql);
    let estimates = RowEstimates::of(&plan, &tables);
    let mut found = Vec::new();
    let mut open = vec![&plan.root];
    while let Some(operator) = open.pop() {
        let rows = estimates.rows(operator).unwrap();
        assert!(rows >= 1.0, "{rows}: {operator:?}");
        if let RelationalOperator::Join { variant, .. } = operator {
            found.push((*variant, rows.round()));
        }
        open.extend(operator.inputs());
    }
    found
}

#[test]
fn joins_with_a_key_have_the_rows_of_the_other_side() {
    let found = join_rows(
        "select 1 from customer, orders, nation \
         where c_custkey = o_custkey and c_nationkey = n_nationkey",
    );
    let inner = |rows| (JoinVariant::Inner, rows);
    assert_eq!(found, [inner(1_500_000.0), inner(150_000.0)]);
    let found = join_rows("select c_name from orders left join customer on c_custkey = o_custkey");
    assert_eq!(found, [(JoinVariant::Left, 1_500_000.0)]);
}

#[test]
fn estimates_of_joins_do_not_depend_on_what_is_below_them() {
    // The same set of tables, below a semi join.
    let found = join_rows(
        "select 1 from lineitem, partsupp where ps_partkey = l_partkey and ps_suppkey = l_suppkey \
         and exists (select 1 from nation, supplier \
                     where n_nationkey = s_nationkey and s_suppkey = l_suppkey)",
    );
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.contains(&(JoinVariant::Inner, 6_001_215.0)), "{found:?}");
    assert!(found.contains(&(JoinVariant::Inner, 10_000.0)), "{found:?}");
}

#[test]
fn scans_know_what_some_of_their_conditions_leave() {
    let tables = tpch_tables();
    let sql = "select c_name from customer where c_mktsegment = 'BUILDING' and c_nationkey = 7";
    let plan = tables.optimized(sql);
    let estimates = RowEstimates::of(&plan, &tables);
    let mut operator = &plan.root;
    while let [input] = operator.inputs().collect::<Vec<_>>()[..] {
        if let RelationalOperator::Filter { condition, .. } = operator {
            let RelationalOperator::Scan { columns, .. } = input else { panic!("{input:?}") };
            let conjuncts: Vec<_> = condition.children().collect();
            let left = |conditions: &[_]| estimates.rows_left(columns, conditions).unwrap().round();
            assert_eq!((left(&[]), left(&conjuncts[..1])), (150_000.0, 30_000.0));
            // Both: a 25th, and the root of a fifth.
            let all = estimates.rows(operator).unwrap().round();
            assert_eq!((left(&conjuncts), all), (2_683.0, 2_683.0));
            return;
        }
        operator = input;
    }
    panic!("{plan:?}");
}
