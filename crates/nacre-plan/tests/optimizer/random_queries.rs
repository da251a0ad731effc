//! Random tables, statistics and queries.

use std::fmt::Write;

use super::catalog::TestTables;
use super::evaluator::{CellValue, TableRows};

/// Tables that queries are about; each has the columns `k`, `x` and `y`.
const TABLES: [&str; 4] = ["t", "u", "v", "w"];
const COLUMNS: [&str; 3] = ["k", "x", "y"];

/// A sequence of numbers that a seed determines (xorshift).
pub(crate) struct RandomSequence(u64);

impl RandomSequence {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 11) % limit as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

/// Returns tables whose statistics have nothing to do with their rows.
pub(crate) fn random_tables(random: &mut RandomSequence) -> (TestTables, TableRows) {
    let (mut tables, mut rows) = (TestTables::default(), TableRows::new());
    for name in TABLES {
        let count = 10_u64.pow(random.below(6) as u32);
        // No key: rows may be there twice.
        tables.add(name, "k integer; x integer; y integer", 0, count);
        let cell = |random: &mut RandomSequence| -> CellValue {
            (!random.one_in(6)).then(|| random.below(2) as i64)
        };
        let row = |random: &mut RandomSequence| COLUMNS.iter().map(|_| cell(random)).collect();
        let stored =
            (0..(1 + random.below(3)) * random.below(6).min(1)).map(|_| row(random)).collect();
        rows.insert(name.to_owned(), stored);
    }
    (tables, rows)
}

/// Writes a query.
pub(crate) struct QueryWriter<'r> {
    random: &'r mut RandomSequence,
    aliases: usize,
    aliases_max: usize,
    /// Queries within expressions that may still be written.
    queries: usize,
    /// Whether items of FROM may be LATERAL.
    has_lateral: bool,
    /// Queries of WITH, by the names `c0`, `c1` and so on.
    common: Vec<String>,
}

impl<'r> QueryWriter<'r> {
    pub(crate) fn new(random: &'r mut RandomSequence) -> Self {
        let aliases_max = 2 + random.below(4);
        Self { random, aliases: 0, aliases_max, queries: 0, has_lateral: false, common: Vec::new() }
    }

    /// Has conditions have queries.
    pub(crate) fn with_queries(mut self, count: usize) -> Self {
        self.queries = count;
        self.aliases_max = 1 + self.random.below(2);
        self
    }

    /// Has items of FROM be LATERAL.
    pub(crate) fn with_lateral(mut self) -> Self {
        self.has_lateral = true;
        self.queries = 4;
        self.aliases_max = 2 + self.random.below(2);
        self
    }

    /// Has queries of WITH be read more than once.
    pub(crate) fn with_common(mut self) -> Self {
        for index in 0..1 + self.random.below(2) {
            let query = self.set_operation(1);
            let names = COLUMNS.join(", ");
            let kind = self.random.pick(&["", "", "materialized", "not materialized"]);
            self.common.push(format!("c{index} ({names}) as {kind} ({query})"));
        }
        self
    }

    pub(crate) fn query(mut self) -> String {
        let mut from = Vec::new();
        let mut all: Vec<String> = Vec::new();
        while self.aliases < self.aliases_max {
            if self.has_lateral && self.queries > 0 && !all.is_empty() && self.random.one_in(2) {
                let (text, alias) = self.lateral(&all);
                from.push(text);
                all.push(alias);
                continue;
            }
            let (text, aliases) = self.item(3);
            from.push(text);
            all.extend(aliases);
        }
        let mut sql = String::new();
        if !self.common.is_empty() {
            let _ = write!(sql, "with {} ", self.common.join(", "));
        }
        let is_grouped = self.random.one_in(3);
        let key = self.column(&all);
        if is_grouped {
            let summed = self.column(&all);
            let _ = write!(sql, "select {key}, count(*), sum({summed}), count({summed})");
        } else {
            let columns: Vec<String> = all
                .iter()
                .flat_map(|alias| COLUMNS.iter().map(move |column| format!("{alias}.{column}")))
                .collect();
            let _ = write!(sql, "select {}", columns.join(", "));
            if self.queries > 0 && self.random.one_in(3) {
                let _ = write!(sql, ", ({})", self.inner_query(&all, true));
            }
        }
        let _ = write!(sql, " from {}", from.join(", "));
        if !self.random.one_in(4) {
            let count = 1 + self.random.below(3);
            let conditions: Vec<String> = (0..count).map(|_| self.condition(&all, 2)).collect();
            let _ = write!(sql, " where {}", conditions.join(" and "));
        }
        if is_grouped {
            let _ = write!(sql, " group by {key}");
            if self.random.one_in(2) {
                let test = self.random.pick(&["> 0", "= 1", "is null", "is not null"]);
                let _ = write!(sql, " having {key} {test} and count(*) > 0");
            }
        }
        sql
    }

    /// Returns items of FROM and conditions over them.
    pub(crate) fn list(mut self, count: usize) -> (Vec<String>, String) {
        let mut from = Vec::new();
        let aliases: Vec<String> = (0..count).map(|index| format!("r{index}")).collect();
        for alias in &aliases {
            from.push(format!("{} {alias}", self.random.pick(&TABLES)));
        }
        let count = count + self.random.below(4);
        let conditions: Vec<String> = (0..count).map(|_| self.condition(&aliases, 1)).collect();
        (from, conditions.join(" and "))
    }

    /// Returns a part of FROM and the aliases in it.
    fn item(&mut self, depth: usize) -> (String, Vec<String>) {
        if depth == 0 || self.random.one_in(3) || self.aliases + 1 >= self.aliases_max {
            let alias = format!("r{}", self.aliases);
            self.aliases += 1;
            let text = if !self.common.is_empty() && self.random.one_in(2) {
                format!("c{} {alias}", self.random.below(self.common.len()))
            } else if self.random.one_in(4) {
                format!("({}) {alias} ({})", self.set_operation(1), COLUMNS.join(", "))
            } else {
                format!("{} {alias}", self.random.pick(&TABLES))
            };
            return (text, vec![alias]);
        }
        let (left, mut aliases) = self.item(depth - 1);
        if self.has_lateral && self.queries > 0 && self.random.one_in(2) {
            let (right, alias) = self.lateral(&aliases);
            let kind = self.random.pick(&["join", "left join", "left join"]);
            aliases.push(alias);
            let condition = match self.random.one_in(2) {
                true => "true".to_owned(),
                false => self.condition(&aliases, 0),
            };
            return (format!("({left} {kind} {right} on {condition})"), aliases);
        }
        let (right, others) = self.item(depth - 1);
        let is_using = self.random.one_in(5);
        aliases.extend(others);
        let kind = self.random.pick(&["join", "left join", "right join", "full join"]);
        let condition = if is_using {
            "using (k)".to_owned()
        } else {
            let count = 1 + self.random.below(3);
            let conditions: Vec<String> = (0..count).map(|_| self.condition(&aliases, 1)).collect();
            format!("on {}", conditions.join(" and "))
        };
        (format!("({left} {kind} {right} {condition})"), aliases)
    }

    /// Returns a LATERAL query that sees the columns of `aliases`, and its alias.
    fn lateral(&mut self, aliases: &[String]) -> (String, String) {
        let alias = format!("r{}", self.aliases);
        self.aliases += 1;
        let one = self.inner_query(aliases, false);
        let query = match self.random.below(4) {
            0 if self.queries > 0 => {
                let other = self.inner_query(aliases, false);
                let word = self.random.pick(&["union all", "union", "except"]);
                format!("select x, x as y, x + 1 as k from (({one}) {word} ({other})) s (x)")
            }
            1 => {
                let (own, other) = (self.column(aliases), self.column(aliases));
                format!("select {own} as x, {other} as y, {own} + {other} as k")
            }
            2 => {
                format!("select x, row_number() over (order by x) as y, 1 as k from ({one}) s (x)")
            }
            _ => format!("select x, x as y, 1 as k from ({one}) s (x)"),
        };
        (format!("lateral ({query}) {alias}"), alias)
    }

    /// Returns a condition with a query that sees the columns of `aliases`.
    fn query_condition(&mut self, aliases: &[String]) -> String {
        let one = self.column(aliases);
        let comparison = self.random.pick(&["=", "<>", "<", ">="]);
        match self.random.below(7) {
            0 => format!("exists ({})", self.inner_query(aliases, false)),
            1 => format!("not exists ({})", self.inner_query(aliases, false)),
            2 => format!("{one} in ({})", self.inner_query(aliases, false)),
            3 => format!("{one} not in ({})", self.inner_query(aliases, false)),
            4 => {
                let word = self.random.pick(&["any", "all"]);
                format!("{one} {comparison} {word} ({})", self.inner_query(aliases, false))
            }
            5 => format!("{one} {comparison} ({})", self.inner_query(aliases, true)),
            _ => format!("({}) is null", self.inner_query(aliases, true)),
        }
    }

    /// Returns a query of one column, perhaps of one row, that sees the columns of `aliases`.
    fn inner_query(&mut self, aliases: &[String], is_scalar: bool) -> String {
        self.queries -= 1;
        let own = format!("q{}", self.queries);
        let mut all = vec![own.clone()];
        let mut from = format!("{} {own}", self.random.pick(&TABLES));
        if self.random.one_in(4) {
            let other = format!("{own}b");
            let kind = self.random.pick(&["join", "left join"]);
            from = format!(
                "{from} {kind} {} {other} on {own}.k = {other}.k",
                self.random.pick(&TABLES)
            );
            all.push(other);
        }
        let mut conditions = Vec::new();
        for _ in 0..self.random.below(3) {
            let inner = self.column(&all);
            let outer = self.column(aliases);
            let comparison = self.random.pick(&["=", "=", "=", "<", "<>"]);
            conditions.push(format!("{inner} {comparison} {outer}"));
        }
        if self.random.one_in(3) {
            let seen: Vec<String> = aliases.iter().chain(&all).cloned().collect();
            conditions.push(self.condition(&seen, 1));
        }
        let value = match self.random.one_in(5) {
            true => self.column(aliases),
            false => self.column(&all),
        };
        let filter = match conditions.is_empty() {
            true => String::new(),
            false => format!(" where {}", conditions.join(" and ")),
        };
        let key = self.column(&all);
        let limit = 1 + self.random.below(2);
        match self.random.below(10) {
            8 => format!("select {value} from {from}{filter} order by 1 desc limit 1"),
            9 if !is_scalar => {
                format!("select {value} from {from}{filter} order by 1 limit {limit} offset 1")
            }
            9 => format!("select {value} from {from}{filter} order by 1 offset 1 limit 1"),
            0 | 1 if !is_scalar => format!("select {value} from {from}{filter}"),
            2 if !is_scalar => format!("select distinct {value} from {from}{filter}"),
            3 if !is_scalar => {
                format!("select count(*) from {from}{filter} group by {key} having count(*) > 0")
            }
            4 => format!("select count(*) from {from}{filter}"),
            5 => format!("select max({value}) from {from}{filter} having count(*) > 1"),
            6 if is_scalar => format!("select {value} from {from}{filter}"),
            7 => format!("select coalesce(sum({value}), count({key})) from {from}{filter}"),
            _ => format!("select min({value}) from {from}{filter}"),
        }
    }

    fn set_operation(&mut self, depth: usize) -> String {
        let mut text = self.set_operand(depth);
        for _ in 0..self.random.below(3) {
            let words = ["union all", "union all", "union", "intersect", "except"];
            let all = ["", "", " all"];
            let word = self.random.pick(&words);
            let all = if word == "union all" { "" } else { self.random.pick(&all) };
            text = format!("{text} {word}{all} {}", self.set_operand(depth));
        }
        text
    }

    fn set_operand(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.one_in(4) {
            return format!("({})", self.set_operation(depth - 1));
        }
        if self.random.one_in(4) {
            let cells = ["0", "1", "1", "null::integer", "1 - 1"];
            let row = |random: &mut RandomSequence| {
                let cells: Vec<_> = COLUMNS.iter().map(|_| random.pick(&cells)).collect();
                format!("({})", cells.join(", "))
            };
            let rows: Vec<_> = (0..1 + self.random.below(3)).map(|_| row(self.random)).collect();
            return format!("values {}", rows.join(", "));
        }
        let mut aliases = vec!["a".to_owned()];
        let mut from = format!("{} a", self.random.pick(&TABLES));
        if self.random.one_in(3) {
            aliases.push("b".to_owned());
            let kind = self.random.pick(&["join", "left join", "full join"]);
            let condition = self.condition(&aliases, 0);
            from = format!("{from} {kind} {} b on {condition}", self.random.pick(&TABLES));
        }
        let columns: Vec<_> = COLUMNS.iter().map(|_| self.column(&aliases)).collect();
        let condition = self.condition(&aliases, 1);
        format!("select {} from {from} where {condition}", columns.join(", "))
    }

    fn column(&mut self, aliases: &[String]) -> String {
        let alias = &aliases[self.random.below(aliases.len())];
        format!("{alias}.{}", self.random.pick(&COLUMNS))
    }

    fn condition(&mut self, aliases: &[String], depth: usize) -> String {
        let one = self.column(aliases);
        let other = self.column(aliases);
        let comparison = self.random.pick(&["=", "=", "<>", "<", "<=", ">", ">="]);
        let number = self.random.below(2);
        if depth > 0 && self.queries > 0 && self.random.one_in(3) {
            return self.query_condition(aliases);
        }
        let choices = if depth > 0 { 20 } else { 13 };
        match self.random.below(choices) {
            18 => self.random.pick(&["true", "1 = 0", "null"]).to_owned(),
            0..=3 => format!("{one} = {other}"),
            4 => format!("{one} {comparison} {other}"),
            5 | 6 => format!("{one} {comparison} {number}"),
            7 => format!("{one} is null"),
            8 => format!("{one} is not null"),
            9 => format!("{one} in (0, {number})"),
            10 => format!("coalesce({one}, {other}) = {number}"),
            11 => format!("{one} is not distinct from {other}"),
            12 => format!("{one} / {other} {comparison} {number}"),
            13 => {
                let (left, right) =
                    (self.condition(aliases, depth - 1), self.condition(aliases, depth - 1));
                format!("({left} or {right})")
            }
            14 => {
                let common = self.condition(aliases, depth - 1);
                let (left, right) =
                    (self.condition(aliases, depth - 1), self.condition(aliases, depth - 1));
                format!("(({common} and {left}) or ({right} and {common}))")
            }
            19 => {
                let common = self.condition(aliases, depth - 1);
                format!("(({common} and {}) or {common})", self.condition(aliases, depth - 1))
            }
            15 => format!("not ({})", self.condition(aliases, depth - 1)),
            16 => {
                let parts: Vec<String> =
                    (0..4).map(|_| self.condition(aliases, depth - 1)).collect();
                format!("(({} and {}) or ({} and {}))", parts[0], parts[1], parts[2], parts[3])
            }
            _ => format!("({}) is not true", self.condition(aliases, depth - 1)),
        }
    }
}
