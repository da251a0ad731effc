//! Queries without FROM, VALUES and set operations: statements beside a PostgreSQL 15 server, where
//! its programs are, and the executor's nodes by themselves.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use std::time::{Duration, Instant};

use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::expression::{ExpressionGraph, ExpressionNode};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, ConstantColumn, FilterNode,
    JoinKey, JoinNode, LimitNode, MapNode, PairingKind, PhysicalPlan, PlanNode, RepeatNode,
    RowsNode, SortKey, SortNode,
};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_store::{OpenOptions, Store};
use postgres::compare;
use support::statements::{TestDatabase, texts};
use support::{ID, MODE, SMALL, SeededRandom, pool, run, scan, table};

/// Rows of the table `t`, of which the first are frozen.
const ROWS: i64 = 400;
const FROZEN: usize = 300;

/// Random statements; `NACRE_TEST_CASES` says how many.
const CASES: u64 = 400;

/// Statements that are answered as PostgreSQL answers them.
const STATEMENTS: &[&str] = &[
    "select 1 + 1, 'a', null, 2.50, 'b'::char(3), true, date '2020-02-29' + 1",
    "select 1 where 1 = 1",
    "select 1 where 1 = 2",
    "select 1 where null",
    "select count(*)",
    "select count(*), sum(2), min('x'), avg(3) where 1 = 2",
    "select 1 having count(*) = 1",
    "select 1 having count(*) = 2",
    "select 3 as x order by x limit 1",
    "select 3 limit 0",
    "select 3 offset 1",
    "select 3 limit 1 + 1 offset 2 - 2",
    "select distinct 1, 'x'",
    "select count(*) from (select) s",
    "select count(*) from (select from t limit 7) s",
    "select distinct from t",
    "select count(*) from (select from t union select from t) s",
    "select count(*) from (select from t union all select from t where id < 3) s",
    "select count(*) from (select from t where id < 5 intersect all select from t where id < 3) s",
    "select count(*) from (select from t where id < 5 except all select from t where id < 3) s",
    "select count(*) from (select from t where id < 5 except select from t where id < 3) s",
    "select count(*) from (select from t where id < 5 except select from t where id < 0) s",
    "select count(*) from (select from t where id < 5 intersect select from t) s",
    "select case when 1 < 2 then 'yes' else 'no' end, 1 in (2, 3), coalesce(null, 5), not true",
    "select one, a from (select 1 as one) s, t where a > 10",
    "select id, one from t left join (select 3 as one) s on a = one where id < 50",
    "select s.one, t.id from (select 1 as one where 1 = 2) s right join t on id = one where id < 4",
    "select count(*) from t, (select 1) s",
    "select count(*) from (select 1) s, t, (select 2) u",
    "select x + 1, y from (select 1 as x, 'a' as y) s where x = 1",
    "values (1)",
    "values (1, 'a', null), (2, 'b', null), (null, null, null)",
    "values (1), (3000000000), (-5)",
    "values (1.5), (2.5), (null), (-3.0)",
    "values (1::numeric(10,2)), (2.5::numeric(10,2))",
    "values (true), (null), (1 = 2)",
    "values ('a'::char(3)), ('abc'), ('b'::char(3))",
    "values (date '2020-01-01'), ('2021-12-31'), (null)",
    "values (timestamp '2020-01-01 10:00'), (null)",
    "values (1::real, 2.5::double precision), (2, 1e10)",
    "values (1 + 2, case when 1 < 2 then 'x' end), (3 * 4, 'y')",
    "values (2), (1), (null), (3) order by 1",
    "values (2), (1), (null), (3) order by column1 desc nulls last limit 2 offset 1",
    "values (1, 10), (2, 5) order by column1 + column2",
    "select * from (values (1, 'a'), (2, 'b')) v (x, y) where x > 1",
    "select x, count(*), sum(y) from (values (1, 2), (1, 3), (null, 4), (null, 5)) v (x, y) \
     group by x",
    "select v.w, count(*) from t join (values (1, 'one'), (2, 'two')) v (x, w) on a = x group by \
     v.w",
    "select id, w from t left join (values (1, 'one'), (-9, 'nine')) v (x, w) on a = x where id \
     < 60",
    "select id, w from t full join (values (1, 'one'), (100, 'none')) v (x, w) on a = x where id \
     is null",
    "select x, y from (values (1), (2), (3)) v (x), (values (2), (3), (4)) w (y) where x = y",
    "with v (x) as (values (1), (2)) select count(*) from t join v on a = x",
    "with v (x) as (values (1), (2)) select p.x, q.x from v p, v q where p.x < q.x",
    "with v as (select 1 as x) select x from v union all select x + 1 from v",
    "table t",
    "table t order by id desc limit 3",
    "select a from t union select k from t",
    "select a from t union all select k from t",
    "select a, s from t union select k, 'apple' from t where o",
    "select a from t intersect select k from t",
    "select a from t intersect all select k from t",
    "select a from t except select k from t",
    "select a from t except all select k from t",
    "select k from t except all select a from t",
    "select s from t union select c from t",
    "select c from t union all select c from t where id < 10",
    "select c from t intersect all select 'yy'::char(5) from t where id < 20",
    "select c from t except select 'x'::char(5)",
    "select n from t union select n from t where o",
    "select n from t except values (1.5), (-2.0), (12.3)",
    "select n from t except all select a from t",
    "select id, n from t where id < 20 union all select id, n + n from t where id < 20",
    "select d from t intersect select d from t where o",
    "select f from t except select f from t where f > 2",
    "select o from t union all select a > 3 from t",
    "select a, k, s, c, d, o, f, n from t union select a, k, s, c, d, o, f, n from t",
    "select a, k, s, c, d, o, f, n from t intersect all select a, k, s, c, d, o, f, n from t \
     where o",
    "select a, k, s, c, d, o, f, n from t except all select a, k, s, c, d, o, f, n from t where o",
    "select null union all select 'a'",
    "select a, null from t union all select null, d from t",
    "select 1.5 union all select null",
    "select null::numeric union select 2.5 union select 3.5",
    "select 1 union select 2 union select 1 union all select 1",
    "select 1 intersect select 2 union select 3",
    "select 1 union select 2 intersect select 2",
    "(select 1 union select 2) intersect select 2",
    "select 1 union (select 2 except select 2)",
    "select 1, 'a' union all values (2, 'b'), (3, null)",
    "values (1), (2), (2) except all values (2)",
    "values (1), (2), (2), (2) intersect all values (2), (2), (3)",
    "values (1), (2), (2) union values (2), (4) order by 1 desc",
    "select a as x from t union select k from t order by x desc nulls last limit 5 offset 2",
    "(select a from t order by a limit 3) union all (select k from t order by k desc nulls last \
     limit 2)",
    "(select id from t limit 3) order by id",
    "(select id from t order by a, id) limit 3",
    "(select a from t union select k from t) order by 1 limit 4",
    "select count(*), sum(x) from (select a from t union all select k from t) u (x)",
    "select x, count(*) from (select a from t union all select k from t) u (x) group by x",
    "select x, u.s, t.id from (select a, s from t where id < 50 union all select k, 'z' from t \
     where id < 50) u (x, s) join t on t.id = x",
    "select t.id, x from t left join (select a from t intersect select k from t) u (x) on t.a = \
     x where t.id < 70",
    "select x from (select a, o from t union all select k, true from t) u (x, o) where o and x > 3",
    "with u as (select a as x from t union select k from t) select p.x, q.x from u p join u q on \
     p.x = q.x where p.x > 2",
    "select sum(a), count(*) from t union all select sum(k), count(k) from t where o",
    "select distinct x from (values (1), (1), (2)) v (x) union all select 1",
    "values (1), (2), (3) limit 0",
    "select a from t where id < 5 union all select 1 / (k - k) from t where id < 0",
    "select 1 union select 2 order by 3",
    "select 1, 2 union select 2",
    "values (1), (2, 3)",
    "select 1 union select 'x'",
    "select 1.0 union all select 1.00",
    "values (1.5), (2.25)",
    "select n from t intersect select 1.555",
    "select 1.5 except select n from t",
    "select avg(a), 'all' from t union all select avg(a), 'some' from t where o",
    "select avg(a) from t union all select 1.5",
    "select avg(a) from t intersect select avg(k) from t",
    "select 'a'::char(2) as c union all select 'a'::char(3) order by c",
    "select c from t union all select 'x'::char(7) except all select 'zzz'::char(2)",
];

/// Statements whose answers the executor has no form for.
const REFUSED: &[&str] = &[
    "select now()",
    "select x from (select 1 / a, k from t union all select 1, 2) u (x, k) where k > 1",
];

#[test]
fn answers_are_those_of_postgresql() {
    let (database, rows) = TestDatabase::of_rows(ROWS, FROZEN, 200);
    let statements: Vec<String> = STATEMENTS.iter().map(|&sql| sql.to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count * 5 > statements.len() * 4, "{count} have rows");
    }
    for sql in STATEMENTS {
        // Without a server, too, nothing is refused.
        let refused =
            database.run_optimized(sql).err().filter(|error| error.starts_with("not supp"));
        assert_eq!(refused, None, "{sql}");
    }
}

#[test]
fn what_has_no_form_is_not_supported() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    for sql in REFUSED {
        let error = database.run(sql).expect_err(sql);
        assert!(error.starts_with("not supported: "), "{sql}: {error}");
    }
    for sql in ["select 1 / 0", "values (1 / 0)"] {
        assert_eq!(database.run(sql).expect_err(sql), "division by zero", "{sql}");
    }
}

/// Expressions over `t` by type; those of a list may stand in one column.
const COLUMNS: [&[&str]; 7] = [
    &["a", "k", "id % 9", "a + k", "3", "null::integer", "3000000000"],
    &["s", "'apple'", "'a_b'", "null::text", "s"],
    &["n", "n", "n + n", "12.34::numeric(10,2)", "null::numeric(10,2)"],
    &["d", "date '1995-01-01'", "null::date", "d"],
    &["c", "c", "'yy'::char(5)", "null::char(5)"],
    &["o", "a > 3", "true", "null::boolean"],
    &["f", "f", "2.5::double precision", "null::double precision"],
];

const CONDITIONS: [&str; 6] =
    ["a > 0", "o", "id % 3 = 1", "k is null or a = 2", "id < 40", "s like 'a%' and n > 1"];

/// Writes set operations over the table `t`.
struct SetWriter<'r> {
    random: &'r mut SeededRandom,
    /// By output: which list of [`COLUMNS`].
    types: Vec<usize>,
}

impl SetWriter<'_> {
    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn operations(&mut self, depth: usize) -> String {
        let mut text = self.operand(depth);
        for _ in 0..self.below(3) {
            let word = ["union", "union all", "intersect", "intersect all", "except", "except all"]
                [self.below(6)];
            text = format!("{text} {word} {}", self.operand(depth));
        }
        text
    }

    fn operand(&mut self, depth: usize) -> String {
        if depth > 0 && self.below(3) == 0 {
            return format!("({})", self.operations(depth - 1));
        }
        let types = self.types.clone();
        let columns: Vec<&str> =
            types.iter().map(|one| COLUMNS[*one][self.below(COLUMNS[*one].len())]).collect();
        let columns = columns.join(", ");
        let condition = CONDITIONS[self.below(CONDITIONS.len())];
        match self.below(8) {
            0 => format!("select distinct {columns} from t where {condition}"),
            1 => format!("select {columns} from t"),
            _ => format!("select {columns} from t where {condition}"),
        }
    }

    fn statement(&mut self) -> String {
        let operations = self.operations(2);
        let names: Vec<String> = (0..self.types.len()).map(|index| format!("x{index}")).collect();
        let list = names.join(", ");
        match self.below(6) {
            0 => format!("select {list}, count(*) from ({operations}) u ({list}) group by {list}"),
            1 => format!("select count(*), count(x0) from ({operations}) u ({list})"),
            2 => format!("select * from ({operations}) u ({list}) where x0 is not null"),
            3 => format!(
                "select x0, w from ({operations}) u ({list}) \
                 left join (select {0}, 'w' from t where id < 9) v (y, w) on x0 = y",
                COLUMNS[self.types[0]][0],
            ),
            4 => {
                let order: Vec<String> = (1..=names.len()).map(|at| at.to_string()).collect();
                format!("{operations} order by {} limit 9", order.join(", "))
            }
            _ => operations,
        }
    }
}

#[test]
fn random_set_operations_answer_as_postgresql() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cases = number("NACRE_TEST_CASES").unwrap_or(CASES);
    let mut random = SeededRandom(number("NACRE_TEST_SEED").unwrap_or(1));
    let mut statements = Vec::new();
    for _ in 0..cases {
        let types = (0..1 + random.below(3)).map(|_| random.below(7) as usize).collect();
        statements.push(SetWriter { random: &mut random, types }.statement());
    }
    let (database, rows) = TestDatabase::of_rows(150, 100, 60);
    if let Some(count) = compare(&database, &rows, &statements) {
        println!("{count} of {} have rows", statements.len());
        assert!(count * 2 > statements.len());
    }
}

#[test]
fn thousands_of_rows_are_written_out_in_linear_time() {
    let (database, _) = TestDatabase::of_rows(10, 5, 5);
    let time_of = |count: usize| {
        let rows: Vec<String> =
            (0..count).map(|row| format!("({row} + 1, 'text {row}', null)")).collect();
        let sql = format!("select count(*), sum(x) from (values {}) v (x, y, z)", rows.join(", "));
        let start = Instant::now();
        let sum = count * (count + 1) / 2;
        assert_eq!(database.rows(&sql), [[count.to_string(), sum.to_string()]]);
        start.elapsed()
    };
    let (few, many) = (time_of(2_000), time_of(40_000));
    assert!(many < few * 100, "{few:?} for 2,000, {many:?} for 40,000");
}

fn int_column(values: &[Option<i128>]) -> ConstantColumn {
    let value = |value: &Option<i128>| match value {
        Some(value) => ScalarValue::Int(*value),
        None => ScalarValue::Null(ValueClass::Int),
    };
    ConstantColumn { class: ValueClass::Int, values: values.iter().map(value).collect() }
}

fn bytes_column(values: &[&str]) -> ConstantColumn {
    let values = values.iter().map(|value| ScalarValue::Bytes(value.as_bytes().to_vec()));
    ConstantColumn { class: ValueClass::Bytes, values: values.collect() }
}

fn rows(columns: Vec<ConstantColumn>) -> PlanNode {
    let rows = columns.first().map_or(1, |column| column.values.len());
    PlanNode::Rows(RowsNode { columns, rows })
}

fn append(inputs: Vec<PlanNode>) -> PlanNode {
    PlanNode::Append(AppendNode { inputs })
}

fn limit(input: PlanNode, rows_max: u64) -> PlanNode {
    PlanNode::Limit(Box::new(LimitNode { input, offset: 0, rows_max: Some(rows_max), late: None }))
}

fn store() -> Store {
    Store::open(OpenOptions::default()).unwrap()
}

fn counted(pool: &WorkerPool, input: PlanNode) -> i128 {
    let count = AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT);
    let node =
        AggregateNode { input, keys: Vec::new(), dependents: Vec::new(), aggregates: vec![count] };
    match run(pool, PlanNode::Aggregate(Box::new(node))).unwrap()[..] {
        [ref row] => match row[..] {
            [ScalarValue::Int(count)] => count,
            _ => panic!("{row:?}"),
        },
        ref rows => panic!("{rows:?}"),
    }
}

#[test]
fn a_row_without_columns_is_there() {
    let pool = pool(2);
    assert_eq!(run(&pool, rows(Vec::new())).unwrap(), [vec![]]);
    assert_eq!(counted(&pool, append(vec![rows(Vec::new()), rows(Vec::new())])), 2);
}

#[test]
fn inputs_of_other_widths_and_representations_become_one() {
    let store = store();
    let table = table(&store, "t", &[0..300, 300..500], 5);
    for workers in [1, 3] {
        let pool = pool(workers);
        // Codes of a dictionary beside views, 32 bits beside 128.
        let scanned = scan(&table.snapshot(), &[SMALL, MODE], Vec::new());
        let wide = rows(vec![
            int_column(&[Some(1 << 100), None, Some(-7)]),
            bytes_column(&["AIR", "", "a text of more than 12 bytes"]),
        ]);
        let mut wanted = run(&pool, scanned.clone()).unwrap();
        wanted.extend(wanted.clone());
        wanted.extend(run(&pool, wide.clone()).unwrap());
        let all = append(vec![scanned.clone(), wide, scanned]);
        assert_eq!(support::sorted(run(&pool, all.clone()).unwrap()), support::sorted(wanted));

        // Above joins of both sides, one of which pads rows.
        let keys = vec![JoinKey { probe: 0, build: 0 }];
        let join = JoinNode {
            kind: PairingKind::FullOuter,
            probe: all.clone(),
            build: append(vec![rows(vec![int_column(&[Some(-7), Some(777)])])]),
            keys,
            probe_conditions: Vec::new(),
            graph: ExpressionGraph::default(),
            predicates: Vec::new(),
        };
        let joined = run(&pool, PlanNode::Join(Box::new(join.clone()))).unwrap();
        let partners = joined.iter().filter(|row| row[2] == ScalarValue::Int(-7)).count();
        let own = run(&pool, all.clone()).unwrap();
        assert_eq!(partners, own.iter().filter(|row| row[0] == ScalarValue::Int(-7)).count());
        assert!(joined.iter().any(|row| row[2] == ScalarValue::Int(777)));
        assert_eq!(joined.len(), own.len() + 1);

        // What pads is an input itself.
        let twice = append(vec![PlanNode::Join(Box::new(join.clone())), {
            PlanNode::Join(Box::new(join))
        }]);
        assert_eq!(counted(&pool, twice), 2 * (own.len() as i128 + 1));
    }
}

#[test]
fn inputs_that_contradict_each_other_are_refused() {
    let pool = pool(1);
    let one = rows(vec![int_column(&[Some(1)])]);
    for other in [rows(Vec::new()), rows(vec![bytes_column(&["x"])])] {
        let error = run(&pool, append(vec![one.clone(), other])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Internal);
    }
    let column = ConstantColumn { class: ValueClass::Bytes, values: int_column(&[None]).values };
    assert_eq!(run(&pool, rows(vec![column])).unwrap_err().kind(), ExecErrorKind::Internal);
}

fn repeat(input: PlanNode, count: usize) -> PlanNode {
    PlanNode::Repeat(Box::new(RepeatNode { input, count }))
}

#[test]
fn rows_come_as_often_as_they_say() {
    let counts = [Some(3), None, Some(0), Some(-2), Some(20_000), Some(1)];
    let input = rows(vec![int_column(&[0, 1, 2, 3, 4, 5].map(Some)), int_column(&counts)]);
    for workers in [1, 3] {
        let pool = pool(workers);
        let found = run(&pool, repeat(input.clone(), 1)).unwrap();
        let of = |id: i128| found.iter().filter(|row| row[0] == ScalarValue::Int(id)).count();
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [3, 0, 0, 0, 20_000, 1]);
        assert_eq!(found.len(), 20_004);
        // Rows that a filter left out are not there.
        let mut graph = ExpressionGraph::default();
        let id = graph.column(0, ValueClass::Int).unwrap();
        let four = graph.int(4).unwrap();
        let is_less = graph.compare(nacre_column::CompareOp::Lt, id, four).unwrap();
        let filter = FilterNode { input: input.clone(), graph, predicates: vec![is_less] };
        assert_eq!(counted(&pool, repeat(PlanNode::Filter(Box::new(filter)), 1)), 3);
    }
}

/// More copies than are ever counted.
fn endless() -> PlanNode {
    repeat(rows(vec![int_column(&[Some(i64::MAX.into())])]), 0)
}

#[test]
fn a_limit_ends_all_inputs() {
    let store = store();
    let chunks: Vec<_> = (0..200).map(|at| at * 100..(at + 1) * 100).collect();
    let table = table(&store, "t", &chunks, 5);
    for workers in [1, 3] {
        let pool = pool(workers);
        let start = Instant::now();
        let few = limit(append(vec![endless(), endless(), endless()]), 10);
        assert_eq!(run(&pool, few).unwrap().len(), 10);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        // Inputs behind the one that was enough are not even begun.
        let scanned = scan(&table.snapshot(), &[ID], Vec::new());
        let few = limit(append(vec![scanned.clone(), scanned.clone()]), 10);
        let plan = PhysicalPlan { root: few };
        let mut stream = pool.execute(plan, QueryOptions::default()).unwrap();
        let rows: usize = stream.collect_batches().unwrap().iter().map(|batch| batch.rows).sum();
        let read: Vec<u64> = stream.report().scans.iter().map(|scan| scan.rows_read).collect();
        assert_eq!((rows, read.len(), read[1]), (10, 2, 0));
        // A limit of an input is its own.
        let both = append(vec![limit(scanned.clone(), 7), limit(endless(), 9), scanned]);
        assert_eq!(counted(&pool, both), 7 + 9 + 20_000);
    }
}

#[test]
fn canceled_copies_end_soon() {
    let pool = pool(2);
    let count = AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT);
    let input = append(vec![endless(), endless()]);
    let node =
        AggregateNode { input, keys: Vec::new(), dependents: Vec::new(), aggregates: vec![count] };
    let plan = PhysicalPlan { root: PlanNode::Aggregate(Box::new(node)) };
    let mut stream = pool.execute(plan, QueryOptions::default()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let start = Instant::now();
    stream.control().cancel();
    assert_eq!(stream.next_batch().unwrap_err().kind(), ExecErrorKind::Canceled);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn appended_rows_count_against_the_budget() {
    let pool = pool(2);
    let key = SortKey { column: 0, is_descending: false, is_nulls_first: false };
    let input = append(vec![rows(vec![int_column(&[Some(1)])]), endless()]);
    let sort = PlanNode::Sort(Box::new(SortNode { input, keys: vec![key], rows_max: None }));
    let options = QueryOptions { memory_bytes_max: 2_000_000, ..QueryOptions::default() };
    let mut stream = pool.execute(PhysicalPlan { root: sort }, options).unwrap();
    assert_eq!(stream.collect_batches().unwrap_err().kind(), ExecErrorKind::OutOfMemory);
}

#[test]
fn many_inputs_and_levels_are_run() {
    let pool = pool(3);
    let mut node = rows(vec![int_column(&[Some(1), None])]);
    let mut wanted = 2;
    for level in 0..200 {
        let mut graph = ExpressionGraph::default();
        let id = graph.column(0, ValueClass::Int).unwrap();
        let one = graph.add(ExpressionNode::Constant(ScalarValue::Int(level))).unwrap();
        let is_null = graph.add(ExpressionNode::IsNull { input: id }).unwrap();
        let case = ExpressionNode::Case { condition: is_null, then: one, otherwise: id };
        let outputs = vec![graph.add(case).unwrap()];
        let map = PlanNode::Map(Box::new(MapNode { input: node, graph, outputs }));
        node = append(vec![map, rows(vec![int_column(&[None])])]);
        wanted += 1;
    }
    let found = run(&pool, node).unwrap();
    assert_eq!(found.len(), wanted);
    let nulls = found.iter().filter(|row| matches!(row[0], ScalarValue::Null(_)));
    assert_eq!(nulls.count(), 1);
    let wide = append((0..500).map(|at| rows(vec![int_column(&[Some(at)])])).collect());
    assert_eq!(counted(&pool, wide), 500);
}

#[test]
fn literals_have_their_answers_without_a_server() {
    let (database, _) = TestDatabase::of_rows(20, 10, 10);
    let found = database.ordered_rows("values (2, 'b'), (1, null) order by 1");
    assert_eq!(found, texts(&[&["1", "-"], &["2", "b"]]));
    let sql = "values (1), (2), (2), (2) intersect all values (2), (2), (3)";
    assert_eq!(database.rows(sql), texts(&[&["2"], &["2"]]));
    let sql = "values (1), (2), (2), (null), (null) except all values (2), (null)";
    assert_eq!(database.rows(sql), texts(&[&["-"], &["1"], &["2"]]));
    let sql = "values (1), (2), (null), (null) except values (2), (3)";
    assert_eq!(database.rows(sql), texts(&[&["-"], &["1"]]));
    assert_eq!(database.rows("select 1 union select 1 union all select 1").len(), 2);
}

#[test]
fn long_chains_run_in_little_stack() {
    let run = || {
        let (database, _) = TestDatabase::of_rows(20, 10, 10);
        let chain = |word: &str, count: usize| {
            let operands: Vec<String> =
                (0..count).map(|index| format!("select id from t where id > {index}")).collect();
            operands.join(&format!(" {word} "))
        };
        assert_eq!(database.run_optimized(&chain("except all", 170)).unwrap(), texts(&[&["1"]]));
        let answer = database.run_optimized(&chain("intersect", 170)).unwrap();
        assert_eq!(answer, texts(&[]));
        let answer = database.run_optimized(&chain("union", 600)).unwrap();
        assert_eq!(answer.len(), 19);
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(run).unwrap().join().unwrap();
}
