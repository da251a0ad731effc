//! The sides of a join: their columns, and which one is built.

use nacre_plan::algebra::{ColumnFlags, ColumnId, JoinVariant, RelationalOperator};

use super::columns::LoweredRelation;
use super::error::LoweringResult;
use super::relations::lower_relation;
use super::stored::StoredRelations;
use crate::plan::{PairingKind, PlanNode};

/// How many times the rows of the left side the right one has at least, for the left one to be
/// built: it costs more to collect a row with its columns than to look for its partners.
const BUILT_RATIO_MIN: f64 = 4.0;

/// The part of the rows that conditions are expected to leave.
const FILTERED_PART: f64 = 0.25;

/// Values that sets are expected to have.
const SET_ROWS: f64 = 10.0;

/// Lowers both sides of a join, of whose columns `wanted` are needed.
///
/// # Errors
/// Those of either side.
pub(super) fn lower_sides(
    relations: &dyn StoredRelations,
    sides: [&RelationalOperator; 2],
    wanted: &[ColumnId],
) -> LoweringResult<[LoweredRelation; 2]> {
    let of_side = |side: &RelationalOperator| {
        let all = outputs(side);
        let own = wanted.iter().copied().filter(|column| all.contains(*column));
        lower_relation(relations, side, &own.collect::<Vec<_>>())
    };
    let [left, right] = sides;
    Ok([of_side(left)?, of_side(right)?])
}

/// Returns the columns that an operator hands on.
fn outputs(operator: &RelationalOperator) -> ColumnFlags {
    let mut all = ColumnFlags::default();
    collect_outputs(operator, &mut all);
    all
}

fn collect_outputs(operator: &RelationalOperator, into: &mut ColumnFlags) {
    into.extend(operator.own_columns());
    match operator {
        RelationalOperator::Aggregate { keys, .. } => into.extend(keys.iter().copied()),
        RelationalOperator::Join { variant, left, .. } if !variant.has_right() => {
            collect_outputs(left, into);
        }
        _ => operator.inputs().for_each(|input| collect_outputs(input, into)),
    }
}

/// Chooses the kind of a join. The right side is built, but for semi and anti joins whose left side
/// may be and is expected to be much smaller.
pub(super) fn pairing_kind(
    variant: JoinVariant,
    sides: [&PlanNode; 2],
    may_build_left: bool,
) -> PairingKind {
    let is_left_built = || {
        let [left, right] = sides.map(|side| ExpectedRows::of(side).rows);
        may_build_left && left * BUILT_RATIO_MIN <= right
    };
    match variant {
        JoinVariant::Inner => PairingKind::Inner,
        JoinVariant::Left => PairingKind::ProbeOuter,
        JoinVariant::Right => PairingKind::BuildOuter,
        JoinVariant::Full => PairingKind::FullOuter,
        JoinVariant::Single => PairingKind::Single,
        JoinVariant::Mark(_) => PairingKind::Mark,
        JoinVariant::Semi if is_left_built() => PairingKind::BuildSemi,
        JoinVariant::Semi => PairingKind::Semi,
        JoinVariant::Anti if is_left_built() => PairingKind::BuildAnti,
        JoinVariant::Anti => PairingKind::Anti,
    }
}

/// How many rows an operator is expected to have, and of how many: those of the largest table.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedRows {
    pub(super) rows: f64,
    all: f64,
}

impl ExpectedRows {
    /// Returns what is expected of an operator.
    pub(super) fn of(node: &PlanNode) -> Self {
        match node {
            PlanNode::Scan(scan) => {
                let all = scan.snapshot.rows() as f64;
                let own = Self { rows: all, all };
                if scan.predicates.is_empty() { own } else { own.part(FILTERED_PART) }
            }
            PlanNode::Filter(filter) => Self::of(&filter.input).part(FILTERED_PART),
            PlanNode::Measured(measured) => Self::of(&measured.input),
            PlanNode::Kept(kept) => Self::of(&kept.input),
            PlanNode::Map(map) => Self::of(&map.input),
            PlanNode::Sort(sort) => Self::of(&sort.input),
            PlanNode::Stepped(stepped) => Self::of(&stepped.input),
            PlanNode::Limit(limit) => {
                let own = Self::of(&limit.input);
                let rows_max = limit.rows_max.map_or(f64::INFINITY, |rows| rows as f64);
                Self { rows: own.rows.min(rows_max), ..own }
            }
            PlanNode::Window(window) => Self::of(&window.input),
            PlanNode::GroupingSets(grouping) => Self::of(&grouping.input).part(FILTERED_PART),
            PlanNode::Rows(rows) => Self { rows: rows.rows as f64, all: rows.rows as f64 },
            PlanNode::Series(series) => Self { rows: series.rows as f64, all: series.rows as f64 },
            PlanNode::Append(append) => {
                let inputs = append.inputs.iter().map(Self::of);
                let none = Self { rows: 0.0, all: 0.0 };
                inputs.fold(none, |sum, own| Self {
                    rows: sum.rows + own.rows,
                    all: sum.all + own.all,
                })
            }
            PlanNode::Repeat(repeat) => Self::of(&repeat.input),
            PlanNode::Expand(expand) => Self::of(&expand.input).part(SET_ROWS),
            PlanNode::Common(common) => Self::of(&common.input),
            PlanNode::Once(once) => Self::of(&once.input),
            PlanNode::Called(called) => Self::of(&called.input),
            PlanNode::Recursion(recursion) => Self::of(&recursion.first),
            PlanNode::CommonScan(scan) => {
                Self { rows: scan.rows_expected, all: scan.rows_expected }
            }
            PlanNode::Aggregate(aggregate) if aggregate.keys.is_empty() => {
                Self { rows: 1.0, all: 1.0 }
            }
            PlanNode::Aggregate(aggregate) => Self::of(&aggregate.input).part(FILTERED_PART),
            PlanNode::Join(join) => {
                let (probe, build) = (Self::of(&join.probe), Self::of(&join.build));
                match join.kind {
                    PairingKind::Inner if probe.rows < build.rows => build.part(probe.left_part()),
                    PairingKind::Inner | PairingKind::Semi => probe.part(build.left_part()),
                    PairingKind::BuildSemi => build.part(probe.left_part()),
                    PairingKind::BuildOuter | PairingKind::BuildAnti => build,
                    _ => probe,
                }
            }
        }
    }

    fn part(self, part: f64) -> Self {
        Self { rows: self.rows * part, ..self }
    }

    /// Returns which part of the rows is left.
    fn left_part(self) -> f64 {
        if self.all > 0.0 { self.rows / self.all } else { 1.0 }
    }
}
