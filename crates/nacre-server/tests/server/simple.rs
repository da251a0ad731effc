//! Queries in text.

use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::Type;

use crate::support::{Fixture, field, kinds, query, startup};

/// Rows as text, with nulls as `-`, and tags as numbers of rows.
async fn ask(client: &tokio_postgres::Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let mut told = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let cells = (0..row.len()).map(|index| row.get(index).unwrap_or("-"));
                told.push(cells.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(rows) => told.push(format!("({rows})")),
            _ => {}
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_one_query_are_answered_in_order() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    let told = ask(
        &client,
        "create table t (a integer, b text, c numeric(9,2), d date, e boolean, f real);\n\
         insert into t values (1, 'x', 1.50, '2026-01-02', true, 0.5),\n\
           (2, null, null, null, null, null);\n\
         select * from t order by a; select 1 where false;",
    );
    let expected = ["(0)", "(2)", "1|x|1.50|2026-01-02|t|0.5", "2|-|-|-|-|-", "(2)", "(0)"];
    assert_eq!(told.await, expected);
    // The client library takes the answer to an empty query for that of a command.
    assert_eq!(ask(&client, " ; -- nothing\n").await, ["(0)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_one_query_are_one_transaction() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer primary key)").await;
    let failed = client.simple_query("insert into t values (1); select 1 / 0; select 2").await;
    let error = failed.unwrap_err();
    assert!(error.as_db_error().is_some(), "{error}");
    assert_eq!(ask(&client, "select count(*) from t").await, ["0", "(1)"]);
    ask(&client, "insert into t values (1); insert into t values (2)").await;
    // What BEGIN says holds for all that was sent with it, and on.
    ask(&client, "insert into t values (3); begin; insert into t values (4)").await;
    ask(&client, "rollback").await;
    assert_eq!(ask(&client, "select a from t order by a").await, ["1", "2", "(2)"]);
    let error = client.simple_query("insert into t values (9); savepoint s").await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "25P01");
    assert_eq!(ask(&client, "select count(*) from t").await, ["2", "(1)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_has_code_position_detail_and_hint() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer primary key)").await;
    let error = client.simple_query("select 1;\n  select a, fro from t").await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN);
    assert_eq!(error.severity(), "ERROR");
    assert!(matches!(error.position(), Some(ErrorPosition::Original(23))), "{error:?}");
    let error = client.simple_query("insert into t values (1), (1)").await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNIQUE_VIOLATION);
    assert_eq!(error.detail(), Some("Key (a)=(1) already exists."));
    let error = client.simple_query("create temporary table u (a integer)").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_block_takes_nothing_but_its_end() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer)").await;
    ask(&client, "begin isolation level serializable read write").await;
    ask(&client, "insert into t values (1)").await;
    client.simple_query("syntax error").await.unwrap_err();
    let error = client.simple_query("select 1").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    ask(&client, "commit").await;
    assert_eq!(ask(&client, "select count(*) from t").await, ["0", "(1)"]);
    ask(&client, "begin; insert into t values (1); savepoint s").await;
    client.simple_query("select x").await.unwrap_err();
    ask(&client, "rollback to s; commit").await;
    assert_eq!(ask(&client, "select count(*) from t").await, ["1", "(1)"]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_result_comes_whole() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    ask(&client, "create table t (a integer, b text)").await;
    for part in 0..20 {
        let rows = (0..1_000).map(|row| format!("({}, '{}')", part * 1_000 + row, "x".repeat(50)));
        ask(&client, &format!("insert into t values {}", rows.collect::<Vec<_>>().join(","))).await;
    }
    let told = ask(&client, "select a, b from t order by a").await;
    assert_eq!(told.len(), 20_001);
    assert!(told[19_999].starts_with("19999|xxx"));
    fixture.stop().await;
}

/// Returns the document of an EXPLAIN.
async fn explained_json(client: &tokio_postgres::Client, sql: &str) -> serde_json::Value {
    let messages = client.simple_query(sql).await.unwrap();
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get("QUERY PLAN").unwrap().to_owned()),
        _ => None,
    });
    let mut plans: Vec<serde_json::Value> = serde_json::from_str(&row.unwrap()).unwrap();
    plans.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_in_json_has_postgresqls_keys() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    let rows = "create table t (a integer primary key, b integer); insert into t values (1, 2), \
                (3, 4), (5, 6)";
    client.batch_execute(rows).await.unwrap();
    let explained = async |sql: &str| explained_json(&client, sql).await;
    let plan = explained("explain (format json) select a from t where b > 2 order by b").await;
    assert!(plan.get("Execution Time").is_none(), "{plan}");
    let mut node = &plan["Plan"];
    let mut types = vec![node["Node Type"].as_str().unwrap()];
    while let Some(below) = node["Plans"].get(0) {
        node = below;
        assert_eq!(node["Parent Relationship"], "Outer");
        types.push(node["Node Type"].as_str().unwrap());
    }
    assert!(types.contains(&"Sort"), "{types:?}");
    assert_eq!(
        (node["Node Type"].as_str(), &node["Relation Name"]),
        (Some("Seq Scan"), &"t".into())
    );
    assert!(node["Plan Rows"].is_u64());

    let plan = explained("explain (analyze, format json) select a from t where b > 2").await;
    assert!(plan["Execution Time"].as_f64().unwrap() > 0.0);
    assert!(plan["Planning Time"].as_f64().unwrap() > 0.0);
    assert_eq!(plan["Plan"]["Actual Rows"], 2);
    assert_eq!(plan["Plan"]["Actual Loops"], 1);
    assert!(plan["Plan"]["Actual Total Time"].is_f64());
    assert!(plan["Plan"]["Actual Self Time"].is_f64());
    let steps = ["Parse Time", "Bind Time", "Optimize Time", "Compile Time"];
    let sum: f64 = steps.iter().map(|step| plan["Planning"][step].as_f64().unwrap()).sum();
    assert!((sum - plan["Planning Time"].as_f64().unwrap()).abs() < 0.01, "{plan}");

    let plan = explained("explain (analyze, format json) delete from t where b > 2").await;
    let change = &plan["Plan"];
    assert_eq!(
        (&change["Node Type"], &change["Operation"]),
        (&"ModifyTable".into(), &"Delete".into())
    );
    assert_eq!((&change["Relation Name"], &change["Actual Rows"]), (&"t".into(), &2.into()));
    let left = client.query_one("select count(*) from t", &[]).await.unwrap();
    assert_eq!(left.get::<_, i64>(0), 1);
    let column = &client.prepare("explain (format json) select 1").await.unwrap();
    assert_eq!(column.columns()[0].type_(), &Type::JSON);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_in_json_have_rows_expected_and_counted() {
    let fixture = Fixture::start().await;
    let client = fixture.client().await;
    let rows = "create table t (a integer primary key, b integer); insert into t values (1, 2), \
                (3, 4), (5, 6)";
    client.batch_execute(rows).await.unwrap();
    let options = "analyze, timing off, summary off, format json";
    let joined = "select x.a from t x join t y on x.b = y.b where x.b > 2 order by 1 limit 1";
    let plan = explained_json(&client, &format!("explain ({options}) {joined}")).await;
    assert!(plan.get("Planning Time").is_none() && plan.get("Execution Time").is_none(), "{plan}");
    let mut open = vec![&plan["Plan"]];
    let (mut joins, mut scans) = (0, 0);
    while let Some(node) = open.pop() {
        assert!(node["Plan Rows"].is_u64() && node["Actual Rows"].is_u64(), "{node}");
        for time in ["Actual Total Time", "Actual Self Time"] {
            assert!(node.get(time).is_none(), "{node}");
        }
        match node["Node Type"].as_str().unwrap() {
            "Hash Join" => {
                assert_eq!(
                    (&node["Join Type"], &node["Actual Rows"]),
                    (&"Inner".into(), &2.into())
                );
                assert!(node["Peak Memory Usage"].as_u64().unwrap() > 0, "{node}");
                joins += 1;
            }
            "Seq Scan" => {
                assert!(node["Blocks Read"].is_array() && node["Chunks"] == 1, "{node}");
                assert_eq!(node["Rows Read"], 3);
                scans += 1;
            }
            "Limit" => assert_eq!(node["Actual Rows"], 1),
            _ => {}
        }
        open.extend(node["Plans"].as_array().into_iter().flatten());
    }
    assert_eq!((joins, scans), (1, 2));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_zone_that_does_not_hold_is_told_and_ends_nothing() {
    let fixture = Fixture::start().await;
    for zone in ["Europe/Berlin", "GMT+03:00", "Mars/Olympus"] {
        let mut raw = fixture.raw().await;
        raw.send(&startup(3 << 16, &[("user", "nacre"), ("TimeZone", zone)])).await;
        let messages = raw.until(b'Z').await;
        let warnings: Vec<_> = messages.iter().filter(|(kind, _)| *kind == b'N').collect();
        let [(_, warning)] = warnings[..] else { panic!("{zone}: {messages:?}") };
        assert_eq!(field(warning, b'S').as_deref(), Some("WARNING"));
        let text = field(warning, b'M').unwrap();
        assert!(text.contains(zone) && text.contains("UTC"), "{text}");
        assert!(messages.contains(&(b'S', b"TimeZone\0UTC\0".to_vec())));
        // SET is refused, and the session goes on.
        raw.send(&query(&format!("set timezone = '{zone}'"))).await;
        let messages = raw.until(b'Z').await;
        let code = field(&messages[0].1, b'C').unwrap();
        assert_eq!(code, if zone.starts_with("Mars") { "22023" } else { "0A000" });
        raw.send(&query("show timezone")).await;
        assert_eq!(kinds(&raw.until(b'Z').await), "TDCZ");
    }
    let mut raw = fixture.raw().await;
    raw.send(&startup(3 << 16, &[("user", "nacre"), ("options", "-c timezone=GMT+00:00")])).await;
    assert!(raw.until(b'Z').await.iter().all(|(kind, _)| *kind != b'N'));
    fixture.stop().await;
}
