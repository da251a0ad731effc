//! What prepared statements tell before they run: the types of their parameters, and the columns of
//! what they answer.

use nacre_sql::{ColumnType, PgType, Value};

use crate::support::Connection;

fn database() -> Connection {
    let db = Connection::open(None);
    db.ok("create table t (a integer primary key, n numeric(8,2), s varchar(5), d date, \
         at timestamp)");
    db.ok("create table u (a bigint, x double precision, s text)");
    db.ok("create view v as select a, n * 2 as m, s from t");
    db.ok("create view w (k, z, s) as select * from v");
    db.ok(
        "insert into t values (1, 1.5, 'one', date '2024-01-01', timestamp '2024-01-01 12:00:00')",
    );
    db
}

/// Returns the names of the types of a statement's parameters, or the code of the error.
fn types(db: &Connection, sql: &str) -> String {
    match db.session().prepare(sql, &[]) {
        Ok(statement) => {
            let types = statement.parameter_types();
            let names = types.iter().map(|found| match found.element() {
                Some(element) => format!("{}[]", element.name),
                None => PgType::with_oid(found.oid).unwrap().name.to_owned(),
            });
            names.collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.sqlstate().to_owned(),
    }
}

#[test]
fn parameters_have_the_types_of_where_they_stand() {
    let db = database();
    for (sql, expected) in [
        ("select $1", "text"),
        ("select $1 + 1", "int4"),
        ("select 3000000000 * $1", "int8"),
        ("select $1 > 1.5", "numeric"),
        ("select $1::int + $2::numeric(5,1)", "int4 numeric"),
        ("select $1 || 'x'", "text"),
        ("select -$1 * n from t", "numeric"),
        ("select upper($1), left($2, $3), sqrt($4)", "text text int4 float8"),
        ("select coalesce($1, a), nullif(x, $2) from u", "int8 float8"),
        ("select case when $1 then a else $2 end from t", "bool int4"),
        ("select case s when $1 then $2 else n end from t", "text numeric"),
        ("select * from t where s = $1 and d between $2 and $3", "text date date"),
        ("select * from t where a in ($1, 2) and not $2", "int4 bool"),
        ("select * from t where $1 in (1, 2) limit $2 offset $3", "int4 int8 int8"),
        ("select * from t join u on u.x = $1 and t.a = $2", "float8 int4"),
        ("select b.a from t as c, u as b where b.a = $1 and c.a = $2", "int8 int4"),
        ("select * from t where a = (select max(a) from u where x < $1) + $2", "float8 int8"),
        ("select * from t where $1 in (select x from u)", "float8"),
        ("select * from t where s like $1 and at >= $2", "text timestamp"),
        ("select * from t where d < current_date - $1", "date"),
        ("select a from t union all select $1", "int4"),
        ("values (1, $1), ($2, 'x')", "text int4"),
        ("insert into t values ($1, $2, $3, $4, $5)", "int4 numeric varchar date timestamp"),
        ("insert into t (n, a) select $1, $2", "numeric int4"),
        ("insert into t (n, a) select a, $1 from u where s = $2", "int4 text"),
        (
            "insert into t (a) values ($1) on conflict (a) do update set s = $2 returning n + $3",
            "int4 varchar numeric",
        ),
        ("update t set n = $1, s = $2 where a = $3", "numeric varchar int4"),
        ("delete from t where a = $2 and s = $1", "text int4"),
        ("declare c cursor with hold for select * from t where a = $1", "int4"),
        ("select $1 = $2, $2 = a from t", "int4 int4"),
        ("select set_config($1, $2, $3)", "text text bool"),
        ("select * from v where a = $1 and m < $2", "int4 numeric"),
        ("select * from w as o where o.k = $1 and o.s = $2", "int4 text"),
        ("select 1 from pg_stat_activity where pid = $1", "int4"),
        ("select relname from pg_catalog.pg_class c where c.oid = $1", "int8"),
        ("select $1::int[], $2::oid[], $3::text[], $4::oid", "int4[] oid[] text[] oid"),
        ("select $1::timestamptz, $2::json, $3::numeric", "timestamptz json numeric"),
        ("select $1::\"int4\", $2::\"pg_catalog\".\"int4\"::text", "int4 int4"),
        ("select $1::\"pg_catalog\".\"_int4\", $2::_text, $3::\"int8\"[]", "int4[] text[] int8[]"),
        ("select $1::\"numeric\", $2::\"bpchar\", $3::\"bool\"", "numeric bpchar bool"),
        ("insert into t (a, n) values (($1), ($2))", "int4 numeric"),
        ("select ($1)::int8 + 1, trim(trailing from $2)", "int8 text"),
        ("select * from t where a = any($1) and s <> all ($2)", "int4[] text[]"),
        ("select * from u where a = any ($1::bigint[])", "int8[]"),
        (
            "select 1 from information_schema.columns where table_name = $1 \
             and ordinal_position > $2",
            "text int4",
        ),
    ] {
        assert_eq!(types(&db, sql), expected, "{sql}");
    }
}

#[test]
fn parameters_of_no_type_are_refused() {
    let db = database();
    assert_eq!(types(&db, "select $1 is null"), "42P18");
    assert_eq!(types(&db, "select $2"), "42P18");
    assert_eq!(types(&db, "select $0"), "42P02");
    let declared = db.session().prepare("select $1 is null", &[Some(1082)]).unwrap();
    assert_eq!(declared.parameter_types()[0].column, ColumnType::Date);
    let refused = db.session().prepare("select $1", &[Some(600)]).unwrap_err();
    assert_eq!(refused.sqlstate(), "0A000");
}

#[test]
fn statements_are_described_before_they_run() {
    let db = database();
    db.ok("prepare p as select a, s from t where a = $1");
    db.ok("declare c cursor with hold for select d, at from t");
    for (sql, expected) in [
        ("select a, n as m from t", Some("a:int4 m:numeric")),
        ("table u", Some("a:int8 x:float8 s:text")),
        ("values (1, 'x')", Some("column1:int4 column2:text")),
        ("show work_mem", Some("work_mem:text")),
        ("show all", Some("name:text setting:text description:text")),
        ("show tables", Some("table_schema:name table_name:name")),
        ("explain select a from t", Some("QUERY PLAN:text")),
        ("explain delete from t", Some("QUERY PLAN:text")),
        ("execute p(1)", Some("a:int4 s:varchar")),
        ("fetch all from c", Some("d:date at:timestamp")),
        ("insert into t (a) values ($1) returning a, n", Some("a:int4 n:numeric")),
        ("update t set n = $1 where a = $2", None),
        ("declare k cursor with hold for select $1::int", None),
        ("move c", None),
        ("set work_mem = '8MB'", None),
        ("vacuum t", None),
        ("begin", None),
        ("select current_user, now()", Some("current_user:name now:timestamptz")),
    ] {
        let statement = db.session().prepare(sql, &[]).unwrap();
        let columns = db.runtime().block_on(statement.columns(db.session())).unwrap();
        let shown = columns.map(|schema| {
            let fields = schema.fields().iter();
            let shown =
                fields.map(|field| format!("{}:{}", field.name(), PgType::of_field(field).0.name));
            shown.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(shown.as_deref(), expected, "{sql}");
    }
    // As in PostgreSQL, the cursor may be declared between Parse and Execute.
    let early = db.session().prepare("fetch k", &[]).unwrap();
    assert_eq!(db.runtime().block_on(early.columns(db.session())).unwrap(), None);
    assert_eq!(db.error("fetch k").sqlstate(), "34000");
}

#[test]
fn numbers_of_parameters_keep_their_digits() {
    let db = database();
    let session = db.session();
    for (sql, value, expected) in [
        ("select $1 + 1.5 as sum", "-2.125", "-0.625"),
        ("select count(*) from t where n = $1", "1.496", "0"),
        ("select count(*) from t where n < $1", "1.505", "1"),
        ("select n + $1 from t", "0.004", "1.504"),
        ("update t set n = n * $1 returning n", "1.064", "1.60"),
    ] {
        let statement = session.prepare(sql, &[]).unwrap();
        let value = statement.parse_parameter(0, Some(value)).unwrap();
        let answered = db.runtime().block_on(statement.execute(session, &[value]));
        assert_eq!(db.read(answered.unwrap()), [[expected]], "{sql}");
    }
}

#[test]
fn cursors_take_parameters() {
    let db = database();
    db.ok("insert into t (a) values (2), (3)");
    let session = db.session();
    let sql = "declare c cursor with hold for select a from t where a > $1 order by a";
    let statement = session.prepare(sql, &[]).unwrap();
    let answered = db.runtime().block_on(statement.execute(session, &[Value::Int(1)]));
    assert!(answered.is_ok());
    let fetch = session.prepare("fetch backward all in c", &[]).unwrap();
    db.ok("move forward all in c");
    let answered = db.runtime().block_on(fetch.execute(session, &[]));
    assert_eq!(db.read(answered.unwrap()), [["3"], ["2"]]);
}
