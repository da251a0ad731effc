//! Joins of statements and of subqueries, lowered and run, as they are bound and as the optimizer
//! leaves them. What is expected comes from inner joins, or is written out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::collections::BTreeSet;

use nacre_column::ColumnType;
use nacre_exec::lower::lower_query;
use nacre_exec::plan::OperatorDescription;
use nacre_plan::algebra::{
    ColumnId, ColumnSource, JoinVariant, OutputColumn, QueryColumn, QueryPlan, RelationalOperator,
};
use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics, optimize};
use nacre_store::{ColumnDef, OpenOptions, Store, TableSchema, Value};
use nacre_types::{SqlType, ValueSettings};
use support::statements::{TestDatabase, Texts, sorted, table_of, texts};

/// Rows of the tables `few`, `more` and `many`.
const ROWS: [(&str, i64); 3] = [("few", 40), ("more", 300), ("many", 2_000)];

/// Makes tables of the same columns: an id, a key of 30 values and of `few` 34, and a decimal.
fn test_database() -> TestDatabase {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: name != "id",
        replicas: None,
    };
    let store = Store::open(OpenOptions::default()).unwrap();
    let tables = ROWS.map(|(name, rows)| {
        let scale = if name == "many" { 2 } else { 3 };
        let schema = TableSchema {
            name: name.into(),
            columns: vec![
                column("id", ColumnType::BigInt),
                column("k", ColumnType::Integer),
                column("n", ColumnType::Decimal { precision: 10, scale }),
            ],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        let keys = if name == "few" { 34 } else { 30 };
        let value = |id: i64, value: i64| if id % 7 == 3 { Value::Null } else { Value::Int(value) };
        let row = |id: i64| {
            vec![
                Value::Int(id),
                value(id, id * 11 % keys),
                value(id + 1, id * 13 % 50 * 10_i64.pow(scale.into())),
            ]
        };
        let values: Vec<_> = (0..rows).map(row).collect();
        table_of(&store, schema, &values, values.len() * 9 / 10, 1_000)
    });
    TestDatabase::new(store, &tables)
}

/// What the optimizer knows of the tables.
struct TableSizes;

impl RelationStatistics for TableSizes {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        ROWS.get(relation.0 as usize - 7).map(|(_, rows)| *rows as u64)
    }

    fn column(&self, _: RelationId, _: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}

/// Gives the left join of a statement another variant.
fn with_variant(mut plan: QueryPlan, variant: JoinVariant) -> QueryPlan {
    fn change(operator: &mut RelationalOperator, to: JoinVariant) {
        match operator {
            RelationalOperator::Join { variant, .. } if *variant == JoinVariant::Left => {
                *variant = to;
            }
            other => other.inputs_mut().for_each(|input| change(input, to)),
        }
    }
    change(&mut plan.root, variant);
    plan
}

/// As [`with_variant`], to a join that marks; the mark is one more column of the answer.
fn with_mark(mut plan: QueryPlan) -> QueryPlan {
    let (name, sql_type) = ("mark".to_owned(), SqlType::BOOLEAN);
    let source = ColumnSource::Computed;
    let column = QueryColumn { name: name.as_str().into(), sql_type, is_nullable: false, source };
    let column: ColumnId = plan.columns.add(column);
    plan.outputs.push(OutputColumn { name, column, sql_type });
    with_variant(plan, JoinVariant::Mark(column))
}

impl TestDatabase {
    /// Runs a plan as it is, and optimized.
    fn both(&self, plan: &QueryPlan, sql: &str) -> Result<Texts, String> {
        let plain = self.run_plan(plan, sql).map(sorted);
        let optimized = self.run_plan(&optimize(plan.clone(), &TableSizes), sql).map(sorted);
        assert_eq!(plain, optimized, "{sql}");
        plain
    }

    /// Answers what a statement has, optimized.
    fn answer(&self, sql: &str) -> Result<Texts, String> {
        self.run_plan(&optimize(self.bind(sql), &TableSizes), sql).map(sorted)
    }

    fn refusal(&self, sql: &str) -> String {
        let error = self.answer(sql).expect_err(sql);
        error.strip_prefix("not supported: ").expect(sql).to_owned()
    }

    fn description(&self, plan: &QueryPlan) -> OperatorDescription {
        lower_query(plan, self, &ValueSettings::default()).unwrap().plan.root.describe()
    }
}

fn names(description: &OperatorDescription, into: &mut Vec<String>) {
    into.push(description.name.to_owned());
    description.inputs.iter().for_each(|input| names(input, into));
}

/// Conditions between `a` on the left side and `b` on the right one.
const CONDITIONS: [&str; 19] = [
    "a.k = b.k",
    "a.id = b.id",
    "a.n = b.n",
    "a.k = b.k and a.n < b.n",
    "a.k = b.k and a.n > 20",
    "a.k = b.k and b.n > 20",
    "a.k = b.k and a.n is null",
    "a.k is null",
    "a.k is null or b.k is null or a.k = b.k",
    "a.n < b.n and a.id % 5 = b.id % 7",
    "b.id = 7",
    "b.id < 0",
    "true",
    "false",
    "null",
    "a.k = b.k and 1 = 0",
    "a.k = b.k and 2 > 1",
    "a.id = b.id + 5",
    "a.k is not distinct from b.k and a.n < b.n",
];

#[test]
fn subqueries_have_the_rows_that_inner_joins_say() {
    let database = test_database();
    let sides = [("few", "more"), ("more", "few"), ("few", "many"), ("many", "few")];
    for (left, right) in sides {
        let all = database.rows(&format!("select id from {left}"));
        for condition in CONDITIONS {
            let sql = format!("select a.id from {left} a left join {right} b on {condition}");
            let inner = sql.replace("left join", "join");
            let pairs = database.both(&database.bind(&inner), &inner).unwrap();
            let partnered: BTreeSet<_> = pairs.iter().collect();
            let has_partner = |row: &&Vec<String>| partnered.contains(row);
            let run = |plan: QueryPlan| database.both(&plan, &sql);
            let bound = || database.bind(&sql);
            let found = run(with_variant(bound(), JoinVariant::Semi)).unwrap();
            let wanted: Texts = all.iter().filter(has_partner).cloned().collect();
            assert_eq!(found, wanted, "semi: {sql}");
            let found = run(with_variant(bound(), JoinVariant::Anti)).unwrap();
            let wanted: Texts = all.iter().filter(|row| !has_partner(row)).cloned().collect();
            assert_eq!(found, wanted, "anti: {sql}");
            // In PostgreSQL a value is computed for each row, and keys perhaps for fewer.
            let is_subquery = !condition.contains(['+', '%']);
            let mark = |row: &Vec<String>| {
                let mark = if has_partner(&row) { "t" } else { "f" };
                vec![row[0].clone(), mark.to_owned()]
            };
            let found = run(with_mark(bound()));
            let wanted: Texts = all.iter().map(mark).collect();
            assert_eq!(found, Ok(wanted), "mark: {sql}");
            // As a left join if no row has two partners.
            let sql = sql.replacen("a.id", "a.id, b.id", 1);
            let found =
                database.both(&with_variant(database.bind(&sql), JoinVariant::Single), &sql);
            let wanted = match partnered.len() == pairs.len() {
                _ if !is_subquery => continue,
                true => database.both(&database.bind(&sql), &sql),
                false => {
                    Err("more than one row returned by a subquery used as an expression".into())
                }
            };
            assert_eq!(found, wanted, "single: {sql}");
        }
    }
}

#[test]
fn nulls_are_equal_keys_where_values_are_not_distinct() {
    let database = test_database();
    for (left, right) in [("few", "more"), ("many", "few"), ("more", "more")] {
        for column in ["k", "n", "id"] {
            let on = format!("a.{column} is not distinct from b.{column}");
            let sql = format!("select a.id, b.id from {left} a join {right} b on {on}");
            let plain = format!(
                "select a.id, b.id from {left} a, {right} b where a.{column} = b.{column} \
                 or a.{column} is null and b.{column} is null"
            );
            let found = database.both(&database.bind(&sql), &sql);
            assert_eq!(found, database.both(&database.bind(&plain), &plain), "{sql}");
            let description = format!("{:?}", database.description(&database.bind(&sql)));
            assert!(!description.contains("conditions"), "{sql}: {description}");
        }
    }
}

#[test]
fn smaller_side_is_built_and_conditions_without_columns_are_decided() {
    let database = test_database();
    let kinds = |sql: &str, variant| {
        let mut all = Vec::new();
        names(&database.description(&with_variant(database.bind(sql), variant)), &mut all);
        all.retain(|name| name != "Map");
        all.join(", ")
    };
    let (semi, anti) = (JoinVariant::Semi, JoinVariant::Anti);
    let sql = "select a.id from few a left join many b on a.k = b.k";
    assert_eq!(kinds(sql, semi), "Right semi join, Scan, Scan");
    assert_eq!(kinds(sql, anti), "Right anti join, Scan, Scan");
    let sql = "select a.id from many a left join few b on a.k = b.k";
    assert_eq!(kinds(sql, semi), "Semi join, Scan, Scan");
    assert_eq!(kinds(sql, anti), "Anti join, Scan, Scan");
    // A condition makes the left side smaller.
    let sql =
        "select a.id from (select * from many where id < 500) a left join many b on a.k = b.k";
    assert_eq!(kinds(sql, semi), "Right semi join, Scan, Scan");
    let sql = "select a.id from many a left join many b on a.k = b.k";
    assert_eq!(kinds(sql, semi), "Semi join, Scan, Scan");
    // Without keys and conditions on pairs, one row of the right side tells all.
    let sql = "select a.id from few a left join many b on true";
    assert_eq!(kinds(sql, semi), "Semi join, Scan, Limit, Scan");
    let sql = "select a.id from few a left join many b on a.k is null";
    assert_eq!(kinds(sql, anti), "Anti join, Scan, Limit, Scan");
    let sql = "select a.id from few a left join many b on false";
    assert_eq!(kinds(sql, semi), "Empty");
    assert_eq!(kinds(sql, anti), "Anti join, Scan, Empty");
    assert_eq!(kinds(sql, JoinVariant::Single), "Single join, Scan, Empty");
    assert_eq!(kinds(sql, JoinVariant::Right), "Right join, Empty, Scan");
    assert_eq!(kinds(sql, JoinVariant::Full), "Full join, Scan, Scan");
    assert_eq!(kinds(sql, JoinVariant::Inner), "Empty");
    let sql = "select count(*) from few a, many b where 1 = 0 and a.k < b.k";
    assert_eq!(kinds(sql, JoinVariant::Left), "Aggregate, Empty");
}

#[test]
fn outer_joins_on_false_have_all_rows_without_partners() {
    let database = test_database();
    for (join, rows) in [("left", 40), ("right", 300), ("full", 340)] {
        for condition in ["false", "null", "1 = 0 and a.k = b.k"] {
            let sql = format!(
                "select count(*), count(a.id), count(b.id) from few a {join} join more b \
                 on {condition}"
            );
            let (left, right) =
                (if join == "right" { 0 } else { 40 }, if join == "left" { 0 } else { 300 });
            let wanted = [rows, left, right].map(|count: i32| count.to_string());
            assert_eq!(
                database.both(&database.bind(&sql), &sql),
                Ok(vec![wanted.to_vec()]),
                "{sql}"
            );
        }
    }
}

#[test]
fn nothing_below_a_false_condition_or_limit_0_fails() {
    let database = test_database();
    for sql in [
        "select a.id from few a, many b where false and 10 / a.id > b.k",
        "select a.id from few a, many b where 10 / a.id > b.k and null",
        "select 10 / a.id from few a, many b where 1 > 2",
        "select 10 / a.id from few a join many b on 10 / a.id > b.k and 1 > 2",
        "select * from (select * from few where 10 / id > 1 and 'a' = 'b') a, many b",
        "select * from few a, (select 10 / id as x from many where 1 is null) b where a.id > b.x",
        "select a.id, 10 / a.id from few a, many b limit 0",
        "select 10 / a.id, count(*) from few a, many b where false group by 1 having count(*) > 0",
        "select 10 / a.id from few a, many b where a.k = b.k and 1 in (2, 3) order by 1",
    ] {
        assert_eq!(database.answer(sql), Ok(Vec::new()), "{sql}");
    }
    let sql = "select count(*), max(10 / a.id) from few a, many b where 1 = 0";
    assert_eq!(database.answer(sql), Ok(texts(&[&["0", "-"]])));
    let sql =
        "select count(*) from few a left join (select * from many where 10 / id > 1) b on false";
    assert_eq!(database.answer(sql), Ok(texts(&[&["40"]])));
    let sql = "select count(*) from few a, many b where 2 > 1";
    assert_eq!(database.answer(sql), Ok(texts(&[&["80000"]])));
    // Constants that fail do so before the first row.
    for sql in [
        "select 1 / 0 from few a, many b where false",
        "select 1 from few a, many b where 1 / 0 = 1",
    ] {
        let error = database.answer(sql).expect_err(sql);
        assert!(error.contains("division by zero"), "{sql}: {error}");
    }
}

#[test]
fn keys_that_may_fail_are_computed_for_rows_that_postgresql_computes_them_for() {
    let database = test_database();
    let count = |sql: &str| database.both(&database.bind(sql), sql);
    let one = |count: i64| Ok(vec![vec![count.to_string()]]);
    let sum = "a.id = b.id + 5";
    assert_eq!(count(&format!("select count(*) from few a, more b where {sum}")), one(35));
    assert_eq!(count(&format!("select count(*) from more a join few b on {sum}")), one(40));
    assert_eq!(count(&format!("select count(*) from more a left join few b on {sum}")), one(300));
    assert_eq!(count(&format!("select count(*) from more a right join few b on {sum}")), one(40));
    assert_eq!(count(&format!("select count(*) from few a full join more b on {sum}")), one(305));
    let sql = format!("select count(*) from few a, more b, many c where {sum} and c.id = b.id");
    assert_eq!(database.answer(&sql), one(35));
    // Both sides, more than one, and conditions on pairs beside them.
    let sql = "select count(*) from few a, more b where a.id * 2 = b.id + 5 and a.id - b.id < 0";
    assert_eq!(database.answer(sql), one(34));
    let sql = "select count(*) from few a join more b on a.id = b.id and a.id + 1 = b.id + 1";
    assert_eq!(count(sql), one(40));
    // On a row of either side, with or without a partner.
    let fails = Err("bigint out of range".to_owned());
    for join in ["join", "left join", "right join", "full join"] {
        let sql = format!(
            "select count(*) from few a {join} more b on a.id = b.id + 9223372036854775600"
        );
        assert_eq!(count(&sql), fails, "{sql}");
    }
    // Not where a key before it is null, and not for rows that a condition leaves out.
    let sql = "select count(*) from few a join more b \
               on a.k = b.k and a.id = 10 / (case when b.k is null then 0 else 1 end) + b.id";
    assert!(count(sql).is_ok(), "{sql}");
    let sql = "select count(*) from few a, (select * from more where id < 100) b \
               where a.id = b.id + 9223372036854775600";
    assert_eq!(database.answer(sql), one(0));
}

#[test]
fn keys_and_columns_that_postgresql_may_compute_for_fewer_rows_are_refused() {
    let database = test_database();
    for sql in [
        // A LIMIT computes fewer rows.
        "select 1 from few a, more b where a.id = b.id + 1 limit 1",
        // PostgreSQL has the condition decided within the query of groups.
        "select b.x from few a, (select k, 10 / count(*) as x from more group by k) b \
         where a.k = b.k and 10 / b.k > 1",
    ] {
        let error = database.refusal(sql);
        assert!(error.contains("may fail"), "{sql}: {error}");
    }
    // Equalities that are no keys are evaluated for pairs of rows.
    for (from, [left, right]) in [
        ("few a, more b, many c where", ["a.id", "b.id + c.id"]),
        ("few a, more b where", ["a.id + b.id", "b.k + 1"]),
        ("few a left join more b on a.k = b.k where", ["a.id", "coalesce(b.id, a.id - 1) + 1"]),
    ] {
        let answer =
            |condition: String| database.rows(&format!("select count(*) from {from} {condition}"));
        let found = answer(format!("{left} = {right}"));
        assert_eq!(found, answer(format!("{left} <= {right} and {left} >= {right}")), "{from}");
        assert_ne!(found, [["0"]], "{from}");
    }
    // PostgreSQL merges a query in FROM into the outer one.
    assert_eq!(
        database.answer("select 1 from few a, (select 10 / id as x from more) b where a.id = b.x"),
        database.answer("select 1 from few a, more b where a.id = 10 / b.id"),
    );
    // What is grouped is computed for all groups, whatever rows they are joined with.
    let sql = "select count(*) from many a \
               join (select k, 1000 / count(*) as x from more group by k) b \
               on a.k = b.k where a.id > b.x";
    let groups = database.rows("select k, 1000 / count(*) from more where k > -1 group by k");
    let rows = database.rows("select k, id from many where k > -1");
    let number = |text: &String| text.parse::<i64>().unwrap();
    let has_pair = |row: &&Vec<String>| {
        groups.iter().any(|group| group[0] == row[0] && number(&row[1]) > number(&group[1]))
    };
    let count = rows.iter().filter(has_pair).count().to_string();
    assert_eq!(database.answer(sql), Ok(vec![vec![count]]));
}

/// Keys are computed for rows that conditions on one side leave, which may fail, too.
#[test]
fn conditions_on_one_side_are_decided_before_keys_that_may_fail() {
    let database = test_database();
    let key = "a.id = 10 / (b.id - 7)";
    for from in ["few a, more b where", "few a left join more b on"] {
        let sql = format!("select a.id, b.id from {from} {key} and abs(b.id - 7) > 0");
        let plain = format!("select a.id, b.id from {from} b.id <> 7 and {key}");
        let found = database.answer(&sql).unwrap();
        assert_eq!(Ok(found), database.answer(&plain), "{sql}");
    }
    for (sql, error) in [
        (format!("select 1 from few a, more b where {key}"), "division by zero"),
        (format!("select 1 from few a, more b where {key} and 9 / (b.id - 8) < 99"), "division"),
        // Rows of a side that is kept have their keys computed all the same.
        (format!("select 1 from few a right join more b on {key} and abs(b.id - 7) > 0"), "div"),
    ] {
        let found = database.answer(&sql).expect_err(&sql);
        assert!(found.starts_with(error), "{sql}: {found}");
    }
}

#[test]
fn one_row_of_an_aggregate_needs_no_check_and_others_no_limit() {
    let database = test_database();
    let single = |sql: &str| with_variant(database.bind(sql), JoinVariant::Single);
    let sql = "select a.id, b.m from few a left join (select max(k) as m from more) b on true \
               limit 3";
    assert_eq!(database.run_plan(&single(sql), sql).unwrap().len(), 3);
    let sql = "select a.id, b.id from few a left join more b on a.id = b.id limit 3";
    let error = database.run_plan(&single(sql), sql).unwrap_err();
    assert_eq!(error, "not supported: LIMIT over expressions that may fail");
    // Where nothing tells rows apart PostgreSQL stops at the first one.
    let semi = |condition: &str| {
        let query = format!("select * from more where {condition}");
        let sql = format!("select a.id from few a left join ({query}) b on true");
        let plan = with_variant(database.bind(&sql), JoinVariant::Semi);
        database.run_plan(&plan, &sql).map(|rows| rows.len())
    };
    assert_eq!(semi("10 / (3 - id) > 1"), Ok(ROWS[0].1 as usize));
    assert_eq!(semi("10 / id > 1"), Err("division by zero".to_owned()));
}

#[test]
fn only_column_of_a_subquery_is_a_key_that_may_fail() {
    let database = test_database();
    let run = |sql: &str, variant| {
        let plan = with_variant(database.bind(sql), variant);
        database.both(&plan, sql).map(|rows| rows[0][0].clone())
    };
    let sql = "select count(*) from more a left join (select id + 5 as x from few) b on a.id = b.x";
    assert_eq!(run(sql, JoinVariant::Semi).as_deref(), Ok("40"));
    assert_eq!(run(sql, JoinVariant::Anti).as_deref(), Ok("260"));
    let failing = sql.replace("id + 5", "10 / id");
    for variant in [JoinVariant::Semi, JoinVariant::Anti] {
        assert_eq!(run(&failing, variant), Err("division by zero".to_owned()));
    }
    // Of a side that is filled up with nulls it is computed for all rows.
    assert_eq!(run(sql, JoinVariant::Left).as_deref(), Ok("300"));
    assert_eq!(run(&failing, JoinVariant::Left), Err("division by zero".to_owned()));
    // As a value it is computed where it is wanted, and a second condition may come first.
    for (sql, variant) in [
        (sql.to_owned(), JoinVariant::Single),
        (format!("{sql} and a.k > b.x"), JoinVariant::Semi),
        (sql.replace("a.id =", "a.id <"), JoinVariant::Semi),
    ] {
        let error = run(&sql, variant).expect_err(&sql);
        assert!(error.starts_with("not supported: columns of queries in FROM"), "{error}");
    }
}

/// Puts a condition of a join into a filter on its right side, where it depends on the left one.
fn made_dependent(operator: &mut RelationalOperator) {
    match operator {
        RelationalOperator::Join { right, condition, .. } => {
            let condition = condition.take().unwrap();
            let input = Box::new(std::mem::replace(&mut **right, RelationalOperator::SingleRow));
            **right = RelationalOperator::Filter { input, condition };
        }
        other => other.inputs_mut().for_each(made_dependent),
    }
}

#[test]
fn joins_whose_right_side_depends_on_the_left_one_are_refused() {
    let database = test_database();
    let sql = "select a.id from few a left join more b on a.k = b.k";
    for variant in [JoinVariant::Inner, JoinVariant::Semi, JoinVariant::Single] {
        let mut plan = with_variant(database.bind(sql), variant);
        made_dependent(&mut plan.root);
        let error = database.run_plan(&plan, sql).unwrap_err();
        assert_eq!(error, "not supported: this correlated subquery", "{variant:?}");
    }
}

#[test]
fn rows_are_compared_with_rows_of_queries() {
    let (database, _) = TestDatabase::of_rows(20, 10, 5);
    let count = |condition: &str| {
        database.run_optimized(&format!("select count(*) from t where {condition}"))
    };
    let counts = |rows: &str| Ok(vec![vec![rows.to_owned()]]);
    assert_eq!(count("(id, 1) = (select 7, 1)"), counts("1"));
    assert_eq!(count("(id, 1) <> (select 7, 1)"), counts("19"));
    assert_eq!(count("(id, 1) = (select 7, 1 where false)"), counts("0"));
    assert_eq!(count("(id, 0) = (select max(u.id), 0 from t u where u.id <= t.id)"), counts("20"));
    let several = "select (id, 1) = (select u.id, u.a from t u) from t";
    let several = database.run_optimized(several).unwrap_err();
    assert_eq!(several, "more than one row returned by a subquery used as an expression");
    assert_eq!(count("(id, 1) = (select 1)").unwrap_err(), "subquery has too few columns");
    assert_eq!(count("(id, 1) = (select 1, 2, 3)").unwrap_err(), "subquery has too many columns");
}
