//! Random queries in Nacre's own engine and in PostgreSQL 15, where its programs are.
//!
//! A query is a join of one to four tables, queries in FROM among them, with random conditions and
//! outputs, groups, sets of groups or windows, or a set operation of such. Conditions and outputs
//! have queries within them. Unsupported ones are skipped and counted.
//!
//! | variable | without it |
//! |---|---|
//! | `NACRE_TEST_SEED` | a seed of its own, which a failure prints |
//! | `NACRE_RANDOM_QUERIES` | 400 queries |

use std::fmt::Write;

use crate::server::TestServer;
use crate::support::{Answer, Connection};

/// Tables with few values, so that rows find partners, and with nulls.
const TABLES: [(&str, &str, &str); 3] = [
    (
        "r",
        "id integer primary key, k integer, w bigint, s text, d numeric(8,2), day date, o boolean",
        "select n, case when n % 5 <> 0 then n % 7 end, n % 11, \
         case when n % 4 <> 0 then 's' || n % 6 end, (n % 9) * 1.25, \
         case when n % 3 <> 0 then date '2024-01-01' + n % 8 end, \
         case when n % 6 <> 0 then n % 2 = 0 end from generate_series(1, 60) g(n)",
    ),
    (
        "q",
        "id integer primary key, k smallint, w integer, s varchar(5), d numeric(10,3), day date, \
         o boolean",
        "select n, case when n % 4 <> 0 then n % 5 end, case when n % 7 <> 0 then n % 6 end, \
         case when n % 5 <> 0 then 's' || n % 9 end, case when n % 8 <> 0 then (n % 6) * 1.25 end, \
         date '2024-01-03' + n % 5, n % 3 = 0 from generate_series(1, 25) g(n)",
    ),
    (
        "z",
        "id integer primary key, k integer, w integer, s char(4), d numeric(8,2), day date, \
         o boolean",
        "select n, n, null, 's' || n, n * 2.5, null, null from generate_series(1, 4) g(n)",
    ),
];

/// Columns that all tables have.
const COLUMNS: [&str; 7] = ["id", "k", "w", "s", "d", "day", "o"];

/// A generator of queries.
struct QueryMaker {
    state: u64,
    aliases: usize,
    /// Queries within expressions that may still be made.
    inner: usize,
}

impl QueryMaker {
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767);
        ((self.state >> 33) % end as u64) as usize
    }

    fn is_in(&mut self, chance: usize, of: usize) -> bool {
        self.below(of) < chance
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    /// An item of FROM and its alias.
    fn item(&mut self, depth: usize) -> (String, String) {
        self.aliases += 1;
        let alias = format!("x{}", self.aliases);
        let table = self.pick(&["r", "q", "r", "q", "z"]);
        if depth > 0 && self.is_in(1, 4) {
            let inner = self.derived(depth - 1);
            return (format!("({inner}) {alias}"), alias);
        }
        (format!("{table} {alias}"), alias)
    }

    /// A query with the columns of a table.
    fn derived(&mut self, depth: usize) -> String {
        let (from, aliases) = self.from(depth);
        let alias = aliases[self.below(aliases.len())].clone();
        if self.is_in(1, 3) {
            // Groups by two columns.
            let columns = format!(
                "min({alias}.id) as id, {alias}.k, count(*) as w, {alias}.s, \
                 sum({alias}.d) as d, max({alias}.day) as day, {alias}.id > 3 as o"
            );
            let filter = self.filter(&aliases, 2);
            return format!(
                "select {columns} from {from}{filter} group by {alias}.k, {alias}.s, {alias}.id > 3"
            );
        }
        let columns: Vec<_> = COLUMNS.iter().map(|column| format!("{alias}.{column}")).collect();
        let (distinct, filter) =
            (if self.is_in(1, 5) { "distinct " } else { "" }, self.filter(&aliases, 2));
        format!("select {distinct}{} from {from}{filter}", columns.join(", "))
    }

    /// FROM, and the aliases in it.
    fn from(&mut self, depth: usize) -> (String, Vec<String>) {
        let (mut from, alias) = self.item(depth);
        let mut aliases = vec![alias];
        for _ in 0..self.below(3) {
            let (item, alias) = self.item(depth);
            if self.is_in(1, 5) {
                let _ = write!(from, " cross join {item}");
                aliases.push(alias);
                continue;
            }
            let kind = self.pick(&["join", "left join", "right join", "full join", "join"]);
            if self.is_in(1, 8) && aliases.len() == 1 {
                let name = self.pick(&["id", "k", "day"]);
                let _ = write!(from, " {kind} {item} using ({name})");
                aliases.push(alias);
                continue;
            }
            let other = aliases[self.below(aliases.len())].clone();
            let key = self.pick(&["k", "id", "s", "w", "day", "d"]);
            let mut condition = format!("{other}.{key} = {alias}.{key}");
            aliases.push(alias);
            // PostgreSQL has FULL JOIN only with equalities alone, or such it can merge.
            if kind != "full join" {
                if self.is_in(1, 6) {
                    condition = self.condition(&aliases, 1);
                } else if self.is_in(1, 3) {
                    let more = self.condition(&aliases, 1);
                    let _ = write!(condition, " and {more}");
                }
            }
            let _ = write!(from, " {kind} {item} on {condition}");
        }
        (from, aliases)
    }

    fn filter(&mut self, aliases: &[String], depth: usize) -> String {
        match self.below(4) {
            0 => String::new(),
            _ => format!(" where {}", self.condition(aliases, depth)),
        }
    }

    fn condition(&mut self, aliases: &[String], depth: usize) -> String {
        if depth > 0 {
            let (left, right) =
                (|maker: &mut Self| maker.condition(aliases, depth - 1), self.below(8));
            match right {
                0 => return format!("({} or {})", left(self), left(self)),
                1 | 2 => return format!("({} and {})", left(self), left(self)),
                3 => return format!("not ({})", left(self)),
                _ => {}
            }
        }
        if self.inner > 0 && self.is_in(1, 6) {
            return self.inner_condition(aliases);
        }
        let alias = aliases[self.below(aliases.len())].clone();
        let other = aliases[self.below(aliases.len())].clone();
        let (number, op) = (self.below(7), self.pick(&["=", "<>", "<", "<=", ">", ">="]));
        match self.below(12) {
            0 => format!("{alias}.k {op} {number}"),
            1 => format!("{alias}.k {op} {other}.w"),
            2 => format!("{alias}.d {op} {other}.d"),
            3 => format!("{alias}.s {op} 's{number}'"),
            4 => format!("{alias}.k in ({number}, 2, null)"),
            5 => format!("{alias}.d between {number} and {}.5", number + 3),
            6 => format!("{alias}.day {op} date '2024-01-0{}'", number + 1),
            7 => format!("{alias}.{} is null", self.pick(&COLUMNS)),
            8 => format!("{alias}.{} is not null", self.pick(&COLUMNS)),
            9 => format!("{alias}.s like 's{number}%'"),
            10 => format!("{alias}.o"),
            _ => format!("{alias}.w + {number} {op} {other}.id"),
        }
    }

    /// A condition with a query that sees the columns of `aliases`.
    fn inner_condition(&mut self, aliases: &[String]) -> String {
        let alias = aliases[self.below(aliases.len())].clone();
        let (key, op) = (self.pick(&["k", "id", "w"]), self.pick(&["=", "<>", "<", ">="]));
        let not = self.pick(&["", "not "]);
        let operand = self.sum(&alias, key);
        match self.below(8) {
            0 | 1 => format!("{not}exists ({})", self.inner_query(aliases, "k", false)),
            2 | 3 => format!("{operand} {not}in ({})", self.inner_query(aliases, key, false)),
            4 => {
                let word = self.pick(&["any", "all"]);
                format!("{operand} {op} {word} ({})", self.inner_query(aliases, key, false))
            }
            5 => format!(
                "case when {alias}.o then {not}exists ({}) else {alias}.k > 2 end",
                self.inner_query(aliases, "k", false)
            ),
            _ => format!("{operand} {op} ({})", self.inner_query(aliases, key, true)),
        }
    }

    /// A column, or a sum or product of it, which might be too large: then a query with it may
    /// fail.
    fn sum(&mut self, alias: &str, column: &str) -> String {
        let number = 1 + self.below(4);
        match self.below(6) {
            0 => format!("{alias}.{column} + {number}"),
            1 => format!("{alias}.{column} * {number}"),
            _ => format!("{alias}.{column}"),
        }
    }

    /// A query of a column, perhaps of one row, that sees the columns of `aliases`.
    fn inner_query(&mut self, aliases: &[String], column: &str, is_scalar: bool) -> String {
        self.inner -= 1;
        let (from, own) = self.from(0);
        let inner = own[self.below(own.len())].clone();
        let mut conditions = Vec::new();
        if !self.is_in(1, 5) {
            let outer = aliases[self.below(aliases.len())].clone();
            let op = self.pick(&["=", "=", "=", "<", "<>"]);
            let key = self.pick(&["k", "id", "s", "w", "day"]);
            let [own, other] = match key {
                "s" | "day" => [format!("{inner}.{key}"), format!("{outer}.{key}")],
                _ => [self.sum(&inner, key), self.sum(&outer, key)],
            };
            conditions.push(format!("{own} {op} {other}"));
        }
        if self.is_in(1, 2) {
            conditions.push(self.condition(&own, 1));
        }
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" where {}", conditions.join(" and ")),
        };
        let value = match column {
            "k" | "id" | "w" => self.sum(&inner, column),
            _ => format!("{inner}.{column}"),
        };
        match self.below(6) {
            0 if !is_scalar => format!("select distinct {value} from {from}{filter}"),
            1 if !is_scalar => format!(
                "select {inner}.{column} from {from}{filter} group by {inner}.{column} \
                 having count(*) > 1"
            ),
            2 if is_scalar => {
                format!("select {inner}.{column} from {from}{filter} order by 1 limit 1")
            }
            3 => format!("select count({inner}.{column}) from {from}{filter}"),
            4 => format!("select avg({inner}.{column}) from {from}{filter}"),
            _ if is_scalar => format!("select max({inner}.{column}) from {from}{filter}"),
            _ => format!("select {value} from {from}{filter}"),
        }
    }

    fn window(&mut self, alias: &str) -> String {
        let partition = self.pick(&["k", "o", "s"]);
        let order = self.pick(&["id", "w", "day"]);
        match self.below(6) {
            0 => format!("rank() over (partition by {alias}.{partition} order by {alias}.{order})"),
            1 => format!("dense_rank() over (order by {alias}.{order} desc nulls last)"),
            2 => format!("sum({alias}.d) over (partition by {alias}.{partition})"),
            3 => format!(
                "count({alias}.w) over (partition by {alias}.{partition} order by {alias}.{order})"
            ),
            4 => format!(
                "max({alias}.id) over (order by {alias}.{order} groups between 1 preceding and \
                 1 following)"
            ),
            _ => format!("avg({alias}.w) over (order by {alias}.{order})"),
        }
    }

    fn output(&mut self, aliases: &[String]) -> String {
        let alias = aliases[self.below(aliases.len())].clone();
        if self.inner > 0 && self.is_in(1, 12) {
            let column = self.pick(&["k", "s", "d", "day"]);
            return format!("({})", self.inner_query(aliases, column, true));
        }
        match self.below(8) {
            0 => format!("{alias}.w + {alias}.id"),
            1 => format!("{alias}.d * 2"),
            2 => format!("coalesce({alias}.k, -1)"),
            3 => format!("case when {alias}.o then {alias}.k else {alias}.id end"),
            _ => format!("{alias}.{}", self.pick(&COLUMNS)),
        }
    }

    fn query(&mut self) -> String {
        self.aliases = 0;
        self.inner = self.below(4);
        if self.is_in(1, 10) {
            return self.set_operation(2);
        }
        let with = if self.is_in(1, 6) {
            let common = self.derived(1);
            Some(common)
        } else {
            None
        };
        let (mut from, mut aliases) = self.from(2);
        if with.is_some() {
            let key = self.pick(&["k", "id"]);
            let _ = write!(from, " join common c on c.{key} = {}.{key}", aliases[0]);
            aliases.push("c".to_owned());
        }
        let filter = self.filter(&aliases, 3);
        let with = with.map(|common| format!("with common as ({common}) ")).unwrap_or_default();
        if self.is_in(1, 8) {
            let alias = aliases[self.below(aliases.len())].clone();
            let sets = self.pick(&["rollup", "cube", "grouping sets"]);
            let keys = format!("{alias}.k, {alias}.o");
            return format!(
                "{with}select {keys}, grouping({keys}), count(*), sum({alias}.d), avg({alias}.w) \
                 from {from}{filter} group by {sets} ({keys})"
            );
        }
        if self.is_in(1, 3) {
            let key = self.output(&aliases);
            let alias = aliases[self.below(aliases.len())].clone();
            let having = if self.is_in(1, 3) { " having count(*) > 1" } else { "" };
            return format!(
                "{with}select {key} as g, count(*), count({alias}.k), sum({alias}.d), \
                 min({alias}.s), max({alias}.w), count(distinct {alias}.day), avg({alias}.d), \
                 sum({alias}.w) / nullif(count({alias}.id), 0) \
                 from {from}{filter} group by 1{having}"
            );
        }
        let count = 1 + self.below(4);
        let mut outputs: Vec<_> = (0..count).map(|_| self.output(&aliases)).collect();
        if self.is_in(1, 6) {
            let alias = aliases[self.below(aliases.len())].clone();
            outputs[0] = self.window(&alias);
        }
        let distinct = if self.is_in(1, 6) { "distinct " } else { "" };
        let order: Vec<_> = (1..=count).map(|place| place.to_string()).collect();
        let (order, limit) = match self.below(4) {
            0 => (format!(" order by {}", order.join(", ")), " limit 7"),
            _ => (String::new(), ""),
        };
        format!("{with}select {distinct}{} from {from}{filter}{order}{limit}", outputs.join(", "))
    }
}

impl QueryMaker {
    fn set_operation(&mut self, depth: usize) -> String {
        let operand = |maker: &mut Self| {
            if depth > 0 && maker.is_in(1, 4) {
                return format!("({})", maker.set_operation(depth - 1));
            }
            let (from, aliases) = maker.from(1);
            let alias = aliases[maker.below(aliases.len())].clone();
            let filter = maker.filter(&aliases, 1);
            format!("select {alias}.k, {alias}.day, {alias}.o from {from}{filter}")
        };
        let word = self.pick(&["union", "union all", "intersect", "except", "except all"]);
        format!("{} {word} {}", operand(self), operand(self))
    }
}

/// Whether ORDER BY stands outside of all parentheses.
fn has_order(sql: &str) -> bool {
    let depth = |part: &str| part.matches('(').count() - part.matches(')').count();
    sql.match_indices(" order by ").any(|(at, _)| depth(&sql[..at]) == 0)
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap())
}

#[test]
fn random_queries_answer_as_postgresql_does() {
    let Some(server) = TestServer::start() else { return };
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed = number_of("NACRE_TEST_SEED").unwrap_or(now);
    println!("NACRE_TEST_SEED={seed}");
    let mut maker = QueryMaker { state: seed, aliases: 0, inner: 0 };
    let count = number_of("NACRE_RANDOM_QUERIES").unwrap_or(400);
    let queries: Vec<String> = (0..count).map(|_| maker.query()).collect();
    let mut definitions = String::new();
    let connection = Connection::open(None);
    for (table, columns, rows) in TABLES {
        let create = format!("create table {table} ({columns})");
        let insert = format!("insert into {table} {rows}");
        let _ = writeln!(definitions, "{create};\n{insert};");
        connection.ok(&create);
        connection.ok(&insert);
        if table != "z" {
            connection.ok("checkpoint");
            // Some rows are frozen, some are not, some are deleted.
            for (sign, change) in [("", "delete from"), ("", "update")] {
                let rest = if change == "update" { " set w = w + 1 " } else { " " };
                let where_ = if change == "update" { "id % 9 = 1" } else { "id % 10 = 7" };
                let change = format!("{change} {table}{sign}{rest}where {where_}");
                let _ = writeln!(definitions, "{change};");
                connection.ok(&change);
            }
        }
    }
    let theirs = server.answers(&definitions, &queries);
    assert_eq!(theirs.len(), queries.len());
    connection.ok("set nacre.engine = nacre");
    let (mut compared, mut missing) = (0, std::collections::BTreeMap::<String, usize>::new());
    for (sql, theirs) in queries.iter().zip(theirs) {
        let Some(theirs) = theirs else { continue };
        let ours = match connection.run(&format!("/* general */ {sql}")) {
            Ok(Answer::Rows(_, rows)) => rows.iter().map(|row| row.join("\t")).collect::<Vec<_>>(),
            Ok(answer) => panic!("{sql}: {answer:?}"),
            Err(error) if error.sqlstate() == "0A000" => {
                *missing.entry(error.message().to_owned()).or_default() += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {sql}: {error:?}"),
        };
        let is_ordered = has_order(sql);
        let sorted = |rows: Vec<String>| {
            // Characters are shown without blanks at their end.
            let trimmed = |row: String| {
                let fields: Vec<_> = row.split('\t').map(|field| field.trim_end()).collect();
                fields.join("\t")
            };
            let mut rows: Vec<String> = rows.into_iter().map(trimmed).collect();
            if !is_ordered {
                rows.sort();
            }
            rows
        };
        compared += 1;
        assert_eq!(sorted(ours), sorted(theirs), "seed {seed}: {sql}");
    }
    println!("{compared} of {count} compared; not there: {missing:#?}");
    assert!(compared * 2 > count, "most queries are there");
}
