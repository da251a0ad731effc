//! Joins: in which order their tables are made, and what scans know by then.

use crate::support::Connection;

#[test]
fn tables_of_inner_joins_are_made_of_rows_that_outer_joins_look_for() {
    let connection = Connection::open(None);
    connection.ok("create table nations as select n::integer as n_id, 'nation ' || n as n_name \
         from generate_series(0, 24) as s(n)");
    // Enough rows that two threads read them.
    connection
        .ok("create table customers as select n::integer as c_id, (n % 25)::integer as c_nation \
         from generate_series(0, 19999) as s(n)");
    connection.ok(
        "create table orders as select n::integer as o_id, (n % 20000)::integer as o_customer \
         from generate_series(0, 99999) as s(n)",
    );
    let query = "select count(*) from orders join customers on o_customer = c_id \
                 join nations on c_nation = n_id where n_name = 'nation 7'";
    assert_eq!(connection.rows(query), ["4000"]);
    // Nacre's own engine orders joins by cost.
    connection.ok("set nacre.engine = datafusion");
    let plan = connection.rows(&format!("explain analyze {query}")).join("\n");
    let scan = plan.lines().find(|line| line.contains("table=customers")).unwrap_or_default();
    assert!(plan.contains("OnDemandExec"), "{plan}");
    assert!(scan.contains("output_rows=800,"), "{plan}");
}
