//! Queries of Nacre's own engine beside the same ones of DataFusion.

use datafusion::arrow::datatypes::SchemaRef;
use nacre_sql::PgType;

use crate::support::{Answer, Connection};

/// A table with every type of column, rows that are frozen and rows that are not, and nulls.
fn filled() -> Connection {
    let connection = Connection::open(None);
    connection.ok(
        "create table t (id int primary key, small smallint, big bigint, money numeric(12,2), \
         single real, wide double precision, day date, moment timestamp, zoned timestamptz, \
         name text, code char(4), word varchar(8), flag boolean, raw bytea)",
    );
    let row = "select n, case when n % 7 <> 0 then n % 50 end, n::bigint * 1000000007, \
               (n % 997) * 1.25, n * 0.5, n / 3.0, date '2024-01-01' + n % 90, \
               timestamp '2024-01-01 10:00:00' + n % 48 * interval '1 hour', \
               timestamptz '2024-01-01 10:00:00+00' + n % 24 * interval '1 hour', \
               case when n % 11 <> 0 then 'name' || n % 13 end, 'c' || n % 5, 'w' || n % 3, \
               n % 2 = 0, null from generate_series";
    connection.ok(&format!("insert into t {row}(1, 5000) g(n)"));
    connection.ok("checkpoint");
    connection.ok(&format!("insert into t {row}(5001, 5100) g(n)"));
    connection
}

fn choose(connection: &Connection, engine: &str) {
    connection.ok(&format!("set nacre.engine = {engine}"));
}

/// Queries that Nacre's engine has all of, and whose answers are the same in both.
const QUERIES: [&str; 40] = [
    "select count(*) from t",
    "select count(name), count(small), count(distinct small) from t where big > 1000000007000",
    "select min(id), max(id), min(day), max(moment), min(name), max(word) from t",
    "select sum(id), sum(money) from t where flag",
    "select code, count(*) from t group by code order by code",
    "select small, flag, sum(money) from t group by small, flag order by 1 nulls first, 2",
    "select id, big, money from t where id between 4990 and 5010 order by id desc",
    "select id + 1, -small, money * 2 from t where id < 20 order by id",
    "select id from t where name is null and day >= date '2024-02-01' order by id limit 5 offset 3",
    "select id from t where name like 'name1%' and not flag order by id limit 20",
    "select id, code, word, name from t where id in (1, 5, 5001, 5100, 9999) order by id",
    "select distinct word from t order by word desc",
    "select case when flag then 'even' else 'odd' end, count(*) from t group by 1 order by 1",
    "select day, moment, zoned from t where id > 5090 order by id",
    "select single, wide from t where id <= 3 order by id",
    "select coalesce(small, -1), nullif(id, 3) from t where id < 8 order by id",
    "select sum(money) filter (where flag), count(*) filter (where small > 10) from t",
    "select count(*) from t where money > 100.5 and money < 1000 and small <> 3",
    "select count(*) from t where flag or name = 'name1'",
    "select id from t where raw is null and id < 4 order by id",
    "select count(*) from t having count(*) > 100",
    "select id % 10, sum(big) from t where id <= 100 group by id % 10 order by 1",
    "select count(*), sum(a.money) from t a, t b where a.id = b.small and b.flag",
    "select a.id, b.id from t a join t b on a.id = b.small where b.id < 60 order by 2, 1",
    "select a.id, b.name from t a left join t b on a.small = b.id and b.flag where a.id < 9 \
     order by 1",
    "select a.id, b.id from t a full join t b on a.id = b.small \
     where a.id < 5 or a.id > 5095 or a.id is null and b.id < 50 order by 1, 2",
    "select count(*) from t a cross join t b where a.id < 20 and b.id > 5090 and a.small < b.small",
    "select x.word, count(*) from (select word, id from t where flag) x join t on t.small = x.id \
     group by x.word order by 1",
    "with w as (select small, max(id) as last from t group by small) \
     select w.small, t.name from w join t on t.id = w.last order by 1 nulls first limit 20",
    "select count(*) from t a join t b using (id) join t c on c.name = b.name and c.id < 30",
    "select count(*) from t a join t b on a.id = b.id + 1",
    "select count(*) from t a, t b where a.id = b.id + 1 and a.small < 20",
    "select count(*) from t a left join t b on a.id = b.id - 5 and b.flag",
    "select count(*), count(b.id) from t a left join t b on false",
    "select count(*), max(10 / a.small) from t a join t b on a.id = b.small where 1 = 0",
    "select distinct on (small) small, id from t where id < 200 order by small, id desc",
    "select distinct on (word, flag) id from t order by word, flag desc, id limit 3",
    "select id from t where id = any (array[3, 5100, 9999]) order by id",
    "select count(*) from t where name <> all (array['name1', 'name2']) and id < 500",
    "select id from t where small is not null order by id fetch first row only",
];

/// Queries of views, and views that they read.
const VIEW_QUERIES: [&str; 8] = [
    "select * from everything where id < 5 order by id",
    "select count(*), sum(total) from totals",
    "select v.word, v.total from totals v where v.total > 100 order by 1",
    "select w.a from totals as w (a, b) order by w.a desc",
    "select public.totals.word from public.totals order by 1",
    "select e.id, x.total from everything e join totals x using (word) where e.id < 4 order by 1",
    "with t as (select 'hidden' as word) select max(top.total), min(t.word) from top, t",
    "select id from everything e where exists (select from top where top.word = e.word) \
     order by id limit 5",
];

/// Queries with parameters, and texts of their values.
const PARAMETER_QUERIES: [(&str, &[Option<&str>]); 14] = [
    ("select id, name from t where id > $1 and id < $2 order by id", &[Some("4998"), Some("5003")]),
    ("select count(*), sum(money) from t where money > $1", &[Some("100.505")]),
    ("select count(*) from t where name = $1 or word = $2", &[Some("name1"), Some("w2")]),
    ("select count(*) from t where name = $1", &[None]),
    ("select id from t order by id limit $1 offset $2", &[Some("3"), Some("5010")]),
    ("select id from t where id > 5090 order by id desc limit $1", &[None]),
    (
        "select id + $1, $2 from t where day = $3 order by 1",
        &[Some("1"), Some("x"), Some("2024-01-05")],
    ),
    (
        "select count(*) from t where moment < $1 and zoned >= $2",
        &[Some("2024-01-02 10:00:00"), Some("2024-01-01 20:00:00+00")],
    ),
    ("select small, count(*) from t group by small having count(*) > $1 order by 1", &[Some("86")]),
    ("select count(*) from t where id = any ($1)", &[Some("{1,5,5100,77777}")]),
    ("select count(*) from t where id <> all ($1)", &[Some("{}")]),
    (
        "select case when flag then $1 else 'odd' end, count(*) from t group by 1 order by 1",
        &[Some("even")],
    ),
    ("select count(*) from everything where id between $1 and $2", &[Some("10"), Some("12")]),
    ("select count(*) from t a join t b on a.id = b.small and b.id < $1", &[Some("300")]),
];

/// A connection to [`filled`] tables and views of them.
fn with_views() -> Connection {
    let connection = filled();
    connection.ok("create view everything as select * from t where id > 0");
    connection.ok("create view totals as select word, sum(id) as total from t group by word");
    connection.ok("create view top (word, total) as select * from totals where total > 4000000");
    connection
}

#[test]
fn both_engines_answer_the_same() {
    let connection = filled();
    for sql in QUERIES {
        choose(&connection, "datafusion");
        let expected = connection.rows(sql);
        choose(&connection, "nacre");
        let before = connection.database.engine_counts();
        // Behind a comment no statement is a short one.
        assert_eq!(connection.rows(&format!("/* general */ {sql}")), expected, "{sql}");
        let after = connection.database.engine_counts();
        assert_eq!((after.nacre, after.datafusion), (before.nacre + 1, before.datafusion), "{sql}");
        assert!(!expected.is_empty(), "{sql}");
    }
}

#[test]
fn views_are_read_by_both_engines() {
    let connection = with_views();
    // A view has the columns of its creation.
    connection.ok("alter table t add column late int");
    for sql in VIEW_QUERIES {
        choose(&connection, "datafusion");
        let expected = connection.rows(sql);
        choose(&connection, "nacre");
        let before = connection.database.engine_counts();
        assert_eq!(connection.rows(sql), expected, "{sql}");
        assert_eq!(connection.database.engine_counts().nacre, before.nacre + 1, "{sql}");
        assert!(!expected.is_empty(), "{sql}");
    }
    assert_eq!(connection.error("select late from everything").sqlstate(), "42703");
}

#[test]
fn views_read_with_the_rights_of_their_owner() {
    let connection = with_views();
    choose(&connection, "nacre");
    connection.ok("create role ann");
    connection.ok("grant select on top to ann");
    connection.ok("set role ann");
    let sql = "/* general */ select count(*) from top where total > 0";
    assert_eq!(connection.rows(sql).len(), 1);
    for sql in ["select count(*) from totals where total > 0", "select sum(id) from t"] {
        assert_eq!(connection.error(sql).sqlstate(), "42501", "{sql}");
    }
    // What the view reads is checked for its owner.
    connection.ok("reset role");
    connection.ok("alter view top owner to ann");
    connection.ok("set role ann");
    assert_eq!(connection.error(sql).sqlstate(), "42501");
}

#[test]
fn parameters_run_in_both_engines() {
    let connection = with_views();
    let session = connection.session();
    for (sql, texts) in PARAMETER_QUERIES {
        let run = |engine: &str| {
            choose(&connection, engine);
            connection.runtime().block_on(async {
                // Behind a comment no statement is a short one.
                let sql = &format!("/* general */ {sql}");
                let statement = session.prepare_and_plan(sql, &[]).await.unwrap();
                let described = statement.columns(session).await.unwrap().unwrap();
                let values = texts.iter().enumerate();
                let values = values.map(|(index, text)| statement.parse_parameter(index, *text));
                let values: Vec<_> = values.collect::<Result<_, _>>().unwrap();
                let outcome = statement.execute(session, &values).await.unwrap();
                let nacre_sql::Outcome::Rows { schema, .. } = &outcome else { panic!("{sql}") };
                let of = |schema: &SchemaRef| -> Vec<_> {
                    schema.fields().iter().map(|field| PgType::of_field(field).1).collect()
                };
                assert_eq!(of(schema), of(&described), "{sql}");
                outcome
            })
        };
        let expected = connection.read(run("datafusion"));
        let before = connection.database.engine_counts();
        assert_eq!(connection.read(run("nacre")), expected, "{sql}");
        assert_eq!(connection.database.engine_counts().nacre, before.nacre + 1, "{sql}");
    }
}

#[test]
fn executed_statements_have_types_that_do_not_depend_on_values() {
    let connection = with_views();
    choose(&connection, "nacre");
    connection.ok("prepare p as select id, money from t where id < $1 and money > $2 order by id");
    assert_eq!(connection.rows("execute p(4, 2)"), ["2|2.50", "3|3.75"]);
    assert_eq!(connection.rows("execute p(4, 3.5)"), ["3|3.75"]);
    assert!(connection.rows("execute p(null, 1)").is_empty());
    // Constants of an execution let the scan skip blocks.
    connection.ok("prepare q as select count(*) from t where big < $1");
    let plan = connection.rows("explain analyze select count(*) from t where big < 5").join("\n");
    assert!(plan.contains("Engine: nacre"), "{plan}");
    assert_eq!(connection.rows("execute q(5)"), ["0"]);
    // A table that changed in between is bound anew.
    connection.ok("alter table t add column late int");
    assert_eq!(connection.rows("execute p(3, 2)"), ["2|2.50"]);
    let failed = connection.error("execute p('x', 1)");
    assert_eq!(failed.sqlstate(), "22P02");
}

#[test]
fn ties_come_with_the_last_row() {
    let connection = filled();
    choose(&connection, "nacre");
    let sql = "select word from t where id <= 7 order by 1 fetch first row with ties";
    assert_eq!(connection.rows(sql), ["w0", "w0"]);
    let sql = "select word from t where id <= 7 order by 1 offset 1 rows \
               fetch next 2 rows with ties";
    assert_eq!(connection.rows(sql), ["w0", "w1", "w1", "w1"]);
}

#[test]
fn bounds_of_symmetric_between_have_any_order() {
    let connection = filled();
    choose(&connection, "nacre");
    let sql = "select id from t where id between symmetric 6 and 4 order by id";
    assert_eq!(connection.rows(sql), ["4", "5", "6"]);
    let sql = "select id from t where id not between symmetric 5098 and 2 order by id";
    assert_eq!(connection.rows(sql), ["1", "5099", "5100"]);
}

#[test]
fn quotients_and_sums_have_the_digits_of_postgresql() {
    let connection = filled();
    let answer = "select avg(id), sum(big), avg(money) from t where id <= 3";
    assert_eq!(connection.rows(answer), ["2.0000000000000000|6000000042|2.5000000000000000"]);
}

#[test]
fn setting_says_which_engine_runs_a_query() {
    let connection = filled();
    let (own, other) = ("select sum(id) from t", "select acosh(2)");
    let engine = |sql: &str| {
        let plan = connection.rows(&format!("explain {sql}"));
        plan.iter().find_map(|line| line.strip_prefix("Engine: ").map(str::to_owned)).unwrap()
    };
    assert_eq!((engine(own), engine(other)), ("nacre".to_owned(), "datafusion".to_owned()));
    choose(&connection, "datafusion");
    assert_eq!(engine(own), "datafusion");
    choose(&connection, "nacre");
    assert_eq!(engine(own), "nacre");
    let error = connection.error(other);
    assert_eq!(error.sqlstate(), "0A000");
    assert!(error.message().starts_with("not supported: "), "{error}");
    assert_eq!(connection.error("set nacre.engine = duckdb").sqlstate(), "22023");
    let missing = connection.error("select nothing from t");
    assert_eq!(missing.sqlstate(), "42703");
    assert_eq!(missing.position().map(|place| place.column), Some(8));
}

/// PostgreSQL merges queries in FROM, so that conditions keep rows from what would fail there.
#[test]
fn what_conditions_keep_from_failing_is_answered_by_either_engine() {
    let connection = filled();
    let guarded = "(select id, small, 10 / small as q from t) s";
    let queries = [
        format!("select q from {guarded} where small <> 0"),
        format!("select case when small <> 0 then q end from {guarded}"),
        format!("select s.q from {guarded} join t on t.id = s.id and t.small <> 0"),
        format!("with s as (select * from {guarded}) select q from s where small <> 0"),
    ];
    for sql in queries {
        let mut answers = ["auto", "datafusion"].map(|engine| {
            choose(&connection, engine);
            connection.rows(&sql)
        });
        answers.iter_mut().for_each(|rows| rows.sort());
        assert!(!answers[0].is_empty() && answers[0] == answers[1], "{sql}");
    }
    choose(&connection, "auto");
    for fine in [
        "select q + 1 from (select 10 / small as q from t where small <> 0) s limit 3",
        "select a.id from t a join t b on a.id = b.id + 1 limit 3",
    ] {
        assert_eq!(connection.rows(fine).len(), 3);
    }
}

#[test]
fn joins_of_which_no_row_is_wanted_read_nothing() {
    let connection = filled();
    for sql in [
        "select 10 / (a.id - a.id) from t a join t b on a.id = b.small where 1 = 0",
        "select 10 / (a.id - a.id) from t a join t b on a.id = b.small limit 0",
    ] {
        let plan = connection.rows(&format!("explain {sql}"));
        assert!(plan.iter().any(|line| line == "Engine: nacre"), "{sql}: {plan:?}");
        assert!(
            plan[0].starts_with("Empty  ") && plan.iter().all(|line| !line.contains("Scan")),
            "{plan:?}"
        );
        assert!(connection.rows(&format!("/* general */ {sql}")).is_empty(), "{sql}");
    }
}

#[test]
fn order_of_from_does_not_change_a_plan() {
    let connection = filled();
    let plan = |sql: &str| connection.rows(&format!("explain {sql}"));
    let by_id = "where a.id = b.small and b.id = c.id and c.day < date '2024-01-03'";
    let first = plan(&format!("select count(*) from t a, t b, t c {by_id}"));
    assert_eq!(plan(&format!("select count(*) from t c, t b, t a {by_id}")), first);
    // The restricted relation is joined first, as the build side.
    let text = first.join("\n");
    assert!(text.contains("Join") && text.contains("keys: id = "), "{text}");
}

#[test]
fn explain_says_what_runs_and_what_it_counted() {
    let connection = filled();
    let sql = "select code, count(*) from t where day < date '2024-02-01' group by code \
               order by 2 limit 2";
    let plan = connection.rows(&format!("explain {sql}")).join("\n");
    for part in ["Top-k", "Aggregate", "Scan on t", "restrictions: day <", "Engine: nacre"] {
        assert!(plan.contains(part), "{part} is missing: {plan}");
    }
    let counted = connection.rows(&format!("explain analyze {sql}")).join("\n");
    for part in [
        "(rows=2) (actual time=",
        "ms rows=2 loops=1)",
        "  Memory: ",
        "Pipeline 1",
        "rows read: ",
        "blocks of replica",
        "Planning: parse ",
        "Execution Time: ",
    ] {
        assert!(counted.contains(part), "{part} is missing: {counted}");
    }
    let options = "analyze, costs off, timing off, summary off";
    let bare = connection.rows(&format!("explain ({options}) {sql}")).join("\n");
    for part in ["  (rows=", "time=", "Pipeline", " ms", "Planning", "Execution"] {
        assert!(!bare.contains(part), "{part} is there: {bare}");
    }
    assert!(bare.contains(" (actual rows=2 loops=1)"), "{bare}");
    let json = connection.rows(&format!("explain (analyze, format json) {sql}")).join("\n");
    for part in ["\"Engine\": \"nacre\"", "\"Node Type\": \"Seq Scan\"", "\"Execution Time\""] {
        assert!(json.contains(part), "{part} is missing: {json}");
    }
}

#[test]
fn explain_answers_with_the_documents_of_postgresql() {
    let connection = filled();
    choose(&connection, "nacre");
    connection.ok("create table letters (id int, note text)");
    connection.ok("insert into letters values (1, 'a'), (2, 'b'), (9, 'c')");
    let sql = "select id from letters where id < 3 and note <> '<&'";
    let explained = |options: &str| connection.rows(&format!("explain ({options}) {sql}"));
    let yaml =
        "- Plan: \n    Node Type: \"Seq Scan\"\n    Relation Name: \"letters\"\n    Detail: ";
    let found = explained("format yaml, costs off").join("\n");
    assert!(found.starts_with(yaml), "{found}");
    assert!(found.ends_with("\n  Engine: \"nacre\""), "{found}");
    let xml = [
        "<explain xmlns=\"http://www.postgresql.org/2009/explain\">",
        "  <Query>",
        "    <Plan>",
        "      <Node-Type>Seq Scan</Node-Type>",
        "      <Relation-Name>letters</Relation-Name>",
        "      <Actual-Rows>2</Actual-Rows>",
        "      <Actual-Loops>1</Actual-Loops>",
        "      <Chunks>1</Chunks>\n",
    ];
    let xml = xml.join("\n");
    let found = explained("format xml, costs off, analyze, timing off, summary off").join("\n");
    assert!(found.starts_with(&xml), "{found}");
    assert!(found.contains("&lt;&amp;"), "{found}");
    assert!(found.ends_with("    <Engine>nacre</Engine>\n  </Query>\n</explain>"), "{found}");
    // XML is a type, YAML a text.
    for (format, oid) in [("xml", 142), ("yaml", 25), ("json", 114)] {
        let session = connection.session();
        let outcome = connection
            .runtime()
            .block_on(session.execute(
                &format!("explain (format {format}) {sql}"),
                nacre_sql::StatementIo::default(),
            ))
            .unwrap();
        let nacre_sql::Outcome::Rows { schema, .. } = &outcome else { panic!("{format}") };
        assert_eq!(PgType::of_field(schema.field(0)).0.oid, oid, "{format}");
    }
}

#[test]
fn prepared_query_is_described_as_it_answers() {
    let connection = filled();
    let session = connection.session();
    for sql in QUERIES {
        let described = connection.runtime().block_on(async {
            let statement = session.prepare_and_plan(sql, &[]).await.unwrap();
            statement.columns(session).await.unwrap().unwrap()
        });
        let Answer::Rows(letters, _) = connection.ok(sql) else { panic!("{sql} has no rows") };
        assert_eq!(described.fields().len(), letters.len(), "{sql}");
        let statement = session.prepare(sql, &[]).unwrap();
        let outcome = connection.runtime().block_on(statement.execute(session, &[])).unwrap();
        let nacre_sql::Outcome::Rows { schema, .. } = &outcome else { panic!("{sql}") };
        // Whether a field may be null is nothing that clients are told.
        let of = |schema: &SchemaRef| -> Vec<_> {
            let fields = schema.fields().iter();
            fields.map(|field| (field.name().clone(), PgType::of_field(field).1)).collect()
        };
        assert_eq!(of(schema), of(&described), "{sql}");
    }
}

#[test]
fn serializable_reads_are_validated() {
    let one = filled();
    let two = one.another();
    for connection in [&one, &two] {
        choose(connection, "nacre");
        connection.ok("begin isolation level serializable");
        connection.ok("select sum(money) from t where day = date '2024-01-10'");
    }
    // Each changes what the other has read.
    one.ok("update t set money = money + 1 where id = 9");
    two.ok("update t set money = money + 1 where id = 99");
    one.ok("commit");
    assert_eq!(two.error("commit").sqlstate(), "40001");
    // A change outside of what was read disturbs nobody.
    for connection in [&one, &two] {
        connection.ok("begin isolation level serializable");
        connection.ok("select sum(money) from t where day = date '2024-01-10'");
    }
    one.ok("update t set money = money + 1 where id = 10");
    two.ok("update t set money = money + 1 where id = 11");
    one.ok("commit");
    two.ok("commit");
}

#[test]
fn transaction_sees_its_own_changes_and_its_snapshot() {
    let one = filled();
    let two = one.another();
    for connection in [&one, &two] {
        choose(connection, "nacre");
    }
    let total = "select count(*), sum(id) from t where id > 5000";
    one.ok("begin isolation level repeatable read");
    assert_eq!(one.rows(total), ["100|505050"]);
    two.ok("delete from t where id = 5100");
    one.ok("insert into t (id) values (6000)");
    one.ok("update t set money = 0 where id = 5001");
    assert_eq!(one.rows(total), ["101|511050"]);
    assert_eq!(one.rows("select money from t where id = 5001 and small is not null"), ["0.00"]);
    one.ok("rollback");
    assert_eq!(one.rows(total), ["99|499950"]);
}

#[test]
fn failures_while_running_are_those_of_the_statement() {
    let connection = filled();
    choose(&connection, "nacre");
    assert_eq!(connection.error("select 1 / (id - 77) from t").sqlstate(), "22012");
    assert_eq!(connection.error("select id * 1000000 from t").sqlstate(), "22003");
    assert_eq!(connection.error("select (big * 1000)::int from t").sqlstate(), "22003");
    connection.ok("begin");
    assert_eq!(connection.error("select 1 / (id - 77) from t").sqlstate(), "22012");
    assert_eq!(connection.error("select count(*) from t").sqlstate(), "25P02");
    connection.ok("rollback");
    assert_eq!(connection.rows("select count(*) from t"), ["5100"]);
}

#[test]
fn roles_read_what_they_may() {
    let connection = filled();
    choose(&connection, "nacre");
    connection.ok("create role reader");
    connection.ok("set role reader");
    assert_eq!(connection.error("select count(*) from t").sqlstate(), "42501");
    connection.ok("reset role");
    connection.ok("grant select on t to reader");
    connection.ok("set role reader");
    assert_eq!(connection.rows("select count(*) from t"), ["5100"]);
}

#[test]
fn deep_expressions_are_answered_or_refused_soon() {
    let connection = filled();
    let nested = |open: &str, close: &str, depth: usize| {
        let sql = format!("select {}id{} from t limit 1", open.repeat(depth), close.repeat(depth));
        connection.run(&sql).map(|_| ()).map_err(|error| error.sqlstate().to_owned())
    };
    assert_eq!(nested("nullif(", ", 7)", 60), Ok(()));
    // These may be too complex for one engine or the other.
    for open in ["(", "(("] {
        let close =
            if open == "(" { " between 1 and 2)::int" } else { ") is distinct from 1)::int" };
        let answer = nested(open, close, 60);
        assert!(answer.is_ok() || answer == Err("54001".to_owned()), "{answer:?}");
    }
}

#[test]
fn counts_extremes_and_sums_of_whole_tables_come_from_stored_aggregates() {
    let connection = filled();
    let explained = |options: &str| {
        let sql = "select count(*), count(name), min(day), max(id), sum(big), avg(small) from t";
        connection.rows(&format!("explain ({options}) {sql}")).join("\n")
    };
    let plan = explained("analyze");
    for part in ["Engine: nacre", ", 1 answered by their aggregates; rows read: 100"] {
        assert!(plan.contains(part), "{part} is missing: {plan}");
    }
    let plan = explained("analyze, format json");
    assert!(plan.contains("\"Chunks Answered\": 1"), "{plan}");
    // A chunk that has lost a row is read.
    connection.ok("delete from t where id = 17");
    let plan = explained("analyze");
    assert!(!plan.contains("answered by their aggregates"), "{plan}");
    assert_eq!(connection.rows("select count(*), min(id), max(id) from t"), ["5099|1|5100"]);
}

#[test]
fn counts_of_whole_tables_are_validated() {
    let one = filled();
    let two = one.another();
    for connection in [&one, &two] {
        connection.ok("begin isolation level serializable");
        assert_eq!(connection.rows("select count(*), max(id) from t"), ["5100|5100"]);
    }
    one.ok("insert into t (id) values (5101)");
    two.ok("insert into t (id) values (5102)");
    one.ok("commit");
    assert_eq!(two.error("commit").sqlstate(), "40001");
}

#[test]
fn arrays_rows_and_bits_are_answered() {
    let connection = filled();
    let session = connection.session();
    choose(&connection, "nacre");
    for (sql, expected, oid) in [
        ("select array_agg(id order by id desc) from t where id < 4", "{3,2,1}", 1007),
        ("select array_agg(money order by id) from t where id < 3", "{1.25,2.50}", 1231),
        (
            "select array(select day from t where id < 3 order by id)",
            "{2024-01-02,2024-01-03}",
            1182,
        ),
        ("select array_agg(name order by id) from t where id in (10, 11)", "{name10,NULL}", 1009),
        ("select array[array[1, null], array[3, 4]]", "{{1,NULL},{3,4}}", 1007),
        ("select '[2:3]={a,b c}'::text[]", "[2:3]={a,\"b c\"}", 1009),
        ("select row(1, 'a b', null)", "(1,\"a b\",)", 2249),
        ("select '10:00+02'::timetz", "10:00:00+02", 1266),
        ("select B'101', '10'::varbit", "101|10", 1560),
    ] {
        assert_eq!(connection.rows(sql), [expected], "{sql}");
        let described = connection.runtime().block_on(async {
            let statement = session.prepare_and_plan(sql, &[]).await.unwrap();
            statement.columns(session).await.unwrap().unwrap()
        });
        assert_eq!(PgType::of_field(described.field(0)).1, oid, "{sql}");
    }
}

#[test]
fn copied_and_fetched_rows_are_those_of_the_engine() {
    let connection = filled();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    let before = connection.database.engine_counts();
    let query = "select avg(id), array_agg(id order by id) from t where id < 4";
    connection.ok(&format!("copy ({query}) to '{}' csv", path.display()));
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, "2.0000000000000000,\"{1,2,3}\"\n");
    connection.ok("begin");
    connection.ok(&format!("declare c cursor for {query}"));
    assert_eq!(connection.rows("fetch all from c"), ["2.0000000000000000|{1,2,3}"]);
    connection.ok("commit");
    let after = connection.database.engine_counts();
    assert_eq!((after.nacre, after.datafusion), (before.nacre + 2, before.datafusion));
    // What the engine has not goes to the other one, unless that is refused.
    connection.ok(&format!("copy (select acosh(2)) to '{}'", path.display()));
    choose(&connection, "nacre");
    let refused = format!("copy (select acosh(2)) to '{}'", path.display());
    assert!(connection.run(&refused).is_err());
}

/// One of TPC-DS with a list of 400 texts, a line each, ran in DataFusion, 2026-11-26.
#[test]
fn indentation_does_not_count_to_the_length_of_a_text() {
    let connection = filled();
    choose(&connection, "nacre");
    let blanks = " ".repeat(100);
    let names: Vec<String> = (0..400).map(|n| format!("'name{n}'")).collect();
    let indented =
        format!("select count(*) from t where name in ({})", names.join(&format!(",\n{blanks}")));
    assert!(indented.len() > 40_000);
    let dense = indented.replace(&blanks, "");
    let answer = |sql: &str| match connection.run(sql).unwrap() {
        Answer::Rows(_, rows) => rows,
        Answer::Tag(tag) => panic!("{tag}"),
    };
    assert_eq!(answer(&indented), answer(&dense));
}

#[test]
fn long_texts_are_answered_or_refused_as_in_postgresql() {
    let connection = filled();
    let numbers: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let list = format!("select count(*) from t where id in ({})", numbers.join(", "));
    let all = connection.rows("select count(*) from t where id < 20000");
    for choice in ["nacre", "auto"] {
        choose(&connection, choice);
        assert_eq!(connection.rows(&list), all);
        let columns = format!("select {}", vec!["1 + 1"; 5_000].join(", "));
        assert_eq!(connection.error(&columns).sqlstate(), "54011");
    }
}
