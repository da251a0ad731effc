//! Keys of groups that follow from others.

use nacre_plan::algebra::RelationalOperator;
use nacre_plan::optimizer::determined_keys;

use super::catalog::TestTables;

fn tables() -> TestTables {
    let mut tables = TestTables::default();
    tables.add("parent", "id integer!; name text; f double precision", 1, 1_000);
    tables.add("child", "id integer!; parent integer; x integer; note text", 1, 10_000);
    tables.add("pair", "a integer!; b integer!; x integer", 2, 10_000);
    tables
}

fn groups(operator: &RelationalOperator) -> Option<&RelationalOperator> {
    match operator {
        RelationalOperator::Aggregate { .. } => Some(operator),
        _ => operator.inputs().find_map(groups),
    }
}

/// Returns the names of the keys, those that follow in parentheses.
fn keys(sql: &str) -> String {
    let plan = tables().optimized(sql);
    let Some(RelationalOperator::Aggregate { input, keys, .. }) = groups(&plan.root) else {
        panic!("{sql}")
    };
    let name = |column| plan.columns.get(column).map(|column| column.name.clone()).unwrap();
    let named = keys.iter().zip(determined_keys(input, keys)).map(|(key, follows)| {
        if follows { format!("({})", name(*key)) } else { name(*key).to_string() }
    });
    named.collect::<Vec<_>>().join(" ")
}

#[test]
fn columns_follow_from_primary_keys_and_equal_columns() {
    for (sql, expected) in [
        ("select count(*) from child group by id, x, note", "id (x) (note)"),
        ("select count(*) from child group by x, note, id", "(x) (note) id"),
        ("select count(*) from child group by x, note", "x note"),
        ("select count(*) from pair group by a, x", "a x"),
        ("select count(*) from pair group by b, a, x", "b a (x)"),
        (
            "select count(*) from child c join parent p on p.id = c.parent \
             group by c.id, c.x, p.name",
            "id (x) (name)",
        ),
        (
            "select count(*) from child c join parent p on p.id = c.parent \
             group by c.parent, p.name, c.x",
            "parent (name) x",
        ),
        (
            "select count(*) from child c join parent p on p.id = c.parent \
             where c.x = 3 group by p.id, c.parent, c.x",
            "id (parent) (x)",
        ),
        ("select distinct id, x from child where x = 3", "id (x)"),
        ("select distinct x from child where x = 3", "x"),
    ] {
        assert_eq!(keys(sql), expected, "{sql}");
    }
}

#[test]
fn what_outer_joins_fill_up_follows_from_keys_alone() {
    for (sql, expected) in [
        (
            "select count(*) from child c left join parent p on p.id = c.parent \
             group by c.id, c.x, p.id, p.name",
            "id (x) id (name)",
        ),
        (
            "select count(*) from child c left join (select id, name, 1 as one from parent) p \
             on p.id = c.parent group by c.id, p.id, p.one",
            "id id one",
        ),
        (
            "select count(*) from child c left join (select * from parent where name = 'a') p \
             on p.id = c.parent group by c.x, p.name",
            "x name",
        ),
        (
            "select count(*) from child c full join parent p on p.id = c.parent \
             group by c.id, c.x, p.id, p.name",
            "id (x) id (name)",
        ),
    ] {
        assert_eq!(keys(sql), expected, "{sql}");
    }
}

#[test]
fn expressions_follow_unless_they_may_fail_or_tell_equal_values_apart() {
    for (sql, expected) in [
        ("select count(*) from child group by x, x = 1", "x (?column?)"),
        ("select count(*) from child group by x, 1 / x", "x ?column?"),
        ("select count(*) from child group by x, random() > 0.5", "x ?column?"),
        ("select count(*) from parent group by f, f::text", "f f"),
        ("select count(*) from child group by note, upper(note)", "note (upper)"),
    ] {
        let found = keys(sql);
        let follows =
            |text: &str| text.split(' ').map(|one| one.starts_with('(')).collect::<Vec<_>>();
        assert_eq!(follows(&found), follows(expected), "{sql}: {found}");
    }
}
