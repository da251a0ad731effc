//! Joins of tables, and the same as a nested loop over their rows.

use std::sync::Arc;

use nacre_column::{CompareOp, compare_floats};
use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::WorkerPool;
use nacre_exec::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, FilterNode, JoinKey, JoinNode, MapNode,
    PairingKind, PlanNode,
};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_store::{OpenOptions, Store, Table};

use super::{
    FLAG, FLOAT, ID, MODE, MONEY, SMALL, TEXT, WIDE, row, run, scalar, scan, sorted, table,
};

pub(crate) const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];
pub(crate) const KINDS: [PairingKind; 10] = [
    PairingKind::Inner,
    PairingKind::ProbeOuter,
    PairingKind::BuildOuter,
    PairingKind::FullOuter,
    PairingKind::Single,
    PairingKind::Semi,
    PairingKind::Anti,
    PairingKind::Mark,
    PairingKind::BuildSemi,
    PairingKind::BuildAnti,
];

pub(crate) type Scalars = Vec<ScalarValue>;

/// A condition over the columns of both sides, and the same in Rust.
#[derive(Clone, Copy)]
pub(crate) struct Residual {
    pub(crate) add: fn(&mut ExpressionGraph) -> ExpressionId,
    pub(crate) holds: fn(&Scalars) -> bool,
}

pub(crate) fn class_of(column: usize) -> ValueClass {
    match column {
        FLOAT => ValueClass::Float64,
        FLAG => ValueClass::Bool,
        MODE | TEXT => ValueClass::Bytes,
        _ => ValueClass::Int,
    }
}

pub(crate) fn store() -> Store {
    Store::open(OpenOptions::default()).unwrap()
}

pub(crate) fn rows(ids: std::ops::Range<i64>, seed: u64) -> Vec<Scalars> {
    let one = |id| row(id, seed).iter().enumerate().map(|(at, value)| scalar(value, at)).collect();
    ids.map(one).collect()
}

pub(crate) fn keys(columns: &[usize]) -> Vec<JoinKey> {
    columns.iter().map(|column| JoinKey { probe: *column, build: *column }).collect()
}

pub(crate) fn join(
    kind: PairingKind,
    probe: PlanNode,
    build: PlanNode,
    keys: Vec<JoinKey>,
) -> JoinNode {
    let (graph, predicates) = (ExpressionGraph::default(), Vec::new());
    let probe_conditions = Vec::new();
    JoinNode { kind, probe, build, keys, probe_conditions, graph, predicates }
}

pub(crate) fn node(join: JoinNode) -> PlanNode {
    PlanNode::Join(Box::new(join))
}

pub(crate) fn with_residual(mut join: JoinNode, residual: Option<Residual>) -> PlanNode {
    if let Some(residual) = residual {
        join.predicates = vec![(residual.add)(&mut join.graph)];
    }
    node(join)
}

/// `probe.money < build.money`.
pub(crate) const MONEY_IS_LESS: Residual = Residual {
    add: |graph| {
        let left = graph.column(MONEY, ValueClass::Int).unwrap();
        let right = graph.column(ALL.len() + MONEY, ValueClass::Int).unwrap();
        graph.compare(CompareOp::Lt, left, right).unwrap()
    },
    holds: |pair| match (&pair[MONEY], &pair[ALL.len() + MONEY]) {
        (ScalarValue::Int(left), ScalarValue::Int(right)) => left < right,
        _ => false,
    },
};

/// `build.mode <> 'AIR' and probe.id > 20`: strings of one side, and few pairs are left.
pub(crate) const MODE_DIFFERS: Residual = Residual {
    add: |graph| {
        let air = graph.add(ExpressionNode::Constant(ScalarValue::Bytes(b"AIR".to_vec()))).unwrap();
        let mode = graph.column(ALL.len() + MODE, ValueClass::Bytes).unwrap();
        let left = graph.compare(CompareOp::Ne, mode, air).unwrap();
        let id = graph.column(ID, ValueClass::Int).unwrap();
        let bound = graph.int(20).unwrap();
        let right = graph.compare(CompareOp::Gt, id, bound).unwrap();
        graph.add(ExpressionNode::And { left, right }).unwrap()
    },
    holds: |pair| {
        let is_other = match &pair[ALL.len() + MODE] {
            ScalarValue::Bytes(mode) => mode != b"AIR",
            _ => false,
        };
        is_other && matches!(pair[ID], ScalarValue::Int(id) if id > 20)
    },
};

pub(crate) fn is_equal(left: &ScalarValue, right: &ScalarValue) -> bool {
    match (left, right) {
        (ScalarValue::Null(_), _) | (_, ScalarValue::Null(_)) => false,
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => {
            compare_floats(*left, *right).is_eq()
        }
        (left, right) => left == right,
    }
}

/// The nested loop; `None` if a row has two partners and must not.
pub(crate) fn expected(
    kind: PairingKind,
    probe: &[Scalars],
    build: &[Scalars],
    is_pair: &dyn Fn(&Scalars, &Scalars) -> bool,
    nulls: [Scalars; 2],
) -> Option<Vec<Scalars>> {
    use PairingKind as K;
    let mut out: Vec<Scalars> = Vec::new();
    let [probe_nulls, build_nulls] = nulls;
    let joined = |left: &Scalars, right: &Scalars| left.iter().chain(right).cloned().collect();
    let mut has_partner = vec![false; build.len()];
    for row in probe {
        let mut partners = 0;
        for (other, has_partner) in build.iter().zip(&mut has_partner) {
            if is_pair(row, other) {
                *has_partner = true;
                partners += 1;
                if matches!(
                    kind,
                    K::Inner | K::ProbeOuter | K::BuildOuter | K::FullOuter | K::Single
                ) {
                    out.push(joined(row, other));
                }
            }
        }
        match kind {
            K::Single if partners > 1 => return None,
            K::Semi if partners > 0 => out.push(row.clone()),
            K::Anti if partners == 0 => out.push(row.clone()),
            K::Mark => out.push(joined(row, &vec![ScalarValue::Bool(partners > 0)])),
            K::ProbeOuter | K::FullOuter | K::Single if partners == 0 => {
                out.push(joined(row, &build_nulls));
            }
            _ => {}
        }
    }
    for (row, has_partner) in build.iter().zip(has_partner) {
        match kind {
            K::BuildOuter | K::FullOuter if !has_partner => out.push(joined(&probe_nulls, row)),
            K::BuildSemi if has_partner => out.push(row.clone()),
            K::BuildAnti if !has_partner => out.push(row.clone()),
            _ => {}
        }
    }
    Some(out)
}

/// A map that turns codes of a string column into bytes.
pub(crate) fn as_bytes(input: PlanNode, column: usize) -> PlanNode {
    let mut graph = ExpressionGraph::default();
    let all: Vec<_> = ALL.iter().map(|at| graph.column(*at, class_of(*at)).unwrap()).collect();
    let text = ScalarValue::Bytes(b"?".to_vec());
    let otherwise = graph.add(ExpressionNode::Constant(text)).unwrap();
    let is_null = graph.add(ExpressionNode::IsNull { input: all[ID] }).unwrap();
    let condition = graph.add(ExpressionNode::Not { input: is_null }).unwrap();
    let case = ExpressionNode::Case { condition, then: all[column], otherwise };
    let mut outputs = all.clone();
    outputs[column] = graph.add(case).unwrap();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}

pub(crate) struct Sides {
    _store: Store,
    pub(crate) probe: Arc<Table>,
    pub(crate) build: Arc<Table>,
    pub(crate) probe_rows: Vec<Scalars>,
    pub(crate) build_rows: Vec<Scalars>,
}

impl Sides {
    /// Makes two tables of which some ids are in both.
    pub(crate) fn new(probe: i64, build: i64) -> Self {
        let store = store();
        let build_ids = 30..30 + build;
        let chunks = |ids: &std::ops::Range<i64>| {
            let middle = (ids.start + ids.end) / 2;
            [ids.start..middle, middle..ids.end].into_iter().filter(|ids| !ids.is_empty())
        };
        let chunks_of = |ids: &std::ops::Range<i64>| chunks(ids).collect::<Vec<_>>();
        Self {
            probe: table(&store, "probe", &chunks_of(&(0..probe)), 5),
            build: table(&store, "build", &chunks_of(&build_ids), 5),
            probe_rows: rows(0..probe, 5),
            build_rows: rows(build_ids, 5),
            _store: store,
        }
    }

    pub(crate) fn scans(&self) -> (PlanNode, PlanNode) {
        let scan = |table: &Arc<Table>| scan(&table.snapshot(), &ALL, Vec::new());
        (scan(&self.probe), scan(&self.build))
    }

    /// Compares joins of every kind with the nested loop; without and with a condition on rows of
    /// the probe side.
    pub(crate) fn check(
        &self,
        pools: &[WorkerPool],
        keys: &[JoinKey],
        residual: Option<Residual>,
        change: impl Fn((PlanNode, PlanNode)) -> (PlanNode, PlanNode),
    ) {
        let nulls = || ALL.iter().map(|column| ScalarValue::Null(class_of(*column))).collect();
        for (kind, conditions) in
            KINDS.iter().flat_map(|kind| [(*kind, vec![]), (*kind, vec![FLAG])])
        {
            let is_pair = |row: &Scalars, other: &Scalars| {
                let pair = || row.iter().chain(other).cloned().collect::<Scalars>();
                keys.iter().all(|key| is_equal(&row[key.probe], &other[key.build]))
                    && conditions.iter().all(|column| row[*column] == ScalarValue::Bool(true))
                    && residual.is_none_or(|residual| (residual.holds)(&pair()))
            };
            let (probe, build) = (&self.probe_rows, &self.build_rows);
            let wanted = expected(kind, probe, build, &is_pair, [nulls(), nulls()]).map(sorted);
            let some = if conditions.is_empty() { pools } else { &pools[pools.len() - 1..] };
            for pool in some {
                let (probe, build) = change(self.scans());
                let mut joined = join(kind, probe, build, keys.to_vec());
                joined.probe_conditions.clone_from(&conditions);
                let found = run(pool, with_residual(joined, residual)).map(sorted);
                let case = format!("{kind:?} {keys:?} {conditions:?} {} workers", pool.workers());
                match (found, &wanted) {
                    (Ok(found), Some(wanted)) => {
                        assert_eq!(found.len(), wanted.len(), "{case}");
                        for (found, wanted) in found.iter().zip(wanted) {
                            assert_eq!(found, wanted, "{case}");
                        }
                    }
                    (found, None) => {
                        let kind = found.map_err(|error| error.kind());
                        assert_eq!(kind, Err(ExecErrorKind::Cardinality), "{case}");
                    }
                    (Err(error), Some(_)) => panic!("{case}: {error}"),
                }
            }
        }
    }
}

/// A table of `rows` rows with ids from 0 on.
pub(crate) fn ids(store: &Store, name: &str, rows: i64) -> Arc<Table> {
    let chunks: Vec<_> =
        (0..rows).step_by(50_000).map(|start| start..rows.min(start + 50_000)).collect();
    table(store, name, &chunks, 5)
}

/// `id * factor % modulus` beside the id.
pub(crate) fn with_remainder(input: PlanNode, factor: i128, modulus: i128) -> PlanNode {
    let mut graph = ExpressionGraph::default();
    let id = graph.column(0, ValueClass::Int).unwrap();
    let factor = graph.int(factor).unwrap();
    let product = graph.arithmetic(ArithmeticOp::Multiply, id, factor, IntLimit::BIGINT).unwrap();
    let modulus = graph.int(modulus).unwrap();
    let op = ArithmeticOp::Remainder;
    let rest = graph.arithmetic(op, product, modulus, IntLimit::BIGINT).unwrap();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs: vec![id, rest] }))
}

/// Counts the rows and adds up a column.
pub(crate) fn count_and_sum(input: PlanNode, column: usize) -> PlanNode {
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    let aggregates =
        vec![call(AggregateFunction::CountRows, None), call(AggregateFunction::Sum, Some(column))];
    PlanNode::Aggregate(Box::new(AggregateNode {
        input,
        keys: Vec::new(),
        dependents: Vec::new(),
        aggregates,
    }))
}

pub(crate) fn one_key(probe: usize, build: usize) -> Vec<JoinKey> {
    vec![JoinKey { probe, build }]
}

pub(crate) fn numbers(values: &[i128]) -> Vec<Scalars> {
    vec![values.iter().map(|value| ScalarValue::Int(*value)).collect()]
}

/// Keeps the rows whose column is 0 modulo `divisor`.
pub(crate) fn multiples(input: PlanNode, column: usize, divisor: i128) -> PlanNode {
    let mut graph = ExpressionGraph::default();
    let value = graph.column(column, ValueClass::Int).unwrap();
    let (by, zero) = (graph.int(divisor).unwrap(), graph.int(0).unwrap());
    let op = ArithmeticOp::Remainder;
    let rest = graph.arithmetic(op, value, by, IntLimit::BIGINT).unwrap();
    let predicate = graph.compare(CompareOp::Eq, rest, zero).unwrap();
    PlanNode::Filter(Box::new(FilterNode { input, graph, predicates: vec![predicate] }))
}

/// Whether the ids of a pair are both below 0, which they never are.
pub(crate) fn never(joined: &mut JoinNode) {
    let (left, right) = (
        joined.graph.column(0, ValueClass::Int).unwrap(),
        joined.graph.column(1, ValueClass::Int).unwrap(),
    );
    let limit = IntLimit::BIGINT;
    let sum = joined.graph.arithmetic(ArithmeticOp::Add, left, right, limit).unwrap();
    let zero = joined.graph.int(0).unwrap();
    joined.predicates = vec![joined.graph.compare(CompareOp::Lt, sum, zero).unwrap()];
}
