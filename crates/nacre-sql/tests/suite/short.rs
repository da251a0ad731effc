//! Short statements answer as they do on the general way.
//!
//! Random statements run in two databases with the same rows: in one as they are, in the other
//! behind a comment, which keeps them from being looked at as short ones.

use nacre_sql::{Error, Value};

use crate::support::{Answer, Connection};

/// A sequence of numbers that is the same each time for a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % count
    }

    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    fn whole(&mut self) -> String {
        match self.below(12) {
            0 => "2147483647".into(),
            1 => "-2147483648".into(),
            2 => "3000000000".into(),
            3 => format!("-{}", self.below(5)),
            _ => self.below(14).to_string(),
        }
    }

    fn number(&mut self) -> String {
        match self.below(4) {
            0 => format!("{}.{}", self.below(20), self.below(100)),
            1 => format!("{}.5", self.below(9)),
            _ => self.whole(),
        }
    }

    fn text(&mut self) -> String {
        self.one(&["'a'", "'b'", "''", "'it''s'", "'too long for this one'", "'c '"]).into()
    }

    fn condition(&mut self) -> String {
        let op = self.one(&["=", "=", "<", "<=", ">", ">=", "<>"]);
        match self.below(12) {
            0..=3 => format!("id {op} {}", self.whole()),
            4 => format!("sub = {}", self.below(3)),
            5 => format!("id in ({}, {}, {})", self.whole(), self.whole(), self.below(9)),
            6 => format!("id between {} and {}", self.below(6), self.below(12)),
            7 => format!("v {op} {}", self.whole()),
            8 => format!("s {op} {}", self.text()),
            9 => format!("d {op} {}", self.number()),
            10 => self
                .one(&["v is null", "s is not null", "f > 1.5", "n = 3000", "day = '2026-01-02'"])
                .into(),
            _ => format!("{} {op} x.id", self.whole()),
        }
    }

    fn conditions(&mut self) -> String {
        let mut all = self.condition();
        for _ in 0..self.below(3) {
            all = format!("{all} and {}", self.condition());
        }
        all
    }

    fn expression(&mut self) -> String {
        match self.below(12) {
            0 => "v".into(),
            1 => format!("v + {}", self.whole()),
            2 => format!("v * {} - id", self.below(5)),
            3 => format!("d + {}", self.number()),
            4 => format!("d - {}", self.below(50)),
            5 => format!("v / {}", self.below(3)),
            6 => "id + sub".into(),
            7 => format!("f * {}", self.number()),
            8 => format!("-(v % {})", self.below(4)),
            9 => "n + v".into(),
            10 => "d * 3".into(),
            _ => "s".into(),
        }
    }

    fn select(&mut self) -> String {
        let items = match self.below(4) {
            0 => "*".to_owned(),
            1 => "x.*".to_owned(),
            2 => format!("id, {}, sub", self.expression()),
            _ => format!("{} as one, id, sub", self.expression()),
        };
        let order = match self.below(4) {
            0 => " order by id, sub",
            1 => " order by id desc, sub desc limit 3",
            2 => " order by id limit 4",
            _ => "",
        };
        format!("select {items} from t x where {}{order}", self.conditions())
    }

    fn change(&mut self) -> String {
        let change = self.plain_change();
        let returning = match self.below(8) {
            0 => "*".to_owned(),
            1 => format!("id, {}, sub", self.expression()),
            2 => format!("{} as one, s, id", self.expression()),
            _ => return change,
        };
        format!("{change} returning {returning}")
    }

    /// A change of the table that has defaults and constraints.
    fn ruled_change(&mut self) -> String {
        let whole = self.whole();
        let change = match self.below(10) {
            0 => format!("insert into r (a) values ({whole})"),
            1 => format!("insert into r (b, a) values ({}, {whole})", self.text()),
            2 => "insert into r default values".to_owned(),
            3 => format!("insert into r (a, c) values ({whole}, default), (default, {whole})"),
            4 => format!("insert into r (id, a) values ({whole}, 3)"),
            5 => format!("insert into r (d, a) values ({}, null)", self.number()),
            6 => format!("update r set a = a - {} where id = {whole}", self.below(9)),
            7 => format!("update r set b = {} where id = {whole}", self.text()),
            8 => format!("update r set d = d + 1, a = c where id = {whole}"),
            _ => format!("delete from r where id = {whole}"),
        };
        match self.below(3) {
            0 => format!("{change} returning id, a, b, c, d"),
            _ => change,
        }
    }

    fn plain_change(&mut self) -> String {
        let verb = self.below(10);
        if verb == 0 {
            return format!("delete from t x where {}", self.conditions());
        }
        if verb < 4 {
            let (id, sub) = (self.whole(), self.below(3));
            return match self.below(3) {
                0 => format!("insert into t (sub, id, s) values ({sub}, {id}, {})", self.text()),
                1 => format!("insert into t (id, sub, d) values ({id}, {sub}, {})", self.number()),
                _ => format!(
                    "insert into t values ({id}, {sub}, {}, {}, 1.25, {}, '2026-01-02', 7), \
                     ({id}, 9, null, default, null, -3, null, null)",
                    self.whole(),
                    self.text(),
                    self.number()
                ),
            };
        }
        let set = match self.below(6) {
            0 => format!("s = {}", self.text()),
            1 => format!("v = {}, s = null", self.expression()),
            2 => format!("d = {}", self.expression()),
            3 => format!("v = {}", self.number()),
            4 => format!("f = {}, n = {}", self.expression(), self.whole()),
            _ => format!("v = {}", self.expression()),
        };
        format!("update t x set {set} where {}", self.conditions())
    }
}

fn fill(db: &Connection) {
    db.ok(
        "create table t (id integer, sub smallint, v integer, s varchar(5), f double precision, \
           d numeric(9,2), day date, n bigint, primary key (id, sub))",
    );
    db.ok("create table r (id bigint generated by default as identity primary key, \
           a integer not null default 5 check (a > 0), b varchar(5) default 'x', \
           c integer default 1 + 2, d numeric(9,2) default 0.5, \
           at date default current_date, check (a < c * 40 or d is null), \
           check (b <> 'a' and at is not null))");
    db.ok("insert into t select n / 2, n % 2, n * 10, 's' || (n % 7), n / 4.0, n * 1.25, \
           date '2026-01-01' + cast(n as integer), n * 1000 from generate_series(0, 19) as g (n)");
}

/// What a statement says, with rows in an order of their own unless it has one.
fn said(sql: &str, answer: Result<Answer, Error>) -> String {
    match answer {
        Ok(Answer::Tag(tag)) => tag,
        Ok(Answer::Rows(types, mut rows)) => {
            // Which rows a limit keeps among equal ones is open.
            if !sql.contains("order by id, sub") && !sql.contains("sub desc") {
                rows.sort();
            }
            match sql.ends_with("order by id limit 4") {
                true => format!("{types:?} {}", rows.len()),
                false => format!("{types:?} {rows:?}"),
            }
        }
        Err(error) => format!("{} {} {:?}", error.sqlstate(), error.message(), error.detail()),
    }
}

fn both_ways_say_the_same(seed: u64, count: usize) {
    let (short, general) = (Connection::open(None), Connection::open(None));
    [&short, &general].into_iter().for_each(fill);
    if seed.is_multiple_of(3) {
        short.ok("create index on t (s, v)");
        short.ok("create index on t using hash (n)");
    }
    let mut numbers = Numbers(seed);
    let mut is_in_block = false;
    for step in 0..count {
        let sql = match numbers.below(24) {
            0 if !is_in_block => "begin".to_owned(),
            1 if is_in_block => "commit".to_owned(),
            2 if is_in_block => "rollback".to_owned(),
            3..=9 => numbers.change(),
            10..=14 => numbers.ruled_change(),
            _ => numbers.select(),
        };
        let one = said(&sql, short.run(&sql));
        let two = said(&sql, general.run(&format!("/* general */ {sql}")));
        assert_eq!(one, two, "seed {seed}, step {step}: {sql}");
        is_in_block = short.session().transaction_status() != nacre_sql::TransactionStatus::Idle;
        if short.session().transaction_status() == nacre_sql::TransactionStatus::Failed {
            [&short, &general].into_iter().for_each(|db| drop(db.ok("rollback")));
            is_in_block = false;
        }
    }
    let all = "select * from t order by id, sub";
    assert_eq!(short.rows(all), general.rows(&format!("/* general */ {all}")), "seed {seed}");
    let all = "select id, a, b, c, d, at is null from r order by id";
    assert_eq!(short.rows(all), general.rows(&format!("/* general */ {all}")), "seed {seed}");
}

#[test]
fn short_statements_answer_as_on_the_general_way() {
    for seed in 1..=3 {
        both_ways_say_the_same(seed, 120);
    }
}

#[test]
#[ignore = "takes minutes: many more seeds of the test above"]
fn short_statements_answer_as_on_the_general_way_in_full() {
    for seed in 1..=100 {
        both_ways_say_the_same(seed, 300);
    }
}

#[test]
fn columns_have_the_names_and_types_of_the_general_way() {
    let db = Connection::open(None);
    fill(&db);
    // Numbers in Nacre's own engine have PostgreSQL's types, which short statements have not yet.
    db.ok("set nacre.engine = datafusion");
    let schema = |sql: &str| {
        let sql = sql.to_owned();
        let session = std::sync::Arc::clone(db.session());
        let run = db.runtime().spawn(async move {
            match session.execute(&sql, nacre_sql::StatementIo::default()).await.unwrap() {
                nacre_sql::Outcome::Rows { schema, .. } => schema,
                nacre_sql::Outcome::Command { tag, .. } => panic!("{tag}"),
            }
        });
        db.runtime().block_on(run).unwrap()
    };
    let queries = [
        "select * from t where id = 1",
        "select ID, v + 1, v+1 as \"Sum\", d * 2, -f, id, sub from t where id = 1 and sub = 0",
        "select x.v from t x where x.id in (1, 2)",
    ];
    for sql in queries {
        assert_eq!(schema(sql), schema(&format!("/* general */ {sql}")), "{sql}");
        // Once more, from the plan that is kept.
        assert_eq!(schema(sql), schema(&format!("/* general */ {sql}")), "{sql}");
    }
}

#[test]
fn plans_follow_the_tables() {
    let db = Connection::open(None);
    db.ok("create table t (id integer primary key, v integer)");
    db.ok("insert into t values (1, 10)");
    assert_eq!(db.rows("select v from t where id = 1"), ["10"]);
    db.ok("drop table t");
    assert_eq!(db.error("select v from t where id = 1").sqlstate(), "42P01");
    db.ok("create table t (v text, id bigint primary key)");
    db.ok("insert into t values ('x', 1)");
    assert_eq!(db.rows("select v from t where id = 1"), ["x"]);
    db.ok("drop table t");
    db.ok("create table t (id integer, v integer)");
    db.ok("insert into t values (1, 3), (1, 4)");
    assert_eq!(db.rows("select v from t where id = 1 order by v"), ["3", "4"]);
}

#[test]
fn plans_follow_the_rules_of_tables() {
    let db = Connection::open(None);
    db.ok("create table t (id integer primary key, v integer default 1)");
    let insert = |id: u64| db.ok(&format!("insert into t (id) values ({id})"));
    let read = |id: u64| db.rows(&format!("select v from t where id = {id}"));
    (1..=2).for_each(|id| drop(insert(id)));
    assert_eq!(read(2), ["1"]);
    db.ok("alter table t alter column v set default 2 * 3");
    (3..=4).for_each(|id| drop(insert(id)));
    assert_eq!(read(4), ["6"]);
    db.ok("alter table t add constraint small check (v < 7)");
    assert_eq!(db.error("insert into t values (5, 7)").sqlstate(), "23514");
    db.ok("update t set v = v - 1 where id = 4");
    assert_eq!(db.error("update t set v = v + 9 where id = 4").sqlstate(), "23514");
    assert_eq!(read(4), ["5"]);
    db.ok("alter table t drop constraint small");
    db.ok("update t set v = v + 9 where id = 4");
    assert_eq!(read(4), ["14"]);
}

#[test]
fn rules_hold_in_every_repetition() {
    let db = Connection::open(None);
    db.ok("create table t (id integer primary key, number bigint generated always as identity, \
           v integer check (v > 0))");
    for id in 1..=3 {
        db.ok(&format!("insert into t (id, v) values ({id}, 1)"));
        let assigned = format!("update t set number = 7 where id = {id}");
        assert_eq!(db.error(&assigned).sqlstate(), "428C9");
        let given = format!("insert into t (id, number, v) values ({}, 9, 1)", id + 10);
        assert_eq!(db.error(&given).sqlstate(), "428C9");
    }
    // More rows than a batch has.
    let many = |first: u32, last: &str| {
        let rows: Vec<_> = (first..first + 9_000).map(|id| format!("({id}, 1)")).collect();
        format!("insert into t (id, v) values {}, ({}, {last})", rows.join(","), first + 9_000)
    };
    for first in [100, 20_000] {
        db.ok(&many(first, "1"));
        assert_eq!(db.error(&many(first + 9_500, "0")).sqlstate(), "23514");
    }
    assert_eq!(db.rows("select count(*), count(distinct number) from t"), ["18005|18005"]);
}

#[test]
fn prepared_statements_take_typed_values() {
    let db = Connection::open(None);
    fill(&db);
    let session = std::sync::Arc::clone(db.session());
    let run = |sql: &str, values: &[Value]| {
        let statement = session.prepare(sql, &[]).unwrap();
        let (session, values) = (std::sync::Arc::clone(&session), values.to_vec());
        db.runtime().block_on(async move {
            match statement.execute(&session, &values).await? {
                nacre_sql::Outcome::Command { tag, .. } => Ok(tag),
                nacre_sql::Outcome::Rows { stream, .. } => {
                    use futures::TryStreamExt;
                    let batches: Vec<_> = stream.try_collect().await.map_err(Error::from)?;
                    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
                    Ok(rows.to_string())
                }
            }
        })
    };
    let of = |result: Result<String, Error>| result.unwrap_or_else(|error| error.sqlstate().into());
    let update = "update t set v = v + $1, d = d - $2, s = $3 where id = $4 and sub = $5";
    let values =
        [Value::Int(5), Value::Int(150), Value::Bytes(b"new".into()), Value::Int(1), Value::Int(0)];
    assert_eq!(of(run(update, &values)), "UPDATE 1");
    assert_eq!(db.rows("select v, d, s from t where id = 1 and sub = 0"), ["25|1.00|new"]);
    assert_eq!(of(run(update, &values[..3])), "42601");
    let mut long = values.clone();
    long[2] = Value::Bytes(b"too long".into());
    assert_eq!(of(run(update, &long)), "22001");
    long[2] = Value::Int(7);
    assert_eq!(of(run(update, &long)), "22000");
    let select = "select * from t where id between $1 and $2 order by id limit $3";
    assert_eq!(of(run(select, &[Value::Int(1), Value::Int(3), Value::Int(4)])), "4");
    assert_eq!(of(run(select, &[Value::Null, Value::Int(3), Value::Int(4)])), "0");
    let count = "select count(*) from t where s like $1 and v < $2 having count(*) > 0";
    assert_eq!(of(run(count, &[Value::Bytes(b"s%".into()), Value::Int(100)])), "1");
    let insert = "insert into t (id, sub, day, s) values ($1, 5, $2, upper($3))";
    let values = [Value::Int(50), Value::Int(1), Value::Bytes(b"x".into())];
    assert_eq!(of(run(insert, &values)), "INSERT 0 1");
    assert_eq!(db.rows("select day, s from t where id = 50"), ["1970-01-02|X"]);
    assert_eq!(of(run(insert, &values)), "23505");
    let columns = |sql: &str| {
        let statement = session.prepare(sql, &[]).unwrap();
        let session = std::sync::Arc::clone(&session);
        let columns = async move { statement.columns(&session).await };
        let schema = db.runtime().block_on(columns).unwrap();
        schema.map(|schema| schema.fields().iter().map(|field| field.name().clone()).collect())
    };
    let names = |names: &[&str]| -> Option<Vec<String>> {
        Some(names.iter().map(|&name| name.to_owned()).collect())
    };
    assert_eq!(columns("select v, s as t from t where id = $1"), names(&["v", "t"]));
    assert_eq!(
        columns("delete from t where id = $1 returning id, v + 1"),
        names(&["id", "?column?"])
    );
    assert_eq!(columns(insert), None::<Vec<String>>);
    let statement = session.prepare(select, &[]).unwrap();
    let types = statement.parameter_types();
    assert_eq!(
        types.iter().map(|one| one.column.to_string()).collect::<Vec<_>>(),
        ["integer", "integer", "bigint"]
    );
}

/// Prints how long short statements take both ways, in turn.
#[test]
#[ignore = "a measurement, not a test"]
fn ratio_of_both_ways() {
    const ROWS: i64 = 100_000;
    let db = Connection::open(None);
    db.ok("create table t (id integer primary key, v integer, s text)");
    db.ok(&format!(
        "insert into t select n, n, 'row ' || n from generate_series(1, {ROWS}) as g (n)"
    ));
    let timed = |sql: &dyn Fn(i64) -> String, count: i64| {
        let begin = std::time::Instant::now();
        for n in 0..count {
            db.ok(&sql(1 + n * 7919 % ROWS));
        }
        begin.elapsed().as_secs_f64() * 1e6 / count as f64
    };
    let select = |n: i64| format!("select v, s from t where id = {n}");
    let update = |n: i64| format!("update t set v = v + 1 where id = {n}");
    let range = |n: i64| format!("select id, v from t where id > {n} order by id limit 10");
    let insert = |n: i64| format!("insert into t values ({}, 1, 'new')", n + 10 * ROWS);
    db.ok("create table r (id bigint generated always as identity primary key, \
           v integer check (v > 0), at timestamp default now())");
    let drawn = |n: i64| format!("insert into r (v) values ({n})");
    let statements: [(&str, &dyn Fn(i64) -> String); 5] = [
        ("select", &select),
        ("update", &update),
        ("range", &range),
        ("insert", &insert),
        ("insert with rules", &drawn),
    ];
    for (name, sql) in statements {
        let general = |n: i64| format!("/* general */ {}", sql(n + ROWS * 20));
        let short = timed(sql, 2_000);
        let general = match name {
            "insert" => timed(&general, 300),
            _ => timed(&|n| format!("/* general */ {}", sql(n)), 300),
        };
        println!("{name}: {short:.1} us, general {general:.1} us, ratio {:.1}", general / short);
    }
}
