//! How windows of a query become operators, and where their errors point at.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use nacre_plan::BindError;
use nacre_plan::algebra::{RelationalOperator, ScalarKind, WindowFrameEdge};
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_syntax::Statement;
use nacre_types::{SqlType, ValueSettings};

/// A catalog of one table `t` of integers.
struct TestCatalog;

impl RelationCatalog for TestCatalog {
    fn find_relation(&self, _: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        let column = |name: &str| RelationColumn {
            name: name.to_owned(),
            sql_type: SqlType::INTEGER,
            is_nullable: true,
        };
        (name == "t").then(|| {
            Arc::new(RelationDefinition {
                id: RelationId(1),
                schema: "public".to_owned(),
                name: name.to_owned(),
                columns: ["a", "b", "c"].map(column).to_vec(),
                primary_key: Vec::new(),
                table_oid: None,
            })
        })
    }
}

/// Returns the windows of a query from the top down: keys and functions of each.
fn windows(sql: &str) -> Result<Vec<String>, BindError> {
    let Some(Statement::Query(query)) = nacre_syntax::parse_statement(sql).unwrap() else {
        panic!("{sql} is no query")
    };
    let plan = bind_query(&TestCatalog, &ValueSettings::default(), &query)?;
    let name = |column| plan.columns.get(column).unwrap().name.to_string();
    let (mut found, mut next) = (Vec::new(), Some(&plan.root));
    while let Some(operator) = next {
        if let RelationalOperator::Window { partition, order, functions, .. } = operator {
            let partition: Vec<String> = partition.iter().map(|column| name(*column)).collect();
            let order = order.iter().map(|key| match key.value.kind {
                ScalarKind::Column(column) => {
                    format!("{}{}", name(column), if key.is_descending { " desc" } else { "" })
                }
                _ => panic!("a key is no column"),
            });
            let order: Vec<String> = order.collect();
            let functions: Vec<&str> = functions.iter().map(|one| one.call.function.name).collect();
            let parts = [partition.join(","), order.join(","), functions.join(",")];
            found.push(parts.join("|"));
        }
        next = operator.inputs().next();
    }
    Ok(found)
}

fn assert_windows(sql: &str, expected: &[&str]) {
    assert_eq!(windows(sql).unwrap(), expected, "{sql}");
}

#[test]
fn windows_of_the_same_keys_are_one_operator() {
    assert_windows(
        "select rank() over (partition by a order by b), sum(c) over w, \
         sum(c) over (partition by a order by b rows 1 preceding) from t \
         window w as (partition by a order by b), unused as (order by c)",
        &["a|b|rank,sum,sum"],
    );
    // A call that is there twice is computed once.
    assert_windows(
        "select count(*) over (order by a), 1 + count(*) over (order by a) from t \
         order by count(*) over (order by a)",
        &["|a|count"],
    );
}

#[test]
fn windows_that_an_order_serves_lie_above_it() {
    assert_windows(
        "select count(*) over (), rank() over (partition by a order by b, c), \
         max(c) over (partition by b), min(c) over (partition by a), \
         row_number() over (partition by a order by b) from t",
        &["b||max", "a|b|row_number", "a||min", "||count", "a|b,c|rank"],
    );
    assert_windows(
        "select rank() over (order by a, b), sum(c) over (partition by b, a), \
         sum(c) over (partition by a order by b), sum(c) over (partition by a order by b desc) \
         from t",
        &["a|b desc|sum", "a|b|sum", "b,a||sum", "|a,b|rank"],
    );
    // Twice the same column is one key.
    assert_windows(
        "select rank() over (partition by a order by a, b), sum(c) over (partition by a, b) from t",
        &["a,b||sum", "a|a,b|rank"],
    );
}

#[test]
fn windows_are_computed_after_groups() {
    assert_windows(
        "select a, rank() over (order by sum(b)), sum(sum(b)) over (partition by a) from t \
         group by a",
        &["a||sum", "|sum|rank"],
    );
}

#[test]
fn windows_of_queries_in_from_are_their_own() {
    assert_windows(
        "select rank() over w \
         from (select a, count(*) over w as n from t window w as (order by a)) q \
         window w as (order by n)",
        &["|count|rank", "|a|count"],
    );
    let error = windows("select 1 from (select a from t window w as ()) q order by rank() over w");
    assert_eq!(error.unwrap_err().sql_state, "42704");
}

#[test]
fn queries_of_with_that_tell_peers_apart_are_read_once() {
    let twice = |call: &str| {
        windows(&format!(
            "with q as not materialized (select a, {call} as r from t) select 1 from q join q p \
             on q.r = p.r"
        ))
        .unwrap()
    };
    for call in ["rank() over (order by a)", "sum(b) over (order by a)", "count(*) over ()"] {
        assert!(!twice(call).is_empty(), "{call}");
    }
    for call in [
        "row_number() over (order by a)",
        "lag(b) over (order by a)",
        "sum(b) over (rows 1 preceding)",
    ] {
        // Computed once, beside the query.
        assert!(twice(call).is_empty(), "{call}");
    }
    let once = "with q as (select row_number() over () as r from t) select r from q";
    assert!(windows(once).is_ok());
}

#[test]
fn frames_have_defaults_and_offsets_of_the_right_type() {
    let sql = "select sum(a) over (order by a range '2' preceding), sum(a) over () from t";
    let Some(Statement::Query(query)) = nacre_syntax::parse_statement(sql).unwrap() else {
        panic!("{sql} is no query")
    };
    let plan = bind_query(&TestCatalog, &ValueSettings::default(), &query).unwrap();
    let RelationalOperator::Window { input, functions: outer, .. } = &plan.root else { panic!() };
    let RelationalOperator::Window { functions: inner, .. } = &**input else { panic!() };
    assert_eq!(outer[0].frame.start, WindowFrameEdge::UnboundedPreceding);
    assert_eq!(outer[0].frame.end, WindowFrameEdge::CurrentRow);
    let WindowFrameEdge::Preceding(offset) = &inner[0].frame.start else { panic!() };
    assert_eq!(offset.sql_type, SqlType::INTEGER);
}

#[test]
fn errors_point_where_those_of_postgresql_do() {
    for (sql, at) in [
        ("select sum(a) over w from t", "w from"),
        ("select sum(a) over (w) from t", "(w)"),
        ("select 1 from t window w as (), w as (order by a)", "(order"),
        ("select sum(a) over (w order by a) from t window w as (order by b)", "(w order"),
        ("select a from t where rank() over () > 1", "rank"),
        ("select sum(a) over (order by a rows a preceding) from t", "a preceding"),
        ("select sum(a) over (range 1 preceding) from t", "(range"),
        ("select rank() over (order by rank() over ()) from t", "rank() over ())"),
        ("select sum(b) over (order by a) from t group by a", "b) over"),
    ] {
        let range = windows(sql).unwrap_err().range.unwrap();
        assert_eq!(range.start as usize, sql.find(at).unwrap(), "{sql}");
    }
}
