//! Prepared statements, parameters and portals.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::support::{
    Fixture, bind, describe, describe_statement, execute, field, kinds, message, parse, query, sync,
};

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_parameters() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table l (a integer primary key, b text)").await.unwrap();
    client.batch_execute("insert into l values (1, 'x'), (2, 'y,\"z'), (3, null)").await.unwrap();
    let count = async |sql: &str, value: &(dyn ToSql + Sync)| {
        client.query_one(sql, &[value]).await.unwrap().get::<_, i64>(0)
    };
    let of = "select count(*) from l where a = any($1)";
    assert_eq!(count(of, &vec![1_i32, 3, 7]).await, 2);
    assert_eq!(count(of, &Vec::<i32>::new()).await, 0);
    assert_eq!(count(of, &vec![Some(2_i32), None]).await, 1);
    assert_eq!(count("select count(*) from l where a <> all($1::bigint[])", &vec![1_i64]).await, 2);
    assert_eq!(count("select count(*) from l where b = any($1)", &vec!["y,\"z", "q"]).await, 1);
    let (numbers, texts) = (vec![1_i32], vec!["a b"]);
    let row = client.query_one("select $1::int[], $2::text[]", &[&numbers, &texts]).await.unwrap();
    assert_eq!((row.get::<_, Vec<i32>>(0), row.get::<_, Vec<&str>>(1)), (vec![1], vec!["a b"]));
    let prepared = client.prepare("select $1::oid[]").await.unwrap();
    assert_eq!(prepared.params()[0].oid(), 1028);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_types_are_those_of_the_answer() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    for (declared, name) in [
        (Type::JSON, "json"),
        (Type::OID, "oid"),
        (Type::TIMESTAMPTZ, "timestamptz"),
        (Type::NUMERIC, "numeric"),
        (Type::VARCHAR, "varchar"),
        (Type::INT2_ARRAY, "_int2"),
    ] {
        let statement = client.prepare_typed("select $1", &[declared]).await.unwrap();
        assert_eq!(statement.params()[0].name(), name);
        assert_eq!(statement.columns()[0].type_().name(), name);
        assert_eq!(statement.columns()[0].name(), "?column?");
    }
    let json = "select case when true then json_build_object('a', 1) end, \
                (select json_build_object('b', x) from (values (1)) as t(x) where x = y) \
                from (values (1)) as u(y)";
    let statement = client.prepare(json).await.unwrap();
    let names: Vec<_> = statement.columns().iter().map(|column| column.type_().name()).collect();
    assert_eq!(names, ["json", "json"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arrays_and_casts_have_the_types_of_postgresql() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client
        .batch_execute("create table t (a int, p numeric(8,2), d date, ts timestamp)")
        .await
        .unwrap();
    client.batch_execute("insert into t values (1, 1.5, '2024-01-05', null)").await.unwrap();
    let uuid = "(select '00000000-0000-0000-0000-000000000001'::uuid as x) s";
    for (sql, expected) in [
        (
            "select array_agg(relname), array_agg(oid), array_agg(relname::text) from pg_class",
            vec!["_name", "_oid", "_text"],
        ),
        ("select * from (select array_agg(relname) from pg_class) s", vec!["_name"]),
        (
            "select relkind, array_agg(relname order by relname) from pg_class group by relkind",
            vec!["char", "_name"],
        ),
        (
            "select array(select relname from pg_class), \
             array(select relname from pg_class order by 1 limit 2), \
             array(select oid from pg_class limit 1)",
            vec!["_name", "_name", "_oid"],
        ),
        (
            "select array(select a from t), array(select p from t), array(select d from t), \
             array(select ts from t), array(select 'x'), array(select null), \
             array(select true where false)",
            vec!["_int4", "_numeric", "_date", "_timestamp", "_text", "_text", "_bool"],
        ),
        (
            format!("select x, x::text, x::text || 'a' from {uuid}").as_str(),
            vec!["uuid", "text", "text"],
        ),
        (
            format!("with c as (select x from {uuid}) select x::text, x from c").as_str(),
            vec!["text", "uuid"],
        ),
        (
            format!("select case when true then x::text end, coalesce(x::text, 'a') from {uuid}")
                .as_str(),
            vec!["text", "text"],
        ),
        ("select x::text from (select relname as x from pg_class) s", vec!["text"]),
    ] {
        let statement = client.prepare(sql).await.unwrap();
        let columns = statement.columns().iter();
        let names: Vec<_> = columns.map(|column| column.type_().name()).collect();
        assert_eq!(names, expected, "{sql}");
        // The rows have these types, too.
        let rows = client.query(&statement, &[]).await.unwrap();
        let of_rows: Vec<_> = rows[0].columns().iter().map(|one| one.type_().name()).collect();
        assert_eq!(of_rows, expected, "{sql}");
        let simple = client.simple_query(sql).await;
        assert!(simple.is_ok(), "{sql}");
    }
    let numbers = "select array(select a from t), array(select a from t where false)";
    let row = client.query_one(numbers, &[]).await.unwrap();
    assert_eq!((row.get::<_, Vec<i32>>(0), row.get::<_, Vec<i32>>(1)), (vec![1], Vec::new()));
    let names = "select array(select relname from pg_class where relname = 't')";
    let row = client.query_one(names, &[]).await.unwrap();
    assert_eq!(row.get::<_, Vec<&str>>(0), ["t"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_and_go_in_binary() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client
        .batch_execute(
            "create table t (a smallint, b integer, c bigint, d real, e double precision, \
             f boolean, g text, h bytea)",
        )
        .await
        .unwrap();
    let insert = "insert into t values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let statement = client.prepare(insert).await.unwrap();
    let types = [
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::BOOL,
        Type::TEXT,
        Type::BYTEA,
    ];
    assert_eq!(statement.params(), types);
    let (bytes, none) = (vec![0_u8, 255], None::<i32>);
    let rows = client
        .execute(
            &statement,
            &[&-1_i16, &2_i32, &i64::MIN, &0.5_f32, &-1.5e300, &true, &"\u{fc}", &bytes],
        )
        .await
        .unwrap();
    assert_eq!(rows, 1);
    client
        .execute(
            &statement,
            &[&None::<i16>, &none, &1_i64, &None::<f32>, &0.0, &false, &"", &bytes],
        )
        .await
        .unwrap();
    let rows = client.query("select * from t order by c", &[]).await.unwrap();
    let row = &rows[0];
    assert_eq!(
        (row.get::<_, i16>(0), row.get::<_, i32>(1), row.get::<_, i64>(2)),
        (-1, 2, i64::MIN)
    );
    assert_eq!(
        (row.get::<_, f32>(3), row.get::<_, f64>(4), row.get::<_, bool>(5)),
        (0.5, -1.5e300, true)
    );
    assert_eq!((row.get::<_, String>(6), row.get::<_, Vec<u8>>(7)), ("\u{fc}".into(), bytes));
    assert_eq!(rows[1].get::<_, Option<i32>>(1), None);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_find_their_types_and_rows() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer primary key, b text)").await.unwrap();
    client.batch_execute("insert into t select 1, 'x' union all select 2, 'y'").await.unwrap();
    let by_key = client.prepare("select b from t where a = $1").await.unwrap();
    assert_eq!(by_key.params(), [Type::INT4]);
    for (key, expected) in [(1, Some("x")), (2, Some("y")), (3, None)] {
        let row = client.query_opt(&by_key, &[&key]).await.unwrap();
        assert_eq!(row.map(|row| row.get::<_, String>(0)).as_deref(), expected);
    }
    let declared =
        client.prepare_typed("select a from t where a = $1", &[Type::INT8]).await.unwrap();
    assert_eq!(client.query_one(&declared, &[&2_i64]).await.unwrap().get::<_, i32>(0), 2);
    let limited = client.query("select a from t order by a limit $1", &[&1_i64]).await.unwrap();
    assert_eq!(limited.len(), 1);
    let error = client.prepare("select nothing from t").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNDEFINED_COLUMN));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn returning_gives_rows_of_a_change() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a integer primary key, b text)").await.unwrap();
    let sql = "insert into t values ($1, $2) returning b, a";
    let row = client.query_one(sql, &[&7, &"x"]).await.unwrap();
    assert_eq!((row.get::<_, String>(0), row.get::<_, i32>(1)), ("x".to_owned(), 7));
    let error = client.query(sql, &[&7, &"x"]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn portal_is_fetched_in_parts() {
    let fixture = Fixture::start().await;
    let mut client = fixture.client().await;
    client.batch_execute("create table t (a integer primary key)").await.unwrap();
    let rows = (0..10_000).map(|row| format!("({row})")).collect::<Vec<_>>().join(",");
    client.batch_execute(&format!("insert into t values {rows}")).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select a from t order by a", &[]).await.unwrap();
    let mut seen = 0;
    loop {
        let rows = transaction.query_portal(&portal, 3_000).await.unwrap();
        if rows.is_empty() {
            break;
        }
        assert_eq!(rows[0].get::<_, i32>(0), seen);
        seen += rows.len() as i32;
        // What the block does meanwhile does not cut the portal off.
        transaction
            .execute("delete from t where a = $1", &[&(9_999 - seen / 3_000)])
            .await
            .unwrap();
    }
    assert_eq!(seen, 10_000);
    transaction.commit().await.unwrap();
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_say_where_they_come_from() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client
        .batch_execute(
            "create table t (a integer primary key, b varchar(10), c numeric(7,2), d char(3), \
             e text); insert into t values (1, 'x', 1.5, 'y', 'z')",
        )
        .await
        .unwrap();
    let oid: u32 =
        client.query_one("select oid from pg_class where relname = 't'", &[]).await.unwrap().get(0);
    let (at, none) = (|column| (Some(oid), Some(column)), (None, None));
    for (sql, expected) in [
        // A short statement, before and after it has a plan, and others.
        ("select b, a from t where a = 1", vec![(at(2), 1043, 14), (at(1), 23, -1)]),
        ("select b, a from t where a = 1", vec![(at(2), 1043, 14), (at(1), 23, -1)]),
        ("select c, d, e from t", vec![(at(3), 1700, 458_758), (at(4), 1042, 7), (at(5), 25, -1)]),
        ("select b || 'x', count(*) from t group by b", vec![(none, 25, -1), (none, 20, -1)]),
        (
            "select distinct x.n, q.a from (select a, max(c) over () from t) as q \
             left join (select b as n, a from t order by b limit 5) as x on x.a = q.a",
            vec![(at(2), 1043, 14), (at(1), 23, -1)],
        ),
        ("select b from t group by b order by count(*)", vec![(at(2), 1043, 14)]),
        ("select b from t union all select b from t", vec![(none, 1043, -1)]),
        ("select b from t except select 'a'", vec![(none, 1043, -1)]),
    ] {
        let statement = client.prepare(sql).await.unwrap();
        let columns = statement.columns().iter();
        let told: Vec<_> = columns
            .map(|one| {
                let origin = (one.table_oid(), one.column_id());
                (origin, one.type_().oid(), one.type_modifier())
            })
            .collect();
        assert_eq!(told, expected, "{sql}");
        client.query(&statement, &[]).await.unwrap();
    }
    // The type goes on with the rows, in either form.
    let row = client.query_one("select b, d from t where a = 1", &[]).await.unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("x", "y"));
    // A table that is made of a query has the declared types.
    client.batch_execute("create table u as select b, d, c, e from t").await.unwrap();
    let statement = client.prepare("select * from u").await.unwrap();
    let types: Vec<_> =
        statement.columns().iter().map(|one| (one.type_().oid(), one.type_modifier())).collect();
    assert_eq!(types, [(1043, 14), (1042, 7), (1700, 458_758), (25, -1)]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_answered_as_the_protocol_says() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    let mut bytes = parse("", "select 1 as a");
    for part in [bind("", ""), describe(""), execute("", 0), sync()] {
        bytes.extend(part);
    }
    raw.send(&bytes).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "12TDCZ");
    // One that is not described, and an empty one.
    raw.send(&[parse("", "select 1"), bind("", ""), execute("", 0), sync()].concat()).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "12DCZ");
    raw.send(&[parse("", ""), bind("", ""), describe(""), execute("", 0), sync()].concat()).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "12nIZ");
    // After an error everything is passed over until Sync. Constants are computed by Parse.
    for (sql, answered) in
        [("select 1 / 0", "EZ"), ("select 1 / (a - 1) from generate_series(1, 1) q (a)", "12EZ")]
    {
        let parts = [parse("", sql), bind("", ""), execute("", 0), execute("", 0), sync()];
        raw.send(&parts.concat()).await;
        assert_eq!(kinds(&raw.until(b'Z').await), answered, "{sql}");
    }
    let unknown = [bind("p", "nothing"), execute("p", 0), sync()].concat();
    raw.send(&unknown).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("26000"));
    // Flush has the answers sent without Sync.
    raw.send(&[parse("s", "select 2"), message(b'D', b"Ss\0"), message(b'H', b"")].concat()).await;
    assert_eq!(kinds(&raw.until(b'T').await), "1tT");
    raw.send(&[bind("", "s"), execute("", 0), message(b'H', b"")].concat()).await;
    assert_eq!(kinds(&raw.until(b'C').await), "2DC");
    raw.send(&sync()).await;
    raw.until(b'Z').await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_between_syncs_are_one_transaction() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("create table t (a integer primary key)")).await;
    raw.until(b'Z').await;
    let run = |sql: &str| [parse("", sql), bind("", ""), execute("", 0)].concat();
    let both = [run("insert into t values (1)"), run("insert into t values (1)"), sync()].concat();
    raw.send(&both).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "12C12EZ");
    raw.send(&query("select count(*) from t")).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(messages[1].1, [&[0, 1, 0, 0, 0, 1], b"0".as_slice()].concat());
    let both = [run("insert into t values (1)"), run("insert into t values (2)"), sync()].concat();
    raw.send(&both).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(kinds(&messages), "12C12CZ");
    assert_eq!(messages.last().unwrap().1, b"I");
    raw.send(&query("select count(*) from t")).await;
    assert_eq!(raw.until(b'Z').await[1].1, [&[0, 1, 0, 0, 0, 1], b"2".as_slice()].concat());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_are_the_same_for_sql_and_protocol() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("prepare a as select 1")).await;
    raw.until(b'Z').await;
    raw.send(&[bind("", "a"), execute("", 0), sync()].concat()).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "2DCZ");
    raw.send(&[parse("b", "select 2"), sync()].concat()).await;
    raw.until(b'Z').await;
    raw.send(&query("execute b; deallocate b")).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "TDCCZ");
    raw.send(&[bind("", "b"), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("26000"));
    raw.send(&[parse("a", "select 3"), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("42P05"));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_fail_their_statement_only() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    let one = |value: &[u8], format: u8| {
        let mut body = b"\0\0\0\x01\0".to_vec();
        body.push(format);
        body.extend_from_slice(b"\0\x01");
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\0\0");
        message(b'B', &body)
    };
    for (value, format, code) in [
        (b"x".as_slice(), 0, "22P02"),
        (b"\0\0\0", 1, "22P03"),
        (b"99999999999", 0, "22003"),
        (b"\xff", 0, "22021"),
        (b"1", 7, "08P01"),
    ] {
        let parse = parse("", "select $1::integer");
        raw.send(&[parse, one(value, format), sync()].concat()).await;
        let messages = raw.until(b'Z').await;
        assert_eq!(kinds(&messages), "1EZ");
        assert_eq!(field(&messages[1].1, b'C').as_deref(), Some(code), "{value:?}");
    }
    raw.send(&[parse("", "select 1"), one(b"1", 0), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[1].1, b'C').as_deref(), Some("08P01"));
    raw.send(&[parse("", "select 1; select 2"), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("42601"));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_has_the_types_that_were_described_whatever_runs_it() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table z (w int, v int)").await.unwrap();
    client.batch_execute("insert into z values (1, 2)").await.unwrap();
    let sql = "select v + 1 from z where w = 1";
    for change in [
        "create index z_w on z (w)",
        "drop index z_w",
        "set nacre.engine = datafusion",
        "set nacre.engine = auto",
    ] {
        let statement = client.prepare(sql).await.unwrap();
        let told = statement.columns()[0].type_().clone();
        client.batch_execute(change).await.unwrap();
        match client.query(&statement, &[]).await {
            Ok(rows) => assert_eq!(*rows[0].columns()[0].type_(), told, "{change}"),
            Err(error) => {
                let error = error.as_db_error().unwrap();
                assert_eq!(error.message(), "cached plan must not change result type", "{change}");
            }
        }
        let statement = client.prepare(sql).await.unwrap();
        let row = client.query_one(&statement, &[]).await.unwrap();
        let value = match *statement.columns()[0].type_() {
            tokio_postgres::types::Type::INT4 => i64::from(row.get::<_, i32>(0)),
            _ => row.get(0),
        };
        assert_eq!(value, 3, "{change}");
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_table_does_not_answer_what_was_described_otherwise() {
    let fixture = Fixture::start().await;
    let (client, other) = (fixture.client().await, fixture.client().await);
    client.batch_execute("create table z (id int primary key, v int)").await.unwrap();
    client.batch_execute("insert into z values (1, 2)").await.unwrap();
    for (sql, parameters) in [
        ("select * from z where id = 1", vec![]),
        ("select * from z where id = $1", vec![&1_i32 as &(dyn ToSql + Sync)]),
        ("update z set id = id where id = 1 returning *", vec![]),
    ] {
        client.batch_execute("alter table z alter v type int").await.unwrap();
        let statement = client.prepare(sql).await.unwrap();
        assert_eq!(client.query(&statement, &parameters).await.unwrap().len(), 1);
        // What has nothing to do with it is in nobody's way.
        other.batch_execute("create table other (a int)").await.unwrap();
        assert_eq!(client.query(&statement, &parameters).await.unwrap().len(), 1);
        other.batch_execute("drop table other").await.unwrap();
        other.batch_execute("alter table z alter v type double precision").await.unwrap();
        let error = client.query(&statement, &parameters).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
        let error = error.as_db_error().unwrap();
        assert_eq!(error.message(), "cached plan must not change result type");
        assert_eq!(error.routine(), Some("RevalidateCachedQuery"));
        let statement = client.prepare(sql).await.unwrap();
        let rows = client.query(&statement, &parameters).await.unwrap();
        assert_eq!(rows[0].get::<_, f64>(1), 2.0);
        other.batch_execute("alter table z add w text default 'w'").await.unwrap();
        assert!(client.query(&statement, &parameters).await.is_err());
        other.batch_execute("alter table z drop w").await.unwrap();
        assert_eq!(client.query(&statement, &parameters).await.unwrap().len(), 1);
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_rows_name_what_refused_them() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client
        .batch_execute(
            "create table parent (id int primary key); \
             create table child (id int primary key, n int not null, u int unique, \
             p int constraint child_of references parent, constraint positive check (n > 0)); \
             insert into parent values (1); insert into child values (1, 1, 1, 1)",
        )
        .await
        .unwrap();
    for (sql, code, table, column, constraint) in [
        ("insert into child values (1, 1, 2, 1)", "23505", "child", None, Some("child_pkey")),
        ("insert into child values (2, 1, 1, 1)", "23505", "child", None, Some("child_u_key")),
        ("insert into child values (2, null, 2, 1)", "23502", "child", Some("n"), None),
        ("insert into child values (2, 0, 2, 1)", "23514", "child", None, Some("positive")),
        ("insert into child values (2, 1, 2, 7)", "23503", "child", None, Some("child_of")),
        ("delete from parent", "23503", "child", None, Some("child_of")),
        ("alter table child add check (id > 1)", "23514", "child", None, Some("child_id_check")),
    ] {
        let error = client.batch_execute(sql).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), code, "{sql}");
        assert_eq!(error.schema(), Some("public"), "{sql}");
        assert_eq!(error.table(), Some(table), "{sql}");
        assert_eq!(error.column(), column, "{sql}");
        assert_eq!(error.constraint(), constraint, "{sql}");
    }
    fixture.stop().await;
}

/// A statement that means nothing was kept under its name, and failed when it was described.
#[tokio::test(flavor = "multi_thread")]
async fn statement_that_means_nothing_is_refused_when_it_is_parsed() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&query("create table t (a int primary key)")).await;
    raw.until(b'Z').await;
    for (sql, code, position) in [
        ("select nocol from t", "42703", "8"),
        ("select a from nowhere", "42P01", "15"),
        ("select  nofunction(a) from t", "42883", "9"),
        ("insert into nowhere values (1)", "42P01", "13"),
        ("insert into t (b) values (1)", "42703", "16"),
        ("update t set b = 1", "42703", "14"),
        ("select a from", "42601", "14"),
    ] {
        raw.send(&[parse("s", sql), sync()].concat()).await;
        let messages = raw.until(b'Z').await;
        assert_eq!(kinds(&messages), "EZ", "{sql}");
        assert_eq!(field(&messages[0].1, b'C').as_deref(), Some(code), "{sql}");
        assert_eq!(field(&messages[0].1, b'P').as_deref(), Some(position), "{sql}");
        raw.send(&query(sql)).await;
        let messages = raw.until(b'Z').await;
        assert_eq!(field(&messages[0].1, b'P').as_deref(), Some(position), "{sql}");
    }
    raw.send(&query("prepare s as select nocol from t")).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'P').as_deref(), Some("21"));
    // The name is free.
    raw.send(&[parse("s", "select 1"), bind("", "s"), execute("", 0), sync()].concat()).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "12DCZ");
    // In a block it fails the block, and what is there already stays.
    raw.send(&query("begin")).await;
    raw.until(b'Z').await;
    raw.send(&[parse("x", "select nocol from t"), sync()].concat()).await;
    assert_eq!(raw.until(b'Z').await.last().unwrap().1, b"E");
    raw.send(&[bind("", "s"), sync()].concat()).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(field(&messages[0].1, b'C').as_deref(), Some("25P02"));
    raw.send(&query("rollback")).await;
    raw.until(b'Z').await;
    raw.send(&[bind("", "s"), execute("", 0), sync()].concat()).await;
    assert_eq!(kinds(&raw.until(b'Z').await), "2DCZ");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fetch_is_prepared_before_its_cursor_is_declared() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    client.batch_execute("create table t (a int)").await.unwrap();
    let fetch = client.prepare("fetch 2 from c").await.unwrap();
    assert!(fetch.columns().is_empty());
    let error = client.query(&fetch, &[]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::INVALID_CURSOR_NAME));
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&[query("begin"), parse("f", "fetch 2 from c"), describe_statement("f")].concat())
        .await;
    raw.send(&[query("declare c cursor for values (1), (2), (3)")].concat()).await;
    raw.send(&[bind("", "f"), describe(""), execute("", 0), sync()].concat()).await;
    let messages = raw.messages(3).await;
    assert_eq!(kinds(&messages), "CZ1tnCZ2TDDCZ");
    // The columns are those of the cursor that is open, not those of one before.
    let again = [
        query("commit; create table u (a int); begin"),
        query("declare c cursor for values ('a', 2)"),
        [bind("", "f"), execute("", 0), sync()].concat(),
    ];
    raw.send(&again.concat()).await;
    assert_eq!(kinds(&raw.messages(3).await), "CCCZCZ2DCZ");
    fixture.stop().await;
}
