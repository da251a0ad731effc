//! Random transactions of three sessions, a statement here and one there: what those answered that
//! committed has to be what they answer one after the other, in some order.
//!
//! Unlike the histories of the storage engine's tests, these go through the planner: each way in
//! which a statement reads rows has to be noted, or a transaction commits that should not.

use std::cell::Cell;

use crate::support::{Answer, Connection};

/// Histories in a normal run; `NACRE_TEST_FULL=1` runs many more.
const HISTORIES: u64 = 20;
const HISTORIES_FULL: u64 = 2_000;

const CLIENTS: usize = 3;

const TABLES: [&str; 3] = [
    "create table a (id integer primary key, v integer, u integer unique)",
    "create table b (id integer primary key, a integer references a on delete cascade, w integer)",
    "create index b_w on b (w)",
];

const RESET: [&str; 4] = [
    "delete from b",
    "delete from a",
    "insert into a values (1, 1, 11), (2, 1, 12), (3, 2, 13), (4, 0, null)",
    "insert into b values (1, 1, 5), (2, 1, 1), (3, 3, 0)",
];

/// `{k}` is an id, `{n}` and `{m}` are small numbers.
const STATEMENTS: [&str; 30] = [
    "select count(*), sum(v) from a where v >= {n}",
    "select id, v from a where id = {k}",
    "select id from a where v = {n}",
    "select max(v) from a",
    "select min(id) from a where id > {k}",
    "select * from a order by id desc limit 1",
    "select a.id, b.w from a join b on b.a = a.id where a.v > {n}",
    "select id from a where id not in (select a from b where a is not null)",
    "select id, (select sum(w) from b where b.a = a.id) from a",
    "select id, (select w from b where b.id = a.id) from a where v < {m}",
    "select id from b where w >= all (select v from a where id < {k})",
    "select id from b where w = {n}",
    "update a set v = v + 1 where id = {k}",
    "update a set v = (select count(*) from b) where id = {k}",
    "update a set v = (select w from b where b.id = a.id) where id = {k}",
    "update a set v = b.w from b where b.a = a.id and b.id = {k}",
    "update a set v = {n} where v = {m} returning id",
    "update b set w = w + 1 where a in (select id from a where v = {n})",
    "update a set u = {k} + 10 where id = {m}",
    "delete from a where id = {k}",
    "delete from a where v = {n} and not exists (select 1 from b where b.a = a.id)",
    "delete from b where w > all (select v from a)",
    "delete from b using a where a.id = b.a and a.v = {n} returning b.id, a.v",
    "insert into a values ({k}, {n}, null) on conflict do nothing",
    "insert into a values ({k}, {n}, null) on conflict (id) do update set v = a.v + excluded.v",
    "insert into b select id + 10, id, v from a where v = {n} on conflict (id) do nothing",
    "insert into b values ({k}, {m}, {n})",
    "insert into a select max(id) + 1, count(*), max(u) + 1 from a",
    "merge into a using b on a.id = b.id when matched and b.w > {n} then update set v = b.w \
     when not matched then insert values (b.id, b.w, null)",
    "merge into b using (select id, v from a where v = {n}) s on b.id = s.id \
     when matched then delete when not matched then do nothing",
];

/// A stream of numbers that are the same in each run.
struct Numbers(Cell<u64>);

impl Numbers {
    fn below(&self, end: usize) -> usize {
        // The generator of Knuth's MMIX.
        let next = self.0.get().wrapping_mul(6_364_136_223_846_793_005);
        self.0.set(next.wrapping_add(1_442_695_040_888_963_407));
        (self.0.get() >> 33) as usize % end
    }

    fn statement(&self) -> String {
        let number = |end| self.below(end).to_string();
        STATEMENTS[self.below(STATEMENTS.len())]
            .replace("{k}", &(self.below(6) + 1).to_string())
            .replace("{n}", &number(4))
            .replace("{m}", &number(5))
    }
}

/// A transaction and what its statements answered.
#[derive(Default)]
struct Client {
    statements: Vec<String>,
    answers: Vec<Vec<String>>,
    is_over: bool,
    has_committed: bool,
}

fn answer(connection: &Connection, sql: &str) -> Option<Vec<String>> {
    Some(match connection.run(sql).ok()? {
        Answer::Tag(tag) => vec![tag],
        Answer::Rows(_, rows) => {
            let mut rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            rows.sort();
            rows
        }
    })
}

fn state(connection: &Connection) -> Vec<String> {
    [connection.rows("select * from a order by id"), connection.rows("select * from b order by id")]
        .concat()
}

/// Runs one history; returns what the clients did, and what is left.
fn history(numbers: &Numbers, sessions: &[Connection]) -> (Vec<Client>, Vec<String>) {
    RESET.iter().for_each(|sql| drop(sessions[0].ok(sql)));
    let client = |_| {
        let count = 2 + numbers.below(3);
        let statements = (0..count).map(|_| numbers.statement()).collect();
        Client { statements, ..Client::default() }
    };
    let mut clients: Vec<Client> = (0..CLIENTS).map(client).collect();
    sessions.iter().for_each(|session| drop(session.ok("begin")));
    while clients.iter().any(|client| !client.is_over) {
        let at = numbers.below(CLIENTS);
        let (client, session) = (&mut clients[at], &sessions[at]);
        if client.is_over {
            continue;
        }
        match client.statements.get(client.answers.len()) {
            None => {
                client.is_over = true;
                client.has_committed = session.run("commit").is_ok();
            }
            Some(sql) => match answer(session, sql) {
                Some(rows) => client.answers.push(rows),
                None => {
                    client.is_over = true;
                    session.ok("rollback");
                }
            },
        }
    }
    (clients, state(&sessions[0]))
}

/// Whether transactions answer the same, and leave the same, one after the other in that order.
fn is_serial(alone: &Connection, order: &[&Client], left: &[String]) -> bool {
    RESET.iter().for_each(|sql| drop(alone.ok(sql)));
    for client in order {
        for (sql, expected) in client.statements.iter().zip(&client.answers) {
            if answer(alone, sql).as_ref() != Some(expected) {
                return false;
            }
        }
    }
    state(alone) == left
}

fn orders<'a>(clients: &[&'a Client]) -> Vec<Vec<&'a Client>> {
    if clients.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for first in 0..clients.len() {
        let mut rest = clients.to_vec();
        let client = rest.remove(first);
        all.extend(orders(&rest).into_iter().map(|order| [vec![client], order].concat()));
    }
    all
}

#[test]
fn transactions_answer_as_if_alone() {
    let is_full = std::env::var("NACRE_TEST_FULL").is_ok_and(|value| value == "1");
    let histories = if is_full { HISTORIES_FULL } else { HISTORIES };
    let first = Connection::open(None);
    let alone = Connection::open(None);
    for sql in TABLES {
        first.ok(sql);
        alone.ok(sql);
    }
    let sessions = [first.another(), first.another(), first.another()];
    let mut committed = 0;
    for seed in 0..histories {
        let (clients, left) = history(&Numbers(Cell::new(seed)), &sessions);
        let done: Vec<&Client> = clients.iter().filter(|client| client.has_committed).collect();
        committed += done.len();
        let is_serializable = orders(&done).iter().any(|order| is_serial(&alone, order, &left));
        let told = || {
            let one = |client: &&Client| format!("{:#?}\n{:?}", client.statements, client.answers);
            done.iter().map(one).collect::<Vec<_>>().join("\n")
        };
        assert!(is_serializable, "seed {seed}:\n{}\nleft: {left:?}", told());
    }
    assert!(committed as u64 > histories, "{committed} of {histories} histories");
}
