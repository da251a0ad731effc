//! Statements of any depth are answered or refused; they never end the process.

use crate::support::Connection;

#[test]
fn long_chains_of_conditions_are_answered() {
    let connection = Connection::open(None);
    let chain = |terms: usize| {
        let terms: Vec<String> = (0..terms).map(|term| format!("x = {term}")).collect();
        format!("select count(*) from (values (1), (5)) v (x) where {}", terms.join(" or "))
    };
    for terms in [1_600, 30_000] {
        assert_eq!(connection.rows(&chain(terms)), ["2"]);
    }
}

#[test]
fn deep_subqueries_are_answered_or_refused() {
    let connection = Connection::open(None);
    for depth in [5, 10, 15, 20, 25, 100, 1_000] {
        let open = "select * from (".repeat(depth);
        let close = ") x".repeat(depth);
        match connection.run(&format!("{open}select 1 as a{close}")) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.sqlstate(), "54001", "depth {depth}: {error}"),
        }
    }
}
